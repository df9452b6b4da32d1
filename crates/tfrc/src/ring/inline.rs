//! A ring in place: the core allocates nothing.

/// At most `N` items, oldest first.
#[derive(Debug, Clone)]
pub(crate) struct Ring<T, const N: usize> {
    items: [Option<T>; N],
    start: usize,
    len: usize,
}

impl<T: Copy, const N: usize> Ring<T, N> {
    pub(crate) const fn new() -> Self {
        Self { items: [None; N], start: 0, len: 0 }
    }

    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    pub(crate) const fn is_full(&self) -> bool {
        self.len == N
    }

    /// The `i`-th item, oldest first.
    pub(crate) fn get(&self, i: usize) -> Option<T> {
        if i < self.len { self.items.get(self.place(i)).copied().flatten() } else { None }
    }

    pub(crate) fn get_mut(&mut self, i: usize) -> Option<&mut T> {
        let place = self.place(i);
        if i < self.len { self.items.get_mut(place).and_then(Option::as_mut) } else { None }
    }

    /// Adds a newest item; a full ring gives back its oldest.
    pub(crate) fn push(&mut self, item: T) -> Option<T> {
        // In a full ring the place after the newest is that of the oldest.
        let place = self.place(self.len);
        let pushed_out = self.items.get_mut(place).and_then(|slot| slot.replace(item));
        if self.is_full() {
            self.start = self.place(1);
            return pushed_out;
        }
        self.len += 1;
        None
    }

    /// Where the `i`-th item is, for `i` up to `N`.
    const fn place(&self, i: usize) -> usize {
        let place = self.start + i;
        if place < N { place } else { place - N }
    }

    pub(crate) fn pop_front(&mut self) -> Option<T> {
        let item = self.get(0)?;
        self.start = self.place(1);
        self.len -= 1;
        Some(item)
    }

    /// Oldest first.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = T> + '_ {
        let end = self.start + self.len;
        let first = self.items.get(self.start..end.min(N)).unwrap_or_default();
        let wrapped = self.items.get(..end.saturating_sub(N)).unwrap_or_default();
        first.iter().chain(wrapped).filter_map(|item| *item)
    }
}

/// What the in-place queues of the state machines do besides; with an allocator those are on the heap.
#[cfg(any(test, not(feature = "alloc")))]
impl<T: Copy, const N: usize> Ring<T, N> {
    pub(crate) const fn clear(&mut self) {
        self.len = 0;
    }

    /// The newest item.
    pub(crate) fn last(&self) -> Option<T> {
        self.len.checked_sub(1).and_then(|i| self.get(i))
    }

    /// Puts an item before the `i`-th; a full ring gives back its oldest.
    pub(crate) fn insert(&mut self, i: usize, item: T) -> Option<T> {
        let mut at = i.min(self.len);
        let mut pushed_out = None;
        if self.is_full() {
            if at == 0 {
                return Some(item);
            }
            pushed_out = self.pop_front();
            at -= 1;
        }
        let mut carried = item;
        for j in at..self.len {
            if let Some(slot) = self.get_mut(j) {
                core::mem::swap(slot, &mut carried);
            }
        }
        self.push(carried);
        pushed_out
    }

    pub(crate) fn remove(&mut self, i: usize) {
        for j in i..self.len {
            let next = self.get(j + 1);
            if let (Some(slot), Some(next)) = (self.get_mut(j), next) {
                *slot = next;
            }
        }
        if i < self.len {
            self.len -= 1;
        }
    }
}
