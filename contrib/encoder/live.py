#!/usr/bin/python3
"""Encodes video by GStreamer's x264enc, whose bitrate is changed while it plays. MPEG-TS on standard
output, for `tfrc send -f -`. Needs python3-gi, gir1.2-gstreamer-1.0 and the plugins good, bad and
ugly of Debian."""

import argparse
import sys

import gi
from follow import arguments

gi.require_version("Gst", "1.0")
from gi.repository import GLib, Gst  # noqa: E402

# Milliseconds between two looks at the rate.
LOOK = 100
# A change below this part of the bitrate is not worth one of the encoder.
CHANGE = 0.03

PIPELINE = """
filesrc name=source ! decodebin ! videoconvert ! videoscale ! videorate
! video/x-raw,format=I420,width={width},height={height},framerate={fps}/1
! identity sync=true
! x264enc name=encoder tune=zerolatency speed-preset=veryfast key-int-max={fps}
  vbv-buf-capacity=250 bitrate={kbps}
! h264parse config-interval=-1 ! mpegtsmux alignment=7 ! fdsink fd=1 sync=false
"""


def main():
    given, follower = arguments(argparse.ArgumentParser(description=__doc__))
    Gst.init(None)
    kbps = follower.bitrate() // 1000
    sizes = {"width": given.width, "height": given.height, "fps": given.fps}
    pipeline = Gst.parse_launch(PIPELINE.format(kbps=kbps, **sizes))
    pipeline.get_by_name("source").set_property("location", given.source)
    encoder = pipeline.get_by_name("encoder")
    loop = GLib.MainLoop()
    failed = []

    def look():
        bitrate, before = follower.bitrate(), encoder.get_property("bitrate") * 1000
        if abs(bitrate - before) > CHANGE * before:
            encoder.set_property("bitrate", bitrate // 1000)
            known, position = pipeline.query_position(Gst.Format.TIME)
            at = position / Gst.SECOND if known else 0.0
            print(f"{at:6.2f} s  {bitrate} bit/s", file=sys.stderr, flush=True)
        return GLib.SOURCE_CONTINUE

    def heard(_, message):
        if message.type == Gst.MessageType.ERROR:
            failed.append(message.parse_error()[0].message)
        if message.type in (Gst.MessageType.ERROR, Gst.MessageType.EOS):
            loop.quit()

    print(f"{0:6.2f} s  {kbps * 1000} bit/s", file=sys.stderr, flush=True)
    GLib.timeout_add(LOOK, look)
    pipeline.get_bus().add_signal_watch()
    pipeline.get_bus().connect("message", heard)
    pipeline.set_state(Gst.State.PLAYING)
    loop.run()
    pipeline.set_state(Gst.State.NULL)
    if failed:
        sys.exit(failed[0])


if __name__ == "__main__":
    main()
