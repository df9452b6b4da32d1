//! The page of several runs: the means of each point with their 95 % intervals, over what is swept.

use std::collections::BTreeSet;

use maud::{Markup, html};

use super::html::{STYLE, document, how, rows_of};
use super::human;
use crate::batch::{FlowRow, PointResult, Results};
use crate::note::Note;
use crate::record::Start;
use crate::statistics::Estimate;

/// Curves of a chart, at most.
const MOST_CURVES: usize = 5;

/// Classes of curves, from the style of pages.
const PENS: [&str; MOST_CURVES] = ["pen-goodput", "pen-send", "pen-loss", "pen-queue", "pen-other2"];

/// Labels below an axis, at most.
const MOST_LABELS: usize = 8;

/// Ratio of the largest to the smallest swept value from which the axis is logarithmic.
const LOGARITHMIC: f64 = 30.0;

// Sizes of a drawing in its own units.
const WIDTH: f64 = 520.0;
const HEIGHT: f64 = 250.0;
const LEFT: f64 = 78.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 46.0;

/// A quantity that is drawn.
struct Metric {
    key: &'static str,
    title: &'static str,
    show: fn(f64) -> String,
}

const fn metric(key: &'static str, title: &'static str, show: fn(f64) -> String) -> Metric {
    Metric { key, title, show }
}

const OF_FLOWS: [Metric; 5] = [
    metric("goodput_bps", "Goodput of a flow", human::rate),
    metric("packet_loss_rate", "Packet loss rate", human::percent),
    metric("loss_event_rate", "Loss event rate p", human::number),
    metric("rtt_s", "Round-trip time", human::time),
    metric("cov", "Variation of the sending rate at 1 s", human::number),
];

const OF_LINKS: [Metric; 3] = [
    metric("utilization", "Utilization of links", human::percent),
    metric("drop_rate", "Drop rate of links", human::percent),
    metric("mean_queue_packets", "Mean queue, packets", human::number),
];

/// The HTML page of several runs, complete: of each quantity of flows and links a drawing of the
/// means over the swept values. A shard has no means, and its page says so.
#[must_use]
pub fn page(start: &Start, results: &Results) -> String {
    let panels = panels(results);
    let notes = Note::of_points(results);
    let all_copies = notes.contains(&(Note::NothingRandom, results.points.len()));
    let caption = match all_copies {
        true => ": means over the runs, which are copies.",
        false => ": means over the runs, and their 95 % intervals by Student's t.",
    };
    let flows = |point: &PointResult| point.mean.as_ref().map(|mean| mean.groups.clone()).unwrap_or_default();
    let links = |point: &PointResult| point.mean.as_ref().map(|mean| mean.links.clone()).unwrap_or_default();
    let main = html! {
        header {
            p.kind { "TFRC simulation" }
            h1 { (headline(results)) }
            @for (note, points) in &notes { p.hint { (note.sentence(*points, results.points.len())) } }
        }
        section #charts {
            h2 { @if all_copies { "Means" } @else { "Means with 95 % intervals" } }
            @for one in &OF_FLOWS { (figure(one, &panels, &flows, caption)) }
            @for one in &OF_LINKS { (figure(one, &panels, &links, caption)) }
        }
        section {
            h2 { "Table" }
            (rows_of(["Point", "Flows or link", "Quantity", "Mean", "95 % interval"], rows(results)))
        }
        (how(start))
    };
    document("TFRC simulation", STYLE, &main, ("run-data", &()), "")
}

fn headline(results: &Results) -> String {
    let (points, runs) = (results.points.len(), results.runs);
    let of = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    let runs = of(tfrc_units::saturating(runs), "run");
    match results.shard {
        Some(shard) => {
            format!("Shard {}/{} of {}: means need all shards.", shard.index, shard.of, of(points, "point"))
        }
        None => format!("{}, {runs} each.", of(points, "point")),
    }
}

/// Points that share all settings but the one along the axis.
struct Panel<'r> {
    /// The settings that they share.
    title: String,
    /// The setting along the axis.
    axis: &'r str,
    points: Vec<(&'r str, &'r PointResult)>,
}

/// One panel for each combination of the settings besides the one with the most values.
fn panels(results: &Results) -> Vec<Panel<'_>> {
    let values =
        |key: &str| results.points.iter().filter_map(|p| p.at.get(key)).collect::<BTreeSet<_>>().len();
    let keys = results.points.first().map(|point| point.at.keys().map(String::as_str).rev());
    // The first of those with the most values.
    let axis = keys.into_iter().flatten().max_by_key(|key| values(key)).unwrap_or_default();
    let mut panels: Vec<Panel<'_>> = Vec::new();
    for point in &results.points {
        let rest = point.at.iter().filter(|(key, _)| *key != axis);
        let title = rest.map(|(key, value)| format!("{key} = {value}")).collect::<Vec<_>>().join(", ");
        let label = point.at.get(axis).map_or("all runs", String::as_str);
        match panels.iter_mut().find(|panel| panel.title == title) {
            Some(panel) => panel.points.push((label, point)),
            None => panels.push(Panel { title, axis, points: vec![(label, point)] }),
        }
    }
    panels
}

fn rows(results: &Results) -> impl Iterator<Item = [String; 5]> + '_ {
    results.points.iter().flat_map(|point| {
        let at: Vec<String> = point.at.iter().map(|(key, value)| format!("{key} = {value}")).collect();
        let at = if at.is_empty() { "all runs".to_owned() } else { at.join(", ") };
        let flows = point.mean.iter().flat_map(|mean| &mean.groups).map(|row| (row, &OF_FLOWS[..]));
        let links = point.mean.iter().flat_map(|mean| &mean.links).map(|row| (row, &OF_LINKS[..]));
        let all =
            flows.chain(links).flat_map(|(row, metrics)| metrics.iter().map(move |metric| (row, metric)));
        all.filter_map(move |(row, metric)| {
            let Estimate { mean, ci95 } = *row.values.get(metric.key)?;
            let none = if point.notes.contains(&Note::NothingRandom) { "nothing random" } else { "–" };
            let half = ci95.map_or(none.to_owned(), |half| format!("± {}", (metric.show)(half)));
            Some([at.clone(), row.id.clone(), metric.key.to_owned(), (metric.show)(mean?), half])
        })
    })
}

/// A drawn mean: place along the axis, mean, half of the interval.
type Dot = (f64, f64, Option<f64>);

/// The figure of a quantity: a drawing for each panel; nothing where it has no value.
fn figure(
    metric: &Metric,
    panels: &[Panel<'_>],
    rows: &dyn Fn(&PointResult) -> Vec<FlowRow>,
    caption: &str,
) -> Markup {
    let drawings: Vec<Markup> = panels.iter().filter_map(|panel| drawing(metric, panel, rows)).collect();
    html! {
        @if !drawings.is_empty() {
            figure id=(metric.key) {
                h3 { (metric.title) }
                @for drawing in &drawings { (drawing) }
                figcaption { code { (metric.key) } (caption) }
            }
        }
    }
}

fn drawing(
    metric: &Metric,
    panel: &Panel<'_>,
    rows: &dyn Fn(&PointResult) -> Vec<FlowRow>,
) -> Option<Markup> {
    let places = places(panel);
    let mut curves: Vec<(String, Vec<Dot>)> = Vec::new();
    for ((_, point), place) in panel.points.iter().zip(&places) {
        for row in rows(point) {
            let Some(Estimate { mean: Some(mean), ci95 }) = row.values.get(metric.key).copied() else {
                continue;
            };
            if !mean.is_finite() {
                continue;
            }
            let dot = (*place, mean, ci95.filter(|half| half.is_finite()));
            match curves.iter_mut().find(|(name, _)| *name == row.id) {
                Some((_, dots)) => dots.push(dot),
                None => curves.push((row.id, vec![dot])),
            }
        }
    }
    let left_out = curves.len().saturating_sub(MOST_CURVES);
    curves.truncate(MOST_CURVES);
    for (_, dots) in &mut curves {
        dots.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    let all = curves.iter().flat_map(|(_, dots)| dots);
    let top = all.map(|(_, mean, half)| mean + half.unwrap_or(0.0)).fold(0.0, f64::max);
    (!curves.is_empty()).then(|| {
        let step = step(top);
        let ticks: Vec<f64> = (0..=8_u8).map(|n| f64::from(n) * step).take_while(|t| *t <= top * 1.001).collect();
        let y = |value: f64| HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (value / (top * 1.06).max(f64::MIN_POSITIVE));
        html! {
            @if !panel.title.is_empty() { p.hint { (panel.title) } }
            ul.legend {
                @for ((name, _), pen) in curves.iter().zip(PENS) {
                    li { span.key {
                        svg viewBox="0 0 28 12" aria-hidden="true" class=(pen) { path.line d="M0 6H28" {} (mark(pen, 14.0, 6.0)) }
                        (name)
                    } }
                }
                @if left_out > 0 { li { "and " (left_out) " more, in the table" } }
            }
            svg viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img" aria-label=(metric.title)
                style="display:block;width:100%;max-width:720px;height:auto;font-size:12px" {
                @for tick in &ticks {
                    path d={ "M" (LEFT) " " (short(y(*tick))) "H" (WIDTH - RIGHT) } style="stroke:var(--grid);fill:none" {}
                    text x=(LEFT - 6.0) y=(short(y(*tick) + 4.0)) text-anchor="end" style="fill:var(--soft)" { ((metric.show)(*tick)) }
                }
                @for (label, place) in labels(panel, &places) {
                    text x=(short(place)) y=(HEIGHT - BOTTOM + 18.0) text-anchor="middle" style="fill:var(--soft)" { (label) }
                }
                text x=(short(f64::midpoint(LEFT, WIDTH - RIGHT))) y=(HEIGHT - 8.0) text-anchor="middle" style="fill:var(--soft)" { (panel.axis) }
                path d={ "M" (LEFT) " " (TOP) "V" (HEIGHT - BOTTOM) "H" (WIDTH - RIGHT) } style="stroke:var(--line);fill:none" {}
                @for ((_, dots), pen) in curves.iter().zip(PENS) { (curve(dots, pen, &y)) }
            }
        }
    })
}

fn curve(dots: &[Dot], pen: &str, y: &dyn Fn(f64) -> f64) -> Markup {
    let line: Vec<String> =
        dots.iter().map(|(x, mean, _)| format!("{} {}", short(*x), short(y(*mean)))).collect();
    html! {
        g class=(pen) style="stroke:var(--pen);fill:none;stroke-width:1.6" {
            path d={ "M" (line.join("L")) } {}
            @for (x, mean, half) in dots {
                @if let Some(half) = half {
                    path d={ "M" (short(*x)) " " (short(y((mean - half).max(0.0)))) "V" (short(y(mean + half)))
                        "m-4 0h8M" (short(x - 4.0)) " " (short(y((mean - half).max(0.0)))) "h8" } {}
                }
                (mark(pen, *x, y(*mean)))
            }
        }
    }
}

/// The mark of a curve: curves differ in more than their colour.
fn mark(pen: &str, x: f64, y: f64) -> Markup {
    let (x, y) = (short(x), short(y));
    let form = match pen {
        "pen-goodput" => "m-3.5 -3.5h7v7h-7z",
        "pen-send" => "m0 -4.5l4.5 4.5l-4.5 4.5l-4.5 -4.5z",
        "pen-loss" => "m0 -4.5l4.5 8h-9z",
        "pen-queue" => "m-4 -4l8 8m0 -8l-8 8",
        _ => "m-4.5 0h9m-4.5 -4.5v9",
    };
    html! { path d={ "M" (x) " " (y) (form) } style="fill:var(--ground)" {} }
}

/// The places of a panel's points along the axis: by value if all labels are numbers, else one
/// after another.
fn places(panel: &Panel<'_>) -> Vec<f64> {
    let values: Option<Vec<f64>> = panel.points.iter().map(|(label, _)| value(label)).collect();
    let count = panel.points.len();
    let even = || (0..count).map(|n| (n as f64 + 0.5) / count as f64).collect::<Vec<f64>>();
    let shares = values.map_or_else(even, |values| {
        let (low, high) = values.iter().fold((f64::INFINITY, 0.0_f64), |(l, h), v| (l.min(*v), h.max(*v)));
        let of: fn(f64) -> f64 = if low > 0.0 && high / low >= LOGARITHMIC { f64::ln } else { |v| v };
        let span = of(high) - of(low);
        match span > 0.0 {
            true => values.iter().map(|v| 0.06 + 0.88 * (of(*v) - of(low)) / span).collect(),
            false => even(),
        }
    });
    shares.into_iter().map(|share| LEFT + (WIDTH - LEFT - RIGHT) * share).collect()
}

/// The labels that have room below the axis.
fn labels<'r>(panel: &Panel<'r>, places: &[f64]) -> Vec<(&'r str, f64)> {
    let mut all: Vec<(&str, f64)> =
        panel.points.iter().map(|(label, _)| *label).zip(places.iter().copied()).collect();
    all.sort_by(|a, b| a.1.total_cmp(&b.1));
    let every = all.len().div_ceil(MOST_LABELS).max(1);
    all.into_iter().step_by(every).collect()
}

/// The value of a setting, to be drawn to scale: a number, perhaps with its unit.
fn value(label: &str) -> Option<f64> {
    use tfrc_units::text;
    let number = |written: &str| written.parse::<f64>().ok().filter(|v| v.is_finite() && *v >= 0.0);
    let packets = || label.strip_suffix('p').and_then(number);
    let rate = || text::rate(label).ok().map(|rate| rate.bits_per_sec());
    let time = || text::time(label).ok().map(|time| time.as_secs_f64());
    let share = || text::probability(label).ok().map(|p| p.get());
    let size = || text::size(label).ok().map(|bytes| bytes as f64);
    number(label).or_else(packets).or_else(share).or_else(time).or_else(rate).or_else(size)
}

/// A round step that divides `top` into four to eight parts.
fn step(top: f64) -> f64 {
    if !(top > 0.0 && top.is_finite()) {
        return 1.0;
    }
    let power = 10_f64.powf((top / 4.0).log10().floor());
    [5.0, 2.0, 1.0].into_iter().map(|m| m * power).find(|step| top / step >= 4.0).unwrap_or(power)
}

/// A coordinate to a hundredth.
fn short(x: f64) -> f64 {
    (x * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::{Order, run_plan};
    use crate::record::Role;
    use tfrc_scenario::Document;

    const SWEEP: &str = "duration = '3s'\nwarmup = '1s'\nruns = 2\nnodes = ['a', 'b']\n\
        [[link]]\nname = 'path'\nfrom = 'a'\nto = 'b'\nrate = '1Mbit/s'\ndelay = '10ms'\nqueue = '10p'\nloss = '1%'\n\
        [[flow]]\nname = '<one>'\nkind = 'tfrc'\nfrom = 'a'\nto = 'b'\n\
        [[sweep]]\nset = 'link.path.rate'\nvalues = ['1Mbit/s', '2Mbit/s', '100Mbit/s']\n\
        [[sweep]]\nset = 'link.path.queue'\nvalues = ['10p', '20p']\n";

    #[test]
    fn every_mean_has_a_mark_and_its_interval() {
        let document = Document::new("t", SWEEP);
        let plan = document.plan().expect("right");
        let results = run_plan(&document, &plan, Order::default());
        let page = page(&Start::new(Role::Sim, "v", "c"), &results);
        assert!(page.contains("6 points, 2 runs each."));
        // Two panels of three points, for each of two links and one flow.
        let part = |id: &str| {
            let (_, rest) = page.split_once(&format!("<figure id=\"{id}\"")).expect("a figure");
            rest.split_once("</figure>").expect("its end").0.to_owned()
        };
        for (id, curves) in [("goodput_bps", 1), ("utilization", 2)] {
            let part = part(id);
            assert_eq!(part.matches("role=\"img\"").count(), 2, "{id}");
            assert_eq!(part.matches("m-4 0h8M").count(), 2 * 3 * curves, "{id}");
        }
        assert!(part("goodput_bps").contains("&lt;one&gt;") && !page.contains("<one>"));
        // The table has the value that is drawn.
        let mean = results.points[0].mean.as_ref().expect("means").groups[0].values["goodput_bps"].mean;
        assert!(page.contains(&human::rate(mean.expect("a value"))));
    }

    #[test]
    fn values_are_drawn_to_scale() {
        let pairs =
            [("2Mbit/s", 2e6), ("1%", 0.01), ("20ms", 0.02), ("25p", 25.0), ("4", 4.0), ("50kB", 50e3)];
        for (label, wanted) in pairs {
            assert_eq!(value(label), Some(wanted), "{label}");
        }
        assert_eq!((value("cubic"), value("-1")), (None, None));
        assert_eq!((step(1.0), step(9.0), step(0.0)), (0.2, 2.0, 1.0));
    }
}
