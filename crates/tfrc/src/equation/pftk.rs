//! The full model of Padhye, Firoiu, Towsley and Kurose (SIGCOMM 1998, "PFTK", its equations (29)
//! to (32)): a Reno TCP with fast retransmit, timeouts with backoff and a receive window, of which
//! the equation of TFRC is an approximation.

use tfrc_units::Duration;

/// The window that TCP's receiver offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReceiveWindow {
    /// So large that it never matters.
    Unlimited,
    /// W_max, in packets, at least 1.
    Packets(u32),
}

/// Time per packet in seconds; zero at p = 0 without a receive window.
pub(super) fn seconds_per_packet(
    rtt: Duration,
    timeout: Duration,
    p: f64,
    packets_per_ack: f64,
    window: ReceiveWindow,
) -> f64 {
    let (rtt, timeout, b) = (rtt.as_secs_f64(), timeout.as_secs_f64(), packets_per_ack);
    let most = match window {
        ReceiveWindow::Unlimited => f64::INFINITY,
        ReceiveWindow::Packets(packets) => f64::from(packets.max(1)),
    };
    if p <= 0.0 {
        return rtt / most;
    }
    let kept = 1.0 - p;
    let c = (2.0 + b) / (3.0 * b);
    let unlimited = c + libm::sqrt(8.0 * kept / (3.0 * b * p) + c * c);
    let (w, rounds) = if unlimited < most {
        (unlimited, b * unlimited / 2.0 + 1.0)
    } else {
        (most, b * most / 8.0 + kept / (p * most) + 2.0)
    };
    let q = timeout_chance(p, w);
    let backoff = 1.0 + p * (1.0 + p * (2.0 + p * (4.0 + p * (8.0 + p * (16.0 + p * 32.0)))));
    // Numerator and denominator of the model, both times 1 - p so that p = 1 is not a special case.
    let packets = kept * kept / p + kept * w + q;
    (kept * rtt * rounds + q * timeout * backoff) / packets
}

/// Q, the chance that a loss indication in a window of `w` is a timeout.
fn timeout_chance(p: f64, w: f64) -> f64 {
    if w <= 3.0 {
        return 1.0;
    }
    // 1 - (1-p)^n without cancellation at small p.
    let lost_within = |n: f64| -libm::expm1(n * libm::log1p(-p));
    let three = lost_within(3.0);
    let kept_three = 1.0 - three;
    (three * (1.0 + kept_three * lost_within(w - 3.0)) / lost_within(w)).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(100);

    fn packets_per_rtt(p: f64, b: f64, window: ReceiveWindow) -> f64 {
        0.1 / seconds_per_packet(RTT, RTT * 4, p, b, window)
    }

    /// By hand at p = 0.5, b = 1: W = 1 + √(8/3 + 1) = 2.91485, so Q = 1. Numerator 1 + W + 2 =
    /// 5.91485. The backoff is 1 and six terms of one half, 4. Denominator R·(W/2 + 1) + 2·4R·4 =
    /// 34.45743·R.
    #[test]
    fn one_value_by_hand() {
        let got = packets_per_rtt(0.5, 1.0, ReceiveWindow::Unlimited);
        assert!((got - 5.914_854 / 34.457_427).abs() < 1e-6, "{got}");
    }

    /// At p = 1 every packet waits for the longest backoff: 63 timeouts.
    #[test]
    fn everything_lost() {
        let got = packets_per_rtt(1.0, 1.0, ReceiveWindow::Unlimited);
        assert!((got * 4.0 * 64.0 - 1.0).abs() < 1e-9, "{got}");
    }

    /// With little loss the simple law √(3/2bp) holds, and a receive window of W gives nearly W
    /// packets per round-trip time.
    #[test]
    fn limits_at_little_loss() {
        for b in [1.0, 2.0] {
            let got = packets_per_rtt(1e-9, b, ReceiveWindow::Unlimited);
            let simple = libm::sqrt(1.5 / (b * 1e-9));
            assert!((got / simple - 1.0).abs() < 1e-3, "{got} against {simple}");
        }
        for (p, low, high) in [(0.0, 8.0, 8.0), (1e-9, 7.999_99, 8.0), (0.01, 5.0, 7.0)] {
            let got = packets_per_rtt(p, 1.0, ReceiveWindow::Packets(8));
            assert!((low..=high).contains(&got), "{p}: {got}");
        }
    }
}
