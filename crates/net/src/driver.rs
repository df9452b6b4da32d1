//! The loop around an endpoint: what arrives and what is due goes into the machine, what it says
//! goes out.

use std::io;
use std::sync::Arc;
use tfrc_units::{Duration, saturating};

use crate::endpoint::Shared;
use crate::gso::{Company, Trains};
use crate::io::{Outgoing, Socket, Timer, Unsent, route};

/// While the system has no room for what is to be sent, timers are served at least this often, and
/// room is looked for.
const ROOM_WAIT: Duration = Duration::from_millis(5);

/// Rounds of reading before the machine's answers are sent.
const READS: usize = 8;
/// Age of a datagram that has waited in the socket because the process stood still. A report now
/// would be about a packet of long ago, and its hold time longer than a sender believes: the rest
/// is read first. So old, too, is a datagram that left long after it was made.
const WAITED: Duration = Duration::from_millis(25);
/// Turns of reading alone, at most: those that a full buffer of the socket takes.
const MOST_BEHIND: usize = 64;

pub(crate) async fn run(shared: Arc<Shared>, mut socket: Socket, mut timer: Timer) -> io::Result<()> {
    let outcome = turn(&shared, &mut socket, &mut timer).await;
    let mut state = shared.state();
    state.ended = true;
    for slot in state.slots.values() {
        slot.waiters.wake_all();
    }
    let finished = state.machine.finish();
    drop(state);
    shared.accepted.notify_waiters();
    outcome.and(finished)
}

async fn turn(shared: &Shared, socket: &mut Socket, timer: &mut Timer) -> io::Result<()> {
    let mut buffer = Vec::with_capacity(2048);
    let mut out = Trains::default();
    // The first of them that the system had no room for.
    let mut waiting = None;
    let mut too_long = Vec::new();
    let (mut behind, mut hold_ups) = (0, HoldUps::default());
    loop {
        let mut newest = None;
        for _ in 0..READS {
            if socket.receive()? > 0 {
                let mut state = shared.state();
                for datagram in socket.incoming() {
                    state.datagram(datagram.at, datagram.from, datagram.ecn, datagram.bytes);
                    newest = Some(datagram.at);
                }
            }
            if socket.is_drained() {
                break;
            }
        }
        socket.take_errors(|to, quoted, error| {
            shared.state().machine.path_error(shared.clock.now(), to, quoted, error);
        })?;
        // Systems take offload back when a network card cannot do it.
        out.limit(socket.longest_train());
        let (now, next, new) = {
            let mut state = shared.state();
            state.corrupt = socket.corrupt();
            let now = shared.clock.now();
            let before = state.incoming.len();
            let waited = newest.is_some_and(|at| now.saturating_since(at) > WAITED);
            let is_behind = waited && !socket.is_drained() && behind < MOST_BEHIND;
            behind = if is_behind { behind + 1 } else { 0 };
            let next = if waiting.is_some() || is_behind {
                state.attend(now);
                Some(now + ROOM_WAIT)
            } else {
                state.pump(now, &mut buffer, |sent, bytes| {
                    let company = if sent.goes_alone() { Company::None } else { Company::Alike };
                    socket.seal(sent.remote, out.add(sent.remote, sent.ecn, company, bytes));
                })
            };
            (now, next, state.incoming.len() > before)
        };
        if new {
            shared.accepted.notify_waiters();
        }
        let (mut broken, mut lost) = (None, 0);
        let failed = |datagram: Outgoing<'_>, unsent| match unsent {
            Unsent::TooLong => too_long.push((datagram.to, datagram.bytes.to_vec())),
            // As it might be further on.
            Unsent::Lost(_) => lost += 1,
            Unsent::Unusable(error) => broken = Some(error),
        };
        waiting = socket.send_from(waiting.unwrap_or(0), |n| out.get(n), failed);
        if let Some(error) = broken {
            return Err(error);
        }
        let left = shared.clock.now();
        if out.get(0).is_some() && hold_ups.note(left.saturating_since(now)) {
            shared.state().machine.held_up(left, now);
        }
        if lost > 0 {
            shared.state().unsent += lost;
        }
        for (to, bytes) in too_long.drain(..).rev() {
            let mut state = shared.state();
            let now = shared.clock.now();
            if let Some(limit) = route::longest(to, shared.carrier) {
                state.machine.route(now, to, saturating::<u64>(limit));
            }
            state.machine.refused(now, to, &bytes);
        }
        if waiting.is_none() {
            out.clear();
        }
        if shared.is_stopping() {
            return Ok(());
        }
        timer.fire_by(next)?;
        let something = async {
            tokio::select! {
                biased;
                () = shared.wake.notified() => Ok(()),
                expired = timer.expired() => expired,
                readable = socket.readable() => readable,
            }
        };
        if waited_for(something).await? == Waited::Not {
            // Busy or not, the application has its turn.
            tokio::task::yield_now().await;
        }
    }
}

/// Turns in which datagrams left long after they were made.
#[derive(Debug, Default)]
struct HoldUps {
    was_last: bool,
}

impl HoldUps {
    /// Datagrams left so long after they were made. Returns true if they measure no path: the
    /// process was stopped, or without a processor. A host that always takes so long is a part of
    /// the path, so that of turns in a row each second one measures it.
    fn note(&mut self, took: Duration) -> bool {
        self.was_last = took > WAITED && !self.was_last;
        self.was_last
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Waited {
    /// Others could run meanwhile.
    Some,
    Not,
}

/// Waits, and says whether that was necessary.
async fn waited_for(something: impl Future<Output = io::Result<()>>) -> io::Result<Waited> {
    let mut something = std::pin::pin!(something);
    let mut waited = Waited::Not;
    std::future::poll_fn(|context| {
        let polled = something.as_mut().poll(context);
        if polled.is_pending() {
            waited = Waited::Some;
        }
        polled
    })
    .await?;
    Ok(waited)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_that_is_always_slow_measures_its_path() {
        let mut hold_ups = HoldUps::default();
        let noted = [1, 25, 26, 1, 2000, 2000, 2000, 2000, 25, 2000];
        let noted = noted.map(|ms| hold_ups.note(Duration::from_millis(ms)));
        assert_eq!(noted, [false, false, true, false, true, false, true, false, false, true]);
    }
}
