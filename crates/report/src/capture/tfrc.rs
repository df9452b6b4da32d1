//! Packets of a TFRC flow as DCCP with CCID 3 (RFC 4342), which has fields for all that they carry.
//!
//! A data packet is a DCCP-Data with its sequence number and the window counter (RFC 4342 §8.1). A
//! feedback packet is a DCCP-Ack of the newest sequence number with Elapsed Time, Loss Event Rate
//! and Receive Rate; it has no Loss Intervals, as feedback by RFC 5348 §3.2.2 carries p alone.
//! There is no handshake. Options of padding take the room up to the length on the links.

use std::collections::VecDeque;
use std::net::IpAddr;

use tfrc_dccp::wire::{Elapsed, Header, Integrity, Opt, OptionList, Packet, PseudoHeader, SeqAck, Sequence};
use tfrc_units::{Duration, Instant, SeqNo48, saturating};
use tfrc_world::agent::TfrcData;

use super::{Way, whole};

/// Bytes of an IPv4 header, and of the fixed parts of DCCP-Data and DCCP-Ack with long numbers.
const IP: usize = 20;
const DATA: usize = 16;
const ACK: usize = 24;
/// Reports on their way.
const ON_THE_WAY: usize = 4096;
/// The most that the window counter goes on at once, and its values (RFC 4342 §8.1).
const MOST_STEPS: u64 = 5;
const COUNTER_VALUES: u64 = 16;

/// Numbers of a flow that its packets in the simulator do not carry.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    counter: u64,
    counter_from: Option<Instant>,
    reports: u64,
    /// Reports on their way: the simulator's number and the flow's.
    on_the_way: VecDeque<(u64, u64)>,
}

impl Numbers {
    /// The receiver sends a report, which has this number in the simulator.
    pub(super) fn report_leaves(&mut self, serial: u64) {
        self.reports += 1;
        if self.on_the_way.len() == ON_THE_WAY {
            self.on_the_way.pop_front();
        }
        self.on_the_way.push_back((serial, self.reports));
    }

    /// The window counter of a data packet: quarters of round-trip times, at most five at once.
    fn counter(&mut self, at: Instant, rtt: Option<Duration>) -> u8 {
        let from = *self.counter_from.get_or_insert(at);
        if let Some(quarter) = rtt.map(|rtt| rtt.as_nanos() / 4).filter(|quarter| *quarter > 0) {
            let quarters = at.saturating_since(from).as_nanos() / quarter;
            self.counter = (self.counter + quarters.min(MOST_STEPS)) % COUNTER_VALUES;
            self.counter_from = Some(from + Duration::from_nanos(quarters * quarter));
        }
        saturating::<u8>(self.counter)
    }

    /// A data packet of `length` bytes with its IPv4 header.
    pub(super) fn data(&mut self, way: Way, at: Instant, data: &TfrcData, length: usize) -> Vec<u8> {
        let room = length.saturating_sub(IP + DATA);
        let size = saturating::<usize>(data.size).min(room);
        let options = vec![0; (room - size) / 4 * 4];
        let header = Header::Data { seq: Sequence::Long(SeqNo48::new(data.seq)) };
        packet(way, header, self.counter(at, data.rtt), &options, size)
    }

    /// A report, which has this number in the simulator, of `length` bytes with its IPv4 header.
    pub(super) fn report(
        &mut self,
        way: Way,
        serial: u64,
        report: &::tfrc::Report,
        length: usize,
    ) -> Vec<u8> {
        let place = self.on_the_way.iter().position(|(known, _)| *known == serial);
        let number = place.and_then(|place| self.on_the_way.remove(place)).map_or(0, |(_, number)| number);
        let p: f64 = report.loss_event_rate.get();
        // 1/p is rounded up; 2^32 - 1 is no loss (RFC 4342 §8.5).
        let inverse = if p > 0.0 { whole((1.0 / p).ceil()) } else { u32::MAX };
        let mut list = OptionList::new(OptionList::MAX);
        let options = [
            Opt::ElapsedTime(Elapsed::from_duration(report.elapsed)),
            Opt::LossEventRate(inverse),
            Opt::ReceiveRate(whole(report.receive_rate.bytes_per_sec())),
        ];
        let fits = options.iter().try_for_each(|option| list.push(option));
        debug_assert!(fits.is_ok(), "{fits:?}");
        let mut options = list.padded().to_vec();
        let room = length.saturating_sub(IP + ACK).min(OptionList::MAX) / 4 * 4;
        options.resize(options.len().max(room), 0);
        let numbers = SeqAck::Long { seq: SeqNo48::new(number), ack: SeqNo48::new(report.newest_seq) };
        packet(way, Header::Ack { numbers }, 0, &options, 0)
    }
}

/// The bytes of a packet without its data: the checksum is over `size` bytes of zero.
fn packet(way: Way, header: Header, ccval: u8, options: &[u8], size: usize) -> Vec<u8> {
    let (source_port, destination_port) = way.ports(super::PORT);
    let payload = vec![0; size];
    let packet =
        Packet { source_port, destination_port, ccval, coverage: 0, header, options, payload: &payload };
    let mut bytes = Vec::with_capacity(DATA + options.len() + size);
    let pseudo = PseudoHeader::new(IpAddr::V4(way.from), IpAddr::V4(way.to));
    let written = pseudo.map(|pseudo| packet.emit(&mut bytes, Integrity::Native(pseudo)));
    debug_assert!(matches!(written, Some(Ok(()))), "{written:?}");
    bytes.truncate(bytes.len().saturating_sub(size));
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4342 §8.1: quarters of a round-trip time, at most five for a packet, modulo 16.
    #[test]
    fn the_window_counter_counts_quarters() {
        let mut numbers = Numbers::default();
        let at = |ms: u64| Instant::from_nanos(ms * 1_000_000);
        let rtt = Some(Duration::from_millis(100));
        let counts = [0, 20, 30, 50, 5000, 5024, 5025].map(|ms| numbers.counter(at(ms), rtt));
        assert_eq!(counts, [0, 0, 1, 2, 7, 7, 8]);
        assert_eq!(Numbers::default().counter(at(90), None), 0);
    }
}
