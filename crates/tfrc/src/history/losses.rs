//! Lost and marked packets: the holes in the sequence space (RFC 5348 §5.1), repaired when a packet
//! comes late.

use tfrc_units::Duration;

use super::runs::Runs;
use crate::study::Moment;

/// Separate runs of lost or marked packets that stay open to repair by a late packet, at most.
const REPAIRABLE: usize = 32;

/// A packet that arrived, as far as later questions need it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) seq: u64,
    /// The time that separates loss events.
    pub(crate) at: Moment,
    /// The window counter, counted on without wrapping.
    pub(crate) counter: u64,
}

/// Cause of a [`Congestion`]: missing packets, or a mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    /// They are missing between two that arrived: S_before and S_after of RFC 5348 §5.2.
    Missing { before: Mark, after: Mark },
    /// A router marked one packet; `counter_before` is the window counter of the packet before it.
    Marked { at: Moment, counter_before: u64 },
}

/// A run of consecutive packets that are missing, or one that is marked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Congestion {
    pub(crate) first: u64,
    pub(crate) last: u64,
    pub(crate) cause: Cause,
    /// Packets that arrived with a higher sequence number.
    pub(crate) later: u8,
    /// S_C, the highest sequence number received, when the run was declared.
    pub(crate) found_at: u64,
    /// R as the sender reported it by then.
    pub(crate) rtt: Duration,
    /// Packets without data known to lie below `first`.
    pub(crate) non_data_below: u64,
    /// The mean packet size when the run was found, in bytes.
    pub(crate) size: f64,
    /// Units received by then, where those are counted.
    pub(crate) units: f64,
}

impl Congestion {
    /// A run found with this round-trip time.
    pub(crate) const fn new(first: u64, last: u64, cause: Cause, rtt: Duration) -> Self {
        Self { first, last, cause, later: 0, found_at: last, rtt, non_data_below: 0, size: 0.0, units: 0.0 }
    }
}

/// Outcome of taking a late packet into a hole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fill {
    /// No hole has room for it: it came before, or too late to matter.
    NotMissing,
    /// The hole was still waiting for later packets.
    Pending { before: Mark },
    /// The hole had already been counted as lost.
    Lost { before: Mark },
}

/// Runs of congestion in order of sequence, the declared ones (lost for certain, or marked) before
/// the pending ones: whatever arrives above a hole arrives above all older holes too.
#[derive(Debug, Clone)]
pub(crate) struct Losses {
    runs: Runs<REPAIRABLE>,
    declared: usize,
    lost_after: u8,
}

impl Losses {
    pub(crate) const fn new(lost_after: u8) -> Self {
        Self { runs: Runs::new(), declared: 0, lost_after }
    }

    /// The declared runs, oldest first.
    pub(crate) fn declared(&self) -> impl Iterator<Item = Congestion> + '_ {
        self.runs.iter().take(self.declared)
    }

    /// Returns true if a packet is missing that is not yet lost.
    pub(crate) fn is_any_pending(&self) -> bool {
        self.declared < self.runs.len()
    }

    /// The lowest packet that is missing but not yet lost.
    pub(crate) fn first_pending(&self) -> Option<u64> {
        self.runs.get(self.declared).map(|run| run.first)
    }

    /// Adds a hole above everything so far. A run that no longer fits is given back for good, its
    /// fate decided.
    pub(crate) fn add_hole(&mut self, run: Congestion) -> Option<Congestion> {
        let out = self.runs.insert(self.runs.len(), run);
        self.forget(out)
    }

    /// Adds a marked packet; everything missing below it now counts as lost (RFC 5348 §5.1). Says
    /// whether the mark lies below a declared run, so that loss events must be worked out anew, and
    /// gives back a run that no longer fits.
    pub(crate) fn add_mark(&mut self, run: Congestion) -> (bool, Option<Congestion>) {
        for i in self.declared..self.runs.len() {
            if let Some(pending) = self.runs.get(i) {
                self.runs.set(i, Congestion { found_at: run.found_at, ..pending });
            }
        }
        let at = self.runs.iter().take_while(|r| r.first < run.first).count();
        let disorder = at < self.declared;
        let out = self.runs.insert(at, run);
        let kept = out.is_none();
        let out = self.forget(out);
        let marked = if kept { at + 1 } else { at };
        // A run put before everything in a full ring comes straight back and does not count as
        // declared.
        self.declared = if disorder { self.declared + 1 } else { marked.max(self.declared) };
        self.declared = self.declared.min(self.runs.len());
        (disorder, out)
    }

    /// A packet that is not above everything so far takes its place in a hole, if there is one for
    /// it. A hole split in two may push out the oldest run, given back.
    pub(crate) fn fill(&mut self, seq: u64) -> (Fill, Option<Congestion>) {
        let found = (0..self.runs.len()).rev().find_map(|i| {
            let run = self.runs.get(i)?;
            (run.first <= seq && seq <= run.last).then_some((i, run))
        });
        let Some((i, run)) = found else { return (Fill::NotMissing, None) };
        let Cause::Missing { before, .. } = run.cause else { return (Fill::NotMissing, None) };
        let was_declared = i < self.declared;
        let fill = if was_declared { Fill::Lost { before } } else { Fill::Pending { before } };
        let mut out = None;
        if run.first == run.last {
            self.runs.remove(i);
            if was_declared {
                self.declared -= 1;
            }
        } else if seq == run.first {
            self.runs.set(i, Congestion { first: seq + 1, ..run });
        } else {
            self.runs.set(i, Congestion { last: seq - 1, ..run });
            if seq < run.last {
                out = self.runs.insert(i + 1, Congestion { first: seq + 1, ..run });
                if was_declared {
                    self.declared += 1;
                }
                out = self.forget(out);
            }
        }
        (fill, out)
    }

    /// Counts an arrival for every pending hole below it; `highest` is S_C. Returns how many runs
    /// became declared.
    pub(crate) fn count_arrival(&mut self, seq: u64, highest: u64) -> usize {
        let before = self.declared;
        for i in self.declared..self.runs.len() {
            if let Some(mut run) = self.runs.get(i)
                && run.last < seq
            {
                run.later = run.later.saturating_add(1);
                if run.later >= self.lost_after && i == self.declared {
                    run.found_at = highest;
                    self.declared += 1;
                }
                self.runs.set(i, run);
            }
        }
        self.declared - before
    }

    /// Pending holes that begin at `up_to` or below are lost by an external report; `highest` is
    /// S_C. Returns how many.
    pub(crate) fn declare(&mut self, up_to: u64, highest: u64) -> usize {
        let before = self.declared;
        while let Some(run) = self.runs.get(self.declared).filter(|run| run.first <= up_to) {
            self.runs.set(self.declared, Congestion { found_at: highest, ..run });
            self.declared += 1;
        }
        self.declared - before
    }

    /// The runs declared last, oldest of them first.
    pub(crate) fn newly_declared(&self, count: usize) -> impl Iterator<Item = Congestion> + '_ {
        (self.declared.saturating_sub(count)..self.declared).filter_map(|i| self.runs.get(i))
    }

    fn forget(&mut self, out: Option<Congestion>) -> Option<Congestion> {
        if out.is_some() {
            self.declared = self.declared.saturating_sub(1);
        }
        out
    }
}
