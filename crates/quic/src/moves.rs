//! Changes of a client's address, decided before QUIC sees a packet.
//!
//! A packet's source is outside of its seal. Whoever can copy packets and send them from an address
//! of its own, sooner than the originals come, would move the session there (RFC 9000 §9.3.3). So a
//! packet from elsewhere is given to QUIC as if it came from the session's address, and the session
//! moves in two cases: no packet comes from its address any more, or its address leaves a question
//! unanswered. The move holds once the peer has answered at the new address (§8.2) and QUIC sends
//! there. noq does not if the answer came after three probe timeouts; then it has to see the
//! address as a new one again.
//!
//! The first packets of a handshake may be copies too. If they come from two addresses, and none is
//! proved, the handshake ends, and clients prove their addresses for a while. The addresses have
//! their turns: QUIC would take the packet of one for a repetition of the other's.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use noq::{PathId, WeakConnectionHandle};
use tfrc_units::saturating;
use tokio::sync::Notify;

use crate::ids::{CONNECTION_ID, Ids};

/// The silence of an address that lets its session move. The copy of a packet is not as much sooner
/// than the packet.
const SILENT: Duration = Duration::from_millis(100);
/// Packets that come from elsewhere meanwhile.
const PACKETS: u32 = 3;
/// Packets come from two addresses for this time before the session's own is asked; the time
/// between two questions.
const CONTENDED: Duration = Duration::from_secs(1);
/// Round-trip times for an answer, and their bounds.
const ANSWER: u32 = 8;
const LEAST_ANSWER: Duration = Duration::from_secs(1);
const MOST_ANSWER: Duration = Duration::from_secs(5);
/// The time after a move that failed until the next one; it doubles with each failure.
const BARRED: Duration = Duration::from_millis(250);
const MOST_BARRED: Duration = Duration::from_secs(8);
/// Connection IDs of one address that are noted. A client of `tfrc` uses two or three.
const IDS: usize = 8;
/// First packets of clients without a handshake yet that are remembered.
const FIRSTS: usize = 64;

/// The addresses of an endpoint's sessions.
pub(crate) type Moves = Book<WeakConnectionHandle>;

/// A connection ID, at most 20 bytes (RFC 9000 §17.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Id {
    length: usize,
    bytes: [u8; 20],
}

/// Where a packet is in the life of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// A first packet that proves no address.
    First,
    Handshake,
    Later,
}

/// The first packet of a client without a handshake yet: whose turn it is.
#[derive(Debug)]
struct First {
    id: Id,
    /// The address whose packet QUIC has had.
    last: SocketAddr,
    next: Option<Rival>,
}

/// The second address from which packets of a handshake come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rival {
    pub(crate) address: SocketAddr,
    /// Bytes of its first datagram.
    pub(crate) came: u64,
}

/// A handshake whose packets come from two addresses.
#[derive(Debug, Default)]
struct Contest {
    rival: Mutex<Option<Rival>>,
    news: Notify,
}

/// A session's connection, as the decision needs it.
pub(crate) trait Peer {
    /// Answers of the peer to challenges of an address (PATH_RESPONSE).
    fn responses(&self) -> u64;

    /// Acknowledgements of the peer.
    fn acknowledgements(&self) -> u64;

    /// Datagrams that have gone to the peer.
    fn sent(&self) -> u64;

    /// The round-trip time.
    fn rtt(&self) -> Duration;

    /// Sends the peer a packet that it has to acknowledge.
    fn ask(&self);
}

/// The sessions by their addresses and connection IDs.
#[derive(Debug)]
pub(crate) struct Book<P>(Mutex<Entries<P>>);

/// The address of a session, watched until this is dropped.
#[derive(Debug)]
pub(crate) struct Watch<P: Peer> {
    book: Arc<Book<P>>,
    number: u64,
    contest: Arc<Contest>,
}

#[derive(Debug)]
struct Entries<P> {
    ids: Ids,
    next: u64,
    flows: BTreeMap<u64, Flow<P>>,
    by_home: BTreeMap<SocketAddr, u64>,
    by_id: BTreeMap<Id, u64>,
    firsts: VecDeque<First>,
}

/// Everything from one address: one session, unless a client has several at one socket.
#[derive(Debug)]
struct Flow<P> {
    /// The address that has answered.
    home: SocketAddr,
    watches: usize,
    /// The client has proved that it has this address.
    is_proved: bool,
    contest: Arc<Contest>,
    peers: Vec<P>,
    /// Connection IDs that are noted.
    ids: usize,
    trial: Option<Trial>,
    elsewhere: Option<Elsewhere>,
    failures: u32,
    /// No move before.
    barred: Option<Instant>,
}

/// A move that the peer has not answered yet.
#[derive(Debug, Clone, Copy)]
struct Trial {
    to: SocketAddr,
    until: Instant,
    /// Its answers before.
    responses: u64,
    /// The first of its answers since.
    answer: Option<Answer>,
    /// The old address left a question unanswered: packets from there prove nothing.
    was_asked: bool,
}

/// An answer that QUIC may have taken for one, and may have had given up before.
#[derive(Debug, Clone, Copy)]
struct Answer {
    at: Instant,
    /// Datagrams to the peer before, and packets from it since.
    sent: u64,
    packets: u32,
}

/// Packets that come from another address.
#[derive(Debug, Clone, Copy)]
struct Elsewhere {
    /// The first of them, and the latest.
    since: Instant,
    latest: Instant,
    /// The first since a packet came from the session's own address, and how many.
    alone_since: Option<Instant>,
    alone: u32,
    /// The end of the time for an answer, and the acknowledgements before the question.
    question: Option<(Instant, u64)>,
}

impl<P: Peer> Default for Book<P> {
    fn default() -> Self {
        Self(Mutex::new(Entries {
            ids: Ids::default(),
            next: 0,
            flows: BTreeMap::new(),
            by_home: BTreeMap::new(),
            by_id: BTreeMap::new(),
            firsts: VecDeque::new(),
        }))
    }
}

impl<P: Peer> Book<P> {
    /// Watches the address of a session that begins with a packet for this connection ID.
    pub(crate) fn watch(self: &Arc<Self>, home: SocketAddr, id: &[u8], is_proved: bool) -> Watch<P> {
        let mut entries = self.entries();
        let next = entries.next;
        let number = *entries.by_home.entry(home).or_insert(next);
        entries.next += u64::from(number == next);
        let flow = entries.flows.entry(number).or_insert_with(|| Flow::new(home));
        flow.watches += 1;
        flow.is_proved |= is_proved;
        let contest = Arc::clone(&flow.contest);
        if let Some(id) = Id::new(id) {
            entries.note(number, id);
            let at = entries.firsts.iter().position(|first| first.id == id);
            let rival = at.and_then(|at| entries.firsts.remove(at)).and_then(|first| first.next);
            if let Some(rival) = rival.filter(|_| !is_proved) {
                contest.begin(rival);
            }
        }
        Watch { book: Arc::clone(self), number, contest }
    }

    /// The source that a datagram has for QUIC; `None` for a datagram that QUIC does not get.
    pub(crate) fn source(&self, now: Instant, from: SocketAddr, datagram: &[u8]) -> Option<SocketAddr> {
        let Some((id, stage)) = connection_id(datagram) else { return Some(from) };
        self.entries().source(now, Rival { address: from, came: saturating(datagram.len()) }, id, stage)
    }

    /// The IDs that the endpoint gives its sessions.
    pub(crate) fn ids(&self) -> Ids {
        self.entries().ids.clone()
    }

    fn entries(&self) -> MutexGuard<'_, Entries<P>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<P: Peer> Watch<P> {
    /// Names the session's connection. Before that it cannot move.
    pub(crate) fn begins(&self, peer: P) {
        if let Some(flow) = self.book.entries().flows.get_mut(&self.number) {
            flow.peers.push(peer);
        }
    }

    /// Waits until packets of the handshake come from another address, and returns that.
    pub(crate) async fn contested(&self) -> Rival {
        loop {
            let news = self.contest.news.notified();
            let rival = *self.contest.rival.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(rival) = rival {
                return rival;
            }
            news.await;
        }
    }
}

impl<P: Peer> Drop for Watch<P> {
    fn drop(&mut self) {
        let mut entries = self.book.entries();
        let Some(flow) = entries.flows.get_mut(&self.number) else { return };
        flow.watches -= 1;
        if flow.watches > 0 {
            return;
        }
        if let Some(flow) = entries.flows.remove(&self.number) {
            entries.by_id.retain(|_, number| *number != self.number);
            if entries.by_home.get(&flow.home) == Some(&self.number) {
                entries.by_home.remove(&flow.home);
            }
        }
    }
}

impl<P: Peer> Entries<P> {
    /// Notes an ID as that of a session, unless there are many.
    fn note(&mut self, number: u64, id: Id) {
        if let Some(flow) = self.flows.get_mut(&number).filter(|flow| flow.ids < IDS) {
            flow.ids += 1;
            self.by_id.insert(id, number);
        }
    }

    fn source(&mut self, now: Instant, by: Rival, id: Id, stage: Stage) -> Option<SocketAddr> {
        let from = by.address;
        let number = match (self.by_id.get(&id), self.by_home.get(&from)) {
            (Some(number), _) => *number,
            // An ID of ours is a session's if it came from the address of that session first, which
            // is during the handshake. Others may come from there too: anybody can write a source.
            (None, Some(number)) => {
                let number = *number;
                if self.ids.has_issued(id.as_bytes()) {
                    self.note(number, id);
                }
                number
            }
            (None, None) if stage == Stage::First => return self.turn(by, id).then_some(from),
            (None, None) => return Some(from),
        };
        let Some(flow) = self.flows.get_mut(&number) else { return Some(from) };
        let before = flow.home;
        let source = flow.source(now, by, stage);
        if flow.home != before {
            let home = flow.home;
            if self.by_home.get(&before) == Some(&number) {
                self.by_home.remove(&before);
            }
            self.by_home.entry(home).or_insert(number);
        }
        Some(source)
    }

    /// True if it is the turn of this address among those from which a first packet comes.
    fn turn(&mut self, by: Rival, id: Id) -> bool {
        let from = by.address;
        let Some(first) = self.firsts.iter_mut().find(|first| first.id == id) else {
            if self.firsts.len() >= FIRSTS {
                self.firsts.pop_front();
            }
            self.firsts.push_back(First { id, last: from, next: None });
            return true;
        };
        match first.next {
            None if first.last == from => return true,
            None => first.next = Some(by),
            Some(next) if next.address == from => {
                (first.last, first.next) = (from, None);
                return true;
            }
            Some(_) => {}
        }
        false
    }
}

impl<P: Peer> Flow<P> {
    fn new(home: SocketAddr) -> Self {
        Self {
            home,
            watches: 0,
            is_proved: false,
            contest: Arc::default(),
            peers: Vec::new(),
            ids: 0,
            trial: None,
            elsewhere: None,
            failures: 0,
            barred: None,
        }
    }

    fn source(&mut self, now: Instant, by: Rival, stage: Stage) -> SocketAddr {
        let from = by.address;
        if self.peers.is_empty() {
            if from != self.home && stage != Stage::Later && !self.is_proved {
                self.contest.begin(by);
            }
            return self.home;
        }
        if let Some(trial) = self.trial {
            if self.responses() > trial.responses {
                if self.answered(now, from, trial) {
                    // The next packet makes it a new address again.
                    return self.home;
                }
            } else if now >= trial.until || from == self.home && !trial.was_asked {
                let pause = BARRED.saturating_mul(1 << self.failures.min(10)).min(MOST_BARRED);
                self.trial = None;
                (self.failures, self.barred) = (self.failures.saturating_add(1), Some(now + pause));
            }
        }
        let current = self.trial.map_or(self.home, |trial| trial.to);
        if from == current {
            if let Some(elsewhere) = &mut self.elsewhere {
                (elsewhere.alone_since, elsewhere.alone) = (None, 0);
            }
        } else if from != self.home
            && let Some(was_asked) = self.may_move(now)
        {
            let (responses, until) = (self.responses(), now + self.patience());
            // A question goes on: a packet that seems to come from the old address ends the trial.
            if let Some(elsewhere) = &mut self.elsewhere {
                (elsewhere.alone_since, elsewhere.alone) = (None, 0);
            }
            self.trial = Some(Trial { to: from, until, responses, answer: None, was_asked });
            return from;
        }
        current
    }

    /// A move that the peer has answered: it holds if QUIC has sent something since. Returns true
    /// if QUIC is silent and begins again with the address.
    fn answered(&mut self, now: Instant, from: SocketAddr, trial: Trial) -> bool {
        let sent = self.peers.iter().map(Peer::sent).sum();
        let mut answer = trial.answer.unwrap_or(Answer { at: now, sent, packets: 0 });
        if sent > answer.sent {
            (self.home, self.trial, self.elsewhere) = (trial.to, None, None);
            (self.failures, self.barred) = (0, None);
            return false;
        }
        answer.packets += u32::from(from == trial.to);
        let is_silent = answer.packets > PACKETS && now.saturating_duration_since(answer.at) >= SILENT;
        self.trial = Some(if is_silent {
            let (responses, until) = (self.responses(), now + self.patience());
            Trial { responses, until, answer: None, ..trial }
        } else {
            Trial { answer: Some(answer), ..trial }
        });
        is_silent
    }

    /// Notes a packet from another address. Returns whether the session's own was asked, if the
    /// session may move.
    fn may_move(&mut self, now: Instant) -> Option<bool> {
        let fresh = Elsewhere { since: now, latest: now, alone_since: None, alone: 0, question: None };
        let is_recent = |of: &Elsewhere| now.saturating_duration_since(of.latest) < MOST_ANSWER;
        let mut elsewhere = self.elsewhere.filter(is_recent).unwrap_or(fresh);
        elsewhere.latest = now;
        elsewhere.alone += 1;
        let alone_since = *elsewhere.alone_since.get_or_insert(now);
        let is_barred = self.barred.is_some_and(|until| now < until);
        let is_silent = elsewhere.alone >= PACKETS && now.saturating_duration_since(alone_since) >= SILENT;
        let answers = self.peers.iter().map(Peer::acknowledgements).sum();
        let mut may_move = is_silent.then_some(false);
        match elsewhere.question {
            Some((_, before)) if answers > before => {
                (elsewhere.since, elsewhere.question) = (now, None);
            }
            Some((until, _)) if now >= until => may_move = Some(true),
            None if now.saturating_duration_since(elsewhere.since) >= CONTENDED => {
                self.peers.iter().for_each(Peer::ask);
                elsewhere.question = Some((now + self.patience(), answers));
                may_move = None;
            }
            // It has gone to the session's own address, and may not be answered at another one.
            Some(_) => may_move = None,
            None => {}
        }
        self.elsewhere = Some(elsewhere);
        may_move.filter(|_| !is_barred)
    }

    fn responses(&self) -> u64 {
        self.peers.iter().map(Peer::responses).sum()
    }

    /// The time for an answer.
    fn patience(&self) -> Duration {
        let rtt = self.peers.iter().map(Peer::rtt).max().unwrap_or_default();
        rtt.saturating_mul(ANSWER).clamp(LEAST_ANSWER, MOST_ANSWER)
    }
}

impl Peer for WeakConnectionHandle {
    fn responses(&self) -> u64 {
        self.upgrade().map_or(0, |quic| quic.stats().frame_rx.path_response)
    }

    fn acknowledgements(&self) -> u64 {
        self.upgrade().map_or(0, |quic| quic.stats().frame_rx.acks)
    }

    fn sent(&self) -> u64 {
        self.upgrade().map_or(0, |quic| quic.stats().udp_tx.datagrams)
    }

    fn rtt(&self) -> Duration {
        self.upgrade().and_then(|quic| quic.rtt(PathId::ZERO)).unwrap_or_default()
    }

    fn ask(&self) {
        if let Some(path) = self.upgrade().and_then(|quic| quic.path(PathId::ZERO)) {
            let _ = path.ping();
        }
    }
}

impl Contest {
    fn begin(&self, rival: Rival) {
        self.rival.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(rival);
        self.news.notify_waiters();
    }
}

impl Id {
    fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }

    fn new(id: &[u8]) -> Option<Self> {
        let mut bytes = [0; 20];
        bytes.get_mut(..id.len())?.copy_from_slice(id);
        Some(Self { length: id.len(), bytes })
    }
}

/// The ID of the connection that a datagram's first packet is for (RFC 9000 §17.2, §17.3.1).
fn connection_id(datagram: &[u8]) -> Option<(Id, Stage)> {
    let first = *datagram.first()?;
    if first & 0x80 == 0 {
        return Some((Id::new(datagram.get(1..)?.get(..CONNECTION_ID)?)?, Stage::Later));
    }
    let length = usize::from(*datagram.get(5)?);
    let id = Id::new(datagram.get(6..)?.get(..length)?)?;
    let own = usize::from(*datagram.get(6 + length)?);
    // An Initial packet of version 1 without a token (§17.2.2).
    let is_first = first & 0x30 == 0 && datagram.get(7 + length + own)? == &0;
    Some((id, if is_first { Stage::First } else { Stage::Handshake }))
}

#[cfg(test)]
mod tests;
