//! Parts that `send`, `recv` and `demo` share: sampling a connection into records, counts, files,
//! and how a session ended.

mod connect;
mod encoded;
mod ending;
pub(crate) mod files;
pub(crate) mod listen;
mod log_limit;
mod privacy;
mod sampler;
mod tally;

pub(crate) use connect::{Callee, IpVersions, connect, resolve};
pub(crate) use encoded::Encoded;
pub(crate) use ending::{
    Ending, at_receiver, clash, count, counted, is_proper, not_whole, why_not_connected, why_refused,
};
pub(crate) use files::{Access, close_standard_output, held};
pub(crate) use log_limit::{LogLimit, LogRate};
#[cfg(not(feature = "quic"))]
pub(crate) use privacy::without_quic;
pub(crate) use privacy::{Does, Privacy, only_dccp};
#[cfg(feature = "quic")]
pub(crate) use privacy::{forget_host, renew_key, show_key};
pub(crate) use sampler::Sampler;
pub(crate) use tally::{as_f64, complete};
pub(crate) use tfrc_session::{
    ClosingWord, Connection, DatagramSource, DatagramWriter, Endpoint, Existing, FileOutcome, FileSent,
    FileSource, FileState, FileTaker, FileWay, Inbox, Output, OutputPlan, Pace, Part, Tally, Trouble,
    UdpInCounts, UdpOut, UdpOutCounts, UdpSource, Written, comes_back, dropped_by_system, on_disk, pump_file,
    why,
};

use std::future::Future;
use std::net::SocketAddr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tfrc_report::record::{Role, Start};
use tokio::task::{JoinError, JoinHandle};

use crate::{Failure, limits};

/// Time that an idle thread for blocking work is kept: as long as the process may run.
const KEPT: Duration = Duration::from_hours(365 * 24);

/// Time between two samples.
pub(crate) const SAMPLE: Duration = Duration::from_millis(100);

/// Regular times to look at something. Times missed while the process stood still are skipped: they
/// would all come at once.
pub(crate) fn ticks(period: std::time::Duration) -> tokio::time::Interval {
    let mut ticks = tokio::time::interval(period);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
    ticks
}

/// The command line of this process, for the record of a run.
pub(crate) fn command_line() -> String {
    let mut words = std::env::args().skip(1).peekable();
    // The inner half of `tfrc emu` has the outer's arguments after its own: `--read-before N`.
    let emu = words.next_if(|word| word == "emu-inside").map(|_| "emu".to_owned());
    if emu.is_some() {
        words.nth(1);
    }
    let quoted = emu.into_iter().chain(words).map(|word| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+[]".contains(c);
        if !word.is_empty() && word.chars().all(plain) {
            word
        } else {
            format!("'{}'", word.replace('\'', r"'\''"))
        }
    });
    std::iter::once("tfrc".to_owned()).chain(quoted).collect::<Vec<_>>().join(" ")
}

/// The name and version of this program.
pub(crate) fn version() -> String {
    format!("tfrc {}", env!("CARGO_PKG_VERSION"))
}

/// The present as date and time in UTC, to the millisecond (RFC 3339).
pub(crate) fn date_and_time() -> String {
    humantime::format_rfc3339_millis(dated(SystemTime::now())).to_string()
}

/// A time that has a date of four digits: the beginning of 1970 for any other.
pub(crate) fn dated(time: SystemTime) -> SystemTime {
    let end_of_9999 = UNIX_EPOCH + Duration::from_hours(24 * 2_932_897);
    if (UNIX_EPOCH..end_of_9999).contains(&time) { time } else { UNIX_EPOCH }
}

/// The start of a run in real time, which begins now.
pub(crate) fn start(role: Role) -> Start {
    Start { started_at: Some(date_and_time()), ..Start::new(role, version(), command_line()) }
}

/// An address as people write it: an IPv4 address is not shown as one of IPv6.
pub(crate) fn shown(address: SocketAddr) -> String {
    SocketAddr::new(address.ip().to_canonical(), address.port()).to_string()
}

/// Does blocking work next to the protocol. Work that blocks indefinitely does not hold up the end
/// of the process.
pub(crate) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    outcome(tokio::task::spawn_blocking(work).await).await
}

/// A task that ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Task<T> {
    /// `None` once its end has been seen.
    handle: Option<JoinHandle<T>>,
}

impl<T: Send + 'static> Task<T> {
    /// Begins to do some work on the protocol's thread.
    pub(crate) fn start(work: impl Future<Output = T> + Send + 'static) -> Self {
        Self { handle: Some(tokio::spawn(work)) }
    }

    /// Waits for the end, which is seen once. A panic goes on here. Cancel-safe.
    pub(crate) async fn ended(&mut self) -> T {
        let Some(handle) = &mut self.handle else { return std::future::pending().await };
        let ended = handle.await;
        self.handle = None;
        outcome(ended).await
    }

    /// Ends the task, and waits until all that it held is dropped.
    pub(crate) async fn end(mut self) {
        if let Some(handle) = self.handle.take() {
            handle.abort();
            let _ = handle.await;
        }
    }

    /// Returns true once the task has ended.
    pub(crate) fn is_finished(&self) -> bool {
        self.handle.as_ref().is_none_or(JoinHandle::is_finished)
    }
}

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        if let Some(handle) = &self.handle {
            handle.abort();
        }
    }
}

/// The result of a task. A panic in it goes on here; a runtime that ends leaves nothing to wait
/// for.
async fn outcome<T>(ended: Result<T, JoinError>) -> T {
    match ended {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => std::future::pending().await,
        },
    }
}

/// Runs a future to its end. One thread has the protocol, the data and all tasks; the future runs
/// on the caller's thread, so that a terminal or a pipe that takes no words holds up the words
/// alone. What the future does for each datagram belongs into a [`Task`].
///
/// # Errors
/// Those of the future; [`Failure::Run`] if the system gives too few threads or descriptors.
pub(crate) fn block_on<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let refused = |error: std::io::Error| Failure::io(&"cannot start", &error);
    // tokio panics where it finds no thread.
    limits::check_threads().map_err(refused)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .thread_keep_alive(KEPT)
        .enable_all()
        .build()
        .map_err(refused)?;
    let handle = runtime.handle().clone();
    let (end, ended) = tokio::sync::oneshot::channel::<()>();
    let protocol = limits::thread("protocol", move || {
        // The other end is dropped when the work is done.
        let _ = runtime.block_on(ended);
        // A read of standard input that nobody waits for must not hold up the end.
        runtime.shutdown_background();
    })
    .map_err(refused)?;
    let outcome = handle.block_on(async {
        // With one thread for blocking work, more work waits for it where the system gives no
        // other.
        blocking(|| ()).await;
        work.await
    });
    drop(end);
    let _ = protocol.join();
    outcome
}
