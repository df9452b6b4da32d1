//! The clients of a relay.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use tfrc_net::io::SocketSender;
use tfrc_units::{Duration, Instant};
use tokio::task::AbortHandle;

/// The clients by number and by address. Each has a socket of its own towards the server, so that
/// answers find back.
#[derive(Debug, Default)]
pub(crate) struct Clients {
    by_id: BTreeMap<u64, RelayClient>,
    by_address: BTreeMap<(usize, SocketAddr), u64>,
    next: u64,
}

#[derive(Debug)]
pub(crate) struct RelayClient {
    /// The number of the door that it comes in by.
    pub(crate) door: usize,
    pub(crate) address: SocketAddr,
    /// The address of ours that the client speaks to.
    pub(crate) local: Option<IpAddr>,
    pub(crate) upstream: SocketSender,
    standing: ClientState,
    last_active: Instant,
    reader: AbortHandle,
}

/// Established clients keep their place for this long without a datagram: twice the time after
/// which an idle DCCP connection asks for a sign of life.
const QUIET: Duration = Duration::from_secs(30);

/// Progress of the exchange with a client. When all places are taken, the first to lose its place
/// to a new client is the one longest silent of the least of these; an established one loses it
/// after [`QUIET`] only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ClientState {
    /// The server has not answered.
    Unanswered,
    /// The server has answered, the client not gone on.
    Answered,
    /// The client has gone on after an answer, as its address does receive.
    Established,
}

impl Drop for RelayClient {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

impl Clients {
    pub(crate) fn len(&self) -> usize {
        self.by_id.len()
    }

    pub(crate) fn get(&self, id: u64) -> Option<&RelayClient> {
        self.by_id.get(&id)
    }

    /// The client at this address, who has just been heard at this door.
    pub(crate) fn heard(&mut self, now: Instant, door: usize, address: SocketAddr) -> Option<u64> {
        let id = *self.by_address.get(&(door, address))?;
        let client = self.by_id.get_mut(&id)?;
        client.last_active = now;
        if client.standing == ClientState::Answered {
            client.standing = ClientState::Established;
        }
        Some(id)
    }

    /// The server has answered this client.
    pub(crate) fn answered(&mut self, now: Instant, id: u64) {
        if let Some(client) = self.by_id.get_mut(&id) {
            client.last_active = now;
            client.standing = client.standing.max(ClientState::Answered);
        }
    }

    /// Makes room for a new client: forgets one that is not established, or has been silent for
    /// [`QUIET`]. Returns false if there is none.
    pub(crate) fn make_room(&mut self, now: Instant) -> bool {
        let open = self.by_id.iter().filter(|(_, client)| {
            client.standing != ClientState::Established || now.saturating_since(client.last_active) >= QUIET
        });
        let first = open.min_by_key(|(_, client)| (client.standing, client.last_active)).map(|(id, _)| *id);
        let gone = first.and_then(|id| self.by_id.remove(&id));
        if let Some(client) = &gone {
            self.by_address.remove(&(client.door, client.address));
        }
        gone.is_some()
    }

    /// Number of the next client; never given twice.
    pub(crate) fn next_id(&self) -> u64 {
        self.next
    }

    pub(crate) fn add(
        &mut self,
        now: Instant,
        door: usize,
        address: SocketAddr,
        local: Option<IpAddr>,
        upstream: SocketSender,
        reader: AbortHandle,
    ) -> u64 {
        let id = self.next;
        self.next += 1;
        self.by_address.insert((door, address), id);
        self.by_id.insert(
            id,
            RelayClient {
                door,
                address,
                local,
                upstream,
                standing: ClientState::Unanswered,
                last_active: now,
                reader,
            },
        );
        id
    }

    /// Forgets those with whom nothing was exchanged for `idle`.
    pub(crate) fn expire(&mut self, now: Instant, idle: Duration) {
        self.by_id.retain(|_, client| now.saturating_since(client.last_active) < idle);
        let known = &self.by_id;
        self.by_address.retain(|_, id| known.contains_key(id));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reader;
    use tfrc_net::io::{Clock, Socket};

    #[tokio::test]
    async fn silent_clients_are_forgotten_and_numbers_not_reused() {
        let at = |s| Instant::ZERO + Duration::from_secs(s);
        let address = |port| SocketAddr::from(([127, 0, 0, 1], port));
        let mut clients = Clients::default();
        let add = |clients: &mut Clients, now, port| {
            let bound = reader::bind_towards(address(1)).unwrap();
            let upstream = Socket::from_std(bound, Clock::start()).unwrap().sender().unwrap();
            let reader = tokio::spawn(std::future::pending::<()>()).abort_handle();
            clients.add(now, 0, address(port), None, upstream, reader)
        };
        assert_eq!(add(&mut clients, at(0), 5), 0);
        assert_eq!(add(&mut clients, at(0), 6), 1);
        clients.answered(at(9), 1);
        clients.expire(at(10), Duration::from_secs(10));
        assert_eq!(clients.len(), 1);
        assert_eq!(
            (clients.heard(at(10), 0, address(5)), clients.heard(at(10), 0, address(6))),
            (None, Some(1))
        );
        assert!(clients.get(0).is_none());
        assert_eq!(clients.next_id(), 2);
        assert_eq!(add(&mut clients, at(11), 5), 2);
        // 1 was answered and went on; 2 is new, 3 was answered only.
        assert_eq!(add(&mut clients, at(11), 7), 3);
        clients.answered(at(11), 3);
        assert!(clients.make_room(at(11)) && clients.get(2).is_none());
        assert!(clients.make_room(at(11)) && clients.get(3).is_none());
        assert!(!clients.make_room(at(11)) && clients.get(1).is_some(), "established");
        assert_eq!(
            (clients.heard(at(11), 0, address(5)), clients.heard(at(11), 0, address(6))),
            (None, Some(1))
        );
        assert!(!clients.make_room(at(40)), "silent for 29 s");
        assert!(clients.make_room(at(41)) && clients.get(1).is_none(), "silent for 30 s");
    }
}
