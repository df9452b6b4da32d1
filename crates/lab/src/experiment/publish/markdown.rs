//! `docs/results.md`: a table for each paper, for readers of the repository.

use std::fmt::Write;

use super::{Publication, prose};
use crate::experiment::human::number;
use crate::experiment::results::{CellResult, ExperimentResult};

const HEAD: &str = "\
# Results

Each experiment of `experiments/` with its verdict, written by `tfrc reproduce all`. What the words mean is in `experiments.md`; a star marks those that must agree. *Cells*: how many of the
informative ones agree; *ratio*: the median of measured over published; *worst*: the cell that is farthest from its reference, in widths of its band, with its ratio; *claims*: how many hold.
";

pub(super) fn page(publication: &Publication<'_>) -> String {
    let mut text = HEAD.to_owned();
    for (paper, numbers) in publication.papers() {
        let (title, about) = publication.paper(paper);
        let _ = write!(text, "\n## {title}\n\n");
        let learnt = prose::part(&about, "What was learnt");
        if !learnt.is_empty() {
            let _ = write!(text, "{learnt}\n\n");
        }
        text += "| experiment | | verdict | cells | ratio | worst | claims |\n| --- | --- | --- | --- | --- | --- | --- |\n";
        for number in numbers {
            text += &line(&publication.results.experiments[number]);
        }
    }
    text
}

/// The line of an experiment: nothing in it depends on others.
fn line(e: &ExperimentResult) -> String {
    let star = if e.must_agree { " *" } else { "" };
    let counted = e.tally.agree + e.tally.disagree + e.tally.undetermined;
    let cells = match (counted, e.tally.uninformative) {
        (0, 0) => String::new(),
        (n, 0) => format!("{}/{n}", e.tally.agree),
        (n, other) => format!("{}/{n} ({other} uninformative)", e.tally.agree),
    };
    let worst = e.worst().filter(|cell| cell.distance.is_some_and(|d| d > 0.0)).map_or(String::new(), shown);
    let claims = match e.tally.claims {
        0 => String::new(),
        n => format!("{}/{n}", e.tally.claims_held),
    };
    let verdict = match e.verdict {
        crate::experiment::ExperimentVerdict::NotRun => format!("not-run: {}", e.reason),
        other => other.word().to_owned(),
    };
    format!(
        "| [{}](../experiments/{}/README.md){star} | {} | {verdict} | {cells} | {} | {worst} | {claims} |\n",
        e.id,
        e.id,
        plain(&e.title),
        e.tally.median_ratio.map_or(String::new(), |x| number(Some(x))),
    )
}

fn shown(cell: &CellResult) -> String {
    let ratio = cell.ratio.map_or(String::new(), |ratio| format!(": {}", number(Some(ratio))));
    format!("{} {}{ratio}", plain(&cell.row), plain(&cell.column))
}

/// Text in a cell of a table.
fn plain(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ").replace('_', "\\_")
}
