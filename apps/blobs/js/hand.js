// SPDX-License-Identifier: MIT
//
// Hands: any number of fingers or a mouse, or the keyboard. What they do becomes a
// drop {x, y, vx, vy, hue, size}, by the time that was held and the way that was
// pulled.

export const LEAST = 0.025, MOST = 0.095; // radii of the smallest and the biggest
const TAP = 0.3; // the size of what is dropped by a short tap
const GROW = 1400; // ms until it has grown to the biggest
const THROW = 2.6; // the speed of a throw, by the share of the board that it is pulled

export class Hands {
  #held = new Map(); // pointer id to {x, y, tx, ty, since}
  #board;
  #drop;
  #keys = { x: 0.5, y: 0.5, size: 0.4 };
  #keyed = false; // the cross was used last
  hue = 0;

  // drop is called with each drop.
  constructor(board, drop) {
    this.#board = board;
    this.#drop = drop;
    board.addEventListener("pointerdown", (e) => this.#down(e));
    board.addEventListener("pointermove", (e) => this.#move(e));
    board.addEventListener("pointerup", (e) => this.#up(e));
    board.addEventListener("pointercancel", (e) => this.#held.delete(e.pointerId));
    board.addEventListener("keydown", (e) => this.#key(e));
    board.addEventListener("contextmenu", (e) => e.preventDefault());
  }

  // held is what waits to be dropped, as it is drawn.
  held(now) {
    return [...this.#held.values()].map((h) => ({
      x: h.x, y: h.y, tx: 2 * h.x - h.tx, ty: 2 * h.y - h.ty, hue: this.hue,
      r: radius(grown(now - h.since)),
    }));
  }

  // cross is the place of the keyboard, while it is used.
  get cross() {
    if (!this.#keyed || document.activeElement !== this.#board) return null;
    const { x, y, size } = this.#keys;
    return { x, y, r: radius(size), hue: this.hue };
  }

  #place(e) {
    const box = this.#board.getBoundingClientRect();
    const share = (v, size) => Math.min(Math.max(v / size, 0), 1);
    return [share(e.clientX - box.left, box.width), share(e.clientY - box.top, box.height)];
  }

  #down(e) {
    if (e.button !== 0) return;
    const [x, y] = this.#place(e);
    try {
      this.#board.setPointerCapture(e.pointerId);
    } catch {
      // it has left already
    }
    this.#keyed = false;
    this.#held.set(e.pointerId, { x, y, tx: x, ty: y, since: performance.now() });
  }

  #move(e) {
    const h = this.#held.get(e.pointerId);
    if (h) [h.tx, h.ty] = this.#place(e);
  }

  // up lets go: the blob flies the other way, as from a sling.
  #up(e) {
    const h = this.#held.get(e.pointerId);
    if (!h) return;
    this.#held.delete(e.pointerId);
    const speed = (from, to) => Math.min(Math.max((from - to) * THROW, -1), 1);
    this.#drop({
      x: h.x, y: h.y, vx: speed(h.x, h.tx), vy: speed(h.y, h.ty), hue: this.hue,
      size: grown(performance.now() - h.since),
    });
  }

  #key(e) {
    const k = this.#keys, stride = e.shiftKey ? 0.01 : 0.05;
    const move = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[e.key];
    if (move) {
      k.x = Math.min(Math.max(k.x + move[0] * stride, 0), 1);
      k.y = Math.min(Math.max(k.y + move[1] * stride, 0), 1);
    } else if (e.key === "+" || e.key === "-") {
      k.size = Math.min(Math.max(k.size + (e.key === "+" ? 0.1 : -0.1), 0), 1);
    } else if (e.key === " " || e.key === "Enter") {
      if (!e.repeat) this.#drop({ x: k.x, y: k.y, vx: 0, vy: 0, hue: this.hue, size: k.size });
    } else {
      return;
    }
    this.#keyed = true;
    e.preventDefault();
  }
}

function grown(ms) {
  return Math.min(TAP + (1 - TAP) * Math.max(0, ms - 150) / GROW, 1);
}

function radius(size) {
  return LEAST + (MOST - LEAST) * size;
}
