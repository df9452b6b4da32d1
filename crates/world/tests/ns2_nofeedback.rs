//! A flow that never hears anything, packet by packet, against a trace of ns-2.35.

use tfrc_scenario::Scenario;
use tfrc_units::Duration;
use tfrc_world::Run;
use tfrc_world::results::Interval;
use tfrc_world::watch::Watch;

/// When ns-2 sent, in seconds: 14 bytes, 50 packets a second from the application, all of them
/// lost. Each second packet is due just when the nofeedback timer (twice the time of a packet)
/// expires and lets one go: it is one packet, not two. Left out are the second packets at 2.893,
/// 5.880 and 11.853 s, where rounding parts the two times in ns-2.
const SENT: [f64; 17] = [
    0.0, 0.0467, 0.0933, 0.1867, 0.28, 0.4667, 0.6533, 1.0267, 1.4, 2.1467, 2.8933, 4.3867, 5.88, 8.8667,
    11.8533, 17.8267, 23.8,
];

const SCENARIO: &str = r#"
duration = "25s"
nodes = ["near", "far"]

[[link]]
name = "path"
from = "near"
to = "far"
rate = "100Mbit/s"
delay = "120ms"
loss = "100%"

[[flow]]
name = "flow"
kind = "tfrc"
from = "near"
to = "far"
segment = "14B"
header = "32B"
packets_per_second = 50
backlog = "kept"
tfrc = { revision = "ns2" }
"#;

#[test]
fn the_packet_of_an_expiry_is_the_one_that_was_due() {
    let scenario = Scenario::parse("nofeedback.toml", SCENARIO).expect("a sound scenario");
    let mut sent = 0;
    let each = |interval: Interval| {
        sent += interval.sent_packets.unwrap_or(0);
        let theirs = SENT.iter().filter(|at| **at <= interval.t_s).count() as u64;
        assert_eq!(sent, theirs, "at {} s", interval.t_s);
    };
    let _ = Run::of(&scenario).watch(Watch::flows(Duration::from_millis(10), each)).outcome();
    assert_eq!(sent, SENT.len() as u64);
}
