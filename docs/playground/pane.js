// One run on the page: its sentence, four charts with a table each, and what happened in it.
"use strict";

const DASHES = [[], [7, 4], [2, 3], [10, 3, 2, 3]];
const colorOf = (group) => `--c${group % 6}`;

/** An element with attributes and children. */
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

const mean = (values) => {
  const all = values.filter((value) => value !== undefined && value !== null && !Number.isNaN(value));
  return all.length ? all.reduce((sum, value) => sum + value, 0) / all.length : NaN;
};

/** The charts: unit, scale, and the columns of the table behind "at t". */
const CHARTS = [
  { key: "rates", title: "Goodput of a flow", unit: "Mbit/s", scale: 1e-6, height: 220, after: ["mean", "CoV sent"] },
  { key: "queue", title: "Queue", unit: "packets", scale: 1, height: 150, after: ["mean", "dropped"], least: 4 },
  { key: "rtt", title: "Round-trip time R", unit: "ms", scale: 1e3, height: 150, after: ["mean"] },
  { key: "p", title: "Loss event rate p", unit: "%", scale: 100, height: 150, after: ["of packets"], least: 0.1 },
];

class Pane {
  /** `keys` is called with a key pressed on a chart, `point` with a time under the pointer. */
  constructor(title, { keys, point }) {
    this.heading = element("h2", {}, title);
    this.sentence = element("p", { class: "sentence" });
    this.root = element("section", { "aria-label": title || "Run" }, this.heading, this.sentence);
    this.heading.hidden = !title;
    this.charts = {};
    for (const about of CHARTS) {
      // It takes arrow keys, which a picture does not.
      const canvas = element("canvas", { tabindex: "0", role: "slider", "aria-valuemin": "0" });
      const body = element("tbody");
      const at = element("th", { scope: "col" }, "now");
      const heads = ["", ...about.after].map((name) => element("th", { scope: "col" }, name));
      heads.splice(1, 0, at);
      const table = element("table", { "aria-label": `${about.title}, ${about.unit}` },
        element("thead", {}, element("tr", {}, ...heads)), body);
      const caption = element("figcaption", {}, `${about.title}, ${about.unit}`);
      if (about.key === "rates") this.caption = caption;
      this.root.append(element("figure", {}, caption, element("div", { class: "canvas" }, canvas),
        element("div", { class: "scroll" }, table)));
      const chart = new Chart(canvas, about);
      this.charts[about.key] = { about, chart, body, at, canvas };
      canvas.addEventListener("keydown", keys);
      canvas.addEventListener("pointermove", (event) => point(chart.timeAt(event.clientX)));
      canvas.addEventListener("pointerdown", (event) => point(chart.timeAt(event.clientX)));
      canvas.addEventListener("pointerleave", () => point(undefined));
      canvas.addEventListener("blur", () => point(undefined));
    }
  }

  /** Shows a run, which may still go on. */
  set(run) {
    this.run = run;
    const groups = run.groups.map((group, number) => ({ ...group, number, members: run.members(number) }));
    this.groups = groups.filter((group) => group.members.length);
    const has = (column) => this.groups.filter((group) => this.any(group.members[0], column));
    this.shown = { rates: this.groups.filter((group) => this.any(group.members[0], "goodput")), rtt: has("rtt"), p: has("p") };
    this.links = run.links.map((link, number) => ({ ...link, number }));
    const most = (link) => {
      let all = 0;
      for (let k = 0; k < run.count; k++) all = Math.max(all, run.link(k, link.number, "queue"));
      return all;
    };
    this.links = this.links.filter((link) => most(link) > 1).slice(0, 4);
    const curve = (value) => (add) => {
      for (let k = 0; k < run.count; k++) add(run.time(k), value(k));
    };
    const of = (groups, column, whole) => groups.flatMap((group) => {
      const color = colorOf(group.number), dash = DASHES[group.number % 4];
      const single = group.members.map((flow) => ({ color, faint: group.members.length > 1,
        width: group.members.length > 1 ? 1 : 2.2, dash: group.members.length > 1 ? [] : dash,
        points: curve((k) => run.flow(k, flow, column)) }));
      if (group.members.length < 2) return single;
      return [...single, { color, dash, width: 2.6, points: curve((k) => whole(k, group)) }];
    });
    const average = (column) => (k, group) => mean(group.members.map((flow) => run.flow(k, flow, column)));
    const { duration } = run;
    // A rate over less than this is one of a few packets.
    this.window = Math.max(1, Math.round(duration / 120 / (run.time(1) - run.time(0) || 1)));
    const smooth = (value) => (k) => this.smooth(k, value);
    const rates = this.shown.rates.flatMap((group) => {
      const color = colorOf(group.number), dash = DASHES[group.number % 4];
      const members = group.members.length < 2 ? [] : group.members.map((flow) => ({ color, faint: true, width: 1,
        points: curve(smooth((k) => run.flow(k, flow, "goodput"))) }));
      return [...members, { color, dash, width: 2.6, points: curve((k) => this.rate(k, group) * 1e6) }];
    });
    this.steps = this.share();
    const { steps } = this;
    if (steps) rates.unshift({ color: "--quiet", dash: [3, 4], width: 1, points: (add) => steps.forEach(([from, to, rate]) => {
      add(from, rate);
      add(to, rate);
    }) });
    const stretch = digits(this.window * (run.time(1) - run.time(0) || 0)).replace(/\.?0+$/, "");
    this.caption.textContent = `Goodput of a flow, Mbit/s, mean of ${stretch} s`;
    this.charts.rates.chart.set({ series: rates, marks: this.marks(), duration });
    this.charts.queue.chart.set({ duration, series: this.links.map((link, k) => ({ color: `--c${(5 + k) % 6}`,
      dash: DASHES[k % 4], width: 1.5, points: curve((look) => run.link(look, link.number, "queue")) })) });
    this.charts.rtt.chart.set({ series: of(this.shown.rtt, "rtt", average("rtt")), duration });
    this.charts.p.chart.set({ series: of(this.shown.p, "p", average("p")), duration });
    this.rows();
    this.say();
  }

  any(flow, column) {
    for (let k = 0; k < this.run.count; k++) {
      const value = this.run.flow(k, flow, column);
      if (!Number.isNaN(value)) return true;
    }
    return false;
  }

  /** The mean of the looks of the last window. */
  smooth(look, value) {
    let sum = 0, count = 0;
    for (let k = Math.max(0, look - this.window + 1); k <= look; k++, count++) sum += value(k);
    return sum / count;
  }

  /** Goodput of one flow of a group, the mean of all, Mbit/s. */
  rate(look, group) {
    return this.smooth(look, (k) => this.run.total(k, group.number)) / group.count / 1e6;
  }

  /** An equal share of the only line: from, to, bit/s; nothing for a network of several lines. */
  share() {
    const { links, groups, duration } = this.run;
    if (links.length > 2 || !links.length) return undefined;
    const flows = groups.reduce((sum, group) => sum + group.count, 0), { rates } = links[0];
    return rates.map(([at, rate], k) => [at, Math.min(rates[k + 1]?.[0] ?? duration, duration), rate / flows]);
  }

  /** Loss events and cuts, for the chart of rates. */
  marks() {
    const { run } = this, marks = [];
    const group = (flow) => run.groups.findIndex((one) => flow >= one.first && flow < one.first + one.count);
    for (const [t, flow] of run.losses) marks.push({ t, color: colorOf(group(flow)) });
    const tcps = this.groups.filter(({ members }) => this.any(members[0], "cwnd"));
    for (const flow of tcps.flatMap(({ members }) => members)) {
      for (let k = 0; k < run.count; k++) {
        if (run.flow(k, flow, "events") > 0) marks.push({ t: run.time(k), color: colorOf(group(flow)), above: true });
      }
    }
    return marks;
  }

  /** The rows of the tables, made once for a run. */
  rows() {
    const { run } = this, result = run.result;
    const swatch = (color, number) => {
      const made = element("span", { class: `swatch ${["", "dashed", "dotted", "dashed"][number % 4]}` });
      made.style.borderTopColor = `var(${color})`;
      return made;
    };
    const row = (key, name, color, number, now, after) => {
      const cell = element("td");
      const line = element("tr", {}, element("th", { scope: "row" }, swatch(color, number), name), cell,
        ...after.map((text) => element("td", {}, text)));
      this.charts[key].body.append(line);
      this.cells.push({ cell, now });
    };
    this.cells = [];
    for (const { body } of Object.values(this.charts)) body.replaceChildren();
    const figures = (group, key, scale = 1) => {
      if (!result) return NaN;
      return mean(result.flows.slice(group.first, group.first + group.count).map((flow) => flow[key])) * scale;
    };
    const text = (value) => Number.isNaN(value) ? "–" : digits(value);
    for (const group of this.shown.rates) {
      row("rates", this.called(group), colorOf(group.number), group.number,
        (k) => this.rate(k, group),
        [text(figures(group, "goodput_bps", 1e-6)), text(figures(group, "cov"))]);
    }
    if (this.steps) {
      const rate = (t) => this.steps.find(([, to]) => t <= to)?.[2] ?? NaN;
      row("rates", "equal share", "--quiet", 2, (k) => rate(run.time(k)) / 1e6, ["", ""]);
    }
    this.links.forEach((link, k) => {
      const found = result?.links.find((one) => one.id === link.name);
      row("queue", link.name, `--c${(5 + k) % 6}`, k, (look) => run.link(look, link.number, "queue"),
        [text(found ? found.mean_queue_packets : NaN), found ? `${digits(found.drop_rate * 100)} %` : "–"]);
    });
    for (const group of this.shown.rtt) {
      row("rtt", this.called(group), colorOf(group.number), group.number,
        (k) => mean(group.members.map((flow) => run.flow(k, flow, "rtt"))) * 1e3, [text(figures(group, "rtt_s", 1e3))]);
    }
    for (const group of this.shown.p) {
      row("p", this.called(group), colorOf(group.number), group.number,
        (k) => mean(group.members.map((flow) => run.flow(k, flow, "p"))) * 100,
        [text(figures(group, "loss_event_rate", 100))]);
    }
  }

  called(group) {
    return group.count > 1 ? `${group.name} (${group.count})` : group.name;
  }

  /** The result in a sentence. */
  say() {
    const { run } = this;
    if (!run.result) return;
    const rate = (group) => mean(run.result.flows.slice(group.first, group.first + group.count)
      .map((flow) => flow.goodput_bps)) / 1e6;
    const parts = this.shown.rates.slice(0, 5).map((group) => `${group.name} ${digits(rate(group))}`);
    const [first, second] = this.shown.rates;
    const ratio = second && rate(second) > 0 && this.shown.rates.length === 2
      ? `; ratio ${digits(rate(first) / rate(second))}` : "";
    const points = run.points > 1 ? ` The first of ${run.points} points.` : "";
    const unit = this.shown.rates.some((group) => group.count > 1) ? "Mbit/s a flow" : "Mbit/s";
    this.sentence.textContent = `Mean after ${digits(run.warmup)} s: ${parts.join(", ")} ${unit}${ratio}.${points}`;
    for (const { about, canvas } of Object.values(this.charts)) {
      canvas.setAttribute("aria-label", `${about.title} over ${run.duration} s; the table has the values`);
      canvas.setAttribute("aria-valuemax", run.duration);
    }
    if (run.notes.length) this.sentence.append(element("br"), element("span", { class: "quiet" }, run.notes.join(" ")));
  }

  /** Shows the time that is played, and the values there or at the pointer. */
  show(at, pointer) {
    if (!this.run) return;
    for (const { chart, at: head, canvas } of Object.values(this.charts)) {
      chart.show(at, pointer);
      // What is played is not spoken, what a key or the pointer asks for is.
      if (pointer !== undefined || !canvas.hasAttribute("aria-valuetext")) this.speak(canvas, pointer ?? at);
      const words = `at ${(pointer ?? at).toFixed(1)} s`;
      if (head.textContent !== words) head.textContent = words;
    }
    const look = this.run.lookAt(pointer ?? at);
    for (const { cell, now } of this.cells) {
      const value = look < 0 ? NaN : now(look), words = Number.isNaN(value) ? "–" : digits(value);
      if (cell.textContent !== words) cell.textContent = words;
    }
  }

  /** The time of a chart in words, with what happened around it. */
  speak(canvas, t) {
    canvas.setAttribute("aria-valuenow", t.toFixed(2));
    canvas.setAttribute("aria-valuetext", [`${t.toFixed(1)} s`, ...this.events(t)].join("; "));
  }

  paint() {
    if (this.run) Object.values(this.charts).forEach(({ chart }) => chart.paint());
  }

  /** The events around a time, as sentences, the nearest ones. */
  events(t) {
    const { run } = this, reach = Math.max(0.15, run.duration / 300), found = [];
    for (const [at, flow, interval, average] of run.losses) {
      if (Math.abs(at - t) > reach) continue;
      found.push([at, `${at.toFixed(2)} s: ${run.name(flow)} has a loss event; it ends an interval of ` +
        `${interval.toFixed(0)} packets, the mean is ${average.toFixed(0)} (p ${digits(100 / average)} %)`]);
    }
    const around = run.lookAt(t);
    for (let k = Math.max(1, around - 1); k <= Math.min(run.count - 1, around + 1); k++) {
      if (Math.abs(run.time(k) - t) > 2 * reach) continue;
      for (const group of this.groups) {
        for (const flow of group.members) {
          const cuts = run.flow(k, flow, "events"), cwnd = run.flow(k, flow, "cwnd");
          if (!(cuts > 0) || Number.isNaN(cwnd)) continue;
          found.push([run.time(k), `${run.time(k).toFixed(1)} s: ${run.name(flow)} cuts its window: ` +
            `${run.flow(k - 1, flow, "cwnd").toFixed(1)} → ${cwnd.toFixed(1)} packets`]);
        }
      }
      for (const link of this.links) {
        const lost = run.link(k, link.number, "lost");
        if (lost > 0) found.push([run.time(k), `${run.time(k).toFixed(1)} s: ${link.name} drops ${lost} packet${lost > 1 ? "s" : ""}`]);
      }
      for (const [at, rate] of run.links.flatMap((link) => link.rates.slice(1))) {
        if (k === around && Math.abs(at - t) < 2 * reach) found.push([at, `${at} s: the line's rate becomes ${digits(rate / 1e6)} Mbit/s`]);
      }
    }
    found.sort((a, b) => Math.abs(a[0] - t) - Math.abs(b[0] - t));
    return [...new Map(found.slice(0, 7).sort((a, b) => a[0] - b[0]).map((one) => [one[1], one])).keys()];
  }
}
