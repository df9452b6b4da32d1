//! The congestion window: how it grows and shrinks (RFC 5681 §3.1, RFC 3465, RFC 9438).

use tfrc_units::{Duration, Instant};

use super::cubic::{BETA, Cubic};
use super::settings::{Settings, Variant};
use super::study::{EcnAtOne, Increase, Precision, Shrink};

/// Half a segment: what echoes leave at least.
const LEAST: f64 = 0.5;

/// Windows in segments.
#[derive(Debug, Clone)]
pub(crate) struct Window {
    pub(crate) cwnd: f64,
    pub(crate) ssthresh: f64,
    law: Law,
}

#[derive(Debug, Clone, Copy)]
enum Law {
    /// One more in a round-trip time, half after a loss.
    Aimd,
    Cubic(Cubic),
}

/// Why the window is made smaller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cut {
    /// A congestion echo (RFC 3168 §6.1.2): the window may become one segment.
    Echo,
    /// A loss shown by duplicate acknowledgements or SACK.
    Loss,
    /// The first timeout of a segment.
    Timeout,
    /// A later one of the same segment (RFC 5681 §3.1: ssthresh stays).
    TimeoutAgain,
}

/// Which slow start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SlowStart {
    /// Slow start while segments that a timeout took for lost are not acknowledged yet
    /// (RFC 3465 §2.3).
    AfterTimeout,
    /// Any other.
    Normal,
}

impl Window {
    pub(crate) fn new(settings: &Settings) -> Self {
        let law = match settings.variant {
            Variant::Cubic => Law::Cubic(Cubic::new(settings.algorithm.choices().reno_region)),
            Variant::Bbr | Variant::NewReno | Variant::Reno | Variant::Sack | Variant::Tahoe => Law::Aimd,
        };
        Self {
            cwnd: f64::from(settings.algorithm.choices().initial_window.segments(settings.segment)),
            ssthresh: f64::from(settings.window.max(2)),
            law,
        }
    }

    /// `acked` segments have been acknowledged at once, in no recovery. The window does not grow
    /// past the receiver's.
    #[inline]
    pub(crate) fn grow(
        &mut self,
        now: Instant,
        acked: u32,
        slow_start: SlowStart,
        rtt: Option<Duration>,
        settings: &Settings,
    ) {
        let top = f64::from(settings.window.max(1));
        if self.cwnd >= top {
            return;
        }
        // An acknowledgement that closes a hole covers many windows' worth of segments at once. It
        // was one round trip all the same: no more than a window of them counts, so that the step
        // is at most a segment (RFC 5681 §3.1), or to CUBIC's target (RFC 9438 §4.4).
        let window = self.cwnd.max(1.0);
        let (slow_start_step, counted, counted_by_cubic) = match settings.algorithm.choices().increase {
            Increase::Counted(limit) => {
                let counted = f64::from(acked).min(window);
                match slow_start {
                    SlowStart::AfterTimeout => (1, counted, counted),
                    SlowStart::Normal => (acked.min(limit.max(1)), counted, counted),
                }
            }
            // CUBIC counts what is acknowledged, whatever Reno does.
            Increase::PerAck => (1, 1.0, f64::from(acked)),
        };
        if self.cwnd < self.ssthresh {
            self.cwnd += f64::from(slow_start_step);
        } else {
            self.cwnd = match &mut self.law {
                Law::Aimd => self.cwnd + counted / self.cwnd,
                Law::Cubic(cubic) => {
                    cubic.grow(now, self.cwnd, counted_by_cubic, rtt.unwrap_or(Duration::ZERO))
                }
            };
        }
        self.cwnd = self.cwnd.min(top);
    }

    /// Makes ssthresh, and the window with it, what a congestion event leaves. `flight` is RFC
    /// 5681's FlightSize.
    pub(crate) fn cut(&mut self, why: Cut, flight: u32, settings: &Settings) {
        let used = self.cwnd.min(f64::from(settings.window.max(1)));
        let base = match settings.algorithm.choices().shrink {
            Shrink::Flight => f64::from(flight),
            Shrink::InUse => used.min(f64::from(flight)),
            Shrink::Window => used,
        };
        let mut left = match &mut self.law {
            Law::Aimd => base / 2.0,
            Law::Cubic(cubic) => {
                match why {
                    Cut::Echo | Cut::Loss => {
                        cubic.reduce(used, settings.algorithm.choices().fast_convergence);
                    }
                    Cut::Timeout | Cut::TimeoutAgain => cubic.time_out(used),
                }
                base * BETA
            }
        };
        if settings.algorithm.choices().precision == Precision::Whole {
            left = libm::floor(left);
        }
        match (why, settings.algorithm.choices().shrink) {
            (Cut::TimeoutAgain, Shrink::Flight | Shrink::InUse) => {}
            _ if settings.algorithm.choices().precision == Precision::WholeThreshold => {
                self.ssthresh = libm::floor(left).max(2.0);
            }
            _ => self.ssthresh = left.max(2.0),
        }
        self.cwnd = match why {
            Cut::Echo => match settings.algorithm.choices().ecn_at_one {
                EcnAtOne::BackOff => left.max(LEAST),
                EcnAtOne::Wait => left.max(1.0),
            },
            Cut::Loss if settings.algorithm.choices().precision == Precision::WholeThreshold => left.max(1.0),
            Cut::Loss => self.ssthresh,
            Cut::Timeout | Cut::TimeoutAgain => 1.0,
        };
    }
}
