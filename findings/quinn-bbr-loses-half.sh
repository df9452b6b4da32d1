#!/bin/sh
# Guess: quinn's BBR, of version 1, keeps two bandwidth-delay products in flight at most, as Linux's
# does, which loses no packet alone in a queue of one product.
# Run: quinn 0.11.12 (quinn-proto 0.11.19), one stream through 10 Mbit/s, 40 ms and 33 packets of queue, with
# nothing beside it. From 5 to 15 s its CUBIC has 0.1 % of its packets dropped, its BBR 53 %: it sends 21
# Mbit/s into 10. Next to a CUBIC of the kernel it is the same, and that has 2 % of the line.
# Here: `experiments/modern/relatives` has it beside the kernel's CUBIC, and `docs/habits.md` names it; the
# adapters `tfrc-quinn` and `tfrc-noq` take the place of the library's controller, and do not build on it.
set -eu
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
mkdir "$place/src"
cat > "$place/Cargo.toml" <<'END'
[package]
name = "stream"
version = "0.0.0"
edition = "2021"
[dependencies]
quinn = { version = "=0.11.12", default-features = false, features = ["runtime-tokio", "rustls-ring"] }
quinn-proto = { version = "=0.11.19", default-features = false }
rcgen = { version = "0.14", default-features = false, features = ["crypto", "ring"] }
rustls = { version = "0.23", default-features = false, features = ["ring", "std"] }
tokio = { version = "1", features = ["macros", "rt-multi-thread", "time"] }
END
cat > "$place/src/main.rs" <<'END'
use std::sync::Arc;
use std::time::Duration;

use quinn::congestion::{BbrConfig, ControllerFactory, CubicConfig};
use quinn::{ClientConfig, Endpoint, ServerConfig, TransportConfig};

#[tokio::main]
async fn main() {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let certificate = made.cert.der().clone();
    let key = rustls::pki_types::PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let server = ServerConfig::with_single_cert(vec![certificate.clone()], key.into()).unwrap();
    let server = Endpoint::server(server, "127.0.0.1:7003".parse().unwrap()).unwrap();
    let mut roots = rustls::RootCertStore::empty();
    roots.add(certificate).unwrap();
    let control: Arc<dyn ControllerFactory + Send + Sync> = match std::env::args().nth(1).as_deref() {
        Some("bbr") => Arc::new(BbrConfig::default()),
        _ => Arc::new(CubicConfig::default()),
    };
    let (mut config, mut transport) =
        (ClientConfig::with_root_certificates(Arc::new(roots)).unwrap(), TransportConfig::default());
    transport.congestion_controller_factory(control);
    config.transport_config(Arc::new(transport));
    let client = Endpoint::client("127.0.0.1:0".parse().unwrap()).unwrap();
    let calling = client.connect_with(config, "127.0.0.1:7001".parse().unwrap(), "localhost").unwrap();
    tokio::spawn(async move {
        let connection = server.accept().await.unwrap().await.unwrap();
        let mut stream = connection.accept_uni().await.unwrap();
        let mut space = vec![0; 65536];
        while let Ok(Some(_)) = stream.read(&mut space).await {}
    });
    let mut stream = calling.await.unwrap().open_uni().await.unwrap();
    let data = vec![7; 65536];
    let all = async { while stream.write_all(&data).await.is_ok() {} };
    let _ = tokio::time::timeout(Duration::from_secs(15), all).await;
}
END
cat > "$place/path.py" <<'END'
"""10 Mbit/s, 33 packets of queue, 20 ms each way; what came and what was dropped from 5 to 15 s."""
import collections, select, socket, time

near, far = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
near.bind(("127.0.0.1", 7001))
far.bind(("127.0.0.1", 7002))
for one in near, far:
    one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 24)
there, back, sender, free, came, dropped, begin = collections.deque(), collections.deque(), None, 0, 0, 0, None
while begin is None or time.time() < begin + 15:
    for one in select.select([near, far], [], [], 0.0005)[0]:
        data, source = one.recvfrom(65536)
        now = time.time()
        if one is far:
            back.append((now + 0.02, data))
            continue
        sender, begin = source, begin or now
        counts = 5 <= now - begin < 15
        came += counts
        if free - now > 33 * 1500 * 8 / 10e6:
            dropped += counts
            continue
        free = max(free, now) + (len(data) + 28) * 8 / 10e6
        there.append((free + 0.02, data))
    now = time.time()
    while there and there[0][0] <= now:
        far.sendto(there.popleft()[1], ("127.0.0.1", 7003))
    while back and back[0][0] <= now:
        near.sendto(back.popleft()[1], sender)
print(f"{came} packets, {100 * dropped / came:.1f} % dropped")
END
export CARGO_TARGET_DIR="$place/target"
cargo build --quiet --manifest-path "$place/Cargo.toml"
for control in cubic bbr; do
  python3 "$place/path.py" > "$place/$control" & path=$!
  sleep 0.3
  "$place/target/debug/stream" $control
  wait $path
  echo "$control: $(cat "$place/$control")"
done
grep -qE ', [0-3]\.[0-9] % dropped' "$place/cubic"
grep -qE ', [2-6][0-9]\.[0-9] % dropped' "$place/bbr"
