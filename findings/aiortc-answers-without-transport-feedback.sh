#!/bin/sh
# Guess: aiortc, which speaks to browsers, gives them their congestion feedback: it accepts the numbers and
# the feedback of transport-cc that a browser offers, or at least those of RFC 8888.
# Run: aiortc 1.14.0 answers an offer of VP8 with transport-cc, ccfb, goog-remb, nack and the header
# extensions of transport-wide numbers and absolute send times. The answer keeps goog-remb, nack, and the
# send times, and none of the rest: one rate a report, by the receiver's own estimate, and no packet's fate.
# Here: `docs/guides/stacks.md` says that no adapter can use such a peer: all of `tfrc-feedback` needs
# packets' fates.
set -eu
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
python3 -m venv aiortc
aiortc/bin/pip install --quiet aiortc==1.14.0
cat > answer.py <<'END'
import asyncio

from aiortc import RTCPeerConnection, RTCSessionDescription, VideoStreamTrack

FEEDBACK = ("transport-cc", "ack ccfb", "goog-remb", "nack", "nack pli")
TWCC = "http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01"
EXTENSIONS = (TWCC, "http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time")


def lines(sdp, kind):
    return sorted({line for line in sdp.splitlines() if line.startswith(kind)})


async def main():
    asking, answering = RTCPeerConnection(), RTCPeerConnection()
    asking.addTrack(VideoStreamTrack())
    offer = (await asking.createOffer()).sdp.splitlines()
    # What aiortc itself offers of feedback and extensions gives way to a browser's.
    sdp = [line for line in offer if not line.startswith(("a=rtcp-fb:", "a=extmap:", "a=end-of-candidates"))]
    media = next(line for line in sdp if line.startswith("m=video"))
    types = media.split()[3:]
    sdp += [f"a=extmap:{number} {name}" for number, name in enumerate(EXTENSIONS, 3)]
    sdp += [f"a=rtcp-fb:{types[0]} {what}" for what in FEEDBACK]
    await answering.setRemoteDescription(RTCSessionDescription("\r\n".join(sdp) + "\r\n", "offer"))
    answer = (await answering.createAnswer()).sdp
    for line in lines(answer, f"a=rtcp-fb:{types[0]} ") + lines(answer, "a=extmap"):
        print(line.split(" ", 1)[1])
    await asking.close()
    await answering.close()


asyncio.run(main())
END
aiortc/bin/pip list 2> words | grep '^aiortc '
aiortc/bin/python answer.py | tee seen
cat > expected <<'END'
goog-remb
nack
nack pli
http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time
END
diff expected seen
