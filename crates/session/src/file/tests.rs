//! Both ends over a network that loses, repeats and reorders as it likes.

use std::collections::BTreeMap;

use proptest::prelude::*;
use tfrc_units::{Duration, Instant};

use super::sending::Next;
use super::{FileOutcome, Incoming, Outgoing};

const RTT: Duration = Duration::from_millis(50);

/// The fate of a datagram.
#[derive(Debug, Clone, Copy)]
enum Fate {
    Arrives,
    Lost,
    Twice,
    /// It comes this many milliseconds later than the others.
    Late(u64),
}

fn fate(loss: u32) -> impl Strategy<Value = Fate> {
    prop_oneof![
        40 => Just(Fate::Arrives),
        loss => Just(Fate::Lost),
        4 => Just(Fate::Twice),
        8 => (1..200_u64).prop_map(Fate::Late),
    ]
}

/// Datagrams on their way, by the time of their arrival. Those after the last fate arrive.
#[derive(Debug)]
struct Way {
    fates: std::vec::IntoIter<Fate>,
    carries: BTreeMap<(u64, u64), Vec<u8>>,
    number: u64,
}

impl Way {
    fn new(fates: Vec<Fate>) -> Self {
        Self { fates: fates.into_iter(), carries: BTreeMap::new(), number: 0 }
    }

    fn send(&mut self, ms: u64, datagram: Vec<u8>) {
        let arrivals = match self.fates.next().unwrap_or(Fate::Arrives) {
            Fate::Arrives => vec![25],
            Fate::Lost => vec![],
            Fate::Twice => vec![25, 30],
            Fate::Late(by) => vec![25 + by],
        };
        for after in arrivals {
            self.number += 1;
            self.carries.insert((ms + after, self.number), datagram.clone());
        }
    }

    fn arrived(&mut self, ms: u64) -> Vec<Vec<u8>> {
        let later = self.carries.split_off(&(ms + 1, 0));
        std::mem::replace(&mut self.carries, later).into_values().collect()
    }
}

/// Sends a file of these bytes, `room` of them in a datagram and one datagram in a millisecond;
/// returns what the receiver has, and the octets of its answers.
fn transfer(file: &[u8], room: usize, mut there: Way, mut back: Way) -> (Vec<u8>, usize) {
    let (mut out, mut incoming, mut copy) = (Outgoing::default(), Incoming::default(), vec![0; file.len()]);
    let mut answers = 0;
    for ms in 0..600_000 {
        let now = Instant::from_nanos(ms * 1_000_000);
        loop {
            match out.next(now, RTT, room) {
                Next::Ended(outcome) => {
                    assert_eq!(outcome, FileOutcome::Whole);
                    return (copy, answers);
                }
                Next::Wait(_) => {}
                Next::Send(datagram) => there.send(ms, datagram),
                Next::Read(range) => {
                    let (start, end) = (range.start.try_into().unwrap(), range.end.try_into().unwrap());
                    let bytes = file.get(start..file.len().min(end)).unwrap_or_default();
                    if !out.asks() {
                        out.hash(bytes);
                    }
                    out.read(bytes);
                    if bytes.is_empty() {
                        continue;
                    }
                    let mut datagram = Vec::new();
                    super::wire::put_data(&mut datagram, range.start, bytes);
                    there.send(ms, datagram);
                }
            }
            break;
        }
        for datagram in there.arrived(ms) {
            if let Some(piece) = incoming.take(now, RTT, &datagram) {
                let at = usize::try_from(piece.offset).unwrap();
                copy[at..at + piece.bytes.len()].copy_from_slice(piece.bytes);
            }
        }
        if let Some(end) = incoming.to_compare() {
            incoming.compared(now, *blake3::hash(&copy).as_bytes() == end.hash);
        }
        if let Some(answer) = incoming.answer(now, 1200) {
            answers += answer.len();
            back.send(ms, answer);
        }
        for datagram in back.arrived(ms) {
            out.hear(now, &datagram);
        }
    }
    panic!("no end in ten minutes: {out:?} {incoming:?}");
}

fn bytes(length: usize) -> Vec<u8> {
    (0..length).map(|n| (n * 31 + n / 251) as u8).collect()
}

proptest! {
    #[test]
    fn every_network_brings_equal_bytes(
        length in prop_oneof![0..3_usize, 1..20_000_usize],
        room in 1..1500_usize,
        there in (1..80_u32).prop_flat_map(|loss| prop::collection::vec(fate(loss), 0..600)),
        back in (1..80_u32).prop_flat_map(|loss| prop::collection::vec(fate(loss), 0..40)),
    ) {
        let file = bytes(length.min(room * 300));
        let (copy, _) = transfer(&file, room, Way::new(there), Way::new(back));
        prop_assert!(copy == file);
    }
}

/// At 1 % of loss the way back takes less than a thousandth of the way there.
#[test]
fn the_way_back_is_small() {
    let file = bytes(3_000_000);
    let fates = (0..2400).map(|n| if n % 100 == 7 { Fate::Lost } else { Fate::Arrives }).collect();
    let (copy, answers) = transfer(&file, 1316, Way::new(fates), Way::new(vec![]));
    assert!(copy == file);
    assert!((1..=3000).contains(&answers), "{answers} octets back");
}
