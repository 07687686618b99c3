// SPDX-License-Identifier: MIT
//
// The log shows messages in the order of their ids. All that people wrote becomes text
// nodes, never markup.

const KEEP = 400; // messages that are shown
const TOGETHER = 5 * 60e3; // ms between two messages of one person that stand together
const NEAR = 80; // px from the end at which one reads along

const clock = new Intl.DateTimeFormat([], { hour: "2-digit", minute: "2-digit" });
const fullTime = new Intl.DateTimeFormat([], { dateStyle: "full", timeStyle: "short" });
const dayName = new Intl.DateTimeFormat([], { weekday: "long", day: "numeric", month: "long" });
const EMOJI = /^(\p{Extended_Pictographic}(\u200d\p{Extended_Pictographic}|\p{Emoji_Modifier}|\ufe0f)*\s*){1,4}$/u;

export function element(name, kind, text) {
  const e = document.createElement(name);
  if (kind) e.className = kind;
  if (text !== undefined) e.textContent = text;
  return e;
}

// hueOf is the colour of a name: always the same one.
export function hueOf(name) {
  let h = 2166136261;
  for (const c of name.toLowerCase()) h = Math.imul(h ^ c.codePointAt(0), 16777619);
  return ((h ^ (h >>> 15)) >>> 0) % 24 * 15;
}

export function face(name) {
  const f = element("span", "face", [...name.toUpperCase()][0]);
  f.setAttribute("aria-hidden", "true");
  f.style.setProperty("--hue", hueOf(name));
  return f;
}

export class Log {
  #list;
  #pane;
  #newer;
  #none;
  #unseen = 0;
  #follows = true; // the reader is at the end
  onRetry = null;

  constructor({ list, pane, newer, none }) {
    this.#list = list;
    this.#pane = pane;
    this.#newer = newer;
    this.#none = none;
    pane.addEventListener("scroll", () => this.#scrolled(), { passive: true });
    newer.addEventListener("click", () => this.toEnd());
    new ResizeObserver(() => this.#follows && this.#jump()).observe(pane);
    new ResizeObserver(() => this.#follows && this.#jump()).observe(list);
    document.addEventListener("visibilitychange", () => !document.hidden && this.#scrolled());
  }

  clear() {
    this.#list.replaceChildren();
    this.#unseen = 0;
    this.#follows = true;
    this.#mark();
  }

  // ready says that what there was is shown.
  ready() {
    this.#none.hidden = this.#list.children.length > 0;
  }

  // gap says that some messages are not to be had any more.
  gap() {
    const line = element("li", "gap", "Older messages were not kept");
    this.#list.append(line);
  }

  // add shows a message, or one of our own that is under way (without an id), in the
  // place of what it was until now.
  add(m, own, fresh) {
    const at = m.id ? m.id / 1000 : Date.now();
    let item = own && this.#find(m.ref);
    if (!item && [...this.#list.children].some((e) => e.dataset.ref === m.ref && e.dataset.who === m.who)) return;
    if (item) item.remove();
    item = this.#item(m, own, at);
    if (fresh) item.classList.add("fresh");
    const before = this.#place(m.id);
    this.#list.insertBefore(item, before);
    this.#none.hidden = true;
    this.#tidy();
    if (own || this.#follows && !document.hidden) {
      if (own && !m.id) this.#follows = true;
    } else if (fresh) {
      if (this.#unseen++ === 0) this.#divide(item);
      this.#mark();
    }
    if (this.#follows) this.#jump();
  }

  // fail says what became of a message of our own, which can be sent again after so
  // many ms.
  fail(ref, text, wait) {
    const item = this.#find(ref);
    if (!item) return;
    item.classList.add("failed");
    item.querySelector(".fate")?.remove();
    const fate = element("span", "fate", text + " ");
    const again = element("button", "", "Send again");
    again.type = "button";
    again.disabled = wait > 0;
    setTimeout(() => (again.disabled = false), wait);
    again.addEventListener("click", () => {
      item.remove();
      this.onRetry(item.said, ref);
    });
    fate.append(again);
    item.append(fate);
    if (this.#follows) this.#jump();
  }

  get unseen() {
    return this.#unseen;
  }

  toEnd() {
    this.#follows = true;
    this.#jump();
    this.#scrolled();
  }

  #find(ref) {
    return [...this.#list.querySelectorAll(".waits")].find((e) => e.dataset.ref === ref);
  }

  #item(m, own, at) {
    const item = element("li", (own ? "own" : "") + (m.id ? "" : " waits"));
    if (m.id) item.dataset.id = m.id;
    Object.assign(item.dataset, { ref: m.ref, who: m.who, at });
    item.said = m.text;
    item.style.setProperty("--hue", hueOf(m.name));
    const by = element("span", own ? "by unseen" : "by", m.name);
    by.dir = "auto";
    const bubble = element("div", "bubble");
    const text = element("span", "text");
    text.dir = "auto";
    linked(text, m.text);
    if (EMOJI.test(m.text)) item.classList.add("big");
    const time = element("time", "", m.id ? clock.format(at) : "sending…");
    time.dateTime = new Date(at).toISOString();
    time.title = fullTime.format(at);
    bubble.append(text, time);
    item.append(face(m.name), by, bubble);
    return item;
  }

  // place is what a message of that id stands before.
  #place(id) {
    if (!id) return null;
    let before = null;
    for (let e = this.#list.lastElementChild; e; e = e.previousElementSibling) {
      if (e.dataset.id && Number(e.dataset.id) < id || e.matches(".gap, .unread")) break;
      if (!e.matches(".day")) before = e;
    }
    return before;
  }

  // tidy joins what belongs together, names the days, and drops the oldest.
  #tidy() {
    for (const day of this.#list.querySelectorAll(".day")) day.remove();
    const items = [...this.#list.querySelectorAll("li[data-at]")];
    for (const old of items.splice(0, Math.max(0, items.length - KEEP))) old.remove();
    let last = null;
    for (const item of items) {
      const at = Number(item.dataset.at);
      const newDay = !last || dayName.format(at) !== dayName.format(Number(last.dataset.at));
      if (newDay) this.#list.insertBefore(element("li", "day", dayOf(at)), item);
      const same = !newDay && item.previousElementSibling === last && last.dataset.who === item.dataset.who
        && at - Number(last.dataset.at) < TOGETHER;
      item.classList.toggle("same", same);
      last?.classList.toggle("next", same);
      item.classList.remove("next");
      last = item;
    }
  }

  // divide draws the line between what was read and what was not.
  #divide(item) {
    this.#list.querySelector(".unread")?.remove();
    this.#list.insertBefore(element("li", "unread", "New"), item);
    this.#tidy();
  }

  #scrolled() {
    const s = this.#pane;
    this.#follows = s.scrollHeight - s.scrollTop - s.clientHeight < NEAR;
    if (this.#follows && !document.hidden && this.#unseen > 0) {
      this.#unseen = 0;
      this.#mark();
    }
  }

  #mark() {
    const n = this.#unseen;
    this.#newer.hidden = n === 0 || this.#follows;
    this.#newer.textContent = n === 1 ? "1 new message ↓" : `${n} new messages ↓`;
    this.#newer.dispatchEvent(new Event("count"));
  }

  #jump() {
    this.#pane.scrollTop = this.#pane.scrollHeight;
  }
}

function dayOf(at) {
  const day = new Date(at).toDateString();
  if (day === new Date().toDateString()) return "Today";
  if (day === new Date(Date.now() - 864e5).toDateString()) return "Yesterday";
  return dayName.format(at);
}

// linked fills an element with text in which addresses of the web are links.
function linked(into, text) {
  let done = 0;
  for (const m of text.matchAll(/https?:\/\/[^\s<>"']*[^\s<>"'.,:;!?)\]]/g)) {
    const a = element("a", "", m[0]);
    a.href = m[0];
    a.target = "_blank";
    a.rel = "noopener noreferrer nofollow";
    into.append(text.slice(done, m.index), a);
    done = m.index + m[0].length;
  }
  into.append(text.slice(done));
}
