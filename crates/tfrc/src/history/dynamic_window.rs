//! The dynamic history window: loss events among the latest packets (SIGCOMM 2000, "Dynamic History
//! Window").

use tfrc_units::f64_from_u64;

/// 1/p from interval lengths, newest (the open one) first: packets in the window over the loss
/// events in it. The window reaches back `window` packets, or further, to the start of the interval
/// with which it holds `least` events. Where the lengths end it ends too.
pub(crate) fn mean_interval(lengths: impl Iterator<Item = f64>, least: u8, window: f64) -> Option<f64> {
    let (mut packets, mut events) = (0.0, 0u64);
    for length in lengths {
        if events >= u64::from(least) && packets + length > window {
            // The next event lies outside; part of the interval after it does not.
            return Some(packets.max(window) / f64_from_u64(events));
        }
        packets += length;
        events += 1;
    }
    (events > 0).then(|| packets / f64_from_u64(events))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(lengths: &[f64], least: u8, window: f64) -> Option<f64> {
        mean_interval(lengths.iter().copied(), least, window)
    }

    #[test]
    fn reaches_back_for_enough_events() {
        let lengths = [30.0, 100.0, 100.0, 100.0, 500.0];
        assert_eq!(mean(&lengths, 4, 0.0), Some(330.0 / 4.0));
        assert_eq!(mean(&lengths, 1, 0.0), Some(30.0));
        assert_eq!(mean(&lengths, 4, 400.0), Some(400.0 / 4.0), "70 packets more without an event");
        assert_eq!(mean(&lengths, 1, 230.0), Some(230.0 / 3.0), "exactly at an event");
        assert_eq!(mean(&lengths, 1, 1e9), Some(830.0 / 5.0), "no more is known");
        assert_eq!(mean(&[], 4, 100.0), None);
    }

    /// The fault that the paper names: under perfectly periodic loss the estimate moves as events
    /// enter and leave.
    #[test]
    fn periodic_loss_gives_noise() {
        let at = |open: f64| mean(&[open, 100.0, 100.0, 100.0, 100.0, 100.0], 4, 450.0);
        assert_eq!(at(10.0), Some(450.0 / 5.0));
        assert_eq!(at(60.0), Some(450.0 / 4.0));
    }
}
