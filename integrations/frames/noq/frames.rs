//! Frames of an encoder as QUIC datagrams, at the rate that TFRC allows: the programs for noq and
//! for quinn, with the differences between them in the module `stack`.
//!
//! ```text
//! frames                                   both ends in this program, for 5 s
//! frames receive ADDRESS CERTIFICATE       receives; writes its certificate into this file
//! frames send ADDRESS CERTIFICATE SECONDS  sends to the receiver that wrote it
//! ```

use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};

use super::stack::{
    ClientConfig, Connection, Endpoint, ServerConfig, TfrcConfig, TransportConfig, allowed_rate,
};

/// Time between frames.
const FRAME: Duration = Duration::from_millis(33);
/// Bits that headers of QUIC add to each datagram, about.
const HEADERS: f64 = 38.0 * 8.0;
/// Limits of the encoder, bit/s.
const ENCODER: (f64, f64) = (100e3, 20e6);
/// Any port of any address.
const ANY: &str = "0.0.0.0:0";

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

/// The program, by its arguments.
pub(crate) async fn run() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        [] => {
            let (server, certificate) = server("127.0.0.1:0".parse()?)?;
            let address = server.local_addr()?;
            let receiver = tokio::spawn(async move { receive(&server).await.map_err(|e| e.to_string()) });
            send(address, certificate, 5).await?;
            Ok(receiver.await??)
        }
        ["receive", address, file] => {
            let (server, certificate) = server(address.parse()?)?;
            std::fs::write(file, &certificate)?;
            receive(&server).await
        }
        ["send", address, file, seconds] => {
            let address = tokio::net::lookup_host(address).await?.next().ok_or("the name has no address")?;
            send(address, std::fs::read(file)?.into(), seconds.parse()?).await
        }
        _ => Err("frames [receive ADDRESS CERTIFICATE | send ADDRESS CERTIFICATE SECONDS]".into()),
    }
}

/// Receives of one sender, and prints a line a second and the mean of all from the tenth on.
async fn receive(server: &Endpoint) -> Result<(), Box<dyn Error>> {
    let connection = server.accept().await.ok_or("the endpoint is closed")?.await?;
    let start = Instant::now();
    let (mut seconds, mut bytes, mut all) = (0u32, 0, 0);
    while let Ok(datagram) = connection.read_datagram().await {
        bytes += datagram.len();
        if start.elapsed() >= Duration::from_secs(u64::from(seconds) + 1) {
            seconds += 1;
            all += if seconds > 10 { bytes } else { 0 };
            println!("{seconds:3} s: arrived {:6.0} kbit/s", kbit(bytes, 1.0));
            bytes = 0;
        }
    }
    if seconds > 10 {
        println!("arrived {:.0} kbit/s after the first 10 s", kbit(all, f64::from(seconds - 10)));
    }
    server.wait_idle().await;
    Ok(())
}

/// Sends frames for this time.
async fn send(
    address: SocketAddr,
    certificate: CertificateDer<'static>,
    seconds: u64,
) -> Result<(), Box<dyn Error>> {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(certificate)?;
    let mut config = ClientConfig::with_root_certificates(Arc::new(roots))?;
    config.transport_config(transport());
    let client = Endpoint::client(ANY.parse()?)?;
    let connection = client.connect_with(config, address, "localhost")?.await?;
    frames(&connection, seconds).await?;
    connection.close(0u32.into(), b"done");
    client.wait_idle().await;
    Ok(())
}

/// Sends frames, and prints a line a second.
async fn frames(connection: &Connection, seconds: u64) -> Result<(), Box<dyn Error>> {
    let mut encoder = Encoder::default();
    let mut clock = tokio::time::interval(FRAME);
    let mut bytes = 0;
    for frame in 1..=seconds * 30 {
        clock.tick().await;
        let allowed = allowed_rate(connection);
        let largest = connection.max_datagram_size().ok_or("the peer takes no datagrams")?;
        let share = 1.0 - HEADERS / (largest as f64 * 8.0 + HEADERS);
        let picture = encoder.frame(allowed * share);
        for piece in picture.chunks(largest) {
            // The oldest datagram makes room if the transport has not got rid of it.
            connection.send_datagram(piece.to_vec().into())?;
        }
        bytes += picture.len();
        if frame % 30 == 0 {
            let made = kbit(bytes, FRAME.as_secs_f64() * 30.0);
            println!("{:3} s: X {:6.0} kbit/s, encoder {made:6.0}", frame / 30, allowed / 1e3);
            bytes = 0;
        }
    }
    Ok(())
}

fn kbit(bytes: usize, seconds: f64) -> f64 {
    bytes as f64 * 8e-3 / seconds
}

fn transport() -> Arc<TransportConfig> {
    let mut transport = TransportConfig::default();
    transport.congestion_controller_factory(Arc::new(TfrcConfig::default()));
    Arc::new(transport)
}

/// A receiver with a certificate of its own.
fn server(address: SocketAddr) -> Result<(Endpoint, CertificateDer<'static>), Box<dyn Error>> {
    let key = rcgen::generate_simple_self_signed(vec!["localhost".into()])?;
    let private = PrivatePkcs8KeyDer::from(key.signing_key.serialize_der());
    let certificate = key.cert.der().clone();
    let mut config = ServerConfig::with_single_cert(vec![certificate.clone()], private.into())?;
    config.transport_config(transport());
    Ok((Endpoint::server(config, address)?, certificate))
}
