//! No bytes make it panic: arbitrary ones, and captures with bytes changed.

use proptest::prelude::*;
use tfrc_capture::{Options, native, read, text};

use crate::forms::pcap;
use crate::linux::path;
use crate::rtp::{call, rfc8888, twcc};

fn swallow(file: &[u8]) {
    let options = Options { lost: Some([2, 5].into()), ports: [40_000].into(), ..Options::default() };
    if let Ok(recording) = read(file, &options) {
        assert!(!text::text(&recording).is_empty());
        assert!(serde_json::to_string(&recording).is_ok());
    }
    let _ = native(file, &options, |_, _| Ok(()));
}

proptest! {
    #[test]
    fn arbitrary_bytes(magic in 0_usize..4, rest in proptest::collection::vec(any::<u8>(), 0..2000)) {
        let magic = [
            &[0xD4, 0xC3, 0xB2, 0xA1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 101, 0, 0, 0][..],
            &[0xA1, 0xB2, 0x3C, 0x4D],
            &[0x0A, 0x0D, 0x0D, 0x0A, 28, 0, 0, 0, 0x4D, 0x3C, 0x2B, 0x1A, 1, 0, 0, 0],
            &[],
        ][magic];
        swallow(&[magic, &rest].concat());
    }

    #[test]
    fn changed_captures(changes in proptest::collection::vec((0_usize..30_000, any::<u8>()), 1..200)) {
        let mut file = std::fs::read(path("linux-bidir-50ms")).expect("a capture of testdata");
        file.truncate(30_000);
        for (at, byte) in changes {
            file[at] = byte;
        }
        swallow(&file);
    }

    /// Digits, names and brackets of a qlog.
    #[test]
    fn changed_qlogs(changes in proptest::collection::vec((0_usize..40_000, 32_u8..127), 1..200)) {
        let mut file = crate::qlog::draft().into_bytes();
        file.truncate(40_000);
        for (at, byte) in changes {
            file[at] = byte;
        }
        swallow(&file);
    }

    /// Bytes of RTP and of its feedback, from the UDP header on, and times.
    #[test]
    fn changed_rtp(
        is_twcc in any::<bool>(),
        changes in proptest::collection::vec((0_usize..120, 20_usize..70, any::<u8>()), 1..200),
        times in proptest::collection::vec((0_usize..120, any::<u64>()), 0..4),
    ) {
        let mut frames = if is_twcc { call(twcc) } else { call(rfc8888) };
        frames.truncate(120);
        frames.iter_mut().for_each(|(_, ip)| ip.truncate(80));
        for (frame, byte, value) in changes {
            if let Some(place) = frames[frame].1.get_mut(byte) {
                *place = value;
            }
        }
        for (frame, at) in times {
            frames[frame].0 = at % (u64::from(u32::MAX) * 1_000_000_000);
        }
        swallow(&pcap(101, 65_535, frames.into_iter()));
    }

    /// Only within packets, so that all of them are read: peers may say anything.
    #[test]
    fn changed_packets(changes in proptest::collection::vec((0_usize..90, 34_usize..110, any::<u8>()), 1..200)) {
        let mut file = std::fs::read(path("linux-bidir-50ms")).expect("a capture of testdata");
        file.truncate(30_000);
        let (mut at, mut places) = (24, Vec::new());
        while let Some(kept) = file.get(at + 8..at + 12).and_then(|b| b.try_into().ok()).map(u32::from_le_bytes) {
            places.push((at + 16, kept as usize));
            at += 16 + kept as usize;
        }
        for (packet, byte, value) in changes {
            let Some((start, kept)) = places.get(packet).copied() else { continue };
            if let Some(place) = file.get_mut(start + byte.min(kept - 1)) {
                *place = value;
            }
            // The checksum must not hide the change: a packet that is cut has none to look at.
            if let Some(original) = file.get_mut(start - 4) {
                *original = original.wrapping_add(4);
            }
            if let Some(length) = file.get_mut(start + 17) {
                *length = length.wrapping_add(4);
            }
        }
        swallow(&file);
    }
}
