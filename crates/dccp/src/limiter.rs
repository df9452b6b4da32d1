//! A rate limit for answers to what anybody may send (RFC 4340 §7.5.4, 8.1.3).

use tfrc_units::{Duration, Instant, saturating};

/// A bucket of permits that refills with time.
#[derive(Debug, Clone)]
pub struct RateLimiter {
    per_second: u32,
    permits: u32,
    /// Up to when the refill has been counted.
    since: Instant,
}

impl RateLimiter {
    /// At most `per_second` permits a second, and as many at once.
    #[must_use]
    pub const fn new(per_second: u32) -> Self {
        Self { per_second, permits: per_second, since: Instant::ZERO }
    }

    /// Takes a permit, if there is one.
    pub fn allow(&mut self, now: Instant) -> bool {
        self.refill(now);
        if self.permits == 0 {
            return false;
        }
        self.permits -= 1;
        true
    }

    fn refill(&mut self, now: Instant) {
        if self.per_second == 0 {
            return;
        }
        let each = Duration::from_secs(1) / u64::from(self.per_second);
        let new = now.saturating_since(self.since).as_nanos().checked_div(each.as_nanos()).unwrap_or(0);
        if new >= u64::from(self.per_second - self.permits) {
            self.permits = self.per_second;
            self.since = self.since.max(now);
        } else {
            self.permits += saturating::<u32>(new);
            self.since += each * new;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tfrc_testkit::at;

    #[test]
    fn eight_a_second_and_no_more() {
        let mut limiter = RateLimiter::new(8);
        let allowed = |limiter: &mut RateLimiter, from: u64, to: u64| {
            (from..to).filter(|ms| limiter.allow(at(*ms))).count()
        };
        assert_eq!(allowed(&mut limiter, 0, 1), 1);
        assert_eq!(allowed(&mut limiter, 1, 1000), 7 + 7);
        assert_eq!(allowed(&mut limiter, 1000, 11_000), 80);
        assert_eq!(allowed(&mut limiter, 20_000, 20_100), 8, "no saving beyond a second's worth");
        assert!(!RateLimiter::new(0).allow(at(5)));
    }
}
