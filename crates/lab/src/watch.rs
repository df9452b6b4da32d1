//! Observers of a run: what flows and links did in each stretch of it.

use std::fmt;

use tfrc_sim::link::LinkStats;
use tfrc_sim::{Engine, LinkId};
use tfrc_units::{Duration, Instant};

use crate::agent::Any;
use crate::progress::{Ends, Progress, progress};
use crate::record::Interval;
use crate::run::interval;
use crate::scenario::{Member, Scenario};

/// Time between two looks at the queues: a queue of some tens of packets at some Mbit/s fills and
/// drains within this.
const QUEUE_LOOK: Duration = Duration::from_millis(10);

/// Shortest stretch that an observer can ask for.
const SHORTEST: Duration = Duration::from_millis(1);

/// The course of a run in one stretch of it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Look {
    /// An interval for each flow, in the order of the scenario.
    pub flows: Vec<Interval>,
    /// An interval for each direction of each link of the file, in its order.
    pub links: Vec<Interval>,
}

/// An observer of a simulated run. Watching changes nothing of what happens.
pub struct Watch<'w> {
    every: Duration,
    told: Told<'w>,
}

/// Function called for each stretch.
enum Told<'w> {
    Flow(Box<dyn FnMut(Interval) + 'w>),
    Look(Box<dyn FnMut(Look) + 'w>),
    Time(Box<dyn FnMut(Duration) + 'w>),
}

impl fmt::Debug for Watch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").field("every", &self.every).finish_non_exhaustive()
    }
}

impl<'w> Watch<'w> {
    /// Calls `told` for each flow every `every` (at least 1 ms), and once more for the remainder.
    pub fn flows(every: Duration, told: impl FnMut(Interval) + 'w) -> Self {
        Self { every: every.max(SHORTEST), told: Told::Flow(Box::new(told)) }
    }

    /// Calls `told` for all flows and links every `every` (at least 1 ms), and once more for the
    /// remainder.
    pub fn all(every: Duration, told: impl FnMut(Look) + 'w) -> Self {
        Self { every: every.max(SHORTEST), told: Told::Look(Box::new(told)) }
    }

    /// Calls `told` with the virtual time since the last call, every `every` (at least 1 ms) and at
    /// the end.
    pub fn time(every: Duration, told: impl FnMut(Duration) + 'w) -> Self {
        Self { every: every.max(SHORTEST), told: Told::Time(Box::new(told)) }
    }
}

/// The interval of a link that ends at `to`, from what it did in that time; `waiting` is the most
/// packets seen in its queue.
#[must_use]
pub fn link_interval(name: &str, to: Instant, during: &LinkStats, waiting: u64) -> Interval {
    let time = during.elapsed.max(Duration::from_nanos(1)).as_secs_f64();
    let lost = during.lost.packets + during.overflowed.packets + during.corrupted.packets;
    let arrived = during.arrivals.packets;
    Interval {
        t_s: to.as_secs_f64(),
        interval_s: during.elapsed.as_secs_f64(),
        link: Some(name.to_owned()),
        sent_packets: Some(arrived),
        received_packets: Some(during.departures.packets),
        lost_packets: Some(lost),
        packet_loss_rate: Some(if arrived == 0 { 0.0 } else { lost as f64 / arrived as f64 }),
        receive_rate_bps: Some(during.departures.bytes as f64 * 8.0 / time),
        queue_packets: Some(waiting as f64),
        mean_queue_packets: Some(during.mean_queue_packets()),
        utilization: Some(during.utilization()),
        ..Interval::default()
    }
}

/// Part of a run that observers see.
pub(crate) struct Scene<'s> {
    pub(crate) scenario: &'s Scenario,
    pub(crate) engine: &'s Engine<Any>,
    pub(crate) members: &'s [Member<'s>],
    pub(crate) flows: &'s [Ends],
}

impl Scene<'_> {
    fn links(&self) -> impl Iterator<Item = LinkId> + '_ {
        self.scenario.network.links().map(|(id, _)| id)
    }

    fn stats(&self) -> Vec<LinkStats> {
        self.links().filter_map(|id| self.engine.link_stats(id)).collect()
    }

    fn waiting(&self) -> impl Iterator<Item = u64> + '_ {
        self.links().map(|id| self.engine.queue_state(id).map_or(0, |state| state.waiting.packets))
    }
}

/// The observers of a run while it goes on.
pub(crate) struct Watchers<'a, 'w> {
    watchers: Vec<Watcher<'a, 'w>>,
    next_queue: Option<Instant>,
}

/// One observer, and the state at the end of its last stretch.
struct Watcher<'a, 'w> {
    watch: &'a mut Watch<'w>,
    from: Instant,
    next: Instant,
    flows: Vec<Progress>,
    links: Vec<LinkStats>,
    /// The most packets seen in each queue since.
    most: Vec<u64>,
}

impl<'a, 'w> Watchers<'a, 'w> {
    /// Before the run begins.
    pub(crate) fn new(watches: &'a mut [Watch<'w>], scene: &Scene<'_>) -> Self {
        let new = |watch: &'a mut Watch<'w>| {
            let mut watcher = Watcher {
                next: Instant::ZERO + watch.every,
                watch,
                from: Instant::ZERO,
                flows: Vec::new(),
                links: Vec::new(),
                most: Vec::new(),
            };
            watcher.begin(scene);
            watcher
        };
        let watchers: Vec<_> = watches.iter_mut().map(new).collect();
        let queues = watchers.iter().any(|one| matches!(one.watch.told, Told::Look(_)));
        Self { watchers, next_queue: queues.then(|| Instant::ZERO + QUEUE_LOOK) }
    }

    /// The next time at which [`Watchers::see`] has something to see; `to` at the latest.
    pub(crate) fn next(&self, to: Instant) -> Instant {
        let stretches = self.watchers.iter().map(|one| one.next);
        stretches.chain(self.next_queue).fold(to, Instant::min)
    }

    /// Looks at the run at `now`, the end of which is `to`.
    pub(crate) fn see(&mut self, now: Instant, to: Instant, scene: &Scene<'_>) {
        if let Some(due) = self.next_queue.filter(|due| *due <= now) {
            self.next_queue = Some(due + QUEUE_LOOK);
            for watcher in self.watchers.iter_mut().filter(|one| matches!(one.watch.told, Told::Look(_))) {
                watcher.most.iter_mut().zip(scene.waiting()).for_each(|(most, now)| *most = now.max(*most));
            }
        }
        for watcher in &mut self.watchers {
            if watcher.next <= now || (now >= to && watcher.from < to) {
                watcher.tell(now, scene);
                watcher.next += watcher.watch.every;
            }
        }
    }
}

impl Watcher<'_, '_> {
    /// Notes the state at the beginning of a stretch.
    fn begin(&mut self, scene: &Scene<'_>) {
        match self.watch.told {
            Told::Time(_) => {}
            Told::Flow(_) => self.flows = flows(scene),
            Told::Look(_) => {
                self.flows = flows(scene);
                self.links = scene.stats();
                self.most = scene.waiting().collect();
            }
        }
    }

    fn tell(&mut self, now: Instant, scene: &Scene<'_>) {
        let from = self.from;
        let earlier = std::mem::take(&mut self.flows);
        let links = std::mem::take(&mut self.links);
        let most = std::mem::take(&mut self.most);
        self.begin(scene);
        self.from = now;
        let states = scene.members.iter().zip(earlier.iter().zip(&self.flows));
        let intervals =
            states.map(|(member, (before, after))| interval(from, now, member.name.clone(), before, after));
        match &mut self.watch.told {
            Told::Time(told) => told(now.saturating_since(from)),
            Told::Flow(told) => intervals.for_each(told),
            Told::Look(told) => {
                let names = scene.scenario.network.links().map(|(_, spec)| spec.name.as_str());
                let states = links.iter().zip(&self.links).zip(most.iter().zip(&self.most));
                let links = names.zip(states).map(|(name, ((before, after), (most, end)))| {
                    link_interval(name, now, &after.since(before), *most.max(end))
                });
                told(Look { flows: intervals.collect(), links: links.collect() });
            }
        }
    }
}

fn flows(scene: &Scene<'_>) -> Vec<Progress> {
    scene.flows.iter().map(|ends| progress(scene.engine, *ends)).collect()
}
