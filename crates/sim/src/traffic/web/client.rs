//! The client: sessions, and a sender of a request and a sink of an object in every place.

use tfrc_units::{Duration, Ecn, Instant, saturating, u64_from_f64};

use super::alarms::{Alarms, Queued};
use super::{Arrivals, ObjectStart, WebSetup};
use crate::packet::Header;
use crate::tcp::{
    Ack, AckKind, ConnectionId, Data, DataKind, EcnEcho, Fin, Reduced, SackBlock, Sender, Sink, Transfer,
};
use crate::traffic::{Amount, Distribution, Segment, schedule, send};
use crate::{Context, TimerKey};

/// The timer of the start.
const START: TimerKey = TimerKey::First;
const ALARM: TimerKey = TimerKey::Second;

/// Loads pages. It starts when its first timer fires.
#[derive(Debug)]
pub struct WebClient {
    setup: WebSetup,
    sessions: Vec<PageSession>,
    places: Vec<ClientSlot>,
    /// Places without an object under way, the last used first.
    free: Vec<u32>,
    alarms: Alarms<Deadline>,
    stats: WebStats,
    /// The time of each object that has arrived whole, if they are kept.
    times: Option<Vec<Duration>>,
}

/// Counters of a [`WebClient`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WebStats {
    /// Pages whose last object has arrived.
    pub pages: u64,
    /// Sum of the times from the first request of a page to the end of its last object.
    pub page_time: Duration,
    /// Objects asked for.
    pub requests: u64,
    /// Objects that have arrived whole.
    pub objects: u64,
    /// Sum of the times from request to end.
    pub object_time: Duration,
    /// Different segments and bytes of objects that have arrived.
    pub delivered: Amount,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Deadline {
    /// The retransmission timer of a request, or the time to ask for the object again.
    Request(u32),
    /// The delayed acknowledgement of an object.
    Response(u32),
    /// The next page or object of a session.
    PageSession(u32),
}

#[derive(Debug, Clone, Copy)]
struct PageSession {
    pages_left: u64,
    /// Objects of the page that have not been asked for.
    to_ask: u64,
    under_way: u64,
    page_start: Instant,
    next: Option<Instant>,
    queued: Queued,
}

#[derive(Debug)]
struct ClientSlot {
    session: Option<u32>,
    asked_at: Instant,
    segments: u32,
    request: Sender,
    request_queued: Queued,
    /// When to say again that the request was acknowledged.
    go: Option<Instant>,
    response: Sink,
    response_queued: Queued,
}

impl WebClient {
    /// A client that has not started.
    #[must_use]
    pub fn new(setup: WebSetup) -> Self {
        Self {
            setup,
            sessions: Vec::new(),
            places: Vec::new(),
            free: Vec::new(),
            alarms: Alarms::new(),
            stats: WebStats::default(),
            times: None,
        }
    }

    /// Returns the counters.
    #[must_use]
    pub fn stats(&self) -> &WebStats {
        &self.stats
    }

    /// Keeps the time of each object from now on, and forgets those before. Memory grows with every
    /// object.
    pub fn keep_times(&mut self) {
        self.times = Some(Vec::new());
    }

    /// The times from request to end of the objects that have arrived whole, in the order of their
    /// ends; `None` unless they are kept ([`keep_times`](Self::keep_times)).
    #[must_use]
    pub fn times(&self) -> Option<&[Duration]> {
        self.times.as_deref()
    }

    /// Places for connections: the most objects that were under way at once.
    #[must_use]
    pub fn places(&self) -> usize {
        self.places.len()
    }

    pub(in crate::traffic) fn on_timer<P: Clone + From<Segment>>(
        &mut self,
        now: Instant,
        key: TimerKey,
        context: &mut Context<'_, P>,
    ) {
        if key == START && self.sessions.is_empty() {
            self.begin(now);
        }
        while let Some((serial, deadline)) = self.alarms.pop(now) {
            match deadline {
                Deadline::Request(number) => {
                    let Some(place) = self.places.get_mut(index(number)) else { continue };
                    if place.request_queued.came_up(serial) && place.session.is_some() {
                        if place.go.is_some_and(|at| at <= now) {
                            self.go(now, number, context);
                        } else {
                            place.request.handle_timeout(now);
                            self.transmit(now, number, context);
                        }
                    }
                }
                Deadline::Response(number) => {
                    let Some(place) = self.places.get_mut(index(number)) else { continue };
                    if place.response_queued.came_up(serial) {
                        let ack = place.response.handle_timeout(now);
                        self.answer(number, ack, context);
                    }
                }
                Deadline::PageSession(number) => {
                    let Some(session) = self.sessions.get_mut(index(number)) else { continue };
                    if session.queued.came_up(serial) {
                        session.next = None;
                        self.go_on(now, number, context);
                    }
                }
            }
        }
        schedule(context, ALARM, self.alarms.next());
    }

    /// Draws when sessions begin.
    fn begin(&mut self, now: Instant) {
        let mut last = now;
        for number in 0..self.setup.sessions {
            let at = match self.setup.arrivals {
                Arrivals::Apart(gap) => {
                    last += Duration::from_secs_f64(gap.sample(&mut self.setup.stream));
                    last
                }
                Arrivals::Within(time) => now + time.mul_f64(self.setup.stream.uniform()),
            };
            let pages_left = match self.setup.pages {
                Some(pages) => whole(pages, &mut self.setup.stream),
                None => u64::MAX,
            };
            let mut session = PageSession {
                pages_left,
                to_ask: 0,
                under_way: 0,
                page_start: at,
                next: Some(at),
                queued: Queued::default(),
            };
            self.alarms.want(Deadline::PageSession(number), session.next, &mut session.queued);
            self.sessions.push(session);
        }
    }

    /// The time of a session has come: the next object of its page, or a new page.
    fn go_on<P: Clone + From<Segment>>(&mut self, now: Instant, number: u32, context: &mut Context<'_, P>) {
        if self.setup.stop.is_some_and(|stop| stop <= now) {
            return;
        }
        let Some(session) = self.sessions.get_mut(index(number)) else { return };
        if session.to_ask == 0 {
            if session.pages_left == 0 || session.under_way > 0 {
                return;
            }
            session.pages_left -= 1;
            session.page_start = now;
            session.to_ask = whole(self.setup.objects, &mut self.setup.stream);
        }
        session.to_ask -= 1;
        session.under_way += 1;
        if session.to_ask > 0 {
            let gap = self.setup.between_objects.sample(&mut self.setup.stream);
            session.next = Some(now + Duration::from_secs_f64(gap));
            self.alarms.want(Deadline::PageSession(number), session.next, &mut session.queued);
        }
        self.ask(now, number, context);
    }

    fn ask<P: Clone + From<Segment>>(&mut self, now: Instant, session: u32, context: &mut Context<'_, P>) {
        let settings = &self.setup.settings;
        let segments = whole(self.setup.object, &mut self.setup.stream);
        let transfer = Transfer::Bytes(u64::from(self.setup.request.clamp(1, settings.payload().max(1))));
        let fresh = |connection| ClientSlot {
            session: Some(session),
            asked_at: now,
            segments: saturating::<u32>(segments),
            request: Sender::new(settings, connection, transfer),
            request_queued: Queued::default(),
            go: None,
            response: Sink::new(settings, connection),
            response_queued: Queued::default(),
        };
        let number = match self.free.pop() {
            Some(number) => {
                if let Some(place) = self.places.get_mut(index(number)) {
                    let generation = place.request.connection().generation.wrapping_add(1);
                    *place = fresh(ConnectionId { place: number, generation });
                }
                number
            }
            None => {
                let Ok(number) = u32::try_from(self.places.len()) else { return };
                self.places.push(fresh(ConnectionId { place: number, generation: 0 }));
                number
            }
        };
        self.stats.requests += 1;
        if let Some(place) = self.places.get_mut(index(number)) {
            place.request.start(now);
        }
        self.transmit(now, number, context);
    }

    pub(in crate::traffic) fn on_packet<P: Clone + From<Segment>>(
        &mut self,
        now: Instant,
        header: &Header,
        segment: &Segment,
        context: &mut Context<'_, P>,
    ) {
        match segment {
            Segment::Ack(ack) => {
                let number = ack.connection.place;
                if let Some(place) = self.places.get_mut(index(number))
                    && place.session.is_some()
                {
                    let was_done = place.request.is_done();
                    place.request.on_ack(now, ack);
                    let is_done = place.request.is_done();
                    self.transmit(now, number, context);
                    if is_done && !was_done && self.setup.begin == ObjectStart::Acknowledged {
                        self.go(now, number, context);
                    }
                }
            }
            Segment::Data(data) => self.on_object(now, data, header.ecn, context),
            _ => {}
        }
        schedule(context, ALARM, self.alarms.next());
    }

    fn on_object<P: Clone + From<Segment>>(
        &mut self,
        now: Instant,
        data: &Data,
        ecn: Ecn,
        context: &mut Context<'_, P>,
    ) {
        let number = data.connection.place;
        let Some(place) = self.places.get_mut(index(number)) else { return };
        if place.response.connection() != data.connection {
            if data.kind == DataKind::Data {
                // Of an object that has arrived whole: the server does not know yet.
                self.answer(number, Some(late(data)), context);
            }
            return;
        }
        place.go = None;
        let before = *place.response.stats();
        let ack = place.response.on_data(now, data, ecn);
        let after = place.response.stats();
        self.stats.delivered.packets += after.delivered_segments - before.delivered_segments;
        self.stats.delivered.bytes += after.delivered_bytes - before.delivered_bytes;
        // The last acknowledgement of an object does not wait: the place may be used again.
        let ack = if place.response.is_complete() { ack.or_else(|| place.response.flush()) } else { ack };
        let ended = if place.response.is_complete() { place.session.take() } else { None };
        let asked_at = place.asked_at;
        self.answer(number, ack, context);
        if let Some(session) = ended {
            self.stats.objects += 1;
            let time = now.saturating_since(asked_at);
            self.stats.object_time += time;
            if let Some(times) = &mut self.times {
                times.push(time);
            }
            self.free.push(number);
            self.object_ended(now, session);
        }
    }

    fn object_ended(&mut self, now: Instant, number: u32) {
        let Some(session) = self.sessions.get_mut(index(number)) else { return };
        session.under_way = session.under_way.saturating_sub(1);
        if session.under_way > 0 || session.to_ask > 0 {
            return;
        }
        self.stats.pages += 1;
        self.stats.page_time += now.saturating_since(session.page_start);
        if session.pages_left > 0 {
            let pause = self.setup.between_pages.sample(&mut self.setup.stream);
            session.next = Some(now + Duration::from_secs_f64(pause));
            self.alarms.want(Deadline::PageSession(number), session.next, &mut session.queued);
        }
    }

    fn transmit<P: Clone + From<Segment>>(
        &mut self,
        now: Instant,
        number: u32,
        context: &mut Context<'_, P>,
    ) {
        let Some(place) = self.places.get_mut(index(number)) else { return };
        while let Some((mut data, ecn)) = place.request.poll_transmit(now) {
            data.ask = match self.setup.begin {
                ObjectStart::Requested => place.segments,
                ObjectStart::Acknowledged => 0,
            };
            send(context, self.setup.peer, self.setup.settings.data_size(data.len), ecn, data);
        }
        let deadline = place.request.poll_timeout().or(place.go);
        self.alarms.want(Deadline::Request(number), deadline, &mut place.request_queued);
    }

    /// Says that the request was acknowledged, so that the object begins.
    fn go<P: Clone + From<Segment>>(&mut self, now: Instant, number: u32, context: &mut Context<'_, P>) {
        let Some(place) = self.places.get_mut(index(number)) else { return };
        let data = Data {
            connection: place.request.connection(),
            kind: DataKind::Data,
            seq: 0,
            len: 0,
            stamp: None,
            reduced: Reduced::No,
            fin: Fin::More,
            ask: place.segments,
        };
        send(context, self.setup.peer, self.setup.settings.data_size(0), Ecn::NotEct, data);
        place.go = Some(now + self.setup.settings.initial_rto);
        self.alarms.want(Deadline::Request(number), place.go, &mut place.request_queued);
    }

    fn answer<P: Clone + From<Segment>>(
        &mut self,
        number: u32,
        ack: Option<Ack>,
        context: &mut Context<'_, P>,
    ) {
        let Some(place) = self.places.get_mut(index(number)) else { return };
        if let Some(ack) = ack {
            send(context, self.setup.peer, self.setup.settings.ack_size(&ack), Ecn::NotEct, ack);
        }
        let deadline = place.response.poll_timeout();
        self.alarms.want(Deadline::Response(number), deadline, &mut place.response_queued);
    }
}

/// The acknowledgement of a segment that was received by a connection now gone.
fn late(data: &Data) -> Ack {
    Ack {
        connection: data.connection,
        kind: AckKind::Ack,
        next: data.seq.saturating_add(1),
        sack: [SackBlock::default(); 3],
        echo: data.stamp,
        ecn: EcnEcho::None,
    }
}

/// A number drawn and rounded up, at least 1.
fn whole(distribution: Distribution, stream: &mut crate::Stream) -> u64 {
    u64_from_f64(libm::ceil(distribution.sample(stream))).max(1)
}

fn index(number: u32) -> usize {
    saturating::<usize>(number)
}
