"use strict";
(() => {
  const data = JSON.parse(document.getElementById("run-data").textContent);
  if (!data.charts.length) return;
  const root = document.documentElement;
  const css = (name) => getComputedStyle(root).getPropertyValue(name).trim();

  // Pens: width, dash, marker. Two curves of one chart differ in more than their colour.
  const PENS = {
    allowed: [2.4, [], null],
    send: [1.4, [], "circle"],
    receive: [1.4, [6, 3], "triangle"],
    goodput: [1.4, [], "square"],
    link: [1.6, [10, 4, 2, 4], null],
    loss: [1.8, [], null],
    rtt: [1.8, [], null],
    queue: [1.8, [], null],
    other1: [1.4, [2, 2.5], "diamond"],
    other2: [1.4, [2, 2.5], "cross"],
    other3: [1.4, [2, 2.5], "plus"],
    other4: [1.4, [2, 2.5], "wedge"],
  };

  const MARKERS = {
    circle: (c, x, y, r) => { c.arc(x, y, r, 0, 2 * Math.PI); return true; },
    square: (c, x, y, r) => { c.rect(x - r, y - r, 2 * r, 2 * r); return true; },
    triangle: (c, x, y, r) => { c.moveTo(x, y - 1.3 * r); c.lineTo(x + 1.2 * r, y + r); c.lineTo(x - 1.2 * r, y + r); c.closePath(); return true; },
    wedge: (c, x, y, r) => { c.moveTo(x, y + 1.3 * r); c.lineTo(x - 1.2 * r, y - r); c.lineTo(x + 1.2 * r, y - r); c.closePath(); return true; },
    diamond: (c, x, y, r) => { c.moveTo(x, y - 1.4 * r); c.lineTo(x + 1.4 * r, y); c.lineTo(x, y + 1.4 * r); c.lineTo(x - 1.4 * r, y); c.closePath(); return true; },
    cross: (c, x, y, r) => { c.moveTo(x - r, y - r); c.lineTo(x + r, y + r); c.moveTo(x + r, y - r); c.lineTo(x - r, y + r); return false; },
    plus: (c, x, y, r) => { c.moveTo(x - 1.2 * r, y); c.lineTo(x + 1.2 * r, y); c.moveTo(x, y - 1.2 * r); c.lineTo(x, y + 1.2 * r); return false; },
  };

  const digits = (v) => {
    const size = Math.abs(v);
    if (size === 0) return "0";
    if (size >= 100) return v.toFixed(0);
    if (size >= 0.001) return v.toPrecision(3);
    return v.toExponential(1);
  };

  // A known value between two unknown ones has no line to be on: draw it as a dot.
  const alone = (u, si) => {
    const ys = u.data[si];
    const out = [];
    for (let i = 0; i < ys.length; i++) {
      if (ys[i] != null && ys[i - 1] == null && ys[i + 1] == null) out.push(i);
    }
    return out;
  };

  // Markers stand a fixed way apart on the screen, shifted per curve so that they do not hide each other.
  const drawMarkers = (u, si) => {
    const series = u.series[si];
    if (!series.show || !series.marker) return;
    const ratio = uPlot.pxRatio;
    const ctx = u.ctx;
    const step = 90 * ratio;
    const xs = u.data[0];
    const ys = u.data[si];
    let next = u.bbox.left + step * (0.3 + ((si * 0.37) % 1));
    ctx.save();
    ctx.beginPath();
    ctx.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
    ctx.clip();
    ctx.strokeStyle = series.colour;
    ctx.fillStyle = css("--ground");
    ctx.lineWidth = 1.5 * ratio;
    for (let i = 0; i < xs.length; i++) {
      if (ys[i] == null) continue;
      const x = u.valToPos(xs[i], "x", true);
      if (x < next) continue;
      next += step * Math.ceil((x - next + 1e-9) / step);
      ctx.beginPath();
      const closed = MARKERS[series.marker](ctx, x, u.valToPos(ys[i], "y", true), 3.2 * ratio);
      if (closed) ctx.fill();
      ctx.stroke();
    }
    ctx.restore();
  };

  const drawMoments = (u, chart, first) => {
    const ratio = uPlot.pxRatio;
    const ctx = u.ctx;
    const { left, top, width, height } = u.bbox;
    const inside = (x) => x >= left && x <= left + width;
    ctx.save();
    if (chart.id === "loss") {
      ctx.strokeStyle = css("--loss");
      ctx.lineWidth = ratio;
      ctx.beginPath();
      for (const t of data.loss_events_s) {
        const x = u.valToPos(t, "x", true);
        if (inside(x)) { ctx.moveTo(x, top + height); ctx.lineTo(x, top + height - 9 * ratio); }
      }
      ctx.stroke();
    }
    ctx.strokeStyle = css("--soft");
    ctx.fillStyle = css("--soft");
    ctx.lineWidth = ratio;
    ctx.setLineDash([2 * ratio, 3 * ratio]);
    ctx.font = 12 * ratio + "px system-ui, sans-serif";
    ctx.textAlign = "left";
    ctx.textBaseline = "bottom";
    let free = -Infinity;
    for (const mark of data.marks) {
      const x = u.valToPos(mark.t_s, "x", true);
      if (!inside(x)) continue;
      ctx.beginPath();
      ctx.moveTo(x, top);
      ctx.lineTo(x, top + height);
      ctx.stroke();
      const room = ctx.measureText(mark.label).width + 8 * ratio;
      if (first && x > free && x + room < left + width + 14 * ratio) {
        ctx.fillText(mark.label, x, top - 3 * ratio);
        free = x + room;
      }
    }
    ctx.restore();
  };

  const showValues = (u, chart, figure) => {
    const i = u.cursor.left >= 0 && u.cursor.idx != null ? Math.min(Math.max(u.cursor.idx - 1, 0), data.t_s.length - 1) : null;
    const outputs = figure.querySelectorAll(".legend button + output");
    chart.series.forEach((series, n) => {
      const v = i == null ? null : series.values[i];
      outputs[n].textContent = i == null ? "" : v == null ? "unknown" : digits(v / chart.scale) + (chart.unit ? " " + chart.unit : "");
    });
    figure.querySelector(".at").textContent = i == null ? "" : "at " + data.t_s[i].toFixed(2) + " s";
  };

  // The axis runs from 0 to the end of the run: an unknown point at either end holds it there.
  const last = data.t_s[data.t_s.length - 1];
  const times = [Math.min(0, data.t_s[0]), ...data.t_s, Math.max(data.duration_s, last)];
  const hidden = new Set();
  const make = (chart, index, width) => {
    const figure = document.getElementById(chart.id);
    const narrow = width < 560;
    const first = index === 0;
    const axis = {
      stroke: css("--soft"),
      grid: { stroke: css("--grid"), width: 1 },
      ticks: { stroke: css("--line"), width: 1, size: 5 },
      font: "12px system-ui, sans-serif",
      labelFont: "12px system-ui, sans-serif",
      labelSize: 18,
    };
    const options = {
      width,
      height: first ? (narrow ? 270 : 330) : (narrow ? 170 : 190),
      padding: [first && data.marks.length ? 22 : 10, 14, 0, 0],
      legend: { show: false },
      cursor: { sync: { key: "run", setSeries: false }, y: false, points: { size: 7 }, drag: { x: true, y: false } },
      scales: {
        x: { time: false },
        y: { range: (u, min, max) => [0, chart.top ? chart.top / chart.scale : max > 0 ? max * 1.06 : 1] },
      },
      axes: [
        { ...axis, label: "time (s)", size: 30, space: narrow ? 55 : 80, values: (u, ts) => ts.map((t) => +t.toPrecision(6)) },
        { ...axis, label: chart.axis, size: 52, space: 34, values: (u, vs) => vs.map((v) => (v === 0 ? "0" : v < 0.001 ? v.toExponential(0) : String(+v.toPrecision(4)))) },
      ],
      series: [{}, ...chart.series.map((series, n) => {
        const [lineWidth, dash, marker] = PENS[series.pen];
        const colour = css("--" + series.ink);
        return {
          label: series.label,
          stroke: colour,
          colour,
          width: lineWidth,
          dash,
          marker,
          show: !hidden.has(series.key),
          paths: series.pen === "link" ? uPlot.paths.stepped({ align: -1 }) : uPlot.paths.linear(),
          points: { show: true, size: 4, fill: colour, filter: alone },
        };
      })],
      hooks: {
        drawSeries: [drawMarkers],
        draw: [(u) => drawMoments(u, chart, first)],
        setCursor: [(u) => showValues(u, chart, figure)],
      },
    };
    const columns = [times, ...chart.series.map((s) => [null, ...s.values.map((v) => (v == null ? null : v / chart.scale)), null])];
    const box = figure.querySelector(".plot");
    box.replaceChildren();
    return new uPlot(options, columns, box);
  };

  let plots = [];
  const build = (width) => {
    plots.forEach((p) => p.destroy());
    plots = data.charts.map((chart, index) => make(chart, index, width));
  };
  const room = () => Math.max(260, document.getElementById("charts").clientWidth);
  build(room());

  new ResizeObserver(() => {
    if (root.dataset.print || plots[0].width === room()) return;
    for (const p of plots) p.setSize({ width: room(), height: p.height });
  }).observe(document.getElementById("charts"));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => build(room()));
  // Paper is white and 17 cm wide whatever the screen was.
  addEventListener("beforeprint", () => { root.dataset.print = "1"; build(660); });
  addEventListener("afterprint", () => { delete root.dataset.print; build(room()); });

  for (const button of document.querySelectorAll(".legend button")) {
    button.addEventListener("click", () => {
      const shown = button.getAttribute("aria-pressed") !== "true";
      const { chart, series } = button.dataset;
      const key = data.charts[chart].series[series - 1].key;
      button.setAttribute("aria-pressed", shown);
      if (shown) hidden.delete(key); else hidden.add(key);
      plots[chart].setSeries(+series, { show: shown });
    });
  }

  const link = document.getElementById("csv");
  link.hidden = false;
  link.addEventListener("click", () => {
    const series = data.charts.flatMap((c) => c.series);
    const quote = (text) => (/[",\n\r]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text);
    const lines = [["t_s", ...series.map((s) => quote(s.key))].join(",")];
    data.t_s.forEach((t, i) => lines.push([t, ...series.map((s) => s.values[i] ?? "")].join(",")));
    link.href = URL.createObjectURL(new Blob([lines.join("\n") + "\n"], { type: "text/csv" }));
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  });
  link.href = "#";
})();
