//! One end of a connection: its sequence numbers, and round trips from the tap to the other end.

use std::collections::VecDeque;

use tfrc_dccp::wire::Sequence;
use tfrc_units::{Instant, SeqNo48};

use crate::bounded::Samples;

/// Number of the first packet seen: room for packets that come late.
const ORIGIN: u64 = 1 << 24;
/// Numbers farther than this from the newest are out of step: forged, or of another connection.
const STEP: u64 = 1 << 20;
/// Packets whose time is remembered until they are acknowledged, and timestamps until echoed.
const SENT: usize = 4096;
const TIMESTAMPS: usize = 64;

/// Which end: of an array of two, the client first.
pub(crate) type Side = usize;

/// The word for an end.
pub(crate) const fn name(side: Side) -> &'static str {
    if side == 0 { "client" } else { "server" }
}

/// The packets that one end sent.
#[derive(Debug, Clone)]
pub(crate) struct End {
    highest: Option<(SeqNo48, u64)>,
    sent: VecDeque<(u64, Instant)>,
    timestamps: VecDeque<(u32, Instant)>,
    last_acked: u64,
    /// Seconds from a packet or timestamp of this end until the answer to it, without the time that
    /// the other end says it held it.
    pub(crate) acknowledged: Samples,
    pub(crate) echoed: Samples,
    /// Packets that the host with the tap sent, and those that came to it.
    pub(crate) outgoing: u64,
    pub(crate) incoming: u64,
    pub(crate) packets: u64,
}

impl End {
    pub(crate) const fn new() -> Self {
        Self {
            highest: None,
            sent: VecDeque::new(),
            timestamps: VecDeque::new(),
            last_acked: 0,
            acknowledged: Samples::new(),
            echoed: Samples::new(),
            outgoing: 0,
            incoming: 0,
            packets: 0,
        }
    }

    /// The number of the first packet seen.
    pub(crate) const fn origin() -> u64 {
        ORIGIN
    }

    /// The number that does not wrap for a Sequence Number of this end; `None` if it is out of
    /// step.
    pub(crate) fn number(&self, sequence: Sequence) -> Option<u64> {
        let Some((newest, number)) = self.highest else { return Some(ORIGIN) };
        let seq = match sequence {
            Sequence::Long(seq) => seq,
            Sequence::Short(seq) => seq.extend(newest),
        };
        let (ahead, behind) = (seq.distance_from(newest), newest.distance_from(seq));
        match (ahead <= STEP, behind <= STEP) {
            (true, _) => Some(number + ahead),
            (false, true) => number.checked_sub(behind),
            (false, false) => None,
        }
    }

    /// A packet of this end passes the tap; `None` if its number is out of step, or short before
    /// any long one.
    pub(crate) fn on_packet(&mut self, at: Instant, sequence: Sequence) -> Option<u64> {
        let number = self.number(sequence)?;
        let seq = match (sequence, self.highest) {
            (Sequence::Long(seq), _) => seq,
            (Sequence::Short(seq), Some((newest, _))) => seq.extend(newest),
            (Sequence::Short(seq), None) => seq.extend(SeqNo48::new(0)),
        };
        if self.highest.is_none_or(|(_, highest)| number > highest) {
            self.highest = Some((seq, number));
            if self.sent.len() == SENT {
                self.sent.pop_front();
            }
            self.sent.push_back((number, at));
        }
        Some(number)
    }

    /// The other end acknowledges a packet of this end that it held for `held` seconds. Returns the
    /// round trip from the tap, seconds, if it is the first acknowledgement of a packet seen.
    pub(crate) fn on_acknowledged(&mut self, at: Instant, number: u64, held: f64) -> Option<f64> {
        if number <= self.last_acked {
            return None;
        }
        self.last_acked = number;
        while self.sent.pop_front_if(|(sent, _)| *sent < number).is_some() {}
        let (sent, sent_at) = *self.sent.front()?;
        if sent != number {
            return None;
        }
        let round = at.saturating_since(sent_at).as_secs_f64() - held;
        self.acknowledged.push(round.max(0.0));
        Some(round.max(0.0))
    }

    pub(crate) fn on_timestamp(&mut self, at: Instant, value: u32) {
        if self.timestamps.len() == TIMESTAMPS {
            self.timestamps.pop_front();
        }
        self.timestamps.push_back((value, at));
    }

    /// The other end echoes a timestamp of this end that it held for `held` seconds.
    pub(crate) fn on_echo(&mut self, at: Instant, value: u32, held: f64) {
        let Some(place) = self.timestamps.iter().position(|(sent, _)| *sent == value) else { return };
        if let Some((_, sent_at)) = self.timestamps.get(place).copied() {
            self.echoed.push((at.saturating_since(sent_at).as_secs_f64() - held).max(0.0));
        }
        self.timestamps.drain(..=place);
    }
}

/// Delays from one end to the tap by the Timestamps of that end (RFC 4340 §13.1), less the least
/// one. A clock that runs faster or slower than the tap's shows as a delay that grows.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct OneWay {
    first: Option<(Instant, u32)>,
    least: f64,
    latest: Option<f64>,
}

impl OneWay {
    /// Nanoseconds in a unit of a Timestamp.
    const UNIT: f64 = 1e4;

    pub(crate) fn on_timestamp(&mut self, at: Instant, value: u32) {
        let (first_at, first) = *self.first.get_or_insert((at, value));
        // The difference of two clocks; Timestamps wrap after 11.9 hours.
        let sent = f64::from(value.wrapping_sub(first).cast_signed()) * Self::UNIT;
        let came = at.saturating_since(first_at).as_nanos() as f64;
        let delay = (came - sent) / 1e9;
        self.least = self.least.min(delay);
        self.latest = Some(delay - self.least);
    }

    /// The delay of the latest packet above the least, seconds.
    pub(crate) const fn latest(&self) -> Option<f64> {
        self.latest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn long(n: u64) -> Sequence {
        Sequence::Long(SeqNo48::new(n))
    }

    #[test]
    fn numbers_go_on_where_they_wrap_and_stray_ones_are_out_of_step() {
        let mut end = End::new();
        let last = SeqNo48::MAX.get();
        assert_eq!(end.on_packet(Instant::ZERO, long(last)), Some(ORIGIN));
        assert_eq!(end.on_packet(Instant::ZERO, long(1)), Some(ORIGIN + 2));
        assert_eq!(end.on_packet(Instant::ZERO, long(0)), Some(ORIGIN + 1));
        assert_eq!(end.number(Sequence::Short(SeqNo48::new(5).short())), Some(ORIGIN + 6));
        assert_eq!(end.number(long(1 << 40)), None);
    }

    /// The delays above the least, whatever the offset of the clocks, and where Timestamps wrap.
    #[test]
    fn one_way_delays_are_above_the_least() {
        let mut one_way = OneWay::default();
        let delays = [(0, 20), (10, 25), (20, 20), (30, 15), (40, 50)].map(|(sent, delay)| {
            let value = u32::MAX.wrapping_add(sent * 100);
            one_way.on_timestamp(Instant::from_nanos(u64::from(sent + delay) * 1_000_000), value);
            (one_way.latest().unwrap_or(f64::NAN) * 1e3).round()
        });
        assert_eq!(delays, [0.0, 5.0, 0.0, 0.0, 35.0]);
    }

    #[test]
    fn an_acknowledgement_gives_one_sample() {
        let mut end = End::new();
        let at = |ms: u64| Instant::from_nanos(ms * 1_000_000);
        end.on_packet(at(0), long(10));
        end.on_packet(at(5), long(11));
        let sample = end.on_acknowledged(at(60), ORIGIN + 1, 0.005);
        assert!(sample.is_some_and(|s| (s - 0.050).abs() < 1e-12), "{sample:?}");
        assert_eq!(end.on_acknowledged(at(70), ORIGIN + 1, 0.0), None);
    }
}
