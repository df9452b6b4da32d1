//! Builds packets: numbers, options, and the record of each packet sent.

use alloc::vec::Vec;

use tfrc_units::{Ecn, Instant, SeqNo48, saturating};

use super::pmtu::ProbePacket;
use super::refused::MAX_BLOCKS;
use super::transmit::PlannedPacket;
use super::{Connection, EcnSending, Role, State, Transmit};
use crate::ccid::SentKind;
use crate::feature::{Feature, Location, Repeat};
use crate::wire::{
    DataDropped, Elapsed, Header, Opt, OptionList, OptionsFull, Packet, PacketType, RttEstimate, SeqAck,
    Sequence,
};

/// Bytes of the options that must fit next to a datagram in a DataAck: NDP Count, Elapsed Time, RTT
/// Estimate, and a Confirm of Sequence Window.
const DATA_OPTIONS: usize = 24;

/// Bytes of a server's greeting for each of its client's. With 5 and an Init Cookie, a Response
/// with all that sessions negotiate has at most 3 times the bytes of its Request, headers of UDP
/// and IP included.
const MOST_GREETING: usize = 5;

/// Reused buffers; one set for all connections of an endpoint.
#[derive(Debug, Clone, Default)]
pub(crate) struct Scratch {
    options: OptionList,
    /// Buffers of datagrams that were sent.
    pub(crate) spare: Vec<Vec<u8>>,
}

/// Maximum number of buffers kept: the datagrams that one turn of a host sends.
const SPARE: usize = 16;

impl Connection {
    /// The longest datagram that can be sent, in bytes.
    #[must_use]
    pub fn max_datagram(&self) -> usize {
        // RFC 4340 §14.
        self.path.current().saturating_sub(PacketType::DataAck.fixed_length(true) + DATA_OPTIONS)
    }

    /// Returns true if feedback fits next to a datagram of this length.
    pub(super) fn report_fits(&self, datagram: usize) -> bool {
        const ELAPSED_TIME: usize = 6;
        const SLOW_RECEIVER: usize = 1;
        let feedback = self.receiver.as_ref().map_or(0, |receiver| receiver.feedback_length());
        let refused = self.refused.as_ref().map_or(0, |refused| refused.option_length());
        datagram + feedback + refused + ELAPSED_TIME + SLOW_RECEIVER <= self.max_datagram()
    }

    pub(super) fn build(
        &mut self,
        now: Instant,
        plan: PlannedPacket,
        out: &mut Vec<u8>,
        scratch: &mut Scratch,
    ) -> Option<Transmit> {
        self.skip_if_due(now, &plan);
        let seq = self.seq.next();
        // RFC 4340 §7.4.
        let gsr = self.seq.gsr().unwrap_or_default();
        let service = self.config.service;
        let numbers = SeqAck::Long { seq, ack: gsr };
        let probe = if let PlannedPacket::Probe(probe) = plan { Some(probe) } else { None };
        let (header, mut payload) = match plan {
            // RFC 4340 §8.1.1.
            PlannedPacket::Request => (Header::Request { seq, service }, Vec::new()),
            // RFC 4340 §5.3.
            PlannedPacket::Response => (Header::Response { seq, ack: gsr, service }, Vec::new()),
            // RFC 4340 §7.2, RFC 4340 §7.6.1, RFC 4340 §7.6.2.
            PlannedPacket::Data(datagram) => (Header::Data { seq: Sequence::Long(seq) }, datagram),
            PlannedPacket::Ack => (Header::Ack { numbers }, Vec::new()),
            PlannedPacket::DataAck(datagram) => (Header::DataAck { numbers }, datagram),
            PlannedPacket::CloseReq => (Header::CloseReq { seq, ack: gsr }, Vec::new()),
            PlannedPacket::Close => (Header::Close { seq, ack: gsr }, Vec::new()),
            PlannedPacket::Sync(ack) => (Header::Sync { seq, ack }, Vec::new()),
            PlannedPacket::Probe(_) => (Header::Sync { seq, ack: gsr }, Vec::new()),
            PlannedPacket::SyncAck(ack) => (Header::SyncAck { seq, ack }, Vec::new()),
            PlannedPacket::Reset(due) => {
                let ack = due.ack.unwrap_or(gsr);
                (Header::Reset { seq, ack, reset: due.reset }, due.text.into_bytes())
            }
        };
        let kind = header.kind();
        let room = self.path.current().saturating_sub(kind.fixed_length(true) + payload.len());
        let Scratch { options: list, spare } = scratch;
        list.reset(room);
        // What does not fit stays due or can be spared.
        let _ = self.push_options(now, seq, kind, list);
        if let Some(ProbePacket::Long(length)) = probe {
            // What a Sync carries is ignored (RFC 4340 §5.7, 14.1).
            let headers = kind.fixed_length(true) + list.padded().len();
            payload.resize(length.saturating_sub(headers), 0);
        }
        // RFC 4340 §5.1.
        let ccval = if kind.carries_datagram() { self.sender.window_counter(now) } else { 0 };
        let packet = Packet {
            source_port: self.ports.local,
            destination_port: self.ports.remote,
            ccval,
            coverage: 0,
            header,
            options: list.padded(),
            payload: &payload,
        };
        let emitted = packet.emit(out, self.sending_integrity());
        let length = payload.len();
        if kind.carries_datagram() && spare.len() < SPARE {
            spare.push(payload);
        }
        emitted.ok()?;
        if let Some(probe) = probe {
            self.path.on_probe_sent(now, seq, probe, self.round_trip());
            self.stats.sent_path_probes += 1;
        }
        self.path.on_sent(now, seq, out.len(), kind.carries_datagram());
        self.remember(now, seq, kind, ccval, length);
        Some(Transmit { ecn: self.codepoint(kind), kind })
    }

    /// At times the number before a datagram stays unused; to the peer it looks like a lost
    /// packet without data.
    /// RFC 4340 §12.3.
    fn skip_if_due(&mut self, now: Instant, plan: &PlannedPacket) {
        let datagram = matches!(plan, PlannedPacket::Data(_) | PlannedPacket::DataAck(_));
        if datagram && self.state == State::Open && self.skipper.is_due() {
            let seq = self.seq.next();
            self.sender.on_skipped(now, seq);
            self.non_data_run += 1;
            self.stats.skipped_numbers += 1;
        }
    }

    fn push_options(
        &mut self,
        now: Instant,
        seq: SeqNo48,
        kind: PacketType,
        list: &mut OptionList,
    ) -> Result<(), OptionsFull> {
        let handshake = matches!(kind, PacketType::Request | PacketType::Response);
        // RFC 4340 §7.7.
        if self.non_data_run > 0 && !handshake {
            // RFC 4340 §7.7.2.
            list.push(&Opt::NdpCount(self.non_data_run))?;
        }
        // RFC 4342 §8.3, RFC 4342 §8.5, RFC 4342 §8.6.
        if matches!(kind, PacketType::Ack | PacketType::DataAck) {
            self.push_acknowledgement(now, list)?;
        }
        if kind == PacketType::Reset {
            // So that the sender's count is complete.
            self.push_refused(list);
        }
        let reports_rtt = self.features.is_on(Feature::SendRttEstimate, Location::Local);
        // RFC 6323 §3.3.
        if reports_rtt && (kind.carries_datagram() || matches!(kind, PacketType::Sync | PacketType::SyncAck))
        {
            list.push(&Opt::RttEstimate(RttEstimate::from_rtt(self.sender.tfrc().rtt())))?;
        }
        if let Some((value, at)) = self.echo.filter(|_| kind != PacketType::Data) {
            let elapsed = Some(self.held_since(now, at));
            list.push(&Opt::TimestampEcho { value, elapsed })?;
            // RFC 4340 §13.1.
            self.echo = None;
        }
        if kind.carries_datagram()
            && let Some(stamp) = self.sender.timestamp(now)
        {
            list.push(&Opt::Timestamp(stamp))?;
        }
        // RFC 4340 §8.1.4.
        // A client that closes in PARTOPEN still has them.
        if matches!(self.state, State::PartOpen | State::Closing) || kind == PacketType::Response {
            for cookie in &self.init_cookies {
                list.push(&Opt::InitCookie(cookie))?;
            }
        }
        if self.state != State::Closed {
            let replaces = handshake || self.state == State::PartOpen;
            let repeat = if replaces { Repeat::Handshake } else { Repeat::Due };
            self.features.emit(now, self.sender.rtt_or_default(), seq, kind, repeat, list);
        }
        let note = match kind {
            PacketType::Response if !self.may_greet() => return Ok(()),
            PacketType::Request | PacketType::Response => &self.config.greeting,
            PacketType::Close => &self.closing_text,
            _ => return Ok(()),
        };
        if note.is_empty() { Ok(()) } else { list.push(&Opt::Note(note.as_bytes())) }
    }

    /// True if the client has greeted, and not much shorter: a Response is for whoever is said to
    /// have sent the Request, and is to be at most three times as long.
    fn may_greet(&self) -> bool {
        let peer = self.peer_greeting().map_or(0, str::len);
        self.config.greeting.len() <= MOST_GREETING * peer
    }

    /// Elapsed Time, and feedback if it is due (RFC 4342 §6).
    fn push_acknowledgement(&mut self, now: Instant, list: &mut OptionList) -> Result<(), OptionsFull> {
        let part_open = self.state == State::PartOpen;
        let Some(mut report) = self.report.take() else {
            // In PARTOPEN the server takes its round-trip time from this.
            return if part_open { list.push(&self.elapsed(now)) } else { Ok(()) };
        };
        let slow = self.queue.is_half_full();
        if slow && let Some(pace) = &mut self.pace {
            // With Slow Receiver the sender goes no faster than this (RFC 4342 §5.2).
            pace.advance(now);
            report.receive_rate =
                pace.rate().map_or(report.receive_rate, |rate| rate.min(report.receive_rate));
        }
        // RFC 4342 §8.2.
        list.push(&self.elapsed(now))?;
        let Some(receiver) = &mut self.receiver else { return Ok(()) };
        let acknowledged = self.seq.gsr().map_or(report.newest_seq, |gsr| self.seq.extend(gsr));
        receiver.push_feedback(&report, acknowledged.saturating_sub(report.newest_seq), list)?;
        self.stats.sent_feedback += 1;
        // RFC 4340 §11.6.
        if slow {
            list.push(&Opt::SlowReceiver)?;
        }
        self.push_refused(list);
        Ok(())
    }

    /// Data Dropped, as much of it as there is room for.
    pub(super) fn push_refused(&mut self, list: &mut OptionList) {
        const HEAD: usize = 2;
        let (Some(refused), Some(gsr)) = (&mut self.refused, self.seq.gsr()) else { return };
        let limit = list.left().saturating_sub(HEAD).min(MAX_BLOCKS);
        let mut blocks = Vec::new();
        refused.report(self.seq.extend(gsr), limit, &mut blocks);
        // RFC 4340 §11.7.
        if !blocks.is_empty() {
            // It fits: there are no more blocks than there is room for.
            let _ = list.push(&Opt::DataDropped(DataDropped { blocks: &blocks }));
        }
    }

    fn elapsed(&self, now: Instant) -> Opt<'static> {
        Opt::ElapsedTime(self.held_since(now, self.gsr_arrived))
    }

    /// How long a packet that arrived then has been here for certain.
    fn held_since(&self, now: Instant, arrived: Instant) -> Elapsed {
        let by_clock = now.saturating_since(arrived);
        let certain = self.receiver.as_ref().map_or(by_clock, |r| r.tfrc().certain_hold(by_clock));
        Elapsed::from_duration(certain)
    }

    fn codepoint(&self, kind: PacketType) -> Ecn {
        let usual = matches!(kind, PacketType::Data | PacketType::Ack | PacketType::DataAck);
        // RFC 4340 §12.1, RFC 4340 §12.2.
        let readable = !self.features.is_on(Feature::EcnIncapable, Location::Remote);
        let passes = self.sending_ecn_fault().is_none();
        match self.config.ecn {
            // RFC 4340 §12.
            EcnSending::Ect0 if usual && readable && passes => Ecn::Ect0,
            _ => Ecn::NotEct,
        }
    }

    /// Records a packet that was sent.
    fn remember(&mut self, now: Instant, seq: SeqNo48, kind: PacketType, ccval: u8, datagram: usize) {
        if kind.is_data() {
            self.non_data_run = 0;
        } else {
            self.non_data_run += 1;
        }
        let sent = if kind.carries_datagram() { SentKind::Data(ccval) } else { SentKind::NonData };
        self.sender.on_sent(now, seq, sent, datagram);
        if kind.carries_datagram() {
            self.newest_datagram = seq;
            self.stats.sent_data_packets += 1;
            self.stats.sent_data_bytes += saturating::<u64>(datagram);
        } else {
            self.stats.sent_non_data_packets += 1;
        }
        match kind {
            PacketType::Request => self.request_sent(now),
            PacketType::Close | PacketType::CloseReq => self.close_sent(now),
            PacketType::Sync | PacketType::SyncAck => self.stats.sent_syncs += 1,
            PacketType::Reset => self.stats.sent_resets += 1,
            _ => {}
        }
        if self.state == State::PartOpen {
            self.part_open_sent(now);
            self.try_ecn(now);
        }
        let open_server = self.role == Role::Server && self.state == State::Open;
        if open_server && self.first_since_response.is_none() {
            self.first_since_response = Some(seq);
        }
        if kind != PacketType::Data && !self.features.owes_answer() && !self.features.owes_question() {
            self.timers.feature_ride = None;
        }
    }
}
