//! One run of a scenario, and its outcome.

use std::io::{self, Write};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tfrc_sim::link::LinkStats;
use tfrc_units::Duration;

use crate::capture::{Capture, Captured};
use crate::own::Registry;
use crate::packets::PacketEvents;
use crate::record::{FlowSummary, Interval};
use crate::recording::{Keep, PacketDelays, Recording};
use crate::watch::Watch;
use crate::world::simulated::Simulated;
use crate::world::{self, Stage};
use tfrc_scenario::{Member, Scenario};

/// The time scale of a flow's coefficient of variation in an [`Outcome`].
pub const COV_SCALE: Duration = Duration::from_secs(1);

/// The time scale of `cov_200ms` in a [`FlowSummary`].
pub const FINE_COV_SCALE: Duration = Duration::from_millis(200);

/// Outcome of one run of a scenario. Rates are of payload, in bits per second, over the measured
/// time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Simulation")]
pub struct Outcome {
    /// The seed of the run.
    pub seed: u64,
    /// Virtual time of the run.
    pub duration_s: f64,
    /// The part of it that was measured: all but the warm-up.
    pub measured_s: f64,
    /// Packets that crossed a link, over all links, in the whole run.
    pub packet_hops: u64,
    /// The flows, in the order of the scenario. The loss event rate leaves slow start out where it
    /// is known: it counts from the first loss event, or from the end of the warm-up if that is
    /// later; of a TCP it is the reductions of the window per segment. `cov` is that of the sending
    /// rate at 1 s ([`COV_SCALE`]), `cov_200ms` at 0.2 s.
    pub flows: Vec<FlowSummary>,
    /// The links of the file, in its order, each direction on its own.
    pub links: Vec<LinkOutcome>,
    /// Jain's index of the goodputs of the flows with a congestion control: (Σx)² / (n Σx²), 1 if
    /// all are equal (Jain, Chiu and Hawe 1984, §3); `None` for fewer than two, or if nothing
    /// arrived.
    #[serde(default)]
    pub jain_index: Option<f64>,
    /// The entries of the scenario with several flows, in its order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<GroupOutcome>,
}

/// Figures of the flows of one entry of a scenario together.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GroupOutcome {
    /// Its name.
    pub id: String,
    /// Jain's index of the goodputs of its flows.
    pub jain_index: Option<f64>,
    /// Times of the transfers of all its flows; left out where none has an end.
    #[serde(flatten)]
    pub completion: Completion,
}

/// Times of transfers of a known size, from the start of the flow, or the request of an object, to
/// the arrival of the last byte.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Completion {
    /// Transfers that ended: of a flow with `transfer` in the whole run, objects of `web` in the
    /// measured time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completed: Option<u64>,
    /// Median of their times, seconds; unknown while none has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completion_p50_s: Option<f64>,
    /// The 95th percentile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completion_p95_s: Option<f64>,
    /// The 99th percentile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completion_p99_s: Option<f64>,
}

/// Figures of one direction of a link.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LinkOutcome {
    /// Its name in the scenario.
    pub id: String,
    /// Share of the time it was transmitting.
    pub utilization: f64,
    /// Share of the arriving packets that its queue or its loss model dropped.
    pub drop_rate: f64,
    /// Mean number of packets that waited behind the one in transmission.
    pub mean_queue_packets: f64,
}

impl LinkOutcome {
    /// The figures of a link by its counters.
    #[must_use]
    pub fn of(id: &str, stats: &LinkStats) -> Self {
        Self {
            id: id.to_owned(),
            utilization: stats.utilization(),
            drop_rate: stats.drop_rate(),
            mean_queue_packets: stats.mean_queue_packets(),
        }
    }
}

/// Parts of a run that an [`Outcome`] is made of.
const MEASURED: Keep = Keep { delays: PacketDelays::Measured, ..Keep::NOTHING };

/// Runs a scenario in virtual time. The same scenario, its seed included, always gives the same
/// outcome.
///
/// # Panics
/// Never for a [`Scenario`] that was read for [`World::Simulated`](tfrc_scenario::World): its
/// flows join nodes of its own network, and each has agents.
#[must_use]
pub fn run(scenario: &Scenario) -> Outcome {
    run_watched(scenario, &mut [])
}

/// Runs a scenario as [`run`] does, and reports what each flow did in every stretch of `every` from
/// the start. Watching does not change the run.
///
/// # Panics
/// As [`run`].
#[must_use]
pub fn run_with(scenario: &Scenario, every: Duration, watch: impl FnMut(Interval)) -> Outcome {
    run_watched(scenario, &mut [Watch::flows(every, watch)])
}

/// Runs a scenario as [`run`] does, seen by several observers.
///
/// # Panics
/// As [`run`].
#[must_use]
pub fn run_watched(scenario: &Scenario, watches: &mut [Watch<'_>]) -> Outcome {
    run_until(scenario, watches, &|| false).expect("nothing stops it")
}

/// Runs a scenario as [`run_watched`] does, unless `stop` says true, which is asked after every
/// stretch of at most 100 ms of virtual time; `None` then.
///
/// # Panics
/// As [`run`].
#[must_use]
pub fn run_until(scenario: &Scenario, watches: &mut [Watch<'_>], stop: &dyn Fn() -> bool) -> Option<Outcome> {
    run_stage(scenario, &Registry::default(), watches, stop)
}

/// Runs a scenario with these controllers and queues, which must be all that it names.
pub(crate) fn run_stage(
    scenario: &Scenario,
    own: &Registry,
    watches: &mut [Watch<'_>],
    stop: &dyn Fn() -> bool,
) -> Option<Outcome> {
    let (mut world, members) = Simulated::with(scenario, MEASURED, own);
    Some(recorded(&mut world, MEASURED, scenario, &members, watches, stop)?.outcome)
}

/// Listeners to the packets of a run.
#[derive(Default)]
pub struct Listeners<'l> {
    /// Gets what happens to each packet, as CSV.
    pub packets: Option<&'l mut dyn Write>,
    /// Gets the packets that the flows' senders send and receive, in the order of time.
    pub captured: Option<&'l mut dyn FnMut(Captured)>,
}

/// Runs a scenario as [`run_until`] does, with listeners to its packets.
///
/// # Errors
/// Those of [`Listeners::packets`].
///
/// # Panics
/// As [`run`].
pub fn run_traced(
    scenario: &Scenario,
    watches: &mut [Watch<'_>],
    listeners: Listeners<'_>,
    stop: &dyn Fn() -> bool,
) -> io::Result<Option<Outcome>> {
    let Listeners { packets, captured } = listeners;
    let mut events = packets.map(|out| PacketEvents::new(scenario, out));
    let run = {
        let (mut world, members) = Simulated::new(scenario, MEASURED);
        if let Some(events) = &mut events {
            world.trace(|record| events.add(record));
        }
        if let Some(told) = captured {
            let mut capture = Capture::new(world.senders(), &members, told);
            world.copy(move |copy| capture.add(copy));
        }
        recorded(&mut world, MEASURED, scenario, &members, watches, stop)
    };
    events.map_or(Ok(()), PacketEvents::end)?;
    Ok(run.map(|run| run.outcome))
}

/// Runs a scenario as [`run_until`] does and keeps its time series.
///
/// # Panics
/// As [`run`].
#[must_use]
pub fn record_until(scenario: &Scenario, keep: Keep, stop: &dyn Fn() -> bool) -> Option<Recording> {
    let (mut world, members) = Simulated::new(scenario, keep);
    world.log_losses();
    recorded(&mut world, keep, scenario, &members, &mut [], stop)
}

/// Runs the world to the end of the scenario; `None` if it was stopped.
fn recorded(
    world: &mut Simulated<'_>,
    keep: Keep,
    scenario: &Scenario,
    members: &[Member<'_>],
    watches: &mut [Watch<'_>],
    stop: &dyn Fn() -> bool,
) -> Option<Recording> {
    let stage = Stage::of(scenario, members, keep);
    let recording = world::record(world, &stage, watches, &mut || !stop())?;
    (recording.to == stage.to).then_some(recording)
}
