//! Delivery traces: times at which a link may carry bytes, in the format of mahimahi.
//!
//! A trace has a line for each opportunity: the time in whole milliseconds at which
//! [`OPPORTUNITY_BYTES`] may leave. Times never decrease; lines with one time add up. The trace
//! repeats; its last time is its period.
//!
//! The bytes of an opportunity go to the packets that have come by its time, in their order: a
//! packet may take what another has left over, and may need several opportunities. Bytes that find
//! no packet are lost. (Netravali et al., "Mahimahi: Accurate Record-and-Replay for HTTP", USENIX
//! ATC 2015, §3, and the manual page of `mm-link`; 1504 bytes are a packet of 1500 and the header
//! of a TUN device.)

use core::fmt;
use core::num::NonZeroU64;
use std::sync::Arc;

use tfrc_units::hash::fnv1a;
use tfrc_units::{Duration, Instant, Rate, f64_from_u64};

use super::line::Transmission;

/// Bytes of a delivery opportunity.
pub const OPPORTUNITY_BYTES: u32 = 1504;

/// Opportunities of a trace, at most.
const MOST_OPPORTUNITIES: u32 = 10_000_000;

/// Delivery opportunities of a link, again and again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryTrace {
    /// The times with opportunities, in order.
    steps: Vec<Step>,
    period_ms: NonZeroU64,
    /// Opportunities of a period.
    total: NonZeroU64,
}

/// A millisecond of the period with at least one opportunity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Step {
    at_ms: u32,
    /// Opportunities of the period up to this one, its own included.
    through: u32,
}

/// A mistake in the text of a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceError {
    /// The line, from 1.
    pub line: usize,
    /// The kind of mistake.
    pub kind: TraceErrorKind,
}

/// Kinds of mistakes in the text of a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum TraceErrorKind {
    /// The time is before that of the line above, in milliseconds.
    Decreasing {
        /// The time of the line above.
        above_ms: u32,
        /// The time of the line.
        here_ms: u32,
    },
    /// The text has no line.
    Empty,
    /// The line is not a whole number from 0 to 4,294,967,295.
    NotATime(String),
    /// The text has more than 10,000,000 lines.
    TooLong,
    /// The last time, which is the period, is zero.
    ZeroPeriod,
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: ", self.line)?;
        match &self.kind {
            TraceErrorKind::Decreasing { above_ms, here_ms } => {
                write!(f, "{here_ms} ms comes after {above_ms} ms: sort the times")
            }
            TraceErrorKind::Empty => f.write_str("the trace is empty: write a time in ms on each line"),
            TraceErrorKind::NotATime(text) => {
                write!(f, "`{text}` is not a time: write a whole number of ms on each line, such as 12")
            }
            TraceErrorKind::TooLong => {
                write!(f, "the trace has more than {MOST_OPPORTUNITIES} lines: cut it")
            }
            TraceErrorKind::ZeroPeriod => {
                f.write_str("the last time is the period and cannot be 0 ms: let the trace end later")
            }
        }
    }
}

impl std::error::Error for TraceError {}

impl DeliveryTrace {
    /// Reads the text of a trace. Its memory is at most eight bytes for each line.
    ///
    /// # Errors
    /// [`TraceError`] with the first line that is wrong.
    ///
    /// ```
    /// use tfrc_sim::link::DeliveryTrace;
    /// use tfrc_units::Duration;
    ///
    /// let trace = DeliveryTrace::parse("5\n5\n20\n")?;
    /// assert_eq!((trace.opportunities(), trace.period()), (3, Duration::from_millis(20)));
    /// assert_eq!(DeliveryTrace::parse("5\n4\n").unwrap_err().line, 2);
    /// # Ok::<(), tfrc_sim::link::TraceError>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self, TraceError> {
        let mut steps: Vec<Step> = Vec::new();
        let mut lines = 0_usize;
        let mut through = 0_u32;
        for written in text.lines() {
            lines += 1;
            let error = |kind| Err(TraceError { line: lines, kind });
            let written = written.trim();
            let digits = written.bytes().all(|byte| byte.is_ascii_digit());
            let Some(at_ms) = written.parse().ok().filter(|_: &u32| digits) else {
                return error(TraceErrorKind::NotATime(written.chars().take(LONGEST_QUOTE).collect()));
            };
            if through == MOST_OPPORTUNITIES {
                return error(TraceErrorKind::TooLong);
            }
            through += 1;
            match steps.last_mut() {
                Some(last) if last.at_ms > at_ms => {
                    return error(TraceErrorKind::Decreasing { above_ms: last.at_ms, here_ms: at_ms });
                }
                Some(last) if last.at_ms == at_ms => last.through = through,
                _ => steps.push(Step { at_ms, through }),
            }
        }
        let Some(last) = steps.last() else {
            return Err(TraceError { line: 1, kind: TraceErrorKind::Empty });
        };
        let period_ms = NonZeroU64::new(u64::from(last.at_ms));
        let (Some(period_ms), Some(total)) = (period_ms, NonZeroU64::new(u64::from(last.through))) else {
            return Err(TraceError { line: lines, kind: TraceErrorKind::ZeroPeriod });
        };
        Ok(Self { steps, period_ms, total })
    }

    /// The time after which the trace repeats.
    #[must_use]
    pub const fn period(&self) -> Duration {
        Duration::from_millis(self.period_ms.get())
    }

    /// Opportunities of a period, at least one.
    #[must_use]
    pub const fn opportunities(&self) -> u64 {
        self.total.get()
    }

    /// The rate over a period.
    #[must_use]
    pub fn mean_rate(&self) -> Rate {
        Rate::of(f64_from_u64(self.total.get()) * f64::from(OPPORTUNITY_BYTES), self.period())
    }

    /// Bytes that the opportunities up to `now` can carry, those at `now` included.
    #[must_use]
    pub fn capacity(&self, now: Instant) -> u64 {
        let ms = now.as_nanos() / NS_PER_MS;
        self.before(ms + 1).saturating_mul(u64::from(OPPORTUNITY_BYTES))
    }

    /// A hash of the times, equal on every platform: equal traces have equal ones.
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        let bytes = self.steps.iter().flat_map(|step| [step.at_ms, step.through]).flat_map(u32::to_le_bytes);
        fnv1a(&bytes.collect::<Vec<u8>>())
    }

    /// Returns the number of opportunities before a time.
    fn before(&self, ms: u64) -> u64 {
        let Some(last) = ms.checked_sub(1) else { return 0 };
        // An opportunity at the end of a period is the same moment as one at 0 in the next.
        let (periods, rest) = (last / self.period_ms, last % self.period_ms);
        let steps = self.steps.partition_point(|step| u64::from(step.at_ms) <= rest);
        let within = steps.checked_sub(1).and_then(|i| self.steps.get(i)).map_or(0, |step| step.through);
        periods.saturating_mul(self.total.get()).saturating_add(u64::from(within))
    }

    /// The time of an opportunity, counted from 0; at most the horizon of [`Instant`].
    fn time(&self, opportunity: u64) -> Instant {
        let (periods, rest) = (opportunity / self.total, opportunity % self.total);
        let step = self.steps.partition_point(|step| u64::from(step.through) <= rest);
        let at_ms = self.steps.get(step).map_or(self.period_ms.get(), |step| u64::from(step.at_ms));
        let ms = periods.saturating_mul(self.period_ms.get()).saturating_add(at_ms);
        Instant::from_nanos(ms.saturating_mul(NS_PER_MS))
    }
}

/// A place in a trace: all bytes before it are used or lost.
#[derive(Debug)]
pub(super) struct Cursor {
    trace: Arc<DeliveryTrace>,
    /// The first byte that is free, counted from the first of the first opportunity.
    next: u64,
}

impl Cursor {
    pub(super) fn new(trace: Arc<DeliveryTrace>) -> Self {
        Self { trace, next: 0 }
    }

    /// Gives the next bytes to a packet that came by `now`. A packet of no bytes takes none.
    pub(super) fn transmit(&mut self, now: Instant, size: u32) -> Transmission {
        let from = self.next_from(now);
        self.next = from.saturating_add(u64::from(size));
        let last = self.next.saturating_sub(1).max(from);
        Transmission { start: self.time_of(from), end: self.time_of(last) }
    }

    /// When the next byte for a packet that came by `now` can leave.
    pub(super) fn next_start(&self, now: Instant) -> Instant {
        self.time_of(self.next_from(now))
    }

    pub(super) fn capacity(&self, now: Instant) -> u64 {
        self.trace.capacity(now)
    }

    pub(super) fn mean_rate(&self) -> Rate {
        self.trace.mean_rate()
    }

    fn next_from(&self, now: Instant) -> u64 {
        let first = self.trace.before(now.as_nanos().div_ceil(NS_PER_MS));
        self.next.max(first.saturating_mul(u64::from(OPPORTUNITY_BYTES)))
    }

    fn time_of(&self, byte: u64) -> Instant {
        self.trace.time(byte / u64::from(OPPORTUNITY_BYTES))
    }
}

const NS_PER_MS: u64 = 1_000_000;
/// Characters of a wrong line that its error shows.
const LONGEST_QUOTE: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn trace(text: &str) -> DeliveryTrace {
        DeliveryTrace::parse(text).unwrap_or_else(|error| panic!("{error}"))
    }

    fn ms(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn mistakes_have_their_line() {
        let many = "1\n".repeat(10_000_001);
        for (text, line, start) in [
            ("", 1, "the trace is empty"),
            ("0\n0\n", 2, "the last time is the period"),
            ("1\n3\n2\n", 3, "2 ms comes after 3 ms"),
            ("1\n\n2\n", 2, "`` is not a time"),
            ("1\nfast\n", 2, "`fast` is not a time"),
            ("-1\n", 1, "`-1` is not a time"),
            ("+1\n", 1, "`+1` is not a time"),
            ("1.5\n", 1, "`1.5` is not a time"),
            ("4294967296\n", 1, "`4294967296` is not a time"),
            (&many, 10_000_001, "the trace has more than 10000000 lines"),
        ] {
            let error = DeliveryTrace::parse(text).expect_err("a mistake");
            assert!(error.line == line && error.to_string().contains(start), "{error}");
        }
    }

    #[test]
    fn a_period_begins_where_the_last_ends() {
        let trace = trace("0\n5\n5\n10\n");
        let times: Vec<u64> = (0..9).map(|i| trace.time(i).as_nanos() / NS_PER_MS).collect();
        assert_eq!(times, [0, 5, 5, 10, 10, 15, 15, 20, 20]);
        assert_eq!([0, 1, 5, 6, 10, 11, 20, 21].map(|ms| trace.before(ms)), [0, 1, 1, 3, 3, 5, 7, 9]);
        assert_eq!([0, 4, 5, 10].map(|at| trace.capacity(ms(at)) / 1504), [1, 1, 3, 5]);
        // Four opportunities in 10 ms.
        assert!((trace.mean_rate().bytes_per_sec() - 601_600.0).abs() < 1e-6);
    }

    #[test]
    fn equal_times_have_equal_fingerprints() {
        assert_eq!(trace("1\n2\n").fingerprint(), trace(" 1 \r\n2").fingerprint());
        assert_ne!(trace("1\n2\n").fingerprint(), trace("1\n1\n2\n").fingerprint());
    }

    #[test]
    fn far_times_end_at_the_horizon() {
        let mut cursor = Cursor::new(Arc::new(trace("4294967295\n")));
        cursor.next = u64::MAX - 10;
        let on_line = cursor.transmit(Instant::ZERO, 1500);
        assert_eq!(on_line.end, Instant::from_nanos(u64::MAX));
    }

    /// The rule written plainly: a list of opportunities in the order of time, each with the bytes
    /// that are left of it. A packet takes bytes of opportunities from its arrival on.
    fn plainly(times: &[u32], packets: &[(u64, u32)]) -> Vec<(u64, u64)> {
        let period = u64::from(*times.last().expect("a time"));
        let all = (0..).flat_map(|cycle| times.iter().map(move |at| cycle * period + u64::from(*at)));
        let mut left: Vec<(u64, u32)> = all.take(2_000).map(|at| (at, OPPORTUNITY_BYTES)).collect();
        let mut sent = Vec::new();
        for (now_us, size) in packets {
            let (mut start, mut end, mut rest) = (None, 0, *size);
            for (at, bytes) in left.iter_mut().filter(|(at, bytes)| at * 1000 >= *now_us && *bytes > 0) {
                let used = rest.min(*bytes);
                *bytes -= used;
                rest -= used;
                start = start.or(Some(*at));
                end = *at;
                if rest == 0 {
                    break;
                }
            }
            sent.push((start.expect("enough opportunities"), end));
        }
        sent
    }

    proptest! {
        #[test]
        fn as_the_rule_says(
            gaps in prop::collection::vec(0_u32..4, 1..30),
            packets in prop::collection::vec((0_u64..6_000, 1_u32..4_000), 1..60),
        ) {
            let mut times: Vec<u32> = Vec::new();
            for gap in gaps {
                times.push(times.last().copied().unwrap_or(0) + gap);
            }
            times.push(times.last().copied().unwrap_or(0) + 1);
            let text: String = times.iter().map(|at| format!("{at}\n")).collect();
            let mut now = 0;
            let packets: Vec<(u64, u32)> = packets
                .into_iter()
                .map(|(gap, size)| {
                    now += gap;
                    (now, size)
                })
                .collect();
            let mut cursor = Cursor::new(Arc::new(trace(&text)));
            let sent: Vec<(u64, u64)> = packets
                .iter()
                .map(|(now_us, size)| {
                    let now = Instant::from_nanos(now_us * 1000);
                    let next = cursor.next_start(now);
                    let on_line = cursor.transmit(now, *size);
                    assert_eq!(next, on_line.start);
                    (on_line.start.as_nanos() / NS_PER_MS, on_line.end.as_nanos() / NS_PER_MS)
                })
                .collect();
            // Up to 60 packets of less than 6 ms and 3 opportunities each: 2,000 are enough where a
            // period of one opportunity has up to 4 ms.
            prop_assert_eq!(sent, plainly(&times, &packets));
        }
    }
}
