//! The places of a listener: how many there are, who holds them, and when a connection that has
//! fallen silent gives its place to a new client from the same IP address.

use core::net::{IpAddr, SocketAddr};

use tfrc_units::{Duration, Instant};

use super::prefix::source_of;
use super::{ConnectionId, Endpoint, Listen, PerSource};
use crate::connection::{Standing, State};
use crate::feature::Role;

/// Verdict on a client that wants a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Free,
    /// The place of this connection, which has left our Syncs unanswered.
    GivenUpBy(ConnectionId),
    /// A connection has just ended, or is being asked if it is still there: the client may ask
    /// again.
    Undecided,
    /// No place is free.
    Taken,
}

/// Maximum number of connections of one address examined for each Request.
const LOOKED_AT: usize = 64;

/// An application that has not released an ended connection by then keeps its place for longer, and
/// clients are refused.
const RELEASED: Duration = Duration::from_secs(3);

impl Endpoint {
    /// Finds a place for a client at this address. If none is free, the connection from the same IP
    /// address that has been silent longest is asked; Requests with a forged address cause such
    /// Syncs too, which are few and harmless to a peer that answers.
    pub(super) fn place(&mut self, now: Instant, remote: SocketAddr) -> Place {
        if !self.is_full() && !self.has_its_share(remote.ip()) {
            return Place::Free;
        }
        // Connections that have given up their places and are not released yet are bounded too.
        if self.serving >= self.limit().saturating_mul(2) {
            return Place::Taken;
        }
        if self.is_full() && self.one_is_closing(now) {
            return Place::Undecided;
        }
        let Some(rival) = self.most_silent(remote) else { return Place::Taken };
        let Some(live) = self.slots.get_mut(rival) else { return Place::Taken };
        match live.connection.standing(now) {
            Standing::There => Place::Taken,
            Standing::Asked => {
                self.touch(rival);
                Place::Undecided
            }
            Standing::Gone => Place::GivenUpBy(rival),
        }
    }

    /// Returns true if a connection has just ended whose place the application will release: a
    /// client that comes on its heels is not told that we are busy, and repeats its Request.
    fn one_is_closing(&self, now: Instant) -> bool {
        self.slots.values().take(LOOKED_AT).any(|live| {
            let connection = &live.connection;
            live.serves
                && connection.state() == State::Closed
                && now.saturating_since(connection.last_heard()) < RELEASED
        })
    }

    /// Of the connections that hold places and come from the same IP address, the one heard from
    /// longest ago.
    fn most_silent(&self, remote: SocketAddr) -> Option<ConnectionId> {
        let (least, most) = (SocketAddr::new(remote.ip(), 0), SocketAddr::new(remote.ip(), u16::MAX));
        // From the client's own port on, so that all are looked at in time.
        let own = (remote, 0, 0);
        let after = self.by_key.range(own..=(most, u16::MAX, u16::MAX));
        let before = self.by_key.range((least, 0, 0)..own);
        after
            .chain(before)
            .take(LOOKED_AT)
            .filter_map(|(_, id)| self.slots.get(*id).map(|live| (*id, live)))
            .filter(|(_, live)| live.serves && live.connection.state() != State::Closed)
            .min_by_key(|(_, live)| live.connection.last_heard())
            .map(|(id, _)| id)
    }

    /// Connections that may be served at once.
    const fn limit(&self) -> usize {
        match self.config.listen {
            Listen::Refuse => 0,
            Listen::One => 1,
            Listen::Many(limit) => limit,
        }
    }

    /// Returns true if all places are taken. Half-open connections do not count: anybody can create
    /// them.
    pub(super) const fn is_full(&self) -> bool {
        self.serving >= self.limit()
    }

    /// Returns true if a source has reached its limit.
    pub(super) fn has_its_share(&self, source: IpAddr) -> bool {
        match self.config.per_source {
            PerSource::Unlimited => false,
            PerSource::AtMost(limit) => {
                self.sources.get(&source_of(source)).is_some_and(|held| *held >= limit)
            }
        }
    }

    /// Frees the place of a released connection. Until its release it holds what it received.
    pub(super) fn remove(&mut self, id: ConnectionId) {
        let Some(live) = self.slots.get(id) else { return };
        let (source, role, serves) = (live.remote.ip(), live.connection.role(), live.serves);
        self.slots.remove(id);
        self.serving -= usize::from(serves);
        if role == Role::Server {
            self.uncount_source(source);
        }
    }

    /// Counts one more connection of an address.
    pub(super) fn count_source(&mut self, source: IpAddr) {
        if self.config.per_source != PerSource::Unlimited {
            *self.sources.entry(source_of(source)).or_default() += 1;
        }
    }

    /// Counts one connection less of an address.
    pub(super) fn uncount_source(&mut self, source: IpAddr) {
        let source = source_of(source);
        if let Some(held) = self.sources.get_mut(&source) {
            *held -= 1;
            if *held == 0 {
                self.sources.remove(&source);
            }
        }
    }
}
