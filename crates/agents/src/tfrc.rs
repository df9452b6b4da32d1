//! TFRC with receiver feedback (RFC 5348): the core's two machines in the simulator.

use tfrc::guard::Stopped;
use tfrc::study::{FeedbackTrigger, Stamp};
use tfrc::{Arrival, Config, PacketKind, Receiver, Report, SendDecision, Sender, SentRecord};
use tfrc_sim::packet::{FlowId, Header, Outgoing, Precedence};
use tfrc_sim::traffic::Distinct;
use tfrc_sim::{Address, Context, Depth, TimerKey};
use tfrc_units::Ecn;
use tfrc_units::{Duration, Instant, saturating};

use crate::Mean;
use crate::Source;
use crate::payload::{Payload, START};

/// The next packet may go, or the application has one.
const SEND: TimerKey = START;
/// The nofeedback timer of a sender, the feedback timer of a receiver.
const PROTOCOL: TimerKey = TimerKey::Second;

/// Bytes on the wire of a feedback packet, about those of a DCCP-Ack with the options of CCID 3
/// over UDP: IPv4 and UDP 28, header 24, Elapsed Time, Receive Rate and Loss Intervals with a few
/// intervals.
const FEEDBACK_BYTES: u32 = 100;

/// The size of a feedback packet of ns-2 in bytes (docs/ns2-facts.md §2).
const NS2_FEEDBACK_BYTES: u32 = 40;

/// The first sequence number of a flow.
const FIRST_SEQ: u64 = 1;

/// Packets in a round-trip time of 10 s at 1 Gbit/s and 1200 bytes each.
const MOST_IN_FLIGHT: usize = 1 << 20;

/// Content of a data packet (RFC 5348 §3.2.1), with the fields that ns-2's rules for loss events
/// need besides.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TfrcData {
    /// Sequence number, from 1.
    pub seq: u64,
    /// Bytes of payload.
    pub size: u32,
    /// The sender's round-trip time estimate, once it has one.
    pub rtt: Option<Duration>,
    /// [`Sender::stamp`] when it was sent.
    pub stamp: Stamp,
}

/// How a sender is set up.
#[derive(Debug)]
pub struct SenderSetup {
    /// The receiver.
    pub peer: Address,
    /// The flow that its packets count for.
    pub flow: FlowId,
    /// Bytes of a packet beside its data.
    pub header: u32,
    /// The application.
    pub source: Source,
    /// When it ends.
    pub stop: Option<Instant>,
    /// The mark of its packets.
    pub ecn: Ecn,
    /// The drop precedence of its packets.
    pub precedence: Precedence,
}

/// The sending half of a flow. It starts when its first timer fires.
// In the order of use.
#[derive(Debug)]
#[repr(C)]
pub struct TfrcSender {
    record: SentRecord<MOST_IN_FLIGHT>,
    sent_bytes: u64,
    setup: SenderSetup,
    machine: Sender,
    rtt: Mean,
    last_stop: Option<Stopped>,
}

impl TfrcSender {
    /// `machine` is one that has sent nothing yet.
    #[must_use]
    pub fn new(machine: Sender, setup: SenderSetup) -> Self {
        Self {
            machine,
            setup,
            record: SentRecord::starting_at(FIRST_SEQ),
            sent_bytes: 0,
            rtt: Mean::default(),
            last_stop: None,
        }
    }

    /// Reads from each cache line or so.
    #[inline(always)]
    pub(super) fn touch(&self, depth: Depth) -> u64 {
        match depth {
            Depth::Surface => {
                let SenderSetup { flow, stop, .. } = self.setup;
                let own = u64::from(flow.0) ^ u64::from(stop.is_some()) ^ self.record.next_seq();
                own ^ self.machine.touch()
            }
            Depth::Below => self.record.touch(),
        }
    }

    /// Packets sent.
    #[must_use]
    pub fn sent_packets(&self) -> u64 {
        self.record.next_seq() - FIRST_SEQ
    }

    /// Bytes of payload sent.
    #[must_use]
    pub fn sent_bytes(&self) -> u64 {
        self.sent_bytes
    }

    /// Round-trip times measured, in seconds.
    #[must_use]
    pub fn rtt(&self) -> Mean {
        self.rtt
    }

    /// The machine, to read its state.
    #[must_use]
    pub fn machine(&self) -> &Sender {
        &self.machine
    }

    /// The last stop by a circuit breaker or the stop rule, also if it is over.
    #[must_use]
    pub fn last_stop(&self) -> Option<Stopped> {
        self.last_stop
    }

    /// Handles the timer before the packet when both are due at one time, so that an expiration
    /// halves the rate first, as in ns-2. Otherwise two packets would be sent: the one that is due
    /// and the one that the timer's expiration releases.
    pub(super) fn on_timer(&mut self, now: Instant, context: &mut Context<'_, Payload>) {
        self.machine.handle_timeout(now);
        self.go_on(now, context);
    }

    pub(super) fn on_feedback(&mut self, now: Instant, report: &Report, context: &mut Context<'_, Payload>) {
        self.take_feedback(now, report);
        self.go_on(now, context);
    }

    fn take_feedback(&mut self, now: Instant, report: &Report) {
        let Some(feedback) = self.record.feedback(report) else { return };
        let rtt = now.saturating_since(feedback.newest_sent_at).saturating_sub(feedback.elapsed);
        self.rtt.add(rtt.as_secs_f64());
        self.machine.on_feedback(now, feedback);
        while self.machine.poll_event().is_some() {}
    }

    /// Sends what may go, and sets both timers.
    fn go_on(&mut self, now: Instant, context: &mut Context<'_, Payload>) {
        if self.setup.stop.is_some_and(|stop| now >= stop) {
            context.cancel_timer(SEND);
            context.cancel_timer(PROTOCOL);
            return;
        }
        let next = loop {
            match self.setup.source.next(now) {
                Some(data) if data <= now => {}
                later => break later,
            }
            match self.machine.next_send(now) {
                SendDecision::Now => self.send(now, context),
                SendDecision::At(at) => break Some(at),
                SendDecision::Stopped(_) => break None,
            }
        };
        if let Some(stopped) = self.machine.stopped() {
            self.last_stop = Some(stopped);
        }
        match next {
            Some(at) => context.set_timer(SEND, at),
            None => context.cancel_timer(SEND),
        }
        match self.machine.poll_timeout() {
            Some(wake) => context.set_timer(PROTOCOL, wake.at),
            None => context.cancel_timer(PROTOCOL),
        }
    }

    fn send(&mut self, now: Instant, context: &mut Context<'_, Payload>) {
        let size = self.setup.source.take(now);
        let SenderSetup { peer, flow, header, ecn, precedence, .. } = self.setup;
        let seq = self.record.on_sent(now);
        self.sent_bytes += u64::from(size);
        let payload = Payload::TfrcData(TfrcData {
            seq,
            size,
            rtt: self.machine.rtt(),
            stamp: self.machine.stamp(now),
        });
        context.send(Outgoing { to: peer, flow, size: size + header, ecn, precedence, payload });
        self.machine.on_sent(now, size);
    }
}

/// The receiving half of a flow.
// In the order of use.
#[derive(Debug)]
#[repr(C)]
pub struct TfrcReceiver {
    packets: u64,
    bytes: u64,
    numbers: Distinct,
    /// Address and flow of the sender, known from the first packet.
    sender: Option<(Address, FlowId)>,
    /// Where the first loss event was found, which ends slow start.
    first_event: Option<FlowLosses>,
    machine: Receiver,
    /// Bytes of a report on the wire.
    report_bytes: u32,
    /// The loss events, if they are logged.
    log: Option<Vec<LossEvent>>,
}

/// A loss event as the receiver met it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LossEvent {
    /// When.
    pub at: Instant,
    /// The loss interval that it closed, in packets; the first is the synthetic one of
    /// RFC 5348 §6.3.1.
    pub interval: f64,
    /// The mean loss interval from now on: 1/p.
    pub mean: f64,
}

/// Packets of a flow so far, and the loss events among them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowLosses {
    /// Loss events.
    pub events: u64,
    /// Packets sent up to the newest that has arrived.
    pub packets: u64,
}

impl TfrcReceiver {
    /// `machine` is one of this configuration that has seen nothing yet. `start` is when the flow
    /// begins: what is sent first may be lost, and is known to have been sent.
    #[must_use]
    pub fn new(config: &Config, mut machine: Receiver, start: Instant) -> Self {
        machine.expect(start, FIRST_SEQ);
        let report_bytes = match config.settings().algorithm.choices().feedback {
            FeedbackTrigger::Arrival => NS2_FEEDBACK_BYTES,
            _ => FEEDBACK_BYTES,
        };
        Self {
            machine,
            report_bytes,
            sender: None,
            numbers: Distinct::from(FIRST_SEQ),
            packets: 0,
            bytes: 0,
            first_event: None,
            log: None,
        }
    }

    /// Reads from each cache line or so.
    #[inline(always)]
    pub(super) fn touch(&self, depth: Depth) -> u64 {
        match depth {
            Depth::Surface => {
                let ends = u64::from(self.sender.is_some()) ^ u64::from(self.first_event.is_some());
                ends ^ self.packets ^ self.numbers.expected() ^ self.machine.touch()
            }
            Depth::Below => self.machine.touch_below(),
        }
    }

    /// Packets that have arrived, each once.
    #[must_use]
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// Bytes of payload that have arrived, of each packet once.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The machine, to read its state.
    #[must_use]
    pub fn machine(&self) -> &Receiver {
        &self.machine
    }

    /// Loss events and packets up to now.
    #[must_use]
    pub fn losses(&self) -> FlowLosses {
        FlowLosses { events: self.machine.loss_events(), packets: self.numbers.expected() - 1 }
    }

    /// Logs every loss event from now on.
    pub fn start_log(&mut self) {
        self.log = Some(Vec::new());
    }

    /// The loss events logged.
    #[must_use]
    pub fn log(&self) -> &[LossEvent] {
        self.log.as_deref().unwrap_or_default()
    }

    /// Returns loss events and packets at the end of slow start.
    #[must_use]
    pub fn first_event(&self) -> Option<FlowLosses> {
        self.first_event
    }

    pub(super) fn on_data(
        &mut self,
        now: Instant,
        header: &Header,
        data: &TfrcData,
        context: &mut Context<'_, Payload>,
    ) {
        if self.numbers.arrives(data.seq) {
            self.packets += 1;
            self.bytes += u64::from(data.size);
        }
        let events = self.machine.loss_events();
        self.machine.on_stamped_packet(
            now,
            Arrival {
                seq: data.seq,
                size: data.size,
                ecn: header.ecn,
                rtt: data.rtt,
                window_counter: 0,
                kind: PacketKind::Data,
                non_data_before: 0,
            },
            data.stamp,
        );
        let events = self.machine.loss_events().saturating_sub(events);
        if events > 0 {
            self.write_log(now, events);
        }
        if self.first_event.is_none() && self.machine.loss_events() > 0 {
            self.first_event = Some(self.losses());
        }
        self.sender = Some((header.src, header.flow));
        self.go_on(now, context);
    }

    /// The newest `events` intervals that were closed, oldest first.
    #[inline(never)]
    fn write_log(&mut self, now: Instant, events: u64) {
        let Some(log) = &mut self.log else { return };
        let mean = 1.0 / self.machine.loss_event_rate().get();
        let events = saturating::<usize>(events);
        let closed = self.machine.loss_intervals().skip(1).take(events).map(|i| i.data_length);
        let mut closed: Vec<f64> = closed.collect();
        closed.reverse();
        log.extend(closed.into_iter().map(|interval| LossEvent { at: now, interval, mean }));
    }

    pub(super) fn on_timer(&mut self, now: Instant, context: &mut Context<'_, Payload>) {
        self.machine.handle_timeout(now);
        self.go_on(now, context);
    }

    /// Sends the report that is due, and sets the timer.
    #[inline]
    fn go_on(&mut self, now: Instant, context: &mut Context<'_, Payload>) {
        if self.machine.is_report_due() {
            self.send_reports(now, context);
        }
        match self.machine.poll_timeout() {
            Some(wake) => context.set_timer(PROTOCOL, wake.at),
            None => context.cancel_timer(PROTOCOL),
        }
    }

    #[inline(never)]
    fn send_reports(&mut self, now: Instant, context: &mut Context<'_, Payload>) {
        while let Some(report) = self.machine.poll_feedback(now) {
            if let Some((to, flow)) = self.sender {
                let payload = Payload::TfrcFeedback(report);
                context.send(Outgoing {
                    to,
                    flow,
                    size: self.report_bytes,
                    ecn: Ecn::NotEct,
                    precedence: Precedence::Low,
                    payload,
                });
            }
        }
    }
}
