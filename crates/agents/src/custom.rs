//! Flows whose congestion control is the host's own.

use std::collections::VecDeque;
use std::fmt;

use tfrc_scenario::CustomFlow;
use tfrc_sim::packet::{FlowId, Header, Outgoing, Precedence};
use tfrc_sim::traffic::{Distinct, Supply, Timetable};
use tfrc_sim::{Address, Context, TimerKey};
use tfrc_units::{Duration, Ecn, Instant, Rate, f64_from_u64};

use crate::Mean;
use crate::payload::{Payload, START};

/// A congestion control of the host's own, for flows of `kind = "custom"`.
///
/// The flow under it sends packets of one size as long as fewer than the window are outstanding,
/// paced if there is a rate. The receiver acknowledges each packet at once, by its number. A packet
/// counts as lost when three sent after it have been acknowledged (as RFC 9002 §6.1.1), or when
/// nothing has been acknowledged for a timeout (RFC 6298 with a floor of 200 ms): then all
/// outstanding packets are lost.
pub trait Controller: fmt::Debug + Send {
    /// The flow starts.
    fn start(&mut self, now: Instant);

    /// A packet was acknowledged.
    fn acknowledged(&mut self, now: Instant, packet: &Acknowledged);

    /// Packets are lost.
    fn lost(&mut self, now: Instant, loss: &Lost);

    /// Nothing was acknowledged for the timeout, and all outstanding packets are lost.
    fn timed_out(&mut self, now: Instant);

    /// The window and rate from now on; asked after each of the other calls.
    fn allowance(&mut self, now: Instant) -> Allowance;
}

/// A packet that was acknowledged.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Acknowledged {
    /// Its number in its flow, from 0.
    pub number: u64,
    /// Bytes of its data.
    pub bytes: u32,
    /// Its round-trip time.
    pub rtt: Duration,
    /// Packets outstanding now, without it.
    pub outstanding: u64,
    /// True if a link marked it (ECN).
    pub marked: bool,
}

/// Packets that were found to be lost at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lost {
    /// How many.
    pub packets: u64,
    /// Packets outstanding now, without them.
    pub outstanding: u64,
    /// True if the first of them was sent after the losses reported before: one reaction is for all
    /// losses until the next such one (RFC 5348 §5.2 has events of this kind).
    pub begins_event: bool,
}

/// The part of a flow that its controller decides.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Allowance {
    /// Most packets outstanding, from 1 to 1,048,576 in effect; not a number counts as 1.
    pub window: f64,
    /// Most bytes on the wire per time; `None` sends as the window allows.
    pub rate: Option<Rate>,
}

/// Content of a data packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CustomData {
    number: u64,
    bytes: u32,
}

impl CustomData {
    /// Its number in its flow, from 0.
    #[must_use]
    pub const fn number(&self) -> u64 {
        self.number
    }
}

/// Content of an acknowledgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CustomAck {
    number: u64,
    marked: bool,
}

impl CustomAck {
    /// The number of the packet that it acknowledges, in its flow from 0.
    #[must_use]
    pub const fn number(&self) -> u64 {
        self.number
    }
}

const SEND: TimerKey = START;
const TIMEOUT: TimerKey = TimerKey::Second;
/// Bytes of an acknowledgement on the wire: those of a TCP with timestamps.
const ACK_BYTES: u32 = 52;
/// Packets sent later whose acknowledgement shows a loss (RFC 9002 §6.1.1).
const THRESHOLD: u64 = 3;
/// The largest window in effect, packets: about a round trip of 10 s at 1 Gbit/s.
const MOST_OUTSTANDING: f64 = 1_048_576.0;
const FIRST_TIMEOUT: Duration = Duration::from_secs(1);
const SHORTEST_TIMEOUT: Duration = Duration::from_millis(200);
const LONGEST_TIMEOUT: Duration = Duration::from_secs(60);

/// The sending end. It starts when its first timer fires.
#[derive(Debug)]
pub struct CustomSender {
    controller: Box<dyn Controller>,
    peer: Address,
    flow: FlowId,
    setup: CustomFlow,
    timetable: Timetable,
    stop: Option<Instant>,
    allowance: Allowance,
    next: u64,
    /// When each packet from `first` on was sent; `None` once it is acknowledged or lost.
    sent: VecDeque<Option<Instant>>,
    first: u64,
    outstanding: u64,
    /// Packets below are lost if they are not acknowledged.
    overtaken: u64,
    /// When pacing allows the next packet.
    release: Instant,
    srtt: Option<(Duration, Duration)>,
    backoff: u32,
    heard: Instant,
    rtt: Mean,
    loss_events: u64,
    /// Packets sent before the reaction to the latest loss event.
    reacted: u64,
    acknowledged: u64,
    started: bool,
}

impl CustomSender {
    /// A sender that has not begun.
    #[must_use]
    pub fn new(
        controller: Box<dyn Controller>,
        setup: CustomFlow,
        peer: Address,
        flow: FlowId,
        (timetable, stop): (Timetable, Option<Instant>),
    ) -> Self {
        Self {
            controller,
            peer,
            flow,
            setup,
            timetable,
            stop,
            allowance: Allowance { window: 1.0, rate: None },
            next: 0,
            sent: VecDeque::new(),
            first: 0,
            outstanding: 0,
            overtaken: 0,
            release: Instant::ZERO,
            srtt: None,
            backoff: 0,
            heard: Instant::ZERO,
            rtt: Mean::default(),
            loss_events: 0,
            reacted: 0,
            acknowledged: 0,
            started: false,
        }
    }

    /// Packets sent.
    #[must_use]
    pub const fn sent_packets(&self) -> u64 {
        self.next
    }

    /// Bytes sent.
    #[must_use]
    pub fn sent_bytes(&self) -> u64 {
        self.next * u64::from(self.setup.segment)
    }

    /// Packets that the receiver has acknowledged.
    #[must_use]
    pub const fn acknowledged_packets(&self) -> u64 {
        self.acknowledged
    }

    /// Loss events: losses of packets sent after the reaction to the one before.
    #[must_use]
    pub const fn loss_events(&self) -> u64 {
        self.loss_events
    }

    /// The mean of the samples of the round-trip time, in seconds.
    #[must_use]
    pub const fn rtt(&self) -> Mean {
        self.rtt
    }

    /// The smoothed round-trip time, `None` before the first sample.
    #[must_use]
    pub fn smoothed_rtt(&self) -> Option<Duration> {
        self.srtt.map(|(srtt, _)| srtt)
    }

    /// The window and the rate that the controller allows.
    #[must_use]
    pub const fn allowance(&self) -> Allowance {
        self.allowance
    }

    pub(super) fn on_timer(&mut self, now: Instant, key: TimerKey, context: &mut Context<'_, Payload>) {
        if !self.started {
            self.started = true;
            self.heard = now;
            self.controller.start(now);
            self.allowance = self.controller.allowance(now);
        } else if key == TIMEOUT && self.outstanding > 0 {
            self.sent.clear();
            self.first = self.next;
            self.outstanding = 0;
            self.overtaken = self.next;
            self.backoff = (self.backoff + 1).min(16);
            self.heard = now;
            self.count_loss(self.next.saturating_sub(1));
            self.controller.timed_out(now);
            self.allowance = self.controller.allowance(now);
        }
        self.go_on(now, context);
    }

    pub(super) fn on_ack(&mut self, now: Instant, ack: CustomAck, context: &mut Context<'_, Payload>) {
        let place = ack.number.checked_sub(self.first).and_then(|place| usize::try_from(place).ok());
        if let Some(sent) = place.and_then(|place| self.sent.get_mut(place)?.take()) {
            self.outstanding -= 1;
            self.acknowledged += 1;
            self.backoff = 0;
            self.heard = now;
            let rtt = now.saturating_since(sent);
            self.measured(rtt);
            let packet = Acknowledged {
                number: ack.number,
                bytes: self.setup.segment,
                rtt,
                outstanding: self.outstanding,
                marked: ack.marked,
            };
            self.controller.acknowledged(now, &packet);
            self.find_losses(now, ack.number);
            self.allowance = self.controller.allowance(now);
        }
        self.go_on(now, context);
    }

    /// RFC 6298 §2.
    fn measured(&mut self, rtt: Duration) {
        self.rtt.add(rtt.as_secs_f64());
        self.srtt = Some(match self.srtt {
            None => (rtt, rtt.mul_f64(0.5)),
            Some((srtt, variation)) => {
                let off = if srtt > rtt { srtt.saturating_sub(rtt) } else { rtt.saturating_sub(srtt) };
                (srtt.mul_f64(0.875) + rtt.mul_f64(0.125), variation.mul_f64(0.75) + off.mul_f64(0.25))
            }
        });
    }

    fn find_losses(&mut self, now: Instant, acknowledged: u64) {
        self.overtaken = self.overtaken.max((acknowledged + 1).saturating_sub(THRESHOLD));
        let (mut packets, mut first_lost) = (0, None);
        while let Some(front) = self.sent.front() {
            if front.is_some() {
                if self.first >= self.overtaken {
                    break;
                }
                packets += 1;
                first_lost.get_or_insert(self.first);
            }
            self.sent.pop_front();
            self.first += 1;
        }
        if let Some(first) = first_lost {
            self.outstanding -= packets;
            let begins_event = self.count_loss(first);
            let loss = Lost { packets, outstanding: self.outstanding, begins_event };
            self.controller.lost(now, &loss);
        }
    }

    /// Returns true if a loss begins an event.
    fn count_loss(&mut self, first: u64) -> bool {
        let begins = first >= self.reacted;
        if begins {
            self.loss_events += 1;
            self.reacted = self.next;
        }
        begins
    }

    /// Sends what may go, and sets both timers.
    fn go_on(&mut self, now: Instant, context: &mut Context<'_, Payload>) {
        let stopped = self.stop.is_some_and(|stop| now >= stop) || self.is_done();
        let supply = self.timetable.at(now);
        let mut paced = supply.next.filter(|_| !stopped);
        // Not a number, or below 1: one packet.
        let window = self.allowance.window;
        let window = if window >= 1.0 { window.min(MOST_OUTSTANDING) } else { 1.0 };
        while !stopped && self.wants_more(&supply) && f64_from_u64(self.outstanding) + 1.0 <= window {
            if self.release > now {
                paced = Some(paced.map_or(self.release, |next| next.min(self.release)));
                break;
            }
            self.send(now, context);
        }
        match paced {
            Some(at) => context.set_timer(SEND, at),
            None => context.cancel_timer(SEND),
        }
        if self.outstanding == 0 {
            context.cancel_timer(TIMEOUT);
        } else {
            context.set_timer(TIMEOUT, self.heard + self.timeout());
        }
    }

    /// All data has arrived.
    fn is_done(&self) -> bool {
        let bytes = self.acknowledged * u64::from(self.setup.segment);
        self.timetable.total().is_some_and(|total| bytes >= total)
    }

    /// More has to be sent, if nothing outstanding is lost.
    fn wants_more(&self, supply: &Supply) -> bool {
        supply.left((self.acknowledged + self.outstanding) * u64::from(self.setup.segment)) > 0
    }

    fn timeout(&self) -> Duration {
        let first =
            self.srtt.map_or(FIRST_TIMEOUT, |(srtt, variation)| (srtt + variation * 4).max(SHORTEST_TIMEOUT));
        (first * (1 << self.backoff)).min(LONGEST_TIMEOUT)
    }

    fn send(&mut self, now: Instant, context: &mut Context<'_, Payload>) {
        let CustomFlow { segment, header, ecn, .. } = self.setup;
        let size = segment + header;
        let payload = Payload::CustomData(CustomData { number: self.next, bytes: segment });
        let (to, flow, precedence) = (self.peer, self.flow, Precedence::Low);
        context.send(Outgoing { to, flow, size, ecn, precedence, payload });
        if self.outstanding == 0 {
            self.heard = now;
        }
        self.sent.push_back(Some(now));
        self.next += 1;
        self.outstanding += 1;
        if let Some(rate) = self.allowance.rate {
            self.release = self.release.max(now) + rate.time_for(f64::from(size));
        }
    }
}

/// The receiving end.
#[derive(Debug)]
pub struct CustomReceiver {
    transfer: Option<u64>,
    numbers: Distinct,
    packets: u64,
    bytes: u64,
    completed: Option<Instant>,
}

impl CustomReceiver {
    /// A receiver of a transfer of `transfer` bytes, or of data without end.
    #[must_use]
    pub const fn new(transfer: Option<u64>) -> Self {
        Self { transfer, numbers: Distinct::from(0), packets: 0, bytes: 0, completed: None }
    }

    /// Packets received.
    #[must_use]
    pub const fn packets(&self) -> u64 {
        self.packets
    }

    /// Bytes received.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// When all data of a transfer had arrived.
    #[must_use]
    pub const fn completed(&self) -> Option<Instant> {
        self.completed
    }

    pub(super) fn on_data(
        &mut self,
        now: Instant,
        header: &Header,
        data: CustomData,
        context: &mut Context<'_, Payload>,
    ) {
        if self.numbers.arrives(data.number) {
            self.packets += 1;
            self.bytes += u64::from(data.bytes);
        }
        if self.completed.is_none() && self.transfer.is_some_and(|transfer| self.bytes >= transfer) {
            self.completed = Some(now);
        }
        let ack = CustomAck { number: data.number, marked: header.ecn == Ecn::Ce };
        context.send(Outgoing {
            to: header.src,
            flow: header.flow,
            size: ACK_BYTES,
            ecn: Ecn::NotEct,
            precedence: Precedence::Low,
            payload: Payload::CustomAck(ack),
        });
    }
}
