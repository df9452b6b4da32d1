//! Datagrams that a receiver hands out in order, and counts of them.

use tfrc_net::InOrder;
use tfrc_units::{Duration, Instant, saturating};

use super::{Connection, Tally};

/// Received datagrams, in order.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    order: Option<InOrder>,
    /// The number space of [`InOrder`] begins well below the first packet, so that earlier ones
    /// have numbers too.
    base: Option<tfrc_units::SeqNo48>,
    handed_out: u64,
    bytes: u64,
}

impl Inbox {
    /// Takes in what has arrived.
    pub(crate) fn push(&mut self, now: Instant, datagram: tfrc_net::Received) {
        let base = *self.base.get_or_insert_with(|| datagram.seq.sub(1 << 32));
        let number = datagram.seq.distance_from(base);
        // What was sent before the first one that came may still come.
        let first = number.saturating_sub(datagram.data_index);
        self.order.get_or_insert_with(|| InOrder::new(first)).push(now, number, datagram.bytes);
    }

    /// The next datagram that need not wait for an earlier one.
    pub(crate) fn pop(&mut self, now: Instant, rtt: Duration) -> Option<Vec<u8>> {
        let bytes = self.order.as_mut()?.pop(now, rtt)?;
        Some(self.count(bytes))
    }

    /// At the end: the next one, gaps or not.
    pub(crate) fn take(&mut self) -> Option<Vec<u8>> {
        let bytes = self.order.as_mut()?.take()?;
        Some(self.count(bytes))
    }

    /// When [`Inbox::pop`] may give something without further packets.
    pub(crate) fn poll_timeout(&self, rtt: Duration) -> Option<Instant> {
        self.order.as_ref().and_then(|order| order.poll_timeout(rtt))
    }

    fn count(&mut self, bytes: Vec<u8>) -> Vec<u8> {
        self.handed_out += 1;
        self.bytes += saturating::<u64>(bytes.len());
        bytes
    }

    /// Datagrams that came after their place had been given up.
    pub(crate) fn late(&self) -> u64 {
        self.order.as_ref().map_or(0, InOrder::late)
    }

    /// The counts so far, everything handed out taken for delivered.
    pub(crate) fn tally(&self, connection: &Connection) -> Tally {
        let (loss_events, of_packets) = connection.status().after_slow_start;
        Tally {
            received: self.handed_out,
            bytes: self.bytes,
            late: self.late(),
            loss_events,
            of_packets,
            dropped: 0,
            trouble: None,
        }
    }
}
