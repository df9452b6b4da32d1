//! Pointers of C as references of Rust, for the two C libraries.
#![expect(unsafe_code, reason = "this crate is the border to C: pointers come from there")]
#![deny(clippy::undocumented_unsafe_blocks, unsafe_op_in_unsafe_fn)]

use std::ffi::{CStr, c_char};

/// The thing behind a pointer.
///
/// # Safety
/// The pointer is null, or points to a `T` that lives and that nobody changes meanwhile.
pub unsafe fn look<'a, T>(pointer: *const T) -> Option<&'a T> {
    // SAFETY: passed on to the caller.
    unsafe { pointer.as_ref() }
}

/// The thing behind a pointer, to change.
///
/// # Safety
/// The pointer is null, or points to a `T` that lives and that nobody else uses meanwhile.
pub unsafe fn change<'a, T>(pointer: *mut T) -> Option<&'a mut T> {
    // SAFETY: passed on to the caller.
    unsafe { pointer.as_mut() }
}

/// Bytes behind a pointer; none for null.
///
/// # Safety
/// The pointer is null, or points to `length` bytes that live and that nobody changes meanwhile.
#[must_use]
pub unsafe fn bytes<'a>(pointer: *const u8, length: usize) -> Option<&'a [u8]> {
    if pointer.is_null() {
        return (length == 0).then_some(&[]);
    }
    // SAFETY: not null; the rest is passed on to the caller.
    Some(unsafe { std::slice::from_raw_parts(pointer, length) })
}

/// Room behind a pointer; none for null.
///
/// # Safety
/// The pointer is null, or points to `capacity` bytes that live and that nobody else uses
/// meanwhile, each of them written once.
pub unsafe fn room<'a>(pointer: *mut u8, capacity: usize) -> Option<&'a mut [u8]> {
    if pointer.is_null() {
        return None;
    }
    // SAFETY: not null; the rest is passed on to the caller.
    Some(unsafe { std::slice::from_raw_parts_mut(pointer, capacity) })
}

/// A text of C, up to its zero byte; none for null.
///
/// # Safety
/// The pointer is null, or points to a text that lives and that nobody changes meanwhile.
#[must_use]
pub unsafe fn text<'a>(pointer: *const c_char) -> Option<&'a CStr> {
    if pointer.is_null() {
        return None;
    }
    // SAFETY: not null; the rest is passed on to the caller.
    Some(unsafe { CStr::from_ptr(pointer) })
}

/// Hands a thing over to C.
pub fn give<T>(thing: T) -> *mut T {
    Box::into_raw(Box::new(thing))
}

/// Takes back what [`give`] handed over; null is nothing.
///
/// # Safety
/// The pointer is null, or came from [`give`] and was not taken back before.
pub unsafe fn take_back<T>(pointer: *mut T) {
    if !pointer.is_null() {
        // SAFETY: not null; the rest is passed on to the caller.
        drop(unsafe { Box::from_raw(pointer) });
    }
}
