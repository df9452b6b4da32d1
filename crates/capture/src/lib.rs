//! Recordings of packets, read for rate control: what a capture file says about flows of TFRC.
//!
//! [`read`] takes a pcap or pcapng file and returns a [`Recording`]: for each DCCP connection the
//! place of the tap, round-trip times, losses, loss events and p by RFC 5348 next to p as reported,
//! the rate that RFC 5348 allowed next to the rate sent, the negotiation, and broken requirements;
//! for each flow of RTP its rate, losses and delays by feedback. It reads qlog, too: for each
//! connection of QUIC R, losses, loss events, and the rates that would have been allowed.
//! [`text`] writes it for a terminal; the types of [`document`] are its JSON form.
//!
//! A file of any length is read once, in bounded memory: at most 256 connections are analysed, and
//! long series are thinned out. No input panics.

#![forbid(unsafe_code)]

mod arrivals;
mod bounded;
mod broken;
mod connection;
mod describe;
pub mod document;
mod end;
mod half;
mod link;
mod linux;
mod model;
mod native;
mod qlog;
mod read;
mod recording;
mod rtp;
mod rtt;
pub mod text;

use std::collections::BTreeSet;
use std::io::{self, Read};
use std::time::Duration;

pub use document::{Recording, Tap};
use recording::Table;

/// The UDP port of DCCP in UDP (RFC 6773 §3.8).
const DCCP_IN_UDP: u16 = 6511;

/// Choices for an analysis.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// UDP ports that carry DCCP, besides 6511 and those on which a Request is seen.
    pub ports: BTreeSet<u16>,
    /// Place of the tap; without it the place is found out.
    pub tap: Option<Tap>,
    /// Data packets of the clients, counted from 1, that are known to be lost after the tap. With
    /// it losses and p are worked out for a tap at the sender.
    pub lost: Option<BTreeSet<u64>>,
}

/// Why a file cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CaptureError {
    /// The file has no bytes.
    #[error("the file is empty")]
    Empty,
    /// The file does not begin as a capture.
    #[error("no capture: pcap, pcapng and qlog files do not begin with the bytes {}", hex(.first))]
    NotACapture {
        /// The first bytes of the file, at most 8.
        first: Vec<u8>,
    },
    /// The file is JSON, but no qlog.
    #[error("no qlog: at byte {at}: {why}")]
    NotQlog {
        /// Where the record begins that is none, or where reading ended.
        at: u64,
        /// Reason in words.
        why: String,
    },
    /// The file is compressed.
    #[error("the file is compressed; unpack it with {program} first")]
    Compressed {
        /// The program that unpacks it.
        program: &'static str,
    },
    /// The system's error.
    #[error("{0}")]
    Read(io::Error),
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ")
}

/// Reads a capture, or a qlog.
///
/// # Errors
/// [`CaptureError`] if the file is no capture or cannot be read. A file that is cut off or damaged
/// later is no error: [`Recording::fault`] says so.
pub fn read(input: impl Read + Send, options: &Options) -> Result<Recording, CaptureError> {
    let (head, input) = read::open(input)?;
    if qlog::is_qlog(&head) {
        return qlog::read(input);
    }
    let mut table = Table::new(options);
    let facts = read::frames(&head, input, |frame| {
        table.on_frame(&frame);
    })?;
    Ok(table.finish(facts))
}

/// Hands each DCCP packet of a capture to `each` as an IP packet of protocol 33 with its time since
/// the Unix epoch. Packets that were inside UDP get a checksum. Packets of which the capture kept
/// only a part are left out. Returns the number of packets handed over.
///
/// # Errors
/// [`CaptureError`] if the file is no capture or cannot be read, and the error of `each`, after which
/// it is not called again.
pub fn native(
    input: impl Read + Send,
    options: &Options,
    mut each: impl FnMut(Duration, &[u8]) -> io::Result<()>,
) -> Result<u64, CaptureError> {
    let mut table = Table::new(options);
    let (mut out, mut packets, mut failed) = (Vec::new(), 0, None);
    let (head, input) = read::open(input)?;
    read::frames(&head, input, |frame| {
        if failed.is_none() && recording::native(&mut table, &frame, &mut out).is_some() {
            packets += 1;
            failed = each(Duration::from_nanos(frame.at), &out).err();
        }
    })?;
    failed.map_or(Ok(packets), |error| Err(CaptureError::Read(error)))
}
