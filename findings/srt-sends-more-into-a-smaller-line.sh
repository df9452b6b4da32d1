#!/bin/sh
# Guess: SRT in live mode, whose overhead bandwidth is 25 % unless told otherwise, puts at most 1.25
# times its input on a line that has become too small, and mostly less.
# Run: srt-live-transmit 1.5.1 (Debian 12), 8 Mbit/s come in, which are 8.3 with headers, 40 ms there and
# back. Through 100 Mbit/s it sends 8.3; into 5 Mbit/s it sends 13 to 14 for as long as that lasts, as
# each loss is asked for again until its time is over, and four tenths of the data come out, where the line
# has room for six. The 25 % count with `maxbw=0` alone (10.4); the default is no limit.
# Here: `docs/guides/from-other-tools.md` says this of live streams; `tfrc send --udp-in --deadline` sends
# at the rate of the path, drops late data before it is sent, and sends nothing again.
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
cat > path.py <<'END'
"""A line of so many bit/s with a queue of 50 ms, 20 ms each way; what comes in from 4 to 10 s, Mbit/s."""
import collections, select, socket, sys, time

rate = float(sys.argv[1])
near, far = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
near.bind(("127.0.0.1", 7001))
far.bind(("127.0.0.1", 7002))
for one in near, far:
    one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
there, back, sender, free, came = collections.deque(), collections.deque(), None, 0, 0
begin = time.time()
while (now := time.time()) < begin + 12:
    for one in select.select([near, far], [], [], 0.001)[0]:
        data, source = one.recvfrom(65536)
        if one is far:
            back.append((now + 0.02, data))
            continue
        sender = source
        came += (len(data) + 28) * (4 <= now - begin < 10)
        if free - now < 0.05:
            free = max(free, now) + (len(data) + 28) * 8 / rate
            there.append((free + 0.02, data))
    while there and there[0][0] <= now:
        far.sendto(there.popleft()[1], ("127.0.0.1", 7003))
    while back and back[0][0] <= now:
        near.sendto(back.popleft()[1], sender)
print(f"{came * 8 / 6e6:.1f}")
END
cat > live.py <<'END'
"""A live stream of 8 Mbit/s in datagrams of 1316 bytes for 11 s."""
import socket, time

out, at = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), time.monotonic()
for _ in range(int(11 * 8e6 / 1316 / 8)):
    at += 1316 * 8 / 8e6
    time.sleep(max(at - time.monotonic(), 0))
    out.sendto(bytes(1316), ("127.0.0.1", 5000))
END
tool=root/usr/bin/srt-live-transmit
for case in '100e6 none' '5e6 none' '5e6 maxbw=0'; do
  python3 path.py ${case% *} > sent & path=$!
  timeout 12 "$tool" -q 'srt://:7003?mode=listener' file://con > got 2> words & receiver=$!
  sleep 0.5
  address=srt://127.0.0.1:7001
  test "${case#* }" = none || address="$address?${case#* }"
  timeout 11 "$tool" -q udp://127.0.0.1:5000 "$address" 2> words-of-sender & sender=$!
  python3 live.py
  wait $path
  wait $sender $receiver || true
  echo "line ${case% *}, option ${case#* }: sent $(cat sent) Mbit/s, $(($(wc -c < got) * 100 / 11000000)) % came out" |
    tee -a seen
done
grep -qE '^line 100e6, option none: sent 8\.[234] Mbit/s, [89][0-9] %' seen
grep -qE '^line 5e6, option none: sent 1[345]\.[0-9] Mbit/s, [34][0-9] %' seen
grep -qE '^line 5e6, option maxbw=0: sent 1[01]\.[0-9] ' seen
