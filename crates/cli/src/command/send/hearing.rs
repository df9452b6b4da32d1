//! A receiver that is not heard any more: said after some seconds, and given up when the network
//! reports that nobody is there.

use tfrc_net::Status;
use tfrc_units::{Duration, Instant};

/// Time without feedback, although datagrams were sent, after which the user is told. Feedback
/// comes once a round-trip time, so this is many of them on most paths.
const SILENT: Duration = Duration::from_secs(3);
/// Time after which the network's reports are accepted. A single one may be due to a route change
/// or a restarted receiver.
const GONE: Duration = Duration::from_secs(5);
/// Number of the network's reports since the last feedback that are accepted as true.
const REPORTS: u64 = 3;

/// Watches the feedback of a connection.
#[derive(Debug)]
pub(super) struct Hearing {
    /// Packets received and sent, and reports of the network, when feedback came last.
    received: u64,
    sent: u64,
    reports: u64,
    /// When the first datagram after that was seen to be sent.
    unanswered: Option<Instant>,
    /// When the last feedback came.
    last: Instant,
    told: bool,
}

/// News about the feedback.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Heard {
    /// There is feedback again.
    Again(String),
    /// Nobody is there any more.
    Gone(String),
    /// Nothing new for the user.
    NothingNew,
    /// No feedback has come for some seconds.
    Silence(String),
}

impl Hearing {
    /// Begins with a connection that has just been made.
    pub(super) const fn new(now: Instant) -> Self {
        Self { received: 0, sent: 0, reports: 0, unanswered: None, last: now, told: false }
    }

    /// Looks at the connection; several times a second.
    pub(super) fn look(&mut self, status: &Status) -> Heard {
        let stats = &status.stats;
        let (now, received) = (status.at, stats.received_non_data_packets);
        if received > self.received {
            let silent = now.saturating_since(self.last).as_secs_f64();
            let told = self.told;
            let (sent, reports) = (stats.sent_data_packets, stats.unreachable_reports);
            *self = Self { received, sent, reports, ..Self::new(now) };
            return match told {
                true => Heard::Again(format!("feedback again after {silent:.0} s")),
                false => Heard::NothingNew,
            };
        }
        if stats.sent_data_packets > self.sent {
            self.unanswered.get_or_insert(now);
        }
        let Some(since) = self.unanswered else { return Heard::NothingNew };
        let waited = now.saturating_since(since);
        let round_trips = status.rtt.unwrap_or(Duration::ZERO) * 4;
        if waited >= GONE.max(round_trips) && stats.unreachable_reports >= self.reports + REPORTS {
            return Heard::Gone(format!(
                "the receiver is gone: no feedback for {:.0} s, and the network reports its port unreachable",
                waited.as_secs_f64()
            ));
        }
        if waited >= SILENT.max(round_trips) && !std::mem::replace(&mut self.told, true) {
            return Heard::Silence(format!(
                "no feedback from the receiver for {:.0} s",
                waited.as_secs_f64()
            ));
        }
        Heard::NothingNew
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(ms: u64, sent: u64, received: u64, reports: u64) -> Status {
        let mut status = Status::default();
        status.at = Instant::from_nanos(ms * 1_000_000);
        status.stats.sent_data_packets = sent;
        status.stats.received_non_data_packets = received;
        status.stats.unreachable_reports = reports;
        status
    }

    #[test]
    fn silence_is_said_once_and_so_is_its_end() {
        let mut hearing = Hearing::new(Instant::ZERO);
        assert_eq!(hearing.look(&status(100, 5, 1, 0)), Heard::NothingNew);
        // Nothing is sent, so nothing is answered.
        assert_eq!(hearing.look(&status(60_000, 5, 1, 0)), Heard::NothingNew);
        assert_eq!(hearing.look(&status(60_100, 6, 1, 0)), Heard::NothingNew);
        assert_eq!(hearing.look(&status(63_000, 7, 1, 0)), Heard::NothingNew);
        let silence = Heard::Silence("no feedback from the receiver for 3 s".to_owned());
        assert_eq!(hearing.look(&status(63_100, 8, 1, 0)), silence);
        assert_eq!(hearing.look(&status(90_000, 9, 1, 2)), Heard::NothingNew);
        let again = Heard::Again("feedback again after 90 s".to_owned());
        assert_eq!(hearing.look(&status(90_100, 9, 2, 2)), again);
        assert_eq!(hearing.look(&status(90_200, 10, 3, 2)), Heard::NothingNew);
    }

    #[test]
    fn a_receiver_is_gone_when_the_network_insists() {
        let mut hearing = Hearing::new(Instant::ZERO);
        assert_eq!(hearing.look(&status(0, 1, 1, 7)), Heard::NothingNew);
        assert_eq!(hearing.look(&status(100, 2, 1, 8)), Heard::NothingNew);
        assert!(matches!(hearing.look(&status(4000, 3, 1, 20)), Heard::Silence(_)));
        assert!(matches!(hearing.look(&status(5100, 4, 1, 20)), Heard::Gone(_)));
        let mut hearing = Hearing::new(Instant::ZERO);
        hearing.look(&status(0, 1, 1, 7));
        hearing.look(&status(100, 2, 1, 7));
        hearing.look(&status(9000, 4, 1, 9));
        assert_eq!(hearing.look(&status(9100, 4, 1, 9)), Heard::NothingNew, "two reports are few");
    }
}
