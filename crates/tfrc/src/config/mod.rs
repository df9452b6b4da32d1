//! Settings of a sender or receiver; a [`Config`] holds checked [`Settings`].

mod choices;
mod clock;
mod guarantee;
mod packet_size;
mod queue_delay;
mod revision;

use core::fmt;
#[cfg(feature = "schema")]
use tfrc_units::schema::{Deserialize, JsonSchema, Serialize};

pub use clock::ClockGrain;
pub use guarantee::{Promise, PromiseStart};
pub use packet_size::{MinInterval, NominalSegment, PacketSize, TfrcSp};
pub use queue_delay::QueueDelay;
use tfrc_units::{Duration, Rate};

use crate::guard::{BreakerLimits, CircuitBreaker, StopRule};
use crate::study::Algorithm;

/// Values of a sender or a receiver; the default is RFC 5348 without a limit of the application's
/// own. [`Settings::validate`] turns them into a [`Config`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// s, the segment size of the equation, in bytes (RFC 5348 §4.1): the packets that the
    /// application sends.
    pub segment: SegmentSize,
    /// The TCP that a flow of small packets is compared with: with TFRC-SP (RFC 4828) a voice flow
    /// gets the bytes of a TCP of large packets.
    pub packet_size: PacketSize,
    /// The application's own limit on the sending rate.
    pub cap: RateCap,
    /// The longest queueing delay that the flow may make; not of RFC 5348. It only ever lowers X.
    pub max_queue_delay: QueueDelay,
    /// A rate that the network has promised: the flow does not fall below it (gTFRC).
    pub guarantee: Option<Promise>,
    /// Rule that stops a flow whose path looks broken or badly congested (RFC 8083).
    pub circuit_breaker: CircuitBreaker,
    /// The constants of the circuit breaker.
    pub breaker_limits: BreakerLimits,
    /// Rule that stops a flow that cannot send as slowly as the losses demand (RFC 3714).
    pub stop_rule: StopRule,
    /// Unused sending time that may be caught up with in a burst (§4.6): less is smoother, more
    /// compensates for a late application.
    pub credit: BurstCredit,
    /// t_gran, the granularity of the host's timers (§8.3): a packet may go up to half of it early.
    /// Zero: never early.
    pub timer_granularity: Duration,
    /// The grain of the clock that `now` comes from. All times passed to a machine are of one clock
    /// that does not go back; it may have any grain.
    pub clock_grain: ClockGrain,
    /// A lower bound for the nofeedback timer, for hosts whose timers are late, and for paths that
    /// pause (docs/models/pauses.md). The RFC has none: zero.
    pub no_feedback_floor: Duration,
    /// A lower bound for the feedback timer and for the time over which X_recv is measured, for
    /// hosts whose timers are late. The RFC has none: zero.
    pub feedback_floor: Duration,
    /// The round-trip time that the receiver assumes until a packet carries one; above zero.
    pub receiver_rtt_before_sample: Duration,
    /// The algorithm, for reproducing papers; use the default for sending.
    pub algorithm: Algorithm,
}

/// s of the equation, in bytes without IP and transport headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, JsonSchema), serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum SegmentSize {
    /// Always this value, bytes.
    Fixed(u32),
    /// The mean over the last four loss intervals, this until a packet has been sent
    /// (RFC 5348 §4.1).
    Mean {
        /// The size expected before the first packet.
        initial: u32,
    },
}

impl SegmentSize {
    /// The size to begin with.
    #[must_use]
    pub const fn initial(self) -> u32 {
        match self {
            Self::Fixed(bytes) | Self::Mean { initial: bytes } => bytes,
        }
    }
}

/// Bursts after a time in which less was sent than allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum BurstCredit {
    /// One round-trip time's worth of data at the allowed rate, the most that RFC 5348 §4.6
    /// permits.
    RoundTrip,
    /// One round-trip time's worth, or half of the gap between two packets where that is longer: a
    /// packet that leaves late by no more does not hold up those after it. Packets stay half a gap
    /// apart. For hosts whose timers are later than a short round-trip time is long.
    #[cfg_attr(feature = "schema", serde(skip))]
    RoundTripOrHalfGap,
    /// A time, such as 0s: this time's worth of data at the allowed rate, but never more than a
    /// round-trip time's.
    #[cfg_attr(feature = "schema", serde(untagged))]
    Time(Duration),
}

impl BurstCredit {
    /// This rule, with no more than this time's worth of data.
    pub(crate) fn at_most(self, most: Duration) -> Self {
        match self {
            Self::Time(time) => Self::Time(time.min(most)),
            Self::RoundTrip | Self::RoundTripOrHalfGap => Self::Time(most),
        }
    }
}

/// The application's own limit.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "schema", derive(Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum RateCap {
    /// No limit.
    Unlimited,
    /// The highest rate, such as 1Mbit/s. The sender then counts as data-limited while the allowed
    /// rate is higher (RFC 5348 §4.3).
    #[cfg_attr(feature = "schema", serde(untagged))]
    AtMost(Rate),
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            segment: SegmentSize::Mean { initial: 1460 },
            packet_size: PacketSize::Own,
            cap: RateCap::Unlimited,
            max_queue_delay: QueueDelay::Unlimited,
            guarantee: None,
            circuit_breaker: CircuitBreaker::default(),
            breaker_limits: BreakerLimits::default(),
            stop_rule: StopRule::Off,
            credit: BurstCredit::RoundTrip,
            timer_granularity: Duration::ZERO,
            clock_grain: ClockGrain::Measured,
            no_feedback_floor: Duration::ZERO,
            feedback_floor: Duration::ZERO,
            receiver_rtt_before_sample: Duration::from_millis(500),
            algorithm: Algorithm::rfc5348(),
        }
    }
}

/// Which setting is out of range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigError {
    /// `equation.packets_per_ack` must be at least 1.
    PacketsPerAck,
    /// `lost_after` must be 1 to 8.
    LostAfter,
    /// `estimator` must average over 1 to 32 intervals, or hold 1 to 32 events.
    Intervals,
    /// The floor of `discounting` must lie in (0, 1].
    DiscountFloor,
    /// `segment`, and the size that `packet_size` compares with, must be at least 1 byte.
    Segment,
    /// `rtt_weight` or the weight of `spacing` or `estimator` must lie in [0, 1).
    FilterWeight,
    /// `receiver_rtt_before_sample` must be above zero.
    ReceiverRtt,
    /// `cap` must be above zero.
    Cap,
    /// `equation` must be a form with an inverse, its scale above zero, its tick above zero.
    Equation,
    /// `floor` may only be none with a receive limit of at least a packet per round-trip time;
    /// otherwise the rate could become zero.
    Floor,
    /// `no_feedback` must wait for at least one round-trip time and leave a share between 0 and 1.
    NoFeedback,
    /// `guarantee` must promise a finite rate above zero, with a threshold above 1.
    Guarantee,
    /// `circuit_breaker` must have an interval of at least one second, a report and a factor above
    /// zero.
    CircuitBreaker,
    /// `max_queue_delay` must be at least 1 ms.
    QueueDelay,
    /// `stop_rule` must have a rate and a period above zero, and a margin of at least 1.
    StopRule,
    /// `pairs` must begin above at least two packets in a round-trip time.
    Pairs,
    /// `feedback` by the window counter needs loss events by the window counter: it has no
    /// round-trip time.
    Trigger,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::PacketsPerAck => "equation.packets_per_ack must be at least 1",
            Self::LostAfter => "lost_after must be 1 to 8 packets",
            Self::Intervals => "the estimator must average over 1 to 32 loss intervals",
            Self::DiscountFloor => "the floor of history discounting must be above 0 and at most 1",
            Self::Segment => "the segment size must be at least 1 byte",
            Self::FilterWeight => "a filter weight must be at least 0 and below 1",
            Self::ReceiverRtt => "receiver_rtt_before_sample must be above zero",
            Self::Cap => "the rate cap must be above zero",
            Self::Equation => {
                "the equation must be one with an inverse, its scale finite and above zero, its tick above zero"
            }
            Self::Floor => "no floor needs a receive limit of at least a packet per round-trip time",
            Self::NoFeedback => "the nofeedback timer must wait for a round-trip time and leave a share between 0 and 1",
            Self::Guarantee => "a guarantee needs a finite rate above zero, and a threshold above 1 if it has one",
            Self::CircuitBreaker => "the circuit breaker needs an interval of a second, a report and a factor above zero",
            Self::QueueDelay => "the bound on the queueing delay must be at least 1 ms",
            Self::StopRule => "the stop rule needs a rate and a period above zero, and a margin of at least 1",
            Self::Pairs => "pairs must begin above at least two packets in a round-trip time",
            Self::Trigger => "feedback by the window counter needs loss events by the window counter",
        })
    }
}

impl core::error::Error for ConfigError {}

/// Checked settings.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Config(Settings);

impl Config {
    /// A `Config` from settings of another one.
    pub(crate) const fn sound(settings: Settings) -> Self {
        Self(settings)
    }

    /// The checked settings.
    #[must_use]
    pub const fn settings(&self) -> &Settings {
        &self.0
    }
}

impl Settings {
    /// Checks every range.
    ///
    /// # Errors
    /// The first setting found out of range.
    pub fn validate(self) -> Result<Config, ConfigError> {
        let check = |ok: bool, error| if ok { Ok(()) } else { Err(error) };
        self.algorithm.choices().check()?;
        self.guarantee.map_or(Ok(()), Promise::validate)?;
        self.breaker_limits.validate()?;
        self.stop_rule.validate()?;
        self.max_queue_delay.validate()?;
        check(self.segment.initial() >= 1 && self.packet_size.is_sound(), ConfigError::Segment)?;
        check(!self.receiver_rtt_before_sample.is_zero(), ConfigError::ReceiverRtt)?;
        if let RateCap::AtMost(cap) = self.cap {
            check(!cap.is_zero(), ConfigError::Cap)?;
        }
        Ok(Config(self))
    }
}

#[cfg(test)]
impl Settings {
    /// The default except for some choices of the algorithm.
    pub(crate) fn of_study(change: impl FnOnce(&mut crate::study::Choices)) -> Self {
        Self { algorithm: Algorithm::default().with(change), ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_sound() {
        assert_eq!(Settings::default().validate(), Ok(Config::default()));
    }

    #[test]
    fn each_range_is_checked() {
        let bad = |change: fn(&mut Settings)| {
            let mut settings = Settings::default();
            change(&mut settings);
            settings.validate().err()
        };
        assert_eq!(bad(|s| s.segment = SegmentSize::Fixed(0)), Some(ConfigError::Segment));
        let nothing = TfrcSp { nominal: NominalSegment::PathMss(0), ..TfrcSp::default() };
        assert_eq!(
            Settings { packet_size: PacketSize::TfrcSp(nothing), ..Settings::default() }.validate(),
            Err(ConfigError::Segment)
        );
        assert_eq!(bad(|s| s.receiver_rtt_before_sample = Duration::ZERO), Some(ConfigError::ReceiverRtt));
        assert_eq!(bad(|s| s.cap = RateCap::AtMost(Rate::ZERO)), Some(ConfigError::Cap));
        let delay = |us| QueueDelay::AtMost(Duration::from_micros(us));
        let bad_delay = |us| Settings { max_queue_delay: delay(us), ..Settings::default() }.validate().err();
        assert_eq!((bad_delay(999), bad_delay(1000)), (Some(ConfigError::QueueDelay), None));
        assert_eq!(bad(|s| s.algorithm.choices_mut().lost_after = 9), Some(ConfigError::LostAfter));
    }
}
