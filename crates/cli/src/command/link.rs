//! `tfrc link`: a scenario's network between real programs.

use std::io::Write;
use std::path::Path;

use tfrc_emu::{Direction, Running, Snapshot};
use tfrc_lab::relay::{Flows, relay};
use tfrc_lab::scenario::{Scenario, ScenarioError, World};

use crate::Failure;
use crate::args::{Format, LinkArgs};
use crate::interrupt::Interrupt;
use crate::session;

/// Runs `tfrc link` until the user ends it.
///
/// # Errors
/// [`Failure::Usage`] for a scenario that is not right, [`Failure::Run`] when an address cannot be
/// had.
pub fn run(args: &LinkArgs) -> Result<(), Failure> {
    let scenario = load(&args.scenario)?;
    let relay = relay(&scenario, scenario.seed, args.listen, args.to)
        .map_err(|error| Failure::Run(with_source(&error)))?;
    let interrupt = Interrupt::install().map_err(|error| Failure::io(&"signals", &error))?;
    let running = relay.start().map_err(|error| Failure::io(&"relay", &error))?;
    eprintln!("relaying {} to {} through {}", running.local_addr(), args.to, args.scenario.display());
    let last = session::block_on(watch(running, interrupt))?;
    let names: Vec<&str> = scenario.network.links().map(|(_, spec)| spec.name.as_str()).collect();
    let text = match args.output.format() {
        Format::Human => words(&last, &names),
        _ => document(&last, &names).to_string(),
    };
    writeln!(std::io::stdout(), "{text}").map_err(|error| Failure::io(&"standard output", &error))
}

/// Reads a scenario of which only the links are used; what is wrong with it is shown in its place.
pub(super) fn load(path: &Path) -> Result<Scenario, Failure> {
    Scenario::load(path, World::Links).map_err(told)
}

/// Turns a scenario's error into a failure to show the user.
pub(super) fn told(error: ScenarioError) -> Failure {
    match error {
        ScenarioError::Invalid(_) => Failure::Scenario(format!("{:?}", miette::Report::new(error))),
        error => Failure::usage(
            with_source(&error),
            "name a scenario file that can be read, such as one of scenarios/",
        ),
    }
}

/// A line a second until the user has had enough.
async fn watch(
    running: Running<Flows>,
    mut interrupt: Interrupt,
) -> Result<std::sync::Arc<Snapshot<Flows>>, Failure> {
    let monitor = running.monitor();
    let mut tick = tokio::time::interval(std::time::Duration::from_secs(1));
    tick.tick().await;
    let mut before = monitor.latest();
    loop {
        tokio::select! {
            () = interrupt.wished() => break,
            _ = tick.tick() => {
                let now = monitor.latest();
                if now.there.entered != before.there.entered || now.back.entered != before.back.entered {
                    eprintln!("{}", line(&before, &now));
                }
                before = now;
            }
        }
    }
    running.stop().map_err(|error| Failure::io(&"relay", &error))
}

fn line(before: &Snapshot<Flows>, now: &Snapshot<Flows>) -> String {
    let there = way("there", &before.there, &now.there);
    let back = way("back", &before.back, &now.back);
    format!("{:6.1} s  {there}; {back}", now.elapsed.as_secs_f64())
}

/// Describes the traffic of one direction between two snapshots.
fn way(name: &str, before: &Direction, now: &Direction) -> String {
    format!(
        "{name} {} in, {} out, {} lost, {} overflowed, queue {}",
        now.entered.packets - before.entered.packets,
        now.delivered.packets - before.delivered.packets,
        now.lost.packets - before.lost.packets,
        now.overflowed.packets - before.overflowed.packets,
        now.queued.packets
    )
}

fn words(last: &Snapshot<Flows>, names: &[&str]) -> String {
    let mut text = "link              packets      lost  overflowed  utilization  mean queue\n".to_owned();
    for (name, (_, stats)) in names.iter().zip(&last.links) {
        text.push_str(&format!(
            "{name:<14} {:>10} {:>9} {:>11} {:>12.3} {:>11.2}\n",
            stats.arrivals.packets,
            stats.lost.packets,
            stats.overflowed.packets,
            stats.utilization(),
            stats.mean_queue_packets()
        ));
    }
    for (what, count) in [("refused", last.refused), ("unsent", last.unsent)] {
        if count > 0 {
            text.push_str(&format!("{what}: {count} datagrams\n"));
        }
    }
    text.trim_end().to_owned()
}

fn document(last: &Snapshot<Flows>, names: &[&str]) -> serde_json::Value {
    let links: Vec<_> = names
        .iter()
        .zip(&last.links)
        .map(|(name, (_, stats))| {
            serde_json::json!({
                "id": name,
                "arrived_packets": stats.arrivals.packets,
                "lost_packets": stats.lost.packets,
                "overflowed_packets": stats.overflowed.packets,
                "utilization": stats.utilization(),
                "drop_rate": stats.drop_rate(),
                "mean_queue_packets": stats.mean_queue_packets(),
            })
        })
        .collect();
    serde_json::json!({
        "duration_s": last.elapsed.as_secs_f64(),
        "refused_packets": last.refused,
        "unsent_packets": last.unsent,
        "links": links,
    })
}

/// An error with what is behind it.
pub(super) fn with_source(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {}", with_source(source)),
        None => error.to_string(),
    }
}
