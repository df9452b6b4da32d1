//! The transmitter of a link, exact to fractions of a nanosecond.

use tfrc_units::{Instant, Rate, f64_from_u64, u64_from_f64};

use super::delivery::Cursor;

/// The transmitter of a link: one packet after another at a constant rate, or by a trace.
///
/// Times are whole nanoseconds, but what a transmission leaves over below one is carried to the
/// next while the line stays busy, so rates are exact over any number of packets (40 bytes at 100
/// Gbit/s take 3.2 ns).
#[derive(Debug)]
pub(crate) struct Transmitter {
    ns_per_byte: f64,
    /// When the last bit of the last packet has left.
    free: Instant,
    /// The part of a nanosecond by which it leaves later still.
    rest: f64,
    /// Bytes that are left of the packet in transmission, if the line stands still.
    left: f64,
    /// The place in the trace; `ns_per_byte` is infinite then, which keeps a constant rate free of
    /// any cost.
    trace: Option<Box<Cursor>>,
    usual: UsualTime,
}

/// The time of a packet of this size on a line where nothing is left over from the one before.
#[derive(Debug, Clone, Copy)]
struct UsualTime {
    /// Bytes, as a number that no packet has if there is none.
    size: u64,
    /// Nanoseconds, and the part of one that is left over.
    whole: u64,
    rest: f64,
}

impl UsualTime {
    const NONE: Self = Self { size: u64::MAX, whole: 0, rest: 0.0 };
}

/// When a packet is on the line. Both are the horizon of [`Instant`] on a stalled line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Transmission {
    pub(crate) start: Instant,
    pub(crate) end: Instant,
}

/// Start and end of a transmission that never begins, because the line is stalled.
const HORIZON: Instant = Instant::from_nanos(u64::MAX);

impl Transmitter {
    pub(crate) fn new(rate: Rate) -> Self {
        Self {
            ns_per_byte: ns_per_byte(rate),
            free: Instant::ZERO,
            rest: 0.0,
            left: 0.0,
            trace: None,
            usual: UsualTime::NONE,
        }
    }

    pub(crate) fn traced(cursor: Cursor) -> Self {
        Self { trace: Some(Box::new(cursor)), ..Self::new(Rate::ZERO) }
    }

    /// Puts `size` bytes behind all that was transmitted before.
    #[inline(always)]
    pub(crate) fn transmit(&mut self, now: Instant, size: u32) -> Transmission {
        if self.free < now {
            self.free = now;
            self.rest = 0.0;
        }
        let start = self.free;
        // Most lines carry packets of one size, and at most rates nothing is left over.
        if self.usual.size == u64::from(size) && self.rest == 0.0 {
            self.rest = self.usual.rest;
            self.free = Instant::from_nanos(start.as_nanos().saturating_add(self.usual.whole));
            return Transmission { start, end: self.free };
        }
        let exact = self.rest + f64::from(size) * self.ns_per_byte;
        if exact < INTEGERS / 2.0 {
            let (whole, rest) = split(exact);
            if self.rest == 0.0 {
                self.usual = UsualTime { size: u64::from(size), whole, rest };
            }
            self.rest = rest;
            self.free = Instant::from_nanos(start.as_nanos().saturating_add(whole));
            return Transmission { start, end: self.free };
        }
        if !exact.is_finite() {
            return self.transmit_without_rate(now, size);
        }
        let whole = u64_from_f64(exact);
        self.rest = exact - f64_from_u64(whole);
        self.free = Instant::from_nanos(start.as_nanos().saturating_add(whole));
        Transmission { start, end: self.free }
    }

    #[cold]
    fn transmit_without_rate(&mut self, now: Instant, size: u32) -> Transmission {
        let on_line = match &mut self.trace {
            Some(cursor) => cursor.transmit(now, size),
            None => Transmission { start: HORIZON, end: HORIZON },
        };
        self.free = on_line.end;
        on_line
    }

    /// When the transmission of a packet that came at `now` can begin, if nothing waits before it.
    pub(crate) fn next_start(&self, now: Instant) -> Instant {
        match &self.trace {
            Some(cursor) => cursor.next_start(now),
            None => self.free.max(now),
        }
    }

    #[inline]
    pub(crate) fn is_traced(&self) -> bool {
        self.trace.is_some()
    }

    /// Bytes that the trace has allowed up to `now`; `None` at a constant rate.
    pub(crate) fn capacity(&self, now: Instant) -> Option<u64> {
        self.trace.as_ref().map(|cursor| cursor.capacity(now))
    }

    /// When the last bit of the last packet has left.
    #[inline]
    pub(crate) fn free(&self) -> Instant {
        self.free
    }

    /// The part of a nanosecond by which the last packet leaves later than [`Self::free`] says.
    #[inline(always)]
    pub(crate) fn rest(&self) -> f64 {
        self.rest
    }

    /// Returns true if the end of a transmission is known as soon as it is asked for and comes
    /// soon: at a constant rate of 8 kbit/s or more.
    pub(crate) fn is_certain(&self) -> bool {
        self.trace.is_none() && self.ns_per_byte <= SLOWEST
    }

    /// Goes back to the end of an earlier transmission, with its part of a nanosecond.
    pub(crate) fn go_back(&mut self, free: Instant, rest: f64) {
        (self.free, self.rest) = (free, rest);
    }

    /// Nanoseconds a byte takes, by a trace in the mean: zero at an infinite rate, infinity at
    /// none.
    #[inline]
    pub(crate) fn ns_per_byte(&self) -> f64 {
        match &self.trace {
            Some(cursor) => ns_per_byte(cursor.mean_rate()),
            None => self.ns_per_byte,
        }
    }

    /// Forgets what was planned from `now` on, and goes on from there at another rate. Of a packet
    /// in transmission, which would have left at this end and part of a nanosecond, the bytes that
    /// are left go at the new rate; gives the time at which they have. A trace has no other rate.
    pub(crate) fn restart(&mut self, rate: Rate, now: Instant, sending: Option<(Instant, f64)>) -> Instant {
        let left = match sending {
            None => 0.0,
            Some(_) if self.ns_per_byte.is_infinite() => self.left,
            Some((end, rest)) => {
                (f64_from_u64(end.saturating_since(now).as_nanos()) + rest) / self.ns_per_byte
            }
        };
        *self = Self { free: now, left, ..Self::new(rate) };
        if left > 0.0 {
            let exact = left * self.ns_per_byte;
            let whole = u64_from_f64(exact);
            self.free = Instant::from_nanos(now.as_nanos().saturating_add(whole));
            self.rest = if exact.is_finite() { exact - f64_from_u64(whole) } else { 0.0 };
        }
        self.free
    }
}

/// Nanoseconds a byte takes at 8 kbit/s. Four gigabytes of it take 50 days, which no sum of times
/// feels.
const SLOWEST: f64 = 1e6;

/// From here on to its double all floats are integers, one apart.
const INTEGERS: f64 = 4_503_599_627_370_496.0;

/// The whole part of a time in nanoseconds and what is left, exactly: as conversions there and back
/// give them, in half the instructions. For 0 up to [`INTEGERS`] / 2.
#[inline]
fn split(exact: f64) -> (u64, f64) {
    let nearest = (exact + INTEGERS) - INTEGERS;
    let whole = if nearest > exact { nearest - 1.0 } else { nearest };
    ((whole + INTEGERS).to_bits() & INTEGERS_MANTISSA, exact - whole)
}

/// The bits of a float that hold the integer's distance from [`INTEGERS`].
const INTEGERS_MANTISSA: u64 = (1 << 52) - 1;

/// Zero for an infinite rate, infinity for none.
fn ns_per_byte(rate: Rate) -> f64 {
    1e9 / rate.bytes_per_sec()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn split_as_by_conversion(exact in prop_oneof![
            0.0..2.0, 0.0..1e6, 0.0..INTEGERS / 2.0, (0_u32..1_000_000).prop_map(f64::from),
            (0_u32..1_000_000).prop_map(|x| f64::from(x) + 0.5), (1_u32..1_000_000).prop_map(|x| f64::from(x).next_down()),
        ]) {
            let whole = u64_from_f64(exact);
            prop_assert_eq!(split(exact), (whole, exact - f64_from_u64(whole)));
        }
    }

    #[test]
    fn keeps_the_part_of_a_nanosecond() {
        let mut line = Transmitter::new(Rate::from_bits_per_sec(100e9));
        let ends: Vec<u64> = (0..10).map(|_| line.transmit(Instant::ZERO, 40).end.as_nanos()).collect();
        // Multiples of 3.2 ns, cut.
        assert_eq!(ends, [3, 6, 9, 12, 16, 19, 22, 25, 28, 32]);
        for _ in 10..1_000_000 {
            line.transmit(Instant::ZERO, 40);
        }
        assert!(line.free.as_nanos().abs_diff(3_200_000) <= 1);
    }

    /// A packet of any size takes the time that its bytes take, whatever came before it.
    #[test]
    fn a_size_that_was_seen_takes_as_long_again() {
        for size in [0, 1, 1000, u32::MAX - 1, u32::MAX] {
            let mut line = Transmitter::new(Rate::from_bits_per_sec(8e6));
            let time = u64::from(size) * 1000;
            let ends = [size, size, 1000, size].map(|size| line.transmit(Instant::ZERO, size).end.as_nanos());
            assert_eq!(ends, [time, 2 * time, 2 * time + 1_000_000, 3 * time + 1_000_000]);
        }
    }

    #[test]
    fn an_idle_line_starts_afresh() {
        let mut line = Transmitter::new(Rate::from_bits_per_sec(100e9));
        line.transmit(Instant::ZERO, 40);
        let later = Instant::from_nanos(1000);
        assert_eq!(line.transmit(later, 40), Transmission { start: later, end: Instant::from_nanos(1003) });
    }

    /// 1000 bytes at 1, 4 and 2 Mbit/s with a stop between: 250, 500 and 250 bytes.
    #[test]
    fn what_is_left_goes_at_the_new_rate() {
        let us = |us: u64| Instant::from_nanos(us * 1000);
        let mbit = |mbit: f64| Rate::from_bits_per_sec(mbit * 1e6);
        let mut line = Transmitter::new(mbit(1.0));
        let mut end = line.transmit(Instant::ZERO, 1000).end;
        for (at, rate, ends) in
            [(2000, 4.0, Some(3500)), (3000, 0.0, None), (9000, 0.0, None), (9500, 2.0, Some(10_500))]
        {
            let rest = line.rest();
            end = line.restart(mbit(rate), us(at), Some((end, rest)));
            assert_eq!(end, ends.map_or(HORIZON, us), "from {at} us on");
        }
        assert_eq!(line.transmit(us(9600), 1000).start, us(10_500));
    }

    #[test]
    fn infinite_and_zero_rates() {
        let now = Instant::from_nanos(5);
        assert_eq!(
            Transmitter::new(Rate::INFINITY).transmit(now, 9000),
            Transmission { start: now, end: now }
        );
        let never = Transmission { start: HORIZON, end: HORIZON };
        assert_eq!(Transmitter::new(Rate::ZERO).transmit(now, 1), never);
        assert_eq!(Transmitter::new(Rate::ZERO).transmit(now, 0), never);
    }
}
