//! Honest transfers and strangers that come and go for a long time: memory, descriptors and logs
//! have to stay flat.

use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};
use tfrc_units::saturating;

use rustix::process::Signal;

use super::engine::{Bench, Case, CaseRow, Load};
use super::honest::{self, Listening, TransferPlan};
use super::program::{Program, SOON, Stream};
use super::session;
use super::stranger::{Stranger, Xorshift, request, socket};
use super::strangers::warm_up;

/// The cases of this file.
pub(crate) const CASES: [Case; 1] = [Case::new("soak", Load::Busy, soak)];

/// Samples of a run, at most one a minute.
const SAMPLES: u32 = 16;
/// Largest ratio of the last quarter's mean memory to the second quarter's, in a run of at least
/// [`SETTLED`].
const FLAT: f64 = 1.05;
/// Largest ratio in a shorter run, whose heaps still fill: `link` went from 84 to 89 MB in 16 s and
/// stays at 96 MB in an hour. 10 kB left behind by each stranger at `link` are a sixth more.
const FLAT_EARLY: f64 = 1.15;
/// A program that runs for this long has its memory.
const SETTLED: Duration = Duration::from_mins(10);
/// Bytes of log that a program may write in a second: ten lines.
const LOG_PER_SECOND: f64 = 1_500.0;
/// Connections of strangers in a round.
const STRANGERS: u32 = 50;
/// Clients that a link has at most, each with a socket.
const CLIENTS: u32 = 256;

/// One look at a program.
#[derive(Clone, Copy)]
struct Look {
    memory_kb: u64,
    descriptors: usize,
    log: u64,
}

impl Look {
    fn at(program: &Program) -> Self {
        Self { memory_kb: program.memory_kb(), descriptors: program.descriptors(), log: program.log_bytes() }
    }
}

/// A row of the table.
struct SoakRow {
    at: Duration,
    recv: Look,
    link: Look,
    honest: u32,
    strangers: u32,
}

fn soak(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    let mut receiver = Listening::raw(bench, directory, "127.0.0.1", &[], Stream::Own)?;
    let keys = "rate = \"50Mbit/s\"\ndelay = \"1ms\"";
    let (mut link, entrance) = session::link(bench, directory, keys, &receiver.address)?;
    let file = honest::input(directory, 300_000)?;
    let interval = (bench.soak / SAMPLES).min(Duration::from_mins(1));
    warm_up(&mut Stranger::new("127.0.0.1", &receiver.address, 0)?)?;
    let mut noise = Xorshift::new(1);
    // Until the link has had its 256 clients, and evicted as many.
    for round in 0..CLIENTS.div_ceil(STRANGERS) * 2 {
        visit(&receiver.address, &entrance, saturating(round), &mut noise)?;
    }
    let begin = Instant::now();
    let (mut samples, mut honest, mut failed, mut strangers) = (Vec::new(), 0, 0, 0);
    let (mut seed, mut first) = (0_u8, String::new());
    while begin.elapsed() < bench.soak && receiver.program.runs() && link.runs() {
        // An honest transfer straight, and one through the link.
        for to in [&receiver.address, &entrance] {
            let end = honest::send(bench, directory, to, &file, &TransferPlan::USUAL)?.end(SOON);
            honest += u32::from(end.is(0));
            failed += u32::from(!end.is(0));
            if !end.is(0) && failed == 1 {
                let at = begin.elapsed().as_secs_f64();
                first = format!("; the first after {at:.0} s, to {to}: {} {}", end.how, end.last);
            }
        }
        seed = seed.wrapping_add(1);
        strangers += visit(&receiver.address, &entrance, seed, &mut noise)?;
        let due = interval * saturating::<u32>(samples.len() + 1);
        if begin.elapsed() >= due {
            let (recv, link) = (Look::at(&receiver.program), Look::at(&link));
            samples.push(SoakRow { at: begin.elapsed(), recv, link, honest, strangers });
        }
    }
    let mut row = CaseRow::new(format!(
        "{:.0} s of honest transfers and {strangers} strangers in turn, at `recv` and through `link`",
        begin.elapsed().as_secs_f64()
    ));
    row.bar(receiver.program.runs() && link.runs(), "both programs run to the end");
    row.honest = format!("{honest} finished, {failed} failed{first}");
    row.bar(failed == 0, "every honest transfer finishes");
    judge(&mut row, "recv", &samples, |sample| sample.recv);
    judge(&mut row, "link", &samples, |sample| sample.link);
    row.details = table(&samples);
    receiver.program.signal(Signal::TERM);
    let end = receiver.program.end(SOON);
    row.bar(end.is(0), format!("receiver: exit 0 ({} {})", end.how, end.last));
    Ok(row)
}

/// Strangers connect and close, ask and go, and send what is not a packet.
fn visit(to: &str, entrance: &str, seed: u8, noise: &mut Xorshift) -> Result<u32, String> {
    let mut stranger = Stranger::new("127.0.0.1", to, seed)?;
    for _ in 0..STRANGERS {
        if let Some(id) = stranger.connect(Duration::from_millis(300))? {
            stranger.close(id, Duration::from_millis(300));
        }
    }
    for _ in 0..STRANGERS {
        let socket = socket("127.0.0.1")?;
        let port = saturating::<u16>(1024 + noise.below(60_000));
        for address in [to, entrance] {
            // A full buffer loses what strangers send.
            let _ = socket.send_to(&request(port, noise.number()), address);
            let _ = socket.send_to(&noise.next().to_le_bytes(), address);
        }
    }
    Ok(3 * STRANGERS)
}

#[expect(clippy::cast_precision_loss, reason = "kilobytes and log bytes are far below 2^53")]
fn judge(row: &mut CaseRow, name: &str, samples: &[SoakRow], of: fn(&SoakRow) -> Look) {
    let quarter = samples.len() / 4;
    if quarter == 0 {
        return row.bar(false, "at least four samples");
    }
    let part = |number: usize| samples.get(number * quarter..(number + 1) * quarter).unwrap_or_default();
    let mean =
        |part: &[SoakRow]| part.iter().map(|s| of(s).memory_kb as f64).sum::<f64>() / part.len() as f64;
    let (early, late) = (mean(part(1)), mean(part(3)));
    row.saw(format!("{name}: RSS {early:.0} → {late:.0} kB"));
    let long = samples.last().is_some_and(|last| last.at >= SETTLED);
    let flat = if long { FLAT } else { FLAT_EARLY };
    row.bar(
        late <= early * flat,
        format!(
            "{name}: memory grows by at most {:.0} % from the second to the last quarter",
            (flat - 1.0) * 100.0
        ),
    );
    let most = |part: &[SoakRow]| part.iter().map(|s| of(s).descriptors).max().unwrap_or_default();
    // The link has a socket for each of its 256 clients and closes evicted ones a little later.
    row.bar(most(part(3)) * 5 <= most(part(1)) * 6, format!("{name}: descriptors grow by at most a fifth"));
    if let (Some(first), Some(last)) = (samples.first(), samples.last()) {
        let time = last.at.saturating_sub(first.at).as_secs_f64().max(1e-3);
        let rate = of(last).log.saturating_sub(of(first).log) as f64 / time;
        row.saw(format!("{name}: {rate:.0} B of log a second"));
        row.bar(rate <= LOG_PER_SECOND, format!("{name}: at most {LOG_PER_SECOND:.0} B of log a second"));
    }
}

fn table(samples: &[SoakRow]) -> String {
    let mut text = "| time (s) | recv RSS (kB) | descriptors | log (B) | link RSS (kB) | descriptors | log (B) | honest | strangers |\n\
                    | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n"
        .to_owned();
    for SoakRow { at, recv, link, honest, strangers } in samples {
        // Writing to a String does not fail.
        let _ = writeln!(
            text,
            "| {:.0} | {} | {} | {} | {} | {} | {} | {honest} | {strangers} |",
            at.as_secs_f64(),
            recv.memory_kb,
            recv.descriptors,
            recv.log,
            link.memory_kb,
            link.descriptors,
            link.log
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(step: Duration, memory: impl Fn(u32) -> u64) -> Vec<SoakRow> {
        (0..16)
            .map(|n| {
                let look = Look { memory_kb: memory(n), descriptors: 17, log: u64::from(n) * 100 };
                SoakRow { at: step * n, recv: look, link: look, honest: n, strangers: n }
            })
            .collect()
    }

    #[test]
    fn memory_that_grows_is_noticed_and_warming_up_is_not() {
        let judged = |step, memory: fn(u32) -> u64| {
            let mut row = CaseRow::new("");
            judge(&mut row, "recv", &samples(step, memory), |sample| sample.recv);
            row.holds()
        };
        let (second, minute) = (Duration::from_secs(1), Duration::from_mins(1));
        for step in [second, minute] {
            assert!(judged(step, |n| if n < 4 { 5_000 + u64::from(n) * 1_000 } else { 9_000 }));
            assert!(!judged(step, |n| 9_000 + u64::from(n) * 300));
        }
        // An hour tells more than 16 seconds.
        assert!(!judged(minute, |n| 9_000 + u64::from(n) * 100));
        assert!(judged(second, |n| 9_000 + u64::from(n) * 100));
    }
}
