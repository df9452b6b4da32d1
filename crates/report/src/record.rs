//! Records of a run: one typed stream, the same from simulator, emulator and wire.
//!
//! The command line prints it (`--json-stream`, one object a line, `type` says which), the page of
//! [`crate::pages`] draws it, and the last record is what `--json` prints. Rates are bit/s, times
//! seconds, and the unit stands in the key. A value that is not known at this side is `None`: left
//! out of [`Start`], [`Interval`] (but for simulations, [`simulated`]) and [`Event`],
//! written as `null` in [`Summary`] so that its keys are always there.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::series::{By, COLUMNS};
use tfrc_world::emulated::Fidelity;
use tfrc_world::note::Note;
use tfrc_world::results::{FlowSummary, GroupOutcome, Interval, LinkOutcome};

/// One line of a run's stream: first a start, then intervals and events in the order of their
/// times, then an end or an error.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
#[expect(clippy::large_enum_variant, reason = "nearly all records are intervals")]
pub enum Record {
    /// The run is about to start.
    Start(Start),
    /// Measurements over one interval.
    Interval(Interval),
    /// Something that happened at one moment.
    Event(Event),
    /// The run is over: the figures of the whole.
    End(Box<Summary>),
    /// The run failed.
    Error {
        /// Seconds since the start.
        t_s: f64,
        /// Cause of the failure, and advice.
        message: String,
    },
}

/// Kind of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Role {
    /// Sender, receiver and an emulated bottleneck in one process.
    Demo,
    /// A scenario in real time, with the kernel's TCP.
    Emu,
    /// A scenario's network between programs.
    Link,
    /// The receiver of a connection.
    Recv,
    /// The sender of a connection.
    Send,
    /// A simulated scenario.
    Sim,
}

/// The version of the form of all that is printed as JSON. It grows when a key goes, or its meaning
/// changes; new keys come without.
pub const SCHEMA_VERSION: u32 = 1;

/// Description of a run that is about to start, enough to repeat it.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Start {
    /// Kind of run.
    pub role: Role,
    /// Version of the form of the records; 0 in records older than this field.
    #[serde(default)]
    pub schema_version: u32,
    /// Program and version, such as `tfrc 0.1.0`.
    pub version: String,
    /// The command line that repeats the run.
    pub command: String,
    /// Date and time of the start of a run in real time, UTC (RFC 3339), such as
    /// `2026-01-31T23:59:59.123Z`; `t_s` counts from here.
    #[serde(default)]
    pub started_at: Option<String>,
    /// The other end, `address:port`.
    #[serde(default)]
    pub peer: Option<String>,
    /// Packet size asked for, in bytes of application data.
    #[serde(default)]
    pub segment_bytes: Option<u64>,
    /// Rate of the bottleneck link where one is known and constant, bit/s.
    #[serde(default)]
    pub bottleneck_bps: Option<f64>,
    /// Other settings worth knowing, name to text with its unit.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, String>,
}

impl Start {
    /// A start with no optional value known. `version` and `command` as in the fields.
    #[must_use]
    pub fn new(role: Role, version: impl Into<String>, command: impl Into<String>) -> Self {
        Self {
            role,
            schema_version: SCHEMA_VERSION,
            version: version.into(),
            command: command.into(),
            started_at: None,
            peer: None,
            segment_bytes: None,
            bottleneck_bps: None,
            parameters: BTreeMap::new(),
        }
    }
}

/// The line of a simulation's stream: of a flow with the same keys for each flow and at any
/// time; a value that is not known (a TCP has no allowed rate) is `null`. A line of a link has
/// the keys of a link.
#[must_use]
pub fn simulated(interval: Interval) -> serde_json::Value {
    let is_link = interval.link.is_some();
    let mut line = serde_json::json!(Record::Interval(interval));
    if is_link {
        return line;
    }
    let columns = COLUMNS.iter().filter(|(.., by)| *by == By::Simulations).map(|(key, ..)| *key);
    for key in columns.chain(["flow", "stopped", "limit"]) {
        if line.get(key).is_none() {
            line[key] = serde_json::Value::Null;
        }
    }
    line
}

/// Kind of an event at one moment of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum EventKind {
    /// The connection ended, or was asked to.
    Closed,
    /// The connection is open.
    Connected,
    /// The link changed: rate, delay or loss.
    LinkChange,
    /// More connections came than are recorded one by one; `detail` says how many.
    MoreConnections,
    /// A new loss event began (RFC 5348 §5.2).
    LossEvent,
    /// The no-feedback timer expired (RFC 5348 §4.4).
    NoFeedback,
    /// The first loss event ended slow start (RFC 5348 §4.3).
    SlowStartEnd,
    /// A circuit breaker or a stop rule ended the flow; `detail` says by which rule.
    Stopped,
}

/// Something that happened at one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// Seconds since the start.
    pub t_s: f64,
    /// Kind of the event.
    pub event: EventKind,
    /// The flow, where there is more than one; absent for the flow the run is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow: Option<String>,
    /// More words, for a reader.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// The figures of a whole run: what `--json` prints for `send`, `recv` and `demo`.
///
/// Unknown at this side is `None`, printed as `null`. The fields from `bottleneck_bps` on belong to
/// `demo` and are left out elsewhere.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Summary {
    /// How a session of `send`, `stream`, `recv` or `demo` ended; left out elsewhere. The exit
    /// status and the last line are of the same value.
    pub outcome: Option<Outcome>,
    /// Why the session ended, a sentence for a person. It goes with `outcome`.
    pub reason: Option<String>,
    /// The rate control in force, such as `tfrc` or `tfrc-sp`; left out where it is not a choice.
    pub variant: Option<String>,
    /// The transport, if it is not DCCP over UDP: `quic`, or `raw` for DCCP over IP alone.
    pub transport: Option<String>,
    /// The profile of a sender, `balanced` or `rfc5348`; left out elsewhere.
    pub profile: Option<String>,
    /// Data packets sent.
    #[serialize_always]
    pub sent_packets: Option<u64>,
    /// Data packets that arrived, each once. Where the receiver writes them out: those written
    /// whole.
    #[serialize_always]
    pub received_packets: Option<u64>,
    /// Data packets that never arrived.
    #[serialize_always]
    pub lost_packets: Option<u64>,
    /// Packets that arrived after the receiver had gone on without them.
    #[serialize_always]
    pub late_packets: Option<u64>,
    /// Application data sent, bytes.
    #[serialize_always]
    pub sent_bytes: Option<u64>,
    /// Application data that arrived, bytes. Where the receiver writes them out: those written.
    #[serialize_always]
    pub received_bytes: Option<u64>,
    /// Length of the run, seconds.
    pub duration_s: f64,
    /// Application data sent over the run, bit/s.
    #[serialize_always]
    pub send_rate_bps: Option<f64>,
    /// Application data that arrived over the run, bit/s.
    #[serialize_always]
    pub goodput_bps: Option<f64>,
    /// The allowed rate, mean over the run, bit/s.
    #[serialize_always]
    pub allowed_rate_bps: Option<f64>,
    /// Loss events per packet over the run, slow start excluded, 0 to 1.
    #[serialize_always]
    pub loss_event_rate: Option<f64>,
    /// Packets lost by the network per packet sent, 0 to 1.
    #[serialize_always]
    pub packet_loss_rate: Option<f64>,
    /// Round-trip time, mean over the run, seconds.
    #[serialize_always]
    pub rtt_s: Option<f64>,
    /// Pictures that the encoder of `stream` made, mean from its first on, 1/s.
    pub encoder_fps: Option<f64>,
    /// Bitrate of the encoder's picture, mean, bit/s; sound and container come on top.
    pub encoder_rate_bps: Option<f64>,
    /// Pictures made, of those asked for: below 1 the encoder did not keep up with real time.
    pub encoder_speed: Option<f64>,
    /// Packets the sender dropped because their deadline had passed.
    #[serialize_always]
    pub late_dropped_packets: Option<u64>,
    /// Share of the packets handed over that the sender dropped because their deadline had passed,
    /// 0 to 1.
    pub late_dropped_rate: Option<f64>,
    /// Share of the packets sent that arrived and were not written out, 0 to 1.
    pub dropped_by_reader_rate: Option<f64>,
    /// Datagrams that the application handed over and that were never sent, because the session
    /// ended before; those past their deadline are in `late_dropped_packets`.
    pub unsent_packets: Option<u64>,
    /// Length of the file that was sent, bytes. Left out where no file was sent, or where its bytes
    /// went as a stream whose losses were meant.
    pub file_bytes: Option<u64>,
    /// Bytes of that file that the receiver has not written.
    pub missing_bytes: Option<u64>,
    /// Of a file that a receiver takes with its holes: offset and length of each hole in order, the
    /// first 1000 of them.
    pub holes: Option<Vec<[u64; 2]>>,
    /// Bytes of that file that were sent again because the receiver lacked them; of a receiver,
    /// those that it had not got in the first pass. Left out where the two ends did not repair the
    /// file.
    pub repaired_bytes: Option<u64>,
    /// Datagrams that came by `--udp-in` and were refused because they were longer than a packet of
    /// the path carries; left out if there were none.
    pub too_long_packets: Option<u64>,
    /// Datagrams that came by `--udp-in` faster than the allowed rate and found no room; left out
    /// if there were none.
    pub source_dropped_packets: Option<u64>,
    /// Data packets that arrived and were not written out: the receiver's own reader, disk or end
    /// was in the way.
    pub dropped_by_reader_packets: Option<u64>,
    /// Reports of the network that nobody listens at the address of `--udp-out`, about one for each
    /// datagram sent there in vain; left out if there were none.
    pub unreachable_reports: Option<u64>,
    /// Longest datagram that the path carries in a packet, as far as is known at the end, bytes.
    pub max_datagram_bytes: Option<u64>,
    /// Packets sent to find out what lengths the path carries.
    pub path_probes: Option<u64>,
    /// Statements of the receiver that were cut down because the record of what was sent rules them
    /// out.
    pub corrected_feedback: Option<u64>,
    /// Reports refused: they acknowledged what was not sent, or were overtaken.
    pub refused_feedback: Option<u64>,
    /// Sequence numbers left out on purpose.
    pub skipped_numbers: Option<u64>,
    /// Packets that did not fit the connection: outside of the windows, or of a wrong type.
    pub invalid_packets: Option<u64>,
    /// Packets received before.
    pub duplicate_packets: Option<u64>,
    /// Packets received with a congestion mark.
    pub marked_packets: Option<u64>,
    /// Datagrams that arrived and were dropped because they were not read in time.
    pub queue_dropped_packets: Option<u64>,
    /// Rate of the bottleneck, bit/s; the mean over the run, if keys changed it.
    pub bottleneck_bps: Option<f64>,
    /// Rate of the TFRC flow over the bottleneck after slow start, headers included, bit/s; with
    /// competitors, in the last three quarters of the time in which all run.
    pub wire_goodput_bps: Option<f64>,
    /// Each flow through the bottleneck.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub flows: Vec<FlowSummary>,
    /// Each direction of each link over the measured part, of simulated and emulated scenarios.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<LinkOutcome>,
    /// Jain's index of the goodputs of the flows with a congestion control, of simulated and
    /// emulated scenarios.
    pub jain_index: Option<f64>,
    /// The entries of the scenario with several flows.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<GroupOutcome>,
    /// Distance of an emulated network from the one described; left out elsewhere.
    pub fidelity: Option<Fidelity>,
    /// Reasons to read the figures of a simulation with care; left out without one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Note>,
    /// The TFRC flow's rate over the bottleneck, divided by an equal share of it: 1 is fair; `None`
    /// without a competitor.
    pub share: Option<f64>,
    /// Coefficient of variation of the TFRC flow's rate over that of the competitors; below 1 is
    /// smoother than TCP.
    pub cov_ratio: Option<f64>,
    /// Mean equivalence ratio of the TFRC flow and a competitor, 0 to 1; 1 is the same rate at
    /// every moment.
    pub equivalence_ratio: Option<f64>,
}

/// How a session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SessionOutcome")]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Outcome {
    /// All data was delivered, lost by the network and counted, or dropped by a policy of the user,
    /// and both ends agreed on the end. Exit status 0.
    Complete,
    /// The session broke off, or data was dropped that nobody wanted dropped. Exit status 1.
    Failed,
    /// The user ended the session before the data did, and both ends agreed on the end. Exit status
    /// 0.
    Stopped,
    /// Everything was sent, and the receiver did not say that it has written what arrived. Exit
    /// status 1.
    Unconfirmed,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_leaves_out_what_is_unknown() {
        let record = Record::Interval(Interval {
            t_s: 0.5,
            interval_s: 0.1,
            allowed_rate_bps: Some(1e6),
            ..Interval::default()
        });
        let text = serde_json::to_string(&record).unwrap();
        assert_eq!(text, r#"{"type":"interval","t_s":0.5,"interval_s":0.1,"allowed_rate_bps":1000000.0}"#);
        assert_eq!(serde_json::from_str::<Record>(&text).unwrap(), record);
    }

    #[test]
    fn a_summary_always_has_the_keys_of_a_connection() {
        let value = serde_json::to_value(Summary::default()).unwrap();
        let keys: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
        let mut wanted = vec![
            "sent_packets",
            "received_packets",
            "lost_packets",
            "late_packets",
            "sent_bytes",
            "received_bytes",
            "duration_s",
            "send_rate_bps",
            "goodput_bps",
            "allowed_rate_bps",
            "loss_event_rate",
            "packet_loss_rate",
            "rtt_s",
            "late_dropped_packets",
        ];
        wanted.sort_unstable();
        let mut keys = keys;
        keys.sort_unstable();
        assert_eq!(keys, wanted);
    }

    #[test]
    fn every_record_reads_back_as_written() {
        let summary = Summary {
            sent_packets: Some(u64::MAX),
            duration_s: 0.1 + 0.2,
            share: Some(0.5),
            flows: vec![FlowSummary { id: "tcp".into(), goodput_bps: Some(1e6), ..FlowSummary::default() }],
            ..Summary::default()
        };
        let records = [
            Record::Start(Start::new(Role::Demo, "tfrc 0.1.0", "tfrc demo")),
            Record::Event(Event {
                t_s: 1.25,
                event: EventKind::LossEvent,
                flow: None,
                detail: Some("3 packets".into()),
            }),
            Record::End(Box::new(summary)),
            Record::Error { t_s: 2.0, message: "peer is gone".into() },
        ];
        for record in records {
            let text = serde_json::to_string(&record).unwrap();
            assert_eq!(serde_json::from_str::<Record>(&text).unwrap(), record, "{text}");
        }
    }
}
