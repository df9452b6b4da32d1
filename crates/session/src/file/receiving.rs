//! The receiver's side of a file: which bytes are here, and what it answers. A state machine
//! without I/O.

use std::ops::Range;

use tfrc_units::{Duration, Instant, saturating};

use super::ranges::Ranges;
use super::wire::{self, End, Message};

/// A file that is received.
#[derive(Debug, Default)]
pub(crate) struct Incoming {
    here: Ranges,
    /// Length and hash of the file of which an earlier session has brought a part.
    before: Option<(u64, [u8; wire::HASH])>,
    /// The sender's last question. The first one decides about length and hash.
    end: Option<End>,
    /// When the next answer goes, and when the last one went.
    due: Option<Instant>,
    answered: Option<Instant>,
    /// True if the hash agrees, once that is known.
    agrees: Option<bool>,
    /// Bytes that came after the first question.
    repaired: u64,
    /// Holes stay: there are no questions.
    holes: bool,
}

/// Bytes of a datagram that are to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Piece<'a> {
    pub(crate) offset: u64,
    pub(crate) bytes: &'a [u8],
    /// Number of them that were not here.
    pub(crate) new: u64,
}

impl Incoming {
    /// A file of which these bytes are here from an earlier session, and its length and hash if
    /// the sender had said them.
    pub(crate) fn going_on(here: Ranges, before: Option<(u64, [u8; wire::HASH])>) -> Self {
        Self { here, before, ..Self::default() }
    }

    /// A file that is taken with its holes.
    pub(crate) fn with_holes() -> Self {
        Self { holes: true, ..Self::default() }
    }

    /// Takes a datagram of the sender; the bytes in it if some of them are new.
    pub(crate) fn take<'a>(&mut self, now: Instant, rtt: Duration, datagram: &'a [u8]) -> Option<Piece<'a>> {
        match wire::read(datagram)? {
            Message::Data { offset, bytes } => {
                let end = offset + saturating::<u64>(bytes.len());
                if self.end.is_some_and(|known| end > known.length) || self.agrees.is_some() {
                    return None;
                }
                let new = match self.here.insert(offset..end) {
                    // Behind too many holes; nobody sends it again.
                    None if self.holes => end - offset,
                    new => new.filter(|new| *new > 0)?,
                };
                if self.end.is_some() {
                    self.repaired += new;
                }
                Some(Piece { offset, bytes, new })
            }
            Message::End(end) if !self.holes => {
                self.hear(now, rtt, end);
                None
            }
            Message::End(_) | Message::Lacks { .. } | Message::Whole | Message::Differs => None,
        }
    }

    fn hear(&mut self, now: Instant, rtt: Duration, end: End) {
        let known = self.end.get_or_insert(end);
        if (known.length, known.hash) != (end.length, end.hash) {
            return;
        }
        *known = end;
        if self.before.take().is_some_and(|before| before != (end.length, end.hash)) {
            // The part that is here is one of another file.
            return self.compared(now, false);
        }
        self.here.clip(end.length);
        // What the network has reordered comes within a part of a round trip.
        let patience = if self.is_full() { Duration::ZERO } else { rtt / 4 };
        let free = self.answered.map_or(now, |answered| answered + rtt);
        self.due = self.due.or(Some(free.max(now + patience)));
    }

    /// The answer that goes now, in `limit` octets at most; not more than one in a round-trip time.
    pub(crate) fn answer(&mut self, now: Instant, limit: usize) -> Option<Vec<u8>> {
        let end = self.end.filter(|_| self.due.is_some_and(|due| due <= now))?;
        (self.due, self.answered) = (None, Some(now));
        Some(match self.agrees {
            Some(agrees) => wire::verdict(agrees),
            None => wire::lacks(end.round, limit, self.here.missing(end.length)),
        })
    }

    /// When an answer goes.
    pub(crate) const fn due(&self) -> Option<Instant> {
        self.due
    }

    /// The length and the hash that the file must have, once all bytes are here and as long as
    /// these are not compared.
    pub(crate) fn to_compare(&self) -> Option<End> {
        self.end.filter(|_| self.is_full() && self.agrees.is_none())
    }

    /// The hash was compared: the sender hears of it at once.
    pub(crate) fn compared(&mut self, now: Instant, agrees: bool) {
        self.agrees = Some(agrees);
        self.due = Some(now);
    }

    /// True if the hash agrees, once that is known.
    pub(crate) const fn agrees(&self) -> Option<bool> {
        self.agrees
    }

    /// Bytes that came after the first question.
    pub(crate) const fn repaired(&self) -> u64 {
        self.repaired
    }

    /// Bytes of the file that are here.
    pub(crate) const fn here(&self) -> u64 {
        self.here.bytes()
    }

    /// The ranges that are missing, in order, of a file of this length; of one whose sender has not
    /// said its length, those before its last byte.
    pub(crate) fn holes(&self, length: Option<u64>) -> impl Iterator<Item = Range<u64>> {
        let last = self.here.iter().last().map_or(0, |range| range.end);
        self.here.missing(length.unwrap_or(last))
    }

    /// The sender's question, once it has come.
    pub(crate) const fn end(&self) -> Option<End> {
        self.end
    }

    /// The length of the file, once the sender has said it.
    pub(crate) fn length(&self) -> Option<u64> {
        self.end.map(|end| end.length)
    }

    fn is_full(&self) -> bool {
        self.end.is_some_and(|end| self.here.bytes() == end.length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::wire::MOST_BYTES;

    const RTT: Duration = Duration::from_millis(100);

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    fn data(offset: u64, bytes: &[u8]) -> Vec<u8> {
        let mut datagram = Vec::new();
        wire::put_data(&mut datagram, offset, bytes);
        datagram
    }

    fn end(round: u32, length: u64) -> Vec<u8> {
        End { round, length, hash: [1; wire::HASH] }.encode()
    }

    #[test]
    fn at_most_one_answer_in_a_round_trip() {
        let mut file = Incoming::default();
        assert_eq!(file.take(at(0), RTT, &data(0, b"abc")).map(|piece| piece.new), Some(3));
        assert_eq!(file.take(at(0), RTT, &data(1, b"bc")), None, "nothing new");
        assert_eq!(file.answer(at(0), 1200), None);
        file.take(at(0), RTT, &end(0, 10));
        assert_eq!((file.due(), file.answer(at(0), 1200)), (Some(at(25)), None));
        let lacks = |round, range| Some(wire::lacks(round, 1200, std::iter::once(range)));
        assert_eq!(file.answer(at(25), 1200), lacks(0, 3..10));
        file.take(at(30), RTT, &end(0, 10));
        assert_eq!((file.due(), file.answer(at(124), 1200)), (Some(at(125)), None));
        assert_eq!(file.answer(at(125), 1200), lacks(0, 3..10));
        assert_eq!(file.take(at(300), RTT, &data(3, b"defghij")).map(|piece| piece.new), Some(7));
        file.take(at(300), RTT, &end(1, 10));
        assert!(file.to_compare().is_some());
        assert_eq!(file.answer(at(300), 1200), Some(wire::lacks(1, 1200, std::iter::empty())));
        file.compared(at(310), true);
        assert_eq!(file.answer(at(310), 1200), Some(wire::verdict(true)));
        assert_eq!((file.to_compare(), file.repaired(), file.agrees()), (None, 7, Some(true)));
        file.take(at(500), RTT, &end(1, 10));
        assert_eq!(file.answer(at(500), 1200), Some(wire::verdict(true)), "as often as it is asked");
    }

    /// Data behind the end, another end, offsets that no file has.
    #[test]
    fn the_first_end_decides() {
        let mut file = Incoming::default();
        assert!(file.take(at(0), RTT, &data(MOST_BYTES - 3, b"abc")).is_some());
        assert_eq!(file.take(at(0), RTT, &data(MOST_BYTES - 2, b"abc")), None);
        assert!(file.take(at(0), RTT, &data(2, b"abc")).is_some());
        file.take(at(0), RTT, &end(0, 4));
        assert_eq!(file.take(at(0), RTT, &data(3, b"xy")), None);
        file.take(at(50), RTT, &end(0, 1 << 60));
        assert_eq!(file.answer(at(50), 1200), Some(wire::lacks(0, 1200, std::iter::once(0..2))));
        assert!(file.take(at(0), RTT, &data(0, b"ab")).is_some());
        assert_eq!(file.to_compare().map(|end| end.length), Some(4));
    }

    /// A part of another file is found out by what the sender says of its own.
    #[test]
    fn a_part_of_another_file_is_refused() {
        for (length, agrees) in [(10, None), (11, Some(false))] {
            let mut here = Ranges::default();
            here.insert(0..4);
            let mut file = Incoming::going_on(here, Some((length, [1; wire::HASH])));
            file.take(at(0), RTT, &end(0, 10));
            let answer = match agrees {
                None => wire::lacks(0, 1200, std::iter::once(4..10)),
                Some(agrees) => wire::verdict(agrees),
            };
            assert_eq!((file.agrees(), file.answer(at(25), 1200)), (agrees, Some(answer)));
            let is_taken = file.take(at(30), RTT, &data(4, b"efghij")).is_some();
            assert_eq!((is_taken, file.here()), (agrees.is_none(), if agrees.is_none() { 10 } else { 4 }));
        }
    }

    #[test]
    fn holes_that_are_taken_are_named_and_not_asked_for() {
        let mut file = Incoming::with_holes();
        for (offset, bytes) in [(3, b"abc"), (8, b"ijk"), (4, b"bcx")] {
            assert!(file.take(at(0), RTT, &data(offset, bytes)).is_some(), "{offset}");
        }
        file.take(at(0), RTT, &end(0, 11));
        assert_eq!((file.due(), file.to_compare(), file.length()), (None, None, None));
        assert_eq!(file.holes(None).collect::<Vec<_>>(), [0..3, 7..8]);
        assert_eq!(file.holes(Some(20)).collect::<Vec<_>>(), [0..3, 7..8, 11..20]);
        assert!(file.holes(Some(7)).eq(std::iter::once(0..3)));
        // However many there are, what comes is taken.
        for n in 0..70_000 {
            assert_eq!(file.take(at(0), RTT, &data(20 + 2 * n, b"x")).map(|piece| piece.new), Some(1));
        }
        assert!(file.holes(None).count() < 70_000);
    }

    #[test]
    fn an_empty_file_is_compared_at_once() {
        let mut file = Incoming::default();
        assert_eq!(file.to_compare(), None);
        file.take(at(0), RTT, &end(0, 0));
        assert!(file.to_compare().is_some());
    }
}
