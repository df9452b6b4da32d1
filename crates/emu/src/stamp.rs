use std::time::SystemTime;

use tfrc_net::io::Clock;
use tfrc_units::{Duration, Instant};

/// When the kernel received something, for a batch of datagrams read at one moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BatchTime {
    now: Instant,
    wall: Option<std::time::Duration>,
}

/// A stamp older than this is not believed: the wall clock may have been set.
const OLDEST: std::time::Duration = std::time::Duration::from_millis(100);

impl BatchTime {
    pub(crate) fn read(clock: Clock) -> Self {
        Self { now: clock.now(), wall: SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).ok() }
    }

    /// The time of a kernel stamp (since the Unix epoch) by the relay's clock; without a stamp, the time of reading.
    pub(crate) fn of(self, stamp: Option<std::time::Duration>) -> Instant {
        let age = match (self.wall, stamp) {
            (Some(wall), Some(stamp)) => wall.saturating_sub(stamp),
            _ => std::time::Duration::ZERO,
        };
        if age > OLDEST { self.now } else { self.now - Duration::from(age) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_stamps_are_ages() {
        let second = std::time::Duration::from_secs(1);
        let now = Instant::ZERO + Duration::from_secs(10);
        let batch = BatchTime { now, wall: Some(1000 * second) };
        assert_eq!(batch.of(Some(1000 * second - second / 100)), now - Duration::from_millis(10));
        assert_eq!(batch.of(Some(1001 * second)), now); // from the future
        assert_eq!(batch.of(Some(second)), now); // the wall clock was set
        assert_eq!(batch.of(None), now);
    }
}
