// SPDX-License-Identifier: MIT
//
// The page works without this file: its forms post, and a reload shows what is new. With it
// the page is live. The server renders; this puts what it rendered into its place.
"use strict";

const { events, here, tab, beat } = document.body.dataset;
const title = document.title;
const $ = (id) => document.getElementById(id);
const parse = (html) => new DOMParser().parseFromString(html, "text/html");

// put takes over what has a version: a newer version of what is here replaces it, and what is
// not here yet goes into its list, newest first.
function put(doc) {
  for (const next of doc.querySelectorAll("[data-version]")) {
    const old = $(next.id);
    const version = Number(next.dataset.version);
    for (const time of next.querySelectorAll("time")) local(time);
    if (old) {
      if (version > Number(old.dataset.version)) old.replaceWith(next);
      continue;
    }
    const list = $(next.dataset.list);
    const older = [...list.children].find((c) => Number(c.dataset.version) < version);
    list.insertBefore(next, older ?? null);
  }
}

const clock = { hour: "2-digit", minute: "2-digit" };

function local(time) {
  const at = new Date(time.dateTime);
  time.textContent = at.toLocaleTimeString([], clock);
  time.title = at.toLocaleString();
}

// say shows a notification. Its text is text: anybody may send one from a shell.
function say(text) {
  const item = document.createElement("li");
  item.textContent = text;
  $("notices").prepend(item);
  while ($("notices").children.length > 5) $("notices").lastChild.remove();
}

let unseen = 0;

function count(more) {
  unseen = document.hidden ? unseen + more : 0;
  document.title = unseen ? `(${unseen}) ${title}` : title;
}

// The stream. A browser comes back by itself and says what it saw last, so the server can
// send what it missed. Only a new stream, and one whose past the server does not know, has
// to look at the page again.
function connect(wait) {
  const stream = new EventSource(events);
  let known = false;
  stream.onopen = () => {
    state("live", true);
    if (!known) refresh();
    known = true;
    wait = 1000;
    hello();
  };
  stream.onerror = () => {
    state("reconnecting", false);
    if (stream.readyState !== EventSource.CLOSED) return;
    setTimeout(connect, wait, Math.min(2 * wait, 30000)); // no stream was the answer
  };
  stream.addEventListener("comment", (e) => { put(parse(e.data)); count(1); });
  stream.addEventListener("job", (e) => put(parse(e.data)));
  stream.addEventListener("presence", (e) => { $("present").textContent = e.data; });
  stream.addEventListener("notice", (e) => { say(e.data); count(1); });
  stream.addEventListener("reset", refresh);
}

function state(word, on) {
  $("status").textContent = word;
  $("status").classList.toggle("on", on);
}

async function refresh() {
  const answer = await fetch(location.href, { cache: "no-store" });
  if (answer.ok) put(parse(await answer.text()));
}

// Forms post as they would without us; what comes back is the page, with a form that is empty
// or says what is wrong.
document.addEventListener("submit", async (e) => {
  e.preventDefault();
  const form = e.target;
  const sent = new FormData(form);
  form.querySelector(".unsent")?.remove();
  try {
    const answer = await fetch(form.action, { method: "POST", body: sent });
    const doc = parse(await answer.text());
    const next = doc.getElementById(form.id);
    if (!next) throw new Error(`HTTP ${answer.status}`);
    if (same(sent, new FormData(form))) {
      const had = form.contains(document.activeElement);
      const wrong = next.querySelector(".wrong :is(input, textarea)");
      form.replaceWith(next);
      // What is wrong comes into view; else the page stays still under somebody's pointer.
      if (had) (wrong ?? next.querySelector("textarea, button")).focus({ preventScroll: !wrong });
    }
    put(doc);
  } catch (error) {
    unsent(form, `Not sent (${error.message}). Try again.`);
  }
});

// unsent says below the button that was pressed what did not leave; it is still in the form.
function unsent(form, why) {
  const word = document.createElement("span");
  word.className = "error unsent";
  word.setAttribute("role", "alert");
  word.textContent = why;
  const place = form.querySelector(".send");
  if (place) place.append(word);
  else say(why);
}

function same(a, b) {
  return String([...a]) === String([...b]);
}

// Presence: a page says that it is open. One that is killed falls silent, and one that nobody
// has looked at for four minutes says goodbye, since its clock soon stops.
let looked = Date.now();

function note(leaving) {
  const body = new FormData($("write"));
  for (const name of ["author", "text"]) body.delete(name);
  body.set("tab", tab);
  if (leaving) body.set("leaving", "1");
  return body;
}

async function hello() {
  if (!document.hidden) looked = Date.now();
  const body = note(Date.now() - looked > 240000);
  const answer = await fetch(here, { method: "POST", body }).catch(() => null);
  if (answer?.ok) $("present").textContent = await answer.text();
}

document.querySelectorAll("time").forEach(local);
state("connecting", false);
connect(1000);
setInterval(hello, beat * 1000);
document.addEventListener("visibilitychange", () => { count(0); hello(); });
addEventListener("pagehide", () => navigator.sendBeacon(here, note(true)));
addEventListener("pageshow", (e) => { if (e.persisted) hello(); });
