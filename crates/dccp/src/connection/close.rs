//! How a connection ends: Close and CloseReq, Reset, giving up (RFC 4340 §8.3).

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::string::String;

use tfrc_units::{Duration, Instant};

use super::text::{cut, visible};
use super::timers::expired;
use super::{
    Cause, Closed, ClosedBy, Connection, Due, DueReset, Ending, MAX_TEXT, Notice, State, WireEnding,
};
use crate::feature::Role;
use crate::wire::{Reset, ResetCode};

/// The first wait for an answer to Close is two round-trip times, but not less than this: the
/// peer's application may take a moment.
const LEAST_CLOSE_WAIT: Duration = Duration::from_millis(250);
/// The text of an answer to Close that the application has not given within
/// [`accept_close_within`](crate::ConnectionConfig::accept_close_within), unless it has set one:
/// the peer must not take it as a confirmation that the data was stored.
pub const UNCONFIRMED: &str = "the application has not taken all data yet";
const LONGEST_CLOSE_WAIT: Duration = Duration::from_secs(64);
/// The wait doubles after this many. At 30 % loss in each direction half of the attempts fail; five
/// in the first five quarters of a second end 97 % of the connections (RFC 4340 §8.3 sets only the
/// first wait and the longest).
const CLOSES_BEFORE_BACKOFF: u8 = 3;

impl Connection {
    /// Closes: the datagrams handed over are still sent, then Close, and the peer's answer ends the
    /// connection. No more datagrams are taken. Before the handshake is complete this aborts. Has
    /// no effect if the connection is closing already.
    pub fn close(&mut self, now: Instant) {
        let now = self.advance(now);
        match self.state {
            State::Request | State::Respond => {
                self.break_off(Reset::new(ResetCode::Aborted), Cause::Application, "");
            }
            State::PartOpen | State::Open => {
                self.ending = Ending::AfterQueue;
                self.close_when_flushed(now);
            }
            State::CloseReceived => self.accept_close(now),
            State::CloseReq | State::Closing | State::Closed => {}
        }
    }

    /// Closes at once: the datagrams that wait to be sent are discarded, and Close goes now (RFC
    /// 4340 §8.3). Returns how many datagrams this discarded;
    /// [`Stats::unsent_packets`](crate::Stats::unsent_packets) counts them too. Close is repeated
    /// three times every two round-trip times (at least 250 ms), then ever less often, and given up
    /// after [`close_timeout`](crate::ConnectionConfig::close_timeout). In other states than OPEN
    /// and PARTOPEN as [`Connection::close`].
    pub fn close_now(&mut self, now: Instant) -> u64 {
        let discarded = self.discard_queue();
        self.close(now);
        discarded
    }

    /// As a server, asks the client to close, so that the client holds TIMEWAIT; a client closes as
    /// with [`Connection::close_now`]. The datagrams that wait to be sent are discarded.
    pub fn request_close(&mut self, now: Instant) {
        let now = self.advance(now);
        match (self.role, self.state) {
            (Role::Server, State::Open) => {
                self.discard_queue();
                self.start_closing(now, State::CloseReq);
            }
            _ => {
                self.close_now(now);
            }
        }
    }

    /// Answers the peer's Close, which ends the connection. Has no effect before
    /// [`Event::CloseReceived`](crate::Event::CloseReceived).
    pub fn accept_close(&mut self, now: Instant) {
        self.advance(now);
        if self.state == State::CloseReceived {
            self.answer_close();
        }
    }

    /// Aborts the connection with a Reset of this code.
    pub fn abort(&mut self, now: Instant, code: ResetCode) {
        self.advance(now);
        self.break_off(Reset::new(code), Cause::Application, "");
    }

    /// Sets the text that our final Reset carries to the peer (RFC 4340 §5.6), or our Close, as
    /// [`ConnectionConfig::greeting`](crate::ConnectionConfig::greeting) is carried; cut to 200
    /// bytes. If we are closing, Close goes again.
    pub fn set_closing_text(&mut self, text: &str) {
        self.closing_text = cut(text, MAX_TEXT).to_owned();
        if self.state == State::Closing {
            // A Close that has gone had another text, or none.
            self.due.close = true;
        }
    }

    pub(super) fn start_closing(&mut self, now: Instant, state: State) {
        self.state = state;
        self.due.close = true;
        self.timers.handshake = None;
        self.timers.handshake_limit = None;
        self.timers.close_limit = Some(now + self.config.close_timeout);
        self.backoff = (self.round_trip() * 2).max(LEAST_CLOSE_WAIT);
    }

    /// Step 13: a client is asked to close.
    pub(super) fn on_close_req(&mut self, now: Instant) {
        match self.state {
            State::PartOpen | State::Open | State::CloseReceived => self.start_closing(now, State::Closing),
            State::Closing => self.due.close = true,
            _ => {}
        }
    }

    /// Step 14: the peer closes.
    pub(super) fn on_close(&mut self, now: Instant) {
        match self.state {
            State::PartOpen | State::Open => {
                self.state = State::CloseReceived;
                self.timers.accept_close = Some(now + self.config.accept_close_within);
                self.timers.handshake = None;
                self.timers.handshake_limit = None;
                self.discard_queue();
                self.tell(Notice::CloseReceived);
            }
            // It repeats itself while the application takes its time.
            State::CloseReceived => {}
            // Both ends closed, or our CloseReq is answered: nobody waits for anything.
            _ => self.answer_close(),
        }
    }

    /// Schedules the next Close or CloseReq after one was sent.
    pub(super) fn close_sent(&mut self, now: Instant) {
        self.timers.close = Some(now + self.backoff);
        self.closes_sent = self.closes_sent.saturating_add(1);
        if self.closes_sent >= CLOSES_BEFORE_BACKOFF {
            self.backoff = (self.backoff * 2).min(LONGEST_CLOSE_WAIT);
        }
    }

    pub(super) fn close_timeout(&mut self, now: Instant) {
        if expired(&mut self.timers.close_limit, now) {
            let cause = Cause::CloseUnanswered(self.config.close_timeout);
            self.break_off(Reset::new(ResetCode::Aborted), cause, "the close was not answered in time");
            return;
        }
        if expired(&mut self.timers.close, now) && matches!(self.state, State::Closing | State::CloseReq) {
            self.due.close = true;
        }
        if expired(&mut self.timers.accept_close, now) && self.state == State::CloseReceived {
            if self.closing_text.is_empty() {
                self.set_closing_text(UNCONFIRMED);
            }
            self.answer_close();
        }
    }

    fn answer_close(&mut self) {
        let by = if self.state == State::CloseReceived { ClosedBy::Peer } else { ClosedBy::Us };
        let reset = Reset::new(ResetCode::Closed);
        self.finish_with_reset(reset, self.closing_text.clone(), by, Cause::Agreed);
    }

    /// Ends the connection with a Reset; `why` is its text unless the application has set one.
    pub(super) fn break_off(&mut self, reset: Reset, cause: Cause, why: &str) {
        if self.state == State::Closed {
            return;
        }
        let text = if self.closing_text.is_empty() { why.to_owned() } else { self.closing_text.clone() };
        self.finish_with_reset(reset, text, ClosedBy::OurReset, cause);
    }

    fn finish_with_reset(&mut self, reset: Reset, text: String, by: ClosedBy, cause: Cause) {
        let note = self.notes.as_ref().map(|notes| notes.closing.clone()).filter(|text| !text.is_empty());
        self.finish(by, reset.code, cause, note, WireEnding::SentReset { reset, text: text.clone() });
        self.due = Due { reset: Some(Box::new(DueReset { reset, ack: None, text })), ..Due::default() };
    }

    /// Step 9: the peer has reset the connection.
    pub(super) fn on_reset(&mut self, reset: Reset, text: &[u8]) {
        let text = Some(visible(text)).filter(|text| !text.is_empty());
        let (by, cause) = match (self.state, reset.code) {
            (State::Closing | State::CloseReq, ResetCode::Closed) => (ClosedBy::Us, Cause::Agreed),
            _ => (ClosedBy::PeerReset, reset.refused_ccid().map_or(Cause::PeerReset, Cause::CcidRefused)),
        };
        self.finish(by, reset.code, cause, text, WireEnding::ReceivedReset);
        self.due = Due::default();
    }

    /// No peer is there to answer, so nothing more is sent.
    pub(super) fn on_unreachable(&mut self) {
        self.finish(
            ClosedBy::Unreachable,
            ResetCode::Aborted,
            Cause::PeerAbsent,
            None,
            WireEnding::ReceivedReset,
        );
        self.due = Due::default();
    }

    fn finish(
        &mut self,
        by: ClosedBy,
        code: ResetCode,
        cause: Cause,
        text: Option<String>,
        outcome: WireEnding,
    ) {
        self.state = State::Closed;
        self.discard_queue();
        self.report = None;
        self.outcome = Some(outcome);
        let peer_sent_data_packets = self.ledger.data_sent();
        self.closed = Some(Box::new(Closed { by, code, cause, text, peer_sent_data_packets }));
    }
}
