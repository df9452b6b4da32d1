//! Replays a trace of packets and reports through an [`Advisor`] and prints its decisions bit by
//! bit, for comparison with the same trace in another language.
//!
//! Standard input has one call a line, times in nanoseconds, `-` for what is not known:
//!
//! ```text
//! interval REPORT_INTERVAL          the first line
//! sent NOW ID SIZE
//! acked ID ARRIVED_AT CE            CE is 0 or 1
//! lost ID
//! report NOW HOLD
//! timeout NOW
//! ```
//!
//! After each line but the first there is one on standard output: the bits of the allowed rate in
//! bytes per second and of p in hexadecimal, R in nanoseconds, loss events, the time of the next
//! packet at the latest NOW, and that of the timeout.

use std::error::Error;
use std::io::{self, BufRead, Write};

use tfrc::advisor::{Ack, Hold};
use tfrc::{Advisor, Config, SendDecision};
use tfrc_units::{Duration, Ecn, Instant};

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let mut lines = io::stdin().lock().lines();
    let first = lines.next().ok_or("no line")??;
    let interval = first.strip_prefix("interval ").ok_or("the first line is `interval …`")?;
    let interval = Duration::from_nanos(interval.parse()?);
    let mut advisor = Advisor::<16_384>::with_capacity(&Config::default(), interval);
    let mut now = Instant::ZERO;
    let mut out = io::stdout().lock();
    for line in lines {
        let line = line?;
        now = step(&mut advisor, &line)?.unwrap_or(now);
        let rtt = advisor.rtt().map_or("-".to_owned(), |rtt| rtt.as_nanos().to_string());
        let next = match advisor.next_send(now) {
            SendDecision::Now => "now".to_owned(),
            SendDecision::At(at) => at.as_nanos().to_string(),
            SendDecision::Stopped(_) => "-".to_owned(),
        };
        let timeout = advisor.poll_timeout().map_or("-".to_owned(), |wake| wake.at.as_nanos().to_string());
        let rate = advisor.allowed_rate().bytes_per_sec().to_bits();
        let p = advisor.loss_event_rate().get().to_bits();
        writeln!(out, "{rate:016x} {p:016x} {rtt} {} {next} {timeout}", advisor.loss_events())?;
    }
    Ok(())
}

/// Makes the call of a line; the time that it gives.
fn step(advisor: &mut Advisor<16_384>, line: &str) -> Outcome<Option<Instant>> {
    let words: Vec<&str> = line.split(' ').collect();
    let time = |word: &str| -> Outcome<Instant> { Ok(Instant::from_nanos(word.parse()?)) };
    let known = |word: &str| (word != "-").then(|| word.parse::<u64>()).transpose();
    match words.as_slice() {
        ["sent", now, id, size] => {
            let now = time(now)?;
            advisor.on_sent(now, id.parse()?, size.parse()?);
            Ok(Some(now))
        }
        ["acked", id, arrived_at, ce] => {
            let ecn = if *ce == "1" { Ecn::Ce } else { Ecn::NotEct };
            let arrived_at = known(arrived_at)?.map(Instant::from_nanos);
            advisor.on_acked(Ack { id: id.parse()?, arrived_at, ecn });
            Ok(None)
        }
        ["lost", id] => {
            advisor.on_lost(id.parse()?);
            Ok(None)
        }
        ["report", now, hold] => {
            let now = time(now)?;
            let hold = known(hold)?.map_or(Hold::Unknown, |hold| Hold::Known(Duration::from_nanos(hold)));
            advisor.on_report(now, hold);
            Ok(Some(now))
        }
        ["timeout", now] => {
            let now = time(now)?;
            advisor.handle_timeout(now);
            Ok(Some(now))
        }
        _ => Err(format!("no call: {line}").into()),
    }
}
