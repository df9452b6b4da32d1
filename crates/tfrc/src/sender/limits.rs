//! X_recv_set, the receive rates that bound the sending rate (RFC 5348 §4.3, §8.2.2).

use tfrc_units::{Duration, Instant, Rate};

use crate::ring::Ring;

/// At most three receive rates of the last two round-trip times (§8.2.2).
#[derive(Debug, Clone)]
pub(crate) struct ReceiveLimits {
    entries: Ring<(Rate, Instant), 3>,
}

impl ReceiveLimits {
    /// {Infinity}, as of now.
    pub(crate) fn new(now: Instant) -> Self {
        let mut set = Self::empty();
        set.replace(now, Rate::INFINITY);
        set
    }

    /// No rate yet; its maximum is zero.
    pub(crate) const fn empty() -> Self {
        Self { entries: Ring::new() }
    }

    /// max(X_recv_set).
    pub(crate) fn maximum(&self) -> Rate {
        self.entries.iter().map(|(rate, _)| rate).fold(Rate::ZERO, Rate::max)
    }

    /// "Update X_recv_set": adds a rate and lets those older than two round-trip times go.
    pub(crate) fn update(&mut self, now: Instant, rate: Rate, rtt: Duration) {
        while self.entries.get(0).is_some_and(|(_, then)| now.saturating_since(then) > rtt * 2) {
            self.entries.pop_front();
        }
        self.entries.push((rate, now));
    }

    /// "Maximize X_recv_set": keeps only the largest of the old rates and the new one, as of now;
    /// Infinity goes.
    pub(crate) fn maximize(&mut self, now: Instant, rate: Rate) {
        let largest = self
            .entries
            .iter()
            .map(|(rate, _)| rate)
            .filter(|rate| !rate.is_infinite())
            .fold(rate, Rate::max);
        self.replace(now, largest);
    }

    /// Halves every rate (a loss in a data-limited interval).
    pub(crate) fn halve(&mut self) {
        for i in 0..self.entries.len() {
            if let Some((rate, _)) = self.entries.get_mut(i) {
                *rate = *rate / 2.0;
            }
        }
    }

    /// Leaves a single rate, as of now.
    pub(crate) fn replace(&mut self, now: Instant, rate: Rate) {
        self.entries.clear();
        self.entries.push((rate, now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tfrc_testkit::at;

    const RTT: Duration = Duration::from_millis(100);

    fn rate(x: f64) -> Rate {
        Rate::from_bytes_per_sec(x)
    }

    /// RFC 5348 §4.3: the first entry is Infinity and leaves only after two round-trip times.
    #[test]
    fn no_limit_for_two_round_trips() {
        let mut set = ReceiveLimits::new(at(0));
        set.update(at(100), rate(0.0), RTT);
        set.update(at(200), rate(5.0), RTT);
        assert!(set.maximum().is_infinite());
        set.update(at(201), rate(4.0), RTT);
        assert_eq!(set.maximum(), rate(5.0));
    }

    #[test]
    fn maximize_drops_infinity_and_keeps_one() {
        let mut set = ReceiveLimits::new(at(0));
        set.maximize(at(100), rate(7.0));
        assert_eq!(set.maximum(), rate(7.0));
        set.maximize(at(150), rate(3.0));
        assert_eq!(set.maximum(), rate(7.0), "the old maximum stays, with a new time");
        set.update(at(350), rate(2.0), RTT);
        assert_eq!(set.maximum(), rate(7.0));
        set.update(at(351), rate(2.0), RTT);
        assert_eq!(set.maximum(), rate(2.0));
    }

    /// RFC 5348 §8.2.2: the three newest, Infinity counted like any other.
    #[test]
    fn three_rates_are_kept() {
        let mut set = ReceiveLimits::new(at(0));
        set.update(at(10), rate(9.0), RTT);
        set.update(at(20), rate(5.0), RTT);
        assert!(set.maximum().is_infinite());
        set.update(at(30), rate(4.0), RTT);
        assert_eq!(set.maximum(), rate(9.0));
        set.update(at(40), rate(3.0), RTT);
        assert_eq!(set.maximum(), rate(5.0));
    }

    #[test]
    fn halving_and_replacing() {
        let mut set = ReceiveLimits::new(at(0));
        set.replace(at(0), rate(10.0));
        set.halve();
        assert_eq!(set.maximum(), rate(5.0));
    }
}
