//! A ring on the heap, as large as what it has held: for hosts with many connections, of which few fill their rings.

use alloc::collections::VecDeque;

/// At most `N` items, oldest first.
#[derive(Debug, Clone)]
pub(crate) struct Ring<T, const N: usize> {
    items: VecDeque<T>,
}

impl<T: Copy, const N: usize> Ring<T, N> {
    pub(crate) const fn new() -> Self {
        Self { items: VecDeque::new() }
    }

    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.items.len() == N
    }

    pub(crate) fn clear(&mut self) {
        self.items.clear();
    }

    /// The `i`-th item, oldest first.
    pub(crate) fn get(&self, i: usize) -> Option<T> {
        self.items.get(i).copied()
    }

    pub(crate) fn get_mut(&mut self, i: usize) -> Option<&mut T> {
        self.items.get_mut(i)
    }

    /// The newest item.
    pub(crate) fn last(&self) -> Option<T> {
        self.items.back().copied()
    }

    /// Adds a newest item; a full ring gives back its oldest.
    pub(crate) fn push(&mut self, item: T) -> Option<T> {
        let pushed_out = if self.is_full() { self.items.pop_front() } else { None };
        self.make_room();
        self.items.push_back(item);
        pushed_out
    }

    pub(crate) fn pop_front(&mut self) -> Option<T> {
        self.items.pop_front()
    }

    /// Puts an item before the `i`-th; a full ring gives back its oldest.
    pub(crate) fn insert(&mut self, i: usize, item: T) -> Option<T> {
        let mut at = i.min(self.len());
        let mut pushed_out = None;
        if self.is_full() {
            if at == 0 {
                return Some(item);
            }
            pushed_out = self.pop_front();
            at -= 1;
        }
        self.make_room();
        self.items.insert(at, item);
        pushed_out
    }

    fn make_room(&mut self) {
        if self.items.len() == self.items.capacity() {
            // Doubling would waste more than it saves here.
            let more = (self.items.len() / 2).max(4).min(N - self.items.len());
            self.items.reserve_exact(more);
        }
    }

    pub(crate) fn remove(&mut self, i: usize) {
        self.items.remove(i);
    }

    /// Oldest first.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = T> + '_ {
        self.items.iter().copied()
    }
}
