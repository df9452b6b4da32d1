//! Datagrams that a receiver hands out in order, and counts of them.

use tfrc_net::{InOrder, Received};
use tfrc_units::{Duration, Instant, saturating};

use crate::{Connection, Tally};

/// Received datagrams, in order.
#[derive(Debug, Default)]
pub struct Inbox {
    order: Option<InOrder<Received>>,
    /// No gap is given up before this time.
    patience: Duration,
    /// The number space of [`InOrder`] begins well below the first packet, so that earlier ones
    /// have numbers too.
    base: Option<tfrc_units::SeqNo48>,
    handed_out: u64,
    bytes: u64,
    given_up: u64,
}

impl Inbox {
    /// Gives no gap up before this time.
    #[must_use]
    pub fn patient(patience: Duration) -> Self {
        Self { patience, ..Self::default() }
    }

    /// Takes in what has arrived.
    pub fn push(&mut self, now: Instant, datagram: Received) {
        let base = *self.base.get_or_insert_with(|| datagram.seq.sub(1 << 32));
        let number = datagram.seq.distance_from(base);
        // What was sent before the first one that came may still come.
        let first = number.saturating_sub(datagram.data_index);
        let patience = self.patience;
        self.order.get_or_insert_with(|| InOrder::new(first).patient(patience)).push(now, number, datagram);
    }

    /// The next datagram that need not wait for an earlier one.
    pub fn pop(&mut self, now: Instant, rtt: Duration) -> Option<Vec<u8>> {
        let datagram = self.order.as_mut()?.pop(now, rtt)?;
        Some(self.count(datagram))
    }

    /// At the end: the next one, gaps or not.
    pub fn take(&mut self) -> Option<Vec<u8>> {
        let datagram = self.order.as_mut()?.take()?;
        Some(self.count(datagram))
    }

    /// When [`Inbox::pop`] may give something without further packets.
    #[must_use]
    pub fn poll_timeout(&self, rtt: Duration) -> Option<Instant> {
        self.order.as_ref().and_then(|order| order.poll_timeout(rtt))
    }

    fn count(&mut self, Received { data_index, bytes, .. }: Received) -> Vec<u8> {
        self.given_up = self.given_up.max(data_index.saturating_sub(self.handed_out));
        self.handed_out += 1;
        self.bytes += saturating::<u64>(bytes.len());
        bytes
    }

    /// Places that were given up, with those of datagrams that came too late.
    #[must_use]
    pub const fn given_up(&self) -> u64 {
        self.given_up
    }

    /// Datagrams that came after their place had been given up.
    pub fn late(&self) -> u64 {
        self.order.as_ref().map_or(0, InOrder::late)
    }

    /// The counts so far, everything handed out taken for delivered.
    #[must_use]
    pub fn tally(&self, connection: &Connection) -> Tally {
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
