//! Ctrl-C: the first ends the run cleanly, so that it still has its summary; the second aborts.

use std::io;
use std::thread;

use tokio::sync::watch;

/// The wish of the user to end.
#[derive(Debug, Clone)]
pub struct Interrupt {
    wished: watch::Receiver<bool>,
}

impl Interrupt {
    /// Takes over Ctrl-C (and, on Unix, SIGTERM, which counts as the first Ctrl-C) for the rest of the process.
    ///
    /// The signals are watched by a thread of their own, so that the second aborts even a run that hangs.
    ///
    /// # Errors
    /// When the system gives no thread or no signal handler.
    pub fn install() -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (sender, wished) = watch::channel(false);
        let mut signals = runtime.block_on(async { Signals::new() })?;
        thread::Builder::new().name("signals".to_owned()).spawn(move || {
            runtime.block_on(async {
                signals.next().await;
                eprintln!("ending; Ctrl-C again aborts");
                let _ = sender.send(true);
                signals.next().await;
                eprintln!("aborted");
                std::process::exit(1);
            });
        })?;
        Ok(Self { wished })
    }

    /// Whether the user has asked to end.
    #[must_use]
    pub fn is_wished(&self) -> bool {
        *self.wished.borrow()
    }

    /// Waits until the user asks to end; at once if that was before.
    pub async fn wished(&mut self) {
        if self.wished.wait_for(|wished| *wished).await.is_err() {
            // The watching thread is gone, so nobody can wish any more.
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
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
