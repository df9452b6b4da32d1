//! The server: a sink for requests and a sender of objects in every place.

use tfrc_units::{Duration, Ecn, Instant, saturating};

use super::alarms::{Alarms, Queued};
use crate::packet::Header;
use crate::tcp::{ConnectionId, Data, DataKind, Sender, Settings, Sink, Transfer};
use crate::traffic::{Amount, Peer, Segment, schedule, send};
use crate::{Context, TimerKey};

const ALARM: TimerKey = TimerKey::First;

/// Places beyond this are refused: no client has this many connections open.
const MOST_PLACES: u32 = 1 << 20;

/// Sends what one [`super::WebClient`] asks for.
#[derive(Debug)]
pub struct WebServer {
    settings: Settings,
    /// From the arrival of a request to the start of the object.
    think: Duration,
    peer: Option<Peer>,
    places: Vec<ServerSlot>,
    alarms: Alarms<(u32, Deadline)>,
    /// Data sent by connections whose place has been used again.
    before: Amount,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
enum Deadline {
    /// The acknowledgement of a request.
    #[default]
    Request,
    /// The object's retransmission timer, or its start.
    Response,
}

#[derive(Debug)]
struct ServerSlot {
    request: Sink,
    request_queued: Queued,
    response: Option<Sender>,
    start: Option<Instant>,
    response_queued: Queued,
}

impl ServerSlot {
    fn new(settings: &Settings, connection: ConnectionId) -> Self {
        Self {
            request: Sink::new(settings, connection),
            request_queued: Queued::default(),
            response: None,
            start: None,
            response_queued: Queued::default(),
        }
    }

    /// When the sender wants attention: at its start, or when its timer expires.
    fn response_deadline(&self) -> Option<Instant> {
        self.start.or_else(|| self.response.as_ref().and_then(Sender::poll_timeout))
    }
}

impl WebServer {
    /// A server that begins an object so long after the request has come.
    #[must_use]
    pub fn new(settings: &Settings, think: Duration) -> Self {
        Self {
            settings: *settings,
            think,
            peer: None,
            places: Vec::new(),
            alarms: Alarms::new(),
            before: Amount::default(),
        }
    }

    pub(in crate::traffic) fn on_packet<P: Clone + From<Segment>>(
        &mut self,
        now: Instant,
        header: &Header,
        segment: &Segment,
        context: &mut Context<'_, P>,
    ) {
        self.peer = Some(Peer { to: header.src, flow: header.flow });
        match segment {
            Segment::Data(data) => self.on_request(now, data, header.ecn, context),
            Segment::Ack(ack) => {
                if let Some(response) =
                    self.place(ack.connection.place).and_then(|place| place.response.as_mut())
                {
                    response.on_ack(now, ack);
                    self.transmit(now, ack.connection.place, context);
                }
            }
            _ => {}
        }
        schedule(context, ALARM, self.alarms.next());
    }

    pub(in crate::traffic) fn on_timer<P: Clone + From<Segment>>(
        &mut self,
        now: Instant,
        context: &mut Context<'_, P>,
    ) {
        while let Some((serial, (number, deadline))) = self.alarms.pop(now) {
            let Some(place) = self.place(number) else { continue };
            match deadline {
                Deadline::Request => {
                    if place.request_queued.came_up(serial) {
                        let ack = place.request.handle_timeout(now);
                        self.answer(number, ack, context);
                    }
                }
                Deadline::Response => {
                    if place.response_queued.came_up(serial) {
                        if place.start.is_some_and(|at| at <= now) {
                            place.start = None;
                            if let Some(response) = &mut place.response {
                                response.start(now);
                            }
                        } else if let Some(response) = &mut place.response {
                            response.handle_timeout(now);
                        }
                        self.transmit(now, number, context);
                    }
                }
            }
        }
        schedule(context, ALARM, self.alarms.next());
    }

    fn on_request<P: Clone + From<Segment>>(
        &mut self,
        now: Instant,
        data: &Data,
        ecn: Ecn,
        context: &mut Context<'_, P>,
    ) {
        let connection = data.connection;
        if !self.prepare(connection) {
            return;
        }
        let (settings, think) = (self.settings, self.think);
        let Some(place) = self.place(connection.place) else { return };
        // A packet without data says that the request was acknowledged; it is not acknowledged.
        let is_go = data.kind == DataKind::Data && data.len == 0;
        let ack = if is_go { None } else { place.request.on_data(now, data, ecn) };
        if data.ask > 0 && place.request.is_complete() && place.response.is_none() {
            place.response = Some(Sender::new(&settings, connection, Transfer::Segments(data.ask)));
            place.start = Some(now + think);
        }
        self.answer(connection.place, ack, context);
        if let Some(place) = self.places.get_mut(index(connection.place)) {
            let deadline = place.response_deadline();
            self.alarms.want((connection.place, Deadline::Response), deadline, &mut place.response_queued);
        }
    }

    /// Makes the place ready for this connection; false if it is of the past.
    fn prepare(&mut self, connection: ConnectionId) -> bool {
        let ConnectionId { place, generation } = connection;
        if place >= MOST_PLACES {
            return false;
        }
        for new in (0..).skip(self.places.len()).take_while(|new| *new <= place) {
            self.places.push(ServerSlot::new(&self.settings, ConnectionId { place: new, generation: 0 }));
        }
        let settings = self.settings;
        let Some(slot) = self.place(place) else { return false };
        let known = slot.request.connection().generation;
        if known == generation {
            return true;
        }
        // Half of the numbers are later, half earlier.
        if generation.wrapping_sub(known) >= 1 << 15 {
            return false;
        }
        let sent = slot.response.as_ref().map(Sender::stats).copied().unwrap_or_default();
        *slot = ServerSlot::new(&settings, connection);
        self.before.packets += sent.sent_segments;
        self.before.bytes += sent.sent_bytes;
        true
    }

    fn place(&mut self, number: u32) -> Option<&mut ServerSlot> {
        self.places.get_mut(index(number))
    }

    fn answer<P: Clone + From<Segment>>(
        &mut self,
        number: u32,
        ack: Option<crate::tcp::Ack>,
        context: &mut Context<'_, P>,
    ) {
        let Some(place) = self.places.get_mut(index(number)) else { return };
        if let Some((ack, peer)) = ack.zip(self.peer) {
            send(context, peer, self.settings.ack_size(&ack), Ecn::NotEct, ack);
        }
        let deadline = place.request.poll_timeout();
        self.alarms.want((number, Deadline::Request), deadline, &mut place.request_queued);
    }

    fn transmit<P: Clone + From<Segment>>(
        &mut self,
        now: Instant,
        number: u32,
        context: &mut Context<'_, P>,
    ) {
        let Some(place) = self.places.get_mut(index(number)) else { return };
        if let Some((response, peer)) = place.response.as_mut().zip(self.peer) {
            while let Some((data, ecn)) = response.poll_transmit(now) {
                send(context, peer, self.settings.data_size(data.len), ecn, data);
            }
        }
        let deadline = place.response_deadline();
        self.alarms.want((number, Deadline::Response), deadline, &mut place.response_queued);
    }

    /// Returns the data sent in objects, retransmissions included.
    #[must_use]
    pub fn sent(&self) -> Amount {
        let mut sum = self.before;
        for stats in self.places.iter().filter_map(|place| place.response.as_ref()).map(Sender::stats) {
            sum.packets += stats.sent_segments;
            sum.bytes += stats.sent_bytes;
        }
        sum
    }

    /// Places for connections: the most that were open at once.
    #[must_use]
    pub fn places(&self) -> usize {
        self.places.len()
    }
}

fn index(number: u32) -> usize {
    saturating::<usize>(number)
}
