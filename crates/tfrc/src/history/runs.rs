//! Memory of the runs of losses: most runs fit into a third of the bytes.

use tfrc_units::{Duration, Instant};

use super::losses::{Cause, Congestion, Mark};
use crate::ring::Ring;
use crate::study::Moment;

/// At most `N` runs, in order of sequence. All are packed until one does not fit; from then on all
/// are whole.
#[derive(Debug, Clone)]
#[allow(clippy::large_enum_variant, reason = "on the heap both are equally large")]
pub(crate) enum Runs<const N: usize> {
    Packed(Ring<PackedRun, N>),
    Whole(Ring<Congestion, N>),
}

impl<const N: usize> Runs<N> {
    pub(crate) const fn new() -> Self {
        Self::Packed(Ring::new())
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Packed(runs) => runs.len(),
            Self::Whole(runs) => runs.len(),
        }
    }

    pub(crate) fn get(&self, i: usize) -> Option<Congestion> {
        match self {
            Self::Packed(runs) => runs.get(i).map(PackedRun::unpack),
            Self::Whole(runs) => runs.get(i),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Congestion> + '_ {
        (0..self.len()).map_while(|i| self.get(i))
    }

    /// Puts a run in the place of the `i`-th.
    pub(crate) fn set(&mut self, i: usize, run: Congestion) {
        match (&mut *self, PackedRun::pack(&run)) {
            (Self::Packed(runs), Some(packed)) => {
                if let Some(place) = runs.get_mut(i) {
                    *place = packed;
                }
            }
            _ => {
                if let Some(place) = self.whole().get_mut(i) {
                    *place = run;
                }
            }
        }
    }

    /// Inserts a run before the `i`-th; a full memory returns its oldest.
    pub(crate) fn insert(&mut self, i: usize, run: Congestion) -> Option<Congestion> {
        match (&mut *self, PackedRun::pack(&run)) {
            (Self::Packed(runs), Some(packed)) => runs.insert(i, packed).map(PackedRun::unpack),
            _ => self.whole().insert(i, run),
        }
    }

    pub(crate) fn remove(&mut self, i: usize) {
        match self {
            Self::Packed(runs) => runs.remove(i),
            Self::Whole(runs) => runs.remove(i),
        }
    }

    /// The runs, whole from now on.
    fn whole(&mut self) -> &mut Ring<Congestion, N> {
        loop {
            match self {
                Self::Whole(runs) => return runs,
                Self::Packed(packed) => {
                    let mut whole = Ring::new();
                    for run in packed.iter() {
                        whole.push(run.unpack());
                    }
                    *self = Self::Whole(whole);
                }
            }
        }
    }
}

/// A run as differences from its first packet and from the arrival before it, in 48 bytes. It has
/// no packets without data below it, no units and no rounds of the sender.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PackedRun {
    first: u64,
    /// Of the packet before it, or of the marked one.
    at: Instant,
    size: f64,
    /// Nanoseconds from `at` to the packet after it; [`MARKED`] for a marked one.
    lasted: u32,
    /// R in nanoseconds.
    rtt: u32,
    /// Window counter of the packet before it.
    counter: u32,
    /// S_C when it was found, less `first`.
    found: u32,
    /// Packets in it, less one.
    last: u16,
    /// From the packet before it to `first`.
    before: u16,
    /// From the last one to the packet after it.
    after: u16,
    /// Steps of the window counter over it.
    steps: u8,
    later: u8,
}

/// No run lasts this long.
const MARKED: u32 = u32::MAX;

impl PackedRun {
    /// `None` if it does not fit.
    fn pack(run: &Congestion) -> Option<Self> {
        let Congestion { first, last, cause, later, found_at, rtt, non_data_below, size, units } = *run;
        if non_data_below != 0 || units.to_bits() != 0 {
            return None;
        }
        let small = |large: u64, little: u64| u16::try_from(large.checked_sub(little)?).ok();
        let none = Mark { seq: first, at: Moment::arrival(Instant::ZERO), counter: 0 };
        let (before, after, lasted) = match cause {
            Cause::Marked { at, counter_before } => {
                let mark = Mark { at, counter: counter_before, ..none };
                (mark, Mark { seq: last, ..mark }, MARKED)
            }
            Cause::Missing { before, after } => {
                let lasted = after.at.at.as_nanos().checked_sub(before.at.at.as_nanos())?;
                (before, after, u32::try_from(lasted).ok().filter(|lasted| *lasted != MARKED)?)
            }
        };
        if before.at.round != 0 || after.at.round != 0 {
            return None;
        }
        Some(Self {
            first,
            at: before.at.at,
            size,
            lasted,
            rtt: u32::try_from(rtt.as_nanos()).ok()?,
            counter: u32::try_from(before.counter).ok()?,
            found: u32::try_from(found_at.checked_sub(first)?).ok()?,
            last: small(last, first)?,
            before: small(first, before.seq)?,
            after: small(after.seq, last)?,
            steps: u8::try_from(after.counter.checked_sub(before.counter)?).ok()?,
            later,
        })
    }

    fn unpack(self) -> Congestion {
        let Self { first, at, size, later, .. } = self;
        let last = first + u64::from(self.last);
        let counter = u64::from(self.counter);
        let cause = if self.lasted == MARKED {
            Cause::Marked { at: Moment::arrival(at), counter_before: counter }
        } else {
            let before = Mark { seq: first - u64::from(self.before), at: Moment::arrival(at), counter };
            let end = at + Duration::from_nanos(u64::from(self.lasted));
            let after = Mark {
                seq: last + u64::from(self.after),
                at: Moment::arrival(end),
                counter: counter + u64::from(self.steps),
            };
            Cause::Missing { before, after }
        };
        Congestion {
            later,
            found_at: first + u64::from(self.found),
            size,
            ..Congestion::new(first, last, cause, Duration::from_nanos(u64::from(self.rtt)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MOST: u64 = u64::MAX >> 1;

    /// Small numbers, those at the limits of what fits, and large ones.
    fn number() -> impl Strategy<Value = u64> {
        let edges = [1 << 8, 1 << 16, 1 << 32].map(|edge: u64| edge - 2..edge + 2);
        let [byte, short, word] = edges;
        prop_oneof![4 => 0_u64..4, 1 => byte, 1 => short, 1 => word, 1 => 0..MOST]
    }

    prop_compose! {
        fn run()(
            numbers in prop::array::uniform10(number()),
            marked in any::<bool>(),
            rare in prop::option::weighted(0.1, 0_u8..4),
            later in 0_u8..5,
        ) -> Congestion {
            let [before, first, last, after, at, lasted, counter, steps, found, rtt] = numbers;
            let first = before.saturating_add(first).min(MOST);
            let last = first.saturating_add(last).min(MOST);
            let round = u32::from(rare == Some(0));
            let moment = |at| Moment { at: Instant::from_nanos(at), round };
            let missing = Cause::Missing {
                before: Mark { seq: before, at: moment(at), counter },
                after: Mark { seq: last.saturating_add(after), at: moment(at.saturating_add(lasted)), counter: counter.saturating_add(steps) },
            };
            let cause = if marked { Cause::Marked { at: moment(at), counter_before: counter } } else { missing };
            Congestion {
                later,
                found_at: first.saturating_add(found),
                size: 1000.5,
                units: if rare == Some(1) { 2.0 } else { 0.0 },
                non_data_below: u64::from(rare == Some(2)),
                ..Congestion::new(first, last, cause, Duration::from_nanos(rtt))
            }
        }
    }

    proptest! {
        /// Nothing of a run is lost, whether all are packed or not.
        #[test]
        fn as_a_plain_ring(steps in prop::collection::vec((0_u8..5, 0_usize..8, run()), 1..40)) {
            let mut runs: Runs<6> = Runs::new();
            let mut plain: Ring<Congestion, 6> = Ring::new();
            for (step, i, run) in steps {
                match step {
                    0..3 => prop_assert_eq!(runs.insert(i, run), plain.insert(i, run)),
                    3 => {
                        runs.remove(i);
                        plain.remove(i);
                    }
                    _ => {
                        runs.set(i, run);
                        if let Some(place) = plain.get_mut(i) {
                            *place = run;
                        }
                    }
                }
                prop_assert_eq!(runs.len(), plain.len());
                prop_assert!(runs.iter().eq(plain.iter()));
            }
        }
    }

    #[test]
    fn an_ordinary_run_is_packed() {
        assert_eq!(size_of::<PackedRun>(), 48);
        let mark = |seq, ms: u64| Mark {
            seq,
            at: Moment::arrival(Instant::from_nanos(ms * 1_000_000)),
            counter: seq,
        };
        let cause = Cause::Missing { before: mark(70_000, 100), after: mark(70_003, 3000) };
        let run = Congestion {
            size: 1200.0,
            found_at: 70_005,
            ..Congestion::new(70_001, 70_002, cause, Duration::from_millis(80))
        };
        let mut runs: Runs<2> = Runs::new();
        runs.insert(0, run);
        assert!(matches!(runs, Runs::Packed(_)));
        assert_eq!(runs.get(0), Some(run));
    }
}
