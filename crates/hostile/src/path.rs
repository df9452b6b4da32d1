//! A path with an attacker between two programs: it sees, changes, repeats, adds and swallows
//! datagrams.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tfrc_dccp::wire::{Integrity, Opt, OptionList, Packet, options};

use super::stranger::{emit, socket};

/// Direction of a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// From the server to the client.
    Back,
    /// From the client to the server.
    There,
}

/// The path's actions after a datagram.
#[derive(Debug, Default)]
pub(crate) struct Deeds {
    out: Vec<(Way, Vec<u8>)>,
    elsewhere: Vec<Vec<u8>>,
    port: Port,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Port {
    #[default]
    Keep,
    Move,
}

impl Deeds {
    /// Sends a datagram on.
    pub(crate) fn send(&mut self, way: Way, bytes: impl Into<Vec<u8>>) {
        self.out.push((way, bytes.into()));
    }

    /// Sends a copy to the server from another address, before all else.
    pub(crate) fn copy(&mut self, bytes: impl Into<Vec<u8>>) {
        self.elsewhere.push(bytes.into());
    }

    /// Reaches the server from another port from now on.
    pub(crate) const fn move_port(&mut self) {
        self.port = Port::Move;
    }
}

/// A datagram that a deed adds, and its way.
type Added = (Way, Vec<u8>);

/// A running path; it ends when dropped.
pub(crate) struct RunningPath {
    /// HOST:PORT that the client sends to.
    pub(crate) entrance: String,
    stop: Arc<AtomicBool>,
    added: Arc<Mutex<Vec<Added>>>,
    thread: Option<JoinHandle<()>>,
}

impl RunningPath {
    /// Lays a path to `server`, on which `deed` decides about each datagram.
    pub(crate) fn lay(
        server: &str,
        mut deed: impl FnMut(Way, &[u8], &mut Deeds) + Send + 'static,
    ) -> Result<Self, String> {
        let server: SocketAddr = server.parse().map_err(|error| format!("{server}: {error}"))?;
        let near = socket("127.0.0.1")?;
        let mut far = socket("127.0.0.1")?;
        let observer = socket("127.0.0.1")?;
        let entrance = near.local_addr().map_err(|error| error.to_string())?.to_string();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let added: Arc<Mutex<Vec<_>>> = Arc::default();
        let adds = Arc::clone(&added);
        let thread = thread::spawn(move || {
            let mut client = None;
            let mut buffer = [0; 65_536];
            while !stopped.load(Ordering::Relaxed) {
                let mut deeds = Deeds::default();
                if let Ok(mut adds) = adds.lock() {
                    deeds.out.append(&mut adds);
                }
                let mut idle = deeds.out.is_empty();
                if let Ok((length, from)) = near.recv_from(&mut buffer) {
                    client = Some(from);
                    deed(Way::There, buffer.get(..length).unwrap_or_default(), &mut deeds);
                    idle = false;
                }
                if let Ok((length, from)) = far.recv_from(&mut buffer)
                    && from == server
                {
                    deed(Way::Back, buffer.get(..length).unwrap_or_default(), &mut deeds);
                    idle = false;
                }
                if deeds.port == Port::Move {
                    far = socket("127.0.0.1").unwrap_or(far);
                }
                for bytes in &deeds.elsewhere {
                    let _ = observer.send_to(bytes, server);
                }
                for (way, bytes) in &deeds.out {
                    // An address nobody listens at any more loses the datagram.
                    match (way, client) {
                        (Way::There, _) => drop(far.send_to(bytes, server)),
                        (Way::Back, Some(client)) => drop(near.send_to(bytes, client)),
                        (Way::Back, None) => {}
                    }
                }
                if idle {
                    thread::sleep(Duration::from_micros(200));
                }
            }
        });
        Ok(Self { entrance, stop, added, thread: Some(thread) })
    }

    /// Sends a datagram of its own.
    pub(crate) fn add(&self, way: Way, bytes: Vec<u8>) {
        if let Ok(mut added) = self.added.lock() {
            added.push((way, bytes));
        }
    }
}

impl Drop for RunningPath {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The packet in a datagram.
pub(crate) fn parse(bytes: &[u8]) -> Option<Packet<'_>> {
    Packet::parse(bytes, Integrity::Udp).ok()
}

/// The packet with each option as `change` gives it, `None` for one left out, and raw option bytes
/// added before them.
pub(crate) fn with_options<'a>(
    packet: &Packet<'a>,
    added: &[u8],
    change: impl Fn(Opt<'a>) -> Option<Opt<'a>>,
) -> Vec<u8> {
    let mut list = OptionList::new(OptionList::MAX);
    for item in options(packet.header.kind(), packet.options).flatten() {
        if let Ok(option) = item.option
            && let Some(option) = change(option)
        {
            // More than fits is left out.
            let _ = if item.mandatory { list.push_mandatory(&option) } else { list.push(&option) };
        }
    }
    let mut space = added.to_vec();
    while !space.len().is_multiple_of(4) {
        space.push(0);
    }
    space.extend(list.padded());
    emit(&Packet { options: &space, ..*packet })
}
