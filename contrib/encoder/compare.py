#!/usr/bin/env python3
"""Measures ways to send live video over a path that halves, or that loses packets.

    python3 contrib/encoder/compare.py --tfrc target/release/tfrc --out DIR
    python3 contrib/encoder/compare.py --encoder stream --encoder srt --path halving --path 1% --out DIR

Each run has `tfrc link` between two ends, without sound: `segments` is segments.py into
`tfrc send --deadline 500ms`; `stream` is `tfrc stream`, and needs what its help names; `srt` is
ffmpeg into `srt-live-transmit` (Debian's srt-tools) with a latency of 500 ms. Needs ffmpeg, ffprobe.
"""

import argparse
import json
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

HERE = Path(__file__).parent
# The path of halving.toml halves here, seconds after the link's start.
HALVED = 10.0
# Data that is late just after is the price of the change.
SETTLED = 3.0
FPS, WIDTH, HEIGHT = 25, 640, 360
FIXED = 1_500_000
# The picture shown in the guide, seconds.
SHOWN = 20.0
LEAST, MOST = 150_000, 1_500_000
ENCODERS = ["segments", "stream", "srt"]
# What each of them can do.
WAYS = {"segments": ["following", "fixed"], "stream": ["following", "fixed"], "srt": ["fixed"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--tfrc", default="tfrc", help="the program")
    parser.add_argument("--out", type=Path, required=True, help="folder for all that is made")
    parser.add_argument("--seconds", type=int, default=60, help="length of each run")
    parser.add_argument("--encoder", choices=ENCODERS, action="append", help="these only")
    parser.add_argument("--way", choices=["following", "fixed"], action="append", help="these only")
    parser.add_argument("--runs", type=int, default=1, help="runs of each; then a table with means and ranges")
    parser.add_argument("--path", action="append",
                        help="halving, or the share of packets that a path of 2 Mbit/s loses, as 1%%")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    source = made(given.out, given.seconds)
    results = []
    for path in given.path or ["halving"]:
        for encoder in given.encoder or ENCODERS[:2]:
            for way in [way for way in WAYS[encoder] if way in (given.way or WAYS[encoder])]:
                for run in range(1, given.runs + 1):
                    folder = given.out / f"{encoder}-{way}-{path.rstrip('%')}-{run}"
                    folder.mkdir(exist_ok=True)
                    result = {"path": path, "encoder": encoder, "way": way, "run": run}
                    result |= streamed(given, source, encoder, way, path, folder)
                    result |= seen(source, folder, given.seconds)
                    results.append(result)
                    print(json.dumps(result), flush=True)
    (given.out / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    if given.runs > 1:
        table(results)


def table(results):
    """The mean of the runs and their range."""
    groups = {}
    for result in results:
        groups.setdefault((result["path"], result["encoder"], result["way"]), []).append(result)
    print("| path | encoder | way | SSIM | stall, s | longest, s |\n| --- | --- | --- | ---: | ---: | ---: |")
    for (path, encoder, way), runs in groups.items():
        cells = [ranged([run[key] for run in runs], digits)
                 for key, digits in [("ssim", 3), ("stall_s", 1), ("longest_stall_s", 1)]]
        print("|", " | ".join([path, encoder, way, *cells]), "|")


def ranged(values, digits):
    return f"{mean(values):.{digits}f} ({min(values):.{digits}f}–{max(values):.{digits}f})"


def made(folder, seconds):
    """The source: ffmpeg's test pattern, turning."""
    source = folder / "source.mp4"
    pattern = f"testsrc2=size={WIDTH}x{HEIGHT}:rate={FPS},rotate=a=t/3:c=gray"
    ffmpeg("-f", "lavfi", "-i", pattern, "-t", str(seconds), "-c:v", "libx264", "-preset",
           "ultrafast", "-crf", "10", "-pix_fmt", "yuv420p", "-g", str(FPS), str(source))
    return source


def linked(given, path, to):
    """The path in front of an address: its program, its entrance, the time of its start."""
    network = [HERE / "halving.toml"]
    if path != "halving":
        network = ["--rate", "2M", "--delay", "20ms", "--queue", "25p", "--loss", path]
    link, entrance = started([given.tfrc, "link", *network, "--listen", "127.0.0.1:0", "--to", to],
                             "relaying")
    return link, entrance.split()[1], time.monotonic()


def streamed(given, source, encoder, way, path, folder):
    """Sends the source over the path; counts of the sender and the receiver."""
    arrived = folder / "arrived.ts"
    arrived.unlink(missing_ok=True)
    if encoder == "srt":
        return by_srt(given, source, path, arrived, folder)
    receiver, at = started([given.tfrc, "recv", "--bind", "127.0.0.1", "-p", "0", "-1", "-o", arrived],
                           "listening on")
    link, entrance, begun = linked(given, path, at.split()[-1])
    start = by_segments if encoder == "segments" else by_stream
    sender, others = start(given, source, entrance, way, folder)
    records, began = [], None
    with (folder / "send.jsonl").open("w") as log:
        for line in sender.stdout:
            log.write(line)
            records.append(json.loads(line))
            if records[-1].get("event") == "connected":
                began = time.monotonic()
    status = [program.wait() for program in [*others, sender, receiver]]
    link.terminate()
    link.wait()
    if any(status):
        sys.exit(f"{encoder} {way}: exit statuses {status}; see {folder}")
    return counts(records, HALVED - (began - begun)) | bitrates(folder / "encoder.log")


def by_segments(given, source, entrance, way, folder):
    """The sender, and the encoder that feeds it."""
    lines, rates = os.pipe()
    send = [given.tfrc, "send", entrance, "-f", "-", "--deadline", "500ms", "--json-stream",
            "--rate-out", str(rates)]
    sender = subprocess.Popen(send, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=(folder / "send.log").open("w"), text=True, pass_fds=[rates])
    os.close(rates)
    follow = ["--fixed", str(FIXED)] if way == "fixed" else ["--rate", f"/dev/fd/{lines}"]
    with (folder / "encoder.log").open("w") as log:
        encode = subprocess.Popen([sys.executable, HERE / "segments.py", source, *follow],
                                  stdout=sender.stdin, stderr=log, pass_fds=[lines])
    os.close(lines)
    sender.stdin.close()
    return sender, [encode]


def by_stream(given, source, entrance, way, folder):
    """One program is both."""
    least, most = (FIXED, FIXED) if way == "fixed" else (LEAST, MOST)
    stream = [given.tfrc, "stream", source, entrance, "--no-sound", "--size", f"{WIDTH}x{HEIGHT}",
              "--fps", str(FPS), "--min-bitrate", f"{least}bit/s", "--max-bitrate", f"{most}bit/s",
              "--bitrate-log", folder / "encoder.log", "--overwrite", "--json-stream"]
    return subprocess.Popen(stream, stdout=subprocess.PIPE, text=True,
                            stderr=(folder / "send.log").open("w")), []


def by_srt(given, source, path, arrived, folder):
    """ffmpeg at the fixed bitrate, and SRT, which resends what is lost within its latency."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    srt = ["srt-live-transmit", "-chunk:1316", "-q"]
    log = (folder / "srt.log").open("w")
    with arrived.open("wb") as out:
        listen = f"srt://127.0.0.1:{port}?mode=listener&latency=500"
        receiver = subprocess.Popen([*srt, "-a:no", listen, "file://con"], stdout=out, stderr=log)
    link, entrance, _ = linked(given, path, f"127.0.0.1:{port}")
    encode = ["ffmpeg", "-nostdin", "-loglevel", "error", "-re", "-i", source, "-an", "-c:v", "libx264"]
    encode += ["-preset", "veryfast", "-tune", "zerolatency", "-g", str(FPS), "-b:v", str(FIXED)]
    encode += ["-maxrate", str(FIXED), "-bufsize", str(FIXED // 4), "-muxdelay", "0", "-muxpreload", "0"]
    encode += ["-flush_packets", "1", "-f", "mpegts", "-"]
    encoder = subprocess.Popen(encode, stdout=subprocess.PIPE, stderr=log)
    call = f"srt://{entrance}?mode=caller&latency=500"
    sender = subprocess.Popen([*srt, "file://con", call], stdin=encoder.stdout, stderr=log, stdout=log)
    encoder.stdout.close()
    status = encoder.wait()
    # The last data is under way for the latency at most; the programs of SRT do not end with it.
    time.sleep(2)
    for program in [sender, receiver, link]:
        program.terminate()
        program.wait()
    if status or not arrived.stat().st_size:
        sys.exit(f"srt: ffmpeg ended with {status}; see {folder}")
    return {"first_bps": FIXED, "lowest_bps": FIXED, "last_bps": FIXED}


def started(command, words):
    """A program that has said where it listens, and that line."""
    program = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    for line in program.stderr:
        if words in line:
            # Nobody else reads on, and a full pipe would stop the program.
            threading.Thread(target=program.stderr.read, daemon=True).start()
            return program, line
    sys.exit(f"{command}: ended")


def counts(records, halved):
    """Data that the sender dropped late, in all and outside the time after the halving."""
    late, handed, late_outside, handed_outside = 0, 0, 0, 0
    for record in records:
        if record["type"] != "interval":
            continue
        dropped = record["late_dropped_packets"] or 0
        packets = dropped + (record["sent_packets"] or 0)
        late, handed = late + dropped, handed + packets
        if not halved <= record["t_s"] < halved + SETTLED:
            late_outside, handed_outside = late_outside + dropped, handed_outside + packets
    lost = records[-1]["packet_loss_rate"]
    return {"halved_s": round(halved, 2), "datagrams": handed, "late": late,
            "late_share": late / max(handed, 1), "late_share_outside": late_outside / max(handed_outside, 1),
            "lost_share": lost}


def bitrates(log):
    """The bitrates that the encoder had, in bit/s."""
    rates = [int(line.split()[2]) for line in log.read_text().splitlines() if line.endswith("bit/s")]
    return {"first_bps": rates[0], "lowest_bps": min(rates), "last_bps": rates[-1]}


def seen(source, folder, seconds):
    """Times without a new picture, and SSIM against the source.

    Pictures are put in place by their PTS. A viewer who misses a picture sees the one before it; so
    does the comparison.
    """
    arrived = folder / "arrived.ts"
    probe = ["ffprobe", "-loglevel", "quiet", "-select_streams", "v", "-show_entries",
             "frame=best_effort_timestamp_time", "-of", "csv=p=0", arrived]
    text = subprocess.run(probe, stdout=subprocess.PIPE, text=True, check=True).stdout
    times = sorted(float(line.rstrip(",")) for line in text.split() if line[0].isdigit())
    # GStreamer's muxer begins at 3600 s, segments.py at 0.
    zero = 3600.0 if times[0] >= 3600.0 else 0.0
    places = sorted({round((at - zero) * FPS) for at in times})
    gaps = [b - a - 1 for a, b in zip([-1, *places], [*places, seconds * FPS])]
    scores = folder / "ssim.log"
    shown = [(name, at) for name, at in [("before", HALVED / 2), ("after", SHOWN)] if at < seconds]
    length = seconds * FPS
    # A constant rate has the first picture in the place of those that miss before it.
    graph = f"[0:v]tpad=stop={length}:stop_mode=clone"
    graph += f",trim=end_frame={length},split={len(shown) + 1}[seen]" + "".join(f"[{name}]" for name, _ in shown)
    graph += f";[seen][1:v]ssim=stats_file={scores}:shortest=1[ssim]"
    graph += "".join(f";[{name}]select=eq(n\\,{round(at * FPS)})[{name}.png]" for name, at in shown)
    outputs = ["-map", "[ssim]", "-t", str(seconds), "-f", "null", "-"]
    for name, _ in shown:
        outputs += ["-map", f"[{name}.png]", "-frames:v", "1", str(folder / f"{name}.png")]
    # A rate of its own for the first program: its filters begin anew at a damaged header.
    with subprocess.Popen(
            ["ffmpeg", "-nostdin", "-loglevel", "quiet", "-copyts", "-itsoffset", str(-zero),
             "-i", arrived, "-vf", f"scale={WIDTH}:{HEIGHT},format=yuv420p", "-fps_mode", "cfr", "-r", str(FPS), "-f",
             "rawvideo", "-"], stdout=subprocess.PIPE) as pictures:
        subprocess.run(
            ["ffmpeg", "-loglevel", "quiet", "-y", "-f", "rawvideo", "-pix_fmt", "yuv420p", "-s",
             f"{WIDTH}x{HEIGHT}", "-r", str(FPS), "-i", "-", "-i", str(source), "-lavfi", graph,
             *outputs], stdin=pictures.stdout, check=True)
    ssim = [float(line.split("All:")[1].split()[0]) for line in scores.read_text().splitlines()]
    cut = round((HALVED + SETTLED) * FPS)
    return {"pictures": len(places), "of_pictures": seconds * FPS,
            "stall_s": sum(gaps) / FPS, "longest_stall_s": max(gaps) / FPS,
            "ssim": mean(ssim), "ssim_before": mean(ssim[:round(HALVED * FPS)]),
            "ssim_after": mean(ssim[cut:]), "ssim_tenth": sorted(ssim)[len(ssim) // 10]}


def mean(values):
    return sum(values) / max(len(values), 1)


def ffmpeg(*arguments):
    subprocess.run(["ffmpeg", "-nostdin", "-loglevel", "quiet", "-y", *arguments], check=True)


if __name__ == "__main__":
    main()
