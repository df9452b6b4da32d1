//! `docs/peers.md`: the experiments whose only reference is ns-2, cell by cell.

use std::fmt::Write;

use super::{Publication, prose};
use crate::file::Experiment;
use crate::human::number;
use crate::results::{CellResult, Count, ExperimentResult};
use crate::verdict::Verdict;

const HEAD: &str = "\
# Comparison with ns-2

Debian's ns-2 (2.35+dfsg-5) and this simulator on one set of scenarios, written by `tfrc reproduce`.
ns-2 runs the scripts of `experiments/ns2/scripts/`; the values of its runs are `experiments/ns2/*/ns2.csv`
(`cargo xtask references` makes them). The flows run with the habits of ns-2 (`revision = \"ns2\"`,
`settings = \"ns2\"`): the simulator is compared, not the RFCs.

A cell **agrees** when the 99 % interval of the difference between the means over the seeds lies
within 10 % of ns-2's mean; ± is half the width of that interval. It **disagrees** when it does not
agree, the means differ by more than 5 %, and Welch's test at 99 %, corrected over the table after
Holm, tells them apart; the cause stands below the table. All other cells are **undetermined**. Runs
without randomness are compared as counts that grow with time, which agree within a factor of 1.05.

";

/// The page; `None` if no experiment belongs on it.
pub(super) fn page(publication: &Publication<'_>) -> Option<String> {
    let all = publication.experiments.iter().zip(&publication.results.experiments);
    let beside: Vec<_> = all.filter(|(experiment, _)| experiment.is_beside_ns2()).collect();
    if beside.is_empty() {
        return None;
    }
    let mut text = HEAD.to_owned();
    text += "| experiment | | cells | agree | disagree | undetermined |\n|---|---|---:|---:|---:|---:|\n";
    for (_, e) in &beside {
        let Count { agree, disagree, undetermined } = e.tally.ns2;
        let cells = e.tally.ns2.total();
        let _ =
            writeln!(text, "| {} | {} | {cells} | {agree} | {disagree} | {undetermined} |", e.id, e.title);
    }
    for (experiment, result) in beside {
        text += &section(experiment, result);
    }
    Some(text)
}

/// One table with its set-up and the causes of what disagrees.
fn section(experiment: &Experiment, e: &ExperimentResult) -> String {
    let (_, readme) = prose::title(&experiment.readme);
    let mut text = format!("\n## {}\n\n{}\n\n", e.title, prose::part(readme, "Set-up"));
    let _ = writeln!(text, "{} seeds. Again: `tfrc reproduce {}`\n", e.runs, e.id);
    if e.cells.iter().any(|cell| cell.difference.is_some()) {
        text += "| row | column | ns-2 | here | ratio | ± % | verdict |\n|---|---|---:|---:|---:|---:|---|\n";
        e.cells.iter().for_each(|cell| text += &line(cell, cell.column.clone()));
    } else {
        text +=
            "| row | agree | farthest | ns-2 | here | ratio | verdict |\n|---|---:|---|---:|---:|---:|---|\n";
        for cells in e.cells.chunk_by(|one, next| one.row == next.row) {
            let agree = cells.iter().filter(|cell| cell.verdict_ns2 == Some(Verdict::Agrees)).count();
            let distance = |cell: &CellResult| cell.distance.unwrap_or(0.0);
            let farthest = cells.iter().max_by(|a, b| distance(a).total_cmp(&distance(b)));
            let counted = format!("{agree}/{} | {}", cells.len(), farthest.map_or("", |cell| &cell.column));
            text += &farthest.map_or_else(String::new, |cell| line(cell, counted));
        }
    }
    let causes = prose::section(readme, "Why it differs");
    if !causes.is_empty() {
        let _ = write!(text, "\n**Why it differs.** {causes}\n");
    }
    text
}

fn line(cell: &CellResult, column: String) -> String {
    let ratio = cell.ratio.map_or_else(String::new, |ratio| format!("{ratio:.3}"));
    let width = cell.difference.map_or_else(String::new, |half| format!(" {:.1} |", half * 100.0));
    let verdict = cell.verdict_ns2.map_or("", Verdict::word);
    let values = format!("{} | {}", number(cell.ns2), number(cell.measured));
    format!("| {} | {column} | {values} | {ratio} |{width} {verdict} |\n", cell.row)
}
