// SPDX-License-Identifier: MIT
//
// The line is the page's socket: it comes back by itself, asks for what it missed by
// the id of the last message, and sends again what nobody has confirmed.

const WAIT = 500, WAIT_MOST = 8000; // ms between two tries
const RESTART = 1012; // the server comes back at once
const STILL = 25000; // ms after which a page that hears nothing asks
const DEAD = 8000; // ms without an answer after which the line is taken for dead

export class Line {
  #on; // {welcome, message, here, typing, refused, state}
  #me = null; // {room, name, key}
  #socket = null;
  #tries = 0;
  #timer = 0;
  #asked = 0; // when an answer became due; 0: none is
  #heard = 0;
  since = 0;
  pending = new Map(); // by ref: texts that are not confirmed

  constructor(on) {
    this.#on = on;
    setInterval(() => this.#watch(), 1000);
    addEventListener("online", () => this.#hurry());
    addEventListener("pageshow", (e) => e.persisted && this.#hurry());
    document.addEventListener("visibilitychange", () => !document.hidden && this.#hurry());
  }

  // enter goes to a room; what was not confirmed in another is given up.
  enter(me) {
    if (this.#me?.room !== me.room) {
      this.since = 0;
      this.pending.clear();
    }
    this.#me = me;
    this.#tries = 0;
    this.#open();
  }

  say(text, ref) {
    this.pending.set(ref, text);
    this.#send({ t: "say", text, ref });
    this.#asked ||= performance.now();
  }

  typing() {
    this.#send({ t: "typing" });
  }

  #open() {
    clearTimeout(this.#timer);
    this.#drop();
    const socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/socket`);
    this.#socket = socket;
    this.#asked = performance.now();
    socket.onopen = () => this.#send({ t: "enter", ...this.#me, since: this.since });
    socket.onmessage = (e) => socket === this.#socket && this.#take(JSON.parse(e.data));
    socket.onclose = (e) => socket === this.#socket && this.#lost(e.code);
  }

  // drop lets go of a socket without waiting for what it would say.
  #drop() {
    const old = this.#socket;
    this.#socket = null;
    old?.close();
  }

  // lost comes back: at once and at random behind a restart, later and later otherwise.
  #lost(code) {
    this.#drop();
    this.#asked = 0;
    this.#on.state("reconnecting");
    const wait = code === RESTART && this.#tries === 0
      ? Math.random() * 1000
      : Math.min(WAIT * 2 ** this.#tries, WAIT_MOST) * (0.5 + Math.random());
    this.#tries++;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#open(), wait);
  }

  // hurry does not wait where there is reason to hope, or to doubt.
  #hurry() {
    if (!this.#me) return;
    if (!this.#socket) this.#open();
    else this.#ask();
  }

  #ask() {
    if (this.#asked || this.#socket?.readyState !== WebSocket.OPEN) return;
    this.#asked = performance.now();
    this.#send({ t: "still" });
  }

  #watch() {
    const now = performance.now();
    if (this.#socket && this.#asked && now - this.#asked > DEAD) this.#lost(0);
    else if (now - this.#heard > STILL && !document.hidden) this.#ask();
  }

  #send(what) {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(what));
  }

  #take(m) {
    this.#heard = performance.now();
    this.#asked = 0;
    switch (m.t) {
      case "welcome": {
        const again = this.since > 0;
        this.#tries = 0;
        this.#on.welcome(m);
        for (const each of m.messages ?? []) this.#message(each, again);
        for (const [ref, text] of this.pending) this.say(text, ref);
        this.#on.state("live");
        break;
      }
      case "message":
        this.#message(m, true);
        break;
      case "refused":
        if (m.ref) this.pending.delete(m.ref);
        // fall through
      default:
        this.#on[m.t]?.(m);
    }
    if (this.pending.size > 0) this.#asked ||= performance.now();
  }

  // message passes over what is known: ids only grow.
  #message(m, live) {
    const confirmed = m.who === this.who && this.pending.delete(m.ref);
    if (m.id <= this.since && !confirmed) return;
    this.since = Math.max(this.since, m.id);
    this.#on.message(m, live);
  }
}
