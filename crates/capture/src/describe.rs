//! Options and features in words, each number with its unit.

use tfrc_dccp::feature::Feature;
use tfrc_dccp::wire::{
    CellState, DropCode, Elapsed, FeatureOp, FeatureOption, Opt, RawOption, ResetCode, RttEstimate,
};

/// The value on the wire for a loss event rate without loss (RFC 4342 §8.5).
pub(crate) const NO_LOSS: u32 = u32::MAX;

/// The name of an option by its number.
pub(crate) fn option_name(kind: u8) -> &'static str {
    match kind {
        0 => "Padding",
        1 => "Mandatory",
        2 => "Slow Receiver",
        32 => "Change L",
        33 => "Confirm L",
        34 => "Change R",
        35 => "Confirm R",
        36 => "Init Cookie",
        37 => "NDP Count",
        38 => "Ack Vector, nonce 0",
        39 => "Ack Vector, nonce 1",
        40 => "Data Dropped",
        41 => "Timestamp",
        42 => "Timestamp Echo",
        43 => "Elapsed Time",
        44 => "Data Checksum",
        46 => "Multipath (RFC 9897)",
        126 => "experiment: a note",
        128 => "RTT Estimate",
        192 => "Loss Event Rate",
        193 => "Loss Intervals",
        194 => "Receive Rate",
        195 => "Dropped Packets",
        129..=191 => "an option of the other half-connection's CCID",
        196..=255 => "an unknown option of the CCID",
        _ => "an unknown option",
    }
}

/// The value of an option with its unit.
pub(crate) fn option_value(option: &Opt<'_>) -> String {
    match option {
        Opt::SlowReceiver => "no value".to_owned(),
        Opt::Feature(feature) => feature_text(feature),
        Opt::InitCookie(data) | Opt::Note(data) => format!("{} bytes", data.len()),
        Opt::NdpCount(n) => format!("{n} packets without data"),
        Opt::AckVector(vector) => {
            let count = |state| {
                vector.iter().filter(|run| run.state == state).map(|run| u64::from(run.packets)).sum()
            };
            let (received, missing): (u64, u64) =
                (count(CellState::Received), count(CellState::NotYetReceived));
            let marked: u64 = count(CellState::ReceivedMarked);
            format!("{received} packets received, {marked} marked, {missing} not")
        }
        Opt::DataDropped(dropped) => {
            let blocks = dropped.iter().filter_map(|block| block.code.map(|code| (code, block.packets)));
            let words: Vec<_> =
                blocks.map(|(code, packets)| format!("{packets} packets: {}", drop_name(code))).collect();
            if words.is_empty() { "nothing dropped".to_owned() } else { words.join(", ") }
        }
        Opt::Timestamp(value) => format!("{value} units of 10 µs"),
        Opt::TimestampEcho { value, elapsed } => {
            format!("{value} units of 10 µs, held {}", elapsed.unwrap_or(Elapsed::ZERO).duration())
        }
        Opt::ElapsedTime(elapsed) => elapsed.duration().to_string(),
        Opt::DataChecksum(sum) => format!("CRC-32c {sum:#010x}"),
        Opt::RttEstimate(RttEstimate::Unknown) => "not known yet".to_owned(),
        Opt::RttEstimate(RttEstimate::TooLong) => "above 16.7 s".to_owned(),
        Opt::RttEstimate(RttEstimate::Micros(us)) => format!("{us} µs"),
        Opt::LossEventRate(NO_LOSS) => "no loss event".to_owned(),
        Opt::LossEventRate(0) => "1/p of 0 packets, which is no rate".to_owned(),
        Opt::LossEventRate(n) => format!("1/p = {n} packets, p = {}", percent(1.0 / f64::from(*n))),
        Opt::LossIntervals(intervals) => {
            let lengths: Vec<_> = intervals.iter().map(|i| i.data_length.to_string()).take(9).collect();
            format!("skip {}, data lengths {} packets", intervals.skip_length, lengths.join(" "))
        }
        Opt::ReceiveRate(bytes) => format!("{bytes} bytes/s"),
        Opt::DroppedPackets(counts) => {
            let counts: Vec<_> = counts.iter().map(|n| n.to_string()).take(9).collect();
            format!("{} packets in each interval", counts.join(" "))
        }
        _ => "not decoded".to_owned(),
    }
}

/// A raw option's data in hexadecimal digits.
pub(crate) fn raw_value(raw: &RawOption<'_>) -> String {
    if raw.data.is_empty() {
        return "no value".to_owned();
    }
    let digits: String = raw.data.iter().take(12).map(|byte| format!("{byte:02x}")).collect();
    format!("bytes {digits}{}", if raw.data.len() > 12 { "…" } else { "" })
}

const fn drop_name(code: DropCode) -> &'static str {
    match code {
        DropCode::ProtocolConstraints => "the protocol did not allow it",
        DropCode::ApplicationNotListening => "the application did not listen",
        DropCode::ReceiveBuffer => "the receive buffer was full",
        DropCode::Corrupt => "corrupt",
        DropCode::Reserved(_) => "a reserved reason",
        DropCode::DeliveredCorrupt => "corrupt and delivered",
    }
}

/// A share as per cent, with three significant figures down to 0.01 %.
pub(crate) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let digits = match percent {
        p if p >= 100.0 || p <= 0.0 => 0,
        p if p >= 10.0 => 1,
        p if p >= 1.0 => 2,
        p if p >= 0.1 => 3,
        p if p >= 0.01 => 4,
        _ => 6,
    };
    format!("{percent:.digits$} %")
}

/// The name of a feature by its number.
pub(crate) fn feature_name(number: u8) -> String {
    match Feature::from_number(number) {
        Some(Feature::Ccid) => "CCID".to_owned(),
        Some(Feature::AllowShortSeqnos) => "Allow Short Sequence Numbers".to_owned(),
        Some(Feature::SequenceWindow) => "Sequence Window".to_owned(),
        Some(Feature::EcnIncapable) => "ECN Incapable".to_owned(),
        Some(Feature::AckRatio) => "Ack Ratio".to_owned(),
        Some(Feature::SendAckVector) => "Send Ack Vector".to_owned(),
        Some(Feature::SendNdpCount) => "Send NDP Count".to_owned(),
        Some(Feature::MinimumChecksumCoverage) => "Minimum Checksum Coverage".to_owned(),
        Some(Feature::SendRttEstimate) => "Send RTT Estimate".to_owned(),
        Some(Feature::SendLossEventRate) => "Send Loss Event Rate".to_owned(),
        None if number == 9 => "Check Data Checksum".to_owned(),
        None if number == 10 => "Multipath Capable (RFC 9897)".to_owned(),
        None => format!("feature {number}"),
    }
}

/// A number in network order; the longest feature value has six bytes.
pub(crate) fn number(bytes: &[u8]) -> u64 {
    bytes.iter().take(8).fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

fn feature_values(feature: &FeatureOption<'_>) -> String {
    match Feature::from_number(feature.feature) {
        Some(Feature::SequenceWindow) => format!("{} packets", number(feature.values)),
        Some(Feature::AckRatio) => number(feature.values).to_string(),
        Some(
            Feature::AllowShortSeqnos
            | Feature::EcnIncapable
            | Feature::SendAckVector
            | Feature::SendNdpCount
            | Feature::SendRttEstimate
            | Feature::SendLossEventRate,
        ) => {
            let words = feature.values.iter().map(|value| match value {
                0 => "off".to_owned(),
                1 => "on".to_owned(),
                other => other.to_string(),
            });
            words.collect::<Vec<_>>().join(" or ")
        }
        _ => feature.values.iter().map(u8::to_string).collect::<Vec<_>>().join(" or "),
    }
}

/// A feature option as a sentence about its sender.
pub(crate) fn feature_text(feature: &FeatureOption<'_>) -> String {
    let name = feature_name(feature.feature);
    let values = feature_values(feature);
    // A Confirm has the value agreed and then the preferences.
    let agreed = match Feature::from_number(feature.feature) {
        Some(Feature::SequenceWindow | Feature::AckRatio) => values.clone(),
        _ => {
            feature_values(&FeatureOption { values: feature.values.get(..1).unwrap_or_default(), ..*feature })
        }
    };
    match feature.op {
        FeatureOp::ChangeL => format!("wants for itself: {name} {values}"),
        FeatureOp::ChangeR => format!("wants of the peer: {name} {values}"),
        FeatureOp::ConfirmL | FeatureOp::ConfirmR if feature.values.is_empty() => {
            format!("does not accept: {name}")
        }
        FeatureOp::ConfirmL => format!("agrees for itself: {name} {agreed}"),
        FeatureOp::ConfirmR => format!("agrees for the peer: {name} {agreed}"),
    }
}

/// A Reset Code in words.
pub(crate) fn reset_text(code: ResetCode, wire: u8) -> String {
    format!("Reset {wire}, {code}")
}
