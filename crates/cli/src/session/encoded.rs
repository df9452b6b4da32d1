//! Figures of the encoder that feeds a session: pictures, bytes, and how it keeps up.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tfrc_report::record::Summary;
use tfrc_world::results::Interval;

use super::as_f64;

/// Share of real time below which an encoder does not keep up, and reports in a row that say so:
/// one alone may be the start of a machine's other work.
const SLOW: (f64, u32) = (0.95, 3);
/// Time after which the last report says nothing of the present: the encoder makes one each second.
const STALE: Duration = Duration::from_secs(3);

/// The figures of an encoder, as they come in.
#[derive(Debug, Clone)]
pub(crate) struct Encoded {
    /// The name of the source, for sentences.
    pub(crate) source: String,
    /// Pictures a second that are wanted.
    wanted: f64,
    /// The longest time without data.
    pub(crate) patience: Duration,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    /// Counts since the first picture.
    total: Counts,
    /// Those of the last second.
    last: Counts,
    /// When they came.
    at: Option<Instant>,
    /// Reports in a row of an encoder that does not keep up.
    slow: u32,
    /// The user has been told.
    told: bool,
}

/// Pictures and bytes in a time.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Counts {
    pictures: u64,
    bytes: u64,
    seconds: f64,
}

impl Encoded {
    #[cfg_attr(not(any(target_os = "linux", test)), expect(dead_code, reason = "`stream` is Linux's"))]
    pub(crate) fn new(source: String, wanted: f64, patience: Duration) -> Self {
        Self { source, wanted, patience, state: Arc::default() }
    }

    /// Takes a line of the encoder: `encoded PICTURES BYTES SECONDS`, counted from its first
    /// picture. Returns false for other words.
    #[cfg_attr(not(any(target_os = "linux", test)), expect(dead_code, reason = "`stream` is Linux's"))]
    pub(crate) fn take(&self, line: &str) -> bool {
        let Some(total) = line.strip_prefix("encoded ").and_then(Counts::read) else { return false };
        let mut state = self.lock();
        let last = Counts {
            pictures: total.pictures.saturating_sub(state.total.pictures),
            bytes: total.bytes.saturating_sub(state.total.bytes),
            seconds: total.seconds - state.total.seconds,
        };
        if last.seconds > 0.0 {
            let is_slow = last.fps() < SLOW.0 * self.wanted;
            let slow = if is_slow { state.slow.saturating_add(1) } else { 0 };
            *state = State { total, last, at: Some(Instant::now()), slow, told: state.told && is_slow };
        }
        true
    }

    /// Adds the figures of the last second to an interval; an encoder that stands still has none.
    pub(crate) fn note(&self, interval: &mut Interval) {
        let state = self.lock();
        let Some(at) = state.at else { return };
        let now =
            if at.elapsed() < STALE { state.last } else { Counts { seconds: 1.0, ..Counts::default() } };
        interval.encoder_fps = Some(now.fps());
        interval.encoder_rate_bps = Some(now.rate_bps());
        interval.encoder_speed = Some(now.fps() / self.wanted);
    }

    /// Adds the means over the run to its summary; a phrase about a run in which the encoder did
    /// not keep up.
    pub(crate) fn sum_up(&self, summary: &mut Summary) -> Option<String> {
        let total = self.lock().total;
        if total.seconds <= 0.0 {
            return None;
        }
        let (fps, speed) = (total.fps(), total.fps() / self.wanted);
        summary.encoder_fps = Some(fps);
        summary.encoder_rate_bps = Some(total.rate_bps());
        summary.encoder_speed = Some(speed);
        let phrase = format!("the encoder did not keep up: {fps:.1} pictures a second, speed {speed:.2}x");
        (speed < SLOW.0).then_some(phrase)
    }

    /// A warning, once, if the encoder does not keep up.
    pub(crate) fn warning(&self) -> Option<String> {
        let mut state = self.lock();
        if state.slow < SLOW.1 || std::mem::replace(&mut state.told, true) {
            return None;
        }
        let (fps, wanted) = (state.last.fps(), self.wanted);
        Some(format!(
            "warning: the encoder makes {fps:.1} of {wanted:.0} pictures a second, speed {:.2}x: this machine is \
             too slow for it; a smaller --size or fewer --fps would do",
            fps / wanted
        ))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Counts {
    fn read(text: &str) -> Option<Self> {
        let mut words = text.split_whitespace();
        let (pictures, bytes) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        let seconds: f64 = words.next()?.parse().ok()?;
        (seconds.is_finite() && words.next().is_none()).then_some(Self { pictures, bytes, seconds })
    }

    fn fps(self) -> f64 {
        if self.seconds > 0.0 { as_f64(self.pictures) / self.seconds } else { 0.0 }
    }

    fn rate_bps(self) -> f64 {
        if self.seconds > 0.0 { as_f64(self.bytes) * 8.0 / self.seconds } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_encoder_that_does_not_keep_up_is_visible() {
        let encoded = Encoded::new("in.mp4".to_owned(), 25.0, Duration::from_secs(10));
        let mut interval = Interval::default();
        encoded.note(&mut interval);
        assert_eq!((interval.encoder_fps, encoded.sum_up(&mut Summary::default())), (None, None));
        for other in
            ["no picture came from it", "encoded", "encoded 1 2", "encoded 1 2 inf", "encoded 1 2 3 4"]
        {
            assert!(!encoded.take(other), "{other}");
        }
        // Two seconds in time, then half of the pictures.
        for (second, pictures, warns) in
            [(1, 25, false), (2, 50, false), (3, 62, false), (4, 74, false), (5, 87, true), (6, 99, false)]
        {
            assert!(encoded.take(&format!("encoded {pictures} {} {second}.0", pictures * 1000)));
            let warning = encoded.warning();
            assert_eq!(warning.is_some(), warns, "{second}: {warning:?}");
            assert!(
                warning.is_none_or(|text| text.contains("13.0 of 25 pictures") && text.contains("0.52x"))
            );
        }
        encoded.note(&mut interval);
        let figures = (interval.encoder_fps, interval.encoder_rate_bps, interval.encoder_speed);
        assert_eq!(figures, (Some(12.0), Some(96_000.0), Some(0.48)));
        let mut summary = Summary::default();
        let phrase = encoded.sum_up(&mut summary);
        assert_eq!((summary.encoder_fps, summary.encoder_speed), (Some(16.5), Some(0.66)));
        assert!(phrase.is_some_and(|text| text.contains("speed 0.66x")));
        // It recovers, and falls again.
        for (second, pictures, warns) in [(7, 124, false), (8, 125, false), (9, 126, false), (10, 127, true)]
        {
            encoded.take(&format!("encoded {pictures} 0 {second}.0"));
            assert_eq!(encoded.warning().is_some(), warns, "{second}");
        }
    }
}
