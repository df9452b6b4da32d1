//! Memory in place: the core allocates nothing.

use super::Store;

/// Room for `N` items.
#[derive(Debug, Clone)]
pub(crate) struct InPlace<T, const N: usize> {
    items: [Option<T>; N],
    start: usize,
    len: usize,
}

impl<T, const N: usize> InPlace<T, N> {
    /// The place of the `i`-th item, for `i` up to `N`.
    const fn place(&self, i: usize) -> usize {
        let place = self.start + i;
        if place < N { place } else { place - N }
    }
}

impl<T: Copy, const N: usize> Store<T> for InPlace<T, N> {
    const EMPTY: Self = Self { items: [None; N], start: 0, len: 0 };
    const CAPACITY: usize = N;

    fn len(&self) -> usize {
        self.len
    }

    fn get(&self, i: usize) -> Option<T> {
        if i < self.len { self.items.get(self.place(i)).copied().flatten() } else { None }
    }

    fn get_mut(&mut self, i: usize) -> Option<&mut T> {
        let place = self.place(i);
        if i < self.len { self.items.get_mut(place).and_then(Option::as_mut) } else { None }
    }

    fn push_back(&mut self, item: T) {
        let place = self.place(self.len);
        if self.len < N
            && let Some(slot) = self.items.get_mut(place)
        {
            *slot = Some(item);
            self.len += 1;
        }
    }

    fn pop_front(&mut self) -> Option<T> {
        let item = self.get(0)?;
        self.start = self.place(1);
        self.len -= 1;
        Some(item)
    }

    fn pop_back(&mut self) {
        self.len = self.len.saturating_sub(1);
    }

    fn clear(&mut self) {
        self.len = 0;
    }

    fn iter(&self) -> impl DoubleEndedIterator<Item = T> {
        let end = self.start + self.len;
        let first = self.items.get(self.start..end.min(N)).unwrap_or_default();
        let wrapped = self.items.get(..end.saturating_sub(N)).unwrap_or_default();
        first.iter().chain(wrapped).filter_map(|item| *item)
    }
}
