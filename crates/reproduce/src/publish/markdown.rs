//! `docs/results.md`, for readers of the repository: findings first, then tables of all
//! experiments.

use std::fmt::Write;

use super::Publication;
use super::content::{self, plain};
use crate::human::{number, ratio, word};
use crate::results::{CellResult, Count, ExperimentResult, ExperimentVerdict};

const HEAD: &str = "\
# Results

Written by `tfrc reproduce all` from the runs of `experiments/`. The words are defined in
`experiments.md`. A star marks experiments that must agree with the print or with ns-2.

## Findings

Experiments that do not agree with the print, by verdict. The page of each experiment tells the
cause, with the run that shows it, or says that none was found.
";

const VERDICTS: &str = "
## Verdicts

| column | meaning |
| --- | --- |
| print, ns-2 | the verdict against the published values, and against ns-2.35; `-` where there is nothing to compare |
| verdict | both in one word |
| claims | how many hold |

| experiment | | print | ns-2 | verdict | claims |
| --- | --- | --- | --- | --- | --- |
";

const CELLS: &str = "
## Cells and costs

| column | meaning |
| --- | --- |
| with print, with ns-2 | informative cells that agree, of those compared |
| ratio | the median of measured over reference, with the reference |
| farthest cell | the cell that is farthest from its nearer reference, in widths of the band, with its ratio |
| seeds | the most that a point took |
| 10⁶ hops | packet hops of the runs as published: what the experiment costs |

| experiment | with print | with ns-2 | ratio | farthest cell | seeds | 10⁶ hops |
| --- | --- | --- | --- | --- | --- | --- |
";

const EMULATED: &str = "
## Emulation

Real time, real datagrams and the kernel's TCP, recorded with `tfrc reproduce --world emu --record`
in `emulated.csv` of each experiment. The pages of the experiments tell the set-ups.

| column | meaning |
| --- | --- |
| fidelity | the worst of the valid runs |
| over simulation | the median of emulated over simulated, of the cells with both |
| without value | cells without a valid run |
| claims | how many of the simulated side's hold in emulation too |

| experiment | recorded | fidelity | over simulation | without value | claims |
| --- | --- | --- | --- | --- | --- |
";

const EMULATED_CELLS: &str = "\
| row | column | print | ns-2 | simulation | emulation | |
| --- | --- | ---: | ---: | ---: | ---: | --- |
";

/// Emulated cells of an experiment whose values are listed; of larger ones its own page has them.
const MOST_LINES: usize = 60;

pub(super) fn page(publication: &Publication<'_>) -> String {
    let all = || publication.compared();
    let findings = content::findings(publication, readme);
    let (tally, lessons) = (content::tally(publication), content::lessons(publication));
    let mut text =
        format!("{HEAD}{findings}\n## Tally\n\n{tally}\n## Lessons of each paper\n{lessons}{VERDICTS}");
    all().for_each(|e| text += &verdict_line(e));
    text += CELLS;
    all().filter(|e| e.verdict != ExperimentVerdict::NotRun).for_each(|e| text += &cell_line(e));
    emulated(&mut text, all().filter(|e| e.emulation.is_some()));
    text
}

/// The emulated sides of experiments: where they were recorded, then each cell of the small ones.
fn emulated<'a>(text: &mut String, of: impl Iterator<Item = &'a ExperimentResult>) {
    let all: Vec<&ExperimentResult> = of.collect();
    if all.is_empty() {
        return;
    }
    text.push_str(EMULATED);
    for e in &all {
        let Some(emulation) = &e.emulation else { continue };
        let ratios = e.cells.iter().filter(|cell| cell.note.is_none() && cell.emulated_note.is_none());
        let ratios = ratios.filter_map(|cell| Some(cell.emulated? / cell.measured.filter(|x| *x != 0.0)?));
        let median = tfrc_lab::statistics::median(ratios.collect());
        let claims = || e.claims.iter().filter(|claim| claim.holds_in_emulation.is_some());
        let held = claims().filter(|claim| claim.holds_in_emulation == Some(true)).count();
        let claims = match claims().count() {
            0 => String::new(),
            n => format!("{held}/{n}"),
        };
        let invalid = e.cells.iter().filter(|cell| cell.emulated_runs == Some(0)).count();
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {invalid} | {claims} |",
            link(e),
            plain(&emulation.words()),
            plain(&emulation.fidelity_words()),
            median.map_or(String::new(), |ratio| number(Some(ratio))),
        );
    }
    for e in all.into_iter().filter(|e| cells_with_emulation(e).count() <= MOST_LINES) {
        let _ = write!(text, "\n### {}\n\n{EMULATED_CELLS}", plain(&e.title));
        for cell in cells_with_emulation(e) {
            let _ = writeln!(
                text,
                "| {} | {} | {} | {} | {} | {} | {} |",
                plain(&cell.row),
                plain(&cell.column),
                number(cell.published),
                number(cell.ns2),
                number(cell.measured),
                number(cell.emulated),
                plain(cell.emulated_note.as_deref().unwrap_or_default())
            );
        }
    }
}

fn cells_with_emulation(e: &ExperimentResult) -> impl Iterator<Item = &CellResult> {
    e.cells.iter().filter(|cell| cell.emulated_runs.is_some())
}

/// The page of an experiment.
fn readme(e: &ExperimentResult) -> String {
    format!("../experiments/{}/README.md", e.id)
}

/// An experiment's name, linked with its page.
fn link(e: &ExperimentResult) -> String {
    content::name(e, readme)
}

/// The line of an experiment in the table of verdicts.
fn verdict_line(e: &ExperimentResult) -> String {
    let claims = match e.tally.claims {
        0 => String::new(),
        n => format!("{}/{n}", e.tally.claims_held),
    };
    let verdict = match e.verdict {
        ExperimentVerdict::NotRun => format!("not-run: {}", e.reason),
        other => other.word().to_owned(),
    };
    format!(
        "| {} | {} | {} | {} | {verdict} | {claims} |\n",
        link(e),
        plain(&e.title),
        word(e.verdict_print),
        word(e.verdict_ns2)
    )
}

/// The line of an experiment in the table of cells: nothing in it depends on others.
fn cell_line(e: &ExperimentResult) -> String {
    let cells = |count: Count| match count.total() {
        0 => String::new(),
        n => format!("{}/{n}", count.agree),
    };
    let uninformative = match e.tally.uninformative {
        0 => String::new(),
        n => format!(" ({n} uninformative)"),
    };
    let farthest =
        e.worst().filter(|cell| cell.distance.is_some_and(|d| d > 0.0)).map_or(String::new(), shown);
    let median = e.tally.median_ratio;
    format!(
        "| {} | {}{uninformative} | {} | {} | {farthest} | {} | {} |\n",
        link(e),
        cells(e.tally.print),
        cells(e.tally.ns2),
        median.map_or(String::new(), |_| ratio(median, e.tally.median_ratio_over)),
        e.runs,
        number(Some(e.packet_hops as f64 / 1e6))
    )
}

fn shown(cell: &CellResult) -> String {
    let by = cell.ratio.map_or(String::new(), |_| format!(": {}", ratio(cell.ratio, cell.ratio_over)));
    format!("{} {}{by}", plain(&cell.row), plain(&cell.column))
}
