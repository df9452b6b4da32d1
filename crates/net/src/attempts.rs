//! Connecting to a name that has several addresses (RFC 8305).

use std::fmt;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;

use tfrc_dccp::wire::ResetCode;
use tokio::time::{Instant, sleep, timeout_at};

use crate::{BindError, Cause, ConnectError, Connection, Endpoint, Options, Recordings};

/// Connection Attempt Delay (RFC 8305 §5, §8).
const DELAY: Duration = Duration::from_millis(250);
/// Time between two rounds of attempts while a receiver is waited for.
const AGAIN: Duration = Duration::from_millis(250);
/// Addresses tried at most; each has a socket while it is tried.
const MOST: usize = 10;
/// Bytes of a recording kept until its attempt wins; a handshake takes some kilobytes.
const MOST_RECORDED: usize = 16 << 20;

/// Why none of several addresses could be connected to.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectAnyError {
    /// No address was given.
    #[error("no address to connect to")]
    NoAddress,
    /// Nobody answered in the time given to [`connect_waiting`].
    #[error("nobody answered for {} s: no receiver is there, or it takes private senders only (--quic)", .0.as_secs_f64())]
    NoAnswer(Duration),
    /// The options are out of range, or the system lacks something: the same for every address.
    #[error(transparent)]
    Bind(BindError),
    /// Each attempt failed, for these reasons in the order in which they came.
    #[error("{}", Listed(.0))]
    Failed(Vec<(SocketAddr, AttemptError)>),
}

/// Why one address could not be connected to.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AttemptError {
    /// There is no way to it from here.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// There is no connection.
    #[error(transparent)]
    Connect(#[from] ConnectError),
}

/// Attempts with their reasons, as a sentence.
struct Listed<'a>(&'a [(SocketAddr, AttemptError)]);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (address, error)) in self.0.iter().enumerate() {
            write!(f, "{}{address}: {error}", if i > 0 { "; " } else { "" })?;
        }
        Ok(())
    }
}

/// Connects to the first of several addresses that answers, with an endpoint made for that peer.
///
/// Attempts go from an IPv6 address to an IPv4 address and so on, in the order given within each
/// family (RFC 8305 §4). An attempt begins 250 ms after the one before, or as soon as that one
/// fails; earlier ones go on. When one succeeds the others are broken off. At most ten addresses
/// are tried.
///
/// The recordings begin with the attempt that succeeds and hold nothing of the others. If none of
/// several succeeds, nothing is recorded.
///
/// # Errors
/// [`ConnectAnyError`].
pub async fn connect_any(
    addresses: &[SocketAddr],
    options: &Options,
    recordings: Recordings,
) -> Result<(Endpoint, Connection), ConnectAnyError> {
    if let [only] = in_order(addresses).as_slice() {
        let guard = Guard::towards(*only, options, recordings).map_err(ConnectAnyError::Bind)?;
        let attempt = guard.attempt(*only).await;
        return attempt.map_err(|error| ConnectAnyError::Failed(vec![(*only, error.into())]));
    }
    let (done, recorded) = race(addresses, options, &recordings).await?;
    recorded.pass_to(recordings).map_err(ConnectAnyError::Bind)?;
    Ok(done)
}

/// Connects as [`connect_any`], and for as long as `wait` begins again when nobody listens yet, the
/// receiver is busy, or there is no way to it: for a receiver that comes later. A receiver may
/// answer more clients than it has places for; one with a [`greeting`](Options::greeting) is waited
/// for until the place is certain.
///
/// The recordings begin with the attempt that succeeds.
///
/// # Errors
/// [`ConnectAnyError`]; after `wait` that of the last attempt.
pub async fn connect_waiting(
    addresses: &[SocketAddr],
    options: &Options,
    recordings: Recordings,
    wait: Duration,
) -> Result<(Endpoint, Connection), ConnectAnyError> {
    let until = Instant::now() + wait;
    let mut last = ConnectAnyError::NoAnswer(wait);
    loop {
        match timeout_at(until, race(addresses, options, &recordings)).await {
            Ok(Ok(((endpoint, connection), recorded))) => {
                let address = connection.remote_addr().unwrap_or_else(|| endpoint.local_addr());
                let done = match timeout_at(until, connection.confirmed()).await {
                    Ok(Ok(())) => (endpoint, connection),
                    Ok(Err(error)) => {
                        drop(connection);
                        endpoint.stop();
                        let error = AttemptError::Connect(error);
                        let again = may_pass(&error);
                        last = ConnectAnyError::Failed(vec![(address, error)]);
                        if again && Instant::now() + AGAIN < until {
                            sleep(AGAIN).await;
                            continue;
                        }
                        return Err(last);
                    }
                    Err(_) => return Err(last),
                };
                recorded.pass_to(recordings).map_err(ConnectAnyError::Bind)?;
                return Ok(done);
            }
            Ok(Err(ConnectAnyError::Failed(attempts))) if attempts.iter().any(|(_, e)| may_pass(e)) => {
                last = ConnectAnyError::Failed(attempts);
            }
            Ok(Err(error)) => return Err(error),
            Err(_) => return Err(last),
        }
        if Instant::now() + AGAIN >= until {
            return Err(last);
        }
        sleep(AGAIN).await;
    }
}

/// True for a failure that a receiver that is started later, or becomes free, ends.
fn may_pass(error: &AttemptError) -> bool {
    match error {
        AttemptError::Bind(_) => true,
        AttemptError::Connect(ConnectError::Refused(closed)) => {
            matches!(closed.cause, Cause::PeerAbsent | Cause::HandshakeIncomplete(_))
                || matches!(closed.code, ResetCode::TooBusy | ResetCode::ConnectionRefused)
        }
        AttemptError::Connect(_) => false,
    }
}

/// Attempts in the order of [`in_order`], until one succeeds.
async fn race(
    addresses: &[SocketAddr],
    options: &Options,
    wanted: &Recordings,
) -> Result<((Endpoint, Connection), Recorded), ConnectAnyError> {
    let mut waiting = in_order(addresses).into_iter();
    let mut running: Vec<Attempt> = Vec::new();
    let mut failed = Vec::new();
    loop {
        if let Some(address) = waiting.next() {
            match begin(address, options, wanted) {
                Ok(attempt) => running.push(attempt),
                Err(error @ BindError::Address { .. }) => {
                    failed.push((address, error.into()));
                    continue;
                }
                Err(error) => return Err(ConnectAnyError::Bind(error)),
            }
        }
        if running.is_empty() {
            let none = failed.is_empty();
            return Err(if none { ConnectAnyError::NoAddress } else { ConnectAnyError::Failed(failed) });
        }
        tokio::select! {
            biased;
            ended = first_of(&mut running) => match ended.outcome {
                Ok(done) => return Ok((done, ended.recorded)),
                Err(error) => failed.push((ended.address, error.into())),
            },
            () = sleep(DELAY), if !waiting.as_slice().is_empty() => {}
        }
    }
}

type Attempt = Pin<Box<dyn Future<Output = Ended> + Send>>;

/// An attempt that is over.
struct Ended {
    address: SocketAddr,
    recorded: Recorded,
    outcome: Result<(Endpoint, Connection), ConnectError>,
}

fn begin(address: SocketAddr, options: &Options, wanted: &Recordings) -> Result<Attempt, BindError> {
    let recorded = Recorded {
        journal: wanted.journal.as_ref().map(|_| Deferred::default()),
        capture: wanted.capture.as_ref().map(|_| Deferred::default()),
    };
    let guard = Guard::towards(address, options, recorded.recordings())?;
    Ok(Box::pin(async move { Ended { address, recorded, outcome: guard.attempt(address).await } }))
}

/// The first of the attempts that is over; it is taken out.
async fn first_of(running: &mut Vec<Attempt>) -> Ended {
    std::future::poll_fn(|context| {
        for i in 0..running.len() {
            if let Some(attempt) = running.get_mut(i)
                && let Poll::Ready(ended) = attempt.as_mut().poll(context)
            {
                drop(running.remove(i));
                return Poll::Ready(ended);
            }
        }
        Poll::Pending
    })
    .await
}

/// An endpoint that ends with the attempt, unless that succeeds.
struct Guard(Option<Endpoint>);

impl Guard {
    fn towards(peer: SocketAddr, options: &Options, recordings: Recordings) -> Result<Self, BindError> {
        Endpoint::towards(peer, options, recordings).map(|endpoint| Self(Some(endpoint)))
    }

    async fn attempt(mut self, to: SocketAddr) -> Result<(Endpoint, Connection), ConnectError> {
        let endpoint = self.0.as_ref().ok_or(ConnectError::EndpointEnded)?;
        let connection = endpoint.connect(to).await?;
        Ok((self.0.take().ok_or(ConnectError::EndpointEnded)?, connection))
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(endpoint) = &self.0 {
            endpoint.stop();
        }
    }
}

/// Recordings of an attempt.
struct Recorded {
    journal: Option<Deferred>,
    capture: Option<Deferred>,
}

impl Recorded {
    fn recordings(&self) -> Recordings {
        let out = |deferred: &Deferred| -> Box<dyn Write + Send> { Box::new(deferred.clone()) };
        Recordings { journal: self.journal.as_ref().map(out), capture: self.capture.as_ref().map(out) }
    }

    /// Writes what was kept, and lets the rest through.
    fn pass_to(self, wanted: Recordings) -> Result<(), BindError> {
        let pass = |what, kept: Option<Deferred>, out: Option<Box<dyn Write + Send>>| match (kept, out) {
            (Some(kept), Some(out)) => kept.pass_to(out).map_err(|source| BindError::System { what, source }),
            _ => Ok(()),
        };
        pass("journal", self.journal, wanted.journal)?;
        pass("capture", self.capture, wanted.capture)
    }
}

/// A writer that keeps everything until it is known where it goes.
#[derive(Clone, Default)]
struct Deferred(Arc<Mutex<Output>>);

enum Output {
    Kept(Vec<u8>),
    Through(Box<dyn Write + Send>),
}

impl Default for Output {
    fn default() -> Self {
        Self::Kept(Vec::new())
    }
}

impl Deferred {
    fn pass_to(&self, mut out: Box<dyn Write + Send>) -> io::Result<()> {
        let mut output = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Output::Kept(kept) = &*output {
            out.write_all(kept)?;
        }
        *output = Output::Through(out);
        Ok(())
    }
}

impl Write for Deferred {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            Output::Through(out) => out.write(bytes),
            Output::Kept(kept) if kept.len() + bytes.len() <= MOST_RECORDED => kept.write(bytes),
            Output::Kept(_) => Err(io::Error::other("more to record in a handshake than is kept")),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            Output::Through(out) => out.flush(),
            Output::Kept(_) => Ok(()),
        }
    }
}

/// Each address once, IPv6 and IPv4 in turn as long as there are both, IPv6 first.
fn in_order(addresses: &[SocketAddr]) -> Vec<SocketAddr> {
    let mut distinct: Vec<SocketAddr> = Vec::new();
    for address in addresses {
        if !distinct.contains(address) {
            distinct.push(*address);
        }
    }
    let (mut six, mut four) = (
        distinct.iter().copied().filter(SocketAddr::is_ipv6),
        distinct.iter().copied().filter(SocketAddr::is_ipv4),
    );
    let in_turn = std::iter::from_fn(|| match (six.next(), four.next()) {
        (None, None) => None,
        pair => Some([pair.0, pair.1]),
    });
    in_turn.flatten().flatten().take(MOST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_take_turns() {
        let all = |texts: &[&str]| -> Vec<SocketAddr> {
            texts.iter().map(|text| text.parse().expect("an address")).collect()
        };
        let given = all(&["1.0.0.1:1", "1.0.0.2:1", "[1::1]:1", "1.0.0.3:1", "[1::2]:1", "1.0.0.1:1"]);
        let wanted = all(&["[1::1]:1", "1.0.0.1:1", "[1::2]:1", "1.0.0.2:1", "1.0.0.3:1"]);
        assert_eq!(in_order(&given), wanted);
        let many: Vec<SocketAddr> = (0..=255).map(|n| SocketAddr::from(([1, 0, 0, n], 1))).collect();
        assert_eq!(in_order(&many), many[..MOST]);
        assert_eq!(in_order(&[]), []);
    }
}
