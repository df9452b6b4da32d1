//! Results as text tables, for terminals.

use std::fmt::Write;
use tfrc_units::saturating;

use super::results::{
    CellResult, ClaimResult, ExperimentResult, ExperimentVerdict, Over, Results, SetupTally, VariantCell,
    VariantResult,
};
use super::verdict::Verdict;

/// All experiments, one after another, then a line for each and the tallies.
#[must_use]
pub fn results(results: &Results) -> String {
    let mut text = String::new();
    for experiment in &results.experiments {
        text += &one(experiment);
        text.push('\n');
    }
    if results.experiments.len() > 1 {
        let width = results.experiments.iter().map(|e| e.id.len()).max().unwrap_or(0);
        for e in &results.experiments {
            let _ = writeln!(text, "{:<width$}  {:<17}  {}", e.id, e.verdict.word(), e.reason);
        }
        text.push('\n');
        text += &tallies(&results.experiments);
    }
    text
}

/// Counts the experiments that agree with the print, with ns-2, and by the one word for both.
fn tallies(experiments: &[ExperimentResult]) -> String {
    let against = |name: &str, verdict: fn(&ExperimentResult) -> Option<Verdict>| {
        let count = |wanted| experiments.iter().filter(|e| verdict(e) == wanted).count();
        format!(
            "{name}: {} agree, {} disagree, {} undetermined, {} are not compared with it\n",
            count(Some(Verdict::Agrees)),
            count(Some(Verdict::Disagrees)),
            count(Some(Verdict::Undetermined)),
            count(None)
        )
    };
    let words = ExperimentVerdict::ALL
        .map(|word| format!("{} {}", experiments.iter().filter(|e| e.verdict == word).count(), word.word()));
    format!(
        "{}{}both: {}\n",
        against("print", |e| e.verdict_print),
        against("ns-2", |e| e.verdict_ns2),
        words.join(", ")
    )
}

/// The undecided parts in one set-up.
pub(crate) fn side(side: &SetupTally) -> String {
    let mut parts = Vec::new();
    if side.cells.total() > 0 {
        parts.push(format!("{} of {} cells", side.cells.agree, side.cells.total()));
    }
    for claim in &side.claims {
        let holds = match claim.holds {
            Some(true) => "holds",
            Some(false) => "fails",
            None => "cannot be told",
        };
        parts.push(format!("\"{}\" {holds} ({})", claim.text, number(claim.value)));
    }
    format!("{} with the print, {}", word(side.verdict), parts.join(", "))
}

/// The word for a comparison; `-` for none.
pub(crate) fn word(verdict: Option<Verdict>) -> &'static str {
    verdict.map_or("-", Verdict::word)
}

/// A ratio with its denominator.
pub(crate) fn ratio(ratio: Option<f64>, over: Option<Over>) -> String {
    match (ratio, over) {
        (Some(x), Some(over)) => format!("{} {}", number(Some(x)), over.words()),
        (x, _) => number(x),
    }
}

/// One experiment.
#[must_use]
pub fn one(e: &ExperimentResult) -> String {
    let mut text = format!("{} · {}\n{}\n", e.id, e.title, e.source);
    let _ = writeln!(text, "{}: {}", e.verdict.word(), e.reason);
    let _ = writeln!(
        text,
        "print {}, ns-2 {}, at most {} seeds, {} packet hops",
        word(e.verdict_print),
        word(e.verdict_ns2),
        e.runs,
        e.packet_hops
    );
    if let Some(emulation) = &e.emulation {
        let _ = writeln!(text, "emulated on {}: {}", emulation.words(), emulation.fidelity_words());
    }
    if !e.cells.is_empty() {
        text.push('\n');
        text += &cells(e).text();
    }
    for claim in &e.claims {
        text.push('\n');
        text += &self::claim(claim);
    }
    for one in &e.undecided {
        let _ = writeln!(
            text,
            "\nundecided: {}\n  as published: {}\n  {}: {}",
            one.text,
            side(&one.as_published),
            one.variant,
            side(&one.otherwise)
        );
    }
    for variant in &e.variants {
        let _ = writeln!(text, "\nvariant {} ({}), {} runs", variant.name, variant.about, variant.runs);
        text += &variant_cells(variant).text();
    }
    text
}

/// A table: its heads, and as many texts in each row.
pub(crate) struct Listing {
    pub(crate) heads: Vec<&'static str>,
    pub(crate) rows: Vec<Vec<String>>,
}

/// The cells of an experiment.
pub(crate) fn cells(e: &ExperimentResult) -> Listing {
    let mut heads = vec!["row", "column", "published", "ns-2", "measured", "± 95 %"];
    if e.emulation.is_some() {
        heads.extend(["emulated", "± 95 %", "runs"]);
    }
    heads.extend(["rfc", "ratio", "seeds", "print", "vs ns-2", "verdict"]);
    Listing { heads, rows: e.cells.iter().map(|cell| row(cell, e.emulation.is_some())).collect() }
}

/// The cells of a variant.
pub(crate) fn variant_cells(variant: &VariantResult) -> Listing {
    let row = |cell: &VariantCell| {
        let VariantCell { row, column, measured, ci95, to_unchanged, ratio: over, ratio_over } = cell.clone();
        let [measured, ci95, to_unchanged] = [measured, ci95, to_unchanged].map(number);
        vec![row, column, measured, ci95, to_unchanged, ratio(over, ratio_over)]
    };
    Listing {
        heads: vec!["row", "column", "measured", "± 95 %", "to unchanged", "ratio"],
        rows: variant.cells.iter().map(row).collect(),
    }
}

/// The verdict of a cell in words, with its notes.
fn verdict(cell: &CellResult) -> String {
    let verdict = cell.verdict.map(|verdict| verdict.word().to_owned());
    let emulated = cell.emulated_note.as_ref().map(|note| format!("emulated: {note}"));
    let parts: Vec<String> = [verdict, cell.note.clone(), emulated].into_iter().flatten().collect();
    parts.join(": ")
}

fn row(cell: &CellResult, with_emulated: bool) -> Vec<String> {
    let mut fields = vec![
        cell.row.clone(),
        cell.column.clone(),
        number(cell.published),
        number(cell.ns2),
        number(cell.measured),
        number(cell.ci95),
    ];
    if with_emulated {
        let runs = cell.emulated_runs.map_or("-".to_owned(), |runs| runs.to_string());
        fields.extend([number(cell.emulated), number(cell.emulated_ci95), runs]);
    }
    fields.extend([
        number(cell.rfc_profile),
        ratio(cell.ratio, cell.ratio_over),
        cell.runs.to_string(),
        word(cell.verdict_print).to_owned(),
        word(cell.verdict_ns2).to_owned(),
        verdict(cell),
    ]);
    fields
}

fn claim(claim: &ClaimResult) -> String {
    let word = |holds: Option<bool>, value: Option<f64>| match holds {
        Some(true) => format!("yes ({})", number(value)),
        Some(false) => format!("NO ({})", number(value)),
        None => "-".to_owned(),
    };
    let here = claim
        .undecidable
        .as_ref()
        .map_or_else(|| word(claim.holds, claim.value), |why| format!("undecidable ({why})"));
    let emulated = claim
        .holds_in_emulation
        .map_or(String::new(), |holds| format!(", emulated {}", word(Some(holds), claim.value_in_emulation)));
    format!(
        "claim: {}\n  {} in {} .. {}: here {}{emulated}, in the source {}, in ns-2 {}\n",
        claim.text,
        claim.formula,
        number(Some(claim.between[0])),
        number(Some(claim.between[1])),
        here,
        word(claim.holds_in_source, claim.value_in_source),
        word(claim.holds_in_ns2, claim.value_in_ns2),
    )
}

/// Four significant digits; `-` for none.
pub(crate) fn number(x: Option<f64>) -> String {
    let Some(x) = x else { return "-".to_owned() };
    if x == 0.0 {
        return "0".to_owned();
    }
    let magnitude = x.abs().log10().floor() as i32;
    if !(-4..=9).contains(&magnitude) {
        return format!("{x:.3e}");
    }
    let decimals = saturating::<usize>((3 - magnitude).max(0));
    format!("{x:.decimals$}")
}

impl Listing {
    /// Columns of their own width, two spaces apart.
    fn text(&self) -> String {
        let heads: Vec<String> = self.heads.iter().map(|head| (*head).to_owned()).collect();
        let lines = || std::iter::once(&heads).chain(&self.rows);
        let cell = |line: &[String], i: usize| line.get(i).cloned().unwrap_or_default();
        let width = |i: usize| lines().map(|line| cell(line, i).chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..heads.len()).map(width).collect();
        let mut text = String::new();
        for line in lines() {
            let fields = widths.iter().enumerate().map(|(i, w)| format!("{:<w$}", cell(line, i)));
            text += fields.collect::<Vec<_>>().join("  ").trim_end();
            text.push('\n');
        }
        text
    }
}
