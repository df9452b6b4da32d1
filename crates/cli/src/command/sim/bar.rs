//! The progress bar of simulations, in virtual time.

use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicBool, Ordering};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use tfrc_units::{Duration, saturating};
use tfrc_world::watch::Watch;

use crate::args::Format;

/// Steps of the bar in each run.
const STEPS: f64 = 200.0;

/// Time after which a run is long enough for a bar.
const LONG: std::time::Duration = std::time::Duration::from_secs(1);

/// Virtual time done of all virtual time, on standard error.
#[derive(Debug)]
pub(super) struct RunsBar {
    bar: Option<ProgressBar>,
    /// The bar has been drawn.
    drawn: AtomicBool,
}

/// Place where standard error leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stderr {
    Elsewhere,
    Terminal,
}

impl Stderr {
    pub(super) fn of_process() -> Self {
        if io::stderr().is_terminal() { Self::Terminal } else { Self::Elsewhere }
    }
}

impl RunsBar {
    /// A bar for runs of so much virtual time together. It shows itself after a second, on a
    /// terminal, and never together with a stream.
    pub(super) fn new(total: Duration, format: Format, stderr: Stderr) -> Self {
        let wanted = stderr == Stderr::Terminal && format != Format::JsonStream;
        let bar = wanted.then(|| {
            let bar = ProgressBar::with_draw_target(Some(milliseconds(total)), ProgressDrawTarget::hidden());
            let template = "{elapsed:>4} {bar:24} {percent:>3} %, {eta} left";
            ProgressStyle::with_template(template).map_or(bar.clone(), |style| bar.with_style(style))
        });
        Self { bar, drawn: AtomicBool::new(false) }
    }

    /// An observer that moves the bar while a run of this length goes on.
    pub(super) fn watch(&self, duration: Duration) -> Watch<'_> {
        let every = match self.bar {
            Some(_) => duration.mul_f64(1.0 / STEPS),
            None => duration,
        };
        Watch::time(every, |passed| self.add(passed))
    }

    /// Moves the bar by a time that has passed.
    pub(super) fn add(&self, passed: Duration) {
        let Some(bar) = &self.bar else { return };
        bar.inc(milliseconds(passed));
        if bar.elapsed() >= LONG && !self.drawn.swap(true, Ordering::Relaxed) {
            bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(5));
        }
    }

    /// Takes the bar away.
    pub(super) fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn milliseconds(time: Duration) -> u64 {
    saturating(time.as_nanos() / 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_for_people_alone_and_ends_where_the_runs_do() {
        let total = Duration::from_secs(40);
        for (format, stderr, wanted) in [
            (Format::Human, Stderr::Terminal, true),
            (Format::Json, Stderr::Terminal, true),
            (Format::JsonStream, Stderr::Terminal, false),
            (Format::Human, Stderr::Elsewhere, false),
        ] {
            assert_eq!(RunsBar::new(total, format, stderr).bar.is_some(), wanted);
        }
        let bar = RunsBar::new(total, Format::Json, Stderr::Terminal);
        for _ in 0..4 {
            bar.add(Duration::from_secs(10));
        }
        let inner = bar.bar.expect("a bar");
        assert_eq!((inner.position(), inner.length()), (40_000, Some(40_000)));
    }
}
