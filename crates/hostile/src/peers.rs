//! A peer that lies, as an attacker on the path makes it look: texts, counts, reports, options,
//! numbers.

use std::path::Path;
use std::time::Duration;

use tfrc_dccp::wire::{Header, Opt, Packet, PacketType, Reset, ResetCode, RttEstimate, SeqAck, Sequence};
use tfrc_units::SeqNo48;

use super::engine::{Bench, Case, CaseRow, Load};
use super::honest::{self, Listening, TransferPlan};
use super::path::{Deeds, RunningPath, Way, parse, with_options};
use super::program::{Ended, How, SOON};
use super::session::SILENCE;
use super::stranger::emit;

/// The cases of this file.
pub(crate) const CASES: [Case; 11] = [
    Case::new("evil-text-refusal", Load::Waiting, |b, d| evil_text(b, d, When::Refusal)),
    Case::new("evil-text-session", Load::Waiting, |b, d| evil_text(b, d, When::Session)),
    Case::new("false-tally", Load::Waiting, false_tally),
    Case::new("inflate", Load::Waiting, inflate),
    Case::new("deaf-receiver", Load::Waiting, deaf).long(),
    Case::new("greedy-server", Load::Waiting, greedy),
    Case::new("option-storm", Load::Waiting, option_storm),
    Case::new("giant-gaps", Load::Waiting, giant_gaps),
    Case::new("rtt-lies", Load::Waiting, rtt_lies),
    Case::new("cscov-games", Load::Waiting, cscov),
    Case::new("no-close-answer", Load::Waiting, no_close_answer),
];

/// A title, a colour, a cleared screen, a forged line, a right-to-left override and a C1 control.
const EVIL: &str = "\u{1b}]0;mine\u{7}\u{1b}[31;2Jbad\r\nerror: disk erased\r\u{202e}\u{9b}31m";

#[derive(Clone, Copy, PartialEq, Eq)]
enum When {
    Refusal,
    Session,
}

/// A Reset with escape sequences, at the refusal or in mid-session.
fn evil_text(bench: &Bench, directory: &Path, when: When) -> Result<CaseRow, String> {
    let receiver = Listening::start(bench, directory, "127.0.0.1", &[])?;
    let mut acknowledgements = 0;
    let path = RunningPath::lay(&receiver.address, move |way, bytes, deeds| {
        let Some(packet) = parse(bytes) else { return };
        let (
            Way::Back,
            Header::Response { seq, ack, .. } | Header::Ack { numbers: SeqAck::Long { seq, ack } },
        ) = (way, packet.header)
        else {
            return deeds.send(way, bytes);
        };
        let response = packet.header.kind() == PacketType::Response;
        acknowledgements += u32::from(!response);
        if (when == When::Refusal) != response || !response && acknowledgements < 3 {
            return deeds.send(way, bytes);
        }
        let code = if response { ResetCode::ConnectionRefused } else { ResetCode::Aborted };
        let header = Header::Reset { seq, ack, reset: Reset::new(code) };
        deeds.send(way, emit(&Packet { header, options: &[], payload: EVIL.as_bytes(), ..packet }));
    })?;
    let plan = TransferPlan { cap: "2M", ..TransferPlan::USUAL };
    let file = honest::input(directory, plan.bytes)?;
    let mut sender = honest::send(bench, directory, &path.entrance, &file, &plan)?;
    let end = sender.end(SOON);
    let shown = sender.errors() + &sender.output();
    let raw = shown.chars().filter(|c| is_evil(*c)).count();
    let mut row = CaseRow::new("a Reset with escape sequences, CR and a line of its own as its text");
    row.saw(format!("sender {}, {raw} raw control characters shown", end.how));
    row.bar(end.is(1), "sender: exit 1");
    row.bar(raw == 0, "no raw control character on standard error or output");
    row.bar(!shown.lines().any(|line| line.starts_with("error: disk erased")), "no forged line");
    Ok(row)
}

/// True for what a terminal obeys, other than a line feed.
pub(crate) fn is_evil(c: char) -> bool {
    c.is_control() && c != '\n'
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A closing text that claims what cannot be.
fn false_tally(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    let receiver = Listening::start(bench, directory, "127.0.0.1", &["-1"])?;
    let most = u64::MAX;
    let text = format!("received {most} bytes {most} late {most} loss-events {most} of {most}");
    let path = RunningPath::lay(&receiver.address, move |way, bytes, deeds| {
        let reset =
            parse(bytes).filter(|packet| way == Way::Back && packet.header.kind() == PacketType::Reset);
        match reset {
            Some(packet) => {
                // Each number that the receiver wrote becomes 2^64 − 1, whatever words stand around
                // it.
                let own = String::from_utf8_lossy(packet.payload);
                let numbered = replaced(&own, most);
                let payload = if own == numbered { text.as_bytes() } else { numbered.as_bytes() };
                deeds.send(way, emit(&Packet { payload, ..packet }));
            }
            None => deeds.send(way, bytes),
        }
    })?;
    let plan = TransferPlan { bytes: 100_000, send: &["--json"], ..TransferPlan::USUAL };
    let file = honest::input(directory, plan.bytes)?;
    let mut sender = honest::send(bench, directory, &path.entrance, &file, &plan)?;
    let end = sender.end(SOON);
    let summary: serde_json::Value = serde_json::from_str(&sender.output()).unwrap_or_default();
    let number = |key: &str| summary[key].as_u64();
    let (received, sent) = (number("received_packets"), number("sent_packets").unwrap_or_default());
    let mut row = CaseRow::new("the receiver's closing counts are all 2^64 − 1");
    let shown = received.map_or("unknown".to_owned(), |received| received.to_string());
    row.saw(format!("sender {}, received {shown} of {sent}", end.how));
    row.bar(!end.crashed(), "no crash");
    row.bar(received.is_none_or(|received| received <= sent), "at most what was sent counts as received");
    let bytes = number("received_bytes");
    row.bar(bytes.is_none_or(|bytes| bytes <= 100_000), "at most the bytes that were sent");
    Ok(row)
}

/// The text with each number replaced.
fn replaced(text: &str, number: u64) -> String {
    let words = text
        .split(' ')
        .map(|word| if word.parse::<u64>().is_ok() { number.to_string() } else { word.to_owned() });
    words.collect::<Vec<_>>().join(" ")
}

/// Runs a transfer over a path of `deed` and gives both ends.
pub(crate) fn over(
    bench: &Bench,
    directory: &Path,
    plan: &TransferPlan<'_>,
    deed: impl FnMut(Way, &[u8], &mut Deeds) + Send + 'static,
    patience: (Duration, Duration),
) -> Result<(Ended, Ended, serde_json::Value, bool), String> {
    let mut receiver = Listening::start(bench, directory, "127.0.0.1", &["-1"])?;
    let path = RunningPath::lay(&receiver.address, deed)?;
    let file = honest::input(directory, plan.bytes)?;
    let send = [&["--json"], plan.send].concat();
    let mut sender =
        honest::send(bench, directory, &path.entrance, &file, &TransferPlan { send: &send, ..*plan })?;
    let sent = sender.end(patience.0);
    let received = receiver.program.end(patience.1);
    let summary = serde_json::from_str(&sender.output()).unwrap_or_default();
    Ok((sent, received, summary, honest::equal(&file, &receiver.file)))
}

/// Fills in both ends and the usual bars: no crash, no program that stays.
pub(crate) fn ends(row: &mut CaseRow, sender: &Ended, receiver: &Ended) {
    for (name, end) in [("sender", sender), ("receiver", receiver)] {
        row.saw(format!("{name} {}, {:.1} s", end.how, end.lasted.as_secs_f64()));
        row.bar(!end.crashed(), format!("{name}: no crash ({})", end.last));
        row.bar(!matches!(end.how, How::StillRunning(_)), format!("{name}: ends"));
    }
}

/// A receiver that claims 4 GB/s and no loss.
fn inflate(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    let deed = |way, bytes: &[u8], deeds: &mut Deeds| match parse(bytes) {
        Some(packet) if way == Way::Back => deeds.send(
            way,
            with_options(&packet, &[], |option| {
                Some(match option {
                    Opt::ReceiveRate(_) => Opt::ReceiveRate(u32::MAX),
                    Opt::LossEventRate(_) => Opt::LossEventRate(u32::MAX),
                    other => other,
                })
            }),
        ),
        _ => deeds.send(way, bytes),
    };
    let plan = TransferPlan { bytes: 5_000_000, cap: "20M", ..TransferPlan::USUAL };
    let (sender, receiver, summary, equal) = over(bench, directory, &plan, deed, (SOON * 3, SOON))?;
    let rate = summary["send_rate_bps"].as_f64().unwrap_or_default() / 1e6;
    let mut row = CaseRow::new("every report claims 4 GB/s and no loss; the sender's cap is 20 Mbit/s");
    ends(&mut row, &sender, &receiver);
    row.saw(format!("sent at {rate:.1} Mbit/s"));
    row.honest = if equal { "bytes equal" } else { "bytes differ" }.to_owned();
    row.bar(rate <= 21.0, "never above the cap");
    row.bar(sender.is(0) && equal, "the transfer finishes");
    Ok(row)
}

/// A receiver that answers only the handshake.
fn deaf(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    let mut answered = 0;
    let deed = move |way, bytes: &[u8], deeds: &mut Deeds| {
        answered += u32::from(way == Way::Back);
        if way == Way::There || answered <= 2 {
            deeds.send(way, bytes);
        }
    };
    let plan = TransferPlan { bytes: 3_000_000, cap: "2M", ..TransferPlan::USUAL };
    let (sender, receiver, summary, _) = over(bench, directory, &plan, deed, (SILENCE, SILENCE))?;
    let mut row = CaseRow::new("two datagrams of the receiver get through, then none");
    ends(&mut row, &sender, &receiver);
    row.saw(format!("{} B sent, “{}”", summary["sent_bytes"], sender.last));
    row.bar(sender.is(1), "sender: exit 1");
    row.bar(receiver.is(1), "receiver: exit 1");
    row.bar(summary["sent_bytes"].as_u64().is_none_or(|bytes| bytes < 1_500_000), "the sender slows down");
    Ok(row)
}

/// A server whose Response carries 896 bytes of cookies, which somebody takes off again on the way
/// back.
fn greedy(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    let deed = |way, bytes: &[u8], deeds: &mut Deeds| match parse(bytes) {
        Some(packet) if way == Way::Back && packet.header.kind() == PacketType::Response => {
            // Four Init Cookies (option 36) of 224 bytes: with the server's own options the header
            // is near its limit of 1020.
            let cookie = [&[36, 224][..], &[7; 222]].concat();
            let added = cookie.repeat(4);
            deeds.send(
                way,
                with_options(&packet, &added, |option| {
                    Some(option).filter(|o| !matches!(o, Opt::InitCookie(_)))
                }),
            );
        }
        Some(packet) if way == Way::There => {
            deeds.send(
                way,
                with_options(&packet, &[], |option| {
                    Some(option).filter(|o| !matches!(o, Opt::InitCookie(_)))
                }),
            );
        }
        _ => deeds.send(way, bytes),
    };
    let (sender, receiver, _, equal) = over(bench, directory, &TransferPlan::USUAL, deed, (SOON * 2, SOON))?;
    let mut row = CaseRow::new("a Response with 896 bytes of Init Cookies");
    ends(&mut row, &sender, &receiver);
    row.honest = if equal { "bytes equal" } else { "bytes differ" }.to_owned();
    row.bar(sender.is(0) && equal, "the transfer finishes");
    Ok(row)
}

/// Option types and lengths that are odd in one way each: unknown, reserved, mandatory, too short,
/// too long, with zero length, out of place, a lie.
const ODD: [&[u8]; 28] = [
    &[1],
    &[1, 1],
    &[1, 3],
    &[1, 40, 3, 0],
    &[2, 2],
    &[3],
    &[31],
    &[32, 3, 1],
    &[32, 4, 200, 1],
    &[32, 6, 1, 3, 2, 9],
    &[33, 3, 1],
    &[34, 4, 10, 7],
    &[35, 4, 1, 99],
    &[36, 2],
    &[36, 5, 1, 2, 3],
    &[37, 8, 255, 255, 255, 255, 255, 255],
    &[38, 3, 255],
    &[39, 4, 63, 191],
    &[40, 3, 255],
    &[41, 3, 1],
    &[42, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    &[44, 6, 1, 2, 3, 4],
    &[45, 255],
    &[127, 2],
    &[128, 0],
    &[192, 3, 1],
    &[193, 4, 255, 255],
    &[194, 6, 255, 255, 255, 255],
];

/// Each odd option in every twentieth packet of a transfer of its own, both ways.
fn option_storm(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    let few = bench.form.choose(1, 5);
    let (mut finished, mut reset, mut worst) = (0, 0, Duration::ZERO);
    let mut row = CaseRow::new("");
    let tried: Vec<_> = ODD.iter().step_by(few).collect();
    for (number, odd) in tried.iter().enumerate() {
        let place = directory.join(number.to_string());
        std::fs::create_dir_all(&place).map_err(|error| error.to_string())?;
        let mut count = 0;
        let odd: Vec<u8> = odd.to_vec();
        let deed = move |way, bytes: &[u8], deeds: &mut Deeds| {
            count += 1;
            match parse(bytes) {
                Some(packet) if count % 20 == 10 => deeds.send(way, with_options(&packet, &odd, Some)),
                _ => deeds.send(way, bytes),
            }
        };
        let plan = TransferPlan { bytes: 300_000, cap: "20M", ..TransferPlan::USUAL };
        let (sender, receiver, _, equal) = over(bench, &place, &plan, deed, (SOON, SOON))?;
        if sender.is(0) && equal {
            finished += 1;
        } else {
            reset += 1;
        }
        worst = worst.max(sender.lasted).max(receiver.lasted);
        let mut one = CaseRow::new("");
        ends(&mut one, &sender, &receiver);
        row.bar(one.holds(), format!("option {:?}: {}", tried.get(number).unwrap_or(&&ODD[0]), one.seen));
    }
    row.sent = format!("{} odd options, each in every twentieth packet both ways", tried.len());
    row.saw(format!(
        "{finished} transfers finish, {reset} end by Reset, the longest after {:.1} s",
        worst.as_secs_f64()
    ));
    Ok(row)
}

/// Copies of packets with leaps to 2^44 ahead and NDP Counts of 2^48 − 1.
fn giant_gaps(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    let mut count = 0_u32;
    let deed = move |way, bytes: &[u8], deeds: &mut Deeds| {
        deeds.send(way, bytes);
        count += 1;
        if let Some(packet) = parse(bytes).filter(|_| way == Way::There && count.is_multiple_of(5)) {
            let leap = 1_u64 << (count / 5 % 45);
            if let Some(header) = leapt(packet.header, leap.max(2_000)) {
                deeds.send(
                    way,
                    with_options(&Packet { header, ..packet }, &[37, 8, 255, 255, 255, 255, 255, 255], Some),
                );
            }
        }
    };
    let (sender, receiver, _, equal) = over(bench, directory, &TransferPlan::USUAL, deed, (SOON * 2, SOON))?;
    let mut row =
        CaseRow::new("each fifth packet once more, 2,000 to 2^44 numbers ahead, with NDP Count 2^48 − 1");
    ends(&mut row, &sender, &receiver);
    row.honest = if equal { "bytes equal" } else { "bytes differ" }.to_owned();
    row.bar(sender.is(0) && equal, "the transfer finishes");
    Ok(row)
}

/// A header with its sequence number moved.
pub(crate) fn leapt(header: Header, by: u64) -> Option<Header> {
    let long = |seq: SeqNo48| seq.add(by);
    match header {
        Header::Data { seq: Sequence::Long(seq) } => Some(Header::Data { seq: Sequence::Long(long(seq)) }),
        Header::DataAck { numbers: SeqAck::Long { seq, ack } } => {
            Some(Header::DataAck { numbers: SeqAck::Long { seq: long(seq), ack } })
        }
        _ => None,
    }
}

/// RTT Estimates of the sender that are nonsense.
fn rtt_lies(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    let mut count = 0_usize;
    let (answers, seen) = counter();
    let deed = move |way, bytes: &[u8], deeds: &mut Deeds| match parse(bytes) {
        Some(packet) if way == Way::There => {
            count += 1;
            let lie = [1, 4, 1_000, 10_000_000_000].get(count % 4).copied().unwrap_or(1);
            let lie = RttEstimate::from_rtt(Some(tfrc_units::Duration::from_micros(lie)));
            deeds.send(
                way,
                with_options(&packet, &[], |option| {
                    Some(if matches!(option, Opt::RttEstimate(_)) { Opt::RttEstimate(lie) } else { option })
                }),
            );
        }
        _ => {
            answers.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            deeds.send(way, bytes);
        }
    };
    let (sender, receiver, summary, equal) =
        over(bench, directory, &TransferPlan::USUAL, deed, (SOON * 2, SOON))?;
    let reports = seen.load(std::sync::atomic::Ordering::Relaxed);
    let sent = summary["sent_packets"].as_u64().unwrap_or_default();
    let mut row = CaseRow::new("RTT Estimates of 1 µs to 10,000 s, another one in each packet");
    ends(&mut row, &sender, &receiver);
    row.saw(format!("{reports} packets back for {sent}"));
    row.honest = if equal { "bytes equal" } else { "bytes differ" }.to_owned();
    row.bar(reports <= 2 * sent + 100, "at most two packets back for each");
    row.bar(sender.is(0) && equal, "the transfer finishes");
    Ok(row)
}

type Counter = std::sync::Arc<std::sync::atomic::AtomicU64>;

fn counter() -> (Counter, Counter) {
    let counter = Counter::default();
    (std::sync::Arc::clone(&counter), counter)
}

/// Checksum Coverage of every value.
fn cscov(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    let mut count = 0_u8;
    let deed = move |way, bytes: &[u8], deeds: &mut Deeds| {
        count = count.wrapping_add(1);
        let mut bytes = bytes.to_vec();
        // Byte 5: CCVal and CsCov (RFC 4340 §5.1).
        // Coverage of more than there is makes a packet invalid: only those with data are changed.
        let full = way == Way::There && bytes.len() > 1000;
        if let Some(byte) = bytes.get_mut(5).filter(|_| full) {
            *byte = *byte & 0xF0 | count & 0x0F;
        }
        deeds.send(way, bytes);
    };
    let (sender, receiver, _, equal) =
        over(bench, directory, &TransferPlan::USUAL, deed, (SOON * 2, SOON * 2))?;
    let mut row = CaseRow::new("Checksum Coverage 0 to 15 in turn, where it is to be 0");
    ends(&mut row, &sender, &receiver);
    row.honest = if equal { "bytes equal" } else { "bytes differ" }.to_owned();
    row.bar(sender.is(0) && equal, "the transfer finishes");
    Ok(row)
}

/// A receiver that never answers Close.
fn no_close_answer(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    let deed = |way, bytes: &[u8], deeds: &mut Deeds| {
        if !(way == Way::Back && parse(bytes).is_some_and(|packet| packet.header.kind() == PacketType::Reset))
        {
            deeds.send(way, bytes);
        }
    };
    let plan = TransferPlan { bytes: 300_000, ..TransferPlan::USUAL };
    let (sender, receiver, _, equal) = over(bench, directory, &plan, deed, (SILENCE, SOON))?;
    let mut row = CaseRow::new("the receiver's answers to Close are lost, all of them");
    ends(&mut row, &sender, &receiver);
    row.honest = if equal { "bytes equal" } else { "bytes differ" }.to_owned();
    row.bar(sender.is(1), "sender: exit 1, it cannot know");
    Ok(row)
}
