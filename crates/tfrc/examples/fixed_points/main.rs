//! Every estimator and every method for small packets under independent losses, against the rate at
//! which it should rest.
//!
//! ```text
//! cargo run --release -p tfrc --example fixed_points -- 2000000 > fixed-points.csv
//! ```
//!
//! The argument is the most packets to send for one figure; what would need more is left out.
//! `cargo xtask measure fixed-points` makes the page
//! `docs/models/fixed-points.md` of it.

#![expect(clippy::disallowed_macros, reason = "a program prints")]

mod path;
mod theory;

use std::error::Error;

use path::{Path, run};
use tfrc::Settings;
use tfrc::config::{MinInterval, PacketSize, SegmentSize, TfrcSp};
use tfrc::study::{
    Algorithm, Estimator, HistoryDiscounting, HistoryWindow, OpenInterval, ShortIntervals, SizeCorrection,
    Weights,
};
use tfrc_units::{Duration, u64_from_f64};
use theory::fixed_point;

const LOSSES: [f64; 10] = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4];
const SEGMENTS: [u32; 4] = [14, 120, 536, 1460];
const RTTS_MS: [u64; 3] = [20, 100, 500];
/// The size that small packets are compared with.
const LARGE: u32 = 1460;
/// Loss events that a figure should rest on, and the fewest it may.
const EVENTS: f64 = 4000.0;
const FEWEST_EVENTS: f64 = 300.0;
const SEED: u64 = 1;

fn main() -> Result<(), Box<dyn Error>> {
    let most: u64 = std::env::args().nth(1).map_or(Ok(2_000_000), |text| text.parse())?;
    println!("kind,name,segment_bytes,rtt_ms,p,fixed_point,measured,ratio,ci95,p_e,reported_p_e");
    for (name, estimator, discounting) in estimators() {
        let algorithm = Algorithm::default().with(|choices| {
            choices.estimator = estimator;
            choices.discounting = discounting;
        });
        let settings = Settings { algorithm, ..Settings::default() };
        // An estimator knows no bytes: the largest and the smallest packets show it.
        sweep("estimator", name, settings, &[14, LARGE], most)?;
    }
    for (name, packet_size) in methods() {
        let settings = Settings { packet_size, ..Settings::default() };
        sweep("method", name, settings, &SEGMENTS, most)?;
    }
    Ok(())
}

fn sweep(
    kind: &str,
    name: &str,
    settings: Settings,
    segments: &[u32],
    most: u64,
) -> Result<(), Box<dyn Error>> {
    for &segment in segments {
        let settings = Settings { segment: SegmentSize::Fixed(segment), ..settings };
        let config = settings.validate()?;
        for rtt_ms in RTTS_MS {
            for loss in LOSSES {
                let path = Path { loss, rtt: Duration::from_millis(rtt_ms), segment };
                let rest = fixed_point(&config, path);
                let interval = 1.0 / loss + rest.packets_per_rtt;
                if tfrc_units::f64_from_u64(most) < FEWEST_EVENTS * interval {
                    eprintln!(
                        "{name}, {segment} bytes, {rtt_ms} ms, p = {loss}: left out, {interval:.0} packets a loss event"
                    );
                    continue;
                }
                let seen = run(settings, path, u64_from_f64(EVENTS * interval).min(most), SEED)?;
                println!(
                    "{kind},{name},{segment},{rtt_ms},{loss},{:.5},{:.5},{:.4},{:.4},{:.6},{:.6}",
                    rest.packets_per_rtt,
                    seen.packets_per_rtt,
                    seen.packets_per_rtt / rest.packets_per_rtt,
                    seen.uncertainty,
                    rest.loss_event_rate,
                    seen.loss_event_rate,
                );
            }
        }
    }
    Ok(())
}

fn estimators() -> [(&'static str, Estimator, HistoryDiscounting); 9] {
    let average = |intervals, weights, open| Estimator::AverageLossInterval { intervals, weights, open };
    let window = |window| Estimator::DynamicHistoryWindow { events: 4, window };
    let ewma = Estimator::EwmaLossInterval { weight: 0.75, open: OpenInterval::WhenLonger };
    let (falling, constant) = (Weights::Decreasing, Weights::Constant);
    let (longer, never) = (OpenInterval::WhenLonger, OpenInterval::Never);
    let (off, rfc) = (HistoryDiscounting::Off, HistoryDiscounting::Floor(0.25));
    [
        ("ALI 8", average(8, falling, longer), rfc),
        ("ALI 8 without discounting", average(8, falling, longer), off),
        ("ALI 8 basic", average(8, falling, never), off),
        ("ALI 8 constant weights", average(8, constant, longer), off),
        ("ALI 16", average(16, falling, longer), rfc),
        ("ALI 32 basic constant weights", average(32, constant, never), off),
        ("EWMA 0.75", ewma, off),
        ("history window by events", window(HistoryWindow::ByEvents), off),
        ("history window by rate", window(HistoryWindow::ByRate), off),
    ]
}

fn methods() -> [(&'static str, PacketSize); 9] {
    // The limit of 100 packets a second would hide what is looked at.
    let sp = |short_intervals| {
        PacketSize::TfrcSp(TfrcSp {
            min_interval: MinInterval::Unlimited,
            short_intervals,
            ..TfrcSp::default()
        })
    };
    let large = |correction| PacketSize::Reference { segment: LARGE, correction };
    [
        ("TFRC-SP", sp(ShortIntervals::TwoRoundTrips)),
        ("TFRC-SP graded", sp(ShortIntervals::Graded)),
        ("uncorrected", large(SizeCorrection::Uncorrected)),
        ("unbiasing", large(SizeCorrection::Unbiasing)),
        ("virtual packets", large(SizeCorrection::VirtualPackets)),
        ("virtual packets by byte", large(SizeCorrection::VirtualPacketsByteMode)),
        ("random sampling", large(SizeCorrection::RandomSampling { seed: 7 })),
        ("LIP scaling", large(SizeCorrection::LipScaling)),
        ("Vasallo", large(SizeCorrection::DropRate)),
    ]
}
