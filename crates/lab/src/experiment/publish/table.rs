//! Cells as CSV.

use crate::experiment::results::{ExperimentResult, Over};
use crate::experiment::verdict::{CellVerdict, Verdict};

/// A line for each cell, with all digits.
pub(super) fn csv(experiment: &ExperimentResult) -> String {
    let mut text = format!("# {}: {}\n", experiment.id, experiment.source.replace('\n', " "));
    text += "row,column,published,ns2,measured,ci95,rfc_profile,ratio,ratio_over,runs,verdict_print,verdict_ns2,verdict\n";
    for cell in &experiment.cells {
        let quoted = |name: &str| match name.contains([',', '"', '\n']) {
            true => format!("\"{}\"", name.replace('"', "\"\"")),
            false => name.to_owned(),
        };
        let number = |x: Option<f64>| x.map_or(String::new(), |x| x.to_string());
        let fields = [
            quoted(&cell.row),
            quoted(&cell.column),
            number(cell.published),
            number(cell.ns2),
            number(cell.measured),
            number(cell.ci95),
            number(cell.rfc_profile),
            number(cell.ratio),
            cell.ratio_over.map_or("", Over::words).trim_start_matches("over ").to_owned(),
            cell.runs.to_string(),
            cell.verdict_print.map_or("", Verdict::word).to_owned(),
            cell.verdict_ns2.map_or("", Verdict::word).to_owned(),
            cell.verdict.map_or("", CellVerdict::word).to_owned(),
        ];
        text += &fields.join(",");
        text.push('\n');
    }
    text
}
