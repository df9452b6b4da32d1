//! `docs/results.md`: a table for each paper, for readers of the repository.

use std::fmt::Write;

use super::{Publication, prose};
use crate::experiment::human::{self, number, ratio, word};
use crate::experiment::results::{CellResult, Count, ExperimentResult, ExperimentVerdict};
use crate::experiment::verdict::Verdict;

const HEAD: &str = "\
# Results

Each experiment of `experiments/` with its verdicts, written by `tfrc reproduce all`; `experiments.md` defines the
words. A star marks those that must agree with the print or with ns-2.

| column | meaning |
| --- | --- |
| print, ns-2 | the verdict against the published values, and against ns-2.35; `-` where there is nothing to compare |
| verdict | both in one word |
| with print, with ns-2 | informative cells that agree, of those compared |
| ratio | the median of measured over reference, with the reference |
| worst | the cell that is farthest from its nearer reference, in widths of the band, with its ratio |
| claims | how many hold |
| seeds | the most that a point took |
| 10⁶ hops | packet hops of the runs as published: what the experiment costs |

## Tally

";

pub(super) fn page(publication: &Publication<'_>) -> String {
    let mut text = HEAD.to_owned();
    tally(&mut text, publication);
    for (paper, numbers) in publication.published() {
        let (title, about) = publication.paper(paper);
        let _ = write!(text, "\n## {title}\n\n");
        let learnt = prose::part(&about, "What was learnt");
        if !learnt.is_empty() {
            let _ = write!(text, "{learnt}\n\n");
        }
        text += "| experiment | | print | ns-2 | verdict | with print | with ns-2 | ratio | worst | claims | seeds | 10⁶ hops |\n\
                 | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n";
        for number in &numbers {
            text += &line(&publication.results.experiments[*number]);
        }
        for number in numbers {
            text += &undecided(&publication.results.experiments[number]);
        }
    }
    text
}

/// Undecided parts of an experiment, in both set-ups.
fn undecided(e: &ExperimentResult) -> String {
    let mut text = String::new();
    for one in &e.undecided {
        let _ = write!(
            text,
            "\n*Undecided* in {}: {} As published: {}; `{}`: {}.\n",
            e.id,
            plain(&one.text),
            human::side(&one.as_published),
            one.variant,
            human::side(&one.otherwise)
        );
    }
    text
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

/// The line of an experiment: nothing in it depends on others.
fn line(e: &ExperimentResult) -> String {
    let star = if e.must_agree { " *" } else { "" };
    let cells = |count: Count| match count.total() {
        0 => String::new(),
        n => format!("{}/{n}", count.agree),
    };
    let uninformative = match e.tally.uninformative {
        0 => String::new(),
        n => format!(" ({n} uninformative)"),
    };
    let worst = e.worst().filter(|cell| cell.distance.is_some_and(|d| d > 0.0)).map_or(String::new(), shown);
    let claims = match e.tally.claims {
        0 => String::new(),
        n => format!("{}/{n}", e.tally.claims_held),
    };
    let hops = |hops: u64| number(Some(hops as f64 / 1e6));
    let (verdict, seeds, hops) = match e.verdict {
        ExperimentVerdict::NotRun => (format!("not-run: {}", e.reason), String::new(), String::new()),
        other => (other.word().to_owned(), e.runs.to_string(), hops(e.packet_hops)),
    };
    format!(
        "| [{}](../experiments/{}/README.md){star} | {} | {} | {} | {verdict} | {}{uninformative} | {} | {} | {worst} | {claims} | {seeds} | {hops} |\n",
        e.id,
        e.id,
        plain(&e.title),
        word(e.verdict_print),
        word(e.verdict_ns2),
        cells(e.tally.print),
        cells(e.tally.ns2),
        e.tally
            .median_ratio
            .map_or(String::new(), |_| ratio(e.tally.median_ratio, e.tally.median_ratio_over)),
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
