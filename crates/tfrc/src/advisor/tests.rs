//! Tests of the Advisor with a simulated application, path and peer.

use super::*;
use crate::decision::RateReason;
use crate::equation::Equation;
use proptest::prelude::*;
use std::collections::VecDeque;
use std::vec;
use std::vec::Vec;
use tfrc_testkit::at;

const MS: fn(u64) -> Duration = Duration::from_millis;
const SIZE: u32 = 1000;

pub(super) fn acked(id: u64) -> Ack {
    Ack { id, arrived_at: None, ecn: Ecn::NotEct }
}

/// An application over a path of 40 ms out and 60 ms back, with reports every 50 ms.
struct Host {
    advisor: Advisor,
    now: Instant,
    next_id: u64,
    /// The application has no packet before this.
    ready: Instant,
    /// Arrivals to be reported, then on their way.
    come: Vec<(u64, Instant)>,
    out: VecDeque<(Instant, u64)>,
    back: VecDeque<(Instant, Vec<(u64, Instant)>)>,
}

/// Load that the application offers.
#[derive(Clone, Copy)]
enum Load {
    Greedy,
    /// A packet this often; what cannot go at its time is not made up for.
    Every(Duration),
    Nothing,
}

impl Host {
    fn new() -> Self {
        Self {
            advisor: Advisor::new(&Config::default(), MS(50)),
            now: Instant::ZERO,
            next_id: 0,
            ready: Instant::ZERO,
            come: Vec::new(),
            out: VecDeque::new(),
            back: VecDeque::new(),
        }
    }

    /// Lets time pass in steps of a millisecond; every `lose`-th packet is lost.
    fn run(&mut self, time: Duration, load: Load, lose: u64) {
        let end = self.now + time;
        while self.now < end {
            self.now += MS(1);
            let now = self.now;
            self.advisor.handle_timeout(now);
            while let Some((at, id)) = self.out.pop_front_if(|(at, _)| *at <= now) {
                self.come.push((id, at));
            }
            if now.as_nanos().is_multiple_of(MS(50).as_nanos()) && !self.come.is_empty() {
                self.back.push_back((now + MS(60), self.come.drain(..).collect()));
            }
            while let Some((_, report)) = self.back.pop_front_if(|(at, _)| *at <= now) {
                for (id, at) in report {
                    let ack = Ack { id, arrived_at: Some(at + Duration::from_secs(99)), ecn: Ecn::NotEct };
                    assert_eq!(self.advisor.on_acked(ack), Taken::New);
                }
                self.advisor.on_report(now, Hold::Unknown);
            }
            while self.advisor.next_send(now) == SendDecision::Now {
                match load {
                    Load::Nothing => break,
                    Load::Every(_) if self.ready > now => break,
                    Load::Every(period) => self.ready = now + period,
                    Load::Greedy => {}
                }
                self.advisor.on_sent(now, self.next_id, SIZE);
                if lose == 0 || !self.next_id.is_multiple_of(lose) {
                    self.out.push_back((now + MS(40), self.next_id));
                }
                self.next_id += 1;
            }
        }
    }

    fn rate(&self) -> f64 {
        self.advisor.allowed_rate().bytes_per_sec()
    }

    fn recover_rate(&self) -> f64 {
        let rtt = self.advisor.rtt().expect("there was feedback").as_secs_f64();
        (4.0 * f64::from(SIZE)).min(f64::from(2 * SIZE).max(4380.0)) / rtt
    }
}

/// Every hundredth packet lost: p = 1/100, and the rate is that of the equation.
#[test]
fn periodic_loss_gives_its_rate() {
    let mut host = Host::new();
    host.run(Duration::from_secs(60), Load::Greedy, 100);
    let p = host.advisor.loss_event_rate().get();
    assert!((p - 0.01).abs() < 2e-4, "{p}");
    let rtt = host.advisor.rtt().expect("there was feedback");
    assert!(rtt >= MS(100) && rtt <= MS(106), "{rtt:?}");
    let equation = Equation::default().rate(f64::from(SIZE), rtt, host.advisor.loss_event_rate());
    assert!((host.rate() / equation.bytes_per_sec() - 1.0).abs() < 0.01);
    assert_eq!(host.advisor.sender().rate_reason(), RateReason::Equation);
    assert_eq!(host.advisor.forgotten(), 0);
}

/// A report every 50 ms, a round-trip time a little over 100: the sending half is fed with every
/// second report, not with every third.
#[test]
fn feedback_comes_once_a_round_trip() {
    let mut host = Host::new();
    host.run(Duration::from_secs(2), Load::Every(MS(20)), 0);
    let before = host.advisor.sender().feedback_packets();
    host.run(Duration::from_secs(10), Load::Every(MS(20)), 0);
    let told = host.advisor.sender().feedback_packets() - before;
    assert!((95..=105).contains(&told), "{told} in 10 s");
}

/// RFC 5348 §4.3 step 4, §8.2.1: an application that sends less than it may is allowed twice what
/// arrives, no more; when it wants more, it gets more.
#[test]
fn the_rate_of_a_slow_application_is_bounded() {
    let mut host = Host::new();
    host.run(Duration::from_secs(30), Load::Every(MS(10)), 0);
    let settled = host.rate();
    assert!((180_000.0..=240_000.0).contains(&settled), "{settled} for 100000");
    host.run(Duration::from_secs(300), Load::Every(MS(10)), 0);
    assert!(host.rate() <= settled * 1.25 && host.rate() >= settled * 0.8, "{}", host.rate());
    host.run(MS(600), Load::Greedy, 0);
    assert!(host.rate() > 3.0 * settled, "{}", host.rate());
}

/// A slow application with losses: the rate neither collapses nor passes that of the equation.
#[test]
fn a_slow_application_with_losses_keeps_its_rate() {
    let mut host = Host::new();
    host.run(Duration::from_secs(60), Load::Greedy, 100);
    let greedy = host.rate();
    host.run(Duration::from_secs(60), Load::Every(MS(50)), 100);
    assert!((20_000.0..=greedy * 1.1).contains(&host.rate()), "{} after {greedy}", host.rate());
}

/// RFC 5348 §4.4, §8.2: after an hour of silence the sender may go on at the initial rate at least
/// and at the old one at most, and is back where it was in a few seconds.
#[test]
fn idleness_is_survived() {
    let mut host = Host::new();
    host.run(Duration::from_secs(60), Load::Greedy, 100);
    let before = host.rate();
    host.run(Duration::from_secs(3600), Load::Nothing, 0);
    let idle = host.rate();
    assert!(idle <= before * 1.001 && idle >= host.recover_rate() * 0.99, "{idle} after {before}");
    host.run(Duration::from_secs(10), Load::Greedy, 100);
    let after = host.rate();
    assert!((0.8..1.25).contains(&(after / before)), "{after} after {before}");
}

/// No loss so far: idleness halves a high rate down to the initial one, and slow start begins again
/// from there (§4.4).
#[test]
fn idleness_in_slow_start_ends_at_the_initial_rate() {
    let mut host = Host::new();
    host.run(MS(1500), Load::Greedy, 0);
    let before = host.rate();
    host.run(Duration::from_secs(60), Load::Nothing, 0);
    let (idle, recover) = (host.rate(), host.recover_rate());
    assert!(before > 8.0 * recover);
    assert!((recover..2.0 * recover).contains(&idle), "{idle} and {recover} after {before}");
}

/// Reports rarer than four round-trip times are not reason for the nofeedback timer.
#[test]
fn rare_reports_are_waited_for() {
    let mut advisor = Advisor::new(&Config::default(), MS(100));
    let mut id = 0;
    for ms in 0..5000u64 {
        advisor.handle_timeout(at(ms));
        if ms % 100 == 99 {
            for old in 0..id {
                advisor.on_acked(acked(old));
            }
            advisor.on_report(at(ms), Hold::Known(Duration::ZERO));
        }
        while advisor.next_send(at(ms)) == SendDecision::Now && ms % 10 == 0 {
            advisor.on_sent(at(ms), id, SIZE);
            id += 1;
        }
        while let Some(event) = advisor.poll_event() {
            assert_ne!(event.reason, RateReason::NoFeedback, "at {ms} ms");
        }
    }
    assert!(advisor.rtt().is_some_and(|rtt| rtt <= MS(10)));
}

/// An advisor that has sent packets 1 to `n`, one every 10 ms from 10 ms on.
pub(super) fn sent(n: u64) -> Advisor {
    let mut advisor = Advisor::new(&Config::default(), Duration::ZERO);
    for id in 1..=n {
        advisor.on_sent(at(10 * id), id, SIZE);
    }
    advisor
}

pub(super) fn report(advisor: &mut Advisor, ms: u64, ids: impl IntoIterator<Item = u64>) {
    for id in ids {
        advisor.on_acked(acked(id));
    }
    advisor.on_report(at(ms), Hold::Known(Duration::ZERO));
}

#[test]
fn the_round_trip_time_leaves_the_hold_out() {
    let mut advisor = sent(5);
    advisor.on_acked(acked(2));
    advisor.on_acked(acked(1));
    advisor.on_report(at(120), Hold::Known(MS(0)));
    assert_eq!(advisor.rtt(), Some(MS(100)), "packet 2 went at 20 ms");
    advisor.on_acked(acked(3));
    advisor.on_report(at(160), Hold::Known(MS(30)));
    assert_eq!(advisor.rtt(), Some(MS(100)), "packet 3 went at 30 ms");
    advisor.on_acked(acked(1));
    advisor.on_report(at(900), Hold::Known(MS(0)));
    assert_eq!(advisor.rtt(), Some(MS(100)), "nothing new, no sample");
}

/// Reports on packets 10 ms apart and 100 ms after them, each with a mark if `marked` says so.
/// Returns p and X as the last report leaves them, and after which packet marks were given up.
fn with_marks(packets: u64, marked: impl Fn(u64) -> bool) -> (f64, Rate, Option<u64>) {
    let mut advisor = Advisor::<1024>::with_capacity(&Config::default(), Duration::ZERO);
    let mut given_up = None;
    for id in 1..=packets + 10 {
        advisor.on_sent(at(10 * id), id, SIZE);
        let Some(id) = id.checked_sub(10).filter(|id| *id > 0) else { continue };
        let ecn = if marked(id) { Ecn::Ce } else { Ecn::NotEct };
        advisor.on_acked(Ack { id, arrived_at: None, ecn });
        advisor.on_report(at(10 * id + 100), Hold::Known(MS(0)));
        given_up = given_up.or(advisor.ecn_fault().map(|_| id));
    }
    (advisor.loss_event_rate().get(), advisor.allowed_rate(), given_up)
}

/// A path that marks everything is found out after ten packets, or after a hundred if it has let
/// some pass unmarked; X is then that of a path without marks. Congestion leaves packets unmarked.
#[test]
fn a_path_that_marks_everything_is_found_out() {
    let (_, free, _) = with_marks(1000, |_| false);
    let (p, x, given_up) = with_marks(1000, |_| true);
    assert_eq!((p, given_up), (0.0, Some(10)));
    assert!((x / free - 1.0).abs() < 0.05, "{x:?} of {free:?}");
    let (p, x, given_up) = with_marks(1000, |id| id > 20);
    assert_eq!((p, given_up), (0.0, Some(120)));
    assert!((x / free - 1.0).abs() < 0.05, "{x:?} of {free:?}");
    let (p, x, given_up) = with_marks(1000, |id| id % 10 != 0);
    assert!(given_up.is_none() && p > 0.05 && x < free / 2.0, "{p}, {x:?}, {given_up:?}");
}

/// A loss counts after marks have been given up, in either way of finding losses.
#[test]
fn losses_count_without_marks() {
    for losses in [Losses::ByOrder, Losses::ByTransport] {
        let mut advisor = Advisor::<1024>::with_capacity(&Config::default(), Duration::ZERO);
        advisor.set_losses(losses);
        for id in 1..=410u64 {
            advisor.on_sent(at(10 * id), id, SIZE);
            let Some(id) = id.checked_sub(10).filter(|id| *id > 0) else { continue };
            if id % 100 == 50 {
                advisor.on_lost(id);
            } else {
                advisor.on_acked(Ack { id, arrived_at: None, ecn: Ecn::Ce });
            }
            advisor.on_report(at(10 * id + 100), Hold::Known(MS(0)));
        }
        assert_eq!((advisor.loss_events(), advisor.ecn_fault()), (4, Some(EcnFault::AllMarked)));
    }
}

#[test]
fn three_later_packets_make_a_loss() {
    let mut advisor = sent(10);
    report(&mut advisor, 120, [1, 2, 4, 5]);
    assert_eq!(advisor.loss_events(), 0);
    report(&mut advisor, 130, [6]);
    assert_eq!(advisor.loss_events(), 1);
    assert_eq!(advisor.sender().loss_event_rate(), advisor.loss_event_rate(), "told at once");
    // It was only late: the record is put right (RFC 5348 §5.1).
    report(&mut advisor, 140, [3]);
    assert_eq!((advisor.loss_events(), advisor.loss_event_rate().get()), (0, 0.0));
    assert_eq!(advisor.sender().loss_event_rate().get(), 0.0);
    assert_eq!(advisor.rtt(), Some(MS(70)), "the late packet gives no sample, 4 to 6 did");
}

#[test]
fn the_order_within_a_report_does_not_matter() {
    let mut advisor = sent(10);
    report(&mut advisor, 120, [9, 5, 1, 4, 3, 2, 8, 7, 6]);
    assert_eq!(advisor.loss_events(), 0);
    let mut advisor = sent(10);
    report(&mut advisor, 120, [9, 5, 1, 4, 2, 8, 7]);
    assert_eq!(advisor.loss_events(), 1, "3 and 6 within a round-trip time");
}

#[test]
fn the_first_packet_can_be_lost() {
    let mut advisor = sent(10);
    report(&mut advisor, 120, [2, 3]);
    assert_eq!(advisor.loss_events(), 0);
    report(&mut advisor, 130, [4]);
    assert_eq!(advisor.loss_events(), 1);
}

#[test]
fn the_transport_is_believed() {
    let mut advisor = sent(10);
    assert_eq!(advisor.on_lost(77), Taken::Unknown);
    assert_eq!(advisor.on_lost(2), Taken::New);
    assert_eq!(advisor.on_lost(2), Taken::Duplicate);
    report(&mut advisor, 120, [1]);
    assert_eq!(advisor.loss_events(), 0, "no packet after it has come");
    report(&mut advisor, 130, [3]);
    assert_eq!(advisor.loss_events(), 1);
    assert_eq!(advisor.on_lost(3), Taken::Duplicate, "it has come");
    report(&mut advisor, 140, [2]);
    assert_eq!(advisor.loss_events(), 0, "so has this one after all");
    // Without an acknowledgement in the same report, the loss counts and is passed on with the
    // next.
    report(&mut advisor, 150, [5]);
    advisor.on_lost(4);
    advisor.on_report(at(160), Hold::Unknown);
    assert_eq!(advisor.loss_events(), 1);
    assert!(advisor.sender().loss_event_rate().is_zero());
    report(&mut advisor, 170, [6]);
    assert_eq!(advisor.sender().loss_event_rate(), advisor.loss_event_rate());
}

#[test]
fn a_mark_is_a_loss() {
    let mut advisor = sent(10);
    report(&mut advisor, 120, [1, 2]);
    advisor.on_acked(Ack { ecn: Ecn::Ce, ..acked(3) });
    advisor.on_report(at(130), Hold::Unknown);
    assert_eq!(advisor.loss_events(), 1);
}

/// Packets 3 to 5 were in a report that got lost, 6 is missing.
#[test]
fn unreported_packets_are_no_losses() {
    let mut advisor = sent(12);
    report(&mut advisor, 120, [1, 2]);
    advisor.on_unreported(3, 5);
    report(&mut advisor, 160, 6..=9);
    assert_eq!(advisor.loss_events(), 0);
    let mut advisor = sent(12);
    report(&mut advisor, 120, [1, 2]);
    advisor.on_unreported(3, 5);
    report(&mut advisor, 160, 7..=10);
    assert_eq!(advisor.loss_events(), 1);
    // The report comes after all: 3 and 5 arrived, 4 is lost, and 6 is still missing. R is 60 ms,
    // so the two losses are one event.
    assert_eq!(advisor.on_acked(acked(3)), Taken::New);
    advisor.on_covered(3, 5);
    report(&mut advisor, 170, [5]);
    assert_eq!(advisor.on_acked(acked(5)), Taken::Duplicate, "acknowledged");
    assert_eq!(advisor.loss_events(), 1);
    let open = advisor.receiver.loss_intervals().next().expect("an open interval");
    assert_eq!(
        (open.loss_length, open.lossless_length, open.data_length),
        (3, 4, 7.0),
        "4 to 6, then 7 to 10"
    );
}

/// Three or two packets were in a report that got lost, one next to them is missing: the loss event
/// begins at that one.
#[test]
fn a_hole_beside_unreported_packets_is_in_its_place() {
    for (unreported, missing) in [((3, 5), 6), ((4, 6), 3), ((3, 4), 5)] {
        let mut advisor = sent(12);
        report(&mut advisor, 120, [1, 2]);
        advisor.on_unreported(unreported.0, unreported.1);
        let (newest, arrived) = (10, |id: &u64| *id > missing && !(unreported.0..=unreported.1).contains(id));
        report(&mut advisor, 160, (3..=newest).filter(arrived));
        assert_eq!(advisor.loss_events(), 1, "{missing} is lost");
        let open = advisor.receiver.loss_intervals().next().expect("an open interval");
        // Unreported packets above the hole are in it by number, though not in its data.
        let to_newest = newest - missing;
        let unknown = if unreported.0 > missing { unreported.1 - unreported.0 + 1 } else { 0 };
        assert_eq!((open.loss_length, open.lossless_length), (1, to_newest), "from {missing} on");
        assert_eq!(open.data_length, tfrc_units::f64_from_u64(to_newest + 1 - unknown), "from {missing} on");
    }
}

#[test]
fn numbers_may_be_left_out() {
    let mut advisor = Advisor::new(&Config::default(), Duration::ZERO);
    for id in 1..=10 {
        advisor.on_sent(at(10 * id), id * 1000, SIZE);
    }
    assert_eq!((advisor.oldest_remembered(), advisor.newest_sent()), (Some(1000), Some(10_000)));
    assert_eq!(advisor.on_acked(acked(1001)), Taken::Unknown);
    assert_eq!(advisor.on_acked_range(500, u64::MAX, Ecn::NotEct), 10);
    advisor.on_report(at(120), Hold::Unknown);
    assert_eq!(advisor.loss_events(), 0);
}

/// 300 packets in flight and a record of 8: what fell out counts as lost, and the count says why.
#[test]
fn too_small_a_record_errs_low() {
    let mut advisor = Advisor::<8>::with_capacity(&Config::default(), Duration::ZERO);
    let mut id = 0;
    for round in 0..50u64 {
        for _ in 0..300 {
            advisor.on_sent(at(100 * round), id, SIZE);
            id += 1;
        }
        for old in id - 300..id {
            let expected = if old + 8 < id { Taken::Unknown } else { Taken::New };
            assert_eq!(advisor.on_acked(acked(old)), expected);
        }
        advisor.on_report(at(100 * round + 50), Hold::Unknown);
    }
    assert_eq!(advisor.forgotten(), 50 * 292);
    assert!(advisor.loss_event_rate().get() > 0.003, "{}", advisor.loss_event_rate().get());
}

#[derive(Debug, Clone)]
enum Operation {
    Wait(u64),
    Back(u64),
    Send(u64, u32),
    Ack(u64, Option<u64>, Ecn),
    Range(u64, u64),
    Lost(u64),
    Unreported(u64, u64),
    Covered(u64, u64),
    Undone(u64),
    Report(Option<u64>),
    RoundTrip(u64),
    Timeout,
}

fn operation() -> impl Strategy<Value = Operation> {
    let time = || prop_oneof![0u64..200_000_000, any::<u64>()];
    let id = || prop_oneof![9 => 0u64..60, 1 => any::<u64>()];
    prop_oneof![
        4 => (0u64..200_000_000).prop_map(Operation::Wait),
        1 => time().prop_map(Operation::Back),
        6 => (0u64..3, any::<u32>()).prop_map(|(skip, size)| Operation::Send(skip, size)),
        6 => (id(), prop::option::of(time()), (0u8..4).prop_map(Ecn::from_bits))
            .prop_map(|(id, at, ecn)| Operation::Ack(id, at, ecn)),
        1 => (id(), id()).prop_map(|(a, b)| Operation::Range(a, b)),
        1 => id().prop_map(Operation::Lost),
        1 => (id(), id()).prop_map(|(a, b)| Operation::Unreported(a, b)),
        1 => (id(), id()).prop_map(|(a, b)| Operation::Covered(a, b)),
        1 => time().prop_map(Operation::Undone),
        4 => prop::option::of(time()).prop_map(Operation::Report),
        1 => time().prop_map(Operation::RoundTrip),
        2 => Just(Operation::Timeout),
    ]
}

proptest! {
    /// Whatever is said in whatever order: no panic, a rate that is a number and at least a packet
    /// in 64 s, and a next time.
    #[test]
    fn anything_may_come(
        interval in 0u64..300,
        losses in prop_oneof![Just(Losses::ByOrder), Just(Losses::ByTransport)],
        operations in prop::collection::vec(operation(), 0..200),
    ) {
        let mut advisor = Advisor::<16>::with_capacity(&Config::default(), MS(interval));
        advisor.set_losses(losses);
        let (mut now, mut id) = (Instant::ZERO, 0);
        for operation in operations {
            match operation {
                Operation::Wait(ns) => now += Duration::from_nanos(ns),
                Operation::Back(ns) => now = now - Duration::from_nanos(ns),
                Operation::Send(skip, size) => {
                    advisor.on_sent(now, id, size);
                    id += skip;
                }
                Operation::Ack(back, at, ecn) => {
                    let ack = Ack { id: id.wrapping_sub(back), arrived_at: at.map(Instant::from_nanos), ecn };
                    advisor.on_acked(ack);
                }
                Operation::Range(a, b) => {
                    prop_assert!(advisor.on_acked_range(a, b, Ecn::NotEct) <= 16);
                }
                Operation::Lost(back) => {
                    advisor.on_lost(id.wrapping_sub(back));
                }
                Operation::Unreported(a, b) => advisor.on_unreported(a, b),
                Operation::Covered(a, b) => advisor.on_covered(a, b),
                Operation::Undone(ns) => {
                    prop_assert!(advisor.on_losses_undone(now - Duration::from_nanos(ns)) <= 16);
                }
                Operation::Report(hold) => {
                    let hold = hold.map_or(Hold::Unknown, |ns| Hold::Known(Duration::from_nanos(ns)));
                    advisor.on_report(now, hold);
                }
                Operation::RoundTrip(ns) => advisor.on_report(now, Hold::RoundTrip(Duration::from_nanos(ns))),
                Operation::Timeout => advisor.handle_timeout(now),
            }
            let rate = advisor.allowed_rate().bytes_per_sec();
            prop_assert!(rate.is_finite() && rate >= 1.0 / 64.0, "{}", rate);
            prop_assert!(!matches!(advisor.next_send(now), SendDecision::Stopped(_)));
            prop_assert!(advisor.loss_event_rate().get() <= 1.0);
        }
    }
}
