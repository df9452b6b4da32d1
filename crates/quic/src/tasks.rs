//! The tasks of a session: what goes, what comes, and the control streams.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;

use bytes::Bytes;
use noq::{ConnectionError, ReadError, RecvStream, SendDatagramError, SendStream, VarInt};
use tfrc_dccp::wire::ResetCode;
use tfrc_net::{Boundaries, Cause, Closed, ClosedBy, LatePolicy, overtaken};
use tfrc_units::{Duration, Instant, saturating};
use tokio::task::JoinHandle;

use crate::closing::{self, CloseCode, Violation};
use crate::frame::{self, HEADER, Message, Reader};
use crate::state::Shared;

/// Datagrams taken out of QUIC at once, at most.
const BATCH: usize = 64;
/// How long an application that receives may take for the last of its data, as over DCCP. After
/// that the peer hears that nobody has confirmed anything.
const ACCEPT_CLOSE_WITHIN: std::time::Duration = std::time::Duration::from_secs(15);
/// The longest time for which a datagram with a deadline waits in QUIC for its turn, where no
/// deadline reaches it. A timer of a millisecond meets it.
const IN_QUIC: std::time::Duration = std::time::Duration::from_millis(3);
/// Time between two looks at whether its turn is near: the rate may have grown.
const LOOK: std::time::Duration = std::time::Duration::from_millis(10);
/// Time between two looks at whether the datagram before it has left QUIC.
const NEAR: std::time::Duration = std::time::Duration::from_millis(1);
/// Time between two words to the sender about datagrams dropped here.
const DROPS: std::time::Duration = std::time::Duration::from_millis(250);

/// Tasks that end when this is dropped.
#[derive(Debug)]
pub(crate) struct Tasks(Vec<JoinHandle<()>>);

impl Tasks {
    /// Begins all of them. `first_data_within` bounds the time until the first datagram.
    pub(crate) fn start(
        shared: &Arc<Shared>,
        control: SendStream,
        silence: Duration,
        first_data_within: Option<Duration>,
    ) -> Self {
        Self(vec![
            tokio::spawn(send(Arc::clone(shared))),
            tokio::spawn(receive(Arc::clone(shared), silence)),
            tokio::spawn(write(Arc::clone(shared), control)),
            tokio::spawn(read(Arc::clone(shared))),
            tokio::spawn(watch(Arc::clone(shared), first_data_within)),
        ])
    }
}

impl Drop for Tasks {
    fn drop(&mut self) {
        self.0.iter().for_each(JoinHandle::abort);
    }
}

/// Hands datagrams to QUIC when it takes them, each with its number, and drops what is late.
async fn send(shared: Arc<Shared>) {
    let mut refused = 0;
    while let Some((number, datagram, until)) = next(&shared).await {
        let length = datagram.len() - HEADER;
        let taken = tokio::select! {
            taken = shared.quic.send_datagram_wait(datagram.clone()) => taken,
            () = sleep_until(until) => {
                shared.state().late += 1;
                shared.state().in_hand = false;
                shared.room.notify_waiters();
                continue;
            }
            () = discarded(&shared) => {
                let mut state = shared.state();
                state.in_hand = false;
                state.unsent_packets += 1;
                state.unsent_bytes += saturating::<u64>(length);
                drop(state);
                shared.room.notify_waiters();
                continue;
            }
        };
        {
            let mut state = shared.state();
            state.in_hand = false;
            match taken {
                Ok(()) => {
                    state.sent_packets = number + 1;
                    state.sent_bytes += saturating::<u64>(length);
                    state.stopped.took(datagram.len());
                }
                Err(SendDatagramError::TooLarge) if state.boundaries == Boundaries::Free => {
                    let room = shared.max_datagram().max(1);
                    let now = shared.clock.now();
                    let data = datagram.get(HEADER..).unwrap_or_default();
                    for piece in data.rchunks(room) {
                        state.queue.push_front((now, piece.to_vec()));
                    }
                }
                Err(_) => {
                    state.unsent_packets += 1;
                    state.unsent_bytes += saturating::<u64>(length);
                }
            }
        }
        if shared.socket.refused.load(Ordering::Relaxed) > refused {
            refused = shared.socket.refused.load(Ordering::Relaxed);
            shared.count_stopped();
        }
        shared.room.notify_waiters();
    }
}

/// The next datagram with its number, and the time at which it becomes late; `None` when the
/// connection is over.
async fn next(shared: &Shared) -> Option<(u64, Bytes, Option<std::time::Duration>)> {
    loop {
        let pause = {
            let mut state = shared.state();
            if state.over.is_some() {
                return None;
            }
            let now = shared.clock.now();
            let most = match state.policy {
                LatePolicy::DropAfter(most) => Some(most),
                LatePolicy::Wait => None,
            };
            let waited = |since: Instant| now.saturating_since(since);
            let mut dropped = false;
            while let Some(most) = most
                && state.queue.front().is_some_and(|(since, _)| waited(*since) > most)
            {
                state.queue.pop_front();
                state.late += 1;
                dropped = true;
            }
            let has_deadline = most.is_some() && !state.queue.is_empty();
            let pause = if has_deadline { until_turn(shared) } else { None };
            if pause.is_none()
                && let Some((since, datagram)) = state.queue.pop_front()
            {
                state.in_hand = true;
                let number = state.sent_packets;
                let mut bytes = Vec::with_capacity(HEADER + datagram.len());
                bytes.extend(frame::header(number));
                bytes.extend(datagram);
                let left = most.map(|most| most.saturating_sub(waited(since)).into());
                return Some((number, bytes.into(), left));
            }
            drop(state);
            if dropped {
                shared.room.notify_waiters();
            }
            pause
        };
        match pause {
            Some(pause) => tokio::time::sleep(pause).await,
            None => shared.queued.notified().await,
        }
    }
}

/// The time for which a datagram with a deadline is not handed to QUIC yet: its turn is far, or the
/// one before it has not left. `None` where turns are close to each other.
fn until_turn(shared: &Shared) -> Option<std::time::Duration> {
    let (wait, gap) = shared.readings.turn(std::time::Instant::now())?;
    match wait.checked_sub(IN_QUIC) {
        _ if gap <= IN_QUIC => None,
        Some(early) => Some(early.clamp(NEAR, LOOK)),
        None => (!shared.is_flushed()).then_some(NEAR),
    }
}

async fn discarded(shared: &Shared) {
    loop {
        let changed = shared.changed.notified();
        if shared.state().discards {
            return;
        }
        changed.await;
    }
}

/// Takes datagrams out of QUIC until the connection is over.
async fn receive(shared: Arc<Shared>, silence: Duration) {
    let mut batch = vec![Bytes::new(); BATCH];
    loop {
        #[cfg(test)]
        drop(shared.held.lock().await);
        let framed = shared.quic.stats().frame_rx.datagram;
        let mut reading = pin!(shared.quic.read_many_datagrams(&mut batch));
        let read = match poll_fn(|cx| Poll::Ready(reading.as_mut().poll(cx))).await {
            Poll::Ready(read) => read,
            Poll::Pending => {
                shared.overrun(framed);
                reading.await
            }
        };
        match read {
            Ok(count) => shared.arrived(batch.get_mut(..count).unwrap_or_default()),
            Err(error) => {
                lost(&shared, &error, silence);
                return;
            }
        }
        // One peer's datagrams do not hold up the others.
        tokio::task::coop::consume_budget().await;
    }
}

/// The connection is gone.
fn lost(shared: &Shared, error: &ConnectionError, silence: Duration) {
    shared.end(|state| {
        let sent = state.peer_sent();
        match &state.peer_close {
            // It went after our word, or could not wait for it.
            Some((_, text)) if state.has_agreed => agreed(text, sent),
            _ => closing::lost(error, silence, sent),
        }
    });
}

/// The end of a session that the peer has asked for.
pub(crate) fn agreed(text: &str, sent: u64) -> Closed {
    Closed {
        by: ClosedBy::Peer,
        code: ResetCode::Closed,
        cause: Cause::Agreed,
        text: Some(text.to_owned()).filter(|text| !text.is_empty()),
        peer_sent_data_packets: sent,
    }
}

/// Writes messages as they are posted. QUIC repeats what is lost.
async fn write(shared: Arc<Shared>, mut control: SendStream) {
    let mut stopped = pin!(control.stopped());
    loop {
        let message = shared.state().outbox.pop_front();
        let written = async {
            match message {
                Some(message) => control.write_all(&message.encode()).await.is_ok(),
                None => {
                    shared.posted.notified().await;
                    true
                }
            }
        };
        tokio::select! {
            // The peer takes no more, or the connection is over.
            stopped = &mut stopped => {
                if let Ok(Some(_)) = stopped {
                    shared.violated(Violation::Stream);
                }
                return;
            }
            true = written => {}
        }
    }
}

/// Reads the peer's messages.
async fn read(shared: Arc<Shared>) {
    let Ok(mut control) = shared.quic.accept_uni().await else { return };
    if let Err(rule) = messages(&shared, &mut control).await {
        shared.violated(rule);
    }
}

/// Reads messages until the connection ends. Returns the rule that the peer breaks.
async fn messages(shared: &Arc<Shared>, control: &mut RecvStream) -> Result<(), Violation> {
    let mut reader = Reader::default();
    let mut bytes = [0; 1024];
    loop {
        let count = match control.read(&mut bytes).await {
            Ok(Some(count)) => count,
            Ok(None) | Err(ReadError::Reset(_)) => return Err(Violation::Stream),
            Err(_) => return Ok(()),
        };
        reader.push(bytes.get(..count).unwrap_or_default());
        while let Some(message) = reader.read().map_err(|_| Violation::Message)? {
            let is_first_close =
                matches!(message, Message::Close { .. }) && shared.state().peer_close.is_none();
            let waits = shared.on_message(message)?;
            if is_first_close {
                let shared = Arc::downgrade(shared);
                tokio::spawn(async move {
                    tokio::time::sleep(ACCEPT_CLOSE_WITHIN).await;
                    if let Some(shared) = shared.upgrade() {
                        shared.not_confirmed();
                    }
                });
            }
            if is_first_close && waits {
                let wait = overtaken(shared.rtt());
                let shared = Arc::clone(shared);
                tokio::spawn(async move {
                    tokio::time::sleep(wait.into()).await;
                    shared.drained();
                });
            }
        }
    }
}

/// Ends a connection that brings no data, and tells the sender of datagrams dropped here.
async fn watch(shared: Arc<Shared>, first_data_within: Option<Duration>) {
    if let Some(most) = first_data_within {
        tokio::time::sleep(most.into()).await;
        let has_none = {
            let state = shared.state();
            state.peer_sent() == 0 && state.peer_close.is_none() && state.over.is_none()
        };
        if has_none {
            let code = CloseCode::NoData;
            shared.end(|_| Closed {
                by: ClosedBy::OurReset,
                code: ResetCode::Aborted,
                cause: Cause::NoData(most),
                text: None,
                peer_sent_data_packets: 0,
            });
            shared.quic.close(VarInt::from_u32(code.wire()), code.reason());
            return;
        }
    }
    let mut told = 0;
    let mut tick = tokio::time::interval(DROPS);
    loop {
        tick.tick().await;
        let mut state = shared.state();
        if state.over.is_some() {
            return;
        }
        if state.queue_dropped > told {
            told = state.queue_dropped;
            shared.post(&mut state, Message::Dropped { datagrams: told });
        }
    }
}

async fn sleep_until(after: Option<std::time::Duration>) {
    match after {
        Some(after) => tokio::time::sleep(after).await,
        None => std::future::pending().await,
    }
}
