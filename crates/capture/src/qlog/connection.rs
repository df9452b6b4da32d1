//! A connection of QUIC by the events of one end.

use std::collections::{BTreeMap, VecDeque};

use tfrc_units::{Duration, Ecn, Instant, saturating};

use super::event::{Data, Event, Kind, whole};
use super::model::{Model, REMEMBERED, Reading};
use super::units::Units;
use crate::bounded::Samples;
use crate::document::{LossEvent, Queueing, QuicConnection};

/// Packet number spaces: Initial, Handshake, and data.
const SPACES: usize = 3;
const INITIAL: usize = 0;
const DATA: usize = 2;
/// Shorter packets without known frames only acknowledge, and are not in flight.
const LEAST_PACKET: u32 = 64;
/// Packets that must have been acknowledged after one before its own acknowledgement is inferred: a
/// packet may be declared lost when three later ones have arrived (RFC 9002 §6.1.1).
const REORDERING: u64 = 3;
/// Loss events that are listed, lost packets that may have begun one, and reasons of losses.
const LISTED: usize = 32;
const CANDIDATES: usize = 64;
const REASONS: usize = 8;

/// Packet number space of an event, and the number.
pub(super) fn space_and_number(event: &Event) -> Option<(usize, Option<f64>)> {
    let header = event.data.header.as_ref()?;
    let space = match header.packet_type.as_deref() {
        Some("initial") => INITIAL,
        Some("handshake") => 1,
        Some("0RTT" | "1RTT") | None => DATA,
        Some(_) => return None,
    };
    Some((space, header.packet_number))
}

/// True for the first packet of a connection.
pub(super) fn is_first(event: &Event) -> bool {
    let is_packet = matches!(event.kind(), Kind::Sent | Kind::Received);
    is_packet && space_and_number(event).is_some_and(|(space, n)| space == INITIAL && n == Some(0.0))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    InFlight,
    Lost,
    Acknowledged,
}

#[derive(Debug, Clone, Copy)]
struct Sent {
    number: u64,
    id: u64,
    size: u32,
    at: Instant,
    state: State,
}

/// A packet declared lost that may have begun a loss event.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    number: u64,
    sent: Instant,
    found: Instant,
}

/// Numbers of the packets that came.
#[derive(Debug, Clone, Copy, Default)]
struct Came {
    first: Option<u64>,
    highest: u64,
    count: u64,
}

/// Latest metrics of the transport.
#[derive(Debug, Clone, Copy, Default)]
struct Metrics {
    smoothed: Option<Duration>,
    window: Option<u64>,
    in_flight: Option<u64>,
    /// Latest sample less the least, seconds.
    queueing: Option<f64>,
    least: Option<f64>,
}

/// A connection.
#[derive(Debug)]
pub(super) struct Connection {
    trace: u64,
    name: String,
    side: (String, &'static str),
    /// Events are of the Initial space alone so far.
    initial: bool,
    spaces: [VecDeque<Sent>; SPACES],
    next_id: u64,
    first_data: Option<u64>,
    sent: u64,
    sent_bytes: u64,
    sent_at: Option<(Instant, Instant)>,
    received: u64,
    received_marked: Option<u64>,
    came: Came,
    metrics: Metrics,
    smoothed: Samples,
    latest: Samples,
    queueing: Samples,
    windows: Samples,
    /// The file names acknowledged packets.
    has_acks: bool,
    acked: u64,
    /// Bytes that went into flight, and those declared lost, since the last `bytes_in_flight`.
    flown: u64,
    lost_bytes: u64,
    /// Bytes in flight of packets that went before the file begins.
    before: u64,
    /// Bytes acknowledged whose packets are not chosen yet.
    credit: u64,
    marks: Option<u64>,
    marked_next: bool,
    lost: u64,
    lost_by: BTreeMap<String, u64>,
    spurious: u64,
    candidates: VecDeque<Candidate>,
    /// Time from which a lost packet begins the next loss event: a round trip after the first of
    /// the last one (RFC 5348 §5.2).
    next_event: Option<Instant>,
    /// Time of an acknowledgement that is not reported to the model yet.
    pending: Option<Instant>,
    events: Vec<LossEvent>,
    model: Model,
    units: Option<Units>,
}

impl Connection {
    pub(super) fn new(trace: u64, name: &str, side: Option<&str>) -> Self {
        let side = match side {
            Some(side @ ("client" | "server")) => (side.to_owned(), "vantage_point"),
            _ => ("unknown".to_owned(), "vantage_point does not say, and the beginning is missing"),
        };
        Self {
            trace,
            name: name.to_owned(),
            side,
            initial: true,
            spaces: [const { VecDeque::new() }; SPACES],
            next_id: 0,
            first_data: None,
            sent: 0,
            sent_bytes: 0,
            sent_at: None,
            received: 0,
            received_marked: None,
            came: Came::default(),
            metrics: Metrics::default(),
            smoothed: Samples::new(),
            latest: Samples::new(),
            queueing: Samples::new(),
            windows: Samples::new(),
            has_acks: false,
            acked: 0,
            flown: 0,
            lost_bytes: 0,
            before: 0,
            credit: 0,
            marks: None,
            marked_next: false,
            lost: 0,
            lost_by: BTreeMap::new(),
            spurious: 0,
            candidates: VecDeque::new(),
            next_event: None,
            pending: None,
            events: Vec::new(),
            model: Model::new(),
            units: None,
        }
    }

    pub(super) const fn trace(&self) -> u64 {
        self.trace
    }

    /// True as long as only first packets of a handshake were seen.
    pub(super) const fn is_initial(&self) -> bool {
        self.initial && self.sent + self.received > 0
    }

    pub(super) fn rename(&mut self, name: &str) {
        name.clone_into(&mut self.name);
    }

    pub(super) fn on_event(&mut self, at: Instant, event: &Event, units: Units) {
        self.units = Some(units);
        let kind = event.kind();
        let place = space_and_number(event);
        if matches!(kind, Kind::Sent | Kind::Received) {
            if self.sent + self.received == 0 && is_first(event) && self.side.0 == "unknown" {
                let side = if kind == Kind::Sent { "client" } else { "server" };
                self.side = (side.to_owned(), "the first packet; vantage_point does not say");
            }
            self.initial &= place.is_some_and(|(space, _)| space == INITIAL);
        }
        match (kind, place) {
            (Kind::Sent, Some((space, Some(number)))) => self.on_sent(at, space, whole(number), &event.data),
            (Kind::Received, Some((space, number))) => {
                self.on_received(at, space, number.map(whole), &event.data, units);
            }
            (Kind::Lost, Some((space, number))) => self.on_lost(at, space, number.map(whole), &event.data),
            (Kind::Metrics, _) => self.on_metrics(at, &event.data, units),
            _ => {}
        }
    }

    fn on_sent(&mut self, at: Instant, space: usize, number: u64, data: &Data) {
        self.report(at);
        let size = saturating::<u32>(data.length());
        self.sent += 1;
        self.sent_bytes += u64::from(size);
        let (first, _) = *self.sent_at.get_or_insert((at, at));
        self.sent_at = Some((first, at));
        if space == DATA {
            self.first_data.get_or_insert(number);
        }
        let silent = data.frames.as_ref().map_or(size < LEAST_PACKET, |frames| frames.is_silent());
        let Some(packets) = self.spaces.get_mut(space) else { return };
        // Numbers rise (RFC 9000 §12.3); those of another path may not.
        if silent || packets.back().is_some_and(|newest| newest.number >= number) {
            return;
        }
        self.flown += u64::from(size);
        let id = self.next_id;
        self.next_id += 1;
        while packets.len() >= REMEMBERED
            || packets.front().is_some_and(|packet| packet.state == State::Acknowledged)
        {
            packets.pop_front();
        }
        packets.push_back(Sent { number, id, size, at, state: State::InFlight });
        self.model.on_sent(at, id, size);
    }

    fn on_received(&mut self, at: Instant, space: usize, number: Option<u64>, data: &Data, units: Units) {
        self.report(at);
        self.received += 1;
        if let Some(ecn) = &data.ecn {
            *self.received_marked.get_or_insert(0) += u64::from(ecn == "CE");
        }
        if let Some(number) = number.filter(|_| space == DATA) {
            self.came.first = Some(self.came.first.map_or(number, |first| first.min(number)));
            self.came.highest = self.came.highest.max(number);
            self.came.count += 1;
        }
        let Some(acks) = &data.frames else { return };
        self.has_acks |= !acks.ranges.is_empty();
        if let (Some([_, _, ce]), DATA) = (acks.ecn, space) {
            self.marked_next |=
                self.marks.is_some_and(|before| ce > before) || self.marks.is_none() && ce > 0;
            self.marks = Some(self.marks.map_or(ce, |before| before.max(ce)));
        }
        for (first, last) in &acks.ranges {
            let last = if units.ends_open { last.saturating_sub(1) } else { *last };
            self.on_acked(at, space, *first, last);
        }
    }

    /// The peer acknowledges these numbers.
    fn on_acked(&mut self, at: Instant, space: usize, first: u64, last: u64) {
        let Some(packets) = self.spaces.get_mut(space) else { return };
        let from = packets.partition_point(|packet| packet.number < first);
        let to = packets.partition_point(|packet| packet.number <= last);
        if from >= to {
            return;
        }
        for packet in packets.range_mut(from..to).filter(|packet| packet.state != State::Acknowledged) {
            self.spurious += u64::from(packet.state == State::Lost);
            packet.state = State::Acknowledged;
            self.acked += 1;
            let ecn = if std::mem::take(&mut self.marked_next) { Ecn::Ce } else { Ecn::NotEct };
            self.model.on_acked(packet.id, ecn);
            self.pending = Some(at);
        }
    }

    fn on_lost(&mut self, at: Instant, space: usize, number: Option<u64>, data: &Data) {
        self.lost += 1;
        let reason = data.trigger.clone().unwrap_or_else(|| "no reason given".to_owned());
        if self.lost_by.contains_key(&reason) || self.lost_by.len() < REASONS {
            *self.lost_by.entry(reason).or_default() += 1;
        }
        let Some(number) = number else { return };
        let Some(packets) = self.spaces.get_mut(space) else { return };
        let found = packets.binary_search_by_key(&number, |packet| packet.number).ok();
        let Some(packet) = found.and_then(|place| packets.get_mut(place)) else {
            let bytes = data.length().min(self.before);
            self.before -= bytes;
            self.lost_bytes += bytes;
            return;
        };
        if packet.state != State::InFlight {
            return;
        }
        packet.state = State::Lost;
        self.lost_bytes += u64::from(packet.size);
        self.model.on_lost(packet.id);
        if self.candidates.len() == CANDIDATES {
            self.candidates.pop_front();
        }
        self.candidates.push_back(Candidate { number, sent: packet.at, found: at });
        self.pending = Some(at);
    }

    fn on_metrics(&mut self, at: Instant, data: &Data, units: Units) {
        let seconds = |rtt: Option<f64>| {
            let rtt = rtt.filter(|rtt| *rtt > 0.0 && !units.is_assumed(*rtt));
            rtt.map(|rtt| rtt * units.rtt_s).filter(|rtt| *rtt < 3600.0)
        };
        if let Some(least) = seconds(data.min_rtt) {
            self.metrics.least = Some(least);
        }
        if let Some(smoothed) = seconds(data.smoothed_rtt) {
            self.metrics.smoothed = Some(Duration::from_secs_f64(smoothed));
            self.smoothed.push(smoothed);
        }
        if let Some(latest) = seconds(data.latest_rtt) {
            self.latest.push(latest);
            if let Some(least) = self.metrics.least {
                let above = (latest - least).max(0.0);
                self.metrics.queueing = Some(above);
                self.queueing.push(above);
            }
        }
        if let Some(window) = data.congestion_window.map(whole) {
            self.metrics.window = Some(window);
            self.windows.push(window as f64);
        }
        if !self.has_acks {
            self.infer(at, data.bytes_in_flight.map(whole));
        }
        self.report_now();
    }

    /// Infers what was acknowledged from the bytes in flight: packets in their order. A value that
    /// is not repeated has not changed.
    fn infer(&mut self, at: Instant, in_flight: Option<u64>) {
        let Some(now) = in_flight.or(self.metrics.in_flight) else { return };
        let flown = std::mem::take(&mut self.flown);
        let lost = std::mem::take(&mut self.lost_bytes);
        let Some(last) = self.metrics.in_flight.replace(now) else {
            self.before = now.saturating_sub(flown);
            return;
        };
        let acknowledged = last.saturating_add(flown).saturating_sub(now).saturating_sub(lost);
        let old = acknowledged.min(self.before);
        self.before = if now == 0 { 0 } else { self.before - old };
        self.credit = self.credit.saturating_add(acknowledged - old);
        for space in 0..SPACES {
            while let Some(packet) = self.spaces.get_mut(space).and_then(VecDeque::pop_front) {
                let size = u64::from(packet.size);
                let is_certain = now == 0 || self.credit > size * (REORDERING + 1);
                if packet.state == State::InFlight && !is_certain {
                    if let Some(packets) = self.spaces.get_mut(space) {
                        packets.push_front(packet);
                    }
                    return;
                }
                if packet.state == State::InFlight {
                    self.credit = self.credit.saturating_sub(size);
                    self.acked += 1;
                    self.model.on_acked(packet.id, Ecn::NotEct);
                    self.pending = Some(at);
                }
            }
        }
        self.credit = 0;
    }

    /// An acknowledgement that came before `at` is complete.
    fn report(&mut self, at: Instant) {
        if self.pending.is_some_and(|pending| pending < at) {
            self.report_now();
        }
    }

    fn report_now(&mut self) {
        let Some(at) = self.pending.take() else { return };
        let reading = Reading {
            window: self.metrics.window,
            rtt: self.metrics.smoothed,
            queueing: self.metrics.queueing,
        };
        let before = self.model.loss_events();
        self.model.on_report(at, reading);
        for _ in 0..self.model.loss_events().saturating_sub(before).min(CANDIDATES as u64) {
            self.begin_event();
        }
    }

    /// The model has found a loss event, maybe some acknowledgements after the loss: lists the
    /// packet that began it. A mark may have, which has none.
    fn begin_event(&mut self) {
        let next = self.next_event;
        let begins = |candidate: &Candidate| next.is_none_or(|next| candidate.sent >= next);
        let Some(place) = self.candidates.iter().position(begins) else { return };
        let Some(candidate) = self.candidates.drain(..=place).next_back() else { return };
        self.next_event = Some(candidate.sent + self.model.rtt().unwrap_or(Duration::ZERO));
        if self.events.len() < LISTED {
            let found_s = candidate.found.as_secs_f64();
            self.events.push(LossEvent { at: candidate.number, found_s });
        }
    }

    pub(super) fn finish(mut self) -> QuicConnection {
        self.report_now();
        let duration = self.sent_at.map_or(0.0, |(first, last)| last.saturating_since(first).as_secs_f64());
        let p = self.model.loss_event_rate().get();
        let came = self.came;
        let spread = came.first.map_or(0, |first| (came.highest - first).saturating_add(1));
        let notes = self.notes();
        QuicConnection {
            name: self.name,
            side: self.side.0,
            side_found_by: self.side.1.to_owned(),
            sent: self.sent,
            sent_bytes: self.sent_bytes,
            duration_s: duration,
            rate_bps: (duration > 0.0 && self.sent_bytes > 0)
                .then(|| self.sent_bytes as f64 * 8.0 / duration),
            received: self.received,
            missing: spread.saturating_sub(came.count),
            received_marked: self.received_marked,
            smoothed_s: self.smoothed.median().or_else(|| self.model.rtt().map(Duration::as_secs_f64)),
            latest_s: self.latest.median(),
            least_s: self.metrics.least.or_else(|| self.latest.least()),
            lost: self.lost,
            lost_by: self.lost_by,
            spurious: self.spurious,
            marked: self.marks,
            events: self.model.loss_events(),
            first_events: self.events,
            inverse_p: (p > 0.0).then(|| 1.0 / p),
            window_bytes: self.windows.median(),
            rates: self.model.rates(),
            queueing: (self.queueing.count() > 0).then(|| Queueing {
                by: "latest_rtt".to_owned(),
                samples: self.queueing.count(),
                median_s: self.queueing.median(),
                most_s: self.queueing.most(),
            }),
            notes,
        }
    }

    /// Parts that are missing, or not as the drafts have them.
    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let mut note = |applies: bool, text: &str| {
            if applies {
                notes.push(text.to_owned());
            }
        };
        if let Some(first) = self.first_data.filter(|first| *first > 1) {
            let begins = format!("the file begins in the middle, with packet {first}: ");
            note(
                true,
                &(begins + "the allowed rates begin there, in slow start, and mean little before losses"),
            );
        }
        let units = self.units;
        let in_seconds = units.is_some_and(|units| units.rtt_s > 0.5) && self.smoothed.count() > 0;
        note(in_seconds, "round-trip times are in seconds, where the drafts have milliseconds");
        let ends_open = self.has_acks && units.is_some_and(|units| units.ends_open);
        note(ends_open, "acked_ranges end before their last number, where the drafts have it in the range");
        note(self.sent > 0 && self.sent_bytes == 0, "packets sent have no lengths: no rates");
        let infers = !self.has_acks && self.metrics.in_flight.is_some();
        note(
            infers,
            "no ACK frames: what was acknowledged is inferred from bytes_in_flight; marks are unknown",
        );
        note(
            self.sent > 0 && !self.has_acks && !infers,
            "neither ACK frames nor bytes_in_flight: nothing is known of what was acknowledged",
        );
        note(self.has_acks && self.marks.is_none(), "ACK frames have no ECN counts: marks are unknown");
        note(
            self.smoothed.count() == 0 && self.sent > 0,
            "no smoothed_rtt: R is worked out from acknowledgements, the time they were held included",
        );
        note(
            self.sent > 100 && self.next_id < self.sent / 5,
            "most packets only acknowledge: the data come from the other end, whose record says more",
        );
        note(self.windows.count() == 0 && self.sent > 0, "no congestion_window");
        notes
    }
}
