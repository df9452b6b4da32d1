//! A scenario's tree as lines of TOML, each with the change that it comes from.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::document::written_as;

/// A table up to this long, in bytes, is written on one line if no change is in it.
const INLINE: usize = 80;

/// The lines of a tree. `changes` has the offsets at which the texts of the changes begin, in their
/// order; the file's text is before all of them.
pub(super) fn lines(tree: &DeTable<'_>, changes: Vec<usize>) -> Vec<(String, Option<usize>)> {
    let mut page = Page { changes, lines: Vec::new() };
    page.table("", tree);
    page.lines
}

struct Page {
    changes: Vec<usize>,
    lines: Vec<(String, Option<usize>)>,
}

impl Page {
    /// Writes a table: its plain values first, then those with a heading.
    fn table(&mut self, path: &str, table: &DeTable<'_>) {
        let (under_headings, plain): (Vec<_>, Vec<_>) =
            in_order(table).into_iter().partition(|(_, value)| self.has_heading(path, value));
        for (key, value) in plain {
            let change = self.change(value);
            self.lines.push((format!("{key} = {}", inline(value.get_ref())), change));
        }
        for (key, value) in under_headings {
            let path = if path.is_empty() { key } else { format!("{path}.{key}") };
            match value.get_ref() {
                DeValue::Table(inner) => {
                    // TOML needs no heading above tables alone.
                    if inner.values().any(|value| !self.has_heading(&path, value)) {
                        self.heading(&format!("[{path}]"));
                    }
                    self.table(&path, inner);
                }
                DeValue::Array(list) => {
                    for inner in list.iter().filter_map(|entry| entry.get_ref().as_table()) {
                        self.heading(&format!("[[{path}]]"));
                        self.table(&path, inner);
                    }
                }
                _ => {}
            }
        }
    }

    fn heading(&mut self, heading: &str) {
        self.lines.push((String::new(), None));
        self.lines.push((heading.to_owned(), None));
    }

    fn has_heading(&self, path: &str, value: &Spanned<DeValue<'_>>) -> bool {
        match value.get_ref() {
            DeValue::Table(table) if table.is_empty() || table.contains_key("value") => false,
            DeValue::Table(_) => self.change(value).is_some() || inline(value.get_ref()).len() > INLINE,
            DeValue::Array(list) => {
                path.is_empty() && !list.is_empty() && list.iter().all(|entry| entry.get_ref().is_table())
            }
            _ => false,
        }
    }

    /// The number of the last change that put a value here.
    fn change(&self, value: &Spanned<DeValue<'_>>) -> Option<usize> {
        let last = last_start(value);
        self.changes.partition_point(|start| *start <= last).checked_sub(1)
    }
}

/// The keys of a table as TOML writes them, with their values, in the order of the text.
fn in_order<'v, 't>(table: &'v DeTable<'t>) -> Vec<(String, &'v Spanned<DeValue<'t>>)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    let is_bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let written = |key: &str| {
        if !key.is_empty() && key.chars().all(is_bare) { key.to_owned() } else { quoted(key) }
    };
    entries.into_iter().map(|(key, value)| (written(key.get_ref()), value)).collect()
}

/// The greatest offset at which a value in this one begins.
fn last_start(value: &Spanned<DeValue<'_>>) -> usize {
    let inner = match value.get_ref() {
        DeValue::Table(table) => table.values().map(last_start).max(),
        DeValue::Array(list) => list.iter().map(last_start).max(),
        _ => None,
    };
    inner.unwrap_or(0).max(value.span().start)
}

/// A value on one line.
fn inline(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => quoted(text),
        DeValue::Array(list) => {
            let all: Vec<String> = list.iter().map(|entry| inline(entry.get_ref())).collect();
            format!("[{}]", all.join(", "))
        }
        DeValue::Table(table) if table.is_empty() => "{}".to_owned(),
        DeValue::Table(table) => {
            let all = in_order(table)
                .into_iter()
                .map(|(key, value)| format!("{key} = {}", inline(value.get_ref())));
            format!("{{ {} }}", all.collect::<Vec<_>>().join(", "))
        }
        other => written_as(other),
    }
}

/// A text in quotes: the escapes of JSON are TOML's too.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
