//! Simulated packets as IPv4 packets, as a capture at the sender of each flow has them.
//!
//! Flow n, counted from 0, has the addresses 10.0.0.n (sender) and 11.0.0.n (receiver). Headers are
//! whole, data are left out but for DCCP's, and each packet but those of TCPs keeps the length that
//! it had on the links.
//!
//! * DCCP: protocol 33, byte for byte.
//! * TCP (RFC 9293): with the options that a kernel sends (MSS, SACK, window scale, timestamps in
//!   milliseconds) and ECN; connections begin at number 0. A packet is as long as its headers and
//!   data, a SYN longer than on the links.
//! * `ping`: ICMP echo (RFC 792).
//! * TFRC: DCCP-Data and DCCP-Ack with the options of CCID 3 (`tfrc`).
//! * Any other: UDP, and its number in eight bytes.

mod tfrc;

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use etherparse::{
    IcmpEchoHeader, Icmpv4Header, Icmpv4Type, IpNumber, Ipv4Header, TcpHeader, TcpOptionElement, UdpHeader,
};
use tfrc_scenario::{FlowKind, Scenario};
use tfrc_sim::NodeId;
use tfrc_sim::packet::{FlowId, Header};
use tfrc_sim::tcp::{Ack, AckKind, ConnectionId, Data, DataKind, EcnEcho, Fin, Reduced, Stack, Timestamps};
use tfrc_sim::trace::{PacketCopy, PacketEnd};
use tfrc_sim::traffic::Segment;
use tfrc_units::{Instant, saturating};

use tfrc_world::agent::{Payload, addresses};

/// DCCP (RFC 4340 §19.1).
const DCCP: IpNumber = IpNumber(33);
/// The time to live of packets that no router has passed on: the usual first value (RFC 1700).
const TTL: u8 = 64;
/// The largest window that a header has without a scale, in bytes.
const MOST_UNSCALED: u64 = 65_535;
/// Port of every receiver.
const PORT: u16 = 5001;

/// The headers of a packet, and when its flow's sender sent or received it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Captured {
    /// When.
    pub at: Instant,
    /// The IPv4 packet, without data that mean nothing.
    pub bytes: Vec<u8>,
    /// Bytes of the whole packet.
    pub length: u32,
    /// True if the flow's sender sent it, false if it came to that sender.
    pub outgoing: bool,
}

/// Makes captured packets of copies.
pub struct Capture<'c> {
    /// The sender's node of each flow.
    senders: Vec<NodeId>,
    /// Facts of each flow that has a TCP.
    facts: Vec<Option<TcpFacts>>,
    /// Both ends of each connection, that of the flow's sender first.
    connections: BTreeMap<(FlowId, ConnectionId), [ConnectionEnd; 2]>,
    /// Numbers of the flows of TFRC.
    tfrc: BTreeMap<FlowId, tfrc::Numbers>,
    to: Box<dyn FnMut(Captured) + 'c>,
}

impl<'c> Capture<'c> {
    /// Hands what the senders of a scenario's flows send and receive to `to`.
    pub fn new(scenario: &Scenario, to: impl FnMut(Captured) + 'c) -> Self {
        let (_, members) = scenario.lay_out(scenario.seed);
        let senders = members.iter().map(|member| member.from).collect();
        let facts = members.iter().map(|member| TcpFacts::of(&member.flow.kind)).collect();
        Self { senders, facts, connections: BTreeMap::new(), tfrc: BTreeMap::new(), to: Box::new(to) }
    }

    /// Takes a copy of its run ([`Run::copy`](tfrc_world::Run::copy)); those of the receiver's end
    /// are left out.
    pub fn add(&mut self, copy: &PacketCopy<Payload>) {
        let header = &copy.packet.header;
        let Some(sender) = self.senders.get(saturating::<usize>(header.flow.0)).copied() else { return };
        let out = match copy.end {
            PacketEnd::Receiver if header.dst.node() == sender => false,
            PacketEnd::Sender if header.src.node() == sender => true,
            PacketEnd::Sender => {
                if matches!(copy.packet.payload, Payload::TfrcFeedback(_)) {
                    self.tfrc.entry(header.flow).or_default().report_leaves(header.serial);
                }
                return;
            }
            PacketEnd::Receiver => return,
        };
        let [near, far] = addresses(header.flow);
        let (from, to) = if out { (near, far) } else { (far, near) };
        let length = saturating::<u16>(header.size);
        let way = Way { from, to, out };
        let (protocol, content) = match &copy.packet.payload {
            Payload::Dccp(frame) => (DCCP, frame.bytes().to_vec()),
            Payload::CustomAck(ack) => way.udp(length, &ack.number().to_be_bytes()),
            Payload::CustomData(data) => way.udp(length, &data.number().to_be_bytes()),
            Payload::TfrcData(data) => {
                let numbers = self.tfrc.entry(header.flow).or_default();
                (DCCP, numbers.data(way, copy.at, data, usize::from(length)))
            }
            Payload::TfrcFeedback(report) => {
                let numbers = self.tfrc.entry(header.flow).or_default();
                (DCCP, numbers.report(way, header.serial, report, usize::from(length)))
            }
            Payload::Traffic(Segment::Ack(ack)) => self.ack(way, header, ack),
            Payload::Traffic(Segment::Data(data)) => self.data(way, header, data),
            Payload::Traffic(Segment::Datagram(datagram)) => way.udp(length, &datagram.seq.to_be_bytes()),
            Payload::Traffic(Segment::Reply(_)) => echo(Icmpv4Type::EchoReply, header),
            Payload::Traffic(Segment::Request(_)) => echo(Icmpv4Type::EchoRequest, header),
            _ => return,
        };
        let length = match &copy.packet.payload {
            // The headers here and the data: a SYN on the links is shorter than its options.
            Payload::Traffic(Segment::Data(data)) => saturating::<usize>(data.len) + content.len(),
            Payload::Traffic(Segment::Ack(_)) => content.len(),
            _ => content.len().max(saturating::<usize>(header.size).saturating_sub(Ipv4Header::MIN_LEN)),
        };
        (self.to)(way.packet(copy.at, header, protocol, &content, length));
    }

    /// A segment of data.
    fn data(&mut self, way: Way, header: &Header, data: &Data) -> (IpNumber, Vec<u8>) {
        let ends = self.ends(header.flow, data.connection, way);
        let opens = data.kind == DataKind::Syn;
        let stamp = data.stamp.map(|stamp| millis(stamp.at()));
        if !opens {
            ends.near.numbers.note(data);
        }
        let end = ends.near.numbers.number(data.seq).wrapping_add(data.len);
        let tcp = TcpHeader {
            sequence_number: if opens { 0 } else { ends.near.numbers.number(data.seq) },
            acknowledgment_number: if opens { 0 } else { ends.near.acknowledged.max(1) },
            ack: !opens,
            syn: opens,
            psh: data.len > 0,
            fin: data.fin == Fin::Last && !opens,
            cwr: data.reduced == Reduced::Yes,
            window_size: ends.facts.window(opens),
            ..way.tcp(data.connection)
        };
        let stamps = stamp.map(|own| (own, if opens { 0 } else { ends.near.recent.unwrap_or(0) }));
        if !opens {
            ends.near.sent = ends.near.sent.max(end.wrapping_add(u32::from(tcp.fin)));
        }
        if opens {
            ends.far.opening = stamp;
        }
        ends.far.recent = ends.far.recent.max(stamp);
        let opening = opens.then(|| ends.facts.opening());
        way.segment(tcp, stamps, opening, None, saturating::<usize>(data.len))
    }

    /// An acknowledgement.
    fn ack(&mut self, way: Way, header: &Header, ack: &Ack) -> (IpNumber, Vec<u8>) {
        let ends = self.ends(header.flow, ack.connection, way);
        let answers = ack.kind == AckKind::SynAck;
        let numbers = &ends.far.numbers;
        let all = numbers.has_ended(ack.next);
        let acknowledged = numbers.number(ack.next).wrapping_add(u32::from(all));
        ends.near.acknowledged = ends.near.acknowledged.max(acknowledged);
        let next = ends.near.sent.max(1);
        // A server that has read all closes at once, and its FIN goes with this acknowledgement.
        let fin = all && !std::mem::replace(&mut ends.near.closed, all);
        ends.near.sent = next.wrapping_add(u32::from(fin));
        let tcp = TcpHeader {
            sequence_number: if answers { 0 } else { next },
            acknowledgment_number: acknowledged,
            ack: true,
            syn: answers,
            fin,
            ece: ack.ecn == EcnEcho::Congestion,
            window_size: ends.facts.window(answers),
            ..way.tcp(ack.connection)
        };
        let edges = |block: usize| {
            let block = ack.sack.get(block).filter(|block| !block.is_empty())?;
            Some((numbers.number(block.start), numbers.number(block.end)))
        };
        let blocks = edges(0)
            .map(|first| TcpOptionElement::SelectiveAcknowledgement(first, [edges(1), edges(2), None]));
        // Before the first segment in sequence it is the stamp of the SYN (RFC 7323 §4.3).
        let echo = ack.echo.map(|stamp| millis(stamp.at())).or(ends.near.opening);
        let own = millis(header.sent);
        let stamps = ends.facts.stamped.then_some((own, echo.unwrap_or(0)));
        ends.far.recent = ends.far.recent.max(stamps.map(|(own, _)| own));
        let opening = answers.then(|| ends.facts.opening());
        way.segment(tcp, stamps, opening, blocks, 0)
    }

    /// Both ends of a connection, the one that a packet comes from first.
    fn ends(&mut self, flow: FlowId, connection: ConnectionId, way: Way) -> Ends<'_> {
        let facts = self.facts.get(saturating::<usize>(flow.0)).copied().flatten().unwrap_or_default();
        let [sender, receiver] = self.connections.entry((flow, connection)).or_default();
        let (near, far) = if way.out { (sender, receiver) } else { (receiver, sender) };
        Ends { near, far, facts }
    }
}

/// Both ends of a connection, as a packet sees them.
struct Ends<'c> {
    /// Where it comes from.
    near: &'c mut ConnectionEnd,
    /// Where it goes.
    far: &'c mut ConnectionEnd,
    facts: TcpFacts,
}

/// One end of a TCP connection, as far as the packets of the other end follow from it.
#[derive(Debug, Default)]
struct ConnectionEnd {
    numbers: Numbers,
    /// One past the highest byte sent.
    sent: u32,
    /// The highest acknowledgement sent.
    acknowledged: u32,
    /// The newest timestamp received, which data takes back.
    recent: Option<u32>,
    /// The timestamp of the SYN received.
    opening: Option<u32>,
    /// True once it has sent a FIN for its acknowledgement of all data.
    closed: bool,
}

/// The numbers of bytes of segments.
#[derive(Debug, Default)]
struct Numbers {
    /// Segments of equal length: the first, its first byte after the SYN's number, and the length.
    runs: Vec<(u32, u32, u32)>,
    /// One past the highest segment seen.
    next: u32,
    /// The segment that ends the data.
    last: Option<u32>,
}

impl Numbers {
    /// A segment goes out; new ones come in their order.
    fn note(&mut self, data: &Data) {
        if data.seq >= self.next {
            let len = self.runs.last().map(|(.., len)| *len);
            if len != Some(data.len) {
                let first = self.number(data.seq);
                self.runs.push((data.seq, first, data.len));
            }
            self.next = data.seq.saturating_add(1);
        }
        if data.fin == Fin::Last {
            self.last = Some(data.seq);
        }
    }

    /// The number of the first byte of a segment: a SYN has the number before the first one's.
    fn number(&self, segment: u32) -> u32 {
        let run = self.runs.partition_point(|(first, ..)| *first <= segment);
        let run = run.checked_sub(1).and_then(|run| self.runs.get(run));
        run.map_or(1, |(first, byte, len)| byte.wrapping_add((segment - first).wrapping_mul(*len)))
    }

    /// Returns true if everything before `next` was all, so that the FIN is acknowledged too.
    fn has_ended(&self, next: u32) -> bool {
        self.last.is_some_and(|last| last < next)
    }
}

/// Facts of a TCP that its SYNs announce.
#[derive(Debug, Clone, Copy, Default)]
struct TcpFacts {
    /// The largest segment, with its options (RFC 6691).
    segment: u16,
    selective: bool,
    stamped: bool,
    /// The receiver's window in bytes.
    window: u64,
}

impl TcpFacts {
    fn of(flow: &FlowKind) -> Option<Self> {
        let tcp = match flow {
            FlowKind::Tcp(flow) => &flow.tcp,
            FlowKind::Web(flow) => &flow.tcp,
            _ => return None,
        };
        let settings = tcp.settings().ok()?;
        let segment = settings.data_size(settings.payload()).saturating_sub(settings.header);
        Some(Self {
            segment: saturating::<u16>(segment),
            selective: settings.variant.selective() || settings.stack == Stack::Linux,
            stamped: settings.timestamps == Timestamps::On,
            window: u64::from(settings.window) * u64::from(settings.payload()),
        })
    }

    /// The scale of the window (RFC 7323 §2.3): the least that has room for it.
    fn scale(self) -> u8 {
        (0..14).find(|scale| self.window >> scale <= MOST_UNSCALED).unwrap_or(14)
    }

    /// The window of a header; that of a SYN is not scaled.
    fn window(self, opens: bool) -> u16 {
        saturating::<u16>(self.window >> if opens { 0 } else { self.scale() })
    }

    /// The options of a SYN besides timestamps.
    fn opening(self) -> Vec<TcpOptionElement> {
        use TcpOptionElement::{MaximumSegmentSize, Noop, SelectiveAcknowledgementPermitted, WindowScale};
        let selective =
            if self.selective { vec![Noop, Noop, SelectiveAcknowledgementPermitted] } else { vec![] };
        let scale = [Noop, WindowScale(self.scale())];
        [MaximumSegmentSize(self.segment)].into_iter().chain(selective).chain(scale).collect()
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
        TcpHeader::new(source, destination, 0, 0)
    }

    /// The bytes of a header, with its options and the checksum over `data` bytes of zero.
    fn segment(
        self,
        mut tcp: TcpHeader,
        stamps: Option<(u32, u32)>,
        opening: Option<Vec<TcpOptionElement>>,
        blocks: Option<TcpOptionElement>,
        data: usize,
    ) -> (IpNumber, Vec<u8>) {
        use TcpOptionElement::{Noop, Timestamp};
        let mut options = opening.unwrap_or_default();
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

    /// A packet of `length` bytes after the IPv4 header, of which `content` is known.
    fn packet(
        self,
        at: Instant,
        header: &Header,
        protocol: IpNumber,
        content: &[u8],
        length: usize,
    ) -> Captured {
        let length = saturating::<u32>(Ipv4Header::MIN_LEN + length);
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
        Captured { at, bytes: [&ip.to_bytes()[..], content].concat(), length, outgoing: self.out }
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

/// A number of four bytes, rounded; the greatest for what is more.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates, as it should")]
fn whole(number: f64) -> u32 {
    number.round() as u32
}

fn millis(at: Instant) -> u32 {
    saturating::<u32>((at.as_nanos() / 1_000_000) & u64::from(u32::MAX))
}
