//! The flows of a scenario as real sockets, an end at each of two nodes.

mod datagrams;
mod dccp;
mod ping;
mod tcp;
mod web;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tfrc_emu::NodeSpace;
use tfrc_net::io::{Clock, Timer};
use tfrc_sim::traffic::Timetable;
use tfrc_sim::{Seed, Stream};
use tfrc_units::{Duration, Instant, saturating};

use crate::recording::{LOOK, Looks};
use crate::state::Progress;
use tfrc_scenario::{FlowKind, Member};

/// State of a flow, which its ends write and the observer reads.
#[derive(Debug, Clone, Default)]
pub(super) struct FlowState(Arc<Mutex<FlowFigures>>);

/// Figures of a flow that its ends know.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct FlowFigures {
    /// Progress; packets and bytes sent are counted on the wire instead where `wire_overhead` is
    /// known.
    pub(super) progress: Progress,
    /// Bytes of each packet that are not data. `None`: sent and received data are those of
    /// `progress`.
    pub(super) wire_overhead: Option<u32>,
    /// Of datagrams without control: how much later than at its time the latest was sent.
    pub(super) behind: Duration,
    /// Most bytes by which a datagram was shortened to fit into a packet.
    pub(super) shortened: usize,
}

impl FlowState {
    pub(super) fn get(&self) -> FlowFigures {
        *self.lock()
    }

    fn update(&self, change: impl FnOnce(&mut FlowFigures)) {
        change(&mut self.lock());
    }

    fn lock(&self) -> MutexGuard<'_, FlowFigures> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Times and addresses of a flow in an emulated network.
#[derive(Debug, Clone)]
struct Course {
    name: String,
    clock: Clock,
    start: Instant,
    /// When it sends nothing more; the end of the run at the latest.
    stop: Instant,
    /// When its application has data, and how much.
    timetable: Timetable,
    /// The receiving end.
    peer: SocketAddr,
    seed: Seed,
    /// Time between two readings of the connection's state.
    reading: std::time::Duration,
    state: FlowState,
}

impl Course {
    /// Waits for a time of the network, within some tens of microseconds.
    async fn until(&self, timer: &mut Timer, at: Instant) -> io::Result<()> {
        if at > self.clock.now() {
            timer.arm(Some(at))?;
            timer.expired().await?;
        }
        Ok(())
    }

    /// The random stream that the simulated flow of this name has.
    fn stream(&self, what: &str) -> Stream {
        self.seed.stream(&format!("flow/{}/{what}", self.name))
    }

    fn is_over(&self) -> bool {
        self.clock.now() >= self.stop
    }

    /// Any address of the node, at the flow's port.
    fn listening(&self) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::UNSPECIFIED, self.peer.port()))
    }
}

/// The end of a flow that has gone wrong: its name and the fault.
pub(super) type Trouble = (String, io::Error);

/// A running end of a flow.
pub(super) type End = tokio::task::JoinHandle<io::Result<()>>;

/// Where and when a flow runs.
pub(super) struct Venue<'s> {
    pub(super) from: &'s NodeSpace,
    pub(super) to: &'s NodeSpace,
    pub(super) port: u16,
    pub(super) clock: Clock,
    pub(super) end: Instant,
    pub(super) seed: Seed,
    pub(super) reading: std::time::Duration,
}

/// Starts both ends of a flow.
///
/// # Errors
/// If a receiving end cannot be opened.
pub(super) fn start(member: &Member<'_>, venue: &Venue<'_>, state: &FlowState) -> Result<Vec<End>, Trouble> {
    let course = Course {
        name: member.name.clone(),
        clock: venue.clock,
        start: member.start,
        stop: member.flow.stop.map_or(venue.end, |stop| stop.min(venue.end)),
        timetable: member.flow.timetable.starting(member.start),
        peer: SocketAddr::from((venue.to.address(), venue.port)),
        seed: venue.seed,
        reading: venue.reading,
        state: state.clone(),
    };
    let Venue { from, to, .. } = venue;
    let started = match &member.flow.kind {
        FlowKind::Tcp(flow) => tcp::start(flow, &course, from, to),
        FlowKind::Tfrc(flow) => dccp::start(&dccp::Session::of_tfrc(flow), &course, from, to),
        FlowKind::Dccp(flow) => dccp::start(&dccp::Session::of_dccp(flow), &course, from, to),
        FlowKind::Datagrams(flow) => datagrams::start(flow, &course, from, to),
        // Refused where a scenario is read.
        FlowKind::Custom(_) => Err(io::ErrorKind::Unsupported.into()),
        FlowKind::Ping(flow) => ping::start(*flow, &course, from, to),
        FlowKind::Web(flow) => web::start(flow, &course, from, to),
    };
    started.map_err(|error| (member.name.clone(), error))
}

/// Time between two readings of a connection's state: as often as states are looked at, but with
/// many flows so seldom that reading them does not hold them up.
pub(super) fn reading(flows: usize, looks: Looks) -> std::time::Duration {
    let least = if looks == Looks::Taken { LOOK } else { READING };
    let time = READING_PER_FLOW * saturating::<u64>(flows);
    std_duration(time.clamp(least, LONGEST_READING))
}

/// Least time between two readings of a connection's state, where nobody looks more often.
const READING: Duration = Duration::from_millis(50);
/// Time between two readings for each flow of the run: a reading takes some microseconds, so that
/// all of them take less than a hundredth of a processor.
const READING_PER_FLOW: Duration = Duration::from_millis(5);
/// Longest time between two readings: five in a second still show how p and X move.
const LONGEST_READING: Duration = Duration::from_millis(200);

/// A time span of the standard library from ours.
fn std_duration(time: Duration) -> std::time::Duration {
    time.into()
}
