//! Data that an application gives a flow to send.

use tfrc_sim::Stream;
use tfrc_sim::traffic::Timetable;
use tfrc_units::{Duration, Instant, saturating, u64_from_f64};

use tfrc_scenario::{Application, Backlog, Pace};

/// An application at work: when it has its next packet, and how large that is.
#[derive(Debug, Clone)]
pub enum Source {
    /// Packets of `segment` bytes at all times from `start` on.
    Backlog {
        /// When the data begin.
        start: Instant,
        /// Bytes of a packet.
        segment: u32,
    },
    /// Any other.
    Paced(Box<PacedSource>),
}

impl Source {
    /// `stream` draws phases and sizes.
    #[must_use]
    pub fn new(
        application: Application,
        timetable: Timetable,
        segment: u32,
        start: Instant,
        stream: Stream,
    ) -> Self {
        let Application { pace, phases, sizes, .. } = &application;
        if phases.is_none() && sizes.is_none() && *pace == Pace::Backlog && timetable.is_endless() {
            return Self::Backlog { start, segment };
        }
        Self::Paced(Box::new(PacedSource::new(application, timetable, segment, start, stream)))
    }

    /// When the next packet is there: at `now` or later; `None` if none ever is.
    #[inline]
    pub fn next(&mut self, now: Instant) -> Option<Instant> {
        match self {
            Self::Backlog { start, .. } => Some(now.max(*start)),
            Self::Paced(source) => source.next_supply(now),
        }
    }

    /// Takes a packet at `now`; its size in bytes.
    #[inline]
    pub fn take(&mut self, now: Instant) -> u32 {
        match self {
            Self::Backlog { segment, .. } => *segment,
            Self::Paced(source) => source.take(now),
        }
    }

    /// Bytes that the application will have given in all, if they have an end.
    #[must_use]
    pub fn total(&self) -> Option<u64> {
        match self {
            Self::Backlog { .. } => None,
            Self::Paced(source) => source.timetable.total(),
        }
    }
}

/// Data with a pace, phases, sizes that are drawn, or an end.
#[derive(Debug, Clone)]
pub struct PacedSource {
    application: Application,
    timetable: Timetable,
    /// Bytes taken so far.
    taken: u64,
    /// Bytes of a packet where sizes do not differ.
    segment: u32,
    start: Instant,
    /// When it has, or has had, its next packet.
    next: Instant,
    /// The latest phase with something to send: its beginning and its end.
    phase: (Instant, Instant),
    stream: Stream,
}

impl PacedSource {
    fn new(
        application: Application,
        timetable: Timetable,
        segment: u32,
        start: Instant,
        mut stream: Stream,
    ) -> Self {
        let end = match application.phases {
            None => Instant::from_nanos(u64::MAX),
            Some(phases) => start + Duration::from_secs_f64(phases.on.sample(&mut stream)),
        };
        let (next, phase) = (start, (start, end));
        Self { application, timetable, taken: 0, segment, start, next, phase, stream }
    }

    fn next_supply(&mut self, now: Instant) -> Option<Instant> {
        let mut at = self.in_pace(now);
        if self.timetable.is_endless() {
            return Some(at);
        }
        loop {
            let supply = self.timetable.at(at);
            if supply.left(self.taken) > 0 {
                return Some(at);
            }
            at = self.in_pace(supply.next?);
        }
    }

    /// When the next packet is there by pace and phases.
    fn in_pace(&mut self, now: Instant) -> Instant {
        let at = self.next.max(now);
        if let Some(phases) = self.application.phases {
            while self.phase.1 <= at {
                let begin = self.phase.1 + Duration::from_secs_f64(phases.off.sample(&mut self.stream));
                let on = Duration::from_secs_f64(phases.on.sample(&mut self.stream));
                // A phase of no time at all would never end.
                self.phase = (begin, begin + on.max(Duration::from_nanos(1)));
            }
        }
        at.max(self.phase.0)
    }

    fn take(&mut self, now: Instant) -> u32 {
        if let Pace::Every(gap) = self.application.pace {
            self.next = match self.application.backlog {
                Backlog::Kept => self.next + gap,
                // The first of its times after now; those between were missed.
                Backlog::LeftOut => {
                    let past = now.saturating_since(self.start).as_nanos() / gap.as_nanos().max(1);
                    self.start + gap * (past + 1)
                }
            };
        }
        let size = match self.application.sizes {
            None => self.segment,
            Some(sizes) => {
                let drawn = u64_from_f64(sizes.sample(&mut self.stream));
                saturating::<u32>(drawn).clamp(1, MOST_BYTES)
            }
        };
        if self.timetable.is_endless() {
            return size;
        }
        let size = size.min(saturating::<u32>(self.timetable.at(now).left(self.taken)));
        self.taken = self.taken.saturating_add(u64::from(size));
        size
    }
}

/// The largest packet that a distribution of sizes gives.
const MOST_BYTES: u32 = 1460;

#[cfg(test)]
mod tests {
    use super::*;
    use tfrc_scenario::Phases;
    use tfrc_sim::Seed;
    use tfrc_sim::traffic::{Distribution, Span, Write};

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn phases_and_ticks() {
        let application = Application {
            pace: Pace::Every(Duration::from_millis(20)),
            phases: Some(Phases { on: Distribution::Constant(1.0), off: Distribution::Constant(2.0) }),
            sizes: Some(Distribution::Uniform { low: 100.0, high: 200.0 }),
            backlog: Backlog::LeftOut,
        };
        let mut source = Source::new(application, Timetable::default(), 150, at(500), Seed(1).stream("x"));
        assert_eq!(source.next(at(0)), Some(at(500)));
        assert!((100..=200).contains(&source.take(at(500))));
        assert_eq!(source.next(at(501)), Some(at(520)));
        source.take(at(1495));
        // On until 1500, off until 3500.
        assert_eq!(source.next(at(1495)), Some(at(3500)));
        source.take(at(3500));
        assert_eq!(source.next(at(3500)), Some(at(3520)));
    }

    #[test]
    fn what_may_not_go_in_time_waits_or_not() {
        let times = |backlog| {
            let pace = Pace::Every(Duration::from_millis(20));
            let application = Application { pace, phases: None, sizes: None, backlog };
            let mut source = Source::new(application, Timetable::default(), 150, at(0), Seed(1).stream("x"));
            // Nothing may go until 70 ms.
            [70, 70, 70, 70, 70].map(|now| {
                let next = source.next(at(now)).expect("a packet");
                source.take(next);
                next.as_nanos() / 1_000_000
            })
        };
        assert_eq!(times(Backlog::LeftOut), [70, 80, 100, 120, 140]);
        assert_eq!(times(Backlog::Kept), [70, 70, 70, 70, 80]);
    }

    #[test]
    fn a_timetable_bounds_the_data() {
        let pace = Pace::Every(Duration::from_millis(20));
        let application = |pace| Application { pace, phases: None, sizes: None, backlog: Backlog::LeftOut };
        let span = |from, to| Span { from: at(from), to: at(to) };
        let table =
            Timetable::active(vec![span(30, 75), span(200, 900)]).expect("in order").with_transfer(700);
        let mut source = Source::new(application(pace), table, 150, at(0), Seed(1).stream("x"));
        let mut sent = Vec::new();
        let mut now = at(0);
        while let Some(next) = source.next(now) {
            sent.push((next.as_nanos() / 1_000_000, source.take(next)));
            now = next;
        }
        assert_eq!(sent, [(30, 150), (40, 150), (60, 150), (200, 150), (220, 100)]);
        let write = |ms, bytes| Write { at: at(ms), bytes };
        let table = Timetable::writes(vec![write(10, 200), write(50, 100)]).expect("in order");
        let mut source = Source::new(application(Pace::Backlog), table, 150, at(20), Seed(1).stream("x"));
        let mut all = Vec::new();
        let mut now = at(20);
        while let Some(next) = source.next(now) {
            all.push((next.as_nanos() / 1_000_000, source.take(next)));
            now = next;
        }
        assert_eq!(all, [(20, 150), (20, 50), (50, 100)]);
    }
}
