//! `cargo xtask traces`: writes the delivery traces of `scenarios/traces/` and their pictures.
//!
//! `docs/models/traces.md` has the models and their sources. Draws come from SplitMix64 with a seed
//! for each trace, and arithmetic is whole numbers or + − × ÷ of 64-bit floats: the files are equal
//! on every platform.

use std::fmt::Write as _;
use std::path::PathBuf;

use tfrc_units::hash::{GOLDEN_STEP, splitmix64};
use tfrc_units::{f64_from_u64, u64_from_f64};

use crate::{Outcome, root};

/// Times of the opportunities of a trace, in milliseconds.
type Model = fn(&mut Draws) -> Vec<u64>;

/// The traces: name, seed, model. The seed of `lte` is one whose longest outage is near the mean of
/// one second.
const TRACES: [(&str, u64, Model); 4] =
    [("cable", 1, cable), ("lte", 4, lte), ("satellite", 3, satellite), ("wifi", 2, wifi)];

/// Writes all files, and prints the figures of `docs/models/traces.md`.
pub(crate) fn write() -> Outcome {
    println!("| trace | period | mean | least and most over 1 s | longest time without an opportunity |");
    println!("| --- | --- | --- | --- | --- |");
    for (name, times) in all() {
        println!("{}", figures(name, &times));
        for (path, content) in files(name, &times) {
            let failed = |error| format!("{}: {error}", path.display());
            path.parent().map(std::fs::create_dir_all).transpose().map_err(failed)?;
            std::fs::write(&path, content).map_err(failed)?;
        }
    }
    Ok(())
}

/// The times of each trace, in milliseconds.
fn all() -> impl Iterator<Item = (&'static str, Vec<u64>)> {
    TRACES.into_iter().map(|(name, seed, model)| (name, model(&mut Draws(seed))))
}

fn files(name: &str, times: &[u64]) -> [(PathBuf, String); 2] {
    let text = times.iter().map(|at| format!("{at}\n")).collect();
    let place = |path: String| root().join(path);
    [
        (place(format!("scenarios/traces/{name}.trace")), text),
        (place(format!("docs/models/traces/{name}.svg")), picture(times)),
    ]
}

/// Upstream of a cable modem: grants every 2 ms of a rate that neighbours reduce.
fn cable(draws: &mut Draws) -> Vec<u64> {
    const PERIOD: u64 = 20_000;
    const MAP_MS: u64 = 2;
    const RATE: f64 = 10e6;
    let mut times = Vec::new();
    let (mut share, mut until, mut credit) = (1.0, 0, 0.0);
    for at in (MAP_MS..=PERIOD).step_by(2) {
        if at > until {
            share = [1.0, 1.0, 0.7, 0.5][draws.choice()];
            until = at + draws.between(500, 3_500);
        }
        credit += RATE * share * f64_from_u64(MAP_MS) / BITS_PER_SECOND_AND_MS;
        credit = grant(&mut times, at, credit);
    }
    closed(times, PERIOD)
}

/// LTE: Poisson deliveries of a rate that wanders, with outages.
fn lte(draws: &mut Draws) -> Vec<u64> {
    const PERIOD: u64 = 40_000;
    const TICK_MS: u64 = 20;
    const MOST: f64 = 1000.0;
    /// 200 opportunities per second and root of a second, over 20 ms: 200·√0.02.
    const STEP: f64 = 28.284_271;
    /// Chance of an outage to end within a tick: one in a second, in the mean.
    const ESCAPE: f64 = 0.02;
    const AFTER_OUTAGE: f64 = 100.0;
    let mut times = Vec::new();
    let mut rate: f64 = 500.0;
    for tick in 0..PERIOD / TICK_MS {
        if rate > 0.0 {
            rate = (rate + STEP * draws.normal()).clamp(0.0, MOST);
        } else if draws.uniform() < ESCAPE {
            rate = AFTER_OUTAGE;
        }
        for at in tick * TICK_MS + 1..=(tick + 1) * TICK_MS {
            // Ten chances in a millisecond: Poisson, but for ten at most.
            let came = (0..10).filter(|_| draws.uniform() < rate / 1e4).count();
            times.extend(std::iter::repeat_n(at, came));
        }
    }
    closed(times, PERIOD)
}

/// A satellite's uplink that is allocated anew every 15 s.
fn satellite(draws: &mut Draws) -> Vec<u64> {
    const PERIOD: u64 = 60_000;
    const SPAN_MS: u64 = 15_000;
    let mut times = Vec::new();
    let (mut level, mut factor, mut silent_until, mut credit) = (0.0, 1.0, 0, 0.0);
    for at in 1..=PERIOD {
        if at % SPAN_MS == 1 {
            level = f64_from_u64(draws.between(3_000, 9_000)) * 1e3;
            silent_until = at + draws.between(100, 300);
            credit = 0.0;
        }
        if at % 500 == 1 {
            factor = f64_from_u64(draws.between(80, 120)) / 100.0;
        }
        if at >= silent_until {
            credit = grant(&mut times, at, credit + level * factor / BITS_PER_SECOND_AND_MS);
        }
    }
    closed(times, PERIOD)
}

/// A Wi-Fi station among others: aggregates of several packets after waits for the medium.
fn wifi(draws: &mut Draws) -> Vec<u64> {
    const PERIOD: u64 = 20_000;
    /// Packets of an aggregate and bits per microsecond: 64-QAM, 16-QAM and BPSK in 20 MHz.
    const STATES: [(u64, u64, u64); 3] = [(24, 65, 1), (12, 26, 1), (4, 13, 2)];
    let mut times = Vec::new();
    let (mut now_us, mut state) = (0, STATES[0]);
    loop {
        if draws.uniform() < 0.01 {
            state = STATES[draws.choice() % STATES.len()];
        }
        let others = (0..draws.between(0, 8)).map(|_| draws.between(1_000, 4_000)).sum::<u64>();
        let backoff = 34 + 9 * draws.between(0, 15);
        let (packets, bits, microseconds) = state;
        now_us += others + backoff + packets * OPPORTUNITY_BITS * microseconds / bits;
        let at = now_us.div_ceil(1000);
        if at > PERIOD {
            return closed(times, PERIOD);
        }
        times.extend((0..packets).map(|_| at));
    }
}

/// Adds the whole opportunities of a credit, and gives what is left.
fn grant(times: &mut Vec<u64>, at: u64, credit: f64) -> f64 {
    let whole = u64_from_f64(credit);
    times.extend((0..whole).map(|_| at));
    credit - f64_from_u64(whole)
}

/// The trace ends with its period.
fn closed(mut times: Vec<u64>, period: u64) -> Vec<u64> {
    if times.last() != Some(&period) {
        times.push(period);
    }
    times
}

/// A row of the page's table.
fn figures(name: &str, times: &[u64]) -> String {
    let period = times.last().copied().unwrap_or(1);
    let mbit = |count: u64, ms: u64| f64_from_u64(count * OPPORTUNITY_BITS) / f64_from_u64(ms) / 1e3;
    let seconds: Vec<u64> = counts(times, 1000);
    let gap = times.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0);
    let (least, most) = (seconds.iter().min(), seconds.iter().max());
    format!(
        "| `{name}` | {} s | {:.2} Mbit/s | {:.2} to {:.2} Mbit/s | {gap} ms |",
        period / 1000,
        mbit(times.len() as u64, period),
        mbit(least.copied().unwrap_or(0), 1000),
        mbit(most.copied().unwrap_or(0), 1000),
    )
}

/// Opportunities in each interval of the period.
fn counts(times: &[u64], every_ms: u64) -> Vec<u64> {
    let period = times.last().copied().unwrap_or(0);
    let mut counts = vec![0; (period / every_ms) as usize];
    for at in times {
        counts[((at.saturating_sub(1)) / every_ms) as usize] += 1;
    }
    counts
}

/// The rate over 100 ms against time.
fn picture(times: &[u64]) -> String {
    const WIDTH: u64 = 600;
    const HEIGHT: u64 = 120;
    let counts = counts(times, 100);
    let most = counts.iter().copied().max().unwrap_or(1).max(1);
    let seconds = times.last().copied().unwrap_or(0) / 1000;
    let mut svg = String::from(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"-50 -10 670 160\" font-family=\"sans-serif\" \
         font-size=\"11\" fill=\"#777\">\n<path fill=\"none\" stroke=\"#4477aa\" d=\"M",
    );
    let width = counts.len().max(1) as u64;
    for (i, count) in counts.iter().enumerate() {
        let _ = write!(svg, " {} {}", i as u64 * WIDTH / width, HEIGHT - count * HEIGHT / most);
    }
    let top = f64_from_u64(most * OPPORTUNITY_BITS) / 1e5;
    let _ = write!(
        svg,
        "\"/>\n<path fill=\"none\" stroke=\"#777\" d=\"M0 0V{HEIGHT}H{WIDTH}\"/>\n\
         <text x=\"-4\" y=\"4\" text-anchor=\"end\">{top:.0} Mbit/s</text>\n\
         <text x=\"-4\" y=\"{HEIGHT}\" text-anchor=\"end\">0</text>\n\
         <text x=\"0\" y=\"{0}\">0 s</text>\n\
         <text x=\"{WIDTH}\" y=\"{0}\" text-anchor=\"end\">{seconds} s</text>\n</svg>\n",
        HEIGHT + 16
    );
    svg
}

/// Bits of an opportunity: 1504 bytes.
const OPPORTUNITY_BITS: u64 = 12_032;
/// Bits per second of one opportunity in each millisecond.
const BITS_PER_SECOND_AND_MS: f64 = 12_032_000.0;

/// Draws of one trace: the state of SplitMix64.
struct Draws(u64);

impl Draws {
    fn bits(&mut self) -> u64 {
        let bits = splitmix64(self.0);
        self.0 = self.0.wrapping_add(GOLDEN_STEP);
        bits
    }

    /// From 0 up to 1.
    fn uniform(&mut self) -> f64 {
        f64_from_u64(self.bits() >> 11) / f64_from_u64(1 << 53)
    }

    /// A whole number, both ends included.
    fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.bits() % (high - low + 1)
    }

    /// A random number from 0 to 3.
    fn choice(&mut self) -> usize {
        (self.bits() >> 62) as usize
    }

    /// Mean 0 and variance 1: the sum of twelve uniform draws, less six.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_are_what_the_models_give() {
        for (name, times) in all() {
            for (path, content) in files(name, &times) {
                let kept = std::fs::read_to_string(&path).unwrap_or_default();
                assert!(kept == content, "{}: run `cargo xtask traces`", path.display());
            }
        }
    }

    #[test]
    fn the_page_has_the_figures() {
        let page = std::fs::read_to_string(root().join("docs/models/traces.md")).unwrap_or_default();
        for (name, times) in all() {
            let row = figures(name, &times);
            assert!(page.contains(&row), "docs/models/traces.md lacks {row}");
        }
    }

    /// The traces are built into the program.
    #[test]
    fn the_traces_are_small() {
        let bytes: usize =
            all().flat_map(|(name, times)| files(name, &times)).map(|(_, text)| text.len()).sum();
        assert!(bytes < 700_000, "{bytes} bytes");
    }
}
