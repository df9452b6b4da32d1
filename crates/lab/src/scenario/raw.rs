//! Syntax tree of a scenario file: shape and types only; each value keeps its byte range for error
//! messages. The JSON Schema comes from here.

use std::fmt;
use std::ops::Range;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor};
use toml::de::DeTable;

use super::axis::Table;
use super::check::Checked;
use super::error::{Fault, Mistake};
pub(super) use super::spanned::Spanned;
use super::{link_settings, rate_control, schema, suggest, tcp_settings, web_settings};

/// A network, what flows in it, and for how long.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Scenario {
    /// Virtual time of a run, such as "60s".
    pub(super) duration: Spanned<Text>,
    /// Time at the start that measurements leave out.
    pub(super) warmup: Option<Spanned<Text>>,
    /// The seed of all randomness.
    pub(super) seed: Option<Spanned<u64>>,
    /// Runs of each point, with seeds that come from `seed`.
    pub(super) runs: Option<Spanned<u32>>,
    /// Memory that a run may need by estimate, such as "8GiB".
    pub(super) max_memory: Option<Spanned<Text>>,
    /// A CSV file of published values to print beside the results.
    pub(super) compare: Option<Spanned<String>>,
    /// Names of the nodes.
    pub(super) nodes: Spanned<Vec<Spanned<String>>>,
    /// The links.
    #[serde(default)]
    pub(super) link: Vec<Link>,
    /// What flows.
    #[serde(default)]
    pub(super) flow: Vec<Flow>,
    /// Where real datagrams enter and leave.
    pub(super) gateway: Option<Gateway>,
    /// Values to go through; every combination is a point.
    #[serde(default)]
    pub(super) sweep: Vec<Sweep>,
}

/// Values to go through.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Sweep {
    /// The path of the key, as `--set` takes it; several that change together as a list.
    pub(super) set: Names,
    /// The values; with several keys a list for each point, or one value for all of them.
    #[schemars(with = "Vec<serde_json::Value>")]
    pub(super) values: Spanned<Vec<toml::Value>>,
}

/// A link between two nodes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Link {
    /// Its name in results; "from-to" unless given.
    pub(super) name: Option<Spanned<String>>,
    /// The node where it begins.
    pub(super) from: Spanned<String>,
    /// The node where it ends.
    pub(super) to: Spanned<String>,
    /// Rate, such as "15Mbit/s".
    pub(super) rate: Spanned<Text>,
    /// Propagation delay one way, such as "20ms".
    pub(super) delay: Spanned<Text>,
    /// What happens to packets that find the line busy.
    pub(super) queue: Option<Spanned<Queue>>,
    /// Losses besides those of the queue.
    pub(super) loss: Option<Spanned<Losses>>,
    /// What sets the drop precedence of packets.
    #[serde(default)]
    pub(super) marker: Vec<Marker>,
    /// Packets that are late, so that others overtake them.
    pub(super) reorder: Option<Reorder>,
    /// The share of packets of which a copy arrives too.
    pub(super) duplicate: Option<Spanned<Text>>,
    /// Later rates.
    #[serde(default)]
    pub(super) changes: Vec<Change>,
    /// The way back: "same", "none", or what differs there.
    pub(super) reverse: Option<Spanned<Reverse>>,
}

/// A later rate of a link.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Change {
    /// From when on.
    pub(super) at: Spanned<Text>,
    /// The rate.
    pub(super) rate: Spanned<Text>,
}

/// Packets that are late.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Reorder {
    /// Their share.
    pub(super) share: Spanned<Text>,
    /// By how much they are late.
    pub(super) extra: Spanned<Text>,
}

/// The way back of a link.
#[derive(Debug, JsonSchema)]
#[serde(untagged)]
pub(super) enum Reverse {
    /// "same" or "none".
    Word(String),
    /// What differs.
    Table(Box<ReverseTable>),
}

/// What differs on the way back.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ReverseTable {
    /// Rate.
    pub(super) rate: Option<Spanned<Text>>,
    /// Propagation delay.
    pub(super) delay: Option<Spanned<Text>>,
    /// Queue.
    pub(super) queue: Option<Spanned<Queue>>,
    /// Losses.
    pub(super) loss: Option<Spanned<Losses>>,
    /// Markers.
    #[serde(default)]
    pub(super) marker: Vec<Marker>,
    /// Packets that are late.
    pub(super) reorder: Option<Reorder>,
    /// Copies.
    pub(super) duplicate: Option<Spanned<Text>>,
    /// Later rates.
    #[serde(default)]
    pub(super) changes: Vec<Change>,
}

/// A queue: a limit for drop-tail such as "25p", or a table with one discipline.
#[derive(Debug, JsonSchema)]
#[serde(untagged)]
pub(super) enum Queue {
    /// The limit of a drop-tail queue.
    Text(Text),
    /// A discipline with its settings.
    Table(Box<QueueTable>),
}

/// One of the disciplines.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct QueueTable {
    /// Controlled delay (RFC 8289).
    #[serde(default)]
    #[schemars(schema_with = "codel_schema")]
    pub(super) codel: Option<Spanned<Table>>,
    /// First in, first out: the limit.
    pub(super) drop_tail: Option<Spanned<Text>>,
    /// PIE (RFC 8033).
    #[serde(default)]
    #[schemars(schema_with = "pie_schema")]
    pub(super) pie: Option<Spanned<Table>>,
    /// Random early detection.
    #[serde(default)]
    #[schemars(schema_with = "red_schema")]
    pub(super) red: Option<Spanned<Table>>,
    /// RED by drop precedence.
    #[serde(default)]
    #[schemars(schema_with = "rio_schema")]
    pub(super) rio: Option<Spanned<Table>>,
}

/// A probability, one rule, or several.
#[derive(Debug, JsonSchema)]
#[serde(untagged)]
pub(super) enum Losses {
    /// The probability of each packet.
    Text(Text),
    /// One rule.
    One(Box<LossRule>),
    /// Several, in this order.
    Several(Vec<Spanned<LossRule>>),
}

/// One loss model, and whom it hits where.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct LossRule {
    /// Each packet with this probability.
    pub(super) bernoulli: Option<Spanned<Text>>,
    /// Each byte with this probability.
    pub(super) bernoulli_per_byte: Option<Spanned<Text>>,
    /// Two states.
    pub(super) gilbert_elliott: Option<Gilbert>,
    /// Every n-th packet.
    pub(super) periodic: Option<Vec<Period>>,
    /// These packets, counted from 1.
    pub(super) scripted: Option<Vec<u64>>,
    /// The first packet from each of these times on.
    pub(super) scripted_times: Option<Vec<Spanned<Text>>>,
    /// A probability that changes.
    pub(super) time_varying: Option<Vec<Step>>,
    /// "drop" or "mark".
    pub(super) action: Option<Spanned<String>>,
    /// "before-queue" or "after-line".
    pub(super) place: Option<Spanned<String>>,
    /// Names of flows; all unless given.
    pub(super) flows: Option<Vec<Spanned<String>>>,
}

/// Probabilities of the Gilbert-Elliott model.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Gilbert {
    /// From good to bad after a packet.
    pub(super) to_bad: Spanned<Text>,
    /// From bad to good after a packet.
    pub(super) to_good: Spanned<Text>,
    /// Loss in the good state.
    pub(super) in_good: Spanned<Text>,
    /// Loss in the bad state.
    pub(super) in_bad: Spanned<Text>,
}

/// A phase of periodic loss.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Period {
    /// From when on.
    pub(super) at: Spanned<Text>,
    /// The last of each so many packets is lost; 0 for none.
    pub(super) every: u64,
}

/// A step of a loss probability.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Step {
    /// From when on.
    pub(super) at: Spanned<Text>,
    /// The probability.
    pub(super) p: Spanned<Text>,
}

/// A meter that sets the drop precedence; one of `fixed`, `token_bucket`, `single_rate`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Marker {
    /// Every packet gets "low", "medium" or "high".
    pub(super) fixed: Option<Spanned<String>>,
    /// In or out of profile.
    pub(super) token_bucket: Option<TokenBucket>,
    /// The single rate three color marker (RFC 2697).
    pub(super) single_rate: Option<SingleRate>,
    /// "aggregate", "each-flow" or "each-source".
    pub(super) scope: Option<Spanned<String>>,
    /// Names of flows; all unless given.
    pub(super) flows: Option<Vec<Spanned<String>>>,
}

/// A token bucket.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TokenBucket {
    /// Committed rate.
    pub(super) rate: Spanned<Text>,
    /// Bytes of the bucket.
    pub(super) burst: Spanned<Text>,
}

/// Two buckets.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SingleRate {
    /// Committed information rate.
    pub(super) rate: Spanned<Text>,
    /// Committed burst size.
    pub(super) burst: Spanned<Text>,
    /// Excess burst size.
    pub(super) excess: Spanned<Text>,
    /// "aware" or "blind".
    pub(super) colors: Option<Spanned<String>>,
}

/// One flow, or several alike.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Flow {
    /// Its name in results; kind and number unless given. Several flows are numbered.
    pub(super) name: Option<Spanned<String>>,
    /// What sends.
    #[schemars(schema_with = "kind_schema")]
    pub(super) kind: Spanned<String>,
    /// The sender's node.
    pub(super) from: Spanned<String>,
    /// The receiver's node.
    pub(super) to: Spanned<String>,
    /// How many such flows there are.
    pub(super) count: Option<Spanned<u32>>,
    /// When it starts: a time, or a distribution such as "uniform 0s 5s".
    pub(super) start: Option<Spanned<Text>>,
    /// When it stops.
    pub(super) stop: Option<Spanned<Text>>,
    /// Round-trip propagation time: each flow gets a line of its own at the sender that makes up for what is missing.
    pub(super) rtt: Option<Spanned<Text>>,
    /// A line of its own between the sender's host and `from`.
    pub(super) access: Option<OwnLine>,
    /// A line of its own between `to` and the receiver's host.
    pub(super) exit: Option<OwnLine>,
    /// Bytes of payload in a packet; for TFRC also a distribution.
    pub(super) segment: Option<Spanned<Text>>,
    /// Bytes of all headers on the wire besides.
    pub(super) header: Option<Spanned<Text>>,
    /// Limit of the application.
    pub(super) packets_per_second: Option<Spanned<f64>>,
    /// What becomes of its packets that may not go in time: "left-out" or "kept".
    pub(super) backlog: Option<Spanned<String>>,
    /// Whether the results list a TFRC flow's loss intervals: "left-out" or "kept".
    pub(super) loss_intervals: Option<Spanned<String>>,
    /// Rate of data of "cbr" and, while on, of "onoff".
    pub(super) rate: Option<Spanned<Text>>,
    /// How long it sends: a time or a distribution.
    pub(super) on: Option<Spanned<Text>>,
    /// How long it is silent.
    pub(super) off: Option<Spanned<Text>>,
    /// Means that each flow of an "onoff" entry draws once.
    pub(super) draws: Option<Spanned<Draws>>,
    /// Between the requests of "ping".
    pub(super) interval: Option<Spanned<Text>>,
    /// How much a TCP sends in all.
    pub(super) transfer: Option<Spanned<Text>>,
    /// A TCP sends later by a random time up to this, which breaks up phase effects.
    pub(super) overhead: Option<Spanned<Text>>,
    /// A promised rate (gTFRC).
    pub(super) guarantee: Option<Spanned<Text>>,
    /// "first-rtt" or "first-loss-report".
    pub(super) guarantee_start: Option<Spanned<String>>,
    /// Below the guarantee divided by this the promise counts as broken.
    pub(super) guarantee_threshold: Option<Spanned<f64>>,
    /// What packets are marked with, such as "af11".
    pub(super) dscp: Option<Spanned<Text>>,
    /// "on" if a TFRC or DCCP flow is ECN-capable.
    pub(super) ecn: Option<Spanned<String>>,
    /// The rate control.
    #[serde(default)]
    #[schemars(schema_with = "tfrc_schema")]
    pub(super) tfrc: Option<Table>,
    /// The TCP.
    #[serde(default)]
    #[schemars(schema_with = "tcp_schema")]
    pub(super) tcp: Option<Table>,
    /// The sessions.
    #[serde(default)]
    #[schemars(schema_with = "web_schema")]
    pub(super) web: Option<Table>,
}

/// Means that each flow of an entry draws once, at its beginning.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Draws {
    /// Instead of `rate`: a distribution of rates.
    pub(super) rate: Option<Spanned<Text>>,
    /// Instead of the mean of `on`: a distribution of times.
    pub(super) on: Option<Spanned<Text>>,
    /// Instead of the mean of `off`: a distribution of times.
    pub(super) off: Option<Spanned<Text>>,
}

/// A line of a flow's own.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct OwnLine {
    /// Rate; no limit unless given.
    pub(super) rate: Option<Spanned<Text>>,
    /// Propagation delay one way: a time or a distribution.
    pub(super) delay: Option<Spanned<Text>>,
    /// Its queue.
    pub(super) queue: Option<Spanned<Queue>>,
}

/// Where real datagrams enter and leave.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Gateway {
    /// Where those of clients come in.
    pub(super) listen: Spanned<String>,
    /// Where they go out.
    pub(super) to: Spanned<String>,
}

/// A quantity with its unit; a bare number is taken as its digits.
#[derive(Debug, Clone)]
pub(super) struct Text(pub(super) String);

/// One name or several.
#[derive(Debug, JsonSchema)]
#[serde(untagged)]
pub(super) enum Names {
    /// One.
    One(Spanned<String>),
    /// Several.
    Several(Vec<Spanned<String>>),
}

impl Names {
    pub(super) fn names(&self) -> impl Iterator<Item = (&str, Range<usize>)> {
        let list = match self {
            Self::One(name) => std::slice::from_ref(name),
            Self::Several(names) => names,
        };
        list.iter().map(|name| (name.get_ref().as_str(), name.span()))
    }
}

fn red_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schema::table(link_settings::RED)
}

fn rio_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schema::table(link_settings::RIO)
}

fn pie_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schema::table(link_settings::PIE)
}

fn codel_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schema::table(link_settings::CODEL)
}

fn tfrc_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schema::table(rate_control::AXES)
}

fn tcp_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schema::table(tcp_settings::AXES)
}

fn web_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schema::table(web_settings::AXES)
}

fn kind_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schema::words(super::flows::KINDS)
}

pub(super) fn read(tree: toml::Spanned<DeTable<'_>>) -> Checked<Scenario> {
    Scenario::deserialize(toml::de::Deserializer::from(tree)).map_err(|error| explain(&error))
}

/// Turns a message of the TOML reader into ours.
pub(crate) fn explain(error: &toml::de::Error) -> Mistake {
    let place = error.span().unwrap_or(0..0);
    // A serde message may go on after its first line; the rest repeats what the label shows.
    let message = error.message().lines().next().unwrap_or_default();
    let names: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    if let Some((unknown, expected)) = names.split_first()
        && message.starts_with("unknown field")
    {
        let what = format!("unknown key `{unknown}`");
        return Mistake::new(Fault::UnknownKey, place, what, "not a key of this table")
            .hint(suggest::hint(unknown, expected));
    }
    if let [missing] = names[..]
        && message.starts_with("missing field")
    {
        return Mistake::new(Fault::MissingKey, place, format!("`{missing}` is missing"), "in this table")
            .hint(format!("add `{missing} = …`"));
    }
    if let Some((given, expected)) =
        message.strip_prefix("invalid type: ").and_then(|m| m.split_once(", expected "))
    {
        return Mistake::new(
            Fault::WrongType,
            place,
            format!("{given} cannot stand here"),
            "of another type",
        )
        .hint(format!("expected {expected}"));
    }
    if message.starts_with("invalid value") {
        return Mistake::new(Fault::Range, place, message, "here");
    }
    Mistake::new(Fault::Syntax, place, message, "here")
        .hint("a scenario is TOML: key = value, text in quotes, tables under [[link]] and [[flow]]")
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

/// A type that stands as text, as a table or as a list: which, and what to make of each.
macro_rules! either {
    ($type:ident, $expecting:literal, $text:expr $(, table $table:ty => $of_table:expr)? $(, list $item:ty => $of_list:expr)?) => {
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Either;
                impl<'de> Visitor<'de> for Either {
                    type Value = $type;

                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str($expecting)
                    }

                    fn visit_str<E: de::Error>(self, v: &str) -> Result<$type, E> {
                        TextVisitor.visit_str(v).map($text)
                    }

                    fn visit_i64<E: de::Error>(self, v: i64) -> Result<$type, E> {
                        TextVisitor.visit_i64(v).map($text)
                    }

                    fn visit_f64<E: de::Error>(self, v: f64) -> Result<$type, E> {
                        TextVisitor.visit_f64(v).map($text)
                    }

                    $(fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<$type, A::Error> {
                        <$table>::deserialize(MapAccessDeserializer::new(map)).map($of_table)
                    })?

                    $(fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<$type, A::Error> {
                        let mut list: Vec<$item> = Vec::new();
                        while let Some(one) = seq.next_element()? {
                            list.push(one);
                        }
                        Ok($of_list(list))
                    })?
                }
                deserializer.deserialize_any(Either)
            }
        }
    };
}

either!(Queue, "a limit such as \"25p\" or a table such as { red = { limit = \"100p\" } }", Queue::Text,
    table QueueTable => |t| Queue::Table(Box::new(t)));
either!(Losses, "a probability such as \"1%\" or a table such as { bernoulli = \"1%\" }", Losses::Text,
    table LossRule => |t| Losses::One(Box::new(t)), list Spanned<LossRule> => Losses::Several);
either!(Reverse, "\"same\", \"none\" or a table of what differs on the way back", |t: Text| Reverse::Word(t.0),
    table ReverseTable => |t| Reverse::Table(Box::new(t)));

impl<'de> Deserialize<'de> for Names {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // A place is known only to who asks for it first.
        let whole = Spanned::<OneOrSeveral>::deserialize(deserializer)?;
        let place = whole.span();
        Ok(match whole.into_inner() {
            OneOrSeveral::One(name) => Self::One(Spanned::new(place, name.0)),
            OneOrSeveral::Several(names) => Self::Several(names),
        })
    }
}

enum OneOrSeveral {
    One(Text),
    Several(Vec<Spanned<String>>),
}

either!(OneOrSeveral, "the path of a key, or a list of them", OneOrSeveral::One,
    list Spanned<String> => OneOrSeveral::Several);
