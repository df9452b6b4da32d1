//! The round-trip time as a receiver learns it from RTT Estimate options (RFC 6323 §3.4).

use tfrc_units::{Duration, Instant};

use crate::wire::RttEstimate;

/// receiver_RTT with its back-off.
/// RFC 6323 §2.2.2.
#[derive(Debug, Clone)]
pub(crate) struct ReceiverRtt {
    /// The long-term estimate.
    mean: Duration,
    heard: Heard,
    /// Since when only "no number" has come.
    silent_since: Option<Instant>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Heard {
    Nothing,
    Number,
}

/// Until the first number arrives.
const INITIAL: Duration = Duration::from_millis(500);
/// t_mbi, the end of the back-off.
const LONGEST: Duration = Duration::from_secs(64);
/// Weight of the old value in the moving average, against 1 for the new: 0.9 and 0.1
/// (RFC 5348 §4.3).
const OLD: u64 = 9;

impl ReceiverRtt {
    pub(crate) const fn new() -> Self {
        Self { mean: INITIAL, heard: Heard::Nothing, silent_since: None }
    }

    /// Takes in the sender's report; returns the round-trip time to use.
    pub(crate) fn on_option(&mut self, now: Instant, estimate: RttEstimate) -> Duration {
        let Some(rtt) = estimate.duration() else {
            let since = *self.silent_since.get_or_insert(now);
            if now.saturating_since(since) > self.mean {
                self.mean = (self.mean * 2).min(LONGEST);
                self.silent_since = Some(now);
            }
            return self.mean;
        };
        self.silent_since = None;
        self.mean = match self.heard {
            Heard::Nothing => rtt,
            // RFC 6323 §3.3.
            Heard::Number => (self.mean * OLD + rtt) / (OLD + 1),
        };
        self.heard = Heard::Number;
        rtt
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tfrc_testkit::at;

    #[test]
    fn numbers_are_used_as_they_are() {
        let mut rtt = ReceiverRtt::new();
        assert_eq!(rtt.on_option(at(0), RttEstimate::Unknown), Duration::from_millis(500));
        assert_eq!(rtt.on_option(at(1), RttEstimate::Micros(40_000)), Duration::from_millis(40));
        assert_eq!(rtt.on_option(at(2), RttEstimate::Micros(60_000)), Duration::from_millis(60));
        assert_eq!(
            rtt.on_option(at(3), RttEstimate::TooLong),
            Duration::from_millis(42),
            "the average remains"
        );
    }

    #[test]
    fn without_numbers_it_backs_off() {
        let mut rtt = ReceiverRtt::new();
        rtt.on_option(at(0), RttEstimate::Micros(100_000));
        assert_eq!(rtt.on_option(at(10), RttEstimate::Unknown), Duration::from_millis(100));
        assert_eq!(rtt.on_option(at(110), RttEstimate::Unknown), Duration::from_millis(100));
        assert_eq!(rtt.on_option(at(111), RttEstimate::Unknown), Duration::from_millis(200));
        assert_eq!(rtt.on_option(at(312), RttEstimate::Unknown), Duration::from_millis(400));
        let last = (1..20).fold(Duration::ZERO, |_, i| rtt.on_option(at(i * 100_000), RttEstimate::Unknown));
        assert_eq!(last, LONGEST);
    }
}
