//! Findings, tallies and lessons, as Markdown: the page for a browser makes HTML of the same text.
//! The two pages differ in where a name leads.

use std::fmt::Write;

use super::{Publication, gallery, prose};
use crate::human;
use crate::results::{ExperimentResult, ExperimentVerdict};
use crate::verdict::Verdict;

/// Verdicts other than agreement with the print, in the order in which a reader wants to hear of
/// them.
const MOST_TELLING_FIRST: [ExperimentVerdict; 5] = [
    ExperimentVerdict::Disagrees,
    ExperimentVerdict::Undecidable,
    ExperimentVerdict::AgreesWithNs2,
    ExperimentVerdict::Undetermined,
    ExperimentVerdict::NotRun,
];

/// Columns of a line of prose.
const WIDTH: usize = 100;

/// The place on a page that the name of an experiment leads to.
pub(super) type Link = fn(&ExperimentResult) -> String;

/// Lists of the experiments that do not agree with the print, by verdict.
pub(super) fn findings(publication: &Publication<'_>, link: Link) -> String {
    let mut text = String::new();
    for verdict in MOST_TELLING_FIRST {
        let mut of = publication.compared().filter(|e| e.verdict == verdict).peekable();
        if of.peek().is_none() {
            continue;
        }
        let _ = write!(text, "\n### {}\n\n", verdict.word());
        for e in of {
            item(&mut text, &format!("{} ({}): {}.", name(e, link), plain(&e.title), plain(&e.reason)));
            for paragraph in undecided(e) {
                item(&mut text, &paragraph);
            }
        }
    }
    text
}

/// The verdict of an experiment in one sentence.
pub(super) fn verdict(e: &ExperimentResult) -> String {
    let words = match (e.verdict, e.verdict_print, e.verdict_ns2) {
        (ExperimentVerdict::AgreesWithNs2, Some(_), _) => "The runs agree with ns-2, and not with the print",
        (ExperimentVerdict::AgreesWithNs2, ..) => "The runs agree with ns-2; nothing is printed",
        (ExperimentVerdict::AgreesWithPrint, ..) => "The runs agree with the print",
        (ExperimentVerdict::Disagrees, Some(_), Some(_)) => "The runs agree with neither the print nor ns-2",
        (ExperimentVerdict::Disagrees, None, _) => "The runs disagree with ns-2",
        (ExperimentVerdict::Disagrees, ..) => "The runs disagree with the print",
        (ExperimentVerdict::NotRun, ..) => return format!("Not run: {}.", e.reason),
        (ExperimentVerdict::Undecidable, ..) => {
            "Two set-ups that fit every sentence of the source fall on different sides of the print"
        }
        (ExperimentVerdict::Undetermined, ..) => "Neither agreement nor disagreement is shown",
    };
    match gallery::counts(e) {
        counts if counts.is_empty() => format!("{words}."),
        counts => format!("{words}: {}.", counts.replace(" · ", ", ")),
    }
}

/// The lessons of each paper.
pub(super) fn lessons(publication: &Publication<'_>) -> String {
    let mut text = String::new();
    for (paper, _) in publication.published() {
        let (title, about) = publication.paper(paper);
        let learnt = prose::part(&about, "What was learnt");
        if !learnt.is_empty() {
            let _ = write!(text, "\n### {title}\n\n");
            learnt.split("\n\n").for_each(|paragraph| item(&mut text, paragraph));
        }
    }
    text
}

/// An experiment's name, linked with its place.
pub(super) fn name(e: &ExperimentResult, link: Link) -> String {
    let star = if e.must_agree { " *" } else { "" };
    format!("[{}]({}){star}", e.id, link(e))
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
pub(super) fn tally(publication: &Publication<'_>) -> String {
    let mut text = String::new();
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
    text
}

/// Text in a cell of a table.
pub(super) fn plain(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ").replace('_', "\\_")
}
