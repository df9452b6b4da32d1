//! Hops without events, in every scenario of the program: results are those of a run in which each
//! hop of each packet is an event, as it is where packets are traced.

use std::path::{Path, PathBuf};

use tfrc_scenario::{Document, World};
use tfrc_sim::trace::{Happening, TraceRecord};
use tfrc_units::Duration;
use tfrc_world::Run;
use tfrc_world::watch::Watch;

/// Virtual time that a scenario runs at most, of few flows and of many.
const FEW: Duration = Duration::from_millis(4000);
const MANY: Duration = Duration::from_millis(60);

#[test]
fn every_scenario_gives_the_same_bytes_with_and_without_them() {
    let mut hops = 0;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let files = std::fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path());
    let mut files: Vec<PathBuf> =
        files.filter(|file| file.extension().is_some_and(|it| it == "toml")).collect();
    files.sort();
    for file in files {
        let name = file.display();
        let text = std::fs::read_to_string(&file).unwrap();
        let document = Document::new(name.to_string(), text).in_folder(&folder);
        let plan = document.plan_for(World::Simulated).map_err(miette::Report::new).unwrap();
        let mut scenario = plan.points.into_iter().next().unwrap().scenario;
        let flows: u32 = scenario.flows.iter().map(|flow| flow.group.count).sum();
        scenario.duration = scenario.duration.min(if flows > 1000 { MANY } else { FEW });
        scenario.warmup = scenario.warmup.min(scenario.duration / 2);
        let (mut some, mut every) = (Vec::new(), Vec::new());
        let step = Duration::from_millis(37);
        let watch = Watch::flows(step, |seen| some.push(format!("{seen:?}")));
        let plain = Run::of(&scenario).watch(watch).outcome().unwrap();
        let watch = Watch::flows(step, |seen| every.push(format!("{seen:?}")));
        let mut crossed = 0;
        let count = |record: &TraceRecord| crossed += u64::from(matches!(record.what, Happening::Crossed(_)));
        let traced = Run::of(&scenario).watch(watch).trace(count).outcome();
        assert_eq!(crossed, plain.packet_hops, "{name}");
        assert_eq!(Some(&plain), traced.as_ref(), "{name}");
        assert_eq!(some, every, "{name}");
        hops += plain.packet_hops;
    }
    assert!(hops > 100_000, "{hops}");
}
