//! The receiver's counts, as they travel in the closing Reset (docs/decisions/0002).

use std::fmt;
use std::str::FromStr;

use tfrc_lab::record::Summary;

/// What a receiver knows at the end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Tally {
    /// Datagrams handed out.
    pub(crate) received: u64,
    /// Their bytes.
    pub(crate) bytes: u64,
    /// Datagrams that came after their place had been given up.
    pub(crate) late: u64,
    /// Loss events after the first.
    pub(crate) loss_events: u64,
    /// Datagrams sent after the first loss event.
    pub(crate) of_packets: u64,
}

impl Tally {
    /// Loss events per packet, slow start excluded; `None` if it never ended.
    pub(crate) fn loss_event_rate(&self) -> Option<f64> {
        (self.of_packets > 0).then(|| as_f64(self.loss_events) / as_f64(self.of_packets))
    }

    /// Fills in what follows from these counts and the number of datagrams sent.
    pub(crate) fn complete(&self, sent: u64, summary: &mut Summary) {
        let lost = sent.saturating_sub(self.received + self.late);
        summary.sent_packets = Some(sent);
        summary.received_packets = Some(self.received);
        summary.late_packets = Some(self.late);
        summary.lost_packets = Some(lost);
        summary.received_bytes = Some(self.bytes);
        summary.loss_event_rate = self.loss_event_rate();
        summary.packet_loss_rate = (sent > 0).then(|| as_f64(lost) / as_f64(sent));
        if summary.duration_s > 0.0 {
            summary.goodput_bps = Some(as_f64(self.bytes) * 8.0 / summary.duration_s);
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
pub(crate) fn as_f64(count: u64) -> f64 {
    count as f64
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { received, bytes, late, loss_events, of_packets } = self;
        write!(f, "received {received} bytes {bytes} late {late} loss-events {loss_events} of {of_packets}")
    }
}

impl FromStr for Tally {
    type Err = ();

    /// Reads what [`Tally::fmt`] writes; anything else is somebody else's text.
    fn from_str(text: &str) -> Result<Self, ()> {
        let words: Vec<&str> = text.split(' ').collect();
        let [
            "received",
            received,
            "bytes",
            bytes,
            "late",
            late,
            "loss-events",
            loss_events,
            "of",
            of_packets,
        ] = words.as_slice()
        else {
            return Err(());
        };
        let number = |word: &str| word.parse().map_err(|_| ());
        Ok(Self {
            received: number(received)?,
            bytes: number(bytes)?,
            late: number(late)?,
            loss_events: number(loss_events)?,
            of_packets: number(of_packets)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TALLY: Tally = Tally { received: 90, bytes: 9000, late: 3, loss_events: 2, of_packets: 50 };

    #[test]
    fn reads_back_as_written() {
        let text = TALLY.to_string();
        assert!(text.len() < 200);
        assert_eq!(text.parse(), Ok(TALLY));
        for other in ["", "bye", "received x bytes 0 late 0 loss-events 0 of 0", &format!("{text} more")] {
            assert_eq!(other.parse::<Tally>(), Err(()));
        }
        let most = Tally {
            received: u64::MAX,
            bytes: u64::MAX,
            late: u64::MAX,
            loss_events: u64::MAX,
            of_packets: u64::MAX,
        };
        assert!(most.to_string().len() <= 200, "it must fit into a closing text");
    }

    #[test]
    fn what_was_sent_is_received_late_or_lost() {
        let mut summary = Summary { duration_s: 2.0, ..Summary::default() };
        TALLY.complete(100, &mut summary);
        assert_eq!((summary.lost_packets, summary.packet_loss_rate), (Some(7), Some(0.07)));
        assert_eq!((summary.loss_event_rate, summary.goodput_bps), (Some(0.04), Some(36_000.0)));
        assert_eq!(Tally::default().loss_event_rate(), None);
    }
}
