//! Flows with a guarantee on paths without losses of their own: the circuit breaker strikes on none
//! of the 108 of `docs/models/circuit-breaker.md`. A single mean of RFC 8083 §4.3 struck on 33.

use tfrc_scenario::Scenario;
use tfrc_world::run;

/// Bits a second, and the round-trip time in milliseconds.
const PATHS: [(f64, f64); 9] = [
    (2e6, 100.0),
    (10e6, 20.0),
    (10e6, 100.0),
    (10e6, 300.0),
    (10e6, 600.0),
    (50e6, 50.0),
    (50e6, 100.0),
    (50e6, 300.0),
    (100e6, 600.0),
];
/// Guarantees, as shares of the rate.
const SHARES: [f64; 2] = [0.2, 0.02];

/// The queues of a path, in packets of 1000 bytes.
fn queues((rate, rtt): (f64, f64)) -> [String; 3] {
    let product = rate * rtt / 1e3 / 8000.0;
    let drop_tail = |share: f64, least: f64| format!("\"{:.0}p\"", (product * share).max(least));
    let red = "revision = \"adaptive\", mean_packet = \"1000B\"";
    [
        drop_tail(1.0, 20.0),
        drop_tail(0.25, 10.0),
        format!("{{ red = {{ limit = \"{:.0}p\", {red} }} }}", 4.0 * product),
    ]
}

/// A flow with a guarantee, alone or next to two TCPs. A stop comes after 35 s at the soonest.
fn scenario(path: (f64, f64), queue: &str, tcps: &str, share: f64) -> Scenario {
    let (rate, rtt) = path;
    let text = format!(
        r#"
        duration = "60s"
        seed = 1
        nodes = ["near", "far"]
        [[link]]
        from = "near"
        to = "far"
        rate = "{}kbit/s"
        delay = "{}ms"
        queue = {queue}
        [[flow]]
        kind = "tfrc"
        from = "near"
        to = "far"
        segment = "1000B"
        guarantee = "{}kbit/s"
        {tcps}"#,
        rate / 1e3,
        rtt / 2.0,
        share * rate / 1e3
    );
    Scenario::parse("test", &text).map_err(miette::Report::new).unwrap()
}

const TCPS: &str = r#"
        [[flow]]
        kind = "tcp"
        count = 2
        from = "near"
        to = "far"
        segment = "960B"
        start = "uniform 0s 5s"
        [flow.tcp]
        variant = "sack""#;

#[test]
fn the_circuit_breaker_strikes_on_no_clean_path() {
    for path in PATHS {
        for (queue, tcps) in queues(path).iter().flat_map(|queue| [(queue, ""), (queue, TCPS)]) {
            for share in SHARES {
                let outcome = run(&scenario(path, queue, tcps, share));
                let flow = &outcome.flows[0];
                let which = format!("{path:?}, {queue}, {} flows, {share}", outcome.flows.len());
                assert_eq!(flow.stopped, None, "{which}");
                assert!(flow.send_rate_bps.unwrap() > share * path.0 / 2.0, "{which}: {flow:?}");
            }
        }
    }
}
