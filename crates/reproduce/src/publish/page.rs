//! The page: everything inlined, everything of the experiments escaped. It reads and draws without
//! scripts.

use maud::{Markup, PreEscaped, html};

use super::figure::Figure;
use super::{Publication, content, gallery, prose};
use crate::Profile;
use crate::file::Experiment;
use crate::human::{self, number, side};
use crate::results::{CellResult, ClaimResult, ExperimentResult, Over, VariantResult, is_informative};
use crate::verdict::Verdict;
use tfrc_lab::report::{heads, still};

const TITLE: &str = "What holds: the literature of TFRC, run again";
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The page; `drawn` has the figure of each experiment.
pub(super) fn page(publication: &Publication<'_>, drawn: &[Figure]) -> String {
    let panels: Vec<Vec<String>> = drawn.iter().map(Figure::for_page).collect();
    match (publication.experiments, publication.results.experiments.as_slice(), panels.as_slice()) {
        ([experiment], [result], [panels]) => single(publication, experiment, result, panels),
        _ => several(publication, &panels),
    }
}

/// The page of one experiment: its figure, the verdict, the rest of it, and at the end what its
/// paper's experiments taught.
fn single(
    publication: &Publication<'_>,
    experiment: &Experiment,
    e: &ExperimentResult,
    panels: &[String],
) -> String {
    let main = html! {
        header {
            h1 { (e.title) }
            p.source {
                span.id { (e.id) }
                @if let Some(alias) = experiment.conference() { " = " (alias) }
                ", " (e.source) ". Code version " code { (publication.results.code_version) }
                @if let Some(commit) = publication.commit { ", commit " code { (commit) } }
                @if publication.results.quick { ", quick form: too few runs for verdicts" }
                ". Values as JSON: " a href="results.json" { "results.json" } "."
            }
        }
        (body(experiment, e, panels))
        @for (paper, _) in publication.papers() {
            @let (title, about) = publication.paper(paper);
            @if !about.is_empty() {
                section id="paper" {
                    h2 { "The paper: " (title) }
                    (prose::html(&about))
                }
            }
        }
    };
    still(&e.title, STYLE, &main, SCRIPT)
}

/// The page of several experiments.
fn several(publication: &Publication<'_>, panels: &[Vec<String>]) -> String {
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
            nav {
                a href="#findings" { "Findings" } " " a href="#verdicts" { "Table" } " "
                a href="#claims" { "Claims" } " " a href="#experiments" { "Experiments" }
            }
        }
        @for (paper, numbers) in publication.papers() {
            h2 { (publication.paper(paper).0) }
            (gallery::tiles(publication, &numbers, panels))
        }
        section id="findings" {
            h2 { "Findings" }
            @let findings = content::findings(publication, |e| format!("#{}/figure", e.id));
            @if findings.is_empty() { p { "All experiments agree with the print." } }
            (prose::html(&findings))
        }
        section id="verdicts" {
            h2 { "Verdicts" }
            div.scroll { (prose::html(&content::tally(publication))) }
        }
        (gallery::claims(publication))
        section id="experiments" {
            h2 { "Experiments" }
            p.hint { "Open an experiment for its figure, verdict, table, claims and scenario." }
        }
        @for (paper, numbers) in publication.papers() {
            @let (title, about) = publication.paper(paper);
            section id=(paper) {
                h3 { (title) }
                (prose::html(&about))
                @for i in numbers { (one(&publication.experiments[i], &results.experiments[i], &panels[i])) }
            }
        }
    };
    still(TITLE, STYLE, &main, SCRIPT)
}

fn legend() -> Markup {
    html! {
        p.hint {
            "A ratio is measured over the print, or over ns-2 where the cell is judged by ns-2 alone. Its colour is that of the nearer \
             reference, and says \u{201c}by ns-2\u{201d} where that is ns-2: "
            span.d0 { "● within half the band" } ", " span.d1 { "◐ within the band" } ", "
            span.d2 { "▲▼ above or below it" } ", " span.d3 { "▲▲▼▼ more than twice its width away" } "."
        }
    }
}

fn one(experiment: &Experiment, e: &ExperimentResult, panels: &[String]) -> Markup {
    html! {
        details.experiment id=(e.id) {
            summary {
                (gallery::badge(e.verdict)) " "
                span.id { (e.id) @if e.must_agree { " " abbr title="must agree" { "*" } } }
                " " (e.title)
            }
            p.source { (e.source) }
            (body(experiment, e, panels))
        }
    }
}

/// The figure of an experiment with its verdict, and everything behind it.
fn body(experiment: &Experiment, e: &ExperimentResult, panels: &[String]) -> Markup {
    let origins = experiment.origins();
    let name = e.id.rsplit('/').next().unwrap_or_default();
    let (result, about) = prose::without(prose::title(&experiment.readme).1, "Result");
    let failing: Vec<&ClaimResult> =
        e.claims.iter().filter(|claim| claim.counts() && claim.holds == Some(false)).collect();
    html! {
            p.lead id={ (e.id) "/figure" } { (gallery::badge(e.verdict)) " " (content::verdict(e)) }
            @if !panels.is_empty() {
                div.charts.alone[panels.len() == 1] { @for panel in panels { (PreEscaped(panel)) } }
                p.hint {
                    "For a paper: " a href={ (e.id) ".svg" } { "SVG" } ", or "
                    code { "tfrc reproduce " (e.id) " --figure " (name) ".pdf" } "."
                }
            }
            @if !failing.is_empty() {
                h4 { "Claims that fail" }
                ul { @for claim in failing { li { (failure(claim)) } } }
            }
            (prose::html(result))
            @if let Some(emulation) = &e.emulation {
                p.hint { "Emulated on " (emulation.words()) ": " (emulation.fidelity_words()) "." }
            }
            @if !e.cells.is_empty() { h4 { "Cells" } (legend()) (cells(e)) }
            @if !e.claims.is_empty() { (claims(&e.claims)) }
            @for one in &e.undecided {
                h4 { "Undecided" }
                p {
                    (prose::inline(&one.text)) " As published: " (side(&one.as_published)) "; "
                    b { (one.variant) } ": " (side(&one.otherwise)) "."
                }
            }
            @for one in &e.variants { (variant(one)) }
            (prose::html(&about))
            @if !about.contains("## Command") {
                h4 { "Command" }
                pre { code { "tfrc reproduce " (e.id) } }
            }
            p.hint {
                "At most " (e.runs) " seeds for a point, derived from the scenario's. "
                a href={ (e.id) ".csv" } { "The table as CSV." }
            }
            @if !origins.is_empty() {
                h4 { "Where the values are from" }
                ul { @for origin in origins { li { (prose::inline(origin)) } } }
            }
            @for (name, text) in experiment.texts() {
                details { summary { (name) } pre { code { (text) } } }
            }
    }
}

/// A claim that fails: its value here, where it would hold, and what the other sides have.
fn failure(claim: &ClaimResult) -> Markup {
    let others = [
        ("the source's table", claim.holds_in_source, claim.value_in_source),
        ("ns-2", claim.holds_in_ns2, claim.value_in_ns2),
        ("emulation", claim.holds_in_emulation, claim.value_in_emulation),
    ];
    html! {
        "\u{201c}" (prose::inline(&claim.text)) "\u{201d}: " b { (number(claim.value)) } " here, where "
        (number(Some(claim.between[0]))) " to " (number(Some(claim.between[1]))) " would hold."
        @for (who, holds, value) in others {
            @if let Some(holds) = holds {
                " In " (who) " it " @if holds { "holds" } @else { "fails too" } ", with " (number(value)) "."
            }
        }
    }
}

fn cells(e: &ExperimentResult) -> Markup {
    let listing = human::cells(e);
    html! {
        div.scroll {
            table {
                (heads(listing.heads.iter().copied()))
                tbody {
                    @for (cell, row) in e.cells.iter().zip(&listing.rows) {
                        tr {
                            @for (head, text) in listing.heads.iter().zip(row) {
                                @match *head {
                                    "row" => th scope="row" { (text) },
                                    "column" => td { (text) },
                                    "print" | "vs ns-2" | "verdict" => td.v { (text) },
                                    "ratio" => {
                                        @let (class, mark) = distance(cell);
                                        td.n.(class) {
                                            (text) " " (mark)
                                            @if !mark.is_empty() && colour_of(cell) == Over::Ns2 { " by ns-2" }
                                        }
                                    },
                                    _ => td.n { (text) },
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The class and the mark of a cell's distance: distinguishable without colours too.
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

/// The reference whose distance the colour shows: the one that agrees, else the nearer one.
fn colour_of(cell: &CellResult) -> Over {
    let agrees = |verdict| verdict == Some(Verdict::Agrees);
    match (cell.verdict_print, cell.verdict_ns2) {
        (_, None) => Over::Print,
        (None, Some(_)) => Over::Ns2,
        (print, ns2) if agrees(print) != agrees(ns2) => {
            if agrees(ns2) {
                Over::Ns2
            } else {
                Over::Print
            }
        }
        _ => {
            let far = |reference: Option<f64>| {
                Some((cell.measured? - reference?).abs() / reference?.abs().max(f64::MIN_POSITIVE))
            };
            match (far(cell.published), far(cell.ns2)) {
                (Some(print), Some(ns2)) if ns2 < print => Over::Ns2,
                _ => Over::Print,
            }
        }
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
                (prose::inline(&claim.text))
                @if let Some(evidence) = &claim.evidence { " (" (prose::inline(evidence)) ")" }
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
    let listing = human::variant_cells(variant);
    html! {
        details {
            summary { "variant " b { (variant.name) } ": " (prose::inline(&variant.about)) }
            pre { code { (variant.set.join("\n")) } }
            div.scroll {
                table {
                    (heads(listing.heads.iter().copied()))
                    tbody {
                        @for row in &listing.rows {
                            tr {
                                @for (place, text) in row.iter().enumerate() {
                                    @if place == 0 { th scope="row" { (text) } } @else { td.n { (text) } }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
