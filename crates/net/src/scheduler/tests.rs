//! Two ends in virtual time, as drivers would run them, 25 µs apart.

use std::net::SocketAddr;

use tfrc_dccp::connection::PathError;
use tfrc_units::Duration;

use super::*;
use crate::Options;
use crate::options::{Common, Listen};

const DELAY: Duration = Duration::from_micros(25);
const CLIENT: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 1);
const SERVER: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 2);

struct TestHost {
    now: Instant,
    ends: [State; 2],
    /// When each wants to be woken.
    next: [Option<Instant>; 2],
    /// How late the client's timer is.
    late: Duration,
    flying: VecDeque<(Instant, usize, Ecn, Vec<u8>)>,
    id: ConnectionId,
    /// When the client's datagrams went.
    sent: Vec<Instant>,
    /// The last of them.
    packet: Vec<u8>,
}

impl TestHost {
    fn new(options: &Options, late: Duration) -> Self {
        let end =
            |options: &Options, seed| State::new(Machine::new(options, [seed; 32], None).expect("in range"));
        let server = Options::from(Common { accept: Listen::One, ..Common::default() });
        let mut ends = [end(options, 1), end(&server, 2)];
        let id = ends[0].machine.connect(Instant::ZERO, SERVER).expect("a port");
        ends[0].add_slot(id);
        let mut world = Self {
            now: Instant::ZERO,
            ends,
            next: [None; 2],
            late,
            flying: VecDeque::new(),
            id,
            sent: Vec::new(),
            packet: Vec::new(),
        };
        world.pump(0);
        world
    }

    fn pump(&mut self, end: usize) {
        let (now, flying) = (self.now, &mut self.flying);
        let sent = &mut Vec::new();
        self.next[end] = self.ends[end].pump(now, &mut Vec::new(), |transmission, bytes| {
            flying.push_back((now + DELAY, 1 - end, transmission.ecn, bytes.to_vec()));
            sent.push(bytes.to_vec());
        });
        if end == 0
            && let Some(packet) = sent.iter().rfind(|packet| packet.len() > 500)
        {
            self.sent.extend(sent.iter().filter(|packet| packet.len() > 500).map(|_| now));
            self.packet.clone_from(packet);
        }
    }

    /// Until then, with an application that always has more to send.
    fn run_until(&mut self, until: Instant, bytes: usize) {
        loop {
            let machine = &mut self.ends[0].machine;
            let idle = machine.connection(self.id).expect("a connection").queued() == 0;
            while machine.send(self.now, self.id, vec![7; bytes]).is_ok() {}
            if idle {
                self.pump(0);
            }
            let arrival = self.flying.front().map(|(at, ..)| *at);
            let woken = [self.next[0].map(|at| at + self.late), self.next[1]];
            let first = [arrival, woken[0], woken[1]].into_iter().flatten().min().expect("timers");
            if first > until {
                self.now = until;
                return;
            }
            self.now = first;
            if arrival == Some(first) {
                let (at, end, ecn, bytes) = self.flying.pop_front().expect("it is there");
                self.ends[end].datagram(at, [SERVER, CLIENT][end], ecn, &bytes);
                self.pump(end);
            } else {
                self.pump(usize::from(woken[0] != Some(first)));
            }
            while let Some(id) = self.ends[1].slots.keys().next().copied()
                && self.ends[1].machine.recv(id).is_some()
            {}
        }
    }

    fn longest(&self) -> usize {
        self.ends[0].machine.connection(self.id).expect("open").max_packet()
    }
}

fn at(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000)
}

/// A thousand packets a second, each wake-up 0.4 ms late on a path of 50 µs: what is asked for
/// stays a grid of milliseconds.
#[test]
fn late_wake_ups_do_not_move_what_is_due() {
    let options = Options::from(Common { segment_bytes: 1000, cap_bps: Some(8e6), ..Common::default() });
    let mut world = TestHost::new(&options, Duration::from_micros(400));
    world.run_until(at(1000), 1000);
    let before = world.sent.len();
    world.run_until(at(2000), 1000);
    let steady = &world.sent[before..];
    assert!((999..=1001).contains(&steady.len()), "{} packets in a second", steady.len());
    // Each goes when it is due, or up to 0.4 ms later.
    let after: Vec<u64> = (0u64..)
        .zip(steady)
        .map(|(n, at)| at.as_nanos() - steady[0].as_nanos() + 1_000_000 * (2000 - n))
        .collect();
    let (first, last) = (after.iter().min().expect("many"), after.iter().max().expect("many"));
    assert!(last - first <= 400_000, "{} ns apart", last - first);
}

/// Changes of the rate that nobody reads do not pile up; a reader gets all of them.
#[test]
fn what_nobody_reads_is_not_kept() {
    let mut world = TestHost::new(&Options::default(), Duration::ZERO);
    let slot = world.ends[0].slots.get_mut(&world.id).expect("a connection");
    let change = |slot: &mut Slot| {
        for _ in 0..10_000 {
            slot.note(RateChange {
                at: Instant::ZERO,
                from: tfrc_units::Rate::ZERO,
                to: tfrc_units::Rate::ZERO,
                reason: tfrc::RateReason::Equation,
                rtt: None,
            });
        }
        slot.take_rate_changes().len()
    };
    assert_eq!((change(slot), change(slot)), (FEW_RATE_CHANGES, RATE_CHANGES));
}

/// RFC 4340 §14.1, RFC 8899 §4.6: a message counts if it quotes what was sent lately, and down to
/// the base length.
#[test]
fn messages_about_long_packets_are_checked() {
    let mut world =
        TestHost::new(&Options::from(Common { segment_bytes: 1400, ..Common::default() }), Duration::ZERO);
    world.run_until(at(50), 1400);
    let (now, packet) = (world.now, world.packet.clone());
    assert_eq!(world.longest(), 1472);
    let mut tell = |packet: &[u8], to, limit| {
        world.ends[0].machine.path_error(now, to, packet, PathError::TooLong { limit });
        world.ends[0].machine.connection(world.id).expect("open").max_packet()
    };
    let mut guessed = packet.clone();
    guessed[11] ^= 1;
    assert_eq!(tell(&guessed, SERVER, 1300), 1472, "another number");
    assert_eq!(tell(&packet[..15], SERVER, 1300), 1472, "cut off before the end of the number");
    assert_eq!(tell(&packet, CLIENT, 1300), 1472, "another address");
    assert_eq!(tell(&packet, SERVER, 1500), 1472, "it passes already");
    assert_eq!(tell(&packet, SERVER, 547), 1472, "too low to be believed unseen");
    assert_eq!(tell(&packet[..16], SERVER, 1300), 1300);
    assert_eq!(tell(&packet, SERVER, 600), 600, "while it is probed");
    // It does not end an established connection.
    world.ends[0].machine.path_error(now, SERVER, &packet, PathError::Unreachable);
    assert!(world.ends[0].machine.connection(world.id).expect("open").state().is_established());
}

/// Our own system does not take a length: the next ones are as long as every path takes.
#[test]
fn a_length_refused_by_the_system_is_not_sent_again() {
    let mut world =
        TestHost::new(&Options::from(Common { segment_bytes: 1400, ..Common::default() }), Duration::ZERO);
    world.run_until(at(50), 1400);
    world.ends[0].machine.refused(world.now, CLIENT, &[0; 1400]);
    assert_eq!(world.longest(), 1472, "somebody else's");
    world.ends[0].machine.refused(world.now, SERVER, &[0; 1400]);
    assert_eq!(world.longest(), 1200);
}

#[test]
fn loss_events_after_the_first_may_be_repaired() {
    let mut measure = LossMeasure::default();
    let mut after = |loss_events, packets| {
        measure.update(loss_events, packets);
        measure.after_slow_start()
    };
    assert_eq!(after(0, 10), (0, 0));
    assert_eq!(after(2, 20), (0, 0), "both at once count as the first");
    assert_eq!(after(1, 30), (0, 10), "one of them was none");
    assert_eq!(after(0, 40), (0, 0), "slow start is not over after all");
    assert_eq!(after(1, 50), (0, 0));
    assert_eq!(after(3, 60), (2, 10));
}

/// RFC 4340 §8.3: only a repeated Close of the connection that has ended counts as heard; strangers
/// do not stretch a linger.
#[test]
fn strangers_are_not_heard_by_who_lingers() {
    let mut world =
        TestHost::new(&Options::from(Common { segment_bytes: 1400, ..Common::default() }), Duration::ZERO);
    world.run_until(at(50), 1400);
    let data = world.packet.clone();
    world.flying.clear();
    world.ends[0].machine.close_now(world.now, world.id);
    world.pump(0);
    let (_, to, _, close) = world.flying.pop_back().expect("a Close");
    assert_eq!(to, 1);
    let now = world.now;
    let server = &mut world.ends[1];
    let id = *server.slots.keys().next().expect("the connection");
    server.datagram(now, CLIENT, Ecn::NotEct, &close);
    server.pump(now, &mut Vec::new(), |_, _| {});
    let state = server.machine.connection(id).expect("it is there").state();
    assert_eq!(state, tfrc_dccp::State::CloseReceived);
    server.machine.accept_close(now, id, "");
    server.pump(now, &mut Vec::new(), |_, _| {});
    assert!(matches!(server.slots[&id].standing, SlotStage::Over { .. }));
    server.heard = Some(now);
    let later = at(60);
    let stranger: SocketAddr = "127.0.0.1:9".parse().expect("an address");
    let mut other_port = close.clone();
    other_port[1] ^= 1;
    for (from, bytes) in [
        (stranger, close.as_slice()),
        (CLIENT, b"x"),
        (CLIENT, &data),
        (CLIENT, &other_port),
        (CLIENT, &close[..8]),
    ] {
        server.datagram(later, from, Ecn::NotEct, bytes);
        assert_eq!(server.heard, Some(now), "{} bytes from {from}", bytes.len());
    }
    server.datagram(later, CLIENT, Ecn::NotEct, &close);
    assert_eq!(server.heard, Some(later));
}

/// A client that does not answer the request to close loses its place when the application is done
/// with it, and not when the machine's patience ends, half a minute later.
#[test]
fn who_ignores_the_request_to_close_has_to_go() {
    let mut world =
        TestHost::new(&Options::from(Common { segment_bytes: 1400, ..Common::default() }), Duration::ZERO);
    world.run_until(at(50), 1400);
    let now = world.now;
    let server = &mut world.ends[1];
    let id = *server.slots.keys().next().expect("the connection");
    server.machine.request_close(now, id, "enough");
    server.pump(now, &mut Vec::new(), |_, _| {});
    let state = server.machine.connection(id).expect("it is there").state();
    assert_eq!(state, tfrc_dccp::State::CloseReq);
    server.forget(at(3050), id);
    let mut sent = 0;
    server.pump(at(3050), &mut Vec::new(), |_, _| sent += 1);
    assert!(server.slots.is_empty() && server.machine.connection(id).is_none(), "its place is free");
    assert!(sent > 0, "it is told");
}

/// Delivers what the two ends send to each other until neither has anything to say.
fn talk(ends: &mut [State; 2], now: Instant) {
    let mut flying = VecDeque::new();
    loop {
        for (n, end) in ends.iter_mut().enumerate() {
            end.pump(now, &mut Vec::new(), |transmission, bytes| {
                flying.push_back((1 - n, transmission.ecn, bytes.to_vec()));
            });
        }
        let Some((to, ecn, bytes)) = flying.pop_front() else { return };
        ends[to].datagram(now, [SERVER, CLIENT][to], ecn, &bytes);
    }
}

/// Of 3,000 sessions one after another both ends keep nothing but the addresses of the last ones.
#[test]
fn nothing_is_kept_of_sessions_that_have_ended() {
    let end =
        |options: &Options, seed| State::new(Machine::new(options, [seed; 32], None).expect("in range"));
    let server = Options::from(Common { accept: Listen::Many(2), ..Common::default() });
    let mut ends = [end(&Options::default(), 1), end(&server, 2)];
    for n in 0..3000 {
        let now = at(100 * n);
        let here = ends[0].machine.connect(now, SERVER).expect("a port");
        ends[0].add_slot(here);
        talk(&mut ends, now);
        let there = ends[1].incoming.pop_front().expect("a client");
        ends[0].machine.send(now, here, vec![7; 100]).expect("open");
        talk(&mut ends, now);
        ends[0].machine.close(now, here);
        talk(&mut ends, now);
        ends[1].machine.accept_close(now, there, "");
        talk(&mut ends, now);
        for (end, id) in ends.iter_mut().zip([here, there]) {
            assert!(matches!(end.slots[&id].standing, SlotStage::Over { .. }), "session {n}");
            end.forget(now, id);
            end.pump(now, &mut Vec::new(), |_, _| {});
            assert!(end.machine.connection(id).is_none(), "session {n}");
        }
    }
    for end in &ends {
        assert!(end.slots.is_empty() && end.incoming.is_empty());
        assert!(end.ended_peers.len() <= ENDED_PEERS);
    }
}
