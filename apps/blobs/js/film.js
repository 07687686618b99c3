// SPDX-License-Identifier: MIT
//
// A film plays the steps that the server sends, some ten in a second, as smooth
// motion: a little more than a step behind, along curves that go through the
// blobs' places with their velocities.

const BEHIND = 1.2; // steps: what a step may be late without being missed
const AHEAD = 0.8; // steps that the last velocities are followed when it is
const LOST = 4; // steps that the play may be off before it jumps
const KEPT = 12; // steps

const APPEAR = 520; // ms
const LEAVE = 360;

export class Film {
  #steps = []; // {number, arrived, blobs: Map of id to blob}, by number
  #at = 0; // where the play is, in steps
  #shown = new Map(); // id to what is drawn: {x, y, r, hue, since, left}
  #now = 0;
  period = 100;

  // take adds a frame of the server. One that is old is passed over.
  take(frame, now) {
    const last = this.#steps.at(-1);
    if (last && frame.step <= last.number) return;
    const blobs = new Map();
    for (const [id, hue, x, y, vx, vy, r] of frame.blobs) {
      blobs.set(id, { hue, x: x / 1e4, y: y / 1e4, vx: vx / 1e5, vy: vy / 1e5, r: r / 1e4 });
    }
    this.period = frame.period;
    this.#steps.push({ number: frame.step, arrived: now, blobs });
    if (this.#steps.length > KEPT) this.#steps.shift();
  }

  // restart forgets the steps, so that a stream that comes back begins anew.
  restart() {
    this.#steps.length = 0;
  }

  get step() {
    return this.#steps.at(-1)?.number ?? 0;
  }

  // play moves on to the time now and gives what is to be drawn.
  play(now) {
    const elapsed = Math.min(now - this.#now, 100);
    this.#now = now;
    const last = this.#steps.at(-1);
    if (last) {
      const want = last.number + Math.min((now - last.arrived) / this.period, 2) - BEHIND;
      this.#at += elapsed / this.period;
      const off = want - this.#at;
      // Steps arrive unevenly; the play follows their mean and never goes back.
      if (Math.abs(off) > LOST) this.#at = want;
      else this.#at += Math.max(off * (1 - Math.exp(-elapsed / 500)), -0.9 * elapsed / this.period);
      this.#at = Math.min(this.#at, last.number + AHEAD);
      this.#place(now);
    }
    return this.#cast(now);
  }

  // still shows the last step as it is.
  still(now) {
    const last = this.#steps.at(-1);
    if (last) {
      this.#at = last.number;
      this.#place(now);
    }
    for (const [id, s] of this.#shown) {
      if (s.left) this.#shown.delete(id);
      else s.since = -Infinity;
    }
    return this.#cast(now);
  }

  // place moves what is shown to where the play is.
  #place(now) {
    let i = this.#steps.length - 1;
    while (i > 0 && this.#steps[i].number > this.#at) i--;
    const a = this.#steps[i], b = this.#steps[i + 1];
    for (const [id, from] of a.blobs) {
      const place = between(from, b?.blobs.get(id), this.#at - a.number, b ? b.number - a.number : 1);
      const s = this.#shown.get(id);
      if (s && !s.left) Object.assign(s, place);
      else this.#shown.set(id, { ...place, hue: from.hue, id, since: now, left: 0 });
    }
    for (const [id, s] of this.#shown) if (!s.left && !a.blobs.has(id)) s.left = now;
  }

  // cast gives what is shown with the size that it has by its coming and going.
  #cast(now) {
    const cast = [];
    for (const [id, s] of this.#shown) {
      const leaving = s.left ? (now - s.left) / LEAVE : 0;
      if (leaving >= 1) {
        this.#shown.delete(id);
        continue;
      }
      const size = spring((now - s.since) / APPEAR) * (1 - leaving) ** 2;
      cast.push({ id, hue: s.hue, x: s.x, y: s.y, r: s.r * size, full: s.r });
    }
    return cast;
  }
}

// between is the place t steps behind a, on the curve to b, which is span steps on.
function between(a, b, t, span) {
  if (!b) {
    const on = Math.min(Math.max(t, 0), AHEAD);
    return { x: a.x + a.vx * on, y: a.y + a.vy * on, r: a.r };
  }
  const u = Math.min(Math.max(t / span, 0), 1);
  return {
    x: hermite(a.x, a.vx * span, b.x, b.vx * span, u),
    y: hermite(a.y, a.vy * span, b.y, b.vy * span, u),
    r: a.r + (b.r - a.r) * u,
  };
}

function hermite(p, v, q, w, u) {
  const u2 = u * u, u3 = u2 * u;
  return (2 * u3 - 3 * u2 + 1) * p + (u3 - 2 * u2 + u) * v + (3 * u2 - 2 * u3) * q + (u3 - u2) * w;
}

// spring goes from 0 to 1 and a little beyond on its way.
function spring(t) {
  if (t >= 1) return 1;
  if (t <= 0) return 0;
  return 1 - Math.exp(-6 * t) * Math.cos(7.5 * t) * (1 - t);
}
