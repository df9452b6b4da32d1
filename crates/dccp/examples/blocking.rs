//! A blocking DCCP endpoint over `std::net::UdpSocket`: a server and a client on loopback, a thread
//! each. [`Host::run`] is the whole contract of a host.
#![expect(clippy::disallowed_methods, clippy::disallowed_macros, reason = "a program")]

use std::io::{Error, ErrorKind, Result};
use std::net::{Ipv4Addr, UdpSocket};
use std::time::Instant as Clock;

use tfrc_dccp::endpoint::{ConnectConfig, Listen};
use tfrc_dccp::{ConnectionConfig, ConnectionId, Endpoint, EndpointConfig, Event};
use tfrc_units::{Duration, Ecn, Instant};

const DATAGRAMS: usize = 60;

struct Host {
    endpoint: Endpoint,
    socket: UdpSocket,
    clock: Clock,
}

impl Host {
    fn new(config: EndpointConfig, seed: [u8; 32]) -> Result<Self> {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        Ok(Self { endpoint: Endpoint::new(config, seed), socket, clock: Clock::now() })
    }

    fn now(&self) -> Instant {
        Instant::ZERO + Duration::from(self.clock.elapsed())
    }

    /// Serves the endpoint until a connection is over; `react` is the application.
    fn run(mut self, mut react: impl FnMut(&mut Endpoint, Instant, ConnectionId, &Event)) -> Result<()> {
        let (mut packet, mut over) = (Vec::new(), false);
        loop {
            let now = self.now();
            self.endpoint.handle_timeout(now);
            while let Some(sent) = self.endpoint.poll_transmit(now, &mut packet) {
                self.socket.send_to(&packet, sent.remote)?;
            }
            if over {
                return Ok(());
            }
            while let Some((id, event)) = self.endpoint.poll_event() {
                react(&mut self.endpoint, now, id, &event);
                over |= matches!(event, Event::Closed(_));
            }
            let sleep = self.endpoint.poll_timeout().map(|wake| wake.at.saturating_since(now));
            if over || sleep.is_some_and(Duration::is_zero) {
                continue;
            }
            self.socket.set_read_timeout(sleep.map(Duration::into))?;
            packet.resize(2048, 0);
            match self.socket.recv_from(&mut packet) {
                Ok((length, from)) => {
                    // Not the time before it slept: the round-trip time is measured by this.
                    self.endpoint.handle_datagram(self.now(), from, Ecn::NotEct, &packet[..length]);
                }
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                Err(error) => return Err(error),
            }
        }
    }
}

pub(crate) fn main() -> Result<()> {
    let listen = EndpointConfig { listen: Listen::One, port: 5001, ..EndpointConfig::default() };
    // A real program takes its seeds from the system's random numbers.
    let (server, mut client) = (Host::new(listen, [1; 32])?, Host::new(EndpointConfig::default(), [2; 32])?);
    let address = server.socket.local_addr()?;
    let config = ConnectConfig { port: 5001, connection: ConnectionConfig::default() };
    let id = client.endpoint.connect(Instant::ZERO, address, config).map_err(Error::other)?;
    for n in 0..DATAGRAMS {
        client.endpoint.send(Instant::ZERO, id, format!("datagram {n}").as_bytes()).map_err(Error::other)?;
    }
    let sender = std::thread::spawn(move || {
        client.run(|endpoint, now, id, event| {
            let connection = endpoint.connection_mut(id).filter(|_| *event == Event::Connected);
            connection.into_iter().for_each(|connection| connection.close(now));
        })
    });
    let mut received = 0;
    server.run(|end, _, id, _| received += std::iter::from_fn(|| end.recv(id)).count())?;
    sender.join().map_err(|_| Error::other("the sender panicked"))??;
    println!("{received} of {DATAGRAMS} datagrams arrived");
    (received > 0).then_some(()).ok_or_else(|| Error::other("nothing arrived"))
}
