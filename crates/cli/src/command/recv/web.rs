//! The page of metrics and that of health over HTTP: one request a connection.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::ready;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Weak};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hyper::body::Incoming;
use hyper::header::{self, HeaderValue};
use hyper::http::uri::Authority;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::{Receiver, metrics};
use crate::Failure;
use crate::args::values::ListenAt;
use crate::session::Task;

/// Requests answered at a time. One more ends the oldest: who connects and says nothing keeps
/// nobody out, and an honest request ends before as many others have arrived.
const AT_ONCE: usize = 64;
/// Longest accepted head of an HTTP request, bytes.
const LONGEST_HEAD: usize = 8192;
/// Time for a request and its answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// The task that answers, and where it listens.
pub(super) struct Web {
    pub(super) address: SocketAddr,
    pub(super) task: JoinHandle<()>,
}

/// Listens for requests, until the task is ended.
///
/// # Errors
/// [`Failure::Run`] when the address cannot be had.
pub(super) async fn serve(at: &ListenAt, receiver: &Arc<Receiver>) -> Result<Web, Failure> {
    let port = at.port.unwrap_or(0);
    let failed = |error: std::io::Error| Failure::Run(format!("--metrics {}:{port}: {error}", at.host));
    let listener = TcpListener::bind((at.host.as_str(), port)).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let names = Names { address, given: at.host.clone() };
    let receiver = Arc::downgrade(receiver);
    let started_s = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs_f64();
    let task = tokio::spawn(async move {
        let mut requests = Requests::default();
        loop {
            match listener.accept().await {
                Ok((stream, _)) => {
                    let receiver = Weak::clone(&receiver);
                    let page = move || {
                        let receiver = receiver.upgrade()?;
                        let (totals, stats) = (&receiver.totals, receiver.endpoint.stats());
                        Some(metrics::text(&totals.counts(), &totals.gauges(), &stats, started_s))
                    };
                    let names = names.clone();
                    requests.begin(async move {
                        let _ = tokio::time::timeout(PATIENCE, answer(stream, &names, page)).await;
                    });
                }
                // No descriptors, mostly: some become free.
                Err(error) => {
                    tracing::warn!("metrics: {error}");
                    tokio::time::sleep(PATIENCE).await;
                }
            }
        }
    });
    Ok(Web { address, task })
}

/// The requests that are being answered, the oldest first. Dropping this ends them.
#[derive(Default)]
struct Requests(VecDeque<Task<()>>);

impl Requests {
    /// Begins to answer one, in the place of the oldest if there are too many.
    fn begin(&mut self, request: impl Future<Output = ()> + Send + 'static) {
        self.0.retain(|request| !request.is_finished());
        while self.0.len() >= AT_ONCE {
            self.0.pop_front();
        }
        self.0.push_back(Task::start(request));
    }
}

/// The names that a request may have for this server.
#[derive(Debug, Clone)]
struct Names {
    address: SocketAddr,
    /// The host of `--metrics`.
    given: String,
}

impl Names {
    /// False for a name that a page of the web may have bound to a loopback address, to read the
    /// metrics with the browser of somebody on this host (DNS rebinding). Such a name has a dot: an
    /// address is not a name, and a name without a dot is of this network. On other addresses
    /// everybody may read.
    fn admit(&self, request: &Request<Incoming>) -> bool {
        let named = match request.uri().authority() {
            Some(authority) => Some(authority.clone()),
            None => match request.headers().get(header::HOST) {
                None => None,
                Some(host) => match Authority::try_from(host.as_bytes()) {
                    Ok(authority) => Some(authority),
                    Err(_) => return false,
                },
            },
        };
        let Some(named) = named.filter(|_| self.address.ip().is_loopback()) else { return true };
        let host = named.host();
        let literal = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        literal.is_ok() || !host.contains('.') || host.eq_ignore_ascii_case(&self.given)
    }
}

/// Answers one request by the page, which is there while the receiver is.
async fn answer(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    names: &Names,
    page: impl Fn() -> Option<String>,
) {
    let service = service_fn(|request| ready(Ok::<_, Infallible>(respond(&request, names, &page))));
    let http = http1::Builder::new()
        .keep_alive(false)
        .max_buf_size(LONGEST_HEAD)
        .title_case_headers(true)
        .serve_connection(TokioIo::new(stream), service);
    // A malformed request has been answered already.
    let _ = http.await;
}

/// The answer to a request: the page for a GET or HEAD of `/metrics`, and `ok` for `/healthz` while
/// the receiver serves.
fn respond(
    request: &Request<Incoming>,
    names: &Names,
    page: impl Fn() -> Option<String>,
) -> Response<String> {
    let (status, body) = match (request.method(), request.uri().path()) {
        _ if !names.admit(request) => {
            let body = "this server has another name: ask for its address, or for localhost\n";
            (StatusCode::MISDIRECTED_REQUEST, body.to_owned())
        }
        (&Method::GET | &Method::HEAD, path @ ("/metrics" | "/healthz")) => match page() {
            None => (StatusCode::SERVICE_UNAVAILABLE, String::new()),
            Some(_) if path == "/healthz" => (StatusCode::OK, "ok\n".to_owned()),
            Some(page) => (StatusCode::OK, page),
        },
        (&Method::GET | &Method::HEAD, _) => {
            (StatusCode::NOT_FOUND, "the metrics are at /metrics, the health at /healthz\n".to_owned())
        }
        _ => (StatusCode::METHOD_NOT_ALLOWED, String::new()),
    };
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    if status == StatusCode::METHOD_NOT_ALLOWED {
        response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
    }
    response
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    /// However many say nothing, the next one is answered.
    #[tokio::test]
    async fn silent_requests_give_way() {
        let mut requests = Requests::default();
        let waits = Arc::new(());
        for _ in 0..1000 {
            let kept = Arc::clone(&waits);
            requests.begin(async move {
                std::future::pending::<()>().await;
                drop(kept);
            });
        }
        let (done, ended) = tokio::sync::oneshot::channel();
        requests.begin(async move {
            let _ = done.send("answered");
        });
        assert_eq!(ended.await, Ok("answered"));
        assert!(requests.0.len() <= AT_ONCE && Arc::strong_count(&waits) <= AT_ONCE + 1);
    }

    /// The answer of a server that listens on port 9466 of an address.
    async fn said(request: &str, address: &str) -> String {
        let names = Names {
            address: SocketAddr::new(address.parse().expect("an address"), 9466),
            given: "metrics.example".to_owned(),
        };
        let (mut asking, answering) = tokio::io::duplex(1024);
        asking.write_all(request.as_bytes()).await.expect("there is room");
        answer(answering, &names, || Some("figures\n".to_owned())).await;
        let mut said = String::new();
        asking.read_to_string(&mut said).await.expect("an answer");
        said
    }

    /// A page of the web reaches a loopback address by a name of its own, and by none of these.
    #[tokio::test]
    async fn a_name_of_the_web_reads_nothing() {
        for (host, admitted) in [
            ("127.0.0.1:9466", true),
            ("127.0.0.1", true),
            ("[::1]:9466", true),
            ("LocalHost:9466", true),
            ("build-host", true),
            ("Metrics.Example:9466", true),
            ("evil.example", false),
            ("evil.example:9466", false),
            ("127.0.0.1.evil.example:9466", false),
            ("localhost.", false),
            ("a b", false),
            ("", false),
        ] {
            for (request, address) in [
                (format!("GET /metrics HTTP/1.1\r\nHost: {host}\r\n\r\n"), "127.0.0.1"),
                (format!("GET /healthz HTTP/1.1\r\nHost: {host}\r\n\r\n"), "::1"),
            ] {
                let said = said(&request, address).await;
                let status = if admitted { "200 OK" } else { "421 Misdirected Request" };
                assert!(said.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{host}: {said}");
                assert_eq!(said.contains("figures") || said.ends_with("ok\n"), admitted, "{host}: {said}");
            }
        }
        // The form that a proxy gets.
        let absolute = "GET http://evil.example/metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";
        assert!(said(absolute, "127.0.0.1").await.starts_with("HTTP/1.1 421 "));
        // Everybody may read this one.
        let elsewhere = "GET /metrics HTTP/1.1\r\nHost: host.example:9466\r\n\r\n";
        assert!(said(elsewhere, "192.0.2.1").await.starts_with("HTTP/1.1 200 OK"));
    }

    #[tokio::test]
    async fn two_pages_are_there() {
        for (request, status, end) in [
            ("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", "200 OK", "\r\n\r\nfigures\n"),
            ("GET /metrics?x=1 HTTP/1.0\r\n\r\n", "200 OK", "\r\n\r\nfigures\n"),
            ("HEAD /metrics HTTP/1.1\r\n\r\n", "200 OK", "\r\n\r\n"),
            ("GET /healthz HTTP/1.1\r\n\r\n", "200 OK", "\r\n\r\nok\n"),
            ("GET / HTTP/1.1\r\n\r\n", "404 Not Found", "/healthz\n"),
            ("POST /metrics HTTP/1.1\r\n\r\n", "405 Method Not Allowed", "\r\n\r\n"),
            ("GET metrics HTTP/1.1\r\n\r\n", "404 Not Found", "/healthz\n"),
            ("\u{0}\u{ffff}", "400 Bad Request", "\r\n\r\n"),
        ] {
            let said = said(request, "127.0.0.1").await;
            // HTTP/1.0 is answered in kind; its connections end unless they say otherwise.
            let version = if request.contains("HTTP/1.0") { "HTTP/1.0" } else { "HTTP/1.1" };
            assert!(said.starts_with(&format!("{version} {status}\r\n")), "{request:?}: {said}");
            assert!(said.ends_with(end), "{request:?}: {said}");
            let length = match status {
                "200 OK" if request.contains("/metrics") => "Content-Length: 8\r\n",
                _ => "Content-Length: ",
            };
            let is_closed = version == "HTTP/1.0" || said.to_lowercase().contains("connection: close\r\n");
            assert!(said.contains(length) && is_closed, "{said}");
        }
    }
}
