#!/bin/sh
# Guess: quinn-udp reports the ECN bits of every datagram that it receives.
# Run: quinn-udp 0.6.3 on Linux. A datagram by itself has its ECT(0). Three datagrams sent by one call
# and received by one (generic segmentation and receive offload) arrive as `ecn: None`.
# Cause: it asks the system for receive times, coalesced reads, destinations and ECN bits, which are
# 112 bytes of control messages, and has room for 96; the ECN bits come last and are cut off. Without
# receive times (SO_TIMESTAMPNS off) they are there.
# Here: `tfrc_net::io` asks for destinations or for coalesced reads, never for both; the test is
# `a_train_keeps_its_marks`.
set -eu
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
mkdir "$place/src"
cat > "$place/Cargo.toml" <<'END'
[package]
name = "coalesced"
version = "0.0.0"
edition = "2021"
[dependencies]
quinn-udp = { version = "=0.6.3", default-features = false }
libc = "0.2"
END
cat > "$place/src/main.rs" <<'END'
use std::io::IoSliceMut;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;

use quinn_udp::{EcnCodepoint, RecvMeta, Transmit, UdpSocketState};

fn received(segment: Option<usize>, times: libc::c_int) -> (usize, usize, Option<EcnCodepoint>) {
    let from = UdpSocket::bind("127.0.0.1:0").unwrap();
    let to = UdpSocket::bind("127.0.0.1:0").unwrap();
    let (sends, takes) = (
        UdpSocketState::new((&from).into()).unwrap(),
        UdpSocketState::new((&to).into()).unwrap(),
    );
    to.set_nonblocking(false).unwrap();
    let (level, name) = (libc::SOL_SOCKET, libc::SO_TIMESTAMPNS);
    let value = std::ptr::from_ref(&times).cast();
    assert_eq!(unsafe { libc::setsockopt(to.as_raw_fd(), level, name, value, 4) }, 0);
    let contents = [7; 2500];
    let transmit = Transmit {
        destination: to.local_addr().unwrap(),
        ecn: Some(EcnCodepoint::Ect0),
        contents: if segment.is_some() { &contents } else { &contents[..1000] },
        segment_size: segment,
        src_ip: None,
    };
    sends.try_send((&from).into(), &transmit).unwrap();
    let mut space = vec![0; 65536];
    let mut meta = [RecvMeta::default()];
    takes.recv((&to).into(), &mut [IoSliceMut::new(&mut space)], &mut meta).unwrap();
    (meta[0].len, meta[0].stride, meta[0].ecn)
}

fn main() {
    println!("one datagram: {:?}", received(None, 1));
    println!("three together: {:?}", received(Some(1000), 1));
    println!("three together, no receive times: {:?}", received(Some(1000), 0));
}
END
CARGO_TARGET_DIR="$place/target" cargo run --quiet --manifest-path "$place/Cargo.toml" > "$place/output"
cat "$place/output"
cat > "$place/expected" <<'END'
one datagram: (1000, 1000, Some(Ect0))
three together: (2500, 1000, None)
three together, no receive times: (2500, 1000, Some(Ect0))
END
diff "$place/expected" "$place/output"
