//! Observers of a run in any world: what flows and links did in each stretch of it.

use std::fmt;

use tfrc_sim::link::LinkStats;
use tfrc_units::{Duration, Instant};

use crate::figures::interval;
use crate::keep::LOOK;
use crate::results::Interval;
use crate::state::{Progress, Stage, World};

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

/// An observer of a run. Watching changes nothing of what happens.
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

    /// Returns true if the observer is told of queues.
    pub(crate) fn sees_queues(&self) -> bool {
        matches!(self.told, Told::Look(_))
    }

    /// Calls `told` with the virtual time since the last call, every `every` (at least 1 ms) and at
    /// the end.
    pub fn time(every: Duration, told: impl FnMut(Duration) + 'w) -> Self {
        Self { every: every.max(SHORTEST), told: Told::Time(Box::new(told)) }
    }
}

/// The interval of a link that ends at `to`, from what it did in that time; `waiting` is the most
/// packets seen in its queue.
fn link_interval(name: &str, to: Instant, during: &LinkStats, waiting: u64) -> Interval {
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
    pub(crate) fn new(watches: &'a mut [Watch<'w>], stage: &Stage<'_>, world: &impl World) -> Self {
        let new = |watch: &'a mut Watch<'w>| {
            let mut watcher = Watcher {
                next: Instant::ZERO + watch.every,
                watch,
                from: Instant::ZERO,
                flows: Vec::new(),
                links: Vec::new(),
                most: Vec::new(),
            };
            watcher.begin(stage, world);
            watcher
        };
        let watchers: Vec<_> = watches.iter_mut().map(new).collect();
        let queues = watchers.iter().any(|one| one.watch.sees_queues());
        Self { watchers, next_queue: queues.then(|| Instant::ZERO + LOOK) }
    }

    /// The next time at which [`Watchers::see`] has something to see; `to` at the latest.
    pub(crate) fn next(&self, to: Instant) -> Instant {
        let stretches = self.watchers.iter().map(|one| one.next);
        stretches.chain(self.next_queue).fold(to, Instant::min)
    }

    /// Looks at the run at `now`.
    pub(crate) fn see(&mut self, now: Instant, stage: &Stage<'_>, world: &impl World) {
        if let Some(due) = self.next_queue.filter(|due| *due <= now) {
            self.next_queue = Some(due + LOOK);
            let waiting = world.waiting();
            for watcher in self.watchers.iter_mut().filter(|one| one.watch.sees_queues()) {
                watcher.most.iter_mut().zip(&waiting).for_each(|(most, now)| *most = (*most).max(*now));
            }
        }
        for watcher in &mut self.watchers {
            if watcher.next <= now {
                watcher.tell(now, stage, world);
                watcher.next += watcher.watch.every;
            }
        }
    }

    /// Tells of the stretch that the end of the run has cut short.
    pub(crate) fn end(&mut self, now: Instant, stage: &Stage<'_>, world: &impl World) {
        for watcher in self.watchers.iter_mut().filter(|one| one.from < now) {
            watcher.tell(now, stage, world);
        }
    }
}

impl Watcher<'_, '_> {
    /// Notes the state at the beginning of a stretch.
    fn begin(&mut self, stage: &Stage<'_>, world: &impl World) {
        let flows = || (0..stage.members.len()).map(|number| world.flow(number)).collect();
        match self.watch.told {
            Told::Time(_) => {}
            Told::Flow(_) => self.flows = flows(),
            Told::Look(_) => {
                self.flows = flows();
                self.links = world.links();
                self.most = world.waiting();
            }
        }
    }

    fn tell(&mut self, now: Instant, stage: &Stage<'_>, world: &impl World) {
        let from = self.from;
        let earlier = std::mem::take(&mut self.flows);
        let links = std::mem::take(&mut self.links);
        let most = std::mem::take(&mut self.most);
        self.begin(stage, world);
        self.from = now;
        let states = stage.members.iter().zip(earlier.iter().zip(&self.flows));
        let intervals =
            states.map(|(member, (before, after))| interval(from, now, member.name.clone(), before, after));
        match &mut self.watch.told {
            Told::Time(told) => told(now.saturating_since(from)),
            Told::Flow(told) => intervals.for_each(told),
            Told::Look(told) => {
                let states = links.iter().zip(&self.links).zip(most.iter().zip(&self.most));
                let links = stage.link_names().zip(states).map(|(name, ((before, after), (most, end)))| {
                    link_interval(name, now, &after.since(before), *most.max(end))
                });
                told(Look { flows: intervals.collect(), links: links.collect() });
            }
        }
    }
}
