//! Which curves a page shows, and their values: the data part of the page.

use std::collections::BTreeMap;

use serde::Serialize;

use super::RunRecords;
use super::compared;
use super::grid::{Grid, Merge};
use crate::plot::ink_of;
use crate::record::{Event, EventKind};
use tfrc_world::results::Interval;

/// The most competing flows drawn one by one; more are drawn as their mean.
const MOST_COMPETITORS: usize = 4;

/// X is cut off where it goes further above all other rates than this.
const MOST_ABOVE: f64 = 2.5;

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
    /// The end of the vertical axis, where a curve is cut off there; SI units.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) top: Option<f64>,
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
    /// Its colour: that of the kind of flow, or of the quantity; a variable of the style sheet.
    pub(super) ink: &'static str,
    /// SI units; `null` where unknown.
    pub(super) values: Vec<Option<f64>>,
}

/// Dash and marker of a curve.
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
    pub(super) label: String,
}

/// A curve of the run's own flow: pen, ink, key, label, value, merge, caption.
type Curve =
    (Pen, &'static str, &'static str, &'static str, fn(&Interval) -> Option<f64>, Merge, &'static str);

/// Stands for the ink of the flow that the curves are of.
const OWN: &str = "";

const RATES: [Curve; 7] = [
    (
        Pen::Allowed,
        "allowed",
        "allowed_rate_bps",
        "allowed rate X",
        |i| i.allowed_rate_bps,
        Merge::Mean,
        "what TFRC lets the sender send (RFC 5348 §4.3)",
    ),
    (
        Pen::Send,
        "send",
        "send_rate_bps",
        "send rate",
        |i| i.send_rate_bps,
        Merge::Smoothed,
        "application data that left the sender, mean over 0.5 s",
    ),
    (
        Pen::Receive,
        "receive",
        "receive_rate_bps",
        "receive rate X_recv",
        |i| i.receive_rate_bps,
        Merge::Mean,
        "what the receiver's feedback reported, over a round-trip time each: on a short path of a packet or two, and \
         so above what was sent",
    ),
    (
        Pen::Goodput,
        OWN,
        "goodput_bps",
        "goodput",
        |i| i.goodput_bps,
        Merge::Smoothed,
        "application data that arrived, mean over 0.5 s",
    ),
    (
        Pen::Link,
        "bottleneck",
        "target_rate_bps",
        "cap",
        |i| i.target_rate_bps.filter(|target| i.allowed_rate_bps.is_some_and(|allowed| *target < allowed)),
        Merge::Mean,
        "the target rate (X, at most the cap) where the cap is below X",
    ),
    (
        Pen::Link,
        "encoder",
        "encoder_rate_bps",
        "encoder",
        |i| i.encoder_rate_bps,
        Merge::Mean,
        "the bitrate of the picture that the encoder made",
    ),
    (
        Pen::Link,
        "bottleneck",
        "link_rate_bps",
        "link rate",
        |i| i.link_rate_bps,
        Merge::Mean,
        "the capacity of the bottleneck, headers included",
    ),
];

const LOSS: Curve = (
    Pen::Loss,
    "loss",
    "loss_event_rate",
    "loss event rate p",
    |i| i.loss_event_rate,
    Merge::Mean,
    "loss events per packet as TFRC estimates it from the last loss intervals (RFC 5348 §5.4)",
);

const RTT: Curve = (
    Pen::Rtt,
    OWN,
    "rtt_s",
    "round-trip time R",
    |i| i.rtt_s,
    Merge::Mean,
    "the sender's smoothed estimate (RFC 5348 §4.3)",
);

const QUEUE: Curve = (
    Pen::Queue,
    "queue",
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

    let kinds = run.kinds();
    let own_ink = ink_of(own_name.map_or("tfrc", |name| kinds.get(name).copied().unwrap_or(name)));
    let series = |curve: &Curve| series(&grid, own, own_ink, curve);
    let mut rates: Vec<Series> = RATES.iter().filter_map(series).collect();
    rates.extend(constant_link(run, &grid, &rates));
    rates.extend(competitors(&grid, &flows, &kinds));
    // The curve of the link is the frame of all others: drawn last, named last.
    rates.sort_by_key(|s| s.pen == Pen::Link);
    if !rates.is_empty() {
        let cut = cut(&rates);
        let (scale, unit) = rate_unit(cut.unwrap_or_else(|| top(&rates)));
        charts.push(Chart {
            id: "rates",
            top: cut,
            title: match own_name {
                Some(name) if flows.len() > 1 => format!("Rates of {name} and goodput of others"),
                _ => "Rates".to_owned(),
            },
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
        if let Some(one) = series(curve) {
            let title = match own_name.filter(|_| flows.len() > 1) {
                Some(name) => format!("{title} of {name}"),
                None => title.to_owned(),
            };
            charts.push(Chart {
                id,
                title,
                axis: axis.to_owned(),
                unit,
                scale,
                top: None,
                series: vec![one],
            });
        }
    }
    charts.extend(compared::flows(&grid, &flows, &kinds));
    charts.extend(compared::links(&grid, &links));

    let last = grid.cells.last().map_or(0.0, |c| c.to);
    let whole = run.summary.as_ref().map_or(0.0, |s| s.duration_s);
    PageData {
        duration_s: short(if whole.is_finite() { last.max(whole) } else { last }),
        merged: grid.merged,
        t_s: grid.cells.iter().map(|c| short(c.to)).collect(),
        charts,
        loss_events_s: moments(run, own_name)
            .filter(|event| event.event == EventKind::LossEvent)
            .map(|event| short(event.t_s))
            .take(MOST_MARKS)
            .collect(),
        marks: moments(run, own_name)
            .filter_map(|event| Some(Mark { t_s: short(event.t_s), label: mark_label(event)? }))
            .take(MOST_MARKS)
            .collect(),
    }
}

/// The goodput of the flows of a run, queues, and round-trip times, over the times returned.
pub(super) fn course(run: &RunRecords) -> (Vec<f64>, Vec<Chart>) {
    let (flows, links) = (by_flow(&run.intervals), by_link(&run.intervals));
    let grid = Grid::over(flows.first().map_or(&[], |(_, intervals)| intervals.as_slice()));
    let charts = compared::course(&grid, &flows, &links, &run.kinds());
    (grid.cells.iter().map(|cell| short(cell.to)).collect(), charts)
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

fn series(grid: &Grid, own: &[&Interval], own_ink: &'static str, curve: &Curve) -> Option<Series> {
    let (pen, ink, key, label, get, merge, about) = *curve;
    filled(Series {
        key: key.to_owned(),
        label: label.to_owned(),
        about,
        pen,
        ink: if ink == OWN { own_ink } else { ink },
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
    let [.., (pen, ink, key, label, .., about)] = RATES;
    if rates.is_empty() || rates.iter().any(|s| s.key == key) {
        return None;
    }
    filled(Series {
        key: key.to_owned(),
        label: label.to_owned(),
        about,
        pen,
        ink,
        values: vec![Some(bps); grid.cells.len()],
    })
}

/// The goodput of the flows besides the run's own: one by one if they are few, otherwise their
/// mean.
fn competitors(grid: &Grid, flows: &Named<'_>, kinds: &BTreeMap<&str, &str>) -> Vec<Series> {
    let mut all: Vec<Series> = flows
        .iter()
        .skip(1)
        .zip([Pen::Other1, Pen::Other2, Pen::Other3, Pen::Other4].into_iter().cycle())
        .filter_map(|((name, intervals), pen)| {
            let name = name.unwrap_or("other");
            filled(Series {
                key: format!("goodput_bps {name}"),
                label: format!("goodput of {name}"),
                about: "application data that arrived on the competing flow, mean over 0.5 s",
                pen,
                ink: ink_of(kinds.get(name).unwrap_or(&name)),
                values: grid.column(intervals, |i| i.goodput_bps, Merge::Smoothed),
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
        let first = all[0].ink;
        let ink = if all.iter().all(|one| one.ink == first) { first } else { "s4" };
        all = filled(Series {
            key: "goodput_bps competitors_mean".to_owned(),
            label,
            about: "application data that arrived on each competing flow, averaged over them",
            pen: Pen::Other1,
            ink,
            values: mean,
        })
        .into_iter()
        .collect();
    }
    all
}

/// The largest value of a chart.
pub(super) fn top<'s>(series: impl IntoIterator<Item = &'s Series>) -> f64 {
    series.into_iter().flat_map(|s| &s.values).flatten().copied().fold(0.0, f64::max)
}

/// The end of the axis of rates where X is cut off: it may be hundreds of times the rate of an
/// application with little to send, which would be a line at zero.
fn cut(rates: &[Series]) -> Option<f64> {
    let others = top(rates.iter().filter(|s| s.pen != Pen::Allowed));
    (others > 0.0 && top(rates) > MOST_ABOVE * others).then_some(1.3 * others)
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

/// The events of the run's own flow, in the order of their times.
fn moments<'r>(run: &'r RunRecords, flow: Option<&str>) -> impl Iterator<Item = &'r Event> {
    let is_meant = |e: &&Event| (e.flow.is_none() || e.flow.as_deref() == flow) && e.t_s.is_finite();
    let mut moments: Vec<&Event> = run.events.iter().filter(is_meant).collect();
    moments.sort_by(|a, b| a.t_s.total_cmp(&b.t_s));
    moments.into_iter()
}

/// Returns the text next to an event; the ends of a connection are the ends of the chart and need
/// no mark.
fn mark_label(event: &Event) -> Option<String> {
    let words = match event.event {
        EventKind::Closed | EventKind::Connected | EventKind::LossEvent | EventKind::MoreConnections => {
            return None;
        }
        EventKind::LinkChange => event.detail.as_deref().unwrap_or("link changes"),
        EventKind::NoFeedback => "no feedback",
        EventKind::SlowStartEnd => "slow start ends",
        EventKind::Stopped => "stopped",
    };
    Some(words.to_owned())
}

/// Six significant digits: finer than a screen can show, and short in the file.
fn short(x: f64) -> f64 {
    format!("{x:.5e}").parse().unwrap_or(x)
}
