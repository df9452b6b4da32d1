//! `tfrc sim`: a scenario in virtual time.

use std::io::Write;

use tfrc_lab::record::{Record, Role, Start, Summary};
use tfrc_lab::report::human;
use tfrc_lab::{Outcome, run_with};
use tfrc_sim::Seed;
use tfrc_units::Duration;

use super::link::load;
use crate::Failure;
use crate::args::{Format, SimArgs};
use crate::session;

/// Runs `tfrc sim`.
///
/// # Errors
/// [`Failure::Scenario`] for a scenario that is not right; [`Failure::Run`] when the result cannot be written.
pub fn run(args: &SimArgs) -> Result<(), Failure> {
    let mut scenario = load(&args.scenario)?;
    if let Some(seed) = args.seed {
        scenario.seed = Seed(seed);
    }
    let mut out = std::io::stdout().lock();
    let mut say =
        |text: String| writeln!(out, "{text}").map_err(|error| Failure::io(&"standard output", &error));
    let format = args.output.format();
    let mut told: Result<(), Failure> = Ok(());
    if format == Format::JsonStream {
        let start = Record::Start(Start::new(Role::Sim, session::version(), session::command_line()));
        say(serde_json::json!(start).to_string())?;
    }
    let outcome = run_with(&scenario, Duration::from_secs(1), |interval| {
        if format == Format::JsonStream && told.is_ok() {
            told = say(serde_json::json!(Record::Interval(interval)).to_string());
        }
    });
    told?;
    match format {
        Format::Human => say(words(&outcome)),
        Format::Json => say(serde_json::json!(outcome).to_string()),
        Format::JsonStream => {
            let summary =
                Summary { duration_s: outcome.measured_s, flows: outcome.flows, ..Summary::default() };
            say(serde_json::json!(Record::End(Box::new(summary))).to_string())
        }
    }
}

fn words(outcome: &Outcome) -> String {
    let or_dash = |x: Option<String>| x.unwrap_or_else(|| "-".to_owned());
    let mut text = format!(
        "seed {}, {} s measured, {} packet-hops\n\nflow            goodput         loss        p           RTT         variation at 1 s\n",
        outcome.seed, outcome.measured_s, outcome.packet_hops
    );
    for f in &outcome.flows {
        text.push_str(&format!(
            "{:<15} {:<15} {:<11} {:<11} {:<11} {}\n",
            f.id,
            or_dash(f.goodput_bps.map(human::rate)),
            or_dash(f.packet_loss_rate.map(human::percent)),
            or_dash(f.loss_event_rate.map(human::number)),
            or_dash(f.rtt_s.map(human::time)),
            or_dash(f.cov.map(human::number)),
        ));
    }
    text.push_str("\nlink            utilization     drop rate   mean queue\n");
    for l in &outcome.links {
        text.push_str(&format!(
            "{:<15} {:<15} {:<11} {} packets\n",
            l.id,
            human::number(l.utilization),
            human::percent(l.drop_rate),
            human::number(l.mean_queue_packets)
        ));
    }
    text.trim_end().replace('\u{a0}', " ")
}
