//! The figures of a run: of flows, groups and links, over the measured time and in each interval.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use tfrc::Limit;
use tfrc::guard::Trip;
use tfrc_sim::link::LinkStats;
use tfrc_units::Duration;

use crate::agent::Delays;

/// The time scale of a flow's coefficient of variation in an [`Outcome`].
pub const COV_SCALE: Duration = Duration::from_secs(1);

/// The time scale of `cov_200ms` in a [`FlowSummary`].
pub const FINE_COV_SCALE: Duration = Duration::from_millis(200);

/// Outcome of one run of a scenario. Rates are of payload, in bits per second, over the measured
/// time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Simulation")]
pub struct Outcome {
    /// The seed of the run.
    pub seed: u64,
    /// Virtual time of the run.
    pub duration_s: f64,
    /// The part of it that was measured: all but the warm-up.
    pub measured_s: f64,
    /// Packets that crossed a link, over all links, in the whole run.
    pub packet_hops: u64,
    /// The flows, in the order of the scenario. The loss event rate leaves slow start out where it
    /// is known: it counts from the first loss event, or from the end of the warm-up if that is
    /// later; of a TCP it is the reductions of the window per segment. `cov` is that of the sending
    /// rate at 1 s ([`COV_SCALE`]), `cov_200ms` at 0.2 s.
    pub flows: Vec<FlowSummary>,
    /// The links of the file, in its order, each direction on its own.
    pub links: Vec<LinkOutcome>,
    /// Jain's index of the goodputs of the flows with a congestion control: (Σx)² / (n Σx²), 1 if
    /// all are equal (Jain, Chiu and Hawe 1984, §3); `None` for fewer than two, or if nothing
    /// arrived.
    #[serde(default)]
    pub jain_index: Option<f64>,
    /// The entries of the scenario with several flows, in its order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<GroupOutcome>,
}

/// Figures of the flows of one entry of a scenario together.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GroupOutcome {
    /// Its name.
    pub id: String,
    /// Jain's index of the goodputs of its flows.
    pub jain_index: Option<f64>,
    /// Times of the transfers of all its flows; left out where none has an end.
    #[serde(flatten)]
    pub completion: Completion,
}

/// Times of transfers of a known size, from the start of the flow, or the request of an object, to
/// the arrival of the last byte.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Completion {
    /// Transfers that ended: of a flow with `transfer` in the whole run, objects of `web` in the
    /// measured time.
    pub completed: Option<u64>,
    /// Median of their times, seconds; unknown while none has ended.
    pub completion_p50_s: Option<f64>,
    /// The 95th percentile.
    pub completion_p95_s: Option<f64>,
    /// The 99th percentile.
    pub completion_p99_s: Option<f64>,
}

/// Figures of one direction of a link.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LinkOutcome {
    /// Its name in the scenario.
    pub id: String,
    /// Share of the time it was transmitting.
    pub utilization: f64,
    /// Share of the arriving packets that its queue or its loss model dropped.
    pub drop_rate: f64,
    /// Mean number of packets that waited behind the one in transmission.
    pub mean_queue_packets: f64,
}

impl LinkOutcome {
    /// The figures of a link by its counters.
    #[must_use]
    pub fn of(id: &str, stats: &LinkStats) -> Self {
        Self {
            id: id.to_owned(),
            utilization: stats.utilization(),
            drop_rate: stats.drop_rate(),
            mean_queue_packets: stats.mean_queue_packets(),
        }
    }
}

/// The figures of one flow over the measured part of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct FlowSummary {
    /// Name of the flow, the same as in [`Interval::flow`].
    pub id: String,
    /// Protocol or pattern of the flow, such as `tfrc` or `tcp-sack`.
    pub kind: String,
    /// Application data sent after the warm-up, bit/s. What arrives late in the run was sent in
    /// it, what arrives early may have been sent before it: `goodput_bps` can be higher.
    pub send_rate_bps: Option<f64>,
    /// Application data that arrived after the warm-up, bit/s, though it may have been sent before
    /// its end: this can be above `send_rate_bps`.
    pub goodput_bps: Option<f64>,
    /// Packets that links dropped, per packet that was dropped or arrived, 0 to 1.
    pub packet_loss_rate: Option<f64>,
    /// Loss events per packet, 0 to 1.
    pub loss_event_rate: Option<f64>,
    /// Round-trip time, mean, seconds.
    pub rtt_s: Option<f64>,
    /// Coefficient of variation of the rate.
    pub cov: Option<f64>,
    /// Coefficient of variation of the rate at 0.2 s, where it is measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cov_200ms: Option<f64>,
    /// The smoothed round-trip time of a kernel's TCP (`tcpi_rtt`), mean over the measured time,
    /// seconds; of emulated flows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub srtt_s: Option<f64>,
    /// The variation of that time (`tcpi_rttvar`), mean, seconds; of emulated flows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rttvar_s: Option<f64>,
    /// The retransmission timeout of a kernel's TCP (`tcpi_rto`), mean, seconds; of emulated flows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rto_s: Option<f64>,
    /// Delays of its data packets over the measured time; of simulated flows.
    #[serde(flatten)]
    pub delays: FlowDelays,
    /// Times of its transfers; of simulated flows whose transfers end.
    #[serde(flatten)]
    pub completion: Completion,
    /// Seconds from its start to the first five seconds in which its goodput was, in each second,
    /// within a quarter of the mean over the flows then active; of the flows with a congestion
    /// control in a simulation with several; left out if there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub convergence_s: Option<f64>,
    /// The flow against the TCPs that always had data and lost packets at the same links: why its
    /// rate is not theirs; of TFRC flows next to such TCPs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against_tcp: Option<AgainstTcp>,
    /// The loss intervals closed in the measured time, in packets, where the scenario keeps them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss_intervals: Option<Vec<f64>>,
    /// The last stop of the flow by its circuit breaker or its stop rule, in the whole run; left
    /// out if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<Stop>,
    /// Seconds of the measured time in which a simulated flow with `max_queue_delay` competed with
    /// others that kept the queue longer than that; left out of flows without the bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub competing_s: Option<f64>,
}

/// A TFRC flow against the TCPs next to it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct AgainstTcp {
    /// The ratio of the rates and its factors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub factors: Option<RateFactors>,
    /// Why there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<NoFactors>,
}

impl AgainstTcp {
    /// A flow with a ratio.
    #[must_use]
    pub const fn with(factors: RateFactors) -> Self {
        Self { factors: Some(factors), missing: None }
    }

    /// A flow without one.
    #[must_use]
    pub const fn without(missing: NoFactors) -> Self {
        Self { factors: None, missing: Some(missing) }
    }
}

/// The ratio of a TFRC flow's goodput to the mean of TCPs, as the product of five factors:
/// `obedience`, `loss_events`, `rtt`, `rto` and `tcp`. Each replaces one quantity of the flow by
/// TCP's in the equation f(p, R, t_RTO) that the flow is set to.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RateFactors {
    /// Number of TCP flows; the values of TCP are means over them.
    pub tcp_flows: u64,
    /// Goodput over that of TCP.
    pub ratio: f64,
    /// Goodput over f of its own loss event rate, round-trip time and t_RTO.
    pub obedience: f64,
    /// f with its own loss event rate over f with TCP's.
    pub loss_events: f64,
    /// f with its own round-trip time, and the t_RTO that follows, over f with TCP's.
    pub rtt: f64,
    /// f with the t_RTO of the equation over f with TCP's retransmission timeout.
    pub rto: f64,
    /// f with TCP's values over TCP's goodput.
    pub tcp: f64,
    /// TCP's loss events per packet sent: drops at links, those within a round-trip time of an
    /// event's first in one event.
    pub tcp_loss_event_rate: f64,
}

/// Why a flow is not compared with TCPs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NoFactors {
    /// The drops were too many to keep, or the world does not know them.
    DropsUnknown,
    /// The flow or a TCP next to it had fewer than ten loss events in the measured time.
    FewLossEvents,
    /// Nothing of one of them arrived.
    NothingArrived,
}

/// Delays of the data packets of a flow, each percentile to within 1 %.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct FlowDelays {
    /// One-way delay from sender to receiver, median, seconds.
    pub delay_p50_s: Option<f64>,
    /// The 95th percentile of it.
    pub delay_p95_s: Option<f64>,
    /// The 99th percentile of it.
    pub delay_p99_s: Option<f64>,
    /// The part of the one-way delay above that of an empty path at the first rates of its links,
    /// median, seconds: waiting, and what links add on purpose.
    pub queueing_delay_p50_s: Option<f64>,
    /// The 95th percentile of it.
    pub queueing_delay_p95_s: Option<f64>,
    /// The 99th percentile of it.
    pub queueing_delay_p99_s: Option<f64>,
    /// Mean difference, without its sign, between the one-way delays of packets that arrive one
    /// after the other, seconds: the value that the jitter of RFC 3550 §6.4.1 settles at.
    pub jitter_s: Option<f64>,
}

impl From<Delays> for FlowDelays {
    fn from(delays: Delays) -> Self {
        let [delay_p50_s, delay_p95_s, delay_p99_s] = delays.one_way.map(Some);
        let [queueing_delay_p50_s, queueing_delay_p95_s, queueing_delay_p99_s] = delays.queueing.map(Some);
        Self {
            delay_p50_s,
            delay_p95_s,
            delay_p99_s,
            queueing_delay_p50_s,
            queueing_delay_p95_s,
            queueing_delay_p99_s,
            jitter_s: delays.jitter,
        }
    }
}

/// The stop of a flow by a rule of its own.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stop {
    /// Seconds since the start of the run.
    pub at_s: f64,
    /// The rule: one of the circuit breaker (RFC 8083), or the stop rule (RFC 3714).
    pub rule: Trip,
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whose = if self.rule == Trip::DropRate { "stop rule" } else { "circuit breaker" };
        write!(f, "stopped at {:.1} s by the {whose}: {}", self.at_s, self.rule)
    }
}

/// Counters of a flow over the measured time.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct FlowCounts {
    /// Packets sent.
    pub sent_packets: u64,
    /// Bytes of data sent.
    pub sent_bytes: u64,
    /// Packets received.
    pub received_packets: u64,
    /// Bytes of data received.
    pub received_bytes: u64,
    /// Segments that a TCP sender has seen acknowledged in sequence.
    pub acknowledged_packets: Option<u64>,
    /// Loss events; of a TCP, window reductions.
    pub loss_events: Option<u64>,
}

/// Measurements of one flow (and of the link it crosses, where it can be seen) over the
/// `interval_s` seconds before `t_s`.
///
/// Counts are of this interval alone, never totals.
/// `Interval { t_s, interval_s, ..Interval::default() }` starts one.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Interval {
    /// End of the interval, seconds since the start.
    pub t_s: f64,
    /// Length of the interval, seconds.
    pub interval_s: f64,
    /// The flow; absent for the flow that `send`, `recv` or `demo` is about.
    pub flow: Option<String>,
    /// The link that the interval is about, in place of a flow: its name.
    pub link: Option<String>,
    /// Packets sent.
    pub sent_packets: Option<u64>,
    /// Packets received.
    pub received_packets: Option<u64>,
    /// Packets lost: at a receiver those for whose place, given up a second ago, nothing has come;
    /// the last interval has the rest, so that the sum is the total. Of a simulated or emulated
    /// flow, the packets that links dropped in this time.
    pub lost_packets: Option<u64>,
    /// Packets that the sender dropped because their deadline had passed.
    pub late_dropped_packets: Option<u64>,
    /// Packets that arrived and were dropped there because the receiver's reader or disk was too
    /// slow, as far as this side knows.
    pub dropped_by_reader_packets: Option<u64>,
    /// Bytes of a file that were sent again, or that filled a gap at its receiver. Only of a file
    /// that is repaired.
    pub repaired_bytes: Option<u64>,
    /// Application data sent, bit/s.
    pub send_rate_bps: Option<f64>,
    /// X_recv, the receive rate of the latest feedback (RFC 5348 §6.2), bit/s.
    pub receive_rate_bps: Option<f64>,
    /// Application data that arrived, bit/s.
    pub goodput_bps: Option<f64>,
    /// X, the allowed sending rate (RFC 5348 §4.3), bit/s.
    pub allowed_rate_bps: Option<f64>,
    /// The rate that a media encoder should aim at, bit/s: the allowed rate, at most the cap. Of a
    /// connection only.
    pub target_rate_bps: Option<f64>,
    /// Pictures that the encoder of `stream` made in the last second, 1/s.
    pub encoder_fps: Option<f64>,
    /// Bitrate of the encoder's picture in the last second, bit/s; sound and container come on top.
    pub encoder_rate_bps: Option<f64>,
    /// Pictures made in the last second, of those asked for: 1 is real time.
    pub encoder_speed: Option<f64>,
    /// Rate of the bottleneck link, bit/s.
    pub link_rate_bps: Option<f64>,
    /// p, the loss event rate now (RFC 5348 §5), 0 to 1.
    pub loss_event_rate: Option<f64>,
    /// Share of the interval's packets that were lost, of those lost or received, 0 to 1.
    pub packet_loss_rate: Option<f64>,
    /// R, the smoothed round-trip time (RFC 5348 §4.3), seconds.
    pub rtt_s: Option<f64>,
    /// Packets waiting in the queue of the link, or of the bottleneck, the most that were seen in
    /// this interval.
    pub queue_packets: Option<f64>,
    /// Packets waiting in the queue of the link, mean over the interval.
    pub mean_queue_packets: Option<f64>,
    /// Share of the interval in which the link was transmitting, 0 to 1.
    pub utilization: Option<f64>,
    /// Loss events that began; of a TCP, window reductions.
    pub loss_events: Option<u64>,
    /// Congestion window of a TCP at the end of the interval, segments.
    pub cwnd_packets: Option<f64>,
    /// The rule that has stopped the flow at the end of the interval: one of its circuit
    /// breaker (RFC 8083), or its stop rule (RFC 3714).
    pub stopped: Option<Trip>,
    /// Reason for the sending rate at the end of the interval. `queue` and `competition` are the
    /// two sides of the bound on the queueing delay.
    pub limit: Option<Limit>,
}
