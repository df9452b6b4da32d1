//! X_recv in reports of new loss events while packets arrive as those of video do, a frame at a
//! time (RFC 5348 §6.2 step 2).

use std::fmt::Write as _;

use tfrc::*;
use tfrc_units::{Duration, Ecn, Instant};

const SIZE: u32 = 1000;

/// Frames of `packets` packets that arrive over `spread`, `per_second` of them; one packet in fifty
/// is lost. Returns the number of loss reports and the largest error of X_recv among them, relative
/// to the nearest of the two rates that §6.2 allows: over the last R, and back to the newest
/// expiration of the feedback timer at least R ago.
fn worst(per_second: u64, packets: u64, spread: Duration, rtt: Duration) -> (u32, f64) {
    let frame = Duration::from_secs(1) / per_second;
    let arrivals: Vec<(Instant, u64)> = (0..30 * per_second)
        .flat_map(|n| {
            (0..packets).map(move |i| (Instant::ZERO + frame * n + spread * i / packets, n * packets + i))
        })
        // By the middle bits of a product, which look random.
        .filter(|(_, seq)| (seq.wrapping_mul(6364136223846793005) >> 33) % 50 != 0)
        .collect();
    let mut receiver = Receiver::new(&Config::default());
    let mut expirations: Vec<Instant> = Vec::new();
    let (mut reports, mut largest) = (0, 0f64);
    let mut next = 0;
    while let Some((arrives, seq)) = arrivals.get(next).copied() {
        let timer = receiver.poll_timeout().map(|wake| wake.at).filter(|at| *at <= arrives);
        let now = timer.unwrap_or(arrives);
        receiver.handle_timeout(now);
        if timer.is_none() {
            next += 1;
            receiver.on_packet(
                now,
                Arrival {
                    seq,
                    size: SIZE,
                    ecn: Ecn::NotEct,
                    rtt: Some(rtt),
                    window_counter: 0,
                    kind: PacketKind::Data,
                    non_data_before: 0,
                },
            );
        }
        let report = receiver.poll_feedback(now);
        let seconds = now.saturating_since(Instant::ZERO).as_secs_f64();
        if let Some(report) = report.filter(|r| r.reason == FeedbackReason::NewLossEvent && seconds > 2.0) {
            let reported = report.receive_rate.bytes_per_sec();
            // A packet that came just when the window begins may count or not.
            let error = |window: Duration| {
                let error_of = |inside: fn(Duration, Duration) -> bool| {
                    let ages = arrivals.iter().take(next).map(|(at, _)| now.saturating_since(*at));
                    let packets =
                        u32::try_from(ages.filter(|age| inside(*age, window)).count()).expect("few");
                    let rate = f64::from(packets * SIZE) / window.as_secs_f64();
                    (reported / rate - 1.0).abs()
                };
                error_of(|age, window| age < window).min(error_of(|age, window| age <= window))
            };
            let since = expirations.iter().rev().map(|at| now.saturating_since(*at)).find(|age| *age >= rtt);
            let error = error(rtt).min(since.map_or(f64::INFINITY, error));
            reports += 1;
            largest = largest.max(error);
        }
        if report.is_some() || timer.is_some() {
            expirations.push(now);
        }
    }
    (reports, largest)
}

const PER_SECOND: [u64; 2] = [30, 60];
const PACKETS: [u64; 7] = [2, 3, 5, 8, 12, 16, 20];
const ROUND_TRIPS: [u64; 12] = [10, 15, 20, 30, 40, 50, 60, 80, 100, 130, 150, 200];
/// Over how many milliseconds the packets of a frame arrive.
const SPREADS: [u64; 3] = [0, 2, 8];

/// The largest error in per cent over the spreads: a row for each kind of video, a column for each
/// R.
fn table() -> String {
    let ms = Duration::from_millis;
    let mut text = String::from("| frames/s, packets |");
    for rtt in ROUND_TRIPS {
        write!(text, " {rtt} ms |").expect("a string takes all");
    }
    text.push_str("\n| ---: |");
    text.push_str(&" ---: |".repeat(ROUND_TRIPS.len()));
    text.push('\n');
    for (per_second, packets) in PER_SECOND.into_iter().flat_map(|f| PACKETS.map(|packets| (f, packets))) {
        write!(text, "| {per_second}, {packets} |").expect("a string takes all");
        for rtt in ROUND_TRIPS {
            let errors = SPREADS.map(|spread| {
                let (reports, error) = worst(per_second, packets, ms(spread), ms(rtt));
                assert!(reports >= 5, "{reports} reports");
                error
            });
            let error = errors.into_iter().fold(0.0, f64::max);
            write!(text, " {:.0} |", error * 100.0).expect("a string takes all");
        }
        text.push('\n');
    }
    text
}

/// All of 504 kinds of video are within 5 %, and the page shows the errors.
#[test]
fn loss_reports_tell_the_receive_rate_of_video() {
    let table = table();
    let cells = table.lines().skip(2).flat_map(|row| row.split('|').skip(2)).map(str::trim);
    let errors: Vec<f64> =
        cells.filter(|cell| !cell.is_empty()).filter_map(|cell| cell.parse().ok()).collect();
    assert_eq!(errors.len(), PER_SECOND.len() * PACKETS.len() * ROUND_TRIPS.len());
    assert!(errors.iter().all(|error| *error <= 5.0), "{table}");
    let page = include_str!("../../../docs/models/receive-rate.md");
    assert!(page.contains(&table), "docs/models/receive-rate.md should have:\n{table}");
}
