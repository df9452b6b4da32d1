//! The round-trip time read off the window counter, for senders that do not send it
//! (RFC 4342 §8.1).

use tfrc_units::{Duration, Instant, f64_from_u64};

use crate::ring::Ring;

/// The arrival of the first packet of each counter value, for the last few values.
#[derive(Debug, Clone)]
pub(crate) struct CounterRtt {
    firsts: Ring<(u64, Instant), 6>,
    estimate: Option<f64>,
}

/// Weight of the old estimate; the samples are coarse.
const OLD: f64 = 0.9;

impl CounterRtt {
    pub(crate) const fn new() -> Self {
        Self { firsts: Ring::new(), estimate: None }
    }

    /// A packet in order with this counter, counted on without wrapping; the receiver's clock has
    /// this grain.
    #[inline(never)]
    pub(crate) fn on_packet(&mut self, now: Instant, counter: u64, grain: Duration) {
        if self.firsts.last().is_some_and(|(newest, _)| counter <= newest) {
            return;
        }
        // A counter four on is one round-trip time later; three and two are taken when there is no
        // packet four back.
        let sample = [4u64, 3, 2].into_iter().find_map(|quarters| {
            let wanted = counter.checked_sub(quarters)?;
            let (_, then) = self.firsts.iter().find(|(c, _)| *c == wanted)?;
            Some(now.saturating_since(then).as_secs_f64() * 4.0 / f64_from_u64(quarters))
        });
        self.firsts.push((counter, now));
        // Without a grain an equal time says nothing.
        if let Some(sample) = sample.map(|s| s.max(grain.as_secs_f64())).filter(|s| *s > 0.0) {
            self.estimate = Some(self.estimate.map_or(sample, |old| OLD * old + (1.0 - OLD) * sample));
        }
    }

    pub(crate) fn estimate(&self) -> Option<Duration> {
        self.estimate.map(Duration::from_secs_f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_quarters_are_a_round_trip() {
        let mut rtt = CounterRtt::new();
        assert_eq!(rtt.estimate(), None);
        for counter in 0..40 {
            rtt.on_packet(Instant::from_nanos(counter * 25_000_000), counter, Duration::ZERO);
        }
        let seconds = rtt.estimate().map_or(0.0, Duration::as_secs_f64);
        assert!((seconds - 0.1).abs() < 1e-6, "{seconds}");
    }

    /// Steps of five, as between packets further apart than a round-trip time, say nothing.
    #[test]
    fn larger_steps_are_left_out() {
        let mut rtt = CounterRtt::new();
        for i in 0..10 {
            rtt.on_packet(Instant::from_nanos(i * 900_000_000), i * 5, Duration::ZERO);
        }
        assert_eq!(rtt.estimate(), None);
    }
}
