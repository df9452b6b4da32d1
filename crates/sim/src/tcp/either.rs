//! The sending end, by either machinery.

use tfrc_units::{Duration, Ecn, Instant};

use super::linux::LinuxSender;
use super::segment::{Ack, ConnectionId, Data};
use super::sender::{RfcSender, Transfer};
use super::settings::{Settings, Stack};
use super::stats::{SenderStats, WindowSample};
use super::written::More;

/// A sender of one connection.
#[derive(Debug, Clone)]
pub struct Sender(Machinery);

#[derive(Debug, Clone)]
#[expect(clippy::large_enum_variant, reason = "the common one is without a pointer")]
enum Machinery {
    Linux(Box<LinuxSender>),
    Rfc(RfcSender),
}

macro_rules! by_either {
    ($sender:expr, $machine:ident => $call:expr) => {
        match $sender {
            Machinery::Rfc($machine) => $call,
            Machinery::Linux($machine) => $call,
        }
    };
}

impl Sender {
    /// A sender of `transfer` that has not started.
    #[must_use]
    pub fn new(settings: &Settings, connection: ConnectionId, transfer: Transfer) -> Self {
        Self(match settings.stack {
            Stack::Linux => Machinery::Linux(Box::new(LinuxSender::new(settings, connection, transfer))),
            Stack::Rfc => Machinery::Rfc(RfcSender::new(settings, connection, transfer)),
        })
    }

    /// Reads from each cache line or so.
    #[inline(always)]
    pub(crate) fn touch(&self) -> u64 {
        match &self.0 {
            Machinery::Rfc(sender) => sender.touch(),
            Machinery::Linux(_) => 0,
        }
    }

    /// Starts. Harmless if it has started.
    pub fn start(&mut self, now: Instant) {
        by_either!(&mut self.0, machine => machine.start(now));
    }

    /// An acknowledgement arrives. One of another connection, of data never sent or of data long
    /// acknowledged changes nothing.
    #[inline]
    pub fn on_ack(&mut self, now: Instant, ack: &Ack) {
        by_either!(&mut self.0, machine => machine.on_ack(now, ack));
    }

    /// Time passes. Early, late or repeated calls do no harm.
    pub fn handle_timeout(&mut self, now: Instant) {
        by_either!(&mut self.0, machine => machine.handle_timeout(now));
    }

    /// The next segment that may go out now, with its ECN bits. Ask until there is none.
    #[inline]
    pub fn poll_transmit(&mut self, now: Instant) -> Option<(Data, Ecn)> {
        by_either!(&mut self.0, machine => machine.poll_transmit(now))
    }

    /// When [`handle_timeout`](Self::handle_timeout) is wanted, `None` if no timer runs.
    #[inline]
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        by_either!(&self.0, machine => machine.poll_timeout())
    }

    /// Sets how far the data of the application goes: `bytes` in all, [`u64::MAX`] for always more.
    /// The next segments are of data up to there. More may come later, or fewer bytes: data that
    /// has not been sent can be taken back. With [`More::Comes`] the connection stays open when all
    /// of it is acknowledged. After an idle time the window begins anew (RFC 5681 §4.1).
    pub fn reach(&mut self, now: Instant, bytes: u64, more: More) {
        by_either!(&mut self.0, machine => machine.reach(now, bytes, more));
    }

    /// Nothing new is sent from now on; what has been sent is still repaired.
    pub fn close(&mut self) {
        by_either!(&mut self.0, machine => machine.close());
    }

    /// Returns true if everything is acknowledged, or the sender was closed with nothing
    /// outstanding.
    #[must_use]
    pub fn is_done(&self) -> bool {
        by_either!(&self.0, machine => machine.is_done())
    }

    /// The connection.
    #[must_use]
    pub fn connection(&self) -> ConnectionId {
        by_either!(&self.0, machine => machine.connection())
    }

    /// The congestion window in segments, with what fast recovery adds.
    #[must_use]
    pub fn cwnd(&self) -> f64 {
        by_either!(&self.0, machine => machine.cwnd())
    }

    /// The slow start threshold in segments; the receiver's window before the first loss.
    #[must_use]
    pub fn ssthresh(&self) -> f64 {
        by_either!(&self.0, machine => machine.ssthresh())
    }

    /// The smoothed round-trip time, once there is a sample.
    #[must_use]
    pub fn srtt(&self) -> Option<Duration> {
        by_either!(&self.0, machine => machine.srtt())
    }

    /// The counters.
    #[must_use]
    pub fn stats(&self) -> &SenderStats {
        by_either!(&self.0, machine => machine.stats())
    }

    /// The window after every acknowledgement and timeout, if [`Settings::trace`] keeps it.
    #[must_use]
    pub fn window_trace(&self) -> &[WindowSample] {
        by_either!(&self.0, machine => machine.window_trace())
    }
}
