//! Web traffic, and the keys of `[flow.web]`.

use schemars::JsonSchema;
use serde::Deserialize;
use tfrc_sim::traffic::{Arrivals, Distribution, ObjectStart};
use tfrc_units::Duration;

use super::table::{Keys, Tabular};
use super::written::{PacketBytes, Plain, Seconds};

/// Web traffic between two nodes, but for its TCP.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WebTraffic {
    /// Sessions.
    pub sessions: u32,
    /// When they begin.
    pub arrivals: Arrivals,
    /// Pages of a session; `None`: no end.
    pub pages: Option<Distribution>,
    /// Seconds from the end of a page to the next.
    pub between_pages: Distribution,
    /// Objects of a page.
    pub objects: Distribution,
    /// Seconds from one object of a page to the next.
    pub between_objects: Distribution,
    /// Segments of an object.
    pub object: Distribution,
    /// Bytes of a request.
    pub request: u32,
    /// When the server begins an object.
    pub begin: ObjectStart,
    /// Time of the server between a request and its object.
    pub think: Duration,
}

impl Default for WebTraffic {
    /// ns-2's example of web traffic: pages 15 s apart, one object each of 12 segments on average,
    /// Pareto of shape 1.2.
    fn default() -> Self {
        Self {
            sessions: 1,
            arrivals: Arrivals::Within(Duration::ZERO),
            pages: None,
            between_pages: Distribution::Exponential { mean: 15.0 },
            objects: Distribution::Constant(1.0),
            between_objects: Distribution::Exponential { mean: 0.01 },
            object: Distribution::ParetoII { mean: 12.0, shape: 1.2 },
            request: 40,
            begin: ObjectStart::Requested,
            think: Duration::ZERO,
        }
    }
}

/// Pages of a session.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Pages {
    /// A session without an end.
    Endless,
    /// Pages of a session, such as 10 or "exponential 5".
    #[serde(untagged)]
    Number(Plain),
}

impl From<Pages> for Option<Distribution> {
    fn from(pages: Pages) -> Self {
        match pages {
            Pages::Endless => None,
            Pages::Number(Plain(number)) => Some(number),
        }
    }
}

/// When the server begins an object.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Begin {
    /// When it has the request.
    Requested,
    /// When the client has the acknowledgement of its request (ns-2's `WebTraf`); simulated alone.
    Acknowledged,
}

impl From<Begin> for ObjectStart {
    fn from(begin: Begin) -> Self {
        match begin {
            Begin::Requested => Self::Requested,
            Begin::Acknowledged => Self::Acknowledged,
        }
    }
}

impl Tabular for WebTraffic {
    const NAME: &'static str = "Web";

    fn start() -> Self {
        Self::default()
    }

    fn keys(&mut self, keys: &mut Keys<'_>) {
        keys.number("sessions", "a number", &mut self.sessions);
        if let Some(time) = keys.value("within", "the time within which all sessions begin, such as 10s") {
            self.arrivals = Arrivals::Within(time);
        }
        let apart = "the time from one session to the next, such as \"exponential 1s\"";
        if let Some(Seconds(time)) = keys.value("apart", apart) {
            self.arrivals = Arrivals::Apart(time);
        }
        keys.written_as::<Pages, _>("pages", "", &mut self.pages);
        let time = "a time or a distribution, such as \"exponential 15s\"";
        keys.written_as::<Seconds, _>("between_pages", time, &mut self.between_pages);
        keys.written_as::<Plain, _>("objects", "objects of a page, such as 1", &mut self.objects);
        keys.written_as::<Seconds, _>("between_objects", time, &mut self.between_objects);
        let segments = "segments of an object, such as \"pareto-ii 12 1.2\"";
        keys.written_as::<Plain, _>("object", segments, &mut self.object);
        keys.written_as::<PacketBytes, _>("request", "", &mut self.request);
        keys.written_as::<Begin, _>("begin", "", &mut self.begin);
        keys.key("think", &mut self.think);
    }
}
