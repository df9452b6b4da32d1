//! The start of a flow as ns-2 has it, packet by packet, against a trace of ns-2.35.

use std::path::Path;

use tfrc_scenario::Document;
use tfrc_units::Duration;
use tfrc_world::Run;
use tfrc_world::results::Interval;
use tfrc_world::watch::Watch;

/// When ns-2 sent its first hundred packets, in seconds: 500 bytes, R = 240.137 ms, no loss
/// (`ns bernoulli.tcl proto=tfrc seg=500 n=1 start=0 drops=100000` in
/// `experiments/ns2/scripts`, with a trace of the first link).
#[rustfmt::skip]
const SENT: [f64; 100] = [
    0.0, 0.240137, 0.300172, 0.360206, 0.42024, 0.480275, 0.480275, 0.540309, 0.600343, 0.660378,
    0.720412, 0.720454, 0.773818, 0.821846, 0.865507, 0.90553, 0.942475, 0.97678, 1.008798, 1.013956,
    1.043294, 1.071983, 1.100051, 1.127524, 1.154427, 1.180784, 1.206615, 1.231942, 1.256784, 1.281159,
    1.283431, 1.307137, 1.330137, 1.35247, 1.374175, 1.395286, 1.415834, 1.435849, 1.455358, 1.474385,
    1.492954, 1.511087, 1.528802, 1.546121, 1.547275, 1.563784, 1.579972, 1.595852, 1.611436, 1.626733,
    1.641755, 1.656512, 1.671011, 1.685263, 1.699276, 1.713057, 1.726614, 1.739954, 1.753084, 1.766011,
    1.77874, 1.791278, 1.803631, 1.803921, 1.815774, 1.827491, 1.839075, 1.850529, 1.861855, 1.873057,
    1.884136, 1.895097, 1.905941, 1.916671, 1.927289, 1.937797, 1.948198, 1.958494, 1.968687, 1.978779,
    1.988772, 1.998668, 2.008469, 2.018176, 2.027792, 2.037318, 2.046755, 2.055911, 2.064982, 2.073958,
    2.082843, 2.091637, 2.100344, 2.108964, 2.117499, 2.125951, 2.134322, 2.142613, 2.150826, 2.158961,
];

#[test]
fn sends_as_many_as_ns2_at_any_time() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments/ns2/bernoulli/tfrc.toml");
    let mut document = Document::load(&file).expect("the peers' scenario");
    let sets = [
        "flow.flow.count=1",
        "flow.flow.start=0s",
        "flow.flow.segment=500B",
        "link.path.loss=0%",
        "warmup=0s",
        "duration=2150ms",
    ];
    for set in sets {
        document.set(set);
    }
    let plan = document.plan().expect("a sound scenario");
    let mut sent = 0;
    let mut worst = (0, 0.0);
    let each = |interval: Interval| {
        sent += interval.sent_packets.unwrap_or(0);
        let theirs = SENT.iter().filter(|at| **at <= interval.t_s).count() as u64;
        if sent.abs_diff(theirs) > worst.0 {
            worst = (sent.abs_diff(theirs), interval.t_s);
        }
    };
    let _ = Run::of(&plan.points[0].scenario).watch(Watch::flows(Duration::from_millis(10), each)).outcome();
    assert!(worst.0 <= 1, "{} packets apart at {:.2} s", worst.0, worst.1);
}
