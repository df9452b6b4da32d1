//! Choices of the measurement: how losses become loss events, intervals and p, when the receiver
//! reports, and over what.

#[cfg(feature = "schema")]
use tfrc_units::schema::{Deserialize, JsonSchema, Serialize};
use tfrc_units::{Duration, Instant, Rate};

use crate::study::ns2::reports;

/// The most loss intervals an estimator can average over.
pub const MAX_INTERVALS: usize = 32;

/// How lost packets are grouped into loss events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum LossEventTiming {
    /// By arrival times, interpolated for the missing (RFC 5348 §5.2); needs the sender's
    /// round-trip time on packets.
    ArrivalTime,
    /// By the times at which packets were sent, interpolated for the missing, as in ns-2; needs the
    /// sender's timestamps.
    SenderTime,
    /// By the times at which packets were sent, and only once the sender has taken in a report
    /// since the loss event before, as in ns-2 since December 2002 (`PreciseLoss_`); needs the
    /// sender's timestamps and its round counter.
    SenderTimeAndRound,
    /// By the four-bit counter of quarter round-trip times (RFC 4342 §10.2).
    #[cfg_attr(feature = "schema", serde(skip))]
    WindowCounter,
}

/// How loss intervals become one mean.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "schema", derive(Serialize, JsonSchema), serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum Estimator {
    /// Weighted mean of the latest intervals (RFC 5348 §5.4).
    AverageLossInterval {
        /// n, how many intervals; 8 is recommended, more must not be used against TCP in the
        /// Internet. 1 to 32.
        intervals: u8,
        /// How the older ones count.
        weights: Weights,
        /// Role of the interval that is still growing.
        open: OpenInterval,
    },
    /// Exponentially weighted mean over all intervals (SIGCOMM 2000, "EWMA Loss Interval").
    EwmaLossInterval {
        /// h, the weight of the old mean when an interval ends; 0.75 in ns-2. In [0, 1).
        weight: f64,
        /// Role of the interval that is still growing, which counts with weight 1 − h.
        open: OpenInterval,
    },
    /// Loss events among the latest packets (SIGCOMM 2000, "Dynamic History Window").
    DynamicHistoryWindow {
        /// The window holds at least this many loss events; 4 in ns-2. 1 to 32.
        events: u8,
        /// Reach of the window into the past.
        window: HistoryWindow,
    },
    /// That of Linux 6.1's CCID 3: the average of 8 intervals without the synthetic first one once
    /// there is another, and without discounting. It differs from RFC 5348 §5.4 until there are
    /// nine loss events.
    Linux,
}

/// The window of packets in which a [`Estimator::DynamicHistoryWindow`] counts loss events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Deserialize, Serialize, JsonSchema), serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum HistoryWindow {
    /// Back to the start of the oldest of the loss events it must hold (EBPH in ns-2).
    ByEvents,
    /// As many packets as would hold those events if the equation gave the present receive rate,
    /// further back if they hold fewer (RBPH in ns-2).
    ByRate,
}

/// Weights of the loss intervals, newest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Deserialize, Serialize, JsonSchema), serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum Weights {
    /// 1 for the newer half, then falling to 2/(n+2) (RFC 5348 §5.4).
    Decreasing,
    /// All weights are 1.
    Constant,
}

/// Role of the interval since the latest loss event in the mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Deserialize, Serialize, JsonSchema), serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum OpenInterval {
    /// It counts when it makes the mean longer (RFC 5348 §5.4): the comprehensive estimator.
    WhenLonger,
    /// It counts when it makes the mean longer, by ns-2's rules: the lost packet that began it is
    /// not counted in it; while there are fewer closed intervals than are averaged it replaces
    /// none; and the discount that passes into the older intervals when it ends is computed from
    /// its length at the latest report.
    WhenLongerLessFirst,
    /// It never counts: the basic estimator.
    Never,
    /// It always counts, however short: what RFC 5348 §5.4 guards against by the maximum of two
    /// means. For comparison.
    Always,
}

/// History discounting (RFC 5348 §5.5): a current interval of more than twice the mean takes weight
/// from the others.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "schema", derive(Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum HistoryDiscounting {
    /// None.
    Off,
    /// A floor above 0 and at most 1, such as 0.25: that of RFC 5348. RFC 3448, the paper of 2000
    /// and ns-2 have 0.5.
    /// For the average loss interval only: the other estimators have nothing to discount.
    #[cfg_attr(feature = "schema", serde(untagged))]
    Floor(f64),
}

/// The interval that seeds the history at the first loss event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FirstInterval {
    /// The one at which the equation gives the highest receive rate so far (RFC 5348 §6.3.1).
    AtMaximumReceiveRate,
    /// The one at which it gives the receive rate at the loss (ns-2; TFRC-SP there).
    AtReceiveRate,
    /// The one at which it gives half of that (SIGCOMM 2000).
    AtHalfReceiveRate,
}

/// When the receiver sends feedback.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum FeedbackTrigger {
    /// A timer of one round-trip time (RFC 5348 §6.2), early at a new loss event.
    Timer,
    /// The first packet more than a round-trip time after the last report, or a timer of one and a
    /// half if data has come by then; at once at each new loss event, whatever it does to p (ns-2).
    Arrival,
    /// The window counter has gone on by four (RFC 4342 §10.3), early at a new loss event.
    #[cfg_attr(feature = "schema", serde(skip))]
    WindowCounter,
}

/// The time over which X_recv is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum ReceiveRateWindow {
    /// The last round-trip time, longer while packets are rare (RFC 5348 §6.2 step 2).
    RoundTrip,
    /// The time since the last report if that is a round-trip time or more, else the last
    /// round-trip time (ns-2). A report that a packet sets off after a pause then has the pause in
    /// it.
    SinceReport,
}

/// A report when the feedback timer expires and no data has come since the last report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum EmptyReport {
    /// None: the timer is set anew (RFC 5348 §6.2).
    Never,
    /// One, if a packet's arrival set off the last report (ns-2). X_recv in it is one packet a
    /// second.
    OnceAfterArrival,
}

/// Packets sent before the first one that arrives, where [`crate::Receiver::expect`] says which
/// came first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FirstLosses {
    /// They are lost (RFC 5348 §6.3.1).
    Counted,
    /// Nothing is known of them: a flow that begins in a hole starts with p = 0 (ns-2).
    Unknown,
}

/// The average of the last 8 intervals, the open one when it helps.
impl Default for Estimator {
    fn default() -> Self {
        Self::AverageLossInterval {
            intervals: 8,
            weights: Weights::Decreasing,
            open: OpenInterval::WhenLonger,
        }
    }
}

impl FeedbackTrigger {
    /// The time from a report to the expiration of the feedback timer at the round-trip time `rtt`;
    /// `None` if reports follow the window counter.
    pub(crate) fn timer(self, rtt: Duration) -> Option<Duration> {
        match self {
            Self::Timer => Some(rtt),
            Self::Arrival => Some(reports::timer(rtt)),
            Self::WindowCounter => None,
        }
    }

    /// Returns true if the arrival of a packet so long after the last report makes a report due.
    pub(crate) fn is_due(self, since_report: Duration, rtt: Duration) -> bool {
        self == Self::Arrival && since_report > rtt
    }

    /// Returns true if a new loss event is reported even where p has not risen.
    pub(crate) fn reports_every_loss_event(self) -> bool {
        self == Self::Arrival
    }
}

impl ReceiveRateWindow {
    /// Returns true if X_recv is measured since the last report, made at `reported`.
    pub(crate) fn reaches_back_to(self, reported: Instant, now: Instant, rtt: Duration) -> bool {
        self == Self::SinceReport && now.saturating_since(reported) >= rtt
    }
}

impl EmptyReport {
    /// X_recv in a report without data since the last one; packets have `size` bytes.
    pub(crate) fn receive_rate(self, size: f64) -> Rate {
        match self {
            Self::Never => Rate::ZERO,
            Self::OnceAfterArrival => reports::empty_receive_rate(size),
        }
    }

    /// Returns true if the timer, expiring without data since the last report, reports all the
    /// same.
    pub(crate) fn is_due(self, last_arrival: Instant, last_report: Instant) -> bool {
        self == Self::OnceAfterArrival && reports::empty_is_due(last_arrival, last_report)
    }
}
