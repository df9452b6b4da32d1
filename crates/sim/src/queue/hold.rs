//! Disciplines that decide when the line takes a packet.

use tfrc_units::{Instant, saturating};

use super::codel::{Held, Hold, Next};
use super::fair::FairHold;
use super::{Admission, CustomHold, Discipline, Queue, Waiting};
use crate::packet::Header;
use crate::{LinkSpec, Seed};

/// Packets that wait for a decision of their discipline.
#[derive(Debug)]
pub(crate) enum Holding {
    CoDel(Hold),
    Fair(FairHold),
    Own(CustomHold),
}

impl Holding {
    /// `None` for a queue that decides at arrival. `own` is the discipline of a queue of the host's
    /// own.
    pub(crate) fn new(spec: &LinkSpec, seed: Seed, own: Option<Box<dyn Discipline>>) -> Option<Self> {
        match &spec.queue {
            Queue::CoDel(codel) => Some(Self::CoDel(Hold::new(*codel))),
            Queue::FqCoDel(fair) => {
                let salt = seed.stream(&format!("link/{}/queue", spec.name)).bits();
                Some(Self::Fair(FairHold::new(*fair, salt)))
            }
            Queue::Custom(_) => own.map(|discipline| Self::Own(CustomHold::new(discipline))),
            Queue::DropTail(_) | Queue::Pie(_) | Queue::Red(_) | Queue::Rio(_) => None,
        }
    }

    pub(crate) fn packets(&self) -> Box<dyn Iterator<Item = &Held> + '_> {
        match self {
            Self::CoDel(hold) => Box::new(hold.packets.iter()),
            Self::Fair(hold) => Box::new(hold.packets()),
            Self::Own(hold) => Box::new(hold.packets()),
        }
    }

    pub(crate) fn waiting(&self) -> Waiting {
        match self {
            Self::CoDel(hold) => {
                Waiting { packets: saturating::<u64>(hold.packets.len()), bytes: hold.bytes }
            }
            Self::Fair(hold) => hold.waiting(),
            Self::Own(hold) => hold.waiting(),
        }
    }

    /// A packet that waits; always the same one while nothing changes.
    pub(crate) fn any(&self) -> Option<&Held> {
        match self {
            Self::CoDel(hold) => hold.packets.front(),
            Self::Fair(hold) => hold.any(),
            Self::Own(hold) => hold.any(),
        }
    }

    /// A packet arrives; only a discipline of the host's own may refuse it.
    pub(crate) fn push(&mut self, now: Instant, header: &Header, held: Held) -> Admission {
        match self {
            Self::CoDel(hold) => hold.push(held),
            Self::Fair(hold) => hold.push(header, held),
            Self::Own(hold) => return hold.push(now, header, held),
        }
        Admission::Accept
    }

    /// The line is free: the packet it takes, `None` if none is left.
    pub(crate) fn next(&mut self, now: Instant) -> Option<Next> {
        match self {
            Self::CoDel(hold) => hold.next(now),
            Self::Fair(hold) => hold.next(now),
            Self::Own(hold) => hold.next(now),
        }
    }

    /// A packet that was dropped and is still in the network.
    pub(crate) fn next_dropped(&mut self) -> Option<Held> {
        match self {
            Self::CoDel(hold) => hold.dropped.pop_front(),
            Self::Fair(hold) => hold.next_dropped(),
            Self::Own(hold) => hold.next_dropped(),
        }
    }
}
