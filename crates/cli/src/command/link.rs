//! `tfrc link`: a scenario's network between real programs.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use tfrc_emu::{Direction, Snapshot};
use tfrc_report::record::{Record, Role, Summary};
use tfrc_scenario::{Scenario, World};
use tfrc_sim::link::LinkStats;
use tfrc_world::recording::Recording;
use tfrc_world::world::relayed::{self, Flows, relay};

use crate::args::{Format, LinkArgs, one_link};
use crate::failure::with_source;
use crate::run::{self, Course, Wish};
use crate::visible::{to_stderr, visible};
use crate::{Failure, document, page, session};

/// Figures of the links of a relay.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Link")]
pub(crate) struct LinkDocument {
    /// Time that the relay ran, seconds.
    duration_s: f64,
    /// Datagrams that were not let in: of strangers for whom there was no place, and those that
    /// came from the side of the server from another address or for a client that is forgotten.
    refused_packets: u64,
    /// Datagrams of clients that the system dropped because the relay did not read them in time;
    /// 0 where the system does not say.
    unread_packets: u64,
    /// Datagrams that came through the network and that the system did not take.
    unsent_packets: u64,
    /// Each direction of each link, in the order of the scenario.
    links: Vec<LinkCounts>,
}

/// Figures of one direction of a link.
#[derive(Debug, Serialize, JsonSchema)]
struct LinkCounts {
    /// Name of the link.
    id: String,
    /// Packets that came to the link.
    arrived_packets: u64,
    /// Packets that its loss models took, before the queue or at the far end.
    lost_packets: u64,
    /// Packets that its queue dropped.
    overflowed_packets: u64,
    /// Share of the time in transmission, 0 to 1.
    utilization: f64,
    /// Share of the packets that were lost or overflowed, 0 to 1.
    drop_rate: f64,
    /// Packets waiting, mean over the time.
    mean_queue_packets: f64,
}

/// Runs `tfrc link` until the user ends it.
///
/// # Errors
/// [`Failure::Usage`] for a scenario that is not right, [`Failure::Run`] when an address cannot be
/// had.
pub(crate) fn run(args: &LinkArgs) -> Result<(), Failure> {
    let scenario = load(args)?;
    if args.listen.len() != args.to.len() {
        let counts = format!("{} times --listen and {} times --to", args.listen.len(), args.to.len());
        return Err(Failure::usage(counts, "give a --to for each --listen, in the same order"));
    }
    let mut doors = args.listen.iter().copied().zip(args.to.iter().copied());
    let Some((listen, to)) = doors.next() else { unreachable!("clap requires one of each") };
    let unbound = |error| Failure::Run(with_source(&error));
    let mut relay = relay(&scenario, scenario.seed, listen, to).map_err(unbound)?;
    for (listen, to) in doors {
        relay.add_door(listen, to).map_err(unbound)?;
    }
    let interrupt = run::interrupt()?;
    let running = relay.start().map_err(|error| Failure::io(&"relay", &error))?;
    let through = match &args.scenario {
        Some(path) => path.display().to_string(),
        None => "one link".to_owned(),
    };
    for (address, to) in running.local_addrs().iter().zip(&args.to) {
        to_stderr(&visible(&format!("relaying {address} to {to} through {through}")));
    }
    let (reporter, keys) = run::reporter((&args.output).into(), args.live, "tfrc link", None);
    let mut reporter = reporter.with_series(args.output.series.as_deref(), &[])?;
    let (is_shown, wish) = (keys.is_some(), Wish::new(&interrupt, keys));
    let start = session::start(Role::Link);
    reporter.say(&Record::Start(start));
    let monitor = running.monitor();
    // From nothing: packets may have come before the first look.
    let mut before: Arc<Snapshot<Flows>> = Arc::default();
    let course = Course::new(&mut reporter);
    let watch = course.watch(|_| {
        let now = monitor.latest();
        let has_come = now.there.entered != before.there.entered || now.back.entered != before.back.entered;
        let line = (!is_shown && has_come).then(|| line(&before, &now));
        before = now;
        line
    });
    let goes_on = &mut || !wish.is_given() && course.is_written();
    let recording = relayed::watch(&scenario, running.monitor(), &mut [watch], goes_on);
    let written = course.end();
    let (true, Some(run)) = (wish.is_given() || written.is_err(), recording) else {
        return Err(Failure::Run("the relay has ended".to_owned()));
    };
    let unread = running.local_addrs().iter().map(|address| session::dropped_by_system(*address)).sum();
    let last = running.stop().map_err(|error| Failure::io(&"relay", &error))?;
    let outcome = &run.outcome;
    let summary =
        Summary { duration_s: outcome.duration_s, links: outcome.links.clone(), ..Summary::default() };
    let finished = reporter.finish(summary, |format| match format {
        Format::Json => format!("{}\n", document::text(&document(&last, unread, &run))),
        _ => format!("{}\n", words(&last, unread, &run)),
    });
    written.and(finished)
}

/// Reads the scenario, of which only the links are used; what is wrong with it is shown in its
/// place.
fn load(args: &LinkArgs) -> Result<Scenario, Failure> {
    let outputs = args.output.files();
    let mut document = match &args.scenario {
        None => {
            page::check_all(&outputs)?;
            let mut document = one_link();
            args.given().for_each(|(key, value)| document.set(format!("link.path.{key}={value}")));
            document
        }
        Some(path) => run::open(path, &outputs)?.document,
    };
    run::set(&mut document, &args.set);
    let scenario = run::first(run::plan(&document, World::Links)?, args.seed)?;
    if let (Some(path), Some((key, value))) = (&args.scenario, args.given().next()) {
        let name = scenario.network.links().next().map_or("NAME", |(_, link)| link.name.as_str());
        return Err(Failure::usage(
            format!("--{key} is of a link without a scenario, and {} has links", path.display()),
            format!("change a link of it: --set link.{name}.{key}={value}"),
        ));
    }
    Ok(Scenario { flows: Vec::new(), ..scenario })
}

/// Packets that loss models took, at either end of a link.
fn lost(stats: &LinkStats) -> u64 {
    stats.lost.packets + stats.corrupted.packets
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

/// The links of the file with their counters.
fn links(run: &Recording) -> impl Iterator<Item = (&str, &LinkStats)> {
    run.outcome.links.iter().zip(&run.links).map(|(link, record)| (link.id.as_str(), &record.stats))
}

fn words(last: &Snapshot<Flows>, unread: u64, run: &Recording) -> String {
    let mut text = "link              packets      lost  overflowed  utilization  mean queue\n".to_owned();
    for (name, stats) in links(run) {
        text.push_str(&format!(
            "{name:<14} {:>10} {:>9} {:>11} {:>12.3} {:>11.2}\n",
            stats.arrivals.packets,
            lost(stats),
            stats.overflowed.packets,
            stats.utilization(),
            stats.mean_queue_packets()
        ));
    }
    for (what, count) in [("refused", last.refused), ("unread", unread), ("unsent", last.unsent)] {
        if count > 0 {
            text.push_str(&format!("{what}: {count} datagrams\n"));
        }
    }
    text.trim_end().to_owned()
}

fn document(last: &Snapshot<Flows>, unread: u64, run: &Recording) -> LinkDocument {
    let links = links(run).map(|(name, stats)| LinkCounts {
        id: name.to_owned(),
        arrived_packets: stats.arrivals.packets,
        lost_packets: lost(stats),
        overflowed_packets: stats.overflowed.packets,
        utilization: stats.utilization(),
        drop_rate: stats.drop_rate(),
        mean_queue_packets: stats.mean_queue_packets(),
    });
    LinkDocument {
        duration_s: run.outcome.duration_s,
        refused_packets: last.refused,
        unread_packets: unread,
        unsent_packets: last.unsent,
        links: links.collect(),
    }
}
