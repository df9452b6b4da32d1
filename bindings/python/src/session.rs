//! Sessions with other hosts: two ends with data between them, private over QUIC or over DCCP.

use std::future::Future;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::pin::pin;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use pyo3::exceptions::{PyOSError, PyTimeoutError, PyValueError};
use pyo3::prelude::*;
use tfrc_session::{
    Carrier, Cause, Common, Connection, DataFrom, Endpoint, Fingerprint, Listen, Options, Part, Quic,
    Recordings, SendError, connect_any, connect_waiting, why,
};
use tokio::runtime::{Builder, Runtime};

use crate::exchange::{self, FileCopy};
use crate::failure::SessionError;
use crate::quantities::duration;

/// Time between two looks for Ctrl-C: short for a person, long for a processor.
const LOOK: Duration = Duration::from_millis(50);

/// The key of this end of private sessions, known to others by its fingerprint.
#[pyclass(module = "tfrc", frozen)]
#[derive(Debug)]
pub(crate) struct Key(tfrc_session::Key);

#[pymethods]
impl Key {
    /// The key in a file, which is made for its owner alone if it is not there.
    #[staticmethod]
    fn load_or_make(path: PathBuf) -> PyResult<Self> {
        let loaded = tfrc_session::Key::load_or_make(&path);
        loaded.map(|loaded| Self(loaded.key)).map_err(|error| PyOSError::new_err(error.to_string()))
    }

    /// A new key that no file has.
    #[staticmethod]
    fn temporary() -> PyResult<Self> {
        tfrc_session::Key::temporary().map(Self).map_err(|error| PyOSError::new_err(error.to_string()))
    }

    /// `SHA256:` and 43 letters, which the other end has to know.
    #[getter]
    fn fingerprint(&self) -> String {
        self.0.fingerprint().to_string()
    }
}

/// An endpoint that ends with its last user.
#[derive(Debug)]
struct Port(Endpoint);

impl Drop for Port {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// A UDP port that takes sessions. With a `key` they are private: over QUIC, from the owners of
/// `allow_keys`, or from everybody if there are none. Without a key they are over DCCP, and anybody
/// on the path can read them.
///
/// The ends that connect send the data, unless this one `sends`. With `files` a session is for one
/// file, by [`Session::send_file`] or [`Session::recv_file`].
#[pyclass(module = "tfrc", frozen)]
#[derive(Debug)]
pub(crate) struct Listener {
    /// `None` once it is closed.
    port: Mutex<Option<Arc<Port>>>,
    address: SocketAddr,
}

#[pymethods]
impl Listener {
    #[new]
    #[pyo3(signature = (address, *, key=None, allow_keys=Vec::new(), sends=false, files=false, connections=1))]
    fn new(
        py: Python<'_>,
        address: &str,
        key: Option<&Key>,
        allow_keys: Vec<String>,
        sends: bool,
        files: bool,
        connections: usize,
    ) -> PyResult<Self> {
        let common = Common {
            accept: Listen::Many(connections),
            data_from: if sends { DataFrom::Listener } else { DataFrom::Caller },
            greeting: greeting(files, sends),
            ..Common::default()
        };
        let options = Options { common, carrier: carrier(key, &allow_keys)? };
        let at = *resolved(py, address)?.first().ok_or_else(|| no_address(address))?;
        let endpoint = wait(py, async move { Endpoint::bind(at, &options) })?;
        let endpoint = endpoint.map_err(|error| PyOSError::new_err(error.to_string()))?;
        let address = endpoint.local_addr();
        Ok(Self { port: Mutex::new(Some(Arc::new(Port(endpoint)))), address })
    }

    /// The address that is listened on, `HOST:PORT`.
    #[getter]
    fn address(&self) -> String {
        self.address.to_string()
    }

    /// The next session; `None` once the listener is closed. `TimeoutError` after `timeout`
    /// seconds.
    #[pyo3(signature = (timeout=None))]
    fn accept(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<Option<Session>> {
        let Some(port) = self.port.lock().unwrap_or_else(PoisonError::into_inner).clone() else {
            return Ok(None);
        };
        let connection = within(py, timeout, port.0.accept())?;
        Ok(connection.map(|connection| Session { connection: Arc::new(connection), _port: port }))
    }

    /// Takes no more sessions, and stays for up to some seconds for peers that have not heard the
    /// end of theirs.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let port = self.port.lock().unwrap_or_else(PoisonError::into_inner).take();
        port.map_or(Ok(()), |port| wait(py, async move { port.0.linger().await }))
    }

    fn __enter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __exit__(
        &self,
        py: Python<'_>,
        _kind: Option<Bound<'_, PyAny>>,
        _error: Option<Bound<'_, PyAny>>,
        _trace: Option<Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        self.close(py)
    }
}

/// One end of a session. Datagrams keep their boundaries; the network may lose some.
#[pyclass(module = "tfrc", frozen)]
#[derive(Debug)]
pub(crate) struct Session {
    connection: Arc<Connection>,
    _port: Arc<Port>,
}

#[pymethods]
impl Session {
    /// Hands over a datagram, which goes when the rate allows; waits while many wait already.
    fn send(&self, py: Python<'_>, data: Vec<u8>) -> PyResult<()> {
        wait(py, self.connection.send(data))?.map_err(|error| match error {
            SendError::TooLong { .. } => PyValueError::new_err(error.to_string()),
            error => SessionError::new_err(error.to_string()),
        })
    }

    /// The next datagram in order of arrival; `None` once the peer sends no more. `TimeoutError`
    /// after `timeout` seconds.
    #[pyo3(signature = (timeout=None))]
    fn recv(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<Option<Vec<u8>>> {
        let received = within(py, timeout, self.connection.recv())?;
        Ok(received.map(|datagram| datagram.bytes))
    }

    /// Ends the session once everything has been sent, or agrees to the end that the peer has asked
    /// for, with a text for the peer of at most 200 bytes. Returns the peer's text.
    #[pyo3(signature = (text=""))]
    fn close(&self, py: Python<'_>, text: &str) -> PyResult<Option<String>> {
        let connection = &self.connection;
        let closed = wait(py, async {
            if connection.is_asked_to_close() {
                return connection.accept_close(text).await;
            }
            connection.set_closing_text(text);
            connection.close().await
        })?;
        let closed = closed.ok_or_else(|| SessionError::new_err("the endpoint ended first"))?;
        match closed.cause {
            Cause::Agreed => Ok(closed.text),
            _ => Err(SessionError::new_err(why(&closed))),
        }
    }

    /// Sends a file until the peer has all of it, and ends the session. Both ends are made with
    /// `files=True`; the peer may be `tfrc recv -o FILE` as well.
    fn send_file(&self, py: Python<'_>, path: PathBuf) -> PyResult<FileCopy> {
        exchange::send(py, &self.connection, &path)
    }

    /// Receives a file under this name, which is there once the hash of the whole agrees, and ends
    /// the session. A file that is there is replaced only with `overwrite`.
    #[pyo3(signature = (path, *, overwrite=false))]
    fn recv_file(&self, py: Python<'_>, path: PathBuf, overwrite: bool) -> PyResult<FileCopy> {
        exchange::receive(py, &self.connection, &path, overwrite)
    }

    /// The peer's address, `HOST:PORT`; `None` once the session is forgotten.
    #[getter]
    fn peer(&self) -> Option<String> {
        self.connection.remote_addr().map(|address| address.to_string())
    }

    /// True over QUIC: nobody but the two ends can read or change the data.
    #[getter]
    fn is_private(&self) -> bool {
        self.connection.transport().is_some()
    }

    /// The longest datagram that fits into a packet now, bytes.
    #[getter]
    fn max_datagram(&self) -> usize {
        self.connection.max_datagram()
    }

    /// X, the allowed sending rate of data, bit/s.
    #[getter]
    fn allowed_rate_bps(&self) -> f64 {
        self.connection.status().allowed_rate.bits_per_sec()
    }

    /// The round-trip time, seconds; `None` before it was measured.
    #[getter]
    fn rtt_s(&self) -> Option<f64> {
        self.connection.status().rtt.map(tfrc_units::Duration::as_secs_f64)
    }
}

/// Connects to the end that listens at `address`, `HOST:PORT`: to the first of its addresses that
/// answers. With a `key` the session is private, and `peer_key` names the fingerprint of the key
/// there. With `wait` attempts are repeated for that many seconds.
///
/// This end sends the data, unless it `receives`. With `files` the session is for one file.
#[pyfunction]
#[pyo3(signature = (address, *, key=None, peer_key=None, receives=false, files=false, wait=None))]
pub(crate) fn connect(
    py: Python<'_>,
    address: &str,
    key: Option<&Key>,
    peer_key: Option<String>,
    receives: bool,
    files: bool,
    wait: Option<f64>,
) -> PyResult<Session> {
    if key.is_some() && peer_key.is_none() {
        return Err(PyValueError::new_err(
            "a private session needs the fingerprint of the key there, peer_key",
        ));
    }
    let data_from = if receives { DataFrom::Listener } else { DataFrom::Caller };
    let common = Common { data_from, greeting: greeting(files, !receives), ..Common::default() };
    let options = Options { common, carrier: carrier(key, peer_key.as_slice())? };
    let patience = wait.map(duration).transpose()?;
    let addresses = resolved(py, address)?;
    let connected = self::wait(py, async {
        match patience {
            Some(wait) => connect_waiting(&addresses, &options, Recordings::default(), wait.into()).await,
            None => connect_any(&addresses, &options, Recordings::default()).await,
        }
    })?;
    let (endpoint, connection) = connected.map_err(|error| SessionError::new_err(error.to_string()))?;
    Ok(Session { connection: Arc::new(connection), _port: Arc::new(Port(endpoint)) })
}

/// The words about a file in the first packet.
fn greeting(files: bool, sends: bool) -> String {
    let part = if sends { Part::SendsFile } else { Part::ReceivesFiles };
    if files { part.word().to_owned() } else { String::new() }
}

/// The carrier that follows from the keys.
fn carrier(key: Option<&Key>, peers: &[String]) -> PyResult<Carrier> {
    let Some(Key(key)) = key else {
        return match peers {
            [] => Ok(Carrier::default()),
            _ => {
                Err(PyValueError::new_err("the keys of peers are for private sessions: give this end a key"))
            }
        };
    };
    let peers = peers.iter().map(|peer| {
        let fingerprint = peer.parse::<Fingerprint>();
        fingerprint.map_err(|error| PyValueError::new_err(format!("{peer}: {error}")))
    });
    Ok(Carrier::Quic(Quic { key: key.clone(), peers: peers.collect::<PyResult<_>>()? }))
}

fn resolved(py: Python<'_>, address: &str) -> PyResult<Vec<SocketAddr>> {
    let found = py.detach(|| address.to_socket_addrs().map(Vec::from_iter));
    found.map_err(|error| PyOSError::new_err(format!("{address}: {error}")))
}

fn no_address(name: &str) -> PyErr {
    PyOSError::new_err(format!("{name}: has no address"))
}

/// The runtime of all sessions of this process.
fn runtime() -> PyResult<&'static Runtime> {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    if let Some(runtime) = RUNTIME.get() {
        return Ok(runtime);
    }
    let made = Builder::new_multi_thread().worker_threads(1).thread_name("tfrc").enable_all().build()?;
    Ok(RUNTIME.get_or_init(|| made))
}

/// Waits without the GIL, and looks for Ctrl-C now and then.
pub(crate) fn wait<T: Send>(py: Python<'_>, work: impl Future<Output = T> + Send) -> PyResult<T> {
    let runtime = runtime()?;
    let mut work = pin!(work);
    loop {
        let some_time = py.detach(|| {
            let work = work.as_mut();
            runtime.block_on(async { tokio::time::timeout(LOOK, work).await })
        });
        match some_time {
            Ok(done) => return Ok(done),
            Err(_) => py.check_signals()?,
        }
    }
}

/// Waits for up to this many seconds.
fn within<T: Send>(
    py: Python<'_>,
    timeout: Option<f64>,
    work: impl Future<Output = T> + Send,
) -> PyResult<T> {
    let Some(seconds) = timeout else { return wait(py, work) };
    let limit = Duration::from(duration(seconds)?);
    let done = wait(py, async { tokio::time::timeout(limit, work).await })?;
    done.map_err(|_| PyTimeoutError::new_err(format!("nothing came for {seconds} s")))
}
