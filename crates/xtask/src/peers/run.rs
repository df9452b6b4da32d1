//! Runs a point on both sides and reads what came out.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;

use serde_json::Value;

use super::intervals;
use super::plan::{Ours, Point};
use crate::root;

/// Runs at once, on either side.
const JOBS: usize = 2;

/// What a script printed: names and values.
pub(super) type Printed = BTreeMap<String, String>;

/// Runs ns-2 once for each seed from 1 on, two at once.
pub(super) fn theirs(point: &Point, seeds: u32) -> Result<Vec<Printed>, String> {
    let waiting = Mutex::new(1..=seeds);
    let mut done: Vec<(u32, Result<Printed, String>)> = thread::scope(|scope| {
        let workers: Vec<_> = (0..JOBS)
            .map(|_| {
                scope.spawn(|| {
                    let mut mine = Vec::new();
                    loop {
                        // A worker that panicked leaves the range whole.
                        let next = waiting.lock().unwrap_or_else(std::sync::PoisonError::into_inner).next();
                        let Some(seed) = next else { return mine };
                        mine.push((seed, ns2(point, seed)));
                    }
                })
            })
            .collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap_or_default()).collect()
    });
    done.sort_by_key(|(seed, _)| *seed);
    done.into_iter().map(|(_, printed)| printed).collect()
}

fn ns2(point: &Point, seed: u32) -> Result<Printed, String> {
    let output = Command::new("ns")
        .arg(root().join("peers/ns2").join(point.script))
        .args(&point.arguments)
        .arg(format!("seed={seed}"))
        .stdin(Stdio::null())
        .output()
        .map_err(|e| format!("ns-2 does not run: {e}. Install Debian's package ns2"))?;
    let text = String::from_utf8_lossy(&output.stderr);
    let mut printed = read(&text);
    let closed = intervals::closed(&String::from_utf8_lossy(&output.stdout));
    for (name, _) in intervals::STATISTICS {
        if let Some(value) = intervals::statistic(&closed, name) {
            printed.insert(format!("interval_{name}"), value.to_string());
        }
    }
    if !output.status.success() || printed.is_empty() {
        return Err(format!(
            "ns {} {} seed={seed}: {}",
            point.script,
            point.arguments.join(" "),
            text.trim()
        ));
    }
    Ok(printed)
}

/// The lines `R name value` among others.
fn read(text: &str) -> Printed {
    text.lines()
        .filter_map(|line| line.strip_prefix("R ")?.split_once(' '))
        .map(|(name, value)| (name.to_owned(), value.trim().to_owned()))
        .collect()
}

/// The arguments of `tfrc` for a point.
pub(super) fn words(point: &Point) -> Vec<String> {
    let mut words = vec!["sim".to_owned(), format!("peers/ns2/{}", point.scenario)];
    for change in &point.changes {
        words.extend(["--set".to_owned(), change.clone()]);
    }
    words
}

/// Runs ours for as many seeds; a document for each run.
pub(super) fn ours(point: &Point, seeds: u32) -> Result<Vec<Value>, String> {
    let (runs, jobs) = (seeds.to_string(), JOBS.to_string());
    let text = command(point, &["--seed", "1", "--runs", &runs, "--jobs", &jobs, "--json"])?;
    let document: Value = serde_json::from_str(&text).map_err(|e| format!("{}: {e}", point.scenario))?;
    document["points"][0]["runs"]
        .as_array()
        .filter(|runs| !runs.is_empty())
        .cloned()
        .ok_or_else(|| format!("{}: no runs in the document", point.scenario))
}

/// Packets our first flow has sent after each second.
pub(super) fn our_trace(point: &Point) -> Result<Vec<f64>, String> {
    let text = command(point, &["--seed", "1", "--json-stream"])?;
    let mut sent = 0.0;
    Ok(text
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|record| record["type"] == "interval")
        .filter_map(|record| record["sent_packets"].as_f64())
        .map(|packets| {
            sent += packets;
            sent
        })
        .collect())
}

fn command(point: &Point, more: &[&str]) -> Result<String, String> {
    let output = Command::new(root().join("target/release/tfrc"))
        .current_dir(root())
        .args(words(point))
        .args(more)
        .stdin(Stdio::null())
        .output()
        .map_err(|e| format!("tfrc: {e}"))?;
    if !output.status.success() {
        return Err(format!(
            "tfrc {}: {}",
            words(point).join(" "),
            String::from_utf8_lossy(&output.stderr).trim()
        ));
    }
    String::from_utf8(output.stdout).map_err(|e| e.to_string())
}

/// A quantity of one of our runs.
pub(super) fn value(run: &Value, place: Ours) -> Option<f64> {
    match place {
        Ours::Flows(name, field) => {
            let values: Vec<f64> = flows(run, name)?.filter_map(|flow| flow[field].as_f64()).collect();
            (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
        }
        Ours::LossEvents(name) => {
            let (mut events, mut packets) = (0.0, 0.0);
            for flow in flows(run, name)? {
                // A flow without a packet has no rate.
                let sent = flow["sent_packets"].as_f64()?;
                events += sent * flow["loss_event_rate"].as_f64().unwrap_or(0.0);
                packets += sent;
            }
            (packets > 0.0).then(|| events / packets)
        }
        Ours::Link(name, field) => {
            run["links"].as_array()?.iter().find(|link| link["id"] == name)?[field].as_f64()
        }
        Ours::LossIntervals(name, statistic) => {
            let flow = run["flows"].as_array()?.iter().find(|flow| flow["id"] == name)?;
            let list = flow["loss_intervals"].as_array()?;
            let list: Vec<f64> = list.iter().filter_map(Value::as_f64).collect();
            intervals::statistic(&list, statistic)
        }
        Ours::Trace => None,
    }
}

/// The flows of a run with this name, or one of several of this name.
fn flows<'a>(run: &'a Value, name: &'a str) -> Option<impl Iterator<Item = &'a Value>> {
    let of_name = |flow: &&Value| flow["id"].as_str().is_some_and(|id| belongs(id, name));
    Some(run["flows"].as_array()?.iter().filter(of_name))
}

/// Returns true for the name itself and for one of several of this name.
fn belongs(id: &str, name: &str) -> bool {
    id.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_of_ns2_are_found_among_its_warnings() {
        let printed = read("warning: something\nR rate_bps 123.5\nRubbish\nR trace 1,2,3\n");
        assert_eq!(printed.len(), 2);
        assert_eq!((printed["rate_bps"].as_str(), printed["trace"].as_str()), ("123.5", "1,2,3"));
    }

    #[test]
    fn quantities_of_a_run() {
        let run = serde_json::json!({
            "flows": [
                {"id": "tcp-1", "cov": 0.25, "sent_packets": 300, "loss_event_rate": 0.0},
                {"id": "tcp-2", "cov": 0.75, "sent_packets": 100, "loss_event_rate": 0.25},
                {"id": "tcpish", "cov": 9.0, "sent_packets": 100, "loss_event_rate": 0.5},
            ],
            "links": [{"id": "path", "drop_rate": 0.125}],
        });
        assert_eq!(value(&run, Ours::Flows("tcp", "cov")), Some(0.5));
        assert_eq!(value(&run, Ours::Flows("tfrc", "cov")), None);
        assert_eq!(value(&run, Ours::LossEvents("tcp")), Some(0.0625));
        assert_eq!(value(&run, Ours::LossEvents("tfrc")), None);
        assert_eq!(value(&run, Ours::Link("path", "drop_rate")), Some(0.125));
        assert_eq!(value(&run, Ours::Link("other", "drop_rate")), None);
    }
}
