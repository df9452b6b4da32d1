//! Charts that put flows, or links, side by side: shares, windows, round-trip times, queues.

use std::collections::BTreeMap;

use super::chart::{Chart, Named, Pen, Series, filled, rate_unit, top};
use super::grid::{Grid, Merge};
use crate::plot::ink_of;
use tfrc_world::results::Interval;

/// Pens of curves, in their order.
const PENS: [Pen; 5] = [Pen::Goodput, Pen::Other1, Pen::Other2, Pen::Other3, Pen::Other4];

/// Inks of links, none of which is that of a kind of flow.
const OF_LINKS: [&str; 5] = ["queue", "bottleneck", "receive", "allowed", "loss"];

/// A quantity that each flow, or each link, has.
struct Quantity {
    id: &'static str,
    title: &'static str,
    axis: &'static str,
    unit: &'static str,
    scale: f64,
    key: &'static str,
    about: &'static str,
    of: fn(&Interval) -> Option<f64>,
    merge: Merge,
}

const CWND: Quantity = Quantity {
    id: "cwnd",
    title: "Congestion windows of TCPs",
    axis: "window (segments)",
    unit: "segments",
    scale: 1.0,
    key: "cwnd_packets",
    about: "cwnd, the window that congestion control allows (RFC 5681 §3)",
    of: |i| i.cwnd_packets,
    merge: Merge::Mean,
};

const RTTS: Quantity = Quantity {
    id: "rtts",
    title: "Round-trip times of all",
    axis: "RTT (ms)",
    unit: "ms",
    scale: 1e-3,
    key: "rtt_s",
    about: "the smoothed estimate of a TFRC sender; of others the mean of the samples",
    of: |i| i.rtt_s,
    merge: Merge::Mean,
};

const LINKS: [Quantity; 3] = [
    Quantity {
        id: "queues",
        title: "Queues",
        axis: "queue (packets)",
        unit: "packets",
        scale: 1.0,
        key: "queue_packets",
        about: "packets waiting, the most in each interval",
        of: |i| i.queue_packets,
        merge: Merge::Largest,
    },
    Quantity {
        id: "utilization",
        title: "Utilization of links",
        axis: "busy (%)",
        unit: "%",
        scale: 0.01,
        key: "utilization",
        about: "share of the time in transmission",
        of: |i| i.utilization,
        merge: Merge::Mean,
    },
    Quantity {
        id: "drops",
        title: "Packets dropped by links",
        axis: "dropped (packets)",
        unit: "packets",
        scale: 1.0,
        key: "lost_packets",
        about: "packets that the queue or the loss model dropped, the most in an interval",
        of: |i| i.lost_packets.map(|n| n as f64),
        merge: Merge::Largest,
    },
];

/// The charts in which flows stand side by side, where there are several. `kinds` has the kind of
/// each flow that is known.
pub(super) fn flows(grid: &Grid, flows: &Named<'_>, kinds: &BTreeMap<&str, &str>) -> Vec<Chart> {
    let mut charts: Vec<Chart> = shares(grid, flows, kinds).into_iter().collect();
    charts.extend(chart(&CWND, columns(grid, flows, &CWND, kinds)));
    // One curve alone has its own chart.
    let times = chart(&RTTS, columns(grid, flows, &RTTS, kinds));
    charts.extend(times.filter(|chart| flows.len() > 1 && chart.series.len() > 1));
    charts
}

/// The goodput of flows, the queues of links and round-trip times: the course of a run at a glance.
pub(super) fn course(
    grid: &Grid,
    flows: &Named<'_>,
    links: &Named<'_>,
    kinds: &BTreeMap<&str, &str>,
) -> Vec<Chart> {
    let goodput =
        flows.iter().map(|(name, list)| (*name, grid.column(list, |i| i.goodput_bps, Merge::Smoothed)));
    let goodput = few(goodput.collect(), kinds, mean, "mean of");
    let quantity = Quantity {
        id: "goodputs",
        title: "Goodput",
        key: "goodput_bps",
        about: "application data that arrived on a flow, mean over 0.5 s",
        of: |i| i.goodput_bps,
        ..RATE
    };
    let queues = self::links(grid, links).into_iter().find(|chart| chart.id == LINKS[0].id);
    let times = chart(&RTTS, columns(grid, flows, &RTTS, kinds));
    [rates(&quantity, goodput), queues, times].into_iter().flatten().collect()
}

/// The charts of links: of the busiest, if there are more than pens.
pub(super) fn links(grid: &Grid, links: &Named<'_>) -> Vec<Chart> {
    let busy = |list: &[&Interval]| list.iter().filter_map(|i| i.utilization).sum::<f64>();
    let mut busiest: Vec<usize> = (0..links.len()).filter(|n| busy(&links[*n].1) > 0.0).collect();
    busiest.sort_by(|a, b| busy(&links[*b].1).total_cmp(&busy(&links[*a].1)));
    busiest.truncate(PENS.len());
    busiest.sort_unstable();
    let columns = |of: fn(&Interval) -> Option<f64>, merge| {
        let one = |(n, ink): (&usize, &'static str)| {
            let (name, list) = &links[*n];
            (name.unwrap_or_default().to_owned(), ink, grid.column(list, of, merge))
        };
        busiest.iter().zip(OF_LINKS).map(one).collect::<Vec<_>>()
    };
    let mut charts: Vec<Chart> = rates(&RATE, columns(RATE.of, RATE.merge)).into_iter().collect();
    charts.extend(LINKS.iter().filter_map(|one| chart(one, columns(one.of, one.merge))));
    charts
}

/// A rate, in a unit that its values give.
const RATE: Quantity = Quantity {
    id: "throughput",
    title: "Throughput of links",
    axis: "",
    unit: "",
    scale: 1.0,
    key: "receive_rate_bps",
    about: "bits that left the link each second, headers included",
    of: |i| i.receive_rate_bps,
    merge: Merge::Mean,
};

fn rates(quantity: &Quantity, columns: Vec<Curve>) -> Option<Chart> {
    let chart = chart(quantity, columns)?;
    let (scale, unit) = rate_unit(top(&chart.series));
    Some(Chart { axis: format!("rate ({unit})"), unit, scale, ..chart })
}

/// The share of each flow, or of each kind if they are many, in the goodput of all.
fn shares(grid: &Grid, flows: &Named<'_>, kinds: &BTreeMap<&str, &str>) -> Option<Chart> {
    let goodput: Vec<_> =
        flows.iter().map(|(_, list)| grid.column(list, |i| i.goodput_bps, Merge::Smoothed)).collect();
    let known = goodput.iter().filter(|column| column.iter().any(Option::is_some)).count();
    if known < 2 {
        return None;
    }
    let total = |cell: usize| goodput.iter().filter_map(|column| column[cell]).sum::<f64>();
    let totals: Vec<f64> = (0..grid.cells.len()).map(total).collect();
    let share = |column: &Vec<Option<f64>>| {
        let part = |(value, total): (&Option<f64>, &f64)| value.filter(|_| *total > 0.0).map(|v| v / total);
        column.iter().zip(&totals).map(part).collect::<Vec<_>>()
    };
    let shares: Vec<_> =
        flows.iter().zip(&goodput).map(|((name, _), column)| (*name, share(column))).collect();
    let columns = few(shares, kinds, |known| known.iter().sum(), "all");
    let quantity = Quantity {
        id: "shares",
        title: "Shares of the goodput",
        axis: "share (%)",
        unit: "%",
        scale: 0.01,
        key: "share",
        about: "goodput of a flow, or of all flows of a kind, divided by that of all flows, over 0.5 s",
        of: |_| None,
        merge: Merge::Mean,
    };
    chart(&quantity, columns)
}

/// A column of values with the name and the ink of its curve.
type Curve = (String, &'static str, Vec<Option<f64>>);

fn columns(grid: &Grid, flows: &Named<'_>, quantity: &Quantity, kinds: &BTreeMap<&str, &str>) -> Vec<Curve> {
    let all = flows.iter().map(|(name, list)| (*name, grid.column(list, quantity.of, quantity.merge)));
    let known = all.filter(|(_, column)| column.iter().any(Option::is_some)).collect();
    few(known, kinds, mean, "mean of")
}

fn mean(known: &[f64]) -> f64 {
    known.iter().sum::<f64>() / known.len() as f64
}

/// The curves of flows if there is a pen for each; else one for each kind, in which `join` makes
/// one value of those of its flows and `word` stands before the name.
fn few(
    flows: Vec<(Option<&str>, Vec<Option<f64>>)>,
    kinds: &BTreeMap<&str, &str>,
    join: fn(&[f64]) -> f64,
    word: &str,
) -> Vec<Curve> {
    if flows.len() <= PENS.len() {
        let one = |(name, column): (Option<&str>, _)| {
            let name = name.unwrap_or("tfrc");
            (name.to_owned(), ink_of(kinds.get(name).unwrap_or(&name)), column)
        };
        return flows.into_iter().map(one).collect();
    }
    let mut by_kind: Vec<(&str, Vec<Vec<Option<f64>>>)> = Vec::new();
    for (name, column) in flows {
        let kind = name.map_or("tfrc", |name| kinds.get(name).copied().unwrap_or("other"));
        match by_kind.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, columns)) => columns.push(column),
            None => by_kind.push((kind, vec![column])),
        }
    }
    let one = |(kind, columns): (&str, Vec<Vec<Option<f64>>>)| {
        let cells = columns.first().map_or(0, Vec::len);
        let joined = (0..cells).map(|cell| {
            let known: Vec<f64> = columns.iter().filter_map(|column| column[cell]).collect();
            (!known.is_empty()).then(|| join(&known))
        });
        (format!("{word} {} {kind}", columns.len()), ink_of(kind), joined.collect())
    };
    by_kind.into_iter().map(one).collect()
}

/// The chart of these curves, as far as there are pens; `None` if none has a value.
fn chart(quantity: &Quantity, curves: Vec<Curve>) -> Option<Chart> {
    let drawn = curves.into_iter().zip(PENS).filter_map(|((name, ink, values), pen)| {
        filled(Series {
            key: format!("{} {name}", quantity.key),
            label: name,
            about: quantity.about,
            pen,
            ink,
            values,
        })
    });
    let series: Vec<Series> = drawn.collect();
    (!series.is_empty()).then(|| Chart {
        id: quantity.id,
        title: quantity.title.to_owned(),
        axis: quantity.axis.to_owned(),
        unit: quantity.unit,
        scale: quantity.scale,
        top: None,
        series,
    })
}
