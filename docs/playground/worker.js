// The simulator in a worker of its own: `Simulator` runs one scenario after the other, and the
// newest wins. Needs module.js. Works from a file: the worker is made from the text of a function.
"use strict";

/** The worker's side: hears {module} once, then {id, text, changes, looks}. */
function simulatorInWorker() {
  const decoder = new TextDecoder(), encoder = new TextEncoder();
  const ROWS = 128, PATIENCE_MS = 50;
  let module, wasm, id, rows, filled, posted;
  const memory = () => wasm.exports.memory.buffer;
  const send = () => {
    if (filled) postMessage({ id, rows: rows.slice(0, filled) });
    filled = 0;
    posted = performance.now();
  };
  const page = {
    begin(at, size) {
      postMessage({ id, names: decoder.decode(new Uint8Array(memory(), at, size)) });
      return 1;
    },
    look(at, count) {
      const row = new Float64Array(memory(), at, count);
      if (!rows || rows.length < count * ROWS) rows = new Float64Array(count * ROWS);
      rows.set(row, filled);
      filled += count;
      if (filled + count > rows.length || performance.now() - posted > PATIENCE_MS) send();
      return 1;
    },
  };
  const answer = ({ text, changes, looks }) => {
    const sets = encoder.encode(changes), all = encoder.encode(text + changes);
    const at = wasm.exports.room(all.length);
    new Uint8Array(memory(), at, all.length).set(all);
    const head = wasm.exports.run(at, all.length, sets.length, looks);
    wasm.exports.free(at, all.length);
    const size = new DataView(memory()).getUint32(head, true);
    const mistaken = new Uint8Array(memory(), head + 4, 1)[0];
    const words = decoder.decode(new Uint8Array(memory(), head + 5, size));
    wasm.exports.free(head, size + 5);
    return { mistaken, words };
  };
  self.onmessage = async ({ data }) => {
    if (data.module) {
      module = data.module;
      return;
    }
    id = data.id;
    filled = 0;
    rows = undefined;
    posted = performance.now();
    try {
      if (data.curve) {
        wasm ??= await WebAssembly.instantiate(module, { page });
        const { segment, rtt, p } = data.curve;
        postMessage({ id, curve: p.map((one) => wasm.exports.allowed(segment, rtt, one)) });
        return;
      }
      wasm ??= await WebAssembly.instantiate(module, { page });
      const since = performance.now();
      const { mistaken, words } = answer(data);
      send();
      const ms = performance.now() - since;
      postMessage(mistaken ? { id, mistakes: JSON.parse(words) } : { id, done: JSON.parse(words), ms });
      // A large run leaves its memory behind: the next one begins with a fresh one.
      if (memory().byteLength > 300e6) wasm = undefined;
    } catch (error) {
      wasm = undefined;
      postMessage({ id, fault: String(error) });
    }
  };
}

/** A run: names of what it has, and the numbers of each look. */
class Run {
  constructor(names) {
    Object.assign(this, names);
    this.flowAt = 1 + this.groups.length;
    this.linkAt = this.flowAt + this.flows * this.flow_columns.length;
    this.width = this.linkAt + this.links.length * this.link_columns.length;
    this.numbers = new Float64Array(0);
    this.losses = [];
  }

  add(rows) {
    const all = new Float64Array(this.numbers.length + rows.length);
    all.set(this.numbers);
    all.set(rows, this.numbers.length);
    this.numbers = all;
  }

  /** Number of looks. */
  get count() {
    return this.numbers.length / this.width;
  }

  time(look) {
    return this.numbers[look * this.width];
  }

  /** Goodput of all flows of a group, bit/s. */
  total(look, group) {
    return this.numbers[look * this.width + 1 + group];
  }

  flow(look, flow, column) {
    const place = flow * this.flow_columns.length + this.flow_columns.indexOf(column);
    return this.numbers[look * this.width + this.flowAt + place];
  }

  link(look, link, column) {
    const place = link * this.link_columns.length + this.link_columns.indexOf(column);
    return this.numbers[look * this.width + this.linkAt + place];
  }

  /** The last look that ends at `t` or before; -1 before the first. */
  lookAt(t) {
    let low = 0, high = this.count;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.time(middle) <= t + 1e-9) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  /** The flows of a group that have columns. */
  members(group) {
    const { first, count } = this.groups[group];
    return Array.from({ length: Math.max(0, Math.min(count, this.flows - first)) }, (_, k) => first + k);
  }

  /** The name of a flow: of its group, with a number where that has several. */
  name(flow) {
    const group = this.groups.find((one) => flow >= one.first && flow < one.first + one.count);
    return group.count > 1 ? `${group.name}-${flow - group.first + 1}` : group.name;
  }
}

/** One worker. A request that comes while another runs replaces it. */
class Simulator {
  /** The module, inflated and compiled once for all workers. */
  static module() {
    Simulator.compiled ??= (async () => {
      if (!self.DecompressionStream || !self.WebAssembly) {
        throw new Error("this browser is too old: it needs WebAssembly and DecompressionStream");
      }
      if (typeof TFRC_MODULE === "undefined") {
        throw new Error("module.js is not there: `cargo xtask playground` makes it");
      }
      const packed = Uint8Array.from(atob(TFRC_MODULE), (c) => c.charCodeAt(0));
      const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
      return WebAssembly.compile(await new Response(stream).arrayBuffer());
    })();
    return Simulator.compiled;
  }

  constructor() {
    this.id = 0;
  }

  /** Milliseconds after which a run that nobody waits for any more is ended by force. */
  static get PATIENCE_MS() {
    return 250;
  }

  /** True while a run goes on. */
  get busy() {
    return Boolean(this.current);
  }

  /**
   * Runs a scenario and resolves to {run, ms}, {mistakes} or {fault}, or to nothing if a newer
   * request came. `progress` hears of a long run as it grows.
   */
  run({ text, changes = "", looks = 600, progress }) {
    return this.request({ text: text.endsWith("\n") ? text : text + "\n", changes, looks }, progress);
  }

  /** X of the throughput equation at each of these p, bit/s. */
  curve(curve) {
    return this.request({ curve });
  }

  /** Ends the run that goes on. */
  stop() {
    this.waiting?.resolve();
    this.waiting = undefined;
    if (this.current) this.restart();
  }

  request(message, progress) {
    return new Promise((resolve) => {
      this.waiting?.resolve();
      this.waiting = { message, progress, resolve };
      if (!this.current) this.next();
      else this.timer ??= setTimeout(() => this.restart(), Simulator.PATIENCE_MS);
    });
  }

  restart() {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.worker?.terminate();
    this.worker = undefined;
    this.current?.resolve();
    this.current = undefined;
    this.next();
  }

  async next() {
    clearTimeout(this.timer);
    this.timer = undefined;
    if (!this.waiting) return;
    this.current = { ...this.waiting, id: ++this.id };
    this.waiting = undefined;
    const { id, message } = this.current;
    try {
      if (!this.worker) {
        const module = await Simulator.module();
        if (this.current?.id !== id) return;
        const source = new Blob([`(${simulatorInWorker})()`], { type: "text/javascript" });
        this.worker = new Worker(URL.createObjectURL(source));
        this.worker.onmessage = ({ data }) => this.hear(data);
        this.worker.postMessage({ module });
      }
      this.worker.postMessage({ id, ...message });
    } catch (error) {
      this.end({ fault: error.message });
    }
  }

  hear(data) {
    const current = this.current;
    if (!current || data.id !== current.id) return;
    if (data.names) current.run = new Run(JSON.parse(data.names));
    else if (data.rows) {
      current.run.add(data.rows);
      current.progress?.(current.run);
    } else if (data.done) {
      const { run } = current, { document, losses, notes } = data.done;
      if (run) Object.assign(run, { losses, notes, document, result: JSON.parse(document) });
      this.end({ run, ms: data.ms, document });
    } else if (data.mistakes || data.fault || data.curve) this.end(data);
  }

  end(answer) {
    const current = this.current;
    this.current = undefined;
    current?.resolve(answer);
    this.next();
  }
}
