//! Every key of a scenario, table by table, from the types that read them: for `tfrc scenario keys`
//! and for `docs/scenario-reference.md`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::Value;

use super::schema;

/// A table of a scenario.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyTable {
    /// Its path, such as `link.queue.red`; empty for the top of the file.
    pub path: String,
    /// Its meaning.
    pub about: String,
    /// Its keys: first those that must be there, then the others in the order of the alphabet.
    pub keys: Vec<KeyEntry>,
}

/// A key of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyEntry {
    /// Its name.
    pub name: String,
    /// Its meaning.
    pub about: String,
    /// Its need in the table.
    pub presence: Presence,
    /// The word or quantity that it has unless given, where its type says so.
    pub default: Option<String>,
    /// The key and words that it belongs to: `with rto = "fixed"`.
    pub needs: Option<String>,
    /// Forms of its value.
    pub forms: Vec<Form>,
}

/// The need of a key in its table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// It may be left out.
    Optional,
    /// The table is wrong without it.
    Required,
}

/// A form in which a value may be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Form {
    /// A word in quotes, or the kind of value.
    pub written: String,
    /// Its meaning; empty if the key's says all.
    pub about: String,
}

/// All tables, in the order of a file: the top, links, flows and what they hold.
#[must_use]
pub fn tables() -> Vec<KeyTable> {
    let schema = schema();
    let mut walk = Walk { definitions: &schema["$defs"], tables: Vec::new(), places: BTreeMap::new() };
    walk.table("", &schema);
    let order = |table: &KeyTable| match table.path.split('.').next() {
        Some("") => 0,
        Some("link") => 1,
        Some("flow") => 2,
        _ => 3,
    };
    walk.tables.sort_by_key(order);
    walk.tables
}

/// The tables whose path is `wanted` or begins with it; a path may be written as in a file
/// (`[[flow]]`).
#[must_use]
pub fn find(wanted: &str) -> Vec<KeyTable> {
    let wanted = wanted.trim_matches(['[', ']']);
    let inside = |path: &str| {
        path.strip_prefix(wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    };
    tables().into_iter().filter(|table| inside(&table.path)).collect()
}

impl KeyTable {
    /// Its heading in a file: `[[flow]]`, `[flow.tcp]`, or the path of a table in braces.
    #[must_use]
    pub fn heading(&self) -> String {
        match self.path.as_str() {
            "" => "top of the file".to_owned(),
            "link" | "flow" | "sweep" | "link.marker" => format!("[[{}]]", self.path),
            path => bracketed(path),
        }
    }

    /// As plain text: a line for each key and each form, the text wrapped at `width`.
    #[must_use]
    pub fn text(&self, width: usize) -> String {
        let mut out = format!("{}  {}\n", self.heading(), self.about);
        for key in &self.keys {
            let mut about = key.about.clone();
            for more in key.remarks() {
                let _ = write!(about, " ({more})");
            }
            out += &hanging(&format!("  {}", key.name), &about, 22, width);
            for form in &key.forms {
                out += &hanging(&format!("      {}", form.written), &form.about, 34, width);
            }
        }
        out
    }
}

/// A path as the heading of a table, or of a list of tables where there is another table.
fn bracketed(path: &str) -> String {
    path.strip_suffix("[]").map_or_else(|| format!("[{path}]"), |list| format!("[[{list}]]"))
}

impl KeyEntry {
    fn remarks(&self) -> impl Iterator<Item = String> {
        let required = (self.presence == Presence::Required).then(|| "required".to_owned());
        let default = self.default.as_ref().map(|default| format!("default: {default}"));
        [required, default, self.needs.clone()].into_iter().flatten()
    }
}

/// The page `docs/scenario-reference.md`.
#[must_use]
pub fn markdown() -> String {
    let mut out = "# Every key of a scenario\n\n\
        Made from the types that read a scenario and written by `tfrc scenario keys --markdown`; \
        `tfrc scenario keys\nTABLE` prints the same in a terminal.\n\n\
        Any value may be written as `{ value = …, source = \"…\" }` or `{ value = …, assumed = \"…\" }`. \
        A\nquantity carries its unit; only 0, numbers of things and probabilities stand bare. \
        [Scenarios](scenarios.md)\ngoes through examples, [Models](models/README.md) has the meaning and \
        the sources of models.\n"
        .to_owned();
    for table in tables() {
        let heading = match table.path.as_str() {
            "" => "Top of the file".to_owned(),
            _ => format!("`{}`", table.heading()),
        };
        let _ = write!(out, "\n## {heading}\n\n{}\n\n", cell(&table.about));
        out += "| key | value | meaning |\n| --- | --- | --- |\n";
        for key in &table.keys {
            let remarks: Vec<String> = key.remarks().map(|one| cell(&one)).collect();
            let about = [vec![cell(&key.about)], remarks].concat().join("; ");
            let about = about.replace(".; ", "; ");
            match key.forms.as_slice() {
                [only] if only.about.is_empty() => {
                    let _ = writeln!(out, "| `{}` | {} | {about} |", key.name, cell(&only.written));
                }
                forms => {
                    let _ = writeln!(out, "| `{}` | | {about} |", key.name);
                    for form in forms {
                        let _ = writeln!(out, "| | {} | {} |", written(&form.written), cell(&form.about));
                    }
                }
            }
        }
    }
    out
}

/// A word in the letters of code, a kind of value as it is.
fn written(form: &str) -> String {
    if form.starts_with('"') { format!("`{form}`") } else { cell(form) }
}

/// A text inside a table of Markdown.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// A text that begins at column `at`, behind `head`, and wraps at `width`.
fn hanging(head: &str, text: &str, at: usize, width: usize) -> String {
    let mut lines = vec![format!("{head:at$} ", at = at - 1)];
    for word in text.split_whitespace() {
        let last = lines.last_mut().unwrap_or_else(|| unreachable!("there is a line"));
        let used = last.chars().count();
        if used > at && used + 1 + word.chars().count() > width {
            lines.push(format!("{:at$}{word}", ""));
        } else {
            if used > at {
                last.push(' ');
            }
            last.push_str(word);
        }
    }
    lines.iter().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// A walk through the schema.
struct Walk<'s> {
    definitions: &'s Value,
    tables: Vec<KeyTable>,
    /// Where each definition of a table stands: elsewhere a form refers to that place.
    places: BTreeMap<String, String>,
}

impl<'s> Walk<'s> {
    fn table(&mut self, path: &str, table: &'s Value) {
        let place = self.tables.len();
        self.tables.push(KeyTable {
            path: path.to_owned(),
            about: own_words(table["description"].as_str().unwrap_or_default()),
            keys: Vec::new(),
        });
        let required: Vec<&str> =
            table["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let mut keys: Vec<(&str, &'s Value)> =
            table["properties"].as_object().into_iter().flatten().map(|(k, v)| (k.as_str(), v)).collect();
        // Links first: what they hold stands at its first place, and flows, their changes and the
        // way back have some of it.
        let again = |name: &str| match name {
            "link" => 0,
            "changes" => 2,
            "reverse" => 3,
            _ => 1,
        };
        keys.sort_by_key(|(name, _)| (!required.contains(name), again(name)));
        for (name, value) in keys {
            let inner = if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
            let mut forms = Vec::new();
            let mut about = value["description"].as_str().unwrap_or_default().to_owned();
            self.forms(&inner, value, "", &mut forms);
            if let [only] = forms.as_mut_slice() {
                if about.is_empty() {
                    about.clone_from(&only.about);
                }
                if only.about == own_words(&about) {
                    only.about.clear();
                }
            }
            let text = |key: &str| value[key].as_str().map(str::to_owned);
            let presence = if required.contains(&name) { Presence::Required } else { Presence::Optional };
            let entry = KeyEntry {
                name: name.to_owned(),
                about: own_words(&about),
                presence,
                default: text("default"),
                needs: text("$comment"),
                forms,
            };
            self.tables[place].keys.push(entry);
        }
    }

    /// Adds the forms of a value; `about` is what the place that holds it says of this one.
    fn forms(&mut self, path: &str, value: &'s Value, about: &str, forms: &mut Vec<Form>) {
        let own = if about.is_empty() { "" } else { value["description"].as_str().unwrap_or(about) };
        if let Some(name) = value["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
            let definition = &self.definitions[name];
            if definition["properties"].is_object() {
                let mut place = self.places.get(name).cloned();
                if place.is_none() {
                    self.places.insert(name.to_owned(), path.to_owned());
                    self.table(path, definition);
                    place = Some(path.to_owned());
                }
                let place = place.unwrap_or_default();
                let written = format!("a table: {}", bracketed(&place));
                forms.push(Form { written, about: own_words(own) });
            } else {
                self.forms(path, definition, own, forms);
            }
            return;
        }
        if let Some(list) = value.get("oneOf").or(value.get("anyOf")).and_then(Value::as_array) {
            for one in list {
                // The table with a source, which may stand for any value, and null for no key.
                let with_source =
                    one["required"].as_array().is_some_and(|keys| keys.contains(&"value".into()));
                if !with_source && one["type"] != "null" {
                    self.forms(path, one, one["description"].as_str().unwrap_or_default(), forms);
                }
            }
            return;
        }
        let about = own_words(value["description"].as_str().unwrap_or(own));
        if let Some(word) = value["const"].as_str() {
            forms.push(Form { written: format!("\"{word}\""), about });
        } else if let Some(items) = value.get("items") {
            let mut inner = Vec::new();
            // Beside a table of this path.
            let beside = self.tables.iter().any(|table| table.path == path);
            let path = if beside { format!("{path}[]") } else { path.to_owned() };
            self.forms(&path, items, "", &mut inner);
            let kinds: Vec<&str> = inner.iter().map(|form| form.written.as_str()).collect();
            let written = match kinds.as_slice() {
                [] | ["any value"] => "a list".to_owned(),
                [one] if one.starts_with("a table: ") => one.replacen("a table: ", "a list of tables: ", 1),
                kinds => format!("a list of: {}", kinds.join(", ")),
            };
            forms.push(Form { written, about });
        } else {
            let types: Vec<&str> = match &value["type"] {
                Value::String(one) => vec![one],
                Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
                _ => Vec::new(),
            };
            let written = match (types.contains(&"string"), types.contains(&"number")) {
                (true, true) if value.get("maximum").is_some_and(|most| most == 0) => "a quantity",
                (true, true) if value.get("exclusiveMaximum").is_some() => "a probability",
                (true, true) => "a number or text",
                (true, false) => "text",
                (false, true) => "a number",
                _ if types.contains(&"integer") => "a whole number",
                _ if types.contains(&"boolean") => "true or false",
                _ => "any value",
            };
            forms.push(Form { written: written.to_owned(), about });
        }
    }
}

/// A description in the words of the file: links of the program's documents become words.
fn own_words(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("[`") {
        out += before;
        let Some((name, after)) = after.split_once("`]") else {
            out += "`";
            rest = after;
            continue;
        };
        // A link may have its target behind it.
        let target = after.strip_prefix('(').and_then(|behind| behind.split_once(')'));
        rest = target.map_or(after, |(_, behind)| behind);
        let word = name.rsplit("::").next().unwrap_or(name);
        let _ = write!(out, "`{}`", kebab(word));
    }
    out + rest
}

/// The name of a variant as the file writes it.
fn kebab(name: &str) -> String {
    let mut out = String::new();
    for (at, letter) in name.chars().enumerate() {
        if letter.is_ascii_uppercase() && at > 0 {
            out.push('-');
        }
        out.push(letter.to_ascii_lowercase());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_what_the_types_say() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/scenario-reference.md");
        let kept = std::fs::read_to_string(page).unwrap_or_default();
        assert!(
            kept == markdown(),
            "docs/scenario-reference.md: `tfrc scenario keys --markdown > docs/scenario-reference.md` writes it"
        );
    }

    #[test]
    fn every_key_has_a_meaning_and_a_form() {
        let tables = tables();
        let paths: Vec<&str> = tables.iter().map(|table| table.path.as_str()).collect();
        for wanted in [
            "",
            "link",
            "link.queue.red",
            "link.loss.gilbert_elliott",
            "link.changes",
            "flow",
            "flow.tcp",
            "flow.writes",
            "flow.writes[]",
            "gateway",
        ] {
            assert!(paths.contains(&wanted), "{wanted}: {paths:?}");
        }
        for (at, table) in tables.iter().enumerate() {
            assert!(!table.about.is_empty(), "[{}] has no meaning", table.path);
            assert!(!paths[at + 1..].contains(&table.path.as_str()), "[{}] is there twice", table.path);
            for key in &table.keys {
                let name = format!("{} of [{}]", key.name, table.path);
                assert!(!key.about.is_empty(), "{name} has no meaning");
                assert!(!key.forms.is_empty(), "{name} takes nothing");
                let texts = key.forms.iter().map(|form| &form.about).chain([&key.about]);
                for text in texts {
                    assert!(!text.contains("::") && !text.contains("[`"), "{name}: {text}");
                }
            }
        }
    }

    #[test]
    fn a_table_is_found_as_it_is_written() {
        let found: Vec<String> = find("[flow.tcp]").into_iter().map(|table| table.path).collect();
        assert_eq!(found, ["flow.tcp"]);
        let found: Vec<String> = find("flow.writes").iter().map(KeyTable::heading).collect();
        assert_eq!(found, ["[flow.writes]", "[[flow.writes]]"]);
        assert!(find("[[flow]]").len() > 3 && find("flo").is_empty());
        let ecn = find("link.queue.codel").remove(0).keys.into_iter().find(|key| key.name == "ecn");
        assert_eq!(ecn.and_then(|key| key.default).as_deref(), Some("off"));
    }

    #[test]
    fn long_lines_hang() {
        assert_eq!(hanging("  ab", "one two three", 8, 15), "  ab    one two\n        three\n");
    }
}
