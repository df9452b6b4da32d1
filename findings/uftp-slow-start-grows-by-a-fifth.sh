#!/bin/sh
# Guess: uftp's TFMCC begins like TCP and TFRC: it doubles its rate in each round trip until the first
# loss, and is at 10 Mbit/s after 6 or 7 of them, as it starts with a block in each.
# Run: uftp 4.10.2 (Debian 12) over a path of 40 ms that never queues. From 0.4 to 1.2 s after its first
# data the rate grows 1.2 times in a round trip: ten times in 0.5 s, where doubling takes 0.13 s. RFC 4654
# 3.6 has receivers report twice the rate at which they receive, which they measure over some round trips,
# and the sender approach that over one.
# Here: `docs/habits.md` gives uftp's start; ours doubles each round trip (RFC 5348 4.3), and the test is
# `slow_start_doubles_once_per_round_trip`.
set -eu
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
apt-get -o APT::Sandbox::User=root download -qq uftp=4.10.2-1.1+b2
dpkg-deb -x uftp_*.deb root
cat > path.py <<'END'
"""20 ms each way; how much the data grew in each round trip of 40 ms, from 0.4 to 1.2 s."""
import collections, math, select, socket, time

near, far = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
near.bind(("127.0.0.1", 7001))
far.bind(("127.0.0.1", 7002))
for one in near, far:
    one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 24)
there, back, sender, data_at = collections.deque(), collections.deque(), None, []
end = time.time() + 8
while (now := time.time()) < end:
    for one in select.select([near, far], [], [], 0.0005)[0]:
        data, source = one.recvfrom(65536)
        if one is far:
            back.append((now + 0.02, data))
            continue
        sender = source
        there.append((now + 0.02, data))
        if len(data) > 1000:
            data_at.append(now)
    while there and there[0][0] <= now:
        far.sendto(there.popleft()[1], ("127.0.0.1", 7003))
    while back and back[0][0] <= now:
        near.sendto(back.popleft()[1], sender)
counts = [0] * 7
for at in data_at:
    counts[min(int((at - data_at[0]) / 0.2), 6)] += 1
print("blocks in each 0.2 s:", counts[:6])
print(f"growth in a round trip: {(counts[5] / counts[2]) ** (0.04 / 0.6):.2f}")
END
head -c 30000000 /dev/zero > file
mkdir got
python3 path.py > seen & path=$!
timeout 8 root/usr/bin/uftpd -d -p 7003 -U 0x00000002 -D "$place/got" 2> words-of-receiver & receiver=$!
sleep 0.3
timeout 7 root/usr/bin/uftp -C tfmcc -H 0x00000002 -M 127.0.0.1 -p 7001 file > words 2>&1 || true
wait $path
wait $receiver || true
cat seen
grep -q 'UFTP version 4\.10\.2 ' words
grep -qE '^growth in a round trip: 1\.[123]' seen
