//! One enum per choice, checked once: [`Settings`] are written, a [`Config`] is known to be sound.

mod packet_size;
mod receiving;
mod sending;

use core::fmt;

pub use packet_size::{MinInterval, NominalSegment, PacketSize, ShortIntervals, SizeCorrection, TfrcSp};
use tfrc_units::{Duration, Rate};

use crate::guard::{CircuitBreaker, StopRule};
use crate::{Equation, EquationForm, RtoPolicy};

pub use receiving::{EmptyReport, FeedbackTrigger, FirstLosses, ReceiveRateWindow};
pub use sending::{
    AfterExpiration, BrokenPromise, Growth, Guarantee, InitialRate, NoFeedback, NoFeedbackCut, RateFloor,
    RateStep, ReceiveLimit, Reschedule, SlowStart, Target,
};

/// The most loss intervals an estimator can average over.
pub const MAX_INTERVALS: usize = 32;

/// All choices of the algorithm; the default is RFC 5348. [`Settings::validate`] makes a [`Config`] of them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// The throughput equation (RFC 5348 §3.1).
    pub equation: Equation,
    /// NDUPACK: a missing packet is lost when this many later ones have arrived (§5.1). 1 to 8.
    pub lost_after: u8,
    /// How losses are gathered into loss events (§5.2).
    pub loss_event_timing: LossEventTiming,
    /// How loss intervals become a loss event rate (§5.4).
    pub estimator: Estimator,
    /// Whether a long current interval discounts the history (§5.5).
    pub discounting: HistoryDiscounting,
    /// The length given to the interval before the first loss event (§6.3.1).
    pub first_interval: FirstInterval,
    /// When the receiver reports (§6).
    pub feedback: FeedbackTrigger,
    /// Over what time the receiver measures X_recv (§6.2).
    pub receive_rate: ReceiveRateWindow,
    /// Reports of the receiver without data since its last report (§6.2).
    pub empty_report: EmptyReport,
    /// Treatment of packets known to have been sent before the first that arrives (§6.3.1).
    pub first_losses: FirstLosses,
    /// What the receiver takes for the round-trip time until it is told one.
    pub receiver_rtt_before_sample: Duration,
    /// s, the segment size of the equation (§4.1).
    pub segment: SegmentSize,
    /// What packets smaller than TCP's are measured by (RFC 4828).
    pub packet_size: PacketSize,
    /// q, the weight of the old estimate in the round-trip time filter (§4.3 step 2), in [0, 1).
    pub rtt_weight: f64,
    /// The rate before and after the first round-trip time sample (§4.2).
    pub initial_rate: InitialRate,
    /// How the rate grows before the first loss event (§4.3 step 4).
    pub slow_start: SlowStart,
    /// How the rate rises to the equation's (§4.3 step 4).
    pub growth: Growth,
    /// How the receive rate limits the rate (§4.3).
    pub receive_limit: ReceiveLimit,
    /// The least rate (§4.3).
    pub floor: RateFloor,
    /// When and how feedback is missed (§4.4).
    pub no_feedback: NoFeedback,
    /// How packets are spaced (§4.5).
    pub spacing: Spacing,
    /// How a risen rate reaches the spacing in slow start.
    pub rate_step: RateStep,
    /// Whether a new rate moves the next send time (§4.6).
    pub reschedule: Reschedule,
    /// How much unused sending time may be caught up with in a burst (§4.6).
    pub credit: BurstCredit,
    /// t_gran, the granularity of the host's timers (§8.3): a packet may go up to half of it early. Zero: never early.
    pub timer_granularity: Duration,
    /// A lower bound for the nofeedback timer, for hosts whose timers are late. The RFC has none: zero.
    pub no_feedback_floor: Duration,
    /// A lower bound for the feedback timer and for the time over which X_recv is measured, for hosts whose timers are late. The
    /// RFC has none: zero.
    pub feedback_floor: Duration,
    /// The application's own limit on the sending rate.
    pub cap: RateCap,
    /// A rate that the network has promised (gTFRC).
    pub guarantee: Guarantee,
    /// When to stop because the path looks broken or badly congested (RFC 8083).
    pub circuit_breaker: CircuitBreaker,
    /// When to stop because the application cannot send as slowly as the losses ask (RFC 3714).
    pub stop_rule: StopRule,
}

/// How lost packets are told apart into loss events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum LossEventTiming {
    /// By arrival times, interpolated for the missing (RFC 5348 §5.2); needs the sender's round-trip time on packets.
    ArrivalTime,
    /// By the times at which packets were sent, interpolated for the missing, as in ns-2; needs the sender's timestamps.
    SenderTime,
    /// The same, and the sender must have taken in a report since the loss event before, as in ns-2 since December 2002
    /// (`PreciseLoss_`); needs its round counter too.
    SenderTimeAndRound,
    /// By the four-bit counter of quarter round-trip times (RFC 4342 §10.2).
    WindowCounter,
}

/// How loss intervals become one mean.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Estimator {
    /// Weighted mean of the latest intervals (RFC 5348 §5.4).
    AverageLossInterval {
        /// n, how many intervals; 8 is recommended, more must not be used against TCP in the Internet. 1 to 32.
        intervals: u8,
        /// How the older ones count.
        weights: Weights,
        /// What the interval that is still growing counts for.
        open: OpenInterval,
    },
    /// Exponentially weighted mean over all intervals (SIGCOMM 2000, "EWMA Loss Interval").
    EwmaLossInterval {
        /// h, the weight of the old mean when an interval ends; 0.75 in ns-2. In [0, 1).
        weight: f64,
        /// What the interval that is still growing counts for, with weight 1 − h.
        open: OpenInterval,
    },
    /// Loss events among the latest packets (SIGCOMM 2000, "Dynamic History Window").
    DynamicHistoryWindow {
        /// The window holds at least this many loss events; 4 in ns-2. 1 to 32.
        events: u8,
        /// How far back it reaches.
        window: HistoryWindow,
    },
}

/// The window of packets in which a [`Estimator::DynamicHistoryWindow`] counts loss events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum HistoryWindow {
    /// Back to the start of the oldest of the loss events it must hold (EBPH in ns-2).
    ByEvents,
    /// As many packets as would hold those events if the equation gave the present receive rate, further back if they hold fewer
    /// (RBPH in ns-2).
    ByRate,
}

/// Weights of the loss intervals, newest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Weights {
    /// 1 for the newer half, then falling to 2/(n+2) (RFC 5348 §5.4).
    Decreasing,
    /// All 1.
    Constant,
}

/// What the interval since the latest loss event counts for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum OpenInterval {
    /// It counts when it makes the mean longer (RFC 5348 §5.4): the comprehensive estimator.
    WhenLonger,
    /// The same, but the lost packet that began it is not counted in it, and while there are fewer
    /// closed intervals than are averaged it takes the place of none; and the discount that passes
    /// into the older intervals when it ends goes by its length at the latest report (ns-2).
    WhenLongerLessFirst,
    /// It never counts: the basic estimator.
    Never,
    /// It always counts, however short: what RFC 5348 §5.4 guards against by the maximum of two means. For comparison.
    Always,
}

/// History discounting (RFC 5348 §5.5): a current interval of more than twice the mean takes weight from the others.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum HistoryDiscounting {
    /// None.
    Off,
    /// Down to this factor: 0.25 in RFC 5348, 0.5 in RFC 3448, the paper of 2000 and ns-2. In (0, 1]. For the average loss
    /// interval only: the other estimators have nothing to discount.
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

/// s of the equation, in bytes without IP and transport headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SegmentSize {
    /// Always this.
    Fixed(u32),
    /// The mean over the last four loss intervals, this until a packet has been sent (RFC 5348 §4.1).
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

/// Spacing of packets.
#[derive(Debug, Clone, Copy, PartialEq)]
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

/// Bursts after a time in which less was sent than allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum BurstCredit {
    /// What one round-trip time at the allowed rate makes, the most RFC 5348 §4.6 permits.
    RoundTrip,
    /// The same, or half of the gap between two packets where that is longer: a packet that leaves late by no more does not hold up those
    /// after it. No packet joins another one for it: they stay half a gap apart. For hosts whose timers are later than a short
    /// round-trip time is long.
    RoundTripOrHalfGap,
    /// What this time makes, but never more than a round-trip time.
    Time(Duration),
}

/// The application's own limit.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum RateCap {
    /// None.
    Unlimited,
    /// At most this. The sender then counts as data-limited while the allowed rate is higher (RFC 5348 §4.3).
    AtMost(Rate),
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            equation: Equation::default(),
            lost_after: 3,
            loss_event_timing: LossEventTiming::ArrivalTime,
            estimator: Estimator::default(),
            discounting: HistoryDiscounting::Floor(0.25),
            first_interval: FirstInterval::AtMaximumReceiveRate,
            feedback: FeedbackTrigger::Timer,
            receive_rate: ReceiveRateWindow::RoundTrip,
            empty_report: EmptyReport::Never,
            first_losses: FirstLosses::Counted,
            receiver_rtt_before_sample: Duration::from_millis(500),
            segment: SegmentSize::Mean { initial: 1460 },
            packet_size: PacketSize::Own,
            rtt_weight: 0.9,
            initial_rate: InitialRate::Rfc3390,
            slow_start: SlowStart::KeepInitialRate,
            growth: Growth::ToEquation,
            receive_limit: ReceiveLimit::RecentMaximum,
            floor: RateFloor::PacketPer64Seconds,
            no_feedback: NoFeedback::default(),
            spacing: Spacing::Damped { weight: 0.9 },
            rate_step: RateStep::AtOnce,
            reschedule: Reschedule::Always,
            credit: BurstCredit::RoundTrip,
            timer_granularity: Duration::ZERO,
            no_feedback_floor: Duration::ZERO,
            feedback_floor: Duration::ZERO,
            cap: RateCap::Unlimited,
            guarantee: Guarantee::None,
            circuit_breaker: CircuitBreaker::default(),
            stop_rule: StopRule::Off,
        }
    }
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

/// Which setting is out of range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigError {
    /// `equation.packets_per_ack` must be at least 1.
    PacketsPerAck,
    /// `lost_after` must be 1 to 8.
    LostAfter,
    /// `estimator` must average over 1 to [`MAX_INTERVALS`] intervals, or hold so many events.
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
    /// `floor` may only be none with a receive limit of at least a packet per round-trip time, else the rate could become
    /// zero.
    Floor,
    /// `no_feedback` must wait for at least one round-trip time and leave a share between 0 and 1.
    NoFeedback,
    /// `guarantee` must promise a finite rate above zero, with a threshold above 1.
    Guarantee,
    /// `circuit_breaker` must have an interval of at least one second, a report and a factor above zero.
    CircuitBreaker,
    /// `stop_rule` must have a rate and a period above zero, and a margin of at least 1.
    StopRule,
    /// `feedback` by the window counter needs loss events by the window counter: it has no round-trip time.
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
            Self::StopRule => "the stop rule needs a rate and a period above zero, and a margin of at least 1",
            Self::Trigger => "feedback by the window counter needs loss events by the window counter",
        })
    }
}

impl core::error::Error for ConfigError {}

/// Settings known to be sound.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Config(Settings);

impl Config {
    /// From settings that came out of a `Config`.
    pub(crate) const fn sound(settings: Settings) -> Self {
        Self(settings)
    }

    /// The settings.
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
        let weight_ok = |w: f64| (0.0..1.0).contains(&w);
        check(self.equation.packets_per_ack >= 1, ConfigError::PacketsPerAck)?;
        let forward_only = matches!(self.equation.form, EquationForm::FullPftk(_));
        let tick_ok = !matches!(self.equation.rto, RtoPolicy::Ticks { tick, .. } if tick.is_zero());
        let scale_ok = self.equation.scale > 0.0 && self.equation.scale.is_finite();
        check(!forward_only && tick_ok && scale_ok, ConfigError::Equation)?;
        let limit_may_be_zero =
            matches!(self.receive_limit, ReceiveLimit::RecentMaximum | ReceiveLimit::Latest);
        check(!(limit_may_be_zero && self.floor == RateFloor::None), ConfigError::Floor)?;
        self.no_feedback.validate()?;
        self.guarantee.validate()?;
        self.circuit_breaker.validate()?;
        self.stop_rule.validate()?;
        check((1..=8).contains(&self.lost_after), ConfigError::LostAfter)?;
        let in_history = |count: u8| (1..=MAX_INTERVALS).contains(&usize::from(count));
        match self.estimator {
            Estimator::AverageLossInterval { intervals: count, .. }
            | Estimator::DynamicHistoryWindow { events: count, .. } => {
                check(in_history(count), ConfigError::Intervals)?;
            }
            Estimator::EwmaLossInterval { weight, .. } => {
                check(weight_ok(weight), ConfigError::FilterWeight)?;
            }
        }
        if let HistoryDiscounting::Floor(floor) = self.discounting {
            check(floor > 0.0 && floor <= 1.0, ConfigError::DiscountFloor)?;
        }
        check(self.segment.initial() >= 1 && self.packet_size.is_sound(), ConfigError::Segment)?;
        check(weight_ok(self.rtt_weight), ConfigError::FilterWeight)?;
        if let Spacing::Damped { weight } = self.spacing {
            check(weight_ok(weight), ConfigError::FilterWeight)?;
        }
        check(!self.receiver_rtt_before_sample.is_zero(), ConfigError::ReceiverRtt)?;
        if let RateCap::AtMost(cap) = self.cap {
            check(!cap.is_zero(), ConfigError::Cap)?;
        }
        let counter_only = self.feedback == FeedbackTrigger::WindowCounter;
        let by_time = self.loss_event_timing != LossEventTiming::WindowCounter;
        check(!(counter_only && by_time), ConfigError::Trigger)?;
        Ok(Config(self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_sound() {
        assert_eq!(Settings::default().validate(), Ok(Config::default()));
    }

    /// §4.3 step 2, §4.5, §5.1, §5.4, §5.5 and §3.1 of RFC 5348 name these values.
    #[test]
    fn the_default_is_what_the_rfc_recommends() {
        let s = Settings::default();
        assert_eq!((s.rtt_weight, s.spacing), (0.9, Spacing::Damped { weight: 0.9 }));
        assert_eq!((s.lost_after, s.discounting), (3, HistoryDiscounting::Floor(0.25)));
        let (weights, open) = (Weights::Decreasing, OpenInterval::WhenLonger);
        assert_eq!(s.estimator, Estimator::AverageLossInterval { intervals: 8, weights, open });
        assert_eq!((s.equation, s.equation.packets_per_ack), (Equation::default(), 1));
    }

    #[test]
    fn each_range_is_checked() {
        let bad = |change: fn(&mut Settings)| {
            let mut settings = Settings::default();
            change(&mut settings);
            settings.validate().err()
        };
        let intervals = |intervals| Estimator::AverageLossInterval {
            intervals,
            weights: Weights::Constant,
            open: OpenInterval::Never,
        };
        assert!(Settings { estimator: intervals(32), ..Settings::default() }.validate().is_ok());
        assert_eq!(
            Settings { estimator: intervals(33), ..Settings::default() }.validate(),
            Err(ConfigError::Intervals)
        );
        assert_eq!(bad(|s| s.equation.packets_per_ack = 0), Some(ConfigError::PacketsPerAck));
        assert_eq!(bad(|s| s.lost_after = 0), Some(ConfigError::LostAfter));
        assert_eq!(bad(|s| s.lost_after = 9), Some(ConfigError::LostAfter));
        assert_eq!(bad(|s| s.discounting = HistoryDiscounting::Floor(0.0)), Some(ConfigError::DiscountFloor));
        assert_eq!(bad(|s| s.segment = SegmentSize::Fixed(0)), Some(ConfigError::Segment));
        let nothing = TfrcSp { nominal: NominalSegment::PathMss(0), ..TfrcSp::default() };
        assert_eq!(
            Settings { packet_size: PacketSize::TfrcSp(nothing), ..Settings::default() }.validate(),
            Err(ConfigError::Segment)
        );
        let ewma = |weight| Estimator::EwmaLossInterval { weight, open: OpenInterval::WhenLonger };
        assert!(Settings { estimator: ewma(0.75), ..Settings::default() }.validate().is_ok());
        assert_eq!(
            Settings { estimator: ewma(1.0), ..Settings::default() }.validate(),
            Err(ConfigError::FilterWeight)
        );
        let window = |events| Estimator::DynamicHistoryWindow { events, window: HistoryWindow::ByRate };
        assert_eq!(
            Settings { estimator: window(0), ..Settings::default() }.validate(),
            Err(ConfigError::Intervals)
        );
        assert_eq!(bad(|s| s.rtt_weight = 1.0), Some(ConfigError::FilterWeight));
        assert_eq!(
            bad(|s| s.spacing = Spacing::Damped { weight: f64::NAN }),
            Some(ConfigError::FilterWeight)
        );
        assert_eq!(bad(|s| s.receiver_rtt_before_sample = Duration::ZERO), Some(ConfigError::ReceiverRtt));
        assert_eq!(bad(|s| s.cap = RateCap::AtMost(Rate::ZERO)), Some(ConfigError::Cap));
        assert_eq!(bad(|s| s.feedback = FeedbackTrigger::WindowCounter), Some(ConfigError::Trigger));
    }
}
