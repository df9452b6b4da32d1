//! The sender's side of a file: every byte once, in order, and then what the receiver lacks. A
//! state machine without I/O.

use std::collections::VecDeque;
use std::fmt;
use std::ops::Range;

use tfrc_units::{Duration, Instant, saturating};

use super::wire::{self, End, Message};

/// Time without an answer after which the receiver is given up, or twenty round-trip times if that
/// is longer. A receiver that still compares the hash answers, too.
const PATIENCE: Duration = Duration::from_secs(30);
/// Bytes that are sent again, at most, for each byte of the file. A path that loses 94 of 100
/// datagrams needs as many.
const REPEATS: u64 = 16;
/// Bytes that are sent again for a short file, at most.
const REPEATS_AT_LEAST: u64 = 1 << 20;

/// The end of a file, as its sender sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileOutcome {
    /// The receiver has all of it, and the hash agrees.
    Whole,
    /// The receiver has all bytes, and another hash: the file has changed while it was sent.
    Differs,
    /// Each byte was sent once, for a receiver that takes holes.
    Once,
    /// The receiver asks for the same bytes again and again.
    Insatiable,
    /// The file has become shorter: bytes that were there, and those that should have been.
    Shrunk(u64, u64),
    /// The receiver does not say what it lacks.
    Unanswered,
}

impl fmt::Display for FileOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole => f.write_str("whole"),
            Self::Once => f.write_str("all of it was sent once"),
            Self::Differs => f.write_str(
                "not whole: the hash differs: the file changed while it was sent, or another one was begun",
            ),
            Self::Insatiable => {
                f.write_str("not whole: the receiver asks for the same bytes again and again")
            }
            Self::Shrunk(sent, length) => {
                write!(f, "became shorter while it was sent: {sent} of {length} bytes were there")
            }
            Self::Unanswered => f.write_str("not whole: the receiver does not say what it lacks"),
        }
    }
}

/// The next thing to do for a sender.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Next {
    /// Read these bytes, and hand them to [`Outgoing::read`].
    Read(Range<u64>),
    /// Send this datagram.
    Send(Vec<u8>),
    /// Wait until then for an answer.
    Wait(Instant),
    /// Nothing any more.
    Ended(FileOutcome),
}

/// A file that is sent.
#[derive(Debug, Default)]
pub(crate) struct Outgoing {
    hash: blake3::Hasher,
    /// Bytes sent in the first pass.
    sent: u64,
    /// Bytes sent again.
    repeated: u64,
    /// The question after the first pass.
    end: Option<End>,
    /// The ranges that the last answer named, and that have not been sent since.
    lacks: VecDeque<Range<u64>>,
    /// The receiver has a part of the file from an earlier session: what the first answer names
    /// is sent for the first time.
    goes_on: bool,
    /// The receiver takes holes: it is asked nothing.
    once: bool,
    /// When the question went last, and when the peer was heard last or the first question went.
    asked: Option<Instant>,
    heard: Option<Instant>,
    outcome: Option<FileOutcome>,
}

impl Outgoing {
    /// A file of which the receiver has a part: the first thing is the question.
    pub(crate) fn going_on(length: u64, hash: [u8; wire::HASH]) -> Self {
        let end = Some(End { round: 0, length, hash });
        Self { end, goes_on: true, ..Self::default() }
    }

    /// A file of which each byte is sent once.
    pub(crate) fn once() -> Self {
        Self { once: true, ..Self::default() }
    }

    /// The next thing to do; `room` bytes of the file fit in a datagram.
    pub(crate) fn next(&mut self, now: Instant, rtt: Duration, room: usize) -> Next {
        if let Some(outcome) = self.outcome {
            return Next::Ended(outcome);
        }
        let room = saturating::<u64>(room.max(1));
        if let Some(range) = self.lacks.front() {
            return Next::Read(range.start..range.end.min(range.start + room));
        }
        let Some(end) = self.end else { return Next::Read(self.sent..self.sent + room) };
        if self.once {
            return Next::Ended(FileOutcome::Once);
        }
        // An answer takes a round-trip time, and may have to wait for another.
        if let Some(due) = self.asked.map(|asked| asked + rtt * 2).filter(|due| *due > now) {
            return Next::Wait(due);
        }
        let silent = now.saturating_since(*self.heard.get_or_insert(now));
        if silent >= PATIENCE.max(rtt * 20) {
            self.outcome = Some(FileOutcome::Unanswered);
            return Next::Ended(FileOutcome::Unanswered);
        }
        self.asked = Some(now);
        Next::Send(end.encode())
    }

    /// The question has left this end only now: an answer takes a round-trip time from here.
    pub(crate) const fn asked(&mut self, now: Instant) {
        self.asked = Some(now);
    }

    /// Takes the bytes at the beginning of the range that [`Outgoing::next`] named; none at the end
    /// of the file.
    pub(crate) fn read(&mut self, bytes: &[u8]) {
        let length = saturating::<u64>(bytes.len());
        if let Some(range) = self.lacks.front_mut() {
            range.start += length;
            *(if self.goes_on { &mut self.sent } else { &mut self.repeated }) += length;
            if range.is_empty() {
                self.lacks.pop_front();
                self.goes_on &= !self.lacks.is_empty();
            }
        } else if bytes.is_empty() {
            self.end = Some(End { round: 0, length: self.sent, hash: *self.hash.finalize().as_bytes() });
        } else {
            self.sent += length;
        }
    }

    /// Takes bytes of the first pass into the hash: those of many datagrams at once take a fraction
    /// of the time. All have to be taken before [`Outgoing::read`] hears of the end.
    pub(crate) fn hash(&mut self, bytes: &[u8]) {
        self.hash.update(bytes);
    }

    /// Takes a datagram of the receiver. Its ranges end with the file, and an answer to an earlier
    /// question says nothing new.
    pub(crate) fn hear(&mut self, now: Instant, datagram: &[u8]) {
        let Some(end) = self.end.as_mut().filter(|_| !self.once) else { return };
        let Some(message) = wire::read(datagram) else { return };
        match message {
            Message::Whole => self.outcome = self.outcome.or(Some(FileOutcome::Whole)),
            Message::Differs => self.outcome = self.outcome.or(Some(FileOutcome::Differs)),
            Message::Lacks { round, ranges } if round == end.round => {
                self.heard = Some(now);
                let length = end.length;
                let ranges = ranges.into_iter().map(|range| range.start..range.end.min(length));
                self.lacks = ranges.filter(|range| !range.is_empty()).collect();
                if self.lacks.is_empty() {
                    return;
                }
                let more: u64 = self.lacks.iter().map(|range| range.end - range.start).sum();
                if self.repeated + more > length.saturating_mul(REPEATS).max(REPEATS_AT_LEAST) {
                    self.outcome = Some(FileOutcome::Insatiable);
                }
                end.round = end.round.wrapping_add(1);
                self.asked = None;
            }
            Message::Lacks { .. } | Message::Data { .. } | Message::End(_) => {}
        }
    }

    /// Bytes sent for the first time, and bytes sent again.
    pub(crate) const fn counts(&self) -> (u64, u64) {
        (self.sent, self.repeated)
    }

    /// The length of the file, from the end of the first pass on.
    pub(crate) fn length(&self) -> Option<u64> {
        self.end.map(|end| end.length)
    }

    /// True if what the receiver lacks is sent again.
    pub(crate) const fn repairs(&self) -> bool {
        !self.once
    }

    /// True from the end of the first pass on.
    pub(crate) const fn asks(&self) -> bool {
        self.end.is_some()
    }
}

#[cfg(test)]
mod tests {
    use std::iter::once;

    use super::*;

    const RTT: Duration = Duration::from_millis(100);

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    /// A sender that has sent this many bytes once.
    fn sent(length: usize) -> Outgoing {
        let mut out = Outgoing::default();
        assert_eq!(out.next(at(0), RTT, length), Next::Read(0..length.try_into().expect("small")));
        out.read(&vec![7; length]);
        out.read(&[]);
        out
    }

    fn lacks(round: u32, ranges: impl IntoIterator<Item = Range<u64>>) -> Vec<u8> {
        wire::lacks(round, 1200, ranges.into_iter())
    }

    #[test]
    fn the_question_is_repeated_until_it_is_answered() {
        let mut out = sent(100);
        let Next::Send(end) = out.next(at(0), RTT, 10) else { panic!("{out:?}") };
        assert_eq!(out.next(at(0), RTT, 10), Next::Wait(at(200)));
        assert_eq!(out.next(at(200), RTT, 10), Next::Send(end));
        out.hear(at(250), &lacks(0, [5..20, 90..1000]));
        for range in [5..15, 15..20, 90..100] {
            assert_eq!(out.next(at(250), RTT, 10), Next::Read(range.clone()));
            out.read(&vec![7; usize::try_from(range.end - range.start).expect("small")]);
        }
        assert_eq!(out.counts(), (100, 25));
        assert!(matches!(out.next(at(250), RTT, 10), Next::Send(_)));
        // The answer to the question before says nothing.
        out.hear(at(260), &lacks(0, once(0..100)));
        assert_eq!(out.next(at(260), RTT, 10), Next::Wait(at(450)));
        out.hear(at(270), &wire::verdict(true));
        assert_eq!(out.next(at(270), RTT, 10), Next::Ended(FileOutcome::Whole));
        out.hear(at(270), &wire::verdict(false));
        assert_eq!(out.next(at(270), RTT, 10), Next::Ended(FileOutcome::Whole));
    }

    #[test]
    fn nothing_is_believed_before_the_end() {
        let mut out = Outgoing::default();
        for word in [wire::verdict(true), wire::verdict(false), lacks(0, once(0..10))] {
            out.hear(at(0), &word);
            assert_eq!(out.next(at(0), RTT, 10), Next::Read(0..10));
        }
    }

    #[test]
    fn a_file_with_holes_ends_with_its_first_pass() {
        let mut out = Outgoing::once();
        assert_eq!(out.next(at(0), RTT, 10), Next::Read(0..10));
        out.read(&[7; 10]);
        out.read(&[]);
        for word in [wire::verdict(false), lacks(0, once(0..10))] {
            out.hear(at(0), &word);
            assert_eq!(out.next(at(0), RTT, 10), Next::Ended(FileOutcome::Once));
        }
        assert_eq!((out.counts(), out.length()), ((10, 0), Some(10)));
    }

    /// Bytes that an earlier session has brought are not sent.
    #[test]
    fn a_file_that_goes_on_begins_with_the_question() {
        let mut out = Outgoing::going_on(100, [7; wire::HASH]);
        assert!(matches!(out.next(at(0), RTT, 50), Next::Send(_)));
        out.hear(at(100), &lacks(0, [10..20, 60..100]));
        for range in [10..20, 60..100] {
            assert_eq!(out.next(at(100), RTT, 50), Next::Read(range.clone()));
            out.read(&vec![7; usize::try_from(range.end - range.start).expect("small")]);
        }
        assert_eq!(out.counts(), (50, 0));
        assert!(matches!(out.next(at(100), RTT, 50), Next::Send(_)));
        out.hear(at(200), &lacks(1, once(10..20)));
        assert_eq!(out.next(at(200), RTT, 50), Next::Read(10..20));
        out.read(&[7; 10]);
        assert_eq!((out.counts(), out.length()), ((50, 10), Some(100)));
    }

    /// A receiver that asks for everything again, without end.
    #[test]
    fn a_receiver_that_always_lacks_everything_is_given_up() {
        let mut out = sent(100_000);
        for round in 0.. {
            assert!(matches!(out.next(at(0), RTT, 100_000), Next::Send(_)));
            out.hear(at(0), &lacks(round, once(0..wire::MOST_BYTES)));
            match out.next(at(0), RTT, 100_000) {
                Next::Read(range) => out.read(&vec![7; usize::try_from(range.end).expect("small")]),
                ended => {
                    assert_eq!((ended, round), (Next::Ended(FileOutcome::Insatiable), 16));
                    break;
                }
            }
        }
        assert_eq!(out.counts(), (100_000, 1_600_000));
    }

    #[test]
    fn a_receiver_that_says_nothing_is_given_up() {
        for (rtt, patience) in [(RTT, 30_000), (Duration::from_millis(2500), 50_000)] {
            let mut out = sent(10);
            let mut now = 0;
            loop {
                match out.next(at(now), rtt, 10) {
                    Next::Send(_) => {}
                    Next::Wait(until) => now = until.as_nanos() / 1_000_000,
                    ended => {
                        assert_eq!(ended, Next::Ended(FileOutcome::Unanswered));
                        break;
                    }
                }
                // It compares the hash for ten seconds.
                if now == 10_000 {
                    out.hear(at(now), &lacks(0, []));
                }
            }
            assert_eq!(now, 10_000 + patience);
        }
    }
}
