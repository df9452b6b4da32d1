//! The kernel's mean loss interval in a simulated receiver, by the drops of two captures
//! (`testdata/linux-dccp`).

use tfrc::history::linux;
use tfrc_scenario::Scenario;
use tfrc_units::Duration;
use tfrc_world::Run;
use tfrc_world::results::Interval;
use tfrc_world::watch::Watch;

/// 200 bytes 50 times a second over 50 ms, with these packets dropped.
fn scenario(drops: &[u64], tfrc: &str) -> Scenario {
    let text = format!(
        r#"duration = "20s"
nodes = ["near", "far"]
[[link]]
from = "near"
to = "far"
rate = "10Mbit/s"
delay = "25ms"
loss = {{ scripted = {drops:?} }}
[[flow]]
kind = "tfrc"
from = "near"
to = "far"
segment = "200B"
packets_per_second = 50
tfrc = {{ {tfrc} }}
"#
    );
    Scenario::parse("drops.toml", &text).map_err(miette::Report::new).unwrap()
}

/// 1/p after each packet that came, by its number from 1.
fn course(drops: &[u64], tfrc: &str) -> Vec<(u64, f64)> {
    let (mut received, mut course) = (0, Vec::new());
    let each = |interval: Interval| {
        received += interval.received_packets.unwrap_or(0);
        let newest = drops.iter().fold(received, |n, drop| if *drop <= n { n + 1 } else { n });
        course.push((newest, 1.0 / interval.loss_event_rate.unwrap_or(0.0)));
    };
    let _ = Run::of(&scenario(drops, tfrc)).watch(Watch::flows(Duration::from_millis(5), each)).outcome();
    course
}

fn at(course: &[(u64, f64)], packet: u64) -> f64 {
    course.iter().find(|(newest, _)| *newest == packet).expect("it came").1
}

const FIVE: &[u64] = &[100, 180, 300, 330, 500];
const TWELVE: &[u64] = &[100, 140, 190, 250, 320, 400, 490, 510, 540, 580, 630, 690];

/// The kernel reported 148 and 68 there; `tfrc capture` has 148.2 and 68.2 by its rule, as
/// acknowledgements count in its lengths. RFC 5348 has all five intervals of the first.
#[test]
fn p_is_what_the_kernel_reported() {
    let five = at(&course(FIVE, "estimator = 'linux'"), 771);
    assert!((five - 148.0).abs() < 1e-6, "{five}");
    let twelve = at(&course(TWELVE, "estimator = 'linux'"), 860);
    assert!((twelve - 409.0 / 6.0).abs() < 1e-6, "{twelve}");
    for (drops, packet, by_rfc) in [(FIVE, 771, 656.0 / 4.8), (TWELVE, 860, 409.0 / 6.0)] {
        let rfc = at(&course(drops, "discounting = 'off'"), packet);
        assert!((rfc - by_rfc).abs() < 1e-6, "{rfc}");
    }
}

/// At each packet of the run: the rule that `tfrc capture` applies to a kernel, with the first
/// interval of this run.
#[test]
fn p_follows_the_rule_of_the_analyser() {
    for drops in [FIVE, TWELVE] {
        let course = course(drops, "estimator = 'linux'");
        let first = course.iter().map(|(_, mean)| *mean).find(|mean| mean.is_finite()).expect("a loss");
        let mut compared = 0;
        for (newest, mean) in course {
            // A hole is a loss when three packets after it have come.
            let known = drops.iter().filter(|drop| **drop + 3 <= newest).copied().collect::<Vec<u64>>();
            let Some(latest) = known.last() else { continue };
            let closed = known.windows(2).map(|pair| (pair[1] - pair[0]) as f64).rev();
            let told = linux::mean_interval(first, (newest - latest + 1) as f64, closed);
            assert!((mean - told).abs() < 1e-6, "packet {newest}: {mean}, {told}");
            compared += 1;
        }
        assert!(compared > 1000, "{compared}");
    }
}
