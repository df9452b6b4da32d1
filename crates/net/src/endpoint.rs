//! The handle of an endpoint, and what it shares with its driver.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tfrc_dccp::ConnectionId;
use tfrc_dccp::endpoint::Refusal;
use tfrc_units::{Duration, Instant, saturating};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::connection::{ConnectError, Connection};
use crate::io::{Clock, Socket, Timer, route};
use crate::journal::{Setup, Writer};
use crate::journaled_endpoint::Machine;
use crate::options::{Carrier, Marks, Study, Unmarked};
use crate::pcap::{Capture, CaptureForm};
use crate::scheduler::State;
use crate::{Options, driver};

/// State that the application's handles and the driver share.
#[derive(Debug)]
pub(crate) struct Shared {
    state: Mutex<State>,
    pub(crate) clock: Clock,
    pub(crate) carrier: Carrier,
    /// The driver has something to do.
    pub(crate) wake: Notify,
    /// A connection waits to be accepted, or the driver has ended.
    pub(crate) accepted: Notify,
    stopping: AtomicBool,
}

impl Shared {
    /// The state. A panic elsewhere while it was locked does not make it unusable: the machine
    /// never panics half-way.
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }
}

/// A UDP port that speaks DCCP (RFC 6773): connections out of it and into it, thousands at a time.
///
/// It runs as a task of the tokio runtime it was made in.
#[derive(Debug)]
pub struct Endpoint {
    shared: Arc<Shared>,
    local: SocketAddr,
    /// The only one that can be connected to.
    peer: Option<SocketAddr>,
    driver: JoinHandle<io::Result<()>>,
}

/// Silence after which no peer is assumed to repeat a Close. Our own first three repetitions come
/// 0.25, 0.75 and 1.75 s after the Close: where one packet in ten is lost each way, our Reset and
/// all of them fail in 0.1 · (1 − 0.9²)³, one session of 1,458.
const LINGER: Duration = Duration::from_secs(2);
/// The time for which our own side would repeat its Close, by default.
const LONGEST_LINGER: Duration = Duration::from_secs(30);

/// The least payload, bytes, with which a session is worth while: a report with its loss intervals,
/// or the options of a Request, and 100 bytes of data in a packet.
const LEAST_PAYLOAD: u64 = 256;

/// Recordings to make of a session; none by default.
#[derive(Default)]
pub struct Recordings {
    /// Every input of the protocol machine, for [`replay`](crate::journal::replay).
    pub journal: Option<Box<dyn io::Write + Send>>,
    /// Every packet in and out, as a pcap file.
    pub capture: Option<Box<dyn io::Write + Send>>,
    /// Form of the packets in the capture.
    pub form: CaptureForm,
}

/// Counts of an endpoint as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct EndpointStats {
    /// Packets that belong to no connection, and their answers.
    pub strangers: tfrc_dccp::endpoint::EndpointStats,
    /// Datagrams that this system did not send for a reason other than their length: no buffers, no
    /// route, a firewall. They count as lost.
    pub unsent: u64,
    /// Packets without UDP that were dropped because their checksum was wrong.
    pub corrupt: u64,
}

/// Why an endpoint could not be created.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BindError {
    /// The address is not available.
    #[error("cannot use {address}: {source}")]
    Address {
        /// The address that failed.
        address: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
    /// DCCP without UDP, for a process without the right to raw sockets.
    #[error("DCCP without UDP needs the right to raw sockets, CAP_NET_RAW")]
    NoRawSockets,
    /// An option is out of range.
    #[error(transparent)]
    Options(#[from] tfrc::ConfigError),
    /// A guarantee without a mark or a circuit breaker.
    #[error(transparent)]
    Unmarked(#[from] Unmarked),
    /// The system gives no timer, no random numbers or no mark, or a recording cannot be written.
    #[error("{what}: {source}")]
    System {
        /// The thing that failed: the mark, the timer, random numbers or a recording.
        what: &'static str,
        /// The system's error.
        source: io::Error,
    },
}

impl Endpoint {
    /// Opens a UDP port; port 0 lets the system choose. Secrets come from the system's random
    /// numbers.
    ///
    /// # Errors
    /// [`BindError`].
    pub fn bind(address: SocketAddr, options: &Options) -> Result<Self, BindError> {
        Self::bind_recorded(address, options, Recordings::default())
    }

    /// Opens a UDP port as [`Endpoint::bind`], with recordings of the session.
    ///
    /// # Errors
    /// [`BindError`].
    pub fn bind_recorded(
        address: SocketAddr,
        options: &Options,
        recordings: Recordings,
    ) -> Result<Self, BindError> {
        let machine = |options: &Options, seed, journal| Machine::new(options, seed, journal);
        Self::open(address, None, options, recordings, machine)
    }

    /// Opens a UDP port as [`Endpoint::bind`] with another rate control than the options': that of
    /// a study, for measurements on networks of one's own. Limits of this host (the floors of its
    /// timers) still hold. Both ends should have the same; `revision`, `segment_bytes`, `cap_bps`,
    /// `guarantee` and `circuit_breaker` of the options do not count.
    ///
    /// # Errors
    /// [`BindError`].
    pub fn bind_study(address: SocketAddr, options: &Options, study: &Study) -> Result<Self, BindError> {
        let machine = |options: &Options, seed, _| Machine::of_study(options, study, seed);
        Self::open(address, None, options, Recordings::default(), machine)
    }

    /// Opens a UDP port for connections to one peer. Sending then costs the system less, and it
    /// drops datagrams from other peers.
    ///
    /// # Errors
    /// [`BindError`]; also when there is no route to the peer.
    pub fn towards(peer: SocketAddr, options: &Options, recordings: Recordings) -> Result<Self, BindError> {
        let any: IpAddr = match peer {
            SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        let machine = |options: &Options, seed, journal| Machine::new(options, seed, journal);
        Self::open(SocketAddr::new(any, 0), Some(peer), options, recordings, machine)
    }

    fn open(
        address: SocketAddr,
        peer: Option<SocketAddr>,
        options: &Options,
        recordings: Recordings,
        machine: impl FnOnce(&Options, [u8; 32], Option<Writer>) -> Result<Machine, tfrc::ConfigError>,
    ) -> Result<Self, BindError> {
        options.check_marking()?;
        let system = |what| move |source| BindError::System { what, source };
        let clock = Clock::start();
        let mut seed = [0; 32];
        getrandom::fill(&mut seed)
            .map_err(|error| system("random numbers")(io::Error::other(error.to_string())))?;
        let carrier = options.dccp.carrier;
        let socket = match carrier {
            Carrier::Udp => Socket::bind(address, clock),
            Carrier::Raw => Socket::bind_raw(address, clock),
        };
        let mut socket = socket.map_err(|source| match source.kind() {
            io::ErrorKind::PermissionDenied if carrier == Carrier::Raw => BindError::NoRawSockets,
            _ => BindError::Address { address, source },
        })?;
        socket.set_offload(options.dccp.offload);
        if let Some(peer) = peer {
            socket.connect(peer).map_err(|source| BindError::Address { address: peer, source })?;
        }
        let local = socket.local_addr().map_err(|source| BindError::Address { address, source })?;
        socket.set_dscp(options.dccp.dscp).map_err(system("DSCP"))?;
        let timer = Timer::new(clock).map_err(system("timer"))?;
        let mut options = options.clone();
        if carrier == Carrier::Raw {
            options.dccp.port = Some(local.port());
        }
        if !socket.reads_ecn() {
            options.dccp.marks = Marks::Unreadable;
        }
        let journal = match recordings.journal {
            None => None,
            Some(out) => {
                let version = env!("CARGO_PKG_VERSION").to_owned();
                let setup = Setup { version, options: options.clone(), seed };
                Some(Writer::new(out, &setup).map_err(system("journal"))?)
            }
        };
        let form = match carrier {
            Carrier::Udp => recordings.form,
            Carrier::Raw => CaptureForm::Native,
        };
        let capture = recordings
            .capture
            .map(|out| Capture::new(out, form, local, options.dccp.dscp, clock))
            .transpose();
        let machine = machine(&options, seed, journal)?.captured(capture.map_err(system("capture"))?);
        let shared = Arc::new(Shared {
            state: Mutex::new(State::new(machine)),
            clock,
            carrier: options.dccp.carrier,
            wake: Notify::new(),
            accepted: Notify::new(),
            stopping: AtomicBool::new(false),
        });
        let driver = tokio::spawn(driver::run(Arc::clone(&shared), socket, timer));
        Ok(Self { shared, local, peer, driver })
    }

    /// The address bound to.
    #[must_use]
    pub const fn local_addr(&self) -> SocketAddr {
        self.local
    }

    /// The time by the endpoint's clock, zero at its creation.
    #[must_use]
    pub fn now(&self) -> Instant {
        self.shared.clock.now()
    }

    /// Counts of the endpoint as a whole.
    #[must_use]
    pub fn stats(&self) -> EndpointStats {
        let state = self.shared.state();
        EndpointStats { strangers: state.machine.stats(), unsent: state.unsent, corrupt: state.corrupt }
    }

    /// The peers that were refused since the last call, oldest first; at most 64 are kept, and
    /// [`Endpoint::stats`] counts all.
    #[must_use]
    pub fn take_refusals(&self) -> Vec<Refusal> {
        self.shared.state().machine.take_refusals()
    }

    /// Takes no more connections: peers that ask for one are refused. Open connections continue.
    pub fn stop_accepting(&self) {
        self.shared.state().machine.stop_accepting(self.now());
    }

    /// Connects to another endpoint; the handshake is repeated until it succeeds or a minute has
    /// passed.
    ///
    /// # Errors
    /// [`ConnectError`].
    pub async fn connect(&self, to: SocketAddr) -> Result<Connection, ConnectError> {
        if let Some(peer) = self.peer.filter(|peer| *peer != to) {
            return Err(ConnectError::OtherPeer { peer });
        }
        let route = route::longest(to, self.shared.carrier).map(saturating::<u64>);
        if let Some(limit) = route.filter(|limit| *limit < LEAST_PAYLOAD) {
            return Err(ConnectError::Narrow { limit });
        }
        let connection = {
            let mut state = self.shared.state();
            let now = self.shared.clock.now();
            let id = state.machine.connect(now, to)?;
            state.add_slot(id);
            // Before anything is cut to a length.
            if let Some(limit) = route {
                state.machine.route(now, to, limit);
            }
            Connection::new(&self.shared, id, &state)
        };
        self.shared.wake.notify_one();
        connection.established().await?;
        Ok(connection)
    }

    /// The next connection from a peer; `None` when the endpoint has ended.
    /// Cancel-safe.
    pub async fn accept(&self) -> Option<Connection> {
        loop {
            let accepted = self.shared.accepted.notified();
            {
                let mut state = self.shared.state();
                if let Some(id) = state.incoming.pop_front() {
                    let remote = state.machine.remote(id);
                    if let Some((to, limit)) =
                        remote.and_then(|to| Some((to, route::longest(to, self.shared.carrier)?)))
                    {
                        let now = self.shared.clock.now();
                        state.machine.route(now, to, saturating(limit));
                    }
                    return Some(Connection::new(&self.shared, id, &state));
                }
                if state.ended {
                    return None;
                }
            }
            accepted.await;
        }
    }

    /// Takes no more connections, and stays for peers that have not heard the end of theirs: a
    /// Reset may be lost, and then a peer that repeats a Close needs it again (RFC 4340 §8.3).
    /// Returns when the repetitions would have come: after two seconds, longer only if a peer whose
    /// connection has ended here (its address and ports) repeats its Close, at most after half a
    /// minute. Worth its two seconds after [`Closed::by`](tfrc_dccp::Closed) was the peer.
    /// Cancel-safe.
    pub async fn linger(&self) {
        let began = self.now();
        {
            let mut state = self.shared.state();
            state.machine.stop_accepting(began);
            state.heard = Some(began);
        }
        loop {
            let now = self.now();
            let heard = self.shared.state().heard.unwrap_or(began).max(began);
            // A peer that waits twice as long each time and was heard after t is next heard after
            // 2t and a bit, then 4t.
            let until = (heard + heard.saturating_since(began) * 3 + LINGER).min(began + LONGEST_LINGER);
            if until <= now {
                return;
            }
            tokio::time::sleep(until.saturating_since(now).into()).await;
        }
    }

    /// Ends the endpoint: what is due now is still sent, then the port is closed and the journal
    /// ended. Connections still open are aborted; close them before.
    ///
    /// # Errors
    /// The driver's earlier error, or that of a recording that could not be written.
    pub async fn shut_down(self) -> io::Result<()> {
        self.stop();
        match self.driver.await {
            Ok(outcome) => outcome,
            Err(panic) => Err(io::Error::other(panic)),
        }
    }
}

impl Endpoint {
    /// Ends the endpoint without a wait, as [`Endpoint::shut_down`] does with one.
    pub fn stop(&self) {
        self.shared.stopping.store(true, Ordering::Release);
        self.shared.wake.notify_one();
    }
}

impl Shared {
    /// The handle of a connection was dropped: closes the connection, and then forgets it.
    pub(crate) fn forget(&self, id: ConnectionId) {
        let now = self.clock.now();
        let mut state = self.state();
        state.forget(now, id);
        drop(state);
        self.wake.notify_one();
    }
}
