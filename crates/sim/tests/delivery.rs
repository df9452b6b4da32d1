//! When packets arrive, in which order, and which of them: against times worked out by hand.

use tfrc_sim::loss::Loss;
use tfrc_sim::network::{LinkChange, NetworkError};
use tfrc_sim::packet::{FlowId, Outgoing, Precedence};
use tfrc_sim::queue::{CoDel, Limit, Queue};
use tfrc_sim::{Address, Delivery, Engine, LinkId, LinkSpec, Network, NoAgent, Seed};
use tfrc_units::Ecn;
use tfrc_units::{Duration, Instant, Probability, Rate};

type Numbers = Engine<NoAgent<u32>>;

fn at_us(us: u64) -> Instant {
    Instant::from_nanos(us * 1000)
}

fn mbit(x: f64) -> Rate {
    Rate::from_bits_per_sec(x * 1e6)
}

/// Two nodes and one link, as `change` leaves it; 8 Mbit/s, so that one byte takes 1 µs, and 10 ms
/// of propagation.
fn one_link(change: impl FnOnce(&mut LinkSpec)) -> (Numbers, LinkId, Address, Address) {
    let mut network = Network::new();
    let a = network.node("a").unwrap();
    let b = network.node("b").unwrap();
    let mut spec = LinkSpec::new("a-b", a, b, mbit(8.0), Duration::from_millis(10));
    change(&mut spec);
    let link = network.link(spec).unwrap();
    let mut engine = network.build(Seed(1));
    let near = engine.gateway(a).unwrap();
    let far = engine.gateway(b).unwrap();
    (engine, link, near, far)
}

fn packet(to: Address, size: u32, payload: u32) -> Outgoing<u32> {
    Outgoing { to, flow: FlowId(0), size, ecn: Ecn::Ect0, precedence: Precedence::Low, payload }
}

fn drain(engine: &mut Numbers, gateway: Address) -> Vec<(u64, u32)> {
    std::iter::from_fn(|| engine.poll_delivery(gateway))
        .map(|Delivery { at, packet }| (at.as_nanos(), packet.payload))
        .collect()
}

#[test]
fn transmission_and_propagation_times() {
    let (mut engine, link, near, far) = one_link(|_| {});
    // 1000 B take 1 ms on the line. The second waits for the first, the third finds the line idle.
    engine.inject(at_us(0), near, packet(far, 1000, 1));
    engine.inject(at_us(500), near, packet(far, 500, 2));
    engine.inject(at_us(2000), near, packet(far, 100, 3));
    assert_eq!(engine.poll_timeout(), Some(at_us(11_000)));
    engine.run_until(at_us(11_499));
    assert_eq!(drain(&mut engine, far), [(11_000_000, 1)]);
    engine.run_until(at_us(20_000));
    assert_eq!(drain(&mut engine, far), [(11_500_000, 2), (12_100_000, 3)]);
    assert_eq!(engine.poll_timeout(), None);
    let stats = engine.link_stats(link).unwrap();
    assert_eq!(stats.busy, Duration::from_micros(1600));
    assert_eq!(stats.waited_ns, 500_000); // only the second waited
    assert!((stats.utilization() - 0.08).abs() < 1e-12);
    assert!((stats.mean_queue_packets() - 0.025).abs() < 1e-12);
}

#[test]
fn counters_in_the_middle_of_a_transmission() {
    let (mut engine, link, near, far) = one_link(|_| {});
    for i in 0..3 {
        engine.inject(at_us(0), near, packet(far, 1000, i));
    }
    engine.run_until(at_us(1500));
    let stats = engine.link_stats(link).unwrap();
    assert_eq!((stats.departures.packets, stats.queued.packets, stats.crossed.packets), (1, 2, 0));
    assert_eq!(stats.queued.bytes, 2000);
    assert_eq!(stats.busy, Duration::from_micros(1500));
    // The second waited 1 ms, the third 1.5 ms until now.
    assert_eq!(stats.waited_ns, 2_500_000);
    engine.run_until(at_us(11_000));
    let later = engine.link_stats(link).unwrap();
    assert_eq!(later.crossed.packets, 1);
    let since = later.since(&stats);
    assert_eq!(since.busy, Duration::from_micros(1500));
    assert_eq!(since.waited_ns, 500_000);
    assert_eq!(since.departures.packets, 2);
}

#[test]
fn drop_tail_counts_the_packets_that_wait() {
    let (mut engine, link, near, far) = one_link(|l| l.queue = Queue::DropTail(Limit::Packets(2)));
    for i in 1..=5 {
        engine.inject(at_us(0), near, packet(far, 1000, i));
    }
    // One is in transmission and two wait. At 1 ms, to the nanosecond, a place is free.
    engine.inject(Instant::from_nanos(999_999), near, packet(far, 1000, 6));
    engine.inject(at_us(1000), near, packet(far, 1000, 7));
    engine.inject(at_us(1000), near, packet(far, 1000, 8));
    engine.run_until(at_us(100_000));
    let arrived: Vec<u32> = drain(&mut engine, far).into_iter().map(|(_, n)| n).collect();
    assert_eq!(arrived, [1, 2, 3, 7]);
    assert_eq!(engine.link_stats(link).unwrap().overflowed.packets, 4);
}

#[test]
fn drop_tail_counts_the_bytes_that_wait() {
    let (mut engine, _, near, far) = one_link(|l| l.queue = Queue::DropTail(Limit::Bytes(1500)));
    for (payload, size) in [(1, 9000), (2, 1000), (3, 501), (4, 500), (5, 1)] {
        engine.inject(at_us(0), near, packet(far, size, payload));
    }
    engine.run_until(at_us(100_000));
    let arrived: Vec<u32> = drain(&mut engine, far).into_iter().map(|(_, n)| n).collect();
    assert_eq!(arrived, [1, 2, 4]);
}

#[test]
fn a_queue_without_place_still_takes_a_packet_on_an_idle_line() {
    let (mut engine, _, near, far) = one_link(|l| l.queue = Queue::DropTail(Limit::Packets(0)));
    engine.inject(at_us(0), near, packet(far, 1000, 1));
    engine.inject(at_us(999), near, packet(far, 1000, 2));
    engine.inject(at_us(1000), near, packet(far, 1000, 3));
    engine.run_until(at_us(100_000));
    assert_eq!(drain(&mut engine, far), [(11_000_000, 1), (12_000_000, 3)]);
}

#[test]
fn halving_the_rate_retimes_what_has_not_left() {
    let (mut engine, link, near, far) =
        one_link(|l| l.changes = vec![LinkChange::of_rate(at_us(1500), mbit(4.0))]);
    for i in 1..=4 {
        engine.inject(at_us(0), near, packet(far, 1000, i));
    }
    engine.run_until(at_us(1600));
    // Half of the second is left, which takes 1 ms; the others take 2 ms each from there.
    engine.inject(at_us(1600), near, packet(far, 500, 5));
    engine.run_until(at_us(100_000));
    let expected = [(11_000_000, 1), (12_500_000, 2), (14_500_000, 3), (16_500_000, 4), (17_500_000, 5)];
    assert_eq!(drain(&mut engine, far), expected);
    let stats = engine.link_stats(link).unwrap();
    assert_eq!(stats.busy, Duration::from_micros(7500));
    // Waits: 1, 2.5, 4.5 ms for numbers 2, 3, 4, and 4.9 ms for number 5.
    assert_eq!(stats.waited_ns, 12_900_000);
}

#[test]
fn raising_the_rate_brings_arrivals_forward() {
    let (mut engine, _, near, far) =
        one_link(|l| l.changes = vec![LinkChange::of_rate(at_us(1000), mbit(80.0))]);
    for i in 1..=3 {
        engine.inject(at_us(0), near, packet(far, 1000, i));
    }
    engine.run_until(at_us(100_000));
    // The second begins at the very moment of the change, so it has the new rate.
    assert_eq!(drain(&mut engine, far), [(11_000_000, 1), (11_100_000, 2), (11_200_000, 3)]);
}

/// 1000 bytes a millisecond and 10 ms of way. The delay falls to 2 ms at 3.5 ms: packets 1 to 3
/// have left the line and keep 10 ms, 4 and 5 would overtake them and arrive with the third. At 20
/// ms it grows to 30 ms.
#[test]
fn a_delay_changes_for_packets_that_leave_later() {
    let delay = |at, ms| LinkChange {
        at: at_us(at),
        delay: Some(Duration::from_millis(ms)),
        ..LinkChange::default()
    };
    let (mut engine, _, near, far) = one_link(|l| l.changes = vec![delay(3500, 2), delay(20_000, 30)]);
    for i in 1..=5 {
        engine.inject(at_us(0), near, packet(far, 1000, i));
    }
    engine.inject(at_us(14_000), near, packet(far, 1000, 6));
    engine.inject(at_us(19_500), near, packet(far, 1000, 7));
    engine.run_until(at_us(100_000));
    let expected = [
        (11_000_000, 1),
        (12_000_000, 2),
        (13_000_000, 3),
        (13_000_000, 4),
        (13_000_000, 5),
        (17_000_000, 6),
        (50_500_000, 7),
    ];
    assert_eq!(drain(&mut engine, far), expected);
}

/// Several falls while packets are on their way: each packet keeps the delay with which it left.
#[test]
fn delays_fall_step_by_step_and_nothing_overtakes() {
    let (mut engine, link, near, far) = one_link(|_| {});
    for i in 1..=20 {
        engine.inject(at_us(500 * u64::from(i)), near, packet(far, 500, i));
        let delay = Duration::from_millis(10 - u64::from(i % 7));
        engine.change(link, LinkChange { delay: Some(delay), ..LinkChange::default() });
    }
    engine.run_until(at_us(100_000));
    let arrived = drain(&mut engine, far);
    assert!(arrived.is_sorted() && arrived.iter().map(|(_, n)| *n).eq(1..=20), "{arrived:?}");
    // Sent at 500·i µs, on the line for 500 µs, which is when the next is sent and the delay
    // changes.
    let mut floor = 0;
    for ((at, _), i) in arrived.into_iter().zip(1_u64..) {
        floor = floor.max(500_000 * (i + 1) + 1_000_000 * (10 - i % 7));
        assert_eq!(at, floor, "packet {i}");
    }
}

/// Four packets wait when the limit falls to one: they stay, and the next is dropped until there is
/// room again.
#[test]
fn a_limit_changes_for_packets_that_come_later() {
    let limit = |packets| LinkChange {
        at: at_us(500),
        limit: Some(Limit::Packets(packets)),
        ..LinkChange::default()
    };
    let (mut engine, link, near, far) = one_link(|l| {
        l.queue = Queue::DropTail(Limit::Bytes(4000));
        l.changes = vec![limit(1)];
    });
    for i in 1..=6 {
        engine.inject(at_us(0), near, packet(far, 1000, i));
    }
    for (at, i) in [(600, 7), (3500, 8), (4100, 9)] {
        engine.inject(at_us(at), near, packet(far, 1000, i));
    }
    engine.change(link, limit(3));
    for i in 10..=13 {
        engine.inject(at_us(4200), near, packet(far, 1000, i));
    }
    engine.run_until(at_us(100_000));
    let arrived: Vec<u32> = drain(&mut engine, far).into_iter().map(|(_, n)| n).collect();
    assert_eq!(arrived, [1, 2, 3, 4, 5, 9, 10, 11]);
    let mut network = Network::new();
    let [a, b] = ["a", "b"].map(|name| network.node(name).unwrap());
    let spec = LinkSpec::new("x", a, b, Rate::ZERO, Duration::ZERO);
    let codel = Queue::CoDel(CoDel::new(Limit::Packets(9)));
    let refused = network.link(LinkSpec { queue: codel, changes: vec![limit(1)], ..spec });
    assert_eq!(refused, Err(NetworkError::LimitOfDiscipline("x".to_owned())));
}

/// All is lost from 2 ms on, and nothing from 5 ms on.
#[test]
fn losses_change() {
    let losses = |at, p| LinkChange {
        at: at_us(at),
        losses: Some(vec![Loss::Bernoulli(p).into()]),
        ..LinkChange::default()
    };
    let (mut engine, link, near, far) =
        one_link(|l| l.changes = vec![losses(2000, Probability::ONE), losses(5000, Probability::ZERO)]);
    for i in 1..=7 {
        engine.inject(at_us(1000 * u64::from(i)), near, packet(far, 100, i));
    }
    engine.run_until(at_us(100_000));
    let arrived: Vec<u32> = drain(&mut engine, far).into_iter().map(|(_, n)| n).collect();
    assert_eq!(arrived, [1, 5, 6, 7]);
    assert_eq!(engine.link_stats(link).unwrap().lost.packets, 3);
}

#[test]
fn an_outage_holds_packets_and_loses_none() {
    let (mut engine, link, near, far) = one_link(|l| {
        l.rate = Rate::ZERO;
        l.changes = vec![
            LinkChange::of_rate(at_us(5000), mbit(8.0)),
            LinkChange::of_rate(at_us(5500), Rate::ZERO),
            LinkChange::of_rate(at_us(9000), mbit(8.0)),
        ];
    });
    for i in 1..=3 {
        engine.inject(at_us(0), near, packet(far, 1000, i));
    }
    engine.run_until(at_us(4000));
    let stats = engine.link_stats(link).unwrap();
    assert_eq!((stats.queued.packets, stats.busy), (3, Duration::ZERO));
    assert_eq!(stats.waited_ns, 12_000_000);
    engine.run_until(at_us(100_000));
    // Half of the first is left when the line stands still, and goes when it runs again.
    assert_eq!(drain(&mut engine, far), [(19_500_000, 1), (20_500_000, 2), (21_500_000, 3)]);
    assert_eq!(engine.link_stats(link).unwrap().busy, Duration::from_micros(4500 + 2000));
}

#[test]
fn short_packets_at_100_gbit() {
    let (mut engine, _, near, far) = one_link(|l| {
        l.rate = mbit(100_000.0);
        l.delay = Duration::ZERO;
    });
    for i in 0..10 {
        engine.inject(Instant::ZERO, near, packet(far, 40, i));
    }
    engine.run_until(at_us(1));
    let times: Vec<u64> = drain(&mut engine, far).into_iter().map(|(at, _)| at).collect();
    assert_eq!(times, [3, 6, 9, 12, 16, 19, 22, 25, 28, 32]); // multiples of 3.2 ns
}

#[test]
fn scripted_losses_take_no_time_on_the_line() {
    let (mut engine, link, near, far) = one_link(|l| l.loss = Loss::Scripted(vec![2]));
    for i in 1..=3 {
        engine.inject(at_us(0), near, packet(far, 1000, i));
    }
    engine.run_until(at_us(100_000));
    assert_eq!(drain(&mut engine, far), [(11_000_000, 1), (12_000_000, 3)]);
    let stats = engine.link_stats(link).unwrap();
    assert_eq!((stats.lost.packets, stats.lost.bytes), (1, 1000));
    assert!((stats.drop_rate() - 1.0 / 3.0).abs() < 1e-12);
}

#[test]
fn header_and_loopback() {
    let (mut engine, _, near, far) = one_link(|_| {});
    engine.inject(at_us(7), near, packet(far, 1000, 1));
    engine.inject(at_us(7), near, packet(near, 1000, 2));
    engine.run_until(at_us(7));
    assert_eq!(drain(&mut engine, near), [(7000, 2)]);
    engine.run_until(at_us(100_000));
    let header = engine.poll_delivery(far).unwrap().packet.header;
    assert_eq!((header.src, header.dst, header.size, header.ecn), (near, far, 1000, Ecn::Ect0));
    // There is no way back from b.
    engine.inject(at_us(100_000), far, packet(near, 1000, 3));
    assert_eq!((engine.stranded(), engine.in_flight()), (1, 0));
}

/// A change from outside and one of the network's own at the same moment give the same arrivals.
#[test]
fn a_rate_that_the_host_sets_is_that_of_a_planned_change() {
    let planned = one_link(|l| l.changes = vec![LinkChange::of_rate(at_us(1500), mbit(4.0))]);
    let arrivals = |(mut engine, link, near, far): (Numbers, LinkId, Address, Address), set: Option<Rate>| {
        for number in 0..4 {
            engine.inject(at_us(0), near, packet(far, 1000, number));
        }
        engine.run_until(at_us(1500));
        if let Some(rate) = set {
            engine.set_rate(link, rate);
        }
        engine.run_until(at_us(30_000));
        drain(&mut engine, far)
    };
    let planned = arrivals(planned, None);
    assert_eq!(arrivals(one_link(|_| {}), Some(mbit(4.0))), planned);
    // The third begins at 2.5 ms, at half the rate.
    assert_eq!(planned.get(2), Some(&(14_500_000, 2)));
    assert_ne!(arrivals(one_link(|_| {}), None), planned);
}

#[test]
fn losses_that_the_host_sets_begin_with_the_next_packet() {
    let p = Probability::saturating;
    for (model, arrive) in [(Loss::Bernoulli(p(0.0)), vec![0, 2]), (Loss::None, vec![0, 1, 2])] {
        let (mut engine, link, near, far) = one_link(|l| l.loss = model);
        for (number, share) in [(0, 0.0), (1, 1.0), (2, 0.0)] {
            engine.set_loss(link, p(share));
            engine.inject(at_us(0), near, packet(far, 1000, number));
        }
        engine.run_until(at_us(30_000));
        let arrived: Vec<u32> = drain(&mut engine, far).into_iter().map(|(_, number)| number).collect();
        assert_eq!(arrived, arrive);
    }
}
