//! The page of metrics over HTTP: one request a connection, and no other page.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Weak};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use super::{Receiver, metrics};
use crate::Failure;
use crate::args::values::ListenAt;

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
    let receiver = Arc::downgrade(receiver);
    let started_s = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs_f64();
    let task = tokio::spawn(async move {
        let mut requests = Requests::default();
        loop {
            match listener.accept().await {
                Ok((stream, _)) => {
                    let receiver = Weak::clone(&receiver);
                    requests.begin(async move {
                        let _ = tokio::time::timeout(PATIENCE, answer(stream, &receiver, started_s)).await;
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
struct Requests(VecDeque<AbortOnDrop>);

struct AbortOnDrop(JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Requests {
    /// Begins to answer one, in the place of the oldest if there are too many.
    fn begin(&mut self, request: impl Future<Output = ()> + Send + 'static) {
        self.0.retain(|request| !request.0.is_finished());
        while self.0.len() >= AT_ONCE {
            self.0.pop_front();
        }
        self.0.push_back(AbortOnDrop(tokio::spawn(request)));
    }
}

async fn answer(mut stream: TcpStream, receiver: &Weak<Receiver>, started_s: f64) -> std::io::Result<()> {
    let mut head = Vec::new();
    while !head.windows(4).any(|end| end == b"\r\n\r\n") && head.len() < LONGEST_HEAD {
        let mut piece = [0; 1024];
        let length = stream.read(&mut piece).await?;
        if length == 0 {
            break;
        }
        head.extend_from_slice(piece.get(..length).unwrap_or_default());
    }
    let Some(receiver) = receiver.upgrade() else { return Ok(()) };
    let page = || metrics::text(&receiver.totals.counts(), &receiver.endpoint.stats(), started_s);
    let answer = respond(&head, page);
    drop(receiver);
    stream.write_all(answer.as_bytes()).await?;
    stream.shutdown().await
}

/// The answer to a request: the page for a GET or HEAD of `/metrics`.
fn respond(head: &[u8], page: impl FnOnce() -> String) -> String {
    let line = head.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    let mut words = line.split(' ');
    let (method, path, version) = (words.next(), words.next(), words.next());
    let path = path.map(|path| path.split('?').next().unwrap_or_default());
    let (status, more, body) = match (method, path, version) {
        (Some("GET" | "HEAD"), Some("/metrics"), Some("HTTP/1.1" | "HTTP/1.0")) => ("200 OK", "", page()),
        (Some("GET" | "HEAD"), Some(path), Some("HTTP/1.1" | "HTTP/1.0")) if path.starts_with('/') => {
            ("404 Not Found", "", "the metrics are at /metrics\n".to_owned())
        }
        (Some(_), Some(_), Some("HTTP/1.1" | "HTTP/1.0")) => {
            ("405 Method Not Allowed", "Allow: GET, HEAD\r\n", String::new())
        }
        _ => ("400 Bad Request", "", String::new()),
    };
    let length = body.len();
    let body = if method == Some("HEAD") { "" } else { &body };
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n{more}\
         Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn one_page_is_there() {
        for (request, status, end) in [
            ("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", "200 OK", "\r\n\r\nfigures\n"),
            ("GET /metrics?x=1 HTTP/1.0\r\n\r\n", "200 OK", "\r\n\r\nfigures\n"),
            ("HEAD /metrics HTTP/1.1\r\n\r\n", "200 OK", "Content-Length: 8\r\nConnection: close\r\n\r\n"),
            ("GET / HTTP/1.1\r\n\r\n", "404 Not Found", "/metrics\n"),
            ("GET metrics HTTP/1.1\r\n\r\n", "405 Method Not Allowed", "\r\n\r\n"),
            ("POST /metrics HTTP/1.1\r\n\r\n", "405 Method Not Allowed", "\r\n\r\n"),
            ("GET /metrics\r\n\r\n", "400 Bad Request", "\r\n\r\n"),
            ("", "400 Bad Request", "\r\n\r\n"),
            ("\u{0}\u{ffff}", "400 Bad Request", "\r\n\r\n"),
        ] {
            let answer = respond(request.as_bytes(), || "figures\n".to_owned());
            assert!(answer.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{request:?}: {answer}");
            assert!(answer.ends_with(end), "{request:?}: {answer}");
        }
    }
}
