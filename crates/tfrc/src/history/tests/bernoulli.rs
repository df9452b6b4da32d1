//! The common test of the small-packet methods: packets dropped independently, the loss event rate
//! against what a flow of large packets at the same rate in bytes reports.

use std::vec::Vec;

use tfrc_testkit::Random;
use tfrc_units::{Duration, Ecn, Instant, f64_from_u64, saturating};

use crate::config::{PacketSize, Settings, TfrcSp};
use crate::history::{LossHistory, Seen};
use crate::study::{SizeCorrection, Stamp};

const RTT: Duration = Duration::from_millis(100);
const LARGE: u32 = 1500;

/// 1/p over all loss intervals of a run, and how many there were: `packets` packets of `size` bytes
/// at a steady rate of `large` packets of [`LARGE`] bytes in each round-trip time, each dropped
/// with probability `p`.
fn mean_interval(packet_size: PacketSize, size: u32, large: f64, p: f64, packets: u64) -> (f64, u64) {
    let settings = Settings { packet_size, ..Settings::default() };
    let mut history = LossHistory::new(&settings);
    let mut random = Random::new(0x5eed + u64::from(size));
    let spacing = f64_from_u64(RTT.as_nanos()) / large * f64::from(size) / f64::from(LARGE);
    let (mut total, mut events, mut counted) = (0.0, 0, 0);
    for seq in 0..packets {
        if random.happens(p) {
            continue;
        }
        let now = Instant::from_nanos(tfrc_units::u64_from_f64(f64_from_u64(seq) * spacing));
        let seen = Seen {
            seq,
            ecn: Ecn::NotEct,
            is_data: true,
            non_data_before: 0,
            window_counter: 0,
            size,
            stamp: Stamp::NONE,
            rtt: RTT,
        };
        history.on_packet(now, &seen, |_| 100.0);
        let newly = history.loss_events() - events;
        events = history.loss_events();
        // Before the first event lies the synthetic interval, before the oldest kept nothing.
        if newly > 0 && events > newly {
            let ended = history.events.intervals.iter().map(|interval| interval.length);
            for length in ended.take(saturating::<usize>(newly)) {
                (total, counted) = (total + length, counted + 1);
            }
        }
    }
    (total / f64_from_u64(counted), counted)
}

/// A cell of the test: p, S/s, and packets of size S in a round-trip time.
#[derive(Debug, Clone, Copy)]
struct BernoulliCase {
    p: f64,
    ratio: u32,
    large: f64,
}

impl BernoulliCase {
    /// 1/p + L_S, the interval that packets of size S would report if losses stayed as likely
    /// (Widmer et al.).
    fn wanted(self) -> f64 {
        1.0 / self.p + self.large
    }

    /// The measured interval over `wanted`, and how much of it may be chance: four standard
    /// deviations of a mean of exponential intervals, with `losses` independent losses behind each.
    fn measure(self, packet_size: PacketSize, wanted: f64, losses: u32) -> (f64, f64) {
        let packets = if self.p < 0.005 { 600_000 } else { 150_000 };
        let (mean, events) = mean_interval(packet_size, LARGE / self.ratio, self.large, self.p, packets);
        (mean / wanted, 4.0 / libm::sqrt(f64_from_u64(events) * f64::from(losses)))
    }

    /// The measured interval lies between `low` and `high` times the one wanted, but for chance.
    fn check(self, correction: SizeCorrection, wanted: f64, losses: u32, low: f64, high: f64) {
        let (got, chance) =
            self.measure(PacketSize::Reference { segment: LARGE, correction }, wanted, losses);
        let range = low * (1.0 - chance)..high * (1.0 + chance);
        assert!(range.contains(&got), "{correction:?} at {self:?}: {got}, not in {range:?}");
    }
}

/// p from 0.1 to 30 %, packets of the size compared with down to a thirtieth, four and twelve large
/// packets in a round-trip time.
fn cells() -> Vec<BernoulliCase> {
    let mut cells = Vec::new();
    for ratio in [1, 3, 10, 30] {
        for (p, large) in [(0.001, 4.0), (0.01, 4.0), (0.1, 4.0), (0.3, 4.0), (0.1, 12.0)] {
            cells.push(BernoulliCase { p, ratio, large });
        }
    }
    cells
}

/// The flow of large packets itself: within 3 % of 1/p + L_S, since whole packets fit into a
/// round-trip time.
#[test]
fn large_packets_report_the_renewal_formula() {
    for cell in cells().into_iter().filter(|cell| cell.ratio == 1) {
        let (got, chance) = cell.measure(PacketSize::Own, cell.wanted(), 1);
        assert!((got - 1.0).abs() < 0.03 + chance, "{cell:?}: {got}");
    }
}

/// Unbiasing, random sampling and LIP scaling: within 4 % and chance.
#[test]
fn three_methods_report_what_large_packets_would() {
    for cell in cells() {
        cell.check(SizeCorrection::Unbiasing, cell.wanted(), 1, 0.96, 1.04);
        cell.check(SizeCorrection::LipScaling, cell.wanted(), 1, 0.95, 1.04);
        cell.check(SizeCorrection::RandomSampling { seed: 3 }, cell.wanted(), 1, 0.96, 1.04);
    }
}

/// Virtual packets: the losses of thirty small packets make one virtual loss at nearly regular
/// distances of 1/p, where large packets are lost at random ones. The first after the insensitive
/// period ends the interval: 1/p times a whole number rather than 1/p + L_S, down to 0.7 of it.
#[test]
fn virtual_packets_are_lost_regularly() {
    for cell in cells() {
        cell.check(SizeCorrection::VirtualPackets, cell.wanted(), cell.ratio, 0.70, 1.04);
        if cell.ratio == 30 {
            let regular = (libm::floor(cell.p * cell.large) + 1.0) / cell.p;
            cell.check(SizeCorrection::VirtualPackets, regular, cell.ratio, 0.92, 1.08);
        }
    }
}

/// In byte mode a packet of size S is lost with probability 1 − (1 − p)^(S/s): within 8 %, since a
/// unit may begin or end inside the insensitive period.
#[test]
fn byte_mode_reports_what_is_likelier_for_large_packets() {
    for cell in cells() {
        let lost = 1.0 - libm::pow(1.0 - cell.p, f64::from(cell.ratio));
        cell.check(SizeCorrection::VirtualPacketsByteMode, 1.0 / lost + cell.large, 1, 0.92, 1.04);
    }
}

/// Vasallo's drop rate is the drop rate.
#[test]
fn drop_rate_is_the_drop_rate() {
    for cell in cells() {
        cell.check(SizeCorrection::DropRate, 1.0 / cell.p, cell.ratio, 0.98, 1.02);
    }
}

/// The bias that the methods correct: uncorrected, small packets report 1/p + L, at a thirtieth and
/// 30 % loss 17 times too long an interval.
#[test]
fn uncorrected_small_packets_are_favoured() {
    for cell in cells() {
        let small = 1.0 / cell.p + cell.large * f64::from(cell.ratio);
        cell.check(SizeCorrection::Uncorrected, small, 1, 0.96, 1.04);
    }
}

/// TFRC-SP: like uncorrected small packets while intervals are long, and the drop rate itself once
/// nearly all are short (RFC 4828 §4.4).
#[test]
fn tfrc_sp_counts_losses_when_they_are_many() {
    let sp = PacketSize::TfrcSp(TfrcSp::default());
    let rare = BernoulliCase { p: 0.001, ratio: 3, large: 4.0 };
    let (got, chance) = rare.measure(sp, 1.0 / rare.p + 12.0, 1);
    assert!((got - 1.0).abs() < 0.04 + chance, "{got}");
    for ratio in [10, 30] {
        let many = BernoulliCase { p: 0.3, ratio, large: 4.0 };
        let (got, chance) = many.measure(sp, 1.0 / many.p, 1);
        assert!((got - 1.0).abs() < 0.04 + chance, "{got}");
    }
}
