// SPDX-License-Identifier: MIT

import { Film } from "./film.js";
import { Hands, LEAST, MOST } from "./hand.js";
import { Painter } from "./paint.js";

// Degrees of OKLCH, in which all are equally light.
const HUES = { red: 22, amber: 70, green: 152, cyan: 218, violet: 290, pink: 350 };
const SILENCE = 5000; // ms without a step after which the stream is taken for dead
const STILL = 1000; // ms between two pictures of a board that is held still

const $ = (id) => document.getElementById(id);
const board = $("board");
const film = new Film();
const painter = new Painter(board);
const hands = new Hands(board, drop);
const calm = matchMedia("(prefers-reduced-motion: reduce)");

let still = calm.matches;
let seen = new Set(); // ids that have been drawn, so that a new one makes a ripple
let cast = []; // what is drawn
let frames = 0, drawn = 0; // so many, and when the last still one
let busy = false; // a hand was drawn

// What a test, or a curious person in the console, can look at.
window.blobs = {
  film,
  get frames() { return frames; },
  get cast() { return cast; },
};

// ---- the stream ------------------------------------------------------------

let source = null, heard = 0, again = 0, tries = 0;

function open() {
  clearTimeout(again);
  source?.close();
  source = new EventSource("/events");
  heard = performance.now();
  source.onopen = () => film.restart(); // what it shows stays until the board comes
  source.addEventListener("board", take);
  source.addEventListener("step", take);
  source.onerror = () => {
    show(false);
    // A browser comes back by itself from a cut, and not from a refusal.
    if (source.readyState === EventSource.CLOSED) later();
  };
}

function later() {
  clearTimeout(again);
  again = setTimeout(open, Math.min(500 * 2 ** tries++, 5000) * (0.5 + Math.random()));
}

function take(e) {
  const frame = JSON.parse(e.data);
  heard = performance.now();
  tries = 0;
  film.take(frame, heard);
  show(true, frame.viewers);
}

// A link that died without a word is not noticed by the browser. While somebody
// looks there is a step ten times a second.
setInterval(() => {
  if (source && source.readyState === EventSource.OPEN && performance.now() - heard > SILENCE) {
    show(false);
    open();
  }
}, 1000);

// Who does not see the board does not watch it, and lets it rest.
function watch() {
  if (document.hidden) {
    clearTimeout(again);
    source?.close();
    source = null;
  } else if (!source) {
    open();
  }
}
document.addEventListener("visibilitychange", watch);
addEventListener("pagehide", () => source?.close());
addEventListener("pageshow", (e) => e.persisted && !document.hidden && open());
addEventListener("online", () => !document.hidden && open());

let lastShown = "";
function show(live, viewers) {
  const now = live + " " + viewers;
  if (now === lastShown) return;
  lastShown = now;
  document.body.classList.toggle("lost", !live);
  $("live").classList.toggle("on", live);
  if ($("live").textContent !== (live ? "live" : "reconnecting")) {
    $("live").textContent = live ? "live" : "reconnecting";
  }
  if (viewers) $("here").textContent = viewers === 1 ? "only you" : `${viewers} here`;
}

// ---- dropping --------------------------------------------------------------

async function drop(d) {
  document.body.classList.add("knows");
  if (!still) painter.ripple(d.x, d.y, d.hue, LEAST + (MOST - LEAST) * d.size, performance.now());
  try {
    const answer = await fetch("/drops", {
      method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(d),
    });
    if (!answer.ok) say(answer.status === 503 ? "Too many at once. Try again." : "That one was lost.");
  } catch {
    say("That one was lost: no connection.");
  }
}

let saying = 0;
function say(text) {
  $("word").textContent = text;
  clearTimeout(saying);
  saying = setTimeout(() => ($("word").textContent = ""), 3000);
}

$("drop").addEventListener("click", () => drop({
  x: 0.15 + 0.7 * Math.random(), y: 0.15 + 0.6 * Math.random(), vx: 0, vy: 0,
  hue: hands.hue, size: 0.2 + 0.7 * Math.random(),
}));

// ---- the dock --------------------------------------------------------------

const mine = Object.keys(HUES)[Math.floor(Math.random() * Object.keys(HUES).length)];
for (const [name, hue] of Object.entries(HUES)) {
  const label = document.createElement("label");
  label.title = name;
  label.innerHTML = `<input type="radio" name="colour" aria-label="${name}" value="${hue}">
<svg class="swatch" viewBox="0 0 2 2" aria-hidden="true"><circle cx="1" cy="1" r="1" fill="oklch(0.71 0.17 ${hue})"/></svg>`;
  const input = label.firstElementChild;
  input.checked = name === mine;
  input.addEventListener("change", () => (hands.hue = hue));
  $("colours").append(label);
}
hands.hue = HUES[mine];

function hold(yes) {
  still = yes;
  drawn = 0;
  $("still").setAttribute("aria-pressed", String(yes));
  }
$("still").addEventListener("click", () => hold(!still));
calm.addEventListener("change", () => hold(calm.matches));
document.querySelector("form").addEventListener("submit", (e) => e.preventDefault());

// ---- frames ----------------------------------------------------------------

function draw(now) {
  requestAnimationFrame(draw);
  frames++;
  if (still) {
    drawStill(now);
    return;
  }
  cast = film.play(now);
  greet(now);
  painter.keepPace(now);
  painter.paint(cast, hands.held(now), hands.cross, now);
}

// greet makes a ripple where somebody dropped a blob.
function greet(now) {
  const ids = new Set();
  for (const b of cast) {
    ids.add(b.id);
    if (seen.size > 0 && !seen.has(b.id) && b.y <= 1) painter.ripple(b.x, b.y, b.hue, b.full, now);
  }
  if (ids.size > 0) seen = ids;
}

// drawStill shows the board as it is, each second, and at once what hands do.
function drawStill(now) {
  const held = hands.held(now), cross = hands.cross, hand = held.length > 0 || cross !== null;
  const due = now - drawn > STILL;
  if (due) {
    cast = film.still(now);
    drawn = now;
  }
  if (due || hand || busy || painter.stale) painter.paint(cast, held, cross, now);
  busy = hand;
}

hold(still);
watch();
requestAnimationFrame(draw);
