//! The state of a transfer and its end, for the acts that follow and for a user who aborts.

use std::sync::Arc;

use tfrc_net::{Closed, Status};
use tfrc_report::record::Summary;
use tfrc_units::{Instant, saturating};

use super::refused::Refused;
use crate::Failure;
use crate::args::SendArgs;
use crate::session::{Connection, Encoded, Endpoint, FileSent, Sampler, as_f64};

/// Why no more data is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum StopSending {
    /// All of it has been sent.
    EndOfData,
    /// It could not be read, or must not be sent; a sentence.
    Failed(String),
    /// The peer is gone; holds a sentence.
    Gone(String),
    /// The user wants the end.
    Interrupted,
    /// The connection is over, or the receiver wants the end.
    Over,
    /// The time of `-t` is over.
    TimeUp,
}

impl StopSending {
    /// True if the source or the user ended it: the connection is there.
    pub(super) const fn is_of_this_end(&self) -> bool {
        !matches!(self, Self::Gone(_) | Self::Over)
    }
}

/// A session whose data has ended and whose connection is closed.
pub(super) struct Sent {
    pub(super) endpoint: Endpoint,
    /// The longest datagram that the path carried at the beginning, bytes.
    pub(super) limit: usize,
    pub(super) kind: PeerKind,
    pub(super) course: Course,
    pub(super) ended: Instant,
    pub(super) stop: StopSending,
    pub(super) closed: Option<Closed>,
    /// Why the encoder did not hear the rate.
    pub(super) unwritten_rate: Option<Failure>,
}

/// The program at the other end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PeerKind {
    /// It has introduced itself: it says what it got.
    Tfrc,
    Other,
}

/// The repair of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Repair {
    /// The two ends have not agreed on one: what is lost is lost.
    None,
    /// Not all of the file has arrived yet.
    Going,
    /// The receiver has all of it, and the hash agrees.
    Done,
}

/// The work on a connection so far.
pub(super) struct Course {
    pub(super) connection: Arc<Connection>,
    pub(super) sampler: Sampler,
    pub(super) began: Instant,
    /// The figures of the encoder that the data comes from.
    pub(super) encoded: Option<Encoded>,
    /// Datagrams of `--udp-in` that are not sent.
    pub(super) refused: Option<Refused>,
    /// Datagrams that the path had become too narrow for before the session was closed.
    pub(super) narrowed: u64,
    /// The receiver was told that the user aborts.
    pub(super) aborted: bool,
    /// Bytes of the file that has to arrive whole, if one is sent.
    pub(super) whole: Option<u64>,
    /// Bytes of a file of which each was sent once, for a receiver that takes holes.
    pub(super) once: Option<u64>,
    /// Counts of a file whose places the receiver knows.
    pub(super) file: Option<Arc<FileSent>>,
    pub(super) repair: Repair,
}

impl Course {
    /// The figures of the run up to now, without the receiver's.
    pub(super) fn summary(&self, args: &SendArgs, status: &Status, now: Instant) -> Summary {
        let duration_s = now.saturating_since(self.began).as_secs_f64();
        let bytes = status.stats.sent_data_bytes;
        let handed_over = status.late_dropped + status.stats.sent_data_packets;
        Summary {
            variant: Some(status.sending.unwrap_or(args.variant).to_string()),
            profile: Some(args.profile().name().to_owned()),
            sent_packets: Some(status.stats.sent_data_packets),
            sent_bytes: Some(bytes),
            duration_s,
            send_rate_bps: (duration_s > 0.0).then(|| as_f64(bytes) * 8.0 / duration_s),
            allowed_rate_bps: self.sampler.mean_allowed_rate(),
            rtt_s: self.sampler.mean_rtt(),
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
    pub(super) fn so_far(&self, args: &SendArgs) -> Summary {
        let status = self.connection.status();
        let mut summary = self.summary(args, &status, status.at);
        summary.unsent_packets = Some(status.unsent_packets + saturating::<u64>(status.queued));
        summary
    }
}
