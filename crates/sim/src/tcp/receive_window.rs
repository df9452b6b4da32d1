//! Growth of Linux's receive window, as far as acknowledgements show it: a receiver acknowledges
//! each segment at once while the window that it offers may grow.
//!
//! The application reads at once, so that this window never holds the sender back.

use tfrc_units::{Duration, Instant};

use super::segment::Stamp;

/// Bytes of the buffer at the start (`tcp_rmem`).
const FIRST_BUFFER: u64 = 131_072;
/// Share of a buffer that is data: segments of 1448 bytes take 2304 of memory, in 256ths.
const DATA_SHARE: u64 = 160;
const WHOLE: u64 = 256;
/// Most bytes of the first window.
const FIRST_WINDOW: u64 = 65_535;
/// Segments of the first round trip, and by which the window grows at a segment.
const FIRST_ROUND: u64 = 10;
const STEP: u64 = 2;
/// Unit of the clock that timestamps are made of.
const CLOCK: Duration = Duration::from_millis(1);

/// The window of one connection, in bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReceiveWindow {
    segment: u64,
    /// The window offered, the most that the buffer lets it become, and the most that it may ever.
    offered: u64,
    room: u64,
    most: u64,
    /// Bytes read in a round trip, the most so far.
    read: u64,
    /// Start of the round trip that is being measured: time and bytes read before.
    start: Option<(Instant, u64)>,
    rtt: Option<Duration>,
    /// Time of the latest segment that was a sample, by its stamp.
    sampled: Option<Stamp>,
    /// When a SYN was answered, and how long the answer took.
    answered: Option<Instant>,
    back: Option<Duration>,
}

/// Growth of the window at a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Growth {
    None,
    Some,
}

impl ReceiveWindow {
    /// `segment` is the data in a full segment, `window` the receiver's window in segments.
    pub(super) fn new(segment: u32, window: u32) -> Self {
        let segment = u64::from(segment.max(1));
        let most = segment * u64::from(window);
        Self {
            segment,
            offered: (FIRST_WINDOW / segment * segment).min(most),
            room: (FIRST_BUFFER * DATA_SHARE / WHOLE).min(most),
            most,
            read: FIRST_ROUND * segment,
            start: None,
            rtt: None,
            sampled: None,
            answered: None,
            back: None,
        }
    }

    /// A SYN is answered.
    pub(super) const fn answers(&mut self, now: Instant) {
        self.answered = Some(now);
    }

    /// A segment has arrived that is not a duplicate.
    pub(super) fn arrived(&mut self, now: Instant, stamp: Option<Stamp>) -> Growth {
        if let Some(stamp) = stamp.filter(|stamp| self.sampled != Some(*stamp)) {
            self.sampled = Some(stamp);
            self.sample(now, stamp.at());
        }
        // The buffer holds the segment itself until it is read.
        let room = self.room.saturating_sub(self.segment);
        if self.offered >= room {
            return Growth::None;
        }
        self.offered = room.min(self.offered + STEP * self.segment);
        Growth::Some
    }

    /// A round trip as the receiver sees it. The way back is as long as that of the answer to the
    /// SYN, without a SYN as long as the way there.
    fn sample(&mut self, now: Instant, sent: Instant) {
        let forth = now.saturating_since(sent);
        let back =
            *self.back.get_or_insert(self.answered.map_or(forth, |answered| sent.saturating_since(answered)));
        let ticks = (forth + back).as_nanos() / CLOCK.as_nanos();
        let rtt = Duration::from_nanos(ticks.max(1).saturating_mul(CLOCK.as_nanos()));
        self.rtt = Some(match self.rtt {
            Some(mean) if rtt > mean => mean.saturating_sub(mean / 8) + rtt / 8,
            _ => rtt,
        });
    }

    /// The application has read `bytes` since the start; `beyond` more are between the first
    /// missing segment and the last that arrived.
    pub(super) fn read(&mut self, now: Instant, bytes: u64, beyond: u64) {
        let (since, before) = *self.start.get_or_insert((now, 0));
        if self.rtt.is_none_or(|rtt| now.saturating_since(since) < rtt) {
            return;
        }
        self.start = Some((now, bytes));
        let (read, last) = (bytes.saturating_sub(before), self.read);
        if read > last {
            self.read = read;
            // Twice the round trip, as it is late by one, and twice the growth that it shows.
            let twice = read.saturating_mul(2);
            let growth = twice.saturating_mul(read - last) / last.max(1);
            let window = twice.saturating_add(growth.saturating_mul(2)).saturating_add(beyond);
            self.room = self.room.max(window.min(self.most));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(x: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(x)
    }

    /// Segments of 1448 bytes arrive at these times, each sent 50 ms before; the ones at which the
    /// window grows.
    fn growth(window: &mut ReceiveWindow, first: u64, times: &[u64]) -> Vec<u64> {
        let mut grown = Vec::new();
        for (n, at) in (first..).zip(times) {
            if window.arrived(ms(*at), Some(Stamp::new(ms(at - 50)))) == Growth::Some {
                grown.push(n);
            }
            window.read(ms(*at), 1448 * (n + 1), 0);
        }
        grown
    }

    #[test]
    fn it_grows_to_the_first_buffer_and_then_with_what_is_read() {
        // From 45 segments to 131072·160/256 less one segment: 15312 bytes, two segments a time.
        // A kernel 6.18 shows the same six, by windows of 69632 to 81920.
        let mut window = ReceiveWindow::new(1448, 60_000);
        window.answers(ms(0));
        let first = growth(&mut window, 0, &[100; 10]);
        assert_eq!(first, [0, 1, 2, 3, 4, 5]);
        // Eleven segments until the second round trip has begun, which is no more room than there
        // is; 20 more until the third has: 28960·2·(1 + 2·(28960 − 15928)/15928) = 152698 bytes.
        assert_eq!(growth(&mut window, 10, &[200; 20]), [0; 0]);
        let third = growth(&mut window, 30, &[300; 40]);
        assert_eq!((third.first(), third.last()), (Some(&31), Some(&55)));
    }

    #[test]
    fn it_ends_at_the_window_that_is_set() {
        let mut window = ReceiveWindow::new(1448, 20);
        assert_eq!(growth(&mut window, 0, &[100; 10]), [0; 0]);
        assert_eq!(window.offered, 20 * 1448);
    }
}
