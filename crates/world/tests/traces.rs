//! Links that follow a trace: how a scenario names one, and what a run over one gives.

use std::path::Path;

use tfrc_scenario::{Document, Fault, InvalidScenario, Scenario, ScenarioError, World};
use tfrc_sim::LinkSpec;
use tfrc_units::Duration;

/// A link at this rate, with more keys.
fn text(rate: &str, more: &str) -> String {
    format!(
        "duration = '60s'\nwarmup = '20s'\nnodes = ['near', 'far']\n\
         [[link]]\nfrom = 'near'\nto = 'far'\nrate = {rate}\ndelay = '20ms'\nqueue = '50p'\n{more}\n\
         [[flow]]\nkind = 'cbr'\nfrom = 'near'\nto = 'far'\nrate = '20Mbit/s'\n"
    )
}

fn links(text: &str) -> Vec<LinkSpec> {
    let scenario = Scenario::parse("test.toml", text).map_err(miette::Report::new).unwrap();
    scenario.network.links().map(|(_, spec)| spec.clone()).collect()
}

fn mistake(document: &Document) -> Box<InvalidScenario> {
    match document.plan() {
        Err(ScenarioError::Invalid(invalid)) => invalid,
        other => panic!("{:?}", other.map(|plan| plan.points.len())),
    }
}

#[test]
fn the_programs_traces_have_names() {
    for (name, period) in [("cable", 20), ("lte", 40), ("satellite", 60), ("wifi", 20)] {
        let links = links(&text(&format!("{{ trace = '{name}' }}"), ""));
        let trace = links[0].trace.as_ref().unwrap();
        assert_eq!(trace.period(), Duration::from_secs(period), "{name}");
        assert_eq!(links[0].rate, trace.mean_rate());
        // The way back is alike.
        assert_eq!(links[1].trace, links[0].trace);
    }
    let wrong = mistake(&Document::new("test.toml", text("{ trace = 'cabel' }", "")));
    assert_eq!(wrong.fault, Fault::UnknownName);
    assert!(wrong.hint.unwrap().contains("did you mean `cable`?"));
}

#[test]
fn each_direction_has_its_own_rate() {
    let traced = links(&text("{ trace = 'lte' }", "reverse = { rate = '5Mbit/s' }"));
    assert!(traced[0].trace.is_some() && traced[1].trace.is_none());
    assert!((traced[1].rate.bits_per_sec() - 5e6).abs() < 1e-6);
    let back = links(&text("'5Mbit/s'", "reverse = { rate = { trace = 'lte' } }"));
    assert!(back[0].trace.is_none() && back[1].trace.is_some());
    // A source stands around the value, as for any other.
    let source = "{ value = { trace = 'lte' }, assumed = 'a phone' }";
    assert_eq!(links(&text(source, ""))[0].trace, traced[0].trace);
}

/// A folder with a scenario and a trace, both of these texts.
fn folder(scenario: &str, trace: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("test.toml"), scenario).unwrap();
    std::fs::write(folder.path().join("own.trace"), trace).unwrap();
    folder
}

fn load(folder: &Path) -> Document {
    Document::load(&folder.join("test.toml")).unwrap()
}

#[test]
fn a_file_stands_beside_the_scenario() {
    let scenario = text("{ trace = 'own.trace' }", "");
    let good = folder(&scenario, "5\n10\n");
    let read = Scenario::load(&good.path().join("test.toml"), World::Links).unwrap();
    let (_, link) = read.network.links().next().unwrap();
    assert_eq!(link.trace.as_ref().unwrap().opportunities(), 2);
    for (trace, line) in [("5\n4\n", "line 2: 4 ms comes after 5 ms"), ("", "line 1: the trace is empty")] {
        let wrong = mistake(&load(folder(&scenario, trace).path()));
        assert_eq!((wrong.fault, wrong.message.as_str()), (Fault::Trace, &*format!("own.trace, {line}")));
        assert!(wrong.hint.is_some());
        assert_eq!(&scenario[wrong.place.offset()..][..wrong.place.len()], "'own.trace'");
    }
}

#[test]
fn a_trace_has_no_changes() {
    let changes = "changes = [{ at = '5s', rate = '1Mbit/s' }]";
    let wrong = mistake(&Document::new("test.toml", text("{ trace = 'lte' }", changes)));
    assert_eq!(wrong.fault, Fault::Conflict);
}

/// Cached results and shards are distinguished by the whole text.
#[test]
fn the_whole_text_tells_traces_apart() {
    let scenario = text("{ trace = 'own.trace' }", "");
    let whole = |scenario: &str, trace: &str| load(folder(scenario, trace).path()).whole_text();
    let one = whole(&scenario, "5\n10\n");
    assert_eq!(one, whole(&scenario, "5\n10"));
    assert_ne!(one, whole(&scenario, "5\n11\n"));
    let sweep = |values: &str| format!("{scenario}[[sweep]]\nset = 'link.0.rate.trace'\nvalues = {values}\n");
    let swept = |trace: &str| whole(&sweep("['cable', 'own.trace']"), trace);
    assert_ne!(swept("5\n10\n"), swept("5\n11\n"));
    // Without a trace it is the text.
    let plain = text("'1Mbit/s'", "");
    assert_eq!(Document::new("test.toml", plain.as_str()).whole_text(), plain);
}

/// A link that always has a packet uses what the trace allows in the measured time: from 20 to 60 s
/// the lte trace has a whole period of 40 s, at 4.35 Mbit/s.
#[test]
fn a_full_link_uses_the_whole_trace() {
    let scenario = Scenario::parse("test.toml", &text("{ trace = 'lte' }", "")).unwrap();
    let outcome = tfrc_world::run(&scenario);
    assert!((0.999..=1.0).contains(&outcome.links[0].utilization), "{}", outcome.links[0].utilization);
    let mean = links(&text("{ trace = 'lte' }", ""))[0].rate.bits_per_sec();
    // 1000 bytes of data in 1028.
    let goodput = outcome.flows[0].goodput_bps.unwrap() * 1.028;
    assert!((goodput / mean - 1.0).abs() < 0.01, "{goodput} of {mean}");
}
