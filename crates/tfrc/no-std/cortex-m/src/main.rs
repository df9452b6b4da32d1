//! The loop of `tfrc-no-std` on a device. Built for a host it prints the same line, so that the
//! allowed rates can be compared bit by bit: `cargo xtask full device` does.

#![cfg_attr(target_os = "none", no_std, no_main)]
#![forbid(unsafe_code)]

use tfrc_no_std::allowed_rate_after;
use tfrc_units::Duration;

#[cfg(target_os = "none")]
use semihosting::println;

/// Prints the allowed rate after a minute, and its bits.
fn show() {
    let rate = allowed_rate_after(Duration::from_secs(60));
    println!("X after 60 s: {rate} bytes/s, bits {:016x}", rate.to_bits());
}

#[cfg(target_os = "none")]
#[cortex_m_rt::entry]
fn begin() -> ! {
    show();
    semihosting::process::exit(0);
}

#[cfg(not(target_os = "none"))]
fn main() {
    show();
}
