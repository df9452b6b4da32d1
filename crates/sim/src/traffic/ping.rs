//! Requests and replies that measure the round-trip time.

use tfrc_units::{Duration, Ecn, Instant};

use super::{Amount, Distinct, Peer, Segment, Timetable, schedule, send};
use crate::packet::Header;
use crate::trace::Tracing;
use crate::{Context, TimerKey};

const NEXT: TimerKey = TimerKey::First;

/// A request, or its reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Probe {
    /// When the request was sent.
    pub sent_at: Instant,
    /// Number of the request, from 0.
    pub number: u64,
}

/// How a [`Pinger`] is set up.
#[derive(Debug, Clone)]
pub struct PingSetup {
    /// Time between requests.
    pub interval: Duration,
    /// Bytes of a request on the wire; the reply has as many.
    pub size: u32,
    /// The agent that replies.
    pub peer: Peer,
    /// When it asks: its data are the bytes of the requests. A request that does not fit into the
    /// rest of a transfer is not sent.
    pub timetable: Timetable,
    /// From when on it sends nothing.
    pub stop: Option<Instant>,
    /// Samples: every one kept, or none.
    pub trace: Tracing,
}

/// Sends requests and measures how long replies take. It starts when its first timer fires.
#[derive(Debug)]
pub struct Pinger {
    setup: PingSetup,
    sent: u64,
    answered: Distinct,
    stats: PingStats,
    samples: Vec<(Instant, Duration)>,
}

/// Measurements of a [`Pinger`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PingStats {
    /// Requests answered: the first reply to each counts, in all measurements.
    pub replies: u64,
    /// Sum of the round-trip times.
    pub sum: Duration,
    /// The shortest round-trip time.
    pub min: Option<Duration>,
    /// The longest round-trip time.
    pub max: Option<Duration>,
}

impl PingStats {
    /// The mean round-trip time, if there was a reply.
    #[must_use]
    pub fn mean(&self) -> Option<Duration> {
        self.sum.as_nanos().checked_div(self.replies).map(Duration::from_nanos)
    }
}

impl Pinger {
    /// A pinger that has not started.
    #[must_use]
    pub fn new(setup: PingSetup) -> Self {
        Self {
            setup,
            sent: 0,
            answered: Distinct::default(),
            stats: PingStats::default(),
            samples: Vec::new(),
        }
    }

    pub(super) fn on_timer<P: Clone + From<Segment>>(&mut self, now: Instant, context: &mut Context<'_, P>) {
        let PingSetup { interval, size, peer, stop, ref timetable, .. } = self.setup;
        if stop.is_some_and(|stop| stop <= now) {
            return;
        }
        let supply = timetable.at(now);
        if supply.left(self.sent().bytes) < u64::from(size) {
            schedule(context, NEXT, supply.next);
            return;
        }
        send(context, peer, size, Ecn::NotEct, Segment::Request(Probe { sent_at: now, number: self.sent }));
        self.sent = self.sent.saturating_add(1);
        if !interval.is_zero() {
            context.set_timer(NEXT, now + interval);
        }
    }

    pub(super) fn on_packet(&mut self, now: Instant, segment: &Segment) {
        if let Segment::Reply(Probe { sent_at, number }) = segment
            && self.answered.arrives(*number)
        {
            let rtt = now.saturating_since(*sent_at);
            self.stats.replies += 1;
            self.stats.sum += rtt;
            self.stats.min = Some(self.stats.min.map_or(rtt, |x| x.min(rtt)));
            self.stats.max = Some(self.stats.max.map_or(rtt, |x| x.max(rtt)));
            if self.setup.trace == Tracing::Keep {
                self.samples.push((*sent_at, rtt));
            }
        }
    }

    /// Requests sent.
    #[must_use]
    pub fn sent(&self) -> Amount {
        Amount { packets: self.sent, bytes: self.sent.saturating_mul(u64::from(self.setup.size)) }
    }

    /// Returns the measurements.
    #[must_use]
    pub fn stats(&self) -> &PingStats {
        &self.stats
    }

    /// When each answered request was sent, and its round-trip time, in the order of replies; empty
    /// unless kept.
    #[must_use]
    pub fn samples(&self) -> &[(Instant, Duration)] {
        &self.samples
    }
}

/// Sends every request back.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ponger;

impl Ponger {
    pub(super) fn on_packet<P: Clone + From<Segment>>(
        header: &Header,
        segment: &Segment,
        context: &mut Context<'_, P>,
    ) {
        if let Segment::Request(probe) = segment {
            let peer = Peer { to: header.src, flow: header.flow };
            send(context, peer, header.size, Ecn::NotEct, Segment::Reply(*probe));
        }
    }
}
