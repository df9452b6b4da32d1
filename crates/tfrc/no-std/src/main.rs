//! A sender and a receiver over a path that loses every hundredth packet, without the standard
//! library and without a heap. The exit status is 0 if the allowed rate is that of the throughput
//! equation (RFC 5348 §3.1).

#![no_std]
#![no_main]
#![expect(unsafe_code, reason = "without the standard library the entry point is the C library's `main`")]

use core::ffi::c_int;
use core::panic::PanicInfo;

use tfrc::{Arrival, Config, Feedback, PacketKind, Receiver, SendDecision, Sender, SentRecord};
use tfrc_units::{Duration, Ecn, Instant};

// SAFETY: nothing of the C library is called; it is linked for the code that calls `main`.
#[link(name = "c")]
unsafe extern "C" {}

/// One way.
const DELAY: Duration = Duration::from_millis(50);
/// Every packet with a number of this multiple is lost.
const LOST: u64 = 100;
const SIZE: u32 = 1460;

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

/// X in bytes per second.
fn allowed_rate_after(time: Duration) -> f64 {
    let config = Config::default();
    let (mut sender, mut record) = (Sender::new(&config), SentRecord::new());
    let mut receiver = Receiver::new(&config);
    // Reports on their way; there is about one for each round-trip time.
    let mut on_the_way: [Option<(Instant, Feedback)>; 8] = [None; 8];
    let mut now = Instant::ZERO;
    while now < Instant::ZERO + time {
        for slot in &mut on_the_way {
            if let Some((at, feedback)) = *slot
                && at <= now
            {
                sender.on_feedback(now, feedback);
                *slot = None;
            }
        }
        if sender.poll_timeout().is_some_and(|wake| wake.at <= now) {
            sender.handle_timeout(now);
        }
        // The receiver lives 50 ms ahead: all that reaches it has been sent by now.
        let there = now + DELAY;
        while sender.next_send(now) == SendDecision::Now {
            sender.on_sent(now, SIZE);
            let seq = record.on_sent(now);
            if seq % LOST != LOST - 1 {
                receiver.on_packet(there, arrival(seq, sender.rtt()));
            }
        }
        if receiver.poll_timeout().is_some_and(|wake| wake.at <= there) {
            receiver.handle_timeout(there);
        }
        if let Some(report) = receiver.poll_feedback(there)
            && let Some(feedback) = record.feedback(&report)
            && let Some(slot) = on_the_way.iter_mut().find(|slot| slot.is_none())
        {
            *slot = Some((there + DELAY, feedback));
        }
        now += Duration::from_millis(1);
    }
    sender.allowed_rate().bytes_per_sec()
}

fn arrival(seq: u64, rtt: Option<Duration>) -> Arrival {
    Arrival {
        seq,
        size: SIZE,
        ecn: Ecn::NotEct,
        rtt,
        window_counter: 0,
        kind: PacketKind::Data,
        non_data_before: 0,
    }
}
