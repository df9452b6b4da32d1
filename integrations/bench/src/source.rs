//! Media of a sender: packets of an encoder's frames, which wait until the transport takes them.

use std::cell::Cell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::{Duration, Instant};

use crate::encoder::Encoder;

/// Bytes of media in a packet, at most.
pub(crate) const MEDIA: usize = 1160;
/// Bytes that RTP with SRTP and an extension, or QUIC, add to it, before UDP.
pub(crate) const FRAMING: usize = 40;
/// Media that waits longer is worth nothing and is dropped.
const DEADLINE: Duration = Duration::from_millis(400);
/// Share of the target that the encoder aims at, so that what waits can shrink.
const MARGIN: f64 = 0.95;
/// The first rate, bit/s.
pub(crate) const FIRST: f64 = 300e3;

/// Packets that were made, and those of them that were dropped because they waited too long.
#[derive(Debug, Clone, Default)]
pub(crate) struct Waste {
    pub(crate) made: Rc<Cell<u64>>,
    pub(crate) late: Rc<Cell<u64>>,
}

/// When the media is on: all but a pause.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Schedule {
    pub(crate) begin: Duration,
    pub(crate) end: Duration,
    pub(crate) pause: Option<(Duration, Duration)>,
}

/// The media of a sender.
pub(crate) struct Source {
    epoch: Instant,
    encoder: Encoder,
    schedule: Schedule,
    waste: Waste,
}

impl Source {
    pub(crate) fn new(epoch: Instant, seed: u64, schedule: Schedule, waste: Waste) -> Self {
        Self { epoch, encoder: Encoder::new(seed, FIRST, schedule.begin), schedule, waste }
    }

    /// Makes the frames that are due, at this target in bit/s with the framing of the transport,
    /// and drops what waits too long.
    pub(crate) fn fill(&mut self, now: Instant, target: f64, waiting: &mut VecDeque<(Instant, Vec<u8>)>) {
        let at = now - self.epoch;
        let media = MEDIA as f64 / (MEDIA + FRAMING) as f64;
        self.encoder.aim(at, target * MARGIN * media);
        while self.encoder.next() <= at && self.timeout().is_some() {
            if let Some((_, end)) = self.schedule.pause.filter(|(from, to)| (*from..*to).contains(&at)) {
                self.encoder.wait(end);
                continue;
            }
            let frame = self.encoder.frame();
            let packets = frame.div_ceil(MEDIA);
            for _ in 0..packets {
                waiting.push_back((now, vec![0; frame / packets]));
            }
            self.waste.made.set(self.waste.made.get() + packets as u64);
        }
        while waiting.front().is_some_and(|(since, _)| now - *since > DEADLINE) {
            waiting.pop_front();
            self.waste.late.set(self.waste.late.get() + 1);
        }
    }

    /// When the next frame is due.
    pub(crate) fn timeout(&self) -> Option<Instant> {
        Some(self.epoch + self.encoder.next()).filter(|_| self.encoder.next() < self.schedule.end)
    }
}
