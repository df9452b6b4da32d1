//! A line on standard error for each log that a command has read: what came out of its columns.

use tfrc_report::human;
use tfrc_scenario::logs::Extent;
use tfrc_scenario::{Log, LogKind};
use tfrc_units::{saturating, u64_from_f64};

use crate::visible::{to_stderr, visible};

/// Says how the logs of a scenario were read.
pub(crate) fn say(logs: &[Log]) {
    for log in logs {
        let value: fn(f64) -> String = match log.kind {
            LogKind::Rates => human::rate,
            LogKind::Sizes => |bytes| human::bytes(u64_from_f64(bytes + 0.5)),
        };
        let name = format!("{}, column {}", log.file, log.column);
        to_stderr(&visible(&line(&name, &log.extent, value)));
    }
}

/// The line about one log; `value` writes a value with its unit.
pub(crate) fn line(name: &str, extent: &Extent, value: fn(f64) -> String) -> String {
    let Extent { lines, span, least, most, mean } = *extent;
    let plural = if lines == 1 { "" } else { "s" };
    let lines = format!("{} line{plural}", human::count(saturating::<u64>(lines)));
    let span = human::time(span.as_secs_f64());
    format!("log {name}: {lines}, {span}, {} to {}, mean {}", value(least), value(most), value(mean))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tfrc_units::Duration;

    #[test]
    fn a_line_has_what_shows_a_wrong_column_or_unit() {
        let extent = Extent { lines: 3, span: Duration::from_secs(5), least: 0.0, most: 72e3, mean: 34.8e3 };
        assert_eq!(
            line("x.csv", &extent, human::rate),
            "log x.csv: 3 lines, 5.00 s, 0 bit/s to 72.0 kbit/s, mean 34.8 kbit/s"
        );
    }
}
