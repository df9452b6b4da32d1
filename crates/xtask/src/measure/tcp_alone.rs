//! `cargo xtask measure tcp`: the page docs/models/tcp-alone.md, from the example `tcp_alone` of
//! `crates/sim`.

use std::fmt::Write as _;

use crate::{Outcome, cargo, root};

const PAGE: &str = "docs/models/tcp-alone.md";
const BEFORE: &str = "testdata/tcp-alone/before.csv";

/// A bandwidth-delay product below this is printed and not judged, in packets.
const LEAST_BDP: f64 = 10.0;
/// Loss events that make a sawtooth.
const LEAST_EVENTS: f64 = 3.0;
/// The least utilisation, over that of the sawtooth.
const LEAST_UTILISATION: f64 = 0.95;
/// The highest loss rate, over that of the sawtooth.
const MOST_LOSS: f64 = 2.0;

const HEAD: &str = "\
# Every TCP alone and in fours through one bottleneck

Made by `cargo xtask measure tcp` (virtual time, some minutes); do not edit by hand.

Each TCP has `settings = \"rfc\"` and sends without end, alone or as four flows, through 2, 20 and 100 Mbit/s with round-trip
times of 10, 40 and 200 ms. The queues are drop-tail of 0.25, 1 and 4 bandwidth-delay products (BDP) and Adaptive RED, CoDel and the
basic PIE with the values of their papers and room for 4 BDP, at least 100 packets. *Before* is commit 9b703f5, *after* the code of today
([decision 0010](../decisions/0010-what-a-reduction-halves.md)).

A run is measured from the first loss event after the losses of slow start are repaired to the last of at least ten, for 100 to
300 s. *Utilisation* is new data with its headers over the capacity, *loss* drops over arrivals. Beside them stands the sawtooth
that the flows should draw through the queue that they met: windows go from M, the BDP and the queue at a loss event, to β·M, and
grow by the law of the TCP to the next loss event, all flows together; Tahoe starts slowly from 1. Its loss is one in each
flow's tooth, with CUBIC what the window grows by in the round trip in which it learns of the loss, if that is more.

A cell is good with at least 0.95 of the sawtooth's utilisation and at most twice its loss, and × marks one that is not. Below a BDP of
ten packets and with fewer than three loss events (the sawtooth is longer than the run) nothing is judged; the columns *of sawtooth*
are then empty.
";

const READING: &str = include_str!("tcp_alone.md");

struct AloneRun {
    path: (String, String),
    queue: String,
    variant: String,
    flows: String,
    bdp: f64,
    events: f64,
    utilisation: f64,
    sawtooth_utilisation: f64,
    loss: f64,
    sawtooth_loss: f64,
    timeouts: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Judgement {
    Good,
    Miss,
    NotJudged,
}

impl AloneRun {
    fn utilisation_share(&self) -> f64 {
        self.utilisation / self.sawtooth_utilisation
    }

    fn loss_share(&self) -> f64 {
        self.loss / self.sawtooth_loss
    }

    fn judgement(&self) -> Judgement {
        if self.bdp < LEAST_BDP || self.events < LEAST_EVENTS {
            Judgement::NotJudged
        } else if self.utilisation_share() >= LEAST_UTILISATION && self.loss_share() <= MOST_LOSS {
            Judgement::Good
        } else {
            Judgement::Miss
        }
    }
}

/// Runs the example, unless the figures of a run are given, and writes the page.
pub(crate) fn tcp_alone(figures: Option<&str>) -> Outcome {
    let read = |path: &std::path::Path| {
        std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
    };
    let before = cells(&read(&root().join(BEFORE))?)?;
    let after = match figures {
        Some(path) => cells(&read(path.as_ref())?)?,
        None => cells(&measure()?)?,
    };
    if before.len() != after.len() {
        return Err(format!("{BEFORE} has {} runs, today's figures have {}", before.len(), after.len()));
    }
    std::fs::write(root().join(PAGE), page(&before, &after)).map_err(|error| format!("{PAGE}: {error}"))?;
    println!("{PAGE}: {} runs", after.len());
    Ok(())
}

fn measure() -> Result<String, String> {
    println!("measuring; about six minutes …");
    let out = cargo()
        .args(["run", "--locked", "--release", "--quiet", "--package", "tfrc-sim", "--example", "tcp_alone"])
        .stderr(std::process::Stdio::null())
        .output()
        .map_err(|error| error.to_string())?;
    if !out.status.success() {
        return Err(format!("the example ended with {}", out.status));
    }
    String::from_utf8(out.stdout).map_err(|error| error.to_string())
}

fn cells(text: &str) -> Result<Vec<AloneRun>, String> {
    text.lines().skip(1).map(|line| cell(line).ok_or_else(|| format!("not a run: {line}"))).collect()
}

fn cell(line: &str) -> Option<AloneRun> {
    let words: Vec<&str> = line.split(',').collect();
    let &[
        rate,
        rtt,
        queue,
        variant,
        flows,
        bdp,
        _,
        _,
        events,
        utilisation,
        saw_utilisation,
        loss,
        saw_loss,
        timeouts,
        _,
    ] = words.as_slice()
    else {
        return None;
    };
    Some(AloneRun {
        path: (rate.to_owned(), rtt.to_owned()),
        queue: queue.to_owned(),
        variant: variant.to_owned(),
        flows: flows.to_owned(),
        bdp: bdp.parse().ok()?,
        events: events.parse().ok()?,
        utilisation: utilisation.parse().ok()?,
        sawtooth_utilisation: saw_utilisation.parse().ok()?,
        loss: loss.parse().ok()?,
        sawtooth_loss: saw_loss.parse().ok()?,
        timeouts: timeouts.parse().ok()?,
    })
}

fn page(before: &[AloneRun], after: &[AloneRun]) -> String {
    let mut page = HEAD.to_owned();
    let _ = writeln!(page, "\n## Result\n");
    summary(&mut page, before, after);
    let _ = write!(page, "\n{READING}");
    let mut path = None;
    for (old, new) in before.iter().zip(after) {
        if path != Some(&new.path) {
            path = Some(&new.path);
            let (rate, rtt) = &new.path;
            let _ = writeln!(page, "\n## {rate} Mbit/s, {rtt} ms: BDP {:.0} packets\n", new.bdp);
            page.push_str(
                "| queue | TCP | flows | utilisation before | after | of sawtooth | loss before, % | after, % | \
                 of sawtooth | timeouts before | after | |\n| --- | --- | ---: |",
            );
            page.push_str(&" ---: |".repeat(8));
            page.push_str(" --- |\n");
        }
        row(&mut page, old, new);
    }
    page
}

fn row(page: &mut String, old: &AloneRun, new: &AloneRun) {
    let judgement = new.judgement();
    let share = |x: f64| match judgement {
        Judgement::NotJudged => String::new(),
        Judgement::Good | Judgement::Miss => format!("{x:.2}"),
    };
    let mark = if judgement == Judgement::Miss { "×" } else { "" };
    let _ = writeln!(
        page,
        "| {} | {} | {} | {:.3} | {:.3} | {} | {:.3} | {:.3} | {} | {} | {} | {mark} |",
        new.queue,
        new.variant,
        new.flows,
        old.utilisation,
        new.utilisation,
        share(new.utilisation_share()),
        old.loss * 100.0,
        new.loss * 100.0,
        share(new.loss_share()),
        old.timeouts,
        new.timeouts,
    );
}

/// Writes the number of cells that miss the bands, for each TCP and number of flows.
fn summary(page: &mut String, before: &[AloneRun], after: &[AloneRun]) {
    let _ = writeln!(
        page,
        "| TCP | flows | judged before | of them × | judged after | of them × | highest loss of sawtooth before | after |\n\
         | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    );
    let mut kinds: Vec<(&str, &str)> = Vec::new();
    for cell in after {
        if !kinds.contains(&(&cell.variant, &cell.flows)) {
            kinds.push((&cell.variant, &cell.flows));
        }
    }
    for (variant, flows) in kinds {
        let count = |cells: &[AloneRun]| {
            let own = || cells.iter().filter(|c| c.variant == variant && c.flows == flows);
            let judged = own().filter(|c| c.judgement() != Judgement::NotJudged);
            let misses = own().filter(|c| c.judgement() == Judgement::Miss).count();
            let worst =
                judged.clone().map(AloneRun::loss_share).filter(|x| x.is_finite()).fold(0.0, f64::max);
            (judged.count(), misses, worst)
        };
        let ((judged, misses, worst), (judged_now, misses_now, worst_now)) = (count(before), count(after));
        let _ = writeln!(
            page,
            "| {variant} | {flows} | {judged} | {misses} | {judged_now} | {misses_now} | {worst:.1} | {worst_now:.1} |"
        );
    }
}
