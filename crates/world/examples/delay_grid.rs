//! `cargo run --release -p tfrc-world --example delay_grid`: the bound on the queueing delay over
//! networks that nobody tuned it on, for `docs/models/delay-bound.md`. Two cores, a quarter of an
//! hour.
//!
//! Cells, their seeds and the bars were fixed before the first run. It is the third grid: the rule
//! was changed after each of the first two.
#![expect(clippy::disallowed_macros, clippy::unwrap_used, reason = "a program for one table")]
#![expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "quantities are small")]

use std::fmt::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use tfrc_scenario::Scenario;
use tfrc_units::Duration;
use tfrc_world::Run;
use tfrc_world::recording::{Keep, LOOK, Looks, PacketDelays};
use tfrc_world::results::Interval;
use tfrc_world::statistics::quantile;
use tfrc_world::watch::Watch;

/// Cells are drawn by the hash of this text and of their names.
///
/// Its last word is the hash of the file that has the rule, `git hash-object
/// crates/tfrc/src/sender/delay_bound/mod.rs`, when the cells were drawn.
const DRAW: &str = "delay bound, third grid, 1482964bad258293";
const SEEDS: [u64; 2] = [301, 302];
/// Seconds of a run, and of its beginning that is not measured.
const DURATION: u32 = 160;
const WARMUP: u32 = 20;
/// A TCP that ends does so at this second; the queue counts from 30 to 60 s later.
const TCP_ENDS: u32 = 90;
const AFTER_END: [u32; 2] = [120, 150];
/// The path changes its length each so many seconds from the second one on, and is watched from
/// three to six seconds later.
const STEP: usize = 15;
const FIRST_STEP: usize = 30;
const WATCHED: [usize; 2] = [3, 6];
/// Bounded flows join so many seconds apart, and count in the last seconds.
const APART: u32 = 20;
const JOINED: u32 = 110;
/// The link falls at this second; the queue counts from 5 to 20 s later.
const FALL: u32 = 40;
/// Bytes of a full packet on the line.
const PACKET: f64 = 1500.0;

const BOUNDS_MS: [u32; 3] = [40, 80, 150];
const RATES_MBIT: [u32; 3] = [2, 6, 20];
const RTTS_MS: [u32; 3] = [30, 100, 250];

#[derive(Debug, Clone, Copy, PartialEq)]
enum Queue {
    /// Drop-tail, products of rate and round-trip time.
    Products(f64),
    CoDel,
    Pie,
}

const QUEUES: [Queue; 5] =
    [Queue::Products(0.7), Queue::Products(1.5), Queue::Products(4.0), Queue::CoDel, Queue::Pie];

#[derive(Debug, Clone, Copy, PartialEq)]
enum Peer {
    Alone,
    Sack,
    Cubic,
    Bbr,
    Web,
}

const PEERS: [Peer; 5] = [Peer::Alone, Peer::Sack, Peer::Cubic, Peer::Bbr, Peer::Web];

#[derive(Debug, Clone, Copy, PartialEq)]
enum Pattern {
    Greedy,
    /// Two fifths of the line at most.
    Capped,
    OnOff,
    Talk,
    Segments,
}

const PATTERNS: [Pattern; 5] =
    [Pattern::Greedy, Pattern::Capped, Pattern::OnOff, Pattern::Talk, Pattern::Segments];

/// Seconds on and off, of which a cell's hash takes one.
const ON_OFF: [[f64; 2]; 7] =
    [[0.5, 0.5], [1.0, 2.0], [2.0, 2.0], [5.0, 5.0], [10.0, 5.0], [5.0, 30.0], [60.0, 20.0]];
/// Seconds of a segment of video, likewise.
const SEGMENT: [f64; 2] = [2.0, 6.0];
/// Parts of the line that the segments need, and that a capped flow takes.
const SEGMENT_LOAD: f64 = 0.6;
const CAP: f64 = 0.4;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Way {
    There,
    Back,
    Both,
}

/// An event of the path or of the flow.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Event {
    /// Nothing: the flow next to its peer.
    None,
    /// The round trip is longer by this part of D for 15 s of each 30, with a gap of so many
    /// milliseconds at each change.
    Steps { part: f64, way: Way, gap_ms: u32 },
    /// This number of bounded flows join one after the other.
    Several(u32),
    /// The link falls to this part; its buffer is so many seconds then.
    Fall { part: f64, buffer_s: f64 },
    /// Packets are lost at random, in a queue of four products.
    Loss { percent: f64 },
}

#[derive(Debug, Clone, Copy)]
struct Cell {
    bound_ms: u32,
    mbit: u32,
    rtt_ms: u32,
    queue: Queue,
    peer: Peer,
    pattern: Pattern,
    balanced: bool,
    event: Event,
}

/// FNV-1a, and a mixing of its bits.
fn hash(text: &str) -> u64 {
    let fold = |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325, fold);
    let hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash ^ (hash >> 33)
}

impl Cell {
    fn hash(&self) -> u64 {
        hash(&format!("{DRAW} {self:?}"))
    }

    /// One of these, drawn by the hash.
    fn draw<T: Copy>(&self, from: &[T]) -> T {
        from[self.hash() as usize % from.len()]
    }

    /// Milliseconds of queue that this many packets are.
    fn milliseconds(&self, packets: f64) -> f64 {
        packets * PACKET * 8.0 / (f64::from(self.mbit) * 1e3)
    }

    fn queue(&self) -> String {
        let mbit = f64::from(self.mbit);
        let product = mbit * f64::from(self.rtt_ms) * 1e3 / 8.0 / PACKET;
        let deep = (2.0 * product).round().max(100.0);
        match (self.event, self.queue) {
            (Event::Fall { part, buffer_s }, _) => {
                format!("\"{}p\"", (buffer_s * mbit * part * 1e6 / 8.0 / PACKET).round().max(5.0))
            }
            (_, Queue::Products(products)) => format!("\"{}p\"", (products * product).round().max(5.0)),
            (_, Queue::CoDel) => format!("{{ codel = {{ limit = \"{deep}p\" }} }}"),
            (_, Queue::Pie) => format!("{{ pie = {{ limit = \"{deep}p\", revision = \"enhanced\" }} }}"),
        }
    }

    /// The flow next to the one measured; a TCP ends where that is asked for.
    fn peer(&self, end: Option<u32>) -> String {
        let ends = "name = \"peer\"\nfrom = \"near\"\nto = \"far\"";
        let tcp = |settings: &str| {
            let stop = end.map_or(String::new(), |end| format!("stop = \"{end}s\"\n"));
            format!(
                "[[flow]]\nkind = \"tcp\"\n{ends}\nstart = \"uniform 3s 6s\"\n{stop}[flow.tcp]\n{settings}\n"
            )
        };
        match self.peer {
            Peer::Alone => String::new(),
            Peer::Sack => tcp("variant = \"sack\""),
            Peer::Cubic => tcp("variant = \"cubic\"\nsettings = \"linux\""),
            Peer::Bbr => tcp("variant = \"bbr\"\nsettings = \"linux\""),
            Peer::Web => format!("[[flow]]\nkind = \"web\"\n{ends}\n"),
        }
    }

    /// When the application sends, and the size of its packets.
    fn pattern(&self) -> String {
        let mut text = String::from("segment = \"1456B\"\n");
        match self.pattern {
            Pattern::Greedy | Pattern::Capped => {}
            Pattern::OnOff => {
                let [on, off] = self.draw(&ON_OFF);
                writeln!(text, "on = \"{on}s\"\noff = \"{off}s\"").unwrap();
            }
            Pattern::Talk => {
                text = String::from(
                    "segment = \"160B\"\npackets_per_second = 50\non = \"exponential 1s\"\n\
                     off = \"exponential 1.35s\"\n",
                );
            }
            Pattern::Segments => {
                let period = self.draw(&SEGMENT);
                let bytes = (f64::from(self.mbit) * 1e6 * SEGMENT_LOAD * period / 8.0) as u64;
                let count = (f64::from(DURATION) / period) as u32;
                let writes: Vec<_> = (0..count)
                    .map(|i| 1.0 + f64::from(i) * period)
                    .filter(|at| *at < f64::from(DURATION))
                    .map(|at| format!("{{ at = \"{at:.1}s\", bytes = \"{bytes}B\" }}"))
                    .collect();
                writeln!(text, "writes = [{}]", writes.join(", ")).unwrap();
            }
        }
        text
    }

    /// Rates, lengths and losses of the link, there and back.
    fn link(&self) -> String {
        let half = f64::from(self.rtt_ms) / 2.0;
        let mut there = vec![format!("delay = \"{half}ms\"")];
        let mut back = vec![String::from("rate = \"100Mbit/s\"")];
        match self.event {
            Event::None | Event::Several(_) => {}
            Event::Loss { percent } => {
                there.push(format!("loss = \"{percent}%\""));
                back.push(String::from("loss = \"0%\""));
            }
            Event::Fall { part, .. } => {
                let rate = f64::from(self.mbit) * part;
                there.push(format!("changes = [{{ at = \"{FALL}s\", rate = \"{rate}Mbit/s\" }}]"));
            }
            Event::Steps { part, way, gap_ms } => {
                let more = part * f64::from(self.bound_ms) / if way == Way::Both { 2.0 } else { 1.0 };
                let changes = |longer: bool| {
                    let mut changes = Vec::new();
                    for (i, at) in (FIRST_STEP..DURATION as usize).step_by(STEP).enumerate() {
                        let delay = half + if i % 2 == 0 && longer { more } else { 0.0 };
                        if gap_ms > 0 {
                            changes.push(format!(
                                "{{ at = \"{at}s\", delay = \"{delay}ms\", loss = \"100%\" }}"
                            ));
                            let end = at as u32 * 1000 + gap_ms;
                            changes.push(format!("{{ at = \"{end}ms\", loss = \"0%\" }}"));
                        } else {
                            changes.push(format!("{{ at = \"{at}s\", delay = \"{delay}ms\" }}"));
                        }
                    }
                    format!("changes = [{}]", changes.join(", "))
                };
                there.push(changes(way != Way::Back));
                back.push(format!("delay = \"{half}ms\""));
                back.push(changes(way != Way::There));
            }
        }
        format!("{}\nreverse = {{ {} }}", there.join("\n"), back.join(", "))
    }

    fn flows(&self, bound: &str) -> String {
        let profile = if self.balanced { "profile = \"balanced\"\n" } else { "" };
        let cap = if self.pattern == Pattern::Capped {
            format!("cap = \"{}kbit/s\"\n", f64::from(self.mbit) * CAP * 1e3)
        } else {
            String::new()
        };
        let many = if let Event::Several(many) = self.event { many } else { 1 };
        (0..many)
            .map(|i| {
                let start = if matches!(self.pattern, Pattern::OnOff | Pattern::Segments) {
                    String::new()
                } else {
                    format!("start = \"uniform {}s {}s\"\n", i * APART, i * APART + 1)
                };
                format!(
                    "[[flow]]\nname = \"tfrc-{i}\"\nkind = \"tfrc\"\nfrom = \"near\"\nto = \"far\"\n{start}{}\
                     [flow.tfrc]\n{profile}{cap}max_queue_delay = \"{bound}\"\n",
                    self.pattern()
                )
            })
            .collect()
    }

    /// From and to which second figures count.
    fn window(&self, tcp_end: Option<u32>) -> [u32; 2] {
        match self.event {
            _ if tcp_end.is_some() => AFTER_END,
            Event::Several(_) => [JOINED, DURATION],
            Event::Fall { .. } => [FALL + 5, FALL + 20],
            _ => [WARMUP, DURATION],
        }
    }

    fn run(&self, seed: u64, bound: &str, tcp_end: Option<u32>) -> Figures {
        let [warmup, duration] = self.window(tcp_end);
        let text = format!(
            "duration = \"{duration}s\"\nwarmup = \"{warmup}s\"\nseed = {seed}\nnodes = [\"near\", \"far\"]\n\
             [[link]]\nname = \"path\"\nfrom = \"near\"\nto = \"far\"\nrate = \"{}Mbit/s\"\n\
             queue = {}\n{}\n{}{}",
            self.mbit,
            self.queue(),
            self.link(),
            self.flows(bound),
            self.peer(tcp_end),
        );
        let scenario = Scenario::parse("cell", &text).map_err(miette::Report::new).unwrap();
        let keep = Keep { looks: Looks::Taken, delays: PacketDelays::Measured, ..Keep::NOTHING };
        let mut seconds = Vec::new();
        let each = |interval: Interval| {
            if interval.flow.as_deref() == Some("tfrc-0") {
                seconds.push(interval.goodput_bps.unwrap_or(0.0) / 1e6);
            }
        };
        let watch = Watch::flows(Duration::from_secs(1), each);
        let recording = Run::of(&scenario).watch(watch).record(keep).unwrap();
        let looks = recording.links[0].queue.values();
        let before = (recording.from.as_nanos() / LOOK.as_nanos()) as usize;
        let queue: Vec<f64> = looks.iter().skip(before).flatten().copied().collect();
        let part = if let Event::Fall { part, .. } = self.event { part } else { 1.0 };
        let link = |share| self.milliseconds(quantile(queue.clone(), share).unwrap_or(0.0)) / part;
        let own: Vec<_> = recording.outcome.flows.iter().filter(|flow| flow.id.starts_with("tfrc")).collect();
        let rates: Vec<f64> = own.iter().map(|flow| flow.goodput_bps.unwrap_or(0.0) / 1e6).collect();
        let p95 = own.iter().filter_map(|flow| flow.delays.queueing_delay_p95_s).fold(0.0, f64::max);
        let competing: f64 = own.iter().filter_map(|flow| flow.competing_s).sum();
        Figures {
            flow_p95: p95 * 1e3,
            link_p50: link(0.5),
            link_p95: link(0.95),
            mbit: rates.iter().sum(),
            jain: jain(&rates),
            competing: competing / f64::from(duration - warmup) / own.len() as f64,
            seconds,
        }
    }

    fn runs(&self, bound: &str, tcp_end: Option<u32>) -> Vec<Figures> {
        SEEDS.iter().map(|seed| self.run(*seed, bound, tcp_end)).collect()
    }

    /// A TCP that fills the queue, by the runs without the bound.
    fn filled(&self, without: &[Figures]) -> bool {
        matches!(self.peer, Peer::Sack | Peer::Cubic | Peer::Bbr)
            && mean(without, |run| run.link_p50) > f64::from(self.bound_ms)
    }
}

/// Figures of a run: queueing delays in milliseconds of the flow's packets (the worst one of
/// several flows) and of the link at regular times, goodput in Mbit/s, Jain's index, the part of
/// the time in which the flow competed, and the goodput of each second.
#[derive(Debug, Clone, Default)]
struct Figures {
    flow_p95: f64,
    link_p50: f64,
    link_p95: f64,
    mbit: f64,
    jain: f64,
    competing: f64,
    seconds: Vec<f64>,
}

/// Jain's index.
fn jain(rates: &[f64]) -> f64 {
    let sum: f64 = rates.iter().sum();
    sum * sum / (rates.len() as f64 * rates.iter().map(|rate| rate * rate).sum::<f64>()).max(1e-12)
}

fn mean(runs: &[Figures], of: fn(&Figures) -> f64) -> f64 {
    runs.iter().map(of).sum::<f64>() / runs.len() as f64
}

/// Quotients of the rate with the bound to that without, three to six seconds after each step of
/// the path.
fn after_steps(without: &[Figures], with: &[Figures]) -> Vec<f64> {
    let mut quotients = Vec::new();
    for (without, with) in without.iter().zip(with) {
        for at in (FIRST_STEP..DURATION as usize - STEP).step_by(STEP) {
            let sum = |seconds: &[f64]| seconds[at + WATCHED[0]..at + WATCHED[1]].iter().sum::<f64>();
            quotients.push(sum(&with.seconds) / sum(&without.seconds).max(1e-9));
        }
    }
    quotients
}

/// A bar: what it is about, what is asked for, what was found.
#[derive(Debug)]
struct Bar {
    about: &'static str,
    asked: f64,
    kept: usize,
    of: usize,
    p95: Vec<f64>,
    quotients: Vec<f64>,
}

impl Bar {
    const fn new(about: &'static str, asked: f64) -> Self {
        Self { about, asked, kept: 0, of: 0, p95: Vec::new(), quotients: Vec::new() }
    }

    /// Takes in a cell: kept or not, its p95 as a part of D, and its rate as a part of that without
    /// the bound.
    fn count(&mut self, kept: bool, cell: &Outcome) {
        self.of += 1;
        self.kept += usize::from(kept);
        self.p95.push(cell.p95);
        self.quotients.push(cell.quotient);
    }
}

/// The figures of a cell that every row has: p95 in parts of D, and the quotient of the rates.
#[derive(Debug, Clone, Copy)]
struct Outcome {
    p95: f64,
    quotient: f64,
}

/// The first `many` of these cells by their hashes.
fn drawn(mut cells: Vec<Cell>, many: usize) -> Vec<Cell> {
    cells.sort_by_key(Cell::hash);
    cells.truncate(many);
    cells
}

/// All cells of a path, with these events and patterns.
fn over_paths(queue: Queue, patterns: &[Pattern], events: &[Event]) -> Vec<Cell> {
    let mut cells = Vec::new();
    for bound_ms in BOUNDS_MS {
        for mbit in RATES_MBIT {
            for rtt_ms in RTTS_MS {
                for pattern in patterns {
                    for event in events {
                        cells.extend([false, true].map(|balanced| Cell {
                            bound_ms,
                            mbit,
                            rtt_ms,
                            queue,
                            peer: Peer::Alone,
                            pattern: *pattern,
                            balanced,
                            event: *event,
                        }));
                    }
                }
            }
        }
    }
    cells
}

fn sample() -> Vec<Cell> {
    let mut mixed = Vec::new();
    for queue in QUEUES {
        for cell in over_paths(queue, &PATTERNS, &[Event::None]) {
            mixed.extend(PEERS.map(|peer| Cell { peer, ..cell }));
        }
    }
    let mut steps = Vec::new();
    for part in [0.25, 0.5, 0.75, 1.0, 2.0, 4.0] {
        for way in [Way::There, Way::Back, Way::Both] {
            steps.extend([0, 100].map(|gap_ms| Event::Steps { part, way, gap_ms }));
        }
    }
    let several = [2, 3, 5].map(Event::Several);
    let mut falls = Vec::new();
    for part in [0.2, 0.1] {
        falls.extend([0.3, 1.0, 2.0].map(|buffer_s| Event::Fall { part, buffer_s }));
    }
    let losses = [0.1, 0.3, 1.0, 2.0].map(|percent| Event::Loss { percent });
    let some = [Pattern::Greedy, Pattern::Capped];
    let deep = Queue::Products(4.0);
    // On slower lines one packet takes longer than D, and five initial windows longer than 1.5 D.
    let fast = |cells: Vec<Cell>| cells.into_iter().filter(|cell| cell.mbit > 2).collect();
    let mut cells = drawn(mixed, 130);
    cells.extend(drawn(over_paths(Queue::Products(2.0), &some, &steps), 48));
    cells.extend(drawn(fast(over_paths(deep, &[Pattern::Greedy], &several)), 18));
    cells.extend(drawn(fast(over_paths(deep, &some, &falls)), 24));
    cells.extend(drawn(over_paths(deep, &some, &losses), 30));
    cells
}

/// The runs of a cell: without the bound, with it, and with a TCP that ends.
type Runs = (Vec<Figures>, Vec<Figures>, Option<Vec<Figures>>);

fn run(cell: &Cell) -> Runs {
    let bound = format!("{}ms", cell.bound_ms);
    let (without, with) = (cell.runs("unlimited", None), cell.runs(&bound, None));
    let tcp = matches!(cell.peer, Peer::Sack | Peer::Cubic | Peer::Bbr);
    let ended = tcp.then(|| cell.runs(&bound, Some(TCP_ENDS)));
    (without, with, ended)
}

fn main() {
    let cells = sample();
    let (next, found) = (AtomicUsize::new(0), Mutex::new(vec![None; cells.len()]));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some((i, cell)) = {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    cells.get(i).map(|cell| (i, cell))
                } {
                    let runs = run(cell);
                    found.lock().unwrap()[i] = Some(runs);
                }
            });
        }
    });
    let found: Vec<Runs> = found.into_inner().unwrap().into_iter().flatten().collect();
    report(&cells, &found);
}

fn report(cells: &[Cell], found: &[Runs]) {
    let mut alone = Bar::new("alone, drop-tail: p95 at most D", 0.95);
    let mut kept = Bar::new("alone: 0.9 of the rate without the bound", 0.95);
    let mut share = Bar::new("next to SACK or CUBIC that fills: 0.7 of the rate", 0.9);
    let mut share_more = Bar::new("the same: 0.85 of the rate (aim)", 0.9);
    let mut bbr = Bar::new("next to BBR that fills: 0.7 of the rate", 0.4);
    let mut after = Bar::new("30 to 60 s after the TCP's end: p95 at most D", 0.95);
    let mut quiet = Bar::new("no competition without a filler", 0.97);
    let mut other = Bar::new("no filler, but not alone: 0.9 of the rate (no bar)", 0.0);
    let mut steps = Bar::new("3 to 6 s after a step of the path: 0.9 of the rate", 0.95);
    let mut several = Bar::new("several bounded flows: p95 at most 1.5 D", 0.95);
    let mut fair = Bar::new("several bounded flows: Jain's index 0.9", 0.95);
    let mut fall = Bar::new("5 to 20 s after a fall: p95 at most D", 0.95);
    let mut loss = Bar::new("random loss: p95 at most D", 0.95);
    let mut loss_rate = Bar::new("random loss: 0.9 of the rate", 0.95);
    for (cell, (without, with, ended)) in cells.iter().zip(found) {
        let most = f64::from(cell.bound_ms);
        let quotient = mean(with, |run| run.mbit) / mean(without, |run| run.mbit).max(1e-9);
        let outcome = Outcome { p95: mean(with, |run| run.flow_p95) / most, quotient };
        let short = outcome.p95 <= 1.0;
        let competing = mean(with, |run| run.competing);
        let filled = cell.filled(without);
        let mut extra = String::new();
        match cell.event {
            Event::None if filled && cell.peer == Peer::Bbr => bbr.count(quotient >= 0.7, &outcome),
            Event::None if filled => {
                share.count(quotient >= 0.7, &outcome);
                share_more.count(quotient >= 0.85, &outcome);
            }
            Event::None if cell.peer == Peer::Alone => {
                if matches!(cell.queue, Queue::Products(_)) {
                    alone.count(short, &outcome);
                }
                kept.count(quotient >= 0.9, &outcome);
            }
            Event::None => other.count(quotient >= 0.9, &outcome),
            Event::Steps { .. } => {
                let quotients = after_steps(without, with);
                for quotient in &quotients {
                    steps.count(*quotient >= 0.9, &Outcome { quotient: *quotient, ..outcome });
                }
                let words: Vec<_> = quotients.iter().map(|q| format!("{q:.2}")).collect();
                write!(extra, ", after steps {}", words.join(" ")).unwrap();
            }
            Event::Several(_) => {
                let index = mean(with, |run| run.jain);
                several.count(outcome.p95 <= 1.5, &outcome);
                fair.count(index >= 0.9, &outcome);
                write!(extra, ", Jain {index:.3}").unwrap();
            }
            Event::Fall { .. } => {
                let p95 = mean(with, |run| run.link_p95) / most;
                fall.count(p95 <= 1.0, &Outcome { p95, ..outcome });
                write!(extra, ", link p95 {p95:.2} D").unwrap();
            }
            Event::Loss { .. } => {
                loss.count(short, &outcome);
                loss_rate.count(quotient >= 0.9, &outcome);
            }
        }
        if let Some(ended) = ended.as_ref().filter(|_| filled) {
            let p95 = mean(ended, |run| run.link_p95) / most;
            after.count(p95 <= 1.0, &Outcome { p95, ..outcome });
            write!(extra, ", after the end {p95:.2} D").unwrap();
        }
        if !filled {
            quiet.count(competing <= 0.0, &outcome);
        }
        println!(
            "{:3} ms {:2} Mbit/s {:3} ms {:?} {:?} {:?}{} {:?}: p95 {:.0} -> {:.0} ms, queue {:.0} -> {:.0} \
             ms, {:.3} -> {:.3} Mbit/s ({quotient:.2}), competing {competing:.3}{}{extra}",
            cell.bound_ms,
            cell.mbit,
            cell.rtt_ms,
            cell.queue,
            cell.peer,
            cell.pattern,
            if cell.balanced { " balanced" } else { "" },
            cell.event,
            mean(without, |run| run.flow_p95),
            mean(with, |run| run.flow_p95),
            mean(without, |run| run.link_p50),
            mean(with, |run| run.link_p50),
            mean(without, |run| run.mbit),
            mean(with, |run| run.mbit),
            if filled { ", filled" } else { "" },
        );
    }
    println!("\n| bar | asked for | found | p95 / D: median, worst | rate / that without: least, median |");
    println!("| --- | ---: | ---: | ---: | ---: |");
    for bar in [
        alone, kept, share, share_more, bbr, after, quiet, other, steps, several, fair, fall, loss, loss_rate,
    ] {
        let of = |values: &[f64], share| quantile(values.to_vec(), share).unwrap_or(f64::NAN);
        println!(
            "| {} | {:.0} % | {} of {} | {:.2}, {:.2} | {:.2}, {:.2} |",
            bar.about,
            bar.asked * 100.0,
            bar.kept,
            bar.of,
            of(&bar.p95, 0.5),
            of(&bar.p95, 1.0),
            of(&bar.quotients, 0.0),
            of(&bar.quotients, 0.5),
        );
    }
}
