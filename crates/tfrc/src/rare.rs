//! State that few connections have.

/// With an allocator only those that have it pay for its memory.
#[cfg(feature = "alloc")]
pub(crate) type Rare<T> = alloc::boxed::Box<T>;
#[cfg(not(feature = "alloc"))]
pub(crate) type Rare<T> = T;

#[cfg(feature = "alloc")]
pub(crate) fn rare<T>(state: T) -> Rare<T> {
    Rare::new(state)
}
/// Gives the state back.
#[cfg(feature = "alloc")]
pub(crate) fn common<T>(state: Rare<T>) -> T {
    *state
}
#[cfg(not(feature = "alloc"))]
pub(crate) const fn rare<T>(state: T) -> Rare<T> {
    state
}
#[cfg(not(feature = "alloc"))]
pub(crate) fn common<T>(state: Rare<T>) -> T {
    state
}
