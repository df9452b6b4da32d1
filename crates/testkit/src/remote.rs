//! The far end of a path as RTP and QUIC have it: a receiver that reports on single packets.

use tfrc_feedback::{quic, rfc8888, twcc};
use tfrc_units::{Duration, Ecn, Instant, u64_from_f64};

use crate::{Fate, Parcel, Side, Wire, ms};

/// Reports of a receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// RTP, transport-wide: so often, if packets have come.
    Twcc(Duration),
    /// RTP, RFC 8888: so often, if packets have come. The stream is [`SSRC`].
    Rfc8888(Duration),
    /// QUIC: after this many packets, or 25 ms after the first of them.
    Quic(usize),
}

/// The stream of the data.
pub const SSRC: u32 = 2;
/// The longest delay of a QUIC acknowledgement that is meant (RFC 9000 §18.2, the default).
const MAX_ACK_DELAY: Duration = ms(25);
/// ACK Delay counts units of 2^3 µs (RFC 9000 §18.2, the default).
pub const ACK_DELAY_EXPONENT: u8 = 3;
/// Ranges in a QUIC acknowledgement, at most.
const RANGES: usize = 20;
/// The receiver's clock is this far ahead of the sender's.
const AHEAD: Duration = Duration::from_secs(12_345);

impl Format {
    /// The longest time between two reports while packets come.
    #[must_use]
    pub const fn interval(self) -> Duration {
        match self {
            Self::Twcc(interval) | Self::Rfc8888(interval) => interval,
            Self::Quic(_) => MAX_ACK_DELAY,
        }
    }
}

/// A packet of either direction.
#[derive(Debug, Clone)]
pub enum RemotePacket {
    /// A data packet with its number.
    Data(u64),
    /// A report.
    Report(Vec<u8>),
}

/// A packet that has come.
#[derive(Debug, Clone, Copy)]
struct Seen {
    number: u64,
    at: Instant,
    ecn: Ecn,
}

/// The path to a receiver, and the receiver, seen from the sender: packets go in, reports come out.
#[derive(Debug)]
pub struct Remote<R> {
    format: Format,
    wire: Wire<RemotePacket>,
    rule: R,
    /// Packets to report, in order.
    seen: Vec<Seen>,
    /// All that have come, in ranges, the newest last (QUIC).
    ranges: Vec<(u64, u64)>,
    /// The number after the last one reported.
    next: u64,
    timer: Option<Instant>,
    reports: u8,
}

impl<R: FnMut() -> Fate> Remote<R> {
    /// A receiver over a wire. `rule` gives a fate to each report.
    #[must_use]
    pub const fn new(format: Format, wire: Wire<RemotePacket>, rule: R) -> Self {
        let timer = match format {
            Format::Twcc(interval) | Format::Rfc8888(interval) => {
                Some(Instant::from_nanos(interval.as_nanos()))
            }
            Format::Quic(_) => None,
        };
        Self { format, wire, rule, seen: Vec::new(), ranges: Vec::new(), next: 0, timer, reports: 0 }
    }

    /// Sends an ECN-capable packet. Numbers count up from 0.
    pub fn send(&mut self, now: Instant, number: u64, size: u32, fate: Fate) {
        let packet = Parcel { size, ecn: Ecn::Ect0, payload: RemotePacket::Data(number) };
        self.wire.send(now, Side::Client, packet, fate);
    }

    /// The next time at which a report may come, or must be polled for so that it is made.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.timer.into_iter().chain(self.wire.poll_timeout()).min()
    }

    /// The next report that has come back by `now`.
    pub fn poll_report(&mut self, now: Instant) -> Option<Vec<u8>> {
        while let Some(arrival) = self.wire.receive(now) {
            match arrival.payload {
                RemotePacket::Data(number) => self.take_in(Seen { number, at: arrival.at, ecn: arrival.ecn }),
                RemotePacket::Report(bytes) => return Some(bytes),
            }
        }
        if let Some(report) = self.report(now) {
            let packet = Parcel { size: 0, ecn: Ecn::NotEct, payload: RemotePacket::Report(report) };
            self.wire.send(now, Side::Server, packet, (self.rule)());
        }
        None
    }

    fn take_in(&mut self, seen: Seen) {
        self.seen.push(seen);
        if let Format::Quic(_) = self.format {
            self.timer.get_or_insert(seen.at + MAX_ACK_DELAY);
            match self.ranges.last_mut() {
                Some((_, last)) if *last + 1 == seen.number => *last = seen.number,
                _ => self.ranges.push((seen.number, seen.number)),
            }
        }
    }

    /// The report that is due, if one is.
    fn report(&mut self, now: Instant) -> Option<Vec<u8>> {
        let due = self.timer.is_some_and(|at| at <= now);
        self.timer = match self.format {
            Format::Quic(every) if !due && self.seen.len() < every => return None,
            Format::Quic(_) => None,
            _ if !due => return None,
            Format::Twcc(interval) | Format::Rfc8888(interval) => Some(now + interval),
        };
        let newest = *self.seen.last()?;
        let seen = std::mem::take(&mut self.seen);
        let first = std::mem::replace(&mut self.next, newest.number + 1);
        let places = (first..=newest.number).map(|number| seen.iter().find(|seen| seen.number == number));
        match self.format {
            Format::Twcc(_) => {
                self.reports = self.reports.wrapping_add(1);
                let arrivals: Vec<_> = places.map(|seen| seen.map(|seen| ticks(seen.at))).collect();
                let ssrcs = twcc::Ssrcs { sender: 1, media: SSRC };
                twcc::encode(ssrcs, self.reports, low_16(first), &arrivals).ok()
            }
            Format::Rfc8888(_) => {
                let metrics: Vec<_> = places.map(|seen| metric(now, seen)).collect();
                let seconds = (now + AHEAD).as_secs_f64();
                let timestamp = u64_from_f64(seconds * 65_536.0) & 0xFFFF_FFFF;
                let timestamp = u32::try_from(timestamp).expect("32 bits");
                Some(rfc8888::encode(1, &[(SSRC, low_16(first), &metrics)], timestamp))
            }
            Format::Quic(_) => {
                let ranges: Vec<_> = self.ranges.iter().rev().take(RANGES).copied().collect();
                let delay = now.saturating_since(newest.at).as_micros() >> ACK_DELAY_EXPONENT;
                quic::encode(&ranges, delay, None)
            }
        }
    }
}

/// The number of a packet as RTP carries it.
fn low_16(number: u64) -> u16 {
    u16::try_from(number & 0xFFFF).expect("16 bits")
}

/// The receiver's time in units of 250 µs.
fn ticks(at: Instant) -> i64 {
    i64::try_from((at + AHEAD).as_nanos() / 250_000).expect("a few hours")
}

/// The entry of a packet in an RFC 8888 report; its age is in units of 1/1024 s.
fn metric(now: Instant, seen: Option<&Seen>) -> rfc8888::Metric {
    let Some(seen) = seen else { return rfc8888::Metric::NotReceived };
    let age = u64_from_f64(now.saturating_since(seen.at).as_secs_f64() * 1024.0 + 0.5);
    let offset = rfc8888::Offset::Units(u16::try_from(age).expect("younger than a minute"));
    rfc8888::Metric::Received { ecn: seen.ecn, offset }
}
