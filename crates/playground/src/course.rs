//! The course of a run as rows of numbers, and the names of their columns.

use serde_json::{Value, json};
use tfrc_scenario::Scenario;
use tfrc_sim::LinkSpec;
use tfrc_units::Duration;
use tfrc_world::recording::Recording;
use tfrc_world::results::Interval;
use tfrc_world::watch::Look;

/// The shortest time between two looks: with less, a rate is of too few packets to be one.
pub(crate) const SHORTEST: Duration = Duration::from_millis(20);

/// Flows whose columns a page gets; the sums of groups are of all flows.
const MOST_FLOWS: usize = 64;

/// Columns of a flow, with the meaning that [`Interval`] gives them; bit/s, seconds.
const FLOW: [(&str, fn(&Interval) -> Option<f64>); 8] = [
    ("goodput", |seen| seen.goodput_bps),
    ("allowed", |seen| seen.allowed_rate_bps),
    ("rtt", |seen| seen.rtt_s),
    ("p", |seen| seen.loss_event_rate),
    ("cwnd", |seen| seen.cwnd_packets),
    ("events", |seen| seen.loss_events.map(|events| events as f64)),
    ("sent", |seen| seen.sent_packets.map(|packets| packets as f64)),
    ("lost", |seen| seen.lost_packets.map(|packets| packets as f64)),
];

/// Columns of a link.
const LINK: [(&str, fn(&Interval) -> Option<f64>); 4] = [
    ("queue", |seen| seen.queue_packets),
    ("mean", |seen| seen.mean_queue_packets),
    ("lost", |seen| seen.lost_packets.map(|packets| packets as f64)),
    ("utilization", |seen| seen.utilization),
];

/// A scenario, as far as rows depend on it.
pub(crate) struct Course<'s> {
    scenario: &'s Scenario,
    points: usize,
    flows: usize,
}

impl<'s> Course<'s> {
    pub(crate) fn of(scenario: &'s Scenario, points: usize) -> Self {
        let flows: usize = scenario.flows.iter().map(|flow| flow.group.count as usize).sum();
        Self { scenario, points, flows: flows.min(MOST_FLOWS) }
    }

    /// The names of flows, groups, links and columns.
    pub(crate) fn names(&self) -> String {
        let mut first = 0;
        let groups: Vec<Value> = self
            .scenario
            .flows
            .iter()
            .map(|flow| {
                let group = json!({ "name": flow.group.name, "first": first, "count": flow.group.count });
                first += flow.group.count as usize;
                group
            })
            .collect();
        let of = |columns: &[(&str, fn(&Interval) -> Option<f64>)]| -> Vec<String> {
            columns.iter().map(|(name, _)| (*name).to_owned()).collect()
        };
        json!({
            "duration": self.scenario.duration.as_secs_f64(),
            "warmup": self.scenario.warmup.as_secs_f64(),
            "points": self.points,
            "flows": self.flows,
            "groups": groups,
            "links": self.links().map(rates).collect::<Vec<_>>(),
            "flow_columns": of(&FLOW),
            "link_columns": of(&LINK),
        })
        .to_string()
    }

    /// The links of the file, in the order of a look's.
    fn links(&self) -> impl Iterator<Item = &LinkSpec> {
        self.scenario.network.links().map(|(_, link)| link)
    }

    /// The numbers of a look: its time, the goodput of each group (bit/s, all its flows), the
    /// columns of each flow, those of each link. A value that is not there is not a number.
    pub(crate) fn row(&self, look: &Look, row: &mut Vec<f64>) {
        row.clear();
        row.push(look.flows.first().or(look.links.first()).map_or(f64::NAN, |seen| seen.t_s));
        let mut rest = look.flows.iter();
        for flow in &self.scenario.flows {
            let all = rest.by_ref().take(flow.group.count as usize);
            row.push(all.map(|seen| seen.goodput_bps.unwrap_or_default()).sum());
        }
        for seen in look.flows.iter().take(self.flows) {
            row.extend(FLOW.iter().map(|(_, column)| column(seen).unwrap_or(f64::NAN)));
        }
        for seen in &look.links {
            row.extend(LINK.iter().map(|(_, column)| column(seen).unwrap_or(f64::NAN)));
        }
    }

    /// The loss events of the flows: time in seconds, number of the flow, the interval that the
    /// event closed, the mean interval from then on (1/p), packets.
    pub(crate) fn losses(&self, recording: &Recording) -> Vec<[f64; 4]> {
        let flows = recording.flows.iter().take(self.flows).enumerate();
        let events = flows.flat_map(|(number, flow)| {
            flow.losses().map(move |one| [one.at.as_secs_f64(), number as f64, one.interval, one.mean])
        });
        let mut events: Vec<[f64; 4]> = events.collect();
        events.sort_by(|a, b| a[0].total_cmp(&b[0]));
        events
    }
}

/// The name of a link and its rate over time: pairs of seconds and bit/s, of a trace its mean.
fn rates(link: &LinkSpec) -> Value {
    let later = link.changes.iter().filter_map(|change| Some((change.at.as_secs_f64(), change.rate?)));
    let all = std::iter::once((0.0, link.rate)).chain(later);
    let rates: Vec<(f64, f64)> = all.map(|(at, rate)| (at, rate.bytes_per_sec() * 8.0)).collect();
    json!({ "name": link.name, "rates": rates })
}
