//! One end of a pair: a DCCP endpoint and the application above it.

use std::net::SocketAddr;

use tfrc_dccp::{Closed, Connection, ConnectionId, Endpoint, Event, Received, State};
use tfrc_units::{Duration, Instant};

use crate::Side;

/// The address of each end; UDP ports as for RFC 6773.
#[must_use]
pub fn address(side: Side) -> SocketAddr {
    match side {
        Side::Client => SocketAddr::from(([192, 0, 2, 1], 40_000)),
        Side::Server => SocketAddr::from(([192, 0, 2, 2], 6511)),
    }
}

/// How the application reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// All datagrams there are, at once.
    AtOnce,
    /// One datagram at a time.
    Every {
        /// Time between two readings.
        gap: Duration,
        /// Time of the next one.
        next: Instant,
    },
}

/// One end, with what its application has seen and has to do.
///
/// The application keeps a datagram in the queue while it has one, and agrees to a close with the
/// number of datagrams that it has received as the closing text.
#[derive(Debug)]
pub struct End {
    /// The endpoint.
    pub endpoint: Endpoint,
    /// The one connection that the application uses. It releases all others once they are over.
    pub id: Option<ConnectionId>,
    /// Events of that connection, all of them.
    pub events: Vec<Event>,
    /// Datagrams received.
    pub received: Vec<Received>,
    /// Datagrams still to send.
    pub to_send: u64,
    /// Datagrams handed to the connection; each begins with its number, as eight bytes.
    pub sent: u64,
    /// Bytes of a datagram, at least 8.
    pub size: usize,
    /// The application closes when it has sent all.
    pub close_after: bool,
    /// How the application reads.
    pub reading: Reading,
    closing: bool,
}

impl End {
    pub(crate) const fn new(endpoint: Endpoint) -> Self {
        Self {
            endpoint,
            id: None,
            events: Vec::new(),
            received: Vec::new(),
            to_send: 0,
            sent: 0,
            size: 500,
            close_after: false,
            reading: Reading::AtOnce,
            closing: false,
        }
    }

    /// The connection, which there must be.
    #[must_use]
    pub fn connection(&self) -> &Connection {
        self.id.and_then(|id| self.endpoint.connection(id)).expect("there is a connection")
    }

    /// The state of the connection, if there is one.
    #[must_use]
    pub fn state(&self) -> Option<State> {
        self.id.and_then(|id| self.endpoint.connection(id)).map(Connection::state)
    }

    /// How the connection has ended, if the application knows.
    #[must_use]
    pub fn closed(&self) -> Option<&Closed> {
        self.events.iter().find_map(|event| match event {
            Event::Closed(closed) => Some(closed),
            _ => None,
        })
    }

    /// Calls the connection as an application does.
    pub fn with<T>(&mut self, call: impl FnOnce(&mut Connection) -> T) -> T {
        let id = self.id.expect("there is a connection");
        call(self.endpoint.connection_mut(id).expect("there is a connection"))
    }

    /// The numbers of the datagrams received, in the order of arrival.
    #[must_use]
    pub fn numbers(&self) -> Vec<u64> {
        let number = |bytes: &[u8]| bytes.first_chunk().map_or(u64::MAX, |bytes| u64::from_be_bytes(*bytes));
        self.received.iter().map(|received| number(&received.bytes)).collect()
    }

    /// The application takes events, reads, and sends.
    pub(crate) fn run(&mut self, now: Instant) {
        while let Some((id, event)) = self.endpoint.poll_event() {
            if matches!(event, Event::Incoming { .. })
                && self.state().is_none_or(|state| state == State::Closed)
            {
                self.id = Some(id);
            }
            let over = matches!(event, Event::Closed(_));
            if self.id == Some(id) {
                if matches!(event, Event::CloseReceived) {
                    self.read(now);
                    let text = format!("{} received", self.received.len());
                    self.with(|connection| {
                        connection.set_closing_text(&text);
                        connection.accept_close(now);
                    });
                }
                self.events.push(event);
            } else if over {
                self.endpoint.release(now, id);
            }
        }
        self.read(now);
        let Some(id) = self.id else { return };
        if self.to_send > 0 {
            let Some(connection) = self.endpoint.connection_mut(id) else { return };
            if connection.state().is_established() && connection.queued() == 0 {
                let mut datagram = self.sent.to_be_bytes().to_vec();
                datagram.resize(self.size.max(8), 0x5A);
                if connection.send(now, &datagram).is_ok() {
                    self.to_send -= 1;
                    self.sent += 1;
                }
            }
        } else if self.close_after && !self.closing && self.state().is_some_and(State::is_established) {
            self.closing = true;
            self.with(|connection| connection.close(now));
        }
    }

    fn read(&mut self, now: Instant) {
        let Some(id) = self.id else { return };
        match &mut self.reading {
            Reading::AtOnce => self.received.extend(std::iter::from_fn(|| self.endpoint.recv(id))),
            Reading::Every { gap, next } => {
                while *next <= now {
                    *next += *gap;
                    self.received.extend(self.endpoint.recv(id));
                }
            }
        }
    }

    pub(crate) fn next_wake(&mut self) -> Option<Instant> {
        let timer = self.endpoint.poll_timeout().map(|wake| wake.at);
        let read = match self.reading {
            Reading::AtOnce => None,
            Reading::Every { next, .. } => self.id.map(|_| next),
        };
        timer.into_iter().chain(read).min()
    }
}
