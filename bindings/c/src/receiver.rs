//! The receiving half.

use tfrc::PacketKind;
use tfrc_units::{Duration, Probability};

use crate::config::{Config, sound};
use crate::status::Status;
use crate::values::{Report, ecn, instant, known, time};
use tfrc_border::{change, give, look, take_back};

/// The receiving half of RFC 5348. Feed every packet in the order of arrival to
/// `tfrc_receiver_on_packet`, then take reports from `tfrc_receiver_poll_report` until there is
/// none; call `tfrc_receiver_handle_timeout` at `tfrc_receiver_poll_timeout`, and poll then too.
#[derive(Debug, Clone)]
pub struct Receiver(tfrc::Receiver);

/// A packet that has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Arrival {
    /// Its number, from `tfrc_sender_on_sent`.
    pub number: u64,
    /// The sender's round-trip time on the packet, ns; `TFRC_NEVER` if it had none.
    pub rtt: u64,
    /// Bytes of data, without headers.
    pub size: u32,
    /// The codepoint it came with, a `tfrc_ecn`.
    pub ecn: u8,
}

/// A receiver that has seen nothing yet. Null for `config` means RFC 5348's settings.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_receiver_new(config: *const Config) -> *mut Receiver {
    // SAFETY: null or a handle of this library, says the header.
    give(Receiver(tfrc::Receiver::new(&unsafe { sound(config) })))
}

/// Frees a receiver; null is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_receiver_free(receiver: *mut Receiver) {
    // SAFETY: it came from tfrc_receiver_new, says the header.
    unsafe { take_back(receiver) }
}

/// A packet has arrived. `TFRC_STATUS_RANGE` if its mark is above 3.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_receiver_on_packet(
    receiver: *mut Receiver,
    now: u64,
    arrival: *const Arrival,
) -> Status {
    // SAFETY: a handle of this library and an arrival, says the header.
    let (receiver, arrival) = unsafe { (change(receiver), look(arrival)) };
    let (Some(Receiver(receiver)), Some(arrival)) = (receiver, arrival) else { return Status::Null };
    let Some(ecn) = ecn(arrival.ecn) else { return Status::Range };
    receiver.on_packet(
        instant(now),
        tfrc::Arrival {
            seq: arrival.number,
            size: arrival.size,
            ecn,
            rtt: known(arrival.rtt),
            window_counter: 0,
            kind: PacketKind::Data,
            non_data_before: 0,
        },
    );
    Status::Ok
}

/// Lets time pass: the feedback timer may expire. Early, late and repeated calls do no harm.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_receiver_handle_timeout(receiver: *mut Receiver, now: u64) -> Status {
    // SAFETY: a handle of this library, says the header.
    let Some(Receiver(receiver)) = (unsafe { change(receiver) }) else { return Status::Null };
    receiver.handle_timeout(instant(now));
    Status::Ok
}

/// When `tfrc_receiver_handle_timeout` wants to be called next; `TFRC_NEVER` if nothing is due.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_receiver_poll_timeout(receiver: *const Receiver) -> u64 {
    // SAFETY: a handle of this library, says the header.
    let receiver = unsafe { look(receiver) };
    time(receiver.and_then(|Receiver(receiver)| receiver.poll_timeout()).map(|wake| wake.at))
}

/// The report that is due now, written to `report`; `TFRC_STATUS_NOTHING` if none is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_receiver_poll_report(
    receiver: *mut Receiver,
    now: u64,
    report: *mut Report,
) -> Status {
    // SAFETY: a handle of this library and room for a report, says the header.
    let (receiver, room) = unsafe { (change(receiver), change(report)) };
    let (Some(Receiver(receiver)), Some(room)) = (receiver, room) else { return Status::Null };
    match receiver.poll_feedback(instant(now)) {
        Some(report) => {
            *room = report.into();
            Status::Ok
        }
        None => Status::Nothing,
    }
}

/// p, the loss event rate measured, 0 to 1 (RFC 5348 §5).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_receiver_loss_event_rate(receiver: *const Receiver) -> f64 {
    // SAFETY: a handle of this library, says the header.
    let receiver = unsafe { look(receiver) };
    receiver.map_or(f64::NAN, |Receiver(receiver)| Probability::get(receiver.loss_event_rate()))
}

/// The round-trip time that the receiver uses, ns: the sender's latest, or the assumed one before
/// the first. Zero for null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_receiver_rtt(receiver: *const Receiver) -> u64 {
    // SAFETY: a handle of this library, says the header.
    let receiver = unsafe { look(receiver) };
    receiver.map_or(0, |Receiver(receiver)| Duration::as_nanos(receiver.rtt()))
}
