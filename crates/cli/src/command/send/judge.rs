//! The end of a session of `send` and its reason, which determine the exit status.

use tfrc_net::{ClosedBy, Status, UNCONFIRMED};

use super::course::{Course, PeerKind, Repair, Sent, StopSending};
use crate::session::{Ending, Tally, Trouble, at_receiver, count, counted, is_proper, not_whole, why};

/// The worth of data that is not sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Data {
    /// Somebody wants it to arrive.
    Given,
    /// Nobody misses it.
    MadeUp,
}

/// All that is known of the end of a session.
#[derive(Clone, Copy)]
pub(super) struct Evidence<'a> {
    pub(super) sent: &'a Sent,
    pub(super) data: Data,
    /// Bytes of the file that were sent again.
    pub(super) again: Option<u64>,
    /// The receiver's counts.
    pub(super) tally: Option<&'a Tally>,
    pub(super) status: &'a Status,
}

impl Evidence<'_> {
    /// How the session ended, and why.
    pub(super) fn judge(self) -> Ending {
        let unsent = (self.status.unsent_packets > 0 && self.data == Data::Given)
            .then(|| format!("{} not sent", counted(self.status.unsent_packets, "datagram")));
        let receivers = self.tally.filter(|tally| tally.is_receivers());
        if let Some((tally, trouble)) = receivers.and_then(|tally| Some((tally, tally.trouble?))) {
            let written = format!("it has written {}", counted(tally.bytes, "byte"));
            return Ending::failed(at_receiver(trouble)).with(Some(written)).with(unsent);
        }
        let ending = self.broken_off().or_else(|| self.unconfirmed()).unwrap_or_else(|| self.over());
        let told = (!ending.has_failed()).then(|| self.lost());
        ending.with(told).with(unsent)
    }

    /// The end of a session in which this end, the receiver or the path failed.
    fn broken_off(self) -> Option<Ending> {
        let Sent { stop, closed, course: Course { repair, .. }, .. } = self.sent;
        if let StopSending::Gone(reason) = stop {
            return Some(Ending::failed(reason.clone()));
        }
        let Some(closed) = closed else {
            return Some(Ending::failed("the peer did not answer the close in time"));
        };
        if !is_proper(closed) {
            return Some(Ending::failed(why(closed)));
        }
        if let StopSending::Failed(reason) = stop {
            return Some(Ending::failed(reason.clone()));
        }
        if *stop == StopSending::Over || closed.by == ClosedBy::Peer {
            return Some(Ending::failed("the receiver ended the session"));
        }
        let dropped = self.tally.map_or(0, |tally| tally.dropped);
        let dropped = dropped.max(self.status.stats.peer_dropped_packets);
        (dropped > 0 && *repair != Repair::Done).then(|| {
            Ending::failed(format!(
                "the receiver reads too slowly: it dropped {} that had arrived",
                counted(dropped, "datagram")
            ))
        })
    }

    /// The end of a session of which the receiver has not said what it has.
    fn unconfirmed(self) -> Option<Ending> {
        let text = self.sent.closed.as_ref()?.text.as_deref();
        if text == Some(UNCONFIRMED) {
            return Some(Ending::unconfirmed("the receiver has not yet written all that arrived"));
        }
        (self.tally.is_none() && self.sent.kind == PeerKind::Tfrc)
            .then(|| Ending::unconfirmed("the receiver did not say what it has written"))
    }

    /// The end of a session that both ends have closed in agreement.
    fn over(self) -> Ending {
        let Sent { stop, course: Course { narrowed, aborted, whole, repair, .. }, .. } = self.sent;
        if *stop == StopSending::EndOfData {
            let narrow = self.status.unsent_packets > 0;
            return match self.torn().filter(|_| !narrow) {
                _ if narrow => Ending::failed("the path has become too narrow for some datagrams"),
                Some(torn) => torn,
                None if *repair == Repair::Done => Ending::complete(self.repaired()),
                None => {
                    let all = counted(self.status.stats.sent_data_packets, "datagram");
                    Ending::complete(format!("all of {all} sent"))
                }
            };
        }
        if *narrowed > 0 && self.data == Data::Given {
            return Ending::failed("the path has become too narrow for some datagrams");
        }
        if *aborted && self.tally.is_some_and(|tally| tally.trouble.is_some()) {
            return Ending::failed("aborted by a second Ctrl-C");
        }
        if *stop == StopSending::TimeUp {
            return Ending::stopped("the time is up");
        }
        match self.torn() {
            Some(torn) => torn.with(Some("interrupted".to_owned())),
            None if whole.is_some() => Ending::failed("interrupted before the end of the file"),
            None => Ending::stopped("interrupted"),
        }
    }

    /// The end of a file of which the receiver lacks bytes, unless it has said that it takes holes.
    fn torn(self) -> Option<Ending> {
        let (length, tally) = self.sent.course.whole.zip(self.tally)?;
        let missing = length.saturating_sub(tally.bytes);
        let is_torn = match tally.trouble {
            Some(Trouble::Holes) => false,
            Some(Trouble::NotWhole) => true,
            _ => missing > 0,
        };
        is_torn.then(|| Ending::failed(not_whole(missing, length)).with(Some(self.lost())))
    }

    /// The sentence for a file of which the receiver has all.
    fn repaired(self) -> String {
        let length = counted(self.sent.course.whole.unwrap_or(0), "byte");
        let again = match self.again {
            None | Some(0) => String::new(),
            Some(again) => format!("; {} sent again", counted(again, "byte")),
        };
        format!("the file is whole: {length}, and the hash agrees{again}")
    }

    /// The datagrams that the network lost, in words.
    fn lost(self) -> String {
        // Only `tfrc recv` has words for that.
        let Some(tally) = self.tally else { return "nobody confirmed that it arrived".to_owned() };
        let arrived = tally.received + tally.late + tally.dropped;
        match self.status.stats.sent_data_packets - arrived {
            0 => "none lost on the way".to_owned(),
            lost => format!("{} lost on the way", count(lost)),
        }
    }
}
