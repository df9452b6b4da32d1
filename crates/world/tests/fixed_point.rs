//! The whole path — scenario, engine, agents, metrics — against theory: under independent losses of
//! probability p the long-run rate is L packets per round-trip time, where 1/f(p_e) = L and p_e =
//! p/(1 + pL), f being RFC 5348's equation.

use tfrc_scenario::Scenario;
use tfrc_sim::Seed;

const SEEDS: u64 = 10;

/// Rate over L, loss event rate over p_e, packet loss rate over p: means over the seeds.
fn measured(p: f64, l: f64) -> [f64; 3] {
    let text = format!(
        r#"
        duration = "2100s"
        warmup = "100s"
        nodes = ["near", "far"]
        [[link]]
        from = "near"
        to = "far"
        rate = "1Gbit/s"
        delay = "50ms"
        loss = {p}
        [[flow]]
        kind = "tfrc"
        from = "near"
        to = "far"
        segment = "1460B"
        "#
    );
    let mut scenario = Scenario::parse("fixed point", &text).unwrap();
    let mut sums = [0.0; 3];
    for seed in 1..=SEEDS {
        scenario.seed = Seed(seed);
        let outcome = tfrc_world::run(&scenario);
        let flow = &outcome.flows[0];
        let rtt = flow.rtt_s.unwrap();
        assert!((0.1..0.1001).contains(&rtt), "seed {seed}: nothing waits, but the round trip takes {rtt} s");
        let packets_per_rtt = flow.send_rate_bps.unwrap() / 8.0 / 1460.0 * 0.1;
        let p_e = p / (1.0 + p * l);
        let ratios =
            [packets_per_rtt / l, flow.loss_event_rate.unwrap() / p_e, flow.packet_loss_rate.unwrap() / p];
        for (sum, ratio) in sums.iter_mut().zip(ratios) {
            *sum += ratio / SEEDS as f64;
        }
    }
    sums
}

#[test]
fn long_run_rate_and_loss_event_rate() {
    for (p, l) in [(0.01, 11.995), (0.05, 4.349), (0.10, 2.271)] {
        let [rate, events, losses] = measured(p, l);
        // The bands of the design: 7 % for the rate, 10 % for loss events. Of 20,000 to 240,000
        // packets a run, ten runs, the packet loss rate is known to better than 2 %.
        assert!((0.93..=1.07).contains(&rate), "p = {p}: {rate} of the rate of theory");
        assert!((0.90..=1.10).contains(&events), "p = {p}: {events} of the loss event rate of theory");
        assert!((0.98..=1.02).contains(&losses), "p = {p}: {losses} of the losses asked for");
    }
}
