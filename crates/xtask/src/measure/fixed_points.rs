//! `cargo xtask measure fixed-points`: the page docs/models/fixed-points.md, from the example of
//! that name in `crates/tfrc`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::{Outcome, cargo, root};

const PAGE: &str = "docs/models/fixed-points.md";

const HEAD: &str = "\
# Rates under independent losses, against their fixed points

Made by `cargo xtask measure fixed-points` (virtual time, a few minutes); do not edit by hand.

A flow over a path that loses each packet with probability p, and does nothing else, comes to rest where its rate causes the loss
event rate at which the equation gives this very rate. Below is the long-run rate as a share of that fixed point, over as many
packets as hold 4,000 loss events, at most 2,000,000 (the 95 % interval is then 2 to 5 %); where that would be fewer than 300 loss
events there is a dash. Everything but what the row names is `Rfc5348`. Round-trip time 100 ms where nothing else is said.

With L packets per round-trip time the fixed points are: of plain TFRC p_e = p/(1 + pL), since the losses of a round-trip time are
one loss event; of the methods that measure as packets of 1460 bytes would the same with L in packets of 1460 bytes; of Vasallo's
p; of TFRC-SP the inverse of the mean of N, or N/K where the loss interval lasts at most two round-trip times (RFC 4828 §3), exactly
summed over both geometric and binomial laws (`crates/tfrc/examples/fixed_points/theory.rs`).
";

const READING: &str = "\
## What the figures say

* Up to 10 % the default, an average over 8 intervals with the open one and with discounting, is within 5 % of its fixed point, all packet sizes and round-trip
  times alike. What discounting (RFC 5348 §5.5) gives back is seen in the second row: without it 3 to 14 % are lost to the curvature of
  the equation in the mean interval. The basic estimator loses more, the history
  window most; more intervals (16, 32) lose less.
* Above 20 % a flow of large packets sends less than one packet per round-trip time, as does any plain flow. An interval is then two or three packets, the open one is
  often the longest of them, and since it counts when it helps, p_e comes out too low: twice the fixed point at 40 %. It is a
  property of RFC 5348's estimator, not of the path: the same average without the open interval is as far below.
* TFRC-SP with 14 and 120 bytes stays on its fixed point to 30 %, because its rate is many small packets per round-trip time. Its K/N
  is plain in \"loss event rates\": without K a flow at 20 % would report 0.04 instead of 0.16, at 40 % 0.12 instead of 0.29, and be
  allowed several times the rate.
* `uncorrected`: small packets with a large segment in the equation, which all the methods exist to avoid. At 120 bytes it rests at several
  times the rate of a large flow; at 14 bytes it would send more than can be measured here.
* The methods of Widmer et al. and Vasallo are reconstructions (see the page of the models). With a scaled loss-insensitive period eight
  intervals of 14-byte packets last a fraction of a round-trip time, so that the rate follows their noise, and as intervals are counted
  in packets a low rate lasts longer than a high one: at 10 % it reaches 0.33 of the fixed point (0.46 when 32 intervals are averaged).
  Virtual packets by byte are for paths that drop by the byte: where every packet has the same chance, a virtual packet
  made of a hundred parts is nearly always lost.
";

struct Figure {
    name: String,
    segment: u32,
    rtt: u32,
    p: String,
    rest: f64,
    ratio: f64,
    p_e: f64,
    reported: f64,
}

/// Runs the example and writes the page.
pub(crate) fn fixed_points(most: u64) -> Outcome {
    println!("measuring; about five minutes …");
    let out = cargo()
        .args([
            "run",
            "--locked",
            "--release",
            "--quiet",
            "--package",
            "tfrc",
            "--example",
            "fixed_points",
            "--",
        ])
        .arg(most.to_string())
        .stderr(std::process::Stdio::null())
        .output()
        .map_err(|error| error.to_string())?;
    let text = String::from_utf8(out.stdout).map_err(|error| error.to_string())?;
    let cells = text.lines().skip(1).map(cell).collect::<Option<Vec<_>>>().ok_or("a line is cut short")?;
    if !out.status.success() || cells.is_empty() {
        return Err(format!("the example ended with {}", out.status));
    }
    let page = page(&cells);
    std::fs::write(root().join(PAGE), &page).map_err(|error| format!("{PAGE}: {error}"))?;
    println!("{PAGE}: {} figures", cells.len());
    Ok(())
}

fn cell(line: &str) -> Option<Figure> {
    let words: Vec<&str> = line.split(',').collect();
    let &[_, name, segment, rtt, p, rest, _, ratio, _, p_e, reported] = words.as_slice() else { return None };
    Some(Figure {
        name: name.to_owned(),
        segment: segment.parse().ok()?,
        rtt: rtt.parse().ok()?,
        p: p.to_owned(),
        rest: rest.parse().ok()?,
        ratio: ratio.parse().ok()?,
        p_e: p_e.parse().ok()?,
        reported: reported.parse().ok()?,
    })
}

fn page(cells: &[Figure]) -> String {
    let mut page = HEAD.to_owned();
    let is_estimator =
        |c: &Figure| c.name.starts_with("ALI") || c.name.starts_with("EWMA") || c.name.starts_with("history");
    let ratio = |c: &Figure| format!("{:.2}", c.ratio);
    let name = |c: &Figure| c.name.clone();
    let path = |c: &Figure| format!("{} B, {} ms", c.segment, c.rtt);
    let _ = writeln!(page, "\n## Estimators, 1460 bytes\n");
    table(
        &mut page,
        "estimator",
        cells.iter().filter(|c| is_estimator(c) && c.segment == 1460 && c.rtt == 100),
        name,
        ratio,
    );
    for plain in ["ALI 8", "TFRC-SP"] {
        let title = if plain == "ALI 8" { "Plain TFRC" } else { plain };
        let _ = writeln!(page, "\n## {title}, all packet sizes and round-trip times\n");
        table(&mut page, "path", cells.iter().filter(|c| c.name == plain), path, ratio);
    }
    for segment in [14, 120, 536] {
        let _ = writeln!(page, "\n## Methods for small packets, {segment} bytes\n");
        table(
            &mut page,
            "method",
            cells.iter().filter(|c| !is_estimator(c) && c.segment == segment && c.rtt == 100),
            name,
            ratio,
        );
    }
    let _ = writeln!(page, "\n## Loss event rates of TFRC-SP, 14 bytes\n");
    loss_event_rates(&mut page, cells);
    let _ = writeln!(
        page,
        "\n## Where they rest: bytes per second over those of a flow of 1460 bytes\n\nFixed points, 14-byte packets.\n"
    );
    let large =
        |p: &str| cells.iter().find(|c| c.name == "ALI 8" && c.segment == 1460 && c.rtt == 100 && c.p == p);
    let share = |c: &Figure| match large(&c.p) {
        Some(l) => format!("{:.2}", c.rest * f64::from(c.segment) / (l.rest * 1460.0)),
        None => "–".to_owned(),
    };
    let small = |c: &&Figure| {
        let segment = if c.name == "uncorrected" { 120 } else { 14 };
        c.segment == segment && c.rtt == 100 && (c.name == "ALI 8" || !is_estimator(c))
    };
    let flow = |c: &Figure| if c.name == "ALI 8" { "plain TFRC".to_owned() } else { c.name.clone() };
    table(&mut page, "method", cells.iter().filter(small), flow, share);
    let _ = write!(page, "\n{READING}");
    page
}

/// K/N for each N: what was reported, what theory says, and the loss event rate that intervals of N
/// would give at this rate.
fn loss_event_rates(page: &mut String, cells: &[Figure]) {
    let _ = writeln!(
        page,
        "| p | packets per RTT | p_e, theory | p_e, reported | without K: p/(1 + pL) |\n| ---: | ---: | ---: | ---: | ---: |"
    );
    for c in cells.iter().filter(|c| c.name == "TFRC-SP" && c.segment == 14 && c.rtt == 100) {
        let p: f64 = c.p.parse().unwrap_or(0.0);
        let packets = p / p.mul_add(c.rest, 1.0);
        let _ =
            writeln!(page, "| {} | {:.2} | {:.4} | {:.4} | {packets:.4} |", c.p, c.rest, c.p_e, c.reported);
    }
}

/// A row for each value of `row`, in order of appearance; a column for each p.
fn table<'a>(
    page: &mut String,
    title: &str,
    cells: impl Iterator<Item = &'a Figure>,
    row: impl Fn(&Figure) -> String,
    value: impl Fn(&Figure) -> String,
) {
    let (mut names, mut values) = (Vec::new(), BTreeMap::new());
    let mut columns: Vec<(f64, String)> = Vec::new();
    for cell in cells {
        let name = row(cell);
        let p = cell.p.parse().unwrap_or(0.0);
        if !columns.iter().any(|(_, known)| *known == cell.p) {
            columns.push((p, cell.p.clone()));
        }
        values.insert((name.clone(), cell.p.clone()), value(cell));
        if !names.contains(&name) {
            names.push(name);
        }
    }
    columns.sort_by(|a, b| a.0.total_cmp(&b.0));
    let _ = write!(page, "| {title} |");
    for (p, _) in &columns {
        let _ = write!(page, " {} % |", p * 100.0);
    }
    let _ = writeln!(page, "\n| --- |{}", " ---: |".repeat(columns.len()));
    for name in names {
        let _ = write!(page, "| {name} |");
        for (_, p) in &columns {
            let _ = write!(page, " {} |", values.get(&(name.clone(), p.clone())).map_or("–", String::as_str));
        }
        page.push('\n');
    }
}
