//! Queues, markers and losses on links: where on a link each acts, what the counters say, and where
//! controllers settle.

use std::collections::VecDeque;
use std::sync::Arc;

use proptest::prelude::*;
use tfrc_sim::link::DeliveryTrace;
use tfrc_sim::loss::{Flows, Loss, LossAction, LossPlace, LossRule, Step};
use tfrc_sim::marker::{ColorMode, Marker, MarkerRule, MeterScope};
use tfrc_sim::network::{FlowCounts, LinkChange, NetworkError, Reorder};
use tfrc_sim::packet::{FlowId, Outgoing, Precedence};
use tfrc_sim::queue::{
    Activation, CoDel, Coupling, FqCoDel, Limit, Marking, Pie, Queue, Red, Rio, RioCurve, Spacing, Weight,
};
use tfrc_sim::trace::{DropCause, Happening, Tracing};
use tfrc_sim::{Address, Delivery, Engine, LinkId, LinkSpec, Network, NoAgent, Seed};
use tfrc_units::Ecn;
use tfrc_units::{Duration, Instant, Probability, Rate};

type Numbers = Engine<NoAgent<u32>>;

fn at_us(us: u64) -> Instant {
    Instant::from_nanos(us * 1000)
}

fn p(x: f64) -> Probability {
    Probability::saturating(x)
}

/// Two nodes and one link, as `change` leaves it; 8 Mbit/s, so that one byte takes 1 µs, and 10 ms
/// of propagation.
fn one_link(change: impl FnOnce(&mut LinkSpec)) -> Line {
    let mut network = Network::new();
    let a = network.node("a").unwrap();
    let b = network.node("b").unwrap();
    let mut spec = LinkSpec::new("a-b", a, b, Rate::from_bits_per_sec(8e6), Duration::from_millis(10));
    change(&mut spec);
    let link = network.link(spec).unwrap();
    let mut engine = network.build(Seed(1));
    let near = engine.gateway(a).unwrap();
    let far = engine.gateway(b).unwrap();
    Line { engine, link, near, far }
}

struct Line {
    engine: Numbers,
    link: LinkId,
    near: Address,
    far: Address,
}

impl Line {
    fn send(&mut self, us: u64, size: u32, payload: u32) {
        self.send_as(us, size, payload, FlowId(0), Ecn::NotEct, Precedence::Low);
    }

    fn send_as(&mut self, us: u64, size: u32, payload: u32, flow: FlowId, ecn: Ecn, precedence: Precedence) {
        let packet = Outgoing { to: self.far, flow, size, ecn, precedence, payload };
        self.engine.inject(at_us(us), self.near, packet);
    }

    fn arrivals(&mut self, until_us: u64) -> Vec<Delivery<u32>> {
        self.engine.run_until(at_us(until_us));
        std::iter::from_fn(|| self.engine.poll_delivery(self.far)).collect()
    }

    /// Times in microseconds and payloads.
    fn numbers(&mut self, until_us: u64) -> Vec<(u64, u32)> {
        let list = self.arrivals(until_us);
        list.iter().map(|d| (d.at.as_nanos() / 1000, d.packet.payload)).collect()
    }

    fn stats(&self) -> tfrc_sim::link::LinkStats {
        self.engine.link_stats(self.link).unwrap()
    }

    /// One packet each `gap_us` up to `until_us`.
    fn load(&mut self, until_us: u64, gap_us: u64, size: u32, ecn: Ecn) {
        for i in 0..until_us / gap_us {
            self.send_as(i * gap_us, size, 0, FlowId(0), ecn, Precedence::Low);
            self.engine.poll_delivery(self.far);
        }
        self.engine.run_until(at_us(until_us));
    }
}

#[test]
fn losses_at_the_far_end_take_their_time_on_the_line() {
    let rule = LossRule { place: LossPlace::AfterLine, ..Loss::Scripted(vec![1]).into() };
    let mut line = one_link(|l| l.losses = vec![rule]);
    line.engine.set_tracing(Tracing::Keep);
    line.send(0, 1000, 1);
    line.send(0, 1000, 2);
    assert_eq!(line.numbers(50_000), [(12_000, 2)]);
    let stats = line.stats();
    assert_eq!((stats.lost.packets, stats.corrupted.packets), (0, 1));
    assert_eq!((stats.departures.packets, stats.crossed.packets), (2, 1));
    assert!((stats.drop_rate() - 0.5).abs() < 1e-12);
    let lost = Happening::Dropped(line.link, DropCause::Loss);
    let records = line.engine.take_records();
    assert!(records.iter().any(|r| r.what == lost && r.at == at_us(11_000)));
    assert_eq!(line.engine.in_flight(), 0);
}

#[test]
fn rules_act_in_order_on_what_is_left() {
    // The first takes the second packet of flow 1, the second every other of what remains.
    let first = LossRule { flows: Flows::Only(vec![FlowId(1)]), ..Loss::Scripted(vec![2]).into() };
    let second = LossRule::from(Loss::Scripted(vec![1, 3]));
    let mut line = one_link(|l| l.losses = vec![first, second]);
    for (payload, flow) in [(1, 0), (2, 1), (3, 1), (4, 1), (5, 0)] {
        line.send_as(0, 100, payload, FlowId(flow), Ecn::NotEct, Precedence::Low);
    }
    let left: Vec<u32> = line.numbers(50_000).into_iter().map(|(_, n)| n).collect();
    assert_eq!(left, [2, 5]);
}

#[test]
fn a_loss_rule_can_mark() {
    let rule =
        |place| LossRule { action: LossAction::Mark, place, ..Loss::Bernoulli(Probability::ONE).into() };
    for place in [LossPlace::BeforeQueue, LossPlace::AfterLine] {
        let mut line = one_link(|l| l.losses = vec![rule(place)]);
        line.send_as(0, 100, 1, FlowId(0), Ecn::Ect0, Precedence::Low);
        line.send_as(0, 100, 2, FlowId(0), Ecn::NotEct, Precedence::Low);
        let arrived = line.arrivals(50_000);
        assert_eq!(arrived.iter().map(|d| d.packet.header.ecn).collect::<Vec<_>>(), [Ecn::Ce]);
        assert_eq!(line.stats().marked.packets, 1);
    }
}

#[test]
fn given_packets_are_late() {
    let extra = Duration::from_micros(1500);
    let mut line = one_link(|l| l.reorder = Reorder { scripted: vec![3, 1], extra, ..Reorder::default() });
    for i in 1..=4 {
        line.send(0, 1000, i);
    }
    assert_eq!(line.numbers(50_000), [(12_000, 2), (12_500, 1), (14_000, 4), (14_500, 3)]);
}

#[test]
fn late_packets_are_overtaken_and_nothing_else_moves() {
    let mut line = one_link(|l| {
        l.reorder =
            Reorder { share: Probability::ONE, extra: Duration::from_micros(1500), ..Reorder::default() }
    });
    line.send(0, 1000, 1);
    assert_eq!(line.numbers(50_000), [(12_500, 1)]);
    // A share: late packets are late by the same time, the others are on time.
    let mut line = one_link(|l| {
        l.reorder = Reorder { share: p(0.3), extra: Duration::from_micros(2500), ..Reorder::default() }
    });
    for i in 0..2000 {
        line.send(0, 1000, i);
    }
    line.engine.run_until(at_us(1_000_000));
    let middle = line.stats();
    assert_eq!(middle.arrivals.packets, middle.departures.packets + middle.queued.packets);
    let on_the_way = middle.queued.packets + middle.departures.packets - middle.crossed.packets;
    assert_eq!(line.engine.in_flight(), on_the_way);
    let arrived = line.numbers(5_000_000);
    assert_eq!(arrived.len(), 2000);
    let late = arrived.iter().filter(|(at, n)| *at == 11_000 + 1000 * u64::from(*n) + 2500).count();
    let on_time = arrived.iter().filter(|(at, n)| *at == 11_000 + 1000 * u64::from(*n)).count();
    assert_eq!(late + on_time, 2000);
    assert!((500..=700).contains(&late), "{late}"); // five standard deviations of 20.5
    assert_eq!(line.stats().reordered.packets, u64::try_from(late).unwrap());
    assert!(arrived.is_sorted_by_key(|(at, _)| *at) && !arrived.is_sorted_by_key(|(_, n)| *n));
    assert_eq!(line.stats().crossed.packets, 2000);
}

#[test]
fn copies_arrive_right_behind() {
    let mut line = one_link(|l| l.duplicate = p(0.25));
    for i in 0..2000 {
        line.send(0, 1000, i);
    }
    let arrived = line.numbers(5_000_000);
    let copies = arrived.windows(2).filter(|w| w[0] == w[1]).count();
    assert_eq!(arrived.len(), 2000 + copies);
    assert!((403..=597).contains(&copies), "{copies}"); // five standard deviations of 19.4
    assert!(arrived.is_sorted_by_key(|(_, n)| *n));
    let stats = line.stats();
    assert_eq!((stats.duplicated.packets, stats.crossed.packets), (u64::try_from(copies).unwrap(), 2000));
    assert_eq!(line.engine.packet_hops(), u64::try_from(arrived.len()).unwrap());
    assert_eq!(line.engine.in_flight(), 0);
}

#[test]
fn buffers_of_fixed_size() {
    // Four buffers of 500 B behind the packet on the line: 1000 B take two, 501 B take two, 40 B
    // take one.
    let queue = Queue::DropTail(Limit::Buffers { count: 4, bytes: 500 });
    let mut line = one_link(|l| l.queue = queue);
    for (payload, size) in [(1, 9000), (2, 1000), (3, 40), (4, 501), (5, 40), (6, 1)] {
        line.send(0, size, payload);
    }
    let arrived: Vec<u32> = line.numbers(100_000).into_iter().map(|(_, n)| n).collect();
    assert_eq!(arrived, [1, 2, 3, 5]);
    // Buffers come free as packets leave: after 9 ms the second is on the line.
    line.send(200_000, 9000, 1);
    for (us, payload, size) in [(200_000, 2, 2000), (208_999, 3, 1), (209_000, 4, 2000), (209_000, 5, 1)] {
        line.send(us, size, payload);
    }
    let arrived: Vec<u32> = line.numbers(400_000).into_iter().map(|(_, n)| n).collect();
    assert_eq!(arrived, [1, 2, 4]);
}

#[test]
fn an_edge_marks_by_flow_or_together() {
    let bucket = Marker::TokenBucket { cir: Rate::from_bytes_per_sec(1000.0), burst: 1500 };
    let rule = |scope| MarkerRule { marker: bucket, scope, flows: Flows::Only(vec![FlowId(1), FlowId(2)]) };
    let precedences = |scope| {
        let mut line = one_link(|l| l.markers = vec![rule(scope)]);
        for flow in [1, 1, 2, 3] {
            line.send_as(0, 1000, flow, FlowId(flow), Ecn::NotEct, Precedence::High);
        }
        line.arrivals(50_000).iter().map(|d| d.packet.header.precedence).collect::<Vec<_>>()
    };
    use Precedence::{High, Low, Medium};
    assert_eq!(precedences(MeterScope::EachFlow), [Low, Medium, Low, High]);
    assert_eq!(precedences(MeterScope::Aggregate), [Low, Medium, Medium, High]);
    assert_eq!(precedences(MeterScope::EachSource), [Low, Medium, Medium, High]);
}

#[test]
fn rio_protects_what_the_meter_calls_in_profile() {
    // 10 Mbit/s into 8, of which 4 Mbit/s are in profile: what does not fit is out of profile.
    let curve = |min, max, max_p| RioCurve { min, max, max_p: p(max_p) };
    let rio = Rio {
        weight: 0.02,
        ..Rio::two(Limit::Packets(50), Coupling::Coupled, curve(20.0, 40.0, 0.02), curve(10.0, 20.0, 0.1))
    };
    let marker = Marker::SingleRate {
        cir: Rate::from_bits_per_sec(4e6),
        cbs: 10_000,
        ebs: 0,
        colors: ColorMode::Blind,
    };
    let mut line = one_link(|l| {
        l.queue = Queue::Rio(rio);
        l.markers = vec![MarkerRule { marker, scope: MeterScope::EachFlow, flows: Flows::All }];
    });
    line.engine.set_tracing(Tracing::Keep);
    line.load(20_000_000, 800, 1000, Ecn::NotEct);
    let records = line.engine.take_records();
    let dropped = |precedence| {
        let of = |r: &&tfrc_sim::trace::TraceRecord| {
            matches!(r.what, Happening::Dropped(..)) && r.header.precedence == precedence
        };
        records.iter().filter(of).count()
    };
    assert_eq!(dropped(Precedence::Low), 0);
    let share = dropped(Precedence::High) as f64 / 12_500.0;
    assert!((0.36..=0.44).contains(&share), "{share}"); // 5000 of 12,500
    assert!(line.stats().utilization() > 0.99);
    assert_eq!(line.engine.queue_state(line.link).unwrap().waiting, {
        let queued = line.stats().queued;
        tfrc_sim::link::PacketCount { packets: queued.packets - 1, bytes: queued.bytes - 1000 }
    });
}

#[test]
fn red_settles_where_its_drops_match_the_overload() {
    // 1000 packets/s of service, a packet each 0.95 ms: one in 20 must go. Drops come every (1 +
    // (1/p − 1))/2 = 1/(2p) packets with uniform spacing, every (3/p − 1)/2 with `wait`: p = 0.025,
    // or 3/41 = 0.0732.
    for (spacing, target) in [(Spacing::Uniform, 0.025), (Spacing::Wait, 3.0 / 41.0)] {
        let red = Red { spacing, mean_packet: 1000, ..Red::new(Limit::Packets(200)) };
        let mut line = one_link(|l| l.queue = Queue::Red(red));
        line.load(10_000_000, 950, 1000, Ecn::NotEct);
        let before = line.stats();
        let mut sum = 0.0;
        for i in 0..400_u64 {
            for k in 0..100 {
                line.send(10_000_000 + (i * 100 + k) * 950, 1000, 0);
                line.engine.poll_delivery(line.far);
            }
            sum += line.engine.queue_state(line.link).unwrap().average.unwrap();
        }
        let since = line.stats().since(&before);
        assert!((since.drop_rate() - 0.05).abs() < 0.003, "{}", since.drop_rate());
        assert_eq!(since.early, since.overflowed);
        let average = sum / 400.0;
        let expected = 5.0 + 10.0 * target / 0.1;
        assert!((average / expected - 1.0).abs() < 0.05, "{average} {expected}");
        // An arrival finds half a packet less than the mean in time, since it is counted only
        // afterwards.
        let more = since.mean_queue_packets() - average;
        assert!((0.4..=0.6).contains(&more), "{more}");
    }
}

#[test]
fn red_marks_before_it_drops() {
    let red = Red { marking: Marking::On, weight: Weight::Fixed(0.02), ..Red::new(Limit::Packets(200)) };
    let mut line = one_link(|l| {
        l.queue = Queue::Red(red);
        l.flow_counts = FlowCounts::Keep;
    });
    line.load(500_000, 980, 1000, Ecn::Ect0);
    let stats = line.stats();
    assert!(stats.marked.packets > 5 && stats.overflowed.packets == 0, "{stats:?}");
    let flows = line.engine.flow_stats(line.link);
    assert_eq!(flows.len(), 1);
    assert_eq!(
        (flows[0].0, flows[0].1.marked, flows[0].1.arrivals),
        (FlowId(0), stats.marked, stats.arrivals)
    );
}

#[test]
fn pie_settles_at_its_target_delay() {
    // An integral controller has no lasting error: 15 ms, at the drop rate of the overload, 1 in
    // 20.
    for pie in [
        Pie::new(Limit::Packets(1000)),
        Pie { activation: Activation::Always, ..Pie::enhanced(Limit::Packets(1000)) },
    ] {
        let mut line = one_link(|l| l.queue = Queue::Pie(pie));
        line.load(60_000_000, 950, 1000, Ecn::NotEct);
        let before = line.stats();
        let mut sum = 0.0;
        for i in 0..60_000_000 / 950_u64 {
            line.send(60_000_000 + i * 950, 1000, 0);
            line.engine.poll_delivery(line.far);
            if i % 100 == 0 {
                sum += line.engine.queue_state(line.link).unwrap().probability.unwrap();
            }
        }
        let since = line.stats().since(&before);
        let delay = since.waited_ns as f64 / since.departures.packets as f64;
        assert!((delay / 15e6 - 1.0).abs() < 0.1, "{delay}");
        assert!((since.drop_rate() - 0.05).abs() < 0.003, "{}", since.drop_rate());
        if pie.randomness == Pie::new(Limit::Unlimited).randomness {
            assert!((sum / 632.0 - 0.05).abs() < 0.003, "{}", sum / 632.0);
        }
    }
}

#[test]
fn codel_holds_the_delay_of_a_responsive_load() {
    // 300 packets a second more in each second, a fifth less for each strike, 100 ms after it.
    // Without control the queue would fill its 1000 packets, a second.
    let mean_delay_ms = |queue, ecn| {
        let mut line = one_link(|l| l.queue = queue);
        let (mut rate, mut now, mut strikes) = (900.0_f64, 0.0_f64, 0);
        let mut heard = VecDeque::new();
        let mut before = line.stats();
        while now < 120e6 {
            line.send_as(now as u64, 1000, 0, FlowId(0), ecn, Precedence::Low);
            line.engine.poll_delivery(line.far);
            let stats = line.stats();
            let struck = stats.overflowed.packets + stats.marked.packets;
            heard.extend((strikes..struck).map(|_| now + 100e3));
            strikes = struck;
            rate += 300.0 / rate;
            while heard.pop_front_if(|at| *at <= now).is_some() {
                rate *= 0.8;
            }
            now += 1e6 / rate;
            if now < 20e6 {
                before = stats;
            }
        }
        let since = line.stats().since(&before);
        assert!(since.utilization() > 0.75, "{}", since.utilization());
        assert_eq!(since.early, since.overflowed);
        assert_eq!(since.early.packets == 0, ecn == Ecn::Ect0);
        since.waited_ns as f64 / 1e6 / since.departures.packets as f64
    };
    let codel = CoDel { marking: Marking::On, ..CoDel::new(Limit::Packets(1000)) };
    for ecn in [Ecn::NotEct, Ecn::Ect0] {
        let delay = mean_delay_ms(Queue::CoDel(codel), ecn);
        assert!((1.0..=10.0).contains(&delay), "{delay}");
    }
}

#[test]
fn fq_codel_shares_by_flows_and_lets_sparse_ones_through() {
    // 8 Mbit/s: flow 0 offers 16 Mbit/s, flow 1 offers 6, flow 2 a packet of 200 bytes each 20 ms.
    let mut line = one_link(|l| {
        l.queue = Queue::FqCoDel(FqCoDel::new(Limit::Packets(1000)));
        l.flow_counts = FlowCounts::Keep;
    });
    let mut sends: Vec<(u64, u32, u32)> = (0..40_000).map(|n| (n * 500, 0, 1000)).collect();
    sends.extend((0..15_000).map(|n| (n * 1333, 1, 1000)));
    sends.extend((0..1000).map(|n| (n * 20_000 + 77, 2, 200)));
    sends.sort_unstable();
    for (us, flow, size) in sends {
        line.send_as(us, size, u32::try_from(us).unwrap(), FlowId(flow), Ecn::NotEct, Precedence::Low);
    }
    let (mut bytes, mut longest) = ([0_u64; 3], 0);
    for delivery in line.arrivals(20_000_000) {
        let header = delivery.packet.header;
        bytes[header.flow.0 as usize] += u64::from(header.size);
        // At the start all queues are new.
        if header.flow.0 == 2 && delivery.packet.payload > 1_000_000 {
            let sent = at_us(u64::from(delivery.packet.payload));
            longest = longest.max(delivery.at.saturating_since(sent).as_nanos() / 1000);
        }
    }
    // 20 MB less the sparse flow's 0.2 MB, by halves.
    assert_eq!(bytes[2], 200_000);
    assert!((bytes[0] as f64 / 9.9e6 - 1.0).abs() < 0.01, "{bytes:?}");
    assert!((bytes[1] as f64 / 9.9e6 - 1.0).abs() < 0.01, "{bytes:?}");
    // Its own time, propagation, and at most the packet in transmission and one more.
    assert!(longest <= 200 + 10_000 + 2 * 1000, "{longest}");
    let flows = line.engine.flow_stats(line.link);
    assert_eq!(
        flows.iter().map(|(_, flow)| flow.dropped.packets > 0).collect::<Vec<_>>(),
        [true, true, false]
    );
}

#[test]
fn fq_codel_in_a_calm_queue_of_one_flow_is_a_fifo() {
    let times = |queue| {
        let mut line = one_link(|l| {
            l.queue = queue;
            l.changes = vec![LinkChange::of_rate(at_us(40_000), Rate::from_bits_per_sec(16e6))];
        });
        for i in 0..300 {
            line.send(u64::from(i) * 530 + u64::from(i % 7) * 37, 300 + 97 * (i % 5), i);
        }
        line.arrivals(1_000_000).iter().map(|d| (d.at, d.packet.payload)).collect::<Vec<_>>()
    };
    let fifo = times(Queue::DropTail(Limit::Unlimited));
    assert_eq!(fifo.len(), 300);
    assert_eq!(times(Queue::FqCoDel(FqCoDel::new(Limit::Unlimited))), fifo);
}

#[test]
fn codel_in_a_calm_queue_is_a_fifo() {
    // Same arrivals, no delay above the target: the same times as drop-tail, to the nanosecond.
    let times = |queue| {
        let mut line = one_link(|l| {
            l.queue = queue;
            l.changes = vec![
                LinkChange::of_rate(at_us(40_000), Rate::from_bits_per_sec(16e6)),
                LinkChange::of_rate(at_us(90_000), Rate::ZERO),
                LinkChange::of_rate(at_us(93_000), Rate::from_bits_per_sec(9.7e6)),
            ];
        });
        for i in 0..300 {
            line.send(u64::from(i) * 530 + u64::from(i % 7) * 37, 300 + 97 * (i % 5), i);
        }
        line.arrivals(1_000_000).iter().map(|d| (d.at, d.packet.payload)).collect::<Vec<_>>()
    };
    let fifo = times(Queue::DropTail(Limit::Unlimited));
    assert_eq!(fifo.len(), 300);
    assert_eq!(times(Queue::CoDel(CoDel::new(Limit::Unlimited))), fifo);
}

#[test]
fn per_flow_counts_add_up() {
    let mut line = one_link(|l| {
        l.queue = Queue::DropTail(Limit::Packets(3));
        l.loss = Loss::Bernoulli(p(0.1));
        l.losses = vec![LossRule { place: LossPlace::AfterLine, ..Loss::Bernoulli(p(0.1)).into() }];
        l.flow_counts = FlowCounts::Keep;
    });
    for i in 0..3000 {
        line.send_as(u64::from(i) * 700, 1000, i, FlowId(i % 3), Ecn::NotEct, Precedence::Low);
    }
    line.engine.run_until(at_us(10_000_000));
    let stats = line.stats();
    let flows = line.engine.flow_stats(line.link);
    assert_eq!(flows.iter().map(|(flow, _)| flow.0).collect::<Vec<_>>(), [0, 1, 2]);
    assert!(flows.iter().all(|(_, f)| f.arrivals.packets == 1000));
    let dropped: u64 = flows.iter().map(|(_, f)| f.dropped.packets).sum();
    assert_eq!(dropped, stats.lost.packets + stats.overflowed.packets + stats.corrupted.packets);
    assert_eq!(dropped + stats.crossed.packets, 3000);
}

#[test]
fn wrong_parameters_are_refused_by_name() {
    let refused = |change: fn(&mut LinkSpec)| {
        let mut network = Network::new();
        let a = network.node("a").unwrap();
        let b = network.node("b").unwrap();
        let mut spec = LinkSpec::new("a-b", a, b, Rate::from_bits_per_sec(8e6), Duration::ZERO);
        change(&mut spec);
        network.link(spec).unwrap_err()
    };
    let queue = refused(|l| {
        l.queue = Queue::Red(Red { weight: Weight::Fixed(2.0), ..Red::new(Limit::Unlimited) });
    });
    assert!(matches!(&queue, NetworkError::Queue { link, .. } if link == "a-b"));
    assert_eq!(queue.to_string(), "queue of link `a-b`: RED's weight must be above 0 and at most 1");
    let pie = refused(|l| l.queue = Queue::Pie(Pie { update: Duration::ZERO, ..Pie::new(Limit::Unlimited) }));
    assert!(matches!(pie, NetworkError::Queue { .. }));
    let codel = refused(|l| {
        l.queue = Queue::CoDel(CoDel { interval: Duration::ZERO, ..CoDel::new(Limit::Unlimited) });
    });
    assert!(matches!(codel, NetworkError::Queue { .. }));
    for wrong in [
        FqCoDel { quantum: 0, ..FqCoDel::new(Limit::Unlimited) },
        FqCoDel { queues: 0, ..FqCoDel::new(Limit::Unlimited) },
        FqCoDel { queues: 65_537, ..FqCoDel::new(Limit::Unlimited) },
    ] {
        let mut network = Network::new();
        let [a, b] = ["a", "b"].map(|name| network.node(name).unwrap());
        let spec = LinkSpec::new("a-b", a, b, Rate::from_bits_per_sec(8e6), Duration::ZERO);
        let error = network.link(LinkSpec { queue: Queue::FqCoDel(wrong), ..spec }).unwrap_err();
        assert!(matches!(error, NetworkError::Queue { .. }));
    }
    let losses = refused(|l| {
        let step = |us| Step { at: at_us(us), p: Probability::ZERO };
        l.loss = Loss::TimeVarying(vec![step(1), step(0)]);
    });
    assert_eq!(losses, NetworkError::UnorderedLosses("a-b".to_owned()));
}

/// A queue by number, small enough to overflow.
fn queue(kind: u32, limit: u64) -> Queue {
    let limit = Limit::Packets(limit);
    let curve = RioCurve { min: 1.0, max: 6.0, max_p: p(0.5) };
    match kind {
        0 => Queue::DropTail(limit),
        1 => Queue::Red(Red { weight: Weight::Fixed(0.2), marking: Marking::On, ..Red::new(limit) }),
        2 => Queue::Red(Red { weight: Weight::Fixed(0.2), ..Red::ns2(limit) }),
        3 => Queue::Rio(Rio { weight: 0.2, ..Rio::two(limit, Coupling::Coupled, curve, curve) }),
        4 => Queue::Rio(Rio { weight: 0.2, ..Rio::two(limit, Coupling::Decoupled, curve, curve) }),
        5 => Queue::Pie(Pie { max_burst: Duration::ZERO, ..Pie::enhanced(limit) }),
        6 => Queue::DropTail(Limit::Buffers { count: 20, bytes: 256 }),
        7 => Queue::CoDel(CoDel {
            target: Duration::from_millis(1),
            interval: Duration::from_millis(5),
            marking: Marking::On,
            ..CoDel::new(limit)
        }),
        _ => Queue::FqCoDel(FqCoDel {
            target: Duration::from_millis(1),
            interval: Duration::from_millis(5),
            queues: 4,
            quantum: 300,
            ..FqCoDel::new(limit)
        }),
    }
}

/// Kinds of [`queue`].
const QUEUES: u32 = 9;

/// A link with everything on it, under bursts, as its trace and its counters at `stop_us`. From
/// [`QUEUES`] on the kinds are those below on a line that follows a trace.
fn everything(kind: u32, limit: u64, seed: u64, stop_us: u64, extra: u32) -> (String, Vec<String>) {
    let mut network = Network::new();
    let nodes: Vec<_> = ["a", "b", "c"].map(|n| network.node(n).unwrap()).into();
    for i in 0..extra {
        // Links that nobody uses, with models of their own.
        network
            .link(LinkSpec {
                queue: queue(i, 9),
                duplicate: p(0.5),
                loss: Loss::Bernoulli(p(0.5)),
                ..LinkSpec::new(
                    &format!("unused {i}"),
                    nodes[2],
                    nodes[0],
                    Rate::from_bits_per_sec(1e6),
                    Duration::ZERO,
                )
            })
            .unwrap();
    }
    let opportunities = Arc::new(DeliveryTrace::parse("0\n1\n2\n2\n2\n7\n").unwrap());
    let marker = Marker::TokenBucket { cir: Rate::from_bytes_per_sec(2e5), burst: 3000 };
    let spec = |name, from, to| LinkSpec {
        queue: queue(kind % QUEUES, limit),
        loss: Loss::BernoulliPerByte(p(2e-5)),
        losses: vec![
            LossRule { action: LossAction::Mark, ..Loss::Bernoulli(p(0.02)).into() },
            LossRule { place: LossPlace::AfterLine, ..Loss::Bernoulli(p(0.02)).into() },
        ],
        markers: vec![MarkerRule { marker, scope: MeterScope::EachFlow, flows: Flows::All }],
        reorder: Reorder { share: p(0.1), extra: Duration::from_millis(3), ..Reorder::default() },
        duplicate: p(0.05),
        flow_counts: FlowCounts::Keep,
        changes: match kind {
            0..QUEUES => vec![
                LinkChange::of_rate(at_us(30_000), Rate::from_bits_per_sec(2e6)),
                LinkChange::of_rate(at_us(60_000), Rate::ZERO),
                LinkChange::of_rate(at_us(70_000), Rate::from_bits_per_sec(2e7)),
            ],
            _ => Vec::new(),
        },
        ..match kind {
            0..QUEUES => {
                LinkSpec::new(name, from, to, Rate::from_bits_per_sec(8e6), Duration::from_millis(4))
            }
            _ => LinkSpec::traced(name, from, to, Arc::clone(&opportunities), Duration::from_millis(4)),
        }
    };
    let links = [("ab", 0, 1), ("bc", 1, 2)]
        .map(|(name, x, y)| network.link(spec(name, nodes[x], nodes[y])).unwrap());
    let mut engine = network.build::<NoAgent<u32>>(Seed(seed));
    engine.set_tracing(Tracing::Keep);
    let near = engine.gateway(nodes[0]).unwrap();
    let far = engine.gateway(nodes[2]).unwrap();
    for i in (0..400).take_while(|i| u64::from(*i / 4) * 1000 <= stop_us) {
        let ecn = if i % 2 == 0 { Ecn::Ect0 } else { Ecn::NotEct };
        let size = 100 + (i * 389) % 1300;
        let packet =
            Outgoing { to: far, flow: FlowId(i % 3), size, ecn, precedence: Precedence::Low, payload: i };
        engine.inject(at_us(u64::from(i / 4) * 1000), near, packet);
    }
    engine.run_until(at_us(stop_us));
    let mut on_links = 0;
    let mut hops = 0;
    let mut counters = Vec::new();
    for link in links {
        let s = engine.link_stats(link).unwrap();
        assert_eq!(
            s.arrivals.packets,
            s.lost.packets + s.overflowed.packets + s.departures.packets + s.queued.packets
        );
        assert_eq!(s.arrivals.bytes, s.lost.bytes + s.overflowed.bytes + s.departures.bytes + s.queued.bytes);
        on_links += s.queued.packets + s.departures.packets - s.crossed.packets - s.corrupted.packets;
        hops += s.crossed.packets + s.duplicated.packets;
        let flows = engine.flow_stats(link);
        assert_eq!(flows.iter().map(|(_, f)| f.arrivals.packets).sum::<u64>(), s.arrivals.packets);
        assert_eq!(
            flows.iter().map(|(_, f)| f.dropped.packets).sum::<u64>(),
            s.lost.packets + s.overflowed.packets + s.corrupted.packets
        );
        assert!(s.busy <= s.elapsed);
        assert!(s.capacity.is_none_or(|allowed| s.departures.bytes <= allowed));
        counters.push(format!("{s:?} {:?}", engine.queue_state(link)));
    }
    assert_eq!(engine.in_flight(), on_links);
    assert_eq!(engine.packet_hops(), hops);
    let trace = engine.take_records().iter().map(|r| format!("{r}\n")).collect::<String>();
    (trace, counters)
}

#[test]
fn same_seed_same_everything() {
    for kind in 0..2 * QUEUES {
        let (trace, counters) = everything(kind, 8, 1, 400_000, 0);
        assert!(trace.contains("ecn=3") && trace.contains("lost") && trace.contains("received"), "{kind}");
        assert_eq!((trace.clone(), counters.clone()), everything(kind, 8, 1, 400_000, 0));
        assert_ne!(trace, everything(kind, 8, 2, 400_000, 0).0);
        // Links added before these move nobody's draws.
        assert_eq!(counters, everything(kind, 8, 1, 400_000, 5).1);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// At any moment each packet is in one place, with every model at once (asserted in
    /// `everything`).
    #[test]
    fn packets_are_conserved(kind in 0..2 * QUEUES, limit in 0_u64..12, seed: u64, stop_us in 0_u64..150_000) {
        everything(kind, limit, seed, stop_us, 0);
    }
}
