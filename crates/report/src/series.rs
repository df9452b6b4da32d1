//! Time series of runs as CSV: a line for each flow and link in each stretch.

use std::fmt::Write as _;
use std::io::{self, Write};

use crate::csv::field;
use tfrc_world::results::Interval;
use tfrc_world::watch::Look;

/// A column of measurements: its key, its value in an interval, and who measures it of flows.
pub type Column = (&'static str, fn(&Interval) -> Option<f64>, By);

/// Measurers of a quantity of flows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// Simulations and all others.
    Simulations,
    /// Connections, or nobody: a quantity of links.
    Others,
}

/// The columns after the run, point, flow and link of a line: every key of
/// an [`Interval`], in its order.
pub const COLUMNS: [Column; 25] = [
    ("t_s", |i| Some(i.t_s), By::Simulations),
    ("interval_s", |i| Some(i.interval_s), By::Simulations),
    ("sent_packets", |i| count(i.sent_packets), By::Simulations),
    ("received_packets", |i| count(i.received_packets), By::Simulations),
    ("lost_packets", |i| count(i.lost_packets), By::Simulations),
    ("late_dropped_packets", |i| count(i.late_dropped_packets), By::Others),
    ("dropped_by_reader_packets", |i| count(i.dropped_by_reader_packets), By::Others),
    ("repaired_bytes", |i| count(i.repaired_bytes), By::Others),
    ("send_rate_bps", |i| i.send_rate_bps, By::Simulations),
    ("receive_rate_bps", |i| i.receive_rate_bps, By::Others),
    ("goodput_bps", |i| i.goodput_bps, By::Simulations),
    ("allowed_rate_bps", |i| i.allowed_rate_bps, By::Simulations),
    ("target_rate_bps", |i| i.target_rate_bps, By::Others),
    ("encoder_fps", |i| i.encoder_fps, By::Others),
    ("encoder_rate_bps", |i| i.encoder_rate_bps, By::Others),
    ("encoder_speed", |i| i.encoder_speed, By::Others),
    ("link_rate_bps", |i| i.link_rate_bps, By::Others),
    ("loss_event_rate", |i| i.loss_event_rate, By::Simulations),
    ("packet_loss_rate", |i| i.packet_loss_rate, By::Simulations),
    ("rtt_s", |i| i.rtt_s, By::Simulations),
    ("queue_packets", |i| i.queue_packets, By::Others),
    ("mean_queue_packets", |i| i.mean_queue_packets, By::Others),
    ("utilization", |i| i.utilization, By::Others),
    ("loss_events", |i| count(i.loss_events), By::Simulations),
    ("cwnd_packets", |i| i.cwnd_packets, By::Simulations),
];

/// The values of the last columns, `stopped` and `limit`: the rule that has stopped the flow, and
/// what holds its rate, as in JSON.
#[must_use]
pub fn words(interval: &Interval) -> [Option<String>; 2] {
    [serde_json::json!(interval.stopped), serde_json::json!(interval.limit)]
        .map(|value| value.as_str().map(str::to_owned))
}

fn count(n: Option<u64>) -> Option<f64> {
    n.map(|n| n as f64)
}

/// The run that lines are about.
#[derive(Debug, Clone)]
pub struct SeriesRun<'r> {
    /// Its number at its point, from 1.
    pub run: u32,
    /// The number of its point, from 1.
    pub point: usize,
    /// Settings of the point: the name of each sweep and the value there.
    pub at: &'r [(String, String)],
}

/// Writes the heads of the columns: `run`, `point`, the name of each sweep, `flow`, `link`, and
/// every other key of an [`Interval`].
///
/// # Errors
/// Those of `out`.
pub fn heads<'n>(sweeps: impl IntoIterator<Item = &'n str>, mut out: impl Write) -> io::Result<()> {
    let mut line = "run,point".to_owned();
    for name in sweeps {
        line.push(',');
        line.push_str(&field(name));
    }
    line.push_str(",flow,link");
    for (key, ..) in COLUMNS {
        let _ = write!(line, ",{key}");
    }
    line.push_str(",stopped,limit\n");
    out.write_all(line.as_bytes())
}

/// Writes a line for each flow and each link; a value that is not known is empty.
///
/// # Errors
/// Those of `out`.
pub fn lines(of: &SeriesRun<'_>, look: &Look, mut out: impl Write) -> io::Result<()> {
    let mut front = format!("{},{}", of.run, of.point);
    for (_, value) in of.at {
        front.push(',');
        front.push_str(&field(value));
    }
    let mut line = String::new();
    for interval in look.flows.iter().chain(&look.links) {
        line.clone_from(&front);
        for name in [&interval.flow, &interval.link] {
            line.push(',');
            line.push_str(&field(name.as_deref().unwrap_or_default()));
        }
        for (_, value, _) in COLUMNS {
            match value(interval) {
                Some(value) => {
                    let _ = write!(line, ",{value}");
                }
                None => line.push(','),
            }
        }
        for word in words(interval) {
            line.push(',');
            line.push_str(&word.unwrap_or_default());
        }
        line.push('\n');
        out.write_all(line.as_bytes())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An interval in which each key is known.
    fn full() -> Interval {
        let keys = COLUMNS.iter().map(|(key, ..)| (*key).to_owned());
        let numbered = keys.zip(1u32..).map(|(key, n)| (key, serde_json::json!(n)));
        let mut value: serde_json::Value = numbered.collect::<serde_json::Map<_, _>>().into();
        value["flow"] = "a,\"b\"".into();
        value["stopped"] = "congestion".into();
        value["limit"] = "queue".into();
        serde_json::from_value(value).expect("an interval")
    }

    #[test]
    fn every_key_of_an_interval_is_a_column() {
        let all = Interval { link: Some(String::new()), ..full() };
        let value = serde_json::json!(all);
        let mut keys: Vec<&str> = value.as_object().expect("an object").keys().map(String::as_str).collect();
        keys.retain(|key| !["flow", "link", "stopped", "limit"].contains(key));
        let mut columns = COLUMNS.map(|(key, ..)| key);
        columns.sort_unstable();
        assert_eq!(keys, columns);
        // A key that serde would read and that nothing writes would be missed above.
        let source = include_str!("../../world/src/results.rs");
        let (_, body) = source.split_once("pub struct Interval {").expect("there");
        let fields = body.split('}').next().expect("its body").matches("    pub ").count();
        assert_eq!(fields, COLUMNS.len() + 4);
    }

    #[test]
    fn lines_by_hand() {
        let mut out = Vec::new();
        heads(["link.l.rate", "a,b"], &mut out).expect("memory");
        let at = [("link.l.rate".to_owned(), "1M".to_owned()), ("a,b".to_owned(), "1,2".to_owned())];
        let link = Interval { t_s: 0.1 + 0.2, link: Some("l".to_owned()), ..Interval::default() };
        let look = Look { flows: vec![full()], links: vec![link] };
        lines(&SeriesRun { run: 2, point: 3, at: &at }, &look, &mut out).expect("memory");
        let text = String::from_utf8(out).expect("text");
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("run,point,link.l.rate,\"a,b\",flow,link,t_s,interval_s,sent_packets,"));
        assert!(lines[1].starts_with("2,3,1M,\"1,2\",\"a,\"\"b\"\"\",,1,2,3,"), "{}", lines[1]);
        assert!(lines[1].ends_with(",23,24,25,congestion,queue"), "{}", lines[1]);
        assert!(lines[2].starts_with("2,3,1M,\"1,2\",,l,0.30000000000000004,0,,"), "{}", lines[2]);
    }
}
