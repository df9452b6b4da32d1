//! Datagrams at a constant rate, or on and off.

use tfrc_units::{Duration, Ecn, Instant, Rate, f64_from_u64, u64_from_f64};

use super::{Amount, Distinct, Distribution, Peer, Segment, Timetable, schedule, send};
use crate::{Context, Stream, TimerKey};

/// When the next datagram goes.
const NEXT: TimerKey = TimerKey::First;

/// A packet of a [`DatagramSource`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Datagram {
    /// Number of the packet, from 0.
    pub seq: u64,
    /// Bytes of data.
    pub len: u32,
}

/// When datagrams are sent.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Pattern {
    /// All the time at this rate of data (without headers). For packets per second give
    /// `Rate::of(data bytes, gap)`.
    Constant(Rate),
    /// In bursts. A burst is a whole number of packets, the nearest to what the time on would hold
    /// and at least one; the time off follows the gap after its last packet (as in ns-2).
    OnOff {
        /// Rate of data while on.
        rate: Rate,
        /// Seconds on.
        on: Distribution,
        /// Seconds off.
        off: Distribution,
    },
}

/// How a source of datagrams is set up.
#[derive(Debug, Clone)]
pub struct DatagramSetup {
    /// When it sends.
    pub pattern: Pattern,
    /// Bytes of data in each packet.
    pub data: u32,
    /// Bytes of headers.
    pub header: u32,
    /// The receiver of the datagrams.
    pub peer: Peer,
    /// When it has data, and how much. The last datagram of it may be short.
    pub timetable: Timetable,
    /// From when on it sends nothing.
    pub stop: Option<Instant>,
    /// Draws bursts and pauses: a stream with the flow's name.
    pub stream: Stream,
}

/// Sends datagrams, whatever becomes of them. It starts when its first timer fires.
#[derive(Debug)]
pub struct DatagramSource {
    setup: DatagramSetup,
    sent: Amount,
    /// When the first packet of the burst went (of all, at a constant rate), and how many have gone
    /// since.
    burst: Option<(Instant, u64)>,
    /// Packets the burst still has.
    left: u64,
}

impl DatagramSource {
    /// A source that has not started.
    #[must_use]
    pub fn new(setup: DatagramSetup) -> Self {
        Self { setup, sent: Amount::default(), burst: None, left: 0 }
    }

    pub(super) fn on_timer<P: Clone + From<Segment>>(&mut self, now: Instant, context: &mut Context<'_, P>) {
        let DatagramSetup { ref pattern, data, header, peer, stop, ref timetable, ref mut stream } =
            self.setup;
        let (Pattern::Constant(rate) | Pattern::OnOff { rate, .. }) = *pattern;
        if rate.is_zero() || data == 0 || stop.is_some_and(|stop| stop <= now) {
            return;
        }
        let supply = timetable.at(now);
        let Ok(len) = u32::try_from(supply.left(self.sent.bytes).min(u64::from(data))) else { return };
        if len == 0 {
            // Nothing for now: the next data begins a burst.
            self.burst = None;
            schedule(context, NEXT, supply.next);
            return;
        }
        let (start, gone) = match (self.burst, pattern) {
            (Some(burst), _) => burst,
            (None, Pattern::Constant(_)) => {
                self.left = u64::MAX;
                (now, 0)
            }
            (None, Pattern::OnOff { on, .. }) => {
                let seconds = on.sample(stream);
                let packets = seconds * rate.bytes_per_sec() / f64::from(data);
                self.left = u64_from_f64(packets + 0.5).max(1);
                (now, 0)
            }
        };
        let segment = Datagram { seq: self.sent.packets, len };
        send(context, peer, len.saturating_add(header), Ecn::NotEct, segment);
        self.sent.packets = self.sent.packets.saturating_add(1);
        self.sent.bytes = self.sent.bytes.saturating_add(u64::from(len));
        self.left -= 1;
        let gone = gone + 1;
        // From the start of the burst, so that no rounding adds up.
        let mut next = start + rate.time_for(f64::from(data) * f64_from_u64(gone));
        self.burst = Some((start, gone));
        if self.left == 0
            && let Pattern::OnOff { off, .. } = pattern
        {
            next += Duration::from_secs_f64(off.sample(stream));
            self.burst = None;
        }
        context.set_timer(NEXT, next);
    }

    /// Returns the data sent.
    #[must_use]
    pub fn sent(&self) -> Amount {
        self.sent
    }
}

/// Counts the datagrams that arrive, each once.
#[derive(Debug, Clone, Default)]
pub struct DatagramSink {
    received: Amount,
    numbers: Distinct,
}

impl DatagramSink {
    pub(super) fn on_packet(&mut self, segment: &Segment) {
        if let Segment::Datagram(Datagram { seq, len }) = segment
            && self.numbers.arrives(*seq)
        {
            self.received.packets += 1;
            self.received.bytes += u64::from(*len);
        }
    }

    /// Returns the data received; a packet that arrives twice counts once.
    #[must_use]
    pub fn received(&self) -> Amount {
        self.received
    }

    /// Packets that have not arrived though a later one has.
    #[must_use]
    pub fn missing(&self) -> u64 {
        self.numbers.expected().saturating_sub(self.received.packets)
    }
}
