//! Datagrams put back in order for an application that reads a stream of them.

use std::collections::{BTreeMap, VecDeque};

use tfrc_units::{Duration, Instant};

/// This many later packets end the wait for a missing one while no reordering is known, as they
/// make it lost (RFC 5348 §5.1).
const LATER_PACKETS: usize = 3;

/// Datagrams held back at most. At 1500 bytes that is 6 MB, and 50 ms at 1 Gbit/s.
const MOST_HELD: usize = 4096;

/// Gaps remembered at most, open ones and those given up.
const MOST_GAPS: usize = 256;

/// Numbers after which a reordering that does not come again is forgotten: this many to twice as
/// many.
const WINDOW: u64 = 1024;

/// The wait is never longer than this many round-trip times.
const LONGEST: u64 = 4;

/// Holds back datagrams that come after a gap until the gap is filled or given up. A datagram that
/// comes for a gap given up is late.
///
/// A gap is given up when three later packets have come or a round-trip time has passed. Where the
/// path reorders, the wait adapts: a datagram that comes for a gap, in time or late, shows after
/// how much time it may come, and the wait is then the longest such time of the last 1024 to 2048
/// numbers and a quarter more, at most four round-trip times. A lost datagram delays those after it
/// by the same wait, so reordering by 30 ms costs 37 ms at each loss; without reordering a loss
/// costs the time of three packets. Where nobody reads at once, [`InOrder::patient`] waits longer.
/// Memory is bounded by 4096 datagrams.
#[derive(Debug)]
pub struct InOrder<T = Vec<u8>> {
    /// Everything below has been handed out or given up.
    next: u64,
    /// Everything from here on has not come.
    end: u64,
    held: BTreeMap<u64, T>,
    /// In order of their numbers; an open one that is missing here is given up.
    gaps: VecDeque<Gap>,
    spread: Spread,
    /// A gap is open for so long at least.
    least: Duration,
    late: u64,
}

/// Numbers that had not come when a later one did.
#[derive(Debug, Clone, Copy)]
struct Gap {
    start: u64,
    end: u64,
    /// The arrival of that later one.
    since: Instant,
}

/// The longest time after which a datagram came for a gap, in the present window of numbers and the
/// one before.
#[derive(Debug, Default)]
struct Spread {
    present: Duration,
    before: Duration,
    window_end: u64,
}

impl Spread {
    fn note(&mut self, time: Duration) {
        self.present = self.present.max(time);
    }

    /// Numbers below `next` are done.
    fn advance(&mut self, next: u64) {
        if next >= self.window_end {
            let idle = next - self.window_end >= WINDOW;
            self.before = if idle { Duration::ZERO } else { self.present };
            self.present = Duration::ZERO;
            self.window_end = next.saturating_add(WINDOW);
        }
    }

    /// The longest of both, and a quarter more: times of arrival scatter.
    fn wait(&self) -> Duration {
        let longest = self.present.max(self.before);
        longest + longest / 4
    }
}

impl<T> InOrder<T> {
    /// Expects the packet with this number first.
    #[must_use]
    pub fn new(first: u64) -> Self {
        let spread = Spread { window_end: first.saturating_add(WINDOW), ..Spread::default() };
        Self {
            next: first,
            end: first,
            held: BTreeMap::new(),
            gaps: VecDeque::new(),
            spread,
            least: Duration::ZERO,
            late: 0,
        }
    }

    /// Gives no gap up before this time has passed, unless 4096 datagrams wait behind it: for data
    /// that nobody reads at once, such as a file.
    #[must_use]
    pub const fn patient(mut self, least: Duration) -> Self {
        self.least = least;
        self
    }

    /// Takes in a packet; [`InOrder::pop`] then gives the datagrams that may go. A packet for a gap
    /// given up is dropped and counted.
    pub fn push(&mut self, now: Instant, number: u64, datagram: T) {
        if number < self.end {
            if let Some(gap) = self.gap(number) {
                self.spread.note(now.saturating_since(gap.since));
            }
        } else {
            if number > self.end {
                self.open(Gap { start: self.end, end: number, since: now });
            }
            self.end = number.saturating_add(1);
        }
        if number < self.next {
            self.late += 1;
        } else {
            self.held.insert(number, datagram);
        }
    }

    /// The next datagram that need not wait any longer. `rtt` is the round-trip time of the path.
    pub fn pop(&mut self, now: Instant, rtt: Duration) -> Option<T> {
        let (&number, _) = self.held.first_key_value()?;
        if number == self.next || self.held.len() >= MOST_HELD {
            return self.take();
        }
        let over = self.gap(self.next).is_none_or(|gap| now >= gap.since + self.patience(rtt));
        if over { self.take() } else { None }
    }

    /// When [`InOrder::pop`] may give something without further packets.
    #[must_use]
    pub fn poll_timeout(&self, rtt: Duration) -> Option<Instant> {
        if self.held.is_empty() {
            return None;
        }
        Some(self.gap(self.next).map_or(Instant::ZERO, |gap| gap.since + self.patience(rtt)))
    }

    /// At the end: the next datagram, gaps or not.
    pub fn take(&mut self) -> Option<T> {
        let (number, datagram) = self.held.pop_first()?;
        self.next = number.saturating_add(1);
        self.spread.advance(self.next);
        Some(datagram)
    }

    /// Packets that came after their gap had been given up.
    #[must_use]
    pub const fn late(&self) -> u64 {
        self.late
    }

    /// The time after which a gap is given up.
    fn patience(&self, rtt: Duration) -> Duration {
        let reordering = self.spread.wait().min(rtt * LONGEST);
        let usual = if self.held.len() >= LATER_PACKETS { reordering } else { reordering.max(rtt) };
        usual.max(self.least)
    }

    fn open(&mut self, gap: Gap) {
        if self.gaps.len() >= MOST_GAPS {
            self.gaps.pop_front();
        }
        self.gaps.push_back(gap);
    }

    /// The gap in which a number lies or lay.
    fn gap(&self, number: u64) -> Option<Gap> {
        let at = self.gaps.partition_point(|gap| gap.end <= number);
        self.gaps.get(at).copied().filter(|gap| gap.start <= number)
    }
}

#[cfg(test)]
mod tests;
