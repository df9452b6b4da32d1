//! One TCP flow: the machines of [`crate::tcp`] as agents.

use tfrc_units::{Duration, Ecn, Instant};

use super::{Peer, Segment, Supply, Timetable, schedule, send};
use crate::packet::Header;
use crate::tcp::{Ack, ConnectionId, Sender, Settings, Sink, Transfer};
use crate::{Context, Stream, TimerKey};

/// The start, and then the end of a processing delay.
const GO: TimerKey = TimerKey::First;
/// The retransmission timer of a source, the delayed acknowledgement of a sink.
const PROTOCOL: TimerKey = TimerKey::Second;

/// How a TCP source is set up.
#[derive(Debug, Clone)]
pub struct TcpSetup {
    /// The TCP. The sink must have the same.
    pub settings: Settings,
    /// When it has data, and how much.
    pub timetable: Timetable,
    /// The receiver of the data.
    pub peer: Peer,
    /// From when on it sends nothing new; what is outstanding is still repaired.
    pub stop: Option<Instant>,
    /// Sending is put off by a random time, uniform from zero to this, drawn whenever the sender
    /// may send after it could not (as ns-2's `overhead_`, docs/ns2-facts.md §3): it breaks up
    /// phase effects. Zero: none.
    pub overhead: Duration,
    /// Draws the overhead: a stream with the flow's name.
    pub stream: Stream,
}

/// The sending end of a TCP flow.
#[derive(Debug)]
pub struct TcpSource {
    sender: Sender,
    setup: TcpSetup,
    /// When the data of the application changes next.
    next_data: Option<Instant>,
}

impl TcpSource {
    /// A source that starts when its first timer fires.
    #[must_use]
    pub fn new(setup: TcpSetup) -> Self {
        let transfer = match setup.timetable.total() {
            _ if setup.timetable.changes() => Transfer::Bytes(0),
            Some(bytes) => Transfer::Bytes(bytes),
            None => Transfer::Unlimited,
        };
        let next_data = setup.timetable.changes().then_some(Instant::ZERO);
        Self { sender: Sender::new(&setup.settings, ConnectionId::default(), transfer), setup, next_data }
    }

    /// The machine, to read its state.
    #[must_use]
    pub fn sender(&self) -> &Sender {
        &self.sender
    }

    /// Reads from each cache line or so.
    #[inline(always)]
    pub(super) fn touch(&self) -> u64 {
        let TcpSetup { settings, peer, overhead, .. } = &self.setup;
        let own = u64::from(settings.segment) ^ u64::from(peer.flow.0) ^ overhead.as_nanos();
        own ^ u64::from(self.next_data.is_some()) ^ self.sender.touch()
    }

    #[inline]
    pub(super) fn on_packet<P: Clone + From<Segment>>(
        &mut self,
        now: Instant,
        segment: &Segment,
        context: &mut Context<'_, P>,
    ) {
        if let Segment::Ack(ack) = segment {
            self.keep_times(now);
            self.sender.on_ack(now, ack);
            self.go_on(now, context);
        }
    }

    pub(super) fn on_timer<P: Clone + From<Segment>>(
        &mut self,
        now: Instant,
        key: TimerKey,
        context: &mut Context<'_, P>,
    ) {
        self.keep_times(now);
        match key {
            GO => {
                self.sender.start(now);
                self.transmit(now, context);
            }
            _ => {
                self.sender.handle_timeout(now);
                self.go_on(now, context);
            }
        }
    }

    /// Hands over the data that the application has now, and stops in time.
    #[inline]
    fn keep_times(&mut self, now: Instant) {
        if self.next_data.is_some_and(|at| at <= now) {
            let Supply { bytes, more, next } = self.setup.timetable.at(now);
            self.sender.reach(now, bytes, more);
            self.next_data = next;
        }
        if self.setup.stop.is_some_and(|stop| stop <= now) {
            self.sender.close();
        }
    }

    #[inline]
    fn go_on<P: Clone + From<Segment>>(&mut self, now: Instant, context: &mut Context<'_, P>) {
        if self.setup.overhead.is_zero() {
            self.transmit(now, context);
        } else {
            let go = context.timer(GO).unwrap_or_else(|| {
                let go = now + self.setup.overhead.mul_f64(self.setup.stream.uniform());
                context.set_timer(GO, go);
                go
            });
            // A paced packet that is due waits for that; its time does not come again meanwhile.
            let due = self.sender.poll_timeout().map(|at| if at > now { at } else { at.max(go) });
            schedule(context, PROTOCOL, self.or_new_data(due));
        }
    }

    #[inline]
    fn transmit<P: Clone + From<Segment>>(&mut self, now: Instant, context: &mut Context<'_, P>) {
        while let Some((data, ecn)) = self.sender.poll_transmit(now) {
            send(context, self.setup.peer, self.setup.settings.data_size(data.len), ecn, data);
        }
        schedule(context, PROTOCOL, self.or_new_data(self.sender.poll_timeout()));
    }

    /// The earlier of a time and the next change of the data.
    #[inline]
    fn or_new_data(&self, at: Option<Instant>) -> Option<Instant> {
        match (at, self.next_data) {
            (Some(at), Some(data)) => Some(at.min(data)),
            (at, data) => at.or(data),
        }
    }
}

/// The receiving end of a TCP flow.
#[derive(Debug)]
pub struct TcpSink {
    sink: Sink,
    settings: Settings,
    /// The sender, known from the first packet.
    peer: Option<Peer>,
    completed: Option<Instant>,
}

impl TcpSink {
    /// A sink of a flow with these settings.
    #[must_use]
    pub fn new(settings: &Settings) -> Self {
        Self {
            sink: Sink::new(settings, ConnectionId::default()),
            settings: *settings,
            peer: None,
            completed: None,
        }
    }

    /// The machine, to read its state.
    #[must_use]
    pub fn sink(&self) -> &Sink {
        &self.sink
    }

    /// When the last byte of a finite transfer arrived, with all before it; `None` before that, and
    /// of a transfer without an end.
    #[must_use]
    pub const fn completed(&self) -> Option<Instant> {
        self.completed
    }

    /// Reads from each cache line or so.
    #[inline(always)]
    pub(super) fn touch(&self) -> u64 {
        let peer = self.peer.map_or(0, |peer| peer.flow.0);
        u64::from(self.settings.segment ^ peer) ^ u64::from(self.completed.is_some()) ^ self.sink.touch()
    }

    #[inline]
    pub(super) fn on_packet<P: Clone + From<Segment>>(
        &mut self,
        now: Instant,
        header: &Header,
        segment: &Segment,
        context: &mut Context<'_, P>,
    ) {
        if let Segment::Data(data) = segment {
            self.peer = Some(Peer { to: header.src, flow: header.flow });
            let ack = self.sink.on_data(now, data, header.ecn);
            if self.completed.is_none() && self.sink.is_complete() {
                self.completed = Some(now);
            }
            self.answer(ack, context);
        }
    }

    pub(super) fn on_timer<P: Clone + From<Segment>>(&mut self, now: Instant, context: &mut Context<'_, P>) {
        let ack = self.sink.handle_timeout(now);
        self.answer(ack, context);
    }

    #[inline(always)]
    fn answer<P: Clone + From<Segment>>(&mut self, ack: Option<Ack>, context: &mut Context<'_, P>) {
        if let Some(ack) = ack
            && let Some(peer) = self.peer
        {
            send(context, peer, self.settings.ack_size(&ack), Ecn::NotEct, ack);
        }
        schedule(context, PROTOCOL, self.sink.poll_timeout());
    }
}
