//! Limits of the process that libraries answer with a panic: found before they are called.

use std::io;
use std::sync::{Mutex, PoisonError};
use std::thread;

/// File descriptors that the signal handlers and the two runtimes of a session open: an epoll and
/// an event each, and the pair of sockets that signals come by, with its copy.
const DESCRIPTORS: usize = 8;
/// Threads of a session: that of the protocol, one for files, and two that resolve names or write.
const THREADS: usize = 4;

/// # Errors
/// If the process may not open the descriptors that every session needs.
#[cfg(unix)]
pub(crate) fn check_descriptors() -> io::Result<()> {
    use std::os::fd::AsFd;
    let stderr = io::stderr();
    let opened: io::Result<Vec<_>> = (0..DESCRIPTORS).map(|_| stderr.as_fd().try_clone_to_owned()).collect();
    let sentence =
        |error: io::Error| format!("{error}; this needs {DESCRIPTORS} file descriptors more, see ulimit -n");
    opened.map(drop).map_err(|error| io::Error::new(error.kind(), sentence(error)))
}

#[cfg(not(unix))]
pub(crate) const fn check_descriptors() -> io::Result<()> {
    let _ = DESCRIPTORS;
    Ok(())
}

/// File descriptors that this process may open beyond those that it has; `None` where the system
/// does not say.
#[cfg(target_os = "linux")]
pub(crate) fn descriptors_left() -> Option<u64> {
    use rustix::process::{Resource, getrlimit};
    let open = std::fs::read_dir("/proc/self/fd").ok()?.count();
    let most = getrlimit(Resource::Nofile).current?;
    Some(most.saturating_sub(tfrc_units::saturating(open)))
}

#[cfg(not(target_os = "linux"))]
pub(crate) const fn descriptors_left() -> Option<u64> {
    None
}

/// # Errors
/// If the system does not give this user the threads that every session needs.
pub(crate) fn check_threads() -> io::Result<()> {
    let gate = Mutex::new(());
    let closed = gate.lock().unwrap_or_else(PoisonError::into_inner);
    let started = thread::scope(|scope| {
        let wait = || drop(gate.lock());
        let one = |_| thread::Builder::new().spawn_scoped(scope, wait);
        // The threads stand side by side before the first may end.
        let all: io::Result<Vec<_>> = (0..THREADS).map(one).collect();
        drop(closed);
        all.map(drop)
    });
    let sentence = |error: io::Error| format!("{error}; this needs {THREADS} threads more, see ulimit -u");
    started.map_err(|error| io::Error::new(error.kind(), sentence(error)))
}

/// Begins work in a thread of its own.
///
/// # Errors
/// If the system gives none; the work is not done then.
pub(crate) fn thread<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<thread::JoinHandle<T>> {
    thread::Builder::new().name(name.to_owned()).spawn(work)
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_process_without_limits_has_enough() {
        super::check_descriptors().expect("descriptors");
        super::check_threads().expect("threads");
        let doubled = super::thread("doubling", || 2 * 21).expect("a thread");
        assert_eq!(doubled.join().expect("no panic"), 42);
    }
}
