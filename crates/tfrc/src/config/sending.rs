//! The choices of the sending side that differ between revisions of TFRC.

use tfrc_units::{Duration, Rate};

use crate::config::ConfigError;

/// How fast to begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum InitialRate {
    /// A segment a second, then min(4·MSS, max(2·MSS, 4380 bytes)) a round-trip time (RFC 5348 §4.2, after RFC 3390).
    Rfc3390,
    /// A segment a second, then one a round-trip time (RFC 3448 §4.2 and §4.3; ns-2 before October 2004).
    PacketPerRtt,
    /// 300 bytes a second, then four packets a round-trip time, three above 1095 bytes, two from 2190 bytes on (ns-2).
    Ns2,
}

/// How X grows while there has been no loss event, at most once per round-trip time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SlowStart {
    /// X doubles within the receive limit, but is at least the initial rate (RFC 5348 §4.3 step 4).
    KeepInitialRate,
    /// X doubles within the receive limit, but is at least a packet per round-trip time (RFC 3448 §4.3 step 4).
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
    /// By a packet per round-trip time for each round-trip time since the last change, two at most. The first loss report
    /// still sets X to the equation, whatever the receive rate (ns-2).
    PacketPerRtt,
}

/// The limit that the receive rate sets on X.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReceiveLimit {
    /// Twice the highest of the last two round-trip times, with rules for data-limited intervals (RFC 5348 §4.3).
    RecentMaximum,
    /// Twice the latest (RFC 3448 §4.3).
    Latest,
    /// Twice the latest, at least a packet per round-trip time (SIGCOMM 2000, footnote 4).
    LatestOrPacketPerRtt,
    /// The same, but at least the initial rate while the sender has been data-limited within 1.5 round-trip times (ns-2).
    Ns2,
    /// ns-2's `conservative_`: the latest alone after a report of a loss event, else one and a half times it.
    Ns2Conservative,
    /// None: only the equation and slow start limit X. For comparison.
    Unlimited,
}

/// The least X.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RateFloor {
    /// A packet in 64 s, t_mbi (RFC 3448, RFC 5348).
    PacketPer64Seconds,
    /// A packet per round-trip time, as a TCP without backoff; a packet in 64 s until there is a round-trip time.
    PacketPerRtt,
    /// None but the equation itself (SIGCOMM 2000, ns-2).
    None,
}

/// The nofeedback timer (RFC 5348 §4.4): it runs for max(`round_trips`·R, 2s/X).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NoFeedback {
    /// 4 in RFC 5348 and in RFC 3448 with its erratum 270; 2 in the paper and in ns-2. At least 1.
    pub round_trips: u8,
    /// What is left after an expiration: one half everywhere. In (0, 1).
    pub factor: f64,
    /// What is cut.
    pub cut: NoFeedbackCut,
    /// What the packets after an expiration ask for.
    pub ask: AfterExpiration,
}

/// What packets ask of the receiver from an expiration of the nofeedback timer until the next report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum AfterExpiration {
    /// Nothing: reports come when they are due.
    Nothing,
    /// A report at once (ns-2's urgent flag): see [`crate::Sender::wants_report`] and [`crate::Receiver::report_now`].
    ReportAtOnce,
}

/// What an expiration of the nofeedback timer cuts, and when an idle sender is spared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoFeedbackCut {
    /// X_recv_set by Update_Limits, X in slow start; spared while idle if the rate recovers at once (RFC 5348 §4.4).
    UpdateLimits,
    /// The sender's copy of X_recv, or X before there is one; spared while idle if it is below four packets per round-trip
    /// time (RFC 3448 §4.4).
    ReceiveRate,
    /// X; nobody is spared (SIGCOMM 2000).
    Rate,
    /// X; a data-limited sender is spared below twice the initial rate (ns-2).
    RateUnlessDataLimited,
}

/// How a risen rate reaches the spacing of packets in slow start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RateStep {
    /// At once.
    AtOnce,
    /// Over a round-trip time, a little with every packet (ns-2's `slow_increase_`).
    PerPacket,
}

/// What a change of the rate does to the packet that waits for its send time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reschedule {
    /// Its time moves with the rate (RFC 5348 §4.6).
    Always,
    /// It keeps the gap computed when the packet before it left; but a report in slow start or an expiration of the
    /// nofeedback timer lets it go at once (ns-2).
    InSlowStart,
}

/// gTFRC (draft-lochin-ietf-tsvwg-gtfrc-02): a rate that the network has promised, G = max(g, X).
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Guarantee {
    /// g = 0: plain TFRC.
    None,
    /// From the first round-trip time sample on.
    FromFirstRtt(Target),
    /// From the first report with a loss event on, slow start being as usual: what the draft's figures show.
    FromFirstLossReport(Target),
}

/// What has been promised.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Target {
    /// g, in bytes of data per second; above zero.
    pub rate: Rate,
    /// What to do when the promise is not kept.
    pub broken: BrokenPromise,
}

/// An under-provisioned network (§3.4.2 of the draft): much of the promised traffic is lost.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum BrokenPromise {
    /// Keep sending g: the provider's problem, as the draft prefers.
    Ignore,
    /// Send X while X < g/y. The field is y, above 1.
    GiveWayBelow(f64),
}

impl Guarantee {
    /// The promise, if there is one.
    #[must_use]
    pub const fn target(self) -> Option<Target> {
        match self {
            Self::None => None,
            Self::FromFirstRtt(target) | Self::FromFirstLossReport(target) => Some(target),
        }
    }

    pub(crate) fn validate(self) -> Result<(), ConfigError> {
        let Some(target) = self.target() else { return Ok(()) };
        let threshold_ok = match target.broken {
            BrokenPromise::Ignore => true,
            BrokenPromise::GiveWayBelow(y) => y > 1.0 && y.is_finite(),
        };
        if target.rate.is_zero() || target.rate.is_infinite() || !threshold_ok {
            return Err(ConfigError::Guarantee);
        }
        Ok(())
    }
}

impl NoFeedback {
    pub(crate) fn validate(self) -> Result<(), ConfigError> {
        if self.round_trips >= 1 && self.factor > 0.0 && self.factor < 1.0 {
            Ok(())
        } else {
            Err(ConfigError::NoFeedback)
        }
    }

    /// The timer's share of the round-trip time.
    pub(crate) fn wait(self, rtt: Duration) -> Duration {
        rtt * u64::from(self.round_trips)
    }
}

/// RFC 5348.
impl Default for NoFeedback {
    fn default() -> Self {
        Self { round_trips: 4, factor: 0.5, cut: NoFeedbackCut::UpdateLimits, ask: AfterExpiration::Nothing }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Settings;

    #[test]
    fn ranges_of_a_guarantee() {
        let check = |rate: f64, broken| {
            let target = Target { rate: Rate::from_bytes_per_sec(rate), broken };
            Settings { guarantee: Guarantee::FromFirstRtt(target), ..Settings::default() }.validate().err()
        };
        assert_eq!(check(1e5, BrokenPromise::Ignore), None);
        assert_eq!(check(1e5, BrokenPromise::GiveWayBelow(1.01)), None);
        for (rate, broken) in [
            (0.0, BrokenPromise::Ignore),
            (f64::INFINITY, BrokenPromise::Ignore),
            (1e5, BrokenPromise::GiveWayBelow(1.0)),
            (1e5, BrokenPromise::GiveWayBelow(f64::NAN)),
        ] {
            assert_eq!(check(rate, broken), Some(ConfigError::Guarantee));
        }
    }

    #[test]
    fn ranges_of_the_nofeedback_rule() {
        let check = |round_trips, factor| {
            let no_feedback = NoFeedback { round_trips, factor, ..NoFeedback::default() };
            Settings { no_feedback, ..Settings::default() }.validate().err()
        };
        assert_eq!(check(2, 0.9), None);
        for (round_trips, factor) in [(0, 0.5), (4, 0.0), (4, 1.0), (4, f64::NAN)] {
            assert_eq!(check(round_trips, factor), Some(ConfigError::NoFeedback));
        }
    }
}
