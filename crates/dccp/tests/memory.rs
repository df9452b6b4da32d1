//! The integration tests that count what they have on the heap, as one program: its allocator
//! counts.

#[path = "attacks/heap.rs"]
mod heap;

mod adversary;
mod attacks;
