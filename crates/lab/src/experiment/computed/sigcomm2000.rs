//! ICSI TR-00-003, the long version of the SIGCOMM 2000 paper: a closed form, what needs a whole
//! course of a run (the highest tenth of a second, the regularity of a queue), and predictors on
//! loss traces. Each experiment runs the scenario in its folder.

use std::collections::BTreeMap;

use tfrc::equation::Equation;
use tfrc_sim::Seed;
use tfrc_units::{Duration, Probability};

use super::{Context, Settable, Values};
use crate::experiment::syntax::Profile;
use crate::experiment::table::number;
use crate::record::Interval;
use crate::run::run_with;
use crate::scenario::Document;
use crate::statistics::{deviation, mean};

macro_rules! scenario {
    ($name:literal) => {
        include_str!(concat!("../../../../../experiments/sigcomm2000/", $name, "/scenario.toml"))
    };
}

pub(super) const FIG_18: Settable = Settable::Scenario(scenario!("fig-18"));
pub(super) const FIG_22: Settable = Settable::Scenario(scenario!("fig-22"));
pub(super) const FIG_23: Settable = Settable::Scenario(scenario!("fig-23"));
pub(super) const FIG_28: Settable = Settable::Scenario(scenario!("fig-28"));

/// Course of one flow, in stretches of equal length.
struct Course(Vec<Interval>);

impl Course {
    /// The intervals that end in a stretch of time.
    fn between(&self, from: f64, to: f64) -> impl Iterator<Item = &Interval> {
        self.0.iter().filter(move |i| i.t_s > from + 1e-6 && i.t_s <= to + 1e-6)
    }
}

/// Runs a scenario with changes and a seed: the course of each flow by its name.
fn courses(
    context: &Context<'_>,
    text: &str,
    set: &[String],
    seed: u64,
    every: Duration,
) -> BTreeMap<String, Course> {
    let mut document = Document::new("scenario.toml", text);
    set.iter().chain(context.set).for_each(|assignment| document.set(assignment.clone()));
    let mut courses: BTreeMap<String, Course> = BTreeMap::new();
    let Some(mut point) = document.plan().ok().and_then(|plan| plan.points.into_iter().next()) else {
        return courses;
    };
    point.scenario.seed = Seed(seed);
    let outcome = run_with(&point.scenario, every, |interval| {
        let name = interval.flow.clone().unwrap_or_default();
        courses.entry(name).or_insert_with(|| Course(Vec::new())).0.push(interval);
    });
    context.packet_hops.set(context.packet_hops.get() + outcome.packet_hops);
    courses
}

/// The changes of a profile to flows of TFRC and TCP.
fn profile(profile: Profile, tfrc: &[&str], tcp: &[&str]) -> Vec<String> {
    match profile {
        Profile::AsPublished => Vec::new(),
        Profile::Rfc => {
            let tfrc = tfrc.iter().map(|flow| format!("flow.{flow}.tfrc={{ revision = 'rfc5348' }}"));
            let tcp = tcp.iter().map(|flow| format!("flow.{flow}.tcp={{ variant = 'sack', window = 5000 }}"));
            tfrc.chain(tcp).collect()
        }
    }
}

/// Adds a value to a row and column.
fn put(values: &mut Values, row: &str, column: &str, value: Option<f64>) {
    if let Some(value) = value.filter(|value| value.is_finite()) {
        values.entry((row.to_owned(), column.to_owned())).or_default().push(value);
    }
}

/// How closely a queue or losses are looked at.
const FINE: Duration = Duration::from_millis(10);
/// The width of the figures' bins.
const TENTH: Duration = Duration::from_millis(100);

/// Figure 5: the fraction of loss events of a flow at a multiple of the equation's rate, under
/// independent loss.
pub(super) fn fig_05(context: &Context<'_>) -> Values {
    let fraction = |profile: Profile, multiple: f64, p: f64| {
        let packets = multiple
            * match profile {
                // The paper's equation (2).
                Profile::AsPublished => {
                    1.0 / ((2.0 * p / 3.0).sqrt() + 12.0 * (3.0 * p / 8.0).sqrt() * p * (1.0 + 32.0 * p * p))
                }
                Profile::Rfc => {
                    let rtt = Duration::from_secs(1);
                    Equation::default().rate(1.0, rtt, Probability::saturating(p)).bytes_per_sec()
                }
            };
        (1.0 - (1.0 - p).powf(packets)) / packets
    };
    context.fill(|context, keys, column| {
        let multiple: f64 = column.strip_prefix("rate_x")?.parse().ok()?;
        Some(fraction(context.profile, multiple, number(keys.first()?)?))
    })
}

/// Figures 22 and 23: what one of two flows does when the other stops at 30 s. A row for each tenth
/// of a second.
fn one_stops(context: &Context<'_>, text: &str, set: &[String]) -> Values {
    let mut values = Values::new();
    for seed in &context.seeds {
        let courses = courses(context, text, set, *seed, TENTH);
        let Some(course) = courses.get("stays") else { continue };
        let sent = |from: f64, to: f64| -> Vec<f64> {
            course.between(from, to).filter_map(|i| Some(i.sent_packets? as f64)).collect()
        };
        let first_loss = course.between(30.5, 40.0).find(|i| i.lost_packets.is_some_and(|lost| lost > 0));
        for (row, _) in &context.rows {
            for column in &context.columns {
                let value = match *column {
                    "before" => mean(&sent(25.0, 30.0)),
                    "after" => mean(&sent(32.0, 40.0)),
                    "peak" => sent(30.0, 40.0).into_iter().reduce(f64::max),
                    "deviation" => deviation(&sent(32.0, 40.0)),
                    // Seconds after the stop until three quarters of the line are reached.
                    "rise_s" => {
                        let tenths: Vec<&Interval> = course.between(30.0, 40.0).collect();
                        let high = |i: &&[&Interval]| {
                            i.iter().map(|i| i.sent_packets.unwrap_or(0)).sum::<u64>() as f64
                                >= 0.75 * 18.75 * 5.0
                        };
                        tenths
                            .windows(5)
                            .find(|five| high(five))
                            .and_then(|five| Some(five.first()?.t_s - 30.0))
                    }
                    "first_loss_s" => Some(first_loss.map_or(40.0, |i| i.t_s) - 30.0),
                    _ => None,
                };
                put(&mut values, row, column, value);
            }
        }
    }
    values
}

/// Figure 22: two TCP flows.
pub(super) fn fig_22(context: &Context<'_>) -> Values {
    one_stops(context, scenario!("fig-22"), &profile(context.profile, &[], &["stays", "stops"]))
}

/// Figure 23: two TFRC flows.
pub(super) fn fig_23(context: &Context<'_>) -> Values {
    one_stops(context, scenario!("fig-23"), &profile(context.profile, &["stays", "stops"], &[]))
}

/// The changes for a queue and a kind of flow.
fn set_of_28(of: Profile, queue: &str, kind: &str) -> Vec<String> {
    let mut set = match kind {
        "TCP" => profile(of, &[], &["tcp"]),
        _ => profile(of, &["tfrc"], &[]),
    };
    set.push(if kind == "TCP" { "flow.tfrc.count=0" } else { "flow.tcp.count=0" }.to_owned());
    if queue == "DropTail" {
        set.push("link.bottleneck.queue=250p ns2".to_owned());
    }
    set
}

/// Figure 28: the queue, as a ping sees it, of 40 flows of one kind with equal round-trip times.
/// The first key is the queue, the second the kind.
pub(super) fn fig_28(context: &Context<'_>) -> Values {
    let mut values = Values::new();
    for (row, keys) in &context.rows {
        let [queue, kind] = keys else { continue };
        let set = set_of_28(context.profile, queue, kind);
        for seed in &context.seeds {
            let courses = courses(context, scenario!("fig-28"), &set, *seed, FINE);
            let Some(ping) = courses.get("ping") else { continue };
            // What waits, in packets of 1000 bytes at 15 Mbit/s, from the delay beyond propagation
            // and transmission.
            let waiting: Vec<f64> = ping
                .between(10.0, 30.0)
                .filter_map(|i| Some(((i.rtt_s? - 0.045) * 1875.0).max(0.0)))
                .collect();
            let (Some(mean), Some(deviation)) = (mean(&waiting), deviation(&waiting)) else { continue };
            let covariance = |lag: usize| {
                let pairs = waiting.iter().zip(waiting.iter().skip(lag));
                pairs.map(|(a, b)| (a - mean) * (b - mean)).sum::<f64>() / waiting.len() as f64
            };
            // The highest return of the autocorrelation after its first fall below zero: 1 for a
            // standing wave, 0 for none.
            let variance = covariance(0);
            let correlation: Vec<f64> = (1..300).map(|lag| covariance(lag) / variance).collect();
            let fall = correlation.iter().position(|c| *c < 0.0);
            let regular = fall.and_then(|fall| correlation.iter().skip(fall).copied().reduce(f64::max));
            for column in &context.columns {
                let value = match *column {
                    "mean_queue" => Some(mean),
                    "deviation" => Some(deviation),
                    "variation" => Some(deviation / mean),
                    "regularity" => Some(regular.unwrap_or(0.0)),
                    _ => None,
                };
                put(&mut values, row, column, value);
            }
        }
    }
    values
}

/// The changes that make Figure 9's mix Figure 11's.
fn with_sources(set: &[String]) -> Vec<String> {
    let more = ["flow.onoff.count=70", "flow.tcp.count=2", "flow.tfrc.count=2"];
    set.iter().cloned().chain(more.map(str::to_owned)).collect()
}

/// Figure 18: how well the mean of the latest loss intervals predicts the next, on the loss events
/// of a run's TFRC flows. The keys are the weights and the number of intervals.
pub(super) fn fig_18(context: &Context<'_>) -> Values {
    let mut values = Values::new();
    let set = profile(context.profile, &["tfrc"], &["tcp"]);
    let onoff = with_sources(&set);
    for seed in &context.seeds {
        let mut traces: Vec<Vec<f64>> = Vec::new();
        for set in [&set, &onoff] {
            let courses = courses(context, scenario!("fig-18"), set, *seed, FINE);
            let tfrc = courses.iter().filter(|(name, _)| name.starts_with("tfrc")).take(2);
            traces.extend(tfrc.map(|(_, course)| loss_intervals(course)));
        }
        for (row, keys) in &context.rows {
            let [weights, intervals] = keys else { continue };
            let Some(n) = number(intervals).map(|n| n as usize) else { continue };
            let errors: Vec<f64> = traces.iter().flat_map(|trace| errors(trace, weights, n)).collect();
            for column in &context.columns {
                let value = match *column {
                    "error_avg" => mean(&errors),
                    "error_stddev" => deviation(&errors),
                    "loss_events" => Some(traces.iter().map(Vec::len).sum::<usize>() as f64),
                    _ => None,
                };
                put(&mut values, row, column, value);
            }
        }
    }
    values
}

/// Packets between the beginnings of loss events: a loss begins a new one if it comes a round-trip
/// time after the last began.
fn loss_intervals(course: &Course) -> Vec<f64> {
    let (mut intervals, mut packets, mut began) = (Vec::new(), 0.0, f64::NEG_INFINITY);
    for i in &course.0 {
        packets += i.sent_packets.unwrap_or(0) as f64;
        if i.lost_packets.unwrap_or(0) > 0 && i.t_s > began + i.rtt_s.unwrap_or(0.1) {
            if began.is_finite() && packets > 0.0 {
                intervals.push(packets);
            }
            (packets, began) = (0.0, i.t_s);
        }
    }
    intervals
}

/// |1/mean of the n intervals before − 1/interval|, for each interval with 32 before it.
fn errors(trace: &[f64], weights: &str, n: usize) -> Vec<f64> {
    let weight = |i: usize| {
        let half = n as f64 / 2.0;
        let i = i as f64 + 1.0;
        if weights == "decreasing" && i > half { 1.0 - (i - half) / (half + 1.0) } else { 1.0 }
    };
    let total: f64 = (0..n).map(weight).sum();
    let of = |at: usize| {
        let sum: f64 = (0..n).map(|i| weight(i) * trace[at - 1 - i]).sum();
        (total / sum - 1.0 / trace[at]).abs()
    };
    (32..trace.len()).map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn predictors_of_a_steady_trace_are_right_and_of_an_alternating_one_by_hand() {
        assert!(errors(&[50.0; 40], "constant", 8).iter().all(|e| *e == 0.0));
        let alternating: Vec<f64> = (0..40).map(|i| if i % 2 == 0 { 50.0 } else { 100.0 }).collect();
        // 1/75 against 1/50 and 1/100.
        for (at, error) in errors(&alternating, "constant", 8).into_iter().enumerate() {
            let expected = if at % 2 == 0 { 1.0 / 150.0 } else { 1.0 / 300.0 };
            assert!((error - expected).abs() < 1e-12, "{at}: {error}");
        }
        // n = 2, decreasing: weights 1 and 1/2.
        let error = errors(&alternating, "decreasing", 2)[0];
        assert!((error - (1.5_f64 / (100.0 + 25.0) - 1.0 / 50.0).abs()).abs() < 1e-12, "{error}");
    }

    #[test]
    fn scenarios_can_be_read() {
        for of in [Profile::AsPublished, Profile::Rfc] {
            let mix = profile(of, &["tfrc"], &["tcp"]);
            let cases = [
                (scenario!("fig-18"), with_sources(&mix)),
                (scenario!("fig-18"), mix),
                (scenario!("fig-22"), profile(of, &[], &["stays", "stops"])),
                (scenario!("fig-23"), profile(of, &["stays", "stops"], &[])),
                (scenario!("fig-28"), set_of_28(of, "RED", "TCP")),
                (scenario!("fig-28"), set_of_28(of, "DropTail", "TFRC")),
            ];
            for (text, set) in cases {
                let mut document = Document::new("scenario.toml", text);
                set.into_iter().for_each(|assignment| document.set(assignment));
                assert_eq!(document.plan().map(|plan| plan.points.len()).map_err(|e| e.to_string()), Ok(1));
            }
        }
    }

    #[test]
    fn loss_intervals_by_hand() {
        let stretch = |n: u32, lost| Interval {
            t_s: f64::from(n) * 0.01,
            sent_packets: Some(2),
            lost_packets: Some(lost),
            rtt_s: Some(0.05),
            ..Interval::default()
        };
        // Losses at 0.10 s, 0.12 s (the same event), 0.30 s.
        let course = Course((1..=40).map(|n| stretch(n, u64::from(n == 10 || n == 12 || n == 30))).collect());
        assert_eq!(loss_intervals(&course), vec![40.0]);
    }
}
