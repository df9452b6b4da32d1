//! Connecting to a name that has several addresses (RFC 8305), and to an end that comes later.

use std::fmt;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;

use tfrc_dccp::wire::ResetCode;
use tfrc_net::pcap::CaptureForm;
use tokio::time::{Instant, sleep, timeout_at};

use crate::probe::{self, Protocol};
use crate::{BindError, Carrier, Cause, Connection, Endpoint, Options, Recordings};

/// Connection Attempt Delay (RFC 8305 §5, §8).
const DELAY: Duration = Duration::from_millis(250);
/// Time between two rounds of attempts while a receiver is waited for.
const AGAIN: Duration = Duration::from_millis(250);
/// The longest attempt over QUIC; on a path that loses one packet in five one of some hundred takes
/// 20 s.
const PATIENCE: Duration = Duration::from_secs(30);
/// The first attempt over QUIC at a peer that may come later, whose packets are repeated more and
/// more rarely. Later ones last longer.
const FIRST_WAIT: Duration = Duration::from_secs(3);
/// Addresses tried at most; each has a socket while it is tried.
const MOST: usize = 10;
/// Bytes of a recording kept until its attempt wins; a handshake takes some kilobytes.
const MOST_RECORDED: usize = 16 << 20;

/// Why there is no connection to any of the addresses.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// No address was given.
    #[error("no address to connect to")]
    NoAddress,
    /// Nobody answered in the time given to [`connect_waiting`].
    #[error("nobody answered for {} s: no receiver is there, or it takes private senders only (--quic)", .0.as_secs_f64())]
    NoAnswer(Duration),
    /// Nobody answered over QUIC in the time given to [`connect_waiting`].
    #[cfg(feature = "quic")]
    #[error("{}", tfrc_quic::ConnectError::NoAnswer)]
    NoPrivateAnswer(Duration),
    /// The options are out of range, or the system lacks something: the same for every address.
    #[error(transparent)]
    Bind(BindError),
    /// Each attempt failed, for these reasons in the order in which they came.
    #[error("{}", Listed(.0))]
    Failed(Vec<(SocketAddr, AttemptError)>),
    /// Recordings were asked for of a session that is not over DCCP.
    #[error("only sessions over DCCP are recorded")]
    NotRecorded,
}

/// Why one address could not be connected to.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AttemptError {
    /// There is no way to it from here.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// There is no connection over DCCP.
    #[error(transparent)]
    Dccp(#[from] tfrc_net::ConnectError),
    /// There is no connection over QUIC.
    #[cfg(feature = "quic")]
    #[error(transparent)]
    Quic(#[from] tfrc_quic::ConnectError),
    /// The peer speaks QUIC, and this end DCCP.
    #[error("the peer takes private sessions only: add --quic")]
    Private,
    /// The peer speaks DCCP, and this end QUIC.
    #[cfg(feature = "quic")]
    #[error("the peer speaks DCCP and takes no private sessions: it has to be started with --quic")]
    Plain,
}

impl AttemptError {
    /// The key at that address, if it is not the expected one.
    #[cfg(feature = "quic")]
    #[must_use]
    pub const fn other_key(&self) -> Option<crate::Fingerprint> {
        match self {
            Self::Quic(tfrc_quic::ConnectError::OtherKey(seen)) => Some(*seen),
            _ => None,
        }
    }

    /// The key of this end, if the peer does not let it in.
    #[cfg(feature = "quic")]
    #[must_use]
    pub const fn refused_key(&self) -> Option<crate::Fingerprint> {
        match self {
            Self::Quic(tfrc_quic::ConnectError::NotAllowed(own)) => Some(*own),
            _ => None,
        }
    }

    /// True for a failure that a peer that is started later, or becomes free, ends.
    fn may_pass(&self) -> bool {
        match self {
            Self::Bind(_) => true,
            Self::Dccp(tfrc_net::ConnectError::Refused(closed)) => {
                matches!(closed.cause, Cause::PeerAbsent | Cause::HandshakeIncomplete(_))
                    || matches!(closed.code, ResetCode::TooBusy | ResetCode::ConnectionRefused)
            }
            Self::Dccp(_) | Self::Private => false,
            #[cfg(feature = "quic")]
            Self::Quic(error) => error.may_pass(),
            #[cfg(feature = "quic")]
            Self::Plain => false,
        }
    }

    /// True for a failure that ends all attempts: a key or the protocol is not the right one.
    const fn is_final(&self) -> bool {
        match self {
            Self::Bind(_) | Self::Dccp(_) => false,
            Self::Private => true,
            #[cfg(feature = "quic")]
            Self::Quic(_) => self.other_key().is_some() || self.refused_key().is_some(),
            #[cfg(feature = "quic")]
            Self::Plain => true,
        }
    }
}

/// True if another round of attempts may have another outcome.
fn may_pass(attempts: &[(SocketAddr, AttemptError)]) -> bool {
    let mut errors = attempts.iter().map(|(_, error)| error);
    errors.clone().any(AttemptError::may_pass) && !errors.any(AttemptError::is_final)
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
/// Recordings are made over DCCP. They begin with the attempt that succeeds and hold nothing of the
/// others. If none of several succeeds, nothing is recorded.
///
/// # Errors
/// [`ConnectError`].
pub async fn connect_any(
    addresses: &[SocketAddr],
    options: &Options,
    recordings: Recordings,
) -> Result<(Endpoint, Connection), ConnectError> {
    check_recordings(options, &recordings)?;
    if let [only] = in_order(addresses).as_slice() {
        let attempt = begin(*only, options, recordings, PATIENCE).map_err(ConnectError::Bind)?;
        return attempt.await.map_err(|error| ConnectError::Failed(vec![(*only, error)]));
    }
    let (done, recorded) = race(addresses, options, Wanted::of(&recordings), PATIENCE).await?;
    recorded.pass_to(recordings).map_err(ConnectError::Bind)?;
    Ok(done)
}

/// Connects as [`connect_any`], and for as long as `wait` begins again when nobody listens yet, the
/// receiver is busy, or there is no way to it: for a receiver that comes later. A wrong key ends it
/// at once. A receiver may answer more clients over DCCP than it has places for; one with a
/// [`greeting`](crate::Common::greeting) is waited for until the place is certain.
///
/// The recordings begin with the attempt that succeeds.
///
/// # Errors
/// [`ConnectError`]; after `wait` that of the last attempt.
pub async fn connect_waiting(
    addresses: &[SocketAddr],
    options: &Options,
    recordings: Recordings,
    wait: Duration,
) -> Result<(Endpoint, Connection), ConnectError> {
    check_recordings(options, &recordings)?;
    let until = Instant::now() + wait;
    let mut last = unanswered(options, wait);
    let mut patience = FIRST_WAIT;
    loop {
        match timeout_at(until, race(addresses, options, Wanted::of(&recordings), patience)).await {
            Ok(Ok(((endpoint, connection), recorded))) => {
                let address = connection.remote_addr().unwrap_or_else(|| endpoint.local_addr());
                let done = match timeout_at(until, connection.confirmed()).await {
                    Ok(Ok(())) => (endpoint, connection),
                    Ok(Err(error)) => {
                        drop(connection);
                        endpoint.stop();
                        let error = AttemptError::from(error);
                        let again = error.may_pass();
                        last = ConnectError::Failed(vec![(address, error)]);
                        if again && Instant::now() + AGAIN < until {
                            sleep(AGAIN).await;
                            continue;
                        }
                        return Err(last);
                    }
                    Err(_) => return Err(last),
                };
                recorded.pass_to(recordings).map_err(ConnectError::Bind)?;
                return Ok(done);
            }
            Ok(Err(ConnectError::Failed(attempts))) if may_pass(&attempts) => {
                last = ConnectError::Failed(attempts);
            }
            Ok(Err(error)) => return Err(error),
            Err(_) => return Err(last),
        }
        if Instant::now() + AGAIN >= until {
            return Err(last);
        }
        patience = (patience * 2).min(PATIENCE);
        sleep(AGAIN).await;
    }
}

/// The error of a time that was over before the first attempts were.
const fn unanswered(options: &Options, wait: Duration) -> ConnectError {
    match options.carrier {
        Carrier::Dccp(_) => ConnectError::NoAnswer(wait),
        #[cfg(feature = "quic")]
        Carrier::Quic(_) => ConnectError::NoPrivateAnswer(wait),
    }
}

/// Refuses to record a session whose carrier has no recordings.
const fn check_recordings(options: &Options, recordings: &Recordings) -> Result<(), ConnectError> {
    let Wanted { journal, capture, .. } = Wanted::of(recordings);
    if (journal || capture) && !matches!(options.carrier, Carrier::Dccp(_)) {
        return Err(ConnectError::NotRecorded);
    }
    Ok(())
}

/// Attempts in the order of [`in_order`], until one succeeds.
async fn race(
    addresses: &[SocketAddr],
    options: &Options,
    wanted: Wanted,
    patience: Duration,
) -> Result<((Endpoint, Connection), Recorded), ConnectError> {
    let mut waiting = in_order(addresses).into_iter();
    let mut running: Vec<Running> = Vec::new();
    let mut failed = Vec::new();
    loop {
        if let Some(address) = waiting.next() {
            match begin_recorded(address, options, wanted, patience) {
                Ok(attempt) => running.push(attempt),
                Err(error @ BindError::Address { .. }) => {
                    failed.push((address, error.into()));
                    continue;
                }
                Err(error) => return Err(ConnectError::Bind(error)),
            }
        }
        if running.is_empty() {
            let none = failed.is_empty();
            return Err(if none { ConnectError::NoAddress } else { ConnectError::Failed(failed) });
        }
        tokio::select! {
            biased;
            ended = first_of(&mut running) => match ended.outcome {
                Ok(done) => return Ok((done, ended.recorded)),
                Err(error) => failed.push((ended.address, error)),
            },
            () = sleep(DELAY), if !waiting.as_slice().is_empty() => {}
        }
    }
}

/// An attempt that goes on.
type Attempt = Pin<Box<dyn Future<Output = Result<(Endpoint, Connection), AttemptError>> + Send>>;
/// One of several attempts that go on.
type Running = Pin<Box<dyn Future<Output = Ended> + Send>>;

/// An attempt that is over.
struct Ended {
    address: SocketAddr,
    recorded: Recorded,
    outcome: Result<(Endpoint, Connection), AttemptError>,
}

fn begin(
    address: SocketAddr,
    options: &Options,
    recordings: Recordings,
    patience: Duration,
) -> Result<Attempt, BindError> {
    match &options.carrier {
        Carrier::Dccp(dccp) => {
            // DCCP repeats its Request for a minute by itself.
            let _ = patience;
            let options = tfrc_net::Options { common: options.common.clone(), dccp: dccp.clone() };
            let is_udp = dccp.carrier == tfrc_net::options::Carrier::Udp;
            let guard = Guard::towards(address, &options, recordings)?;
            Ok(Box::pin(async move {
                tokio::select! {
                    biased;
                    attempt = guard.attempt(address) => {
                        let (endpoint, connection) = attempt?;
                        Ok((Endpoint::Dccp(endpoint), Connection::Dccp(connection)))
                    }
                    () = probe::speaks(Protocol::Quic, address), if is_udp => Err(AttemptError::Private),
                }
            }))
        }
        #[cfg(feature = "quic")]
        Carrier::Quic(quic) => {
            let (common, quic) = (options.common.clone(), quic.clone());
            Ok(Box::pin(async move {
                let connected = tfrc_quic::connect(address, &common, &quic.key, &quic.peers, patience);
                tokio::select! {
                    biased;
                    connected = connected => {
                        let (endpoint, connection) = connected?;
                        Ok((Endpoint::Quic(endpoint), Connection::Quic(connection)))
                    }
                    () = probe::speaks(Protocol::Dccp, address) => Err(AttemptError::Plain),
                }
            }))
        }
    }
}

fn begin_recorded(
    address: SocketAddr,
    options: &Options,
    wanted: Wanted,
    patience: Duration,
) -> Result<Running, BindError> {
    let recorded = Recorded {
        journal: wanted.journal.then(Deferred::default),
        capture: wanted.capture.then(Deferred::default),
        form: wanted.form,
    };
    let attempt = begin(address, options, recorded.recordings(), patience)?;
    Ok(Box::pin(async move { Ended { address, recorded, outcome: attempt.await } }))
}

/// The first of the attempts that is over; it is taken out.
async fn first_of(running: &mut Vec<Running>) -> Ended {
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

/// An endpoint of DCCP that ends with the attempt, unless that succeeds.
struct Guard(Option<tfrc_net::Endpoint>);

impl Guard {
    fn towards(
        peer: SocketAddr,
        options: &tfrc_net::Options,
        recordings: Recordings,
    ) -> Result<Self, BindError> {
        tfrc_net::Endpoint::towards(peer, options, recordings).map(|endpoint| Self(Some(endpoint)))
    }

    async fn attempt(
        mut self,
        to: SocketAddr,
    ) -> Result<(tfrc_net::Endpoint, tfrc_net::Connection), tfrc_net::ConnectError> {
        let ended = tfrc_net::ConnectError::EndpointEnded;
        let Some(endpoint) = &self.0 else { return Err(ended) };
        let connection = endpoint.connect(to).await?;
        Ok((self.0.take().ok_or(ended)?, connection))
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(endpoint) = &self.0 {
            endpoint.stop();
        }
    }
}

/// The recordings that are wanted of a session.
#[derive(Debug, Clone, Copy)]
struct Wanted {
    journal: bool,
    capture: bool,
    form: CaptureForm,
}

impl Wanted {
    const fn of(recordings: &Recordings) -> Self {
        Self {
            journal: recordings.journal.is_some(),
            capture: recordings.capture.is_some(),
            form: recordings.form,
        }
    }
}

/// Recordings of an attempt.
struct Recorded {
    journal: Option<Deferred>,
    capture: Option<Deferred>,
    form: CaptureForm,
}

impl Recorded {
    fn recordings(&self) -> Recordings {
        let out = |deferred: &Deferred| -> Box<dyn Write + Send> { Box::new(deferred.clone()) };
        Recordings {
            journal: self.journal.as_ref().map(out),
            capture: self.capture.as_ref().map(out),
            form: self.form,
        }
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
