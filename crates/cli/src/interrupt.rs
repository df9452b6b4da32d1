//! Ctrl-C: the first ends the run cleanly, so that it still has its summary; the second aborts with
//! the summary so far.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use tfrc_lab::record::{Outcome, Record, Summary};
use tokio::sync::watch;

use crate::live;
use crate::reporter::{Reporter, ReporterConfig};
use crate::visible::to_stderr;

/// The longest time for the last output of an aborted run: its reader may have stopped.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// The longest time for the answer to the first Ctrl-C.
const NOTICE: Duration = Duration::from_millis(100);

/// The wish of the user to end.
#[derive(Debug, Clone)]
pub struct Interrupt {
    wished: watch::Receiver<bool>,
    wish: watch::Sender<bool>,
    last_words: Arc<Mutex<Option<LastWords>>>,
}

/// The summary of a run so far, for a run that is aborted.
#[derive(Debug, Clone)]
pub struct LastWords {
    /// How and where summaries are printed.
    pub config: ReporterConfig,
    /// The figures so far.
    pub summary: Summary,
}

impl Interrupt {
    /// Takes over Ctrl-C (and, on Unix, SIGTERM and SIGHUP, which count like Ctrl-C) for the rest
    /// of the process.
    ///
    /// The signals are watched by a thread of their own, so that the second aborts even a run that
    /// hangs.
    ///
    /// # Errors
    /// When the system gives no thread or no signal handler.
    pub fn install() -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (wish, wished) = watch::channel(false);
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
                let _ = sender.send(true);
                signals.next().await;
                within(LAST_WORDS, move || {
                    live::restore();
                    abort(kept.lock().unwrap_or_else(PoisonError::into_inner).take());
                });
                std::process::exit(1);
            });
        })?;
        Ok(Self { wished, wish, last_words })
    }

    /// Returns true if the user has asked to end.
    #[must_use]
    pub fn is_wished(&self) -> bool {
        *self.wished.borrow()
    }

    /// Asks to end, as the first Ctrl-C does.
    pub fn ask(&self) {
        // Without a receiver nobody waits for it; this one is.
        let _ = self.wish.send(true);
    }

    /// Waits until the user asks to end; at once if that was before.
    pub async fn wished(&mut self) {
        if self.wished.wait_for(|wished| *wished).await.is_err() {
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

/// Speaks, but waits no longer than this for a pipe that nobody reads.
fn within(limit: Duration, speak: impl FnOnce() + Send + 'static) {
    let (said, all_said) = std::sync::mpsc::channel();
    thread::spawn(move || {
        speak();
        said.send(())
    });
    let _ = all_said.recv_timeout(limit);
}

/// Prints what is known of a run that is aborted.
fn abort(words: Option<LastWords>) {
    if let Some(LastWords { config, mut summary }) = words {
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
    hang_up: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.hang_up.recv() => {}
        }
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn new() -> io::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
