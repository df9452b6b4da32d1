//! Processing of a packet: the pseudocode of RFC 4340 §8.5 from step 4 on, in its order.

use alloc::boxed::Box;

use tfrc_units::{Duration, Ecn, Instant, SeqNo48, saturating};

use super::options::Gathered;
use super::pace::ReadPace;
use super::refused;
use super::seq::Activity;
use super::{Cause, Connection, DueReset, Ledger, Notice, Received, State};
use crate::ccid::{ConnectionPacket, DataReceiver, FeedbackVerdict, RttSource};
use crate::connection::FeedbackProfile;
use crate::connection::ledger::Content;
use crate::feature::{Feature, Location, Role};
use crate::wire::{Header, Packet, PacketType, Reset, ResetCode, Sequence};

/// Extended numbers from here on count as duplicates, so that no computation overflows. Only a peer
/// that leaps by 2^47 with each packet gets here, after 32,000 packets.
pub(super) const LAST_NUMBER: u64 = 1 << 62;
/// A reader counts as slow after this time, or four round-trip times if that is longer.
const LEAST_PATIENCE: Duration = Duration::from_millis(250);

impl Connection {
    /// Takes in a datagram that arrived then with this ECN codepoint: a DCCP packet without its
    /// encapsulation. Any other datagram than a valid packet of this connection is only counted.
    /// One may have waited at this host while its process stood still, and be older than the latest
    /// call: that time is no part of the round-trip time.
    pub fn handle_datagram(&mut self, at: Instant, ecn: Ecn, bytes: &[u8]) {
        match Packet::parse(bytes, self.receiving_integrity()) {
            Ok(packet)
                if packet.destination_port == self.ports.local && packet.source_port == self.ports.remote =>
            {
                self.handle_packet(at, ecn, &packet);
            }
            _ => self.stats.malformed_packets += 1,
        }
    }

    /// Takes in a packet that has passed steps 1 to 3.
    pub(crate) fn handle_packet(&mut self, at: Instant, ecn: Ecn, packet: &Packet<'_>) {
        let waited = self.now.saturating_since(at);
        let now = self.advance(at + waited);
        if self.state == State::Closed {
            return;
        }
        let kind = packet.header.kind();
        let Some((seq, ack)) = self.numbers(&packet.header) else {
            self.stats.invalid_packets += 1;
            return;
        };
        let valid = match self.state {
            State::Request => self.begin_with(now, kind, seq, ack),
            _ => self.check_sequence(now, kind, seq, ack),
        };
        if !valid {
            self.stats.invalid_packets += 1;
            return;
        }
        self.heard(now);
        if self.is_unexpected(kind, seq) {
            self.stats.invalid_packets += 1;
            self.ask_for_sync(now, seq);
            return;
        }
        if self.is_duplicate(kind, seq) {
            self.stats.duplicate_packets += 1;
            if kind == PacketType::Sync {
                self.answer_sync(now, seq);
            }
            return;
        }
        self.check_progress(now, kind);
        if self.state == State::Closed {
            return;
        }
        match self.process_options(now, kind, seq, ack, packet.options) {
            Ok(gathered) => self.process(now, ecn, packet, seq, ack, &Gathered { waited, ..gathered }),
            Err(reset) => self.break_off(reset, Cause::Protocol, "an option was in error"),
        }
        if let Some(gsr) = self.seq.gsr() {
            self.features.follow(gsr, self.seq.gss());
        }
    }

    /// The numbers in 48 bits (step 6); `None` if short ones are not allowed.
    fn numbers(&self, header: &Header) -> Option<(SeqNo48, Option<SeqNo48>)> {
        let short_allowed = self.features.is_on(Feature::AllowShortSeqnos, Location::Remote);
        let extend = |number, reference: Option<SeqNo48>| match number {
            Sequence::Long(number) => Some(number),
            // RFC 4340 §7.6.1.
            Sequence::Short(number) => reference.filter(|_| short_allowed).map(|near| number.extend(near)),
        };
        let seq = extend(header.sequence(), self.seq.gsr())?;
        let ack = match header.acknowledgement() {
            None => None,
            Some(ack) => Some(extend(ack, Some(self.seq.gss()))?),
        };
        Some((seq, ack))
    }

    /// Step 4: in REQUEST only a Response or a Reset to one of our Requests is right.
    fn begin_with(&mut self, now: Instant, kind: PacketType, seq: SeqNo48, ack: Option<SeqNo48>) -> bool {
        let fits = matches!(kind, PacketType::Response | PacketType::Reset)
            && ack.is_some_and(|ack| self.seq.acknowledges_recent(ack, self.windows()));
        if fits {
            self.seq.begin_peer(seq);
            self.seq.accept(kind, seq, ack);
            self.gsr_arrived = now;
            self.ledger = Ledger::new(self.seq.extend(seq));
        } else if kind != PacketType::Reset && self.invalid_limiter.allow(now) {
            let text = alloc::string::String::new();
            self.due.reset =
                Some(Box::new(DueReset { reset: Reset::packet_error(kind), ack: Some(seq), text }));
        }
        fits
    }

    /// Steps 5 and 6: the windows.
    fn check_sequence(&mut self, now: Instant, kind: PacketType, seq: SeqNo48, ack: Option<SeqNo48>) -> bool {
        // RFC 4340 §7.5.3.
        let recently = now.saturating_since(self.last_heard) <= self.round_trip() * 3;
        let activity = if recently { Activity::Active } else { Activity::Quiet };
        if self.seq.is_valid(kind, seq, ack, self.windows(), activity) {
            if self.seq.accept(kind, seq, ack) {
                self.gsr_arrived = now;
            }
            return true;
        }
        match (kind, self.seq.gsr()) {
            // RFC 4340 §7.5.4.
            (PacketType::Sync | PacketType::SyncAck, _) => {}
            (PacketType::Reset, Some(gsr)) => self.ask_for_sync(now, gsr),
            _ => self.ask_for_sync(now, seq),
        }
        false
    }

    /// Step 7 of RFC 4340 §8.5.
    fn is_unexpected(&self, kind: PacketType, seq: SeqNo48) -> bool {
        let open =
            matches!(self.state, State::Open | State::CloseReceived | State::CloseReq | State::Closing);
        match (self.role, kind) {
            // RFC 4340 §8.3.
            (Role::Server, PacketType::CloseReq | PacketType::Response) => true,
            (Role::Client, PacketType::Request) => true,
            (_, PacketType::Request | PacketType::Response) => open && self.seq.is_since_open(seq),
            (_, PacketType::Data) => self.state == State::Respond,
            _ => false,
        }
    }

    /// Packets of the handshake are known by the state, all others by their number.
    fn is_duplicate(&self, kind: PacketType, seq: SeqNo48) -> bool {
        let handshake = matches!(kind, PacketType::Request | PacketType::Response);
        let first_reset = self.state == State::Request;
        let number = self.seq.extend(seq);
        !handshake && !first_reset && (number >= LAST_NUMBER || self.ledger.is_duplicate(number))
    }

    /// Answers an invalid packet with a Sync, if the rate limit allows.
    fn ask_for_sync(&mut self, now: Instant, ack: SeqNo48) {
        if self.due.sync.is_none() && self.invalid_limiter.allow(now) {
            self.due.sync = Some(ack);
        }
    }

    /// Step 15 of RFC 4340 §8.5.
    fn answer_sync(&mut self, now: Instant, seq: SeqNo48) {
        if self.due.sync_ack.is_none() && self.sync_limiter.allow(now) {
            // RFC 4340 §8.2.
            self.due.sync_ack = Some(seq);
        }
    }

    /// Steps 8 to 16 of a valid, new packet whose options have taken effect.
    fn process(
        &mut self,
        now: Instant,
        ecn: Ecn,
        packet: &Packet<'_>,
        seq: SeqNo48,
        ack: Option<SeqNo48>,
        gathered: &Gathered<'_>,
    ) {
        let kind = packet.header.kind();
        let number = self.seq.extend(seq);
        self.enter_in_ledger(kind, number, gathered.non_data_before);
        if let Header::Reset { reset, .. } = packet.header {
            if let Some(ack) = ack {
                self.sender.on_dropped(ack, &gathered.feedback);
                self.stats.peer_dropped_packets = self.sender.peer_dropped();
            }
            self.on_reset(reset, packet.payload);
            return;
        }
        match self.state {
            State::Request => self.enter_part_open(now, gathered.waited, ack.unwrap_or_default()),
            State::Respond if kind == PacketType::Request => {
                self.features.ask_for_wishes();
                self.due.handshake = true;
                return;
            }
            State::Respond => {
                self.sample_from_ack(now, kind, ack, gathered);
                self.enter_open(now, seq);
            }
            State::PartOpen if kind == PacketType::Response => self.due.ack = true,
            State::PartOpen if kind != PacketType::Sync => self.enter_open(now, seq),
            _ => {}
        }
        self.feed_receiver(now, ecn, packet, number, gathered);
        if let Some(ack) = ack {
            self.take_acknowledgement(now, kind, ack, gathered);
            if self.state == State::Closed {
                return;
            }
        }
        self.deliver(now, ecn, packet, seq, number);
        match kind {
            PacketType::CloseReq => self.on_close_req(now),
            PacketType::Close => self.on_close(now),
            PacketType::Sync => self.answer_sync(now, seq),
            PacketType::SyncAck => {
                self.stats.received_syncs += 1;
                self.path.on_sync_ack(now, ack.unwrap_or_default());
                self.follow_path();
            }
            _ => {}
        }
        self.arm_silence();
    }

    fn enter_in_ledger(&mut self, kind: PacketType, number: u64, non_data_before: u64) {
        if matches!(kind, PacketType::Request | PacketType::Response) {
            self.ledger.record_handshake(number);
            return;
        }
        if self.state == State::Respond {
            // A client's first word after the Response is an acknowledgement (step 12).
            self.ledger.presume_first_non_data();
        }
        let content = if kind.carries_datagram() { Content::Data } else { Content::NonData };
        self.ledger.record(number, content, non_data_before);
        match content {
            Content::Data => self.stats.received_data_packets += 1,
            Content::NonData => self.stats.received_non_data_packets += 1,
        }
        if kind == PacketType::Sync {
            self.stats.received_syncs += 1;
        }
    }

    /// The round-trip time of the Response. An acknowledgement that may have waited for data to
    /// carry gives none, unless it says for how long.
    fn sample_from_ack(
        &mut self,
        now: Instant,
        kind: PacketType,
        ack: Option<SeqNo48>,
        gathered: &Gathered<'_>,
    ) {
        let held = gathered.feedback.elapsed;
        let Some(sent) = ack.and_then(|ack| self.sender.departure(ack)) else { return };
        if kind == PacketType::Ack || held.is_some() {
            let held = held.unwrap_or_default().duration();
            self.take_handshake_rtt(now, (now - gathered.waited).saturating_since(sent), held);
        }
    }

    /// The receiving half of congestion control begins with the first datagram.
    fn feed_receiver(
        &mut self,
        now: Instant,
        ecn: Ecn,
        packet: &Packet<'_>,
        number: u64,
        gathered: &Gathered<'_>,
    ) {
        let kind = packet.header.kind();
        if matches!(kind, PacketType::Request | PacketType::Response) {
            return;
        }
        if kind.carries_datagram() {
            self.watch_ecn(ecn);
        }
        let readable = !self.features.is_on(Feature::EcnIncapable, Location::Local);
        // RFC 4340 §11.
        let ecn = if readable { ecn } else { Ecn::NotEct };
        if ecn == Ecn::Ce {
            self.stats.marked_packets += 1;
        }
        let ecn = if kind.carries_datagram() && self.insists(now) { Ecn::Ce } else { ecn };
        let datagram = kind.carries_datagram().then_some(packet.payload.len());
        if self.receiver.is_none() && datagram.is_some() {
            let first = self.ledger.oldest_missing().unwrap_or(number).min(number);
            let source = if self.features.is_on(Feature::SendRttEstimate, Location::Remote) {
                RttSource::Reports { handshake: self.handshake_rtt }
            } else {
                // RFC 6323 §3.3.
                RttSource::WindowCounter
            };
            let ccid = self.ccid(Location::Remote).unwrap_or(self.config.wishes.receiving.first());
            let config = self.config.rate_control(ccid);
            self.receiver = Some(Box::new(DataReceiver::new(now, ccid, &config, source, first)));
        }
        if let Some(receiver) = &mut self.receiver {
            receiver.on_packet(
                now,
                &ConnectionPacket {
                    number,
                    datagram,
                    ecn,
                    ccval: packet.ccval,
                    rtt: gathered.rtt,
                    non_data_before: gathered.non_data_before,
                },
            );
        }
    }

    /// Returns true if a datagram that arrives now is to be refused and counted as marked (RFC 4340
    /// §11.6).
    fn insists(&mut self, now: Instant) -> bool {
        let patience = self.round_trip() * 4;
        let full = self.queue.is_full();
        self.refused
            .as_mut()
            .is_some_and(|refused| full && refused.insists(now, patience.max(LEAST_PATIENCE)))
    }

    fn take_acknowledgement(
        &mut self,
        now: Instant,
        kind: PacketType,
        ack: SeqNo48,
        gathered: &Gathered<'_>,
    ) {
        if !matches!(kind, PacketType::Ack | PacketType::DataAck) {
            return;
        }
        if self.sender.was_skipped(ack) {
            self.break_off(
                Reset::new(ResetCode::AggressionPenalty),
                Cause::Protocol,
                "a packet was acknowledged that was never sent",
            );
            return;
        }
        self.path.on_acknowledged(ack);
        self.nudge_part_open(now, ack);
        self.widen_window(ack);
        let lenient = self.config.feedback == FeedbackProfile::Lenient
            && self.features.is_on(Feature::SendLossEventRate, Location::Remote);
        match self.sender.on_acknowledgement(now, gathered.waited, ack, &gathered.feedback, lenient) {
            FeedbackVerdict::NotFeedback => {}
            FeedbackVerdict::Taken => self.stats.received_feedback += 1,
            FeedbackVerdict::Refused => self.stats.refused_feedback += 1,
        }
        self.stats.corrected_feedback = self.sender.corrections();
        self.stats.peer_dropped_packets = self.sender.peer_dropped();
    }

    /// Our Sequence Window should be about five times the packets in flight (§7.5.2); it grows at
    /// least by doubling.
    fn widen_window(&mut self, ack: SeqNo48) {
        if ack != self.seq.gar() {
            return;
        }
        let wanted = self.seq.gss().distance_from(ack).saturating_mul(5);
        let proposed = self.features.proposed_sequence_window();
        // RFC 4340 §7.5.2.
        if wanted > proposed {
            self.features.change_sequence_window(wanted.max(proposed.saturating_mul(2)));
        }
    }

    /// Step 16 of RFC 4340 §8.5.
    fn deliver(&mut self, now: Instant, ecn: Ecn, packet: &Packet<'_>, seq: SeqNo48, number: u64) {
        // RFC 4340 §5.4, RFC 4340 §8.1.3.
        if !packet.header.kind().carries_datagram() {
            return;
        }
        self.timers.first_data = None;
        self.stats.received_data_bytes += saturating::<u64>(packet.payload.len());
        if self.queue.is_half_full() {
            self.pace.get_or_insert_with(|| Box::new(ReadPace::new(now))).advance(now);
        }
        // RFC 4340 §12.1.
        // RFC 6773 §3.5.
        if self.awaits_ecn_confirm() {
            self.refused.get_or_insert_default().record(now, number, refused::PROTOCOL_CONSTRAINTS);
            return;
        }
        // RFC 4340 §11.4, RFC 4340 §11.7.
        if self.queue.is_full() {
            self.stats.queue_dropped_packets += 1;
            self.refused.get_or_insert_default().record(now, number, refused::RECEIVE_BUFFER);
            return;
        }
        if self.queue.is_empty() {
            self.tell(Notice::Readable);
        }
        let data_index = self.ledger.data_before(number).unwrap_or_default();
        let bytes = self.queue.copy(packet.payload);
        self.queue.push(Received { seq, data_index, bytes, at: now, ecn });
    }
}
