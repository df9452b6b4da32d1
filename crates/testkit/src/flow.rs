//! A sender and a receiver of RFC 5348 over a wire, and an application that has packets to send.

use tfrc::{Config, Feedback, PacketKind, Receiver, Report, SendDecision, Sender, SentRecord};
use tfrc_units::{Duration, Ecn, Instant};

use crate::{Clock, Fate, Parcel, Side, Wire};

/// Packets that the sender's record holds: more than any test has in flight.
const RECORD: usize = 1 << 14;

/// Something that has happened, for a test to count or to look at.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FlowEvent {
    /// The sender has sent a packet, lost or not.
    Sent,
    /// The receiver has sent this report.
    Reported(Report),
    /// The sender has taken in a report.
    Told,
}

/// A packet of either direction.
#[derive(Debug, Clone)]
pub enum FlowPacket {
    /// A data packet, as the receiver gets it, with the facts of its sender.
    Data(tfrc::Arrival, tfrc::study::Stamp),
    /// A report, as the receiver makes it.
    Report(Report),
}

/// A sender at the client, a receiver at the server, and packets of one size.
///
/// The two keep their contract: a packet goes when the sender says so, and timers are served at
/// their time.
pub struct Flow<'a> {
    /// The data sender.
    pub sender: Sender,
    /// The data receiver.
    pub receiver: Receiver,
    /// The current virtual time.
    pub now: Instant,
    /// The clock of both ends; at first it shows every time.
    pub clock: Clock,
    /// The application makes a packet so often, and those not sent wait; zero, as at first, if it
    /// always has one.
    pub every: Duration,
    /// Turns the feedback that a report gives into the one that the sender gets; unchanged at
    /// first.
    pub tells: Box<dyn Fn(Feedback) -> Feedback + 'a>,
    /// Gives a fate to each report, at the time at which it is sent; at first they all arrive.
    pub report_rule: Box<dyn FnMut(Instant) -> Fate + 'a>,
    size: u32,
    wire: Wire<FlowPacket>,
    rule: Box<dyn FnMut(Instant) -> Fate + 'a>,
    record: Box<SentRecord<RECORD>>,
}

impl<'a> Flow<'a> {
    /// A flow of packets of `size` bytes. `rule` gives a fate to each, at the time at which it is
    /// sent.
    #[must_use]
    pub fn new(
        config: &Config,
        size: u32,
        wire: Wire<FlowPacket>,
        rule: impl FnMut(Instant) -> Fate + 'a,
    ) -> Self {
        Self {
            sender: Sender::new(config),
            receiver: Receiver::new(config),
            now: Instant::ZERO,
            clock: Clock::default(),
            every: Duration::ZERO,
            tells: Box::new(|truth| truth),
            report_rule: Box::new(|_| Fate::Deliver),
            size,
            wire,
            rule: Box::new(rule),
            record: Box::new(SentRecord::starting_at(0)),
        }
    }

    /// Packets sent so far.
    #[must_use]
    pub fn sent(&self) -> u64 {
        self.record.next_seq()
    }

    /// Goes on to the next event; `None` once the time is `end` or later, or after the sender
    /// has stopped for good.
    pub fn next(&mut self, end: Instant) -> Option<FlowEvent> {
        loop {
            let reading = self.clock.read(self.now);
            while let Some(arrival) = self.wire.receive(self.now) {
                match arrival.payload {
                    FlowPacket::Data(packet, stamp) => {
                        self.receiver.on_stamped_packet(reading, packet, stamp);
                    }
                    FlowPacket::Report(report) => {
                        let truth = self.record.feedback(&report).expect("a packet of the record");
                        self.sender.on_feedback(reading, (self.tells)(truth));
                        return Some(FlowEvent::Told);
                    }
                }
            }
            if let Some(report) = self.receiver.poll_feedback(reading) {
                let packet = Parcel { size: 0, ecn: Ecn::NotEct, payload: FlowPacket::Report(report) };
                self.wire.send(self.now, Side::Server, packet, (self.report_rule)(self.now));
                return Some(FlowEvent::Reported(report));
            }
            if self.now >= end {
                return None;
            }
            let made = Instant::ZERO + self.every * self.sent();
            let next = match self.sender.next_send(reading) {
                SendDecision::Now if made <= self.now => {
                    self.send();
                    return Some(FlowEvent::Sent);
                }
                SendDecision::Now => made,
                SendDecision::At(next) => self.clock.when(next).max(made),
                SendDecision::Stopped(_) => return None,
            };
            let timers = [self.sender.poll_timeout(), self.receiver.poll_timeout()];
            let timers = timers.map(|wake| Some(self.clock.when(wake?.at)));
            let wakes = timers.into_iter().chain([self.wire.poll_timeout()]).flatten();
            self.now = wakes.fold(next, Instant::min).max(self.now);
            let reading = self.clock.read(self.now);
            self.sender.handle_timeout(reading);
            self.receiver.handle_timeout(reading);
        }
    }

    fn send(&mut self) {
        let (now, reading) = (self.now, self.clock.read(self.now));
        let packet = tfrc::Arrival {
            seq: self.record.on_sent(reading),
            size: self.size,
            ecn: Ecn::NotEct,
            rtt: self.sender.rtt(),
            window_counter: 0,
            kind: PacketKind::Data,
            non_data_before: 0,
        };
        let payload = FlowPacket::Data(packet, self.sender.stamp(reading));
        self.sender.on_sent(reading, self.size);
        let packet = Parcel { size: self.size, ecn: Ecn::NotEct, payload };
        self.wire.send(now, Side::Client, packet, (self.rule)(now));
    }
}
