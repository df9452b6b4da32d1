//! The least a packet-level simulator can do: the dumbbell of `scenarios/dumbbell-perf.toml` with
//! window flows that have no timers, options, retransmissions or statistics. One event for each
//! packet and link, one heap entry for each busy link.
//! `floor BOTTLENECK-MBIT ACCESS-MBIT SECONDS FLOWS QUEUE` prints `hops N`.

use std::collections::VecDeque;

const MILLISECOND: u64 = 1_000_000;
const DATA: u16 = 1000;
const ACK: u16 = 40;
/// The links: the bottleneck, its way back, and four for each flow.
const THERE: usize = 0;
const BACK: usize = 1;

#[derive(Clone, Copy)]
struct Packet {
    flow: u32,
    seq: u32,
    size: u16,
    /// Links crossed so far.
    crossed: u8,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Data,
    Ack,
    /// An acknowledgement that shows a gap.
    Gap,
}

struct Link {
    ns_per_byte: f64,
    delay: u64,
    limit: usize,
    free: u64,
    /// When the packets that wait or are on the line leave it.
    leaving: VecDeque<u64>,
    flying: VecDeque<(u64, Packet)>,
}

struct Flow {
    cwnd: f64,
    ssthresh: f64,
    in_flight: u32,
    next: u32,
    acked: u32,
    recovered: u32,
    expected: u32,
    unacknowledged: u32,
}

struct Floor {
    links: Vec<Link>,
    flows: Vec<Flow>,
    /// A heap with four children a node: when the next packet of a busy link arrives.
    heap: Vec<(u64, u32)>,
    now: u64,
    hops: u64,
}

impl Floor {
    fn push(&mut self, entry: (u64, u32)) {
        let mut at = self.heap.len();
        self.heap.push(entry);
        while at > 0 {
            let parent = (at - 1) / 4;
            if self.heap[parent] <= entry {
                break;
            }
            self.heap[at] = self.heap[parent];
            at = parent;
        }
        self.heap[at] = entry;
    }

    /// Puts `entry` in the place of the first.
    fn replace_first(&mut self, entry: (u64, u32)) {
        let heap = &mut self.heap[..];
        let mut at = 0;
        loop {
            let children = 4 * at + 1..(4 * at + 5).min(heap.len());
            let Some(least) = children.min_by_key(|child| heap[*child]) else { break };
            if heap[least] >= entry {
                break;
            }
            heap[at] = heap[least];
            at = least;
        }
        heap[at] = entry;
    }

    fn send(&mut self, number: usize, packet: Packet) {
        let link = &mut self.links[number];
        while link.leaving.front().is_some_and(|left| *left <= self.now) {
            link.leaving.pop_front();
        }
        if link.leaving.len() > link.limit {
            return;
        }
        link.free = link.free.max(self.now) + (f64::from(packet.size) * link.ns_per_byte) as u64;
        link.leaving.push_back(link.free);
        let arrival = link.free + link.delay;
        let idle = link.flying.is_empty();
        link.flying.push_back((arrival, packet));
        if idle {
            self.push((arrival, number as u32));
        }
    }

    fn fill_window(&mut self, flow: usize) {
        loop {
            let state = &mut self.flows[flow];
            if f64::from(state.in_flight) >= state.cwnd.floor() {
                break;
            }
            state.in_flight += 1;
            let seq = state.next;
            state.next += 1;
            let packet = Packet { flow: flow as u32, seq, size: DATA, crossed: 0, kind: Kind::Data };
            self.send(2 + 4 * flow, packet);
        }
    }

    fn arrive(&mut self, mut packet: Packet) {
        self.hops += 1;
        let flow = packet.flow as usize;
        let own = 2 + 4 * flow;
        packet.crossed += 1;
        let next = match (packet.kind, packet.crossed) {
            (Kind::Data, 1) => THERE,
            (Kind::Data, 2) => own + 1,
            (Kind::Data, _) => return self.receive(flow, packet.seq),
            (_, 1) => BACK,
            (_, 2) => own + 3,
            _ => return self.acknowledge(flow, packet),
        };
        self.send(next, packet);
    }

    fn receive(&mut self, flow: usize, seq: u32) {
        let state = &mut self.flows[flow];
        let kind = if seq == state.expected { Kind::Ack } else { Kind::Gap };
        state.expected = seq + 1;
        state.unacknowledged += 1;
        if state.unacknowledged >= 2 || kind == Kind::Gap {
            state.unacknowledged = 0;
            let ack = Packet { flow: flow as u32, seq: seq + 1, size: ACK, crossed: 0, kind };
            self.send(2 + 4 * flow + 2, ack);
        }
    }

    fn acknowledge(&mut self, flow: usize, ack: Packet) {
        let state = &mut self.flows[flow];
        let newly = ack.seq - state.acked;
        state.acked = ack.seq;
        state.in_flight = state.in_flight.saturating_sub(newly);
        if ack.kind == Kind::Gap {
            if ack.seq > state.recovered {
                state.cwnd = (state.cwnd / 2.0).max(2.0);
                state.ssthresh = state.cwnd;
                state.recovered = state.next;
            }
        } else if state.cwnd < state.ssthresh {
            state.cwnd += f64::from(newly);
        } else {
            state.cwnd += f64::from(newly) / state.cwnd;
        }
        self.fill_window(flow);
    }

    /// Stands in for retransmission timers: a flow whose last packets were all lost sends again.
    fn wake(&mut self, started: usize) {
        for flow in 0..started {
            let state = &mut self.flows[flow];
            if state.cwnd <= 2.0 && f64::from(state.in_flight) >= state.cwnd && state.next > state.acked {
                state.in_flight = 0;
                self.fill_window(flow);
            }
        }
    }
}

fn main() {
    let given: Vec<f64> = std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    let [bottleneck, access, seconds, count, queue] = given[..] else {
        eprintln!("usage: floor BOTTLENECK-MBIT ACCESS-MBIT SECONDS FLOWS QUEUE");
        std::process::exit(2);
    };
    let link = |mbit: f64, delay, limit| Link {
        ns_per_byte: 8000.0 / mbit,
        delay,
        limit,
        free: 0,
        leaving: VecDeque::new(),
        flying: VecDeque::new(),
    };
    let count = count as usize;
    let mut links = vec![
        link(bottleneck, 20 * MILLISECOND, queue as usize),
        link(bottleneck, 20 * MILLISECOND, usize::MAX),
    ];
    links.extend((0..4 * count).map(|_| link(access, 5 * MILLISECOND / 2, usize::MAX)));
    let flow = |_| Flow {
        cwnd: 2.0,
        ssthresh: 1e9,
        in_flight: 0,
        next: 0,
        acked: 0,
        recovered: 0,
        expected: 0,
        unacknowledged: 0,
    };
    let mut floor = Floor { links, flows: (0..count).map(flow).collect(), heap: Vec::new(), now: 0, hops: 0 };
    let end = (seconds * 1e9) as u64;
    let between_starts = 5000 * MILLISECOND / count.max(1) as u64;
    let (mut started, mut check) = (0, 0);
    loop {
        let first = floor.heap.first().copied();
        let start = started as u64 * between_starts;
        if started < count && first.is_none_or(|(at, _)| at > start) {
            floor.now = start;
            floor.fill_window(started);
            started += 1;
            continue;
        }
        let Some((at, number)) = first.filter(|(at, _)| *at <= end) else { break };
        floor.now = at;
        let flying = &mut floor.links[number as usize].flying;
        let Some((_, packet)) = flying.pop_front() else { break };
        if let Some((next, _)) = flying.front() {
            let next = *next;
            floor.replace_first((next, number));
        } else {
            let last = floor.heap.pop();
            if let Some(last) = last.filter(|_| !floor.heap.is_empty()) {
                floor.replace_first(last);
            }
        }
        floor.arrive(packet);
        if at > check {
            check = at + 1000 * MILLISECOND;
            floor.wake(started);
        }
    }
    println!("hops {}", floor.hops);
}
