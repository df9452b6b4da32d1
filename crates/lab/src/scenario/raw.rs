//! The text as it is written: shape and types only, every value with its place.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use toml::Spanned;

use super::error::Mistake;
use super::suggest;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Scenario {
    pub(super) duration: Spanned<Text>,
    pub(super) warmup: Option<Spanned<Text>>,
    pub(super) seed: Option<u64>,
    pub(super) nodes: Spanned<Vec<Spanned<String>>>,
    #[serde(default)]
    pub(super) link: Vec<Link>,
    #[serde(default)]
    pub(super) flow: Vec<Flow>,
    pub(super) gateway: Option<Gateway>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Link {
    pub(super) name: Option<Spanned<String>>,
    pub(super) from: Spanned<String>,
    pub(super) to: Spanned<String>,
    pub(super) rate: Spanned<Text>,
    pub(super) delay: Spanned<Text>,
    pub(super) queue: Option<Spanned<Text>>,
    pub(super) loss: Option<Spanned<Loss>>,
    #[serde(default)]
    pub(super) changes: Vec<Change>,
    pub(super) reverse: Option<Spanned<Reverse>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Change {
    pub(super) at: Spanned<Text>,
    pub(super) rate: Spanned<Text>,
}

#[derive(Debug)]
pub(super) enum Reverse {
    Word(String),
    Table(Box<ReverseTable>),
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReverseTable {
    pub(super) rate: Option<Spanned<Text>>,
    pub(super) delay: Option<Spanned<Text>>,
    pub(super) queue: Option<Spanned<Text>>,
    pub(super) loss: Option<Spanned<Loss>>,
    #[serde(default)]
    pub(super) changes: Vec<Change>,
}

#[derive(Debug)]
pub(super) enum Loss {
    Text(Text),
    Model(LossModel),
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum LossModel {
    Bernoulli(Spanned<Text>),
    GilbertElliott(Gilbert),
    Scripted(Vec<u64>),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Gilbert {
    pub(super) to_bad: Spanned<Text>,
    pub(super) to_good: Spanned<Text>,
    pub(super) in_good: Spanned<Text>,
    pub(super) in_bad: Spanned<Text>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Flow {
    pub(super) name: Option<Spanned<String>>,
    pub(super) kind: Spanned<String>,
    pub(super) from: Spanned<String>,
    pub(super) to: Spanned<String>,
    pub(super) start: Option<Spanned<Text>>,
    pub(super) stop: Option<Spanned<Text>>,
    pub(super) segment: Option<Spanned<Text>>,
    pub(super) header: Option<Spanned<Text>>,
    pub(super) packets_per_second: Option<Spanned<f64>>,
    pub(super) guarantee: Option<Spanned<Text>>,
    pub(super) guarantee_start: Option<Spanned<String>>,
    pub(super) guarantee_threshold: Option<Spanned<f64>>,
    pub(super) dscp: Option<Spanned<Text>>,
    /// The keys of [`super::rate_control::AXES`].
    pub(super) tfrc: Option<BTreeMap<Spanned<String>, Spanned<Text>>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Gateway {
    pub(super) listen: Spanned<String>,
    pub(super) to: Spanned<String>,
}

/// A quantity with its unit; a bare number is taken as its digits.
#[derive(Debug, Clone)]
pub(super) struct Text(pub(super) String);

pub(super) fn parse(text: &str) -> Result<Scenario, Mistake> {
    toml::from_str(text).map_err(|error| {
        let place = error.span().unwrap_or(0..0);
        // A serde message may go on after its first line; the rest repeats what the label shows.
        let message = error.message().lines().next().unwrap_or_default().to_owned();
        explain(place, &message)
    })
}

/// Turns a message of the TOML reader into ours.
fn explain(place: std::ops::Range<usize>, message: &str) -> Mistake {
    let names: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    if let Some((unknown, expected)) = names.split_first()
        && (message.starts_with("unknown field") || message.starts_with("unknown variant"))
    {
        return Mistake::new(place, format!("unknown key `{unknown}`"), "not a key of this table")
            .hint(suggest::hint(unknown, expected));
    }
    if let [missing] = names[..]
        && message.starts_with("missing field")
    {
        return Mistake::new(place, format!("`{missing}` is missing"), "in this table")
            .hint(format!("add `{missing} = …`"));
    }
    Mistake::new(place, message, "here")
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextVisitor)
    }
}

struct TextVisitor;

impl Visitor<'_> for TextVisitor {
    type Value = Text;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a quantity with its unit, in quotes")
    }

    fn visit_str<E: de::Error>(self, v: &str) -> Result<Text, E> {
        Ok(Text(v.to_owned()))
    }

    fn visit_i64<E: de::Error>(self, v: i64) -> Result<Text, E> {
        Ok(Text(v.to_string()))
    }

    fn visit_f64<E: de::Error>(self, v: f64) -> Result<Text, E> {
        Ok(Text(v.to_string()))
    }
}

impl<'de> Deserialize<'de> for Loss {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LossVisitor)
    }
}

struct LossVisitor;

impl<'de> Visitor<'de> for LossVisitor {
    type Value = Loss;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a probability such as \"1%\" or a table such as { bernoulli = \"1%\" }")
    }

    fn visit_str<E: de::Error>(self, v: &str) -> Result<Loss, E> {
        TextVisitor.visit_str(v).map(Loss::Text)
    }

    fn visit_i64<E: de::Error>(self, v: i64) -> Result<Loss, E> {
        TextVisitor.visit_i64(v).map(Loss::Text)
    }

    fn visit_f64<E: de::Error>(self, v: f64) -> Result<Loss, E> {
        TextVisitor.visit_f64(v).map(Loss::Text)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Loss, A::Error> {
        LossModel::deserialize(MapAccessDeserializer::new(map)).map(Loss::Model)
    }
}

impl<'de> Deserialize<'de> for Reverse {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ReverseVisitor)
    }
}

struct ReverseVisitor;

impl<'de> Visitor<'de> for ReverseVisitor {
    type Value = Reverse;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"same\", \"none\" or a table of what differs on the way back")
    }

    fn visit_str<E: de::Error>(self, v: &str) -> Result<Reverse, E> {
        Ok(Reverse::Word(v.to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Reverse, A::Error> {
        ReverseTable::deserialize(MapAccessDeserializer::new(map)).map(|t| Reverse::Table(Box::new(t)))
    }
}
