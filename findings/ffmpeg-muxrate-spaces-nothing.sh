#!/bin/sh
# Guess: `ffmpeg -re` with a constant `-muxrate` sends a transport stream over UDP evenly, a few datagrams
# at a time, since the stream's bytes have their times; what is behind it needs no queue of its own.
# Run: ffmpeg 7.0.2 (imageio-ffmpeg 0.6.0), 10 s of 2 Mbit/s H.264 in 3 Mbit/s, 25 pictures a second: all
# datagrams of a picture leave within a millisecond of one another, a dozen in the median and 50 or more for
# a key picture, as without `-muxrate`; -re holds back pictures, and nothing spaces datagrams. With
# `bitrate=` in the address there are at most a few together.
# Here: `docs/guides/stream.md` gives the option for `tfrc send --udp-in`, which holds 256 datagrams.
set -eu
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
python3 -m pip download --quiet --no-deps --dest . imageio-ffmpeg==0.6.0
python3 -m zipfile -e imageio_ffmpeg-*.whl wheel
chmod +x wheel/imageio_ffmpeg/binaries/ffmpeg-linux-*
cat > bursts.py <<'END'
"""How many datagrams come less than 1 ms after one another, by the kernel's times: the median, the most."""
import glob, socket, struct, subprocess

program = glob.glob("wheel/imageio_ffmpeg/binaries/ffmpeg-linux-*")[0]
print(subprocess.run([program, "-version"], capture_output=True, text=True).stdout.split()[2])
INPUT = "-loglevel error -re -f lavfi -i testsrc2=size=640x360:rate=25 -t 10 -c:v libx264 -preset ultrafast"
CODER = "-tune zerolatency -b:v 2M -maxrate 2M -bufsize 2M -g 50 -f mpegts -muxrate 3M"
ADDRESS = "udp://127.0.0.1:5600?pkt_size=1316"
for name, address in (("muxrate", ADDRESS), ("muxrate and bitrate", ADDRESS + "&bitrate=3300000")):
    taker = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    taker.bind(("127.0.0.1", 5600))
    taker.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 24)
    taker.setsockopt(socket.SOL_SOCKET, 35, 1)  # SO_TIMESTAMPNS
    taker.settimeout(3)
    ffmpeg = subprocess.Popen([program, *INPUT.split(), *CODER.split(), address], stdin=subprocess.DEVNULL)
    times = []
    try:
        while True:
            _, about, _, _ = taker.recvmsg(65536, 256)
            seconds, rest = struct.unpack("qq", about[0][2])
            times.append(seconds + rest * 1e-9)
    except TimeoutError:
        ffmpeg.wait()
    bursts = [1]
    for before, now in zip(times, times[1:]):
        if now - before < 0.001:
            bursts[-1] += 1
        else:
            bursts.append(1)
    bursts.sort()
    print(f"{name}: median {bursts[len(bursts) // 2]}, most {bursts[-1]}")
END
python3 bursts.py | tee seen
grep -q '^7\.0\.2' seen
grep -qE '^muxrate: median (1[0-9]|[89]), most ([3-9]|1[0-9])[0-9]$' seen
grep -qE '^muxrate and bitrate: median [12], most [0-9]$' seen
