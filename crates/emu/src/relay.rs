//! The relay: its limits, its start, its loop and its end.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;

use tfrc_net::io::{Clock, Socket, Timer};
use tfrc_sim::Agent;
use tfrc_units::Duration;
use thiserror::Error;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::MissedTickBehavior;

use crate::control::{Change, Control};
use crate::driver::{Door, Driver, Input};
use crate::{Datagram, GatewayNetwork, Monitor, Snapshot, reader};

/// How much a relay may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of clients. A new client evicts one that never completed a two-way exchange;
    /// otherwise its datagram is dropped.
    pub clients: usize,
    /// Time without a datagram either way after which a client is forgotten.
    pub idle: Duration,
    /// Maximum number of packets in the network; further datagrams are dropped.
    pub in_flight: u64,
    /// How often a snapshot is taken, at least 1 ms.
    pub sample: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            clients: 256,
            idle: Duration::from_secs(120),
            in_flight: 100_000,
            sample: Duration::from_millis(100),
        }
    }
}

/// Why a relay could not be set up.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BindError {
    /// The address to listen on cannot be had.
    #[error("cannot listen on {address}: choose a free address of this machine")]
    Listen {
        /// The address that failed.
        address: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
    /// Datagrams cannot be sent towards the server.
    #[error("cannot open a socket towards {address}")]
    Server {
        /// The server's address.
        address: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
}

/// A relay: bound, not yet running. Time in its network begins when it runs.
pub struct Relay<A: Agent, F> {
    doors: Vec<Bound>,
    world: GatewayNetwork<A, F>,
    limits: Limits,
    monitor: watch::Receiver<Arc<Snapshot<F>>>,
    publisher: watch::Sender<Arc<Snapshot<F>>>,
    control: Control<A>,
    changes: mpsc::UnboundedReceiver<Change<A>>,
}

/// A socket for clients, and their server.
struct Bound {
    socket: std::net::UdpSocket,
    address: SocketAddr,
    server: SocketAddr,
}

impl Bound {
    fn new(listen: SocketAddr, server: SocketAddr) -> Result<Self, BindError> {
        let listen_error = |source| BindError::Listen { address: listen, source };
        let socket = std::net::UdpSocket::bind(listen).map_err(listen_error)?;
        let address = socket.local_addr().map_err(listen_error)?;
        reader::bind_towards(server).map_err(|source| BindError::Server { address: server, source })?;
        Ok(Self { socket, address, server })
    }
}

impl<A, F> Relay<A, F>
where
    A: Agent<Payload: From<Datagram> + TryInto<Datagram> + Send> + Send + 'static,
    F: Default + Send + Sync + 'static,
{
    /// Listens for clients at `listen` (port 0: any) and speaks to the server at `to`. Needs no
    /// runtime yet.
    ///
    /// # Errors
    /// [`BindError`].
    pub fn bind(
        listen: SocketAddr,
        to: SocketAddr,
        world: GatewayNetwork<A, F>,
        limits: Limits,
    ) -> Result<Self, BindError> {
        let doors = vec![Bound::new(listen, to)?];
        let (publisher, monitor) = watch::channel(Arc::default());
        let (changer, changes) = mpsc::unbounded_channel();
        let control = Control(changer);
        Ok(Self { doors, world, limits, monitor, publisher, control, changes })
    }

    /// Listens at one more address, for clients of another server: their packets share the network
    /// with those of the others.
    ///
    /// # Errors
    /// [`BindError`].
    pub fn add_door(&mut self, listen: SocketAddr, to: SocketAddr) -> Result<(), BindError> {
        self.doors.push(Bound::new(listen, to)?);
        Ok(())
    }

    /// Addresses where clients reach it, in the order in which they were bound.
    #[must_use]
    pub fn local_addrs(&self) -> Vec<SocketAddr> {
        self.doors.iter().map(|door| door.address).collect()
    }

    /// A view of its statistics while it runs.
    #[must_use]
    pub fn monitor(&self) -> Monitor<F> {
        Monitor(self.monitor.clone())
    }

    /// A hand on its network, before and while it runs.
    #[must_use]
    pub fn control(&self) -> Control<A> {
        self.control.clone()
    }

    /// Runs on the current tokio runtime (which needs I/O and time) until `shutdown` completes, and
    /// returns the last snapshot. What is in the network then is dropped. Other tasks of the
    /// runtime that do not yield make it late: [`start`](Self::start) gives it a thread of its own.
    ///
    /// # Errors
    /// If the listening socket or the timer fails.
    pub async fn run(mut self, shutdown: impl Future<Output = ()>) -> io::Result<Arc<Snapshot<F>>> {
        let clock = Clock::start();
        let mut alarm = Timer::new(clock)?;
        let (input, mut inbox) = mpsc::channel(INBOX);
        let (mut doors, mut readers) = (Vec::new(), Vec::new());
        for (door, Bound { socket, server, .. }) in self.doors.into_iter().enumerate() {
            let mut reading = Socket::from_std(socket, clock)?;
            doors.push(Door { server, listener: reading.sender()? });
            let readings = input.clone();
            let reader = tokio::spawn(async move {
                loop {
                    let read = reader::read(&mut reading).await;
                    let failed = read.is_err();
                    if readings.send(Input::FromClients { door, read }).await.is_err() || failed {
                        break;
                    }
                }
            });
            readers.push(AbortOnDrop(reader.abort_handle()));
        }
        let mut sampler = tokio::time::interval(std::time::Duration::from(
            self.limits.sample.max(Duration::from_millis(1)),
        ));
        sampler.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut driver = Driver::new(clock, self.world, doors, self.limits, input);
        let mut batch = Vec::with_capacity(BATCH);
        tokio::pin!(shutdown);
        loop {
            tokio::select! {
                () = &mut shutdown => break,
                rung = alarm.expired() => rung?,
                _ = inbox.recv_many(&mut batch, BATCH) => {}
                Some(change) = self.changes.recv() => driver.change(change),
                _ = sampler.tick() => {
                    self.publisher.send_replace(Arc::new(driver.sample()));
                }
            }
            for input in batch.drain(..) {
                driver.take(input)?;
            }
            driver.advance();
            alarm.arm(driver.next_event())?;
        }
        drop(readers);
        let last = Arc::new(driver.sample());
        self.publisher.send_replace(Arc::clone(&last));
        Ok(last)
    }

    /// Runs on a thread of its own, with a runtime of its own.
    ///
    /// # Errors
    /// If the system gives no thread or no runtime.
    pub fn start(self) -> io::Result<Running<F>> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
        let (stop, stopped) = oneshot::channel::<()>();
        let (addresses, monitor) = (self.local_addrs(), self.monitor());
        let thread = std::thread::Builder::new().name("tfrc-relay".to_owned()).spawn(move || {
            // A dropped handle stops it as well.
            runtime.block_on(self.run(async { drop(stopped.await) }))
        })?;
        Ok(Running { addresses, monitor, stop, thread })
    }
}

/// A relay on a thread of its own. Dropping this stops it.
#[derive(Debug)]
pub struct Running<F> {
    addresses: Vec<SocketAddr>,
    monitor: Monitor<F>,
    stop: oneshot::Sender<()>,
    thread: JoinHandle<io::Result<Arc<Snapshot<F>>>>,
}

impl<F: Clone> Running<F> {
    /// Addresses where clients reach it, in the order in which they were bound.
    #[must_use]
    pub fn local_addrs(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Where clients reach it first.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.addresses[0]
    }

    /// A view of its statistics.
    #[must_use]
    pub fn monitor(&self) -> Monitor<F> {
        self.monitor.clone()
    }

    /// Stops it and returns the last snapshot; takes well under a millisecond.
    ///
    /// # Errors
    /// The error of [`Relay::run`], if it failed.
    pub fn stop(self) -> io::Result<Arc<Snapshot<F>>> {
        // If it has ended by itself, its result says why.
        let _ = self.stop.send(());
        self.thread.join().unwrap_or_else(|_| Err(io::Error::other("the relay's thread has panicked")))
    }
}

/// Batches of datagrams read but not yet in the network: beyond, the kernel holds them.
const INBOX: usize = 256;
/// Batches taken into the network at one reading of the clock.
const BATCH: usize = 64;

struct AbortOnDrop(tokio::task::AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}
