//! The thread behind all sessions of a process, and waits for what it does.

use std::future::Future;
use std::sync::OnceLock;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

use crate::status::{Answer, Failure, NEVER, Status};

/// The runtime of all sessions of this process.
pub(crate) fn runtime() -> Answer<&'static Runtime> {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    if let Some(runtime) = RUNTIME.get() {
        return Ok(runtime);
    }
    let made = Builder::new_multi_thread().worker_threads(1).thread_name("tfrc").enable_all().build();
    let made = made.map_err(|error| Failure::new(Status::System, format_args!("no thread: {error}")))?;
    Ok(RUNTIME.get_or_init(|| made))
}

/// Waits for work; `None` if the time is over first.
pub(crate) fn within<T>(timeout_ms: u64, work: impl Future<Output = T>) -> Answer<Option<T>> {
    Ok(runtime()?.block_on(async {
        match timeout_ms {
            NEVER => Some(work.await),
            limit => timeout(Duration::from_millis(limit), work).await.ok(),
        }
    }))
}

/// The failure of a wait that is over.
pub(crate) fn late(what: &str, timeout_ms: u64) -> Failure {
    Failure::new(Status::Timeout, format_args!("{what} within {timeout_ms} ms"))
}
