//! A bounded queue: in place, so that the core needs no heap, or with the feature `alloc` on the heap and as large as need be. Both
//! behave the same.

#[cfg(feature = "alloc")]
mod heap;
mod inline;

#[cfg(feature = "alloc")]
pub(crate) use heap::Ring;
#[cfg(not(feature = "alloc"))]
pub(crate) use inline::Ring;
/// In place in any case: for what lives only as long as a call.
pub(crate) use inline::Ring as Inline;

/// What a queue in either place can do, for code that serves both.
pub(crate) trait Queue<T: Copy> {
    /// Empty.
    const EMPTY: Self;
    fn len(&self) -> usize;
    fn oldest(&self) -> Option<T>;
    fn get_mut(&mut self, i: usize) -> Option<&mut T>;
    fn push(&mut self, item: T) -> Option<T>;
    fn pop_front(&mut self) -> Option<T>;
    /// Oldest first.
    fn iter(&self) -> impl DoubleEndedIterator<Item = T> + '_;
}

macro_rules! queue {
    ($ring:ident) => {
        impl<T: Copy, const N: usize> Queue<T> for $ring<T, N> {
            const EMPTY: Self = Self::new();
            fn len(&self) -> usize {
                self.len()
            }
            fn oldest(&self) -> Option<T> {
                self.get(0)
            }
            fn get_mut(&mut self, i: usize) -> Option<&mut T> {
                self.get_mut(i)
            }
            fn push(&mut self, item: T) -> Option<T> {
                self.push(item)
            }
            fn pop_front(&mut self) -> Option<T> {
                self.pop_front()
            }
            fn iter(&self) -> impl DoubleEndedIterator<Item = T> + '_ {
                self.iter()
            }
        }
    };
}

queue!(Inline);
#[cfg(feature = "alloc")]
queue!(Ring);

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    macro_rules! behaves_like_a_bounded_vec {
        ($kind:ident) => {
            #[test]
            fn $kind() {
                let mut ring: super::$kind::Ring<u32, 4> = super::$kind::Ring::new();
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
        };
    }

    #[cfg(feature = "alloc")]
    behaves_like_a_bounded_vec!(heap);
    behaves_like_a_bounded_vec!(inline);
}
