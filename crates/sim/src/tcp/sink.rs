//! The receiving end: when it acknowledges, and what the acknowledgement says.

use tfrc_units::{Duration, Ecn, Instant};

use super::delayed_acks::DelayedAcks;
use super::reassembly::{Reassembly, SegmentArrival};
use super::receive_window::{Growth, ReceiveWindow};
use super::segment::{Ack, AckKind, ConnectionId, Data, DataKind, EcnEcho, Fin, Reduced, SackBlock, Stamp};
use super::settings::{Acks, EcnMode, Settings, Stack};

/// A segment acknowledged late may be followed by one more, not by two (RFC 5681 §4.2).
const UNACKED_AT_MOST: u32 = 2;
/// How long a segment waits where more than one are acknowledged together.
const EVERY_WAITS: Duration = Duration::from_millis(200);

/// A sink of one connection.
#[derive(Debug, Clone)]
pub struct Sink {
    acks: Acks,
    sack: Sack,
    delayed: DelayedAcks,
    window: ReceiveWindow,
    segment: u32,
    stack: Stack,
    /// A segment that has arrived once more, to be reported (RFC 2883).
    duplicate: Option<u32>,
    ecn_mode: EcnMode,
    connection: ConnectionId,
    received: Reassembly,
    /// Segments in order that no acknowledgement has covered.
    unacked: u32,
    delayed_until: Option<Instant>,
    echo: Option<Stamp>,
    /// `next` of the last acknowledgement.
    last_ack: u32,
    ecn: EcnEcho,
    end: Option<u32>,
    stats: SinkStats,
}

/// Use of selective acknowledgements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sack {
    Off,
    On,
}

/// Counters of a sink.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SinkStats {
    /// Data segments that arrived, duplicates included.
    pub received_segments: u64,
    /// Different segments of them.
    pub delivered_segments: u64,
    /// Bytes of data in those.
    pub delivered_bytes: u64,
    /// Acknowledgements sent.
    pub acks: u64,
    /// Data segments that arrived with a congestion mark.
    pub marked_segments: u64,
}

impl Sink {
    /// A sink that has received nothing.
    #[must_use]
    pub fn new(settings: &Settings, connection: ConnectionId) -> Self {
        Self {
            acks: settings.acks,
            sack: if settings.variant.selective() || settings.stack == Stack::Linux {
                Sack::On
            } else {
                Sack::Off
            },
            delayed: DelayedAcks::default(),
            window: ReceiveWindow::new(settings.payload(), settings.window),
            segment: settings.payload(),
            stack: settings.stack,
            duplicate: None,
            ecn_mode: settings.ecn,
            connection,
            received: Reassembly::default(),
            unacked: 0,
            delayed_until: None,
            echo: None,
            last_ack: 0,
            ecn: EcnEcho::None,
            end: None,
            stats: SinkStats::default(),
        }
    }

    /// Reads from each cache line or so.
    #[inline(always)]
    pub(crate) fn touch(&self) -> u64 {
        let SinkStats { received_segments, acks, .. } = self.stats;
        let numbers = self.segment ^ self.last_ack ^ self.received.next() ^ self.unacked;
        let parts = u64::from(self.delayed_until.is_some()) ^ u64::from(self.echo.is_some());
        received_segments ^ acks ^ u64::from(numbers) ^ parts
    }

    /// A segment arrives, with these ECN bits; the acknowledgement to be sent at once, if there is
    /// one.
    pub fn on_data(&mut self, now: Instant, data: &Data, ecn: Ecn) -> Option<Ack> {
        if data.kind == DataKind::Syn {
            self.window.answers(now);
            return Some(self.ack(AckKind::SynAck));
        }
        self.stats.received_segments += 1;
        if self.ecn_mode == EcnMode::On {
            if data.reduced == Reduced::Yes {
                self.ecn = EcnEcho::None;
            }
            // After the answer: a marked packet that carries it begins anew (RFC 3168 §6.1.3).
            if ecn == Ecn::Ce {
                self.stats.marked_segments += 1;
                self.ecn = EcnEcho::Congestion;
            }
        }
        if data.fin == Fin::Last {
            self.end = Some(data.seq.saturating_add(1));
        }
        // RFC 7323 §4.3: the stamp of the first segment that is not acknowledged yet. Linux keeps
        // the latest, so that a late copy of a segment does not bring back its own.
        if data.seq <= self.last_ack && (self.stack == Stack::Rfc || data.stamp >= self.echo) {
            self.echo = data.stamp;
        }
        let arrival = self.received.receive(data.seq);
        if arrival == SegmentArrival::Duplicate {
            self.duplicate = (self.stack == Stack::Linux).then_some(data.seq);
        } else {
            self.stats.delivered_segments += 1;
            self.stats.delivered_bytes += u64::from(data.len);
        }
        match (arrival, self.acks) {
            (SegmentArrival::InOrder, Acks::Delayed(timeout)) => self.delay(now, timeout, UNACKED_AT_MOST),
            (SegmentArrival::InOrder, Acks::Every(segments)) => self.delay(now, EVERY_WAITS, segments),
            (arrival, Acks::Linux) => self.answer_as_linux(now, arrival, data.stamp, ecn),
            _ => Some(self.ack(AckKind::Ack)),
        }
    }

    fn answer_as_linux(
        &mut self,
        now: Instant,
        arrival: SegmentArrival,
        stamp: Option<Stamp>,
        ecn: Ecn,
    ) -> Option<Ack> {
        let growth = match arrival {
            SegmentArrival::Duplicate => Growth::None,
            _ => self.window.arrived(now, stamp),
        };
        let answer = match self.delayed.arrived(now, arrival, ecn, growth) {
            Some(timeout) => self.delay(now, timeout, UNACKED_AT_MOST),
            None => Some(self.ack(AckKind::Ack)),
        };
        let bytes = |segments: u32| u64::from(segments) * u64::from(self.segment);
        self.window.read(now, bytes(self.received.next()), bytes(self.received.span()));
        answer
    }

    #[inline]
    fn delay(&mut self, now: Instant, timeout: Duration, segments: u32) -> Option<Ack> {
        self.unacked += 1;
        if self.unacked >= segments {
            return Some(self.ack(AckKind::Ack));
        }
        self.delayed_until = Some(now + timeout);
        None
    }

    /// Time passes; the acknowledgement that has waited, if it is due.
    pub fn handle_timeout(&mut self, now: Instant) -> Option<Ack> {
        self.delayed_until.is_some_and(|at| at <= now).then(|| self.ack(AckKind::Ack))
    }

    /// The acknowledgement that waits, before its time.
    pub fn flush(&mut self) -> Option<Ack> {
        self.delayed_until.map(|_| self.ack(AckKind::Ack))
    }

    /// When the acknowledgement that waits is due, `None` if none waits.
    #[must_use]
    pub const fn poll_timeout(&self) -> Option<Instant> {
        self.delayed_until
    }

    #[inline(never)]
    fn ack(&mut self, kind: AckKind) -> Ack {
        self.unacked = 0;
        self.delayed_until = None;
        self.last_ack = self.received.next();
        self.stats.acks += 1;
        let sack = match self.sack {
            Sack::Off => Default::default(),
            Sack::On => match self.duplicate.take() {
                Some(seq) => with_duplicate(SackBlock::one(seq), self.received.blocks()),
                None => self.received.blocks(),
            },
        };
        Ack { connection: self.connection, kind, next: self.last_ack, sack, echo: self.echo, ecn: self.ecn }
    }

    /// The connection.
    #[must_use]
    pub const fn connection(&self) -> ConnectionId {
        self.connection
    }

    /// Segments received in order from the first on.
    #[must_use]
    pub const fn in_order(&self) -> u32 {
        self.received.next()
    }

    /// Returns true if all of a finite transfer has arrived.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.end == Some(self.received.next())
    }

    /// The counters.
    #[must_use]
    pub const fn stats(&self) -> &SinkStats {
        &self.stats
    }
}

/// RFC 2883 §4: the duplicate comes first. Beyond the cumulative acknowledgement the block that
/// contains it follows; it is the newest, as the segment has just arrived.
const fn with_duplicate(duplicate: SackBlock, blocks: [SackBlock; 3]) -> [SackBlock; 3] {
    let [first, second, _] = blocks;
    [duplicate, first, second]
}
