//! Which packet goes out next.

use alloc::vec::Vec;

use tfrc_units::{Ecn, Instant, SeqNo48};

use super::build::Scratch;
use super::pmtu::ProbePacket;
use super::{Connection, DueReset, State};
use crate::feature::Role;
use crate::wire::PacketType;

/// A packet to be sent, whose bytes are in the buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transmit {
    /// The ECN codepoint to send it with.
    pub ecn: Ecn,
    /// Its type, for statistics.
    pub kind: PacketType,
}

/// A packet decided on but not built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PlannedPacket {
    Request,
    Response,
    Data(Vec<u8>),
    Ack,
    DataAck(Vec<u8>),
    CloseReq,
    Close,
    Reset(DueReset),
    Sync(SeqNo48),
    SyncAck(SeqNo48),
    Probe(ProbePacket),
}

impl Connection {
    /// The next packet to send now, written into `out`, which is cleared first; `None` when there
    /// is none. Its answer can change with every input and with time.
    pub fn poll_transmit(&mut self, now: Instant, out: &mut Vec<u8>) -> Option<Transmit> {
        self.poll_transmit_in(now, out, &mut Scratch::default())
    }

    /// Returns the next packet as [`Self::poll_transmit`], in a reused scratch space.
    pub(crate) fn poll_transmit_in(
        &mut self,
        now: Instant,
        out: &mut Vec<u8>,
        scratch: &mut Scratch,
    ) -> Option<Transmit> {
        let now = self.advance(now);
        self.assert_timeouts_served();
        out.clear();
        let plan = self.plan(now)?;
        self.build(now, plan, out, scratch)
    }

    fn plan(&mut self, now: Instant) -> Option<PlannedPacket> {
        if let Some(reset) = self.due.reset.take() {
            return Some(PlannedPacket::Reset(*reset));
        }
        match self.state {
            State::Closed => return None,
            State::Request => {
                return core::mem::take(&mut self.due.handshake).then_some(PlannedPacket::Request);
            }
            State::Respond if core::mem::take(&mut self.due.handshake) => {
                return Some(PlannedPacket::Response);
            }
            _ => {}
        }
        if let Some(seq) = self.due.question.take() {
            return Some(PlannedPacket::Sync(seq));
        }
        if let Some(seq) = self.due.sync.take() {
            return Some(PlannedPacket::Sync(seq));
        }
        if let Some(seq) = self.due.sync_ack.take() {
            return Some(PlannedPacket::SyncAck(seq));
        }
        if !self.state.carries_data() {
            return None;
        }
        // RFC 4340 §8.1.5.
        // A client's first word in PARTOPEN is a pure acknowledgement: the server counts on that.
        if self.state == State::PartOpen && core::mem::take(&mut self.due.ack) {
            return Some(PlannedPacket::Ack);
        }
        if self.report.is_none()
            && let Some(receiver) = &mut self.receiver
        {
            self.report = receiver.poll_feedback(now);
        }
        if self.state == State::Open
            && let Some(probe) = self.path.poll_probe()
        {
            return Some(PlannedPacket::Probe(probe));
        }
        if let Some(length) = self.ready_datagram(now)
            && self.cookies_leave_room(length)
        {
            return self.plan_data(length);
        }
        self.close_when_flushed(now);
        if core::mem::take(&mut self.due.close) {
            return match (self.state, self.role) {
                (State::CloseReq, Role::Server) => Some(PlannedPacket::CloseReq),
                (State::Closing, _) => Some(PlannedPacket::Close),
                _ => None,
            };
        }
        let rides_no_more = self.feature_ride_over(now);
        let owed = core::mem::take(&mut self.due.ack);
        (self.report.is_some() || owed || rides_no_more).then_some(PlannedPacket::Ack)
    }

    /// In PARTOPEN every packet carries the Init Cookies (RFC 4340 §8.1.4): a datagram that leaves
    /// no room for them waits.
    fn cookies_leave_room(&self, datagram: usize) -> bool {
        let cookies: usize = self.init_cookies.iter().map(|cookie| cookie.len() + 2).sum();
        self.state != State::PartOpen || cookies == 0 || datagram + cookies <= self.max_datagram()
    }

    /// Data goes with an acknowledgement where there is something to say; if that makes it too
    /// long, the acknowledgement is sent first.
    fn plan_data(&mut self, length: usize) -> Option<PlannedPacket> {
        // RFC 4340 §4.3.
        let part_open = self.state == State::PartOpen;
        let negotiates = self.features.owes_answer() || self.features.owes_question();
        if !(part_open || self.due.ack || self.report.is_some() || negotiates) {
            return self.take_datagram().map(PlannedPacket::Data);
        }
        self.due.ack = false;
        // RFC 4340 §11.2.
        if self.report.is_some() && !self.report_fits(length) {
            return Some(PlannedPacket::Ack);
        }
        self.take_datagram().map(PlannedPacket::DataAck)
    }

    /// Feature options wait about a round-trip time for a packet that goes anyway
    /// (RFC 4340 §6.6.1).
    fn feature_ride_over(&mut self, now: Instant) -> bool {
        if !(self.features.owes_answer() || self.features.owes_question()) {
            self.timers.feature_ride = None;
            return false;
        }
        let wait = self.round_trip();
        now >= *self.timers.feature_ride.get_or_insert(now + wait)
    }
}
