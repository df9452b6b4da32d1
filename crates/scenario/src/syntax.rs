//! Syntax tree of a scenario file: shape and types only; each value keeps its byte range for error
//! messages. The JSON Schema comes from here.

use std::fmt;
use std::ops::Range;

use schemars::JsonSchema;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserializer, IgnoredAny, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use tfrc::config::PromiseStart;
use tfrc_sim::loss::{LossAction, LossPlace};
use tfrc_sim::marker::{ColorMode, MeterScope};
use tfrc_sim::packet::Precedence;
use tfrc_sim::queue::{CoDel, FqCoDel, Pie, Red, Rio};
use tfrc_units::{Duration, Probability, Rate};

use super::link_settings::Switch;
pub(super) use super::spanned::Spanned;
use super::table::{self, Table};
use super::web_settings::WebTraffic;
pub(super) use super::written::Text;
use super::written::{Burst, Bytes, Mark, PacketBytes, QueueLimit, Rates, RoundTrips, Seconds};
use super::{Backlog, LossIntervals, MeasuredHost, Tcp};

/// A network, what flows in it, and for how long.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Scenario {
    /// Virtual time of a run, such as "60s".
    pub(super) duration: Spanned<Duration>,
    /// Time at the start that measurements leave out; "0s" unless given.
    pub(super) warmup: Option<Spanned<Duration>>,
    /// The seed of all randomness; 1 unless given.
    pub(super) seed: Option<Spanned<u64>>,
    /// Runs of each point, with seeds that come from `seed`; 1 unless given.
    pub(super) runs: Option<Spanned<u32>>,
    /// Memory that a run may need by estimate; "8GiB" unless given.
    pub(super) max_memory: Option<Spanned<Bytes>>,
    /// Names of the nodes.
    pub(super) nodes: Spanned<Vec<Spanned<String>>>,
    /// The links. Each goes both ways unless `reverse` says otherwise.
    #[serde(default)]
    pub(super) link: Vec<Link>,
    /// The flows.
    #[serde(default)]
    pub(super) flow: Vec<Flow>,
    /// Where real datagrams enter and leave; the first and the last of `nodes` unless given.
    pub(super) gateway: Option<Gateway>,
    /// Values to go through; every combination is a point.
    #[serde(default)]
    pub(super) sweep: Vec<Sweep>,
}

/// Values to go through.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Sweep {
    /// The path of the key, such as "link.bottleneck.rate"; several that change together as a list.
    pub(super) set: Names,
    /// The values; with several keys a list for each point, or one value for all of them.
    #[schemars(with = "Vec<serde_json::Value>")]
    pub(super) values: Spanned<Vec<IgnoredAny>>,
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
    /// Rate, such as "15Mbit/s", a trace, or a log of rates.
    pub(super) rate: Spanned<LinkRate>,
    /// Propagation delay one way, such as "20ms".
    pub(super) delay: Spanned<Duration>,
    /// Queue for packets that find the line busy, without the packet in transmission; "unlimited"
    /// unless given.
    pub(super) queue: Option<Spanned<Queue>>,
    /// Losses besides those of the queue; none unless given.
    pub(super) loss: Option<Spanned<Losses>>,
    /// Markers, which set the drop precedence of packets.
    #[serde(default)]
    pub(super) marker: Vec<Marker>,
    /// Packets that are late, so that others overtake them.
    pub(super) reorder: Option<Reorder>,
    /// The share of packets of which a copy arrives, too; none unless given.
    pub(super) duplicate: Option<Spanned<Probability>>,
    /// Later settings.
    #[serde(default)]
    pub(super) changes: Vec<Change>,
    /// The way back: "same" (rate, delay and queue, without losses and changes), "none", or a table
    /// of the settings that differ; "same" unless given.
    pub(super) reverse: Option<Spanned<Reverse>>,
}

/// Rate of a link: constant, by a trace, or by a log.
#[derive(Debug, JsonSchema)]
#[serde(untagged)]
pub(super) enum LinkRate {
    /// A constant rate.
    Constant(Rate),
    /// A delivery trace, or a log of rates.
    Course(Box<CourseTable>),
}

/// A delivery trace in mahimahi's format, or a log: a table of times and rates.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CourseTable {
    /// One of the program's ("cable", "lte", "satellite", "wifi"), or a file next to the scenario:
    /// a name with a dot or a slash.
    pub(super) trace: Option<Spanned<String>>,
    /// A file next to the scenario with a line for each rate: columns apart by commas, semicolons,
    /// tabs or spaces. A rate holds until the next line, the last as long as the one before it;
    /// then the log begins again.
    pub(super) log: Option<Spanned<String>>,
    /// The column of times in a log: its name in the first line, or its number from 1. Numbers,
    /// dates with a time of day, or times of day; the first is time zero.
    pub(super) time: Option<Spanned<String>>,
    /// The unit of the times of a log that are numbers: "s", "ms", "us", "ns" or "min"; "s" unless
    /// given.
    pub(super) time_unit: Option<Spanned<String>>,
    /// In place of `time`: the time between two lines of a log.
    pub(super) interval: Option<Spanned<Duration>>,
    /// The column of rates in a log: its name, or its number.
    pub(super) rate: Option<Spanned<String>>,
    /// The unit of the rates of a log: "bit/s", "kbit/s", "Mbit/s", "Gbit/s", "B/s", "kB/s", "MB/s"
    /// or "GB/s".
    pub(super) unit: Option<Spanned<String>>,
}

/// Later settings of a link, all from one time on; those that are left out stay.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Change {
    /// From when on.
    pub(super) at: Spanned<Duration>,
    /// The rate from then on, of what is left of the packet in transmission too.
    pub(super) rate: Option<Spanned<Rate>>,
    /// The propagation delay of every packet that leaves the line later. None overtakes another.
    pub(super) delay: Option<Spanned<Duration>>,
    /// The limit of a drop-tail queue. Packets that wait stay.
    pub(super) queue: Option<Spanned<QueueLimit>>,
    /// The losses, in place of all that the link had.
    pub(super) loss: Option<Spanned<Losses>>,
}

/// Packets that are late.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Reorder {
    /// Their share; none unless given.
    pub(super) share: Option<Spanned<Probability>>,
    /// Besides these packets, counted from 1 among those that reach the far end.
    pub(super) scripted: Option<Vec<u64>>,
    /// By how much they are late.
    pub(super) extra: Spanned<Duration>,
}

/// The way back of a link.
#[derive(Debug, JsonSchema)]
#[serde(untagged)]
pub(super) enum Reverse {
    /// "same" or "none".
    Word(String),
    /// A table of the settings that differ.
    Table(Box<ReverseTable>),
}

/// Settings that differ on the way back.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ReverseTable {
    /// Rate, a trace, or a log of rates.
    pub(super) rate: Option<Spanned<LinkRate>>,
    /// Propagation delay.
    pub(super) delay: Option<Spanned<Duration>>,
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
    pub(super) duplicate: Option<Spanned<Probability>>,
    /// Later settings.
    #[serde(default)]
    pub(super) changes: Vec<Change>,
}

/// A queue: a limit for drop-tail such as "25p", or a table with one discipline.
#[derive(Debug, JsonSchema)]
#[serde(untagged)]
pub(super) enum Queue {
    /// The limit of a drop-tail queue.
    Limit(QueueLimit),
    /// A discipline with its settings.
    Table(Box<QueueTable>),
}

/// One of the disciplines.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct QueueTable {
    /// Controlled delay (RFC 8289).
    pub(super) codel: Option<Spanned<Table<CoDel>>>,
    /// A queue of the program that runs the file, in Rust or Python: its name there.
    pub(super) custom: Option<Spanned<String>>,
    /// First in, first out: the limit.
    pub(super) drop_tail: Option<Spanned<QueueLimit>>,
    /// A queue for each flow, with controlled delay in each (RFC 8290).
    pub(super) fq_codel: Option<Spanned<Table<FqCoDel>>>,
    /// PIE (RFC 8033).
    pub(super) pie: Option<Spanned<Table<Pie>>>,
    /// Random early detection.
    pub(super) red: Option<Spanned<Table<Red>>>,
    /// RED by drop precedence.
    pub(super) rio: Option<Spanned<Table<Rio>>>,
}

/// A probability, one rule, or several.
#[derive(Debug, JsonSchema)]
#[serde(untagged)]
pub(super) enum Losses {
    /// The probability of each packet.
    Share(Probability),
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
    pub(super) bernoulli: Option<Spanned<Probability>>,
    /// Each byte with this probability.
    pub(super) bernoulli_per_byte: Option<Spanned<Probability>>,
    /// Two states.
    pub(super) gilbert_elliott: Option<Gilbert>,
    /// Every n-th packet.
    pub(super) periodic: Option<Vec<Period>>,
    /// These packets, counted from 1.
    pub(super) scripted: Option<Vec<u64>>,
    /// The first packet from each of these times on.
    pub(super) scripted_times: Option<Vec<Spanned<Duration>>>,
    /// A probability that changes.
    pub(super) time_varying: Option<Vec<Step>>,
    /// Effect on a packet that the loss hits; "drop" unless given.
    pub(super) action: Option<Spanned<LossAction>>,
    /// Place of the losses; "before-queue" unless given.
    pub(super) place: Option<Spanned<LossPlace>>,
    /// Names of flows; all unless given.
    pub(super) flows: Option<Vec<Spanned<String>>>,
}

/// Probabilities of the Gilbert-Elliott model.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Gilbert {
    /// From good to bad after a packet.
    pub(super) to_bad: Spanned<Probability>,
    /// From bad to good after a packet.
    pub(super) to_good: Spanned<Probability>,
    /// Loss in the good state.
    pub(super) in_good: Spanned<Probability>,
    /// Loss in the bad state.
    pub(super) in_bad: Spanned<Probability>,
}

/// A phase of periodic loss.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Period {
    /// From when on.
    pub(super) at: Spanned<Duration>,
    /// The last packet of each `every` is lost; 0 for none.
    pub(super) every: u64,
    /// The first packet that is lost, counted from 1 at `at`; that of `every` unless given. The
    /// next ones follow `every` packets apart.
    pub(super) first: Option<Spanned<u64>>,
}

/// A step of a loss probability.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Step {
    /// From when on.
    pub(super) at: Spanned<Duration>,
    /// The probability.
    pub(super) p: Spanned<Probability>,
}

/// A meter that sets the drop precedence; one of `fixed`, `token_bucket`, `single_rate`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Marker {
    /// Every packet gets this.
    pub(super) fixed: Option<Spanned<Precedence>>,
    /// In or out of profile.
    pub(super) token_bucket: Option<TokenBucket>,
    /// The single rate three color marker (RFC 2697).
    pub(super) single_rate: Option<SingleRate>,
    /// Flows that share a meter; "aggregate" unless given.
    pub(super) scope: Option<Spanned<MeterScope>>,
    /// Names of flows; all unless given.
    pub(super) flows: Option<Vec<Spanned<String>>>,
}

/// A token bucket.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TokenBucket {
    /// Committed rate.
    pub(super) rate: Spanned<Rate>,
    /// Bytes of the bucket.
    pub(super) burst: Spanned<Burst>,
}

/// Two buckets.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SingleRate {
    /// Committed information rate.
    pub(super) rate: Spanned<Rate>,
    /// Committed burst size.
    pub(super) burst: Spanned<Burst>,
    /// Excess burst size.
    pub(super) excess: Spanned<Burst>,
    /// Use of the precedence that packets come with; "blind" unless given.
    pub(super) colors: Option<Spanned<ColorMode>>,
}

/// One flow, or several alike.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Flow {
    /// Its name in results; kind and number unless given. Several flows have numbers behind it.
    pub(super) name: Option<Spanned<String>>,
    /// The kind of flow.
    pub(super) kind: Spanned<Kind>,
    /// The sender's node.
    pub(super) from: Spanned<String>,
    /// The receiver's node.
    pub(super) to: Spanned<String>,
    /// Number of such flows; 1 unless given.
    pub(super) count: Option<Spanned<u32>>,
    /// When it starts: a time, or a distribution such as "uniform 0s 5s"; "0s" unless given.
    pub(super) start: Option<Spanned<Seconds>>,
    /// When it stops; at the end unless given.
    pub(super) stop: Option<Spanned<Duration>>,
    /// Round-trip propagation time: each flow gets an access link at the sender that adds the
    /// missing delay. "evenly 40ms 240ms" means equal steps over the flows of the entry; the delay
    /// of the links unless given.
    pub(super) rtt: Option<Spanned<RoundTrips>>,
    /// A line of its own between the sender's host and `from`.
    pub(super) access: Option<OwnLine>,
    /// A line of its own between `to` and the receiver's host.
    pub(super) exit: Option<OwnLine>,
    /// An entry above whose hosts these flows have, the first those of its first and so on, in
    /// turn: they share their lines. "drawn NAME" draws both ends of each flow among them.
    pub(super) hosts: Option<Spanned<String>>,
    /// Bytes of payload in a packet, for TFRC and DCCP also a distribution; "1460B" unless given,
    /// of DCCP "1400B", of `cbr` and `onoff` "1000B", of `ping` "84B".
    pub(super) segment: Option<Spanned<Text>>,
    /// Bytes of all headers on the wire; "44B" unless given, of `cbr` and `onoff` "28B", of TCP and
    /// `custom` "40B".
    pub(super) header: Option<Spanned<PacketBytes>>,
    /// Packets that the application makes in a second; as many as the flow may send unless given.
    pub(super) packets_per_second: Option<Spanned<f64>>,
    /// Treatment of its packets that may not go in time; "left-out" unless given.
    pub(super) backlog: Option<Spanned<Backlog>>,
    /// Loss intervals of a TFRC flow in the results; "left-out" unless given.
    pub(super) loss_intervals: Option<Spanned<LossIntervals>>,
    /// Rate of data of `cbr`, and of `onoff` while it is on.
    pub(super) rate: Option<Spanned<Rate>>,
    /// How long the application has something to send: a time or a distribution; with `off`.
    pub(super) on: Option<Spanned<Seconds>>,
    /// How long the application is silent: a time or a distribution; with `on`.
    pub(super) off: Option<Spanned<Seconds>>,
    /// Means that each flow of an `onoff` entry draws once.
    pub(super) draws: Option<Spanned<Draws>>,
    /// Time between the requests of `ping`; "1s" unless given.
    pub(super) interval: Option<Spanned<Duration>>,
    /// The congestion control of a `custom` flow: its name in the program that runs the file.
    pub(super) controller: Option<Spanned<String>>,
    /// Data that the flow sends in all; without end unless given.
    pub(super) transfer: Option<Spanned<Bytes>>,
    /// The times of a run in which the application has something to send; always unless given.
    pub(super) active: Option<Spanned<Vec<Spanned<Span>>>>,
    /// The data that the application writes: a list, or a file with a line for each. What may not
    /// be sent at once waits.
    pub(super) writes: Option<Spanned<Writes>>,
    /// A TCP sends later by a random time up to this, or both hosts of any flow act as late as
    /// measured ones; it breaks up phase effects; none unless given.
    pub(super) overhead: Option<Spanned<Overhead>>,
    /// A rate that the network has promised (gTFRC); it needs a `dscp` of Assured Forwarding or a
    /// circuit breaker.
    pub(super) guarantee: Option<Spanned<Rate>>,
    /// Start of the promise; "first-rtt" unless given.
    pub(super) guarantee_start: Option<Spanned<PromiseStart>>,
    /// The promise counts as broken below `guarantee` divided by this; never unless given.
    pub(super) guarantee_threshold: Option<Spanned<f64>>,
    /// DSCP of packets, such as "af11", whose second digit sets the drop precedence; "cs0" unless
    /// given.
    pub(super) dscp: Option<Spanned<Mark>>,
    /// Use of ECN by a TFRC, DCCP or `custom` flow; on for DCCP, off for the others unless given.
    pub(super) ecn: Option<Spanned<Switch>>,
    /// The rate control.
    pub(super) tfrc: Option<Table<tfrc::Settings>>,
    /// The TCP.
    pub(super) tcp: Option<Table<Tcp>>,
    /// The sessions.
    pub(super) web: Option<Table<WebTraffic>>,
}

/// A span of time.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Span {
    /// Its beginning, a time of the run.
    pub(super) from: Spanned<Duration>,
    /// Its end.
    pub(super) to: Spanned<Duration>,
}

/// Data that an application writes: a list, or a file.
#[derive(Debug, JsonSchema)]
#[serde(untagged)]
pub(super) enum Writes {
    /// A file with a line for each.
    File(Box<WritesTable>),
    /// One at each of these times.
    List(Vec<Spanned<Write>>),
}

/// Data that an application writes at one time.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Write {
    /// The time of the run; data of a time before the flow's start is there at its start.
    pub(super) at: Spanned<Duration>,
    /// The data, such as "30kB".
    pub(super) bytes: Spanned<Bytes>,
}

/// A file of writes, such as the frames of a video.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WritesTable {
    /// A file next to the scenario with a line for each write: columns apart by commas,
    /// semicolons, tabs or spaces. Lines of zero bytes write nothing.
    pub(super) file: Spanned<String>,
    /// The column of times: its name in the first line, or its number from 1. The first line is
    /// written at the start of the flow.
    pub(super) time: Option<Spanned<String>>,
    /// The unit of times that are numbers: "s", "ms", "us", "ns" or "min"; "s" unless given.
    pub(super) time_unit: Option<Spanned<String>>,
    /// In place of `time`: the time between two lines, such as "40ms".
    pub(super) interval: Option<Spanned<Duration>>,
    /// The column of sizes: its name, or its number.
    pub(super) bytes: Spanned<String>,
    /// The unit of sizes: "B", "kB", "MB", "bit" or "kbit"; "B" unless given.
    pub(super) unit: Option<Spanned<String>>,
}

/// Time that hosts take: the greatest of a TCP sender, or a measured host.
#[derive(Debug, Clone, Copy, JsonSchema)]
#[serde(untagged)]
pub(super) enum Overhead {
    /// A uniformly drawn wait of at most this before a TCP sends newly allowed data.
    UpTo(Duration),
    /// As late as this host, at both ends.
    Host(MeasuredHost),
}

impl<'de> Deserialize<'de> for Overhead {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = String::deserialize(deserializer)?;
        if let Some(host) = MeasuredHost::from_name(&written) {
            return Ok(Self::Host(host));
        }
        Duration::deserialize(written.into_deserializer()).map(Self::UpTo)
    }
}

/// The kinds of flows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Kind {
    /// TFRC (RFC 5348).
    Tfrc,
    /// TFRC for small packets (RFC 4828).
    TfrcSp,
    /// DCCP with CCID 3.
    Dccp,
    /// DCCP with CCID 4.
    DccpSp,
    /// A TCP: of the simulator, or of the kernel in `tfrc emu`.
    Tcp,
    /// Datagrams at a constant rate.
    Cbr,
    /// Datagrams at a constant rate, on and off.
    Onoff,
    /// Web sessions.
    Web,
    /// Echo requests.
    Ping,
    /// A congestion control of the program that runs the file, in Rust or Python.
    Custom,
}

impl Kind {
    /// Its word.
    pub(super) fn word(self) -> String {
        table::word(&self)
    }
}

/// Means that each flow of an entry draws once, at its beginning.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Draws {
    /// Instead of `rate`: a distribution of rates.
    pub(super) rate: Option<Spanned<Rates>>,
    /// Instead of the mean of `on`: a distribution of times.
    pub(super) on: Option<Spanned<Seconds>>,
    /// Instead of the mean of `off`: a distribution of times.
    pub(super) off: Option<Spanned<Seconds>>,
}

/// A line of a flow's own.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct OwnLine {
    /// Rate; no limit unless given.
    pub(super) rate: Option<Spanned<Rate>>,
    /// Propagation delay one way: a time or a distribution.
    pub(super) delay: Option<Spanned<Seconds>>,
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

/// A text where none may stand.
enum Never {}

impl<'de> Deserialize<'de> for Never {
    fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Err(de::Error::custom("neither a list nor a table: for example [{ at = \"1s\", bytes = \"30kB\" }]"))
    }
}

/// A type that stands as text, as a table or as a list: which, and what to make of each.
macro_rules! either {
    ($type:ident, $expecting:literal, $word:ty => $of_word:expr $(, table $table:ty => $of_table:expr)? $(, list $item:ty => $of_list:expr)?) => {
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Either;
                impl<'de> Visitor<'de> for Either {
                    type Value = $type;

                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str($expecting)
                    }

                    fn visit_str<E: de::Error>(self, v: &str) -> Result<$type, E> {
                        <$word>::deserialize(v.into_deserializer()).map($of_word)
                    }

                    fn visit_i64<E: de::Error>(self, v: i64) -> Result<$type, E> {
                        <$word>::deserialize(v.into_deserializer()).map($of_word)
                    }

                    fn visit_f64<E: de::Error>(self, v: f64) -> Result<$type, E> {
                        <$word>::deserialize(v.into_deserializer()).map($of_word)
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

either!(Queue, "a limit such as \"25p\" or a table such as { red = { limit = \"100p\" } }",
    QueueLimit => Queue::Limit,
    table QueueTable => |t| Queue::Table(Box::new(t)));
either!(LinkRate, "a rate such as \"15Mbit/s\" or a trace such as { trace = \"lte\" }",
    Rate => LinkRate::Constant,
    table CourseTable => |t| LinkRate::Course(Box::new(t)));
either!(Writes, "a list such as [{ at = \"1s\", bytes = \"30kB\" }] or a table such as { file = \"frames.csv\", \
    interval = \"40ms\", bytes = \"1\" }",
    Never => |never| match never {},
    table WritesTable => |t| Writes::File(Box::new(t)), list Spanned<Write> => Writes::List);
either!(Losses, "a probability such as \"1%\" or a table such as { bernoulli = \"1%\" }",
    Probability => Losses::Share,
    table LossRule => |t| Losses::One(Box::new(t)), list Spanned<LossRule> => Losses::Several);
either!(Reverse, "\"same\", \"none\" or a table of what differs on the way back", String => Reverse::Word,
    table ReverseTable => |t| Reverse::Table(Box::new(t)));

impl<'de> Deserialize<'de> for Names {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // A place is known only to who asks for it first.
        let whole = Spanned::<OneOrSeveral>::deserialize(deserializer)?;
        let place = whole.span();
        Ok(match whole.into_inner() {
            OneOrSeveral::One(name) => Self::One(Spanned::new(place, name)),
            OneOrSeveral::Several(names) => Self::Several(names),
        })
    }
}

enum OneOrSeveral {
    One(String),
    Several(Vec<Spanned<String>>),
}

either!(OneOrSeveral, "the path of a key, or a list of them", String => OneOrSeveral::One,
    list Spanned<String> => OneOrSeveral::Several);
