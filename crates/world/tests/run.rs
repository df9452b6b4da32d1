//! Runs of scenarios: what flows get from links, and how it is reported.

use std::path::Path;

use tfrc::guard::Trip;
use tfrc_scenario::{Scenario, World};
use tfrc_units::Duration;
use tfrc_world::watch::{Look, Watch};
use tfrc_world::{Outcome, Run, run};

fn shipped(name: &str) -> Scenario {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios").join(name);
    Scenario::load(&path, World::Simulated).map_err(miette::Report::new).unwrap()
}

/// One link of 2 Mbit/s and 20 ms each way, with `flows` in it.
fn with_flows(flows: &str) -> Scenario {
    let head = r#"
        duration = "60s"
        nodes = ["near", "far"]
        [[link]]
        from = "near"
        to = "far"
        rate = "2Mbit/s"
        delay = "20ms"
        queue = "25p"
    "#;
    Scenario::parse("test", &format!("{head}\n{flows}")).map_err(miette::Report::new).unwrap()
}

fn flow(more: &str) -> String {
    format!("[[flow]]\nkind = \"tfrc\"\nfrom = \"near\"\nto = \"far\"\n{more}\n")
}

fn close(value: f64, expected: f64, tolerance: f64) {
    assert!((value - expected).abs() <= tolerance, "{value} is not {expected} ± {tolerance}");
}

#[test]
fn one_flow_fills_the_bottleneck() {
    let outcome = run(&shipped("bottleneck.toml"));
    let (flow, link) = (&outcome.flows[0], &outcome.links[0]);
    close(link.utilization, 0.97, 0.031);
    // Of 1504 bytes on the line 1460 are payload.
    close(flow.goodput_bps.unwrap() / (link.utilization * 2e6), 1460.0 / 1504.0, 0.005);
    // The queue holds 25 packets of 6 ms each behind the one in transmission; it is neither empty
    // nor always full.
    close(link.mean_queue_packets, 15.0, 10.0);
    close(flow.rtt_s.unwrap(), 0.046 + 0.006 * link.mean_queue_packets, 0.006);
    close(flow.packet_loss_rate.unwrap(), link.drop_rate, 0.001);
    let (events, losses) = (flow.loss_event_rate.unwrap(), flow.packet_loss_rate.unwrap());
    // What is lost just before the measured time may be noticed in it.
    assert!(events > 0.0 && events <= losses * 1.05, "{events} {losses}");
}

#[test]
fn a_flow_follows_a_rate_that_halves() {
    let mut scenario = shipped("halving.toml");
    // Ten seconds after the halving, until the rate comes back.
    scenario.warmup = Duration::from_secs(20);
    scenario.duration = Duration::from_secs(30);
    let outcome = run(&scenario);
    close(outcome.flows[0].send_rate_bps.unwrap(), 1e6 * 1460.0 / 1504.0, 0.08e6);
    close(outcome.links[0].utilization, 0.95, 0.051);
}

#[test]
fn an_application_that_has_less_to_send_than_it_may() {
    let outcome = run(&with_flows(&flow("segment = '1000B'\npackets_per_second = 20")));
    close(outcome.flows[0].send_rate_bps.unwrap(), 20.0 * 8000.0, 3.0 * 8000.0);
    assert_eq!(outcome.flows[0].packet_loss_rate, Some(0.0));
    assert_eq!(outcome.flows[0].loss_event_rate, Some(0.0));
    assert_eq!(outcome.links[0].drop_rate, 0.0);
}

#[test]
fn an_application_that_has_more_to_send_leaves_packets_out() {
    let outcome = run(&with_flows(&flow("packets_per_second = 1000")));
    close(outcome.links[0].utilization, 0.95, 0.051);
}

#[test]
fn start_and_stop() {
    let mut scenario = with_flows(&flow("start = \"20s\"\nstop = \"40s\""));
    let rate = |scenario: &Scenario| run(scenario).flows[0].send_rate_bps.unwrap();
    let second = Duration::from_secs(1);
    let mut window = |from, to| {
        scenario.warmup = second * from;
        scenario.duration = second * to;
        rate(&scenario)
    };
    assert_eq!(window(0, 19), 0.0);
    close(window(25, 40), 1.9e6, 0.1e6);
    assert_eq!(window(40, 60), 0.0);
}

#[test]
fn two_flows_share() {
    let mut scenario = with_flows(&(flow("") + &flow("start = \"3s\"")));
    scenario.duration = Duration::from_secs(600);
    scenario.warmup = Duration::from_secs(100);
    let outcome = run(&scenario);
    let rates: Vec<f64> = outcome.flows.iter().map(|f| f.goodput_bps.unwrap()).collect();
    close(rates[0] + rates[1], 1.94e6, 0.06e6);
    // Equal in theory, since both see the same round trip and the same queue; drop-tail is not so
    // even-handed.
    close(rates[0] / (rates[0] + rates[1]), 0.5, 0.2);
    assert_eq!(outcome.flows[1].id, "tfrc-2");
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let mut scenario = shipped("loss-5.toml");
    scenario.duration = Duration::from_secs(200);
    let first = run(&scenario);
    assert_eq!(first, run(&scenario));
    scenario.seed.0 += 1;
    assert_ne!(first, run(&scenario));
}

#[test]
fn a_run_that_is_cut_is_the_beginning_of_the_longer_one() {
    // What is measured must not depend on how the run is cut into pieces.
    let mut scenario = with_flows(&flow(""));
    let whole = run(&scenario);
    scenario.warmup = Duration::from_secs(30);
    let second = run(&scenario);
    scenario.duration = Duration::from_secs(30);
    scenario.warmup = Duration::ZERO;
    let first = run(&scenario);
    let sent = |o: &Outcome| o.flows[0].send_rate_bps.unwrap() * o.measured_s;
    close(sent(&first) + sent(&second), sent(&whole), 1.0);
}

#[test]
fn watching_changes_nothing_and_adds_up() {
    let mut scenario = with_flows(&(flow("") + &flow("start = \"3s\"")));
    scenario.duration = Duration::from_millis(20_300);
    scenario.warmup = Duration::from_secs(7);
    let mut seen = Vec::new();
    let watch = Watch::flows(Duration::from_millis(500), |interval| seen.push(interval));
    assert_eq!(Run::of(&scenario).watch(watch).outcome(), Some(run(&scenario)));
    scenario.warmup = Duration::ZERO;
    let whole = run(&scenario);
    for flow in &whole.flows {
        let own: Vec<_> = seen.iter().filter(|i| i.flow.as_ref() == Some(&flow.id)).collect();
        assert_eq!((own.len(), own[40].t_s), (41, 20.3));
        close(own[40].interval_s, 0.3, 1e-9);
        let bits: f64 = own.iter().map(|i| i.send_rate_bps.unwrap() * i.interval_s).sum();
        close(bits, flow.send_rate_bps.unwrap() * whole.duration_s, 1.0);
        let packets: u64 = own.iter().map(|i| i.sent_packets.unwrap()).sum();
        close(packets as f64 * 1460.0 * 8.0, bits, 1.0);
    }
    assert_eq!(seen[1].flow.as_deref(), Some("tfrc-2"));
    assert_eq!(seen[1].sent_packets, Some(0));
}

/// The loss of a flow is what links dropped of it, in each second and in sum: packets that wait in
/// a queue are not lost, and acknowledgements that are dropped are not of the flow's packets.
#[test]
fn the_loss_of_a_flow_is_what_links_drop_of_it() {
    let text = r#"
        duration = "60s"
        nodes = ["near", "far"]
        [[link]]
        name = "there"
        from = "near"
        to = "far"
        rate = "7Mbit/s"
        delay = "160ms"
        queue = { codel = { limit = "1000p" } }
        [[link]]
        from = "far"
        to = "near"
        rate = "7Mbit/s"
        delay = "160ms"
        loss = "5%"
        [[flow]]
        kind = "KIND"
        from = "near"
        to = "far"
    "#;
    for kind in ["tcp", "tfrc", "dccp", "cbr\"\n rate = \"7.5Mbit/s"] {
        let text = text.replace("KIND", kind);
        let scenario = Scenario::parse("test", &text).map_err(miette::Report::new).unwrap();
        let mut seen = Vec::new();
        let watch = Watch::all(Duration::from_secs(1), |l| seen.push(l));
        let outcome = Run::of(&scenario).watch(watch).outcome().unwrap();
        let lost: Vec<_> = seen.iter().map(|look| look.flows[0].lost_packets).collect();
        let dropped: Vec<_> = seen.iter().map(|look| look.links[0].lost_packets).collect();
        assert_eq!(lost, dropped, "{kind}");
        assert!(lost.iter().flatten().sum::<u64>() > 1, "{kind}: {lost:?}");
        // Apart from what is under way at the ends.
        let (flow, link) = (outcome.flows[0].packet_loss_rate.unwrap(), outcome.links[0].drop_rate);
        close(flow / link, 1.0, 0.03);
    }
}

/// Flows on a path that loses half of the packets, so that their circuit breaker or their stop rule
/// strikes: results and time series say so, with the time and the rule.
#[test]
fn flows_that_a_rule_of_their_own_stops() {
    let lossy = |flow: &str| {
        let link = "rate = \"10Mbit/s\"\ndelay = \"50ms\"\nloss = \"50%\"";
        let head = "duration = \"60s\"\nseed = 2\nnodes = [\"near\", \"far\"]";
        let text = format!("{head}\n[[link]]\nfrom = \"near\"\nto = \"far\"\n{link}\n{flow}");
        Scenario::parse("test", &text).map_err(miette::Report::new).unwrap()
    };
    let dccp = "[[flow]]\nkind = \"dccp\"\nfrom = \"near\"\nto = \"far\"";
    let rule = |after| {
        let least = "stop_below = \"20kbit/s\"\nstop_packets_per_second = 5";
        format!("{dccp}\n[flow.tfrc]\nstop_rule = \"{after}\"\n{least}")
    };
    for (flow, at, trip, still) in [
        (flow("guarantee = \"1Mbit/s\""), 35.0..36.5, Trip::Congestion, true),
        (rule("terminate"), 5.0..20.0, Trip::DropRate, true),
        // The last of several pauses.
        (rule("suspend"), 5.0..60.0, Trip::DropRate, false),
    ] {
        let mut seen = Vec::new();
        let watch = Watch::all(Duration::from_secs(1), |l| seen.push(l));
        let outcome = Run::of(&lossy(&flow)).watch(watch).outcome().unwrap();
        let stop = outcome.flows[0].stopped.expect("a stop");
        assert!(stop.rule == trip && at.contains(&stop.at_s), "{flow}: {stop:?}");
        let stands = |look: &&Look| look.flows[0].stopped == Some(trip);
        let first = seen.iter().find(stands).expect("a stretch of the stop").flows[0].t_s;
        // A flow that pauses may have paused before.
        assert!(first == stop.at_s.ceil() || !still && first < stop.at_s, "{flow}: {first}, {stop:?}");
        let after = seen.iter().skip_while(|look| !stands(look));
        assert_eq!(after.clone().all(|look| stands(&look)), still, "{flow}");
    }
    let outcome = run(&lossy(&flow("")));
    assert_eq!(outcome.flows[0].stopped, None);
}

#[test]
fn the_keys_of_an_outcome() {
    let mut scenario = shipped("loss-5.toml");
    scenario.duration = Duration::from_secs(110);
    let json = serde_json::to_string_pretty(&run(&scenario)).unwrap();
    insta::assert_snapshot!(json);
}

/// The list of loss intervals agrees with the loss event rate measured in the same run, and is
/// there only if asked for.
/// A paced segment that is due waits for the overhead of its host, and time goes on meanwhile.
#[test]
fn a_paced_tcp_with_an_overhead() {
    let goodput = |overhead: &str| {
        let flow = format!(
            "[[flow]]\nkind = \"tcp\"\nfrom = \"near\"\nto = \"far\"\noverhead = \"{overhead}\"\n\
             [flow.tcp]\nvariant = \"bbr\"\nsettings = \"linux\"\n"
        );
        run(&with_flows(&flow)).flows[0].goodput_bps.unwrap()
    };
    close(goodput("100us") / goodput("0s"), 1.0, 0.05);
}

#[test]
fn loss_intervals_where_they_are_kept() {
    let text = "duration = '300s'\nwarmup = '20s'\nnodes = ['a', 'b']\n\
        [[link]]\nname = 'path'\nfrom = 'a'\nto = 'b'\nrate = '10Mbit/s'\ndelay = '50ms'\nloss = '2%'\n\
        [[flow]]\nname = 'kept'\nkind = 'tfrc'\nfrom = 'a'\nto = 'b'\nloss_intervals = 'kept'\n\
        [[flow]]\nname = 'plain'\nkind = 'tfrc'\nfrom = 'a'\nto = 'b'\n";
    let outcome = tfrc_world::run(&Scenario::parse("kept.toml", text).expect("a sound scenario"));
    let [kept, plain] = &outcome.flows[..] else { panic!("two flows") };
    let intervals = kept.loss_intervals.as_ref().expect("they are kept");
    assert_eq!(plain.loss_intervals, None);
    let mean = intervals.iter().sum::<f64>() / intervals.len() as f64;
    let rate = kept.loss_event_rate.expect("there were losses");
    assert!(
        intervals.len() > 50 && (mean * rate - 1.0).abs() < 0.05,
        "{} intervals of {mean}, {rate}",
        intervals.len()
    );
}
