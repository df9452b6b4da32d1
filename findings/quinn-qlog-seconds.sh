#!/bin/sh
# Guess: a qlog of quinn, whose first record says `qlog_version` 0.3, has round-trip times in
# milliseconds, as draft-ietf-quic-qlog-quic-events has them, says which end wrote it, and has one
# `group_id` for a connection.
# Run: quinn 0.11.12 (quinn-proto 0.11.19, qlog 0.15.2), a client over loopback. The time that it
# assumes before it has measured is 333 ms (RFC 9002 6.2.2); the file says 0.333: seconds. Times of
# events are milliseconds. The vantage point of the client is `unknown`, and the group changes when
# the server has chosen its connection ID. There are no frames, and so no acknowledgements.
# Here: `tfrc capture` finds the unit by the file's own times, the side by the first packet, and what
# was acknowledged by `bytes_in_flight`; the test is `three_writers`.
set -eu
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
mkdir "$place/src"
cat > "$place/Cargo.toml" <<'END'
[package]
name = "seconds"
version = "0.0.0"
edition = "2021"
[dependencies]
quinn = { version = "=0.11.12", default-features = false, features = ["qlog", "runtime-tokio", "rustls-ring"] }
quinn-proto = { version = "=0.11.19", default-features = false, features = ["qlog"] }
rcgen = { version = "0.14", default-features = false, features = ["crypto", "ring"] }
rustls = { version = "0.23", default-features = false, features = ["ring", "std"] }
tokio = { version = "1", features = ["io-util", "macros", "net", "rt", "time"] }
[workspace]
END
cat > "$place/src/main.rs" <<'END'
use std::sync::Arc;

use quinn::{ClientConfig, Endpoint, ServerConfig, TransportConfig};
use quinn_proto::QlogConfig;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let certificate = made.cert.der().clone();
    let key = rustls::pki_types::PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let server = ServerConfig::with_single_cert(vec![certificate.clone()], key.into()).unwrap();
    let server = Endpoint::server(server, "127.0.0.1:0".parse().unwrap()).unwrap();
    let mut roots = rustls::RootCertStore::empty();
    roots.add(certificate).unwrap();
    let mut config = ClientConfig::with_root_certificates(Arc::new(roots)).unwrap();
    let (mut transport, mut log) = (TransportConfig::default(), QlogConfig::default());
    log.writer(Box::new(std::fs::File::create(std::env::args().nth(1).unwrap()).unwrap()));
    transport.qlog_stream(log.into_stream());
    config.transport_config(Arc::new(transport));
    let client = Endpoint::client("127.0.0.1:0".parse().unwrap()).unwrap();
    let calling = client.connect_with(config, server.local_addr().unwrap(), "localhost").unwrap();
    let answering = tokio::spawn(async move {
        let connection = server.accept().await.unwrap().await.unwrap();
        connection.closed().await;
    });
    let connection = calling.await.unwrap();
    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    connection.close(0u32.into(), b"");
    client.wait_idle().await;
    answering.await.unwrap();
}
END
cargo run --quiet --manifest-path "$place/Cargo.toml" -- "$place/log"
tr -d '\036' < "$place/log" > "$place/lines"
{
    head -n 1 "$place/lines" | grep -o '"qlog_version":"[^"]*"'
    head -n 1 "$place/lines" | grep -o '"vantage_point":{"type":"[^"]*"'
    grep -o '"smoothed_rtt":[0-9.]*' "$place/lines" | head -n 1
    echo "groups: $(grep -o '"group_id":"[^"]*"' "$place/lines" | sort -u | wc -l)"
    echo "records with frames: $(grep -c '"frames"' "$place/lines" || true)"
} | tee "$place/seen"
cat > "$place/expected" <<'END'
"qlog_version":"0.3"
"vantage_point":{"type":"unknown"
"smoothed_rtt":0.333
groups: 2
records with frames: 0
END
cmp "$place/seen" "$place/expected"
