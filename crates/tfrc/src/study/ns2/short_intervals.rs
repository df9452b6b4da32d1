//! How TFRC-SP of ns-2.35 (`ShortIntervals_` 1) counts the losses of a loss interval and separates
//! short ones from long, found by runs of the program (`docs/models/tfrc.md`).

use tfrc_units::f64_from_u64;

use crate::history::MeasuredInterval;

/// Until this many round-trip times an interval is short.
const SHORT: f64 = 2.0;

/// By how much the receiver sees an interval older than its packets are: the way of the newest of
/// them, half a round-trip time, because it compares its own clock with the sender's timestamp.
const WAY: f64 = 0.5;

/// The length of a short interval: N/K cut to a whole number, even to 0. `None` of a long one.
pub(crate) fn length(interval: &MeasuredInterval) -> Option<f64> {
    let k = f64_from_u64(interval.lost).max(1.0);
    (interval.round_trips < SHORT).then(|| libm::floor(interval.packets / k))
}

/// Memory of the open interval: its losses, and its age and length at the latest report.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct OpenCount {
    /// K, the losses of the interval.
    lost: u64,
    /// Its age at the latest report: short or long.
    age: Age,
    /// Its length then; 0 before a report.
    packets: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Age {
    Short,
    Long,
}

impl OpenCount {
    /// A hole that begins an interval counts for one loss in it, however long: all of it went to
    /// the one before.
    pub(crate) const NEW: Self = Self { lost: 1, age: Age::Short, packets: 0.0 };

    /// More losses of the same event.
    pub(crate) const fn add(&mut self, lost: u64) {
        self.lost = self.lost.saturating_add(lost);
    }

    /// A report is made: the interval has `packets` packets, the newest of which was sent
    /// `round_trips` after its first loss and arrived `held` round-trip times ago.
    pub(crate) fn on_report(&mut self, packets: f64, round_trips: f64, held: f64) {
        self.age = if round_trips + WAY + held < SHORT { Age::Short } else { Age::Long };
        self.packets = packets;
    }

    /// The interval while it is open.
    pub(crate) const fn open(&self, measured: MeasuredInterval) -> MeasuredInterval {
        let round_trips = match self.age {
            Age::Short => 0.0,
            Age::Long => f64::INFINITY,
        };
        MeasuredInterval { lost: self.lost, round_trips, ..measured }
    }

    /// The interval when a hole ends it, `rest` packets of which have not been counted. It is short
    /// if it was at the latest report, and also if it lasted no longer than that by the times of
    /// sending.
    pub(crate) const fn closed(&self, measured: MeasuredInterval, rest: u64) -> MeasuredInterval {
        let round_trips = match self.age {
            Age::Short => 0.0,
            Age::Long => measured.round_trips,
        };
        MeasuredInterval { lost: self.lost.saturating_add(rest), round_trips, ..measured }
    }

    /// The length that discounts older intervals, undivided, as the latest report found it.
    pub(crate) const fn grown_to(&self) -> f64 {
        self.packets
    }
}

#[cfg(test)]
mod tests {
    use crate::config::{PacketSize, Settings};
    use crate::history::LossHistory;
    use crate::study::Revision;
    use crate::study::ns2::trace::Trace;

    /// From the packet trace of ns-2.35, TFRC-SP with 14-byte packets over a path of 240 ms that
    /// drops 40 % of them: the sequence numbers that arrived, when they were sent in microseconds,
    /// and the sender's rounds.
    const ARRIVED: [(u64, u64, u32); 80] = [
        (0, 1_963_354, 0),
        (1, 2_010_020, 0),
        (2, 2_056_687, 0),
        (6, 2_296_708, 2),
        (8, 3_536_728, 5),
        (9, 3_776_749, 5),
        (10, 4_016_770, 6),
        (13, 4_496_811, 8),
        (14, 4_616_821, 8),
        (15, 4_736_832, 9),
        (17, 5_136_866, 11),
        (20, 5_424_891, 13),
        (21, 5_630_623, 13),
        (23, 5_980_367, 14),
        (27, 6_544_416, 16),
        (30, 7_034_187, 18),
        (32, 7_403_949, 20),
        (33, 7_559_752, 20),
        (34, 7_715_555, 22),
        (36, 8_176_893, 23),
        (37, 8_279_519, 23),
        (38, 8_382_145, 24),
        (39, 8_622_166, 25),
        (40, 8_790_948, 26),
        (42, 8_970_963, 26),
        (43, 9_060_971, 27),
        (46, 9_254_276, 28),
        (47, 9_314_281, 28),
        (49, 9_434_291, 28),
        (50, 9_494_296, 28),
        (52, 9_625_130, 29),
        (53, 9_695_958, 29),
        (54, 9_766_786, 29),
        (55, 9_837_614, 29),
        (56, 9_908_442, 31),
        (57, 9_967_779, 31),
        (61, 10_205_124, 32),
        (63, 10_296_989, 32),
        (64, 10_342_922, 32),
        (66, 10_434_788, 32),
        (67, 10_480_721, 33),
        (72, 10_832_148, 34),
        (73, 10_886_893, 34),
        (74, 10_941_639, 34),
        (75, 10_996_385, 34),
        (76, 11_051_130, 34),
        (77, 11_105_876, 35),
        (78, 11_281_589, 35),
        (79, 11_457_302, 36),
        (80, 11_553_065, 36),
        (81, 11_648_828, 36),
        (83, 11_832_447, 37),
        (85, 12_008_161, 37),
        (87, 12_183_949, 39),
        (88, 12_271_880, 39),
        (90, 12_447_743, 40),
        (94, 12_777_317, 41),
        (95, 12_843_266, 41),
        (98, 13_041_112, 42),
        (99, 13_205_899, 42),
        (100, 13_370_686, 43),
        (101, 13_464_606, 43),
        (102, 13_558_526, 43),
        (103, 13_652_445, 44),
        (109, 14_075_810, 45),
        (110, 14_134_538, 45),
        (112, 14_251_994, 45),
        (113, 14_310_722, 46),
        (114, 14_550_743, 47),
        (115, 14_740_652, 48),
        (116, 14_827_494, 48),
        (119, 15_077_382, 49),
        (120, 15_153_585, 49),
        (121, 15_229_787, 49),
        (122, 15_305_990, 49),
        (123, 15_382_193, 50),
        (126, 15_634_740, 51),
        (129, 15_809_464, 51),
        (130, 15_867_706, 51),
        (133, 16_178_494, 52),
    ];

    /// Its reports: when, in microseconds, and p as printed (`printLoss_`).
    const REPORTED: [(u64, f64); 50] = [
        (2_776_750, 0.33333),
        (3_656_740, 0.27273),
        (3_896_760, 0.27273),
        (4_136_780, 0.27273),
        (4_496_810, 0.27273),
        (4_616_820, 0.26316),
        (4_856_840, 0.25926),
        (5_216_870, 0.25926),
        (5_256_880, 0.24138),
        (5_544_900, 0.30556),
        (5_904_930, 0.30556),
        (6_100_380, 0.2948),
        (6_460_410, 0.2948),
        (6_664_430, 0.36364),
        (7_024_460, 0.36364),
        (7_154_200, 0.35758),
        (7_514_230, 0.35758),
        (7_523_960, 0.36145),
        (7_835_570, 0.36145),
        (8_195_600, 0.36145),
        (8_296_900, 0.35294),
        (8_656_940, 0.34483),
        (8_910_960, 0.30928),
        (9_090_970, 0.29412),
        (9_374_290, 0.31915),
        (9_734_320, 0.26549),
        (9_745_140, 0.32258),
        (10_028_450, 0.29126),
        (10_325_130, 0.36145),
        (10_600_730, 0.23803),
        (10_952_160, 0.22406),
        (11_225_890, 0.17878),
        (11_577_310, 0.15915),
        (11_937_340, 0.14098),
        (11_952_460, 0.13531),
        (12_303_960, 0.16084),
        (12_567_750, 0.1858),
        (12_897_330, 0.22813),
        (13_161_120, 0.29305),
        (13_490_700, 0.29305),
        (13_772_460, 0.2728),
        (14_132_490, 0.2728),
        (14_195_820, 0.26021),
        (14_555_850, 0.21716),
        (14_860_660, 0.1907),
        (15_197_390, 0.17542),
        (15_502_200, 0.17023),
        (15_754_750, 0.16433),
        (16_114_780, 0.15552),
        (16_298_510, 0.15088),
    ];

    #[test]
    fn as_ns2_prints_it() {
        let settings = Settings {
            packet_size: PacketSize::TfrcSp(Revision::Ns2.tfrc_sp()),
            ..Settings::for_revision(Revision::Ns2)
        };
        let mut history = LossHistory::new(&settings);
        let run = Trace {
            arrived: &ARRIVED,
            reported: &REPORTED,
            way: 120_010,
            rtt: 240_000,
            size: 14,
            first_interval: 1.0,
        };
        assert!(run.play(&mut history) > 0);
        assert_eq!(history.loss_events(), 24);
    }
}
