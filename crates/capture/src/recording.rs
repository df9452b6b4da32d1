//! Frames to connections.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

use tfrc_dccp::wire::{Header, Integrity, Packet, ParseError, PseudoHeader, options};
use tfrc_units::Instant;

use crate::connection::{Beginning, ChecksumSeen, Connection, Sighting};
use crate::document::Recording;
use crate::link::{self, Content, IpPacket};
use crate::read::{FileFacts, Frame};
use crate::rtp::Rtp;
use crate::{DCCP_IN_UDP, Options};

/// IP protocol numbers.
const UDP: u8 = 17;
const DCCP: u8 = 33;
/// Bytes of a UDP header.
const UDP_HEADER: usize = 8;
/// The packet type DCCP-Listen (RFC 5596), which belongs to no connection yet.
const LISTEN: u8 = 10;
/// Connections that are analysed, and pairs of UDP ports that are known to carry DCCP.
const CONNECTIONS: usize = 256;
const PAIRS: usize = 4096;
/// Kinds of other packets that are counted apart.
const KINDS: usize = 64;

/// Both ends of a connection: IP address, UDP port or 0, DCCP port; the lower one first.
type Key = [(IpAddr, u16, u16); 2];

/// All connections of a file.
#[derive(Debug)]
pub(crate) struct Table<'o> {
    options: &'o Options,
    begins: Option<u64>,
    ends: u64,
    places: BTreeMap<Key, (usize, usize)>,
    connections: Vec<Connection>,
    /// Pairs of addresses and UDP ports that carry DCCP.
    pairs: BTreeSet<[(IpAddr, u16); 2]>,
    other: BTreeMap<String, u64>,
    left_out: u64,
    rtp: Rtp,
}

/// A datagram that may hold a DCCP packet.
#[derive(Debug, Clone, Copy)]
struct Datagram<'a> {
    ip: IpPacket<'a>,
    udp_ports: Option<[u16; 2]>,
    bytes: &'a [u8],
    checksum: ChecksumSeen,
}

impl<'o> Table<'o> {
    pub(crate) fn new(options: &'o Options) -> Self {
        Self {
            options,
            begins: None,
            ends: 0,
            places: BTreeMap::new(),
            connections: Vec::new(),
            pairs: BTreeSet::new(),
            other: BTreeMap::new(),
            left_out: 0,
            rtp: Rtp::default(),
        }
    }

    /// Takes in a frame; returns true if it holds a packet of DCCP.
    pub(crate) fn on_frame(&mut self, frame: &Frame<'_>) -> bool {
        let begins = *self.begins.get_or_insert(frame.at);
        self.ends = self.ends.max(frame.at);
        let ip = match link::content(frame) {
            Content::Ip(ip) => ip,
            Content::Fragment => return self.count("fragments of IP packets"),
            Content::Other(kind) => return self.count(kind),
        };
        let at = Instant::from_nanos(frame.at.saturating_sub(begins));
        let Some(datagram) = self.datagram(ip) else {
            if let Some((header, bytes)) = udp(&ip) {
                let [from, to] = header.ports;
                let way = [(ip.from, from), (ip.to, to)];
                self.rtp.on_datagram(frame.number, at, way, bytes, bytes.len() + ip.missing);
            }
            return match protocol_name(ip.protocol) {
                Some(name) => self.count(name),
                None => self.count(&format!("IP protocol {}", ip.protocol)),
            };
        };
        self.on_datagram(frame.number, at, &datagram)
    }

    fn count(&mut self, kind: &str) -> bool {
        if let Some(count) = self.other.get_mut(kind) {
            *count += 1;
        } else if self.other.len() < KINDS {
            self.other.insert(kind.to_owned(), 1);
        }
        false
    }

    /// The content of protocol 33, or of a UDP datagram that carries DCCP.
    fn datagram<'a>(&mut self, ip: IpPacket<'a>) -> Option<Datagram<'a>> {
        if ip.protocol == DCCP {
            return Some(Datagram { ip, udp_ports: None, bytes: ip.payload, checksum: ChecksumSeen::Fine });
        }
        let (udp, bytes) = udp(&ip)?;
        let [from, to] = udp.ports;
        let mut pair = [(ip.from, from), (ip.to, to)];
        pair.sort_unstable();
        let wanted = |port| port == DCCP_IN_UDP || self.options.ports.contains(&port);
        let is_carried = wanted(from) || wanted(to) || self.pairs.contains(&pair);
        if !(is_carried || ip.missing == 0 && is_request(bytes)) {
            return None;
        }
        if self.pairs.len() < PAIRS {
            self.pairs.insert(pair);
        }
        Some(Datagram { ip, udp_ports: Some(udp.ports), bytes, checksum: udp.checksum })
    }

    fn on_datagram(&mut self, number: u64, at: Instant, datagram: &Datagram<'_>) -> bool {
        let ip = &datagram.ip;
        let mut padded = Vec::new();
        let is_cut = ip.missing > 0;
        let mut bytes = datagram.bytes;
        if is_cut {
            padded.extend_from_slice(bytes);
            padded.resize(bytes.len() + ip.missing.min(usize::from(u16::MAX)), 0);
            bytes = &padded;
        }
        let pseudo = PseudoHeader::new(ip.from, ip.to);
        let integrity = match (datagram.udp_ports, pseudo) {
            (None, Some(pseudo)) if !is_cut => Integrity::Native(pseudo),
            _ => Integrity::Udp,
        };
        let mut checksum = datagram.checksum;
        let packet = match Packet::parse(bytes, integrity) {
            Err(ParseError::Checksum) => {
                checksum = ChecksumSeen::Wrong;
                Packet::parse(bytes, Integrity::Udp)
            }
            other => other,
        };
        let packet = match packet {
            Ok(packet) => packet,
            Err(ParseError::ReservedType { number: LISTEN }) => return self.count("DCCP-Listen (RFC 5596)"),
            Err(_) => return self.count("packets that are no legal DCCP"),
        };
        let head = bytes.len() - packet.payload.len();
        let sighting = Sighting {
            number,
            at,
            packet,
            ecn: ip.ecn,
            size: packet.payload.len(),
            has_options: head <= datagram.bytes.len(),
            reset: bytes.get(24).copied().unwrap_or_default(),
            checksum,
            outgoing: ip.outgoing,
        };
        self.enter(&sighting, datagram)
    }

    /// Finds the packet's connection, or begins one.
    fn enter(&mut self, seen: &Sighting<'_>, datagram: &Datagram<'_>) -> bool {
        let packet = &seen.packet;
        let [udp_from, udp_to] = datagram.udp_ports.unwrap_or_default();
        let from = (datagram.ip.from, udp_from, packet.source_port);
        let to = (datagram.ip.to, udp_to, packet.destination_port);
        let mut key = [from, to];
        key.sort_unstable();
        let lower = usize::from(from != key[0]);
        let known = self.places.get(&key).copied();
        // A Request with another first number after the end is a new connection of the same ports.
        let begins_anew = |connection: &Connection| match packet.header {
            Header::Request { seq, .. } => {
                connection.has_ended() && connection.request.is_none_or(|first| seq.get() != first)
            }
            _ => false,
        };
        let known = known.filter(|(n, _)| !self.connections.get(*n).is_some_and(begins_anew));
        let (n, client) = match known {
            Some(place) => place,
            None => {
                if self.connections.len() >= CONNECTIONS {
                    self.left_out += 1;
                    return true;
                }
                // Without a Request or Response the higher port is taken for the client's: systems
                // hand out high ones.
                let is_server = match packet.header {
                    Header::Request { .. } => false,
                    Header::Response { .. } | Header::CloseReq { .. } => true,
                    _ => packet.source_port < packet.destination_port,
                };
                let client = if is_server { 1 - lower } else { lower };
                let (client_end, server_end) = if is_server { (to, from) } else { (from, to) };
                let beginning = Beginning {
                    addresses: [client_end, server_end].map(|(ip, _, port)| SocketAddr::new(ip, port)),
                    udp_ports: datagram.udp_ports.map(|_| [client_end.1, server_end.1]),
                    first_packet: seen.number,
                    asked: self.options.tap,
                };
                self.connections.push(Connection::new(&beginning, self.options.lost.as_ref()));
                let place = (self.connections.len() - 1, client);
                self.places.insert(key, place);
                place
            }
        };
        if let Some(connection) = self.connections.get_mut(n) {
            connection.on_packet(usize::from(lower != client), seen);
        }
        true
    }

    /// The result.
    pub(crate) fn finish(self, facts: FileFacts) -> Recording {
        let begins = self.begins.unwrap_or_default();
        let (rtp, rtp_packets) = self.rtp.finish();
        let mut other = self.other;
        if let Some(count) = other.get_mut("UDP") {
            *count = count.saturating_sub(rtp_packets);
        }
        other.retain(|_, count| *count > 0);
        Recording {
            format: facts.format.to_owned(),
            links: facts.links.into_iter().map(link::name).collect(),
            packets: facts.frames,
            cut_packets: facts.cut,
            duration_s: self.ends.saturating_sub(begins) as f64 / 1e9,
            begins_s: begins as f64 / 1e9,
            fault: facts.fault,
            other,
            left_out: self.left_out,
            connections: self.connections.into_iter().map(Connection::finish).collect(),
            rtp,
            quic: Vec::new(),
        }
    }
}

/// Header of a UDP datagram.
struct UdpHeader {
    ports: [u16; 2],
    checksum: ChecksumSeen,
}

fn udp<'a>(ip: &IpPacket<'a>) -> Option<(UdpHeader, &'a [u8])> {
    if ip.protocol != UDP {
        return None;
    }
    let (header, bytes) = ip.payload.split_at_checked(UDP_HEADER)?;
    let word =
        |at: usize| header.get(at..).and_then(|rest| rest.first_chunk::<2>()).map(|b| u16::from_be_bytes(*b));
    let ports = [word(0)?, word(2)?];
    let checksum = if word(6)? == 0 { ChecksumSeen::ZeroUdp } else { ChecksumSeen::Fine };
    Some((UdpHeader { ports, checksum }, bytes))
}

/// True for a Request of good structure, by which DCCP is recognised on any UDP port: reserved bits
/// and the checksum of zero (RFC 6773 §3.3), options that end where they should, at least one of
/// them a Change.
fn is_request(bytes: &[u8]) -> bool {
    let Ok(packet) = Packet::parse(bytes, Integrity::Udp) else { return false };
    let Header::Request { .. } = packet.header else { return false };
    let is_zero = |at: usize| bytes.get(at).is_some_and(|byte| *byte == 0);
    let reserved = bytes.get(8).is_some_and(|byte| byte >> 5 == 0) && is_zero(9);
    let mut walk = options(packet.header.kind(), packet.options);
    let mut features = 0;
    for item in walk.by_ref() {
        match item {
            Ok(item) => features += u32::from((32..=35).contains(&item.raw.kind)),
            Err(_) => return false,
        }
    }
    reserved && is_zero(6) && is_zero(7) && walk.error().is_none() && features > 0
}

const fn protocol_name(protocol: u8) -> Option<&'static str> {
    match protocol {
        1 => Some("ICMP"),
        2 => Some("IGMP"),
        6 => Some("TCP"),
        UDP => Some("UDP"),
        58 => Some("ICMPv6"),
        132 => Some("SCTP"),
        _ => None,
    }
}

/// A packet of DCCP as protocol 33 with a checksum, as an IP packet; `None` if the frame holds
/// none.
pub(crate) fn native(table: &mut Table<'_>, frame: &Frame<'_>, out: &mut Vec<u8>) -> Option<()> {
    let Content::Ip(ip) = link::content(frame) else { return None };
    let datagram = table.datagram(ip).filter(|datagram| datagram.ip.missing == 0)?;
    crate::native::write(&datagram.ip, datagram.bytes, datagram.udp_ports.is_some(), out)
}
