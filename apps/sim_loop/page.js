// SPDX-License-Identifier: MIT
//
// The page keeps the states of the last minute by their numbers and plays them one
// step behind, so that the lines grow smoothly between four steps in a second.

const SILENCE = 5000; // ms without a step after which the stream is taken for dead
const SPAN = 228; // steps that the chart shows
const TOP = 2.2; // of its scale, in thousands
const $ = (id) => document.getElementById(id);
const calm = matchMedia("(prefers-reduced-motion: reduce)");
const dark = matchMedia("(prefers-color-scheme: dark)");

const states = new Map(); // number of the step to {hares, foxes}
let last = 0, arrived = 0, period = 250, at = 0, before = 0;
let frames = 0;

window.sim = { states, get last() { return last; }, get frames() { return frames; } };

// ---- the stream ------------------------------------------------------------

let source = null, heard = 0, again = 0, tries = 0;

function open() {
  clearTimeout(again);
  source?.close();
  source = new EventSource("/events");
  heard = performance.now();
  source.addEventListener("history", (e) => {
    const past = JSON.parse(e.data);
    period = past.period;
    states.clear();
    last = 0;
    past.states.forEach((s, i) => take(past.first + i, s));
  });
  source.addEventListener("step", (e) => {
    const s = JSON.parse(e.data);
    take(s.n, s);
  });
  source.onerror = () => {
    show(false);
    if (source.readyState === EventSource.CLOSED) later();
  };
}

function later() {
  clearTimeout(again);
  again = setTimeout(open, Math.min(500 * 2 ** tries++, 5000) * (0.5 + Math.random()));
}

function take(n, { hares, foxes }) {
  heard = performance.now();
  tries = 0;
  show(true);
  if (n <= last) return;
  states.set(n, { hares, foxes });
  states.delete(n - SPAN - 8);
  last = n;
  arrived = heard;
  const count = (v) => Math.round(v * 1000).toLocaleString("en");
  $("hares").textContent = count(hares);
  $("foxes").textContent = count(foxes);
  $("step").textContent = n.toLocaleString("en");
}

function show(live) {
  if ($("live").classList.contains("on") === live && $("live").textContent !== "connecting") return;
  $("live").classList.toggle("on", live);
  $("live").textContent = live ? "live" : "reconnecting";
  document.body.classList.toggle("lost", !live);
}

setInterval(() => {
  if (source?.readyState === EventSource.OPEN && performance.now() - heard > SILENCE) {
    show(false);
    open();
  }
}, 1000);

document.addEventListener("visibilitychange", () => {
  if (document.hidden) {
    clearTimeout(again);
    source?.close();
    source = null;
  } else if (!source) {
    open();
  }
});
addEventListener("pageshow", (e) => e.persisted && open());

// ---- the picture -----------------------------------------------------------

class Sheet {
  constructor(canvas) {
    this.canvas = canvas;
    this.ctx = canvas.getContext("2d");
    this.stale = true;
    new ResizeObserver(() => (this.stale = true)).observe(canvas);
  }

  begin() {
    if (this.stale || this.ratio !== devicePixelRatio) {
      this.stale = false;
      this.ratio = devicePixelRatio;
      this.width = this.canvas.clientWidth;
      this.height = this.canvas.clientHeight;
      this.canvas.width = Math.round(this.width * this.ratio);
      this.canvas.height = Math.round(this.height * this.ratio);
      this.ctx.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
      this.ctx.font = "12px system-ui, sans-serif";
    }
    this.ctx.clearRect(0, 0, this.width, this.height);
    return this.ctx;
  }
}

let colours;
function readColours() {
  const probe = document.createElement("span");
  document.body.append(probe);
  const read = (name) => {
    probe.style.color = `var(${name})`;
    return getComputedStyle(probe).color;
  };
  colours = { hares: read("--hares"), foxes: read("--foxes"), line: read("--line"), soft: read("--soft"), sheet: read("--sheet") };
  probe.remove();
}

// stateAt is the state at a place between two steps.
function stateAt(n) {
  const a = states.get(Math.floor(n)), b = states.get(Math.floor(n) + 1) ?? a;
  if (!a) return null;
  const t = n - Math.floor(n);
  return { hares: a.hares + (b.hares - a.hares) * t, foxes: a.foxes + (b.foxes - a.foxes) * t };
}

function drawTime(sheet) {
  const ctx = sheet.begin(), left = 30, right = sheet.width - 10, foot = sheet.height - 20;
  const x = (n) => right - ((at - n) / SPAN) * (right - left);
  const y = (v) => foot - (v / TOP) * (foot - 8);
  grid(ctx, sheet, left, right, foot, y);
  for (const kind of ["hares", "foxes"]) {
    ctx.beginPath();
    let begun = 0;
    for (let n = Math.max(1, Math.floor(at - SPAN)); n <= Math.floor(at); n++) {
      const s = states.get(n);
      if (!s) continue;
      begun ? ctx.lineTo(Math.max(x(n), left), y(s[kind])) : ctx.moveTo(Math.max(x(n), left), y(s[kind]));
      begun ||= Math.max(x(n), left);
    }
    const now = stateAt(at);
    if (!begun || !now) continue;
    ctx.lineTo(x(at), y(now[kind]));
    ctx.strokeStyle = colours[kind];
    ctx.lineWidth = 2.5;
    ctx.lineJoin = "round";
    ctx.stroke();
    ctx.lineTo(x(at), foot);
    ctx.lineTo(begun, foot);
    ctx.globalAlpha = dark.matches ? 0.14 : 0.1;
    ctx.fillStyle = colours[kind];
    ctx.fill();
    ctx.globalAlpha = 1;
    dot(ctx, x(at), y(now[kind]), 5, colours[kind]);
  }
}

function grid(ctx, sheet, left, right, foot, y) {
  ctx.strokeStyle = colours.line;
  ctx.fillStyle = colours.soft;
  ctx.lineWidth = 1;
  ctx.textAlign = "right";
  ctx.textBaseline = "middle";
  for (let v = 0; v <= TOP; v += 0.5) {
    const at = Math.round(y(v)) + 0.5;
    ctx.beginPath();
    ctx.moveTo(left, at);
    ctx.lineTo(right, at);
    ctx.stroke();
    if (v % 1 === 0) ctx.fillText(v === 0 ? "0" : `${v}k`, left - 8, at);
  }
  ctx.textBaseline = "alphabetic";
  ctx.textAlign = "left";
  ctx.fillText("1 min ago", left, sheet.height - 3);
  ctx.textAlign = "right";
  ctx.fillText("now", right, sheet.height - 3);
}

function drawOrbit(sheet) {
  const ctx = sheet.begin(), pad = 12;
  const x = (v) => pad + (v / 2.2) * (sheet.width - 2 * pad);
  const y = (v) => sheet.height - pad - (v / 1.4) * (sheet.height - 2 * pad);
  ctx.fillStyle = colours.soft;
  ctx.textAlign = "right";
  ctx.fillText("hares →", sheet.width - 2, sheet.height - 3);
  ctx.textAlign = "left";
  ctx.fillText("↑ foxes", 0, 12);
  ctx.lineWidth = 3;
  const begin = Math.floor(at) - 90;
  for (let n = begin; n < at; n++) {
    const a = stateAt(n), b = stateAt(Math.min(n + 1, at));
    if (!a || !b) continue;
    const fresh = (n - begin) / (at - begin);
    ctx.globalAlpha = 0.06 + 0.94 * fresh ** 3;
    ctx.strokeStyle = mix(fresh);
    ctx.beginPath();
    ctx.moveTo(x(a.hares), y(a.foxes));
    ctx.lineTo(x(b.hares), y(b.foxes));
    ctx.stroke();
  }
  ctx.globalAlpha = 1;
  const now = stateAt(at);
  if (now) dot(ctx, x(now.hares), y(now.foxes), 7, colours.hares);
}

function mix(t) {
  return `color-mix(in oklab, ${colours.hares} ${Math.round(100 * t)}%, ${colours.foxes})`;
}

function dot(ctx, x, y, r, colour) {
  ctx.beginPath();
  ctx.arc(x, y, r, 0, 2 * Math.PI);
  ctx.fillStyle = colour;
  ctx.fill();
  ctx.lineWidth = 2.5;
  ctx.strokeStyle = colours.sheet;
  ctx.stroke();
}

const time = new Sheet($("time")), orbit = new Sheet($("orbit"));

function draw(now) {
  requestAnimationFrame(draw);
  const elapsed = Math.min(now - before, 100);
  before = now;
  if (last === 0) return;
  if (calm.matches) {
    if (at === last && !time.stale && !orbit.stale) return;
    at = last;
  } else {
    const want = last - 1 + Math.min((now - arrived) / period, 1.2);
    at += elapsed / period;
    if (Math.abs(want - at) > 4) at = want;
    else at += (want - at) * (1 - Math.exp(-elapsed / 600));
    at = Math.min(at, last);
  }
  frames++;
  drawTime(time);
  drawOrbit(orbit);
}

readColours();
dark.addEventListener("change", () => {
  readColours();
  time.stale = orbit.stale = true;
});
open();
requestAnimationFrame(draw);
