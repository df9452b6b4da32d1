//! The page: everything inlined, everything of the experiments escaped. It reads without scripts;
//! they only draw.

use maud::{Markup, PreEscaped, html};

use super::{Publication, chart, picture, prose};
use crate::experiment::Profile;
use crate::experiment::file::Experiment;
use crate::experiment::human::{number, ratio, side, verdict, word};
use crate::experiment::results::{
    CellResult, ClaimResult, ExperimentResult, ExperimentVerdict, VariantResult, is_informative,
};
use crate::experiment::verdict::Verdict;
use crate::report::{document, heads};

const TITLE: &str = "What holds: the literature of TFRC, run again";
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

pub(super) fn page(publication: &Publication<'_>) -> String {
    let results = publication.results;
    let main = html! {
        header {
            h1 { (TITLE) }
            p {
                (results.experiments.len()) " experiments. Code version " code { (results.code_version) }
                @if let Some(commit) = publication.commit { ", commit " code { (commit) } }
                @if results.quick { ", quick form: too few runs for verdicts" }
                ". Values as JSON: " a href="results.json" { "results.json" } "."
            }
        }
        (overview(publication))
        (legend())
        @for (paper, numbers) in publication.papers() {
            @let (title, about) = publication.paper(paper);
            section id=(paper) {
                h2 { (title) }
                (prose::html(&about))
                @for i in numbers { (one(i, &publication.experiments[i], &results.experiments[i])) }
            }
        }
    };
    let all = publication.experiments.iter().zip(&results.experiments);
    let charts: Vec<Option<chart::Charts>> = all.map(|(e, r)| chart::charts(e, r)).collect();
    document(TITLE, STYLE, &main, ("charts", &charts), SCRIPT)
}

/// Verdicts by paper: against the print, against ns-2, and in one word.
fn overview(publication: &Publication<'_>) -> Markup {
    let verdicts = ExperimentVerdict::ALL.map(ExperimentVerdict::word);
    let columns = ["Paper", "with the print", "with ns-2"].into_iter().chain(verdicts);
    html! {
        div.scroll {
            table {
                (heads(columns.chain(["claims that hold"])))
                tbody {
                    @for (paper, numbers) in publication.papers() {
                        @let all: Vec<_> =
                            numbers.iter().map(|i| &publication.results.experiments[*i]).collect();
                        tr {
                            th scope="row" { a href={ "#" (paper) } { (publication.paper(paper).0) } }
                            td { (agreeing(&all, |e| e.verdict_print)) }
                            td { (agreeing(&all, |e| e.verdict_ns2)) }
                            @for verdict in ExperimentVerdict::ALL {
                                @let count = all.iter().filter(|e| e.verdict == verdict).count();
                                td { @if count == 0 { "–" } @else { (count) } }
                            }
                            td {
                                (all.iter().map(|e| e.tally.claims_held).sum::<usize>()) " of "
                                (all.iter().map(|e| e.tally.claims).sum::<usize>())
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Number of experiments that agree, of those that were compared.
fn agreeing(all: &[&ExperimentResult], verdict: fn(&ExperimentResult) -> Option<Verdict>) -> String {
    let agree = all.iter().filter(|e| verdict(e) == Some(Verdict::Agrees)).count();
    format!("{agree} of {}", all.iter().filter(|e| verdict(e).is_some()).count())
}

fn legend() -> Markup {
    html! {
        p.hint {
            "Open an experiment for its curves, table, claims and scenario. A ratio is measured over the \
             print, or over ns-2 where the cell is judged by ns-2 alone; "
            span.d0 { "● within half the band" } ", " span.d1 { "◐ within the band" } ", "
            span.d2 { "▲▼ above or below it" } ", " span.d3 { "▲▲▼▼ more than twice its width away" } "."
        }
        noscript { p { "The curves need scripts; everything else does not." } }
    }
}

fn one(i: usize, experiment: &Experiment, e: &ExperimentResult) -> Markup {
    let origins = experiment.origins();
    let word_of_all = e.verdict.word();
    html! {
        details.experiment id=(e.id) data-charts=(i) {
            summary {
                b.verdict.(word_of_all) { (word_of_all) } " "
                span.id { (e.id) @if e.must_agree { " " abbr title="must agree" { "*" } } }
                " " (e.title)
            }
            p.source {
                (e.source) " — print: " (word(e.verdict_print)) "; ns-2: " (word(e.verdict_ns2)) ". "
                (e.reason) "."
            }
            (prose::html(prose::title(&experiment.readme).1))
            @if let Some(emulation) = &e.emulation {
                p.hint { "Emulated on " (emulation.words()) ": " (emulation.fidelity_words()) "." }
            }
            @if let Some(svg) = picture::picture(experiment, e) { div.scroll { (PreEscaped(svg)) } }
            div.charts {}
            @if !e.cells.is_empty() { (cells(e)) }
            @if !e.claims.is_empty() { (claims(&e.claims)) }
            @for one in &e.undecided {
                h4 { "Undecided" }
                p {
                    (one.text) " As published: " (side(&one.as_published)) "; "
                    b { (one.variant) } ": " (side(&one.otherwise)) "."
                }
            }
            @for one in &e.variants { (variant(one)) }
            h4 { "Again" }
            pre { code { "tfrc reproduce " (e.id) } }
            p.hint {
                "At most " (e.runs) " seeds for a point, derived from the scenario's. "
                a href={ (e.id) ".csv" } { "The table as CSV." }
            }
            @if !origins.is_empty() {
                h4 { "Where the values are from" }
                ul { @for origin in origins { li { (origin) } } }
            }
            @for (name, text) in experiment.texts() {
                details { summary { (name) } pre { code { (text) } } }
            }
        }
    }
}

fn cells(e: &ExperimentResult) -> Markup {
    const BEFORE: [&str; 6] = ["row", "column", "published", "ns-2", "measured", "± 95 %"];
    const EMULATED: [&str; 2] = ["emulated", "± 95 %"];
    const AFTER: [&str; 6] = ["RFC profile", "ratio", "seeds", "print", "against ns-2", "verdict"];
    let emulated = e.emulation.is_some();
    let names = BEFORE.into_iter().chain(EMULATED.into_iter().filter(|_| emulated)).chain(AFTER);
    html! {
        div.scroll {
            table {
                (heads(names))
                tbody {
                    @for cell in &e.cells {
                        @let (class, mark) = distance(cell);
                        tr {
                            th scope="row" { (cell.row) }
                            td { (cell.column) }
                            (values([cell.published, cell.ns2, cell.measured, cell.ci95]))
                            @if emulated { (values([cell.emulated, cell.emulated_ci95])) }
                            (values([cell.rfc_profile]))
                            td.n.(class) {
                                @if cell.ratio.is_some() { (ratio(cell.ratio, cell.ratio_over)) } " " (mark)
                            }
                            td.n { (cell.runs) }
                            td.v { (word(cell.verdict_print)) }
                            td.v { (word(cell.verdict_ns2)) }
                            td.v { (verdict(cell)) }
                        }
                    }
                }
            }
        }
    }
}

/// Cells of numbers; unknown ones are empty.
fn values<const N: usize>(numbers: [Option<f64>; N]) -> Markup {
    html! { @for x in numbers { td.n { @if x.is_some() { (number(x)) } } } }
}

/// The class and the mark of a cell's distance: to be told apart without colours too.
fn distance(cell: &CellResult) -> (&'static str, &'static str) {
    let Some(distance) = cell.distance.filter(|_| is_informative(cell)) else { return ("", "") };
    let above = match cell.ratio {
        Some(ratio) => ratio > 1.0,
        None => cell.measured > cell.published.or(cell.ns2),
    };
    match (distance, above) {
        (d, _) if d <= 0.5 => ("d0", "●"),
        (d, _) if d <= 1.0 => ("d1", "◐"),
        (d, true) if d <= 2.0 => ("d2", "▲"),
        (d, false) if d <= 2.0 => ("d2", "▼"),
        (_, true) => ("d3", "▲▲"),
        (_, false) => ("d3", "▼▼"),
    }
}

fn claims(claims: &[ClaimResult]) -> Markup {
    html! {
        h4 { "Claims" }
        div.scroll {
            table.claims {
                (heads(["claim", "here", "emulated", "in the source's table", "in ns-2"]))
                tbody { @for one in claims { (claim(one)) } }
            }
        }
    }
}

fn claim(claim: &ClaimResult) -> Markup {
    let sides = [
        (claim.holds, claim.value),
        (claim.holds_in_emulation, claim.value_in_emulation),
        (claim.holds_in_source, claim.value_in_source),
        (claim.holds_in_ns2, claim.value_in_ns2),
    ];
    html! {
        tr {
            th scope="row" {
                (claim.text)
                @if let Some(evidence) = &claim.evidence { " (" (evidence) ")" }
                @if let Some(why) = &claim.undecidable { " — " b { "undecidable" } ": " (why) }
                br;
                code {
                    (claim.formula) " in " (number(Some(claim.between[0]))) " … "
                    (number(Some(claim.between[1])))
                    @match claim.profile { Profile::Rfc => { ", RFC profile" }, Profile::AsPublished => {} }
                }
            }
            @for (holds, value) in sides {
                @let (class, word) = match holds {
                    Some(true) => ("d0", "✓ "),
                    Some(false) => ("d3", "✗ "),
                    None => ("", "–"),
                };
                td.n.(class) { (word) @if value.is_some() { (number(value)) } }
            }
        }
    }
}

fn variant(variant: &VariantResult) -> Markup {
    html! {
        details {
            summary { "variant " b { (variant.name) } ": " (variant.about) }
            pre { code { (variant.set.join("\n")) } }
            div.scroll {
                table {
                    (heads(["row", "column", "measured", "± 95 %", "to unchanged", "ratio"]))
                    tbody {
                        @for cell in &variant.cells {
                            tr {
                                th scope="row" { (cell.row) }
                                td { (cell.column) }
                                (values([cell.measured, cell.ci95, cell.to_unchanged]))
                                td.n { @if cell.ratio.is_some() { (ratio(cell.ratio, cell.ratio_over)) } }
                            }
                        }
                    }
                }
            }
        }
    }
}
