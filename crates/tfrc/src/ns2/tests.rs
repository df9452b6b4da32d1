//! Plain TFRC's p against a run of ns-2.35 with `printLoss_` 1: packets of 1460 bytes, a path of 240 ms that drops 30 % of them.

use tfrc_units::{Duration, Ecn, Instant};

use crate::config::Settings;
use crate::history::{LossHistory, Seen};
use crate::revision::Revision;

/// Sequence numbers that arrived, when they were sent in microseconds, and the sender's rounds.
#[rustfmt::skip]
const ARRIVED: [(u64, u64, u64); 47] = [
    (0, 0, 0), (1, 240_368, 1), (2, 320_490, 1), (3, 400_613, 1), (4, 480_735, 2), (5, 560_858, 2),
    (6, 640_980, 2), (8, 801_226, 3), (9, 801_226, 3), (10, 869_902, 3), (11, 929_994, 3),
    (13, 1_031_483, 3), (15, 1_154_018, 4), (16, 1_232_850, 4), (20, 1_564_746, 5),
    (21, 1_660_147, 5), (23, 1_935_823, 7), (25, 2_247_567, 9), (28, 2_797_140, 10),
    (31, 3_525_499, 13), (32, 3_813_004, 14), (34, 4_602_250, 16), (35, 4_996_873, 17),
    (36, 5_507_053, 18), (38, 6_527_414, 20), (39, 7_037_595, 21), (40, 7_696_132, 23),
    (41, 8_354_670, 25), (43, 9_671_745, 27), (47, 12_661_492, 29), (48, 13_855_907, 31),
    (50, 15_127_886, 33), (51, 15_725_093, 34), (52, 16_257_870, 36), (53, 16_790_647, 37),
    (54, 17_323_424, 39), (55, 17_802_611, 40), (56, 18_236_799, 41), (57, 18_670_988, 43),
    (59, 19_362_964, 45), (61, 19_995_086, 47), (62, 20_298_757, 48), (64, 20_992_970, 50),
    (65, 21_340_077, 51), (66, 21_707_314, 52), (70, 23_036_021, 54), (72, 24_138_549, 56),
];

/// Reports: when, in microseconds, and p as printed.
#[rustfmt::skip]
const REPORTED: [(u64, f64); 53] = [
    (1_274_380, 0.09524), (1_634_930, 0.09524), (1_685_100, 0.12), (2_045_660, 0.12),
    (2_056_180, 0.13793), (2_367_920, 0.16783), (2_728_480, 0.16783), (2_917_500, 0.20455),
    (3_278_050, 0.20455), (3_645_860, 0.2377), (3_933_360, 0.2377), (4_293_910, 0.2377),
    (4_722_610, 0.26549), (5_083_160, 0.26549), (5_443_710, 0.26549), (5_804_260, 0.26549),
    (6_647_770, 0.29412), (7_008_320, 0.29412), (7_368_880, 0.29412), (7_816_490, 0.29412),
    (8_177_040, 0.29412), (8_475_030, 0.29412), (8_835_580, 0.29412), (9_792_100, 0.28302),
    (10_152_650, 0.28302), (12_781_850, 0.29703), (13_142_400, 0.29703), (13_976_260, 0.28302),
    (14_336_820, 0.28302), (15_248_240, 0.27027), (15_608_800, 0.27027), (15_969_350, 0.27027),
    (16_378_230, 0.27027), (16_738_780, 0.27027), (17_099_330, 0.25862), (17_443_780, 0.24793),
    (17_804_330, 0.24793), (18_164_890, 0.2381), (18_525_440, 0.22901), (18_791_350, 0.21836),
    (19_151_900, 0.21836), (19_483_320, 0.2102), (19_843_870, 0.2102), (20_115_440, 0.22414),
    (20_419_110, 0.22414), (20_779_670, 0.22414), (21_113_330, 0.23008), (21_460_440, 0.23008),
    (21_820_990, 0.23008), (22_181_540, 0.23008), (23_156_380, 0.23031), (23_516_930, 0.23031),
    (24_258_910, 0.23985),
];

/// From sending to arrival, in microseconds.
const WAY: u64 = 120_358;

fn at(us: u64) -> Instant {
    Instant::from_nanos(us * 1000)
}

/// The discount of an open interval that passes into the older ones goes by its length at the latest report, not by that with
/// the packet that ends it: p is equal to the last digit once the first event, which ns-2 begins earlier, is forgotten.
#[test]
fn p_as_ns2_prints_it() {
    let mut history = LossHistory::new(&Settings::for_revision(Revision::Ns2));
    let mut arrived = ARRIVED.iter().peekable();
    let mut compared = 0;
    for (report, p) in REPORTED {
        while let Some((seq, sent, round)) = arrived.next_if(|(_, sent, _)| sent + WAY <= report + 10) {
            let seen = Seen {
                seq: *seq,
                ecn: Ecn::NotEct,
                is_data: true,
                non_data_before: 0,
                window_counter: 0,
                size: 1460,
                sent_at: Some(at(*sent)),
                round: *round,
                rtt: Duration::from_micros(240_368),
            };
            // The synthetic first interval of that run was 12 packets long.
            history.on_packet(at(sent + WAY), &seen, |_| 12.0);
        }
        history.on_report(at(report));
        let ours = history.loss_event_rate().get();
        if history.loss_events() > 9 {
            assert!((ours - p).abs() < 6e-6, "at {report} us: {ours}, ns-2 has {p}");
            compared += 1;
        }
    }
    assert_eq!((arrived.next(), compared), (None, 30));
}
