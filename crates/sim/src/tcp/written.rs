//! Data that the application has written, cut into segments as they go out.
//!
//! A segment is full unless the data ends with it when it is first sent: a write fills no segment
//! that has gone out before, and waits for no other write (Nagle's algorithm, RFC 9293 §3.7.4, is
//! off).

use std::collections::VecDeque;

use tfrc_units::saturating;

use super::segment::Fin;
use super::sender::Transfer;

/// The most segments a connection can number, with room for one past the last.
pub(super) const MOST_SEGMENTS: u32 = u32::MAX - 1;

/// Data of the application so far.
#[derive(Debug, Clone)]
pub(crate) struct Written {
    segment: u32,
    /// One past the last segment that there is data for.
    end: u32,
    /// Bytes of that segment.
    last: u32,
    more: More,
    /// Short segments before the last that may be sent again, with their bytes.
    short: VecDeque<(u32, u32)>,
    /// Bytes that all short segments before `end` − 1 lack.
    lacking: u64,
}

/// Writes to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum More {
    /// The application may write more, or nothing of its data is the last.
    Comes,
    /// The data ends with the last byte so far.
    Ends,
}

impl Written {
    pub(super) fn new(segment: u32, transfer: Transfer) -> Self {
        let (end, last) = transfer.in_segments(segment);
        Self { segment, end, last, more: More::Ends, short: VecDeque::new(), lacking: 0 }
    }

    /// One past the last segment that there is data for.
    #[inline]
    pub(super) const fn end(&self) -> u32 {
        self.end
    }

    /// Returns true if `seq` segments are all that there ever will be.
    #[inline]
    pub(super) fn ends_at(&self, seq: u32) -> bool {
        seq >= self.end && self.more == More::Ends
    }

    /// Bytes of a segment, and its position in the data.
    #[inline]
    pub(super) fn cut(&self, seq: u32) -> (u32, Fin) {
        let is_last = seq.saturating_add(1) >= self.end;
        let len = if is_last {
            self.last
        } else if self.short.is_empty() {
            self.segment
        } else {
            self.len_among_short(seq)
        };
        (len, if is_last && self.more == More::Ends { Fin::Last } else { Fin::More })
    }

    #[cold]
    fn len_among_short(&self, seq: u32) -> u32 {
        let place = self.short.binary_search_by_key(&seq, |(short, _)| *short);
        place.ok().and_then(|place| self.short.get(place)).map_or(self.segment, |(_, len)| *len)
    }

    /// Nothing from segment `sent` on will be sent.
    pub(super) fn close(&mut self, sent: u32) {
        if self.end > sent {
            self.last = self.segment;
        }
        self.end = self.end.min(sent);
        self.more = More::Ends;
    }

    /// The data now ends after `bytes` in all, or where it ends that was sent, if that is further.
    /// Segments from `sent` on were never sent, those before `una` are acknowledged.
    pub(super) fn reach(&mut self, bytes: u64, more: More, sent: u32, una: u32) {
        self.more = more;
        while self.short.front().is_some_and(|(seq, _)| *seq < una) {
            self.short.pop_front();
        }
        let whole = |segments: u32| u64::from(segments) * u64::from(self.segment);
        // The last segment that was sent is short if the data ended with it.
        let newest = if sent == self.end { self.last } else { self.segment };
        let missing = if sent == 0 { 0 } else { self.segment - newest };
        let gone = whole(sent) - self.lacking - u64::from(missing);
        let rest = bytes.saturating_sub(gone);
        if rest == 0 {
            (self.end, self.last) = (sent, newest);
            return;
        }
        if missing > 0 {
            self.short.push_back((sent - 1, newest));
            self.lacking += u64::from(missing);
        }
        let segments = rest.div_ceil(u64::from(self.segment)).min(u64::from(MOST_SEGMENTS - sent));
        let last = rest - (segments.saturating_sub(1)) * u64::from(self.segment);
        self.end = sent + saturating::<u32>(segments);
        self.last = saturating::<u32>(last).min(self.segment);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_write_ends_a_segment_only_where_it_was_sent() {
        let mut data = Written::new(1000, Transfer::Bytes(0));
        data.reach(2500, More::Comes, 0, 0);
        assert_eq!((data.end(), data.cut(2)), (3, (500, Fin::More)));
        // Two segments have gone: the third is filled up.
        data.reach(3200, More::Comes, 2, 0);
        assert_eq!((data.end(), data.cut(2), data.cut(3)), (4, (1000, Fin::More), (200, Fin::More)));
        // All have gone: the fourth stays as it is.
        data.reach(4200, More::Ends, 4, 1);
        assert_eq!((data.end(), data.cut(3), data.cut(4)), (5, (200, Fin::More), (1000, Fin::Last)));
        assert!(data.ends_at(5) && !data.ends_at(4));
    }

    #[test]
    fn data_may_be_taken_back_until_it_is_sent() {
        let mut data = Written::new(1000, Transfer::Bytes(0));
        data.reach(u64::MAX, More::Comes, 0, 0);
        assert_eq!(data.end(), MOST_SEGMENTS);
        data.reach(0, More::Comes, 7, 3);
        assert_eq!((data.end(), data.cut(6)), (7, (1000, Fin::More)));
        data.reach(7300, More::Ends, 7, 7);
        assert_eq!((data.end(), data.cut(7)), (8, (300, Fin::Last)));
    }

    proptest! {
        /// Whatever is sent between writes: every byte is in one segment, and no segment changes
        /// once it was sent.
        #[test]
        fn segments_make_up_the_data(steps in prop::collection::vec((1_u64..5000, 0_u32..6), 1..40)) {
            let mut data = Written::new(1000, Transfer::Bytes(0));
            let (mut bytes, mut sent) = (0, Vec::new());
            for (write, segments) in steps {
                bytes += write;
                let high = saturating::<u32>(sent.len());
                data.reach(bytes, More::Comes, high, 0);
                for seq in high..data.end().min(high + segments) {
                    sent.push(data.cut(seq).0);
                }
                for (seq, len) in (0_u32..).zip(&sent) {
                    prop_assert_eq!(data.cut(seq).0, *len);
                }
                let all: u64 = (0..data.end()).map(|seq| u64::from(data.cut(seq).0)).sum();
                prop_assert_eq!(all, bytes);
            }
        }
    }
}
