//! The page `docs/peers.md`, made from the samples in `testdata/ns2-peers/`.

use std::fmt::Write;
use std::fs;

use serde::{Deserialize, Serialize};

use super::causes;
use super::verdict::Comparison;
use crate::{Outcome, root};

/// A table with its samples.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Result {
    /// Its name on the command line.
    pub(super) name: String,
    /// Its heading.
    pub(super) title: String,
    /// What was done.
    pub(super) about: String,
    /// Runs on each side.
    pub(super) seeds: u32,
    /// "full" or "quick".
    pub(super) length: String,
    /// What was compared.
    pub(super) cells: Vec<Cell>,
}

/// One quantity at one point.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Cell {
    /// The point.
    pub(super) point: String,
    /// The quantity, with its unit.
    pub(super) quantity: String,
    /// The command of ns-2, but for the seed.
    pub(super) ns2: String,
    /// Our command.
    pub(super) tfrc: String,
    /// ns-2's value in each run; of a trace, at each second.
    pub(super) theirs: Vec<f64>,
    /// Ours.
    pub(super) ours: Vec<f64>,
    /// Of a trace, the largest error.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(super) largest_error: Option<f64>,
    /// The verdict's word.
    pub(super) verdict: String,
}

impl Cell {
    /// The samples compared; `None` of a trace.
    pub(super) fn comparison(&self) -> Option<Comparison> {
        if self.largest_error.is_some() { None } else { Comparison::of(&self.theirs, &self.ours) }
    }
}

const HEAD: &str = "\
# Beside ns-2

Debian's ns-2 (2.35+dfsg-5) and `tfrc sim` on the same scenarios, run together by `cargo xtask peers`, which wrote this page.
The scripts and scenarios are in `peers/ns2/`, every sample with both commands in `testdata/ns2-peers/`. Ours runs with
ns-2's habits switched on (`revision = \"ns2\"`, `settings = \"ns2\"`): what is compared is the simulator, not the RFCs.

A quantity **agrees** when the means over the seeds are within 5 %, or when Welch's test at 99 %, corrected over the table
after Holm, does not tell them apart. It is **inconclusive** when the 99 % interval of the difference reaches further than
10 % of ns-2's mean. Everything else **departs**, and has its cause below the table. ± is half that interval.
";

/// Writes the page from all samples there are.
pub(super) fn write() -> Outcome {
    let folder = root().join("testdata/ns2-peers");
    let mut page = HEAD.to_owned();
    let mut summary =
        String::from("\n| Table | Cells | Agree | Depart | Inconclusive |\n|---|---:|---:|---:|---:|\n");
    let mut sections = String::new();
    for table in super::plan::tables(super::plan::Length::Full) {
        let Ok(text) = fs::read_to_string(folder.join(format!("{}.json", table.name))) else { continue };
        let result: Result = serde_json::from_str(&text).map_err(|e| format!("{}.json: {e}", table.name))?;
        let count = |word: &str| result.cells.iter().filter(|cell| cell.verdict == word).count();
        _ = writeln!(
            summary,
            "| {} | {} | {} | {} | {} |",
            result.title,
            result.cells.len(),
            count("agrees"),
            count("departs"),
            count("inconclusive")
        );
        sections += &section(&result);
    }
    page += &summary;
    page += &sections;
    let path = root().join("docs/peers.md");
    fs::write(&path, page).map_err(|e| format!("{}: {e}", path.display()))
}

/// One table as text.
pub(super) fn section(result: &Result) -> String {
    let mut text = format!("\n## {}\n\n{} `cargo xtask peers {}`\n", result.title, result.about, result.name);
    if result.cells.iter().any(|cell| cell.largest_error.is_some()) {
        text += "\n| Point | Packets, ns-2 | Ours | Largest error, % | Verdict |\n|---|---:|---:|---:|---|\n";
    } else {
        _ = write!(
            text,
            "\n{} seeds on each side{}.\n\n| Point | Quantity | ns-2 | Ours | Ratio | ± % | Verdict |\n|---|---|---:|---:|---:|---:|---|\n",
            result.seeds,
            if result.length == "quick" { ", in short runs" } else { "" }
        );
    }
    for cell in &result.cells {
        if let Some(error) = cell.largest_error {
            let last = |list: &[f64]| list.last().copied().unwrap_or_default();
            let (theirs, ours) = (last(&cell.theirs), cell.ours.get(cell.theirs.len().saturating_sub(1)));
            let ours = ours.copied().unwrap_or_else(|| last(&cell.ours));
            _ = writeln!(
                text,
                "| {} | {theirs} | {ours} | {:.1} | {} |",
                cell.point,
                error * 100.0,
                cell.verdict
            );
        } else if let Some(c) = cell.comparison() {
            _ = writeln!(
                text,
                "| {} | {} | {} | {} | {:.3} | {:.1} | {} |",
                cell.point,
                cell.quantity,
                digits(c.theirs),
                digits(c.ours),
                c.ratio(),
                c.half_width * 100.0,
                cell.verdict
            );
        }
    }
    let mut causes: Vec<(&str, Vec<String>)> = Vec::new();
    for cell in result.cells.iter().filter(|cell| cell.verdict == "departs") {
        let cause = causes::of(&result.name, &cell.point, &cell.quantity).unwrap_or("No cause found yet.");
        let place = format!("{} ({})", cell.point, cell.quantity);
        match causes.iter_mut().find(|(known, _)| *known == cause) {
            Some((_, places)) => places.push(place),
            None => causes.push((cause, vec![place])),
        }
    }
    for (cause, places) in causes {
        _ = write!(text, "\n* {cause} At: {}.\n", places.join("; "));
    }
    text
}

/// Four digits that matter.
fn digits(value: f64) -> String {
    let before = value.abs().max(1e-9).log10().floor() as i32;
    let after = usize::try_from((3 - before).clamp(0, 6)).unwrap_or(0);
    format!("{value:.after$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_four_digits() {
        assert_eq!([digits(1234.56), digits(1.23456), digits(0.012_345_6)], ["1235", "1.235", "0.01235"]);
    }

    #[test]
    fn a_departure_shows_its_cause() {
        let cell = |ours: f64, verdict: &str| Cell {
            point: "here".into(),
            quantity: "rate".into(),
            theirs: vec![10.0, 10.0],
            ours: vec![ours; 2],
            verdict: verdict.into(),
            ..Cell::default()
        };
        let result = Result {
            name: "made-up".into(),
            title: "Made up".into(),
            about: "Nothing was run.".into(),
            seeds: 2,
            length: "full".into(),
            cells: vec![cell(10.0, "agrees"), cell(12.0, "departs")],
        };
        let text = section(&result);
        assert!(text.contains("| here | rate | 10.00 | 12.00 | 1.200 | 0.0 | departs |"), "{text}");
        assert_eq!(text.matches("* No cause found yet. At: here (rate).").count(), 1, "{text}");
    }
}
