//! Figures 2, 19, 20 and 21 of ICSI TR-00-003 (the long version of the SIGCOMM 2000 paper) from the
//! core alone: one flow over a path that drops what the paper says.
//!
//! As in the paper: n = 8, discounts down to 0.5, the first interval at half of the rate, a loss at
//! the first packet out of order, loss events by times of sending. The round-trip times and t_RTO
//! are read off the figures: Figure 2's rates of 238, 27 to 30 and 360 kB/s at 100, 10 and 200
//! packets fit R = 44.7 ms with t_RTO = 300 ms and not 4R; Figures 19 and 20 fit R = 81 ms, where
//! 4R is as good.

use tfrc::config::SegmentSize;
use tfrc::equation::{Equation, RtoPolicy};
use tfrc::study::{Algorithm, FirstInterval, HistoryDiscounting, LossEventTiming, Spacing};
use tfrc::*;
use tfrc_testkit::{Fate, Flow, FlowEvent, Wire};
use tfrc_units::{Duration, Instant};

fn config(rto: RtoPolicy) -> Config {
    let algorithm = Algorithm::default().with(|choices| {
        choices.equation = Equation { rto, ..Equation::default() };
        choices.lost_after = 1;
        choices.loss_event_timing = LossEventTiming::SenderTime;
        choices.discounting = HistoryDiscounting::Floor(0.5);
        choices.first_interval = FirstInterval::AtHalfReceiveRate;
        choices.spacing = Spacing::Nominal;
    });
    let settings = Settings { algorithm, segment: SegmentSize::Fixed(1000), ..Settings::default() };
    settings.validate().expect("sound")
}

/// Newest loss event rate and allowed rate, at each report taken in.
#[derive(Debug, Clone, Copy)]
struct Sample {
    seconds: f64,
    /// Bytes a second.
    allowed: f64,
    /// 1/p; infinite before the first loss.
    interval: f64,
}

/// Samples of a flow that always has packets of 1000 bytes.
fn run(config: &Config, rtt: Duration, end: f64, mut drops: impl FnMut(f64) -> bool) -> Vec<Sample> {
    let rule = move |now: Instant| Fate::drop_if(drops(now.as_secs_f64()));
    let mut flow = Flow::new(config, 1000, Wire::new(rtt / 2), rule);
    let mut samples = Vec::new();
    while let Some(happening) = flow.next(Instant::ZERO + Duration::from_secs_f64(end)) {
        if happening == FlowEvent::Told {
            samples.push(Sample {
                seconds: flow.now.as_secs_f64(),
                allowed: flow.sender.allowed_rate().bytes_per_sec(),
                interval: 1.0 / flow.sender.loss_event_rate().get(),
            });
        }
    }
    samples
}

/// The sample in force at a time.
fn at(samples: &[Sample], seconds: f64) -> Sample {
    *samples.iter().rev().find(|s| s.seconds <= seconds).expect("a report before that time")
}

/// Drops a packet when this many have been sent since the last drop, as if `count` had been sent
/// before the first; none at 0.
fn every(mut count: u64, period: impl Fn(f64) -> u64) -> impl FnMut(f64) -> bool {
    move |seconds| {
        count += 1;
        let dropped = period(seconds) > 0 && count >= period(seconds);
        if dropped {
            count = 0;
        }
        dropped
    }
}

/// The (x, y) of a figure, of one series if it has several.
fn figure(csv: &'static str, series: &'static str) -> impl Iterator<Item = (f64, f64)> {
    csv.lines().skip(2).filter_map(move |line| {
        let mut numbers = line.strip_prefix(series)?.trim_start_matches(',').split(',').map(str::parse);
        Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
    })
}

const RTT: Duration = Duration::from_millis(81);

/// The last point of Figure 19 at the steady rate and the first above it, in seconds.
const ONSET: (f64, f64) = (10.66, 10.75);

/// The flows of Figures 19 and 20, one for each phase of the drops that Figure 19 allows. `period`
/// is the period of the drops from 10 s on, 0 for none.
///
/// A phase is the number of packets, 0 to 99, that count as sent before the first. The paper does
/// not give it. Everything after 10 s follows the time of the last drop before 10 s; a change of
/// slow start, such as of X_recv by one packet, gives each phase another such time (with X_recv
/// over up to a fourteenth more than R phase 46 dropped last at 9.850 s, now phase 2 does). So the
/// figure chooses: the phases in which the rate first rises between the two points of [`ONSET`].
/// Both figures are taken to show the same flow up to 10 s.
fn flows(period: u64) -> Vec<Vec<Sample>> {
    let flow = |phase: u64, period: u64| {
        let drops = every(phase, move |seconds| if seconds < 10.0 { 100 } else { period });
        run(&config(RtoPolicy::FourRtt), RTT, 13.1, drops)
    };
    let shown = |phase: &u64| {
        let samples = flow(*phase, 0);
        let risen = |seconds| packets(at(&samples, seconds)) > packets(at(&samples, 9.9)) + 1e-9;
        !risen(ONSET.0) && risen(ONSET.1)
    };
    let flows: Vec<_> = (0..100).filter(shown).map(|phase| flow(phase, period)).collect();
    // The onset is known to one of the nine round-trip times in which 100 packets are sent.
    assert!((6..25).contains(&flows.len()), "{} phases", flows.len());
    flows
}

/// The mean over flows.
fn mean(flows: &[Vec<Sample>], value: impl Fn(&[Sample]) -> f64) -> f64 {
    let count = u32::try_from(flows.len()).expect("few");
    flows.iter().map(|samples| value(samples)).sum::<f64>() / f64::from(count)
}

/// Packets in each round-trip time.
fn packets(sample: Sample) -> f64 {
    sample.allowed / 1000.0 * RTT.as_secs_f64()
}

/// Loss of 1 % to 6 s, then 10 %, then 0.5 %: the estimate stands still, falls, stands still and
/// rises without steps.
///
/// The paper gives 9 s for the last change; its own curve of the current interval shows no loss of
/// the 10 % after 8.5 s. Measured: equal to 6 s; at most 10 % apart on the rise to 11 s, where the
/// two curves of the paper do not quite agree with each other, then 4 %, at last 1 %; 7 % in the
/// middle, where the read-off is coarse; on the fall what the phase of one loss event makes, 0.12
/// s.
#[test]
fn figure_2_periodic_loss() {
    let csv = include_str!("../../../testdata/sigcomm2000/fig-02.csv");
    let rto = RtoPolicy::Fixed(Duration::from_millis(300));
    let period = |seconds| match seconds {
        ..6.0 => 100,
        ..8.6 => 10,
        _ => 200,
    };
    let samples = run(&config(rto), Duration::from_micros(44_700), 18.0, every(0, period));
    let mut compared = 0;
    for (name, value) in [
        ("estimated_loss_interval_pkts", (|s| s.interval) as fn(Sample) -> f64),
        ("tx_rate_kBps", |s| s.allowed / 1000.0),
    ] {
        for (seconds, published) in figure(csv, name).filter(|(seconds, _)| *seconds > 4.0) {
            let ours = value(at(&samples, seconds));
            let within = |part: f64| (ours / published - 1.0).abs() < part;
            let ok = match seconds {
                ..6.0 => within(0.01),
                ..7.2 => {
                    let (earlier, later) =
                        (value(at(&samples, seconds - 0.12)), value(at(&samples, seconds + 0.12)));
                    (0.8 * later..1.25 * earlier).contains(&published)
                }
                ..8.9 => within(0.08),
                ..11.0 => within(0.11),
                ..15.0 => within(0.05),
                _ => within(0.02),
            };
            assert!(ok, "{name} at {seconds} s: {ours}, published {published}");
            compared += 1;
        }
    }
    assert!(compared > 400, "{compared} points");
    let rising = samples.iter().filter(|s| (9.3..13.0).contains(&s.seconds));
    for (a, b) in rising.clone().zip(rising.skip(1)) {
        assert!((1.0..1.08).contains(&(b.interval / a.interval)), "a step at {} s", b.seconds);
    }
}

/// Every hundredth packet dropped until 10 s, then none: by about 0.12 packets more in each
/// round-trip time, from 11.5 s on, with discounting, by up to 0.29. Measured: the mean over the
/// phases is at most 0.07 packets apart.
#[test]
fn figure_19_increase() {
    let csv = include_str!("../../../testdata/sigcomm2000/fig-19.csv");
    let flows = flows(0);
    let mut compared = 0;
    for (seconds, published) in figure(csv, "") {
        let ours = mean(&flows, |samples| packets(at(samples, seconds)));
        assert!((ours - published).abs() < 0.2, "at {seconds} s: {ours}, published {published}");
        compared += 1;
    }
    assert_eq!(compared, 43);
    for samples in flows {
        let slope = |from: f64, to: f64| {
            (packets(at(&samples, to)) - packets(at(&samples, from))) / ((to - from) / RTT.as_secs_f64())
        };
        assert_eq!(slope(9.0, 10.6), 0.0);
        assert!((0.11..0.135).contains(&slope(10.75, 11.4)), "{}", slope(10.75, 11.4));
        assert!((0.25..0.32).contains(&slope(11.92, 12.59)), "{}", slope(11.92, 12.59));
        assert!((0.19..0.24).contains(&slope(12.67, 13.0)), "at the floor: {}", slope(12.67, 13.0));
    }
}

/// Every hundredth packet dropped until 10 s, then every second. Measured: the mean over the phases
/// is at most 2.2 kB/s apart down to a seventh of the rate; below that the paper's flow is slower
/// still.
#[test]
fn figure_20_persistent_congestion() {
    let csv = include_str!("../../../testdata/sigcomm2000/fig-20.csv");
    let flows = flows(2);
    let mut compared = 0;
    for (seconds, published) in figure(csv, "").filter(|(_, published)| *published > 19.0) {
        let ours = mean(&flows, |samples| at(samples, seconds).allowed / 1000.0);
        assert!((ours - published).abs() < 3.0, "at {seconds} s: {ours}, published {published}");
        compared += 1;
    }
    assert!(compared > 30, "{compared} points");
    assert!(flows.iter().all(|samples| at(samples, 12.0).allowed < 5000.0));
}

/// How long the halving takes, at 35 loss rates: 5 to 6 round-trip times at low ones, 3 to 4 from
/// 10 % on.
///
/// Counted in reports that lower the rate, one for each round-trip time with a loss. Measured: at
/// most one apart up to 4 % and at 10 to 12.5 %; at 5 to 8 %, two to three packets in a round-trip
/// time, two fewer, since some have no loss. Above 14 % the flow is below a packet in each
/// round-trip time and the paper's numbers (4, 5, 8, 6) are not of loss events any more.
#[test]
fn figure_21_round_trips_to_halve() {
    let csv = include_str!("../../../testdata/sigcomm2000/fig-21.csv");
    let mut counts = Vec::new();
    for (rate, published) in figure(csv, "") {
        let start = if rate < 0.004 { 200.0 } else { 60.0 };
        let period = u32::try_from(tfrc_units::u64_from_f64(1.0 / rate + 0.5)).expect("small").into();
        let drops = every(0, move |seconds| if seconds < start { period } else { 2 });
        let samples = run(&config(RtoPolicy::FourRtt), RTT, start + 4.0, drops);
        let before = at(&samples, start).allowed;
        let (mut count, mut lowest) = (0.0, before);
        for sample in samples.iter().filter(|s| s.seconds > start && s.allowed < before) {
            if lowest <= before / 2.0 {
                break;
            }
            if sample.allowed < lowest {
                (count, lowest) = (count + 1.0, sample.allowed);
            }
        }
        assert!(lowest <= before / 2.0, "halved at all, at {rate}");
        let apart = match rate {
            ..0.045 | 0.09..0.13 => 1.0,
            ..0.09 => 2.0,
            _ => 6.0,
        };
        assert!((count - published).abs() <= apart, "at {rate}: {count}, published {published}");
        counts.push(count);
    }
    assert_eq!(counts.len(), 35);
    let range = counts.iter().fold((f64::MAX, 0.0), |(low, high): (f64, f64), c| (low.min(*c), high.max(*c)));
    assert_eq!(range, (3.0, 6.0));
}
