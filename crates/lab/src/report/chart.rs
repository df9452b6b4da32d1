//! Which curves a page shows, and their values: the data part of the page.

use std::collections::BTreeMap;

use serde::Serialize;

use super::RunRecords;
use super::compared;
use super::grid::{Grid, Merge};
use crate::record::{EventKind, Interval};

/// The most competing flows drawn one by one; more are drawn as their mean.
const MOST_COMPETITORS: usize = 4;

/// The most moments of one kind marked in a chart.
const MOST_MARKS: usize = 3000;

/// Everything the page's script needs, written into it as JSON.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct PageData {
    /// Length of the time axis, seconds.
    pub(super) duration_s: f64,
    /// Intervals merged into each point.
    pub(super) merged: usize,
    /// The points of the time axis, seconds.
    pub(super) t_s: Vec<f64>,
    pub(super) charts: Vec<Chart>,
    /// Beginnings of loss events, seconds.
    pub(super) loss_events_s: Vec<f64>,
    pub(super) marks: Vec<Mark>,
}

/// One chart; those without a known value are not made.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Chart {
    pub(super) id: &'static str,
    pub(super) title: String,
    /// Label of the vertical axis, with its unit.
    pub(super) axis: String,
    /// Short unit behind a value.
    pub(super) unit: &'static str,
    /// Values are divided by this to be in `unit`.
    pub(super) scale: f64,
    pub(super) series: Vec<Series>,
}

/// One curve.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Series {
    /// Key of the value in the records, with the flow behind it where it is not the run's own.
    pub(super) key: String,
    pub(super) label: String,
    /// Name of the curve's quantity, for the caption.
    #[serde(skip)]
    pub(super) about: &'static str,
    /// Which pen draws it; the script and the legend know them by name.
    pub(super) pen: Pen,
    /// SI units; `null` where unknown.
    pub(super) values: Vec<Option<f64>>,
}

/// Colour, dash and marker of a curve.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Pen {
    Allowed,
    Goodput,
    Link,
    Loss,
    Other1,
    Other2,
    Other3,
    Other4,
    Queue,
    Receive,
    Rtt,
    Send,
}

/// A moment marked by an upright line.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Mark {
    pub(super) t_s: f64,
    pub(super) label: &'static str,
}

/// A curve of the run's own flow: pen, key, label, value, merge, caption.
type Curve = (Pen, &'static str, &'static str, fn(&Interval) -> Option<f64>, Merge, &'static str);

const RATES: [Curve; 5] = [
    (
        Pen::Allowed,
        "allowed_rate_bps",
        "allowed rate X",
        |i| i.allowed_rate_bps,
        Merge::Mean,
        "what TFRC lets the sender send (RFC 5348 §4.3)",
    ),
    (
        Pen::Send,
        "send_rate_bps",
        "send rate",
        |i| i.send_rate_bps,
        Merge::Mean,
        "application data that left the sender",
    ),
    (
        Pen::Receive,
        "receive_rate_bps",
        "receive rate X_recv",
        |i| i.receive_rate_bps,
        Merge::Mean,
        "what the receiver's feedback reported",
    ),
    (Pen::Goodput, "goodput_bps", "goodput", |i| i.goodput_bps, Merge::Mean, "application data that arrived"),
    (
        Pen::Link,
        "link_rate_bps",
        "link rate",
        |i| i.link_rate_bps,
        Merge::Mean,
        "the capacity of the bottleneck, headers included",
    ),
];

const LOSS: Curve = (
    Pen::Loss,
    "loss_event_rate",
    "loss event rate p",
    |i| i.loss_event_rate,
    Merge::Mean,
    "loss events per packet as TFRC estimates it from the last loss intervals (RFC 5348 §5.4)",
);

const RTT: Curve = (
    Pen::Rtt,
    "rtt_s",
    "round-trip time R",
    |i| i.rtt_s,
    Merge::Mean,
    "the sender's smoothed estimate (RFC 5348 §4.3)",
);

const QUEUE: Curve = (
    Pen::Queue,
    "queue_packets",
    "queue length",
    |i| i.queue_packets,
    Merge::Largest,
    "packets waiting at the bottleneck, the most in each interval",
);

/// Chooses and fills the charts of a run.
pub(super) fn data(run: &RunRecords) -> PageData {
    let flows = by_flow(&run.intervals);
    let links = by_link(&run.intervals);
    let own_name = flows.first().and_then(|(name, _)| *name);
    let own: &[&Interval] = flows.first().map_or(&[], |(_, intervals)| intervals.as_slice());
    let links_alone = links.first().filter(|_| flows.is_empty());
    let grid = Grid::over(links_alone.map_or(own, |(_, intervals)| intervals.as_slice()));
    let mut charts = Vec::new();

    let mut rates: Vec<Series> = RATES.iter().filter_map(|c| series(&grid, own, c)).collect();
    rates.extend(constant_link(run, &grid, &rates));
    rates.extend(competitors(&grid, &flows));
    // The curve of the link is the frame of all others: drawn last, named last.
    rates.sort_by_key(|s| s.pen == Pen::Link);
    if !rates.is_empty() {
        let (scale, unit) = rate_unit(top(&rates));
        charts.push(Chart {
            id: "rates",
            title: own_name
                .map_or("Rates".to_owned(), |name| format!("Rates of {name} and goodput of others")),
            axis: format!("rate ({unit})"),
            unit,
            scale,
            series: rates,
        });
    }
    for (curve, id, title, axis, unit, scale) in [
        (&LOSS, "loss", "Loss event rate", "p", "", 1.0),
        (&RTT, "rtt", "Round-trip time", "RTT (ms)", "ms", 1e-3),
        (&QUEUE, "queue", "Queue", "queue (packets)", "packets", 1.0),
    ] {
        if let Some(one) = series(&grid, own, curve) {
            let title = match own_name.filter(|_| flows.len() > 1) {
                Some(name) => format!("{title} of {name}"),
                None => title.to_owned(),
            };
            charts.push(Chart { id, title, axis: axis.to_owned(), unit, scale, series: vec![one] });
        }
    }
    charts.extend(compared::flows(&grid, &flows, &run.kinds()));
    charts.extend(compared::links(&grid, &links));

    let last = grid.cells.last().map_or(0.0, |c| c.to);
    let whole = run.summary.as_ref().map_or(0.0, |s| s.duration_s);
    PageData {
        duration_s: short(if whole.is_finite() { last.max(whole) } else { last }),
        merged: grid.merged,
        t_s: grid.cells.iter().map(|c| short(c.to)).collect(),
        charts,
        loss_events_s: moments(run, own_name, |k| k == EventKind::LossEvent)
            .map(|(t, _)| t)
            .take(MOST_MARKS)
            .collect(),
        marks: moments(run, own_name, |k| k != EventKind::LossEvent)
            .filter_map(|(t_s, kind)| Some(Mark { t_s, label: mark_label(kind)? }))
            .take(MOST_MARKS)
            .collect(),
    }
}

/// Intervals by the name of what they are about, each list sorted by time.
pub(super) type Named<'r> = Vec<(Option<&'r str>, Vec<&'r Interval>)>;

/// The intervals of each flow; the run's own flow first, then by first appearance. The run's own
/// is the one without a name, else the first that has an allowed rate, else the first.
fn by_flow(intervals: &[Interval]) -> Named<'_> {
    let mut flows = by_name(intervals.iter().filter(|i| i.link.is_none()), |i| i.flow.as_deref());
    let is_controlled = |list: &[&Interval]| list.iter().any(|i| i.allowed_rate_bps.is_some());
    let own = flows.iter().position(|(name, _)| name.is_none());
    let own = own.or_else(|| flows.iter().position(|(_, list)| is_controlled(list)));
    if let Some(front) = own.and_then(|own| flows.get_mut(..=own)) {
        front.rotate_right(1);
    }
    flows
}

/// The intervals of each link, by first appearance.
fn by_link(intervals: &[Interval]) -> Named<'_> {
    by_name(intervals.iter().filter(|i| i.link.is_some()), |i| i.link.as_deref())
}

fn by_name<'r>(
    intervals: impl Iterator<Item = &'r Interval>,
    name: impl Fn(&'r Interval) -> Option<&'r str>,
) -> Named<'r> {
    let mut named: Named<'r> = Vec::new();
    let mut places = BTreeMap::new();
    for interval in intervals.filter(|i| i.t_s.is_finite() && i.interval_s.is_finite()) {
        let name = name(interval);
        let place = *places.entry(name).or_insert_with(|| {
            named.push((name, Vec::new()));
            named.len() - 1
        });
        named[place].1.push(interval);
    }
    for (_, list) in &mut named {
        list.sort_by(|a, b| a.t_s.total_cmp(&b.t_s));
    }
    named
}

fn series(grid: &Grid, own: &[&Interval], curve: &Curve) -> Option<Series> {
    let (pen, key, label, get, merge, about) = *curve;
    filled(Series {
        key: key.to_owned(),
        label: label.to_owned(),
        about,
        pen,
        values: grid.column(own, get, merge),
    })
}

/// The series with its values shortened, if it has any.
pub(super) fn filled(mut series: Series) -> Option<Series> {
    for value in series.values.iter_mut().flatten() {
        *value = short(*value);
    }
    series.values.iter().any(Option::is_some).then_some(series)
}

/// A level line at the rate the run started with, where the intervals do not hold the link's rate.
fn constant_link(run: &RunRecords, grid: &Grid, rates: &[Series]) -> Option<Series> {
    let bps = run.start.bottleneck_bps.filter(|b| b.is_finite())?;
    if rates.is_empty() || rates.iter().any(|s| s.pen == Pen::Link) {
        return None;
    }
    let (pen, key, label, .., about) = RATES[4];
    filled(Series {
        key: key.to_owned(),
        label: label.to_owned(),
        about,
        pen,
        values: vec![Some(bps); grid.cells.len()],
    })
}

/// The goodput of the flows besides the run's own: one by one if they are few, otherwise their
/// mean.
fn competitors(grid: &Grid, flows: &Named<'_>) -> Vec<Series> {
    let mut all: Vec<Series> = flows
        .iter()
        .skip(1)
        .zip([Pen::Other1, Pen::Other2, Pen::Other3, Pen::Other4].into_iter().cycle())
        .filter_map(|((name, intervals), pen)| {
            let name = name.unwrap_or("other");
            filled(Series {
                key: format!("goodput_bps {name}"),
                label: format!("goodput of {name}"),
                about: "application data that arrived on the competing flow",
                pen,
                values: grid.column(intervals, |i| i.goodput_bps, Merge::Mean),
            })
        })
        .collect();
    if all.len() > MOST_COMPETITORS {
        let mean = (0..grid.cells.len())
            .map(|cell| {
                let known: Vec<f64> =
                    all.iter().filter_map(|s| s.values.get(cell).copied().flatten()).collect();
                (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
            })
            .collect();
        let label = format!("mean goodput of {} competing flows", all.len());
        all = filled(Series {
            key: "goodput_bps competitors_mean".to_owned(),
            label,
            about: "application data that arrived on each competing flow, averaged over them",
            pen: Pen::Other1,
            values: mean,
        })
        .into_iter()
        .collect();
    }
    all
}

/// The largest value of a chart.
pub(super) fn top(series: &[Series]) -> f64 {
    series.iter().flat_map(|s| &s.values).flatten().copied().fold(0.0, f64::max)
}

/// The prefix that puts the largest rate, bit/s, between 1 and 1000.
pub(super) const fn rate_unit(top: f64) -> (f64, &'static str) {
    if top >= 1e9 {
        (1e9, "Gbit/s")
    } else if top >= 1e6 {
        (1e6, "Mbit/s")
    } else if top >= 1e3 {
        (1e3, "kbit/s")
    } else {
        (1.0, "bit/s")
    }
}

/// The times of the events of some kinds on the run's own flow, in order.
fn moments(
    run: &RunRecords,
    flow: Option<&str>,
    wanted: fn(EventKind) -> bool,
) -> impl Iterator<Item = (f64, EventKind)> {
    let mut moments: Vec<(f64, EventKind)> = run
        .events
        .iter()
        .filter(|e| (e.flow.is_none() || e.flow.as_deref() == flow) && e.t_s.is_finite() && wanted(e.event))
        .map(|e| (short(e.t_s), e.event))
        .collect();
    moments.sort_by(|a, b| a.0.total_cmp(&b.0));
    moments.into_iter()
}

/// Returns the text next to an event; the ends of a connection are the ends of the chart and need
/// no mark.
const fn mark_label(kind: EventKind) -> Option<&'static str> {
    match kind {
        EventKind::Closed | EventKind::Connected | EventKind::LossEvent | EventKind::MoreConnections => None,
        EventKind::LinkChange => Some("link changes"),
        EventKind::NoFeedback => Some("no feedback"),
        EventKind::SlowStartEnd => Some("slow start ends"),
        EventKind::Stopped => Some("stopped"),
    }
}

/// Six significant digits: finer than a screen can show, and short in the file.
fn short(x: f64) -> f64 {
    format!("{x:.5e}").parse().unwrap_or(x)
}
