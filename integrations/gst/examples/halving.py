#!/usr/bin/env python3
"""A webrtcbin over an emulated path that halves, to another or to a browser; x264 follows rtptfrcbwe.

    python3 integrations/gst/examples/halving.py run --tfrc target/debug/tfrc --out DIR
    python3 integrations/gst/examples/halving.py run --tfrc target/debug/tfrc --out DIR --receiver chromium

`run` has `tfrc emu` with this program at its ends, or a headless Chromium at the far one. Then it reads what arrived:
times without a picture and a sheet of pictures, or the browser's statistics, and fails where they say that nothing was
shown or that the sender did not follow. `--runs 3` prints means too. Needs the plugin installed, ffmpeg,
and of Debian python3-gi, gir1.2-gst-plugins-bad-1.0, gstreamer1.0-nice and gstreamer1.0-plugins-base, -good, -bad and
-ugly; for the browser chromium, nodejs and npm as well.
"""

import argparse
import json
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve()
CALLS = HERE.parents[2] / "webrtc"
SCENARIO = HERE.parents[3] / "contrib/encoder/halving.toml"
HALVED, LATER = 10.0, 20.0
"""When the path halves, seconds of the emulation; a browser takes longer to be there."""
BEFORE, AFTER = 2e6, 1e6
"""Rates of the path, bit/s."""
OFFER, ANSWER = "offer-0.json", "answer-0.json"
FPS, WIDTH, HEIGHT = 25, 640, 360
LEAST = 150_000
TWCC = "http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01"
CAPS = ("application/x-rtp,media=video,encoding-name=H264,payload=96,clock-rate=90000,"
        f"packetization-mode=(string)1,extmap-1=(string){TWCC},rtcp-fb-transport-cc=(boolean)true,"
        "rtcp-fb-nack=(boolean)true,rtcp-fb-nack-pli=(boolean)true")
SENDING = f"""
videotestsrc is-live=true pattern=zone-plate kx2=12 ky2=12 kt=2
! video/x-raw,format=I420,width={WIDTH},height={HEIGHT},framerate={FPS}/1 ! queue leaky=downstream
! x264enc name=encoder tune=zerolatency speed-preset=veryfast key-int-max={FPS} vbv-buf-capacity=120
  bitrate={{kbps}}
! rtph264pay mtu=1200 aggregate-mode=zero-latency config-interval=-1 ! {CAPS}
! webrtcbin name=peer bundle-policy=max-bundle
"""
RECORDING = "rtph264depay ! h264parse ! mpegtsmux ! filesink sync=false buffer-mode=unbuffered location={place}"


class Peer:
    """One end: webrtcbin, and descriptions as files, whole once they have their name; those of integrations/webrtc."""

    def __init__(self, pipeline, webrtc, folder):
        import gi
        gi.require_version("Gst", "1.0")
        gi.require_version("GstWebRTC", "1.0")
        gi.require_version("GstSdp", "1.0")
        from gi.repository import GLib, Gst, GstSdp, GstWebRTC
        self.glib, self.gst, self.sdp, self.rtc = GLib, Gst, GstSdp, GstWebRTC
        self.pipeline, self.webrtc, self.folder = pipeline, webrtc, folder
        self.loop = GLib.MainLoop()
        self.failed = None
        pipeline.get_bus().add_signal_watch()
        pipeline.get_bus().connect("message", self.heard)

    def heard(self, _, message):
        if message.type == self.gst.MessageType.ERROR:
            self.failed = str(message.parse_error())
            self.loop.quit()
        if message.type == self.gst.MessageType.EOS:
            self.loop.quit()

    def describe(self, signal, name):
        """Makes an offer or answer, and writes it with all addresses of this end."""
        def made(promise, *_):
            # Python's description is a part of the reply, which has to live as long.
            reply = promise.get_reply()
            description = reply.get_value(signal.split("-")[1])
            self.webrtc.emit("set-local-description", description, self.gst.Promise.new())
            self.glib.timeout_add(20, written)

        def written():
            # One address is enough; the end of gathering may be long in coming.
            local = self.webrtc.get_property("local-description")
            text = local.sdp.as_text() if local else ""
            if "a=candidate" not in text:
                return True
            part = self.folder / f"{name}.part"
            part.write_text(json.dumps({"type": signal.split("-")[1], "sdp": text}))
            part.rename(self.folder / name)
            return False
        self.webrtc.emit(signal, None, self.gst.Promise.new_with_change_func(made))

    def await_remote(self, name, kind, then=lambda: None):
        """Takes in the description of the other end once it is there."""
        def look():
            place = self.folder / name
            if not place.exists():
                return True
            _, message = self.sdp.SDPMessage.new_from_text(json.loads(place.read_text())["sdp"])
            description = self.rtc.WebRTCSessionDescription.new(kind, message)
            promise = self.gst.Promise.new_with_change_func(lambda *_: then())
            self.webrtc.emit("set-remote-description", description, promise)
            return False
        self.glib.timeout_add(20, look)

    def run(self, seconds, ended=lambda: None):
        self.glib.timeout_add(int(seconds * 1000), lambda: ended() or self.loop.quit())
        self.pipeline.set_state(self.gst.State.PLAYING)
        self.loop.run()
        self.pipeline.set_state(self.gst.State.NULL)
        if self.failed:
            sys.exit(self.failed)


def gstreamer():
    import gi
    gi.require_version("Gst", "1.0")
    from gi.repository import Gst
    Gst.init(None)
    return Gst


def send(given):
    """Offers, and lets x264 follow the estimate. A line of JSON for each estimate and picture."""
    Gst = gstreamer()
    log = (given.out / "sender.jsonl").open("w", buffering=1)
    bwe = Gst.ElementFactory.make(given.estimator)
    if bwe is None:
        sys.exit(f"no element {given.estimator}: run integrations/gst/install")
    if given.max_queue_delay:
        bwe.set_property("max-queue-delay", given.max_queue_delay)
    bwe.set_property("min-bitrate", LEAST)
    version = f"GStreamer/{'.'.join(map(str, Gst.version()[:3]))} {bwe.get_factory().get_plugin().get_version()}"
    (given.out / "send.version.json").write_text(json.dumps(version))
    first = int(given.part * bwe.get_property("estimated-bitrate"))
    pipeline = Gst.parse_launch(SENDING.format(kbps=max(first, LEAST) // 1000))
    webrtc, encoder = pipeline.get_by_name("peer"), pipeline.get_by_name("encoder")
    peer = Peer(pipeline, webrtc, given.out)

    def follow(element, _):
        estimate = element.get_property("estimated-bitrate")
        bitrate = int(max(LEAST, min(given.most, given.part * estimate)))
        encoder.set_property("bitrate", bitrate // 1000)
        log.write(json.dumps({"at": time.time(), "estimate": estimate, "bitrate": bitrate}) + "\n")

    def encoded(_, info):
        size = info.get_buffer().get_size()
        log.write(json.dumps({"at": time.time(), "bytes": size}) + "\n")
        return Gst.PadProbeReturn.OK

    def offer():
        # An offer before the payloader's caps are known is one of nothing.
        if webrtc.get_static_pad("sink_0").get_current_caps() is None:
            return True
        peer.describe("create-offer", OFFER)
        peer.await_remote(ANSWER, peer.rtc.WebRTCSDPType.ANSWER)
        return False

    bwe.connect("notify::estimated-bitrate", follow)
    encoder.get_static_pad("src").add_probe(Gst.PadProbeType.BUFFER, encoded)
    webrtc.connect("request-aux-sender", lambda *_: bwe)
    peer.glib.timeout_add(20, offer)
    webrtc.emit("get-transceiver", 0).set_property("do-nack", True)

    def ended():
        states = [webrtc.get_property(name) for name in
                  ["signaling-state", "ice-gathering-state", "ice-connection-state", "connection-state"]]
        if states[-1] != peer.rtc.WebRTCPeerConnectionState.CONNECTED:
            caps = webrtc.get_static_pad("sink_0").get_current_caps()
            peer.failed = f"not connected: {[state.value_nick for state in states]}, caps {caps}"

    peer.run(given.seconds, ended)


def receive(given):
    """Answers, and records what comes."""
    Gst = gstreamer()
    pipeline, webrtc = Gst.Pipeline.new(), Gst.ElementFactory.make("webrtcbin")
    webrtc.set_property("bundle-policy", "max-bundle")
    webrtc.set_property("latency", given.latency)
    pipeline.add(webrtc)
    peer = Peer(pipeline, webrtc, given.out)

    def came(_, pad):
        if pad.get_direction() != Gst.PadDirection.SRC:
            return
        text = RECORDING.format(place=given.out / "arrived.ts")
        recording = Gst.parse_bin_from_description(text, True)
        pipeline.add(recording)
        recording.sync_state_with_parent()
        pad.link(recording.get_static_pad("sink"))

    def prepare(_, transceiver):
        transceiver.set_property("do-nack", True)
        # Without them the answer has no transport-wide numbers.
        transceiver.set_property("codec-preferences", Gst.Caps.from_string(CAPS))

    webrtc.connect("on-new-transceiver", prepare)
    webrtc.connect("pad-added", came)
    answer = lambda: peer.describe("create-answer", ANSWER)  # noqa: E731
    peer.await_remote(OFFER, peer.rtc.WebRTCSDPType.OFFER, answer)
    # The sender ends all; until then there is something to record.
    peer.run(given.seconds + 30)


def repeat(given):
    """Runs as often as asked for, each in a folder of its own."""
    results, out = [], given.out
    for number in range(1, given.runs + 1):
        given.out = out / str(number) if given.runs > 1 else out
        results.append(run(given))
    if given.runs > 1:
        for key in results[0]:
            values = [result[key] for result in results]
            known = [value for value in values if value is not None]
            print(f"{key}: mean {sum(known) / max(len(known), 1):.2f} of {values}")


def run(given):
    given.out.mkdir(parents=True, exist_ok=True)
    for name in [OFFER, ANSWER, "arrived.ts", "receive.jsonl", "start"]:
        (given.out / name).unlink(missing_ok=True)
    to_browser = given.receiver == "chromium"
    halved = LATER if to_browser else HALVED

    def end(role, log):
        words = ["/usr/bin/python3", HERE, role, "--out", given.out, "--seconds", given.seconds,
                 "--estimator", given.estimator, "--max-queue-delay", given.max_queue_delay,
                 "--latency", given.latency, "--part", given.part, "--most", given.most]
        return f"exec {shlex.join(map(str, words))} 2>{shlex.quote(str(given.out / log))}"

    command = [given.tfrc, "emu", given.scenario, "--json-stream"]
    if to_browser:
        sys.path.insert(0, str(CALLS))
        import calls
        calls.fetch()
        calls.write(given.out, seconds=given.seconds + 5, lead=0)
        command += ["--set", f'link.near-far.changes=[{{ at = "{halved:g}s", rate = "{AFTER / 1e6:g}Mbit/s" }}]']
        command += ["--at", "near", calls.begin(given.out), "--at", "far", calls.browser(given.out, "receive")]
    else:
        command += ["--at", "far", end("receive", "receiver.log")]
    command += ["--at", "near", end("send", "sender.log")]
    zero = None
    with (subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as emulation,
          (given.out / "emulation.jsonl").open("w") as log):
        for line in emulation.stdout:
            log.write(line)
            record = json.loads(line)
            if record["type"] == "interval":
                begun = time.time() - record["t_s"]
                zero = min(zero or begun, begun)
    shutil.rmtree(given.out / "profile-receive", ignore_errors=True)
    # 3 is a network outside of its limits of fidelity: a busy machine.
    if emulation.returncode not in (0, 3):
        sys.exit(f"status {emulation.returncode}; see {given.out}")
    arrived = given.out / ("receive.jsonl" if to_browser else "arrived.ts")
    if not arrived.exists():
        sys.exit(f"nothing arrived: the ends did not connect; see {given.out}")
    result = followed(given.out / "sender.jsonl", zero + halved)
    result |= watched(arrived) if to_browser else seen(given.out, given.seconds)
    result["outside_limits"] = emulation.returncode == 3
    print(json.dumps(result, indent=1))
    (given.out / "result.json").write_text(json.dumps(result, indent=1) + "\n")
    if to_browser and (why := fault(result)):
        sys.exit(f"{why}; see {given.out}")
    return result


def watched(statistics):
    """The browser's statistics of the stream at its end, and the delay of its pictures."""
    last = {}
    for line in statistics.read_text().splitlines():
        for flow in json.loads(line)["flows"]:
            last = flow.get("inbound-rtp", last)
    received, lost, shown = (last.get(key, 0) for key in ["packetsReceived", "packetsLost", "jitterBufferEmittedCount"])
    return {
        "packets_received": received,
        "packets_lost": lost,
        "lost": round(lost / max(received + lost, 1), 4),
        "frames_decoded": last.get("framesDecoded", 0),
        "freezes": last.get("freezeCount", 0),
        "frozen_s": round(last.get("totalFreezesDuration", 0), 2),
        "jitter_buffer_ms": round(1e3 * last.get("jitterBufferDelay", 0) / max(shown, 1)),
    }


def fault(result):
    """Why a run to a browser shows no stream that was seen and that followed its path; nothing if it does."""
    # Half of each rate at least, and the encoder's part of the rate at most; the slack is that of x264's buffer.
    before, after = result["rate_before_bps"], result["rate_after_bps"]
    if not result["packets_received"]:
        return "the browser received no packet"
    if result["frames_decoded"] < 10 * FPS:
        return f"the browser decoded {result['frames_decoded']} pictures, less than 10 s of them"
    if not 0.4 * BEFORE < before < BEFORE:
        return f"the encoder made {before} bit/s before the path halved, not 0.4 to 1 of its {BEFORE:g}"
    if not 0.4 * AFTER < after < AFTER:
        return f"the encoder made {after} bit/s after it, not 0.4 to 1 of {AFTER:g}"
    if result["lost"] > 0.05:
        return f"{100 * result['lost']:.1f} % of the packets were lost"
    return ""


def followed(log, halved):
    """The encoder's rate, over a second, before the path halved and from 2 s after."""
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    pictures = [(line["at"] - halved, line["bytes"]) for line in lines if "bytes" in line]
    estimates = [(line["at"] - halved, line["estimate"]) for line in lines if "estimate" in line]

    def rate(end):
        return sum(8 * size for at, size in pictures if end - 1 < at <= end)

    ends = [at for at, _ in pictures if at > 0]
    return {
        "notifies": len(estimates),
        "rate_before_bps": mean([rate(at) for at, _ in pictures if -4 < at < 0]),
        "rate_after_bps": mean([rate(at) for at in ends if at > 3]),
        "estimate_before_bps": mean([x for at, x in estimates if -4 < at < 0]),
        "estimate_after_bps": mean([x for at, x in estimates if at > 3]),
        # The encoder's rate of a second is below the new rate of the path.
        "followed_after_s": next((round(at, 2) for at in ends if rate(at) <= 1e6), None),
        "highest_from_2_s_bps": max((rate(at) for at in ends if at > 2), default=0),
    }


def seen(folder, seconds):
    """Times without a picture that can be shown, and a sheet with one of every two seconds."""
    arrived = folder / "arrived.ts"
    probe = ["ffprobe", "-loglevel", "quiet", "-select_streams", "v", "-show_entries",
             "frame=best_effort_timestamp_time", "-of", "csv=p=0", arrived]
    text = subprocess.run(probe, stdout=subprocess.PIPE, text=True, check=True).stdout
    times = sorted(float(line.rstrip(",")) for line in text.split() if line[0].isdigit())
    gaps = [b - a for a, b in zip(times, times[1:])]
    sheet = ["ffmpeg", "-nostdin", "-loglevel", "error", "-y", "-i", arrived, "-vf",
             f"fps=1/2,scale=320:180,tile=4x{-(-seconds // 8)}", "-frames:v", "1", folder / "sheet.png"]
    subprocess.run(sheet, check=True)
    return {"pictures": len(times), "of_pictures": round((times[-1] - times[0]) * FPS) + 1,
            "longest_gap_s": round(max(gaps), 3), "gaps_over_200_ms": sum(gap > 0.2 for gap in gaps)}


def mean(values):
    return round(sum(values) / max(len(values), 1))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("role", choices=["run", "send", "receive"])
    parser.add_argument("--tfrc", default="tfrc", help="the program")
    parser.add_argument("--out", type=Path, required=True, help="folder for all that is made")
    parser.add_argument("--seconds", type=int, default=30, help="length of the run")
    parser.add_argument("--runs", type=int, default=1, help="how often")
    parser.add_argument("--scenario", default=SCENARIO, help="the path, with nodes near and far")
    parser.add_argument("--estimator", default="rtptfrcbwe", help="the element")
    parser.add_argument("--max-queue-delay", type=int, default=0, help="ms; 0 for no bound")
    parser.add_argument("--part", type=float, default=0.8,
                        help="x264's part of the estimate: the rest is for headers, and for the pacer to empty its queue")
    parser.add_argument("--most", type=int, default=2_500_000, help="x264's highest rate, bit/s")
    parser.add_argument("--latency", type=int, default=400, help="of the receiver, ms")
    parser.add_argument("--receiver", choices=["webrtcbin", "chromium"], default="webrtcbin", help="the far end")
    given = parser.parse_args()
    given.out = given.out.resolve()
    {"run": repeat, "send": send, "receive": receive}[given.role](given)


if __name__ == "__main__":
    main()
