//! Delays, completion times and fairness of simulated flows, against arithmetic.

use tfrc_scenario::Scenario;
use tfrc_world::recording::{Keep, PacketDelays};
use tfrc_world::results::FlowDelays;
use tfrc_world::{Outcome, Run, run};

/// One link of 8 Mbit/s and 20 ms, 1 µs a byte.
fn outcome(head: &str, flows: &str) -> Outcome {
    run(&scenario(head, flows))
}

fn scenario(head: &str, flows: &str) -> Scenario {
    let text = format!(
        "duration = '20s'\nnodes = ['a', 'b']\n\
         [[link]]\nname = 'l'\nfrom = 'a'\nto = 'b'\nrate = '8Mbit/s'\ndelay = '20ms'\n{head}\n{flows}"
    );
    Scenario::parse("test", &text).map_err(miette::Report::new).unwrap()
}

fn flow(kind: &str, name: &str, more: &str) -> String {
    format!("[[flow]]\nname = '{name}'\nkind = '{kind}'\nfrom = 'a'\nto = 'b'\n{more}\n")
}

/// Each within the histogram's 1 %, and a microsecond.
#[track_caller]
fn near(value: Option<f64>, wanted: f64) {
    let near = |x: f64| (x - wanted).abs() <= wanted * 0.01 + 1e-6;
    assert!(value.is_some_and(near), "{value:?} is not {wanted}");
}

#[test]
fn a_stream_alone_has_the_delay_of_the_empty_path() {
    let found = outcome("", &flow("cbr", "x", "rate = '1Mbit/s'\nsegment = '972B'"));
    let delays = found.flows[0].delays;
    // 20 ms and 972 + 28 bytes at 1 µs each.
    for delay in [delays.delay_p50_s, delays.delay_p95_s, delays.delay_p99_s] {
        near(delay, 21e-3);
    }
    near(delays.queueing_delay_p99_s, 0.0);
    near(delays.jitter_s, 0.0);
    assert_eq!(found.jain_index, None);
}

#[test]
fn a_full_queue_delays_by_what_it_holds() {
    // Twice the link's rate: after the first seconds fifty packets of 1000 bytes wait, 1 ms each.
    let found = outcome("queue = '50p'", &flow("cbr", "x", "rate = '16Mbit/s'\nsegment = '972B'"));
    let delays = found.flows[0].delays;
    near(delays.queueing_delay_p50_s, 50e-3);
    near(delays.delay_p50_s, 71e-3);
    // At most one transmission more or less from packet to packet.
    assert!(delays.jitter_s.is_some_and(|jitter| jitter < 1e-3), "{delays:?}");
}

#[test]
fn packets_that_a_link_holds_up_are_late_by_as_much() {
    // Of 1000 packets 250 are 5 ms later, too little for one to overtake another: a change of
    // 5 ms at the beginning and the end of each stretch of them.
    let found = outcome(
        "reorder = { share = '25%', extra = '5ms' }",
        &flow("cbr", "x", "rate = '400kbit/s'\nsegment = '972B'"),
    );
    let delays = found.flows[0].delays;
    near(delays.delay_p50_s, 21e-3);
    near(delays.delay_p95_s, 26e-3);
    near(delays.queueing_delay_p95_s, 5e-3);
    // 2 · 1/4 · 3/4 of the packets differ from the one before.
    assert!(delays.jitter_s.is_some_and(|jitter| (jitter / (0.375 * 5e-3) - 1.0).abs() < 0.15), "{delays:?}");
}

#[test]
fn transfers_end_with_their_last_byte() {
    let transfer = "transfer = '1MB'\nsegment = '1000B'\ncount = 3\nstart = 'uniform 0s 2s'";
    let found = outcome("queue = '100p'", &[flow("tcp", "x", transfer), flow("tcp", "y", "")].concat());
    let group = &found.groups[0];
    assert_eq!((group.id.as_str(), group.completion.completed, found.groups.len()), ("x", Some(3), 1));
    // The shares of three and one flow: the slowest of the group is the last of the group's times.
    let times: Vec<f64> =
        found.flows[..3].iter().filter_map(|flow| flow.completion.completion_p50_s).collect();
    let slowest = times.iter().copied().fold(0.0, f64::max);
    assert!(times.len() == 3 && times.iter().all(|time| (1.0..15.0).contains(time)), "{times:?}");
    assert!(group.completion.completion_p99_s.is_some_and(|p99| (p99 / slowest - 1.0).abs() < 0.05));
    assert_eq!(found.flows[3].completion.completed, None);
    let alone = outcome("", &flow("tcp", "x", "transfer = '10MB'\nsegment = '1000B'"));
    // 10 MB at 8 Mbit/s are 10 s, and the headers of 40 bytes 4 % more.
    let time = alone.flows[0].completion.completion_p50_s.unwrap();
    assert!((10.4..11.2).contains(&time), "{time}");
    let late = outcome("", &flow("tcp", "x", "transfer = '100MB'"));
    let completion = late.flows[0].completion;
    assert_eq!((completion.completed, completion.completion_p50_s), (Some(0), None));
}

#[test]
fn objects_of_web_sessions_have_times() {
    let web = "[flow.web]\nsessions = 20\napart = 'exponential 300ms'\npages = 4\n\
        objects = 2\nobject = 5\nbetween_pages = 'exponential 1s'\n\
        between_objects = 'exponential 50ms'\n";
    let found = outcome("queue = '100p'", &[flow("web", "w", ""), web.to_owned()].concat());
    let completion = found.flows[0].completion;
    assert!(completion.completed.is_some_and(|objects| (80..=160).contains(&objects)), "{completion:?}");
    // A request and an object take three ways at least, handshakes included, and no second.
    let [p50, p99] = [completion.completion_p50_s, completion.completion_p99_s].map(Option::unwrap);
    assert!(p50 > 0.06 && p50 < p99 && p99 < 1.0, "{completion:?}");
}

#[test]
fn two_alike_are_fair_and_converge() {
    let flows = [flow("tfrc", "x", ""), flow("tfrc", "y", "start = '3s'")].concat();
    let mut scenario = scenario("queue = '40p'", &flows);
    scenario.duration = tfrc_units::Duration::from_secs(120);
    scenario.warmup = tfrc_units::Duration::from_secs(30);
    let found = run(&scenario);
    assert!(found.jain_index.is_some_and(|index| index > 0.95), "{:?}", found.jain_index);
    // The first is near the mean only once the second has its share.
    let [x, y] = [0, 1].map(|n| found.flows[n].convergence_s.expect("it converges"));
    assert!((y + 3.0 - x).abs() < 1e-9 && (1.0..60.0).contains(&y), "{x}, {y}");
}

#[test]
fn a_recording_measures_packets_where_it_is_asked_to() {
    let scenario = scenario("", &flow("cbr", "x", "rate = '1Mbit/s'"));
    let of = |keep| Run::of(&scenario).record(keep).expect("runs").outcome.flows[0].delays;
    assert_eq!(of(Keep::default()), FlowDelays::default());
    assert!(of(Keep { delays: PacketDelays::Measured, ..Keep::default() }).delay_p95_s.is_some());
}

#[test]
fn late_hosts_answer_later() {
    // Both hosts answer later by 0.04 ms in the mean.
    let rtt = |more| outcome("", &flow("ping", "x", &format!("interval = '20ms'\n{more}"))).flows[0].rtt_s;
    let [exact, late] = ["", "overhead = 'emu-vm-6.18'"].map(|more| rtt(more).unwrap_or(0.0));
    assert!((60e-6..120e-6).contains(&(late - exact)), "{late} next to {exact}");
}

#[test]
fn late_hosts_end_the_exact_ties_of_a_short_queue() {
    // A burst of three reaches a line that is free at that very moment, with room for two more;
    // hosts that are late by some tens of microseconds find it busy every other time.
    let network = "duration = '20s'\nnodes = ['a', 'b']\n[[link]]\nname = 'l'\nfrom = 'a'\nto = 'b'\n\
                   rate = '10Mbit/s'\ndelay = '10ms'\nqueue = '2p'\nreverse = { delay = '0ms', queue = '100p' }\n";
    let reno = |overhead: &str| {
        let tcp = "tcp = { settings = 'linux', variant = 'sack' }";
        let text = format!("{network}{}", flow("tcp", "x", &format!("{tcp}\n{overhead}")));
        let scenario = Scenario::parse("test", &text).map_err(miette::Report::new).unwrap();
        run(&scenario).flows[0].goodput_bps.unwrap_or(0.0)
    };
    let [exact, late] = ["", "overhead = 'emu-vm-6.18'"].map(reno);
    assert!((0.4..0.75).contains(&(late / exact)), "{late} next to {exact}");
}
