//! Notices that the two ends disagree about sequence numbers permanently: each answers the other's
//! Syncs (RFC 4340 §7.5.4), and nothing else is valid. One number changed on the way is enough, if
//! it lies far ahead in the window.

use tfrc_units::Instant;

use super::{Cause, Connection, Silence};
use crate::wire::{PacketType, Reset, ResetCode};

/// Signs of life that are not progress.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Progress {
    /// When a valid packet other than Sync and SyncAck last came.
    last: Instant,
    /// Syncs and SyncAcks since then that came after we had sent a datagram again.
    rounds: u8,
    /// Datagrams sent when that was last counted.
    sent: u64,
}

/// Number of Syncs after new datagrams, with nothing else between them, that means that the ends
/// are out of step. On a path that loses three packets in ten in each direction a datagram and its
/// report fail half of the time, and sixteen of them in a row once in 90,000 times.
const ROUNDS: u8 = 16;

impl Progress {
    pub(super) const fn new(now: Instant) -> Self {
        Self { last: now, rounds: 0, sent: 0 }
    }
}

impl Connection {
    /// A valid packet came that is not a duplicate. Aborts the connection if, for as long as
    /// silence is endured, only Syncs came although we sent datagrams. An end that sends nothing
    /// may be idle indefinitely.
    pub(super) fn check_progress(&mut self, now: Instant, kind: PacketType) {
        let sent = self.stats.sent_data_packets;
        if !matches!(kind, PacketType::Sync | PacketType::SyncAck) {
            self.progress = Progress { last: now, rounds: 0, sent };
            return;
        }
        if sent != self.progress.sent {
            self.progress.sent = sent;
            self.progress.rounds = self.progress.rounds.saturating_add(1);
        }
        let Silence::Probe { give_up, .. } = self.config.silence else { return };
        if self.progress.rounds >= ROUNDS && now.saturating_since(self.progress.last) >= give_up {
            let text = "the ends are out of step: Syncs are answered and nothing else arrives";
            self.break_off(Reset::new(ResetCode::Aborted), Cause::OutOfStep(give_up), text);
        }
    }
}
