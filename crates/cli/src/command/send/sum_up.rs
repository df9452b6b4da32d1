//! The last act of `send`: the figures of both ends, the reason of the end, the exit status.

use tfrc_net::{Cause, Closed, ClosedBy, Status};
use tfrc_report::record::Summary;
use tfrc_units::{Instant, saturating};

use super::Session;
use super::judge::{Data, Evidence};
use super::transfer::{Repair, Sent};
use crate::Failure;
use crate::args::SendArgs;
use crate::session::{Connection, Endpoint, Sampler, Tally, as_f64, complete};

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
        let mut summary = summarise(args, &sent.sampler, &status, sent.began, sent.ended);
        sent.note(&mut summary);
        let fell_behind = sent.encoded.as_ref().and_then(|encoded| encoded.sum_up(&mut summary));
        match &tally {
            Some(tally) => complete(tally, status.stats.sent_data_packets, &mut summary),
            None => {
                self.reporter
                    .note("the receiver did not say what it got: received, lost and late are unknown");
            }
        }
        if data == Data::MadeUp {
            // Nobody misses what was made up and waited when the time was up.
            summary.unsent_packets = Some(0);
        }
        summary.missing_bytes =
            summary.file_bytes.zip(tally).map(|(length, tally)| length.saturating_sub(tally.bytes));
        let again = summary.repaired_bytes;
        let ending = Evidence { sent: &sent, data, again, tally: tally.as_ref(), status: &status }.judge();
        let ending = sent.refused.judge(ending, sent.limit).with(fell_behind);
        let ending = ending.after(sent.unwritten_rate.as_ref());
        let Sent { endpoint, connection, closed, .. } = sent;
        drop(connection);
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
    /// The connection at the end, with the datagrams that did not get as far as to it.
    fn status(&self) -> Status {
        let mut status = self.connection.status();
        status.unsent_packets += self.refused.unsent;
        if self.repair == Repair::Done {
            // What was refused of the file has gone again.
            status.unsent_packets = 0;
        }
        status
    }

    /// The receiver's counts, if it has said them.
    fn tally(&self, status: &Status) -> Option<Tally> {
        let text = self.closed.as_ref()?.text.as_deref()?;
        // Of a file that is repaired the octets of each datagram are its place, too, and an earlier
        // session may have brought a part.
        let most = self.whole.filter(|_| self.file.is_some()).unwrap_or(status.stats.sent_data_bytes);
        let tally: Tally = text.parse().ok()?;
        Some(tally.bounded(status.stats.sent_data_packets, most))
    }

    /// Notes the bytes of a file, without those that say where they belong, and datagrams that were
    /// refused.
    fn note(&self, summary: &mut Summary) {
        if let Some((once, again)) = self.file.as_ref().map(|file| file.counts()) {
            summary.sent_bytes = Some(once + again);
            summary.repaired_bytes = (self.repair != Repair::None).then_some(again);
        }
        summary.file_bytes = self.whole.or(self.once);
        self.refused.note(summary);
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

/// The figures of the run up to now, without the receiver's.
fn summarise(args: &SendArgs, sampler: &Sampler, status: &Status, began: Instant, now: Instant) -> Summary {
    let duration_s = now.saturating_since(began).as_secs_f64();
    let bytes = status.stats.sent_data_bytes;
    let handed_over = status.late_dropped + status.stats.sent_data_packets;
    Summary {
        variant: Some(status.sending.unwrap_or(args.variant).to_string()),
        profile: Some(args.profile().name().to_owned()),
        sent_packets: Some(status.stats.sent_data_packets),
        sent_bytes: Some(bytes),
        duration_s,
        send_rate_bps: (duration_s > 0.0).then(|| as_f64(bytes) * 8.0 / duration_s),
        allowed_rate_bps: sampler.mean_allowed_rate(),
        rtt_s: sampler.mean_rtt(),
        late_dropped_packets: Some(status.late_dropped),
        late_dropped_rate: (handed_over > 0).then(|| as_f64(status.late_dropped) / as_f64(handed_over)),
        unsent_packets: Some(status.unsent_packets),
        max_datagram_bytes: u64::try_from(status.max_datagram).ok(),
        path_probes: Some(status.stats.sent_path_probes),
        corrected_feedback: Some(status.stats.corrected_feedback),
        refused_feedback: Some(status.stats.refused_feedback),
        skipped_numbers: Some(status.stats.skipped_numbers),
        invalid_packets: Some(status.stats.invalid_packets),
        ..Summary::default()
    }
}

/// The summary of a run that goes on, for the user who aborts it.
pub(super) fn so_far(args: &SendArgs, sampler: &Sampler, connection: &Connection, began: Instant) -> Summary {
    let status = connection.status();
    let mut summary = summarise(args, sampler, &status, began, status.at);
    summary.unsent_packets = Some(status.unsent_packets + saturating::<u64>(status.queued));
    summary
}
