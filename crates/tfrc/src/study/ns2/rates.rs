//! The sending rate of ns-2.35: how it begins, its steps, its limits.

use tfrc_units::Rate;

use crate::study::{LatestReport, Quiet, Rise, Supply};

/// `InitRate_`, bytes per second before the first report.
pub(crate) const FIRST: f64 = 300.0;

/// Reports that leave the initial rate as it is.
pub(crate) const REPORTS_AT_INITIAL_RATE: u64 = 2;

/// `rate_init_option_` 2: bytes in the first round-trip time.
pub(crate) fn initial_window(mss: f64) -> f64 {
    if mss <= 1095.0 {
        4.0 * mss
    } else if mss < 2190.0 {
        3.0 * mss
    } else {
        2.0 * mss
    }
}

/// The rise since the last report: a packet per round-trip time for each round-trip time, two at
/// most.
pub(crate) fn step(rise: &Rise) -> Rate {
    let elapsed = rise.since_report.as_secs_f64() / rise.rtt.as_secs_f64();
    Rate::of(rise.segment, rise.rtt) * elapsed.min(2.0)
}

/// Twice the receive rate, at least a packet per round-trip time, or the initial rate if the sender
/// was short of data lately.
pub(crate) fn limit(report: &LatestReport) -> Rate {
    let least = match report.supply {
        Supply::Short => report.initial_rate,
        Supply::Enough => report.packet_per_rtt,
    };
    (report.receive_rate * 2.0).max(least)
}

/// `conservative_`: the receive rate after a loss event, else one and a half times it, at least a
/// packet per round-trip time.
pub(crate) fn conservative_limit(report: &LatestReport) -> Rate {
    let limit = if report.new_loss { report.receive_rate } else { report.receive_rate * 1.5 };
    limit.max(report.packet_per_rtt)
}

/// The nofeedback timer cuts nothing while the sender is short of data and below twice the initial
/// rate.
pub(crate) fn spares(quiet: &Quiet) -> bool {
    quiet.supply == Supply::Short && quiet.x < quiet.initial_rate * 2.0
}
