//! The sending half, with its record of what was sent.

use tfrc::{SendDecision, SentRecord};
use tfrc_units::{Duration, Probability, Rate};

use crate::config::{Config, sound};
use crate::rate::{RateChange, RateReason, Trip, poll_event, set_cap, set_floor, trip};
use crate::status::Status;
use crate::values::{NEVER, Report, instant, time};
use tfrc_border::{change, give, look, take_back};

/// Packets whose send times are remembered until a report covers them.
const REMEMBERED: usize = 1 << 16;

/// The sending half of RFC 5348. Ask `tfrc_sender_next_send`, call `tfrc_sender_on_sent`, pass
/// reports to `tfrc_sender_on_report`, and call `tfrc_sender_handle_timeout` at
/// `tfrc_sender_poll_timeout`.
#[derive(Debug, Clone)]
pub struct Sender {
    sender: tfrc::Sender,
    record: SentRecord<REMEMBERED>,
}

/// A sender that has sent nothing yet. Null for `config` means RFC 5348's settings.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_sender_new(config: *const Config) -> *mut Sender {
    // SAFETY: null or a handle of this library, says the header.
    let config = unsafe { sound(config) };
    give(Sender { sender: tfrc::Sender::new(&config), record: SentRecord::starting_at(0) })
}

/// Frees a sender; null is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_sender_free(sender: *mut Sender) {
    // SAFETY: it came from tfrc_sender_new, says the header.
    unsafe { take_back(sender) }
}

/// When the next packet may go: `now` or before means at once, `TFRC_NEVER` that the sender has
/// stopped. It may come sooner if the rate rises: ask again after every input.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_sender_next_send(sender: *const Sender, now: u64) -> u64 {
    // SAFETY: a handle of this library, says the header.
    let sender = unsafe { look(sender) };
    sender.map_or(NEVER, |sender| next_send(sender.sender.next_send(instant(now)), now))
}

/// A packet of `size` bytes of data goes now. Returns its number, which the packet must carry;
/// numbers count up from 0. `TFRC_NEVER` for null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_sender_on_sent(sender: *mut Sender, now: u64, size: u32) -> u64 {
    // SAFETY: a handle of this library, says the header.
    let Some(sender) = (unsafe { change(sender) }) else { return NEVER };
    sender.sender.on_sent(instant(now), size);
    sender.record.on_sent(instant(now))
}

/// A report of the receiver has come. `TFRC_STATUS_STALE` if it says nothing new;
/// `TFRC_STATUS_RANGE` if its rates are none: nothing is done with it then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_sender_on_report(
    sender: *mut Sender,
    now: u64,
    report: *const Report,
) -> Status {
    // SAFETY: a handle of this library and a report, says the header.
    let (sender, report) = unsafe { (change(sender), look(report)) };
    let (Some(sender), Some(report)) = (sender, report) else { return Status::Null };
    let Some(report) = report.checked() else { return Status::Range };
    match sender.record.feedback(&report) {
        Some(feedback) => {
            sender.sender.on_feedback(instant(now), feedback);
            Status::Ok
        }
        None => Status::Stale,
    }
}

/// A round-trip time known from elsewhere, ns, such as that of a handshake (RFC 5348 §4.2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_sender_on_rtt_sample(sender: *mut Sender, now: u64, rtt: u64) -> Status {
    // SAFETY: a handle of this library, says the header.
    let Some(sender) = (unsafe { change(sender) }) else { return Status::Null };
    sender.sender.on_rtt_sample(instant(now), Duration::from_nanos(rtt));
    Status::Ok
}

/// Lets time pass: the nofeedback timer may expire. Early, late and repeated calls do no harm.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_sender_handle_timeout(sender: *mut Sender, now: u64) -> Status {
    // SAFETY: a handle of this library, says the header.
    let Some(sender) = (unsafe { change(sender) }) else { return Status::Null };
    sender.sender.handle_timeout(instant(now));
    Status::Ok
}

/// When `tfrc_sender_handle_timeout` wants to be called next; `TFRC_NEVER` before the first packet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_sender_poll_timeout(sender: *const Sender) -> u64 {
    // SAFETY: a handle of this library, says the header.
    let sender = unsafe { look(sender) };
    time(sender.and_then(|sender| sender.sender.poll_timeout()).map(|wake| wake.at))
}

/// X, the allowed sending rate of data, bit/s; zero after a stop.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_sender_allowed_rate_bps(sender: *const Sender) -> f64 {
    // SAFETY: a handle of this library, says the header.
    let sender = unsafe { look(sender) };
    sender.map_or(f64::NAN, |sender| Rate::bits_per_sec(sender.sender.allowed_rate()))
}

/// The rate that a media encoder should aim at, data, bit/s: the allowed rate, at least the floor
/// and at most the cap; zero after a stop.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_sender_target_rate_bps(sender: *const Sender) -> f64 {
    // SAFETY: a handle of this library, says the header.
    let sender = unsafe { look(sender) };
    sender.map_or(f64::NAN, |sender| Rate::bits_per_sec(sender.sender.target_rate()))
}

/// Replaces the application's limit on the sending rate: bit/s, above zero; `INFINITY` for none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_sender_set_cap_bps(sender: *mut Sender, bps: f64) -> Status {
    // SAFETY: a handle of this library, says the header.
    let Some(sender) = (unsafe { change(sender) }) else { return Status::Null };
    set_cap(bps, |cap| sender.sender.set_cap(cap))
}

/// Sets the least rate that the application can work with, bit/s. Only the target rate follows it:
/// packets still leave at the allowed rate.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_sender_set_floor_bps(sender: *mut Sender, bps: f64) -> Status {
    // SAFETY: a handle of this library, says the header.
    let Some(sender) = (unsafe { change(sender) }) else { return Status::Null };
    set_floor(bps, |floor| sender.sender.set_floor(floor))
}

/// The rule that set the allowed rate last; `TFRC_RATE_REASON_NONE` for null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_sender_rate_reason(sender: *const Sender) -> RateReason {
    // SAFETY: a handle of this library, says the header.
    let sender = unsafe { look(sender) };
    sender.map_or(RateReason::None, |sender| sender.sender.rate_reason().into())
}

/// The time up to `now`, ns, for which the flow has competed with others that keep the queue longer
/// than its bound (`tfrc_config_set_max_queue_delay`), which does not limit it then; 0 without a
/// bound.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_sender_competed(sender: *const Sender, now: u64) -> u64 {
    // SAFETY: a handle of this library, says the header.
    let sender = unsafe { look(sender) };
    sender.map_or(0, |sender| Duration::as_nanos(sender.sender.competed(instant(now))))
}

/// Takes the oldest change of the allowed rate not yet polled, of at most four, into `event`;
/// `TFRC_STATUS_NOTHING` if there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_sender_poll_event(sender: *mut Sender, event: *mut RateChange) -> Status {
    // SAFETY: a handle of this library and a place for the event, says the header.
    let (sender, event) = unsafe { (change(sender), change(event)) };
    let (Some(sender), Some(event)) = (sender, event) else { return Status::Null };
    poll_event(sender.sender.poll_event(), event)
}

/// R, ns; `TFRC_NEVER` before the first report. Packets carry it to the receiver.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_sender_rtt(sender: *const Sender) -> u64 {
    // SAFETY: a handle of this library, says the header.
    let sender = unsafe { look(sender) };
    sender.and_then(|sender| sender.sender.rtt()).map_or(NEVER, Duration::as_nanos)
}

/// p as the receiver has reported it, 0 to 1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_sender_loss_event_rate(sender: *const Sender) -> f64 {
    // SAFETY: a handle of this library, says the header.
    let sender = unsafe { look(sender) };
    sender.map_or(f64::NAN, |sender| Probability::get(sender.sender.loss_event_rate()))
}

/// The reason for which the sender has stopped; `TFRC_TRIP_NONE` if it has not.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_sender_stopped(sender: *const Sender) -> Trip {
    // SAFETY: a handle of this library, says the header.
    trip(unsafe { look(sender) }.and_then(|sender| sender.sender.stopped()))
}

/// Begins again after a stop, in slow start. `TFRC_STATUS_NOT_NOW` if there was none, or if it must
/// last longer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_sender_resume(sender: *mut Sender, now: u64) -> Status {
    // SAFETY: a handle of this library, says the header.
    let Some(sender) = (unsafe { change(sender) }) else { return Status::Null };
    if sender.sender.resume(instant(now)).is_ok() { Status::Ok } else { Status::NotNow }
}

/// A decision as a time.
pub(crate) const fn next_send(decision: SendDecision, now: u64) -> u64 {
    match decision {
        SendDecision::Now => now,
        SendDecision::At(at) => at.as_nanos(),
        SendDecision::Stopped(_) => NEVER,
    }
}
