//! Ctrl-C: the first ends the run cleanly, so that it still has its summary; the second aborts with
//! the summary so far. A terminal that goes away counts like the first, with SIGHUP and without.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use tfrc_report::record::{Outcome, Record, Summary};
use tokio::sync::watch;

use crate::reporter::{Reporter, ReporterConfig};
use crate::visible::to_stderr;
use crate::{limits, live};

/// The longest time for the last output of an aborted run: its reader may have stopped.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// The longest time for the answer to the first Ctrl-C.
const NOTICE: Duration = Duration::from_millis(100);

/// The longest time in which a peer is told of an aborted run, and may answer: a round trip of most
/// paths.
const FAREWELL: Duration = Duration::from_secs(1);

/// The user's wish.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Wish {
    None,
    /// The first Ctrl-C.
    End,
    /// The second.
    Abort,
}

/// The wish of the user to end.
#[derive(Debug, Clone)]
pub struct Interrupt {
    wished: watch::Receiver<Wish>,
    wish: watch::Sender<Wish>,
    last_words: Arc<Mutex<Option<LastWords>>>,
}

/// The summary of a run so far, for a run that is aborted.
#[derive(Debug, Clone)]
pub struct LastWords {
    /// How and where summaries are printed.
    pub config: ReporterConfig,
    /// The figures so far.
    pub summary: Summary,
    /// The end of the run when it is aborted.
    pub farewell: Farewell,
}

/// The end of a run when it is aborted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Farewell {
    /// It waits for [`Interrupt::aborted`], tells its peer, and ends by itself if that answers.
    Peer,
    /// Nothing.
    None,
}

impl Interrupt {
    /// Takes over Ctrl-C (and, on Unix, SIGTERM and SIGHUP, which count like Ctrl-C) for the rest
    /// of the process. SIGHUP never counts as the second: a shell and the kernel both send it when
    /// a window is shut.
    ///
    /// The signals are watched by a thread of their own, so that the second aborts even a run that
    /// hangs.
    ///
    /// # Errors
    /// When the system gives no thread, no descriptors or no signal handler.
    pub fn install() -> io::Result<Self> {
        limits::check_descriptors()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (wish, wished) = watch::channel(Wish::None);
        let sender = wish.clone();
        let mut signals = runtime.block_on(async { Signals::new() })?;
        let last_words = Arc::new(Mutex::new(None));
        let kept = Arc::clone(&last_words);
        thread::Builder::new().name("signals".to_owned()).spawn(move || {
            runtime.block_on(async {
                signals.next().await;
                // The run's own last line comes after this one. A chart is not written over.
                if !live::is_shown() {
                    within(NOTICE, || to_stderr("ending; Ctrl-C again aborts"));
                }
                let _ = sender.send(Wish::End);
                signals.next_but_hang_up().await;
                let _ = sender.send(Wish::Abort);
                let has_peer = kept
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .as_ref()
                    .is_some_and(|words: &LastWords| words.farewell == Farewell::Peer);
                if has_peer {
                    thread::sleep(FAREWELL);
                }
                within(LAST_WORDS, move || {
                    live::restore();
                    abort(kept.lock().unwrap_or_else(PoisonError::into_inner).take());
                });
                std::process::exit(1);
            });
        })?;
        // Without the thread only the signal is heard.
        let _ = watch_terminal(wish.clone());
        Ok(Self { wished, wish, last_words })
    }

    /// Returns true if the user has asked to end.
    #[must_use]
    pub fn is_wished(&self) -> bool {
        *self.wished.borrow() >= Wish::End
    }

    /// Asks to end, as the first Ctrl-C does.
    pub fn ask(&self) {
        ask(&self.wish);
    }

    /// Waits until the user asks to end; at once if that was before.
    pub async fn wished(&mut self) {
        self.reached(Wish::End).await;
    }

    /// Waits until the user aborts the run; at once if that was before. The process ends soon
    /// after.
    pub async fn aborted(&mut self) {
        self.reached(Wish::Abort).await;
    }

    async fn reached(&mut self, wish: Wish) {
        if self.wished.wait_for(|reached| *reached >= wish).await.is_err() {
            // The watching thread is gone, so nobody can wish any more.
            std::future::pending::<()>().await;
        }
    }

    /// Does some work unless the user asks to end first; `None` then.
    pub async fn or<T>(&mut self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            done = work => Some(done),
            () = self.wished() => None,
        }
    }

    /// Keeps the summary so far, in the place of an older one; `None` once the summary has been
    /// printed.
    pub fn keep(&self, words: Option<LastWords>) {
        *self.last_words.lock().unwrap_or_else(PoisonError::into_inner) = words;
    }
}

/// Speaks, but waits no longer than this for a pipe that nobody reads. Without a thread to be had
/// nothing is said: the next signal must be heard.
fn within(limit: Duration, speak: impl FnOnce() + Send + 'static) {
    let (said, all_said) = std::sync::mpsc::channel();
    let speaking = limits::thread("last words", move || {
        speak();
        said.send(())
    });
    if speaking.is_ok() {
        let _ = all_said.recv_timeout(limit);
    }
}

/// Time between two looks at the terminal, should the system not report its end.
#[cfg(unix)]
const LOOK: Duration = Duration::from_secs(1);

/// Asks to end when a terminal of standard output or standard error is gone: a process that is not
/// of its session gets no SIGHUP.
///
/// # Errors
/// If the system gives no thread.
#[cfg(unix)]
fn watch_terminal(wish: watch::Sender<Wish>) -> io::Result<()> {
    use std::io::IsTerminal;
    use std::os::fd::AsFd;
    let (stdout, stderr) = (io::stdout(), io::stderr());
    let streams = [(stdout.is_terminal(), stdout.as_fd()), (stderr.is_terminal(), stderr.as_fd())];
    let terminals = streams.into_iter().filter(|(is_terminal, _)| *is_terminal);
    let terminals: Vec<_> = terminals.map(|(_, fd)| fd.try_clone_to_owned()).collect::<io::Result<_>>()?;
    if !terminals.is_empty() {
        limits::thread("terminal", move || {
            while are_there(&terminals) {}
            ask(&wish);
        })?;
    }
    Ok(())
}

#[cfg(not(unix))]
fn watch_terminal(_: watch::Sender<Wish>) -> io::Result<()> {
    Ok(())
}

/// Waits for at most [`LOOK`]; false once one of the terminals has gone.
#[cfg(unix)]
fn are_there(terminals: &[std::os::fd::OwnedFd]) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let mut fds: Vec<_> = terminals.iter().map(|fd| PollFd::new(fd, PollFlags::empty())).collect();
    let timeout = Timespec { tv_sec: LOOK.as_secs().cast_signed(), tv_nsec: 0 };
    match poll(&mut fds, Some(&timeout)) {
        Ok(_) => !fds.iter().any(|fd| fd.revents().intersects(PollFlags::HUP | PollFlags::ERR)),
        Err(_) => {
            // A system that cannot poll a terminal: the signal is left.
            thread::sleep(LOOK);
            true
        }
    }
}

/// Asks to end, unless the user has asked for that or more.
fn ask(wish: &watch::Sender<Wish>) {
    wish.send_if_modified(|wish| {
        let is_new = *wish < Wish::End;
        *wish = (*wish).max(Wish::End);
        is_new
    });
}

/// Prints what is known of a run that is aborted.
fn abort(words: Option<LastWords>) {
    if let Some(LastWords { config, mut summary, .. }) = words {
        let reason = "aborted by a second Ctrl-C; the figures are those so far";
        summary.outcome = Some(Outcome::Failed);
        summary.reason = Some(reason.to_owned());
        let mut reporter = Reporter::on(config, io::stdout(), io::stderr());
        let _ = reporter.record(&Record::End(Box::new(summary)));
        to_stderr(&format!("failed: {reason}"));
    } else {
        to_stderr("aborted");
    }
}

#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    /// `None` if the parent had it ignored, as `nohup` does.
    hang_up: Option<tokio::signal::unix::Signal>,
    /// A write beyond the limit of file sizes: with a handler it fails with EFBIG, as on a full
    /// disk, and ends what wrote. A program that is started has the signal as usual.
    _file_size: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: if ignores_hang_up() { None } else { Some(signal(SignalKind::hangup())?) },
            _file_size: signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()))?,
        })
    }

    async fn next(&mut self) {
        let hang_up = async {
            match &mut self.hang_up {
                Some(signal) => signal.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = hang_up => {}
        }
    }

    async fn next_but_hang_up(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

/// True if this process ignores SIGHUP, by the mask of `/proc/self/status` (proc(5)): bit 0 is
/// signal 1.
#[cfg(unix)]
fn ignores_hang_up() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.is_some_and(|mask| u64::from_str_radix(mask.trim(), 16).is_ok_and(|mask| mask & 1 == 1))
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn new() -> io::Result<Self> {
        Ok(Self)
    }

    async fn next_but_hang_up(&mut self) {
        self.next().await;
    }

    async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
