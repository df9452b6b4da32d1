#!/bin/sh
# Guess: ffmpeg, which receives RTP by an SDP file and has the next port open for RTCP, sends receiver
# reports as RFC 3550 6.2 asks for, each five seconds or so; a sender can take losses and R from them.
# Run: ffmpeg 7.0.2 (imageio-ffmpeg 0.6.0), a stream of 50 packets a second with sender reports each
# second, over loopback, 20 s. It takes in all of the audio and sends nothing: no report to the port that
# the stream comes from, none to the port behind it, nor to any other (counted as root, of all that
# loopback carries). A control that waits for reports sees a receiver that is not there.
# Here: `docs/guides/stacks.md` says so in its table of peers, and carries ffmpeg's media by
# `tfrc send --udp-in`, whose own receiver reports.
set -eu
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
python3 -m pip download --quiet --no-deps --dest . imageio-ffmpeg==0.6.0
python3 -m zipfile -e imageio_ffmpeg-*.whl wheel
chmod +x wheel/imageio_ffmpeg/binaries/ffmpeg-linux-*
cat > stream.sdp <<'END'
v=0
o=- 0 0 IN IP4 127.0.0.1
s=voice
c=IN IP4 127.0.0.1
t=0 0
m=audio 6100 RTP/AVP 0
END
cat > sender.py <<'END'
"""Sends a voice stream with sender reports to ffmpeg, and counts all UDP that comes from ffmpeg's ports."""
import glob, os, socket, struct, subprocess, time

program = glob.glob("wheel/imageio_ffmpeg/binaries/ffmpeg-linux-*")[0]
print(subprocess.run([program, "-version"], capture_output=True, text=True).stdout.split()[2])
words = "-loglevel error -protocol_whitelist file,udp,rtp -i stream.sdp -f s16le -y voice"
ffmpeg = subprocess.Popen([program, *words.split()], stdin=subprocess.DEVNULL)
media, control = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
media.bind(("127.0.0.1", 6200))
control.bind(("127.0.0.1", 6201))
# Every packet that loopback carries, wherever it goes.
watch = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x0800))
watch.bind(("lo", 0x0800))
watch.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 24)
time.sleep(2)
heard, taken, at = 0, 0, time.monotonic()
for n in range(1000):
    packet = struct.pack(">BBHII", 0x80, 0, n, n * 160, 7) + b"\xff" * 160
    media.sendto(packet, ("127.0.0.1", 6100))
    if n % 50 == 0:
        now = time.time() + 2208988800
        report = struct.pack(">BBHIIIIII", 0x80, 200, 6, 7, int(now), int(now % 1 * 2**32), n * 160, n, n * 160)
        control.sendto(report, ("127.0.0.1", 6101))
    at += 0.02
    time.sleep(max(at - time.monotonic(), 0))
    try:
        while True:
            octets, about = watch.recvfrom(65536, socket.MSG_DONTWAIT)
            source, to = struct.unpack_from(">HH", octets, 20) if octets[9] == 17 else (0, 0)
            # Loopback shows each packet twice: as it goes and as it comes.
            taken += about[2] != 4 and to == 6100
            heard += about[2] != 4 and source in (6100, 6101)
    except BlockingIOError:
        pass
ffmpeg.terminate()
ffmpeg.wait()
print(f"packets of media: {taken} of 1000, samples decoded: {os.path.getsize('voice') // 2}, packets from ffmpeg: {heard}")
END
python3 sender.py | tee seen
head -n 1 seen | grep -q '^7\.0\.2'
grep -qE '^packets of media: (999|1000) of 1000, samples decoded: 1[56][0-9]{4}, packets from ffmpeg: 0$' seen
