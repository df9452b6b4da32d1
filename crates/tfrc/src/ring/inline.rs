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

    pub(crate) const fn clear(&mut self) {
        self.len = 0;
    }

    /// The `i`-th item, oldest first.
    pub(crate) fn get(&self, i: usize) -> Option<T> {
        if i < self.len { self.items.get((self.start + i) % N).copied().flatten() } else { None }
    }

    pub(crate) fn get_mut(&mut self, i: usize) -> Option<&mut T> {
        if i < self.len { self.items.get_mut((self.start + i) % N).and_then(Option::as_mut) } else { None }
    }

    /// The newest item.
    pub(crate) fn last(&self) -> Option<T> {
        self.len.checked_sub(1).and_then(|i| self.get(i))
    }

    /// Adds a newest item; a full ring gives back its oldest.
    pub(crate) fn push(&mut self, item: T) -> Option<T> {
        let pushed_out = if self.is_full() { self.pop_front() } else { None };
        if let Some(slot) = self.items.get_mut((self.start + self.len) % N) {
            *slot = Some(item);
            self.len += 1;
        }
        pushed_out
    }

    pub(crate) fn pop_front(&mut self) -> Option<T> {
        let item = self.get(0)?;
        self.start = (self.start + 1) % N;
        self.len -= 1;
        Some(item)
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

    /// Oldest first.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = T> + '_ {
        (0..self.len).filter_map(|i| self.get(i))
    }
}
