//! `docs/results.md`, for readers of the repository: findings first, then tables of all
//! experiments.

use std::fmt::Write;

use super::{Publication, prose};
use crate::experiment::human::{self, number, ratio, word};
use crate::experiment::results::{CellResult, Count, ExperimentResult, ExperimentVerdict};
use crate::experiment::verdict::Verdict;

/// Verdicts in the order in which a reader wants to hear of them.
const MOST_TELLING_FIRST: [ExperimentVerdict; 5] = [
    ExperimentVerdict::Disagrees,
    ExperimentVerdict::Undecidable,
    ExperimentVerdict::AgreesWithNs2,
    ExperimentVerdict::Undetermined,
    ExperimentVerdict::NotRun,
];

/// Columns of a line of prose.
const WIDTH: usize = 100;

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
    let mut text = HEAD.to_owned();
    let papers = publication.published();
    let all = || {
        papers.iter().flat_map(|(_, numbers)| numbers).filter_map(|i| publication.results.experiments.get(*i))
    };
    for verdict in MOST_TELLING_FIRST {
        findings(&mut text, verdict, all().filter(|e| e.verdict == verdict));
    }
    text += "\n## Tally\n\n";
    tally(&mut text, publication);
    text += "\n## Lessons of each paper\n";
    for (paper, _) in &papers {
        let (title, about) = publication.paper(paper);
        let learnt = prose::part(&about, "What was learnt");
        if !learnt.is_empty() {
            let _ = write!(text, "\n### {title}\n\n");
            for paragraph in learnt.split("\n\n") {
                item(&mut text, paragraph);
            }
        }
    }
    text += VERDICTS;
    all().for_each(|e| text += &verdict_line(e));
    text += CELLS;
    all().filter(|e| e.verdict != ExperimentVerdict::NotRun).for_each(|e| text += &cell_line(e));
    pictures(&mut text, publication);
    emulated(&mut text, all().filter(|e| e.emulation.is_some()));
    text
}

/// The pictures of tables; the files lie next to the page.
fn pictures(text: &mut String, publication: &Publication<'_>) {
    let pictured = publication.experiments.iter().filter(|experiment| experiment.picture.is_some());
    for experiment in pictured {
        let name = experiment.id.rsplit('/').next().unwrap_or_default();
        let _ = write!(
            text,
            "\n## Picture of {0}\n\n![The table as cells of colour]({name}.svg)\n",
            experiment.id
        );
    }
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
        let median = crate::statistics::median(ratios.collect());
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

/// A list of the experiments with one verdict.
fn findings<'a>(
    text: &mut String,
    verdict: ExperimentVerdict,
    of: impl Iterator<Item = &'a ExperimentResult>,
) {
    let mut of = of.peekable();
    if of.peek().is_none() {
        return;
    }
    let _ = write!(text, "\n### {}\n\n", verdict.word());
    for e in of {
        item(text, &format!("{} ({}): {}.", link(e), plain(&e.title), plain(&e.reason)));
        for paragraph in undecided(e) {
            item(text, &paragraph);
        }
    }
}

/// An item of a list, wrapped.
fn item(text: &mut String, words: &str) {
    let mut line = "*".to_owned();
    for word in words.split_whitespace() {
        if line.chars().count() + 1 + word.chars().count() > WIDTH {
            text.push_str(&line);
            text.push('\n');
            " ".clone_into(&mut line);
        }
        line.push(' ');
        line.push_str(word);
    }
    text.push_str(&line);
    text.push('\n');
}

/// Undecided parts of an experiment, in both set-ups.
fn undecided(e: &ExperimentResult) -> impl Iterator<Item = String> {
    e.undecided.iter().map(|one| {
        format!(
            "*Undecided* in {}: {} As published: {}; `{}`: {}.",
            e.id,
            plain(&one.text),
            human::side(&one.as_published),
            one.variant,
            human::side(&one.otherwise)
        )
    })
}

/// Experiments by verdict: a line for each paper, and for all.
fn tally(text: &mut String, publication: &Publication<'_>) {
    let words = ExperimentVerdict::ALL.map(ExperimentVerdict::word).join(" | ");
    let _ = writeln!(text, "| paper | print | ns-2 | {words} |");
    text.push_str(&"| --- ".repeat(3 + ExperimentVerdict::ALL.len()));
    text.push_str("|\n");
    let all = &publication.results.experiments;
    let mut add = |name: &str, numbers: &[usize]| {
        let of = || numbers.iter().filter_map(|number| all.get(*number));
        let against = |verdict: fn(&ExperimentResult) -> Option<Verdict>| {
            let agree = of().filter(|e| verdict(e) == Some(Verdict::Agrees)).count();
            format!("{agree}/{}", of().filter(|e| verdict(e).is_some()).count())
        };
        let counts = ExperimentVerdict::ALL
            .map(|wanted| of().filter(|e| e.verdict == wanted).count().to_string())
            .join(" | ");
        let (print, ns2) = (against(|e| e.verdict_print), against(|e| e.verdict_ns2));
        let _ = writeln!(text, "| {} | {print} | {ns2} | {counts} |", plain(name));
    };
    let papers = publication.published();
    for (paper, numbers) in &papers {
        add(paper, numbers);
    }
    add("all", &papers.into_iter().flat_map(|(_, numbers)| numbers).collect::<Vec<_>>());
    text.push_str(
        "\n`print` and `ns-2`: experiments that agree with it, of those that are compared with it.\n",
    );
}

/// An experiment's name, linked with its page.
fn link(e: &ExperimentResult) -> String {
    let star = if e.must_agree { " *" } else { "" };
    format!("[{}](../experiments/{}/README.md){star}", e.id, e.id)
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

/// Text in a cell of a table.
fn plain(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ").replace('_', "\\_")
}
