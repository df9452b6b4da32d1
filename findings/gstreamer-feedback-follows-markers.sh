#!/bin/sh
# Guess: GStreamer's rtpsession sends transport-wide feedback for an audio stream as it does for
# video, each 50 to 250 ms.
# Run: rtpsession of gstreamer1.0-plugins-good 1.22.0 (Debian 12), 50 packets a second. A feedback packet
# leaves when a packet with the marker bit comes, for each of them: 8 for a marker in 25 of 200
# packets, 39 for one in 5, and one for every packet if each has it. Without markers, as a voice codec
# without pauses sends, there is none in 4 s; at 500 packets a second there is one for each 598.
# Here: the receiver's inner session has to be told an interval (`twcc-feedback-interval` of the
# property internal-session), as integrations/gst/README.md says; without it TFRC would halve an
# audio stream's rate every 2 s.
set -eu
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
version=1.22.0
for package in gir1.2-glib-2.0 gir1.2-gstreamer-1.0 gstreamer1.0-plugins-base gstreamer1.0-plugins-good \
  libdw1 libgirepository-1.0-1 libglib2.0-0 libgstreamer-plugins-base1.0-0 libgstreamer1.0-0 liborc-0.4-0 \
  libunwind8 python3-gi; do
  apt-get -o APT::Sandbox::User=root download -qq "$package"
done
for package in *.deb; do dpkg-deb -x "$package" root; done
libraries=$(dirname "$(find root -name 'libgstreamer-1.0.so.0')")
export LD_LIBRARY_PATH="$place/$libraries" GI_TYPELIB_PATH="$place/$libraries/girepository-1.0"
export GST_PLUGIN_SYSTEM_PATH="$place/$libraries/gstreamer-1.0" GST_REGISTRY="$place/registry"
export GST_PLUGIN_SCANNER="$place/$libraries/gstreamer1.0/gstreamer-1.0/gst-plugin-scanner"
export PYTHONPATH="$place/root/usr/lib/python3/dist-packages"
cat > audio.py <<'END'
import struct, time
import gi

gi.require_version("Gst", "1.0")
from gi.repository import Gst

Gst.init(None)
NUMBERS = "http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01"


def feedback(marker_every, seconds, rate):
    """Packets that each feedback of a stream tells of; one packet of `marker_every` has the marker."""
    line = Gst.parse_launch(
        "appsrc name=source is-live=true format=time do-timestamp=true caps=application/x-rtp,"
        f'media=audio,clock-rate=8000,encoding-name=PCMU,payload=0,extmap-3=(string){NUMBERS} '
        "! s.recv_rtp_sink rtpsession name=s rtp-profile=avpf s.recv_rtp_src ! fakesink async=false "
        "s.send_rtcp_src ! appsink name=reports sync=false async=false emit-signals=true"
    )
    told = []

    def report(sink):
        buffer = sink.emit("pull-sample").get_buffer()
        data, at = buffer.extract_dup(0, buffer.get_size()), 0
        while at + 4 <= len(data):
            if data[at + 1] == 205 and data[at] & 31 == 15:
                told.append(struct.unpack(">H", data[at + 14 : at + 16])[0])
            at += 4 * (struct.unpack(">H", data[at + 2 : at + 4])[0] + 1)
        return Gst.FlowReturn.OK

    line.get_by_name("reports").connect("new-sample", report)
    line.set_state(Gst.State.PLAYING)
    for n in range(seconds * rate):
        marked = marker_every and n % marker_every == marker_every - 1
        header = struct.pack(">BBHII", 0x90, 0x80 if marked else 0, n, n * 160, 1)
        header += struct.pack(">HHBHB", 0xBEDE, 1, 0x31, n, 0)
        line.get_by_name("source").emit("push-buffer", Gst.Buffer.new_wrapped(header + b"\xff" * 160))
        time.sleep(1 / rate)
    time.sleep(0.3)
    line.set_state(Gst.State.NULL)
    return told


print("version", ".".join(map(str, Gst.version()[:3])))
print("one marker in 25:", set(feedback(25, 4, 50)))
print("one in 5:", set(feedback(5, 4, 50)))
print("none:", feedback(0, 4, 50))
print("none, 3000 packets:", len(feedback(0, 6, 500)), "at most 10")
END
/usr/bin/python3 audio.py 2>/dev/null | tee seen
grep -qx "version $version" seen
grep -qx 'one marker in 25: {25}' seen
grep -qx 'one in 5: {5}' seen
grep -qx 'none: \[\]' seen
grep -qE '^none, 3000 packets: [0-9] at most 10$' seen
