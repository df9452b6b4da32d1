//! A bounded queue: in place, so that the core needs no heap, or with the feature `alloc` on the
//! heap, as large as needed. Both behave the same.

#[cfg(feature = "alloc")]
mod heap;
mod inline;

use core::marker::PhantomData;

/// Memory in place in any case: for values that live as long as a call.
pub(crate) use inline::InPlace;

/// Memory of the queues of the state machines.
#[cfg(feature = "alloc")]
pub(crate) type Memory<T, const N: usize> = heap::Heap<T, N>;
/// Memory of the queues of the state machines.
#[cfg(not(feature = "alloc"))]
pub(crate) type Memory<T, const N: usize> = InPlace<T, N>;

/// Memory for a bounded number of items, oldest first.
pub(crate) trait Store<T: Copy> {
    const EMPTY: Self;
    const CAPACITY: usize;
    fn len(&self) -> usize;
    fn get(&self, i: usize) -> Option<T>;
    fn get_mut(&mut self, i: usize) -> Option<&mut T>;
    /// Appends an item; does nothing if there is no room.
    fn push_back(&mut self, item: T);
    fn pop_front(&mut self) -> Option<T>;
    fn pop_back(&mut self);
    fn clear(&mut self);
    fn iter(&self) -> impl DoubleEndedIterator<Item = T>;
}

/// At most as many items as its memory holds, oldest first.
#[derive(Debug, Clone)]
pub(crate) struct BoundedQueue<T, S> {
    items: S,
    of: PhantomData<T>,
}

/// At most `N` items, oldest first, in the memory of the state machines.
pub(crate) type Ring<T, const N: usize> = BoundedQueue<T, Memory<T, N>>;

impl<T: Copy, S: Store<T>> BoundedQueue<T, S> {
    pub(crate) const fn new() -> Self {
        Self { items: S::EMPTY, of: PhantomData }
    }

    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.len() == S::CAPACITY
    }

    pub(crate) fn clear(&mut self) {
        self.items.clear();
    }

    /// The `i`-th item, oldest first.
    pub(crate) fn get(&self, i: usize) -> Option<T> {
        self.items.get(i)
    }

    pub(crate) fn get_mut(&mut self, i: usize) -> Option<&mut T> {
        self.items.get_mut(i)
    }

    pub(crate) fn last(&self) -> Option<T> {
        self.len().checked_sub(1).and_then(|i| self.get(i))
    }

    /// Appends an item; a full queue returns its oldest.
    pub(crate) fn push(&mut self, item: T) -> Option<T> {
        let pushed_out = if self.is_full() { self.pop_front() } else { None };
        self.items.push_back(item);
        pushed_out
    }

    pub(crate) fn pop_front(&mut self) -> Option<T> {
        self.items.pop_front()
    }

    /// Inserts an item before the `i`-th; a full queue returns its oldest.
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
        let mut carried = item;
        for j in at..self.len() {
            if let Some(slot) = self.get_mut(j) {
                core::mem::swap(slot, &mut carried);
            }
        }
        self.push(carried);
        pushed_out
    }

    pub(crate) fn remove(&mut self, i: usize) {
        for j in i..self.len() {
            let next = self.get(j + 1);
            if let (Some(slot), Some(next)) = (self.get_mut(j), next) {
                *slot = next;
            }
        }
        if i < self.len() {
            self.items.pop_back();
        }
    }

    /// Oldest first.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = T> + '_ {
        self.items.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    fn behaves_like_a_bounded_vec<S: Store<u32>>(mut ring: BoundedQueue<u32, S>) {
        for i in 0..4 {
            assert_eq!(ring.push(i), None);
        }
        assert!(ring.is_full());
        assert_eq!(ring.push(4), Some(0));
        assert_eq!(ring.insert(1, 9), Some(1));
        assert_eq!(ring.iter().collect::<Vec<_>>(), [9, 2, 3, 4]);
        ring.remove(1);
        assert_eq!(ring.insert(0, 7), None);
        assert_eq!(ring.iter().collect::<Vec<_>>(), [7, 9, 3, 4]);
        assert_eq!(ring.insert(0, 8), Some(8), "older than everything kept");
        assert_eq!((ring.last(), ring.get(4), ring.pop_front()), (Some(4), None, Some(7)));
        if let Some(first) = ring.get_mut(0) {
            *first = 5;
        }
        assert_eq!((ring.len(), ring.get(0)), (3, Some(5)));
        ring.clear();
        assert_eq!(ring.len(), 0);
    }

    #[test]
    fn both_behave_like_a_bounded_vec() {
        behaves_like_a_bounded_vec(BoundedQueue::<u32, InPlace<u32, 4>>::new());
        behaves_like_a_bounded_vec(Ring::<u32, 4>::new());
    }
}
