"use strict";
(() => {
  const all = JSON.parse(document.getElementById("charts").textContent);
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  // Curves differ in colour, dash and marker: they must be told apart on paper as well.
  const CURVES = [
    ["published", "published", "--published", [6, 4], "square"],
    ["ns2", "ns-2", "--ns2", [2, 3], "triangle"],
    ["measured", "measured, with 95 % intervals", "--measured", [], "circle"],
    ["rfc", "RFC profile", "--rfc", [10, 4, 2, 4], "cross"],
  ];
  const SHAPES = {
    circle: (c, x, y, r) => c.arc(x, y, r, 0, 2 * Math.PI),
    square: (c, x, y, r) => c.rect(x - r, y - r, 2 * r, 2 * r),
    triangle: (c, x, y, r) => { c.moveTo(x, y - 1.3 * r); c.lineTo(x + 1.2 * r, y + r); c.lineTo(x - 1.2 * r, y + r); c.closePath(); },
    cross: (c, x, y, r) => { c.moveTo(x - r, y - r); c.lineTo(x + r, y + r); c.moveTo(x + r, y - r); c.lineTo(x - r, y + r); },
  };
  const inSvg = (dash, colour, shape) => {
    const marks = { circle: '<circle cx="14" cy="5" r="3"/>', square: '<rect x="11" y="2" width="6" height="6"/>', triangle: '<path d="M14 1l4 7h-8z"/>', cross: '<path d="M11 2l6 6M17 2l-6 6"/>' };
    return '<svg viewBox="0 0 28 10" fill="none" stroke="' + colour + '" stroke-width="1.6"><path stroke-dasharray="' + dash.join(" ") + '" d="M0 5H28"/>' + marks[shape] + "</svg>";
  };
  const digits = (v) => (v === 0 ? "0" : Math.abs(v) < 0.001 || Math.abs(v) >= 1e6 ? v.toExponential(0) : String(+v.toPrecision(3)));
  const markers = (shape, colour) => (u, si) => {
    const c = u.ctx, ratio = uPlot.pxRatio;
    c.save();
    c.strokeStyle = colour;
    c.fillStyle = css("--ground");
    c.lineWidth = 1.5 * ratio;
    u.data[si].forEach((v, i) => {
      if (v == null) return;
      c.beginPath();
      SHAPES[shape](c, u.valToPos(u.data[0][i], "x", true), u.valToPos(v, "y", true), 3 * ratio);
      if (shape !== "cross") c.fill();
      c.stroke();
    });
    c.restore();
  };
  const intervals = (column) => (u) => {
    const c = u.ctx, ratio = uPlot.pxRatio, { top, height } = u.bbox;
    const inside = (y) => Math.min(Math.max(y, top), top + height);
    c.save();
    c.strokeStyle = css("--measured");
    c.lineWidth = ratio;
    c.beginPath();
    column.measured.forEach((v, i) => {
      const half = column.ci95[i];
      if (v == null || half == null) return;
      const x = u.valToPos(u.data[0][i], "x", true);
      const low = v - half > 0 || !column.log_y ? u.valToPos(v - half, "y", true) : top + height;
      c.moveTo(x, inside(low));
      c.lineTo(x, inside(u.valToPos(v + half, "y", true)));
    });
    c.stroke();
    c.restore();
  };
  const draw = (box, charts, column) => {
    const figure = document.createElement("figure");
    const title = document.createElement("h5");
    title.textContent = column.name;
    const names = document.createElement("ul");
    const shown = CURVES.filter(([key]) => column[key].some((v) => v != null));
    for (const [, label, colour, dash, shape] of shown) {
      const item = document.createElement("li");
      item.innerHTML = inSvg(dash, css(colour), shape);
      item.append(label);
      names.append(item);
    }
    const plot = document.createElement("div");
    plot.setAttribute("role", "img");
    plot.setAttribute("aria-label", column.name + ": published and measured; the values are in the table below");
    figure.append(title, names, plot);
    box.append(figure);
    const axis = { stroke: css("--soft"), grid: { stroke: css("--grid"), width: 1 }, ticks: { stroke: css("--line"), width: 1 }, font: "12px system-ui, sans-serif", labelFont: "12px system-ui, sans-serif", labelSize: 18 };
    const place = (v) => (charts.labels ? charts.labels[v] ?? "" : digits(v));
    const pad = charts.labels ? 0.4 : (charts.x[charts.x.length - 1] - charts.x[0]) * 0.03;
    // A logarithmic axis of uPlot must not see what is not positive.
    const clean = (vs) => vs.map((v) => (column.log_y && !(v > 0) ? null : v));
    new uPlot({
      width: Math.max(240, figure.clientWidth), height: 250, legend: { show: false }, cursor: { show: false }, padding: [10, 14, 0, 0],
      scales: {
        x: charts.log_x ? { time: false, distr: 3 } : { time: false, range: (u, a, b) => [a - pad, b + pad] },
        y: column.log_y ? { distr: 3 } : { range: (u, a, b) => [Math.min(0, a * 1.06), b > 0 ? b * 1.08 : 1] },
      },
      axes: [
        { ...axis, label: charts.key, size: 32, space: 60, ...(charts.labels ? { splits: () => charts.x, rotate: charts.x.length > 6 ? -40 : 0, size: charts.x.length > 6 ? 70 : 32 } : {}), values: (u, vs) => vs.map((v) => (v == null ? null : place(v))) },
        { ...axis, size: 58, values: (u, vs) => vs.map((v) => (v == null ? null : digits(v))) },
      ],
      series: [{}, ...shown.map(([, label, colour, dash]) => ({ label, stroke: css(colour), width: 1.6, dash, spanGaps: true, points: { show: false } }))],
      hooks: { drawSeries: [(u, si) => si > 0 && markers(shown[si - 1][4], css(shown[si - 1][2]))(u, si)], draw: [intervals(column)] },
    }, [charts.x, ...shown.map(([key]) => clean(column[key]))], plot);
  };
  const open = (details) => {
    const charts = all[Number(details.dataset.charts)];
    const box = details.querySelector(".charts");
    box.replaceChildren();
    if (charts && details.open) charts.columns.forEach((column) => draw(box, charts, column));
  };
  const experiments = [...document.querySelectorAll("details.experiment")];
  experiments.forEach((details) => details.addEventListener("toggle", () => open(details)));
  const redraw = () => experiments.filter((details) => details.open).forEach(open);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  let width = innerWidth;
  addEventListener("resize", () => { if (innerWidth !== width) { width = innerWidth; redraw(); } });
  // Paper has no way to open what is shut.
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((details) => { details.open = true; }));
  const linked = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (linked && linked.tagName === "DETAILS") linked.open = true;
  // What a browser has opened before this ran, as after a reload.
  redraw();
})();
