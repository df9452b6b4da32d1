//! Cells as CSV.

use crate::results::{ExperimentResult, Over};
use crate::verdict::{CellVerdict, Verdict};

const COLUMNS: [&str; 17] = [
    "row",
    "column",
    "published",
    "ns2",
    "measured",
    "ci95",
    "emulated",
    "emulated_ci95",
    "emulated_runs",
    "emulated_note",
    "rfc_profile",
    "ratio",
    "ratio_over",
    "runs",
    "verdict_print",
    "verdict_ns2",
    "verdict",
];

/// A line for each cell, with all digits.
pub(super) fn csv(experiment: &ExperimentResult) -> String {
    let number = |x: Option<f64>| x.map_or(String::new(), |x| x.to_string());
    let lines = experiment.cells.iter().map(|cell| {
        [
            cell.row.clone(),
            cell.column.clone(),
            number(cell.published),
            number(cell.ns2),
            number(cell.measured),
            number(cell.ci95),
            number(cell.emulated),
            number(cell.emulated_ci95),
            cell.emulated_runs.map_or(String::new(), |runs| runs.to_string()),
            cell.emulated_note.clone().unwrap_or_default(),
            number(cell.rfc_profile),
            number(cell.ratio),
            cell.ratio_over.map_or("", Over::words).trim_start_matches("over ").to_owned(),
            cell.runs.to_string(),
            cell.verdict_print.map_or("", Verdict::word).to_owned(),
            cell.verdict_ns2.map_or("", Verdict::word).to_owned(),
            cell.verdict.map_or("", CellVerdict::word).to_owned(),
        ]
    });
    let mut writer = csv::Writer::from_writer(Vec::new());
    for line in std::iter::once(COLUMNS.map(str::to_owned)).chain(lines) {
        writer.write_record(line).expect("memory takes every line, and all have as many fields");
    }
    let table = writer.into_inner().expect("memory takes every line");
    let source = experiment.source.replace('\n', " ");
    format!("# {}: {source}\n{}", experiment.id, String::from_utf8_lossy(&table))
}
