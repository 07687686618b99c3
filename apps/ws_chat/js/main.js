// SPDX-License-Identifier: MIT

import { Line } from "./line.js";
import { Log, element, face } from "./log.js";

const TEXT_MAX = 1000, LEFT_FROM = 100; // characters
const TYPING_EVERY = 2000, TYPING_FOR = 4500; // ms
const ROOMS = ["lobby", "tea", "night-shift"], ROOMS_MAX = 10;

const $ = (id) => document.getElementById(id);
const log = new Log({ list: $("log"), pane: $("pane"), newer: $("newer"), none: $("none") });
const line = new Line({ welcome, message, here, typing, refused, state });

const hex = (n) => [...crypto.getRandomValues(new Uint8Array(n))].map((b) => b.toString(16).padStart(2, "0")).join("");

// A tab is a person: what tells it from others lives as long as the tab does, so that
// two of them can talk. The name is remembered for the next one.
const key = (sessionStorage.chatKey ||= hex(16));
let name = sessionStorage.chatName ?? "";
let room = "", who = "", worker = -1, entered = "";

// What a test, or a curious person in the console, can look at.
window.chat = {
  line, log,
  get who() { return who; },
  get worker() { return worker; },
};

// ---- coming in ---------------------------------------------------------------

function roomNow() {
  const wanted = location.hash.slice(1).toLowerCase(); // what has an escape is no name
  return /^[a-z0-9](-?[a-z0-9])*$/.test(wanted) && wanted.length <= 24 ? wanted : ROOMS[0];
}

function go() {
  room = roomNow();
  $("room").textContent = room;
  menu(false);
  listRooms();
  if (!name) {
    ask();
    return;
  }
  if (entered !== room) {
    log.clear();
    listPeople({ count: 0, people: [] });
    hush();
    entered = room;
  }
  state("connecting");
  line.enter({ room, name, key });
}
addEventListener("hashchange", go);

function ask(wrong) {
  $("name").value = name || localStorage.chatName || "";
  $("door").querySelector("p").textContent = wrong ?? "It stands beside what you say. Anybody can take any name.";
  if (!$("door").open) $("door").showModal();
  $("name").select();
}
$("door").addEventListener("cancel", (e) => !name && e.preventDefault());
$("enter").addEventListener("submit", (e) => {
  e.preventDefault();
  name = $("name").value.trim();
  if (!name) return;
  sessionStorage.chatName = localStorage.chatName = name;
  $("door").close();
  go();
  if (matchMedia("(hover: hover)").matches) $("text").focus();
});

// ---- what comes --------------------------------------------------------------

function welcome(m) {
  worker = m.worker;
  who = line.who = m.who;
  name = sessionStorage.chatName = m.name;
  if (m.gap) log.gap();
  here(m);
  queueMicrotask(() => log.ready()); // behind the messages
}

function message(m, live) {
  hush(m.who);
  log.add(m, m.who === who, live);
}

function here(m) {
  $("count").textContent = m.count === 1 ? "only you are here" : `${m.count} are here`;
  listPeople(m);
}

function refused(m) {
  if (m.why === "name") {
    name = "";
    ask(m.text);
  } else if (m.ref) {
    log.fail(m.ref, m.text, m.wait ?? 0);
  } else {
    say(m.text);
  }
}

function state(now) {
  $("live").classList.toggle("on", now === "live");
  $("count").classList.toggle("old", now !== "live"); // who is here is not known
  if (now !== "live") hush();
  if ($("live").textContent !== now) $("live").textContent = now;
}

let saying = 0;
function say(text) {
  $("word").textContent = text;
  clearTimeout(saying);
  saying = setTimeout(() => ($("word").textContent = ""), 5000);
}

$("newer").addEventListener("count", () => {
  document.title = (log.unseen ? `(${log.unseen}) ` : "") + (room ? `#${room}` : "Chat");
});

// ---- who types ---------------------------------------------------------------

const typists = new Map(); // by who: {name, until}

function typing(m) {
  if (m.who === who) return;
  if (typists.size < 20) typists.set(m.who, { name: m.name, until: performance.now() + TYPING_FOR });
  showTyping();
}

// hush forgets that somebody was typing; without a name, that anybody was.
function hush(whose) {
  if (whose === undefined) typists.clear();
  else typists.delete(whose);
  showTyping();
}

function showTyping() {
  const now = performance.now();
  for (const [whose, t] of typists) if (t.until < now) typists.delete(whose);
  const names = [...typists.values()].map((t) => t.name);
  const text = names.length === 0 ? ""
    : names.length > 3 ? "Several people are typing"
    : names.length === 1 ? `${names[0]} is typing`
    : `${names.slice(0, -1).join(", ")} and ${names.at(-1)} are typing`;
  if ($("typing").dataset.text === text) return;
  $("typing").dataset.text = text;
  const dots = element("i");
  dots.append(element("span"), element("span"), element("span"));
  $("typing").replaceChildren(...(text ? [dots, text] : []));
}
setInterval(showTyping, 500);

// ---- writing -----------------------------------------------------------------

let typed = -TYPING_EVERY; // when the others were told last
const length = (s) => [...s].length;

function write() {
  const left = TEXT_MAX - length($("text").value.trim());
  $("left").textContent = left <= LEFT_FROM ? left : "";
  $("left").classList.toggle("over", left < 0);
  $("send").disabled = $("text").value.trim() === "";
}
$("text").addEventListener("input", () => {
  write();
  const now = performance.now();
  if ($("text").value.trim() !== "" && now - typed > TYPING_EVERY) {
    typed = now;
    line.typing();
  }
});
// A line break is what Enter makes, on a phone's keyboard too.
let shift = false;
$("text").addEventListener("keydown", (e) => (shift = e.shiftKey));
$("text").addEventListener("beforeinput", (e) => {
  if (e.inputType !== "insertLineBreak" || shift) return;
  e.preventDefault();
  $("write").requestSubmit();
});
$("write").addEventListener("submit", (e) => {
  e.preventDefault();
  const text = $("text").value.trim();
  if (!text || !name) return;
  const over = length(text) - TEXT_MAX;
  if (over > 0) {
    say(`That is too long by ${over} ${over === 1 ? "character" : "characters"}.`);
    return;
  }
  $("word").textContent = "";
  $("text").value = "";
  typed = -TYPING_EVERY;
  write();
  send(text, hex(8));
});

function send(text, ref) {
  log.add({ who, name, text, ref }, true, true);
  line.say(text, ref);
}
log.onRetry = send;

// ---- rooms and people --------------------------------------------------------

function listRooms() {
  let visited = [];
  try {
    visited = JSON.parse(localStorage.chatRooms ?? "[]").filter((r) => typeof r === "string");
  } catch { /* somebody else wrote it */ }
  if (!ROOMS.includes(room)) visited = [...new Set([room, ...visited])].slice(0, ROOMS_MAX - ROOMS.length);
  localStorage.chatRooms = JSON.stringify(visited);
  document.title = `#${room}`;
  $("rooms").replaceChildren(...[...ROOMS, ...visited].map((r) => {
    const item = element("li"), a = element("a", "", r);
    a.href = "#" + r;
    if (r === room) a.setAttribute("aria-current", "page");
    item.append(a);
    return item;
  }));
}

function listPeople({ count, people }) {
  const items = (people ?? []).map((p) => {
    const item = element("li"), label = element("span", "who", p.name);
    label.dir = "auto";
    item.append(face(p.name), label);
    if (p.who === who) {
      const change = element("button", "quiet", "change");
      change.type = "button";
      change.setAttribute("aria-label", "Change your name");
      change.addEventListener("click", () => { menu(false); ask(); });
      item.append(change);
    }
    return item;
  });
  if (count > items.length) items.push(element("li", "more", `and ${count - items.length} more`));
  $("people").replaceChildren(...items);
}

$("other").addEventListener("submit", (e) => {
  e.preventDefault();
  const wanted = $("other-room").value.trim().toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-+|-+$/g, "");
  if (wanted) location.hash = wanted;
  $("other-room").value = "";
});

function menu(open) {
  document.body.classList.toggle("menu", open);
  $("menu").setAttribute("aria-expanded", String(open));
}
$("menu").addEventListener("click", () => menu(!document.body.classList.contains("menu")));
$("veil").addEventListener("click", () => menu(false));
addEventListener("keydown", (e) => e.key === "Escape" && menu(false));

write();
go();
