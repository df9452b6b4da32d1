// Reads and changes single values in the text of a scenario, and leaves all else as it is written.
// It is no reader of TOML: a value over several lines, or in a table within a line, is left alone.
"use strict";

const TOML = {
  /** The tables of a name ("link", "flow"), each with the numbers of its own lines. */
  tables(text, name) {
    const found = [];
    let current;
    text.split("\n").forEach((line, number) => {
      if (/^\s*\[/.test(line)) {
        current = line.trim().startsWith(`[[${name}]]`) ? { first: number, last: number } : undefined;
        if (current) found.push(current);
      } else if (current && line.trim()) current.last = number;
    });
    return found;
  },

  line(text, table, key) {
    const lines = text.split("\n");
    for (let number = table.first + 1; number <= table.last; number++) {
      const written = new RegExp(`^(\\s*${key}\\s*=\\s*)("[^"]*"|'[^']*'|[0-9.]+)(\\s*(?:#.*)?)$`).exec(lines[number]);
      if (written) return { number, before: written[1], value: written[2], after: written[3] };
      if (new RegExp(`^\\s*${key}\\s*=`).test(lines[number])) return { number };
    }
    return undefined;
  },

  /** The value of a key without its quotes; undefined if it is not there, null if it is a table. */
  get(text, name, nth, key) {
    const table = TOML.tables(text, name)[nth];
    if (!table) return null;
    const line = TOML.line(text, table, key);
    if (!line) return TOML.hasSubtable(text, name, nth, key) ? null : undefined;
    return line.value === undefined ? null : line.value.replace(/^["']|["']$/g, "");
  },

  /** Returns true if `[link.queue…]` or the like follows the table. */
  hasSubtable(text, name, nth, key) {
    const all = TOML.tables(text, name), lines = text.split("\n");
    const until = all[nth + 1]?.first ?? lines.length;
    const header = new RegExp(`^\\s*\\[+\\s*${name}\\.${key}\\b`);
    return lines.slice(all[nth].first, until).some((line) => header.test(line));
  },

  /** The text with this value, already in TOML. */
  set(text, name, nth, key, value) {
    const table = TOML.tables(text, name)[nth];
    if (!table) return text;
    const lines = text.split("\n"), line = TOML.line(text, table, key);
    if (line?.value !== undefined) lines[line.number] = line.before + value + line.after;
    else if (!line) lines.splice(table.last + 1, 0, `${key} = ${value}`);
    return lines.join("\n");
  },
};
