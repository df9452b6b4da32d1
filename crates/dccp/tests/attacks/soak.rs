//! Eight hours of an endpoint whose clients come and go, in virtual time: nothing grows.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use tfrc_dccp::connection::Silence;
use tfrc_dccp::endpoint::{ConnectConfig, Listen, PerSource};
use tfrc_dccp::{Cause, ConnectionConfig, ConnectionId, Endpoint, EndpointConfig, Event, SendError, State};
use tfrc_testkit::{Random, ms};
use tfrc_units::{Duration, Ecn, Instant};

use super::packets::request;
use crate::heap;

const PORT: u16 = 5001;
const CLIENTS: usize = 200;
const HOURS: usize = 8;
/// In each hour clients come for 48 minutes; then they leave, and the last trace of them is gone
/// after 12 (RESPOND is given up after 8 minutes, TIMEWAIT after 4).
const BUSY: Duration = Duration::from_secs(48 * 60);
const QUIET: Duration = Duration::from_secs(12 * 60);

/// How a client's life ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Close,
    CloseNow,
    Abort,
    /// The process is gone without a word.
    Killed,
    /// It connects and does nothing, until the server ends it.
    Squatter,
}

/// A client program: lives, one connection after another.
struct Client {
    endpoint: Endpoint,
    address: SocketAddr,
    id: Option<ConnectionId>,
    /// When it does its next thing.
    next: Instant,
    /// Datagrams still to send.
    left: u64,
    end: End,
}

/// The end that is to be woken or to receive.
type Who = Option<usize>;

struct Soak {
    server: Endpoint,
    clients: Vec<Client>,
    by_address: BTreeMap<SocketAddr, usize>,
    on_the_way: BTreeMap<(Instant, u64), (Who, SocketAddr, Vec<u8>)>,
    wakes: BTreeSet<(Instant, Who)>,
    now: Instant,
    sent: u64,
    random: Random,
    /// No new lives from then on.
    closing_time: Instant,
    next_stranger: Instant,
    came: u64,
    ends: BTreeMap<String, u64>,
    most: usize,
}

/// Silence is asked about seldom: eight hours of two hundred idle connections that ask every 15 s
/// are a million packets.
const SILENCE: Silence = Silence::Probe { after: Duration::from_secs(90), give_up: GIVE_UP };
const GIVE_UP: Duration = Duration::from_secs(240);

fn server_address() -> SocketAddr {
    "203.0.113.1:6511".parse().expect("an address")
}

impl Soak {
    fn new() -> Self {
        let now = Instant::ZERO + ms(1);
        let connection = ConnectionConfig {
            first_data_within: Some(Duration::from_secs(40)),
            receive_queue: 16,
            silence: SILENCE,
            ..ConnectionConfig::default()
        };
        let config = EndpointConfig {
            listen: Listen::Many(CLIENTS),
            per_source: PerSource::AtMost(12),
            port: PORT,
            remembered: 64,
            half_open: 32,
            connection,
            ..EndpointConfig::default()
        };
        let clients = (0..CLIENTS).map(|n| {
            let host = u8::try_from(n / 10).expect("few");
            let address = SocketAddr::from(([192, 0, 2, host], u16::try_from(10_000 + n).expect("few")));
            let endpoint = Endpoint::new(EndpointConfig::default(), [1; 32]);
            Client { endpoint, address, id: None, next: now, left: 0, end: End::Close }
        });
        let clients: Vec<_> = clients.collect();
        Self {
            server: Endpoint::new(config, [2; 32]),
            by_address: clients.iter().enumerate().map(|(n, client)| (client.address, n)).collect(),
            clients,
            on_the_way: BTreeMap::new(),
            wakes: BTreeSet::new(),
            now,
            sent: 0,
            random: Random::new(11),
            closing_time: now,
            next_stranger: now,
            came: 0,
            ends: BTreeMap::new(),
            most: 0,
        }
    }

    /// Between 1 s and `most`.
    fn pause(&mut self, most: u64) -> Duration {
        Duration::from_secs(1 + self.random.below(most))
    }

    /// One hour.
    fn hour(&mut self) {
        let end = self.now + BUSY + QUIET;
        self.closing_time = self.now + BUSY;
        for n in 0..CLIENTS {
            self.clients[n].next = self.now + self.pause(300);
            self.wakes.insert((self.clients[n].next, Some(n)));
        }
        loop {
            let packet = self.on_the_way.keys().next().map(|(at, _)| *at);
            let wake = self.wakes.first().map(|(at, _)| *at);
            let stranger = Some(self.next_stranger).filter(|at| *at < self.closing_time);
            let next = [packet, wake, stranger].into_iter().flatten().min().filter(|at| *at <= end);
            let Some(next) = next else { break };
            self.now = self.now.max(next);
            self.turn();
        }
        self.now = end;
    }

    fn turn(&mut self) {
        let now = self.now;
        let mut touched = BTreeSet::new();
        while let Some(entry) = self.on_the_way.first_entry().filter(|entry| entry.key().0 <= now) {
            let (who, from, bytes) = entry.remove();
            self.endpoint(who).handle_datagram(now, from, Ecn::NotEct, &bytes);
            touched.insert(who);
        }
        while let Some((_, who)) = self.wakes.pop_first_if(now) {
            touched.insert(who);
        }
        if self.next_stranger <= now && now < self.closing_time {
            // A Request whose sender does not exist, or does not go on.
            let n = self.random.bits();
            let from =
                SocketAddr::from(([198, 51, 100, n.to_le_bytes()[0]], 1024 + u16::from(n.to_le_bytes()[1])));
            self.server.handle_datagram(now, from, Ecn::NotEct, &request((7, PORT), n >> 16));
            self.next_stranger = now + Duration::from_millis(500 + n % 8000);
            touched.insert(None);
        }
        for who in touched {
            match who {
                None => self.serve(),
                Some(n) => self.live(n),
            }
            self.collect(who);
        }
    }

    /// The server's application.
    fn serve(&mut self) {
        let now = self.now;
        self.server.handle_timeout(now);
        while let Some((id, event)) = self.server.poll_event() {
            match event {
                Event::Incoming { .. } => self.came += 1,
                Event::Readable => while self.server.recv(id).is_some() {},
                Event::CloseReceived => {
                    if let Some(connection) = self.server.connection_mut(id) {
                        connection.accept_close(now);
                    }
                }
                Event::Closed(closed) => {
                    let name = format!("{:?}", closed.cause);
                    *self.ends.entry(name).or_default() += 1;
                    self.server.release(now, id);
                }
                _ => {}
            }
        }
        self.most = self.most.max(self.server.connections().count());
    }

    /// A client's application.
    fn live(&mut self, n: usize) {
        let now = self.now;
        let (life, beat, fate) = (self.random.bits(), self.pause(160), self.random.below(10));
        let client = &mut self.clients[n];
        client.endpoint.handle_timeout(now);
        while let Some((id, event)) = client.endpoint.poll_event() {
            if matches!(event, Event::Closed(_)) {
                client.endpoint.release(now, id);
                (client.id, client.next) = (None, now + beat);
            }
        }
        if now < client.next {
            self.wakes.insert((self.clients[n].next, Some(n)));
            return;
        }
        let over = now >= self.closing_time;
        match client.id {
            None if over => return,
            None => {
                let connection = ConnectionConfig { silence: SILENCE, ..ConnectionConfig::default() };
                let config = ConnectConfig { port: PORT, connection };
                client.id = client.endpoint.connect(now, server_address(), config).ok();
                client.left = 1 + life % 8;
                client.end = match fate {
                    0 => End::Abort,
                    1 | 2 => End::Killed,
                    3 => End::CloseNow,
                    4 => End::Squatter,
                    _ => End::Close,
                };
                client.next = now + ms(3000);
            }
            Some(id) => {
                client.next = now + beat;
                let connection = client.endpoint.connection_mut(id).expect("it is not released");
                if over || client.left == 0 {
                    match client.end {
                        End::Close | End::Squatter => connection.close(now),
                        End::CloseNow => {
                            let _ = connection.close_now(now);
                        }
                        End::Abort => connection.abort(now, tfrc_dccp::wire::ResetCode::Aborted),
                        End::Killed => {
                            client.endpoint = Endpoint::new(EndpointConfig::default(), [1; 32]);
                            client.id = None;
                        }
                    }
                } else if connection.state() == State::Open && client.end != End::Squatter {
                    match connection.send(now, &[0; 300]) {
                        Ok(()) => client.left -= 1,
                        Err(SendError::Full) => {}
                        Err(error) => panic!("{error}"),
                    }
                }
            }
        }
        self.wakes.insert((self.clients[n].next, Some(n)));
    }

    /// Packets go on their way; one in fifty is lost. The path is long: rate control has timers of
    /// a round-trip time.
    fn collect(&mut self, who: Who) {
        let now = self.now;
        let mut bytes = Vec::new();
        loop {
            let from = who.map_or(server_address(), |n| self.clients[n].address);
            let Some(sent) = self.endpoint(who).poll_transmit(now, &mut bytes) else { break };
            let to =
                if who.is_none() { self.by_address.get(&sent.remote).copied().map(Some) } else { Some(None) };
            self.sent += 1;
            if let Some(to) = to.filter(|_| !self.random.bits().is_multiple_of(50)) {
                let arrival = now + ms(300 + self.random.below(100));
                self.on_the_way.insert((arrival, self.sent), (to, from, bytes.clone()));
            }
        }
        if let Some(wake) = self.endpoint(who).poll_timeout() {
            assert!(wake.at > now, "{wake:?} at {now:?}");
            self.wakes.insert((wake.at, who));
        }
    }

    fn endpoint(&mut self, who: Who) -> &mut Endpoint {
        match who {
            None => &mut self.server,
            Some(n) => &mut self.clients[n].endpoint,
        }
    }
}

/// The part of `BTreeSet` that is needed here.
trait PopFirstIf {
    fn pop_first_if(&mut self, now: Instant) -> Option<(Instant, Who)>;
}

impl PopFirstIf for BTreeSet<(Instant, Who)> {
    fn pop_first_if(&mut self, now: Instant) -> Option<(Instant, Who)> {
        let first = self.first().copied().filter(|(at, _)| *at <= now)?;
        self.remove(&first);
        Some(first)
    }
}

/// Two hundred clients of twenty addresses, for eight hours: clean closes, kills, aborts, clients
/// that send nothing, strangers that ask and vanish, loss. When all have left, both ends hold what
/// they held after the first hour, no connection and no timer. The noise has a fixed seed.
#[test]
fn eight_hours_of_clients_leave_nothing_behind() {
    let mut soak = Soak::new();
    let (mut held, mut copied, mut came) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..HOURS {
        soak.hour();
        held.push(heap::held());
        let before = heap::held();
        let copy = soak.server.clone();
        copied.push(heap::held() - before);
        drop(copy);
        came.push(soak.came);
        assert_eq!(soak.server.connections().count(), 0, "{:?}", soak.ends);
        assert_eq!(soak.server.poll_timeout(), None);
        assert!(soak.on_the_way.is_empty());
    }
    assert!(soak.most >= CLIENTS / 4, "at most {} at once", soak.most);
    assert!(came.windows(2).all(|hours| hours[1] - hours[0] > 200), "{came:?}");
    let silence = Cause::Silence(GIVE_UP);
    let no_data = Cause::NoData(Duration::from_secs(40));
    for cause in [Cause::Agreed, Cause::PeerReset, silence, no_data] {
        assert!(soak.ends.get(&format!("{cause:?}")).is_some_and(|count| *count > 50), "{:?}", soak.ends);
    }
    // All of it, clients included, of which some have just been started anew; and what the server
    // still knows.
    let first = held[0];
    assert!(held.iter().all(|held| *held <= first + first / 10), "{held:?}");
    assert!(copied.iter().all(|copied| *copied <= 16_384), "{copied:?} bytes without a connection");
}
