//! Journals of earlier programs, journals that were changed and sealed again, and cut ones.

use std::io::Write;
use std::sync::{Arc, Mutex};

use tfrc_net::Options;
use tfrc_net::journal::{
    JournalEnd, JournalError, Reader, Record, ReplayError, Replayed, Setup, Writer, replay,
};
use tfrc_units::{Duration, Ecn, Instant};

/// A session of 0.2.0 that sends four datagrams.
const JOURNAL: &[u8] = include_bytes!("../../../testdata/journal/rfc3448-guarantee.journal");

/// The words of the options are those of 0.2.0, and the machine sends the same bytes.
#[test]
fn a_journal_of_an_earlier_program_replays() {
    let replayed = replay(JOURNAL).expect("the same machine");
    assert_eq!((replayed.inputs, replayed.transmitted, replayed.transmitted_bytes), (23, 7, 2220));
    assert_eq!(replayed.end, JournalEnd::Whole);
}

/// Bytes that a writer leaves behind.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("no panic").write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The journal with another setup and other records, whose blocks are sealed again.
fn sealed(change: impl FnOnce(&mut Setup, &mut Vec<(Instant, Record)>)) -> Vec<u8> {
    let mut reader = Reader::new(JOURNAL).expect("a journal");
    let mut setup = reader.setup().clone();
    let mut records = Vec::new();
    while let Some(record) = reader.next_record().expect("whole") {
        records.push(record);
    }
    change(&mut setup, &mut records);
    let out = Shared::default();
    let mut writer = Writer::new(Box::new(out.clone()), &setup).expect("memory");
    for (at, record) in &records {
        writer.add(*at, record);
    }
    writer.finish().expect("memory");
    let bytes = out.0.lock().expect("no panic");
    bytes.clone()
}

/// The block where the replay differs, and how.
fn difference(journal: &[u8]) -> (u64, String) {
    match replay(journal) {
        Err(ReplayError::Differs { block, what, .. }) => (block, what),
        other => panic!("{other:?}"),
    }
}

fn with_options(change: impl FnOnce(&mut Options)) -> (u64, String) {
    difference(&sealed(|setup, _| change(&mut setup.options)))
}

/// A journal that was sealed again without a change is the same.
#[test]
fn a_seal_is_the_writer_s() {
    assert_eq!(sealed(|_, _| {}), JOURNAL);
}

/// A host that was held up says so to the machine, and again to the one that replays it.
#[test]
fn a_hold_up_is_recorded() {
    let mut at = Instant::ZERO;
    let journal = sealed(|_, records| {
        at = records.last().expect("a session").0 + Duration::from_millis(1);
        records.push((at, Record::HeldUp { since: at }));
    });
    let mut reader = Reader::new(journal.as_slice()).expect("a journal");
    let mut held_up = Vec::new();
    while let Some((when, record)) = reader.next_record().expect("whole") {
        if let Record::HeldUp { since } = record {
            held_up.push((when, since));
        }
    }
    assert_eq!(held_up, [(at, at)]);
    assert_eq!(replay(journal.as_slice()).map(|replayed| replayed.inputs).ok(), Some(24));
}

const TO: &str = "127.0.0.1:7651";

/// Another service code is in the first datagram, the Request, from its 20th byte on.
#[test]
fn other_bytes_are_a_difference() {
    let what = "the machine sends another datagram: it differs from byte 19 on".to_owned();
    assert_eq!(with_options(|options| options.dccp.service += 1), (5, what));
}

/// A cap of 1 kB/s lets the first datagram of 500 bytes go, and the second later than it went.
#[test]
fn a_datagram_that_does_not_go_is_a_difference() {
    let what = format!("recorded was a datagram to {TO}, the machine sends None");
    assert_eq!(with_options(|options| options.common.cap_bps = Some(8000.0)), (22, what));
}

/// Packets of 5000 bytes have an initial rate that lets two datagrams go where one went.
#[test]
fn a_datagram_more_is_a_difference() {
    let what = format!("the machine sends a datagram to {TO} more than was recorded");
    assert_eq!(with_options(|options| options.common.segment_bytes = 5000), (23, what));
}

/// Another address, and another mark.
#[test]
fn a_datagram_to_elsewhere_or_with_another_mark_is_a_difference() {
    let elsewhere = "127.0.0.1:7652".parse().expect("an address");
    for (place, change) in [(9, "address"), (16, "mark")] {
        let journal = sealed(|_, records| {
            let Some((_, Record::Transmit { to, ecn, .. })) = records.get_mut(place - 1) else {
                panic!("{place}")
            };
            match change {
                "address" => *to = elsewhere,
                _ => *ecn = Ecn::NotEct,
            }
        });
        let (block, what) = difference(&journal);
        assert_eq!(block, place as u64, "{what}");
        assert!(what.ends_with(&format!("the machine sends Some(({TO}, Ect0))")), "{what}");
    }
}

/// A session that slept over the machine's timers: without the records that serve them it is no
/// session of a host.
#[test]
fn timers_that_no_record_serves_are_a_difference() {
    let journal = sealed(|_, records| {
        let later = |at: Instant| at + Duration::from_secs(60);
        let tail = records.iter_mut().skip(13).filter(|(_, record)| *record != Record::Timeout);
        tail.for_each(|(at, _)| *at = later(*at));
        records.retain(|(at, record)| *record != Record::Timeout || at.as_nanos() < 1_300_000);
    });
    let (block, what) = difference(&journal);
    let unserved = "no record serves the machine's timers before it is asked for a datagram";
    assert_eq!((block, what.as_str()), (15, unserved));
}

/// Cut anywhere, it is replayed up to the last block that is whole; changed anywhere in that part,
/// it is refused at its place.
#[test]
fn a_cut_journal_replays_as_far_as_it_is_whole() {
    let line = JOURNAL.iter().position(|byte| *byte == b'\n').expect("a first line") + 1;
    let mut last = (0, 0, 0);
    for cut in (line..JOURNAL.len()).step_by(13) {
        let part = &JOURNAL[..cut];
        match replay(part) {
            Err(ReplayError::Journal(JournalError::CutOff { block: 0, offset })) => {
                assert_eq!((offset, last), (line as u64, (0, 0, 0)), "the setup is not whole");
            }
            Ok(Replayed { inputs, transmitted, end: JournalEnd::CutOff { block, offset }, .. }) => {
                assert!(offset <= cut as u64 && (block, inputs, transmitted) >= last, "{cut}");
                last = (block, inputs, transmitted);
            }
            other => panic!("{cut}: {other:?}"),
        }
    }
    assert_eq!(last, (43, 23, 7), "all but the last block");
    let mut changed = JOURNAL[..JOURNAL.len() / 2].to_vec();
    let place = changed.len() - 600;
    changed[place] ^= 1;
    let error = replay(changed.as_slice()).expect_err("changed");
    assert!(
        matches!(error, ReplayError::Journal(JournalError::Altered { offset, .. }) if offset <= place as u64),
        "{error}"
    );
}
