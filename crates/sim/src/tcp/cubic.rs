//! The window of CUBIC (RFC 9438), in segments and seconds.

use tfrc_units::{Duration, Instant};

use super::study::{FastConvergence, RenoRegion};

/// The window after a loss over the window before (RFC 9438 §4.6).
pub(crate) const BETA: f64 = 0.7;
/// Segments per cubic second (§5).
const C: f64 = 0.4;
/// The growth that makes an AIMD with BETA as fast as Reno (§4.3).
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

/// State of CUBIC between changes of the window.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cubic {
    w_max: f64,
    /// The window when ssthresh was last set.
    before: f64,
    plateau: Plateau,
    reno_region: RenoRegion,
    epoch: Option<Epoch>,
}

/// Where the plateau of the next epoch is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Plateau {
    /// At the window where it begins: after a timeout, and after the first slow start if no loss
    /// ended it.
    Here,
    /// At `w_max`.
    Max,
}

/// One stage of congestion avoidance.
#[derive(Debug, Clone, Copy)]
struct Epoch {
    start: Instant,
    k: f64,
    w_est: f64,
}

impl Cubic {
    pub(crate) const fn new(reno_region: RenoRegion) -> Self {
        Self { w_max: 0.0, before: f64::INFINITY, plateau: Plateau::Here, reno_region, epoch: None }
    }

    /// A loss or an echo at this window (§4.6, §4.7).
    pub(crate) fn reduce(&mut self, cwnd: f64, fast_convergence: FastConvergence) {
        let below = cwnd < self.w_max && fast_convergence == FastConvergence::On;
        self.w_max = if below { cwnd * (1.0 + BETA) / 2.0 } else { cwnd };
        self.before = cwnd;
        self.plateau = Plateau::Max;
        self.epoch = None;
    }

    /// A timeout at this window (§4.8).
    pub(crate) fn time_out(&mut self, cwnd: f64) {
        self.reduce(cwnd, FastConvergence::Off);
        self.plateau = Plateau::Here;
    }

    /// The window after an acknowledgement of `acked` segments in congestion avoidance (§4.2 to
    /// §4.5). It is not made smaller.
    pub(crate) fn grow(&mut self, now: Instant, cwnd: f64, acked: f64, rtt: Duration) -> f64 {
        if self.epoch.is_none() && (self.plateau == Plateau::Here || self.w_max < cwnd) {
            self.w_max = cwnd;
            self.before = self.before.min(cwnd);
            self.plateau = Plateau::Max;
        }
        let w_max = self.w_max;
        let epoch = self.epoch.get_or_insert_with(|| Epoch {
            start: now,
            k: libm::cbrt((w_max - cwnd) / C),
            w_est: cwnd,
        });
        let curve = |t: f64| C * (t - epoch.k) * (t - epoch.k) * (t - epoch.k) + w_max;
        let t = now.saturating_since(epoch.start).as_secs_f64();
        let alpha = if epoch.w_est >= self.before { 1.0 } else { ALPHA };
        let w_est = epoch.w_est + alpha * acked / cwnd;
        let at_now = curve(t);
        let target = curve(t + rtt.as_secs_f64()).clamp(cwnd, 1.5 * cwnd);
        epoch.w_est = w_est;
        let is_reno = at_now < w_est && self.reno_region == RenoRegion::On;
        if is_reno { w_est.max(cwnd) } else { cwnd + (target - cwnd) / cwnd * acked }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(s: f64) -> Instant {
        Instant::ZERO + Duration::from_secs_f64(s)
    }

    fn near(x: f64, y: f64, tolerance: f64) -> bool {
        (x - y).abs() <= tolerance
    }

    #[test]
    fn one_step_at_the_start_of_an_epoch() {
        // Worked out by hand from RFC 9438 §4.2 and §4.3: W_max 100, window 70, RTT 0.1 s: +
        // 0.029770 by the curve; W_est + 0.007563.
        let mut cubic = Cubic::new(RenoRegion::On);
        cubic.reduce(100.0, FastConvergence::On);
        let cwnd = cubic.grow(at(5.0), 70.0, 1.0, Duration::from_millis(100));
        // Wc(0) = 70 < W_est = 70.007563: Reno's region comes first.
        assert!(near(cwnd, 70.007_563, 1e-6), "{cwnd}");
        assert!(cubic.epoch.is_some_and(|e| near(e.k, 4.217_163, 1e-6)));
        // A second later the curve leads: Wc(1) = 86.681, bounded by the step towards Wc(1.1).
        let cwnd = cubic.grow(at(6.0), 70.0, 1.0, Duration::from_millis(100));
        let target = 100.0 - 0.4 * libm::pow(4.217_163 - 1.1, 3.0);
        assert!(near(cwnd, 70.0 + (target - 70.0) / 70.0, 1e-6), "{cwnd}");
    }

    #[test]
    fn without_renos_region_the_curve_is_alone() {
        // As above: Wc(0.1) = 100 − 0.4·(4.217163 − 0.1)³ is the target of the first step.
        let mut cubic = Cubic::new(RenoRegion::Off);
        cubic.reduce(100.0, FastConvergence::On);
        let cwnd = cubic.grow(at(5.0), 70.0, 1.0, Duration::from_millis(100));
        let target = 100.0 - 0.4 * libm::pow(4.217_163 - 0.1, 3.0);
        assert!(near(cwnd, 70.0 + (target - 70.0) / 70.0, 1e-6), "{cwnd}");
    }

    #[test]
    fn the_curve() {
        let mut cubic = Cubic::new(RenoRegion::On);
        cubic.reduce(1000.0, FastConvergence::On);
        cubic.grow(at(0.0), 700.0, 0.0, Duration::ZERO);
        assert!(cubic.epoch.is_some_and(|e| near(e.k, 9.085_603, 1e-6)));
    }

    #[test]
    fn fast_convergence() {
        let mut cubic = Cubic::new(RenoRegion::On);
        cubic.reduce(120.0, FastConvergence::On);
        cubic.reduce(100.0, FastConvergence::On);
        assert!(near(cubic.w_max, 85.0, 1e-9));
        cubic.grow(at(0.0), 70.0, 0.0, Duration::ZERO);
        assert!(cubic.epoch.is_some_and(|e| near(e.k, 3.347_165, 1e-6)));
        let mut cubic = Cubic::new(RenoRegion::On);
        cubic.reduce(90.0, FastConvergence::On);
        cubic.reduce(100.0, FastConvergence::On);
        assert!(near(cubic.w_max, 100.0, 1e-9));
        let mut cubic = Cubic::new(RenoRegion::On);
        cubic.reduce(120.0, FastConvergence::Off);
        cubic.reduce(100.0, FastConvergence::Off);
        assert!(near(cubic.w_max, 100.0, 1e-9));
    }

    #[test]
    fn the_step_is_at_most_half_a_segment() {
        let mut cubic = Cubic::new(RenoRegion::On);
        cubic.reduce(100.0, FastConvergence::On);
        cubic.grow(at(0.0), 70.0, 1.0, Duration::ZERO);
        let cwnd = cubic.grow(at(60.0), 70.0, 1.0, Duration::ZERO);
        assert!(near(cwnd, 70.5, 1e-9), "{cwnd}");
    }

    #[test]
    fn convex_from_the_window_at_hand_after_a_timeout() {
        let mut cubic = Cubic::new(RenoRegion::On);
        cubic.time_out(100.0);
        cubic.grow(at(0.0), 40.0, 1.0, Duration::ZERO);
        assert!(cubic.epoch.is_some_and(|e| near(e.k, 0.0, 1e-12)) && near(cubic.w_max, 40.0, 1e-12));
    }

    #[test]
    fn the_window_follows_the_curve() {
        // A window of acknowledgements in each RTT of 0.2 s, for 6 s. Reno would be at 86 by then.
        let mut cubic = Cubic::new(RenoRegion::On);
        cubic.reduce(100.0, FastConvergence::On);
        let (mut cwnd, rtt) = (70.0, 0.2);
        let mut now = 0.0;
        while now < 6.0 {
            cwnd = cubic.grow(at(now), cwnd, 1.0, Duration::from_secs_f64(rtt));
            now += rtt / cwnd;
        }
        // RFC 9438 §4.2, worked out by hand: Wc(6) = 102.267.
        assert!(near(cwnd, 102.267, 0.3), "{cwnd}");
    }

    #[test]
    fn reno_friendly_region() {
        // At RTT 10 ms and window 10 the curve is slow: the window is W_est, which gains ALPHA in a
        // round-trip time and 1 from the old window on.
        let mut cubic = Cubic::new(RenoRegion::On);
        cubic.reduce(10.0, FastConvergence::On);
        let (mut cwnd, rtt) = (7.0, 0.01);
        let mut now = 0.0;
        let mut rounds = 0.0;
        while cwnd < 10.0 {
            cwnd = cubic.grow(at(now), cwnd, 1.0, Duration::from_secs_f64(rtt));
            now += rtt / cwnd;
            rounds += 1.0 / cwnd;
        }
        // 3 segments at 0.529 in a round-trip time.
        assert!(near(rounds, 3.0 / ALPHA, 0.15), "{rounds}");
        let begin = cwnd;
        for _ in 0..10 {
            cwnd = cubic.grow(at(now), cwnd, 1.0, Duration::from_secs_f64(rtt));
            now += rtt / cwnd;
        }
        assert!(near(cwnd - begin, 1.0, 0.1), "{}", cwnd - begin);
    }
}
