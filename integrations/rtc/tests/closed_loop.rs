//! The estimator in a closed loop: an encoder sends at its target over a bottleneck. The paths and
//! figures of the table are those of `rtc-interceptor`'s own bench `congestion_control`, so that
//! its users can compare.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

use rtc_interceptor::{BandwidthEstimator, GCC_MAX_BITRATE, GCC_MIN_BITRATE, Gcc, PacketReport};
use rtcp::transport_feedbacks::cc_feedback_report::Ecn;
use tfrc::Settings;
use tfrc_rtc::{Limits, Tfrc};

/// Bits of a packet.
const PACKET: f64 = 9600.0;
const TICK: Duration = Duration::from_millis(1);

/// A bottleneck, its feedback and its application.
#[derive(Clone, Copy)]
struct Path {
    /// Bit/s.
    rate: f64,
    /// Bits that the queue takes from one time that it is empty to the next.
    queue: f64,
    /// One way; the feedback takes `back`.
    there: Duration,
    back: Duration,
    /// One packet in this many is lost; zero for none.
    lost_one_in: u64,
    /// From then on the rate is five times as high.
    widens_at: Option<Duration>,
    feedback: Duration,
    /// One feedback packet in this many is lost; zero for none.
    feedback_lost_one_in: u64,
    /// The most that the application makes at a time, bit/s.
    application: fn(Duration) -> f64,
    time: Duration,
    /// A full queue's losses are reported before the packets in front of them, as the bench has it.
    hasty: bool,
}

/// The paths of the bench: 20 ms, feedback every 100 ms that comes at once.
const STEADY: Path = Path {
    rate: 3e6,
    queue: 3e6,
    there: Duration::from_millis(20),
    back: Duration::ZERO,
    lost_one_in: 0,
    widens_at: None,
    feedback: Duration::from_millis(100),
    feedback_lost_one_in: 0,
    application: |_| f64::INFINITY,
    time: Duration::from_secs(30),
    hasty: false,
};

#[derive(Default)]
struct Run {
    /// After each feedback: the time, the target, bits that it covered.
    rounds: Vec<(Duration, f64, f64)>,
    /// When packets arrived.
    arrivals: Vec<Duration>,
    offered: u64,
    lost: u64,
}

fn run(estimator: &mut dyn BandwidthEstimator, epoch: Instant, path: &Path) -> Run {
    let mut run = Run::default();
    let (mut credit, mut free, mut taken, mut feedbacks) = (0.0, Duration::ZERO, 0.0, 0);
    // The departure and arrival of each packet, and those not yet reported.
    let mut waiting: VecDeque<(u64, Duration, Option<Duration>)> = VecDeque::new();
    let mut reports: VecDeque<(Duration, Vec<PacketReport>)> = VecDeque::new();
    let (mut now, mut next_feedback) = (Duration::ZERO, path.feedback);
    while now < path.time {
        now += TICK;
        if estimator.poll_timeout().is_some_and(|at| at <= epoch + now) {
            estimator.handle_timeout(epoch + now);
            assert!(estimator.poll_timeout().is_none_or(|at| at > epoch + now), "a busy loop");
        }
        let wanted = estimator.target_bitrate().min((path.application)(now));
        credit += wanted * TICK.as_secs_f64();
        let rate = if path.widens_at.is_some_and(|at| now >= at) { path.rate * 5.0 } else { path.rate };
        while credit >= PACKET {
            credit -= PACKET;
            run.offered += 1;
            if free <= now {
                taken = 0.0;
            }
            let lost = path.lost_one_in > 0 && run.offered % path.lost_one_in == 0;
            let arrival = if lost || taken + PACKET > path.queue {
                run.lost += 1;
                None
            } else {
                taken += PACKET;
                free = free.max(now) + Duration::from_secs_f64(PACKET / rate);
                run.arrivals.push(free + path.there);
                Some(free + path.there)
            };
            waiting.push_back((run.offered, now, arrival));
        }
        if now >= next_feedback {
            next_feedback += path.feedback;
            // All up to the newest that has arrived; a hasty bench adds all later losses.
            let newest = waiting.iter().rposition(|(.., arrival)| arrival.is_some_and(|at| at <= now));
            let mut covered: Vec<_> = waiting.drain(..newest.map_or(0, |newest| newest + 1)).collect();
            if path.hasty {
                covered.extend(waiting.iter().filter(|(.., arrival)| arrival.is_none()));
                waiting.retain(|(.., arrival)| arrival.is_some());
            }
            let covered: Vec<_> = covered
                .into_iter()
                .map(|(id, departure, arrival)| report(id, epoch + departure, arrival))
                .collect();
            feedbacks += 1;
            if !covered.is_empty()
                && (path.feedback_lost_one_in == 0 || feedbacks % path.feedback_lost_one_in != 0)
            {
                reports.push_back((now + path.back, covered));
            }
        }
        while let Some((_, covered)) = reports.pop_front_if(|(at, _)| *at <= now) {
            estimator.on_reports(epoch + now, &covered);
            let bits = covered.iter().filter(|report| report.arrived).count() as f64 * PACKET;
            run.rounds.push((now, estimator.target_bitrate(), bits));
        }
    }
    run
}

fn report(id: u64, departure: Instant, arrival: Option<Duration>) -> PacketReport {
    PacketReport {
        ssrc: 1,
        id,
        rtp_sequence_number: id as u16,
        is_twcc: true,
        twcc_sequence_number: id as u16,
        size: (PACKET / 8.0) as usize,
        arrived: arrival.is_some(),
        departure,
        arrival,
        ecn: Ecn::NotEct,
    }
}

fn tfrc(epoch: Instant, settings: &Settings, path: &Path) -> Tfrc {
    let limits =
        Limits { least_bps: GCC_MIN_BITRATE, most_bps: GCC_MAX_BITRATE, feedback_interval: path.feedback };
    Tfrc::new(epoch, *settings, limits).expect("sound")
}

impl Run {
    /// Rounds of the last part of the run.
    fn tail(&self, path: &Path, share: f64) -> impl Iterator<Item = &(Duration, f64, f64)> {
        let from = path.time.mul_f64(1.0 - share);
        self.rounds.iter().filter(move |(at, ..)| *at >= from)
    }

    fn settled(&self, path: &Path) -> f64 {
        let targets: Vec<f64> = self.tail(path, 0.3).map(|round| round.1).collect();
        targets.iter().sum::<f64>() / targets.len().max(1) as f64
    }

    fn utilisation(&self, path: &Path, capacity: f64) -> f64 {
        self.tail(path, 0.3).map(|round| round.2).sum::<f64>() / (capacity * path.time.as_secs_f64() * 0.3)
    }

    /// When a mean over two seconds of the target came within 35 % of `goal` and stayed there.
    fn converged(&self, goal: f64) -> Option<Duration> {
        let window = Duration::from_secs(2);
        let mut since = None;
        for (n, (at, ..)) in self.rounds.iter().enumerate() {
            let recent = self.rounds[..=n].iter().filter(|(then, ..)| *then + window >= *at);
            let (sum, count) = recent.fold((0.0, 0.0), |(sum, n), round| (sum + round.1, n + 1.0));
            let is_near = (sum / count - goal).abs() <= 0.35 * goal;
            since = if is_near { since.or(Some(*at)) } else { None };
        }
        since
    }
}

/// A row of the table for each path and estimator.
fn row(table: &mut String, name: &str, estimator: &str, run: &Run, path: &Path) -> (f64, f64) {
    let capacity = path.rate * if path.widens_at.is_some() { 5.0 } else { 1.0 };
    let converged = run.converged(capacity).map_or("never".into(), |at| format!("{:.1} s", at.as_secs_f64()));
    let (settled, utilisation) = (run.settled(path), run.utilisation(path, capacity));
    writeln!(
        table,
        "| {name} | {estimator} | {:.2} | {:.2} | {:.1} % | {:.1} % | {converged} |",
        settled / 1e6,
        capacity / 1e6,
        utilisation * 100.0,
        run.lost as f64 / run.offered as f64 * 100.0
    )
    .expect("a string takes all");
    (settled, utilisation)
}

/// The paths of the bench: the name, the path, and GCC's first target.
fn bench() -> [(&'static str, Path, f64); 5] {
    let narrow = Path { rate: 3e5, queue: 6e6, ..STEADY };
    let widening = Path {
        rate: 6e5,
        queue: 6e6,
        widens_at: Some(Duration::from_secs(15)),
        time: Duration::from_secs(40),
        ..STEADY
    };
    [
        ("steady", STEADY, 3e5),
        ("queue building (4×)", narrow, 1.2e6),
        ("lossy (1 in 5)", Path { lost_one_in: 5, ..STEADY }, 1.2e6),
        ("mildly lossy (1 in 20)", Path { lost_one_in: 20, ..STEADY }, 1.2e6),
        ("recovering (5× step)", widening, 1.2e6),
    ]
}

/// The paths are those of the bench: GCC's settled rate, Mbit/s, and utilisation on them are those
/// that its authors publish, but for rounding.
#[test]
fn gcc_does_as_published() {
    let published = [(2.19, 0.730), (0.36, 0.796), (0.10, 0.027), (1.32, 0.423), (1.79, 0.599)];
    let epoch = Instant::now();
    for ((name, path, initial), published) in bench().into_iter().zip(published) {
        let path = Path { hasty: true, ..path };
        let mut gcc = Gcc::new(initial, GCC_MIN_BITRATE, GCC_MAX_BITRATE);
        let (settled, utilisation) =
            row(&mut String::new(), name, "GCC", &run(&mut gcc, epoch, &path), &path);
        assert!((settled / 1e6 - published.0).abs() < 0.006, "{name}: {settled}");
        assert!((utilisation - published.1).abs() < 0.0006, "{name}: {utilisation}");
    }
}

/// The table of the bench with TFRC in it, and a wide path with few losses; the README has it.
/// Packets are reported in the order of sending here, as the trait promises.
#[test]
fn the_table_of_the_bench() {
    let mut table = String::from(
        "| path | estimator | settled | capacity | utilisation | loss | converged |\n\
         | --- | --- | ---: | ---: | ---: | ---: | ---: |\n",
    );
    let epoch = Instant::now();
    let usual = Settings::for_profile(tfrc::study::Profile::Balanced);
    let bounded = Settings {
        max_queue_delay: tfrc::config::QueueDelay::AtMost(tfrc_units::Duration::from_millis(80)),
        ..usual
    };
    let wide = Path { rate: 1e8, lost_one_in: 100, time: Duration::from_secs(100), ..STEADY };
    for (name, path, initial) in bench().into_iter().chain([("wide, lossy (1 in 100)", wide, 3e5)]) {
        let mut gcc = Gcc::new(initial, GCC_MIN_BITRATE, GCC_MAX_BITRATE);
        row(&mut table, name, "GCC", &run(&mut gcc, epoch, &path), &path);
        for (settings, estimator) in [(usual, "TFRC"), (bounded, "TFRC, 80 ms")] {
            let mut ours = tfrc(epoch, &settings, &path);
            row(&mut table, name, estimator, &run(&mut ours, epoch, &path), &path);
        }
    }
    println!("{table}");
    let readme = include_str!("../README.md");
    assert!(readme.contains(&table), "README.md should have:\n{table}");
}

/// 1 % loss, feedback every 20 to 200 ms: R is the path's, though departures are known late.
#[test]
fn the_round_trip_time_is_that_of_the_path() {
    let epoch = Instant::now();
    for one_way in [10, 25, 100, 250] {
        for every in [20, 50, 100, 200] {
            let path = Path {
                rate: 100e6,
                there: Duration::from_millis(one_way),
                back: Duration::from_millis(one_way),
                lost_one_in: 100,
                feedback: Duration::from_millis(every),
                ..STEADY
            };
            let mut ours = tfrc(epoch, &Settings::default(), &path);
            run(&mut ours, epoch, &path);
            let rtt = ours.stats().round_trip_time.expect("reports").as_secs_f64() * 1e3;
            let wanted = 2.0 * one_way as f64;
            assert!((wanted..=wanted * 1.1 + 3.0).contains(&rtt), "{rtt} of {wanted} at {every} ms");
        }
    }
}

/// Every tenth feedback packet is lost: no loss event, and a path of 3 Mbit/s stays used.
#[test]
fn lost_feedback_is_not_lost_data() {
    let epoch = Instant::now();
    let path = Path { feedback_lost_one_in: 10, application: |_| 2e6, ..STEADY };
    let mut ours = tfrc(epoch, &Settings::default(), &path);
    let run = run(&mut ours, epoch, &path);
    assert_eq!(ours.advisor().loss_events(), 0);
    let (low, high) = extremes(&run, 10, 30);
    assert!(low >= 2e6 && high <= 8e6, "{low} {high}");
    let sent = run.offered as f64 * PACKET / 30.0;
    assert!((1.8e6..=2.05e6).contains(&sent), "{sent}");
}

/// The least and the highest target between two seconds.
fn extremes(run: &Run, from: u64, to: u64) -> (f64, f64) {
    let between = Duration::from_secs(from)..Duration::from_secs(to);
    let targets = run.rounds.iter().filter(|(at, ..)| between.contains(at)).map(|round| round.1);
    targets.fold((f64::MAX, 0.0), |(low, high), target| (low.min(target), high.max(target)))
}

/// An encoder at 0.5 Mbit/s for 30 s on 3 Mbit/s: the target is steady, at most twice the most that
/// came in any round-trip time; then the encoder takes all within 5 s. GCC's rises meanwhile to six
/// times the encoder's rate and more.
#[test]
fn an_encoder_that_makes_little_keeps_its_room() {
    let epoch = Instant::now();
    let application = |at| if at < Duration::from_secs(30) { 5e5 } else { f64::INFINITY };
    let path = Path { application, queue: 3e5, time: Duration::from_mins(1), ..STEADY };
    let mut ours = tfrc(epoch, &Settings::default(), &path);
    let first = run(&mut ours, epoch, &path);
    let round_trip = path.there + path.back;
    let little = || first.arrivals.iter().take_while(|at| at.as_secs() < 30);
    let within = |from: Duration| little().filter(|at| (from..from + round_trip).contains(*at)).count();
    let most = little().map(|at| within(*at)).max().unwrap_or(0) as f64 * PACKET / round_trip.as_secs_f64();
    let (low, high) = extremes(&first, 5, 30);
    assert!(low >= 5e5 && high <= 2.0 * most && high <= 1.05 * low, "{low} {high} with {most}");
    let later = mean_rate(&first, 35, 60);
    assert!((2.4e6..=3.05e6).contains(&later), "{later}");

    let mut gcc = Gcc::new(3e5, GCC_MIN_BITRATE, GCC_MAX_BITRATE);
    let (low, high) = extremes(&run(&mut gcc, epoch, &path), 5, 30);
    assert!(high > 6.0 * 5e5, "{low} {high}");
}

/// Bits that came in a second between two times.
fn mean_rate(run: &Run, from: u64, to: u64) -> f64 {
    let between = Duration::from_secs(from)..Duration::from_secs(to);
    let bits: f64 = run.rounds.iter().filter(|(at, ..)| between.contains(at)).map(|round| round.2).sum();
    bits / (to - from) as f64
}

/// Nothing sent from 10 to 25 s: five seconds later the path is used again.
#[test]
fn it_is_back_after_an_idle_time() {
    let epoch = Instant::now();
    let application = |at: Duration| if (10..25).contains(&at.as_secs()) { 0.0 } else { f64::INFINITY };
    let path = Path { application, queue: 3e5, time: Duration::from_mins(1), ..STEADY };
    let mut ours = tfrc(epoch, &Settings::default(), &path);
    let run = run(&mut ours, epoch, &path);
    let later = mean_rate(&run, 30, 60);
    assert!((2.4e6..=3.05e6).contains(&later), "{later}");
}

/// No news changes nothing, and limits may change at any time.
#[test]
fn the_contract_of_the_trait() {
    let epoch = Instant::now();
    let mut ours = tfrc(epoch, &Settings::default(), &STEADY);
    assert_eq!((ours.target_bitrate(), ours.poll_timeout()), (GCC_MIN_BITRATE, None));
    ours.on_reports(epoch, &[]);
    ours.handle_timeout(epoch + Duration::from_secs(5));
    assert_eq!((ours.target_bitrate(), ours.poll_timeout()), (GCC_MIN_BITRATE, None));
    ours.on_round_trip(epoch + Duration::from_secs(5), Duration::from_millis(50));
    assert!((ours.target_bitrate() - 4380.0 * 8.0 / 0.05).abs() < 1.0, "{}", ours.target_bitrate());
    assert!(ours.set_limits(1e5, 0.0).is_err());
    ours.set_limits(1e5, 2e5).expect("above zero");
    assert!((ours.target_bitrate() - 2e5).abs() < 1e-6);
}
