//! A terminal's cells as SVG. Dots and lines are drawn, so that no font has to have them.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier};
use tfrc_cli::live::{Model, draw};

/// Units of a cell.
const CELL: (u16, u16) = (12, 24);
/// Units of the frame around the cells.
const MARGIN: u16 = 18;
const BACKGROUND: &str = "#0d1117";

/// The chart of a run in a terminal of this size.
pub(crate) fn picture(model: &Model, columns: u16, rows: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).expect("memory");
    terminal.draw(|frame| draw(model, frame.area(), frame.buffer_mut())).expect("memory");
    let (width, height) = (columns * CELL.0 + 2 * MARGIN, rows * CELL.1 + 2 * MARGIN);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" role=\"img\" \
         font-family=\"ui-monospace,DejaVu Sans Mono,Menlo,Consolas,monospace\" font-size=\"20\">\n\
         <title>tfrc demo: TFRC and two TCPs share a link that halves</title>\n\
         <rect width=\"{width}\" height=\"{height}\" rx=\"12\" fill=\"{BACKGROUND}\"/>\n"
    );
    let buffer = terminal.backend().buffer();
    strokes(buffer, &mut svg);
    for y in 0..rows {
        words(buffer, y, &mut svg);
    }
    svg + "</svg>\n"
}

/// Dots and lines, one path for each form and colour.
fn strokes(buffer: &Buffer, svg: &mut String) {
    let mut paths: BTreeMap<(&str, &str), String> = BTreeMap::new();
    for y in 0..buffer.area.height {
        for x in 0..buffer.area.width {
            let cell = &buffer[(x, y)];
            let (left, top) = corner(x, y);
            let mut add = |form: &'static str, path: String| {
                *paths.entry((form, colour(cell.fg))).or_default() += &path;
            };
            match cell.symbol() {
                "━" => add("stroke-width=\"4\"", format!("M{left} {}h12", top + 13)),
                "┈" => {
                    add("stroke-width=\"4\" stroke-dasharray=\"3 3\"", format!("M{left} {}h12", top + 13));
                }
                "│" => add("stroke-width=\"3\"", format!("M{} {}v20", left + 6, top + 2)),
                symbol => {
                    for (dx, dy) in dots(symbol) {
                        let dot = format!("M{} {}h0", left + 3 + 6 * dx, top + 3 + 6 * dy);
                        add("stroke-width=\"4.5\" stroke-linecap=\"round\"", dot);
                    }
                }
            }
        }
    }
    for ((form, colour), path) in paths {
        let _ = writeln!(svg, "<path stroke=\"{colour}\" {form} d=\"{path}\"/>");
    }
}

/// The dots of a Braille pattern, by column and row.
fn dots(symbol: &str) -> Vec<(u16, u16)> {
    const PLACES: [(u16, u16); 8] = [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (0, 3), (1, 3)];
    let pattern = symbol.chars().next().map_or(0, |c| u32::from(c).wrapping_sub(0x2800));
    if pattern > 0xff {
        return Vec::new();
    }
    (0..).zip(PLACES).filter(|(bit, _)| pattern >> bit & 1 == 1).map(|(_, place)| place).collect()
}

/// The words of a row: cells of one style that no gap of two spaces parts.
fn words(buffer: &Buffer, y: u16, svg: &mut String) {
    let text = |x: u16| match buffer[(x, y)].symbol() {
        symbol if symbol.is_ascii() => symbol,
        _ => " ",
    };
    let style = |cell: &Cell| (cell.fg, cell.modifier);
    let mut x = 0;
    while x < buffer.area.width {
        let first = &buffer[(x, y)];
        let reversed = first.modifier.contains(Modifier::REVERSED);
        if text(x) == " " && !reversed {
            x += 1;
            continue;
        }
        let mut run = String::new();
        let begin = x;
        while x < buffer.area.width && style(&buffer[(x, y)]) == style(first) && !run.ends_with("  ") {
            run += text(x);
            x += 1;
        }
        let (left, top) = corner(begin, y);
        let (mut ink, bold) = (colour(first.fg), first.modifier.contains(Modifier::BOLD));
        if reversed {
            let width = (x - begin) * CELL.0;
            let _ = writeln!(
                svg,
                "<rect x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"24\" fill=\"{ink}\"/>"
            );
            ink = BACKGROUND;
        }
        let blanks = u16::try_from(run.len() - run.trim_start().len()).expect("a row is short");
        let run = run.trim();
        let length = u16::try_from(run.len()).expect("a row is short") * CELL.0;
        let weight = if bold { " font-weight=\"bold\"" } else { "" };
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"{}\" fill=\"{ink}\"{weight} textLength=\"{length}\">{run}</text>",
            left + blanks * CELL.0,
            top + 18,
        );
    }
}

fn corner(x: u16, y: u16) -> (u16, u16) {
    (MARGIN + x * CELL.0, MARGIN + y * CELL.1)
}

fn colour(colour: Color) -> &'static str {
    match colour {
        Color::Cyan => "#56b4e9",
        Color::Yellow => "#e3b341",
        Color::Magenta => "#e58fc4",
        Color::LightMagenta => "#f3bfe0",
        Color::Red => "#ff7b72",
        Color::Gray => "#8b949e",
        _ => "#e6edf3",
    }
}
