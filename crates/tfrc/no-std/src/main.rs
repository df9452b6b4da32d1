//! The loop of the library in a process without the standard library. The exit status is 0 if the
//! allowed rate is that of the throughput equation (RFC 5348 §3.1).

#![no_std]
#![no_main]
#![expect(unsafe_code, reason = "without the standard library the entry point is the C library's `main`")]

use core::ffi::c_int;
use core::panic::PanicInfo;

use tfrc_no_std::{SIZE, allowed_rate_after};
use tfrc_units::Duration;

// SAFETY: nothing of the C library is called; it is linked for the code that calls `main`.
#[link(name = "c")]
unsafe extern "C" {}

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    loop {}
}

// SAFETY: no other function of the program has this name.
#[unsafe(no_mangle)]
extern "C" fn main() -> c_int {
    let rate = allowed_rate_after(Duration::from_secs(60));
    // With b = 1 and t_RTO = 4R the equation gives 11.2 packets per round-trip time at p = 0.01.
    let packets_per_rtt = rate * 0.1 / f64::from(SIZE);
    c_int::from(!(9.0..13.0).contains(&packets_per_rtt))
}

/// The core's code is built to unwind and names this function; with `panic = "abort"` nobody calls
/// it.
// SAFETY: no other function of the program has this name.
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() {}
