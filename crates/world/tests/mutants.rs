//! The table of mutants: for each rule of TFRC that can be left out or put wrong, a named check
//! that holds with the rule and fails without it. A rule is put wrong by one setting of the
//! scenario, or, for "no congestion control", by another sender. Everything is in virtual time and
//! takes seconds.

use tfrc::study::{Choices, Estimator, OpenInterval};
use tfrc_scenario::{Document, FlowKind, Scenario};
use tfrc_sim::Seed;
use tfrc_world::results::Interval;
use tfrc_world::watch::Watch;
use tfrc_world::{Outcome, Run, run};

/// A rule, how it is put wrong, and what must notice.
struct Mutant {
    name: &'static str,
    check: Check,
    scenario: &'static str,
    change: &'static [&'static str],
    /// A choice that has no key.
    choice: fn(&mut Choices),
}

/// The choices as they are.
const fn same(_: &mut Choices) {}

/// The open interval in every mean.
fn always_open(choices: &mut Choices) {
    if let Estimator::AverageLossInterval { open, .. } = &mut choices.estimator {
        *open = OpenInterval::Always;
    }
}

/// A named check: what is measured, and between what it must be.
#[derive(Clone, Copy)]
struct Check {
    name: &'static str,
    value: fn(&Scenario) -> f64,
    between: [f64; 2],
}

/// One flow and one TCP at 2 Mbit/s.
const SHARED: &str = r#"
    duration = "120s"
    warmup = "20s"
    nodes = ["near", "far"]
    [[link]]
    from = "near"
    to = "far"
    rate = "2Mbit/s"
    delay = "20ms"
    queue = "25p"
    [[flow]]
    name = "one"
    kind = "tfrc"
    from = "near"
    to = "far"
    [[flow]]
    name = "tcp"
    kind = "tcp"
    from = "near"
    to = "far"
"#;

/// Ten flows of small packets on a lossy path of 240 ms: Table 8 of RFC 4828.
const TABLE_8: &str = r#"
    duration = "100s"
    warmup = "50s"
    nodes = ["near", "far"]
    [[link]]
    name = "path"
    from = "near"
    to = "far"
    rate = "100Mbit/s"
    delay = "120ms"
    loss = "40%"
    reverse = { loss = "0%" }
    [[flow]]
    name = "flow"
    kind = "tfrc"
    count = 10
    from = "near"
    to = "far"
    start = "uniform 0s 2s"
    segment = "14B"
    header = "32B"
    packets_per_second = 50
    [flow.tfrc]
    revision = "ns2"
"#;

/// As Table 8 runs TFRC-SP.
const SP: &str = r#"
    packet_size = "tfrc-sp"
    path_mss = "1460B"
    charged_header = "32B"
    short_intervals = "ns2"
"#;

/// Fifty packets a second, five in a round-trip time, and losses by packet number:
/// every loss is an event. Intervals of 100 packets, then four of 10.
const SCRIPTED: &str = r#"
    duration = "22s"
    nodes = ["near", "far"]
    [[link]]
    name = "path"
    from = "near"
    to = "far"
    rate = "10Mbit/s"
    delay = "50ms"
    loss = { scripted = [100, 200, 300, 400, 500, 600, 700, 800, 900, 1000, 1010, 1020, 1030, 1040] }
    reverse = { loss = "0%" }
    [[flow]]
    name = "flow"
    kind = "tfrc"
    from = "near"
    to = "far"
    segment = "20B"
    packets_per_second = 50
"#;

/// Every second packet is lost, each in a round-trip time of its own: p is exactly a half.
const HALVED: &str = r#"
    duration = "200s"
    nodes = ["near", "far"]
    [[link]]
    from = "near"
    to = "far"
    rate = "10Mbit/s"
    delay = "50ms"
    loss = { periodic = [{ at = "0s", every = 2 }] }
    reverse = { loss = "0%" }
    [[flow]]
    name = "flow"
    kind = "tfrc"
    from = "near"
    to = "far"
    segment = "20B"
    packets_per_second = 5
    [flow.tfrc]
    revision = "ns2"
    rto = "fixed"
    rto_time = "300ms"
"#;

/// A flow with 500 kbit/s promised, through a link that drops a fifth of all packets.
const PROMISED: &str = r#"
    duration = "60s"
    warmup = "20s"
    nodes = ["near", "far"]
    [[link]]
    from = "near"
    to = "far"
    rate = "2Mbit/s"
    delay = "50ms"
    loss = "20%"
    reverse = { loss = "0%" }
    [[flow]]
    name = "flow"
    kind = "tfrc"
    from = "near"
    to = "far"
    dscp = "af11"
    guarantee = "500kbit/s"
    [flow.tfrc]
    circuit_breaker = "off"
"#;

/// One packet in twenty is overtaken by two others; nothing is lost.
const REORDERED: &str = r#"
    duration = "30s"
    nodes = ["near", "far"]
    [[link]]
    from = "near"
    to = "far"
    rate = "1Mbit/s"
    delay = "50ms"
    queue = "unlimited"
    reorder = { share = "5%", extra = "25ms" }
    [[flow]]
    name = "flow"
    kind = "tfrc"
    from = "near"
    to = "far"
    segment = "1000B"
    packets_per_second = 100
"#;

/// 800 kbit/s of an application on a link of 4 Mbit/s, and no loss.
const LIMITED: &str = r#"
    duration = "14s"
    nodes = ["near", "far"]
    [[link]]
    name = "path"
    from = "near"
    to = "far"
    rate = "4Mbit/s"
    delay = "50ms"
    queue = "unlimited"
    [[flow]]
    name = "flow"
    kind = "tfrc"
    from = "near"
    to = "far"
    segment = "1000B"
    packets_per_second = 100
"#;

const SHARE: Check = Check {
    name: "a flow beside a TCP leaves it a tenth at least",
    value: |scenario| {
        let outcome = run(scenario);
        let rate = |i: usize| outcome.flows[i].goodput_bps.unwrap_or(0.0);
        rate(1) / (rate(0) + rate(1))
    },
    between: [0.1, 0.9],
};

/// kbit/s with 32 bytes of headers, over ten seeds.
fn table_8(scenario: &Scenario) -> f64 {
    let of = |outcome: &Outcome| {
        outcome.flows.iter().filter_map(|flow| flow.send_rate_bps).sum::<f64>() / outcome.flows.len() as f64
    };
    let seeds = 10;
    let rates = (1..=seeds).map(|seed| of(&run(&Scenario { seed: Seed(seed), ..scenario.clone() })));
    rates.sum::<f64>() / seeds as f64 * 46.0 / 14.0 / 1000.0
}

const SP_AT_40: Check = Check {
    name: "RFC 4828, Table 8: TFRC-SP of 14-byte segments at a drop rate of 40 %",
    value: table_8,
    between: [4.78 / 1.25, 4.78 * 1.25],
};

const PLAIN_AT_40: Check = Check {
    name: "RFC 4828, Table 8: standard TFRC of 14-byte segments at a drop rate of 40 %",
    value: table_8,
    between: [0.77 / 1.25, 0.77 * 1.25],
};

/// s = 20, R = 0.1 s, t_RTO = 0.3 s, p = 1/2: 8·20/(0.1·√(1/3) + 0.3·½·9) with the factor of the
/// timeout term capped at 1.
const AT_A_HALF: Check = Check {
    name: "X at p = 1/2 is the equation's with its timeout term capped (ns-2, PFTK)",
    value: |scenario| last(scenario, |interval| interval.allowed_rate_bps),
    between: [112.5, 114.5],
};

/// The last value in an interval.
fn last(scenario: &Scenario, value: fn(&Interval) -> Option<f64>) -> f64 {
    let mut last = f64::NAN;
    let each = |interval: Interval| {
        last = value(&interval).unwrap_or(last);
    };
    let _ = Run::of(scenario).watch(Watch::flows(tfrc_units::Duration::from_millis(100), each)).outcome();
    last
}

/// The inverse of the mean interval at the end.
fn mean_interval(scenario: &Scenario) -> f64 {
    1.0 / last(scenario, |interval| interval.loss_event_rate)
}

/// Four intervals of 10 and four of 100, weighted 1, 1, 1, 1, 0.8, 0.6, 0.4, 0.2: 240/6.
const WEIGHTED_MEAN: Check = Check {
    name: "the mean of the scripted intervals is 40 (RFC 5348 §5.4)",
    value: mean_interval,
    between: [39.99, 40.01],
};

/// 390 packets without loss: more than eight times the mean of the intervals before them, so that
/// their weights are multiplied by the floor, 0.25. (390 + 0.25·200)/(1 + 0.25·5) is about 196.
const DISCOUNTED_MEAN: Check = Check {
    name: "a long open interval discounts those before it (RFC 5348 §5.5)",
    value: mean_interval,
    between: [180.0, 220.0],
};

const PROMISE: Check = Check {
    name: "a promised rate is sent whatever the losses",
    value: |scenario| run(scenario).flows[0].send_rate_bps.unwrap_or(0.0),
    between: [0.97 * 500e3, 1.03 * 500e3],
};

const NO_EVENT: Check = Check {
    name: "reordering by two packets is no loss event (NDUPACK, RFC 5348 §5.1)",
    value: |scenario| {
        // A hole that is filled takes its loss event back: it must be seen in time.
        let mut most = 0.0;
        let each = |interval: Interval| {
            most = f64::max(most, interval.loss_event_rate.unwrap_or(0.0));
        };
        let _ = Run::of(scenario).watch(Watch::flows(tfrc_units::Duration::from_millis(5), each)).outcome();
        most
    },
    between: [0.0, 0.0],
};

const TWICE: Check = Check {
    name: "without loss X is about twice what is received (RFC 5348 §4.3)",
    value: |scenario| last(scenario, |interval| interval.allowed_rate_bps),
    between: [1.4e6, 1.9e6],
};

const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "no congestion control at all",
        check: SHARE,
        scenario: SHARED,
        change: &["flow.one.kind=cbr", "flow.one.rate=3Mbit/s"],
        choice: same,
    },
    Mutant {
        name: "K ignored: short intervals count whole",
        check: SP_AT_40,
        scenario: TABLE_8,
        change: &[
            "flow.flow.tfrc={ revision = 'ns2', packet_size = 'uncorrected', reference_segment = '444B' }",
        ],
        choice: same,
    },
    Mutant {
        name: "H = 0",
        check: SP_AT_40,
        scenario: TABLE_8,
        change: &["flow.flow.tfrc.charged_header=0B"],
        choice: same,
    },
    Mutant {
        name: "the timeout term without its cap",
        check: AT_A_HALF,
        scenario: HALVED,
        change: &["flow.flow.tfrc.equation=tfrc"],
        choice: same,
    },
    Mutant {
        name: "t_RTO = 4R in place of ns-2's",
        check: PLAIN_AT_40,
        scenario: TABLE_8,
        change: &["flow.flow.tfrc.rto=four-rtt"],
        choice: same,
    },
    Mutant {
        name: "constant weights",
        check: WEIGHTED_MEAN,
        scenario: SCRIPTED,
        change: &["flow.flow.tfrc.weights=constant"],
        choice: same,
    },
    Mutant {
        name: "I_0 always in",
        check: WEIGHTED_MEAN,
        scenario: SCRIPTED,
        change: &[],
        choice: always_open,
    },
    Mutant {
        name: "no discounting",
        check: DISCOUNTED_MEAN,
        scenario: SCRIPTED,
        change: &["flow.flow.tfrc.discounting=off"],
        choice: same,
    },
    Mutant {
        name: "g ignored",
        check: PROMISE,
        scenario: PROMISED,
        change: &["flow.flow={ name = 'flow', kind = 'tfrc', from = 'near', to = 'far', dscp = 'af11' }"],
        choice: same,
    },
    Mutant {
        name: "NDUPACK = 1",
        check: NO_EVENT,
        scenario: REORDERED,
        change: &[],
        choice: |choices| choices.lost_after = 1,
    },
    Mutant {
        name: "no limit by the receive rate",
        check: TWICE,
        scenario: LIMITED,
        change: &["flow.flow.tfrc.receive_limit=unlimited"],
        choice: same,
    },
];

/// Value of the check of a mutant's rule, with the rule put wrong or not.
fn value(mutant: &Mutant, change: &[&str], choice: fn(&mut Choices)) -> f64 {
    let is_sp = mutant.check.name == SP_AT_40.name;
    let text = format!("{}{}", mutant.scenario, if is_sp { SP } else { "" });
    let mut document = Document::new(mutant.name, text);
    if mutant.check.name == DISCOUNTED_MEAN.name {
        document.set("duration=29s");
    }
    change.iter().for_each(|set| document.set(*set));
    let plan = document.plan().map_err(miette::Report::new).unwrap();
    let mut scenario = plan.points[0].scenario.clone();
    for flow in &mut scenario.flows {
        if let FlowKind::Tfrc(tfrc) = &mut flow.kind {
            let mut settings = *tfrc.config.settings();
            choice(settings.algorithm.choices_mut());
            tfrc.config = settings.validate().expect("a sound choice");
        }
    }
    (mutant.check.value)(&scenario)
}

/// Every mutant's check holds with the rule and fails without it.
fn flips(mutant: &Mutant) {
    let Check { name, between: [low, high], .. } = mutant.check;
    let right = value(mutant, &[], same);
    assert!((low..=high).contains(&right), "{name}: {right}, not in {low} … {high}");
    let wrong = value(mutant, mutant.change, mutant.choice);
    assert!(
        !(low..=high).contains(&wrong),
        "{}: \"{name}\" does not notice: {wrong} in {low} … {high}",
        mutant.name
    );
}

#[test]
fn every_mutant_flips_the_check_that_names_it() {
    MUTANTS.iter().for_each(flips);
}
