// The playground: example, sliders, playing, the scenario's text, and the link that holds them all.
"use strict";

const $ = (id) => document.getElementById(id);
const SPEEDS = [1, 2, 5, 10, 20, 50, 100];

/** Values of a slider: 1, 1.2, 1.5 … in each power of ten, from `least` to `most`. */
function steps(least, most) {
  const all = [];
  for (let power = Math.floor(Math.log10(least)); power <= Math.log10(most); power++) {
    for (const factor of [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8]) {
      const value = Number((factor * 10 ** power).toPrecision(3));
      if (value >= least * 0.999 && value <= most * 1.001) all.push(value);
    }
  }
  return all;
}

/** Units in which a value may be written, in that of the slider. */
const UNITS = {
  rate: { unit: "Mbit/s", of: { "bit/s": 1e-6, "kbit/s": 1e-3, "Mbit/s": 1, "Gbit/s": 1e3 } },
  delay: { unit: "ms", of: { us: 1e-3, "µs": 1e-3, ms: 1, s: 1e3 } },
  queue: { unit: "p", of: { p: 1 } },
  loss: { unit: "%", of: { "%": 1, "": 100 } },
};

const whole = (least, most) => Array.from({ length: most - least + 1 }, (_, k) => least + k);
const SLIDERS = [
  { key: "rate", words: "Rate", values: steps(0.1, 100) },
  { key: "delay", words: "Delay, one way", values: steps(1, 500) },
  { key: "queue", words: "Queue", values: steps(2, 1000).map(Math.round) },
  { key: "loss", words: "Random loss", values: [0, ...steps(0.01, 20)], absent: 0 },
];

const state = { text: "", changes: "", titles: [], at: 0, speed: 10, playing: true };
const panes = [];
let pointer, stamp = 0, edited;

/** A value of the scenario in the slider's unit; undefined if the slider has no part in it. */
function read(slider, table, nth) {
  const written = TOML.get(state.text, table, nth, slider.key);
  if (written === null) return undefined;
  if (written === undefined) return slider.absent;
  if (!UNITS[slider.key]) return Number(written);
  const parts = /^\s*([0-9.]+)\s*([^\s0-9]*)\s*$/.exec(written), factor = parts && UNITS[slider.key].of[parts[2]];
  return factor === undefined || factor === null ? undefined : Number(parts[1]) * factor;
}

function nearest(values, value) {
  const distance = (one) => Math.abs(Math.log((one + 1e-3) / (value + 1e-3)));
  return values.reduce((best, one, k) => distance(one) < distance(values[best]) ? k : best, 0);
}

/** The sliders of this scenario; those that exist keep their focus. */
function sliders() {
  const all = SLIDERS.map((slider) => ({ ...slider, table: "link", nth: 0, unit: UNITS[slider.key].unit }));
  TOML.tables(state.text, "flow").forEach((_, nth) => {
    const name = TOML.get(state.text, "flow", nth, "name") ?? TOML.get(state.text, "flow", nth, "kind") ?? nth;
    all.push({ key: "count", words: `Flows: ${name}`, values: whole(1, 32), absent: 1, table: "flow", nth, unit: "" });
  });
  const place = $("sliders");
  while (place.children.length > all.length) place.lastChild.remove();
  all.forEach((slider, k) => {
    let label = place.children[k];
    if (!label) {
      label = element("label", {}, element("span"), element("small"), element("input", { type: "range", min: "0", step: "1" }));
      place.append(label);
    }
    const [words, output, input] = label.children, value = read(slider, slider.table, slider.nth);
    words.textContent = slider.words;
    input.max = slider.values.length - 1;
    input.disabled = value === undefined || Number.isNaN(value);
    input.value = input.disabled ? 0 : nearest(slider.values, value);
    const shown = input.disabled ? "as in the text" : `${digits(value).replace(/\.?0+$/, (zeros) => zeros.startsWith(".") ? "" : zeros)}${slider.unit ? ` ${slider.unit}` : ""}`;
    output.textContent = shown;
    // The label has the value too: the name is spoken once, and then the value alone.
    input.setAttribute("aria-label", slider.words);
    input.setAttribute("aria-valuetext", shown);
    input.oninput = () => {
      const chosen = slider.values[input.value];
      const written = slider.key === "count" ? String(chosen) : `"${chosen}${slider.unit}"`;
      change(TOML.set(state.text, slider.table, slider.nth, slider.key, written));
    };
  });
}

/** Takes a new text, from a slider or an example, and runs it. */
function change(text) {
  state.text = text;
  if ($("text").value !== text) $("text").value = text;
  sliders();
  run();
}

function load({ text, changes = "", panes: titles = [], at = 0, speed }) {
  Object.assign(state, { changes, titles, at });
  if (speed) state.speed = speed;
  $("changes").value = changes;
  showSpeed();
  change(text);
}

/** Makes one pane or two. */
function arrange() {
  const wanted = state.changes.trim() ? 2 : 1;
  const titles = wanted === 2 ? [state.titles[0] ?? "As written", state.titles[1] ?? "With the changes"] : [""];
  if (panes.length === wanted && panes.every((pane, k) => pane.heading.textContent === titles[k])) return;
  panes.splice(0);
  $("panes").replaceChildren();
  $("panes").classList.toggle("two", wanted === 2);
  for (const title of titles) {
    const pane = new Pane(title, { keys, point });
    pane.simulator = new Simulator();
    panes.push(pane);
    $("panes").append(pane.root);
  }
}

let newest = 0, waits = 0, damage;

/** Says how far a run is, and after a while how long it will take; what was wrong before it is gone. */
function going(run, since) {
  const time = run.time(run.count - 1), passed = (performance.now() - since) / 1e3;
  const more = passed > 2 && time > 0 ? `, about ${digits(Math.ceil(passed * (run.duration / time - 1)))} s more` : "";
  $("status").textContent = `Running: ${time.toFixed(0)} of ${run.duration} s${more} …`;
  $("mistakes").replaceChildren();
  $("stop").hidden = passed < 0.5;
}

/** Ends the run that goes on; what it has shown stays. */
function stop() {
  if ($("stop").hidden) return;
  newest++;
  panes.forEach((pane) => pane.simulator.stop());
  $("stop").hidden = true;
  const run = panes[0]?.run;
  $("status").textContent = run ? `Stopped after ${run.time(run.count - 1).toFixed(0)} of ${run.duration} s.` : "Stopped.";
}

async function run() {
  const id = ++newest, since = performance.now();
  arrange();
  waits++;
  const answers = await Promise.all(panes.map((pane, k) => pane.simulator.run({
    text: state.text,
    changes: k === 1 ? state.changes : "",
    progress: (run) => {
      if (id === newest) {
        pane.set(run);
        going(run, since);
      }
    },
  })));
  waits--;
  if (id !== newest || answers.some((answer) => !answer)) return;
  $("stop").hidden = true;
  const wrong = answers.find((answer) => answer.mistakes || answer.fault);
  for (const pane of panes) pane.root.classList.toggle("stale", Boolean(wrong));
  if (wrong) return complain(wrong);
  // Of a link: until the run after this one.
  $("mistakes").replaceChildren(...(damage ? [element("p", { class: "mistake" }, damage)] : []));
  damage = undefined;
  answers.forEach((answer, k) => panes[k].set(answer.run));
  level();
  state.at = Math.min(state.at, panes[0].run.duration);
  const ms = answers.reduce((sum, answer) => sum + answer.ms, 0);
  $("status").textContent = `${panes[0].run.duration} s simulated in ${ms.toFixed(0)} ms` +
    (panes.length > 1 ? ", twice." : ".");
  show();
  keep();
}

/** Gives the charts of two panes the same axes. */
function level() {
  for (const { key } of CHARTS) {
    const charts = panes.map((pane) => pane.charts[key].chart), most = Math.max(...charts.map((chart) => chart.most));
    for (const chart of charts.filter((one) => one.most !== most)) {
      chart.fixed = most;
      chart.paint();
    }
  }
}

/** Shows the mistakes of the scenario; each leads to its place. */
function complain({ mistakes, fault }) {
  if (fault) {
    $("status").textContent = "";
    $("mistakes").replaceChildren(element("p", { class: "mistake" },
      `The simulator stopped: ${fault}. This is a fault of the program, or the run needs more memory than a page has.`));
    return;
  }
  const list = element("ol");
  for (const one of mistakes) {
    const place = one.line ? `${one.in === "changes" ? "Changes" : "Line"} ${one.in === "changes" ? "" : `${one.line}, column ${one.column}`}`.trim() : "";
    const hint = one.hint ? ` (${one.hint})` : "";
    const button = element("button", { type: "button" }, `${place ? `${place}: ` : ""}${one.message}; ${one.label}${hint}`);
    button.onclick = () => {
      const editor = $(one.in === "changes" ? "changes" : "text");
      editor.focus();
      if (one.in !== "changes") {
        editor.setSelectionRange(one.start, one.start + one.size);
        const height = editor.scrollHeight / editor.value.split("\n").length;
        editor.scrollTop = Math.max(0, (one.line - 4) * height);
      }
    };
    list.append(element("li", {}, button));
  }
  $("status").textContent = `The scenario has ${mistakes.length === 1 ? "a mistake" : `${mistakes.length} mistakes`}; ` +
    "the charts show the last one that ran.";
  $("mistakes").replaceChildren(list);
}

/** Shows the time that is played. */
function show() {
  const run = panes[0]?.run;
  if (!run) return;
  for (const pane of panes) pane.show(state.at, pointer);
  $("time").value = Math.round((state.at / run.duration) * 1000);
  const words = `${state.at.toFixed(1)} of ${run.duration} s`;
  if ($("time-out").textContent !== words) {
    $("time-out").textContent = words;
    $("time").setAttribute("aria-valuetext", words);
  }
  happened();
}

let told;

function happened() {
  const t = pointer ?? state.at, place = `around ${t.toFixed(1)} s`;
  if (told === place && panes.every((pane) => pane.toldOf === pane.run)) return;
  told = place;
  $("happened-at").textContent = place;
  const lines = panes.flatMap((pane) => {
    pane.toldOf = pane.run;
    const title = panes.length > 1 ? `${pane.heading.textContent}: ` : "";
    return pane.run ? pane.events(t).map((line) => title + line) : [];
  });
  const shown = lines.length ? lines : ["No loss event, cut or drop."];
  $("happened").replaceChildren(...shown.map((line) => element("li", {}, line)));
}

function point(t) {
  pointer = t;
  show();
}

/** Arrow keys on a chart move the time by a look, page keys by a tenth. */
function keys(event) {
  const run = panes[0]?.run;
  if (!run) return;
  const step = run.duration / Math.max(1, run.count), now = pointer ?? state.at;
  const moves = { ArrowLeft: -step, ArrowRight: step, PageDown: -run.duration / 10, PageUp: run.duration / 10,
    Home: -Infinity, End: Infinity };
  if (event.key === "Escape") return $("stop").hidden ? point(undefined) : stop();
  if (event.key === " ") {
    event.preventDefault();
    return play(!state.playing);
  }
  if (!(event.key in moves)) return;
  event.preventDefault();
  point(Math.max(0, Math.min(run.duration, now + moves[event.key])));
}

function play(on) {
  state.playing = on;
  if (on && panes[0]?.run && state.at >= panes[0].run.duration) state.at = 0;
  $("play").textContent = on ? "Pause" : "Play";
}

function showSpeed() {
  $("speed").value = Math.max(0, SPEEDS.indexOf(state.speed));
  $("speed-out").textContent = `${state.speed} ×`;
  $("speed").setAttribute("aria-valuetext", `${state.speed} times`);
}

/** Frames drawn, for whoever measures. */
let frames = 0;

function frame(now) {
  requestAnimationFrame(frame);
  frames++;
  const passed = Math.min(0.1, (now - stamp) / 1e3), run = panes[0]?.run;
  stamp = now;
  if (!state.playing || !run) return;
  const since = state.at;
  state.at = Math.min(run.duration, state.at + passed * state.speed);
  if (state.at !== since) show();
  // At its end a run stays as it is: the whole picture.
  else play(false);
}

/** Bytes of an opened link at most: as many as a dropped file may have. */
const MOST = 1e6;

/** What a stream makes of these bytes. One that makes more than `most` is not read to its end. */
async function packed(stream, bytes, most = Infinity) {
  const reader = new Blob([bytes]).stream().pipeThrough(stream).getReader();
  const parts = [];
  let length = 0;
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    length += part.value.length;
    if (length > most) {
      await reader.cancel();
      throw new Error(`it has more than ${most / 1e6} MB`);
    }
    parts.push(part.value);
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

/** The fragment that holds text, changes, time and speed. */
async function fragment() {
  const { text, changes, titles, at, speed } = state;
  const json = JSON.stringify({ text, changes, panes: titles, at: Number(at.toFixed(2)), speed });
  const bytes = await packed(new CompressionStream("deflate-raw"), new TextEncoder().encode(json));
  const base64 = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  return `#s=${base64.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
}

async function opened(hash) {
  const preset = PRESETS.find((one) => hash === `#${one.id}`);
  if (preset) return preset;
  if (!hash.startsWith("#s=")) return undefined;
  try {
    const base64 = hash.slice(3).replaceAll("-", "+").replaceAll("_", "/");
    const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
    const found = JSON.parse(new TextDecoder().decode(await packed(new DecompressionStream("deflate-raw"), bytes, MOST)));
    if (typeof found.text !== "string") throw new Error("it has no scenario");
    return { text: found.text, changes: String(found.changes ?? ""), panes: Array.isArray(found.panes) ? found.panes.map(String) : [],
      at: Number(found.at) || 0, speed: SPEEDS.includes(found.speed) ? found.speed : undefined };
  } catch (error) {
    return { ...PRESETS[0], wrong: `The link is damaged (${error.message}); this is the first example.` };
  }
}

/** Keeps the address of the page up to date, without a new entry of the history. */
let keeping;

function keep() {
  clearTimeout(keeping);
  keeping = setTimeout(async () => {
    const preset = PRESETS.find((one) => one.text === state.text && (one.changes ?? "") === state.changes);
    own = preset ? `#${preset.id}` : await fragment();
    // Within another page's frame or from some files the address cannot be changed.
    try { history.replaceState(null, "", own); } catch { own = location.hash; }
    $("preset").value = preset?.id ?? "";
    $("about").textContent = preset ? preset.about : "A scenario of your own.";
  }, 300);
}

let own;

function take(found) {
  const preset = PRESETS.find((one) => one.text === found.text);
  $("preset").value = preset?.id ?? "";
  $("about").textContent = preset?.about ?? "A scenario from a link or a file.";
  damage = found.wrong;
  load(found);
}

async function file(dropped) {
  if (!dropped) return;
  const refuse = (message) => complain({ mistakes: [{ message, label: "a scenario is a text of some lines" }] });
  if (dropped.size > 1e6) return refuse(`${dropped.name} has more than 1 MB`);
  const text = await dropped.text();
  // What is no UTF-8 is read as U+FFFD.
  if (/[\0\ufffd]/.test(text)) return refuse(`${dropped.name} is no text`);
  take({ text, at: 0 });
  $("about").textContent = `The file ${dropped.name}.`;
}

function begin() {
  $("preset").append(element("option", { value: "", disabled: "" }, "your own"),
    ...PRESETS.map((one) => element("option", { value: one.id }, one.name)));
  $("preset").onchange = () => {
    take(PRESETS.find((one) => one.id === $("preset").value));
    play(true);
  };
  $("play").onclick = () => play(!state.playing);
  $("stop").onclick = stop;
  $("time").oninput = () => {
    state.at = ($("time").value / 1000) * (panes[0]?.run?.duration ?? 0);
    play(false);
    show();
  };
  $("speed").oninput = () => {
    state.speed = SPEEDS[$("speed").value];
    showSpeed();
  };
  const typed = () => {
    clearTimeout(edited);
    edited = setTimeout(() => {
      if (state.changes !== $("changes").value) state.titles = [];
      state.changes = $("changes").value;
      change($("text").value);
    }, 250);
  };
  $("text").oninput = typed;
  $("changes").oninput = typed;
  $("controls").onsubmit = (event) => event.preventDefault();
  $("copy").onclick = async () => {
    const address = location.href.split("#")[0] + await fragment();
    try {
      await navigator.clipboard.writeText(address);
      $("copied").textContent = `Copied, ${address.length} characters.`;
    } catch {
      location.hash = address.split("#")[1];
      $("copied").textContent = "The address of this page is the link now.";
    }
  };
  $("save").onclick = () => {
    const address = URL.createObjectURL(new Blob([state.text], { type: "text/plain" }));
    element("a", { href: address, download: "scenario.toml" }).click();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
  };
  $("file").onchange = () => file($("file").files[0]);
  addEventListener("dragover", (event) => {
    event.preventDefault();
    document.body.classList.add("dropping");
  });
  addEventListener("dragleave", () => document.body.classList.remove("dropping"));
  addEventListener("drop", (event) => {
    event.preventDefault();
    document.body.classList.remove("dropping");
    file(event.dataTransfer.files[0]);
  });
  addEventListener("hashchange", async () => {
    if (location.hash === own) return;
    const found = await opened(location.hash);
    if (found) take(found);
  });
  let width = innerWidth;
  addEventListener("resize", () => {
    if (width !== innerWidth) panes.forEach((pane) => pane.paint());
    width = innerWidth;
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => panes.forEach((pane) => pane.paint()));
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) play(false);
  opened(location.hash).then((found) => take(found ?? PRESETS[0]));
  requestAnimationFrame(frame);
}

begin();
