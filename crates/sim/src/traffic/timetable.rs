//! Times at which an application has data, and how much.
//!
//! It is one for all kinds of traffic: a sender asks for the bytes that it may have sent by now.

use std::sync::Arc;

use tfrc_units::{Duration, Instant};

use crate::tcp::More;

/// Data of an application over time: without end at all times unless it says otherwise.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Timetable {
    transfer: Option<u64>,
    times: Times,
}

#[derive(Debug, Clone, PartialEq, Default)]
enum Times {
    #[default]
    Always,
    /// In the order of time, none overlaps.
    Active(Arc<[Span]>),
    /// In the order of time, each with all bytes up to it; and by how much they come later.
    Writes(Arc<[Write]>, Duration),
}

/// A span of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Its beginning.
    pub from: Instant,
    /// Its end, which does not belong to it.
    pub to: Instant,
}

/// Data that an application writes at one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Write {
    /// The time.
    pub at: Instant,
    /// The bytes.
    pub bytes: u64,
}

/// A timetable that cannot be kept: the place of the first entry in the list, from 0, that is
/// empty, or not later than the entry before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Disorder(
    /// The place.
    pub usize,
);

/// Data of an application at one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Supply {
    /// Bytes from the beginning that may be sent by now, [`u64::MAX`] without a limit; 0 while
    /// nothing new may be sent.
    pub bytes: u64,
    /// Data after those bytes.
    pub more: More,
    /// When `bytes` changes next; `None` if it does not.
    pub next: Option<Instant>,
}

impl Supply {
    /// Bytes that may be sent now by a sender that has sent `sent`.
    #[must_use]
    pub const fn left(&self, sent: u64) -> u64 {
        self.bytes.saturating_sub(sent)
    }
}

impl Timetable {
    /// Data in the given spans only, without end there.
    ///
    /// # Errors
    /// [`Disorder`] if a span is empty or does not begin after the one before it has ended.
    pub fn active(spans: Vec<Span>) -> Result<Self, Disorder> {
        let mut end = None;
        for (place, span) in spans.iter().enumerate() {
            if span.to <= span.from || end.is_some_and(|end| span.from < end) {
                return Err(Disorder(place));
            }
            end = Some(span.to);
        }
        Ok(Self { transfer: None, times: Times::Active(spans.into()) })
    }

    /// Data that is written at the given times. What may not be sent at once waits.
    ///
    /// # Errors
    /// [`Disorder`] if a write is empty, or earlier than the one before it.
    pub fn writes(mut writes: Vec<Write>) -> Result<Self, Disorder> {
        let (mut sum, mut at) = (0_u64, Instant::ZERO);
        for (place, write) in writes.iter_mut().enumerate() {
            if write.bytes == 0 || write.at < at {
                return Err(Disorder(place));
            }
            at = write.at;
            sum = sum.saturating_add(write.bytes);
            write.bytes = sum;
        }
        Ok(Self { transfer: None, times: Times::Writes(writes.into(), Duration::ZERO) })
    }

    /// Bounds the data by `bytes` in all.
    #[must_use]
    pub fn with_transfer(self, bytes: u64) -> Self {
        Self { transfer: Some(bytes), ..self }
    }

    /// Puts every write off by `by`.
    #[must_use]
    pub fn later(&self, by: Duration) -> Self {
        let times = match &self.times {
            Times::Writes(writes, before) => Times::Writes(Arc::clone(writes), *before + by),
            other => other.clone(),
        };
        Self { times, ..*self }
    }

    /// Returns true if there is always data, without end.
    #[must_use]
    pub fn is_endless(&self) -> bool {
        self.transfer.is_none() && self.times == Times::Always
    }

    /// Returns true if the data is not the same at all times.
    #[must_use]
    pub fn changes(&self) -> bool {
        self.times != Times::Always
    }

    /// Returns true if the data is written at given times.
    #[must_use]
    pub const fn has_writes(&self) -> bool {
        matches!(self.times, Times::Writes(..))
    }

    /// Bytes of all data, if it has an end.
    #[must_use]
    pub fn total(&self) -> Option<u64> {
        match &self.times {
            Times::Writes(writes, _) => {
                let all = writes.last().map_or(0, |write| write.bytes);
                Some(self.transfer.map_or(all, |most| most.min(all)))
            }
            Times::Always | Times::Active(_) => self.transfer,
        }
    }

    /// The data at a time.
    #[must_use]
    pub fn at(&self, now: Instant) -> Supply {
        let all = self.transfer.unwrap_or(u64::MAX);
        let last = if self.transfer.is_some() { More::Ends } else { More::Comes };
        match &self.times {
            Times::Always => Supply { bytes: all, more: last, next: None },
            Times::Active(spans) => {
                let past = spans.partition_point(|span| span.to <= now);
                match spans.get(past) {
                    Some(span) if span.from <= now => Supply { bytes: all, more: last, next: Some(span.to) },
                    Some(span) => Supply { bytes: 0, more: More::Comes, next: Some(span.from) },
                    None => Supply { bytes: 0, more: More::Comes, next: None },
                }
            }
            Times::Writes(writes, later) => {
                let past = writes.partition_point(|write| write.at + *later <= now);
                let written = past.checked_sub(1).and_then(|last| writes.get(last));
                let bytes = written.map_or(0, |write| write.bytes);
                let next = writes.get(past).map(|write| write.at + *later).filter(|_| bytes < all);
                let more = if next.is_some() { More::Comes } else { More::Ends };
                Supply { bytes: bytes.min(all), more, next }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(s: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(s)
    }

    fn supply(bytes: u64, more: More, next: Option<u64>) -> Supply {
        Supply { bytes, more, next: next.map(at) }
    }

    #[test]
    fn spans_open_and_close() {
        let spans = vec![Span { from: at(1), to: at(2) }, Span { from: at(5), to: at(9) }];
        let table = Timetable::active(spans).expect("in order");
        assert_eq!(table.at(at(0)), supply(0, More::Comes, Some(1)));
        assert_eq!(table.at(at(1)), supply(u64::MAX, More::Comes, Some(2)));
        assert_eq!(table.at(at(2)), supply(0, More::Comes, Some(5)));
        assert_eq!(table.at(at(9)), supply(0, More::Comes, None));
        let table = table.with_transfer(700);
        assert_eq!((table.at(at(6)), table.total()), (supply(700, More::Ends, Some(9)), Some(700)));
    }

    #[test]
    fn writes_add_up_to_the_transfer() {
        let write = |s, bytes| Write { at: at(s), bytes };
        let table = Timetable::writes(vec![write(1, 10), write(1, 5), write(4, 20)]).expect("in order");
        assert_eq!(table.at(at(0)), supply(0, More::Comes, Some(1)));
        assert_eq!(table.at(at(1)), supply(15, More::Comes, Some(4)));
        assert_eq!((table.at(at(4)), table.total()), (supply(35, More::Ends, None), Some(35)));
        assert_eq!(table.later(Duration::from_secs(2)).at(at(3)), supply(15, More::Comes, Some(6)));
        let table = table.with_transfer(15);
        assert_eq!((table.at(at(1)), table.total()), (supply(15, More::Ends, None), Some(15)));
    }

    #[test]
    fn disorder_has_its_place() {
        let span = |from, to| Span { from: at(from), to: at(to) };
        assert_eq!(Timetable::active(vec![span(0, 2), span(1, 3)]), Err(Disorder(1)));
        assert_eq!(Timetable::active(vec![span(2, 2)]), Err(Disorder(0)));
        let write = |s, bytes| Write { at: at(s), bytes };
        assert_eq!(Timetable::writes(vec![write(2, 1), write(1, 1)]), Err(Disorder(1)));
        assert_eq!(Timetable::writes(vec![write(2, 0)]), Err(Disorder(0)));
    }
}
