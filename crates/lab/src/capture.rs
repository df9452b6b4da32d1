//! Simulated packets as IPv4 packets, as a capture at the sender of each flow has them.
//!
//! Flow n, counted from 0, has the addresses 10.0.0.n (sender) and 11.0.0.n (receiver). Headers are
//! whole, data are left out but for DCCP's, and each packet keeps the length that it had on the
//! links.
//!
//! * DCCP: protocol 33, byte for byte.
//! * TCP (RFC 9293): with SACK, timestamps in milliseconds and ECN; connections begin at number 0.
//! * `ping`: ICMP echo (RFC 792).
//! * TFRC data (RFC 5348 §3.2.1), in UDP: sequence number, time of sending and R in microseconds,
//!   four bytes each.
//! * TFRC feedback (§3.2.2), in UDP: newest sequence number, t_delay in microseconds, X_recv in
//!   byte/s, 1/p in packets (0 for none), four bytes each.
//! * Any other: UDP, and its number in eight bytes.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use etherparse::{
    IcmpEchoHeader, Icmpv4Header, Icmpv4Type, IpNumber, Ipv4Header, TcpHeader, TcpOptionElement, UdpHeader,
};
use tfrc_sim::Address;
use tfrc_sim::packet::{FlowId, Header};
use tfrc_sim::tcp::{Ack, AckKind, ConnectionId, Data, DataKind, EcnEcho, Fin, Reduced, Stamp};
use tfrc_sim::trace::{PacketCopy, PacketEnd};
use tfrc_sim::traffic::Segment;
use tfrc_units::{Duration, Instant, saturating};

use crate::agent::{Payload, addresses};

/// DCCP (RFC 4340 §19.1).
const DCCP: IpNumber = IpNumber(33);
/// The time to live of packets that no router has passed on: the usual first value (RFC 1700).
const TTL: u8 = 64;
/// Port of every receiver.
const PORT: u16 = 5001;
/// A TCP's window in a header: nothing limits it here.
const WINDOW: u16 = u16::MAX;

/// The headers of a packet, and when its flow's sender sent or received it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Captured {
    /// When.
    pub at: Instant,
    /// The IPv4 packet, without data that mean nothing.
    pub bytes: Vec<u8>,
    /// Bytes of the whole packet.
    pub length: u32,
}

/// Makes captured packets of copies.
pub(crate) struct Capture<'c> {
    /// The sender of each flow.
    senders: Vec<Address>,
    /// Data in a full segment of each TCP.
    segments: BTreeMap<(FlowId, ConnectionId), u32>,
    told: &'c mut dyn FnMut(Captured),
}

impl<'c> Capture<'c> {
    pub(crate) fn new(senders: Vec<Address>, told: &'c mut dyn FnMut(Captured)) -> Self {
        Self { senders, segments: BTreeMap::new(), told }
    }

    /// Takes a copy; those of the receiver's end are left out.
    pub(crate) fn add(&mut self, copy: &PacketCopy<Payload>) {
        let header = &copy.packet.header;
        let Some(sender) = self.senders.get(saturating::<usize>(header.flow.0)).copied() else { return };
        let out = match copy.end {
            PacketEnd::Receiver if header.dst == sender => false,
            PacketEnd::Sender if header.src == sender => true,
            PacketEnd::Receiver | PacketEnd::Sender => return,
        };
        let [near, far] = addresses(header.flow);
        let (from, to) = if out { (near, far) } else { (far, near) };
        let length = saturating::<u16>(header.size);
        let way = Way { from, to, out };
        let (protocol, content) = match &copy.packet.payload {
            #[cfg(feature = "relay")]
            Payload::Datagram(_) => return,
            Payload::Dccp(frame) => (DCCP, frame.bytes().to_vec()),
            Payload::OwnAck(ack) => way.udp(length, &ack.number().to_be_bytes()),
            Payload::OwnData(data) => way.udp(length, &data.number().to_be_bytes()),
            Payload::TfrcData(data) => {
                let fields = [
                    saturating::<u32>(data.seq & u64::from(u32::MAX)),
                    micros(header.sent.saturating_since(Instant::ZERO)),
                    micros(data.rtt.unwrap_or_default()),
                ];
                way.udp(length, &fields.map(u32::to_be_bytes).concat())
            }
            Payload::TfrcFeedback(report) => {
                let p = report.loss_event_rate.get();
                let fields = [
                    saturating::<u32>(report.newest_seq & u64::from(u32::MAX)),
                    micros(report.elapsed),
                    whole(report.receive_rate.bytes_per_sec()),
                    if p > 0.0 { whole(1.0 / p) } else { 0 },
                ];
                way.udp(length, &fields.map(u32::to_be_bytes).concat())
            }
            Payload::Traffic(Segment::Ack(ack)) => self.ack(way, header, ack, copy.at),
            Payload::Traffic(Segment::Data(data)) => self.data(way, header, data),
            Payload::Traffic(Segment::Datagram(datagram)) => way.udp(length, &datagram.seq.to_be_bytes()),
            Payload::Traffic(Segment::Reply(_)) => echo(Icmpv4Type::EchoReply, header),
            Payload::Traffic(Segment::Request(_)) => echo(Icmpv4Type::EchoRequest, header),
            Payload::Traffic(_) => return,
        };
        (self.told)(way.packet(copy.at, header, protocol, &content));
    }

    /// A segment of data.
    fn data(&mut self, way: Way, header: &Header, data: &Data) -> (IpNumber, Vec<u8>) {
        let full = self.segments.entry((header.flow, data.connection)).or_default();
        *full = (*full).max(data.len);
        let opens = data.kind == DataKind::Syn;
        let tcp = TcpHeader {
            sequence_number: if opens { 0 } else { number(data.seq, *full) },
            acknowledgment_number: u32::from(!opens),
            ack: !opens,
            syn: opens,
            psh: data.len > 0,
            fin: data.fin == Fin::Last && !opens,
            cwr: data.reduced == Reduced::Yes,
            ..way.tcp(data.connection)
        };
        let stamps = data.stamp.map(|stamp| (millis(stamp.at()), 0));
        way.segment(tcp, stamps, None, saturating::<usize>(data.len))
    }

    /// An acknowledgement.
    fn ack(&self, way: Way, header: &Header, ack: &Ack, at: Instant) -> (IpNumber, Vec<u8>) {
        let full = self.segments.get(&(header.flow, ack.connection)).copied().unwrap_or_default();
        let answers = ack.kind == AckKind::SynAck;
        let tcp = TcpHeader {
            sequence_number: u32::from(!answers),
            acknowledgment_number: number(ack.next, full),
            ack: true,
            syn: answers,
            ece: ack.ecn == EcnEcho::Congestion,
            ..way.tcp(ack.connection)
        };
        let edges = |block: usize| {
            let block = ack.sack.get(block).filter(|block| !block.is_empty())?;
            Some((number(block.start, full), number(block.end, full)))
        };
        let blocks = edges(0)
            .map(|first| TcpOptionElement::SelectiveAcknowledgement(first, [edges(1), edges(2), None]));
        let stamps = ack.echo.map(Stamp::at).map(|echo| (millis(at), millis(echo)));
        way.segment(tcp, stamps, blocks, 0)
    }
}

/// From where to where a packet goes.
#[derive(Clone, Copy)]
struct Way {
    from: Ipv4Addr,
    to: Ipv4Addr,
    /// From the sender of the flow.
    out: bool,
}

impl Way {
    /// The ports, by the one of the sender.
    const fn ports(self, near: u16) -> (u16, u16) {
        if self.out { (near, PORT) } else { (PORT, near) }
    }

    /// A header with the ports of a connection. Each generation of a place has another port.
    fn tcp(self, connection: ConnectionId) -> TcpHeader {
        let near = 1024 + (connection.place + 257 * u32::from(connection.generation)) % 60_000;
        let (source, destination) = self.ports(saturating::<u16>(near));
        TcpHeader::new(source, destination, 0, WINDOW)
    }

    /// The bytes of a header, with its options and the checksum over `data` bytes of zero.
    fn segment(
        self,
        mut tcp: TcpHeader,
        stamps: Option<(u32, u32)>,
        blocks: Option<TcpOptionElement>,
        data: usize,
    ) -> (IpNumber, Vec<u8>) {
        use TcpOptionElement::{Noop, Timestamp};
        let mut options = Vec::new();
        if let Some((own, echo)) = stamps {
            options.extend([Noop, Noop, Timestamp(own, echo)]);
        }
        if let Some(blocks) = blocks {
            options.extend([Noop, Noop, blocks]);
        }
        // Timestamps and three blocks are 40 bytes, as many as there may be.
        let fits = tcp.set_options(&options);
        debug_assert!(fits.is_ok(), "{fits:?}");
        let zeros = vec![0; data];
        tcp.checksum =
            tcp.calc_checksum_ipv4_raw(self.from.octets(), self.to.octets(), &zeros).unwrap_or_default();
        (IpNumber::TCP, tcp.to_bytes().to_vec())
    }

    /// A UDP packet of `length` bytes with its IPv4 header, which begins with these fields.
    fn udp(self, length: u16, fields: &[u8]) -> (IpNumber, Vec<u8>) {
        let (source_port, destination_port) = self.ports(PORT);
        let shortest = UdpHeader::LEN + fields.len();
        let whole = usize::from(length).saturating_sub(Ipv4Header::MIN_LEN).max(shortest);
        let length = saturating::<u16>(whole);
        // Zero: no checksum (RFC 768).
        let header = UdpHeader { source_port, destination_port, length, checksum: 0 };
        (IpNumber::UDP, [&header.to_bytes()[..], fields].concat())
    }

    fn packet(self, at: Instant, header: &Header, protocol: IpNumber, content: &[u8]) -> Captured {
        let shortest = saturating::<u32>(Ipv4Header::MIN_LEN + content.len());
        let length = header.size.max(shortest);
        let mut ip = Ipv4Header {
            total_len: saturating::<u16>(length),
            ecn: header.ecn.bits().try_into().unwrap_or_default(),
            time_to_live: TTL,
            protocol,
            source: self.from.octets(),
            destination: self.to.octets(),
            ..Ipv4Header::default()
        };
        ip.header_checksum = ip.calc_header_checksum();
        Captured { at, bytes: [&ip.to_bytes()[..], content].concat(), length }
    }
}

/// An echo of ICMP; packets have no numbers of their own in the simulator.
fn echo(kind: fn(IcmpEchoHeader) -> Icmpv4Type, header: &Header) -> (IpNumber, Vec<u8>) {
    let flow = saturating::<u16>(header.flow.0);
    let seq = saturating::<u16>(header.serial & u64::from(u16::MAX));
    let zeros = vec![0; saturating::<usize>(header.size).saturating_sub(28)];
    let header = Icmpv4Header::with_checksum(kind(IcmpEchoHeader { id: flow, seq }), &zeros);
    (IpNumber::ICMP, header.to_bytes().to_vec())
}

/// The number of the first byte of a segment: a SYN has the number before it.
fn number(segment: u32, full: u32) -> u32 {
    segment.wrapping_mul(full).wrapping_add(1)
}

/// A number of four bytes, rounded; the greatest for what is more.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates, as it should")]
fn whole(number: f64) -> u32 {
    number.round() as u32
}

fn micros(time: Duration) -> u32 {
    saturating::<u32>((time.as_nanos() / 1000) & u64::from(u32::MAX))
}

fn millis(at: Instant) -> u32 {
    saturating::<u32>((at.as_nanos() / 1_000_000) & u64::from(u32::MAX))
}
