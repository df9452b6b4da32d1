//! The rows of real libwebrtc: valid runs of two Chromiums across `tfrc emu`, which
//! `integrations/webrtc` records.

use std::fmt::Write as _;

use crate::cases::Case;
use crate::measures::quantile;
use crate::page::ranged;

const RUNS: &str = include_str!("../../webrtc/runs.csv");

/// The controls by their word in the recording, with their names in tables.
const CONTROLS: [(&str, &str); 2] =
    [("libwebrtc", "libwebrtc (Chromium 156)"), ("ScreamV2", "ScreamV2 in Chromium 156")];

/// A run: its values by the names of the columns.
struct Recorded<'r>(Vec<(&'r str, &'r str)>);

impl Recorded<'_> {
    fn word(&self, name: &str) -> &str {
        self.0.iter().find(|(head, _)| *head == name).map_or("", |(_, value)| value)
    }

    fn number(&self, name: &str) -> Option<f64> {
        self.word(name).parse().ok()
    }
}

/// The lines of a case's table; none of what was not recorded.
pub(crate) fn rows(case: &Case, has_share: bool) -> String {
    let mut lines = RUNS.lines();
    let heads: Vec<&str> = lines.next().map(|line| line.split(',').collect()).unwrap_or_default();
    let all = lines.map(|line| Recorded(heads.iter().copied().zip(line.split(',')).collect()));
    let valid: Vec<Recorded<'_>> =
        all.filter(|run| run.word("case") == case.id && run.word("valid") == "yes").collect();
    let mut text = String::new();
    for (word, name) in CONTROLS {
        let runs: Vec<&Recorded<'_>> = valid.iter().filter(|run| run.word("control") == word).collect();
        if runs.is_empty() {
            continue;
        }
        let cell = |column: &str, factor: f64, digits: usize, unit: &str| {
            let values: Vec<f64> =
                runs.iter().filter_map(|run| run.number(column)).map(|x| x * factor).collect();
            ranged(&values, digits, unit)
        };
        let _ = write!(
            text,
            "| {name}, {} | {} | {} | {} | {} | {} | – |",
            match runs.len() {
                1 => "1 run".to_owned(),
                several => format!("{several} runs"),
            },
            cell("rate_mbit", 1.0, 2, ""),
            cell("of_capacity", 100.0, 0, " %"),
            cell("wait_p50_ms", 1.0, 0, ""),
            cell("wait_p95_ms", 1.0, 0, ""),
            cell("lost", 100.0, 1, " %"),
        );
        if has_share {
            let _ = write!(text, " {} |", cell("share", 1.0, 2, ""));
        }
        let mut times: Vec<f64> = runs
            .iter()
            .flat_map(|run| run.word("times_s").split(' ').filter_map(|time| time.parse().ok()))
            .collect();
        let wanted: f64 = runs.iter().filter_map(|run| run.number("times_wanted")).sum();
        let found = times.len();
        let time =
            if found == 0 { "never".to_owned() } else { format!("{:.1} s", quantile(&mut times, 0.5)) };
        let _ = writeln!(text, " {time} ({found} of {wanted}) |");
    }
    text
}
