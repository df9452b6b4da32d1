//! quinn-proto's Cubic. It asks for an estimate of the round-trip time of a type that only a
//! connection makes, so one is made: a handshake in memory, whose controller keeps the estimate it
//! is shown.

use std::any::Any;
use std::error::Error;
use std::net::{Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use quinn_proto::congestion::{ControllerFactory, CubicConfig};
use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn_proto::{
    ClientConfig, DatagramEvent, Endpoint, EndpointConfig, RttEstimator, ServerConfig, TransportConfig,
};

use crate::SIZE;

/// The controller under the pattern of [`crate::drive`].
pub struct Cubic {
    controller: Box<dyn quinn_proto::congestion::Controller>,
    rtt: RttEstimator,
    begin: Instant,
    in_flight: u64,
}

impl Cubic {
    /// A fresh one.
    ///
    /// # Errors
    /// If the handshake fails.
    pub fn new() -> Result<Self, Box<dyn Error>> {
        let begin = Instant::now();
        let controller = Arc::new(CubicConfig::default()).build(begin, u16::try_from(SIZE)?);
        Ok(Self { controller, rtt: estimate()?, begin, in_flight: 0 })
    }

    fn at(&self, ns: u64) -> Instant {
        self.begin + Duration::from_nanos(ns)
    }
}

impl crate::Controller for Cubic {
    fn sent(&mut self, now: u64, number: u64) {
        let now = self.at(now);
        self.in_flight += u64::from(SIZE);
        // What a sender asks before it sends.
        std::hint::black_box(self.controller.window() > self.in_flight);
        self.controller.on_sent(now, u64::from(SIZE), number);
    }

    fn acknowledged(&mut self, now: u64, sent: u64, number: u64, _: bool) {
        let (now, sent) = (self.at(now), self.at(sent));
        self.in_flight -= u64::from(SIZE);
        self.controller.on_ack(now, sent, u64::from(SIZE), false, &self.rtt);
        self.controller.on_end_acks(now, self.in_flight, false, Some(number));
    }

    fn lost(&mut self, now: u64, sent: u64, _: u64) {
        let (now, sent) = (self.at(now), self.at(sent));
        self.in_flight -= u64::from(SIZE);
        self.controller.on_congestion_event(now, sent, false, u64::from(SIZE));
    }

    fn state(&self) -> u64 {
        self.controller.window()
    }
}

type Kept = Arc<Mutex<Option<RttEstimator>>>;

/// Keeps the estimate it is shown and never holds anything back.
#[derive(Clone)]
struct Keeper(Kept);

impl ControllerFactory for Keeper {
    fn build(self: Arc<Self>, _: Instant, _: u16) -> Box<dyn quinn_proto::congestion::Controller> {
        Box::new((*self).clone())
    }
}

impl quinn_proto::congestion::Controller for Keeper {
    fn on_ack(&mut self, _: Instant, _: Instant, _: u64, _: bool, rtt: &RttEstimator) {
        if let Ok(mut kept) = self.0.lock() {
            *kept = Some(*rtt);
        }
    }

    fn on_congestion_event(&mut self, _: Instant, _: Instant, _: bool, _: u64) {}

    fn on_mtu_update(&mut self, _: u16) {}

    fn window(&self) -> u64 {
        1 << 20
    }

    fn clone_box(&self) -> Box<dyn quinn_proto::congestion::Controller> {
        Box::new(self.clone())
    }

    fn initial_window(&self) -> u64 {
        1 << 20
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

/// The estimate after a handshake over a path of 100 ms.
fn estimate() -> Result<RttEstimator, Box<dyn Error>> {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()])?;
    let key = rustls::pki_types::PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let certificate = made.cert.der().clone();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls13 = &[&rustls::version::TLS13];
    let server = rustls::ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(tls13)?
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key.into())?;
    let mut roots = rustls::RootCertStore::empty();
    roots.add(certificate)?;
    let client = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(tls13)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let kept = Kept::default();
    let mut transport = TransportConfig::default();
    transport.congestion_controller_factory(Arc::new(Keeper(Arc::clone(&kept))));
    let mut client_config = ClientConfig::new(Arc::new(QuicClientConfig::try_from(client)?));
    client_config.transport_config(Arc::new(transport));
    let server_config = ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(server)?));

    let here = |port| SocketAddr::from((Ipv6Addr::LOCALHOST, port));
    let endpoint = Arc::new(EndpointConfig::default());
    let mut near = Endpoint::new(Arc::clone(&endpoint), None, true, None);
    let mut far = Endpoint::new(endpoint, Some(Arc::new(server_config)), true, None);
    let mut now = Instant::now();
    let (near_handle, mut near_connection) = near.connect(now, client_config, here(2), "localhost")?;
    let mut far_connection = None;
    for _ in 0..64 {
        let (mut out, mut back) = (Vec::new(), Vec::new());
        let mut buffer = Vec::new();
        while let Some(transmit) = near_connection.poll_transmit(now, 1, &mut buffer) {
            out.push(buffer.get(..transmit.size).unwrap_or_default().to_vec());
            buffer.clear();
        }
        now += Duration::from_millis(50);
        for bytes in out {
            let mut answer = Vec::new();
            match far.handle(now, here(1), None, None, bytes.as_slice().into(), &mut answer) {
                Some(DatagramEvent::NewConnection(incoming)) => {
                    far_connection = Some(
                        far.accept(incoming, now, &mut answer, None).map_err(|e| format!("{:?}", e.cause))?,
                    );
                }
                Some(DatagramEvent::ConnectionEvent(_, event)) => {
                    if let Some((_, connection)) = &mut far_connection {
                        connection.handle_event(event);
                    }
                }
                _ => {}
            }
        }
        if let Some((_, connection)) = &mut far_connection {
            connection.handle_timeout(now);
            while let Some(transmit) = connection.poll_transmit(now, 1, &mut buffer) {
                back.push(buffer.get(..transmit.size).unwrap_or_default().to_vec());
                buffer.clear();
            }
        }
        now += Duration::from_millis(50);
        for bytes in back {
            let mut answer = Vec::new();
            let event = near.handle(now, here(2), None, None, bytes.as_slice().into(), &mut answer);
            if let Some(DatagramEvent::ConnectionEvent(handle, event)) = event
                && handle == near_handle
            {
                near_connection.handle_event(event);
            }
        }
        near_connection.handle_timeout(now);
        if let Some(rtt) = kept.lock().map_err(|_| "poisoned")?.as_ref() {
            return Ok(*rtt);
        }
    }
    Err("the handshake had no end".into())
}
