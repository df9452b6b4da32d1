//! The page of several runs: the means of each point with their 95 % intervals, or of single runs
//! their values, over what is swept.

use std::collections::BTreeSet;

use maud::{Markup, PreEscaped, html};

use super::RunRecords;
use super::chart::{self, Chart, rate_unit};
use super::html::{STYLE, how, rows_of, still};
use super::words;
use crate::human;
use crate::plot::{self, Axis, Curve, Line, MARKS, Scale, ink_of};
use crate::record::Start;
use tfrc_world::batch::{FlowRow, PointResult, Results, RunOutcome};
use tfrc_world::note::Note;
use tfrc_world::quantities;
use tfrc_world::statistics::{self, Estimate};

/// A quantity of the page.
struct Metric {
    key: &'static str,
    /// Title of its drawing; empty if the table alone has it.
    title: &'static str,
    show: fn(f64) -> String,
    /// The unit of an axis up to a value, and its name; nothing where there is none.
    unit: fn(f64) -> (f64, &'static str),
}

const fn metric(
    key: &'static str,
    title: &'static str,
    show: fn(f64) -> String,
    unit: fn(f64) -> (f64, &'static str),
) -> Metric {
    Metric { key, title, show, unit }
}

/// A time. Without a title the table alone has it.
const fn time(key: &'static str, title: &'static str) -> Metric {
    metric(key, title, human::time, |top| if top < 1.0 { (1e-3, "ms") } else { (1.0, "s") })
}

const OF_FLOWS: [Metric; 17] = [
    metric("goodput_bps", "Goodput of a flow", human::rate, rate_unit),
    metric("packet_loss_rate", "Packet loss rate", human::percent, |_| (0.01, "%")),
    metric("loss_event_rate", "Loss event rate p", human::number, |_| (1.0, "p")),
    time("rtt_s", "Round-trip time"),
    metric("cov", "Variation of the sending rate at 1 s", human::number, |_| (1.0, "")),
    time("delay_p50_s", ""),
    time("delay_p95_s", "One-way delay, 95th percentile"),
    time("delay_p99_s", ""),
    time("queueing_delay_p50_s", ""),
    time("queueing_delay_p95_s", "Queueing delay, 95th percentile"),
    time("queueing_delay_p99_s", ""),
    time("jitter_s", "Jitter"),
    metric("completed", "", human::number, |_| (1.0, "")),
    time("completion_p50_s", ""),
    time("completion_p95_s", "Time of a transfer, 95th percentile"),
    time("completion_p99_s", ""),
    time("convergence_s", "Time until the goodput stays near its mean"),
];

const OF_LINKS: [Metric; 3] = [
    metric("utilization", "Utilization of links", human::percent, |_| (0.01, "%")),
    metric("drop_rate", "Drop rate of links", human::percent, |_| (0.01, "%")),
    metric("mean_queue_packets", "Mean queue, packets", human::number, |_| (1.0, "packets")),
];

/// Those of a list that are drawn.
fn drawn(metrics: &[Metric]) -> impl Iterator<Item = &Metric> {
    metrics.iter().filter(|metric| !metric.title.is_empty())
}

/// The HTML page of several runs, complete: of each quantity of flows and links a drawing of the
/// means over the swept values; of a single point the flows of all runs, and the `course` of its
/// first run, if it is known. Intervals are spoken of where there are some. A shard has no means,
/// and its page says so.
#[must_use]
pub fn page(start: &Start, results: &Results, course: Option<&RunRecords>) -> String {
    let panels = panels(results);
    let notes = results.notes();
    let all_copies = notes.contains(&(Note::NothingRandom, results.points.len()));
    let (of_what, caption) = match (results.runs, all_copies) {
        (0 | 1, _) => ("One run at each point", ": of one run at each point."),
        (_, true) => ("Means", ": means over the runs, which are copies."),
        (_, false) => {
            ("Means with 95 % intervals", ": means over the runs, and their 95 % intervals by Student's t.")
        }
    };
    let flows = |point: &PointResult| point.mean.as_ref().map(|mean| mean.groups.clone()).unwrap_or_default();
    let links = |point: &PointResult| point.mean.as_ref().map(|mean| mean.links.clone()).unwrap_or_default();
    let alone = match results.points.as_slice() {
        [point] if results.shard.is_none() => Some(point),
        _ => None,
    };
    let many_panels = panels.len() > 1;
    let main = html! {
        header {
            p.kind { "TFRC simulation: " code { (start.command) } }
            @match words::swept(results) {
                Some(sentence) => { h1 { (sentence) } p.hint { (counts(results)) } },
                None => h1 { (counts(results)) },
            }
            @for (note, points) in &notes { p.hint { (note.sentence(*points, results.points.len())) } }
        }
        section #charts {
            @if let Some(point) = alone {
                @if let Some(run) = course {
                    h2 { "The first run over time" }
                    (over_time(run))
                }
                h2 { "The flows of all runs" }
                p.hint {
                    "A ring is a flow of one run; the square is the mean over the runs"
                    @if results.runs > 1 && !all_copies { ", with its 95 % interval" }
                    "."
                }
                (strips(point))
            } @else {
                h2 { (of_what) }
                div.panels[!many_panels] {
                    @for one in drawn(&OF_FLOWS) { (figure(one, &panels, &flows, caption)) }
                    @for one in drawn(&OF_LINKS) { (figure(one, &panels, &links, caption)) }
                }
            }
        }
        section {
            h2 { "Table" }
            @if results.runs > 1 {
                (rows_of(["Point", "Flows or link", "Quantity", "Mean", "95 % interval"], rows(results)))
            } @else {
                (rows_of(
                    ["Point", "Flows or link", "Quantity", "Value"],
                    rows(results).map(|[at, id, key, mean, _]| [at, id, key, mean])
                ))
            }
        }
        (how(start))
    };
    still("TFRC simulation", STYLE, &main, "")
}

/// Curves of one run over its time: goodput, queues and round-trip times.
fn over_time(run: &RunRecords) -> Markup {
    let (times, charts) = chart::course(run);
    html! {
        div.panels {
            @for one in &charts {
                figure id={ "first-" (one.id) } {
                    h3 { (one.title) }
                    (PreEscaped(still_chart(one, &times, run).element(&one.title)))
                    @if let Some(series) = one.series.first() { figcaption { (series.about) "." } }
                }
            }
        }
    }
}

/// A chart over time as a drawing.
fn still_chart(chart: &Chart, times: &[f64], run: &RunRecords) -> plot::Panel {
    // A drawing has no inks for links.
    let ink = |ink: &'static str| if ["s0", "s1", "s2", "s3", "s4"].contains(&ink) { ink } else { "ink" };
    let inks: Vec<&'static str> = chart.series.iter().map(|one| ink(one.ink)).collect();
    let curves = chart.series.iter().zip(&inks).zip(plot::lines(&inks)).map(|((one, ink), line)| {
        let point =
            |(x, y): (&f64, &Option<f64>)| Some(plot::Point { x: *x, y: (*y)? / chart.scale, half: None });
        let points = times.iter().zip(&one.values).filter_map(point).collect();
        Curve { label: one.label.clone(), ink, line, mark: plot::Mark::None, width: 1.4, points }
    });
    let end = run.intervals.iter().map(|interval| interval.t_s).fold(0.0, f64::max);
    let x = Axis { range: Some([0.0, end]), ..Axis::new("time (s)".to_owned(), Scale::Linear) };
    let y = Axis::new(chart.axis.clone(), Scale::Linear);
    plot::Panel { title: String::new(), x, y, curves: curves.collect() }
}

/// Dots of one kind in a strip, at most.
const MOST_DOTS: usize = 300;

/// The flows of all runs of a point as strips, a dot each, by kind: a drawing for each quantity.
fn strips(point: &PointResult) -> Markup {
    let flows = || point.runs.iter().flat_map(|run| &run.outcome.flows);
    let mut kinds: Vec<&str> = Vec::new();
    for flow in flows() {
        if !kinds.contains(&flow.kind.as_str()) {
            kinds.push(&flow.kind);
        }
    }
    let drawings = drawn(&OF_FLOWS).filter_map(|metric| Some((metric, strip(metric, point, &kinds)?)));
    html! {
        div.panels {
            @for (metric, drawing) in drawings {
                figure id=(metric.key) {
                    h3 { (metric.title) }
                    @if is_zero(&drawing) {
                        p.hint { "0 in every run." }
                    } @else {
                        (PreEscaped(drawing.element(metric.title)))
                    }
                    figcaption { code { (metric.key) } }
                }
            }
        }
    }
}

/// True for a drawing of nothing but zeros, whose axis would have an end that means nothing.
fn is_zero(panel: &plot::Panel) -> bool {
    let mut points = panel.curves.iter().flat_map(|curve| &curve.points);
    points.all(|point| point.y == 0.0 && point.half.is_none_or(|half| half == 0.0))
}

/// The strips of one quantity; `None` if no flow has it.
fn strip(metric: &Metric, point: &PointResult, kinds: &[&str]) -> Option<plot::Panel> {
    let of = quantities::FLOW.iter().find(|one| one.key == metric.key)?.of;
    let values = |run: &RunOutcome, kind: &str| -> Vec<f64> {
        run.outcome.flows.iter().filter(|flow| flow.kind == kind).filter_map(of).collect()
    };
    let all: Vec<Vec<f64>> =
        kinds.iter().map(|kind| point.runs.iter().flat_map(|run| values(run, kind)).collect()).collect();
    let top = all.iter().flatten().copied().fold(0.0, f64::max);
    let (unit, name) = (metric.unit)(top);
    let mut curves = Vec::new();
    for ((place, kind), dots) in (0..).map(f64::from).zip(kinds).zip(&all) {
        let ink = ink_of(kind);
        let every = dots.len().div_ceil(MOST_DOTS).max(1);
        // Spread over the strip by the golden section, which leaves no gaps.
        let across = |n: usize| ((n as f64 * 0.618_034).fract() - 0.5) * 0.4 - 0.12;
        let points = dots.iter().step_by(every).enumerate();
        let points: Vec<plot::Point> =
            points.map(|(n, y)| plot::Point { x: place + across(n), y: y / unit, half: None }).collect();
        let curve =
            |line, mark, width, points| Curve { label: String::new(), ink, line, mark, width, points };
        curves.push(curve(Line::None, plot::Mark::Circle, 1.0, points));
        let means: Vec<f64> =
            point.runs.iter().filter_map(|run| statistics::mean(&values(run, kind))).collect();
        let estimate = statistics::estimate(&means);
        if let Some(mean) = estimate.mean {
            let half = estimate.ci95.map(|half| half / unit);
            let mean = plot::Point { x: place + 0.3, y: mean / unit, half };
            curves.push(curve(Line::None, plot::Mark::Square, 1.6, vec![mean]));
        }
    }
    let x = Axis::of_names(String::new(), kinds.iter().map(|kind| (*kind).to_owned()));
    let y = Axis::new(name.to_owned(), Scale::Linear);
    all.iter().any(|dots| !dots.is_empty()).then_some(plot::Panel { title: String::new(), x, y, curves })
}

/// The numbers of points and runs.
fn counts(results: &Results) -> String {
    let (points, runs) = (results.points.len(), results.runs);
    let of = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    let runs = of(tfrc_units::saturating(runs), "run");
    match results.shard {
        Some(shard) => {
            format!("Shard {}/{} of {}: means need all shards.", shard.index, shard.of, of(points, "point"))
        }
        None if points == 1 => format!("Means over {runs}."),
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

const NUMBER: fn(f64) -> String = human::number;

fn rows(results: &Results) -> impl Iterator<Item = [String; 5]> + '_ {
    results.points.iter().flat_map(|point| {
        let at: Vec<String> = point.at.iter().map(|(key, value)| format!("{key} = {value}")).collect();
        let at = if at.is_empty() { "all runs".to_owned() } else { at.join(", ") };
        let flows = point.mean.iter().flat_map(|mean| &mean.groups).map(|row| (row, &OF_FLOWS[..]));
        let links = point.mean.iter().flat_map(|mean| &mean.links).map(|row| (row, &OF_LINKS[..]));
        let all =
            flows.chain(links).flat_map(|(row, metrics)| metrics.iter().map(move |metric| (row, metric)));
        let known = all.filter_map(|(row, metric)| {
            Some((row.id.as_str(), metric.key, metric.show, *row.values.get(metric.key)?))
        });
        let jain = point.mean.as_ref().map(|mean| ("all", "jain_index", NUMBER, mean.jain_index));
        known.chain(jain).filter_map(move |(id, key, show, Estimate { mean, ci95 })| {
            let none = if point.notes.contains(&Note::NothingRandom) { "nothing random" } else { "–" };
            let half = ci95.map_or(none.to_owned(), |half| format!("± {}", show(half)));
            Some([at.clone(), id.to_owned(), key.to_owned(), show(mean?), half])
        })
    })
}

/// The figure of a quantity: a drawing for each panel; nothing where it has no value.
fn figure(
    metric: &Metric,
    panels: &[Panel<'_>],
    rows: &dyn Fn(&PointResult) -> Vec<FlowRow>,
    caption: &str,
) -> Markup {
    let drawings: Vec<(plot::Panel, usize)> =
        panels.iter().filter_map(|panel| drawing(metric, panel, rows)).collect();
    html! {
        @if !drawings.is_empty() {
            figure id=(metric.key) {
                h3 { (metric.title) }
                @if drawings.iter().all(|(drawing, _)| is_zero(drawing)) {
                    p.hint { "0 at every point." }
                } @else {
                    div.panels[panels.len() > 1] {
                        @for (drawing, left_out) in &drawings {
                            div {
                                (PreEscaped(drawing.element(metric.title)))
                                @if *left_out > 0 { p.hint { "and " (left_out) " more, in the table" } }
                            }
                        }
                    }
                }
                figcaption { code { (metric.key) } (caption) }
            }
        }
    }
}

/// The drawing of a quantity at the points of a panel, and the number of curves that it has no room
/// for.
fn drawing(
    metric: &Metric,
    panel: &Panel<'_>,
    rows: &dyn Fn(&PointResult) -> Vec<FlowRow>,
) -> Option<(plot::Panel, usize)> {
    let (x, places) = axis(panel);
    let mut curves: Vec<(String, Vec<plot::Point>)> = Vec::new();
    for ((_, point), x) in panel.points.iter().zip(places) {
        for row in rows(point) {
            let known =
                row.values.get(metric.key).and_then(|Estimate { mean, ci95 }| Some(((*mean)?, *ci95)));
            let Some((y, half)) = known.filter(|(mean, _)| mean.is_finite()) else { continue };
            let point = plot::Point { x, y, half: half.filter(|half| half.is_finite()) };
            match curves.iter_mut().find(|(name, _)| *name == row.id) {
                Some((_, points)) => points.push(point),
                None => curves.push((row.id, vec![point])),
            }
        }
    }
    let left_out = curves.len().saturating_sub(MARKS.len());
    let all = curves.iter().take(MARKS.len()).flat_map(|(_, points)| points);
    let top = all.map(|point| point.y + point.half.unwrap_or(0.0)).fold(0.0, f64::max);
    let (unit, name) = (metric.unit)(top);
    let inks: Vec<&'static str> = curves.iter().map(|(name, _)| ink(panel, name)).collect();
    let pens = inks.iter().copied().zip(plot::lines(&inks)).zip(MARKS);
    let curve = |((label, mut points), ((ink, line), mark)): ((String, Vec<plot::Point>), _)| {
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        for point in &mut points {
            (point.y, point.half) = (point.y / unit, point.half.map(|half| half / unit));
        }
        Curve { label, ink, line, mark, width: 1.6, points }
    };
    let curves: Vec<Curve> = curves.into_iter().zip(pens).map(curve).collect();
    let title = panel.title.clone();
    let y = Axis::new(name.to_owned(), Scale::Linear);
    (!curves.is_empty()).then_some((plot::Panel { title, x, y, curves }, left_out))
}

/// The ink of a group of flows: that of its kind. A link has none.
fn ink(panel: &Panel<'_>, name: &str) -> &'static str {
    let of_point = |(_, point): &(&str, &PointResult)| {
        let group = point.groups.iter().find(|group| group.id == name)?;
        Some(ink_of(&point.runs.first()?.outcome.flows.get(group.first)?.kind))
    };
    panel.points.iter().find_map(of_point).unwrap_or("ink")
}

/// The axis of a panel with the swept values as they are written, and their places on it: by value
/// if all are numbers, else one after another.
fn axis(panel: &Panel<'_>) -> (Axis, Vec<f64>) {
    let labels = || panel.points.iter().map(|(label, _)| *label);
    let title = panel.axis.to_owned();
    match labels().map(value).collect::<Option<Vec<f64>>>() {
        Some(values) if values.iter().any(|one| *one != values[0]) => {
            let mut marks: Vec<(f64, String)> =
                values.iter().copied().zip(labels().map(str::to_owned)).collect();
            marks.sort_by(|a, b| a.0.total_cmp(&b.0));
            let scale = Scale::fitting(values.iter().copied());
            (Axis { labels: Some(marks), ..Axis::new(title, scale) }, values)
        }
        _ => {
            let places = (0..).map(f64::from).take(panel.points.len()).collect();
            (Axis::of_names(title, labels().map(str::to_owned)), places)
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Record, Role, Summary};
    use tfrc_scenario::Document;
    use tfrc_units::Duration;
    use tfrc_world::Run;
    use tfrc_world::batch::{Order, run_plan};
    use tfrc_world::watch::Watch;

    const SWEEP: &str = "duration = '3s'\nwarmup = '1s'\nruns = 2\nnodes = ['a', 'b']\n\
        [[link]]\nname = 'path'\nfrom = 'a'\nto = 'b'\nrate = '1Mbit/s'\ndelay = '10ms'\nqueue = '10p'\nloss = '1%'\n\
        [[flow]]\nname = '<one>'\nkind = 'tfrc'\nfrom = 'a'\nto = 'b'\n\
        [[sweep]]\nset = 'link.path.rate'\nvalues = ['1Mbit/s', '2Mbit/s', '100Mbit/s']\n\
        [[sweep]]\nset = 'link.path.queue'\nvalues = ['10p', '20p']\n";

    /// Runs of one point begin with what TFRC got, and show each flow: no axis of one label.
    #[test]
    fn runs_of_one_point_say_what_came_out() {
        const MIX: &str = "duration = '6s'\nwarmup = '1s'\nruns = 3\nnodes = ['a', 'b']\n\
            [[link]]\nfrom = 'a'\nto = 'b'\nrate = '2Mbit/s'\ndelay = '10ms'\nqueue = '20p'\n\
            [[flow]]\nkind = 'tfrc'\ncount = 2\nfrom = 'a'\nto = 'b'\nstart = 'uniform 0s 1s'\n\
            [[flow]]\nkind = 'tcp'\ncount = 2\nfrom = 'a'\nto = 'b'\nstart = 'uniform 0s 1s'\n";
        let document = Document::new("t", MIX);
        let results = run_plan(&document, &document.plan().expect("right"), Order::default());
        let [point] = results.points.as_slice() else { panic!("one point") };
        let mean = |run: &RunOutcome, of: &str| {
            let flows = run.outcome.flows.iter().filter(|flow| flow.kind.starts_with(of));
            flows.map(|flow| flow.goodput_bps.expect("known")).sum::<f64>() / 2.0
        };
        let ratios: Vec<f64> = point.runs.iter().map(|run| mean(run, "tfrc") / mean(run, "tcp")).collect();
        let Estimate { mean, ci95 } = statistics::estimate(&ratios);
        let wanted = format!(
            "A TFRC flow got {} ± {} times the goodput of a TCP flow.",
            human::number(mean.expect("known")),
            human::number(ci95.expect("three runs"))
        );
        let mut run = RunRecords::new(Start::new(Role::Sim, "v", "c"));
        let first = &point.runs[0].outcome;
        let watch = Watch::all(Duration::from_millis(100), |look| run.look(look));
        let scenario = &document.plan().expect("right").points[0].scenario;
        assert_eq!(Run::of(scenario).watch(watch).outcome().as_ref(), Some(first));
        run.push(Record::End(Box::new(Summary { flows: first.flows.clone(), ..Summary::default() })));
        let page = page(&Start::new(Role::Sim, "v", "c"), &results, Some(&run));
        assert!(page.contains(&wanted), "{wanted}");
        for (id, inks) in [("goodputs", "s0 s1"), ("queues", "ink"), ("rtts", "s0 s1")] {
            let (_, rest) = page.split_once(&format!("<figure id=\"first-{id}\"")).expect(id);
            let (drawing, _) = rest.split_once("</figure>").expect("its end");
            for ink in inks.split(' ') {
                assert!(drawing.contains(&format!("class=\"{ink}\"")), "{id} {ink}: {drawing}");
            }
        }
        let (_, goodput) = page.split_once("<figure id=\"goodput_bps\"").expect("a figure");
        let (goodput, _) = goodput.split_once("</figure>").expect("its end");
        assert!(goodput.contains(">tfrc<") && goodput.contains(">tcp-sack<"), "{goodput}");
        assert!(goodput.contains("class=\"s0\"") && goodput.contains("class=\"s1\""), "{goodput}");
        assert!(!goodput.contains("all runs"));
    }

    /// A sweep without seeds has the delays that the terminal has, and speaks of no intervals; a
    /// quantity that is zero everywhere has no axis.
    #[test]
    fn single_runs_have_delays_and_no_intervals() {
        const TEXT: &str = "duration = '4s'\nwarmup = '1s'\nnodes = ['a', 'b']\n\
            [[link]]\nname = 'path'\nfrom = 'a'\nto = 'b'\nrate = '1Mbit/s'\ndelay = '10ms'\nqueue = 'unlimited'\n\
            [[sweep]]\nset = 'link.path.rate'\nvalues = ['1Mbit/s', '2Mbit/s']\n\
            [[flow]]\nname = 'media'\nkind = 'tfrc'\nfrom = 'a'\nto = 'b'\n";
        const FILE: &str = "[[flow]]\nname = 'file'\nkind = 'tcp'\nfrom = 'a'\nto = 'b'\ntransfer = '5kB'\n";
        let run = |text: &str| {
            let document = Document::new("t", text);
            let results = run_plan(&document, &document.plan().expect("right"), Order::default());
            (page(&Start::new(Role::Sim, "v", "c"), &results, None), results)
        };
        let (alone, results) = run(TEXT);
        let group = |point: usize, group: usize, key: &str| {
            let mean = results.points[point].mean.as_ref().expect("means");
            mean.groups[group].values[key].mean.expect(key)
        };
        let between = |key, show: fn(f64) -> String| {
            let (one, two) = (group(0, 0, key), group(1, 0, key));
            format!("{} to {}", show(one.min(two)), show(one.max(two)))
        };
        let sentence = format!(
            "<h1>Over 2 values of link.path.rate, media had a goodput of {}, and a queueing delay of {} (95th percentile).</h1>",
            between("goodput_bps", human::rate),
            between("queueing_delay_p95_s", human::time)
        );
        assert!(alone.contains(&sentence), "{sentence}");
        let (page, results) = run(&format!("{TEXT}{FILE}"));
        let mean = |group: usize, key: &str| {
            let mean = results.points[1].mean.as_ref().expect("means");
            mean.groups[group].values[key].mean.expect(key)
        };
        assert!(page.contains("2 points, 1 run each.") && !page.contains("95 %") && !page.contains("Mean<"));
        let of_packets = ["delay_p50_s", "delay_p95_s", "delay_p99_s", "queueing_delay_p50_s"];
        let of_packets =
            of_packets.into_iter().chain(["queueing_delay_p95_s", "queueing_delay_p99_s", "jitter_s"]);
        let of_transfers = ["completion_p50_s", "completion_p95_s", "completion_p99_s"];
        for (group, key) in of_packets.map(|key| (0, key)).chain(of_transfers.map(|key| (1, key))) {
            let row = format!("<td>{key}</td><td>{}</td>", human::time(mean(group, key)));
            assert!(page.contains(&row), "{row}");
        }
        let part = |id: &str| {
            let (_, rest) = page.split_once(&format!("<figure id=\"{id}\"")).expect(id);
            rest.split_once("</figure>").expect("its end").0
        };
        for id in ["delay_p95_s", "queueing_delay_p95_s", "jitter_s", "completion_p95_s"] {
            assert!(part(id).contains("role=\"img\""), "{id}");
        }
        for id in ["packet_loss_rate", "drop_rate"] {
            assert!(
                part(id).contains("0 at every point.") && !part(id).contains("<svg"),
                "{id}: {}",
                part(id)
            );
        }
    }

    #[test]
    fn every_mean_has_a_mark_and_its_interval() {
        let document = Document::new("t", SWEEP);
        let plan = document.plan().expect("right");
        let results = run_plan(&document, &plan, Order::default());
        let page = page(&Start::new(Role::Sim, "v", "c"), &results, None);
        assert!(page.contains("6 points, 2 runs each."));
        // Two panels of three points, for each of two links and one flow.
        let part = |id: &str| {
            let (_, rest) = page.split_once(&format!("<figure id=\"{id}\"")).expect("a figure");
            rest.split_once("</figure>").expect("its end").0.to_owned()
        };
        for (id, curves) in [("goodput_bps", 1), ("utilization", 2)] {
            let part = part(id);
            assert_eq!(part.matches("role=\"img\"").count(), 2, "{id}");
            // A mark for each mean, and a sample of each in the legend.
            assert_eq!(
                part.matches("<circle").count() + part.matches("m-3 -3h6v6h-6z").count(),
                2 * 4 * curves,
                "{id}"
            );
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
    }
}
