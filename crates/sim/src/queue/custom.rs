//! Queues of the host's own.

use core::fmt;
use std::collections::{BTreeMap, VecDeque};

use tfrc_units::{Ecn, Instant};

use super::Waiting;
use super::codel::{Held, Next};
use crate::packet::{FlowId, Header};

/// A queue discipline of the host's own, for [`Queue::Custom`](super::Queue::Custom).
///
/// The link keeps the packets; the discipline keeps their numbers, and chooses.
pub trait Discipline: fmt::Debug + Send {
    /// A packet arrives. On an idle link it is taken at once after this, if it is accepted.
    fn arrive(&mut self, now: Instant, packet: &QueuedPacket) -> Admission;

    /// The line is free: the next packet, and its treatment. It is called again after a drop.
    /// `None` leaves the line idle until the next packet arrives; so does a number that is not
    /// that of a packet in this queue.
    fn take(&mut self, now: Instant) -> Option<Taken>;

    /// It took a number that is not that of a packet in this queue, to be reported as a mistake.
    fn mistaken(&mut self, number: u64) {
        let _ = number;
    }
}

/// A packet before a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueuedPacket {
    /// Its number, of which a queue has each once.
    pub number: u64,
    /// Its flow.
    pub flow: FlowId,
    /// Bytes on the wire.
    pub size: u32,
    /// Its ECN bits.
    pub ecn: Ecn,
}

/// Decision on a packet that arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// It waits.
    Accept,
    /// It is dropped.
    Drop,
}

/// A packet that leaves a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// This one is dropped.
    Drop(u64),
    /// This one is sent, marked as having met congestion if it is ECN-capable.
    Mark(u64),
    /// This one is sent.
    Send(u64),
}

/// Name under which the host has a discipline: 1 to 31 bytes of ASCII.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct CustomName([u8; LONGEST_NAME]);

/// Bytes of a name.
const LONGEST_NAME: usize = 31;

impl CustomName {
    /// `None` if it is empty, too long, or not ASCII.
    #[must_use]
    pub fn new(name: &str) -> Option<Self> {
        let mut bytes = [0; LONGEST_NAME];
        let usable = !name.is_empty() && name.is_ascii() && !name.contains('\0');
        bytes.get_mut(..name.len()).filter(|_| usable)?.copy_from_slice(name.as_bytes());
        Some(Self(bytes))
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        let end = self.0.iter().position(|byte| *byte == 0).unwrap_or(LONGEST_NAME);
        self.0.get(..end).and_then(|bytes| core::str::from_utf8(bytes).ok()).unwrap_or_default()
    }
}

impl fmt::Debug for CustomName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}

/// The packets that wait, and the discipline that chooses.
#[derive(Debug)]
pub(crate) struct CustomHold {
    discipline: Box<dyn Discipline>,
    held: BTreeMap<u64, Held>,
    waiting: Waiting,
    dropped: VecDeque<Held>,
    service: Service,
    /// The arrival that ended a refusal, until the discipline is asked.
    woken_by: Option<Held>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Service {
    /// The discipline had nothing to send: it is not asked before the next packet arrives.
    Refused,
    Wanted,
}

impl CustomHold {
    pub(crate) fn new(discipline: Box<dyn Discipline>) -> Self {
        Self {
            discipline,
            held: BTreeMap::new(),
            waiting: Waiting::default(),
            dropped: VecDeque::new(),
            service: Service::Wanted,
            woken_by: None,
        }
    }

    pub(crate) const fn waiting(&self) -> Waiting {
        self.waiting
    }

    pub(crate) fn packets(&self) -> impl Iterator<Item = &Held> {
        self.held.values()
    }

    /// A packet that waits, while the discipline may have one to send.
    pub(crate) fn any(&self) -> Option<&Held> {
        match self.service {
            Service::Refused => None,
            Service::Wanted => {
                self.woken_by.as_ref().or_else(|| self.held.first_key_value().map(|(_, held)| held))
            }
        }
    }

    pub(crate) fn next_dropped(&mut self) -> Option<Held> {
        self.dropped.pop_front()
    }

    pub(crate) fn push(&mut self, now: Instant, header: &Header, held: Held) -> Admission {
        let Header { flow, size, ecn, .. } = *header;
        let admission = self.discipline.arrive(now, &QueuedPacket { number: held.serial, flow, size, ecn });
        if admission == Admission::Accept {
            if self.service == Service::Refused {
                self.woken_by = Some(held);
            }
            self.service = Service::Wanted;
            self.waiting.packets += 1;
            self.waiting.bytes = self.waiting.bytes.saturating_add(held.cost);
            self.held.insert(held.serial, held);
        }
        admission
    }

    pub(crate) fn next(&mut self, now: Instant) -> Option<Next> {
        self.woken_by = None;
        while let Some(taken) = self.discipline.take(now) {
            let (Taken::Drop(number) | Taken::Mark(number) | Taken::Send(number)) = taken;
            let Some(held) = self.held.remove(&number) else {
                self.discipline.mistaken(number);
                break;
            };
            self.waiting.packets = self.waiting.packets.saturating_sub(1);
            self.waiting.bytes = self.waiting.bytes.saturating_sub(held.cost);
            match taken {
                Taken::Drop(_) => self.dropped.push_back(held),
                Taken::Mark(_) if held.capable => return Some(Next::Marked(held)),
                Taken::Mark(_) | Taken::Send(_) => return Some(Next::Unmarked(held)),
            }
        }
        self.service = Service::Refused;
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_every_length() {
        let longest = "a".repeat(31);
        for name in ["a", "my-queue", longest.as_str()] {
            assert_eq!(CustomName::new(name).expect("fits").as_str(), name);
        }
        assert!(
            [String::new(), "a".repeat(32), "é".to_owned()]
                .iter()
                .all(|name| CustomName::new(name).is_none())
        );
    }
}
