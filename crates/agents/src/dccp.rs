//! DCCP in the simulator: an endpoint of the core at each end, and its packets byte for byte over
//! IPv4 (protocol 33).

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use tfrc::SendDecision;
use tfrc::guard::Stopped;
use tfrc_dccp::connection::EcnSending;
use tfrc_dccp::endpoint::{Carrier, ConnectConfig, Listen};
use tfrc_dccp::feature::{CcidPreference, Wishes};
use tfrc_dccp::{Ccid, Connection, ConnectionConfig, ConnectionId, Endpoint, EndpointConfig, Event, Stats};
use tfrc_sim::packet::{FlowId, Header, Outgoing, Precedence};
use tfrc_sim::{Address, Context, Stream, TimerKey};
use tfrc_units::Ecn;
use tfrc_units::{Instant, saturating};

use crate::Mean;
use crate::Source;
use crate::payload::{Payload, START};

/// The endpoint's timeout, or the application has its next datagram.
const WAKE: TimerKey = START;

/// Bytes of an IPv4 header without options.
const IP_HEADER: u32 = 20;
/// The DCCP port of every server here.
const PORT: u16 = 5001;

/// A DCCP packet: header, options and data, from one end to the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame(Box<[u8]>);

impl Frame {
    /// The packet.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// One end of a connection, and the application on it.
#[derive(Debug)]
pub struct DccpHost {
    endpoint: Endpoint,
    connection: Option<ConnectionId>,
    role: EndTask,
    setup: HostSetup,
    /// The other end's address.
    other: Ipv4Addr,
    buffer: Vec<u8>,
    datagram: Vec<u8>,
    rtt: Mean,
    last_stop: Option<Stopped>,
    /// Feedback packets seen when the round-trip time was last looked at.
    feedback_seen: u64,
}

/// Task of an end.
#[derive(Debug)]
pub enum EndTask {
    /// It connects and sends what its application has.
    Client {
        /// The application.
        source: Box<Source>,
    },
    /// It accepts and reads.
    Server,
}

/// How an end is set up.
#[derive(Debug)]
pub struct HostSetup {
    /// The congestion control of the data.
    pub ccid: Ccid,
    /// Settings of its rate control.
    pub config: tfrc::Config,
    /// The flow that its packets count for.
    pub flow: FlowId,
    /// The mark of its packets.
    pub ecn: Ecn,
    /// The drop precedence of its packets.
    pub precedence: Precedence,
    /// The other end; a server learns it from the first packet's flow, a client knows it.
    pub peer: Option<Address>,
    /// When it ends.
    pub stop: Option<Instant>,
}

impl DccpHost {
    /// `stream` gives the endpoint's secret; `number` distinguishes the flow's addresses.
    #[must_use]
    pub fn new(role: EndTask, setup: HostSetup, mut stream: Stream) -> Self {
        let [near, far] = addresses(setup.flow);
        let (own, other, listen) = match role {
            EndTask::Client { .. } => (near, far, Listen::Refuse),
            EndTask::Server => (far, near, Listen::One),
        };
        let mut secret = [0; 32];
        for part in secret.chunks_exact_mut(8) {
            part.copy_from_slice(&stream.bits().to_le_bytes());
        }
        let config = EndpointConfig {
            carrier: Carrier::Native { local: IpAddr::V4(own) },
            listen,
            port: PORT,
            connection: connection(&setup),
            ..EndpointConfig::default()
        };
        Self {
            endpoint: Endpoint::new(config, secret),
            connection: None,
            role,
            setup,
            other,
            buffer: Vec::new(),
            datagram: Vec::new(),
            rtt: Mean::default(),
            last_stop: None,
            feedback_seen: 0,
        }
    }

    /// The connection, once there is one.
    #[must_use]
    pub fn connection(&self) -> Option<&Connection> {
        self.endpoint.connection(self.connection?)
    }

    /// Returns the counters of the connection; all zero before there is one.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.connection().map(Connection::stats).unwrap_or_default()
    }

    /// The smoothed round-trip time at each feedback packet, in seconds.
    #[must_use]
    pub fn rtt(&self) -> Mean {
        self.rtt
    }

    /// The last stop by a circuit breaker or the stop rule, also if it is over.
    #[must_use]
    pub fn last_stop(&self) -> Option<Stopped> {
        self.last_stop
    }

    pub(super) fn on_frame(
        &mut self,
        now: Instant,
        header: &Header,
        frame: &Frame,
        context: &mut Context<'_, Payload>,
    ) {
        let ecn = header.ecn;
        self.setup.peer.get_or_insert(header.src);
        let from = SocketAddr::new(IpAddr::V4(self.other), 0);
        self.endpoint.handle_datagram(now, from, ecn, &frame.0);
        self.go_on(now, context);
    }

    pub(super) fn on_timer(&mut self, now: Instant, context: &mut Context<'_, Payload>) {
        if self.connection.is_none() && matches!(self.role, EndTask::Client { .. }) {
            let remote = SocketAddr::new(IpAddr::V4(self.other), 0);
            let config = ConnectConfig { port: PORT, connection: connection(&self.setup) };
            // Both addresses are of one version and no port is in use: this cannot fail.
            self.connection = self.endpoint.connect(now, remote, config).ok();
        }
        self.endpoint.handle_timeout(now);
        self.go_on(now, context);
    }

    /// The rest of a turn: transmissions, events, the application, the next timeout.
    fn go_on(&mut self, now: Instant, context: &mut Context<'_, Payload>) {
        self.flush(now, context);
        self.take_events();
        let data = self.feed(now, context);
        let timeout = self.endpoint.poll_timeout().map(|wake| wake.at);
        match timeout.into_iter().chain(data).min() {
            Some(at) => context.set_timer(WAKE, at),
            None => context.cancel_timer(WAKE),
        }
    }

    fn take_events(&mut self) {
        while let Some((id, event)) = self.endpoint.poll_event() {
            self.connection = Some(id);
            if event == Event::Readable {
                while self.endpoint.recv(id).is_some() {}
            }
        }
        let Some(connection) = self.connection.and_then(|id| self.endpoint.connection(id)) else { return };
        let seen = connection.stats().received_feedback;
        if seen > self.feedback_seen
            && let Some(rtt) = connection.rtt()
        {
            self.rtt.add(rtt.as_secs_f64());
        }
        self.feedback_seen = seen;
        self.last_stop = connection.rate_sender().stopped().or(self.last_stop);
    }

    /// Hands over what the application has. It makes each datagram at the last moment, so it asks
    /// when that is. Returns when there may be more.
    fn feed(&mut self, now: Instant, context: &mut Context<'_, Payload>) -> Option<Instant> {
        loop {
            if self.setup.stop.is_some_and(|stop| now >= stop) {
                return None;
            }
            let EndTask::Client { source } = &mut self.role else { return None };
            let data = source.next(now)?;
            let id = self.connection?;
            let connection = self.endpoint.connection(id)?;
            match connection.next_send(now)? {
                SendDecision::Stopped(_) => return None,
                SendDecision::At(at) => return Some(at.max(data)),
                SendDecision::Now if now < data => return Some(data),
                SendDecision::Now => {
                    let size = saturating::<usize>(source.take(now)).min(connection.max_datagram());
                    self.datagram.resize(size, 0);
                    self.endpoint.send(now, id, &self.datagram).ok()?;
                }
            }
            self.flush(now, context);
        }
    }

    /// Sends what the endpoint has to send.
    fn flush(&mut self, now: Instant, context: &mut Context<'_, Payload>) {
        let mut buffer = std::mem::take(&mut self.buffer);
        while let Some(transmission) = self.endpoint.poll_transmit(now, &mut buffer) {
            let Some(to) = self.setup.peer else { continue };
            context.send(Outgoing {
                to,
                flow: self.setup.flow,
                size: saturating::<u32>(buffer.len()).saturating_add(IP_HEADER),
                ecn: transmission.ecn,
                precedence: self.setup.precedence,
                payload: Payload::Dccp(Frame(buffer.as_slice().into())),
            });
        }
        self.buffer = buffer;
    }
}

/// The addresses of a flow's sender and receiver, in their DCCP and in captures.
#[must_use]
pub fn addresses(flow: FlowId) -> [Ipv4Addr; 2] {
    let [_, a, b, c] = flow.0.to_be_bytes();
    [Ipv4Addr::new(10, a, b, c), Ipv4Addr::new(11, a, b, c)]
}

/// How both ends behave: only the CCID of the flow, both ways.
fn connection(setup: &HostSetup) -> ConnectionConfig {
    let ccid = match setup.ccid {
        Ccid::Four => CcidPreference::Four,
        _ => CcidPreference::Three,
    };
    ConnectionConfig {
        tfrc: setup.config,
        wishes: Wishes { sending: ccid, receiving: ccid, ..Wishes::default() },
        ecn: match setup.ecn {
            Ecn::NotEct => EcnSending::NotEct,
            _ => EcnSending::Ect0,
        },
        max_packet: 1480,
        ..ConnectionConfig::default()
    }
}
