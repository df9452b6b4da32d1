//! The map: a cell for each point, coloured by the ratio of the rates, dotted out of its band.

use std::fmt::Write;

use super::points::{Course, Laboratory, Obeys, Point};

const RTTS: [&str; 5] = ["10ms", "50ms", "100ms", "200ms", "500ms"];
const RATES: [&str; 3] = ["2M", "20M", "100M"];
const QUEUES: [&str; 5] = ["0.25BDP", "1BDP", "4BDP", "red", "codel"];
const FLOWS: [(&str, &str); 4] = [("1", "1"), ("4", "4"), ("8", "1"), ("1", "8")];
/// Width and height of a cell, and of a panel with its labels.
const CELL: (f64, f64) = (19.0, 11.0);
const PANEL: (f64, f64) = (430.0, 290.0);
const LEFT: f64 = 96.0;
const TOP: f64 = 46.0;
/// Colours from an eighth of TCP's rate to eight times.
const COLOURS: [(&str, &str); 7] = [
    ("#08519c", "below 1/8"),
    ("#4292c6", "1/8 to 1/4"),
    ("#9ecae1", "1/4 to 1/2"),
    ("#e8f0e4", "1/2 to 2"),
    ("#fdbb84", "2 to 4"),
    ("#e34a33", "4 to 8"),
    ("#8c1a10", "above 8"),
];

/// The figure as SVG.
pub(super) fn svg(laboratory: &Laboratory) -> String {
    let (width, height) = (2.0 * PANEL.0, 2.0 * PANEL.1 + 40.0);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" \
         font-size=\"10\">\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
    );
    let nothing = Course::new();
    let algorithms = [("rfc5348", "RFC 5348"), ("told", "balanced, told its friend")];
    for (column, (name, title)) in algorithms.into_iter().enumerate() {
        let course = laboratory.map.get(name).unwrap_or(&nothing);
        for (row, tcp) in ["sack", "cubic"].into_iter().enumerate() {
            let obeys = if name == "told" && tcp == "cubic" { Obeys::Cubic } else { Obeys::Reno };
            let place = (column as f64 * PANEL.0, row as f64 * PANEL.1);
            let title = format!("{title}, next to {}", tcp.to_uppercase());
            panel(
                &mut out,
                place,
                &title,
                &|point| {
                    let ratio = *course.get(point)?.get("ratio_log2")?;
                    let band = laboratory.band(point, obeys);
                    Some((ratio, band.is_none_or(|(low, high)| (low..=high).contains(&ratio))))
                },
                tcp,
            );
        }
    }
    legend(&mut out, 2.0 * PANEL.1 + 12.0);
    out + "</svg>\n"
}

fn panel(
    out: &mut String,
    (x, y): (f64, f64),
    title: &str,
    value: &dyn Fn(&Point) -> Option<(f64, bool)>,
    tcp: &str,
) {
    text(out, (x + LEFT, y + 14.0), "start", &format!("<tspan font-weight=\"bold\">{title}</tspan>"));
    for (r, rtt) in RTTS.into_iter().enumerate() {
        let left = x + LEFT + r as f64 * (3.0 * CELL.0 + 6.0);
        text(out, (left + 1.5 * CELL.0, y + 28.0), "middle", rtt);
        for (b, rate) in RATES.into_iter().enumerate() {
            let left = left + b as f64 * CELL.0;
            text(out, (left + 0.5 * CELL.0, y + 40.0), "middle", rate.trim_end_matches('M'));
            for (q, queue) in QUEUES.into_iter().enumerate() {
                for (f, (tcps, tfrcs)) in FLOWS.into_iter().enumerate() {
                    let top = y + TOP + q as f64 * (4.0 * CELL.1 + 4.0) + f as f64 * CELL.1;
                    let point = Point {
                        tcp: tcp.to_owned(),
                        rate: rate.to_owned(),
                        rtt: rtt.to_owned(),
                        queue: queue.to_owned(),
                        tcps: tcps.to_owned(),
                        tfrcs: tfrcs.to_owned(),
                    };
                    if let Some((ratio, fits)) = value(&point) {
                        cell(out, (left, top), ratio, fits);
                    }
                }
            }
        }
    }
    for (q, queue) in QUEUES.into_iter().enumerate() {
        let top = y + TOP + q as f64 * (4.0 * CELL.1 + 4.0);
        text(out, (x + 4.0, top + 2.5 * CELL.1), "start", queue);
        for (f, (tcps, tfrcs)) in FLOWS.into_iter().enumerate() {
            let place = (x + LEFT - 4.0, top + (f as f64 + 0.85) * CELL.1);
            text(out, place, "end", &format!("{tcps} + {tfrcs}"));
        }
    }
}

fn cell(out: &mut String, (x, y): (f64, f64), ratio: f64, fits: bool) {
    let colour = COLOURS[class(ratio)].0;
    let (width, height) = CELL;
    let _ = writeln!(
        out,
        "<rect x=\"{x}\" y=\"{y}\" width=\"{}\" height=\"{}\" fill=\"{colour}\"/>",
        width - 1.0,
        height - 1.0
    );
    if !fits {
        let (x, y) = (x + (width - 1.0) / 2.0, y + (height - 1.0) / 2.0);
        let _ =
            writeln!(out, "<circle cx=\"{x}\" cy=\"{y}\" r=\"2.4\" fill=\"#16191d\" stroke=\"#ffffff\"/>");
    }
}

/// The colour of a ratio, binary logarithm.
fn class(ratio: f64) -> usize {
    [-3.0, -2.0, -1.0, 1.0, 2.0, 3.0].iter().filter(|edge| ratio > **edge).count()
}

fn text(out: &mut String, (x, y): (f64, f64), anchor: &str, words: &str) {
    let _ =
        writeln!(out, "<text x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\" fill=\"#16191d\">{words}</text>");
}

fn legend(out: &mut String, y: f64) {
    for (n, (colour, words)) in COLOURS.into_iter().enumerate() {
        let x = 20.0 + n as f64 * 95.0;
        let _ = writeln!(out, "<rect x=\"{x}\" y=\"{y}\" width=\"14\" height=\"10\" fill=\"{colour}\"/>");
        text(out, (x + 18.0, y + 9.0), "start", words);
    }
    let _ = writeln!(out, "<circle cx=\"700\" cy=\"{}\" r=\"2.4\" fill=\"#16191d\"/>", y + 5.0);
    text(out, (708.0, y + 9.0), "start", "out of its band");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_change_at_powers_of_two() {
        let colours: Vec<&str> =
            [-9.0, -2.5, -1.5, 0.0, 1.0, 1.5, 2.5, 9.0].map(|r| COLOURS[class(r)].1).to_vec();
        let wanted =
            ["below 1/8", "1/8 to 1/4", "1/4 to 1/2", "1/2 to 2", "1/2 to 2", "2 to 4", "4 to 8", "above 8"];
        assert_eq!(colours, wanted);
    }
}
