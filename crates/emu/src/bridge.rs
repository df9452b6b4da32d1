//! The engine between the wires of the nodes, in real time.

use std::collections::BTreeMap;
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tfrc_net::io::Clock;
use tfrc_sim::link::PacketCount;
use tfrc_sim::packet::{FlowId, Outgoing, Precedence};
use tfrc_sim::{Address, Engine, LinkId, NoAgent, NodeId};
use tfrc_units::{Duration, Ecn, Instant, saturating};

use crate::SandboxError;
use crate::capture::LinkCapture;
use crate::fidelity::{Fidelity, FidelityMeter};
use crate::ip::{ETHERNET, IpHeader, set_ecn};
use crate::space::Wire;
use crate::system::{self, FrameBatch};
use crate::undeliverable::{self, Destination};

/// An engine whose packets are real ones.
pub type WireEngine = Engine<NoAgent<WirePacket>>;

/// A real packet on its way through the engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WirePacket {
    /// The Ethernet frame.
    pub(crate) bytes: Box<[u8]>,
    /// Time between its arrival and its entry into the network.
    pub(crate) late: Duration,
}

/// A flow with hosts of its own in the network: packets to `port`, and from it, belong to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowPath {
    /// Number of the flow.
    pub flow: FlowId,
    /// The port of the end that listens, TCP and UDP alike.
    pub port: u16,
    /// The end that listens.
    pub listener: FlowEnd,
    /// The sender's host.
    pub from: NodeId,
    /// The receiver's host.
    pub to: NodeId,
}

/// An end of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlowEnd {
    /// Where its data goes.
    Receiver,
    /// Where its data comes from.
    Sender,
}

/// Packets of a flow on the wire, from its sender's end to its receiver's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FlowTraffic {
    /// Packets that entered the network at the sender, bytes with IP headers.
    pub entered: PacketCount,
    /// Packets that left it at the receiver.
    pub delivered: PacketCount,
}

/// Observer of a running emulation, called on the engine's thread. It must be quick: packets wait.
pub trait Observer: Send {
    /// Called every [`Observer::step`] of the engine's time, from zero on. `flows` are in the order
    /// of the flow paths.
    fn look(&mut self, now: Instant, engine: &WireEngine, flows: &[FlowTraffic]);

    /// Time between two looks, above zero.
    fn step(&self) -> Duration;
}

/// The engine with its gateways, before it runs.
pub(crate) struct Bridge {
    engine: WireEngine,
    wires: Vec<Wire>,
    nodes: BTreeMap<Ipv4Addr, usize>,
    /// By number of the wire: the gateway at the node itself.
    gateways: Vec<Address>,
    /// By number of the wire: the wires of other nodes to which links lead.
    reached: Vec<Vec<usize>>,
    /// By protocol-independent port: the flow's place in `traffic`, and its gateways.
    ports: BTreeMap<u16, (usize, Address, Address)>,
    /// Every gateway, and the wire that its packets leave by.
    outlets: Vec<(Address, usize)>,
    /// Links between two gateways, as far as asked for.
    routes: BTreeMap<(Address, Address), Vec<LinkId>>,
    flows: Vec<FlowPath>,
    /// Places in `flows` and `traffic`.
    places: BTreeMap<FlowId, usize>,
    traffic: Vec<FlowTraffic>,
    meter: FidelityMeter,
    /// Time that a full packet takes over each link without a queue.
    times: BTreeMap<LinkId, Duration>,
    undeliverable: undeliverable::Counts,
    capture: LinkCapture,
    batch: Option<FrameBatch>,
}

/// Number of flows that no flow path names: programs at nodes.
const OTHERS: FlowId = FlowId(u32::MAX);

/// Packets in the network at the same time; more are lost, and counted as our own drops.
const MOST_PACKETS: u64 = 200_000;

impl Bridge {
    /// `places` are the nodes with their addresses and wires; `rates` the links of constant rate.
    pub(crate) fn new(
        mut engine: WireEngine,
        places: Vec<(NodeId, Ipv4Addr, Wire)>,
        flows: Vec<FlowPath>,
        hosts: &BTreeMap<NodeId, NodeId>,
        rates: impl Iterator<Item = (LinkId, f64)>,
        capture: LinkCapture,
    ) -> Result<Self, SandboxError> {
        let unknown = |_| SandboxError::set_up("gateway")(io::Error::other("a node of another network"));
        let mut wire_of = BTreeMap::new();
        let (mut gateways, mut outlets, mut wires, mut nodes) =
            (Vec::new(), Vec::new(), Vec::new(), BTreeMap::new());
        for (number, (node, address, wire)) in places.into_iter().enumerate() {
            let gateway = engine.gateway(node).map_err(unknown)?;
            gateways.push(gateway);
            outlets.push((gateway, number));
            wires.push(wire);
            nodes.insert(address, number);
            wire_of.insert(node, number);
        }
        let mut ports = BTreeMap::new();
        for (place, path) in flows.iter().enumerate() {
            let mut open = |host: NodeId| {
                let gateway = engine.gateway(host).map_err(unknown)?;
                let node = hosts.get(&host).copied().unwrap_or(host);
                let wire = wire_of.get(&node).copied();
                let wire = wire
                    .ok_or_else(|| SandboxError::set_up("flow")(io::Error::other("its node has no wire")))?;
                outlets.push((gateway, wire));
                Ok::<Address, SandboxError>(gateway)
            };
            let (from, to) = (open(path.from)?, open(path.to)?);
            ports.insert(path.port, (place, from, to));
        }
        let leads = |from: &Address, to: &Address| !engine.route(from.node(), to.node()).is_empty();
        let reached = |from: &Address| {
            let all = gateways.iter().enumerate();
            all.filter(|(_, to)| leads(from, to)).map(|(number, _)| number).collect()
        };
        let reached = gateways.iter().map(reached).collect();
        Ok(Self {
            engine,
            wires,
            nodes,
            gateways,
            reached,
            ports,
            outlets,
            routes: BTreeMap::new(),
            traffic: vec![FlowTraffic::default(); flows.len()],
            places: flows.iter().enumerate().map(|(place, path)| (path.flow, place)).collect(),
            flows,
            meter: FidelityMeter::new(rates),
            times: BTreeMap::new(),
            undeliverable: undeliverable::Counts::default(),
            capture,
            batch: Some(FrameBatch::new()),
        })
    }

    /// With the time that a full packet takes over each link.
    pub(crate) fn with_times(self, times: BTreeMap<LinkId, Duration>) -> Self {
        Self { times, ..self }
    }

    /// Runs until `stop` is set; the time of the network begins now, with `clock`.
    pub(crate) fn run(
        mut self,
        clock: Clock,
        stop: &AtomicBool,
        observer: &mut dyn Observer,
    ) -> io::Result<Fidelity> {
        // Without slack the kernel wakes within some tens of microseconds.
        let _ = nix::sys::prctl::set_timerslack(1);
        system::run_first(system::First::Engine);
        if !self.capture.is_empty() {
            LinkCapture::begin(&mut self.engine);
        }
        let mut look = Instant::ZERO;
        while !stop.load(Ordering::Acquire) {
            let due = self
                .engine
                .poll_timeout()
                .map_or(look, |event| event.min(look))
                .min(clock.now() + LONGEST_SLEEP);
            let came = self.wait(clock, due)?;
            let now = clock.now();
            if came.is_empty() && now >= due {
                self.meter.woken(due, now);
            }
            while look <= now {
                self.engine.run_until(look);
                self.emit(clock)?;
                for wire in &self.wires {
                    self.meter.own_drops += u64::from(system::lost_frames(wire.fd.as_fd())?);
                }
                observer.look(look, &self.engine, &self.traffic);
                look += observer.step();
            }
            for wire in came {
                self.take_in(wire, clock)?;
            }
            self.engine.run_until(clock.now());
            self.emit(clock)?;
        }
        observer.look(clock.now(), &self.engine, &self.traffic);
        let shortest = self.shortest_round_trip();
        self.capture.finish()?;
        let undeliverable = self.undeliverable.list();
        Ok(Fidelity { shortest_round_trip: shortest, undeliverable, ..self.meter.fidelity() })
    }

    /// The shortest round trip over the routes that packets took.
    fn shortest_round_trip(&self) -> Option<Duration> {
        let time = |route: &[LinkId]| {
            let times = route.iter().filter_map(|link| self.times.get(link));
            times.fold(Duration::ZERO, |sum, time| sum + *time)
        };
        let round_trips = self.routes.iter().map(|((from, to), there)| {
            let back = self.engine.route(to.node(), from.node());
            time(there) + time(&back)
        });
        round_trips.min()
    }

    /// Waits for packets or for `due`; the wires that have packets.
    fn wait(&self, clock: Clock, due: Instant) -> io::Result<Vec<usize>> {
        let mut fds: Vec<PollFd<'_>> =
            self.wires.iter().map(|wire| PollFd::new(&wire.fd, PollFlags::IN)).collect();
        let nanos = due.saturating_since(clock.now()).as_nanos();
        let timeout = Timespec {
            tv_sec: saturating::<i64>(nanos / 1_000_000_000),
            tv_nsec: saturating::<i64>(nanos % 1_000_000_000),
        };
        match poll(&mut fds, Some(&timeout)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => return Ok(Vec::new()),
            Ok(_) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(fds
            .iter()
            .enumerate()
            .filter(|(_, fd)| !fd.revents().is_empty())
            .map(|(number, _)| number)
            .collect())
    }

    /// Takes what waits at a wire into the network, a batch at most.
    fn take_in(&mut self, number: usize, clock: Clock) -> io::Result<()> {
        let Some(wire) = self.wires.get(number) else { return Ok(()) };
        let Some(mut batch) = self.batch.take() else { return Ok(()) };
        let count = batch.receive(wire.fd.as_fd())?;
        let now = clock.now();
        let real = real_time_ns();
        for (arrived, frame) in batch.frames(count) {
            let ago = arrived.map_or(0, |at| real.saturating_sub(at)).min(OLDEST.as_nanos());
            let at = Instant::from_nanos(now.as_nanos().saturating_sub(ago));
            let late = self.engine.now().saturating_since(at);
            self.inject(at, late, number, frame);
        }
        self.batch = Some(batch);
        Ok(())
    }

    /// Sends a packet that came by a wire into the network at the time of its arrival; `late` is
    /// how much later it is taken in.
    fn inject(&mut self, at: Instant, late: Duration, wire: usize, frame: &[u8]) {
        if let Err(destination) = self.try_inject(at, late, wire, frame) {
            self.undeliverable.add(destination);
        }
    }

    /// As [`Self::inject`].
    ///
    /// # Errors
    /// The destination of a packet that no node gets.
    fn try_inject(
        &mut self,
        at: Instant,
        late: Duration,
        wire: usize,
        frame: &[u8],
    ) -> Result<(), Destination> {
        let header = IpHeader::of_frame(frame)?;
        let mut arrival = Arrival { at, late, header, frame: frame.into() };
        if header.is_for_everyone() {
            let reached = self.reached.get(wire).filter(|reached| !reached.is_empty()).cloned();
            let reached = reached.ok_or(Destination::Everyone(header.destination))?;
            if header.is_broadcast() {
                arrival.address([0xff; 6]);
            }
            for to in reached {
                self.enter_at(wire, to, arrival.clone());
            }
            return Ok(());
        }
        let to = *self.nodes.get(&header.destination).ok_or(Destination::NoNode(header.destination))?;
        if let Some(to) = self.wires.get(to) {
            arrival.address(to.hardware);
        }
        let of = |port: u16, end: FlowEnd| {
            let (place, from, to) = self.ports.get(&port).copied()?;
            let is_forward = self.flows.get(place)?.listener == end;
            Some(if is_forward { (place, from, to, true) } else { (place, to, from, false) })
        };
        let flow = header.ports.and_then(|(_, source, destination)| {
            of(destination, FlowEnd::Receiver).or_else(|| of(source, FlowEnd::Sender))
        });
        if let Some((place, from, to, forward)) = flow {
            let flow = self.flows.get(place).map_or(OTHERS, |path| path.flow);
            if self.enter(from, to, flow, arrival)
                && forward
                && let Some(traffic) = self.traffic.get_mut(place)
            {
                add(&mut traffic.entered, header.length);
            }
        } else if self.reached.get(wire).is_some_and(|reached| reached.contains(&to)) {
            self.enter_at(wire, to, arrival);
        } else {
            return Err(Destination::NoPath(header.destination));
        }
        Ok(())
    }

    /// Lets a packet of no flow enter at the node of a wire, for the node of another.
    fn enter_at(&mut self, wire: usize, to: usize, arrival: Arrival) {
        if let (Some(from), Some(to)) = (self.gateways.get(wire), self.gateways.get(to)) {
            self.enter(*from, *to, OTHERS, arrival);
        }
    }

    /// Lets a packet enter the network; returns false if the network is full, which counts as a
    /// loss of ours.
    fn enter(&mut self, from: Address, to: Address, flow: FlowId, arrival: Arrival) -> bool {
        if self.engine.in_flight() >= MOST_PACKETS {
            self.meter.own_drops += 1;
            return false;
        }
        let Arrival { at, late, header, frame } = arrival;
        if !self.capture.is_empty() {
            self.capture.entered(frame.get(ETHERNET..).unwrap_or_default());
        }
        let payload = WirePacket { bytes: frame, late };
        let (size, ecn) = (header.length, header.ecn);
        self.engine.inject(at, from, Outgoing { to, flow, size, ecn, precedence: Precedence::Low, payload });
        true
    }

    /// Sends what has come out of the network.
    fn emit(&mut self, clock: Clock) -> io::Result<()> {
        let mut out: Vec<Vec<Leaving>> = self.wires.iter().map(|_| Vec::new()).collect();
        for (gateway, wire) in self.outlets.clone() {
            while let Some(delivery) = self.engine.poll_delivery(gateway) {
                let header = delivery.packet.header;
                let WirePacket { mut bytes, late } = delivery.packet.payload;
                if let Some(packet) = bytes.get_mut(ETHERNET..) {
                    mark(packet, header.ecn);
                }
                if let Some(traffic) = self.delivered(header.flow, header.dst) {
                    add(&mut traffic.delivered, header.size);
                }
                let leaving = Leaving { due: delivery.at, late, from: header.src, to: header.dst, bytes };
                if let Some(out) = out.get_mut(wire) {
                    out.push(leaving);
                }
            }
        }
        if !self.capture.is_empty() {
            self.capture.look(&mut self.engine)?;
        }
        for (number, mut leaving) in out.into_iter().enumerate() {
            if !leaving.is_empty() {
                leaving.sort_by_key(|one| one.due);
                self.send(number, leaving, clock)?;
            }
        }
        Ok(())
    }

    /// Traffic of the flow whose receiver this is.
    fn delivered(&mut self, flow: FlowId, to: Address) -> Option<&mut FlowTraffic> {
        let place = *self.places.get(&flow)?;
        (self.flows.get(place)?.to == to.node()).then_some(())?;
        self.traffic.get_mut(place)
    }

    fn send(&mut self, number: usize, leaving: Vec<Leaving>, clock: Clock) -> io::Result<()> {
        let Some(wire) = self.wires.get(number) else { return Ok(()) };
        let (mut frames, times): (Vec<Box<[u8]>>, Vec<_>) =
            leaving.into_iter().map(|one| (one.bytes, (one.due, one.late, one.from, one.to))).unzip();
        let sent = match system::send_frames(wire.fd.as_fd(), &mut frames) {
            Ok(sent) => sent,
            // The interface's memory is used up; the rest of the batch is lost.
            Err(error) if is_passing(&error) => 0,
            Err(error) => return Err(error),
        };
        self.meter.own_drops += saturating::<u64>(frames.len() - sent);
        let real = clock.now();
        for ((due, late, from, to), frame) in times.into_iter().zip(&frames) {
            let engine = &self.engine;
            let route = self.routes.entry((from, to)).or_insert_with(|| engine.route(from.node(), to.node()));
            self.meter.left(route, saturating::<u32>(frame.len() - ETHERNET), due, real, late);
        }
        Ok(())
    }
}

/// A packet that came by a wire and has not entered the network yet.
#[derive(Clone)]
struct Arrival {
    at: Instant,
    late: Duration,
    header: IpHeader,
    frame: Box<[u8]>,
}

impl Arrival {
    /// Addresses the frame to this hardware.
    fn address(&mut self, hardware: [u8; 6]) {
        if let Some(target) = self.frame.get_mut(..6) {
            target.copy_from_slice(&hardware);
        }
    }
}

/// A packet that has come out of the network and not left yet.
struct Leaving {
    due: Instant,
    late: Duration,
    from: Address,
    to: Address,
    bytes: Box<[u8]>,
}

/// The engine looks at the clock and at its orders at least so often.
const LONGEST_SLEEP: Duration = Duration::from_millis(20);
/// Older arrival times are ignored.
const OLDEST: Duration = Duration::from_millis(100);

fn add(count: &mut PacketCount, bytes: u32) {
    count.packets += 1;
    count.bytes += u64::from(bytes);
}

/// Writes the ECN bits if a queue has changed them.
fn mark(packet: &mut [u8], ecn: Ecn) {
    if IpHeader::read(packet).is_some_and(|header| header.ecn != ecn) {
        set_ecn(packet, ecn);
    }
}

/// Refusals of a packet socket that are over in a moment.
fn is_passing(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOBUFS | libc::EAGAIN | libc::ENETDOWN))
}

/// The system's real-time clock, by which the kernel stamps packets.
fn real_time_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
    saturating::<u64>(now.tv_sec) * 1_000_000_000 + saturating::<u64>(now.tv_nsec)
}
