//! Adapter from transport-wide feedback to the calls of an Advisor.

use tfrc::Advisor;
use tfrc::advisor::{Ack, Hold};
use tfrc_units::{Ecn, Instant, saturating};

use super::{TICKS_PER_REFERENCE, decode};
use crate::unwrapping::{Clock, Numbers};
use crate::{Counts, DecodeError};

/// Ticks of the reference time, of 64 ms each, by which a report lies behind the last one only if
/// its number has gone round: 0.5 s, in which no receiver makes 128 reports.
const GONE_ROUND: i64 = 8;

/// Takes reports to an [`Advisor`]. The numbers given to [`Advisor::on_sent`] must be the
/// transport-wide sequence numbers, counted on beyond their 16 bits, and fewer than 32768 packets
/// may be on their way.
///
/// Reports may come in any order, twice, and not at all: after the last of them p is the one of the
/// same reports in order. The draft gives a receiver no words for a packet that it will never
/// report on, so what lies between two reports whose numbers follow each other, and is in neither,
/// is missing like a packet reported as not received. Where a number is left out, the packets
/// before the later report count neither as arrived nor as lost until the report with that number
/// comes.
#[derive(Debug, Clone, Default)]
pub struct Adapter {
    /// The reference time, which goes round after 12 days.
    clock: Clock<24>,
    last: Option<Last>,
}

/// The latest report, by number.
#[derive(Debug, Clone, Copy)]
struct Last {
    /// Its number, which goes round after 256 reports.
    number: u8,
    /// Its reference time, in 64 ms.
    reference: i64,
    /// The packet that the next report begins with.
    expected: u64,
}

impl Adapter {
    /// One RTCP packet has come. Packets it calls not received are not lost yet: the Advisor finds
    /// that out itself.
    ///
    /// # Errors
    /// [`DecodeError`] if it is no such report; then nothing has been taken in.
    pub fn on_report<const N: usize>(
        &mut self,
        now: Instant,
        packet: &[u8],
        advisor: &mut Advisor<N>,
    ) -> Result<Counts, DecodeError> {
        let report = decode(packet)?;
        let reference = self.clock.read(report.reference_time);
        let mut counts = Counts::default();
        let newest = advisor.newest_sent().unwrap_or(0);
        let numbers = Numbers::from(report.base_seq, newest);
        if let Some((first, last)) = numbers.range(u64::from(report.count), newest) {
            self.pass_over_missing_reports(report.feedback_count, reference, (first, last), advisor);
            advisor.on_covered(first, last);
        }
        for (status, place) in report.packets().zip(0..) {
            let Some(arrival) = status.arrival else { continue };
            let Some(id) = numbers.at(place) else {
                counts.unknown += 1;
                continue;
            };
            let nanos = (reference * TICKS_PER_REFERENCE + arrival).saturating_mul(250_000);
            let arrived_at = Some(Instant::from_nanos(saturating::<u64>(nanos)));
            counts.add(advisor.on_acked(Ack { id, arrived_at, ecn: Ecn::NotEct }));
        }
        advisor.on_report(now, Hold::Unknown);
        Ok(counts)
    }

    /// A report on the packets from `first` to `last`. If its number shows that others before it
    /// are missing, the packets between are unreported.
    fn pass_over_missing_reports<const N: usize>(
        &mut self,
        number: u8,
        reference: i64,
        (first, last): (u64, u64),
        advisor: &mut Advisor<N>,
    ) {
        let expected = match self.last {
            // Receivers number their reports from 0.
            None => {
                if let Some(before) = first.checked_sub(1).filter(|_| number != 0) {
                    advisor.on_unreported(0, before);
                }
                last + 1
            }
            Some(before) => {
                let ahead = number.wrapping_sub(before.number);
                let gone_round = reference - before.reference > GONE_ROUND;
                if !(1..128).contains(&ahead) && !gone_round {
                    // Overtaken, or the last one again.
                    return;
                }
                if ahead != 1 && before.expected < first {
                    advisor.on_unreported(before.expected, first - 1);
                }
                before.expected.max(last + 1)
            }
        };
        self.last = Some(Last { number, reference, expected });
    }
}
