#!/bin/sh
# Guess: the round-trip time that quinn gives a congestion controller with an acknowledgement is that
# of the path, as this acknowledgement shows it.
# Run: quinn 0.11.12 (quinn-proto 0.11.19), a client over loopback. With the first acknowledgement
# `on_ack` is given the time that the transport assumes before it has measured, 333 ms (RFC 9002
# 6.2.2), where the packet left a few milliseconds ago; a later one has the measurement. The controller
# is called first, and the estimate takes the acknowledgement in afterwards, so it is always one old.
# A controller that averages it, as TFRC does, takes a short path for a long one for two seconds.
# Here: `tfrc-quinn`, and `tfrc-noq`, whose transport does the same, have the first report's time from
# the packet itself; the test is `the_first_round_trip_time_is_that_of_the_path`.
set -eu
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
mkdir "$place/src"
cat > "$place/Cargo.toml" <<'END'
[package]
name = "first"
version = "0.0.0"
edition = "2021"
[dependencies]
quinn = { version = "=0.11.12", default-features = false, features = ["runtime-tokio", "rustls-ring"] }
quinn-proto = { version = "=0.11.19", default-features = false }
rcgen = { version = "0.14", default-features = false, features = ["crypto", "ring"] }
rustls = { version = "0.23", default-features = false, features = ["ring", "std"] }
tokio = { version = "1", features = ["macros", "rt-multi-thread"] }
END
cat > "$place/src/main.rs" <<'END'
use std::any::Any;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use quinn::congestion::{Controller, ControllerFactory};
use quinn::{ClientConfig, Endpoint, ServerConfig, TransportConfig};
use quinn_proto::RttEstimator;

/// Notes the round-trip time that it is given, and the time since the packet left.
#[derive(Debug, Clone, Default)]
struct Notes(Arc<Mutex<Vec<(Duration, Duration)>>>);

impl ControllerFactory for Notes {
    fn build(self: Arc<Self>, _now: Instant, _mtu: u16) -> Box<dyn Controller> {
        Box::new(Self::clone(&self))
    }
}

impl Controller for Notes {
    fn on_ack(&mut self, now: Instant, sent: Instant, _bytes: u64, _limited: bool, rtt: &RttEstimator) {
        self.0.lock().unwrap().push((rtt.get(), now - sent));
    }
    fn on_congestion_event(&mut self, _now: Instant, _sent: Instant, _persistent: bool, _bytes: u64) {}
    fn on_mtu_update(&mut self, _mtu: u16) {}
    fn window(&self) -> u64 {
        1 << 20
    }
    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
    fn initial_window(&self) -> u64 {
        1 << 20
    }
    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

#[tokio::main]
async fn main() {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let certificate = made.cert.der().clone();
    let key = rustls::pki_types::PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let server = ServerConfig::with_single_cert(vec![certificate.clone()], key.into()).unwrap();
    let here: SocketAddr = "127.0.0.1:0".parse().unwrap();
    let server = Endpoint::server(server, here).unwrap();
    let mut roots = rustls::RootCertStore::empty();
    roots.add(certificate).unwrap();
    let mut config = ClientConfig::with_root_certificates(Arc::new(roots)).unwrap();
    let (notes, mut transport) = (Notes::default(), TransportConfig::default());
    transport.congestion_controller_factory(Arc::new(notes.clone()));
    config.transport_config(Arc::new(transport));
    let client = Endpoint::client(here).unwrap();
    let calling = client.connect_with(config, server.local_addr().unwrap(), "localhost").unwrap();
    let answering = tokio::spawn(async move {
        let connection = server.accept().await.unwrap().await.unwrap();
        while connection.read_datagram().await.is_ok() {}
    });
    let connection = calling.await.unwrap();
    for _ in 0..50 {
        connection.send_datagram(vec![7; 100].into()).unwrap();
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let noted = notes.0.lock().unwrap().clone();
    let (first, last) = (noted[0], noted[noted.len() - 1]);
    println!("first: given {} ms, sent less than 100 ms ago: {}", first.0.as_millis(), first.1.as_millis() < 100);
    println!("later: given less than 100 ms: {}", last.0.as_millis() < 100);
    drop(connection);
    answering.await.unwrap();
}
END
cargo run --quiet --manifest-path "$place/Cargo.toml" | tee "$place/seen"
grep -qx 'first: given 333 ms, sent less than 100 ms ago: true' "$place/seen"
grep -qx 'later: given less than 100 ms: true' "$place/seen"
