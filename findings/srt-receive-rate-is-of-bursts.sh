#!/bin/sh
# Guess: the receiving rate in SRT's acknowledgements, packets and bytes in a second, is what arrived since
# some time over that time; a sender can take it for X_recv, as TFRC has it.
# Run: srt-live-transmit 1.5.1 (Debian 12), live mode over loopback, 100 packets a second. Where they come
# one by one it says 100 or so. Where the same come ten at a time, as ffmpeg sends pictures, it says
# 10,000 and more: it is the inverse of the median gap between the last 16 packets, and gaps that
# are eight times as long do not count.
# Here: X_recv is bytes over a time in `tfrc` (RFC 5348 6.2), and the `Advisor` counts it from the packets
# themselves, not from a peer's rate; `docs/habits.md` has SRT's.
set -eu
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
for package in srt-tools libsrt1.5-gnutls; do
  apt-get -o APT::Sandbox::User=root download -qq "$package=1.5.1-1+deb12u2"
done
for package in *.deb; do dpkg-deb -x "$package" root; done
LD_LIBRARY_PATH="$place/$(dirname "$(find root -name 'libsrt-gnutls.so.1.5')")"
export LD_LIBRARY_PATH
cat > between.py <<'END'
"""Passes packets on between the two ends; the median of the receiving rates in acknowledgements."""
import select, socket, statistics, struct, sys, time

near, far = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
near.bind(("127.0.0.1", 7001))
far.bind(("127.0.0.1", 7002))
sender, rates, end = None, [], time.time() + 9
while time.time() < end:
    for one in select.select([near, far], [], [], 0.1)[0]:
        data, source = one.recvfrom(65536)
        if one is near:
            sender = source
            far.sendto(data, ("127.0.0.1", 7003))
        else:
            near.sendto(data, sender)
            if data[:2] == b"\x80\x02" and len(data) == 44:
                rates.append(struct.unpack_from(">7I", data, 16)[4])
print(round(statistics.median(rates[len(rates) // 2:])))
END
cat > live.py <<'END'
"""100 datagrams of 1316 bytes in a second, so many at a time, for 7 s."""
import socket, sys, time

together = int(sys.argv[1])
out, at = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), time.monotonic()
for _ in range(7 * 100 // together):
    at += together / 100
    time.sleep(max(at - time.monotonic(), 0))
    for _ in range(together):
        out.sendto(bytes(1316), ("127.0.0.1", 5000))
END
tool=root/usr/bin/srt-live-transmit
for together in 1 10; do
  python3 between.py > rate & between=$!
  timeout 9 "$tool" -q 'srt://:7003?mode=listener' file://con > got 2> words & receiver=$!
  sleep 0.5
  timeout 8 "$tool" -q udp://127.0.0.1:5000 srt://127.0.0.1:7001 2> words-of-sender & sender=$!
  sleep 0.3
  python3 live.py $together
  wait $between
  wait $sender $receiver || true
  echo "100 packets a second, $together at a time: $(cat rate) reported, $(($(wc -c < got) / 1316)) of 700 came out" |
    tee -a seen
done
grep -qE ', 1 at a time: (9[0-9]|1[0-2][0-9]) reported' seen
grep -qE ', 10 at a time: [1-9][0-9]{4,} reported' seen
