// A chart over time on a canvas. The curves are painted once for a run; playing shows a part of
// that picture, so that a frame costs the same for one flow and for many.
"use strict";

/** Round numbers from 0 to at least `most`, about `count` of them. */
function ticks(most, count) {
  if (!(most > 0) || !Number.isFinite(most)) most = 1;
  const raw = most / count, power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].find((factor) => factor * power >= raw * 0.999) * power;
  const all = [];
  for (let k = 0; (k - 1) * step < most * 0.999; k++) all.push(k * step);
  return all;
}

/** A number as people read it: three digits, no powers. */
function digits(value) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  return size >= 100 ? value.toFixed(0) : size >= 10 ? value.toFixed(1) : size >= 1 ? value.toFixed(2) :
    size >= 0.01 ? value.toFixed(3) : value.toPrecision(2);
}

/** A tick's label: no more digits than it has. */
const label = (value) => String(Number(value.toPrecision(6)));

class Chart {
  /** `unit` is that of the values after `scale`; `height` in CSS pixels. */
  constructor(canvas, { unit, scale = 1, height = 190, least = 0 }) {
    Object.assign(this, { canvas, unit, scale, height, least });
    this.picture = document.createElement("canvas");
    this.series = [];
    this.marks = [];
    this.duration = 60;
    this.most = 1;
  }

  /**
   * Takes the curves: each has `points(add)`, which calls `add(t, value)`, a colour's variable, a
   * width, dashes, and whether it is `faint`. Marks are {t, color} at the foot, in two rows.
   */
  set({ series, marks = [], duration, most }) {
    Object.assign(this, { series, marks, duration, fixed: most });
    this.paint();
  }

  /** Paints the curves anew: after a run, or when the size or the colours have changed. */
  paint() {
    const ratio = self.devicePixelRatio || 1;
    const width = Math.max(200, Math.floor(this.canvas.parentNode.clientWidth));
    const { height, picture } = this;
    const style = getComputedStyle(this.canvas);
    this.color = (name) => style.getPropertyValue(name).trim() || "gray";
    for (const one of [this.canvas, picture]) {
      one.width = Math.round(width * ratio);
      one.height = Math.round(height * ratio);
    }
    this.canvas.style.height = `${height}px`;
    this.ratio = ratio;
    let most = this.least;
    const curves = this.series.map((one) => {
      const points = [];
      one.points((t, value) => {
        points.push(t, value * this.scale);
        if (value * this.scale > most) most = value * this.scale;
      });
      return { ...one, points };
    });
    this.ys = ticks(this.fixed ?? most, 4);
    this.most = this.ys[this.ys.length - 1];
    this.box = { left: 46, right: width - 8, top: 8, bottom: height - 34 };
    const g = picture.getContext("2d");
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.clearRect(0, 0, width, height);
    g.lineJoin = "round";
    for (const one of curves) {
      g.strokeStyle = this.color(one.color);
      g.lineWidth = one.width ?? 1;
      g.globalAlpha = one.faint ? 0.35 : 1;
      g.setLineDash(one.dash ?? []);
      g.beginPath();
      let open = false;
      for (let k = 0; k < one.points.length; k += 2) {
        const value = one.points[k + 1];
        if (Number.isNaN(value)) open = false;
        else {
          const x = this.x(one.points[k]), y = this.y(Math.min(value, this.most));
          if (open) g.lineTo(x, y);
          else g.moveTo(x, y);
          open = true;
        }
      }
      g.stroke();
    }
    g.globalAlpha = 1;
    g.setLineDash([]);
    for (const { t, color, above } of this.marks) {
      g.fillStyle = this.color(color);
      g.fillRect(this.x(t) - 0.75, this.box.bottom - (above ? 14 : 7), 1.5, 6);
    }
    this.frame();
    this.show(this.at ?? 0, this.pointer);
  }

  /** Axes and their words, painted once with the curves. */
  frame() {
    const paper = this.paper ??= document.createElement("canvas");
    paper.width = this.canvas.width;
    paper.height = this.canvas.height;
    const g = paper.getContext("2d"), { left, right, top, bottom } = this.box;
    g.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    g.font = "12px system-ui, sans-serif";
    g.fillStyle = this.color("--quiet");
    g.strokeStyle = this.color("--line");
    g.textAlign = "right";
    g.textBaseline = "middle";
    for (const value of this.ys) {
      const y = Math.round(this.y(value)) + 0.5;
      g.beginPath();
      g.moveTo(left, y);
      g.lineTo(right, y);
      g.stroke();
      g.fillText(label(value), left - 6, y);
    }
    g.textAlign = "center";
    g.textBaseline = "top";
    const wanted = (right - left) / 80;
    for (const t of ticks(this.duration, wanted)) {
      if (t > this.duration * 1.001) continue;
      const last = t > this.duration * 0.97;
      g.textAlign = last ? "right" : "center";
      g.fillText(last ? `${label(t)} s` : label(t), this.x(t) + (last ? 6 : 0), bottom + 6);
    }
  }

  x(t) {
    return this.box.left + (t / this.duration) * (this.box.right - this.box.left);
  }

  y(value) {
    const { top, bottom } = this.box;
    return bottom - (value / this.most) * (bottom - top);
  }

  /** The time under a place of the window. */
  timeAt(clientX) {
    const { left, right } = this.box, inside = clientX - this.canvas.getBoundingClientRect().left;
    const t = ((inside - left) / (right - left)) * this.duration;
    return Math.max(0, Math.min(this.duration, t));
  }

  /** Shows the run played up to `at`, what comes later pale, and a line at `pointer`. */
  show(at, pointer) {
    this.at = at;
    this.pointer = pointer;
    if (!this.box) return;
    const g = this.canvas.getContext("2d"), { ratio, canvas, picture } = this;
    const split = Math.round(this.x(at) * ratio);
    g.setTransform(1, 0, 0, 1, 0, 0);
    g.clearRect(0, 0, canvas.width, canvas.height);
    g.drawImage(this.paper, 0, 0);
    if (split > 0) g.drawImage(picture, 0, 0, split, canvas.height, 0, 0, split, canvas.height);
    const rest = canvas.width - split;
    if (rest > 0) {
      g.globalAlpha = 0.22;
      g.drawImage(picture, split, 0, rest, canvas.height, split, 0, rest, canvas.height);
      g.globalAlpha = 1;
    }
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    const line = (t, color, dash) => {
      g.strokeStyle = this.color(color);
      g.setLineDash(dash);
      g.beginPath();
      g.moveTo(this.x(t), this.box.top);
      g.lineTo(this.x(t), this.box.bottom);
      g.stroke();
      g.setLineDash([]);
    };
    line(at, "--text", []);
    if (pointer !== undefined) line(pointer, "--accent", [4, 3]);
  }
}
