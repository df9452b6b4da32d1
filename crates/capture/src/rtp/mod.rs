//! RTP with transport-wide feedback or RFC 8888, as far as it is not encrypted.
//!
//! A flow is the RTP of one direction between two UDP ports. Its losses before the tap are gaps in
//! the RTP sequence numbers; losses and delays after the tap are those of the receiver's feedback.
//! SRTP leaves RTP headers readable and encrypts RTCP: then there are gaps and rates alone.

mod flow;
mod header;

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use tfrc_feedback::{rfc8888, rtcp, twcc};
use tfrc_units::Instant;

use crate::document::RtpFlow;
use flow::{Flow, Numbering};

/// Flows that are followed. Each has at most ten records of 2048 packets with 24 bytes each: all of
/// them take 16 MiB.
const FLOWS: usize = 32;
/// The PTs of RTCP on a port that it shares with RTP (RFC 5761 §4).
const RTCP: std::ops::RangeInclusive<u8> = 192..=223;
/// Transport-layer feedback, and its formats with an arrival for each packet.
const FEEDBACK: u8 = 205;
const TWCC: u8 = 15;
const RFC8888: u8 = 11;
/// A tick of transport-wide feedback, and the ticks of its reference time.
const TICK_S: f64 = 250e-6;
const REFERENCE_TICKS: i64 = 256;

/// UDP ports between which a datagram goes.
pub(crate) type Way = [(IpAddr, u16); 2];

/// The flows of a file.
#[derive(Debug, Default)]
pub(crate) struct Rtp {
    flows: Vec<Flow>,
    places: BTreeMap<Way, usize>,
}

impl Rtp {
    /// Takes in a UDP datagram, of which `bytes` were kept and `size` were on the wire.
    pub(crate) fn on_datagram(&mut self, number: u64, at: Instant, way: Way, bytes: &[u8], size: usize) {
        let [first, kind, ..] = bytes else { return };
        if first >> 6 != 2 {
            return;
        }
        if RTCP.contains(kind) {
            if bytes.len() == size {
                self.on_rtcp(at, way, bytes);
            }
            return;
        }
        let Some(header) = header::read(bytes) else { return };
        let place = match self.places.get(&way) {
            Some(place) => *place,
            None if self.flows.len() < FLOWS => {
                let [from, to] = way.map(|(ip, port)| SocketAddr::new(ip, port));
                self.flows.push(Flow::new(number, from, to));
                self.places.insert(way, self.flows.len() - 1);
                self.flows.len() - 1
            }
            None => return,
        };
        if let Some(flow) = self.flows.get_mut(place) {
            flow.on_packet(at, &header, size);
        }
    }

    /// RTCP goes against the flow that it reports on: between its ports, or the next higher ones
    /// (RFC 3550 §11).
    fn on_rtcp(&mut self, at: Instant, [from, to]: Way, bytes: &[u8]) {
        let below = |(ip, port): (IpAddr, u16)| (ip, port.saturating_sub(1));
        let place = self.places.get(&[to, from]).or_else(|| self.places.get(&[below(to), below(from)]));
        let Some(flow) = place.and_then(|place| self.flows.get_mut(*place)) else { return };
        flow.on_control();
        // An encrypted compound has a readable first header, and bytes behind that are none.
        let packets: Result<Vec<_>, _> = rtcp::packets(bytes).collect();
        let Ok(packets) = packets else {
            flow.on_unreadable();
            return;
        };
        for packet in packets.iter().filter(|packet| packet.packet_type == FEEDBACK) {
            match packet.format {
                TWCC => on_twcc(flow, at, packet.bytes),
                RFC8888 => on_rfc8888(flow, at, packet.bytes),
                _ => {}
            }
        }
    }

    /// The flows that are RTP by their numbers, and the number of their datagrams, RTCP among them.
    pub(crate) fn finish(self) -> (Vec<RtpFlow>, u64) {
        let flows = self.flows.into_iter().map(|flow| (flow.datagrams(), flow));
        let flows = flows.filter_map(|(datagrams, flow)| Some((flow.finish()?, datagrams)));
        let (flows, datagrams): (Vec<_>, Vec<u64>) = flows.unzip();
        (flows, datagrams.iter().sum())
    }
}

fn on_twcc(flow: &mut Flow, at: Instant, bytes: &[u8]) {
    let Ok(report) = twcc::decode(bytes) else {
        flow.on_unreadable();
        return;
    };
    let Some(numbering) = flow.transport_wide() else { return };
    flow.begin_report(at, "transport-wide feedback");
    let base = i64::from(report.reference_time) * REFERENCE_TICKS;
    for packet in report.packets() {
        let arrival = packet.arrival.map(|ticks| (base + ticks) as f64 * TICK_S);
        flow.on_status(at, numbering, packet.seq, arrival.map(Some));
    }
}

fn on_rfc8888(flow: &mut Flow, at: Instant, bytes: &[u8]) {
    let Ok(report) = rfc8888::decode(bytes) else {
        flow.on_unreadable();
        return;
    };
    flow.begin_report(at, "RFC 8888");
    let made = f64::from(report.timestamp) / 65_536.0;
    for block in report.blocks() {
        for (seq, metric) in block.packets() {
            let status = match metric {
                rfc8888::Metric::NotReceived => None,
                rfc8888::Metric::Received { offset: rfc8888::Offset::Units(units), .. } => {
                    Some(Some(made - f64::from(units) / 1024.0))
                }
                rfc8888::Metric::Received { .. } => Some(None),
            };
            flow.on_status(at, Numbering::Stream(block.ssrc), seq, status);
        }
    }
}
