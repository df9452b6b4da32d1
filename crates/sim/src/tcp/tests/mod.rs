//! The machines against their RFCs, step by step.
//!
//! A sender and a sink, 50 ms apart, every segment apart by nothing but order. A ladder shows what
//! each acknowledgement makes the sender send: `at: acknowledged [SACK blocks] > segments`, then
//! the window after it.

mod echoes;
mod fast_recovery;
mod growth;
mod linux;
mod selective;
mod suites;
mod timers;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use tfrc_units::{Duration, Ecn, Instant};

use super::study::*;
use super::*;

/// One way.
const WAY: Duration = Duration::from_millis(50);

struct Ladder {
    sender: Sender,
    sink: Sink,
    now: Instant,
    /// Segments and acknowledgements under way, by arrival and order of sending.
    under_way: BTreeMap<(Instant, u64), Way>,
    order: u64,
    /// Which transmissions of data are lost, counted from 1.
    lost: BTreeSet<u64>,
    /// Which transmissions of data are late, and by how many milliseconds.
    late: BTreeMap<u64, u64>,
    /// Which transmissions of data are marked.
    marked: BTreeSet<u64>,
    /// Which acknowledgements are lost, counted from 1.
    lost_acks: BTreeSet<u64>,
    transmissions: u64,
    acks: u64,
    steps: Vec<String>,
}

enum Way {
    Forth(Data, Ecn),
    Back(Ack),
}

/// Settings that the ladders start from: 10 segments in the first window, no SYN, each segment
/// acknowledged.
fn plain(variant: Variant) -> Settings {
    Settings { acks: Acks::Each, syn: SynMode::Off, ..Settings::rfc(variant) }.with(|c| {
        c.initial_window = InitialWindow::Segments(10);
        c.limited_transmit = LimitedTransmit::Off;
    })
}

impl Ladder {
    fn new(settings: &Settings, transfer: Transfer, lost: &[u64]) -> Self {
        let connection = ConnectionId::default();
        Self {
            sender: Sender::new(settings, connection, transfer),
            sink: Sink::new(settings, connection),
            now: Instant::ZERO,
            under_way: BTreeMap::new(),
            order: 0,
            lost: lost.iter().copied().collect(),
            late: BTreeMap::new(),
            marked: BTreeSet::new(),
            lost_acks: BTreeSet::new(),
            transmissions: 0,
            acks: 0,
            steps: Vec::new(),
        }
    }

    /// A ladder that has run until `until`, in milliseconds.
    fn ran(settings: Settings, transfer: Transfer, lost: &[u64], until: u64) -> Self {
        let mut ladder = Self::new(&settings, transfer, lost);
        ladder.run(until);
        ladder
    }

    /// All that happens up to `until` milliseconds.
    fn run(&mut self, until: u64) {
        let until = Instant::ZERO + Duration::from_millis(until);
        if self.order == 0 {
            self.sender.start(Instant::ZERO);
            self.pump("start");
        }
        loop {
            let packet = self.under_way.keys().next().copied();
            let timer = [self.sender.poll_timeout(), self.sink.poll_timeout()].into_iter().flatten().min();
            let next = [packet.map(|(at, _)| at), timer].into_iter().flatten().min();
            let Some(next) = next.filter(|at| *at <= until) else { break };
            self.now = next;
            if let Some(key) = packet.filter(|(at, _)| *at == next) {
                match self.under_way.remove(&key) {
                    Some(Way::Forth(data, ecn)) => {
                        let ack = self.sink.on_data(next, &data, ecn);
                        self.answer(ack);
                    }
                    Some(Way::Back(ack)) => {
                        self.sender.on_ack(next, &ack);
                        self.pump(&show(&ack));
                    }
                    None => {}
                }
            } else if self.sender.poll_timeout() == Some(next) {
                self.sender.handle_timeout(next);
                self.pump("timeout");
            } else {
                let ack = self.sink.handle_timeout(next);
                self.answer(ack);
            }
        }
    }

    fn answer(&mut self, ack: Option<Ack>) {
        if let Some(ack) = ack {
            self.acks += 1;
            if !self.lost_acks.contains(&self.acks) {
                self.push(Way::Back(ack), Duration::ZERO);
            }
        }
    }

    fn push(&mut self, way: Way, late: Duration) {
        self.order += 1;
        self.under_way.insert((self.now + WAY + late, self.order), way);
    }

    fn pump(&mut self, cause: &str) {
        let mut step = format!("{}: {cause} >", self.now.as_nanos() / 1_000_000);
        while let Some((data, ecn)) = self.sender.poll_transmit(self.now) {
            let name = match data.kind {
                DataKind::Data => data.seq.to_string(),
                DataKind::Syn => "syn".to_owned(),
            };
            let cwr = if data.reduced == Reduced::Yes { " cwr" } else { "" };
            write!(step, " {name}{cwr}").unwrap_or_default();
            self.transmissions += 1;
            if !self.lost.contains(&self.transmissions) {
                let ecn =
                    if self.marked.contains(&self.transmissions) && ecn == Ecn::Ect0 { Ecn::Ce } else { ecn };
                let late = self.late.get(&self.transmissions).copied().unwrap_or(0);
                self.push(Way::Forth(data, ecn), Duration::from_millis(late));
            }
        }
        write!(step, " | {:.2}", self.sender.cwnd()).unwrap_or_default();
        self.steps.push(step);
    }

    /// The steps since the last call, one a line.
    fn steps(&mut self) -> String {
        std::mem::take(&mut self.steps).join("\n")
    }
}

fn show(ack: &Ack) -> String {
    let mut text = match ack.kind {
        AckKind::Ack => ack.next.to_string(),
        AckKind::SynAck => "syn".to_owned(),
    };
    for block in ack.sack.iter().filter(|b| !b.is_empty()) {
        write!(text, " [{}-{}]", block.start, block.end - 1).unwrap_or_default();
    }
    if ack.ecn == EcnEcho::Congestion {
        text.push_str(" ece");
    }
    text
}

/// Fails with the whole ladder, ready to be compared.
#[track_caller]
fn assert_steps(ladder: &mut Ladder, expected: &str) {
    let seen = ladder.steps();
    let expected: Vec<&str> = expected.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
    assert!(seen.lines().eq(expected.iter().copied()), "\nseen:\n{seen}\nexpected:\n{}", expected.join("\n"));
}
