//! Datagrams over quinn and noq as an application would send them, with each library's default
//! congestion control (CUBIC): `datagrams quinn|noq serve ADDRESS FOLDER` and
//! `datagrams quinn|noq send ADDRESS FOLDER MBIT SECONDS`.
//!
//! The server leaves its certificate in FOLDER and prints how many datagrams came. The client sends
//! 1400 bytes each at a pace of its own, and waits where the library's queue is full.
//! benches/wire.py runs them next to `iperf3 -u` and `tfrc send`.

use std::error::Error;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

type Outcome = Result<(), Box<dyn Error>>;

const BYTES: usize = 1400;
const PORT_NAME: &str = "localhost";
/// Application data stops here; the rest of the run is the end of the connection.
const DONE: u32 = 0;
/// Room for a datagram of 1400 bytes and QUIC's own in a packet of 1472.
const MTU: u16 = 1472;

/// One library; both have the same names.
macro_rules! library {
    ($name:ident) => {
        mod $name {
            use super::*;
            use std::sync::Arc;

            fn transport() -> Arc<::$name::TransportConfig> {
                let mut transport = ::$name::TransportConfig::default();
                transport.initial_mtu(MTU);
                Arc::new(transport)
            }

            pub(super) async fn serve(at: SocketAddr, folder: &Path) -> Outcome {
                let made = rcgen::generate_simple_self_signed([PORT_NAME.to_owned()])?;
                let key = rustls::pki_types::PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
                let chain = vec![made.cert.der().clone()];
                let mut config = ::$name::ServerConfig::with_single_cert(chain, key.into())?;
                config.transport_config(transport());
                let endpoint = ::$name::Endpoint::server(config, at)?;
                std::fs::write(folder.join("certificate"), made.cert.der())?;
                let connection = endpoint.accept().await.ok_or("closed")?.await?;
                let mut count = 0_u64;
                while connection.read_datagram().await.is_ok() {
                    count += 1;
                }
                println!("{count}");
                Ok(())
            }

            pub(super) async fn send(to: SocketAddr, folder: &Path, mbit: f64, seconds: f64) -> Outcome {
                let mut roots = rustls::RootCertStore::empty();
                roots.add(std::fs::read(folder.join("certificate"))?.into())?;
                let endpoint = ::$name::Endpoint::client(SocketAddr::from(([0, 0, 0, 0], 0)))?;
                let mut config = ::$name::ClientConfig::with_root_certificates(Arc::new(roots))?;
                config.transport_config(transport());
                let connection = endpoint.connect_with(config, to, PORT_NAME)?.await?;
                let data = bytes::Bytes::from(vec![0_u8; BYTES]);
                let per_second = mbit * 1e6 / 8.0 / BYTES as f64;
                let begin = std::time::Instant::now();
                let mut sent = 0_u64;
                loop {
                    let elapsed = begin.elapsed().as_secs_f64();
                    if elapsed >= seconds {
                        break;
                    }
                    let due = (elapsed * per_second) as u64;
                    if due > sent {
                        connection.send_datagram_wait(data.clone()).await?;
                        sent += 1;
                    } else {
                        // The runtime's timer is good to a millisecond.
                        tokio::time::sleep(Duration::from_millis(1)).await;
                    }
                }
                tokio::time::sleep(Duration::from_millis(300)).await;
                connection.close(DONE.into(), b"");
                endpoint.wait_idle().await;
                println!("{sent}");
                Ok(())
            }
        }
    };
}

library!(noq);
library!(quinn);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["quinn", "serve", at, folder] => quinn::serve(at.parse()?, Path::new(folder)).await,
        ["noq", "serve", at, folder] => noq::serve(at.parse()?, Path::new(folder)).await,
        ["quinn", "send", to, folder, mbit, seconds] => {
            quinn::send(to.parse()?, Path::new(folder), mbit.parse()?, seconds.parse()?).await
        }
        ["noq", "send", to, folder, mbit, seconds] => {
            noq::send(to.parse()?, Path::new(folder), mbit.parse()?, seconds.parse()?).await
        }
        _ => Err("datagrams quinn|noq serve ADDRESS FOLDER, or send ADDRESS FOLDER MBIT SECONDS".into()),
    }
}
