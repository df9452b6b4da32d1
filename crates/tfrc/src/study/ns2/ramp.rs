//! ns-2's `slow_increase_`: in slow start a risen rate reaches the spacing packet by packet, over
//! about a round-trip time.

use tfrc_units::Rate;

use crate::sender::PathState;
use crate::study::RateStep;

/// The rate between the old X and the new one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ramp {
    policy: RateStep,
    climb: Option<Climb>,
}

#[derive(Debug, Clone, Copy)]
struct Climb {
    rate: Rate,
    step: Rate,
    goal: Rate,
}

impl Ramp {
    pub(crate) const fn new(policy: RateStep) -> Self {
        Self { policy, climb: None }
    }

    /// A report in slow start has changed X from `from` to `goal`. The step is the difference over
    /// the packets that `goal` makes in a round-trip time, so that the next report often comes
    /// before the end; the climb then begins anew from
    /// `from`, which the spacing had not reached. As long as X stays the climb goes on.
    pub(crate) fn start(&mut self, from: Rate, goal: Rate, path: PathState) {
        if goal == from {
            return;
        }
        self.climb = None;
        if self.policy == RateStep::AtOnce || goal < from {
            return;
        }
        let packets = (goal * path.rtt / path.segment).max(1.0);
        let step = Rate::from_bytes_per_sec((goal.bytes_per_sec() - from.bytes_per_sec()) / packets);
        self.climb = Some(Climb { rate: from, step, goal });
    }

    /// X has changed in another way.
    pub(crate) const fn cancel(&mut self) {
        self.climb = None;
    }

    pub(crate) fn on_sent(&mut self) {
        if let Some(climb) = &mut self.climb {
            climb.rate = climb.rate + climb.step;
            if climb.rate >= climb.goal {
                self.climb = None;
            }
        }
    }

    /// The rate on its way up, if it is.
    pub(crate) fn rate(&self) -> Option<Rate> {
        self.climb.map(|climb| climb.rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tfrc_units::Duration;

    /// From 20 to 50 kB/s at 100 ms and 1000 bytes: five packets, 6 kB/s each.
    #[test]
    fn over_one_round_trip() {
        let rtt = Duration::from_millis(100);
        let path = PathState {
            rtt,
            segment: 1000.0,
            packet_size: crate::config::PacketSize::Own,
            rto: rtt * 4,
            drop_rate: None,
        };
        let rate = |kilobytes: f64| Rate::from_bytes_per_sec(kilobytes * 1e3);
        let mut ramp = Ramp::new(RateStep::PerPacket);
        ramp.start(rate(20.0), rate(50.0), path);
        for kilobytes in [20.0, 26.0, 32.0, 38.0, 44.0] {
            assert_eq!(ramp.rate(), Some(rate(kilobytes)));
            ramp.start(rate(50.0), rate(50.0), path);
            ramp.on_sent();
        }
        assert_eq!(ramp.rate(), None);
        ramp.start(rate(50.0), rate(10.0), path);
        assert_eq!(ramp.rate(), None, "down at once");
        let mut at_once = Ramp::new(RateStep::AtOnce);
        at_once.start(rate(10.0), rate(50.0), path);
        assert_eq!(at_once.rate(), None);
    }
}
