//! The sender-side variant.

use tfrc::advisor::{Ack, Hold};
use tfrc_units::{Duration, Probability, Rate};

use crate::border::{change, give, look, take_back};
use crate::config::{Config, sound};
use crate::sender::next_send;
use crate::status::Status;
use crate::values::{NEVER, ecn, instant, known, time};

/// Packets remembered until a report covers them.
const REMEMBERED: usize = 1 << 16;

/// All of the algorithm at the sender (RFC 5348 §7), for receivers that report single packets: RTP
/// with transport-wide or RFC 8888 feedback, QUIC, your own.
#[derive(Debug, Clone)]
pub struct Advisor(tfrc::Advisor<REMEMBERED>);

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

/// When the next packet may go; as `tfrc_sender_next_send`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_advisor_next_send(advisor: *const Advisor, now: u64) -> u64 {
    // SAFETY: a handle of this library, says the header.
    let advisor = unsafe { look(advisor) };
    advisor.map_or(NEVER, |Advisor(advisor)| next_send(advisor.next_send(instant(now)), now))
}

/// A packet with `size` bytes of data has gone. `id` is your number for it, above all before;
/// numbers may be left out.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_advisor_on_sent(advisor: *mut Advisor, now: u64, id: u64, size: u32) -> Status {
    // SAFETY: a handle of this library, says the header.
    let Some(Advisor(advisor)) = (unsafe { change(advisor) }) else { return Status::Null };
    advisor.on_sent(instant(now), id, size);
    Status::Ok
}

/// A report says that the packet has arrived, with the mark `ecn` (a `tfrc_ecn`). `arrived_at` is
/// by the receiver's clock, ns, of any epoch; `TFRC_NEVER` if the report does not tell. Takes
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

/// The transport has given the packet up for lost, and with it all older ones not heard of. Tell
/// only what is certain: losses are found without it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_advisor_on_lost(advisor: *mut Advisor, id: u64) -> Taken {
    // SAFETY: a handle of this library, says the header.
    let advisor = unsafe { change(advisor) };
    advisor.map_or(Taken::Invalid, |Advisor(advisor)| advisor.on_lost(id).into())
}

/// The report has been told whole. `hold`, ns, is how long its newest packet had been there when
/// the report was sent; `TFRC_NEVER` if it does not say.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_advisor_on_report(advisor: *mut Advisor, now: u64, hold: u64) -> Status {
    // SAFETY: a handle of this library, says the header.
    let Some(Advisor(advisor)) = (unsafe { change(advisor) }) else { return Status::Null };
    advisor.on_report(instant(now), known(hold).map_or(Hold::Unknown, Hold::Known));
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

/// X, the allowed sending rate, bytes of data per second: what a media encoder should aim at.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_advisor_allowed_rate(advisor: *const Advisor) -> f64 {
    // SAFETY: a handle of this library, says the header.
    let advisor = unsafe { look(advisor) };
    advisor.map_or(f64::NAN, |Advisor(advisor)| Rate::bytes_per_sec(advisor.allowed_rate()))
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

impl From<tfrc::advisor::Taken> for Taken {
    fn from(taken: tfrc::advisor::Taken) -> Self {
        match taken {
            tfrc::advisor::Taken::New => Self::New,
            tfrc::advisor::Taken::Duplicate => Self::Duplicate,
            tfrc::advisor::Taken::Unknown => Self::Unknown,
        }
    }
}
