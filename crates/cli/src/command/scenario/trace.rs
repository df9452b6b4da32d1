//! `tfrc scenario trace`: a delivery trace of a log of rates.

use std::fmt::Write as _;

use tfrc_report::human;
use tfrc_scenario::files;
use tfrc_scenario::logs::{self, Columns, Entry, Extent, Heads, Times};
use tfrc_sim::link::OPPORTUNITY_BYTES;
use tfrc_units::{Duration, f64_from_u64, u64_from_f64};

use crate::Failure;
use crate::args::TraceArgs;
use crate::run::logs::line;
use crate::visible::{to_stderr, visible};

/// Lines of a trace, at most: as many as a link takes.
const MOST_LINES: u64 = 10_000_000;

/// The text of the trace.
///
/// # Errors
/// [`Failure::Usage`] for a log that cannot be read.
pub(super) fn of_log(args: &TraceArgs) -> Result<String, Failure> {
    let wrong = |what: String, hint: &str| Failure::usage(format!("{}: {what}", args.log.display()), hint);
    let unit = match &args.unit {
        Some(unit) => unit.as_str(),
        None if args.rate.ends_with("_bps") => "bit/s",
        None => {
            return Err(Failure::usage("the rates have no unit".to_owned(), "add --unit kbit/s, or another"));
        }
    };
    let unit =
        logs::rate_unit(unit).map_err(|hint| Failure::usage(format!("there is no unit `{unit}`"), &hint))?;
    let times = match (&args.time, args.interval) {
        (_, Some(step)) => Times::Every(step),
        (time, None) => Times::Column {
            name: time.as_deref().unwrap_or_default(),
            unit: logs::time_unit(&args.time_unit)
                .map_err(|hint| Failure::usage(format!("there is no unit `{}`", args.time_unit), &hint))?,
        },
    };
    let only: Option<Vec<(&str, &str)>> = args.only.iter().map(|only| only.split_once('=')).collect();
    let Some(only) = only else {
        return Err(Failure::usage(
            "--only needs a column and a value".to_owned(),
            "for example --only flow=tcp",
        ));
    };
    let wanted = |heads: &Heads<'_>, row: &[&str]| {
        for (column, value) in &only {
            let place = heads.place(column).ok_or_else(|| format!("there is no column `{column}`"))?;
            if row.get(place) != Some(value) {
                return Ok(false);
            }
        }
        Ok(true)
    };
    let text =
        files::read_results(&args.log).map_err(|error| wrong(error.to_string(), "name another file"))?;
    let columns = Columns { times, value: &args.rate, unit };
    let entries = logs::read(&text, &columns, &wanted)
        .map_err(|error| wrong(format!("line {}: {}", error.line, error.what), &error.hint))?;
    to_stderr(&visible(&line(&args.log.display().to_string(), &Extent::of(&entries), human::rate)));
    trace(&entries).map_err(|what| wrong(what, "cut the log, or use it as it is: rate = { log = … }"))
}

/// Each rate holds until the next line, the last as long as the one before it. An opportunity
/// stands at the end of the millisecond in which its bytes are together; the last one ends the
/// period.
fn trace(entries: &[Entry]) -> Result<String, String> {
    let end = logs::period(entries);
    let ends = entries.iter().skip(1).map(|entry| entry.at).chain([end]);
    let millis = |at: Duration| at.as_secs_f64() * 1e3;
    let (mut text, mut lines, mut bytes, mut now) = (String::new(), 0, 0.0, 0_u64);
    let mut put = |ms: u64, through: u64| {
        while lines < through {
            let _ = writeln!(text, "{ms}");
            lines += 1;
        }
        lines <= MOST_LINES
    };
    let too_long = || format!("a trace of more than {MOST_LINES} lines");
    for (entry, end) in entries.iter().zip(ends) {
        let (begin, end) = (millis(entry.at), millis(end));
        let per_ms = entry.value / 8e3;
        let whole = u64_from_f64(end);
        if bytes + per_ms * (end - begin) > f64_from_u64(MOST_LINES) * f64::from(OPPORTUNITY_BYTES) {
            return Err(too_long());
        }
        while now < whole {
            now += 1;
            let through = bytes + per_ms * (f64_from_u64(now) - begin);
            if !put(now, u64_from_f64(through / f64::from(OPPORTUNITY_BYTES))) {
                return Err(too_long());
            }
        }
        bytes += per_ms * (end - begin);
    }
    let last = u64_from_f64(millis(end)).max(1);
    // The last line is the period, whether its bytes are together or not.
    if text.lines().next_back() != Some(last.to_string().as_str()) {
        let _ = writeln!(text, "{last}");
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_carries_the_bytes_of_the_log() {
        let entry = |ms, value| Entry { at: Duration::from_millis(ms), value };
        // 1504 bytes a millisecond, nothing, and half of it.
        let full = f64::from(OPPORTUNITY_BYTES) * 8e3;
        let text = trace(&[entry(0, full), entry(3, 0.0), entry(6, full / 2.0), entry(10, full)]);
        assert_eq!(text.as_deref(), Ok("1\n2\n3\n8\n10\n11\n12\n13\n14\n"));
        // One line lasts a second; the period ends with an opportunity.
        assert_eq!(trace(&[entry(0, 0.0)]).as_deref(), Ok("1000\n"));
        assert!(trace(&[entry(0, 1e15)]).is_err());
    }
}
