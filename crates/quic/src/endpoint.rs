//! A UDP port that speaks QUIC: the connections into it, or the one out of it.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use noq::{Incoming, PathId, ServerConfig, TokioRuntime, VarInt, WeakConnectionHandle};
use tfrc_dccp::connection::standing::{ASKED, LATELY, REST};
use tfrc_dccp::endpoint::source_of;
use tfrc_dccp::wire::ResetCode;
use tfrc_net::options::{Common, Listen};
use tfrc_net::{BindError, Cause, Closed, ClosedBy};
use tfrc_noq::Readings;
use tfrc_units::Instant;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinHandle;

use crate::clock::Clock;
use crate::closing::CloseCode;
use crate::connection::Connection;
use crate::handshakes::Handshakes;
use crate::moves::Watch;
use crate::settings;
use crate::socket::{Guard, SocketCounts, Watched};
use crate::state::Shared;
use crate::tls::{self, Peers, Verifier};
use crate::{Fingerprint, Key};

/// The longest handshake of a client, its greeting included.
const HANDSHAKE: std::time::Duration = std::time::Duration::from_secs(10);
/// The time for which clients prove their addresses after the packets of a handshake came from two.
const CONTESTED: std::time::Duration = std::time::Duration::from_secs(10);
/// The time for the last packet of such a handshake.
const LAST_PACKET: std::time::Duration = std::time::Duration::from_millis(100);
/// Refusals kept until they are taken.
const REFUSALS: usize = 64;
/// The longest wait for last packets to leave.
const LAST_PACKETS: std::time::Duration = std::time::Duration::from_secs(1);
/// The longest wait for the end of connections that are closing.
const LINGER: std::time::Duration = std::time::Duration::from_secs(2);

/// A UDP port that speaks QUIC, with the methods of [`tfrc_net::Endpoint`], which say more. It runs
/// as tasks of the tokio runtime it was made in.
#[derive(Debug)]
pub struct Endpoint {
    quic: noq::Endpoint,
    clock: Clock,
    local: SocketAddr,
    server: Option<Arc<Server>>,
    task: Option<JoinHandle<()>>,
}

/// A peer that was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refusal {
    /// The peer's address; it may be forged unless a key was refused.
    pub remote: SocketAddr,
    /// The reason.
    pub reason: RefusalReason,
}

/// Why a peer was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RefusalReason {
    /// Its address is not one of [`Common::allow`].
    Address,
    /// As many connections as are taken are open, or as many of its address.
    Busy,
    /// Its key is not one of those that are let in.
    Key(Fingerprint),
}

/// Counts of an endpoint that listens.
#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    not_allowed: u64,
    refused: u64,
}

#[derive(Debug)]
struct Server {
    options: Common,
    key: Key,
    allow: Peers,
    clock: Clock,
    socket: Arc<SocketCounts>,
    guard: Guard,
    places: Arc<Semaphore>,
    is_stopped: AtomicBool,
    state: Mutex<ServerState>,
    accepted: Notify,
    /// The place of a connection has become free.
    freed: Arc<Notify>,
}

#[derive(Debug, Default)]
struct ServerState {
    waiting: VecDeque<Connection>,
    has_ended: bool,
    refusals: VecDeque<Refusal>,
    counts: Counts,
    handshakes: Handshakes,
    /// Clients prove their addresses until then.
    prove_until: Option<tokio::time::Instant>,
    /// Connections of each source, where their number is bounded.
    of_address: BTreeMap<IpAddr, u32>,
    open: Vec<Open>,
}

/// An open connection.
#[derive(Debug)]
struct Open {
    /// The address of the peer.
    address: IpAddr,
    shared: Weak<Shared>,
    /// The time of the last question.
    asked: Option<Instant>,
    /// Datagrams that had come from the peer when it left the questions unanswered.
    unanswered: Option<u64>,
}

/// A client whose handshake has not begun. If another one takes its place before, it is passed over
/// and not refused: it repeats its first packet.
struct Attempt(Option<Incoming>);

impl Drop for Attempt {
    fn drop(&mut self) {
        if let Some(incoming) = self.0.take() {
            incoming.ignore();
        }
    }
}

/// A connection of an address, counted while it lasts.
#[derive(Debug)]
struct Counted {
    server: Arc<Server>,
    address: IpAddr,
}

impl ServerState {
    /// Connections of a source.
    fn of(&self, source: IpAddr) -> u32 {
        self.of_address.get(&source).copied().unwrap_or(0)
    }

    /// Notes a connection, and forgets those that have ended.
    fn opened(&mut self, address: IpAddr, shared: &Arc<Shared>) {
        self.open.retain(|open| open.shared.strong_count() > 0);
        let shared = Arc::downgrade(shared);
        self.open.push(Open { address, shared, asked: None, unanswered: None });
    }
}

impl Endpoint {
    /// Opens a UDP port for peers whose keys are in `allow`; for all where that is empty.
    ///
    /// # Errors
    /// [`BindError`].
    pub fn bind(
        address: SocketAddr,
        options: &Common,
        key: &Key,
        allow: &[Fingerprint],
    ) -> Result<Self, BindError> {
        let unusable = |source| BindError::Address { address, source };
        let clock = Clock::start();
        let guard = Guard::default();
        let ids = guard.moves.ids();
        let socket = Watched::bind(address, guard.clone()).map_err(unusable)?;
        let places = match options.accept {
            Listen::Refuse => 0,
            Listen::One => 1,
            Listen::Many(most) => most.min(Semaphore::MAX_PERMITS),
        };
        let server = Arc::new(Server {
            options: options.clone(),
            key: key.clone(),
            allow: if allow.is_empty() { Peers::Any } else { Peers::These(allow.to_vec()) },
            clock,
            socket: socket.counts(),
            guard,
            places: Arc::new(Semaphore::new(places)),
            is_stopped: AtomicBool::new(false),
            state: Mutex::default(),
            accepted: Notify::new(),
            freed: Arc::default(),
        });
        settings::tfrc(options)?;
        let (config, ..) = server.config()?;
        // The secret of stateless resets is random. One that follows from the key would have every
        // host with a copy of the key end the sessions of the others (RFC 9000 §21.11).
        let mut endpoint = noq::EndpointConfig::default();
        endpoint.cid_generator(Arc::new(move || Box::new(ids.clone())));
        let quic = noq::Endpoint::new_with_abstract_socket(
            endpoint,
            Some(config),
            Box::new(socket),
            Arc::new(TokioRuntime),
        )
        .map_err(unusable)?;
        let local = quic.local_addr().map_err(unusable)?;
        let task = tokio::spawn(accept(quic.clone(), Arc::clone(&server)));
        Ok(Self { quic, clock, local, server: Some(server), task: Some(task) })
    }

    /// An endpoint for one peer.
    pub(crate) fn towards(peer: SocketAddr, clock: Clock) -> io::Result<(Self, Arc<SocketCounts>)> {
        let socket = Watched::towards(peer)?;
        let counts = socket.counts();
        let quic = noq::Endpoint::new_with_abstract_socket(
            noq::EndpointConfig::default(),
            None,
            Box::new(socket),
            Arc::new(TokioRuntime),
        )?;
        let local = quic.local_addr()?;
        Ok((Self { quic, clock, local, server: None, task: None }, counts))
    }

    pub(crate) const fn quic(&self) -> &noq::Endpoint {
        &self.quic
    }

    /// Handshakes under way, and connections that are remembered.
    #[cfg(test)]
    pub(crate) fn kept(&self) -> (usize, usize) {
        self.server.as_ref().map_or((0, 0), |server| {
            let state = server.state();
            (state.handshakes.len(), state.open.len())
        })
    }

    /// Ends all handshakes, as if newer ones had taken their places.
    #[cfg(test)]
    pub(crate) fn displace(&self) {
        if let Some(server) = &self.server {
            server.state().handshakes.displace();
        }
    }

    /// The address bound to.
    #[must_use]
    pub const fn local_addr(&self) -> SocketAddr {
        self.local
    }

    /// The time by the endpoint's clock, zero at its creation.
    #[must_use]
    pub fn now(&self) -> Instant {
        self.clock.now()
    }

    /// Counts of the endpoint as a whole.
    #[must_use]
    pub fn stats(&self) -> tfrc_net::EndpointStats {
        let mut stats = tfrc_net::EndpointStats::default();
        if let Some(server) = &self.server {
            let Counts { not_allowed, refused } = server.state().counts;
            stats.strangers.not_allowed = not_allowed;
            stats.strangers.refused = refused;
        }
        stats
    }

    /// The peers that were refused since the last call, oldest first; at most 64 are kept.
    #[must_use]
    pub fn take_refusals(&self) -> Vec<Refusal> {
        let server = self.server.as_ref();
        server.map(|server| server.state().refusals.drain(..).collect()).unwrap_or_default()
    }

    /// Takes no more connections. Open ones continue.
    pub fn stop_accepting(&self) {
        if let Some(server) = &self.server {
            server.is_stopped.store(true, Ordering::Relaxed);
        }
    }

    /// The next connection from a peer; `None` when the endpoint has ended. Cancel-safe.
    pub async fn accept(&self) -> Option<Connection> {
        let server = self.server.as_ref()?;
        loop {
            let accepted = server.accepted.notified();
            {
                let mut state = server.state();
                if let Some(connection) = state.waiting.pop_front() {
                    return Some(connection);
                }
                if state.has_ended {
                    return None;
                }
            }
            accepted.await;
        }
    }

    /// Takes no more connections, and waits, two seconds at most, until those that are closing have
    /// ended. Cancel-safe.
    pub async fn linger(&self) {
        self.stop_accepting();
        let _ = tokio::time::timeout(LINGER, self.quic.wait_idle()).await;
    }

    /// Ends the endpoint; connections still open are broken off.
    ///
    /// # Errors
    /// None; the signature is that of [`tfrc_net::Endpoint::shut_down`].
    pub async fn shut_down(self) -> io::Result<()> {
        let code = CloseCode::GivenUp;
        self.quic.close(VarInt::from_u32(code.wire()), code.reason());
        let _ = tokio::time::timeout(LAST_PACKETS, self.quic.wait_all_draining()).await;
        Ok(())
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

/// Takes connections until the endpoint ends.
async fn accept(quic: noq::Endpoint, server: Arc<Server>) {
    while let Some(incoming) = quic.accept().await {
        server.admit(incoming);
    }
    server.state().has_ended = true;
    server.accepted.notify_waiters();
}

impl Server {
    fn state(&self) -> MutexGuard<'_, ServerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The settings of a connection: its readings and the look at its key are its own.
    fn config(&self) -> Result<(ServerConfig, Arc<Readings>, Arc<Verifier>), BindError> {
        let verifier = Arc::new(Verifier::new(self.allow.clone()));
        let readings = Arc::new(Readings::new(self.clock.epoch()));
        let system = |error: tls::Unusable| BindError::System {
            what: "cryptography",
            source: io::Error::other(error.to_string()),
        };
        let crypto = tls::server(&self.key, Arc::clone(&verifier)).map_err(system)?;
        let mut config = ServerConfig::with_crypto(Arc::new(crypto));
        config.transport_config(settings::transport(&self.options, &readings)?);
        Ok((config, readings, verifier))
    }

    /// Begins a handshake, or refuses it before any cryptography of ours.
    fn admit(self: &Arc<Self>, incoming: Incoming) {
        let remote = incoming.remote_address();
        let address = remote.ip().to_canonical();
        let allow = &self.options.allow;
        if !allow.is_empty() && !allow.iter().any(|prefix| prefix.contains(address)) {
            incoming.ignore();
            return self.refused(Refusal { remote, reason: RefusalReason::Address });
        }
        let busy = Refusal { remote, reason: RefusalReason::Busy };
        let is_stopped = self.is_stopped.load(Ordering::Relaxed);
        // The place of a silent connection goes to whom has its address and a key.
        let is_full = self.places.available_permits() == 0 && self.silent(address).is_none();
        if is_stopped || is_full {
            incoming.refuse();
            self.ask_the_silent(address);
            return self.refused(busy);
        }
        let source = source_of(address);
        let mut state = self.state();
        if self.options.per_source.is_some_and(|most| state.of(source) >= most) {
            drop(state);
            if self.silent(address).is_none() {
                incoming.refuse();
                return self.refused(busy);
            }
            state = self.state();
        }
        let now = tokio::time::Instant::now();
        let is_proved = incoming.remote_address_validated();
        let has_to_prove = state.handshakes.are_many() || state.prove_until.is_some_and(|until| now < until);
        if has_to_prove && !is_proved && incoming.may_retry() {
            let _ = incoming.retry();
            return;
        }
        if !state.handshakes.make_room(source, now) {
            // It tries again.
            return incoming.ignore();
        }
        let unproved = &self.guard.unproved;
        let bound = if is_proved {
            unproved.proved(remote);
            None
        } else {
            Some(unproved.begin(remote))
        };
        let watch = self.guard.moves.watch(remote, &incoming.orig_dst_cid(), is_proved);
        let (server, attempt, until) = (Arc::clone(self), Attempt(Some(incoming)), now + HANDSHAKE);
        let task = tokio::spawn(async move {
            let _bound = bound;
            let contested = async {
                let rival = watch.contested().await;
                server.guard.unproved.contested(remote, rival);
            };
            let secure = tokio::select! {
                secure = tokio::time::timeout_at(until, server.secure(attempt)) => Some(secure),
                () = contested => None,
            };
            server.state().handshakes.end(tokio::task::id());
            if secure.is_none() {
                server.state().prove_until = Some(tokio::time::Instant::now() + CONTESTED);
                tokio::time::sleep(LAST_PACKET).await;
            }
            let Some(Ok(Some((quic, readings)))) = secure else { return };
            server.guard.unproved.proved(remote);
            watch.begins(quic.weak_handle());
            let welcome = server.welcome(quic, readings, remote, watch);
            let greeted = tokio::time::timeout_at(until, welcome).await;
            if let Ok(Some(connection)) = greeted {
                server.state().waiting.push_back(connection);
                server.accepted.notify_waiters();
            }
        });
        // The task waits for the state, so that it cannot end before it is known.
        state.handshakes.begin(source, now, task.abort_handle());
    }

    /// The handshake of QUIC and TLS, at whose end the client's key is known.
    async fn secure(&self, mut attempt: Attempt) -> Option<(noq::Connection, Arc<Readings>)> {
        let incoming = attempt.0.take()?;
        let remote = incoming.remote_address();
        let (config, readings, verifier) = self.config().ok()?;
        let connecting = incoming.accept_with(Arc::new(config)).ok()?;
        let Ok(quic) = connecting.await else {
            if let Some(key) = verifier.take_refused() {
                self.refused(Refusal { remote, reason: RefusalReason::Key(key) });
            }
            return None;
        };
        Some((quic, readings))
    }

    /// Gives a client its place, and hears its greeting.
    async fn welcome(
        self: &Arc<Self>,
        quic: noq::Connection,
        readings: Arc<Readings>,
        remote: SocketAddr,
        watch: Watch<WeakConnectionHandle>,
    ) -> Option<Connection> {
        let address = remote.ip().to_canonical();
        let Some((permit, counted)) = self.place_of_silent(address).await else {
            let code = CloseCode::Busy;
            quic.close(VarInt::from_u32(code.wire()), code.reason());
            self.refused(Refusal { remote, reason: RefusalReason::Busy });
            return None;
        };
        let freed = Freed(Arc::clone(&self.freed));
        let place = Place { _permit: permit, _counted: counted, _watch: watch, _freed: freed };
        let control = quic.open_uni().await.ok()?;
        let socket = Arc::clone(&self.socket);
        let shared = Shared::new(quic, self.clock, &self.options, readings, socket).ok()?;
        let shared = Arc::new(shared);
        self.state().opened(address, &shared);
        let first_data = self.options.first_data_within;
        let connection = Connection::new(shared, control, &self.options, first_data, Some(place));
        connection.greeted().await.ok()?;
        Some(connection)
    }

    /// A connection of an address whose peer has left questions unanswered, and been silent since.
    fn silent(&self, address: IpAddr) -> Option<Arc<Shared>> {
        let of_address = |open: &Open| (open.address == address).then(|| Weak::clone(&open.shared));
        let asked: Vec<_> =
            self.state().open.iter().filter_map(|open| of_address(open).zip(open.unanswered)).collect();
        asked
            .into_iter()
            .find_map(|(shared, before)| shared.upgrade().filter(|shared| heard(shared) == before))
    }

    /// A place for a connection, which may be that of a silent one of the same address.
    async fn place_of_silent(self: &Arc<Self>, address: IpAddr) -> Option<Held> {
        if let Some(place) = self.place(address) {
            return Some(place);
        }
        let silent = self.silent(address)?;
        silent.end(|state| Closed {
            by: ClosedBy::OurReset,
            code: ResetCode::Aborted,
            cause: Cause::Replaced,
            text: None,
            peer_sent_data_packets: state.peer_sent(),
        });
        let code = CloseCode::GivenUp;
        silent.quic.close(VarInt::from_u32(code.wire()), b"another end of this address has come");
        drop(silent);
        let freed = async {
            loop {
                let mut freed = pin!(self.freed.notified());
                // A place that becomes free from here on is not missed.
                freed.as_mut().enable();
                if let Some(place) = self.place(address) {
                    return place;
                }
                freed.await;
            }
        };
        tokio::time::timeout(LAST_PACKETS, freed).await.ok()
    }

    /// A place for a connection; `None` if all are taken, or as many as this source may have.
    fn place(self: &Arc<Self>, address: IpAddr) -> Option<Held> {
        let permit = Arc::clone(&self.places).try_acquire_owned().ok()?;
        let mut counted = None;
        if let Some(most) = self.options.per_source {
            let source = source_of(address);
            let mut state = self.state();
            let number = state.of_address.entry(source).or_default();
            if *number >= most {
                return None;
            }
            *number += 1;
            counted = Some(Counted { server: Arc::clone(self), address: source });
        }
        Some((permit, counted))
    }

    /// Asks the connections of an address whether they are still there, as a newcomer from it finds
    /// no place: the end before it may have been killed. One that does not answer loses its place
    /// to the next newcomer from there that has a key.
    fn ask_the_silent(self: &Arc<Self>, address: IpAddr) {
        let now = self.clock.now();
        let mut state = self.state();
        for open in state.open.iter_mut().filter(|open| open.address == address) {
            if open.asked.is_none_or(|asked| now.saturating_since(asked) >= REST) {
                open.asked = Some(now);
                let (server, shared) = (Arc::clone(self), Weak::clone(&open.shared));
                tokio::spawn(async move {
                    let unanswered = unanswered(&shared).await;
                    let mut state = server.state();
                    let asked = state.open.iter_mut().find(|open| open.shared.ptr_eq(&shared));
                    asked.map(|open| open.unanswered = unanswered)
                });
            }
        }
    }

    fn refused(&self, refusal: Refusal) {
        let mut state = self.state();
        match refusal.reason {
            RefusalReason::Address => state.counts.not_allowed += 1,
            RefusalReason::Busy | RefusalReason::Key(_) => state.counts.refused += 1,
        }
        if state.refusals.len() < REFUSALS {
            state.refusals.push_back(refusal);
        }
    }
}

/// The datagrams of a peer that stays silent for a second and leaves two questions unanswered.
async fn unanswered(shared: &Weak<Shared>) -> Option<u64> {
    let mut last = None;
    for question in 0..=ASKED {
        let before = heard(&*shared.upgrade()?);
        if question > 0
            && let Some(path) = shared.upgrade()?.quic.path(PathId::ZERO)
        {
            let _ = path.ping();
        }
        tokio::time::sleep(LATELY.into()).await;
        last = Some(heard(&*shared.upgrade()?)).filter(|now| *now == before);
        last?;
    }
    last
}

/// Datagrams that have come from the peer.
fn heard(shared: &Shared) -> u64 {
    shared.quic.stats().udp_rx.datagrams
}

/// A permit, and one of the places of the peer's source.
type Held = (OwnedSemaphorePermit, Option<Counted>);

/// The place of a connection at a server, free again when it is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    _permit: OwnedSemaphorePermit,
    _counted: Option<Counted>,
    _watch: Watch<WeakConnectionHandle>,
    /// The last field, so that the others are free when it says so.
    _freed: Freed,
}

/// Says that a place is free.
#[derive(Debug)]
struct Freed(Arc<Notify>);

impl Drop for Freed {
    fn drop(&mut self) {
        self.0.notify_waiters();
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let mut state = self.server.state();
        let left = state.of_address.get(&self.address).map_or(0, |number| number.saturating_sub(1));
        if left == 0 {
            state.of_address.remove(&self.address);
        } else {
            state.of_address.insert(self.address, left);
        }
    }
}
