// The four pictures of "How TFRC works": each a scenario with sliders, run anew at each move.
"use strict";

/** An element with attributes and children. */
function made(tag, attributes = {}, ...children) {
  const one = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) one.setAttribute(name, value);
  one.append(...children);
  return one;
}

const LINK = ({ rate, delay, queue, more = "" }) => `duration = "60s"
warmup = "20s"
seed = 1
nodes = ["left", "right"]

[[link]]
name = "line"
from = "left"
to = "right"
rate = "${rate}Mbit/s"
delay = "${delay}ms"
queue = "${queue}p"
${more}
`;

const TFRC = (more = "") => `
[[flow]]
name = "tfrc"
kind = "tfrc"
from = "left"
to = "right"
${more}
`;

/** The weights of RFC 5348 §5.4, for the newest interval first. */
const WEIGHTS = [1, 1, 1, 1, 0.8, 0.6, 0.4, 0.2];

/** The mean of intervals, the newest first. */
function weighted(intervals) {
  const some = intervals.slice(0, WEIGHTS.length);
  const sum = (value) => some.reduce((all, one, k) => all + WEIGHTS[k] * value(one), 0);
  return sum((one) => one) / sum(() => 1);
}

/** A picture: sliders and words, a button, the time, and places for drawing. */
class Lesson {
  constructor(id, about) {
    Object.assign(this, about);
    this.id = id;
    this.at = 0;
    this.simulator = new Simulator();
    this.root = document.querySelector(`#${id} .lesson`);
    this.sliders = made("div", { class: "sliders" });
    this.values = {};
    for (const control of this.controls) this.add(control);
    this.button = made("button", { type: "button" }, "Play");
    this.button.onclick = () => this.play(!this.playing);
    this.time = made("input", { type: "range", min: "0", max: "1000", value: "0" });
    this.output = made("small");
    this.time.oninput = () => {
      this.play(false);
      this.seek(this.time.value / 1000);
    };
    this.said = made("p", { class: "said" });
    this.place = made("div", { class: "canvas" });
    this.root.append(this.sliders, this.place, this.said, made("div", { class: "transport short" }, this.button,
      made("label", {}, "Time ", this.output, this.time)));
    this.build();
    this.run();
  }

  add({ key, words, values, value, unit = "" }) {
    const output = made("small"), list = typeof values[0] === "string";
    const control = list ? made("select", {}, ...values.map((one) => made("option", {}, one)))
      : made("input", { type: "range", min: "0", max: String(values.length - 1), step: "1" });
    const take = () => {
      this.values[key] = list ? control.value : values[control.value];
      const shown = list ? "" : `${this.values[key]} ${unit}`;
      output.textContent = shown;
      // The label has the value too: the name is spoken once, and then the value alone.
      control.setAttribute("aria-label", words);
      if (!list) control.setAttribute("aria-valuetext", shown);
    };
    control.value = list ? value : values.indexOf(value);
    take();
    control.oninput = () => {
      take();
      this.run();
    };
    this.sliders.append(made("label", {}, words, " ", output, control));
  }

  /** A chart in the picture, with its title. */
  chart(title, options) {
    const canvas = made("canvas", { role: "img", "aria-label": title });
    this.place.append(made("h3", {}, title), made("div", { class: "canvas" }, canvas));
    return new Chart(canvas, options);
  }

  async run() {
    const answer = await this.simulator.run({ text: this.scenario(this.values) });
    if (!answer) return;
    if (!answer.run) {
      this.said.textContent = answer.fault ?? answer.mistakes.map((one) => one.message).join("; ");
      return;
    }
    this.result = answer.run;
    await this.set(answer.run);
    this.ready = true;
    this.show();
  }

  play(on) {
    this.playing = on;
    if (on && this.at >= 60) this.at = 0;
    this.button.textContent = on ? "Pause" : "Play";
  }

  /** Shows the run at this share of its time. */
  seek(share) {
    this.at = share * 60;
    this.show();
  }

  show() {
    if (!this.ready) return;
    this.time.value = Math.round((this.at / 60) * 1000);
    const words = `${this.at.toFixed(1)} s`;
    this.output.textContent = words;
    this.time.setAttribute("aria-valuetext", words);
    this.draw(this.result, this.at);
  }

  step(seconds) {
    if (!this.playing || !this.ready || !this.seen) return;
    this.at = Math.min(60, this.at + seconds * this.speed);
    this.show();
    if (this.at >= 60) this.play(false);
  }

  paint() {
    if (this.ready) {
      this.set(this.result);
      this.show();
    }
  }
}

/** A curve of a column of a flow. */
const column = (run, flow, name, window = 1) => (add) => {
  for (let k = 0; k < run.count; k++) {
    let sum = 0;
    const from = Math.max(0, k - window + 1);
    for (let j = from; j <= k; j++) sum += run.flow(j, flow, name);
    add(run.time(k), sum / (k - from + 1));
  }
};

const queueOf = (run) => (add) => {
  for (let k = 0; k < run.count; k++) add(run.time(k), run.link(k, 0, "queue"));
};

/** A canvas that draws itself anew at each time, in CSS pixels. */
class Sketch {
  constructor(place, title, height) {
    this.canvas = made("canvas", { role: "img", "aria-label": title });
    this.height = height;
    place.append(made("h3", {}, title), made("div", { class: "canvas" }, this.canvas));
  }

  begin() {
    const ratio = devicePixelRatio || 1, width = Math.max(200, this.canvas.parentNode.clientWidth);
    if (this.canvas.width !== Math.round(width * ratio)) {
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(this.height * ratio);
      this.canvas.style.height = `${this.height}px`;
    }
    const g = this.canvas.getContext("2d"), style = getComputedStyle(this.canvas);
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.clearRect(0, 0, width, this.height);
    g.font = "12px system-ui, sans-serif";
    this.width = width;
    this.color = (name) => style.getPropertyValue(name).trim();
    return g;
  }
}

const LESSONS = [
  new Lesson("intervals", {
    speed: 5,
    controls: [{ key: "loss", words: "Packets lost", values: [0.2, 0.3, 0.5, 0.8, 1, 1.5, 2, 3], value: 0.5, unit: "%" }],
    scenario: ({ loss }) => LINK({ rate: 20, delay: 25, queue: 500, more: `loss = "${loss}%"
changes = [{ at = "20s", loss = "${Number((4 * loss).toFixed(2))}%" }, { at = "40s", loss = "${loss}%" }]` })
      // Bars and weights give the mean: no discounting of §5.5, which takes from them when an interval is long.
      + TFRC("[flow.tfrc]\ndiscounting = \"off\""),
    build() {
      this.sketch = new Sketch(this.place, "Loss intervals, packets: the newest on the left, with their weights", 190);
      this.curve = this.chart("Loss event rate p, %", { unit: "%", scale: 100, height: 150, least: 0.5 });
    },
    set(run) {
      const marks = run.losses.map(([t]) => ({ t, color: "--c1" }));
      this.curve.set({ series: [{ color: "--c0", width: 2, points: column(run, 0, "p") }], marks, duration: 60 });
      const sent = [0];
      for (let k = 0; k < run.count; k++) sent.push(sent[k] + run.flow(k, 0, "sent"));
      this.sent = sent;
    },
    draw(run, at) {
      this.curve.show(at);
      const past = run.losses.filter(([t]) => t <= at), g = this.sketch.begin(), { color, width, height } = this.sketch;
      const closed = past.map(([, , interval]) => interval).reverse().slice(0, 8);
      const look = Math.max(0, run.lookAt(at) + 1), last = past.length ? past[past.length - 1][0] : 0;
      const open = Math.max(0, this.sent[look] - this.sent[Math.max(0, run.lookAt(last) + 1)]);
      const mean = weighted(closed), longer = Math.max(mean, weighted([open, ...closed]));
      const p = past.length ? 1 / longer : 0;
      const scale = ticks(Math.max(open, ...closed, 10), 3), most = scale[scale.length - 1], bottom = height - 34, slot = (width - 50) / 9;
      const y = (packets) => bottom - (Math.min(packets, most) / most) * (bottom - 20);
      const outlined = (words, x, y) => {
        // On lines and bars too.
        g.lineWidth = 3;
        g.strokeStyle = color("--panel");
        g.strokeText(words, x, y);
        g.lineWidth = 1;
        g.fillText(words, x, y);
      };
      const bar = (k, packets, weight, name, dashed) => {
        const x = 46 + k * slot + slot * 0.12, wide = slot * 0.76;
        g.globalAlpha = dashed ? 1 : 0.25 + 0.75 * weight;
        g.fillStyle = g.strokeStyle = color("--c0");
        g.setLineDash(dashed ? [4, 3] : []);
        if (dashed) g.strokeRect(x, y(packets), wide, bottom - y(packets));
        else g.fillRect(x, y(packets), wide, bottom - y(packets));
        g.setLineDash([]);
        g.globalAlpha = 1;
        names.push(() => {
          g.textAlign = "center";
          g.fillStyle = color("--text");
          outlined(packets.toFixed(0), x + wide / 2, y(packets) - 4);
          g.fillStyle = color("--quiet");
          g.fillText(slot < 40 ? name.replace("× ", "") : name, x + wide / 2, bottom + 14);
        });
      };
      const names = [];
      bar(0, open, 1, "open", true);
      closed.forEach((packets, k) => bar(k + 1, packets, WEIGHTS[k], `× ${WEIGHTS[k]}`, false));
      if (p > 0) {
        g.strokeStyle = color("--c1");
        g.setLineDash([6, 4]);
        g.beginPath();
        g.moveTo(46, y(1 / p));
        g.lineTo(width - 4, y(1 / p));
        g.stroke();
        g.setLineDash([]);
        g.fillStyle = color("--c1");
        g.textAlign = "right";
        g.fillText(`mean ${(1 / p).toFixed(0)}`, width - 6, y(1 / p) - 5);
      }
      names.forEach((write) => write());
      g.fillStyle = color("--quiet");
      g.textAlign = "right";
      for (const value of scale) g.fillText(label(value), 40, y(value) + 4);
      const bars = closed.map((packets, k) => `${packets.toFixed(0)} × ${WEIGHTS[k]}`).join(", ");
      this.sketch.canvas.setAttribute("aria-label", `Loss intervals, packets: open ${open.toFixed(0)}; closed ${bars || "none"}`);
      this.said.textContent = p > 0
        ? `p = 1 / ${(1 / p).toFixed(1)} = ${digits(p * 100)} %, after ${past.length} loss events` +
          (longer > mean ? "; the open interval counts as the newest, because it makes the mean longer." : ".")
        : "No packet has been lost yet: p is 0.";
    },
  }),
  new Lesson("equation", {
    speed: 5,
    controls: [
      { key: "delay", words: "Round-trip time R", values: [20, 40, 60, 100, 150, 200, 300], value: 100, unit: "ms" },
      { key: "size", words: "Packet size s", values: [200, 500, 1000, 1460], value: 1460, unit: "bytes" },
    ],
    scenario: ({ delay, size }) => LINK({ rate: 100, delay: delay / 2, queue: 1000, more: `loss = "0.3%"
changes = [{ at = "15s", loss = "8%" }, { at = "30s", loss = "2%" }, { at = "45s", loss = "0.3%" }]` }) + TFRC(`segment = "${size}B"`),
    build() {
      this.sketch = new Sketch(this.place, "X in Mbit/s against p, both on scales of powers of ten", 260);
      this.p = Array.from({ length: 121 }, (_, k) => 10 ** (-3.5 + (3.5 * k) / 120));
    },
    async set(run) {
      const { delay, size } = this.values;
      const answer = await (this.second ??= new Simulator()).curve({ segment: size, rtt: delay / 1e3, p: this.p });
      if (answer?.curve) this.curve = answer.curve;
    },
    draw(run, at) {
      const g = this.sketch.begin(), { color, width, height } = this.sketch;
      const left = 50, right = width - 12, top = 10, bottom = height - 34;
      const x = (p) => left + ((Math.log10(p) + 3.5) / 3.5) * (right - left);
      const y = (bits) => bottom - ((Math.log10(Math.max(bits, 100)) - 2) / 6) * (bottom - top);
      g.strokeStyle = color("--line");
      g.fillStyle = color("--quiet");
      g.textBaseline = "middle";
      g.textAlign = "right";
      for (let k = 2; k <= 8; k++) {
        g.beginPath();
        g.moveTo(left, y(10 ** k));
        g.lineTo(right, y(10 ** k));
        g.stroke();
        g.fillText(String(Number((10 ** (k - 6)).toPrecision(1))), left - 6, y(10 ** k));
      }
      g.textAlign = "center";
      g.textBaseline = "alphabetic";
      for (const p of [0.001, 0.01, 0.1, 1]) {
        g.beginPath();
        g.moveTo(x(p), top);
        g.lineTo(x(p), bottom);
        g.stroke();
        g.fillText(`${p * 100} %`, Math.min(x(p), right - 14), bottom + 16);
      }
      g.strokeStyle = color("--c0");
      g.lineWidth = 2.2;
      g.beginPath();
      this.p.forEach((p, k) => g[k ? "lineTo" : "moveTo"](x(p), y(this.curve[k])));
      g.stroke();
      g.lineWidth = 1;
      const look = run.lookAt(at), now = look < 0 ? 0 : run.flow(look, 0, "p"), rate = look < 0 ? NaN : run.flow(look, 0, "allowed");
      for (let k = Math.max(0, look - 60); k <= look; k++) {
        const p = run.flow(k, 0, "p");
        if (!(p > 0)) continue;
        g.globalAlpha = 0.12 + 0.5 * (1 - (look - k) / 60);
        g.fillStyle = color("--c1");
        g.beginPath();
        g.arc(x(p), y(run.flow(k, 0, "allowed")), k === look ? 0 : 3, 0, 7);
        g.fill();
      }
      g.globalAlpha = 1;
      if (now > 0) {
        g.beginPath();
        g.arc(x(now), y(rate), 7, 0, 7);
        g.fillStyle = color("--c1");
        g.fill();
        g.strokeStyle = color("--back");
        g.stroke();
      }
      this.said.textContent = now > 0
        ? `p = ${digits(now * 100)} %, X = ${digits(rate / 1e6)} Mbit/s. From 15 s on 8 % of the packets are lost, from 30 s 2 %, from 45 s 0.3 %.`
        : "Slow start: nothing has been lost yet.";
    },
  }),
  new Lesson("halving", {
    speed: 5,
    controls: [
      { key: "part", words: "The rate falls to", values: [10, 25, 50, 75], value: 50, unit: "%" },
      { key: "queue", words: "Queue", values: [5, 10, 25, 50, 100], value: 25, unit: "packets" },
    ],
    scenario: ({ part, queue }) => LINK({ rate: 2, delay: 20, queue, more: `changes = [
    { at = "20s", rate = "${20 * part}kbit/s" },
    { at = "40s", rate = "2Mbit/s" },
]` }) + TFRC(),
    build() {
      this.rates = this.chart("Allowed rate X and what arrives, Mbit/s", { unit: "Mbit/s", scale: 1e-6, height: 190 });
      this.queue = this.chart("Queue, packets", { unit: "packets", height: 120, least: 4 });
    },
    set(run) {
      const line = run.links[0].rates;
      const steps = (add) => line.forEach(([at, rate], k) => {
        add(at, rate);
        add(line[k + 1]?.[0] ?? 60, rate);
      });
      const marks = run.losses.map(([t]) => ({ t, color: "--c1" }));
      this.rates.set({ duration: 60, marks, most: 4, series: [{ color: "--quiet", dash: [3, 4], width: 1.5, points: steps },
        { color: "--c2", width: 1.5, points: column(run, 0, "goodput", 5) },
        { color: "--c0", width: 2.2, points: column(run, 0, "allowed") }] });
      this.queue.set({ duration: 60, series: [{ color: "--c5", width: 1.5, points: queueOf(run) }] });
    },
    draw(run, at) {
      this.rates.show(at);
      this.queue.show(at);
      const look = run.lookAt(at), of = (name) => look < 0 ? NaN : run.flow(look, 0, name);
      this.said.replaceChildren(swatch("--c0", "solid"), `allowed ${text(of("allowed") / 1e6)}, `, swatch("--c2", "solid"),
        `arrives ${text(of("goodput") / 1e6)} Mbit/s, `, swatch("--quiet", "dotted"), "the link; ",
        `R ${text(of("rtt") * 1e3)} ms, p ${text(of("p") * 100)} %.`);
    },
  }),
  new Lesson("tcp", {
    speed: 5,
    controls: [
      { key: "variant", words: "The TCP", values: ["sack", "cubic", "bbr"], value: "sack" },
      { key: "queue", words: "Queue", values: [10, 20, 35, 50, 80, 120, 200], value: 50, unit: "packets" },
      { key: "rate", words: "Rate", values: [1, 2, 4, 8, 15], value: 4, unit: "Mbit/s" },
    ],
    scenario: ({ variant, queue, rate }) => LINK({ rate, delay: 20, queue }) + TFRC() + `
[[flow]]
name = "tcp"
kind = "tcp"
from = "left"
to = "right"
start = "1s"
[flow.tcp]
settings = "linux"
variant = "${variant}"
`,
    build() {
      this.rates = this.chart("What arrives, Mbit/s, mean of 0.5 s", { unit: "Mbit/s", scale: 1e-6, height: 200 });
      this.queue = this.chart("Queue, packets", { unit: "packets", height: 120, least: 4 });
    },
    set(run) {
      const marks = run.losses.map(([t]) => ({ t, color: "--c0" }));
      for (let k = 0; k < run.count; k++) if (run.flow(k, 1, "events") > 0) marks.push({ t: run.time(k), color: "--c1", above: true });
      this.rates.set({ duration: 60, marks, series: [{ color: "--c1", dash: [7, 4], width: 2, points: column(run, 1, "goodput", 5) },
        { color: "--c0", width: 2.2, points: column(run, 0, "goodput", 5) }] });
      this.queue.set({ duration: 60, series: [{ color: "--c5", width: 1.5, points: queueOf(run) }] });
    },
    draw(run, at) {
      this.rates.show(at);
      this.queue.show(at);
      const [tfrc, tcp] = run.result.flows;
      this.said.replaceChildren(swatch("--c0", "solid"), `TFRC: mean ${digits(tfrc.goodput_bps / 1e6)} Mbit/s, varies by ${digits(tfrc.cov * 100)} %; `,
        swatch("--c1", "dashed"), `TCP: mean ${digits(tcp.goodput_bps / 1e6)} Mbit/s, varies by ${digits(tcp.cov * 100)} %. Marks at the foot: loss events and cuts.`);
    },
  }),
];

function swatch(color, kind) {
  const one = made("span", { class: `swatch ${kind}` });
  one.style.borderTopColor = `var(${color})`;
  return one;
}

function text(value) {
  return Number.isNaN(value) ? "–" : digits(value);
}

/** A picture plays while it is seen. */
const watch = new IntersectionObserver((all) => all.forEach(({ target, isIntersecting }) => {
  const lesson = LESSONS.find((one) => one.root === target);
  if (isIntersecting && lesson.seen === undefined && !matchMedia("(prefers-reduced-motion: reduce)").matches) lesson.play(true);
  lesson.seen = isIntersecting || (lesson.seen === undefined ? undefined : false);
}), { threshold: 0.3 });
LESSONS.forEach((lesson) => watch.observe(lesson.root));

let before = 0;

function frame(now) {
  requestAnimationFrame(frame);
  const passed = Math.min(0.1, (now - before) / 1e3);
  before = now;
  LESSONS.forEach((lesson) => lesson.step(passed));
}

let wide = innerWidth;
addEventListener("resize", () => {
  if (wide !== innerWidth) LESSONS.forEach((lesson) => lesson.paint());
  wide = innerWidth;
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => LESSONS.forEach((lesson) => lesson.paint()));
requestAnimationFrame(frame);
