//! The rate that an encoder should aim at, and the application's limits, which change while it
//! runs.

use tfrc_units::Rate;

use super::Sender;
use crate::config::{ConfigError, RateCap};
use crate::rare::own;

impl Sender {
    /// The rate that a media encoder should aim at, in bytes of data per second:
    /// [`Sender::allowed_rate`], at least the application's floor and at most its cap; zero after a
    /// stop.
    #[must_use]
    pub fn target_rate(&self) -> Rate {
        if self.guard.stopped().is_some() {
            return Rate::ZERO;
        }
        let least = self.granted().max(self.floor);
        match self.settings.cap {
            RateCap::Unlimited => least,
            RateCap::AtMost(cap) => least.min(cap),
        }
    }

    /// Replaces the application's limit on the sending rate, for packets that go from now on.
    ///
    /// # Errors
    /// [`ConfigError::Cap`] for a cap of zero; then the one before stays.
    pub fn set_cap(&mut self, cap: RateCap) -> Result<(), ConfigError> {
        if let RateCap::AtMost(rate) = cap
            && rate.is_zero()
        {
            return Err(ConfigError::Cap);
        }
        own(&mut self.settings).cap = cap;
        self.settle();
        Ok(())
    }

    /// Sets the least rate that the application can work with, such as an encoder's lowest bit
    /// rate; zero, the default, for none. Only [`Sender::target_rate`] follows it, up to the cap:
    /// packets still leave at the allowed rate, so an application that cannot go slower must drop
    /// or pause.
    pub const fn set_floor(&mut self, floor: Rate) {
        self.floor = floor;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, Settings};
    use crate::decision::SendDecision;
    use tfrc_testkit::at;
    use tfrc_units::Duration;

    const fn kbit(rate: f64) -> Rate {
        Rate::from_bits_per_sec(rate * 1000.0)
    }

    /// The initial rate at 100 ms is 4380 bytes in each: 350.4 kbit/s.
    #[test]
    fn the_target_lies_between_floor_and_cap() {
        let settings = Settings { cap: RateCap::AtMost(kbit(200.0)), ..Settings::default() };
        let mut sender = Sender::new(&settings.validate().expect("sound"));
        sender.on_rtt_sample(at(0), Duration::from_millis(100));
        let allowed = sender.allowed_rate();
        assert_eq!((allowed, sender.target_rate()), (kbit(350.4), kbit(200.0)));
        for (floor, cap, target) in [
            (0.0, RateCap::Unlimited, 350.4),
            (0.0, RateCap::AtMost(kbit(100.0)), 100.0),
            (400.0, RateCap::Unlimited, 400.0),
            (400.0, RateCap::AtMost(kbit(380.0)), 380.0),
            (50.0, RateCap::AtMost(kbit(500.0)), 350.4),
        ] {
            sender.set_floor(kbit(floor));
            assert_eq!(sender.set_cap(cap), Ok(()));
            assert_eq!(sender.set_cap(RateCap::AtMost(Rate::ZERO)), Err(ConfigError::Cap));
            assert_eq!((sender.allowed_rate(), sender.target_rate()), (allowed, kbit(target)));
        }
    }

    /// A cap set while the sender runs spaces the packet that waits; a floor does not.
    #[test]
    fn a_cap_moves_the_next_packet() {
        let mut sender = Sender::new(&Config::default());
        sender.on_rtt_sample(at(0), Duration::from_millis(100));
        sender.on_sent(at(1000), 1000);
        let SendDecision::At(free) = sender.next_send(at(1000)) else { panic!("a packet has just gone") };
        sender.set_floor(kbit(8000.0));
        assert_eq!(sender.next_send(at(1000)), SendDecision::At(free));
        assert_eq!(sender.set_cap(RateCap::AtMost(kbit(80.0))), Ok(()));
        assert_eq!(sender.next_send(at(1000)), SendDecision::At(at(1100)), "1000 bytes at 80 kbit/s");
    }
}
