//! Lies about a file that has to arrive whole (docs/file-transfer.md), told by the path.

use std::path::Path;

use super::engine::{Bench, Case, CaseRow, Load};
use super::honest::{self, TransferPlan};
use super::path::{Deeds, Way, parse};
use super::peers::{ends, over};
use super::program::SOON;
use super::stranger::emit;

/// The cases of this file. Those of private sessions are in the tests of the program
/// (`e2e::lies`): nobody on the path can change their datagrams.
pub(crate) const CASES: [Case; 3] = [
    Case::new("file-insatiable", Load::Waiting, insatiable),
    Case::new("file-places", Load::Waiting, places),
    Case::new("file-hash", Load::Waiting, hash),
];

/// Bytes of the file.
const FILE: usize = 200_000;
/// Times its length that a sender sends, at most.
const TIMES: u64 = 17;

const DATA: u8 = 1;
const END: u8 = 2;
const LACKS: u8 = 3;
const WHOLE: u8 = 4;
/// Where the offset is in a datagram of data, and in the end the number of the question, the length
/// and the hash.
const OFFSET: usize = 3;
const ROUND: std::ops::Range<usize> = 1..5;
const LENGTH: usize = 5;
const HASH: usize = 13;

fn plan() -> TransferPlan<'static> {
    TransferPlan { bytes: FILE, ..TransferPlan::USUAL }
}

/// Each answer says that all bytes up to 2^62 are missing.
fn insatiable(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    let mut round = [0; 4];
    let deed = move |way, bytes: &[u8], deeds: &mut Deeds| {
        let Some(packet) = parse(bytes) else { return };
        match (way, packet.payload.first()) {
            (Way::There, Some(&END)) => {
                round = packet.payload.get(ROUND).and_then(|bytes| bytes.try_into().ok()).unwrap_or(round);
            }
            (Way::Back, Some(&(LACKS | WHOLE))) => {
                let payload = [&[LACKS][..], &round, &[0], &[0xFF; 8]].concat();
                return deeds.send(way, emit(&tfrc_dccp::wire::Packet { payload: &payload, ..packet }));
            }
            _ => {}
        }
        deeds.send(way, bytes);
    };
    let (sender, receiver, summary, _) = over(bench, directory, &plan(), deed, (SOON * 3, SOON))?;
    let sent = summary["sent_bytes"].as_u64().unwrap_or(u64::MAX);
    let mut row = CaseRow::new("every answer about a file lacks all bytes up to 2^62");
    ends(&mut row, &sender, &receiver);
    row.saw(format!("{sent} B sent for {FILE}"));
    row.bar(sender.is(1), "sender: exit 1");
    row.bar(sent <= TIMES * tfrc_units::saturating::<u64>(FILE), "at most 17 times the file is sent");
    Ok(row)
}

/// Every third datagram of data has an offset of 2^63 more, and every second end another length.
fn places(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    let (mut data, mut ends_seen) = (0_u32, 0_u32);
    let deed = move |way, bytes: &[u8], deeds: &mut Deeds| {
        let Some(packet) = parse(bytes).filter(|_| way == Way::There) else { return deeds.send(way, bytes) };
        let mut payload = packet.payload.to_vec();
        let lie = match payload.first() {
            Some(&DATA) => {
                data += 1;
                data.is_multiple_of(3).then_some(OFFSET)
            }
            Some(&END) => {
                ends_seen += 1;
                ends_seen.is_multiple_of(2).then_some(LENGTH)
            }
            _ => None,
        };
        match lie.and_then(|at| payload.get_mut(at)) {
            Some(octet) => {
                *octet |= 0x80;
                deeds.send(way, emit(&tfrc_dccp::wire::Packet { payload: &payload, ..packet }));
            }
            None => deeds.send(way, bytes),
        }
    };
    let (sender, receiver, _, equal) = over(bench, directory, &plan(), deed, (SOON * 3, SOON))?;
    let mut row = CaseRow::new("a third of a file's offsets, and half of its lengths, are above 2^63");
    ends(&mut row, &sender, &receiver);
    row.honest = if equal { "bytes equal" } else { "bytes differ" }.to_owned();
    row.bar(sender.is(0) && receiver.is(0) && equal, "the transfer finishes");
    Ok(row)
}

/// The hash is never that of the bytes.
fn hash(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    let deed = |way, bytes: &[u8], deeds: &mut Deeds| {
        let packet = parse(bytes).filter(|packet| way == Way::There && packet.payload.first() == Some(&END));
        let Some(packet) = packet else { return deeds.send(way, bytes) };
        let mut payload = packet.payload.to_vec();
        if let Some(octet) = payload.get_mut(HASH) {
            *octet ^= 1;
        }
        deeds.send(way, emit(&tfrc_dccp::wire::Packet { payload: &payload, ..packet }));
    };
    let (sender, receiver, ..) = over(bench, directory, &plan(), deed, (SOON * 3, SOON))?;
    let file = directory.join("out");
    let mut row = CaseRow::new("a file's hash is never that of its bytes");
    ends(&mut row, &sender, &receiver);
    row.saw(format!("FILE has {} B", honest::length(&file)));
    row.bar(sender.is(1) && receiver.is(1), "both: exit 1");
    row.bar(!file.exists(), "FILE has no name");
    Ok(row)
}
