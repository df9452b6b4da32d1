//! `cargo run -p tfrc-world --example delay_grid`: the bound on the queueing delay over networks
//! that nobody tuned it on, for `docs/models/delay-bound.md`. One core, about half an hour.
//!
//! Cells, their seeds and the bars were fixed before the first run. It is the second grid: the rule
//! was changed after the first one was run, whose cells are not in it.
#![expect(clippy::disallowed_macros, clippy::unwrap_used, reason = "a program for one table")]
#![expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "quantities are small")]

use std::fmt::Write as _;

use tfrc_scenario::Scenario;
use tfrc_world::Run;
use tfrc_world::recording::{Keep, LOOK, Looks, PacketDelays};
use tfrc_world::statistics::quantile;

/// Cells are drawn by the hash of this text and of their names.
///
/// Its last word is the hash of the file that has the rule, `git hash-object
/// crates/tfrc/src/sender/delay_bound/mod.rs`, when the cells were drawn.
const DRAW: &str = "delay bound, second grid, ce3997a99e3b78c9";
/// The text of the first grid, which drew as many.
const FIRST_DRAW: &str = "delay bound, fresh grid, 27 November";
const CELLS: usize = 400;
const SEEDS: [u64; 3] = [201, 202, 203];
/// Seconds of a run, and of its beginning that is not measured.
const DURATION: u32 = 300;
const WARMUP: u32 = 30;
/// A TCP that ends does so at this second; the queue counts from 30 to 60 s later.
const TCP_ENDS: u32 = 240;
/// Bytes of a full packet on the line.
const PACKET: f64 = 1500.0;

const BOUNDS_MS: [u32; 3] = [40, 80, 150];
const RATES_MBIT: [u32; 3] = [2, 8, 30];
const RTTS_MS: [u32; 3] = [20, 80, 200];

#[derive(Debug, Clone, Copy, PartialEq)]
enum Queue {
    /// Drop-tail, products of rate and round-trip time.
    Products(f64),
    CoDel,
    Pie,
}

const QUEUES: [Queue; 5] =
    [Queue::Products(0.5), Queue::Products(1.0), Queue::Products(3.0), Queue::CoDel, Queue::Pie];

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
    OnOff,
    Talk,
    Segments,
}

const PATTERNS: [Pattern; 4] = [Pattern::Greedy, Pattern::OnOff, Pattern::Talk, Pattern::Segments];

/// Seconds on and off, of which a cell's hash takes one.
const ON_OFF: [[f64; 2]; 4] = [[0.2, 0.3], [1.5, 1.5], [4.0, 2.0], [15.0, 10.0]];
/// Seconds of a segment of video, likewise.
const SEGMENT: [f64; 2] = [2.0, 6.0];
/// Part of the line that the segments need.
const SEGMENT_LOAD: f64 = 0.6;

#[derive(Debug, Clone, Copy)]
struct Cell {
    bound_ms: u32,
    mbit: u32,
    rtt_ms: u32,
    queue: Queue,
    peer: Peer,
    pattern: Pattern,
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
        self.hash_by(DRAW)
    }

    fn hash_by(&self, draw: &str) -> u64 {
        hash(&format!("{draw} {self:?}"))
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
        let product = f64::from(self.mbit) * f64::from(self.rtt_ms) * 1e3 / 8.0 / PACKET;
        let deep = (2.0 * product).round().max(100.0);
        match self.queue {
            Queue::Products(products) => format!("\"{}p\"", (products * product).round().max(5.0)),
            Queue::CoDel => format!("{{ codel = {{ limit = \"{deep}p\" }} }}"),
            Queue::Pie => format!("{{ pie = {{ limit = \"{deep}p\", revision = \"enhanced\" }} }}"),
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
            Pattern::Greedy => text.push_str("start = \"uniform 0s 1s\"\n"),
            Pattern::OnOff => {
                let [on, off] = self.draw(&ON_OFF);
                let periods = (f64::from(DURATION) / (on + off)) as u32;
                let active: Vec<_> = (0..periods)
                    .map(|period| 0.5 + f64::from(period) * (on + off))
                    .map(|from| format!("{{ from = \"{from:.2}s\", to = \"{:.2}s\" }}", from + on))
                    .collect();
                writeln!(text, "active = [{}]", active.join(", ")).unwrap();
            }
            Pattern::Talk => {
                text = String::from(
                    "segment = \"160B\"\nstart = \"uniform 0s 1s\"\npackets_per_second = 50\n\
                     on = \"exponential 1s\"\noff = \"exponential 1.35s\"\n",
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

    fn run(&self, seed: u64, bound: &str, tcp_end: Option<u32>) -> Figures {
        let warmup = tcp_end.map_or(WARMUP, |end| end + 30);
        let text = format!(
            "duration = \"{DURATION}s\"\nwarmup = \"{warmup}s\"\nseed = {seed}\nnodes = [\"near\", \"far\"]\n\
             [[link]]\nname = \"path\"\nfrom = \"near\"\nto = \"far\"\nrate = \"{}Mbit/s\"\n\
             delay = \"{}ms\"\nqueue = {}\nreverse = {{ rate = \"100Mbit/s\" }}\n\
             [[flow]]\nname = \"tfrc\"\nkind = \"tfrc\"\nfrom = \"near\"\nto = \"far\"\n{}\
             [flow.tfrc]\nmax_queue_delay = \"{bound}\"\n{}",
            self.mbit,
            self.rtt_ms / 2,
            self.queue(),
            self.pattern(),
            self.peer(tcp_end),
        );
        let scenario = Scenario::parse("cell", &text).map_err(miette::Report::new).unwrap();
        let keep = Keep { looks: Looks::Taken, delays: PacketDelays::Measured, ..Keep::NOTHING };
        let recording = Run::of(&scenario).record(keep).unwrap();
        let looks = recording.links[0].queue.values();
        let before = (recording.from.as_nanos() / LOOK.as_nanos()) as usize;
        let queue: Vec<f64> = looks.iter().skip(before).flatten().copied().collect();
        let link = |share| self.milliseconds(quantile(queue.clone(), share).unwrap_or(0.0));
        let flow = recording.outcome.flows.iter().find(|flow| flow.id == "tfrc").unwrap();
        Figures {
            flow_p95: flow.delays.queueing_delay_p95_s.unwrap_or(0.0) * 1e3,
            link_p50: link(0.5),
            link_p95: link(0.95),
            mbit: flow.goodput_bps.unwrap_or(0.0) / 1e6,
            loss: flow.packet_loss_rate.unwrap_or(0.0),
            competing: flow.competing_s.unwrap_or(0.0) / f64::from(DURATION - warmup),
        }
    }

    fn mean(&self, bound: &str, tcp_end: Option<u32>) -> Figures {
        let mut mean = Figures::default();
        for seed in SEEDS {
            let run = self.run(seed, bound, tcp_end);
            for (sum, value) in mean.values().into_iter().zip(run.clone().values()) {
                *sum += *value / SEEDS.len() as f64;
            }
        }
        mean
    }
}

/// Figures of a run, or their means over the seeds: queueing delays in milliseconds of the flow's
/// packets and of the link at regular times, goodput, the flow's packet loss rate, and the part of
/// the time in which it competed.
#[derive(Debug, Clone, Default)]
struct Figures {
    flow_p95: f64,
    link_p50: f64,
    link_p95: f64,
    mbit: f64,
    loss: f64,
    competing: f64,
}

impl Figures {
    fn values(&mut self) -> [&mut f64; 6] {
        [
            &mut self.flow_p95,
            &mut self.link_p50,
            &mut self.link_p95,
            &mut self.mbit,
            &mut self.loss,
            &mut self.competing,
        ]
    }
}

/// Cells that a bar is about, and those of them that keep it.
#[derive(Debug, Default)]
struct Bar {
    kept: u32,
    cells: u32,
}

impl Bar {
    fn count(&mut self, kept: bool) -> &'static str {
        self.cells += 1;
        self.kept += u32::from(kept);
        if kept { "kept" } else { "missed" }
    }
}

fn sample() -> Vec<Cell> {
    let mut cells = Vec::new();
    for bound_ms in BOUNDS_MS {
        for mbit in RATES_MBIT {
            for rtt_ms in RTTS_MS {
                for queue in QUEUES {
                    for peer in PEERS {
                        cells.extend(PATTERNS.map(|pattern| Cell {
                            bound_ms,
                            mbit,
                            rtt_ms,
                            queue,
                            peer,
                            pattern,
                        }));
                    }
                }
            }
        }
    }
    cells.sort_by_key(|cell| cell.hash_by(FIRST_DRAW));
    cells.drain(..CELLS);
    cells.sort_by_key(Cell::hash);
    cells.truncate(CELLS);
    cells
}

fn main() {
    let [mut alone, mut share, mut after, mut quiet] = [(); 4].map(|()| Bar::default());
    let mut idle = 0.0;
    for cell in sample() {
        let most = f64::from(cell.bound_ms);
        let bound = format!("{}ms", cell.bound_ms);
        let (without, with) = (cell.mean("unlimited", None), cell.mean(&bound, None));
        let tcp = matches!(cell.peer, Peer::Sack | Peer::Cubic | Peer::Bbr);
        let mut words = Vec::new();
        if cell.peer == Peer::Alone && matches!(cell.queue, Queue::Products(_)) {
            words.push(("alone", alone.count(with.flow_p95 <= most)));
        }
        if tcp && without.link_p50 > most {
            words.push(("share", share.count(with.mbit >= 0.85 * without.mbit)));
            let ended = cell.mean(&bound, Some(TCP_ENDS));
            words.push(("after", after.count(ended.link_p95 <= most)));
        } else {
            idle += with.competing;
            words.push(("no competition", quiet.count(with.competing <= 0.0)));
        }
        println!(
            "{:3} ms {:2} Mbit/s {:3} ms {:?} {:?} {:?}: p95 {:.0} -> {:.0} ms, queue {:.0} -> {:.0} ms, \
             {:.3} -> {:.3} Mbit/s, loss {:.4} -> {:.4}, competing {:.3}; {words:?}",
            cell.bound_ms,
            cell.mbit,
            cell.rtt_ms,
            cell.queue,
            cell.peer,
            cell.pattern,
            without.flow_p95,
            with.flow_p95,
            without.link_p50,
            with.link_p50,
            without.mbit,
            with.mbit,
            without.loss,
            with.loss,
            with.competing,
        );
    }
    println!("alone, drop-tail, p95 <= D: {alone:?}, 95 % asked for");
    println!("next to a filler, 0.85 of the rate: {share:?}, 90 % asked for");
    println!("30 to 60 s after the TCP's end, p95 <= D: {after:?}, 95 % asked for");
    println!("no competition without a filler: {quiet:?}, 98 % asked for");
    println!("its mean part of the time there: {:.4}", idle / f64::from(quiet.cells.max(1)));
}
