//! The border to the page: plain numbers in, an address out. The only unsafe code.

use std::slice;

use crate::Listener;

#[link(wasm_import_module = "page")]
unsafe extern "C" {
    /// Takes the names of a run, a text; 0 ends the run.
    fn begin(at: *const u8, size: usize) -> u32;
    /// Takes a look, `count` floats; 0 ends the run.
    fn look(at: *const f64, count: usize) -> u32;
}

/// The page.
struct Page;

impl Listener for Page {
    fn begin(&self, names: &str) -> bool {
        // SAFETY: the page reads `names` before it returns, and keeps no address.
        unsafe { begin(names.as_ptr(), names.len()) != 0 }
    }

    fn look(&self, numbers: &[f64]) -> bool {
        // SAFETY: the page reads `numbers` before it returns, and keeps no address.
        unsafe { look(numbers.as_ptr(), numbers.len()) != 0 }
    }
}

/// Room for a text of `size` bytes of the page's; [`free`] takes it back.
#[unsafe(no_mangle)]
pub extern "C" fn room(size: usize) -> *mut u8 {
    Box::leak(vec![0_u8; size].into_boxed_slice()).as_mut_ptr()
}

/// Takes back a text.
///
/// # Safety
/// `at` and `size` are those of [`room`], or of an answer of [`run`] with its head, and come once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn free(at: *mut u8, size: usize) {
    // SAFETY: by the contract it is a boxed slice of this size, and nobody else has it.
    drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(at, size)) });
}

/// Runs a scenario: `size` bytes of text, the last `sets` of which are changes, a line each. The
/// answer is a text behind a head of 5 bytes: its size, little-endian, and 1 for mistakes.
///
/// # Safety
/// `at` is from [`room`] with this size, and filled by the page.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn run(at: *const u8, size: usize, sets: usize, looks: u32) -> *mut u8 {
    // SAFETY: by the contract these bytes exist, and nothing writes to them meanwhile.
    let bytes = unsafe { slice::from_raw_parts(at, size) };
    let (text, sets) = bytes.split_at(size.saturating_sub(sets));
    let (text, sets) = (String::from_utf8_lossy(text), String::from_utf8_lossy(sets));
    let sets: Vec<&str> = sets.lines().filter(|line| !line.trim().is_empty()).collect();
    let (mistaken, words) = match crate::run(&text, &sets, looks, &Page) {
        Ok(words) => (0, words),
        Err(words) => (1, words),
    };
    // An answer of 4 GiB has no place in a memory of 4 GiB.
    let head = u32::try_from(words.len()).expect("it is in memory").to_le_bytes();
    let answer: Vec<u8> = head.into_iter().chain([mistaken]).chain(words.into_bytes()).collect();
    Box::leak(answer.into_boxed_slice()).as_mut_ptr()
}

/// X of the throughput equation, bit/s, as [`crate::allowed`].
#[unsafe(no_mangle)]
pub extern "C" fn allowed(segment: f64, rtt_s: f64, p: f64) -> f64 {
    crate::allowed(segment, rtt_s, p)
}
