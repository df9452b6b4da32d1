//! One connection after another, into one output or none.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use tokio::task::JoinHandle;

use super::Receiver;
use super::options::Destination;
use super::serve::{OutputState, Served, serve};
use super::sink::Sink;
use crate::Failure;
use crate::interrupt::Interrupt;
use crate::reporter::Reporter;
use crate::session::{self, Connection, Ending, Output, OutputPlan};

/// An output that takes longer to open waits for somebody.
const PATIENCE: Duration = Duration::from_millis(200);

/// Serves one connection after another until one uses the receiver up, or the user wants the end;
/// the first is `caller`, if it is there already.
///
/// # Errors
/// [`Failure::Session`] if the connection that decides failed; [`Failure::Usage`] and
/// [`Failure::Run`] for an output that cannot be opened or written.
pub(super) async fn serve_in_turn(
    receiver: &Receiver,
    mut caller: Option<Connection>,
    reporter: &mut Reporter,
    interrupt: &mut Interrupt,
    watch: &JoinHandle<()>,
) -> Result<(), Failure> {
    let take = receiver.options.take;
    let plan = match &receiver.options.destination {
        Destination::One(plan) => Some(plan.clone()),
        _ => None,
    };
    let mut output = match plan {
        None => None,
        Some(plan) => match open(plan, reporter, interrupt).await {
            Some(output) => Some(output?),
            None => return interrupted(receiver, reporter, "interrupted before the output had a reader"),
        },
    };
    let last = loop {
        let next = async {
            match caller.take() {
                Some(caller) => Some(caller),
                None => receiver.endpoint.accept().await,
            }
        };
        let connection = tokio::select! {
            accepted = next => accepted,
            () = interrupt.wished() => break None,
        };
        let Some(connection) = connection.map(Arc::new) else {
            return Err(Failure::Run("the network of this end has failed".to_owned()));
        };
        let number = receiver.totals.accept();
        let served = match output.take() {
            None => receiver.serve_apart(&connection, number, interrupt).await,
            Some(opened) => {
                let mut kept = Some(opened);
                let lent = &mut kept;
                let sink = |_| {
                    let lent = lent.take().unwrap_or(Output::Nowhere);
                    async move { Ok(Sink::of(lent)) }
                };
                let (served, sink) = serve(receiver, &connection, number, sink, interrupt).await;
                // Without a datagram the output was not asked for.
                output = Some(kept.unwrap_or(sink.output));
                served
            }
        };
        drop(connection);
        if receiver.is_used_up(served.brought) || served.fate != OutputState::Usable {
            watch.abort();
            if let Some(output) = output.take() {
                output.leave();
            }
            if receiver.options.destination == Destination::One(OutputPlan::Standard) {
                session::close_standard_output();
            }
            if receiver.is_last(served.brought, served.closed) {
                interrupt.or(receiver.endpoint.linger()).await;
            }
            break Some(served);
        }
        if interrupt.is_wished() {
            break None;
        }
    };
    if let Some(output) = output {
        output.leave();
    }
    match last {
        Some(Served { ending, .. }) if ending.has_failed() => Err(Failure::Session),
        // The data is where it belongs, and somebody has closed standard output.
        Some(Served { fate: OutputState::Mute(Failure::ClosedPipe), .. }) if take.is_one() => Ok(()),
        Some(Served { fate: OutputState::Mute(failure), .. }) => Err(Failure::Run(failure.to_string())),
        Some(_) => Ok(()),
        None if take.is_one() => interrupted(receiver, reporter, "interrupted before anybody connected"),
        None => {
            let others = receiver.log.lock().unwrap_or_else(PoisonError::into_inner).rest();
            if let Some(others) = others {
                receiver.more(receiver.endpoint.now(), others);
            }
            receiver.last_line(reporter, Ending::stopped(receiver.interrupted_after()))
        }
    }
}

/// The user ended the run while nobody was connected: fine for a receiver that runs until then, and
/// only for that.
fn interrupted(receiver: &Receiver, reporter: &mut Reporter, reason: &str) -> Result<(), Failure> {
    let outcome = receiver.options.if_interrupted();
    receiver.last_line(reporter, Ending { outcome, reason: reason.to_owned() })
}

/// Opens the output; `None` if the user wants the end before a FIFO has its reader.
async fn open(
    plan: OutputPlan,
    reporter: &mut Reporter,
    interrupt: &mut Interrupt,
) -> Option<Result<Output, Failure>> {
    let waited_for = match &plan {
        OutputPlan::Direct(path) => format!("waiting for a reader of {}", path.display()),
        _ => "waiting for the output".to_owned(),
    };
    let opening = session::blocking(move || Ok(plan.open()?));
    tokio::pin!(opening);
    let patience = tokio::time::sleep(PATIENCE);
    let opened = tokio::select! {
        output = &mut opening => return Some(output),
        () = interrupt.wished() => None,
        () = patience => {
            reporter.note(&waited_for);
            interrupt.or(&mut opening).await
        }
    };
    // A file that is being made goes away again; a FIFO has nobody to wait for.
    if opened.is_none()
        && let Ok(Ok(output)) = tokio::time::timeout(PATIENCE, opening).await
    {
        output.leave();
    }
    opened
}
