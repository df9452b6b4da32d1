//! One ack pattern for all: packets go out evenly, each is lost with probability 1 %, the others
//! are acknowledged a round-trip time later.

#![forbid(unsafe_code)]

#[cfg(feature = "quinn")]
pub mod cubic;

/// Packets in a round-trip time: what the equation allows at this loss.
pub const PER_RTT: u64 = 12;
/// The round-trip time, in nanoseconds.
pub const RTT_NS: u64 = 100_000_000;
/// Bytes in a packet.
pub const SIZE: u32 = 1200;
/// One in this many is lost.
const LOST: u64 = 100;

/// Rate control that learns what becomes of each packet.
pub trait Controller {
    /// Packet `number` goes out.
    fn sent(&mut self, now: u64, number: u64);
    /// Packet `number`, sent at `sent`, is acknowledged; `rtt_over` once per round-trip time.
    fn acknowledged(&mut self, now: u64, sent: u64, number: u64, rtt_over: bool);
    /// Packet `number`, sent at `sent`, is lost, as is known now that three later ones are
    /// acknowledged.
    fn lost(&mut self, now: u64, sent: u64, number: u64);
    /// Something that depends on all of it, so that nothing is optimised away.
    fn state(&self) -> u64;
}

/// Drives a controller with `packets` packets.
pub fn drive(controller: &mut impl Controller, packets: u64) -> u64 {
    let spacing = RTT_NS / PER_RTT;
    let is_lost = |number: u64| {
        // A hash of the number; no state, so the same for all.
        let x = (number ^ 0x9E37_79B9_7F4A_7C15).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        (x ^ (x >> 31)).wrapping_mul(0x94D0_49BB_1331_11EB) >> 33 < (1 << 31) / LOST
    };
    for number in 0..packets + PER_RTT {
        let now = (number + 1) * spacing;
        controller.sent(now, number);
        if let Some(acked) = number.checked_sub(PER_RTT) {
            let sent = (acked + 1) * spacing;
            if let Some(missing) = acked.checked_sub(3).filter(|missing| is_lost(*missing)) {
                controller.lost(now, sent - 3 * spacing, missing);
            }
            if !is_lost(acked) {
                controller.acknowledged(now, sent, acked, acked % PER_RTT == 0);
            }
        }
    }
    controller.state()
}
