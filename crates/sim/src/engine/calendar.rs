//! The event queue: a calendar (R. Brown 1988) that adapts the length of its days to what happens.
//!
//! Time is cut into days of 2^`shift` nanoseconds. Entries of today are sorted; those of the next
//! [`DAYS`] days hang on lists, one a day, and are sorted when their day begins; those of the next
//! [`DAYS`] *ages*, of as many days each, hang on lists for an age, and go to those of its days
//! when it begins; those still later wait in a heap. What comes out, and when, does not depend on
//! the length of a day: only the cost does.

use core::cmp::Reverse;
use std::collections::BinaryHeap;

use tfrc_units::{Instant, saturating};

use super::event::Entry;

/// Days that have a list, ages that have one, and days in an age. 64 times the number of words in
/// [`Lists::used`].
const DAYS: u64 = 1 << AGE_SHIFT;
const AGE_SHIFT: u32 = 12;
const WORDS: usize = 64;
const LISTS: usize = WORDS * 64;
/// The end of a list.
const NONE: u32 = u32::MAX;
/// The first length of a day: 16 µs.
const FIRST_SHIFT: u32 = 14;
/// Days of 16 ns to 17 ms: what lies outside gains nothing.
const SHIFTS: core::ops::RangeInclusive<u32> = 4..=24;
/// The length of a day is reviewed whenever this many have begun, or twice as many entries have
/// been sorted.
const REVIEW: u32 = 1024;
/// Bounds on the mean number of entries in a day, where days are filled.
const FEWEST: u32 = 8;
const FULL: u32 = 20;

/// All events to come.
#[derive(Debug)]
pub(crate) struct Events {
    /// The last in their order of the entries of this time that have been taken out.
    latest: Entry,
    /// Entries for this time that were put in since: they come after all that were made before, so
    /// that nothing that answers at once keeps the others waiting.
    next_round: Vec<Entry>,
    /// Entries due today or before, the earliest last.
    near: Vec<Entry>,
    today: u64,
    shift: u32,
    lists: Lists,
    ages: Lists,
    cells: Cells,
    far: BinaryHeap<Reverse<Entry>>,
    /// When the lists for days must be looked after: the beginning of the first age with a list, or
    /// the day of the first entry in the heap if that is earlier; `u64::MAX` if there is neither.
    /// After today.
    far_day: u64,
    seen: DayCounts,
    /// Days are to have about [`FULL`] entries, which are looked at when they begin.
    full_days: bool,
    /// A day has begun whose entries nobody has looked at.
    begun: bool,
}

/// Entries and days counted since the last review.
#[derive(Debug)]
struct DayCounts {
    /// Days that have begun.
    days: u32,
    /// The number of days at which there is a review: zero once enough entries were sorted.
    review: u32,
    /// Entries that had to be sorted.
    near: u32,
    /// Entries put behind the lists for days.
    far: u32,
}

impl DayCounts {
    const NONE: Self = Self { days: 0, review: REVIEW, near: 0, far: 0 };

    /// Entries had to be sorted.
    fn sorted(&mut self, entries: u32) {
        self.near = self.near.saturating_add(entries);
        if self.near >= 2 * REVIEW {
            self.review = 0;
        }
    }
}

impl Events {
    pub(crate) fn new() -> Self {
        Self {
            latest: Entry::last(Instant::ZERO),
            next_round: Vec::new(),
            near: Vec::new(),
            today: 0,
            shift: FIRST_SHIFT,
            lists: Lists::new(),
            ages: Lists::new(),
            cells: Cells { all: Vec::new(), free: NONE },
            far: BinaryHeap::new(),
            far_day: u64::MAX,
            seen: DayCounts::NONE,
            full_days: false,
            begun: false,
        }
    }

    /// From now on days are to have several entries each, and [`Self::pop`] gives nothing when such
    /// a day has begun: see [`Self::has_begun_day`].
    pub(crate) fn fill_days(&mut self) {
        self.full_days = true;
    }

    /// Returns true if there was nothing to take out because a day with several entries has begun;
    /// false when asked again.
    #[inline]
    pub(crate) fn has_begun_day(&mut self) -> bool {
        core::mem::take(&mut self.begun)
    }

    /// The entries of today, the earliest first.
    pub(crate) fn today(&self) -> impl Iterator<Item = &Entry> {
        self.near.iter().rev()
    }

    #[inline(always)]
    pub(crate) fn push(&mut self, entry: Entry) {
        let day = self.day(entry);
        if day <= self.today {
            self.push_near(entry);
        } else if day - self.today < DAYS {
            self.lists.push(&mut self.cells, day, entry);
        } else {
            self.push_far(day, entry);
        }
    }

    /// Puts the next entry of the subject of the latest one in: at the same time it follows at
    /// once.
    #[inline(always)]
    pub(crate) fn follow(&mut self, entry: Entry) {
        if entry.at <= self.latest.at { self.near.push(entry) } else { self.push(entry) }
    }

    /// Takes the earliest out if it is due by `until`.
    #[inline(always)]
    pub(crate) fn pop(&mut self, until: Instant) -> Option<Entry> {
        if !self.next_round.is_empty() {
            self.begin_round();
        }
        let first = match self.near.last() {
            Some(first) if first.at > until => return None,
            Some(first) => {
                let first = *first;
                self.near.pop();
                first
            }
            None => self.begin_day(until)?,
        };
        self.latest = if first.at > self.latest.at { first } else { self.latest.max(first) };
        Some(first)
    }

    /// The last in their order of the entries of this time that have been taken out, of those that
    /// were made before it.
    pub(crate) fn latest(&self) -> Entry {
        self.latest
    }

    /// Everything up to this time has been taken out.
    pub(crate) fn settle(&mut self, now: Instant) {
        self.latest = self.latest.max(Entry::last(now));
    }

    /// Begins the next round if nothing is left of this one.
    #[cold]
    fn begin_round(&mut self) {
        if self.near.last().is_none_or(|first| first.at > self.latest.at) {
            self.latest = Entry::last(self.latest.at);
            self.next_round.sort_unstable_by_key(|entry| Reverse(*entry));
            self.near.append(&mut self.next_round);
        }
    }

    /// The first cell of the next day, for [`Self::touch_cell`].
    pub(crate) fn next_days_first(&self) -> u32 {
        let day = self.lists.next_day(self.today).unwrap_or(u64::MAX);
        self.lists.first.get(index(day % DAYS)).copied().unwrap_or(NONE)
    }

    /// Reads a cell, to have it near. Gives the next one, and anything.
    #[inline(always)]
    pub(crate) fn touch_cell(&self, at: u32) -> (u32, u64) {
        self.cells
            .all
            .get(index(u64::from(at)))
            .map_or((NONE, 0), |cell| (cell.next, cell.entry.at.as_nanos()))
    }

    #[inline]
    fn pop_near(&mut self, until: Instant) -> Option<Entry> {
        self.near.pop_if(|entry| entry.at <= until)
    }

    /// When the earliest is due.
    pub(crate) fn next(&self) -> Option<Instant> {
        if let Some(made_now) = self.next_round.first() {
            return Some(made_now.at);
        }
        let first = self.near.last().copied().or_else(|| {
            let day = self.lists.next_day(self.today).and_then(|day| self.lists.first(&self.cells, day));
            let age =
                self.ages.next_day(self.today >> AGE_SHIFT).and_then(|age| self.ages.first(&self.cells, age));
            let far = self.far.peek().map(|Reverse(entry)| *entry);
            [day, age, far].into_iter().flatten().min()
        });
        first.map(|entry| entry.at)
    }

    #[inline]
    fn day(&self, entry: Entry) -> u64 {
        entry.at.as_nanos() >> self.shift
    }

    #[inline(never)]
    fn push_near(&mut self, entry: Entry) {
        if entry.at <= self.latest.at {
            self.next_round.push(entry);
            return;
        }
        self.seen.sorted(1);
        let later = |known: &Entry| *known > entry;
        if self.near.last().is_none_or(later) {
            self.near.push(entry);
        } else {
            let place = self.near.partition_point(later);
            self.near.insert(place, entry);
        }
    }

    #[inline(never)]
    fn push_far(&mut self, day: u64, entry: Entry) {
        self.seen.far = self.seen.far.saturating_add(1);
        let age = day >> AGE_SHIFT;
        if age - (self.today >> AGE_SHIFT) < DAYS {
            self.far_day = self.far_day.min(age << AGE_SHIFT);
            self.ages.push(&mut self.cells, age, entry);
        } else {
            self.far_day = self.far_day.min(day);
            self.far.push(Reverse(entry));
        }
    }

    /// Goes on to the next day with entries, and takes the earliest out if it is due by `until`.
    /// Only when nothing is left of today.
    #[inline(always)]
    fn begin_day(&mut self, until: Instant) -> Option<Entry> {
        if self.seen.days >= self.seen.review {
            self.review();
            if !self.near.is_empty() {
                return self.pop_near(until);
            }
        }
        let day = self.lists.next_day(self.today).unwrap_or(u64::MAX);
        if day >= self.far_day {
            self.begin_far_day(until);
            return if self.begun { None } else { self.pop_near(until) };
        }
        self.today = day;
        self.seen.days += 1;
        if let Some(only) = self.lists.take_only(&mut self.cells, day) {
            if only.at <= until {
                return Some(only);
            }
            self.near.push(only);
            return None;
        }
        if self.sort_today() {
            return None;
        }
        self.pop_near(until)
    }

    /// [`Self::begin_day`] where an age or the heap comes first: sorts in what is due first.
    #[inline(never)]
    fn begin_far_day(&mut self, until: Instant) {
        // A day after the last is none, whatever it is.
        if self.far_day == u64::MAX || self.far_day > until.as_nanos() >> self.shift {
            return;
        }
        self.today = self.far_day;
        self.bring_near();
        if !self.sort_today() && self.near.is_empty() {
            let first = self.begin_day(until);
            self.near.extend(first);
        }
    }

    /// Sorts in what is listed for today. Returns true if somebody wants to look at the entries
    /// first.
    #[inline(never)]
    fn sort_today(&mut self) -> bool {
        if let Some([one, other]) = self.lists.take_two(&mut self.cells, self.today) {
            self.near.extend(if one < other { [other, one] } else { [one, other] });
        } else {
            self.lists.take(&mut self.cells, self.today, &mut self.near);
            if self.near.len() < 2 {
                return false;
            }
            self.near.sort_unstable_by_key(|entry| Reverse(*entry));
        }
        self.seen.sorted(saturating::<u32>(self.near.len()));
        self.begun = self.full_days;
        self.full_days
    }

    /// Moves to the lists for days, and to today, what now belongs there.
    fn bring_near(&mut self) {
        let age = self.today >> AGE_SHIFT;
        // The cells of an age go on to the lists of its days, and today's to that of today.
        let mut at = self.ages.begin(age);
        while let Some(cell) = self.cells.all.get(index(u64::from(at))) {
            let next = cell.next;
            let day = self.day(cell.entry).max(self.today);
            self.lists.link(&mut self.cells, day, at);
            at = next;
        }
        while let Some(Reverse(entry)) = self.far.peek()
            && self.day(*entry) - self.today < DAYS
        {
            let Some(Reverse(entry)) = self.far.pop() else { break };
            let day = self.day(entry).max(self.today);
            self.lists.push(&mut self.cells, day, entry);
        }
        let next_age = self.ages.next_day(age).map_or(u64::MAX, |age| age << AGE_SHIFT);
        let next = self.far.peek().map_or(u64::MAX, |Reverse(next)| self.day(*next));
        self.far_day = next_age.min(next);
    }

    /// Shorter days if they are crowded, longer ones if much lies beyond the lists.
    #[cold]
    fn review(&mut self) {
        let DayCounts { days, near, far, .. } = core::mem::replace(&mut self.seen, DayCounts::NONE);
        let crowd = near / days.max(1);
        // In a day with very many, sorting them in costs more than the heap does.
        let shift = if self.full_days {
            match crowd {
                0..FEWEST => self.shift + 1,
                FEWEST..=FULL => self.shift,
                _ => self.shift.saturating_sub(1),
            }
        } else if crowd >= 1 && (far < near / 4 || crowd >= 16) {
            self.shift.saturating_sub(crowd.ilog2().max(1))
        } else if crowd == 0 && far > days / 2 {
            self.shift + 1
        } else {
            self.shift
        };
        let shift = shift.clamp(*SHIFTS.start(), *SHIFTS.end());
        if shift != self.shift {
            self.set_shift(shift);
        }
    }

    fn set_shift(&mut self, shift: u32) {
        let mut all = core::mem::take(&mut self.near);
        while let Some(day) = self.lists.next_day(self.today) {
            self.lists.take(&mut self.cells, day, &mut all);
        }
        while let Some(age) = self.ages.next_day(self.today >> AGE_SHIFT) {
            self.ages.take(&mut self.cells, age, &mut all);
        }
        all.extend(self.far.drain().map(|Reverse(entry)| entry));
        self.far_day = u64::MAX;
        // The beginning of today, in days of the new length.
        self.today = (self.today << self.shift) >> shift;
        self.shift = shift;
        for entry in all {
            self.push(entry);
        }
        self.seen = DayCounts::NONE;
    }
}

/// A list for each of the days after today, or of the ages after today's.
#[derive(Debug)]
struct Lists {
    /// The first cell of each day's list.
    first: Box<[u32; LISTS]>,
    /// Which lists are not empty, and which of these words are not zero.
    used: [u64; WORDS],
    words: u64,
}

/// The cells of all lists.
#[derive(Debug)]
struct Cells {
    all: Vec<CalendarCell>,
    /// The first of those that are free.
    free: u32,
}

#[derive(Debug, Clone, Copy)]
struct CalendarCell {
    entry: Entry,
    next: u32,
}

impl Cells {
    /// A cell with this entry.
    #[inline(always)]
    fn keep(&mut self, entry: Entry) -> u32 {
        if let Some(cell) = self.all.get_mut(index(u64::from(self.free))) {
            cell.entry = entry;
            return core::mem::replace(&mut self.free, cell.next);
        }
        // As many entries as there are links and timers, each of which has a number of 32 bits.
        self.all.push(CalendarCell { entry, next: NONE });
        saturating::<u32>(self.all.len() - 1)
    }
}

impl Lists {
    fn new() -> Self {
        Self { first: Box::new([NONE; LISTS]), used: [0; WORDS], words: 0 }
    }

    /// `day` is one of the [`DAYS`] from today on.
    #[inline(always)]
    fn push(&mut self, cells: &mut Cells, day: u64, entry: Entry) {
        let cell = cells.keep(entry);
        self.link(cells, day, cell);
    }

    /// Puts a cell that is on no list before the others of a day.
    #[inline(always)]
    fn link(&mut self, cells: &mut Cells, day: u64, cell: u32) {
        let list = index(day % DAYS);
        let Some(first) = self.first.get_mut(list) else { return };
        let next = core::mem::replace(first, cell);
        if let Some(cell) = cells.all.get_mut(index(u64::from(cell))) {
            cell.next = next;
        }
        if let Some(word) = self.used.get_mut(list / 64) {
            *word |= 1 << (list % 64);
            self.words |= 1 << (list / 64);
        }
    }

    /// The first day after today that has a list.
    #[inline]
    fn next_day(&self, today: u64) -> Option<u64> {
        let from = today + 1;
        let word = from % DAYS / 64;
        let rest = self.used.get(index(word))? & (u64::MAX << (from % 64));
        if rest != 0 {
            return Some(from - from % 64 + u64::from(rest.trailing_zeros()));
        }
        let later = self.words & (u64::MAX << word << 1);
        // Around the end: the word begun with comes last.
        let words = if later != 0 { later } else { self.words };
        let word = u64::from(words.trailing_zeros());
        let list = word * 64 + u64::from(self.used.get(index(word))?.trailing_zeros());
        Some(from + list.wrapping_sub(from) % DAYS)
    }

    /// Takes a day's entry out if it is the only one.
    #[inline]
    fn take_only(&mut self, cells: &mut Cells, day: u64) -> Option<Entry> {
        let list = index(day % DAYS);
        let first = self.first.get_mut(list)?;
        let cell = cells.all.get_mut(index(u64::from(*first)))?;
        if cell.next != NONE {
            return None;
        }
        let entry = cell.entry;
        cell.next = cells.free;
        cells.free = core::mem::replace(first, NONE);
        self.empty(list);
        Some(entry)
    }

    /// Takes a day's entries out if there are two.
    fn take_two(&mut self, cells: &mut Cells, day: u64) -> Option<[Entry; 2]> {
        let first = *self.first.get(index(day % DAYS))?;
        let CalendarCell { entry, next } = *cells.all.get(index(u64::from(first)))?;
        let other = cells.all.get_mut(index(u64::from(next)))?;
        if other.next != NONE {
            return None;
        }
        other.next = core::mem::replace(&mut cells.free, first);
        let two = [entry, other.entry];
        self.begin(day);
        Some(two)
    }

    /// Takes a day's entries out.
    fn take(&mut self, cells: &mut Cells, day: u64, to: &mut Vec<Entry>) {
        let first = self.begin(day);
        let mut at = first;
        let mut last = NONE;
        while let Some(cell) = cells.all.get(index(u64::from(at))) {
            to.push(cell.entry);
            last = at;
            at = cell.next;
        }
        // All are free now, in the same order.
        if let Some(cell) = cells.all.get_mut(index(u64::from(last))) {
            cell.next = core::mem::replace(&mut cells.free, first);
        }
    }

    /// Takes a day's list away: its first cell.
    #[inline]
    fn begin(&mut self, day: u64) -> u32 {
        let list = index(day % DAYS);
        self.empty(list);
        self.first.get_mut(list).map_or(NONE, |first| core::mem::replace(first, NONE))
    }

    /// A list has become empty.
    #[inline]
    fn empty(&mut self, list: usize) {
        if let Some(word) = self.used.get_mut(list / 64) {
            *word &= !(1 << (list % 64));
            if *word == 0 {
                self.words &= !(1 << (list / 64));
            }
        }
    }

    /// The earliest of a day's entries.
    fn first(&self, cells: &Cells, day: u64) -> Option<Entry> {
        let mut at = *self.first.get(index(day % DAYS))?;
        let mut earliest: Option<Entry> = None;
        while let Some(cell) = cells.all.get(index(u64::from(at))) {
            earliest = Some(earliest.map_or(cell.entry, |known| known.min(cell.entry)));
            at = cell.next;
        }
        earliest
    }
}

#[inline]
fn index(x: u64) -> usize {
    saturating::<usize>(x)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LinkId;
    use crate::engine::event::{EngineEvent, Turn};
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// Distances from now to push at, over all magnitudes, with many ties; each with how many to
    /// take out afterwards.
    fn steps() -> impl Strategy<Value = Vec<(u64, u64, usize)>> {
        let step = (0_u32..40, 0_u64..4, 0_usize..4, 0_u64..3)
            .prop_map(|(magnitude, mantissa, pops, ahead)| (mantissa << magnitude, ahead << 20, pops));
        prop::collection::vec(step, 1..4000)
    }

    fn entry(at: u64, name: &str, id: u32) -> Entry {
        Entry::new(Instant::from_nanos(at), Turn::of(name), EngineEvent::Arrival(LinkId(id)))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        #[test]
        fn in_the_total_order(steps in steps()) {
            let (mut events, mut plain) = (Events::new(), BTreeSet::new());
            let mut now = 0;
            // Time and round of the latest entry.
            let mut latest = (Instant::ZERO, 0);
            for (id, (delay, ahead, pops)) in (0..).zip(steps) {
                let entry = entry(now + delay, &format!("{}", id % 7), id);
                events.push(entry);
                let round = if entry.at == latest.0 { latest.1 + 1 } else { 0 };
                plain.insert((entry.at, round, entry));
                for _ in 0..pops {
                    prop_assert_eq!(events.next(), plain.first().map(|(at, ..)| *at));
                    let until = Instant::from_nanos(now + ahead);
                    let due = plain.first().copied().filter(|(at, ..)| *at <= until);
                    if let Some(due) = due {
                        plain.remove(&due);
                        latest = (due.0, due.1);
                    }
                    let popped = events.pop(until);
                    prop_assert_eq!(popped, due.map(|(.., entry)| entry));
                    now = popped.map_or(until.as_nanos(), |entry| entry.at.as_nanos());
                }
            }
            let end = Instant::from_nanos(u64::MAX);
            while let Some((.., first)) = plain.pop_first() {
                prop_assert_eq!(events.pop(end), Some(first));
            }
            prop_assert!(events.pop(end).is_none() && events.next().is_none());
        }
    }

    /// Pushes `entries` entries, pops them in turn and pushes each again a `period` later. Returns
    /// the final shift of a day, and the entries in the order in which they came out.
    fn after_turning(entries: u32, period: u64) -> (u32, Vec<Entry>) {
        let mut events = Events::new();
        let mut out = Vec::new();
        for i in 0..entries {
            events.push(entry(u64::from(i) * period / u64::from(entries), "", i));
        }
        for id in entries..200_000 {
            let Some(first) = events.pop(Instant::from_nanos(u64::MAX)) else { break };
            out.push(first);
            events.push(entry(first.at.as_nanos() + period, "", id));
        }
        (events.shift, out)
    }

    #[test]
    fn the_length_of_a_day_follows_and_the_order_does_not() {
        // 1000 in 50 µs: a day of 16 µs would hold hundreds. 100 in 10 s: most lie beyond 1024 days
        // of 16 µs.
        for (entries, period, wanted) in [(1000, 50_000, 4..=10), (100, 10_000_000_000, 20..=24)] {
            let (shift, out) = after_turning(entries, period);
            assert!(wanted.contains(&shift), "{entries} in {period} ns: 2^{shift} ns");
            assert!(out.len() > 100_000 && out.is_sorted());
        }
    }
}
