// SPDX-License-Identifier: MIT
//
// The painter draws blobs as drops of thick paint: those that come close reach out
// for each other and flow together.

const REACH = 0.75; // how far blobs reach out, in the sum of their radii
const RIPPLE = 700; // ms
const COARSE = 5; // points of the page for one of the soft light
const SLOW = 24; // ms: a device that takes so long for a picture gets coarser ones

export class Painter {
  #canvas;
  #ctx;
  #soft = document.createElement("canvas");
  #fine = 2.5; // the most points for one of the page
  #pace = 16; // ms from picture to picture, in the mean
  #painted = 0;
  #dark = matchMedia("(prefers-color-scheme: dark)");
  stale = true; // the picture is of another size or colour
  #ripples = []; // {x, y, hue, r, since}

  constructor(canvas) {
    this.#canvas = canvas;
    this.#ctx = canvas.getContext("2d");
    new ResizeObserver(() => (this.stale = true)).observe(canvas);
    this.#dark.addEventListener("change", () => (this.stale = true));
  }

  // fit gives the canvas as many points as the screen has for it. That empties it, so
  // it is done where the picture is made anew.
  #fit() {
    this.stale = false;
    this.ratio = devicePixelRatio || 1;
    this.width = this.#canvas.clientWidth;
    this.height = this.#canvas.clientHeight;
    const fine = Math.min(this.ratio, this.#fine);
    this.#canvas.width = Math.round(this.width * fine);
    this.#canvas.height = Math.round(this.height * fine);
    this.#ctx.setTransform(fine, 0, 0, fine, 0, 0);
    this.#soft.width = Math.ceil(this.width / COARSE);
    this.#soft.height = Math.ceil(this.height / COARSE);
    this.#soft.getContext("2d").setTransform(1 / COARSE, 0, 0, 1 / COARSE, 0, 0);
    // A blob is round whatever the shape of the screen.
    this.unit = Math.sqrt(this.width * this.height);
  }

  ripple(x, y, hue, r, now) {
    this.#ripples.push({ x, y, hue, r, since: now });
    if (this.#ripples.length > 64) this.#ripples.shift();
  }

  // keepPace draws coarser pictures where finer ones take too long, once in a while.
  keepPace(now) {
    const took = now - this.#painted;
    this.#painted = now;
    if (took > 250) return; // it was away
    this.#pace += (took - this.#pace) / 60;
    if (this.#pace > SLOW && Math.min(this.ratio, this.#fine) > 1) {
      this.#fine = Math.max(1, Math.min(this.ratio, this.#fine) * 0.75);
      this.#pace = 16;
      this.stale = true;
    }
  }

  // paint draws the cast, what hands hold ready, and the cross of the keyboard.
  paint(cast, held, cross, now) {
    if (this.stale || devicePixelRatio !== this.ratio) this.#fit();
    const ctx = this.#ctx, dark = this.#dark.matches;
    const drops = cast.map((b) => ({
      x: b.x * this.width, y: b.y * this.height, r: b.r * this.unit, hue: b.hue,
    })).filter((d) => d.r > 0.5);
    ctx.clearRect(0, 0, this.width, this.height);
    this.#light(drops, dark);
    this.#rings(dark, now);
    for (let i = 0; i < drops.length; i++) {
      for (let j = i + 1; j < drops.length; j++) this.#neck(drops[i], drops[j], dark);
    }
    for (const d of drops) {
      this.#body(d, dark);
      this.#gloss(d, dark);
    }
    for (const h of held) this.#hold(h, dark);
    if (cross) this.#cross(cross, dark);
  }

  // light draws what a blob does to its surroundings: a shadow by day, a glow by night.
  // It is soft, so a small picture of it will do, which is drawn large.
  #light(drops, dark) {
    const ctx = this.#soft.getContext("2d");
    ctx.globalCompositeOperation = "copy";
    ctx.fillStyle = "transparent";
    ctx.fillRect(0, 0, this.width, this.height);
    ctx.globalCompositeOperation = dark ? "lighter" : "source-over";
    for (const { x, y, r, hue } of drops) {
      const cy = dark ? y : y + r * 0.35, reach = r * (dark ? 2.4 : 1.45);
      const g = ctx.createRadialGradient(x, cy, r * 0.5, x, cy, reach);
      g.addColorStop(0, dark ? `oklch(0.6 0.2 ${hue} / 0.26)` : `oklch(0.62 0.1 ${hue} / 0.36)`);
      g.addColorStop(1, dark ? `oklch(0.6 0.2 ${hue} / 0)` : `oklch(0.62 0.1 ${hue} / 0)`);
      ctx.fillStyle = g;
      ctx.fillRect(x - reach, cy - reach, 2 * reach, 2 * reach);
    }
    this.#ctx.drawImage(this.#soft, 0, 0, this.width, this.height);
  }

  #body({ x, y, r, hue }, dark) {
    this.#ctx.fillStyle = paintOf(hue, dark);
    this.#disc(x, y, r);
  }

  // gloss is the light of a window above and the shade below.
  #gloss({ x, y, r }, dark) {
    const ctx = this.#ctx;
    const shade = ctx.createRadialGradient(x - r * 0.25, y - r * 0.35, r * 0.2, x, y, r);
    shade.addColorStop(0, `rgb(255 255 255 / ${dark ? 0.3 : 0.34})`);
    shade.addColorStop(0.55, "rgb(255 255 255 / 0.04)");
    shade.addColorStop(1, `rgb(0 0 0 / 0)`);
    ctx.fillStyle = shade;
    this.#disc(x, y, r);
    const lx = x - r * 0.34, ly = y - r * 0.42, lr = r * 0.34;
    const spot = ctx.createRadialGradient(lx, ly, 0, lx, ly, lr);
    spot.addColorStop(0, "rgb(255 255 255 / 0.75)");
    spot.addColorStop(1, "rgb(255 255 255 / 0)");
    ctx.fillStyle = spot;
    this.#disc(lx, ly, lr);
  }

  #disc(x, y, r) {
    this.#ctx.beginPath();
    this.#ctx.arc(x, y, r, 0, 2 * Math.PI);
    this.#ctx.fill();
  }

  // neck joins two blobs: its sides leave each as tangents, and it is the thinner the
  // farther they are from each other.
  #neck(a, b, dark) {
    const dx = b.x - a.x, dy = b.y - a.y, d = Math.hypot(dx, dy), sum = a.r + b.r;
    const reach = sum + Math.min(a.r, b.r) * REACH * 2;
    if (d >= reach || d <= Math.abs(a.r - b.r) + 1) return;
    const pull = 0.56 * Math.min(1, (reach - d) / (reach - Math.max(a.r, b.r) * 0.6));
    const to = Math.atan2(dy, dx), spread = Math.acos((a.r - b.r) / d);
    let u = 0, v = 0;
    if (d < sum) {
      u = Math.acos((a.r * a.r + d * d - b.r * b.r) / (2 * a.r * d));
      v = Math.acos((b.r * b.r + d * d - a.r * a.r) / (2 * b.r * d));
    }
    const atA = u + (spread - u) * pull, atB = Math.PI - v - (Math.PI - v - spread) * pull;
    const grip = Math.min(pull * 2.4, distance(a.r, atA, b.r, atB, d) / sum) * Math.min(1, (2 * d) / sum);
    if (waist(a.r, atA, b.r, atB, grip) < 0.6) return; // it has torn
    const on = (c, angle, r) => [c.x + r * Math.cos(angle), c.y + r * Math.sin(angle)];
    const [ax, ay] = on(a, to + atA, a.r), [bx, by] = on(b, to + atB, b.r);
    const [cx, cy] = on(b, to - atB, b.r), [ex, ey] = on(a, to - atA, a.r);
    const side = (x, y, angle, r) => [x + r * grip * Math.cos(angle), y + r * grip * Math.sin(angle)];
    const q = Math.PI / 2, ctx = this.#ctx;
    ctx.beginPath();
    ctx.moveTo(ax, ay);
    ctx.bezierCurveTo(...side(ax, ay, to + atA - q, a.r), ...side(bx, by, to + atB + q, b.r), bx, by);
    ctx.lineTo(cx, cy);
    ctx.bezierCurveTo(...side(cx, cy, to - atB - q, b.r), ...side(ex, ey, to - atA + q, a.r), ex, ey);
    ctx.closePath();
    const g = ctx.createLinearGradient(
      a.x + (dx / d) * a.r * 0.7, a.y + (dy / d) * a.r * 0.7,
      b.x - (dx / d) * b.r * 0.7, b.y - (dy / d) * b.r * 0.7);
    g.addColorStop(0, paintOf(a.hue, dark));
    g.addColorStop(1, paintOf(b.hue, dark));
    ctx.fillStyle = g;
    ctx.fill();
  }

  // rings spread where blobs were dropped.
  #rings(dark, now) {
    const ctx = this.#ctx;
    this.#ripples = this.#ripples.filter((w) => now - w.since < RIPPLE);
    for (const w of this.#ripples) {
      const t = (now - w.since) / RIPPLE, out = 1 - (1 - t) ** 3;
      ctx.strokeStyle = `oklch(${dark ? 0.78 : 0.62} 0.17 ${w.hue} / ${0.7 * (1 - t)})`;
      ctx.lineWidth = 1 + 5 * (1 - t);
      ctx.beginPath();
      ctx.arc(w.x * this.width, w.y * this.height, w.r * this.unit * (0.7 + 1.6 * out), 0, 2 * Math.PI);
      ctx.stroke();
    }
  }

  // hold draws a blob that a hand holds ready, and where it would be thrown.
  #hold({ x, y, r, hue, tx, ty }, dark) {
    const ctx = this.#ctx, px = x * this.width, py = y * this.height, size = r * this.unit;
    ctx.fillStyle = `oklch(0.71 0.17 ${hue} / 0.55)`;
    this.#disc(px, py, size);
    ctx.strokeStyle = paintOf(hue, dark);
    ctx.lineWidth = 2;
    ctx.stroke();
    const dx = (tx - x) * this.width, dy = (ty - y) * this.height;
    if (Math.hypot(dx, dy) < 12) return;
    ctx.lineWidth = 3;
    ctx.lineCap = "round";
    ctx.setLineDash([0.1, 9]);
    ctx.beginPath();
    ctx.moveTo(px, py);
    ctx.lineTo(px + dx, py + dy);
    ctx.stroke();
    ctx.setLineDash([]);
  }

  #cross({ x, y, r, hue }, dark) {
    const ctx = this.#ctx, px = x * this.width, py = y * this.height, size = r * this.unit;
    ctx.strokeStyle = dark ? "#eceae4" : "#1d2024";
    ctx.lineWidth = 1.5;
    ctx.beginPath();
    ctx.moveTo(px - 12, py);
    ctx.lineTo(px + 12, py);
    ctx.moveTo(px, py - 12);
    ctx.lineTo(px, py + 12);
    ctx.stroke();
    ctx.strokeStyle = paintOf(hue, dark);
    ctx.lineWidth = 2.5;
    ctx.beginPath();
    ctx.arc(px, py, size, 0, 2 * Math.PI);
    ctx.stroke();
  }
}

// distance is that of two points at angles on circles that are d apart.
function distance(ra, atA, rb, atB, d) {
  return Math.hypot(d + rb * Math.cos(atB) - ra * Math.cos(atA), rb * Math.sin(atB) - ra * Math.sin(atA));
}

// waist is half of how thick a neck is in its middle.
function waist(ra, atA, rb, atB, grip) {
  const ya = ra * Math.sin(atA), yb = rb * Math.sin(atB);
  return (4 * (ya + yb) - 3 * grip * (ra * Math.cos(atA) - rb * Math.cos(atB))) / 8;
}

function paintOf(hue, dark) {
  return `oklch(${dark ? 0.72 : 0.7} 0.17 ${hue})`;
}
