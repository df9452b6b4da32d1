//! The words of web traffic. `docs/models/` says what each means and where it comes from.

use tfrc_sim::traffic::{Arrivals, Distribution};
use tfrc_units::Duration;

use super::axis::{Axis, Wrong, bytes, quantity, time, whole};
use super::distribution::{plain, seconds};

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
    /// Time of the server between a request and its object.
    pub think: Duration,
}

impl Default for WebTraffic {
    /// ns-2's example of web traffic: pages 15 s apart, one object each of 12 segments on average, Pareto of shape 1.2.
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
            think: Duration::ZERO,
        }
    }
}

fn in_seconds(written: &str) -> Result<Distribution, Wrong> {
    seconds(written).map_err(|_| Wrong::Value)
}

fn in_numbers(written: &str) -> Result<Distribution, Wrong> {
    plain(written).map_err(|_| Wrong::Value)
}

/// The keys of a flow's `web` table.
pub(super) const AXES: &[Axis<WebTraffic>] = &[
    quantity!("sessions", [], "a number", |s, w| s.sessions = whole(w)?),
    quantity!("within", [], "the time within which all sessions begin, such as 10s", |s, w| {
        s.arrivals = Arrivals::Within(time(w)?);
    }),
    quantity!("apart", [], "the time from one session to the next, such as \"exponential 1s\"", |s, w| {
        s.arrivals = Arrivals::Apart(in_seconds(w)?);
    }),
    quantity!("pages", ["endless"], "pages of a session, such as 10 or \"exponential 5\"", |s, w| s.pages = match w {
        "endless" => None,
        _ => Some(in_numbers(w)?),
    }),
    quantity!("between_pages", [], "a time or a distribution, such as \"exponential 15s\"", |s, w| s.between_pages = in_seconds(w)?),
    quantity!("objects", [], "objects of a page, such as 1", |s, w| s.objects = in_numbers(w)?),
    quantity!("between_objects", [], "a time or a distribution", |s, w| s.between_objects = in_seconds(w)?),
    quantity!("object", [], "segments of an object, such as \"pareto-ii 12 1.2\"", |s, w| s.object = in_numbers(w)?),
    quantity!("request", [], "a size, such as 40B", |s, w| s.request = bytes(w)?),
    quantity!("think", [], "a time, such as 10ms", |s, w| s.think = time(w)?),
];
