//! The sans-IO endpoint with a journal around it: whatever goes in or comes out is written down.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;

use tfrc::config::{ConfigError, RateCap};
use tfrc_dccp::connection::PathError;
use tfrc_dccp::endpoint::{Carrier, ConnectConfig, Listen, Refusal, Transmission};
use tfrc_dccp::{Connection, ConnectionId, Endpoint, EndpointConfig, Event, LatePolicy, Received};
use tfrc_units::{Ecn, Instant, saturating};

use crate::Options;
use crate::journal::{Record, Setup, Writer};
use crate::options::Study;
use crate::pcap::Capture;

/// A dccp endpoint, every input recorded.
#[derive(Debug)]
pub(crate) struct Machine {
    endpoint: Endpoint,
    config: ConnectConfig,
    /// Ports of addresses are those of DCCP.
    is_raw: bool,
    journal: Option<Writer>,
    capture: Option<Capture>,
    latest: Instant,
    names: JournalNames,
}

/// Numbers by which a journal names connections: 0, 1, 2 in the order in which they came to be.
/// Released ones are forgotten.
#[derive(Debug)]
enum JournalNames {
    /// Neither is a journal written nor one replayed.
    None,
    Kept {
        numbers: BTreeMap<ConnectionId, u64>,
        next: u64,
    },
}

impl JournalNames {
    const fn kept() -> Self {
        Self::Kept { numbers: BTreeMap::new(), next: 0 }
    }

    fn add(&mut self, id: ConnectionId) {
        if let Self::Kept { numbers, next } = self {
            numbers.insert(id, *next);
            *next += 1;
        }
    }

    fn remove(&mut self, id: ConnectionId) {
        if let Self::Kept { numbers, .. } = self {
            numbers.remove(&id);
        }
    }

    fn number(&self, id: ConnectionId) -> u64 {
        match self {
            Self::None => u64::MAX,
            Self::Kept { numbers, .. } => numbers.get(&id).copied().unwrap_or(u64::MAX),
        }
    }

    fn numbered(&self, number: u64) -> Option<ConnectionId> {
        let Self::Kept { numbers, .. } = self else { return None };
        numbers.iter().find(|(_, known)| **known == number).map(|(id, _)| *id)
    }
}

impl Machine {
    pub(crate) fn new(
        options: &Options,
        seed: [u8; 32],
        journal: Option<Writer>,
    ) -> Result<Self, tfrc::ConfigError> {
        Ok(Self::of(options.endpoint_config()?, seed, journal))
    }

    /// A machine with the rate control of a study. It has no journal, for a journal could not say
    /// which study it was.
    pub(crate) fn of_study(
        options: &Options,
        study: &Study,
        seed: [u8; 32],
    ) -> Result<Self, tfrc::ConfigError> {
        Ok(Self::of(options.endpoint_config_of_study(study)?, seed, None))
    }

    fn of(endpoint: EndpointConfig, seed: [u8; 32], journal: Option<Writer>) -> Self {
        let config = ConnectConfig { port: endpoint.port, connection: endpoint.connection.clone() };
        let is_raw = endpoint.carrier == Carrier::Hosted;
        let endpoint = Endpoint::new(endpoint, seed);
        let names = if journal.is_some() { JournalNames::kept() } else { JournalNames::None };
        Self { endpoint, config, is_raw, journal, capture: None, latest: Instant::ZERO, names }
    }

    /// Adds a capture of the machine's datagrams.
    pub(crate) fn captured(self, capture: Option<Capture>) -> Self {
        Self { capture, ..self }
    }

    /// The machine that a journal begins with.
    pub(crate) fn from_setup(setup: &Setup) -> Result<Self, tfrc::ConfigError> {
        Ok(Self { names: JournalNames::kept(), ..Self::new(&setup.options, setup.seed, None)? })
    }

    pub(crate) fn connect(
        &mut self,
        now: Instant,
        to: SocketAddr,
    ) -> Result<ConnectionId, tfrc_dccp::endpoint::ConnectError> {
        let now = self.record(now, || Record::Connect(to));
        let mut config = self.config.clone();
        if self.is_raw {
            config.port = to.port();
        }
        let id = self.endpoint.connect(now, to, config)?;
        self.names.add(id);
        Ok(id)
    }

    /// The connection it was for, if any.
    pub(crate) fn datagram(
        &mut self,
        at: Instant,
        from: SocketAddr,
        ecn: Ecn,
        bytes: &[u8],
    ) -> Option<ConnectionId> {
        // The application may have made a call since it came.
        self.latest = self.latest.max(at);
        if let Some(journal) = &mut self.journal {
            journal.add(at, &Record::Datagram { from, ecn, bytes: bytes.to_vec() });
        }
        if let Some(capture) = &mut self.capture {
            capture.received(at, from, ecn, bytes);
        }
        self.endpoint.handle_datagram(at, from, ecn, bytes)
    }

    pub(crate) fn timeout(&mut self, now: Instant) {
        let now = self.record(now, || Record::Timeout);
        self.endpoint.handle_timeout(now);
    }

    pub(crate) fn send(
        &mut self,
        now: Instant,
        id: ConnectionId,
        bytes: Vec<u8>,
    ) -> Result<(), tfrc_dccp::SendError> {
        let connection = self.number(id);
        let now = self.record(now, || Record::Send { connection, bytes: bytes.clone() });
        self.endpoint.send_owned(now, id, bytes)
    }

    pub(crate) fn close(&mut self, now: Instant, id: ConnectionId) {
        let connection = self.number(id);
        let now = self.record(now, || Record::Close { connection });
        if let Some(connection) = self.endpoint.connection_mut(id) {
            connection.close(now);
        }
    }

    pub(crate) fn set_late_policy(&mut self, now: Instant, id: ConnectionId, policy: LatePolicy) {
        let connection = self.number(id);
        self.record(now, || Record::LatePolicy { connection, policy });
        if let Some(connection) = self.endpoint.connection_mut(id) {
            connection.set_late_policy(policy);
        }
    }

    pub(crate) fn set_cap(
        &mut self,
        now: Instant,
        id: ConnectionId,
        cap: RateCap,
    ) -> Result<(), ConfigError> {
        let connection = self.number(id);
        self.record(now, || Record::Cap { connection, cap });
        self.endpoint.connection_mut(id).map_or(Ok(()), |connection| connection.set_cap(cap))
    }

    /// Closes a connection; the datagrams of it that wait are not sent.
    pub(crate) fn close_now(&mut self, now: Instant, id: ConnectionId) {
        let connection = self.number(id);
        let now = self.record(now, || Record::CloseNow { connection });
        if let Some(connection) = self.endpoint.connection_mut(id) {
            connection.close_now(now);
        }
    }

    /// Asks the client to close, with a text for the end.
    pub(crate) fn request_close(&mut self, now: Instant, id: ConnectionId, text: &str) {
        let connection = self.number(id);
        let now = self.record(now, || Record::RequestClose { connection, text: text.to_owned() });
        if let Some(connection) = self.endpoint.connection_mut(id) {
            connection.set_closing_text(text);
            connection.request_close(now);
        }
    }

    pub(crate) fn accept_close(&mut self, now: Instant, id: ConnectionId, text: &str) {
        let connection = self.number(id);
        let now = self.record(now, || Record::AcceptClose { connection, text: text.to_owned() });
        if let Some(connection) = self.endpoint.connection_mut(id) {
            connection.set_closing_text(text);
            connection.accept_close(now);
        }
    }

    /// Forgets a connection; one that is not over is broken off.
    pub(crate) fn release(&mut self, now: Instant, id: ConnectionId) {
        let connection = self.number(id);
        let now = self.record(now, || Record::Release { connection });
        self.endpoint.release(now, id);
        self.names.remove(id);
    }

    /// The system did not take this datagram, for it is too long.
    pub(crate) fn refused(&mut self, now: Instant, to: SocketAddr, bytes: &[u8]) {
        let now = self.record(now, || Record::Refused { to, bytes: bytes.to_vec() });
        self.endpoint.handle_refused(now, to, bytes);
    }

    /// The system says that the route to this address takes datagrams of this length at most.
    pub(crate) fn route(&mut self, now: Instant, to: SocketAddr, limit: u64) {
        let now = self.record(now, || Record::Route { to, limit });
        self.endpoint.handle_route(now, to, saturating::<usize>(limit));
    }

    /// The process stood still between the packets given out since then and their departure.
    pub(crate) fn held_up(&mut self, now: Instant, since: Instant) {
        self.record(now, || Record::HeldUp { since });
        self.endpoint.handle_held_up(since);
    }

    /// Sets the text for the end of a connection.
    pub(crate) fn set_closing_text(&mut self, now: Instant, id: ConnectionId, text: &str) {
        let connection = self.number(id);
        self.record(now, || Record::ClosingText { connection, text: text.to_owned() });
        if let Some(connection) = self.endpoint.connection_mut(id) {
            connection.set_closing_text(text);
        }
    }

    /// The network says something about a datagram to this address that began so.
    pub(crate) fn path_error(&mut self, now: Instant, to: SocketAddr, quoted: &[u8], error: PathError) {
        let now = self.record(now, || Record::PathError { to, error, quoted: quoted.to_vec() });
        self.endpoint.handle_path_error(now, to, quoted, error);
    }

    /// Takes no more connections.
    pub(crate) fn stop_accepting(&mut self, now: Instant) {
        self.record(now, || Record::StopAccepting);
        self.endpoint.set_listen(Listen::Refuse);
    }

    /// The next datagram to send, written into `out`.
    pub(crate) fn transmit(&mut self, now: Instant, out: &mut Vec<u8>) -> Option<Transmission> {
        let now = self.latest.max(now);
        let transmit = self.endpoint.poll_transmit(now, out);
        if let (Some(capture), Some(sent)) = (&mut self.capture, transmit) {
            capture.sent(now, sent.remote, sent.ecn, out);
        }
        self.record(now, || match transmit {
            Some(sent) => Record::Transmit { to: sent.remote, ecn: sent.ecn, bytes: out.clone() },
            None => Record::Drained,
        });
        transmit
    }

    pub(crate) fn poll_event(&mut self) -> Option<(ConnectionId, Event)> {
        let (id, event) = self.endpoint.poll_event()?;
        if matches!(event, Event::Incoming { .. }) {
            self.names.add(id);
        }
        Some((id, event))
    }

    pub(crate) fn poll_timeout(&mut self) -> Option<Instant> {
        self.endpoint.poll_timeout().map(|wake| wake.at)
    }

    pub(crate) fn connection(&self, id: ConnectionId) -> Option<&Connection> {
        self.endpoint.connection(id)
    }

    pub(crate) const fn stats(&self) -> tfrc_dccp::endpoint::EndpointStats {
        self.endpoint.stats()
    }

    /// Peers refused since the last call, oldest first.
    pub(crate) fn take_refusals(&mut self) -> Vec<Refusal> {
        std::iter::from_fn(|| self.endpoint.poll_refusal()).collect()
    }

    pub(crate) fn remote(&self, id: ConnectionId) -> Option<SocketAddr> {
        self.endpoint.remote(id)
    }

    /// The connection with this number in the journal that is replayed.
    pub(crate) fn numbered(&self, number: u64) -> Option<ConnectionId> {
        self.names.numbered(number)
    }

    /// The oldest datagram that waits to be read.
    pub(crate) fn recv(&mut self, id: ConnectionId) -> Option<Received> {
        let received = self.endpoint.recv(id)?;
        let connection = self.number(id);
        self.record(self.latest, || Record::Read { connection });
        Some(received)
    }

    /// Returns the buffers of datagrams that were read.
    pub(crate) fn recycle(&mut self, id: ConnectionId, buffers: impl IntoIterator<Item = Vec<u8>>) {
        buffers.into_iter().for_each(|bytes| self.endpoint.recycle(id, bytes));
    }

    /// An empty buffer for a datagram to send.
    pub(crate) fn buffer(&mut self) -> Vec<u8> {
        self.endpoint.buffer()
    }

    /// Ends journal and capture; an error says which of them it is about.
    pub(crate) fn finish(&mut self) -> io::Result<()> {
        let about = |what| move |error: io::Error| io::Error::new(error.kind(), format!("{what}: {error}"));
        let journal = self.journal.take().map_or(Ok(()), Writer::finish).map_err(about("the journal"));
        let capture = self.capture.take().map_or(Ok(()), Capture::finish).map_err(about("the capture"));
        journal.and(capture)
    }

    fn number(&self, id: ConnectionId) -> u64 {
        self.names.number(id)
    }

    /// Time never goes back in what is passed to a machine.
    fn record(&mut self, now: Instant, record: impl FnOnce() -> Record) -> Instant {
        self.latest = self.latest.max(now);
        if let Some(journal) = &mut self.journal {
            journal.add(self.latest, &record());
        }
        self.latest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Connections one after another leave no trace, journal or not; numbers go on.
    #[test]
    fn names_of_released_connections_are_forgotten() {
        let to = SocketAddr::from(([127, 0, 0, 1], 9));
        let mut machine = Machine::new(&Options::default(), [7; 32], None).expect("in range");
        for names in [JournalNames::None, JournalNames::kept()] {
            machine.names = names;
            let kept = matches!(machine.names, JournalNames::Kept { .. });
            for n in 0..1000u64 {
                let id = machine.connect(Instant::ZERO, to).expect("a port");
                assert_eq!(machine.numbered(n), kept.then_some(id));
                machine.release(Instant::ZERO, id);
                while machine.transmit(Instant::ZERO, &mut Vec::new()).is_some() {}
                assert_eq!(machine.numbered(n), None);
            }
            assert!(!matches!(&machine.names, JournalNames::Kept { numbers, .. } if !numbers.is_empty()));
        }
    }
}
