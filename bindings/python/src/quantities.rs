//! Quantities between Python and Rust: seconds and bit/s as floats.
//!
//! A time is rounded to whole nanoseconds, so that every time below 2^51 ns (26 days) survives the
//! way to Python and back. A rate is bytes per second inside; the factor of 8 is exact.

use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use tfrc_units::{Duration, Ecn, Instant, Probability, Rate, u64_from_f64};

/// Contiguous float64 values of an array.
pub(crate) type Floats<'py> = PyReadonlyArray1<'py, f64>;

/// The longest time, in seconds: 2^63 ns.
const LONGEST: f64 = 9.223_372_036_854_776e9;

/// A time, in seconds.
pub(crate) fn duration(seconds: f64) -> PyResult<Duration> {
    if (0.0..LONGEST).contains(&seconds) {
        Ok(Duration::from_nanos(u64_from_f64((seconds * 1e9).round())))
    } else {
        Err(PyValueError::new_err(format!("{seconds} s: a time is finite and not negative")))
    }
}

/// A moment, in seconds since any epoch that is the same in all calls.
pub(crate) fn instant(seconds: f64) -> PyResult<Instant> {
    Ok(Instant::ZERO + duration(seconds)?)
}

/// A probability.
pub(crate) fn probability(p: f64) -> PyResult<Probability> {
    Probability::new(p)
        .map_err(|_| PyValueError::new_err(format!("{p}: a loss event rate lies between 0 and 1")))
}

/// A rate, in bit/s.
pub(crate) fn rate(bits_per_second: f64) -> PyResult<Rate> {
    if bits_per_second >= 0.0 {
        Ok(Rate::from_bits_per_sec(bits_per_second))
    } else {
        Err(PyValueError::new_err(format!("{bits_per_second} bit/s: a rate is not negative")))
    }
}

/// The mark of a packet.
pub(crate) const fn ecn(ce: bool) -> Ecn {
    if ce { Ecn::Ce } else { Ecn::NotEct }
}

/// A change of the allowed sending rate.
#[pyclass(frozen, get_all, module = "tfrc")]
#[derive(Debug, Clone)]
pub(crate) struct RateChange {
    /// When, seconds.
    at: f64,
    /// The rate before, bit/s.
    from_bps: f64,
    /// The rate now, bit/s.
    to_bps: f64,
    /// The rule that set it.
    reason: String,
    /// The round-trip time estimate, seconds; `None` before the first sample.
    rtt_s: Option<f64>,
}

impl From<tfrc::RateChange> for RateChange {
    fn from(change: tfrc::RateChange) -> Self {
        Self {
            at: change.at.as_secs_f64(),
            from_bps: change.from.bits_per_sec(),
            to_bps: change.to.bits_per_sec(),
            reason: reason(change.reason).to_owned(),
            rtt_s: change.rtt.map(|rtt| rtt.as_secs_f64()),
        }
    }
}

#[pymethods]
impl RateChange {
    fn __repr__(&self) -> String {
        let Self { at, from_bps, to_bps, reason, .. } = self;
        format!("RateChange(at={at}, from_bps={from_bps}, to_bps={to_bps}, reason='{reason}')")
    }
}

/// The word for the rule that set the allowed rate.
pub(crate) fn reason(reason: tfrc::RateReason) -> &'static str {
    use tfrc::RateReason as Reason;
    match reason {
        Reason::Initial => "initial",
        Reason::SlowStart => "slow-start",
        Reason::Equation => "equation",
        Reason::ReceiveLimit => "receive-limit",
        Reason::NoFeedback => "no-feedback",
        Reason::Floor => "floor",
        Reason::Guarantee => "guarantee",
        Reason::QueueDelay => "queue-delay",
        Reason::Stopped(_) => "stopped",
        _ => "other",
    }
}

/// The word for the reason of a stop.
pub(crate) fn trip(trip: tfrc::guard::Trip) -> &'static str {
    use tfrc::guard::Trip;
    match trip {
        Trip::FeedbackTimeout => "feedback-timeout",
        Trip::MediaTimeout => "media-timeout",
        Trip::Congestion => "congestion",
        Trip::DropRate => "drop-rate",
        _ => "other",
    }
}

/// The time of the next packet, in seconds: `now` if it may go at once, `None` after a stop.
pub(crate) fn next_send(now: f64, decision: tfrc::SendDecision) -> Option<f64> {
    match decision {
        tfrc::SendDecision::Now => Some(now),
        tfrc::SendDecision::At(at) => Some(at.as_secs_f64()),
        tfrc::SendDecision::Stopped(_) => None,
    }
}
