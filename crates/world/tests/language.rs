//! The scenario language beyond single keys: changes, sweeps, sources, runs, shards; determinism;
//! every model reachable.

use std::path::Path;

use tfrc_scenario::{Document, Origin, Plan, Scenario, schema};
use tfrc_units::Duration;
use tfrc_world::batch::{MergeError, Order, Results, Shard, merge, run_plan};
use tfrc_world::{Outcome, run};

fn document(text: &str) -> Document {
    Document::new("test.toml", text)
}

fn plan(document: &Document) -> Plan {
    document.plan().map_err(miette::Report::new).unwrap()
}

fn scenario(text: &str) -> Scenario {
    Scenario::parse("test.toml", text).map_err(miette::Report::new).unwrap()
}

fn json(outcome: &Outcome) -> String {
    serde_json::to_string(outcome).unwrap()
}

/// A bottleneck with `link` among its keys, and then `flows`.
fn dumbbell(link: &str, flows: &str) -> String {
    format!(
        r#"
        duration = "30s"
        warmup = "5s"
        nodes = ["left", "right"]
        [[link]]
        name = "bottleneck"
        from = "left"
        to = "right"
        rate = "2Mbit/s"
        delay = "20ms"
        {link}
        {flows}
        "#
    )
}

fn flow(kind: &str, more: &str) -> String {
    format!("[[flow]]\nname = \"{kind}\"\nkind = \"{kind}\"\nfrom = \"left\"\nto = \"right\"\n{more}\n")
}

/// Randomness in every place: starts, round-trip times, losses, a queue that drops early, bursts,
/// sessions.
fn random_everywhere() -> String {
    let flows = [
        flow("tcp", "count = 3\nstart = \"uniform 0s 2s\"\nrtt = \"uniform 50ms 90ms\"\noverhead = \"1ms\""),
        flow("tfrc", "count = 2\nstart = \"exponential 1s\"\naccess = { delay = \"uniform 0s 5ms\" }"),
        flow("onoff", "rate = \"500kbit/s\"\non = \"exponential 1s\"\noff = \"pareto 1s 1.5\""),
        flow("web", "[flow.web]\nsessions = 4\nwithin = \"3s\""),
        flow("dccp", "segment = \"uniform 200B 1000B\"\npackets_per_second = 30"),
    ];
    dumbbell("queue = { red = { limit = \"40p\" } }\nloss = \"0.5%\"", &flows.concat())
}

#[test]
fn the_same_seed_gives_the_same_bytes_also_side_by_side() {
    let one = scenario(&random_everywhere());
    let alone = json(&run(&one));
    let both = std::thread::scope(|scope| {
        let threads = [scope.spawn(|| json(&run(&one))), scope.spawn(|| json(&run(&one)))];
        threads.map(|thread| thread.join().unwrap())
    });
    assert_eq!(both, [alone.clone(), alone.clone()]);
    let mut other = one.clone();
    other.seed.0 += 1;
    assert_ne!(json(&run(&other)), alone);
}

#[test]
fn another_link_moves_nobody_s_draws() {
    let text = random_everywhere();
    let before = run(&scenario(&text));
    // A node and a link next to the path, before and after the bottleneck in the file, with losses
    // of their own.
    let aside = r#"
        [[link]]
        name = "aside"
        from = "right"
        to = "aside"
        rate = "1Mbit/s"
        delay = "1ms"
        loss = "10%"
        queue = { red = { limit = "10p" } }
        [[flow]]
    "#;
    let text = text.replace("nodes = [\"left\", \"right\"]", "nodes = [\"left\", \"right\", \"aside\"]");
    let after = run(&scenario(&text.replacen("[[flow]]", aside, 1)));
    assert_eq!(after.flows, before.flows);
    assert_eq!(after.packet_hops, before.packet_hops);
    assert_eq!(after.links[..2], before.links[..]);
    assert_eq!(after.links.len(), 4);
}

#[test]
fn another_flow_moves_nobody_s_draws() {
    let two = flow("tcp", "start = \"uniform 0s 2s\"");
    let silent = flow("cbr", "start = \"29s\"\nstop = \"29.9s\"\nrate = \"8kbit/s\"");
    let late = |text: &str| {
        let mut scenario = scenario(&dumbbell("queue = \"20p\"\nloss = \"1%\"", text));
        scenario.duration = Duration::from_secs(28);
        run(&scenario)
    };
    assert_eq!(late(&(silent + &two)).flows[1], late(&two).flows[0]);
}

#[test]
fn changes_reach_every_place() {
    let mut document = document(&dumbbell("queue = \"20p\"", &flow("tfrc", "")));
    for change in [
        "link.bottleneck.rate=5Mbit/s",
        "link.0.queue={ codel = { limit = \"100p\" } }",
        "flow.tfrc.tfrc.revision=ns2",
        "flow.0.count=3",
        "seed=9",
        "flow.tfrc.\"segment\"=500B",
    ] {
        document.set(change);
    }
    let plan = plan(&document);
    let scenario = &plan.points[0].scenario;
    let (_, link) = scenario.network.links().next().unwrap();
    assert_eq!(link.rate.bits_per_sec(), 5e6);
    assert!(matches!(link.queue, tfrc_sim::queue::Queue::CoDel(_)));
    assert_eq!(scenario.seed.0, 9);
    assert_eq!(scenario.flow_names().collect::<Vec<_>>(), ["tfrc-1", "tfrc-2", "tfrc-3"]);
}

#[test]
fn values_say_where_they_come_from() {
    let text = dumbbell(
        "queue = { value = \"20p\", source = \"§4.1\" }\nloss = { value = \"1%\", assumed = \"not stated\" }",
        &flow("tfrc", "count = { value = 2, source = \"figure 3\" }"),
    );
    let plan = plan(&document(&text));
    let mut said: Vec<(String, Origin)> = plan.provenance.into_iter().map(|p| (p.path, p.origin)).collect();
    said.sort_by(|a, b| a.0.cmp(&b.0));
    assert_eq!(
        said,
        [
            ("flow.0.count".to_owned(), Origin::Source("figure 3".to_owned())),
            ("link.0.loss".to_owned(), Origin::Assumed("not stated".to_owned())),
            ("link.0.queue".to_owned(), Origin::Source("§4.1".to_owned())),
        ]
    );
    let plain = text
        .replace("{ value = \"20p\", source = \"§4.1\" }", "\"20p\"")
        .replace("{ value = \"1%\", assumed = \"not stated\" }", "\"1%\"")
        .replace("{ value = 2, source = \"figure 3\" }", "2");
    assert_eq!(run(&plan.points[0].scenario), run(&scenario(&plain)));
}

const SWEEP: &str = r#"
    [[sweep]]
    set = "link.bottleneck.rate"
    values = ["1Mbit/s", "2Mbit/s"]
    [[sweep]]
    set = ["flow.tcp.count", "flow.tfrc.count"]
    values = [1, [2, 1]]
"#;

fn swept() -> Document {
    let flows = flow("tcp", "count = 1\nstart = \"uniform 0s 1s\"") + &flow("tfrc", "count = 1");
    let text = dumbbell("queue = \"20p\"", &flows).replace("\"30s\"", "\"8s\"\nruns = 3");
    document(&format!("{text}\n{SWEEP}"))
}

#[test]
fn every_combination_of_a_sweep_is_a_point() {
    let plan = plan(&swept());
    assert_eq!((plan.points.len(), plan.runs), (4, 3));
    let at: Vec<Vec<&str>> =
        plan.points.iter().map(|p| p.at.iter().map(|(_, value)| value.as_str()).collect()).collect();
    assert_eq!(at, [["1Mbit/s", "1"], ["1Mbit/s", "2,1"], ["2Mbit/s", "1"], ["2Mbit/s", "2,1"]]);
    let flows: Vec<usize> = plan.points.iter().map(|p| p.scenario.flow_names().count()).collect();
    assert_eq!(flows, [2, 3, 2, 3]);
}

#[test]
fn threads_and_shards_change_nothing() {
    let document = swept();
    let plan = plan(&document);
    let do_it = |order| run_plan(&document, &plan, order);
    let text = |results: &Results| serde_json::to_string(results).unwrap();
    let whole = do_it(Order::default());
    assert_eq!(text(&do_it(Order { jobs: 2, ..Order::default() })), text(&whole));
    // Shards pass through their documents, as on different machines.
    let shard = |index| {
        let shard = do_it(Order { shard: Shard { index, of: 5 }, jobs: 2, ..Order::default() });
        serde_json::from_str::<Results>(&text(&shard)).unwrap()
    };
    let shards: Vec<Results> = [4, 2, 5, 1, 3].map(shard).into();
    assert_eq!(text(&merge(shards.clone()).unwrap()), text(&whole));
    assert_eq!(merge(shards[..4].to_vec()), Err(MergeError::Missing { point: 1, run: 3 }));
    assert_eq!(
        merge([shards.clone(), shards.clone()].concat()),
        Err(MergeError::Duplicate { point: 1, run: 1 })
    );
    let other = do_it(Order { seed: Some(5), shard: Shard { index: 1, of: 5 }, ..Order::default() });
    assert_eq!(merge([shards, vec![other]].concat()), Err(MergeError::Different));
    assert_eq!(merge(Vec::new()), Err(MergeError::Nothing));
}

#[test]
fn means_are_those_of_the_runs() {
    let document = swept();
    let results = run_plan(&document, &plan(&document), Order { runs: Some(2), ..Order::default() });
    let point = &results.points[1];
    let means = point.mean.as_ref().unwrap();
    let goodput = |run: usize, flow: usize| point.runs[run].outcome.flows[flow].goodput_bps.unwrap();
    let both = (goodput(0, 0) + goodput(0, 1) + goodput(1, 0) + goodput(1, 1)) / 4.0;
    let row = &means.groups[0];
    assert_eq!(row.id, "tcp");
    assert!((row.values["goodput_bps"].mean.unwrap() - both).abs() < 1e-6);
    assert_eq!(means.flows.len(), 3);
    assert_ne!(point.runs[0].outcome.seed, point.runs[1].outcome.seed);
}

/// Every discipline and every model of losses runs, and does what it is there for.
#[test]
fn every_model_of_a_link_is_reachable() {
    let flows = flow("tcp", "") + &flow("tfrc", "dscp = \"af12\"");
    for (link, low, high) in [
        ("queue = \"20p\"", 0.002, 0.2),
        ("queue = \"20kB ns2\"", 0.002, 0.2),
        ("queue = \"60 buffers of 500B\"", 0.002, 0.2),
        ("queue = { drop_tail = \"20p ns2\" }", 0.002, 0.2),
        (
            "queue = { red = { limit = \"50p\", min = 5, max = 15, weight = 0.002, mean_packet = \"1000B\" } }",
            0.002,
            0.2,
        ),
        (
            "queue = { red = { revision = \"ns2\", limit = \"25kB ns2-red\", adaptation = \"ns2\" } }",
            0.002,
            0.2,
        ),
        ("queue = { rio = { limit = \"60p\", coupling = \"decoupled\" } }", 0.002, 0.2),
        ("queue = { codel = { limit = \"100p\" } }", 0.002, 0.2),
        ("queue = { pie = { limit = \"100p\", revision = \"enhanced\" } }", 0.002, 0.2),
        ("loss = \"2%\"", 0.01, 0.035),
        ("loss = { bernoulli_per_byte = 0.00001 }", 0.006, 0.03),
        (
            "loss = { gilbert_elliott = { to_bad = \"1%\", to_good = \"30%\", in_good = 0, in_bad = \"50%\" } }",
            0.004,
            0.05,
        ),
        ("loss = { periodic = [{ at = \"0s\", every = 50 }] }", 0.018, 0.022),
        ("loss = { scripted = [100, 200, 300] }", 0.0, 0.002),
        ("loss = { scripted_times = [\"10s\", \"11s\"] }", 0.0001, 0.002),
        (
            "loss = { time_varying = [{ at = \"6s\", p = \"5%\" }, { at = \"15s\", p = \"1%\" }] }",
            0.005,
            0.05,
        ),
        (
            "loss = [{ bernoulli = \"2%\", flows = [\"tcp\"] }, { bernoulli = \"1%\", flows = [\"tfrc\"], place = \"after-line\" }]",
            0.005,
            0.03,
        ),
        ("loss = { bernoulli = \"2%\", action = \"mark\" }", 0.01, 0.035),
    ] {
        let outcome = run(&scenario(&dumbbell(link, &flows)));
        let dropped = outcome.links[0].drop_rate;
        assert!((low..=high).contains(&dropped), "{link}: {dropped}");
        assert!(outcome.flows.iter().all(|f| f.goodput_bps > Some(50e3)), "{link}");
    }
}

#[test]
fn losses_of_one_flow_leave_the_others_alone() {
    let flows = flow("tcp", "") + &flow("cbr", "rate = \"100kbit/s\"");
    let outcome = run(&scenario(&dumbbell("loss = [{ bernoulli = \"20%\", flows = [\"cbr\"] }]", &flows)));
    assert!(outcome.flows[1].packet_loss_rate > Some(0.1));
    assert_eq!(outcome.flows[0].loss_event_rate, Some(0.0));
}

#[test]
fn marks_reach_flows_that_can_read_them() {
    let ecn = flow("tcp", "[flow.tcp]\necn = \"on\"")
        + &flow("tfrc", "ecn = \"on\"")
        + &flow("dccp", "segment = '1000B'");
    let link = "loss = { bernoulli = \"2%\", action = \"mark\" }";
    let outcome = run(&scenario(&dumbbell(link, &ecn)));
    // Only the packets of the TCP's and DCCP's handshakes and retransmissions can be dropped, and
    // there are few.
    assert!(outcome.links[0].drop_rate < 0.002, "{}", outcome.links[0].drop_rate);
    assert!(outcome.flows.iter().all(|f| f.loss_event_rate > Some(0.001)), "{:?}", outcome.flows);
}

#[test]
fn in_profile_packets_pass_rio() {
    let text = dumbbell(
        "queue = { rio = { limit = \"100p\" } }\n\
         [[link.marker]]\ntoken_bucket = { rate = \"1Mbit/s\", burst = \"10kB\" }\nflows = [\"tcp\"]\n\
         [[link.marker]]\nfixed = \"medium\"",
        &(flow("tcp", "") + &flow("cbr", "rate = \"2Mbit/s\"")),
    );
    let outcome = run(&scenario(&text));
    let (tcp, cbr) = (&outcome.flows[0], &outcome.flows[1]);
    assert!(tcp.goodput_bps > Some(0.5e6), "{tcp:?}");
    assert!(cbr.packet_loss_rate > Some(2.0 * tcp.packet_loss_rate.unwrap()), "{tcp:?} {cbr:?}");
}

#[test]
fn packets_overtake_and_come_twice() {
    let link = "reorder = { share = \"5%\", extra = \"30ms\" }\nduplicate = \"3%\"";
    let outcome = run(&scenario(&dumbbell(link, &(flow("tcp", "") + &flow("cbr", "rate = \"400kbit/s\"")))));
    // A copy is no data; the TCP takes reordering for losses.
    let cbr = &outcome.flows[1];
    let share = cbr.goodput_bps.unwrap() / cbr.send_rate_bps.unwrap();
    assert!((0.99..=1.01).contains(&share), "{cbr:?}");
    assert!(outcome.flows[0].loss_event_rate > Some(0.001));
}

/// Copies of half of the packets, of the answers and acknowledgements too, with packets late and
/// lost: goodput is at most the send rate, and close to the rate of data that is not lost.
#[test]
fn copies_are_no_goodput() {
    let kinds = [
        ("tfrc", "packets_per_second = 50\nsegment = '500B'", 0.97),
        ("tfrc", "", 0.9),
        ("tfrc-sp", "segment = '200B'\npackets_per_second = 50", 0.97),
        ("dccp", "packets_per_second = 20\nsegment = '500B'", 0.9),
        ("dccp-sp", "segment = '200B'\npackets_per_second = 20", 0.9),
        ("tcp", "", 0.5),
        ("tcp", "[flow.tcp]\nsettings = \"linux\"", 0.5),
        ("cbr", "rate = \"500kbit/s\"", 0.97),
        ("onoff", "rate = \"1Mbit/s\"\non = \"exponential 0.5s\"\noff = \"exponential 0.5s\"", 0.97),
        ("web", "[flow.web]\nsessions = 20\nbetween_pages = \"exponential 1s\"", 0.5),
        ("ping", "interval = \"20ms\"\nsegment = '100B'", 0.94),
    ];
    for more in ["", "loss = \"1%\"", "reorder = { share = \"10%\", extra = \"30ms\" }"] {
        for (kind, settings, least) in kinds {
            let text =
                dumbbell(&format!("duplicate = \"50%\"\nqueue = \"200p\"\n{more}"), &flow(kind, settings));
            let text = text.replace("warmup = \"5s\"", "");
            let [one, both] = [text.clone(), with_way_back(&text)].map(|text| run(&scenario(&text)));
            for flow in [&one.flows[0], &both.flows[0]] {
                let share = flow.goodput_bps.unwrap() / flow.send_rate_bps.unwrap();
                // Late packets are lost to DCCP's window and to a TCP's patience.
                let least = if more.is_empty() { least } else { least - 0.45 };
                assert!((least..=1.0).contains(&share), "{kind} {settings} {more}: {share}");
                let lost = flow.packet_loss_rate.unwrap_or(0.0);
                assert!(more.contains("loss") || lost < 0.06, "{kind} {settings} {more}: {lost} lost");
                assert!(
                    !more.contains("loss") || kind == "web" || (0.004..0.06).contains(&lost),
                    "{kind}: {lost}"
                );
            }
        }
    }
}

/// The network with copies on the way back, too.
fn with_way_back(text: &str) -> String {
    let back = "[[link]]\nname = \"back\"\nfrom = \"right\"\nto = \"left\"\nrate = \"2Mbit/s\"\n\
        delay = \"20ms\"\nduplicate = \"50%\"\n[[flow]]";
    text.replacen("[[flow]]", back, 1)
}

/// Each kind of flow alone on the line.
#[test]
fn every_kind_of_flow_is_reachable() {
    for (kind, more, low, high) in [
        ("tfrc", "", 1.7e6, 2e6),
        ("tfrc", "segment = \"uniform 400B 1200B\"", 1.4e6, 2e6),
        ("tfrc", "packets_per_second = 50\nsegment = '500B'", 0.19e6, 0.201e6),
        ("tfrc", "on = \"1s\"\noff = \"1s\"\npackets_per_second = 50\nsegment = '500B'", 0.08e6, 0.12e6),
        ("tfrc-sp", "segment = '200B'\npackets_per_second = 50", 0.079e6, 0.081e6),
        ("dccp", "", 1.5e6, 2e6),
        ("dccp", "[flow.tfrc]\nrevision = \"ns2\"", 1.5e6, 2e6),
        ("dccp-sp", "segment = '200B'\npackets_per_second = 50", 0.078e6, 0.081e6),
        ("tcp", "", 1.6e6, 2e6),
        ("tcp", "[flow.tcp]\nvariant = \"tahoe\"\nsettings = \"ns2\"\nwindow = 100", 1.2e6, 2e6),
        ("tcp", "[flow.tcp]\nvariant = \"cubic\"\nacks = \"each\"", 1.5e6, 2e6),
        ("tcp", "[flow.tcp]\nvariant = \"reno\"", 1.2e6, 2e6),
        ("tcp", "transfer = \"1MB\"", 0.0, 0.35e6),
        ("cbr", "rate = \"500kbit/s\"", 0.49e6, 0.51e6),
        ("cbr", "packets_per_second = 100\nsegment = '500B'", 0.39e6, 0.41e6),
        (
            "onoff",
            "rate = \"1Mbit/s\"\non = \"exponential 0.5s\"\noff = \"exponential 0.5s\"",
            0.25e6,
            0.75e6,
        ),
        ("web", "[flow.web]\nsessions = 20\nbetween_pages = \"exponential 1s\"", 0.2e6, 2e6),
        ("ping", "interval = \"100ms\"\nsegment = '100B'", 7.9e3, 8.1e3),
    ] {
        let outcome = run(&scenario(&dumbbell("queue = \"20p\"", &flow(kind, more))));
        let goodput = outcome.flows[0].goodput_bps.unwrap();
        assert!((low..=high).contains(&goodput), "{kind} {more}: {goodput}");
        assert!(outcome.flows[0].kind.starts_with(kind), "{}", outcome.flows[0].kind);
        if !matches!(kind, "web" | "cbr" | "onoff") {
            let rtt = outcome.flows[0].rtt_s.unwrap_or(0.041);
            assert!((0.040..0.3).contains(&rtt), "{kind}: {rtt}");
        }
    }
}

#[test]
fn each_source_draws_its_means_once() {
    let phases = "rate = \"20kbit/s\"\non = \"1s\"\noff = \"1s\"\nsegment = '25B'\nheader = 0\ncount = 60\n";
    let of = |draws: &str| {
        let outcome = run(&scenario(&dumbbell("", &flow("onoff", &format!("{phases}{draws}")))));
        outcome.flows.iter().map(|f| f.send_rate_bps.unwrap()).collect::<Vec<f64>>()
    };
    let mean = |rates: &[f64]| rates.iter().sum::<f64>() / rates.len() as f64;
    // The variance over the square of the mean.
    let spread = |rates: &[f64]| {
        let m = mean(rates);
        rates.iter().map(|r| (r - m) * (r - m)).sum::<f64>() / rates.len() as f64 / (m * m)
    };
    let (same, drawn) = (of(""), of("draws = { rate = \"uniform 0kbit/s 40kbit/s\" }"));
    assert!(spread(&same) < 0.0004 && (9.5e3..10.5e3).contains(&mean(&same)), "{same:?}");
    // Uniform from 0 on: 1/3. Over 60 sources five standard errors are 0.37 of the mean.
    assert!((0.16..0.56).contains(&spread(&drawn)) && (6.3e3..13.7e3).contains(&mean(&drawn)), "{drawn:?}");
    assert_eq!(drawn, of("draws = { rate = \"uniform 0kbit/s 40kbit/s\" }"));
    let always = of("draws = { off = \"0s\" }");
    assert!((19e3..20.5e3).contains(&mean(&always)), "{always:?}");
}

#[test]
fn each_flow_has_its_own_round_trip_time() {
    let text = dumbbell("", &flow("ping", "count = 20\nrtt = \"uniform 50ms 150ms\"\ninterval = \"200ms\""));
    let rtts: Vec<f64> = run(&scenario(&text)).flows.iter().map(|f| f.rtt_s.unwrap()).collect();
    assert!(rtts.iter().all(|rtt| (0.0505..0.1515).contains(rtt)), "{rtts:?}");
    let mean = rtts.iter().sum::<f64>() / 20.0;
    // Five standard errors of the mean of twenty: 100 ms/√12/√20.
    assert!((mean - 0.1007).abs() < 0.0323, "{mean}");
    let fixed = run(&scenario(&dumbbell("", &flow("ping", "rtt = \"77ms\"")))).flows[0].rtt_s.unwrap();
    // 84 bytes there and back at 2 Mbit/s.
    assert!((fixed - 0.077_672).abs() < 1e-5, "{fixed}");
}

/// The schema in `docs` is the one of the code; `tfrc sim --schema > docs/scenario.schema.json`
/// writes it.
#[test]
fn the_schema_is_the_one_in_the_documents() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/scenario.schema.json");
    let written: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    assert!(written == schema(), "run `tfrc sim --schema > docs/scenario.schema.json`");
}

/// The estimate is no less than what the flows need and refuses what cannot fit.
#[test]
fn memory_is_estimated() {
    let estimate = |more: &str| scenario(&dumbbell("queue = \"20p\"", &flow("tfrc", more))).memory_estimate();
    assert!(estimate("") < 1 << 20);
    let many = estimate("count = 50000");
    assert!((1 << 29..1 << 31).contains(&many), "{many}");
}

/// Sizes may be given in powers of 1024 as well.
#[test]
fn memory_is_limited() {
    let text =
        |limit: &str| format!("max_memory = \"{limit}\"\n{}", dumbbell("", &flow("tfrc", "count = 70000")));
    let error = Scenario::parse("test.toml", &text("512 MiB")).unwrap_err().to_string();
    assert!(error.contains("a run needs about 1"), "{error}");
    assert!(Scenario::parse("test.toml", &text("4GiB")).is_ok());
}
