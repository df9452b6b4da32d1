//! Encoder of transport-wide feedback, for the receiving end.

use tfrc_units::saturating;
use thiserror::Error;

use super::{FORMAT, Symbol, TICKS_PER_REFERENCE};
use crate::rtcp;

/// SSRCs of a report: its sender, and the media source that it is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ssrcs {
    /// The sender of the report.
    pub sender: u32,
    /// The media source reported on.
    pub media: u32,
}

/// Why arrivals do not fit into one report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// More than 65535 packets; split them.
    #[error("{0} packets do not fit into one report, 65535 do")]
    TooManyPackets(usize),
    /// Two arrivals in a row are more than 8.19 s apart; begin a new report at the second.
    #[error("packet {index} of the report came more than 8.19 s before or after the one before it")]
    TooFarApart {
        /// Its place in the slice.
        index: usize,
    },
}

/// The report on packets from `base_seq` on, each with its arrival time in ticks of 250 µs or
/// `None`. `feedback_count` counts the reports.
///
/// # Errors
/// [`EncodeError`] if it does not fit.
pub fn encode(
    ssrcs: Ssrcs,
    feedback_count: u8,
    base_seq: u16,
    arrivals: &[Option<i64>],
) -> Result<Vec<u8>, EncodeError> {
    let count = u16::try_from(arrivals.len()).map_err(|_| EncodeError::TooManyPackets(arrivals.len()))?;
    let reference = arrivals.iter().flatten().next().map_or(0, |first| first.div_euclid(TICKS_PER_REFERENCE));
    let mut last = reference.saturating_mul(TICKS_PER_REFERENCE);
    let (mut symbols, mut deltas) = (Vec::with_capacity(arrivals.len()), Vec::new());
    for (index, arrival) in arrivals.iter().enumerate() {
        let Some(arrival) = arrival else {
            symbols.push(Symbol::NotReceived);
            continue;
        };
        let delta = arrival.saturating_sub(last);
        last = *arrival;
        if let Ok(small) = u8::try_from(delta) {
            symbols.push(Symbol::Small);
            deltas.push(small);
        } else {
            let large = i16::try_from(delta).map_err(|_| EncodeError::TooFarApart { index })?;
            symbols.push(Symbol::Large);
            deltas.extend(large.to_be_bytes());
        }
    }
    let mut body = Vec::new();
    body.extend(ssrcs.media.to_be_bytes());
    body.extend(base_seq.to_be_bytes());
    body.extend(count.to_be_bytes());
    let reference = saturating::<u32>(reference.rem_euclid(1 << 24));
    body.extend(((reference << 8) | u32::from(feedback_count)).to_be_bytes());
    push_chunks(&mut body, &symbols);
    body.extend(deltas);
    while !body.len().is_multiple_of(4) {
        body.push(0);
    }
    Ok(rtcp::frame(FORMAT, ssrcs.sender, &body))
}

/// A run where it says more than a vector would, else the vector that fits.
fn push_chunks(out: &mut Vec<u8>, mut symbols: &[Symbol]) {
    while let Some(first) = symbols.first() {
        let run = symbols.iter().take(0x1FFF).take_while(|s| *s == first).count();
        let one_bit = symbols.iter().take(14).all(|s| *s != Symbol::Large);
        let in_vector = if one_bit { 14 } else { 7 };
        let (chunk, used) = if run >= in_vector || run == symbols.len() {
            ((first.bits() << 13) | saturating::<u16>(run), run)
        } else {
            let (head, width) = if one_bit { (0x8000, 1) } else { (0xC000, 2) };
            let bits = symbols
                .iter()
                .take(in_vector)
                .zip(1u16..)
                .fold(0, |bits, (symbol, place)| bits | (symbol.bits() << (14 - width * place)));
            (head | bits, in_vector)
        };
        out.extend(chunk.to_be_bytes());
        symbols = symbols.get(used..).unwrap_or_default();
    }
}
