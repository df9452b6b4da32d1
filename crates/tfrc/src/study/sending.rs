//! Choices of the sender: how fast to begin, how the rate grows, what limits it and how packets are
//! spaced.

#[cfg(feature = "schema")]
use tfrc_units::schema::{Deserialize, JsonSchema, Serialize};
use tfrc_units::{Duration, Rate};

use crate::study::ns2::rates;

/// How fast to begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum InitialRate {
    /// A segment a second, then min(4·MSS, max(2·MSS, 4380 bytes)) a round-trip time
    /// (RFC 5348 §4.2, after RFC 3390).
    Rfc3390,
    /// A segment a second, then one a round-trip time (RFC 3448 §4.2 and §4.3; ns-2 before October
    /// 2004).
    PacketPerRtt,
    /// 300 bytes a second, then four packets a round-trip time, three above 1095 bytes, two from
    /// 2190 bytes on (ns-2).
    Ns2,
}

/// How X grows while there has been no loss event, at most once per round-trip time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SlowStart {
    /// X doubles within the receive limit, but is at least the initial rate (RFC 5348 §4.3 step 4).
    KeepInitialRate,
    /// X doubles within the receive limit, but is at least a packet per round-trip time
    /// (RFC 3448 §4.3 step 4).
    KeepPacketPerRtt,
    /// As before, but from above twice the receive rate X falls to the receive rate itself (ns-2).
    Ns2,
}

/// How X rises to what the equation gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Growth {
    /// At once (RFC 3448, RFC 5348, SIGCOMM 2000).
    ToEquation,
    /// By a packet per round-trip time for each round-trip time since the last change, two at most.
    /// The first loss report still sets X to the equation, whatever the receive rate (ns-2).
    PacketPerRtt,
}

/// The limit that the receive rate sets on X.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum ReceiveLimit {
    /// Twice the highest of the last two round-trip times, with rules for data-limited intervals
    /// (RFC 5348 §4.3).
    RecentMaximum,
    /// Twice the latest (RFC 3448 §4.3).
    Latest,
    /// Twice the latest, at least a packet per round-trip time (SIGCOMM 2000, footnote 4).
    LatestOrPacketPerRtt,
    /// Twice the latest, at least a packet per round-trip time, and at least the initial rate while
    /// the sender has been data-limited within 1.5 round-trip times (ns-2).
    Ns2,
    /// ns-2's `conservative_`: the latest alone after a report of a loss event, else one and a half
    /// times it.
    Ns2Conservative,
    /// None: only the equation and slow start limit X. For comparison.
    Unlimited,
}

/// The least X.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum RateFloor {
    /// A packet in 64 s, t_mbi (RFC 3448, RFC 5348).
    #[cfg_attr(feature = "schema", serde(rename = "packet-per-64-seconds"))]
    PacketPer64Seconds,
    /// A packet per round-trip time, as a TCP without backoff; a packet in 64 s until there is a
    /// round-trip time.
    PacketPerRtt,
    /// None but the equation itself (SIGCOMM 2000, ns-2).
    None,
}

/// Spacing of packets.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "schema", derive(Serialize, JsonSchema), serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum Spacing {
    /// s/X apart.
    Nominal,
    /// Wider while the newest round-trip time lies above its mean, narrower below (RFC 5348 §4.5).
    Damped {
        /// q2, the weight of the old mean of √RTT, in [0, 1).
        weight: f64,
    },
}

/// The nofeedback timer (RFC 5348 §4.4): it runs for max(`round_trips`·R, 2s/X).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NoFeedback {
    /// 4 in RFC 5348 and in RFC 3448 with its erratum 270; 2 in the paper and in ns-2. At least 1.
    pub round_trips: u8,
    /// Share that is left after an expiration: one half everywhere. In (0, 1).
    pub factor: f64,
    /// Quantity that an expiration cuts.
    pub cut: NoFeedbackCut,
    /// Request that the packets after an expiration carry.
    pub ask: AfterExpiration,
}

/// Request that packets make of the receiver from an expiration of the nofeedback timer until the
/// next report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum AfterExpiration {
    /// Nothing: reports come when they are due.
    Nothing,
    /// A report at once (ns-2's urgent flag), asked for by the stamp of the packet
    /// ([`crate::Sender::stamp`]).
    ReportAtOnce,
}

/// Quantity that an expiration of the nofeedback timer cuts, and when an idle sender is spared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoFeedbackCut {
    /// X_recv_set by Update_Limits, X in slow start; spared while idle if the rate recovers at once
    /// (RFC 5348 §4.4).
    UpdateLimits,
    /// The sender's copy of X_recv, or X before there is one; spared while idle if it is below four
    /// packets per round-trip time (RFC 3448 §4.4).
    ReceiveRate,
    /// X; no sender is spared (SIGCOMM 2000).
    Rate,
    /// X; a data-limited sender is spared below twice the initial rate (ns-2).
    RateUnlessDataLimited,
}

/// How a risen rate reaches the spacing of packets in slow start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RateStep {
    /// The new rate holds at once.
    AtOnce,
    /// Over a round-trip time, a little with every packet (ns-2's `slow_increase_`).
    PerPacket,
}

/// Effect of a change of the rate on the packet that waits for its send time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reschedule {
    /// Its time moves with the rate (RFC 5348 §4.6).
    Always,
    /// It keeps the gap computed when the packet before it left; but a report in slow start or an
    /// expiration of the nofeedback timer lets it go at once (ns-2).
    InSlowStart,
}

/// Packets that leave two by two: the second at once, and then nothing for two gaps.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[cfg_attr(feature = "schema", derive(Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum Pairs {
    /// Never: packets are evenly spaced (RFC 5348 §4.6).
    #[default]
    Off,
    /// While a round-trip time has more than this many packets, such as 3; at least 2.
    #[cfg_attr(feature = "schema", serde(untagged))]
    Above(f64),
}

impl NoFeedback {
    /// The timer's share of the round-trip time.
    pub(crate) fn wait(self, rtt: Duration) -> Duration {
        rtt * u64::from(self.round_trips)
    }
}

/// The timer of RFC 5348.
impl Default for NoFeedback {
    fn default() -> Self {
        Self { round_trips: 4, factor: 0.5, cut: NoFeedbackCut::UpdateLimits, ask: AfterExpiration::Nothing }
    }
}

impl InitialRate {
    /// X until there is a round-trip time, in bytes per second, with packets of `segment` bytes.
    pub(crate) const fn first_rate(self, segment: f64) -> f64 {
        match self {
            Self::Rfc3390 | Self::PacketPerRtt => segment,
            Self::Ns2 => rates::FIRST,
        }
    }

    /// Bytes in the first round-trip time, of segments of `mss` bytes; RFC 5348's are the sender's.
    pub(crate) fn window(self, mss: f64) -> f64 {
        match self {
            Self::Rfc3390 | Self::PacketPerRtt => mss,
            Self::Ns2 => rates::initial_window(mss),
        }
    }

    /// Returns true if X is a number of packets a second until there is a round-trip time, and the
    /// nofeedback timer waits for two seconds (RFC 5348 §4.2).
    pub(crate) const fn follows_segment(self) -> bool {
        !matches!(self, Self::Ns2)
    }
}

impl SlowStart {
    /// Returns true if X does not grow yet after this many reports.
    pub(crate) fn keeps_first_rate(self, reports: u64) -> bool {
        self == Self::Ns2 && reports <= rates::REPORTS_AT_INITIAL_RATE
    }

    /// X after a round-trip time of growth within `limit`, before its lower bound.
    pub(crate) fn grown(self, x: Rate, limit: Rate) -> Rate {
        match self {
            Self::Ns2 if x > limit => limit / 2.0,
            Self::KeepInitialRate | Self::KeepPacketPerRtt | Self::Ns2 => (x * 2.0).min(limit),
        }
    }
}

/// State that a [`Growth`] reads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rise {
    /// X.
    pub(crate) x: Rate,
    /// X_Bps.
    pub(crate) equation: Rate,
    pub(crate) since_report: Duration,
    /// R.
    pub(crate) rtt: Duration,
    /// s in bytes.
    pub(crate) segment: f64,
}

impl Growth {
    /// Returns true if the first report of a loss event sets X to the equation's rate whatever the
    /// receive rate.
    pub(crate) fn starts_at_equation(self) -> bool {
        self == Self::PacketPerRtt
    }

    /// X as far as the equation and the way to its rate go.
    pub(crate) fn goal(self, rise: &Rise) -> Rate {
        match self {
            Self::ToEquation => rise.equation,
            Self::PacketPerRtt => rise.equation.min(rise.x + rates::step(rise)),
        }
    }
}

/// A report and what it is measured by, for a [`ReceiveLimit`] other than RFC 5348's.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LatestReport {
    /// X_recv.
    pub(crate) receive_rate: Rate,
    pub(crate) packet_per_rtt: Rate,
    pub(crate) initial_rate: Rate,
    /// The feedback reports a new loss event.
    pub(crate) new_loss: bool,
    /// The sender was short of data within the last 1.5 round-trip times.
    pub(crate) supply: Supply,
}

impl ReceiveLimit {
    /// recv_limit from the latest report alone.
    pub(crate) fn of_latest(self, report: &LatestReport) -> Rate {
        let (latest, packet) = (report.receive_rate, report.packet_per_rtt);
        match self {
            Self::RecentMaximum | Self::Latest => latest * 2.0,
            Self::LatestOrPacketPerRtt => (latest * 2.0).max(packet),
            Self::Ns2 => rates::limit(report),
            Self::Ns2Conservative => rates::conservative_limit(report),
            Self::Unlimited => Rate::INFINITY,
        }
    }
}

/// Data at the sender, as far as a [`ReceiveLimit`] or a [`NoFeedbackCut`] reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Supply {
    /// A packet could have gone but there was none.
    Short,
    /// The rate is the limit.
    Enough,
}

/// State at an expiration of the nofeedback timer, for a [`NoFeedbackCut`] other than RFC 5348's.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Quiet {
    /// X.
    pub(crate) x: Rate,
    /// X_recv.
    pub(crate) receive_rate: Rate,
    pub(crate) packet_per_rtt: Rate,
    pub(crate) initial_rate: Rate,
    /// Nothing was sent since the timer was set.
    pub(crate) idle: bool,
    pub(crate) supply: Supply,
}

impl NoFeedbackCut {
    /// Returns true if the expiration cuts nothing.
    pub(crate) fn spares(self, quiet: &Quiet) -> bool {
        match self {
            Self::ReceiveRate => quiet.idle && quiet.receive_rate < quiet.packet_per_rtt * 4.0,
            Self::RateUnlessDataLimited => rates::spares(quiet),
            Self::Rate | Self::UpdateLimits => false,
        }
    }
}

impl Pairs {
    /// Returns true if packets `gap` apart go in pairs at the round-trip time `rtt`.
    #[inline]
    pub(crate) fn apply(self, gap: Duration, rtt: Duration) -> bool {
        match self {
            Self::Off => false,
            Self::Above(packets) => gap.mul_f64(packets) < rtt,
        }
    }
}

impl Reschedule {
    /// Returns true if the packet that waits follows a new rate.
    pub(crate) const fn moves_waiting(self) -> bool {
        matches!(self, Self::Always)
    }
}
