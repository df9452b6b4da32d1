#!/bin/sh
# Guess: `acked_ranges` in a qlog of noq have the first and the last number acknowledged, as
# draft-ietf-quic-qlog-quic-events has them, and `ack_delay` is in milliseconds.
# Run: noq 1.4.0 (noq-proto 1.4.0, n0-qlog 0.2.0), a client over loopback. The server acknowledges the
# client's packet 0, which is all that was sent, and the file says [0,1]: ranges end before their last
# number. Of the acknowledgements of a transfer over loopback a third named a number never sent.
# `ack_delay` is in microseconds: it is above 1 where the whole handshake takes a few milliseconds.
# The file is of later drafts (`file_schema`), not of 0.3, and its events have the category `quic`.
# Here: `tfrc capture` takes the ends off where a number is acknowledged before it is sent; the test is
# `three_writers`.
set -eu
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
mkdir "$place/src"
cat > "$place/Cargo.toml" <<'END'
[package]
name = "ranges"
version = "0.0.0"
edition = "2021"
[dependencies]
noq = { version = "=1.4.0", default-features = false, features = ["qlog", "runtime-tokio", "rustls-ring"] }
noq-proto = { version = "=1.4.0", default-features = false }
rcgen = { version = "0.14", default-features = false, features = ["crypto", "ring"] }
rustls = { version = "0.23", default-features = false, features = ["ring", "std"] }
tokio = { version = "1", features = ["io-util", "macros", "net", "rt", "time"] }
[workspace]
END
cat > "$place/src/main.rs" <<'END'
use std::sync::Arc;

use noq::{ClientConfig, Endpoint, QlogFileFactory, ServerConfig, TransportConfig};

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
    let mut transport = TransportConfig::default();
    transport.qlog_factory(Arc::new(QlogFileFactory::new(std::env::args().nth(1).unwrap().into())));
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
mkdir "$place/logs"
cargo run --quiet --manifest-path "$place/Cargo.toml" -- "$place/logs"
cat "$place"/logs/*client.qlog | tr -d '\036' > "$place/lines"
{
    head -n 1 "$place/lines" | grep -o '"file_schema":"[^"]*"'
    # The first packet that came acknowledges, and one of the Initial space had been sent before it.
    first=$(grep -n '"acked_ranges"' "$place/lines" | head -n 1)
    before=$(head -n "${first%%:*}" "$place/lines" | grep packet_sent | grep -c '"packet_type":"initial"')
    echo "initial packets sent: $before, acknowledged: $(echo "$first" | grep -o '"acked_ranges":[^"]*')"
    delay=$(echo "$first" | grep -o '"ack_delay":[0-9]*' | cut -d: -f2)
    if [ "$delay" -gt 1 ]; then echo "ack_delay: above 1"; else echo "ack_delay: $delay"; fi
} | tee "$place/seen"
cat > "$place/expected" <<'END'
"file_schema":"urn:ietf:params:qlog:file:sequential"
initial packets sent: 1, acknowledged: "acked_ranges":[[0,1]],
ack_delay: above 1
END
cmp "$place/seen" "$place/expected"
