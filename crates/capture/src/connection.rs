//! A DCCP connection as it passes the tap.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::SocketAddr;

use tfrc::PacketKind;
use tfrc_dccp::feature::Feature;
use tfrc_dccp::wire::{
    FeatureOp, FeatureOption, Header, Item, Opt, OptionError, Packet, PacketType, Refusal, options,
};
use tfrc_units::{Duration, Ecn, Instant, Rate};

use crate::arrivals::Came;
use crate::broken::{Breach, Breaches};
use crate::describe;
use crate::document::{Carrier, ConnectionSeen, Said, Tap};
use crate::end::{End, OneWay, Side, name};
use crate::half::{Half, Told};
use crate::rtt::{Handshake, Place, round_trips};

/// A DCCP packet that passes the tap.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sighting<'a> {
    /// Number in the file.
    pub(crate) number: u64,
    pub(crate) at: Instant,
    pub(crate) packet: Packet<'a>,
    pub(crate) ecn: Ecn,
    /// Bytes of application data, those not kept included.
    pub(crate) size: usize,
    /// False if the capture kept only a part of the options.
    pub(crate) has_options: bool,
    /// The Reset Code as a number, of a Reset.
    pub(crate) reset: u8,
    pub(crate) checksum: ChecksumSeen,
    pub(crate) outgoing: Option<bool>,
}

/// Verdict on a packet's checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChecksumSeen {
    Fine,
    /// The checksum of DCCP is wrong.
    Wrong,
    /// The UDP checksum is zero.
    ZeroUdp,
}

/// Lines of the negotiation that are kept.
const LINES: usize = 64;
/// Features of a connection that are followed.
const FEATURES: usize = 64;
/// Packets from one look at the round-trip times to the next, where there was no handshake.
const RTT_PERIOD: u64 = 256;

/// A connection.
#[derive(Debug)]
pub(crate) struct Connection {
    addresses: [SocketAddr; 2],
    carrier: Carrier,
    udp_ports: Option<[u16; 2]>,
    service: Option<String>,
    /// Sequence Number of the first Request, where it was seen.
    pub(crate) request: Option<u64>,
    first_packet: u64,
    packets: u64,
    out_of_step: u64,
    syncs: u64,
    ends: [End; 2],
    one_way: [OneWay; 2],
    halves: [Half; 2],
    /// The number that each end's first packet after the handshake must have.
    next: [Option<u64>; 2],
    handshake: Handshake,
    /// R without a handshake, seconds, as last worked out.
    rtt: Option<f64>,
    asked: Option<Tap>,
    dialogue: Vec<Said>,
    said: BTreeMap<(Side, u8, Vec<u8>), usize>,
    /// Changes without an answer: who asked, feature, where it is located.
    open: VecDeque<(Side, u8, Side)>,
    breaches: Breaches,
    end: Option<String>,
}

/// Constants of a connection from its first packet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Beginning {
    /// Client and server.
    pub(crate) addresses: [SocketAddr; 2],
    pub(crate) udp_ports: Option<[u16; 2]>,
    pub(crate) first_packet: u64,
    pub(crate) asked: Option<Tap>,
}

impl Connection {
    pub(crate) fn new(beginning: &Beginning, lost: Option<&BTreeSet<u64>>) -> Self {
        Self {
            addresses: beginning.addresses,
            carrier: if beginning.udp_ports.is_some() { Carrier::Udp } else { Carrier::Ip },
            udp_ports: beginning.udp_ports,
            service: None,
            request: None,
            first_packet: beginning.first_packet,
            packets: 0,
            out_of_step: 0,
            syncs: 0,
            ends: [End::new(), End::new()],
            one_way: [OneWay::default(); 2],
            halves: [Half::new(lost.cloned()), Half::new(None)],
            next: [None; 2],
            handshake: Handshake::default(),
            rtt: None,
            asked: beginning.asked,
            dialogue: Vec::new(),
            said: BTreeMap::new(),
            open: VecDeque::new(),
            breaches: Breaches::default(),
            end: None,
        }
    }

    /// True once a Reset has ended it.
    pub(crate) const fn has_ended(&self) -> bool {
        self.end.is_some()
    }

    /// Takes in a packet that `from` sent.
    pub(crate) fn on_packet(&mut self, from: Side, seen: &Sighting<'_>) {
        self.packets += 1;
        let [client, server] = &mut self.ends;
        let (end, peer) = if from == 0 { (client, server) } else { (server, client) };
        end.packets += 1;
        match seen.outgoing {
            Some(true) => end.outgoing += 1,
            Some(false) => end.incoming += 1,
            None => {}
        }
        match seen.checksum {
            ChecksumSeen::Fine => {}
            ChecksumSeen::Wrong => {
                self.breaches.add(Breach::Checksum, from, seen.number);
                return;
            }
            ChecksumSeen::ZeroUdp => self.breaches.add(Breach::ZeroUdpChecksum, from, seen.number),
        }
        let Some(number) = end.on_packet(seen.at, seen.packet.header.sequence()) else {
            self.out_of_step += 1;
            if let Header::Reset { reset, .. } = seen.packet.header {
                self.on_reset(from, seen, reset.code);
            }
            return;
        };
        let ack = seen.packet.header.acknowledgement().and_then(|ack| peer.number(ack));
        self.on_header(from, seen, number, ack);
        self.on_options(from, seen, number, ack);
    }

    /// Takes in type and numbers.
    fn on_header(&mut self, from: Side, seen: &Sighting<'_>, number: u64, ack: Option<u64>) {
        match seen.packet.header {
            Header::Request { seq, service } => {
                self.request.get_or_insert(seq.get());
                self.service.get_or_insert_with(|| service.to_string());
                self.handshake.on_request(seen.at, number);
                self.next[from] = Some(number + 1);
                if service.get() == u32::MAX {
                    self.breaches.add(Breach::InvalidService, from, seen.number);
                }
            }
            Header::Response { service, .. } => {
                self.service.get_or_insert_with(|| service.to_string());
                self.handshake.on_response(seen.at, number, ack);
                self.next[from] = Some(number + 1);
            }
            Header::Reset { reset, .. } => self.on_reset(from, seen, reset.code),
            Header::Sync { .. } => self.syncs += 1,
            Header::Data { .. } if from == 0 && self.handshake.is_part_open() => {
                self.breaches.add(Breach::DataInPartOpen, from, seen.number);
            }
            Header::Data { .. } | Header::Ack { .. } | Header::DataAck { .. } if from == 1 => {
                self.handshake.on_open();
            }
            _ if from == 0 => self.handshake.on_answer(seen.at, ack),
            _ => {}
        }
    }

    fn on_reset(&mut self, from: Side, seen: &Sighting<'_>, code: tfrc_dccp::wire::ResetCode) {
        let text = describe::reset_text(code, seen.reset);
        self.end.get_or_insert_with(|| format!("{text}, by the {}, packet {}", name(from), seen.number));
    }

    /// Takes in the options, and the packet into the record of its direction.
    fn on_options(&mut self, from: Side, seen: &Sighting<'_>, number: u64, ack: Option<u64>) {
        let kind = seen.packet.header.kind();
        let mut report = Report::default();
        let mut walk = options(kind, seen.packet.options);
        loop {
            match walk.next() {
                None => break,
                Some(Err(_)) => self.breaches.add(Breach::Mandatory, from, seen.number),
                Some(Ok(item)) => self.on_option(from, seen, &item, &mut report),
            }
        }
        if let Some(OptionError { .. }) = walk.error()
            && seen.has_options
        {
            self.breaches.add(Breach::OptionLength, from, seen.number);
        }
        let held = report.held.unwrap_or(0.0);
        let peer = 1 - from;
        let sample = ack.and_then(|ack| self.ends[peer].on_acknowledged(seen.at, ack, held));
        if let Some(value) = report.timestamp {
            self.ends[from].on_timestamp(seen.at, value);
            self.one_way[from].on_timestamp(seen.at, value);
        }
        if let Some((value, held)) = report.echo {
            self.ends[peer].on_echo(seen.at, value, held);
        }
        self.feed(from, seen, number, report.ndp);
        if let Some(ack) = ack.filter(|_| report.is_report()) {
            self.on_report(peer, seen, ack, sample, &report);
        }
    }

    /// Enters the packet into the record of its direction.
    fn feed(&mut self, from: Side, seen: &Sighting<'_>, number: u64, ndp: Option<u64>) {
        let kind = seen.packet.header.kind();
        let rtt = self.rtt().map(Duration::from_secs_f64);
        let half = &mut self.halves[from];
        half.ndp_seen |= ndp.is_some();
        let feeds = !matches!(kind, PacketType::Request | PacketType::Response);
        if feeds && let Some(next) = self.next[from] {
            half.expect(seen.at, next);
        }
        let came = Came {
            at: seen.at,
            number,
            kind: if kind.carries_datagram() { PacketKind::Data } else { PacketKind::NonData },
            size: seen.size,
            ecn: seen.ecn,
            ccval: seen.packet.ccval,
            ndp: ndp.unwrap_or(0),
            rtt,
        };
        half.on_packet(&came, feeds);
    }

    fn on_option(&mut self, from: Side, seen: &Sighting<'_>, item: &Item<'_>, report: &mut Report) {
        let name = describe::option_name(item.raw.kind);
        let value = || match &item.option {
            Ok(option) => describe::option_value(option),
            Err(_) => describe::raw_value(&item.raw),
        };
        self.halves[from].on_option(item.raw.kind, name, value);
        let option = match item.option {
            Ok(option) => option,
            Err(Refusal::Misplaced) => {
                self.breaches.add(Breach::OptionPlace, from, seen.number);
                return;
            }
            Err(_) => return,
        };
        match option {
            Opt::Feature(feature) => self.on_feature(from, seen.number, item.mandatory, &feature),
            Opt::NdpCount(n) => report.ndp = Some(n),
            Opt::Timestamp(value) => report.timestamp = Some(value),
            Opt::TimestampEcho { value, elapsed } => {
                let held = elapsed.map_or(0.0, |elapsed| elapsed.duration().as_secs_f64());
                report.echo = Some((value, held));
            }
            Opt::ElapsedTime(elapsed) => report.held = Some(elapsed.duration().as_secs_f64()),
            Opt::LossEventRate(value) => report.rate = Some(value),
            Opt::LossIntervals(intervals) => {
                report.lengths = Some(intervals.iter().map(|i| f64::from(i.data_length)).collect());
            }
            Opt::ReceiveRate(bytes) => report.received = Some(bytes),
            _ => {}
        }
    }

    /// Follows the negotiation.
    fn on_feature(&mut self, from: Side, packet: u64, mandatory: bool, feature: &FeatureOption<'_>) {
        let (asked_here, located_here) = match feature.op {
            FeatureOp::ChangeL => (true, true),
            FeatureOp::ChangeR => (true, false),
            FeatureOp::ConfirmL => (false, true),
            FeatureOp::ConfirmR => (false, false),
        };
        let located = if located_here { from } else { 1 - from };
        if asked_here {
            let change = (from, feature.feature, located);
            if !self.open.contains(&change) && self.open.len() < FEATURES {
                self.open.push_back(change);
            }
        } else {
            // It settles the feature for both: Linux answers a Change with a Change of its own.
            self.open.retain(|(_, open, place)| (*open, *place) != (feature.feature, located));
            if Feature::from_number(feature.feature) == Some(Feature::Ccid)
                && let Some(ccid) = feature.values.first()
            {
                self.halves[located].ccid = Some(*ccid);
            }
        }
        let mut key = vec![feature.feature];
        key.extend_from_slice(feature.values);
        let key = (from, feature.op.kind(), key);
        if let Some(line) = self.said.get(&key).and_then(|line| self.dialogue.get_mut(*line)) {
            line.times += 1;
        } else if self.dialogue.len() < LINES {
            self.said.insert(key, self.dialogue.len());
            let must = if mandatory { " (Mandatory)" } else { "" };
            let text = describe::feature_text(feature) + must;
            self.dialogue.push(Said { packet, from: name(from).to_owned(), text, times: 1 });
        }
    }

    /// The data of `half` are reported on.
    fn on_report(&mut self, half: Side, seen: &Sighting<'_>, ack: u64, sample: Option<f64>, report: &Report) {
        let by = 1 - half;
        if seen.has_options {
            if report.held.is_none() {
                self.breaches.add(Breach::NoElapsedTime, by, seen.number);
            }
            if report.received.is_none() {
                self.breaches.add(Breach::NoReceiveRate, by, seen.number);
            }
            if report.lengths.is_none() {
                self.breaches.add(Breach::NoLossIntervals, by, seen.number);
            }
            if report.rate == Some(0) {
                self.breaches.add(Breach::LossEventRateZero, by, seen.number);
            }
        }
        let place = self.place().tap;
        let r = self.rtt();
        let near_receiver = place == at(by);
        let near_sender = place == at(half);
        let r = if near_sender { sample.filter(|s| *s > 0.0).or(r) } else { r };
        let queueing = match (near_sender, sample.zip(self.ends[half].acknowledged.least())) {
            (true, sample) => sample.map(|(sample, least)| ((sample - least).max(0.0), "round trips")),
            (false, _) => {
                self.one_way[half].latest().filter(|_| near_receiver).map(|delay| (delay, "timestamps"))
            }
        };
        let delay = match (near_sender, near_receiver) {
            (true, _) => 0.0,
            (_, true) => r.unwrap_or(0.0),
            _ => r.unwrap_or(0.0) / 2.0,
        };
        let inverse_p = match report.rate {
            Some(0 | describe::NO_LOSS) => None,
            Some(inverse) => Some(f64::from(inverse)),
            None => report.lengths.as_deref().and_then(Half::inverse_p_of),
        };
        let told = Told {
            packet: seen.number,
            at: seen.at,
            ack,
            inverse_p,
            receive_rate: report.received.map(|bytes| Rate::from_bytes_per_sec(f64::from(bytes))),
            rtt: r.filter(|r| *r > 0.0).map(Duration::from_secs_f64),
            queueing,
            delay: Duration::from_secs_f64(delay),
        };
        let half = &mut self.halves[half];
        half.ccid = half.ccid.or(Some(3));
        half.on_report(&told, End::origin(), !near_sender && place != Tap::Unknown);
    }

    fn place(&self) -> Place {
        let [client, server] = &self.halves;
        let ccval = || [client.counter_rtt(), server.counter_rtt()];
        Place::find(self.asked, &self.ends, &self.handshake, ccval)
    }

    /// R as far as it is known, seconds. Without a handshake it is worked out again now and then.
    fn rtt(&mut self) -> Option<f64> {
        if let Some(rtt) = self.handshake.rtt(self.asked) {
            return Some(rtt);
        }
        if self.rtt.is_none() || self.packets.is_multiple_of(RTT_PERIOD) {
            let counter = || self.halves.iter().find_map(Half::counter_rtt);
            self.rtt =
                round_trips(&self.place(), &self.ends, &self.handshake, self.asked).r_s.or_else(counter);
        }
        self.rtt
    }

    /// The result.
    pub(crate) fn finish(self) -> ConnectionSeen {
        let place = self.place();
        let mut rtt = round_trips(&place, &self.ends, &self.handshake, self.asked);
        rtt.ccval_s = [self.halves[0].counter_rtt(), self.halves[1].counter_rtt()];
        if rtt.r_s.is_none()
            && let Some(r) = rtt.ccval_s[0].or(rtt.ccval_s[1])
        {
            (rtt.r_s, rtt.r_by) = (Some(r), Some("CCVal".to_owned()));
        }
        let unanswered = self.open.iter().map(|(side, feature, located)| {
            let whose = if side == located { "for itself" } else { "of the peer" };
            format!("{}: {} {whose}", name(*side), describe::feature_name(*feature))
        });
        let unanswered = unanswered.collect();
        let [to_server, to_client] = self.halves;
        let directions = vec![
            to_server.finish(name(0), End::origin(), place.tap != Tap::Client),
            to_client.finish(name(1), End::origin(), place.tap != Tap::Server),
        ];
        ConnectionSeen {
            client: self.addresses[0].to_string(),
            server: self.addresses[1].to_string(),
            carrier: self.carrier,
            udp_ports: self.udp_ports,
            service: self.service,
            packets: self.packets,
            first_packet: self.first_packet,
            tap: place.tap,
            tap_found_by: place.found_by.to_owned(),
            rtt,
            dialogue: self.dialogue,
            unanswered,
            end: self.end,
            syncs: self.syncs,
            out_of_step: self.out_of_step,
            broken: self.breaches.finish(),
            directions,
        }
    }
}

/// Fields of a packet's options.
#[derive(Debug, Clone, Default)]
struct Report {
    ndp: Option<u64>,
    timestamp: Option<u32>,
    echo: Option<(u32, f64)>,
    held: Option<f64>,
    rate: Option<u32>,
    lengths: Option<Vec<f64>>,
    received: Option<u32>,
}

impl Report {
    /// True if the packet is a receiver's report.
    const fn is_report(&self) -> bool {
        self.rate.is_some() || self.lengths.is_some() || self.received.is_some()
    }
}

/// The tap at an end.
const fn at(side: Side) -> Tap {
    if side == 0 { Tap::Client } else { Tap::Server }
}
