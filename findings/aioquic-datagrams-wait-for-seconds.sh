#!/bin/sh
# Guess: a QUIC datagram that aioquic cannot send in time is dropped, or the call says that there is no room,
# since datagrams are for data that is soon worth nothing; quinn keeps a bounded number, the newest.
# Run: aioquic 1.3.0, two ends and a path of 1 Mbit/s and 40 ms in virtual time; a program offers 1.6 Mbit/s of
# datagrams for 10 s. The sender drops none, whatever waits, and no call tells how many do: the last
# one arrives more than 6 s old, and all of the 6 s were spent in the sender, whose path queues 0.1 s.
# Here: `send --deadline` drops late data before it is sent, the oldest first, and counts it; 1024 datagrams
# wait at most (docs/guides/stream.md). The test is `late_data_is_dropped_and_counted` of `tfrc-quic`.
set -eu
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
python3 -m venv aioquic
aioquic/bin/pip install --quiet aioquic==1.3.0
cat > wait.py <<'END'
import datetime, heapq, itertools, ssl

from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.quic.events import DatagramFrameReceived, HandshakeCompleted
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

RATE, DELAY, QUEUE = 1e6, 0.02, 0.1
OFFERED, GAP, SIZE = 2000, 0.005, 1000

key = ec.generate_private_key(ec.SECP256R1())
name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "far")])
day, today = datetime.timedelta(days=1), datetime.datetime.now(datetime.timezone.utc)
chain = x509.CertificateBuilder(name, name, key.public_key(), 1, today - day, today + day).sign(key, hashes.SHA256())
settings = QuicConfiguration(is_client=True, verify_mode=ssl.CERT_NONE, max_datagram_frame_size=65536)
near, far = QuicConnection(configuration=settings), None
settings = QuicConfiguration(is_client=False, max_datagram_frame_size=65536)
settings.certificate, settings.private_key = chain, key
way, order, free, lost = [], itertools.count(), [0.0, 0.0], 0


def leave(side, end, now):
    """What an end sends, onto its line."""
    global lost
    for data, _ in end.datagrams_to_send(now=now):
        begin = max(free[side], now)
        if begin - now > QUEUE:
            lost += 1
            continue
        free[side] = begin + (len(data) + 28) * 8 / RATE
        heapq.heappush(way, (free[side] + DELAY, next(order), side, data))


now, first, offered, ages = 0.0, None, 0, []
near.connect(("far", 1), now=now)
leave(0, near, now)
while now < 30:
    times = [way[0][0]] if way else []
    times += [end.get_timer() for end in (near, far) if end and end.get_timer()]
    times += [first + offered * GAP] if first and offered < OFFERED else []
    # A timer that is due is past by a little.
    now = max(now, min(times)) + 1e-6
    while way and way[0][0] <= now:
        _, _, side, data = heapq.heappop(way)
        if far is None:
            number = near.original_destination_connection_id
            far = QuicConnection(configuration=settings, original_destination_connection_id=number)
        (near if side else far).receive_datagram(data, ("end", 1), now=now)
    for end in (near, far):
        if end and end.get_timer() and end.get_timer() <= now:
            end.handle_timer(now=now)
        while end and (event := end.next_event()):
            if end is near and isinstance(event, HandshakeCompleted):
                first = now
            if isinstance(event, DatagramFrameReceived):
                ages.append(now - float(event.data[:20]))
    while first and offered < OFFERED and first + offered * GAP <= now:
        near.send_datagram_frame(f"{now:20.9f}".encode() + bytes(SIZE - 20))
        offered += 1
    leave(0, near, now)
    if far:
        leave(1, far, now)
print(f"offered {offered}, dropped by the sender: {offered - len(ages) - lost <= 0 and 'none' or 'some'}")
print(f"lost by the path {lost}, age of the last {ages[-1]:.1f} s")
END
aioquic/bin/pip list 2> words | grep '^aioquic ' | tee seen
aioquic/bin/python wait.py | tee -a seen
grep -qE '^aioquic +1\.3\.0$' seen
grep -qx 'offered 2000, dropped by the sender: none' seen
grep -qE '^lost by the path [0-9]+, age of the last [567]\.[0-9] s$' seen
