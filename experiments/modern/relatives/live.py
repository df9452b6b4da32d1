"""A live stream: datagrams of 1316 bytes at a steady rate to a UDP port of this host.

python3 live.py BIT_PER_SECOND SECONDS
"""

import socket
import sys
import time

rate, seconds = float(sys.argv[1]), float(sys.argv[2])
out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
at = time.monotonic()
end = at + seconds
while at < end:
    time.sleep(max(at - time.monotonic(), 0))
    out.sendto(bytes(1316), ("127.0.0.1", 5000))
    at += 1316 * 8 / rate
