"""The pipeline of `tfrc stream`: video and audio of a source as an MPEG transport stream on
standard output. x264's bitrate follows the allowed rate, which comes on standard input as
`tfrc send --rate-out` writes it. follow.py stands in front of this text."""

import argparse
import os
import signal
import sys

try:
    import gi

    gi.require_version("Gst", "1.0")
    from gi.repository import GLib, Gst
except (ImportError, ValueError) as error:
    sys.exit(str(error))

# Milliseconds between two looks at the rate.
LOOK = 100
# Milliseconds between two reports of pictures and bytes.
COUNT = 1000
# A change below this part of the bitrate is not worth one of the encoder.
CHANGE = 0.03
# Bits per second of the sound, and with the container.
SOUND_RATE, SOUND_ASIDE = 64_000, 75_000

# Elements and the Debian packages that have them.
ELEMENTS = {
    "decodebin": "gstreamer1.0-plugins-base",
    "videotestsrc": "gstreamer1.0-plugins-base",
    "audioresample": "gstreamer1.0-plugins-base",
    "v4l2src": "gstreamer1.0-plugins-good",
    "udpsrc": "gstreamer1.0-plugins-good",
    "aacparse": "gstreamer1.0-plugins-good",
    "h264parse": "gstreamer1.0-plugins-bad",
    "mpegtsmux": "gstreamer1.0-plugins-bad",
    "voaacenc": "gstreamer1.0-plugins-bad",
    "x264enc": "gstreamer1.0-plugins-ugly",
}

# Pictures and sound that the encoder has no time for are left out: the oldest first.
QUEUE = "queue leaky=downstream max-size-buffers=0 max-size-bytes=0 max-size-time=500000000"
OUTPUT = "mpegtsmux name=mux alignment=7 ! fdsink fd=1 sync=false"
# A buffer of a quarter of a second bounds the first picture of each group, which is the largest.
PICTURE = """
videoconvert name=picture ! videoscale ! videorate
! video/x-raw,format=I420,width={width},height={height},framerate={fps}/1,pixel-aspect-ratio=1/1
! clocksync ! {queue}
! x264enc name=encoder tune=zerolatency speed-preset=veryfast key-int-max={fps}
  vbv-buf-capacity=250 bitrate={kbps}
! h264parse config-interval=-1 ! mux.
"""
SOUND = """
audioconvert name=sound ! audioresample ! audio/x-raw,rate=48000,channels=2
! clocksync ! {queue} ! voaacenc bitrate={rate} ! aacparse ! mux.
"""
SOURCES = {
    "camera": "v4l2src name=source ! decodebin ! picture.",
    "file": "filesrc name=source ! decodebin name=decoder",
    "test": "videotestsrc is-live=true pattern=ball ! picture.",
    "uri": "uridecodebin name=decoder",
}
# Sound of the sources that have their own element for it.
SOUNDS = {
    "camera": "autoaudiosrc ! sound.",
    "test": "audiotestsrc is-live=true wave=ticks ! sound.",
}
# The property that has the place of the source.
PLACES = {"camera": "device", "file": "location", "uri": "uri"}


class Broken(Exception):
    """A reason why nothing more is encoded."""


class Streaming:
    """A pipeline that plays."""

    def __init__(self, given, follower):
        self.given, self.follower = given, follower
        self.loop, self.failed = GLib.MainLoop(), None
        self.log = open(given.log, "w", buffering=1) if given.log else None
        self.has_sound = given.kind in SOUNDS and not given.no_sound and self.has_microphone()
        follower.aside = SOUND_ASIDE if self.has_sound else 0
        kbps = follower.bitrate() // 1000
        sizes = {"width": given.width, "height": given.height, "fps": given.fps}
        parts = [OUTPUT, PICTURE.format(kbps=kbps, queue=QUEUE, **sizes), SOURCES[given.kind]]
        if self.has_sound:
            parts += [SOUND.format(queue=QUEUE, rate=SOUND_RATE), SOUNDS[given.kind]]
        self.pipeline = Gst.parse_launch("\n".join(parts))
        self.encoder = self.pipeline.get_by_name("encoder")
        # Pictures and bytes, and the time of the first.
        self.pictures, self.bytes, self.first = 0, 0, None
        self.encoder.get_static_pad("src").add_probe(Gst.PadProbeType.BUFFER, self.encoded)
        self.note(kbps * 1000)
        if given.kind in PLACES:
            element = self.pipeline.get_by_name("source") or self.pipeline.get_by_name("decoder")
            element.set_property(PLACES[given.kind], given.source)
        decoder = self.pipeline.get_by_name("decoder")
        if decoder is not None:
            decoder.connect("pad-added", self.decoded)
            decoder.connect("no-more-pads", self.all_decoded)

    def has_microphone(self):
        """A camera may come without sound."""
        if self.given.kind != "camera":
            return True
        element = Gst.ElementFactory.make("autoaudiosrc")
        found = element is not None and element.set_state(Gst.State.READY) != Gst.StateChangeReturn.FAILURE
        if element is not None:
            element.set_state(Gst.State.NULL)
        return found

    def decoded(self, _, pad):
        """Connects the first picture and the first sound. No data flows before all are connected."""
        kind = (pad.get_current_caps() or pad.query_caps()).get_structure(0).get_name()
        picture = self.pipeline.get_by_name("picture").get_static_pad("sink")
        if kind.startswith("video/") and not picture.is_linked():
            pad.link(picture)
        elif kind.startswith("audio/") and not self.has_sound and not self.given.no_sound:
            self.has_sound, self.follower.aside = True, SOUND_ASIDE
            text = SOUND.format(queue=QUEUE, rate=SOUND_RATE).replace("! mux.", "")
            sound = Gst.parse_bin_from_description(text, True)
            self.pipeline.add(sound)
            sound.link(self.pipeline.get_by_name("mux"))
            sound.sync_state_with_parent()
            pad.link(sound.get_static_pad("sink"))

    def all_decoded(self, _):
        if not self.pipeline.get_by_name("picture").get_static_pad("sink").is_linked():
            self.end("there is no picture in it")

    def end(self, failed=None):
        self.failed = self.failed or failed
        self.loop.quit()

    def look(self):
        """Changes the bitrate; ends with the sender."""
        if self.follower.ended.is_set():
            # Others at an address may send nothing, or to another port.
            known, position = self.pipeline.query_position(Gst.Format.TIME)
            silent = self.given.kind == "uri" and not (known and position > 0)
            self.end("no picture came from it" if silent else None)
            return GLib.SOURCE_REMOVE
        bitrate, before = self.follower.bitrate(), self.encoder.get_property("bitrate") * 1000
        if abs(bitrate - before) > CHANGE * before:
            self.encoder.set_property("bitrate", bitrate // 1000)
            self.note(bitrate)
        return GLib.SOURCE_CONTINUE

    def encoded(self, _, info):
        """Counts a picture. The time runs from the first one, which is of the time before."""
        if self.first is None:
            self.first = time.monotonic()
        else:
            self.pictures += 1
            self.bytes += info.get_buffer().get_size()
        return Gst.PadProbeReturn.OK

    def count(self):
        """Reports the figures to the program that has started this one."""
        if self.first is not None:
            passed = time.monotonic() - self.first
            print(f"encoded {self.pictures} {self.bytes} {passed:.3f}", file=sys.stderr, flush=True)
        return GLib.SOURCE_CONTINUE

    def note(self, bitrate):
        if self.log is not None:
            known, position = self.pipeline.query_position(Gst.Format.TIME)
            at = position / Gst.SECOND if known else 0.0
            self.log.write(f"{at:6.2f} s  {bitrate} bit/s\n")

    def heard(self, _, message):
        if message.type == Gst.MessageType.ERROR:
            self.end(message.parse_error()[0].message)
        if message.type == Gst.MessageType.EOS:
            self.end()

    def run(self):
        GLib.timeout_add(LOOK, self.look)
        GLib.timeout_add(COUNT, self.count)
        self.pipeline.get_bus().add_signal_watch()
        self.pipeline.get_bus().connect("message", self.heard)
        self.pipeline.set_state(Gst.State.PLAYING)
        self.loop.run()
        self.pipeline.set_state(Gst.State.NULL)
        if self.failed:
            raise Broken(self.failed)


def check():
    """Ends with a sentence if an element is missing."""
    Gst.init(None)
    missing = [name for name in ELEMENTS if Gst.ElementFactory.find(name) is None]
    if missing:
        packages = sorted({ELEMENTS[name] for name in missing})
        sys.exit(f"no {', '.join(missing)} of {', '.join(packages)}")


def main():
    if sys.argv[1:] == ["--check"]:
        return check()
    # The program that has started this one ends it, by the end of standard input. A terminal and a
    # service manager send these to both.
    for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(name, signal.SIG_IGN)
    parser = argparse.ArgumentParser(description=__doc__)
    encoding(parser)
    parser.add_argument("--kind", choices=SOURCES, required=True)
    parser.add_argument("--no-sound", action="store_true")
    parser.add_argument("--log", help="file for the bitrates")
    given = parser.parse_args()
    Gst.init(None)
    follower = Follower(sys.stdin, given.least, given.most)
    why = None
    try:
        Streaming(given, follower).run()
    except (Broken, GLib.Error, OSError) as error:
        why = error
        print(error, file=sys.stderr, flush=True)
    # The end of the data. Ending later than the sender spares it a broken pipe.
    os.close(1)
    follower.ended.wait()
    os._exit(1 if why else 0)


main()
