//! The first part of the page: a tile with its drawing for each experiment, and claims.

use maud::{Markup, PreEscaped, html};

use super::{Publication, prose};
use crate::human::number;
use crate::results::{ClaimResult, Count, ExperimentResult, ExperimentVerdict};
use tfrc_lab::report::heads;

/// The word of a verdict with a mark: colours alone are not enough.
pub(super) fn badge(verdict: ExperimentVerdict) -> Markup {
    let (mark, words) = match verdict {
        ExperimentVerdict::AgreesWithNs2 => ("≈", "agrees with ns-2"),
        ExperimentVerdict::AgreesWithPrint => ("✓", "agrees with the print"),
        ExperimentVerdict::Disagrees => ("✗", "disagrees"),
        ExperimentVerdict::NotRun => ("–", "not run"),
        ExperimentVerdict::Undecidable => ("⇅", "undecidable"),
        ExperimentVerdict::Undetermined => ("?", "undetermined"),
    };
    html! { b.verdict.(verdict.word()) { (mark) " " (words) } }
}

/// The tiles of a paper; `drawings` are the panels of each experiment.
pub(super) fn tiles(publication: &Publication<'_>, numbers: &[usize], drawings: &[Vec<String>]) -> Markup {
    html! {
        ul.gallery {
            @for i in numbers {
                @let e = &publication.results.experiments[*i];
                @let alias = publication.experiments[*i].conference();
                li {
                    // Its place inside of the experiment's part has a browser open that part.
                    a.tile.(e.verdict.word()) href={ "#" (e.id) "/figure" } {
                        span.head {
                            (badge(e.verdict))
                            span.id {
                                (e.id) @if let Some(alias) = &alias { " = " (alias) }
                                @if e.must_agree { " " abbr title="must agree" { "*" } }
                            }
                        }
                        @match drawings[*i].first() {
                            Some(svg) => { (PreEscaped(svg)) }
                            None => { span.empty { "nothing to draw" } }
                        }
                        span.title { (e.title) }
                        span.count { (counts(e)) }
                    }
                }
            }
        }
    }
}

/// Cells and claims that agree, in one line.
pub(super) fn counts(e: &ExperimentResult) -> String {
    let of = |count: Count, with: &str| match count.total() {
        0 => None,
        all => Some(format!("{} of {all} cells with {with}", count.agree)),
    };
    let claims =
        (e.tally.claims > 0).then(|| format!("{} of {} claims hold", e.tally.claims_held, e.tally.claims));
    let parts = [of(e.tally.print, "the print"), of(e.tally.ns2, "ns-2"), claims];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

/// Claims that do not hold here although the source's own table does not contradict them.
pub(super) fn claims(publication: &Publication<'_>) -> Markup {
    let results = &publication.results.experiments;
    let all = || results.iter().flat_map(|e| e.claims.iter().map(move |claim| (e, claim)));
    let fails = |claim: &ClaimResult| claim.is_of_print() && claim.holds == Some(false);
    let of_print = all().filter(|(_, claim)| claim.is_of_print()).count();
    let holding = all().filter(|(_, claim)| claim.is_of_print() && claim.holds == Some(true)).count();
    html! {
        @if of_print > 0 {
            section id="claims" {
                h2 { "Claims" }
                p {
                    (holding) " of the " (of_print) " claims of the print hold here. The experiments below \
                     have all of them with their formulas."
                }
                @if all().any(|(_, claim)| fails(claim)) {
                    div.scroll {
                        table.claims {
                            (heads(["claim that does not hold here", "experiment", "here", "holds in", "in ns-2"]))
                            tbody {
                                @for (e, claim) in all().filter(|(_, claim)| fails(claim)) {
                                    tr {
                                        th scope="row" { (prose::inline(&claim.text)) }
                                        td { (link(e)) }
                                        td.n.d3 { "✗ " (number(claim.value)) }
                                        td.n { (number(Some(claim.between[0]))) " … " (number(Some(claim.between[1]))) }
                                        td.n { (number(claim.value_in_ns2)) }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn link(e: &ExperimentResult) -> Markup {
    html! { a href={ "#" (e.id) "/figure" } { (e.id) } }
}
