//! The last act of `send`: the figures of both ends, the reason of the end, the exit status.

use tfrc_net::{Cause, Closed, ClosedBy, Status};
use tfrc_report::record::Summary;

use super::Session;
use super::course::{Repair, Sent};
use super::judge::{Data, Evidence};
use super::refused::{Refused, Totals};
use crate::Failure;
use crate::args::SendArgs;
use crate::session::{Endpoint, Tally, as_f64, complete};

impl Session<'_> {
    /// Says how the session went, and ends.
    ///
    /// # Errors
    /// [`Failure::Session`] when it broke off or not all data was delivered.
    pub(super) async fn sum_up(mut self, sent: Sent) -> Result<(), Failure> {
        let args = self.args;
        let data = if args.file.is_some() || args.udp_in.is_some() { Data::Given } else { Data::MadeUp };
        let status = sent.status();
        let tally = sent.tally(&status);
        let mut summary = sent.course.summary(args, &status, sent.ended);
        sent.note(&mut summary);
        let fell_behind = sent.course.encoded.as_ref().and_then(|encoded| encoded.sum_up(&mut summary));
        match &tally {
            Some(tally) => complete(tally, status.stats.sent_data_packets, &mut summary),
            None => {
                self.reporter
                    .note("the receiver did not say what it got: received, lost and late are unknown");
            }
        }
        // Marks count too, and a receiver over QUIC does not know them.
        if let (events, packets @ 1..) = status.after_slow_start {
            summary.loss_event_rate = Some(as_f64(events) / as_f64(packets));
        }
        if data == Data::MadeUp {
            // Nobody misses what was made up and waited when the time was up.
            summary.unsent_packets = Some(0);
        }
        summary.missing_bytes =
            summary.file_bytes.zip(tally).map(|(length, tally)| length.saturating_sub(tally.bytes));
        let again = summary.repaired_bytes;
        let ending = Evidence { sent: &sent, data, again, tally: tally.as_ref(), status: &status }.judge();
        let ending = sent.refused().judge(ending, sent.limit).with(fell_behind);
        let ending = ending.after(sent.unwritten_rate.as_ref());
        let Sent { endpoint, course, closed, .. } = sent;
        // With its connection.
        drop(course);
        // A peer that is out of step cannot read our Reset, and asks.
        let asks =
            |closed: Closed| closed.by == ClosedBy::Peer || matches!(closed.cause, Cause::OutOfStep(_));
        if closed.is_some_and(asks) {
            self.interrupt.or(endpoint.linger()).await;
        }
        let recorded = shut_down(args, endpoint).await;
        self.interrupt.keep(None);
        self.reporter.conclude(summary, ending.after(recorded.err().as_ref())).status()
    }
}

impl Sent {
    /// Datagrams of `--udp-in` that were not sent.
    fn refused(&self) -> Totals {
        self.course.refused.as_ref().map(Refused::totals).unwrap_or_default()
    }

    /// The connection at the end, with the datagrams that did not get as far as to it.
    fn status(&self) -> Status {
        let mut status = self.course.connection.status();
        status.unsent_packets += self.refused().unsent;
        if self.course.repair == Repair::Done {
            // Datagrams of the file that were refused have gone again.
            status.unsent_packets = 0;
        }
        status
    }

    /// The receiver's counts, if it has said them.
    fn tally(&self, status: &Status) -> Option<Tally> {
        let text = self.closed.as_ref()?.text.as_deref()?;
        // Of a file that is repaired the octets of each datagram are its place, too, and an earlier
        // session may have brought a part.
        let most =
            self.course.whole.filter(|_| self.course.file.is_some()).unwrap_or(status.stats.sent_data_bytes);
        let tally: Tally = text.parse().ok()?;
        Some(tally.bounded(status.stats.sent_data_packets, most))
    }

    /// Notes the bytes of a file, without those that say where they belong, and datagrams that were
    /// refused.
    fn note(&self, summary: &mut Summary) {
        if let Some((once, again)) = self.course.file.as_ref().map(|file| file.counts()) {
            summary.sent_bytes = Some(once + again);
            summary.repaired_bytes = (self.course.repair != Repair::None).then_some(again);
        }
        summary.file_bytes = self.course.whole.or(self.course.once);
        self.refused().note(summary);
    }
}

/// Ends the endpoint with its recordings.
async fn shut_down(args: &SendArgs, endpoint: Endpoint) -> Result<(), Failure> {
    let recorded = args.journal.is_some() || args.pcap.is_some();
    endpoint.shut_down().await.map_err(|error| {
        let what = if recorded { "network or recording" } else { "network" };
        Failure::Run(format!("{what}: {error}"))
    })
}
