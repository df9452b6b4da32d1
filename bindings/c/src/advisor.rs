//! The sender-side variant.

use tfrc::advisor::{Ack, Hold};
use tfrc_units::{Duration, Probability, Rate};

use crate::config::{Config, sound};
use crate::rate::{RateChange, RateReason, Trip, poll_event, set_cap, set_floor, trip};
use crate::sender::next_send;
use crate::status::Status;
use crate::values::{NEVER, ecn, instant, known, time};
use tfrc_border::{change, give, look, take_back};

/// Packets remembered until a report covers them.
const REMEMBERED: usize = 1 << 16;

/// All of the algorithm at the sender (RFC 5348 §7), for receivers that report single packets: RTP
/// with transport-wide or RFC 8888 feedback, QUIC, your own.
#[derive(Debug, Clone)]
pub struct Advisor(tfrc::Advisor<REMEMBERED>);

/// The end that finds the losses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum Losses {
    /// The advisor: a packet is lost when three later ones have arrived, or when you declare it
    /// lost. Reports must cover each packet passed.
    ByOrder = 0,
    /// Your transport, which says of each lost packet that it is lost. A packet of which nothing is
    /// said counts neither as arrived nor as lost: for packets that are never acknowledged.
    ByTransport = 1,
}

/// The reaction to a statement about a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum Taken {
    /// News.
    New = 0,
    /// Known before, or passed over.
    Duplicate = 1,
    /// No such packet was sent, or it has been forgotten.
    Unknown = 2,
    /// A null handle, or a mark above 3.
    Invalid = -1,
}

/// An advisor. `report_interval`, ns, is the longest usual time between two reports while packets
/// arrive; 0 if every packet or two are reported at once. Null for `config` means RFC 5348's
/// settings.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_advisor_new(config: *const Config, report_interval: u64) -> *mut Advisor {
    // SAFETY: null or a handle of this library, says the header.
    let config = unsafe { sound(config) };
    give(Advisor(tfrc::Advisor::with_capacity(&config, Duration::from_nanos(report_interval))))
}

/// Frees an advisor; null is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_advisor_free(advisor: *mut Advisor) {
    // SAFETY: it came from tfrc_advisor_new, says the header.
    unsafe { take_back(advisor) }
}

/// Leaves finding the losses to your transport (`TFRC_LOSSES_BY_TRANSPORT`), or not, by a
/// `tfrc_losses`; `TFRC_STATUS_RANGE` for another number. To be called before the
/// first packet; later it is without effect.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_advisor_set_losses(advisor: *mut Advisor, losses: i32) -> Status {
    // SAFETY: a handle of this library, says the header.
    let Some(Advisor(advisor)) = (unsafe { change(advisor) }) else { return Status::Null };
    let losses = match losses {
        0 => tfrc::advisor::Losses::ByOrder,
        1 => tfrc::advisor::Losses::ByTransport,
        _ => return Status::Range,
    };
    advisor.set_losses(losses);
    Status::Ok
}

/// A round-trip time known from elsewhere, ns, such as that of a handshake (RFC 5348 §4.2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_advisor_on_rtt_sample(advisor: *mut Advisor, now: u64, rtt: u64) -> Status {
    // SAFETY: a handle of this library, says the header.
    let Some(Advisor(advisor)) = (unsafe { change(advisor) }) else { return Status::Null };
    advisor.on_rtt_sample(instant(now), Duration::from_nanos(rtt));
    Status::Ok
}

/// When the next packet may go; as `tfrc_sender_next_send`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_advisor_next_send(advisor: *const Advisor, now: u64) -> u64 {
    // SAFETY: a handle of this library, says the header.
    let advisor = unsafe { look(advisor) };
    advisor.map_or(NEVER, |Advisor(advisor)| next_send(advisor.next_send(instant(now)), now))
}

/// A packet with `size` bytes of data went at `sent_at`: now, or earlier if your transport reports
/// a departure only along with the packet's fate. Pass packets in the order of sending. `id` is
/// your number for it, above all before; numbers may be left out.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_advisor_on_sent(
    advisor: *mut Advisor,
    sent_at: u64,
    id: u64,
    size: u32,
) -> Status {
    // SAFETY: a handle of this library, says the header.
    let Some(Advisor(advisor)) = (unsafe { change(advisor) }) else { return Status::Null };
    advisor.on_sent(instant(sent_at), id, size);
    Status::Ok
}

/// A report says that the packet has arrived, with the mark `ecn` (a `tfrc_ecn`). `arrived_at` is
/// by the receiver's clock, ns, of any epoch; `TFRC_NEVER` if the report does not say. Takes
/// effect at `tfrc_advisor_on_report`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_advisor_on_acked(
    advisor: *mut Advisor,
    id: u64,
    arrived_at: u64,
    ecn_bits: u8,
) -> Taken {
    // SAFETY: a handle of this library, says the header.
    let advisor = unsafe { change(advisor) };
    let (Some(Advisor(advisor)), Some(ecn)) = (advisor, ecn(ecn_bits)) else { return Taken::Invalid };
    let arrived_at = (arrived_at != NEVER).then(|| instant(arrived_at));
    advisor.on_acked(Ack { id, arrived_at, ecn }).into()
}

/// A report says that all packets from `first` to `last` have arrived with the mark `ecn` (a
/// `tfrc_ecn`), when is not known. Returns how many of them are news; 0 for null or a mark above 3.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_advisor_on_acked_range(
    advisor: *mut Advisor,
    first: u64,
    last: u64,
    ecn_bits: u8,
) -> u64 {
    // SAFETY: a handle of this library, says the header.
    let advisor = unsafe { change(advisor) };
    let (Some(Advisor(advisor)), Some(ecn)) = (advisor, ecn(ecn_bits)) else { return 0 };
    advisor.on_acked_range(first, last, ecn)
}

/// No report has covered the packets from `first` to `last`, though a later one has come: as far as
/// nothing is known of them they count neither as arrived nor as lost.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_advisor_on_unreported(advisor: *mut Advisor, first: u64, last: u64) -> Status {
    // SAFETY: a handle of this library, says the header.
    let Some(Advisor(advisor)) = (unsafe { change(advisor) }) else { return Status::Null };
    advisor.on_unreported(first, last);
    Status::Ok
}

/// A report covers the packets from `first` to `last`: those that it does not acknowledge are
/// missing. Needed where `tfrc_advisor_on_unreported` was called for some of them because a later
/// report had overtaken this one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_advisor_on_covered(advisor: *mut Advisor, first: u64, last: u64) -> Status {
    // SAFETY: a handle of this library, says the header.
    let Some(Advisor(advisor)) = (unsafe { change(advisor) }) else { return Status::Null };
    advisor.on_covered(first, last);
    Status::Ok
}

/// The packets that were declared lost and that left at `since`, ns, or later have all arrived:
/// their losses are taken back. Returns how many there are; 0 for null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_advisor_on_losses_undone(advisor: *mut Advisor, since: u64) -> u64 {
    // SAFETY: a handle of this library, says the header.
    let advisor = unsafe { change(advisor) };
    advisor.map_or(0, |Advisor(advisor)| advisor.on_losses_undone(instant(since)))
}

/// The transport has given the packet up for lost: with `TFRC_LOSSES_BY_ORDER` along with all older
/// ones not heard of, so pass only certain losses; with `TFRC_LOSSES_BY_TRANSPORT` alone.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_advisor_on_lost(advisor: *mut Advisor, id: u64) -> Taken {
    // SAFETY: a handle of this library, says the header.
    let advisor = unsafe { change(advisor) };
    advisor.map_or(Taken::Invalid, |Advisor(advisor)| advisor.on_lost(id).into())
}

/// The report has been passed completely. `hold`, ns, is how long its newest packet had been there
/// when the report was sent; `TFRC_NEVER` if it does not say.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_advisor_on_report(advisor: *mut Advisor, now: u64, hold: u64) -> Status {
    // SAFETY: a handle of this library, says the header.
    let Some(Advisor(advisor)) = (unsafe { change(advisor) }) else { return Status::Null };
    advisor.on_report(instant(now), known(hold).map_or(Hold::Unknown, Hold::Known));
    Status::Ok
}

/// The report has been passed completely, as by `tfrc_advisor_on_report`, by a transport that knows
/// the round-trip time `rtt`, ns, smoothed or that of the newest packet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_advisor_on_report_with_rtt(
    advisor: *mut Advisor,
    now: u64,
    rtt: u64,
) -> Status {
    // SAFETY: a handle of this library, says the header.
    let Some(Advisor(advisor)) = (unsafe { change(advisor) }) else { return Status::Null };
    advisor.on_report(instant(now), Hold::RoundTrip(Duration::from_nanos(rtt)));
    Status::Ok
}

/// Lets time pass: the nofeedback timer may expire. Early, late and repeated calls do no harm.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_advisor_handle_timeout(advisor: *mut Advisor, now: u64) -> Status {
    // SAFETY: a handle of this library, says the header.
    let Some(Advisor(advisor)) = (unsafe { change(advisor) }) else { return Status::Null };
    advisor.handle_timeout(instant(now));
    Status::Ok
}

/// When `tfrc_advisor_handle_timeout` wants to be called next; `TFRC_NEVER` if nothing is due.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_advisor_poll_timeout(advisor: *const Advisor) -> u64 {
    // SAFETY: a handle of this library, says the header.
    let advisor = unsafe { look(advisor) };
    time(advisor.and_then(|Advisor(advisor)| advisor.poll_timeout()).map(|wake| wake.at))
}

/// X, the allowed sending rate of data, bit/s; zero after a stop.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_advisor_allowed_rate_bps(advisor: *const Advisor) -> f64 {
    // SAFETY: a handle of this library, says the header.
    let advisor = unsafe { look(advisor) };
    advisor.map_or(f64::NAN, |Advisor(advisor)| Rate::bits_per_sec(advisor.allowed_rate()))
}

/// The rate that a media encoder should aim at, data, bit/s: the allowed rate, at least the floor
/// and at most the cap; zero after a stop.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_advisor_target_rate_bps(advisor: *const Advisor) -> f64 {
    // SAFETY: a handle of this library, says the header.
    let advisor = unsafe { look(advisor) };
    advisor.map_or(f64::NAN, |Advisor(advisor)| Rate::bits_per_sec(advisor.target_rate()))
}

/// Replaces the application's limit on the sending rate: bit/s, above zero; `INFINITY` for none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_advisor_set_cap_bps(advisor: *mut Advisor, bps: f64) -> Status {
    // SAFETY: a handle of this library, says the header.
    let Some(Advisor(advisor)) = (unsafe { change(advisor) }) else { return Status::Null };
    set_cap(bps, |cap| advisor.set_cap(cap))
}

/// Sets the least rate that the application can work with, bit/s. Only the target rate follows it:
/// packets still leave at the allowed rate.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_advisor_set_floor_bps(advisor: *mut Advisor, bps: f64) -> Status {
    // SAFETY: a handle of this library, says the header.
    let Some(Advisor(advisor)) = (unsafe { change(advisor) }) else { return Status::Null };
    set_floor(bps, |floor| advisor.set_floor(floor))
}

/// The rule that set the allowed rate last; `TFRC_RATE_REASON_NONE` for null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_advisor_rate_reason(advisor: *const Advisor) -> RateReason {
    // SAFETY: a handle of this library, says the header.
    let advisor = unsafe { look(advisor) };
    advisor.map_or(RateReason::None, |Advisor(advisor)| advisor.sender().rate_reason().into())
}

/// The time up to `now`, ns, for which the flow has competed with others that keep the queue longer
/// than its bound (`tfrc_config_set_max_queue_delay`), which does not limit it then; 0 without a
/// bound.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_advisor_competed(advisor: *const Advisor, now: u64) -> u64 {
    // SAFETY: a handle of this library, says the header.
    let advisor = unsafe { look(advisor) };
    advisor.map_or(0, |Advisor(advisor)| Duration::as_nanos(advisor.sender().competed(instant(now))))
}

/// Takes the oldest change of the allowed rate not yet polled, of at most four, into `event`;
/// `TFRC_STATUS_NOTHING` if there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_advisor_poll_event(advisor: *mut Advisor, event: *mut RateChange) -> Status {
    // SAFETY: a handle of this library and a place for the event, says the header.
    let (advisor, event) = unsafe { (change(advisor), change(event)) };
    let (Some(Advisor(advisor)), Some(event)) = (advisor, event) else { return Status::Null };
    poll_event(advisor.poll_event(), event)
}

/// The reason for which the advisor has stopped; `TFRC_TRIP_NONE` if it has not.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_advisor_stopped(advisor: *const Advisor) -> Trip {
    // SAFETY: a handle of this library, says the header.
    trip(unsafe { look(advisor) }.and_then(|Advisor(advisor)| advisor.stopped()))
}

/// Begins again after a stop, in slow start. `TFRC_STATUS_NOT_NOW` if there was none, or if it must
/// last longer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_advisor_resume(advisor: *mut Advisor, now: u64) -> Status {
    // SAFETY: a handle of this library, says the header.
    let Some(Advisor(advisor)) = (unsafe { change(advisor) }) else { return Status::Null };
    if advisor.resume(instant(now)).is_ok() { Status::Ok } else { Status::NotNow }
}

/// R, ns; `TFRC_NEVER` before the first report.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_advisor_rtt(advisor: *const Advisor) -> u64 {
    // SAFETY: a handle of this library, says the header.
    let advisor = unsafe { look(advisor) };
    advisor.and_then(|Advisor(advisor)| advisor.rtt()).map_or(NEVER, Duration::as_nanos)
}

/// p as of the latest report, 0 to 1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_advisor_loss_event_rate(advisor: *const Advisor) -> f64 {
    // SAFETY: a handle of this library, says the header.
    let advisor = unsafe { look(advisor) };
    advisor.map_or(f64::NAN, |Advisor(advisor)| Probability::get(advisor.loss_event_rate()))
}

/// Loss events found so far.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_advisor_loss_events(advisor: *const Advisor) -> u64 {
    // SAFETY: a handle of this library, says the header.
    let advisor = unsafe { look(advisor) };
    advisor.map_or(0, |Advisor(advisor)| advisor.loss_events())
}

/// Packets that fell out of the record of 65,536 before a report had reached as far as them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_advisor_forgotten(advisor: *const Advisor) -> u64 {
    // SAFETY: a handle of this library, says the header.
    let advisor = unsafe { look(advisor) };
    advisor.map_or(0, |Advisor(advisor)| advisor.forgotten())
}

impl From<tfrc::advisor::Taken> for Taken {
    fn from(taken: tfrc::advisor::Taken) -> Self {
        match taken {
            tfrc::advisor::Taken::New => Self::New,
            tfrc::advisor::Taken::Duplicate => Self::Duplicate,
            tfrc::advisor::Taken::Unknown => Self::Unknown,
        }
    }
}
