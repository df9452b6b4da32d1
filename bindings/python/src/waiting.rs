//! Work on a thread of its own, while Python's thread looks for Ctrl-C and reports progress.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use pyo3::prelude::*;

/// Time between two looks for Ctrl-C: short for a person, long for a processor.
const LOOK: Duration = Duration::from_millis(50);

/// Does `work` on another thread, without the GIL, and returns its result. In the meantime
/// `progress` is called now and then, and once at the end. If that fails, or if Python has a signal
/// whose handler raises, `work` is asked to stop by its argument, and the exception is raised once
/// it has.
pub(crate) fn while_waiting<T: Send>(
    py: Python<'_>,
    mut progress: impl FnMut(Python<'_>) -> PyResult<()>,
    work: impl FnOnce(&AtomicBool) -> T + Send,
) -> PyResult<T> {
    let (stop, done, wake) = (AtomicBool::new(false), Mutex::new(false), Condvar::new());
    let (stop, done, wake) = (&stop, &done, &wake);
    thread::scope(|scope| {
        let worker = thread::Builder::new().spawn_scoped(scope, move || {
            let _told = Told { done, wake };
            work(stop)
        })?;
        let mut failure = None;
        loop {
            let ended = py.detach(|| {
                let done = done.lock().unwrap_or_else(PoisonError::into_inner);
                if *done {
                    return true;
                }
                *wake.wait_timeout(done, LOOK).unwrap_or_else(PoisonError::into_inner).0
            });
            if failure.is_none()
                && let Err(error) = py.check_signals().and_then(|()| progress(py))
            {
                stop.store(true, Ordering::Relaxed);
                failure = Some(error);
            }
            if ended {
                break;
            }
        }
        match (worker.join(), failure) {
            (Err(panic), _) => std::panic::resume_unwind(panic),
            (Ok(_), Some(error)) => Err(error),
            (Ok(result), None) => Ok(result),
        }
    })
}

/// Wakes the waiting thread at the end of the work, even at the end by a panic.
struct Told<'w> {
    done: &'w Mutex<bool>,
    wake: &'w Condvar,
}

impl Drop for Told<'_> {
    fn drop(&mut self) {
        *self.done.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.wake.notify_all();
    }
}
