//! How late packets leave at 1,000 a second, compared with a bare timerfd that wakes a thread for
//! each, in the same run.
//!
//! ```text
//! cargo bench -p tfrc-net --bench pacing -- [--seconds 10]
//! ```

#![expect(clippy::disallowed_macros, clippy::disallowed_methods, reason = "a benchmark measures and prints")]

use std::error::Error;
use std::net::SocketAddr;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::time::{
    ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, clock_gettime,
    timerfd_create, timerfd_settime,
};
use tfrc_net::options::{Common, Listen};
use tfrc_net::{Endpoint, Options, Recordings};

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

const PERIOD_NS: i64 = 1_000_000;
const BYTES: usize = 1000;

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().collect();
    let seconds = words.iter().position(|word| word == "--seconds").and_then(|i| words.get(i + 1));
    let seconds: u64 = seconds.map_or(Ok(10), |text| text.parse())?;
    let bare = thread::spawn(move || bare(seconds));
    let bare_late = bare.join().map_err(|_| "panicked")??;
    let (late, cpu) = ours(seconds)?;
    let show = |name: &str, late: &[f64]| {
        println!(
            "{name:14} {:6} packets, late by p50 {:6.1} us, p99 {:7.1} us",
            late.len(),
            quantile(late, 0.5),
            quantile(late, 0.99)
        );
    };
    show("bare timerfd", &bare_late);
    show("tfrc-net", &late);
    println!(
        "beyond the bare timerfd: p50 {:.1} us, p99 {:.1} us; sender's thread {:.1} % of a core",
        quantile(&late, 0.5) - quantile(&bare_late, 0.5),
        quantile(&late, 0.99) - quantile(&bare_late, 0.99),
        cpu * 100.0
    );
    Ok(())
}

/// Of sorted values.
fn quantile(sorted: &[f64], q: f64) -> f64 {
    sorted.get((q * sorted.len() as f64) as usize).copied().unwrap_or(f64::NAN)
}

fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    values
}

fn now(clock: ClockId) -> i64 {
    let time = clock_gettime(clock);
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// How late a thread wakes up.
fn bare(seconds: u64) -> Result<Vec<f64>> {
    let fd = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC)?;
    let mut at = now(ClockId::Monotonic);
    let mut woken = Vec::new();
    for _ in 0..seconds * 1000 {
        at += PERIOD_NS;
        let value = Timespec { tv_sec: at / 1_000_000_000, tv_nsec: at % 1_000_000_000 };
        let never = Timespec { tv_sec: 0, tv_nsec: 0 };
        timerfd_settime(
            &fd,
            TimerfdTimerFlags::ABSTIME,
            &Itimerspec { it_interval: never, it_value: value },
        )?;
        rustix::io::read(&fd, &mut [0u8; 8])?;
        woken.push(now(ClockId::Monotonic) as f64 / 1e3);
    }
    Ok(lateness(&woken))
}

/// Microseconds between when each packet was due and when it came, sorted. The next one is due a
/// millisecond after the last was, or half a millisecond after the last came if that was later
/// still: that is the pacing rule (`BurstCredit::RoundTripOrHalfGap`). Between two such new
/// beginnings the earliest packet counts as punctual.
fn lateness(times: &[f64]) -> Vec<f64> {
    let (gap, credit) = (PERIOD_NS as f64 / 1e3, PERIOD_NS as f64 / 2e3);
    let (mut all, mut since): (Vec<f64>, Vec<f64>) = (Vec::new(), Vec::new());
    let mut due = times.first().copied().unwrap_or_default();
    for time in times {
        since.push(time - due);
        due += gap;
        if time - (due - gap) > credit {
            due = time - credit + gap;
            settle(&mut since, &mut all);
        }
    }
    settle(&mut since, &mut all);
    sorted(all)
}

fn settle(since: &mut Vec<f64>, all: &mut Vec<f64>) {
    let least = since.iter().copied().fold(f64::INFINITY, f64::min);
    all.extend(since.drain(..).map(|late| late - least));
}

/// How late packets come; the sender's CPU.
fn ours(seconds: u64) -> Result<(Vec<f64>, f64)> {
    let (tell, address) = mpsc::channel();
    let reading = thread::spawn(move || -> Result<Vec<f64>> {
        runtime()?.block_on(async {
            let options = Options::from(Common { accept: Listen::One, ..Common::default() });
            let endpoint = Endpoint::bind(SocketAddr::from(([127, 0, 0, 1], 0)), &options)?;
            tell.send(endpoint.local_addr())?;
            let connection = endpoint.accept().await.ok_or("nobody came")?;
            let mut arrivals = Vec::new();
            while let Some(datagram) = connection.recv().await {
                arrivals.push(datagram.at.as_nanos() as f64 / 1e3);
            }
            connection.close().await;
            endpoint.shut_down().await?;
            Ok(arrivals)
        })
    });
    let to = address.recv()?;
    let cpu = thread::spawn(move || -> Result<f64> {
        runtime()?.block_on(async {
            let cap_bps = Some(1000.0 * 8.0 * BYTES as f64);
            let options = Options::from(Common { segment_bytes: BYTES as u32, cap_bps, ..Common::default() });
            let endpoint = Endpoint::towards(to, &options, Recordings::default())?;
            let connection = endpoint.connect(to).await?;
            let (begin, before) = (Instant::now(), now(ClockId::ThreadCPUTime));
            while begin.elapsed() < Duration::from_secs(seconds + 1) {
                connection.send(vec![1; BYTES]).await?;
            }
            let used = (now(ClockId::ThreadCPUTime) - before) as f64 / begin.elapsed().as_nanos() as f64;
            connection.flushed().await;
            connection.close().await;
            endpoint.shut_down().await?;
            Ok(used)
        })
    })
    .join()
    .map_err(|_| "the sender panicked")??;
    let arrivals = reading.join().map_err(|_| "the receiver panicked")??;
    // The first second is slow start.
    let steady = arrivals.get(1000..).ok_or("too few packets")?;
    Ok((lateness(steady), cpu))
}

fn runtime() -> Result<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?)
}
