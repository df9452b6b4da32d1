//! The throughput equation.

use tfrc_units::{Duration, Probability};

use crate::values::rate;

/// X, bit/s: the rate of a TCP with segments of `segment` bytes, a round-trip time of
/// `rtt` ns and the loss event rate `p`, 0 to 1 (RFC 5348 §3.1). Infinite at p = 0; NAN for a
/// segment that is not above zero or a p that is not a probability.
#[unsafe(no_mangle)]
pub extern "C" fn tfrc_equation_rate_bps(segment: f64, rtt: u64, p: f64) -> f64 {
    match Probability::new(p) {
        Ok(p) if segment.is_finite() && segment > 0.0 => {
            tfrc::equation::Equation::default().rate(segment, Duration::from_nanos(rtt), p).bits_per_sec()
        }
        _ => f64::NAN,
    }
}

/// The loss event rate at which `tfrc_equation_rate_bps` gives `bps`; NAN if none in (0,
/// 1] does.
#[unsafe(no_mangle)]
pub extern "C" fn tfrc_equation_loss_event_rate(segment: f64, rtt: u64, bps: f64) -> f64 {
    let equation = tfrc::equation::Equation::default();
    let found =
        rate(bps).and_then(|rate| equation.loss_event_rate(segment, Duration::from_nanos(rtt), rate).ok());
    found.map_or(f64::NAN, Probability::get)
}
