//! Settings of a sender and its receiver.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use tfrc::config::{ClockGrain, PacketSize, QueueDelay, RateCap, SegmentSize, TfrcSp};
use tfrc::equation::Friend;
use tfrc::study::{Profile, Revision};
use tfrc::{Config as Core, Settings};

use crate::quantities::{duration, rate};

/// Settings of a sender and its receiver; the default is RFC 5348.
///
/// `segment_bytes` is the packet size expected before the first packet. `segment` is `"mean"` (the
/// mean size of the packets sent counts, RFC 5348 §4.1) or `"fixed"` (`segment_bytes` counts).
/// `cap_bps` is the application's own limit in bit/s, `max_queue_delay` the longest queueing delay
/// that the flow may make, in seconds, at least 0.001. `no_feedback_floor`, in seconds, is the
/// least time of the nofeedback timer, for paths that pause; `clock_grain`, in seconds, the grain
/// of the clock that `now` comes from, measured if it is not given. `variant` is `"tfrc"` or
/// `"tfrc-sp"` (RFC 4828, for small packets), `revision` a published TFRC such as `"rfc5348"`.
/// `profile` is `"rfc5348"` or `"balanced"`, `friend` the TCP to be friendly to, `"reno"` or
/// `"cubic"`; without it that of the profile.
#[pyclass(frozen, from_py_object, module = "tfrc")]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Config(pub(crate) Core);

#[pymethods]
impl Config {
    #[new]
    #[pyo3(signature = (*, segment_bytes=1460, segment="mean", cap_bps=None, max_queue_delay=None, no_feedback_floor=None, clock_grain=None, variant="tfrc", revision="rfc5348", profile="rfc5348", friend=None))]
    #[expect(clippy::too_many_arguments, reason = "keywords of Python")]
    fn new(
        segment_bytes: u32,
        segment: &str,
        cap_bps: Option<f64>,
        max_queue_delay: Option<f64>,
        no_feedback_floor: Option<f64>,
        clock_grain: Option<f64>,
        variant: &str,
        revision: &str,
        profile: &str,
        friend: Option<&str>,
    ) -> PyResult<Self> {
        let Some(revision) = Revision::from_name(revision) else {
            let names = Revision::ALL.map(Revision::name).join(", ");
            return Err(PyValueError::new_err(format!("revision {revision:?}: one of {names}")));
        };
        let mut settings = Settings::for_revision(revision);
        let Some(profile) = Profile::from_name(profile) else {
            return Err(PyValueError::new_err(format!("profile {profile:?}: rfc5348 or balanced")));
        };
        let choices = settings.algorithm.choices_mut();
        profile.choose(choices);
        if let Some(friend) = friend {
            let Some(friend) = Friend::from_name(friend) else {
                return Err(PyValueError::new_err(format!("friend {friend:?}: reno or cubic")));
            };
            choices.equation.friend = friend;
        }
        settings.segment = match segment {
            "mean" => SegmentSize::Mean { initial: segment_bytes },
            "fixed" => SegmentSize::Fixed(segment_bytes),
            other => return Err(PyValueError::new_err(format!("segment {other:?}: mean or fixed"))),
        };
        settings.packet_size = match variant {
            "tfrc" => PacketSize::Own,
            "tfrc-sp" => PacketSize::TfrcSp(TfrcSp::default()),
            other => return Err(PyValueError::new_err(format!("variant {other:?}: tfrc or tfrc-sp"))),
        };
        if let Some(cap) = cap_bps {
            settings.cap = RateCap::AtMost(rate(cap)?);
        }
        if let Some(most) = max_queue_delay {
            settings.max_queue_delay = QueueDelay::AtMost(duration(most)?);
        }
        settings.no_feedback_floor = duration(no_feedback_floor.unwrap_or(0.0))?;
        if let Some(grain) = clock_grain {
            settings.clock_grain = ClockGrain::Known(duration(grain)?);
        }
        settings.validate().map(Self).map_err(|error| PyValueError::new_err(error.to_string()))
    }
}

/// The configuration that is given, or the default.
pub(crate) fn or_default(config: Option<&Config>) -> Core {
    config.map_or_else(Core::default, |config| config.0)
}
