//! The place of the tap, and the round-trip time.

use std::collections::VecDeque;

use tfrc_units::Instant;

use crate::document::{RoundTrips, Tap};
use crate::end::End;

/// One way is the near one if a round trip takes less than this share of the other's.
const NEAR: f64 = 0.25;
/// The tap is at the sender of data whose least delay until the acknowledgement is at least this
/// share of the round-trip time by CCVal, which has queueing in it.
const FAR: f64 = 0.5;
/// Answers to one end count if there are more than one for this many to the other.
const FEW: u64 = 16;
/// Requests that are remembered.
const REQUESTS: usize = 8;

/// Times of the handshake.
#[derive(Debug, Clone, Default)]
pub(crate) struct Handshake {
    requests: VecDeque<(u64, Instant)>,
    response: Option<(u64, Instant)>,
    /// Seconds from the Request to the Response, and on to the client's first acknowledgement.
    to_server: Option<f64>,
    to_client: Option<f64>,
    opened: bool,
}

impl Handshake {
    pub(crate) fn on_request(&mut self, at: Instant, number: u64) {
        if self.requests.len() == REQUESTS {
            self.requests.pop_front();
        }
        self.requests.push_back((number, at));
    }

    pub(crate) fn on_response(&mut self, at: Instant, number: u64, ack: Option<u64>) {
        if self.response.is_some() {
            return;
        }
        self.response = Some((number, at));
        let request = self.requests.iter().find(|(request, _)| Some(*request) == ack);
        self.to_server = request.map(|(_, sent)| at.saturating_since(*sent).as_secs_f64());
    }

    /// A packet of the client that is no Request.
    pub(crate) fn on_answer(&mut self, at: Instant, ack: Option<u64>) {
        if let Some((number, sent)) = self.response
            && self.to_client.is_none()
            && ack == Some(number)
        {
            self.to_client = Some(at.saturating_since(sent).as_secs_f64());
        }
    }

    /// The server has sent more than its Response.
    pub(crate) const fn on_open(&mut self) {
        self.opened = true;
    }

    /// True from the Response until the server has sent something else.
    pub(crate) const fn is_part_open(&self) -> bool {
        self.response.is_some() && !self.opened
    }

    /// R by the handshake, seconds: the near part is the time of a host, not of the path.
    /// A place that was asked for decides which part that is.
    pub(crate) fn rtt(&self, asked: Option<Tap>) -> Option<f64> {
        match (self.to_server, self.to_client) {
            (Some(server), _) if asked == Some(Tap::Client) => Some(server),
            (_, Some(client)) if asked == Some(Tap::Server) => Some(client),
            (Some(server), Some(client)) if client < NEAR * server => Some(server),
            (Some(server), Some(client)) if server < NEAR * client => Some(client),
            (Some(server), Some(client)) => Some(server + client),
            (Some(server), None) => Some(server),
            (None, _) => None,
        }
        .filter(|rtt| *rtt > 0.0)
    }
}

/// Place of the tap, and how it was found.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub(crate) tap: Tap,
    pub(crate) found_by: &'static str,
}

impl Place {
    /// Asked for, or by link headers, the handshake, or acknowledgements, in this order. Where only
    /// one end is answered, the delays are held against the round-trip time by `ccval`, seconds, of
    /// the data from each end.
    pub(crate) fn find(
        asked: Option<Tap>,
        ends: &[End; 2],
        handshake: &Handshake,
        ccval: impl FnOnce() -> [Option<f64>; 2],
    ) -> Self {
        if let Some(tap) = asked {
            return Self { tap, found_by: "as asked" };
        }
        let [client, server] = ends;
        let is_home = |end: &End, peer: &End| end.outgoing > 0 && end.incoming == 0 && peer.outgoing == 0;
        let by_link = match (is_home(client, server), is_home(server, client)) {
            (true, false) => Some(Tap::Client),
            (false, true) => Some(Tap::Server),
            _ => None,
        };
        if let Some(tap) = by_link {
            return Self { tap, found_by: "link headers: sent by the host with the tap" };
        }
        if let Some(tap) = nearer(handshake.to_server, handshake.to_client) {
            return Self { tap, found_by: "times of the handshake" };
        }
        // From the client's packets to the server's answers, and from the server's to the client's.
        let (far_server, far_client) = (answers(client, server), answers(server, client));
        if let Some(tap) = nearer(far_server, far_client) {
            return Self { tap, found_by: "delays of acknowledgements" };
        }
        let of_data = match (far_server, far_client) {
            (Some(far), None) => ccval()[0].map(|rtt| (far / rtt, [Tap::Client, Tap::Server])),
            (None, Some(far)) => ccval()[1].map(|rtt| (far / rtt, [Tap::Server, Tap::Client])),
            _ => None,
        };
        match of_data {
            Some((share, [near, far])) => {
                let tap = match share {
                    _ if share >= FAR => near,
                    _ if share < NEAR => far,
                    _ => Tap::Middle,
                };
                Self { tap, found_by: "delays of acknowledgements, next to CCVal" }
            }
            None => Self { tap: Tap::Unknown, found_by: "no handshake, and answers of one end alone" },
        }
    }
}

/// The least delay of the answers to an end, seconds. Few of them, next to those to the other end,
/// are no answers to data: of a close, for one.
fn answers(end: &End, other: &End) -> Option<f64> {
    let (few, many) = (end.acknowledged.count(), other.acknowledged.count());
    end.acknowledged.least().filter(|_| few * FEW >= many)
}

/// The tap's place from the time to the server and back and to the client and back.
fn nearer(server: Option<f64>, client: Option<f64>) -> Option<Tap> {
    let (server, client) = (server?, client?);
    Some(match (server < NEAR * client, client < NEAR * server) {
        (true, _) => Tap::Server,
        (_, true) => Tap::Client,
        _ => Tap::Middle,
    })
}

/// The round-trip times by each method.
pub(crate) fn round_trips(
    place: &Place,
    ends: &[End; 2],
    handshake: &Handshake,
    asked: Option<Tap>,
) -> RoundTrips {
    let by_handshake = handshake.rtt(asked);
    let [client, server] = ends;
    // From the tap to the far end and back; both ways where the tap is between the ends.
    let over = |to_server: Option<f64>, to_client: Option<f64>| match place.tap {
        Tap::Client => to_server,
        Tap::Server => to_client,
        Tap::Middle => to_server.zip(to_client).map(|(server, client)| server + client),
        Tap::Unknown => None,
    };
    let echo = over(client.echoed.median(), server.echoed.median());
    let acknowledgement = over(client.acknowledged.median(), server.acknowledged.median());
    let least = over(client.acknowledged.least(), server.acknowledged.least());
    let methods =
        [(by_handshake, "handshake"), (echo, "timestamp echo"), (acknowledgement, "acknowledgements")];
    let found = methods.into_iter().find_map(|(rtt, by)| rtt.filter(|rtt| *rtt > 0.0).map(|rtt| (rtt, by)));
    RoundTrips {
        r_s: found.map(|(rtt, _)| rtt),
        r_by: found.map(|(_, by)| by.to_owned()),
        handshake_s: by_handshake,
        echo_s: echo,
        acknowledgement_s: acknowledgement,
        acknowledgement_least_s: least,
        ccval_s: [None; 2],
    }
}
