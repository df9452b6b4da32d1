//! Frames of an encoder as QUIC datagrams, at the rate that TFRC allows.
//!
//! Both ends are in this program. A path of `tfrc` may lie between them:
//!
//! ```text
//! tfrc link halving --listen 127.0.0.1:7000 --to 127.0.0.1:7001
//! cargo run --release -p tfrc-noq --example frames -- 127.0.0.1:7001 127.0.0.1:7000 40
//! ```

use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use noq::{ClientConfig, Connection, Endpoint, PathId, ServerConfig, TransportConfig};
use tfrc_noq::TfrcConfig;

/// Time between frames.
const FRAME: Duration = Duration::from_millis(33);
/// Bits that headers of QUIC add to each datagram, about.
const HEADERS: f64 = 38.0 * 8.0;
/// Limits of the encoder, bit/s.
const ENCODER: (f64, f64) = (100e3, 8e6);

/// An encoder whose frames have the size that the bit rate asks for: one in thirty is a key frame,
/// four times as large as the others.
#[derive(Default)]
struct Encoder {
    frames: u64,
}

impl Encoder {
    fn frame(&mut self, bits_per_sec: f64) -> Vec<u8> {
        let rate = bits_per_sec.clamp(ENCODER.0, ENCODER.1);
        let weight = if self.frames.is_multiple_of(30) { 4.0 } else { 1.0 } * 30.0 / 33.0;
        self.frames += 1;
        vec![0; (rate * FRAME.as_secs_f64() * weight / 8.0) as usize]
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let address = |n: usize, default: SocketAddr| arguments.get(n).map_or(Ok(default), |text| text.parse());
    let server = Endpoint::server(server_config()?, address(0, "127.0.0.1:0".parse()?)?)?;
    let to = address(1, server.local_addr()?)?;
    let seconds = arguments.get(2).map_or(Ok(5), |text| text.parse())?;

    let received = Arc::new(AtomicU64::new(0));
    let count = received.clone();
    tokio::spawn(async move {
        let Some(incoming) = server.accept().await else { return };
        let Ok(connection) = incoming.await else { return };
        while let Ok(datagram) = connection.read_datagram().await {
            count.fetch_add(datagram.len() as u64, Ordering::Relaxed);
        }
    });

    let client = Endpoint::client("127.0.0.1:0".parse()?)?;
    let connection = client.connect_with(client_config()?, to, "localhost")?.await?;
    send(&connection, seconds, &received).await?;
    connection.close(0u32.into(), b"done");
    client.wait_idle().await;
    Ok(())
}

/// Sends frames, and prints a line a second.
async fn send(connection: &Connection, seconds: u64, received: &AtomicU64) -> Result<(), Box<dyn Error>> {
    let mut encoder = Encoder::default();
    let mut clock = tokio::time::interval(FRAME);
    let (mut sent, mut before) = ([0, 0], 0);
    for frame in 1..=seconds * 30 {
        clock.tick().await;
        // X, as bits of UDP payload in a second.
        let allowed = connection.path_stats(PathId::ZERO).and_then(|stats| stats.bandwidth_estimate);
        let largest = connection.max_datagram_size().ok_or("the peer takes no datagrams")?;
        let share = 1.0 - HEADERS / (largest as f64 * 8.0 + HEADERS);
        let picture = encoder.frame(allowed.unwrap_or(0) as f64 * share);
        for piece in picture.chunks(largest) {
            // The oldest datagram makes room if the transport has not got rid of it.
            connection.send_datagram(piece.to_vec().into())?;
        }
        sent[0] += picture.len();
        if frame % 30 == 0 {
            let now = received.load(Ordering::Relaxed);
            let kbit = |bytes: u64| bytes as f64 * 8e-3 / (FRAME.as_secs_f64() * 30.0);
            println!(
                "{:3} s: X {:6.0} kbit/s, encoder {:6.0}, arrived {:6.0}",
                frame / 30,
                allowed.unwrap_or(0) as f64 / 1e3,
                kbit((sent[0] - sent[1]) as u64),
                kbit(now - before)
            );
            (sent[1], before) = (sent[0], now);
        }
    }
    Ok(())
}

fn transport() -> Arc<TransportConfig> {
    let mut transport = TransportConfig::default();
    transport.congestion_controller_factory(Arc::new(TfrcConfig::default()));
    Arc::new(transport)
}

/// A certificate of this run, which both ends know.
fn certificate() -> &'static rcgen::CertifiedKey<rcgen::KeyPair> {
    static CERTIFICATE: std::sync::LazyLock<rcgen::CertifiedKey<rcgen::KeyPair>> =
        std::sync::LazyLock::new(|| {
            rcgen::generate_simple_self_signed(vec!["localhost".into()]).expect("a sound name")
        });
    &CERTIFICATE
}

fn server_config() -> Result<ServerConfig, Box<dyn Error>> {
    let key = certificate();
    let private = rustls::pki_types::PrivatePkcs8KeyDer::from(key.signing_key.serialize_der());
    let mut config = ServerConfig::with_single_cert(vec![key.cert.der().clone()], private.into())?;
    config.transport_config(transport());
    Ok(config)
}

fn client_config() -> Result<ClientConfig, Box<dyn Error>> {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(certificate().cert.der().clone())?;
    let mut config = ClientConfig::with_root_certificates(Arc::new(roots))?;
    config.transport_config(transport());
    Ok(config)
}
