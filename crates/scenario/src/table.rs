//! Tables of settings, such as `[flow.tfrc]`: the words of each key come from the type that it
//! sets, and the comments there describe them.
//!
//! A key is a line in [`Tabular::keys`]; a new choice for it is a variant of its enum.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::ops::Range;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::error::{Checked, Fault, Mistake};
use super::spanned::Spanned;
use super::written::Text;
use super::{meanings, reader, suggest};

/// Entries of a table: keys and values with their places.
type Entries = BTreeMap<Spanned<String>, Spanned<Text>>;

/// A table that sets settings `S`, as it is written.
#[derive(Debug, Clone, Deserialize)]
#[serde(transparent, bound = "")]
pub(super) struct Table<S>(Entries, PhantomData<S>);

/// Settings that a table sets.
pub(super) trait Tabular: Clone + PartialEq {
    /// The name of the table in the JSON Schema.
    const NAME: &'static str;

    /// The settings without a table.
    fn start() -> Self;

    /// Visits the keys in the order in which they are taken, each with the place that it sets. A
    /// parameter comes after the key that it belongs to, and only while that key's value has it.
    fn keys(&mut self, keys: &mut Keys<'_>);
}

impl<S: Tabular> Table<S> {
    /// Takes the whole table into `start`.
    pub(super) fn apply(&self, start: &S) -> Checked<S> {
        let (settings, keys) = taken(start, &self.0);
        let left = |(key, _): &(&Spanned<String>, _)| keys.seen.iter().all(|seen| seen.name != key.get_ref());
        if let Some((key, value)) = self.0.iter().find(left) {
            return Err(left_over(&vocabulary(start), key, value.span()));
        }
        keys.mistake.map_or(Ok(settings), Err)
    }

    /// The value of a key as it is written.
    pub(super) fn get(&self, name: &str) -> Option<&Spanned<Text>> {
        self.0.iter().find(|(key, _)| key.get_ref() == name).map(|(_, value)| value)
    }

    /// The place of the first key.
    pub(super) fn place(&self) -> Option<Range<usize>> {
        self.0.keys().next().map(Spanned::span)
    }

    /// The place of the value that makes the settings unsound, keys being taken in their order. A
    /// later key may mend what an earlier one has broken.
    pub(super) fn culprit(&self, start: &S, is_sound: impl Fn(&S) -> bool) -> Option<Range<usize>> {
        let (mut before, mut was_sound, mut culprit) = (Entries::new(), is_sound(start), None);
        for seen in taken(start, &self.0).1.seen {
            let Some((key, value)) = self.0.iter().find(|(key, _)| seen.name == key.get_ref()) else {
                continue;
            };
            before.insert(key.clone(), value.clone());
            let sound = is_sound(&taken(start, &before).0);
            if was_sound && !sound {
                culprit = Some(value.span());
            }
            was_sound = sound;
        }
        culprit
    }
}

impl<S: Tabular> JsonSchema for Table<S> {
    fn schema_name() -> Cow<'static, str> {
        S::NAME.into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let keys = vocabulary(&S::start()).into_iter().map(|key| (key.name.to_owned(), key.schema()));
        let keys: serde_json::Map<String, Value> = keys.collect();
        let about = meanings::of_table(S::NAME);
        json_schema!({
            "description": about, "type": "object", "properties": keys, "additionalProperties": false
        })
    }
}

fn taken<'t, S: Tabular>(start: &S, table: &'t Entries) -> (S, Keys<'t>) {
    let mut settings = start.clone();
    let mut keys = Keys { table, seen: Vec::new(), mistake: None };
    settings.keys(&mut keys);
    (settings, keys)
}

/// A key that was not visited: there is none of this name, or it is a parameter of another value.
fn left_over(all: &[Key], key: &Spanned<String>, value: Range<usize>) -> Mistake {
    let name = key.get_ref();
    let Some(known) = all.iter().find(|known| known.name == name) else {
        let names: Vec<&str> = all.iter().map(|key| key.name).collect();
        return Mistake::new(Fault::UnknownKey, key.span(), format!("unknown key `{name}`"), "not a key")
            .hint(suggest::hint(name, &names));
    };
    let mistake = Mistake::new(Fault::Idle, value, format!("`{name}` does nothing here"), "here");
    match &known.needs {
        Some((owner, words)) => mistake.hint(format!("it needs {owner} = {}", quoted(words))),
        None => mistake,
    }
}

fn quoted(words: &[String]) -> String {
    words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(" or ")
}

/// A visit of the keys of a table.
pub(super) struct Keys<'t> {
    table: &'t Entries,
    seen: Vec<Seen>,
    mistake: Option<Mistake>,
}

/// A key that was visited.
struct Seen {
    name: &'static str,
    /// The quantity that it takes; empty if its type says so.
    expects: &'static str,
    schema: fn(&mut SchemaGenerator) -> Schema,
}

/// Visits keys that have the names of the fields that they set.
macro_rules! fields {
    ($keys:ident, $settings:expr, [$($field:ident),+ $(,)?]) => {
        $($keys.key(stringify!($field), &mut $settings.$field);)+
    };
}

pub(super) use fields;

impl Keys<'_> {
    /// A key whose type says what may stand for it.
    pub(super) fn key<T: DeserializeOwned + JsonSchema>(&mut self, name: &'static str, place: &mut T) {
        self.written_as::<T, T>(name, "", place);
    }

    /// A key that is written as a `W`; `expects` describes it unless its type does.
    pub(super) fn written_as<W, T>(&mut self, name: &'static str, expects: &'static str, place: &mut T)
    where
        W: DeserializeOwned + JsonSchema + Into<T>,
    {
        if let Some(value) = self.value::<W>(name, expects) {
            *place = value.into();
        }
    }

    /// A key of a number; `expects` describes it.
    pub(super) fn number<T>(&mut self, name: &'static str, expects: &'static str, place: &mut T)
    where
        T: DeserializeOwned + JsonSchema,
    {
        self.written_as::<T, T>(name, expects, place);
    }

    /// The value of a key, if it is written.
    pub(super) fn value<T>(&mut self, name: &'static str, expects: &'static str) -> Option<T>
    where
        T: DeserializeOwned + JsonSchema,
    {
        self.visit(Seen { name, expects, schema: T::json_schema }, reader::read_value)
    }

    /// A key whose word chooses one of `all`; parameters of the choice have keys of their own.
    pub(super) fn choice<T, const N: usize>(&mut self, name: &'static str, all: [T; N]) -> Option<T>
    where
        T: Serialize + JsonSchema,
    {
        let read = |written: &str| {
            let other = || Mistake::unplaced(Fault::Word, "not one of the words", "here");
            all.into_iter().find(|one| word(one) == written).ok_or_else(other)
        };
        self.visit(Seen { name, expects: "", schema: T::json_schema }, read)
    }

    fn visit<T>(&mut self, seen: Seen, read: impl FnOnce(&str) -> Checked<T>) -> Option<T> {
        let written = self.table.iter().find(|(key, _)| key.get_ref() == seen.name).map(|(_, value)| value);
        let value = written.and_then(|value| {
            let refused = |mistake| Key::from(&seen).refuses(value, &mistake);
            read(value.get_ref().0.trim())
                .map_err(|mistake| self.mistake.get_or_insert_with(|| refused(mistake)))
                .ok()
        });
        self.seen.push(seen);
        value
    }
}

/// A key of a table, for documents and hints.
#[derive(Debug, Clone)]
pub struct Key {
    /// The key.
    pub name: &'static str,
    /// The forms of its value as JSON Schemas: words with their descriptions, or a quantity.
    forms: Vec<Value>,
    /// Its meaning: the description of its type, or a sentence of its own.
    about: Option<String>,
    /// The word or the quantity that changes nothing.
    default: Option<String>,
    /// The key that it is a parameter of, and the words there that have it.
    needs: Option<(&'static str, Vec<String>)>,
}

impl From<&Seen> for Key {
    fn from(seen: &Seen) -> Self {
        let mut generator = SchemaSettings::default().with(|s| s.inline_subschemas = true).into_generator();
        let schema = (seen.schema)(&mut generator).to_value();
        let mut forms = Vec::new();
        let about = match seen.expects {
            "" => {
                add_forms(&schema, &mut forms);
                let about = schema.get("description").filter(|_| forms.len() > 1);
                about.and_then(Value::as_str).map(str::to_owned)
            }
            expects => {
                forms.push(quantity(expects));
                None
            }
        };
        Self { name: seen.name, forms, about, default: None, needs: None }
    }
}

impl Key {
    /// The words that may stand for it.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        self.forms.iter().filter_map(|form| form.get("const")?.as_str())
    }

    /// The quantity that may stand for it, if one may.
    #[must_use]
    pub fn quantity(&self) -> Option<&str> {
        self.forms.iter().find(|form| form.get("const").is_none())?.get("description")?.as_str()
    }

    /// Its meaning; empty if nothing says it.
    #[must_use]
    pub fn meaning(&self) -> &str {
        self.about.as_deref().unwrap_or_default()
    }

    fn schema(mut self) -> Value {
        self.forms.push(json!({ "type": "object", "required": ["value"] }));
        let mut schema = json!({ "anyOf": self.forms });
        if let Some(about) = self.about {
            schema["description"] = about.into();
        }
        if let Some(default) = self.default {
            schema["default"] = default.into();
        }
        if let Some((owner, words)) = self.needs {
            schema["$comment"] = format!("with {owner} = {}", quoted(&words)).into();
        }
        schema
    }

    /// A value that the key does not take, for the reason that `mistake` gives.
    fn refuses(&self, value: &Spanned<Text>, mistake: &Mistake) -> Mistake {
        let written = &value.get_ref().0;
        let words: Vec<&str> = self.words().collect();
        let named = || words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
        let hint = match (suggest::nearest(written, words.iter().copied()), self.quantity()) {
            (Some(word), _) => format!("did you mean `{word}`?"),
            (None, None) => format!("possible: {}", named()),
            (None, Some(quantity)) if words.is_empty() => format!("expected {quantity}"),
            (None, Some(quantity)) => format!("possible: {}, or {quantity}", named()),
        };
        let what = match mistake.fault {
            Fault::Quantity if words.is_empty() => format!("`{}`: {}", self.name, mistake.message),
            _ => format!("`{}` cannot be `{written}`", self.name),
        };
        Mistake::new(Fault::Word, value.span(), what, "here").hint(hint)
    }
}

/// All keys of a table: those of the settings at the start, and the parameters of every word that
/// may be chosen there.
pub(super) fn vocabulary<S: Tabular>(start: &S) -> Vec<Key> {
    let mut all: Vec<Key> = taken(start, &Entries::new()).1.seen.iter().map(Key::from).collect();
    for owner in all.clone() {
        let with = owner.words().map(|word| {
            let (key, value) = (owner.name.to_owned(), Text(word.to_owned()));
            let table = Entries::from([(Spanned::new(0..0, key), Spanned::new(0..0, value))]);
            (word, taken(start, &table).1.seen)
        });
        let with: Vec<(&str, Vec<Seen>)> = with.collect();
        for seen in with.iter().flat_map(|(_, seen)| seen) {
            let has = |list: &[Seen]| list.iter().any(|other| other.name == seen.name);
            let words = with.iter().filter(|(_, list)| has(list)).map(|(word, _)| (*word).to_owned());
            let words: Vec<String> = words.collect();
            if words.len() < with.len() {
                all.retain(|known| known.name != seen.name);
                all.push(Key { needs: Some((owner.name, words)), ..Key::from(seen) });
            }
        }
    }
    for key in &mut all {
        key.about = meanings::of(S::NAME, key.name).map(str::to_owned).or(key.about.take());
        key.default = default(start, key);
    }
    all
}

/// The word of a key, or the example of its quantity, that leaves the settings as they are.
fn default<S: Tabular>(start: &S, key: &Key) -> Option<String> {
    let owner = key.needs.iter().map(|(owner, words)| (*owner, words.first().map_or("", String::as_str)));
    let owner: Vec<(&str, &str)> = owner.collect();
    let with = |value: &[(&str, &str)]| {
        let pairs = owner.iter().chain(value);
        let entry = |(key, value): &(&str, &str)| {
            let value = Spanned::new(0..0, Text((*value).to_owned()));
            (Spanned::new(0..0, (*key).to_owned()), value)
        };
        Table::<S>(pairs.map(entry).collect(), PhantomData).apply(start).ok()
    };
    let plain = with(&[])?;
    let example = key.quantity().and_then(|quantity| quantity.split_once("such as ")).map(|(_, one)| one);
    let changes_nothing = |value: &&str| with(&[(key.name, value)]).is_some_and(|settings| settings == plain);
    key.words().chain(example).find(changes_nothing).map(str::to_owned)
}

/// Adds the forms that a schema allows: a word for each variant, whatever it holds, and quantities.
fn add_forms(schema: &Value, forms: &mut Vec<Value>) {
    let word = schema.get("const").or_else(|| schema.get("required")?.get(0));
    match (schema.get("oneOf").or(schema.get("anyOf")).and_then(Value::as_array), word) {
        (Some(list), _) => list.iter().for_each(|form| add_forms(form, forms)),
        (None, Some(word)) => forms.push(json!({ "const": word, "description": schema["description"] })),
        (None, None) => {
            let mut form = quantity(&brief(schema["description"].as_str().unwrap_or_default()));
            // Bounds of a quantity that may stand as text or as a number.
            for bound in ["minimum", "maximum", "exclusiveMaximum"] {
                if schema["type"].is_array()
                    && let Some(value) = schema.get(bound)
                {
                    form[bound] = value.clone();
                }
            }
            forms.push(form);
        }
    }
}

fn quantity(expects: &str) -> Value {
    json!({ "type": ["string", "number"], "description": expects })
}

/// The beginning of a description, as part of a sentence.
fn brief(description: &str) -> String {
    let end = [". ", "; ", ": ", " (RFC", " (ns-2"].iter().filter_map(|end| description.find(end)).min();
    let begin = description[..end.unwrap_or(description.len())].trim_end_matches('.');
    let mut letters = begin.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

/// The word of a value: the name of its variant.
pub(super) fn word<T: Serialize>(value: &T) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(word)) => word,
        Ok(Value::Object(variant)) => variant.into_iter().next().map(|(word, _)| word).unwrap_or_default(),
        _ => String::new(),
    }
}

#[cfg(test)]
impl<S> Table<S> {
    /// A table of these keys and values.
    pub(super) fn of(pairs: &[(&str, &str)]) -> Self {
        let entry = |(key, value): &(&str, &str)| {
            let value = Spanned::new(0..0, Text((*value).to_owned()));
            (Spanned::new(0..0, (*key).to_owned()), value)
        };
        Self(pairs.iter().map(entry).collect(), PhantomData)
    }
}

#[cfg(test)]
mod tests {
    use tfrc_sim::queue::{CoDel, FqCoDel, Pie, Red, Rio};

    use super::*;
    use crate::Tcp;
    use crate::web_settings::WebTraffic;

    /// Each word of a key gives settings of its own where the key has something to do, and no other
    /// word is taken.
    fn every_word_means_something_of_its_own<S: Tabular + PartialEq>() {
        let all = vocabulary(&S::start());
        for (i, key) in all.iter().enumerate() {
            let name = key.name;
            assert!(all[i + 1..].iter().all(|other| other.name != name), "{name} is there twice");
            assert!(!key.forms.is_empty(), "{name} takes nothing");
            let owner = key.needs.iter().map(|(owner, words)| (*owner, words[0].as_str()));
            let owner: Vec<(&str, &str)> = owner.collect();
            let words: Vec<&str> = key.words().collect();
            let with = |word: &str| {
                let pairs = [owner.as_slice(), &[(name, word)]].concat();
                Table::<S>::of(&pairs).apply(&S::start())
            };
            let taken: Vec<S> = words.iter().map(|word| with(word).unwrap()).collect();
            for (i, one) in taken.iter().enumerate() {
                assert!(taken[i + 1..].iter().all(|other| other != one), "{name} = {}", words[i]);
            }
            assert_eq!(with("nonsense").err().map(|mistake| mistake.fault), Some(Fault::Word), "{name}");
            if let Some((needed, words)) = &key.needs {
                let owner = all.iter().find(|key| key.name == *needed).unwrap();
                let other = owner.words().find(|word| !words.iter().any(|with| with == word)).unwrap();
                let idle = Table::<S>::of(&[(needed, other), (name, "1")]).apply(&S::start()).err();
                assert_eq!(idle.map(|mistake| mistake.fault), Some(Fault::Idle), "{name}");
            }
        }
    }

    #[test]
    fn every_table_has_words_that_differ() {
        every_word_means_something_of_its_own::<tfrc::Settings>();
        every_word_means_something_of_its_own::<Tcp>();
        every_word_means_something_of_its_own::<WebTraffic>();
        every_word_means_something_of_its_own::<Red>();
        every_word_means_something_of_its_own::<Rio>();
        every_word_means_something_of_its_own::<Pie>();
        every_word_means_something_of_its_own::<CoDel>();
        every_word_means_something_of_its_own::<FqCoDel>();
    }
}
