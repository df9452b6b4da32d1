//! Histograms of delays whose cells are as few and as small as what was counted needs.
//!
//! The cells are those of an HDR histogram (G. Tene 2012) to two digits above a microsecond: 512 ns
//! wide up to 131 µs, and from each doubling on twice as wide, so that a value is within 1 % of its
//! cell. A library's histogram takes 6 kB before the first value, which most flows never need.

/// Width of the finest cells as a power of two, nanoseconds.
const FINEST: u32 = 9;
/// Number of cells in a doubling, as a power of two.
const HALF: u32 = 7;
/// Values that are kept one by one before there are cells.
const FEW: usize = 256;

/// Counts of delays.
#[derive(Debug, Clone, Default)]
pub(super) struct Histogram {
    count: u32,
    cells: Cells,
}

#[derive(Debug, Clone)]
enum Cells {
    /// The cell of each value.
    Few(Vec<u16>),
    /// A count for each cell from the first on.
    Small(Vec<u16>),
    /// Counts of which one has outgrown 16 bits.
    Wide(Vec<u32>),
}

impl Default for Cells {
    fn default() -> Self {
        Self::Few(Vec::new())
    }
}

impl Histogram {
    /// Reads where the next value will be kept, if it is known.
    #[inline(always)]
    pub(super) fn touch(&self) -> u64 {
        match &self.cells {
            Cells::Few(few) => few.last().map_or(0, |cell| u64::from(*cell)),
            _ => 0,
        }
    }

    /// Counts a value, nanoseconds. After 2^32 - 1 of them it counts no more.
    #[inline]
    pub(super) fn record(&mut self, ns: u64) {
        self.add(cell(ns), 1);
    }

    #[inline]
    fn add(&mut self, cell: u16, times: u32) {
        let Some(count) = self.count.checked_add(times) else { return };
        self.count = count;
        match &mut self.cells {
            Cells::Small(counts) => {
                if let Some(known) = counts.get_mut(usize::from(cell))
                    && let Some(more) = u16::try_from(times).ok().and_then(|times| known.checked_add(times))
                {
                    *known = more;
                    return;
                }
            }
            Cells::Few(few) if times == 1 && few.len() < few.capacity().min(FEW) => return few.push(cell),
            _ => {}
        }
        self.add_slowly(cell, times);
    }

    #[inline(never)]
    fn add_slowly(&mut self, cell: u16, times: u32) {
        match &mut self.cells {
            Cells::Few(few) if times == 1 && few.len() < FEW => {
                // Doubling would waste more than it saves here.
                few.reserve_exact((few.len() / 4).max(16).min(FEW - few.len()));
                few.push(cell);
            }
            Cells::Few(few) => {
                let mut counts = Vec::new();
                grow(&mut counts, few.iter().max().copied().map_or(0, usize::from));
                few.iter().for_each(|cell| counts[usize::from(*cell)] += 1);
                self.cells = Cells::Small(counts);
                self.put(cell, times);
            }
            _ => self.put(cell, times),
        }
    }

    /// Adds to the count of a cell, and makes room for it.
    fn put(&mut self, cell: u16, times: u32) {
        let at = usize::from(cell);
        if let Cells::Small(counts) = &mut self.cells {
            let known = counts.get(at).copied().unwrap_or_default();
            match u16::try_from(u32::from(known) + times) {
                Ok(more) => {
                    grow(counts, at);
                    counts[at] = more;
                    return;
                }
                Err(_) => self.cells = Cells::Wide(counts.iter().map(|count| u32::from(*count)).collect()),
            }
        }
        if let Cells::Wide(counts) = &mut self.cells {
            grow(counts, at);
            counts[at] += times;
        }
    }

    /// Calls `seen` for each cell that has a value, the smallest first, with its count.
    fn each(&self, mut seen: impl FnMut(usize, u32)) {
        match &self.cells {
            Cells::Few(few) => {
                let mut few = few.clone();
                few.sort_unstable();
                few.into_iter().for_each(|cell| seen(usize::from(cell), 1));
            }
            Cells::Small(counts) => {
                let some = counts.iter().enumerate().filter(|(_, count)| **count > 0);
                some.for_each(|(cell, count)| seen(cell, u32::from(*count)));
            }
            Cells::Wide(counts) => {
                let some = counts.iter().enumerate().filter(|(_, count)| **count > 0);
                some.for_each(|(cell, count)| seen(cell, *count));
            }
        }
    }

    /// A copy whose values are all longer by this.
    pub(super) fn moved(&self, by_ns: u64) -> Self {
        let mut moved = Self::default();
        self.each(|from, count| moved.add(cell(least(from) + by_ns), count));
        moved
    }

    /// The least value of the cell that holds each of these quantiles, nanoseconds; 0 of nothing.
    pub(super) fn quantiles<const N: usize>(&self, shares: [f64; N]) -> [u64; N] {
        // The values up to each quantile that are still to come.
        let mut wanted = shares.map(|share| (share * f64::from(self.count)).ceil().max(1.0) as i64);
        let mut found = [0; N];
        self.each(|cell, count| {
            for (wanted, found) in wanted.iter_mut().zip(&mut found) {
                if *wanted > 0 {
                    *wanted -= i64::from(count);
                    *found = cell;
                }
            }
        });
        found.map(|cell| if self.count == 0 { 0 } else { least(cell) })
    }
}

/// Makes room for a place: an eighth more than needed, so that a slow growth copies little.
fn grow<T: Copy + Default>(counts: &mut Vec<T>, at: usize) {
    if at >= counts.len() {
        let wanted = at + 1 + at / 8;
        counts.reserve_exact(wanted - counts.len());
        counts.resize(wanted, T::default());
    }
}

/// The cell of a value: less than 2^13, as its shift is at most 64 - 9 - 8.
#[inline]
fn cell(ns: u64) -> u16 {
    let fine = ns >> FINEST;
    let shift = (u64::BITS - fine.leading_zeros()).saturating_sub(HALF + 1);
    ((u64::from(shift) << HALF) + (fine >> shift)) as u16
}

/// The least value of a cell.
fn least(cell: usize) -> u64 {
    let cell = cell as u64;
    let shift = (cell >> HALF).saturating_sub(1);
    ((cell - (shift << HALF)) << shift) << FINEST
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Quantiles are those of the library's histogram, however many values there are and
        /// however often one comes.
        #[test]
        fn as_an_hdr_histogram(
            values in prop::collection::vec((0_u32..45, 0_u64..1000, 1_u32..3), 1..200),
            often in 0_u32..140_000,
            share in 0.0..1.0,
        ) {
            let mut library = hdrhistogram::Histogram::<u64>::new_with_bounds(1000, 16_000_000, 2).unwrap();
            library.auto(true);
            let mut ours = Histogram::default();
            for (place, (magnitude, mantissa, times)) in values.into_iter().enumerate() {
                let ns = (mantissa << magnitude) >> 10;
                let times = if place == 100 { often } else { times };
                library.record_n(ns, u64::from(times)).unwrap();
                for _ in 0..times {
                    ours.record(ns);
                }
            }
            let shares = [0.5, 0.95, 0.99, share];
            let wanted = shares.map(|share| library.lowest_equivalent(library.value_at_quantile(share)));
            prop_assert_eq!(ours.quantiles(shares), wanted);
            prop_assert_eq!(ours.moved(0).quantiles(shares), wanted);
        }
    }

    #[test]
    fn few_values_take_few_bytes() {
        let mut few = Histogram::default();
        assert!(size_of::<Histogram>() <= 40, "{}", size_of::<Histogram>());
        (0..256).for_each(|i| few.record(i * 250_000));
        assert!(matches!(&few.cells, Cells::Few(few) if few.capacity() <= 256));
        // 70 ms are in cell 1,417 of those that double.
        few.record(70_000_000);
        assert!(matches!(&few.cells, Cells::Small(counts) if counts.len() < 1_600));
    }
}
