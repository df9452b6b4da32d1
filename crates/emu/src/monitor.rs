//! The state of a running relay, as others see it.

use std::sync::Arc;

use tfrc_sim::LinkId;
use tfrc_sim::link::{LinkStats, PacketCount};
use tfrc_units::Duration;
use tokio::sync::watch;

/// The state of a relay at one moment.
#[derive(Debug, Clone, Default)]
pub struct Snapshot<F> {
    /// Time since the relay was started.
    pub elapsed: Duration,
    /// From the clients to the server.
    pub there: Direction,
    /// From the server to the clients.
    pub back: Direction,
    /// Clients known now.
    pub clients: usize,
    /// Datagrams not let in: a limit was reached, or they came to the relay's side of the server
    /// from another address or for a client that is forgotten.
    pub refused: u64,
    /// Datagrams that came out of the network but could not be sent: the client was gone, or the
    /// socket would not take it.
    pub unsent: u64,
    /// The state of the network's own flows.
    pub flows: F,
    /// Every link of the network with its counters, in the order of the scenario.
    pub links: Vec<(LinkId, LinkStats)>,
}

/// One way through the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Direction {
    /// Datagrams that entered the network.
    pub entered: PacketCount,
    /// Datagrams that came out of it.
    pub delivered: PacketCount,
    /// Packets lost by the loss models of the links on the way, traffic of the engine's own
    /// included.
    pub lost: PacketCount,
    /// Packets dropped by the queues of these links, likewise.
    pub overflowed: PacketCount,
    /// Packets waiting or in transmission on these links now, likewise.
    pub queued: PacketCount,
}

/// A view of a running relay, cheap to copy and to read.
#[derive(Debug, Clone)]
pub struct Monitor<F>(pub(crate) watch::Receiver<Arc<Snapshot<F>>>);

impl<F> Monitor<F> {
    /// The latest snapshot; a new one is taken every [`crate::Limits::sample`].
    #[must_use]
    pub fn latest(&self) -> Arc<Snapshot<F>> {
        Arc::clone(&self.0.borrow())
    }

    /// Returns true when the relay has ended: no further snapshot comes.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.0.has_changed().is_err()
    }

    /// Waits for the next snapshot; `None` when the relay has ended.
    pub async fn next(&mut self) -> Option<Arc<Snapshot<F>>> {
        self.0.changed().await.ok()?;
        Some(Arc::clone(&self.0.borrow_and_update()))
    }
}
