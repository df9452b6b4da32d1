//! The relay's step: datagrams in, network forward, datagrams out.

use std::io;
use std::net::SocketAddr;

use tfrc_net::io::{Clock, Outgoing, Socket, SocketSender};
use tfrc_sim::link::{LinkStats, PacketCount};
use tfrc_sim::packet::{FlowId, Precedence};
use tfrc_sim::{Address, Agent, LinkId};
use tfrc_units::Ecn;
use tfrc_units::{Instant, saturating};
use tokio::sync::mpsc;

use crate::clients::Clients;
use crate::control::Change;
use crate::payload::{Datagram, HEADER_BYTES};
use crate::reader::{self, ReadDatagram};
use crate::{Direction, GatewayNetwork, Limits, Snapshot};

/// Input of the driver from the readers of the sockets.
pub(crate) enum Input {
    FromClients { door: usize, read: io::Result<Vec<ReadDatagram>> },
    FromServer { client: u64, batch: Vec<ReadDatagram> },
}

/// The address for clients, and their server.
pub(crate) struct Door {
    pub(crate) server: SocketAddr,
    pub(crate) listener: SocketSender,
}

pub(crate) struct Driver<A: Agent, F> {
    clock: Clock,
    world: GatewayNetwork<A, F>,
    paths: Paths,
    doors: Vec<Door>,
    limits: Limits,
    clients: Clients,
    input: mpsc::Sender<Input>,
    there: DirectionFlow,
    back: DirectionFlow,
    refused: u64,
    unsent: u64,
}

/// Packets and bytes that entered and left the network in one direction.
#[derive(Default)]
struct DirectionFlow {
    entered: PacketCount,
    delivered: PacketCount,
}

/// The links in the forward and in the reverse direction.
struct Paths {
    there: Vec<LinkId>,
    back: Vec<LinkId>,
}

impl Paths {
    fn of<A: Agent, F>(world: &GatewayNetwork<A, F>) -> Self {
        let (near, far) = (world.near.node(), world.far.node());
        Self { there: world.engine.route(near, far), back: world.engine.route(far, near) }
    }
}

impl<A, F> Driver<A, F>
where
    A: Agent<Payload: From<Datagram> + TryInto<Datagram>>,
{
    /// `input` is what the readers of clients' sockets write to.
    pub(crate) fn new(
        clock: Clock,
        world: GatewayNetwork<A, F>,
        doors: Vec<Door>,
        limits: Limits,
        input: mpsc::Sender<Input>,
    ) -> Self {
        Self {
            clock,
            paths: Paths::of(&world),
            world,
            doors,
            limits,
            clients: Clients::default(),
            input,
            there: DirectionFlow::default(),
            back: DirectionFlow::default(),
            refused: 0,
            unsent: 0,
        }
    }

    /// When the network has something to do.
    pub(crate) fn next_event(&self) -> Option<Instant> {
        self.world.engine.poll_timeout()
    }

    /// Takes datagrams into the network.
    pub(crate) fn take(&mut self, input: Input) -> io::Result<()> {
        match input {
            Input::FromClients { door, read } => {
                for received in read? {
                    let known = self.clients.heard(received.at, door, received.from);
                    match known.or_else(|| self.admit(door, &received)) {
                        Some(client) => self.inject(self.world.near, self.world.far, client, received),
                        None => self.refused += 1,
                    }
                }
            }
            Input::FromServer { client, batch } => {
                let server = self.clients.get(client).map(|client| self.doors[client.door].server);
                for received in batch {
                    // Only the server may answer.
                    if Some(received.from) == server {
                        self.clients.answered(received.at, client);
                        self.inject(self.world.far, self.world.near, client, received);
                    } else {
                        self.refused += 1;
                    }
                }
            }
        }
        Ok(())
    }

    fn inject(&mut self, from: Address, to: Address, client: u64, received: ReadDatagram) {
        if self.world.engine.in_flight() >= self.limits.in_flight {
            self.refused += 1;
            return;
        }
        let ReadDatagram { at, ecn, bytes, .. } = received;
        let size = wire_size(&bytes);
        let flow = if from == self.world.near { &mut self.there } else { &mut self.back };
        count(&mut flow.entered, size);
        let payload = Datagram { client, bytes }.into();
        // Numbers of the relay's flows come after the agents' numbers: 2^31 and up, by client.
        let flow = FlowId((client as u32) | (1 << 31));
        self.world.engine.inject(
            at,
            from,
            tfrc_sim::packet::Outgoing { to, flow, size, ecn, precedence: Precedence::Low, payload },
        );
    }

    /// A client not heard before, if there is room for one or another makes room.
    fn admit(&mut self, door: usize, received: &ReadDatagram) -> Option<u64> {
        if self.clients.len() >= self.limits.clients && !self.clients.make_room(received.at) {
            return None;
        }
        let bound = reader::bind_towards(self.doors[door].server).ok()?;
        let mut reading = Socket::from_std(bound, self.clock).ok()?;
        let upstream = reading.sender().ok()?;
        let input = self.input.clone();
        let client = self.clients.next_id();
        let reader = tokio::spawn(async move {
            // A broken upstream socket is silent from then on; the client expires in time.
            while let Ok(batch) = reader::read(&mut reading).await
                && input.send(Input::FromServer { client, batch }).await.is_ok()
            {}
        });
        let ReadDatagram { at, from, to_ip, .. } = *received;
        Some(self.clients.add(at, door, from, to_ip, upstream, reader.abort_handle()))
    }

    /// Changes the network at the time of the clock.
    pub(crate) fn change(&mut self, change: Change<A>) {
        self.advance();
        change(&mut self.world.engine);
    }

    /// Brings the network up to the clock and sends what has come out.
    pub(crate) fn advance(&mut self) -> Instant {
        let now = self.clock.now();
        self.world.engine.run_until(now);
        while let Some(delivery) = self.world.engine.poll_delivery(self.world.far) {
            let packet = delivery.packet;
            if let Ok(datagram) = packet.payload.try_into() {
                count(&mut self.there.delivered, packet.header.size);
                self.send_to_server(packet.header.ecn, &datagram);
            }
        }
        while let Some(delivery) = self.world.engine.poll_delivery(self.world.near) {
            let packet = delivery.packet;
            if let Ok(datagram) = packet.payload.try_into() {
                count(&mut self.back.delivered, packet.header.size);
                self.send_to_client(packet.header.ecn, &datagram);
            }
        }
        now
    }

    fn send_to_server(&mut self, ecn: Ecn, datagram: &Datagram) {
        let datagram_to = |to| Outgoing { to, ecn, bytes: &datagram.bytes, segment: None };
        let client = self.clients.get(datagram.client);
        let sent = client.map(|c| c.upstream.send(None, datagram_to(self.doors[c.door].server)));
        self.unsent += u64::from(!matches!(sent, Some(Ok(()))));
    }

    fn send_to_client(&mut self, ecn: Ecn, datagram: &Datagram) {
        let datagram_to = |to| Outgoing { to, ecn, bytes: &datagram.bytes, segment: None };
        let client = self.clients.get(datagram.client);
        let sent = client.map(|c| self.doors[c.door].listener.send(c.local, datagram_to(c.address)));
        self.unsent += u64::from(!matches!(sent, Some(Ok(()))));
    }

    /// The state now. Forgets clients that were silent for too long.
    pub(crate) fn sample(&mut self) -> Snapshot<F> {
        let now = self.advance();
        self.clients.expire(now, self.limits.idle);
        self.snapshot(now)
    }

    fn snapshot(&self, now: Instant) -> Snapshot<F> {
        let engine = &self.world.engine;
        let links: Vec<(LinkId, LinkStats)> =
            engine.link_ids().filter_map(|id| Some((id, engine.link_stats(id)?))).collect();
        let direction = |flow: &DirectionFlow, path: &[LinkId]| {
            let mut total =
                Direction { entered: flow.entered, delivered: flow.delivered, ..Direction::default() };
            for (_, stats) in links.iter().filter(|(id, _)| path.contains(id)) {
                add(&mut total.lost, stats.lost);
                add(&mut total.lost, stats.corrupted);
                add(&mut total.overflowed, stats.overflowed);
                add(&mut total.queued, stats.queued);
            }
            total
        };
        Snapshot {
            elapsed: now.saturating_since(Instant::ZERO),
            there: direction(&self.there, &self.paths.there),
            back: direction(&self.back, &self.paths.back),
            clients: self.clients.len(),
            refused: self.refused,
            unsent: self.unsent,
            flows: self.world.flows(),
            links,
        }
    }
}

/// Bytes of a datagram on a link.
fn wire_size(bytes: &[u8]) -> u32 {
    saturating::<u32>(bytes.len()).saturating_add(HEADER_BYTES)
}

fn count(tally: &mut PacketCount, size: u32) {
    add(tally, PacketCount { packets: 1, bytes: u64::from(size) });
}

fn add(tally: &mut PacketCount, more: PacketCount) {
    tally.packets += more.packets;
    tally.bytes += more.bytes;
}
