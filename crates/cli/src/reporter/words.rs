//! Words of a run for a person: its bar, a line of progress, and its summary.

use std::io::{self, IsTerminal};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use tfrc::Limit;
use tfrc_report::record::Summary;
use tfrc_report::{human, pages};
use tfrc_world::results::Interval;

use super::ReporterConfig;

pub(super) fn bar(config: &ReporterConfig) -> ProgressBar {
    let milliseconds = config.duration.map(|d| d.as_nanos() / 1_000_000);
    let (bar, template) = match (config.bytes, milliseconds) {
        (Some(bytes), _) => (ProgressBar::new(bytes), "{percent:>3} % {bar:16} {eta:>4} left  {wide_msg}"),
        (None, Some(length)) => (ProgressBar::new(length), "{elapsed:>4} {bar:24} {wide_msg}"),
        (None, None) => (ProgressBar::no_length(), "{elapsed:>4} {spinner} {wide_msg}"),
    };
    bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(5));
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar
}

/// Describes the state of an interval in one line.
pub(super) fn state(i: &Interval) -> String {
    let parts = [
        i.allowed_rate_bps.map(|x| format!("allowed {}", human::rate(x))),
        i.send_rate_bps.map(|x| format!("sent {}", human::rate(x))),
        i.limit.map(|limit| format!("held by {}", holder(limit))),
        i.goodput_bps.map(|x| format!("goodput {}", human::rate(x))),
        i.encoder_rate_bps.map(|x| format!("encoder {}", human::rate(x))),
        i.encoder_fps.map(|x| format!("fps {x:.1}")),
        i.encoder_speed.map(|x| format!("speed {x:.2}x")),
        i.loss_event_rate.map(|x| format!("p {}", human::number(x))),
        i.rtt_s.map(|x| format!("RTT {}", human::time(x))),
        i.queue_packets.map(|x| format!("queue {x:.0}")),
        share(i.lost_packets, i.received_packets).map(|x| format!("lost {}", human::percent(x))),
        share(i.late_dropped_packets, i.sent_packets)
            .filter(|x| *x > 0.0)
            .map(|x| format!("dropped late here {}", human::percent(x))),
        share(i.dropped_by_reader_packets, i.sent_packets.or(i.received_packets))
            .filter(|x| *x > 0.0)
            .map(|x| format!("dropped by a slow reader {}", human::percent(x))),
        i.repaired_bytes.filter(|bytes| *bytes > 0).map(|bytes| format!("repaired {}", human::bytes(bytes))),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join("  ")
}

/// A phrase about the time that `bytes` take at this rate; `None` if nothing goes.
pub(super) fn left(bytes: f64, rate_bps: f64) -> Option<String> {
    let seconds = bytes * 8.0 / rate_bps;
    seconds.is_finite().then(|| match seconds {
        ..120.0 => format!("{seconds:.0} s left"),
        ..7200.0 => format!("{:.0} min left", seconds / 60.0),
        _ => format!("{:.0} h left", seconds / 3600.0),
    })
}

/// The reason for the rate, in words.
fn holder(limit: Limit) -> &'static str {
    match limit {
        Limit::SlowStart => "slow start",
        Limit::Equation => "losses",
        Limit::ReceiveRate => "the receive rate",
        Limit::NoFeedback => "missing reports",
        Limit::Floor => "the floor",
        Limit::Guarantee => "the guarantee",
        Limit::Queue => "the queue",
        Limit::Competition => "competition",
        Limit::Application => "the application",
        Limit::Stopped => "a stop",
        _ => "another rule",
    }
}

/// Share of some packets in these and the others together; `None` if one is unknown or there are
/// none.
fn share(some: Option<u64>, others: Option<u64>) -> Option<f64> {
    let (some, all) = (some?, some?.saturating_add(others?));
    (all > 0).then(|| some as f64 / all as f64)
}

/// The summary as a table.
pub(super) fn words(summary: &Summary) -> String {
    let mut text: String =
        pages::rows(summary).iter().map(|(name, value, _)| format!("{name:<38} {value}\n")).collect();
    if summary.flows.len() > 1 {
        text.push_str("\nflow              kind          goodput         loss        variation\n");
        for f in &summary.flows {
            let or_dash = |x: Option<String>| x.unwrap_or_else(|| "-".to_owned());
            text.push_str(&format!(
                "{:<17} {:<13} {:<15} {:<11} {}\n",
                f.id,
                f.kind,
                or_dash(f.goodput_bps.map(human::rate)),
                or_dash(f.packet_loss_rate.map(human::percent)),
                or_dash(f.cov.map(human::number)),
            ));
        }
    }
    // Thousands stand apart for people; another program reads plain digits.
    text.replace('\u{a0}', if io::stdout().is_terminal() { " " } else { "" })
}
