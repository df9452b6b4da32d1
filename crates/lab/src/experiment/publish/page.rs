//! The page: everything inlined, everything of the experiments escaped. It reads without scripts; they only draw.

use std::fmt::Write;

use super::{Publication, chart, prose};
use crate::experiment::file::Experiment;
use crate::experiment::human::{number, ratio, side, word};
use crate::experiment::results::{
    CellResult, ClaimResult, ExperimentResult, ExperimentVerdict, VariantResult, is_informative,
};
use crate::experiment::verdict::{CellVerdict, Verdict};
use crate::report::{UPLOT_SCRIPT, UPLOT_STYLE, escape, head, json_in_script};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

pub(super) fn page(publication: &Publication<'_>) -> String {
    let mut out = head("What holds: the literature of TFRC, run again", &[UPLOT_STYLE, STYLE]);
    let results = publication.results;
    out += "<header>\n<h1>What holds: the literature of TFRC, run again</h1>\n<p>";
    let _ = write!(
        out,
        "{} experiments. Code version <code>{}</code>{}{}. Values as JSON: <a href=\"results.json\">results.json</a>.</p>\n</header>\n",
        results.experiments.len(),
        escape(&results.code_version),
        publication.commit.map(|c| format!(", commit <code>{}</code>", escape(c))).unwrap_or_default(),
        if results.quick { ", quick form: too few runs for verdicts" } else { "" },
    );
    overview(&mut out, publication);
    legend(&mut out);
    for (paper, numbers) in publication.papers() {
        let (title, about) = publication.paper(paper);
        let _ = write!(out, "<section id=\"{}\">\n<h2>{}</h2>\n", escape(paper), escape(&title));
        out += &prose::html(&about);
        for i in numbers {
            one(&mut out, i, &publication.experiments[i], &results.experiments[i]);
        }
        out += "</section>\n";
    }
    let all = publication.experiments.iter().zip(&results.experiments);
    let charts: Vec<Option<chart::Charts>> = all.map(|(e, r)| chart::charts(e, r)).collect();
    let _ = write!(
        out,
        "</main>\n<script type=\"application/json\" id=\"charts\">{}</script>\n<script>{UPLOT_SCRIPT}</script>\n\
         <script>\n{SCRIPT}</script>\n</body>\n</html>\n",
        json_in_script(&charts)
    );
    out
}

/// Verdicts by paper: against the print, against ns-2, and in one word.
fn overview(out: &mut String, publication: &Publication<'_>) {
    out.push_str("<div class=\"scroll\"><table>\n<thead><tr><th scope=\"col\">Paper</th>");
    out.push_str("<th scope=\"col\">with the print</th><th scope=\"col\">with ns-2</th>");
    for verdict in ExperimentVerdict::ALL {
        let _ = write!(out, "<th scope=\"col\">{}</th>", verdict.word());
    }
    out.push_str("<th scope=\"col\">claims that hold</th></tr></thead>\n<tbody>\n");
    for (paper, numbers) in publication.papers() {
        let of = || numbers.iter().map(|i| &publication.results.experiments[*i]);
        let _ = write!(
            out,
            "<tr><th scope=\"row\"><a href=\"#{0}\">{1}</a></th>",
            escape(paper),
            escape(&publication.paper(paper).0)
        );
        for verdict in [|e: &ExperimentResult| e.verdict_print, |e: &ExperimentResult| e.verdict_ns2] {
            let agree = of().filter(|e| verdict(e) == Some(Verdict::Agrees)).count();
            let _ = write!(out, "<td>{agree} of {}</td>", of().filter(|e| verdict(e).is_some()).count());
        }
        for verdict in ExperimentVerdict::ALL {
            let count = of().filter(|e| e.verdict == verdict).count();
            let _ = write!(out, "<td>{}</td>", if count == 0 { "–".to_owned() } else { count.to_string() });
        }
        let held: usize = of().map(|e| e.tally.claims_held).sum();
        let claims: usize = of().map(|e| e.tally.claims).sum();
        let _ = writeln!(out, "<td>{held} of {claims}</td></tr>");
    }
    out.push_str("</tbody>\n</table></div>\n");
}

fn legend(out: &mut String) {
    out.push_str(
        "<p class=\"hint\">Open an experiment for its curves, table, claims and scenario. A ratio is measured over the print, or over ns-2 where the cell is \
         judged by ns-2 alone; <span class=\"d0\">● within half the band</span>, <span class=\"d1\">◐ within the band</span>, <span class=\"d2\">▲▼ above or below it</span>, \
         <span class=\"d3\">▲▲▼▼ more than twice its width away</span>.</p>\n<noscript><p>The curves need scripts; everything else does not.</p></noscript>\n",
    );
}

fn one(out: &mut String, i: usize, experiment: &Experiment, e: &ExperimentResult) {
    let star = if e.must_agree { " <abbr title=\"must agree\">*</abbr>" } else { "" };
    let _ = write!(
        out,
        "<details class=\"experiment\" id=\"{id}\" data-charts=\"{i}\">\n<summary><b class=\"verdict {class}\">{word}</b> \
         <span class=\"id\">{id}{star}</span> {title}</summary>\n<p class=\"source\">{source} — print: {print}; ns-2: {ns2}. {reason}.</p>\n",
        print = word(e.verdict_print),
        ns2 = word(e.verdict_ns2),
        id = escape(&e.id),
        class = e.verdict.word(),
        word = e.verdict.word(),
        title = escape(&e.title),
        source = escape(&e.source),
        reason = escape(&e.reason),
    );
    out.push_str(&prose::html(prose::title(&experiment.readme).1));
    out.push_str("<div class=\"charts\"></div>\n");
    if !e.cells.is_empty() {
        cells(out, e);
    }
    if !e.claims.is_empty() {
        claims(out, &e.claims);
    }
    for one in &e.undecided {
        let _ = writeln!(
            out,
            "<h4>Undecided</h4>\n<p>{} As published: {}; <b>{}</b>: {}.</p>",
            escape(&one.text),
            escape(&side(&one.as_published)),
            escape(&one.variant),
            escape(&side(&one.otherwise))
        );
    }
    for variant in &e.variants {
        self::variant(out, variant);
    }
    let _ = write!(
        out,
        "<h4>Again</h4>\n<pre><code>tfrc reproduce {}</code></pre>\n<p class=\"hint\">At most {} seeds for a point, derived from the scenario's. \
         <a href=\"{}.csv\">The table as CSV.</a></p>\n",
        escape(&e.id),
        e.runs,
        escape(&e.id)
    );
    let origins = experiment.origins();
    if !origins.is_empty() {
        out.push_str("<h4>Where the values are from</h4>\n<ul>\n");
        for origin in origins {
            let _ = writeln!(out, "<li>{}</li>", escape(origin));
        }
        out.push_str("</ul>\n");
    }
    for (name, text) in experiment.texts() {
        let _ = writeln!(
            out,
            "<details><summary>{}</summary><pre><code>{}</code></pre></details>",
            escape(&name),
            escape(text)
        );
    }
    out.push_str("</details>\n");
}

fn cells(out: &mut String, e: &ExperimentResult) {
    out.push_str("<div class=\"scroll\"><table>\n<thead><tr>");
    let heads = [
        "row",
        "column",
        "published",
        "ns-2",
        "measured",
        "± 95 %",
        "RFC profile",
        "ratio",
        "seeds",
        "print",
        "against ns-2",
        "verdict",
    ];
    for head in heads {
        let _ = write!(out, "<th scope=\"col\">{head}</th>");
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for cell in &e.cells {
        let (class, mark) = distance(cell);
        let _ =
            write!(out, "<tr><th scope=\"row\">{}</th><td>{}</td>", escape(&cell.row), escape(&cell.column));
        for x in [cell.published, cell.ns2, cell.measured, cell.ci95, cell.rfc_profile] {
            let _ = write!(out, "<td class=\"n\">{}</td>", x.map_or(String::new(), |x| number(Some(x))));
        }
        let ratio = cell.ratio.map_or(String::new(), |_| ratio(cell.ratio, cell.ratio_over));
        let note = cell.note.as_ref().map_or(String::new(), |note| format!(": {}", escape(note)));
        let _ = writeln!(
            out,
            "<td class=\"n {class}\">{ratio} {mark}</td><td class=\"n\">{}</td><td class=\"v\">{}</td><td class=\"v\">{}</td>\
             <td class=\"v\">{}{note}</td></tr>",
            cell.runs,
            word(cell.verdict_print),
            word(cell.verdict_ns2),
            cell.verdict.map_or("", CellVerdict::word)
        );
    }
    out.push_str("</tbody>\n</table></div>\n");
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

fn claims(out: &mut String, claims: &[ClaimResult]) {
    out.push_str("<h4>Claims</h4>\n<div class=\"scroll\"><table class=\"claims\">\n<thead><tr><th scope=\"col\">claim</th>");
    for head in ["here", "in the source's table", "in ns-2"] {
        let _ = write!(out, "<th scope=\"col\">{head}</th>");
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for claim in claims {
        let evidence = claim.evidence.as_ref().map_or(String::new(), |text| format!(" ({})", escape(text)));
        let profile = match claim.profile {
            crate::experiment::Profile::Rfc => ", RFC profile",
            crate::experiment::Profile::AsPublished => "",
        };
        let _ = write!(
            out,
            "<tr><th scope=\"row\">{}{evidence}<br><code>{} in {} … {}{profile}</code></th>",
            escape(&claim.text),
            escape(&claim.formula),
            number(Some(claim.between[0])),
            number(Some(claim.between[1])),
        );
        for (holds, value) in [
            (claim.holds, claim.value),
            (claim.holds_in_source, claim.value_in_source),
            (claim.holds_in_ns2, claim.value_in_ns2),
        ] {
            let (class, word) = match holds {
                Some(true) => ("d0", "✓ "),
                Some(false) => ("d3", "✗ "),
                None => ("", "–"),
            };
            let shown = value.map_or(String::new(), |x| number(Some(x)));
            let _ = write!(out, "<td class=\"n {class}\">{word}{shown}</td>");
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody>\n</table></div>\n");
}

fn variant(out: &mut String, variant: &VariantResult) {
    let _ = write!(
        out,
        "<details><summary>variant <b>{}</b>: {}</summary>\n<pre><code>{}</code></pre>\n<div class=\"scroll\"><table>\n<thead><tr>",
        escape(&variant.name),
        escape(&variant.about),
        escape(&variant.set.join("\n"))
    );
    for head in ["row", "column", "measured", "± 95 %", "to unchanged", "ratio"] {
        let _ = write!(out, "<th scope=\"col\">{head}</th>");
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for cell in &variant.cells {
        let _ =
            write!(out, "<tr><th scope=\"row\">{}</th><td>{}</td>", escape(&cell.row), escape(&cell.column));
        for x in [cell.measured, cell.ci95, cell.to_unchanged] {
            let _ = write!(out, "<td class=\"n\">{}</td>", x.map_or(String::new(), |x| number(Some(x))));
        }
        let ratio = cell.ratio.map_or(String::new(), |_| ratio(cell.ratio, cell.ratio_over));
        let _ = writeln!(out, "<td class=\"n\">{ratio}</td></tr>");
    }
    out.push_str("</tbody>\n</table></div>\n</details>\n");
}
