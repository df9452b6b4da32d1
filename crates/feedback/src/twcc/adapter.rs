use tfrc::{Ack, Advisor, Hold};
use tfrc_units::{Ecn, Instant};

use super::{TICKS_PER_REFERENCE, decode};
use crate::unwrapping::{Clock, nearest_u16};
use crate::{Counts, DecodeError};

/// Takes reports to an [`Advisor`]. The numbers given to [`Advisor::on_sent`] must be the transport-wide sequence numbers, counted
/// on beyond their 16 bits, and fewer than 32768 packets may be on their way.
#[derive(Debug, Clone, Default)]
pub struct Adapter {
    /// The reference time, which goes round after 12 days.
    clock: Clock<24>,
}

impl Adapter {
    /// One RTCP packet has come. Packets it calls not received are not lost yet: the Advisor finds that out itself.
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
        for status in report.packets() {
            let Some(arrival) = status.arrival else { continue };
            let Some(id) = nearest_u16(status.seq, newest) else {
                counts.unknown += 1;
                continue;
            };
            let nanos = (reference + arrival).saturating_mul(250_000);
            let arrived_at = Some(Instant::from_nanos(u64::try_from(nanos).unwrap_or(0)));
            counts.add(advisor.on_acked(Ack { id, arrived_at, ecn: Ecn::NotEct }));
        }
        advisor.on_report(now, Hold::Unknown);
        Ok(counts)
    }
}
