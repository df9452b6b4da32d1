//! Cells as CSV.

use crate::experiment::results::ExperimentResult;
use crate::experiment::verdict::Verdict;

/// The name of a cell's verdict.
pub(super) const fn word(verdict: Option<Verdict>) -> &'static str {
    match verdict {
        Some(Verdict::Agrees) => "agrees",
        Some(Verdict::Disagrees) => "disagrees",
        Some(Verdict::Undetermined) => "undetermined",
        Some(Verdict::Uninformative) => "uninformative",
        None => "",
    }
}

/// A line for each cell, with all digits.
pub(super) fn csv(experiment: &ExperimentResult) -> String {
    let mut text = format!("# {}: {}\n", experiment.id, experiment.source.replace('\n', " "));
    text += "row,column,published,ns2,measured,ci95,rfc_profile,ratio,verdict\n";
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
            word(cell.verdict).to_owned(),
        ];
        text += &fields.join(",");
        text.push('\n');
    }
    text
}
