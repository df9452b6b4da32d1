//! Habits of the senders of ns-2.35 that no RFC has. The choices of a study switch them on.

use super::{Recovery, RfcSender};
use crate::tcp::segment::Ack;
use crate::tcp::study::{Duplicates, Pipe};

impl RfcSender {
    /// Returns true if the SACK blocks of an acknowledgement of `acked` new segments are passed
    /// over: Sack1 empties its scoreboard at each acknowledgement of new data outside of a
    /// recovery, and learns nothing between a timeout and the next such acknowledgement.
    pub(super) fn passes_over_report(&mut self, ack: &Ack, acked: u32) -> bool {
        let choices = self.settings.algorithm.choices();
        if (choices.pipe, choices.duplicates) != (Pipe::Counter, Duplicates::NewlyReporting) {
            return false;
        }
        let over = match self.recovery {
            Recovery::Selective(state) => ack.next >= state.point,
            Recovery::Fast { .. } | Recovery::None => acked > 0,
        };
        if over {
            self.scoreboard.clear();
        }
        over || (self.recovery == Recovery::None && self.timed_out == Some(self.una))
    }

    /// A congestion echo has come, with a window of one segment if `smallest`: the second such echo
    /// in a row doubles the timer.
    pub(super) fn on_echo_at_one(&mut self, smallest: bool) {
        if smallest && self.ecn.at_one {
            self.rto.back_off(&self.settings);
        } else {
            self.ecn.at_one = smallest;
        }
    }
}
