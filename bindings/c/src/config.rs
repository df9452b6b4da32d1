//! Settings of the rate control.

use std::ffi::{CString, c_char};
use std::ptr;

use tfrc::Settings;
use tfrc::config::{ClockGrain, PacketSize, Promise, QueueDelay, SegmentSize, TfrcSp};
use tfrc::study::Profile;
use tfrc_units::Duration;

use crate::status::Status;
use crate::values::{NEVER, cap, friend as friend_of, known, rate};
use tfrc_border::{change, give, look, take_back};

/// Settings of a sender, a receiver or an advisor; RFC 5348 until they are changed. Both ends take
/// the same. They are copied where they are used, and may be freed then.
#[derive(Debug, Clone, Default)]
pub struct Config {
    pub(crate) settings: Settings,
    problem: Option<CString>,
}

/// Settings of RFC 5348.
#[unsafe(no_mangle)]
pub extern "C" fn tfrc_config_new() -> *mut Config {
    give(Config::default())
}

/// Frees settings; null is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_config_free(config: *mut Config) {
    // SAFETY: it came from tfrc_config_new, says the header.
    unsafe { take_back(config) }
}

/// s, the size of packets until some have been sent, bytes, at least 1; then it is their mean
/// (RFC 5348 §4.1). 1460 by default.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_config_set_segment(config: *mut Config, bytes: u32) -> Status {
    // SAFETY: a handle of this library, says the header.
    unsafe { set(config, |settings| settings.segment = SegmentSize::Mean { initial: bytes }) }
}

/// TFRC-SP (RFC 4828): packets that are small because the application makes them so get the bytes
/// per second of a TCP with large ones.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_config_set_small_packets(config: *mut Config) -> Status {
    // SAFETY: a handle of this library, says the header.
    unsafe { set(config, |settings| settings.packet_size = PacketSize::TfrcSp(TfrcSp::default())) }
}

/// The profile `balanced`, for paths with the TCPs of today, in place of RFC 5348 alone; its friend
/// is CUBIC. Both ends take it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_config_set_balanced(config: *mut Config) -> Status {
    // SAFETY: a handle of this library, says the header.
    unsafe { set(config, |settings| Profile::Balanced.choose(settings.algorithm.choices_mut())) }
}

/// The TCP to be friendly to, a `tfrc_friend`: Reno by default, CUBIC after
/// `tfrc_config_set_balanced`. Both ends take the same.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_config_set_friend(config: *mut Config, friend: u8) -> Status {
    let Some(friend) = friend_of(friend) else { return Status::Range };
    // SAFETY: a handle of this library, says the header.
    unsafe { set(config, |settings| settings.algorithm.choices_mut().equation.friend = friend) }
}

/// The application's own limit, bit/s, above zero; `INFINITY` for none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_config_set_cap_bps(config: *mut Config, bps: f64) -> Status {
    let Some(cap) = cap(bps) else { return Status::Range };
    // SAFETY: a handle of this library, says the header.
    unsafe { set(config, |settings| settings.cap = cap) }
}

/// g, bit/s, above zero: a rate that the network has promised, below which the flow does
/// not fall (gTFRC). Not for the open Internet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_config_set_guarantee_bps(config: *mut Config, bps: f64) -> Status {
    let Some(rate) = rate(bps) else { return Status::Range };
    // SAFETY: a handle of this library, says the header.
    unsafe { set(config, |settings| settings.guarantee = Some(Promise::of(rate))) }
}

/// The longest queueing delay that the flow may make, ns, at least 1 ms; `TFRC_NEVER` for no bound,
/// the default. It only ever lowers the allowed rate.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_config_set_max_queue_delay(config: *mut Config, ns: u64) -> Status {
    let bound =
        if ns == NEVER { QueueDelay::Unlimited } else { QueueDelay::AtMost(Duration::from_nanos(ns)) };
    // SAFETY: a handle of this library, says the header.
    unsafe { set(config, |settings| settings.max_queue_delay = bound) }
}

/// t_gran, ns: the granularity of the program's timers (RFC 5348 §8.3). A packet may go up to half
/// of it early. Zero by default.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_config_set_timer_granularity(config: *mut Config, ns: u64) -> Status {
    // SAFETY: a handle of this library, says the header.
    unsafe { set(config, |settings| settings.timer_granularity = Duration::from_nanos(ns)) }
}

/// The least time of the nofeedback timer, ns; zero by default. For paths that pause, such as radio
/// links: the rate is kept through silences of this time, and as long is needed to see that a path
/// is gone.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_config_set_no_feedback_floor(config: *mut Config, ns: u64) -> Status {
    // SAFETY: a handle of this library, says the header.
    unsafe { set(config, |settings| settings.no_feedback_floor = Duration::from_nanos(ns)) }
}

/// The grain of the clock that `now` comes from, ns, 0 for a clock that shows every time;
/// `TFRC_NEVER`, the default, if it is to be measured. R is at least one grain.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_config_set_clock_grain(config: *mut Config, ns: u64) -> Status {
    let grain = known(ns).map_or(ClockGrain::Measured, ClockGrain::Known);
    // SAFETY: a handle of this library, says the header.
    unsafe { set(config, |settings| settings.clock_grain = grain) }
}

/// Says in a sentence why the last change was refused; null if it was not. The text lives until the
/// next change.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_config_problem(config: *const Config) -> *const c_char {
    // SAFETY: a handle of this library, says the header.
    let config = unsafe { look(config) };
    config.and_then(|config| config.problem.as_ref()).map_or(ptr::null(), |text| text.as_ptr())
}

/// Changes settings, unless the result is not sound.
///
/// # Safety
/// As [`change`].
unsafe fn set(config: *mut Config, apply: impl FnOnce(&mut Settings)) -> Status {
    // SAFETY: passed on to the caller.
    let Some(config) = (unsafe { change(config) }) else { return Status::Null };
    let mut settings = config.settings;
    apply(&mut settings);
    let problem = settings.validate().err();
    config.problem = problem.and_then(|problem| CString::new(problem.to_string()).ok());
    if problem.is_some() {
        return Status::Range;
    }
    config.settings = settings;
    Status::Ok
}

/// The core's form of settings; null stands for the default.
///
/// # Safety
/// As [`look`].
pub(crate) unsafe fn sound(config: *const Config) -> tfrc::Config {
    // SAFETY: passed on to the caller.
    let settings = unsafe { look(config) }.map(|config| config.settings);
    // Every change was validated.
    settings.and_then(|settings| settings.validate().ok()).unwrap_or_default()
}
