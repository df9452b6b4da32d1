//! Many connections at a time, each with a file or a program of its own, until the user ends the
//! run.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use tokio::task::JoinSet;

use super::Receiver;
use crate::Failure;
use crate::interrupt::Interrupt;
use crate::reporter::Reporter;
use crate::session::{Ending, counted};

/// Time in which open connections are closed once the user wants the end: 3 s for the answers of
/// their senders, 3 s for their programs, and some for disks.
const DRAIN: Duration = Duration::from_secs(8);
/// Time for senders that have not heard the end, after that.
const LAST_ANSWERS: Duration = Duration::from_secs(1);

/// Serves connections until the user ends the command, then closes the open ones.
///
/// # Errors
/// [`Failure::Run`] when the network of this end fails.
pub(super) async fn serve_many(
    receiver: &Arc<Receiver>,
    reporter: &mut Reporter,
    interrupt: &mut Interrupt,
) -> Result<(), Failure> {
    let mut open = JoinSet::new();
    let lost = loop {
        tokio::select! {
            // First, so that connections that end because of it count as open.
            biased;
            () = interrupt.wished() => break false,
            accepted = receiver.endpoint.accept() => {
                let Some(connection) = accepted else { break true };
                let number = receiver.totals.accept();
                let (receiver, mut interrupt) = (Arc::clone(receiver), interrupt.clone());
                open.spawn(async move {
                    let connection = Arc::new(connection);
                    receiver.serve_apart(&connection, number, &mut interrupt).await;
                });
            }
            Some(_) = open.join_next() => {}
        }
    };
    if !lost {
        drain(receiver, open).await;
    }
    let others = receiver.log.lock().unwrap_or_else(PoisonError::into_inner).rest();
    if let Some(others) = others {
        receiver.more(receiver.endpoint.now(), others);
    }
    if lost {
        return Err(Failure::Run("the network of this end has failed".to_owned()));
    }
    let counts = receiver.totals.counts();
    let written = format!("{} written", counted(counts.bytes, "byte"));
    receiver.last_line(reporter, Ending::stopped(receiver.interrupted_after()).with(Some(written)))
}

/// Takes no more connections, and waits for the end of the open ones, within bounds. Each has seen
/// the user's request.
async fn drain(receiver: &Receiver, mut open: JoinSet<()>) {
    receiver.endpoint.stop_accepting();
    if open.is_empty() {
        return;
    }
    tracing::info!("no new connections are taken; {} are asked to end", open.len());
    let ended = async { while open.join_next().await.is_some() {} };
    if tokio::time::timeout(DRAIN, ended).await.is_err() {
        tracing::warn!("{} did not end in time and are broken off", receiver.totals.counts().open);
    }
    open.shutdown().await;
    let _ = tokio::time::timeout(LAST_ANSWERS, receiver.endpoint.linger()).await;
}
