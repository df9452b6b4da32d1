//! Memory on the heap, as large as what it has held: for hosts with many connections, of which few
//! fill their queues.

use alloc::collections::VecDeque;

use super::Store;

/// Room for `N` items at most.
#[derive(Debug, Clone)]
pub(crate) struct Heap<T, const N: usize>(VecDeque<T>);

impl<T, const N: usize> Heap<T, N> {
    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        // Doubling would waste more than it saves here, and many queues never hold two.
        let least = if self.0.is_empty() { 1 } else { 4 };
        let more = (self.0.len() / 4).max(least).min(N.saturating_sub(self.0.len()));
        self.0.reserve_exact(more);
    }
}

impl<T: Copy, const N: usize> Store<T> for Heap<T, N> {
    const EMPTY: Self = Self(VecDeque::new());
    const CAPACITY: usize = N;

    fn len(&self) -> usize {
        self.0.len()
    }

    fn get(&self, i: usize) -> Option<T> {
        self.0.get(i).copied()
    }

    fn get_mut(&mut self, i: usize) -> Option<&mut T> {
        self.0.get_mut(i)
    }

    fn push_back(&mut self, item: T) {
        if self.0.len() == self.0.capacity() {
            self.grow();
        }
        self.0.push_back(item);
    }

    fn pop_front(&mut self) -> Option<T> {
        self.0.pop_front()
    }

    fn pop_back(&mut self) {
        self.0.pop_back();
    }

    fn clear(&mut self) {
        self.0.clear();
    }

    fn iter(&self) -> impl DoubleEndedIterator<Item = T> {
        self.0.iter().copied()
    }
}
