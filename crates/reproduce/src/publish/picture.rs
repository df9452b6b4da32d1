//! The picture of a table: panels of coloured cells, each with its numbers, as SVG.

use std::fmt::Write;

use crate::file::{Experiment, Picture};
use crate::human::number;
use crate::results::{CellResult, ExperimentResult};
use tfrc_lab::formula;

/// Width and height of a cell.
const CELL: (f64, f64) = (46.0, 34.0);
/// Space for the labels of a panel: left of it and above it.
const LABEL: (f64, f64) = (46.0, 38.0);
/// Space between panels.
const GAP: f64 = 14.0;
/// Space for the title.
const HEAD: f64 = 54.0;
/// A factor from 1, either way, that has the full colour.
const FULL: f64 = 4.0;

/// The picture; `None` if the experiment asks for none.
pub(super) fn picture(experiment: &Experiment, result: &ExperimentResult) -> Option<String> {
    let drawing = Drawing { experiment, result, picture: experiment.picture.as_ref()? };
    Some(drawing.svg())
}

struct Drawing<'a> {
    experiment: &'a Experiment,
    result: &'a ExperimentResult,
    picture: &'a Picture,
}

/// One value of a cell in one world.
struct Shown {
    value: f64,
    is_settled: bool,
}

impl Drawing<'_> {
    fn svg(&self) -> String {
        let Picture { panels: [down_panels, across_panels], across, down, column } = self.picture;
        let (across, down) = (self.values(*across), self.values(*down));
        let (rows, columns) = (self.values(*down_panels), self.values(*across_panels));
        let panel = (LABEL.0 + CELL.0 * across.len() as f64, LABEL.1 + CELL.1 * down.len() as f64);
        let width = GAP + (panel.0 + GAP) * columns.len() as f64;
        let height = HEAD + (panel.1 + GAP) * rows.len() as f64;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
             font-family=\"sans-serif\" font-size=\"12\" role=\"img\">\n\
             <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n"
        );
        text(&mut svg, (GAP, 20.0), "font-size=\"15\" font-weight=\"bold\"", &self.experiment.title);
        let about = format!(
            "{column}: emulated (large) above simulated (small); orange above 1, blue below, full colour at a \
             factor of {FULL}; grey and in brackets: not settled"
        );
        text(&mut svg, (GAP, 40.0), "fill=\"#444444\"", &about);
        for (i, row) in rows.iter().enumerate() {
            for (j, name) in columns.iter().enumerate() {
                let at = (GAP + (panel.0 + GAP) * j as f64, HEAD + (panel.1 + GAP) * i as f64);
                self.panel(&mut svg, at, [row, name], &across, &down);
            }
        }
        svg.push_str("</svg>\n");
        svg
    }

    /// The texts of a key in their order: those with a number at the beginning by that, then the
    /// others as they come.
    fn values(&self, key: usize) -> Vec<String> {
        let mut list: Vec<String> = Vec::new();
        for text in self.experiment.published.rows.iter().filter_map(|row| row.keys.get(key)) {
            if !list.contains(text) {
                list.push(text.clone());
            }
        }
        let beginning = |text: &String| {
            let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
            formula::number(text).or_else(|| text[..end].parse().ok()).unwrap_or(f64::INFINITY)
        };
        list.sort_by(|a, b| beginning(a).total_cmp(&beginning(b)));
        list
    }

    /// A panel: the cells with these keys.
    fn panel(&self, svg: &mut String, at: (f64, f64), of: [&str; 2], across: &[String], down: &[String]) {
        let found = |x: &str, y: &str| {
            let Picture { panels, across, down, .. } = self.picture;
            let wanted = [(panels[0], of[0]), (panels[1], of[1]), (*across, x), (*down, y)];
            let fits = |keys: &[String]| {
                wanted.iter().all(|(key, text)| keys.get(*key).is_some_and(|one| one == text))
            };
            let row = self.experiment.published.rows.iter().find(|row| fits(&row.keys))?;
            let mut cells = self.result.cells.iter();
            Some(cells.find(|cell| cell.row == row.name && cell.column == self.picture.column))
        };
        let (left, top) = (at.0 + LABEL.0, at.1 + LABEL.1);
        let middle = left + CELL.0 * across.len() as f64 / 2.0;
        let title = format!("{} · {}", of[0], of[1]);
        text(svg, (middle, at.1 + 13.0), "text-anchor=\"middle\" font-weight=\"bold\"", &title);
        for (i, x) in across.iter().enumerate() {
            let middle = left + CELL.0 * (i as f64 + 0.5);
            text(svg, (middle, top - 5.0), "text-anchor=\"middle\" fill=\"#444444\"", x);
        }
        for (j, y) in down.iter().enumerate() {
            let y_at = top + CELL.1 * j as f64;
            text(svg, (left - 5.0, y_at + 21.0), "text-anchor=\"end\" fill=\"#444444\"", y);
            for (i, x) in across.iter().enumerate() {
                // Nothing stands where the table has no row.
                if let Some(found) = found(x, y) {
                    cell(svg, (left + CELL.0 * i as f64, y_at), found);
                }
            }
        }
    }
}

/// A cell with its colour and numbers.
fn cell(svg: &mut String, at: (f64, f64), of: Option<&CellResult>) {
    let shown = |value: Option<f64>, note: &Option<String>| {
        let is_settled = !note.as_ref().is_some_and(|note| note.starts_with("not settled"));
        value.map(|value| Shown { value, is_settled })
    };
    let emulated = of.and_then(|cell| shown(cell.emulated, &cell.emulated_note));
    let simulated = of.and_then(|cell| shown(cell.measured, &cell.note));
    let settled = [&emulated, &simulated].into_iter().flatten().find(|one| one.is_settled);
    let fill = settled.map_or_else(|| "#eeeeee".to_owned(), |one| colour(one.value));
    let _ = writeln!(
        svg,
        "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{fill}\" stroke=\"#ffffff\"/>",
        at.0, at.1, CELL.0, CELL.1
    );
    let middle = at.0 + CELL.0 / 2.0;
    let mut write = |one: &Option<Shown>, y: f64, style: &str| {
        let Some(Shown { value, is_settled }) = one else { return };
        let (words, ink) = match is_settled {
            true => (short(*value), "#000000"),
            false => (format!("({})", short(*value)), "#777777"),
        };
        text(svg, (middle, at.1 + y), &format!("text-anchor=\"middle\" fill=\"{ink}\" {style}"), &words);
    };
    write(&emulated, 15.0, "font-size=\"13\" font-weight=\"bold\"");
    write(&simulated, 29.0, "font-size=\"10.5\"");
    if emulated.is_none() && simulated.is_none() && of.is_some() {
        text(svg, (middle, at.1 + 21.0), "text-anchor=\"middle\" fill=\"#777777\"", "–");
    }
}

/// Two or three digits.
fn short(x: f64) -> String {
    match x {
        x if x.abs() >= 100.0 => number(Some(x)),
        x if x.abs() >= 9.95 => format!("{x:.0}"),
        x if x.abs() >= 0.995 => format!("{x:.1}"),
        x => format!("{x:.2}"),
    }
}

/// White at 1, orange above it, blue below, by the logarithm.
fn colour(x: f64) -> String {
    let part = if x > 0.0 { (x.ln() / FULL.ln()).clamp(-1.0, 1.0) } else { -1.0 };
    let full = if part > 0.0 { [240.0, 146.0, 48.0] } else { [92.0, 156.0, 222.0] };
    let [red, green, blue] =
        full.map(|light: f64| tfrc_units::u64_from_f64(255.0 + (light - 255.0) * part.abs()));
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// A line of text, escaped.
fn text(svg: &mut String, at: (f64, f64), style: &str, words: &str) {
    let words = words.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let _ = writeln!(svg, "<text x=\"{}\" y=\"{}\" {style}>{words}</text>", at.0, at.1);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_and_digits() {
        assert_eq!(
            (colour(1.0), colour(4.0), colour(0.1)),
            ("#ffffff".into(), "#f09230".into(), "#5c9cde".into())
        );
        assert_eq!(colour(f64::NAN), colour(0.0));
        assert_eq!([0.044, 0.996, 1.26, 12.6, 123.4].map(short), ["0.04", "1.0", "1.3", "13", "123.4"]);
    }
}
