//! Queues of links, for packets that find the line busy.
//!
//! All but CoDel, FQ-CoDel and those of the host's own decide when a packet arrives, so they cost
//! no event of their own: their state since the last arrival (idle lines, periodic updates) follows
//! from the line's schedule. These decide when the line takes a packet.

pub(crate) mod codel;
mod custom;
mod fair;
pub(crate) mod hold;
mod limit;
mod pie;
mod red;
mod rio;

#[cfg(feature = "schema")]
use tfrc_units::schema::{Deserialize, JsonSchema};
use tfrc_units::{Duration, Ecn, Instant, Probability, Rate};

use crate::packet::{PacketCount, Precedence};
use crate::trace::DropCause;
use crate::{Seed, Stream};

pub use codel::CoDel;
pub(crate) use custom::CustomHold;
pub use custom::{Admission, CustomName, Discipline, QueuedPacket, Taken};
pub use fair::FqCoDel;
pub use limit::Limit;
pub(crate) use limit::Waiting;
use pie::PieProcess;
pub use pie::{Activation, Pie, Randomness, StepLimit};
use red::RedProcess;
pub use red::{
    AboveMax, Adaptation, Bottom, ByteCount, DropMode, EarlyDrop, Forced, IdleDecay, Measure, Red, Spacing,
    Thresholds, Weight,
};
use rio::RioProcess;
pub use rio::{Coupling, Rio, RioCurve};

/// Queue of a link, for packets that find the line busy.
///
/// The packet in transmission has left the queue: a limit counts the packets that wait behind it.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Queue {
    /// Controlled delay (RFC 8289): drops when the line takes a packet. Costs a second event per
    /// packet.
    CoDel(CoDel),
    /// Flow queueing with controlled delay in each queue (RFC 8290). Costs a second event per
    /// packet.
    FqCoDel(FqCoDel),
    /// First in, first out; an arriving packet that does not fit is dropped.
    DropTail(Limit),
    /// A discipline of the host's own, by the name under which [`Network::build_with`] is given it.
    /// Costs a second event per packet. [`Network::build`] has none, and makes a queue without a
    /// limit of it.
    ///
    /// [`Network::build`]: crate::Network::build
    /// [`Network::build_with`]: crate::Network::build_with
    Custom(CustomName),
    /// Proportional integral controller enhanced (RFC 8033).
    Pie(Pie),
    /// Random early detection.
    Red(Red),
    /// RED with a curve for each drop precedence.
    Rio(Rio),
}

/// Treatment of ECN-capable packets (RFC 3168) that a queue would otherwise drop early. A full
/// queue drops every packet.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[cfg_attr(feature = "schema", derive(Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum Marking {
    /// Drops the packet.
    #[default]
    Off,
    /// Marks packets that are ECN-capable.
    On,
    /// The drop probability from which on it drops, such as 0.1: below it marks. ns-2's `mark_p_`
    /// (docs/ns2-facts.md §4) and PIE's threshold (RFC 8033 §5.1) are 0.1.
    #[cfg_attr(feature = "schema", serde(untagged))]
    Below(Probability),
}

impl Marking {
    /// Returns the verdict on a packet singled out at drop probability `p`: mark or drop.
    fn verdict(self, ecn: Ecn, p: f64) -> QueueVerdict {
        let mark = match self {
            Self::Below(limit) => p < limit.get(),
            Self::Off => false,
            Self::On => true,
        };
        if mark && ecn.is_capable() { QueueVerdict::Mark } else { QueueVerdict::Drop(DropCause::Early) }
    }
}

/// The inner state of a link's queue at one moment, for traces.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct QueueState {
    /// Packets and bytes that wait behind the packet in transmission.
    pub waiting: PacketCount,
    /// The average queue at the latest arrival, in RED's measure, RIO's over all precedences that
    /// share it (of the highest one in RIO-D); `None` where there is no average.
    pub average: Option<f64>,
    /// The drop probability at the latest arrival, before packets are spaced: RED's, PIE's.
    pub probability: Option<f64>,
    /// RED's max_p, which adaptation changes.
    pub max_p: Option<f64>,
}

/// An arriving packet, and the state of the queue and line that it meets.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrival {
    pub(crate) now: Instant,
    /// Bytes of the packet.
    pub(crate) size: u32,
    /// Bytes it takes in the queue.
    pub(crate) cost: u64,
    pub(crate) ecn: Ecn,
    pub(crate) precedence: Precedence,
    pub(crate) waiting: Waiting,
    pub(crate) line: LineState,
    /// When the line will have sent all that was accepted before.
    pub(crate) free: Instant,
    pub(crate) ns_per_byte: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineState {
    Busy,
    Idle { since: Instant },
}

impl Arrival {
    /// Returns true if the packet must be dropped because the queue has no room for it.
    fn overflows(&self, limit: Limit) -> bool {
        self.line == LineState::Busy && !limit.admits(self.waiting, self.cost)
    }

    /// Returns the number of packets of `mean` bytes that the line could have sent while it was
    /// idle; zero if it was not.
    fn idle_packets(&self, mean: u32) -> f64 {
        let LineState::Idle { since } = self.line else { return 0.0 };
        let idle = self.now.saturating_since(since).as_nanos();
        if idle == 0 { 0.0 } else { tfrc_units::f64_from_u64(idle) / (f64::from(mean) * self.ns_per_byte) }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum QueueVerdict {
    Drop(DropCause),
    Mark,
    Pass,
}

/// A queue at work, as far as it decides at arrival.
#[derive(Debug)]
pub(crate) enum Policy {
    Active(Box<Active>),
    Passive(Limit),
}

#[derive(Debug)]
pub(crate) struct Active {
    controller: Controller,
    stream: Stream,
}

#[derive(Debug)]
enum Controller {
    Pie(PieProcess),
    Red(RedProcess),
    Rio(RioProcess),
}

impl Policy {
    /// `link` names the random stream.
    pub(crate) fn new(queue: &Queue, rate: Rate, delay: Duration, seed: Seed, link: &str) -> Self {
        let controller = match queue {
            Queue::CoDel(codel) => return Self::Passive(codel.limit),
            Queue::FqCoDel(fair) => return Self::Passive(fair.limit),
            Queue::Custom(_) => return Self::Passive(Limit::Unlimited),
            Queue::DropTail(limit) => return Self::Passive(*limit),
            Queue::Pie(pie) => Controller::Pie(PieProcess::new(*pie)),
            Queue::Red(red) => Controller::Red(RedProcess::new(*red, rate, delay)),
            Queue::Rio(rio) => Controller::Rio(RioProcess::new(*rio)),
        };
        Self::Active(Box::new(Active { controller, stream: seed.stream(&format!("link/{link}/queue")) }))
    }

    /// The rate of the line changes, after which it will be `free` at another time.
    pub(crate) fn before_change(&mut self, now: Instant, free: Instant, waiting: Waiting) {
        if let Self::Active(active) = self {
            match &mut active.controller {
                Controller::Pie(pie) => pie.settle(now, free),
                Controller::Red(_) => {}
                Controller::Rio(rio) => rio.forget_departed(waiting.packets),
            }
        }
    }

    /// Sets new departure times of the waiting packets, the last packet first, after the line's
    /// rate changed.
    pub(crate) fn after_change(&mut self, starts: impl Iterator<Item = Instant>) {
        if let Self::Active(active) = self
            && let Controller::Rio(rio) = &mut active.controller
        {
            rio.restamp(starts);
        }
    }

    pub(crate) fn state(&self) -> QueueState {
        match self {
            Self::Active(active) => match &active.controller {
                Controller::Pie(pie) => pie.state(),
                Controller::Red(red) => red.state(),
                Controller::Rio(rio) => rio.state(),
            },
            Self::Passive(_) => QueueState::default(),
        }
    }
}

impl Active {
    pub(crate) fn arrive(&mut self, arrival: &Arrival) -> QueueVerdict {
        match &mut self.controller {
            Controller::Pie(pie) => pie.arrive(arrival, &mut self.stream),
            Controller::Red(red) => red.arrive(arrival, &mut self.stream),
            Controller::Rio(rio) => rio.arrive(arrival, &mut self.stream),
        }
    }

    /// The packet just passed joins the queue and will leave it at `start`.
    pub(crate) fn accepted(&mut self, precedence: Precedence, start: Instant) {
        if let Controller::Rio(rio) = &mut self.controller {
            rio.accepted(precedence, start);
        }
    }
}

impl Queue {
    pub(crate) fn granule(&self) -> u32 {
        match self {
            Self::CoDel(codel) => codel.limit.granule(),
            Self::FqCoDel(fair) => fair.limit.granule(),
            Self::Custom(_) => 1,
            Self::DropTail(limit) => limit.granule(),
            Self::Pie(pie) => pie.limit.granule(),
            Self::Red(red) => red.limit.granule(),
            Self::Rio(rio) => rio.limit.granule(),
        }
    }

    /// Returns a fault of the parameters on a line of `rate`, if there is one.
    pub(crate) fn fault(&self, rate: Rate) -> Option<&'static str> {
        match self {
            Self::CoDel(codel) => codel.fault(),
            Self::FqCoDel(fair) => fair.fault(),
            Self::DropTail(_) | Self::Custom(_) => None,
            Self::Pie(pie) => pie.fault(),
            Self::Red(red) => red.fault(rate),
            Self::Rio(rio) => rio.fault(),
        }
    }
}

#[cfg(test)]
pub(crate) mod test_arrival {
    use super::*;

    /// A packet of 1000 bytes that meets this many of its kind on a busy line, at 8 Mbit/s (1
    /// µs a byte).
    pub(crate) fn busy(now: Instant, packets: u64) -> Arrival {
        Arrival {
            now,
            size: 1000,
            cost: 1000,
            ecn: Ecn::NotEct,
            precedence: Precedence::Low,
            waiting: Waiting { packets, bytes: packets * 1000 },
            line: LineState::Busy,
            free: now + Duration::from_micros(1000) * (packets + 1),
            ns_per_byte: 1000.0,
        }
    }

    pub(crate) fn idle(now: Instant, since: Instant) -> Arrival {
        Arrival { line: LineState::Idle { since }, free: since, ..busy(now, 0) }
    }

    pub(crate) fn at_ms(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }
}
