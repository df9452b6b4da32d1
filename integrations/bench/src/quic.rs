//! Media as datagrams of noq's QUIC.

use std::time::Instant;

use noq_proto::PathId;
use tfrc_testkit::path::noq::{Factory, Noq};
use tfrc_testkit::path::quic::{Peer, Traffic, pair};
use tfrc_testkit::path::{Datagram, End};

use crate::source::{FIRST, Source};

/// Bytes of datagrams that QUIC itself keeps waiting: three packets.
const BUFFER: usize = 3600;

/// The end that sends.
pub(crate) struct Sender {
    peer: Peer<Noq>,
    source: Source,
}

impl Sender {
    /// Both ends of a connection with this congestion controller.
    pub(crate) fn connect(begin: Instant, controller: Factory, source: Source) -> (Self, Peer<Noq>) {
        let (mut peer, server) = pair(begin, controller, BUFFER, false);
        peer.traffic = Traffic::Backlog;
        (Self { peer, source }, server)
    }

    /// The rate that an application can know, bit/s: the controller's estimate, or else the window
    /// in a round-trip time.
    fn target(&mut self) -> f64 {
        let Some(connection) = self.peer.quic.connection() else { return FIRST };
        if connection.is_handshaking() {
            return FIRST;
        }
        let Some(stats) = connection.path_stats(PathId::ZERO) else { return FIRST };
        let window = stats.cwnd as f64 * 8.0 / stats.rtt.as_secs_f64();
        stats.bandwidth_estimate.map_or(window, |estimate| estimate as f64)
    }
}

impl End for Sender {
    fn receive(&mut self, now: Instant, datagram: Datagram) {
        self.peer.receive(now, datagram);
    }

    fn wake(&mut self, now: Instant) {
        let target = self.target();
        self.source.fill(now, target, &mut self.peer.backlog);
        self.peer.wake(now);
    }

    fn transmit(&mut self, now: Instant) -> Option<Datagram> {
        self.peer.transmit(now)
    }

    fn timeout(&mut self) -> Option<Instant> {
        self.peer.timeout().into_iter().chain(self.source.timeout()).min()
    }
}
