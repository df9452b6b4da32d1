//! Data that an application gives a flow to send.

use tfrc_sim::Stream;
use tfrc_units::{Duration, Instant, saturating, u64_from_f64};

use tfrc_scenario::{Application, Backlog, Pace};

/// An application at work: when it has its next packet, and how large that is.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    application: Application,
    /// Bytes of a packet where sizes do not differ.
    segment: u32,
    start: Instant,
    /// When it has, or has had, its next packet.
    next: Instant,
    /// The latest phase with something to send: its beginning and its end.
    phase: (Instant, Instant),
    stream: Stream,
}

impl Source {
    /// `stream` draws phases and sizes.
    pub(crate) fn new(application: Application, segment: u32, start: Instant, mut stream: Stream) -> Self {
        let end = match application.phases {
            None => Instant::from_nanos(u64::MAX),
            Some(phases) => start + Duration::from_secs_f64(phases.on.sample(&mut stream)),
        };
        Self { application, segment, start, next: start, phase: (start, end), stream }
    }

    /// When the next packet is there: at `now` or later.
    pub(crate) fn next(&mut self, now: Instant) -> Instant {
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

    /// Takes a packet at `now`; its size in bytes.
    pub(crate) fn take(&mut self, now: Instant) -> u32 {
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
        match self.application.sizes {
            None => self.segment,
            Some(sizes) => {
                let drawn = u64_from_f64(sizes.sample(&mut self.stream));
                saturating::<u32>(drawn).clamp(1, MOST_BYTES)
            }
        }
    }
}

/// The largest packet that a distribution of sizes gives.
const MOST_BYTES: u32 = 1460;

#[cfg(test)]
mod tests {
    use super::*;
    use tfrc_scenario::Phases;
    use tfrc_sim::Seed;
    use tfrc_sim::traffic::Distribution;

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
        let mut source = Source::new(application, 150, at(500), Seed(1).stream("x"));
        assert_eq!(source.next(at(0)), at(500));
        assert!((100..=200).contains(&source.take(at(500))));
        assert_eq!(source.next(at(501)), at(520));
        source.take(at(1495));
        // On until 1500, off until 3500.
        assert_eq!(source.next(at(1495)), at(3500));
        source.take(at(3500));
        assert_eq!(source.next(at(3500)), at(3520));
    }

    #[test]
    fn what_may_not_go_in_time_waits_or_not() {
        let times = |backlog| {
            let pace = Pace::Every(Duration::from_millis(20));
            let application = Application { pace, phases: None, sizes: None, backlog };
            let mut source = Source::new(application, 150, at(0), Seed(1).stream("x"));
            // Nothing may go until 70 ms.
            [70, 70, 70, 70, 70].map(|now| {
                let next = source.next(at(now));
                source.take(next);
                next.as_nanos() / 1_000_000
            })
        };
        assert_eq!(times(Backlog::LeftOut), [70, 80, 100, 120, 140]);
        assert_eq!(times(Backlog::Kept), [70, 70, 70, 70, 80]);
    }
}
