//! Adapter from transport-wide feedback to the calls of an Advisor.

use tfrc::Advisor;
use tfrc::advisor::{Ack, Hold};
use tfrc_units::{Ecn, Instant, saturating};

use super::{TICKS_PER_REFERENCE, decode};
use crate::unwrapping::{Clock, nearest_u16};
use crate::{Counts, DecodeError};

/// Takes reports to an [`Advisor`]. The numbers given to [`Advisor::on_sent`] must be the
/// transport-wide sequence numbers, counted on beyond their 16 bits, and fewer than 32768 packets
/// may be on their way.
#[derive(Debug, Clone, Default)]
pub struct Adapter {
    /// The reference time, which goes round after 12 days.
    clock: Clock<24>,
    /// The number of the last report, and the packet that the next one begins with.
    last: Option<(u8, u64)>,
}

impl Adapter {
    /// One RTCP packet has come. Packets it calls not received are not lost yet: the Advisor finds
    /// that out itself. If reports are missing before it, so that nobody will say what became of
    /// the packets between, those are passed over.
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
        let reference = self.clock.read(report.reference_time) * TICKS_PER_REFERENCE;
        let mut counts = Counts::default();
        let newest = advisor.newest_sent().unwrap_or(0);
        if let Some(base) = nearest_u16(report.base_seq, newest) {
            self.pass_over_lost_reports(report.feedback_count, base, base + u64::from(report.count), advisor);
        }
        for status in report.packets() {
            let Some(arrival) = status.arrival else { continue };
            let Some(id) = nearest_u16(status.seq, newest) else {
                counts.unknown += 1;
                continue;
            };
            let nanos = (reference + arrival).saturating_mul(250_000);
            let arrived_at = Some(Instant::from_nanos(saturating::<u64>(nanos)));
            counts.add(advisor.on_acked(Ack { id, arrived_at, ecn: Ecn::NotEct }));
        }
        advisor.on_report(now, Hold::Unknown);
        Ok(counts)
    }

    fn pass_over_lost_reports<const N: usize>(
        &mut self,
        number: u8,
        base: u64,
        end: u64,
        advisor: &mut Advisor<N>,
    ) {
        let (last_number, expected) = self.last.unwrap_or((number.wrapping_sub(1), base));
        let ahead = number.wrapping_sub(last_number);
        // A report from before the last one has been overtaken on its way.
        if (1..128).contains(&ahead) {
            if ahead > 1 && expected < base {
                advisor.on_unreported(expected, base - 1);
            }
            self.last = Some((number, end));
        }
    }
}
