//! Sequence number variables and validity windows (RFC 4340 §7.1, 7.5).

use tfrc_units::SeqNo48;

use crate::wire::PacketType;

/// ISS, ISR, GSS, GSR, GAR and OSR of §7.1 and §8.5.
#[derive(Debug, Clone)]
pub(crate) struct SeqSpace {
    iss: SeqNo48,
    gss: SeqNo48,
    gar: SeqNo48,
    sent_start: Start,
    peer: Option<Peer>,
}

/// The peer's sequence numbers, once its first packet has come.
#[derive(Debug, Clone, Copy)]
struct Peer {
    isr: SeqNo48,
    gsr: SeqNo48,
    /// GSR, extended: it does not wrap.
    gsr_extended: u64,
    osr: Option<SeqNo48>,
    start: Start,
}

/// Stage of a sequence window: `Near` while the initial number still cuts it, which is only at the
/// beginning of a connection (§7.5.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Start {
    Near,
    Left,
}

/// The Sequence Window features: widths of the window for sequence numbers and for acknowledgement
/// numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Windows {
    /// W, Sequence Window at the peer.
    pub(crate) remote: u64,
    /// W', Sequence Window here.
    pub(crate) local: u64,
}

/// The peer's activity: heard from within the last three round-trip times, or not (§7.5.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Activity {
    Active,
    Quiet,
}

/// Extended numbers start here, so that packets from before the initial number have one too.
const ORIGIN: u64 = 1 << 50;
/// A distance after which the beginning of a connection is over.
const BEGINNING: u64 = 1 << 40;

impl SeqSpace {
    /// Before the first packet is sent: it will have number `iss`.
    pub(crate) const fn new(iss: SeqNo48) -> Self {
        Self { iss, gss: iss.sub(1), gar: iss, sent_start: Start::Near, peer: None }
    }

    /// The peer's first packet: sets ISR and GSR.
    pub(crate) const fn begin_peer(&mut self, isr: SeqNo48) {
        self.peer = Some(Peer { isr, gsr: isr, gsr_extended: ORIGIN, osr: None, start: Start::Near });
    }

    /// Takes the next number for sending.
    pub(crate) fn next(&mut self) -> SeqNo48 {
        self.gss = self.gss.add(1);
        if self.gss.distance_from(self.iss) > BEGINNING {
            self.sent_start = Start::Left;
        }
        self.gss
    }

    /// Sets the next number to send: earlier ones have been used.
    pub(crate) const fn set_next(&mut self, seq: SeqNo48) {
        self.gss = seq.sub(1);
    }

    /// GSS.
    pub(crate) const fn gss(&self) -> SeqNo48 {
        self.gss
    }

    /// GSR, once there is one.
    pub(crate) fn gsr(&self) -> Option<SeqNo48> {
        self.peer.map(|peer| peer.gsr)
    }

    /// GAR.
    pub(crate) const fn gar(&self) -> SeqNo48 {
        self.gar
    }

    /// Remembers the first number received in OPEN.
    pub(crate) const fn opened(&mut self, osr: SeqNo48) {
        if let Some(peer) = &mut self.peer {
            peer.osr = Some(osr);
        }
    }

    /// Returns true if a number is at or after the first received in OPEN.
    pub(crate) fn is_since_open(&self, seq: SeqNo48) -> bool {
        self.peer.and_then(|peer| peer.osr).is_some_and(|osr| seq.is_at_or_after(osr))
    }

    /// A number of the peer, extended; the one nearest to GSR.
    pub(crate) fn extend(&self, seq: SeqNo48) -> u64 {
        self.peer.map_or(ORIGIN, |peer| {
            if seq.is_at_or_after(peer.gsr) {
                peer.gsr_extended.saturating_add(seq.distance_from(peer.gsr))
            } else {
                peer.gsr_extended.saturating_sub(peer.gsr.distance_from(seq))
            }
        })
    }

    /// AWL ≤ `ack` ≤ AWH.
    pub(crate) const fn acknowledges_recent(&self, ack: SeqNo48, windows: Windows) -> bool {
        let sent = self.gss.add(1).distance_from(self.iss);
        let near = matches!(self.sent_start, Start::Near);
        let width = if near && sent < windows.local { sent } else { windows.local };
        self.gss.distance_from(ack) < width
    }

    /// Returns true if a packet is sequence-valid: both checks of §7.5.3's tables.
    pub(crate) fn is_valid(
        &self,
        kind: PacketType,
        seq: SeqNo48,
        ack: Option<SeqNo48>,
        windows: Windows,
        activity: Activity,
    ) -> bool {
        let Some(peer) = self.peer else { return false };
        let quarter = windows.remote / 4;
        let from_start = peer.gsr.distance_from(peer.isr) + 1;
        // RFC 4340 §7.5.1.
        let behind = if peer.start == Start::Near { quarter.min(from_start) } else { quarter };
        let low = peer.gsr.add(1).sub(behind);
        let high = peer.gsr.add(windows.remote - quarter);
        let seq_valid = match kind {
            PacketType::CloseReq | PacketType::Close | PacketType::Reset => {
                // RFC 4340 §7.5.3.
                seq.is_after(peer.gsr) && seq.is_within(low, high)
            }
            PacketType::Sync | PacketType::SyncAck if activity == Activity::Quiet => seq.is_at_or_after(low),
            _ => seq.is_within(low, high),
        };
        let ack_valid = ack.is_none_or(|ack| {
            self.acknowledges_recent(ack, windows)
                && match kind {
                    PacketType::CloseReq | PacketType::Close | PacketType::Reset => {
                        ack.is_at_or_after(self.gar)
                    }
                    _ => true,
                }
        });
        seq_valid && ack_valid
    }

    /// Moves GSR, and GAR unless the packet is a Sync, forward for a valid packet. Returns true if
    /// GSR moved.
    pub(crate) fn accept(&mut self, kind: PacketType, seq: SeqNo48, ack: Option<SeqNo48>) -> bool {
        if let Some(ack) = ack
            // RFC 4340 §5.7.
            && kind != PacketType::Sync
            && ack.is_after(self.gar)
        {
            self.gar = ack;
        }
        let extended = self.extend(seq);
        let Some(peer) = &mut self.peer else { return false };
        if !seq.is_after(peer.gsr) {
            return false;
        }
        peer.gsr = seq;
        peer.gsr_extended = extended;
        if seq.distance_from(peer.isr) > BEGINNING {
            peer.start = Start::Left;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const W: Windows = Windows { remote: 100, local: 100 };

    fn seq(n: u64) -> SeqNo48 {
        SeqNo48::new(n)
    }

    /// We have sent up to `gss` from 1 on, and received up to `gsr` from 1000 on.
    fn space(gss: u64, gsr: u64) -> SeqSpace {
        let mut space = SeqSpace::new(seq(1));
        for _ in 0..gss {
            space.next();
        }
        space.begin_peer(seq(1000));
        space.accept(PacketType::Data, seq(gsr), None);
        space
    }

    fn data(space: &SeqSpace, n: u64) -> bool {
        space.is_valid(PacketType::Data, seq(n), None, W, Activity::Active)
    }

    fn ack(space: &SeqSpace, n: u64) -> bool {
        space.is_valid(PacketType::Ack, seq(2000), Some(seq(n)), W, Activity::Active)
    }

    #[test]
    fn windows_stand_where_the_text_puts_them() {
        // §7.5.1: a quarter at or before GSR, three quarters after it.
        let space = space(500, 2000);
        assert!(!data(&space, 1975) && data(&space, 1976) && data(&space, 2075) && !data(&space, 2076));
        assert!(!ack(&space, 400) && ack(&space, 401) && ack(&space, 500) && !ack(&space, 501));
        let odd = Windows { remote: 35, local: 35 };
        let valid = |n| space.is_valid(PacketType::Data, seq(n), None, odd, Activity::Active);
        assert!(
            !valid(1992) && valid(1993) && valid(2027) && !valid(2028),
            "floor(35/4) = 8, ceil(105/4) = 27"
        );
    }

    #[test]
    fn windows_begin_at_the_initial_numbers() {
        let space = space(5, 1003);
        assert!(!data(&space, 999) && data(&space, 1000));
        let valid = |n| space.is_valid(PacketType::Ack, seq(1004), Some(seq(n)), W, Activity::Active);
        assert!(!valid(0) && valid(1) && valid(5) && !valid(6));
        let fresh = SeqSpace::new(seq(1));
        assert!(!fresh.acknowledges_recent(seq(0), W) && !fresh.acknowledges_recent(seq(1), W));
    }

    #[test]
    fn ends_of_a_connection_must_be_new() {
        // §7.5.3: Close and the like lie beyond GSR and acknowledge at least GAR.
        let mut space = space(500, 2000);
        space.accept(PacketType::Ack, seq(2000), Some(seq(450)));
        for kind in [PacketType::CloseReq, PacketType::Close, PacketType::Reset] {
            let valid = |s, a| space.is_valid(kind, seq(s), Some(seq(a)), W, Activity::Active);
            assert!(!valid(2000, 500) && valid(2001, 500) && valid(2075, 450));
            assert!(!valid(2001, 449) && !valid(2076, 500) && !valid(2001, 501));
        }
    }

    #[test]
    fn syncs_may_jump_ahead_only_when_it_is_quiet() {
        let space = space(500, 2000);
        let valid = |s, activity| space.is_valid(PacketType::Sync, seq(s), Some(seq(500)), W, activity);
        assert!(valid(1_000_000, Activity::Quiet) && !valid(1_000_000, Activity::Active));
        assert!(!valid(1975, Activity::Quiet) && valid(1976, Activity::Quiet));
        assert!(!space.is_valid(PacketType::Sync, seq(2001), Some(seq(501)), W, Activity::Quiet));
    }

    #[test]
    fn a_sync_does_not_move_gar() {
        let mut space = space(500, 2000);
        space.accept(PacketType::Sync, seq(2001), Some(seq(480)));
        assert_eq!(space.gar(), seq(1));
        space.accept(PacketType::SyncAck, seq(2002), Some(seq(480)));
        assert_eq!(space.gar(), seq(480));
        assert_eq!(space.gsr(), Some(seq(2002)));
    }

    #[test]
    fn numbers_wrap_and_extend() {
        let mut space = SeqSpace::new(SeqNo48::MAX);
        assert_eq!(space.next(), SeqNo48::MAX);
        assert_eq!(space.next(), seq(0));
        space.begin_peer(SeqNo48::MAX);
        let first = space.extend(SeqNo48::MAX);
        assert!(space.accept(PacketType::Data, seq(3), None));
        assert_eq!(space.extend(seq(3)), first + 4);
        assert_eq!(space.extend(seq(1)), first + 2);
        assert!(!space.accept(PacketType::Data, seq(1), None), "GSR does not go back");
    }
}
