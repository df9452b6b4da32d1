#!/usr/bin/env python3
"""Measures both encoders over a path that halves, with and without following.

    python3 contrib/encoder/compare.py --tfrc target/release/tfrc --out DIR

Needs the programs ffmpeg and ffprobe, and for `live` the packages that live.py names. Each run has
`tfrc recv`, `tfrc link` with halving.toml, and the encoder into `tfrc send --deadline 500ms`.
"""

import argparse
import json
import os
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
PYTHON = {"segments": sys.executable, "live": "/usr/bin/python3"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--tfrc", default="tfrc", help="the program")
    parser.add_argument("--out", type=Path, required=True, help="folder for all that is made")
    parser.add_argument("--seconds", type=int, default=60, help="length of each run")
    parser.add_argument("--encoder", choices=PYTHON, action="append", help="one only")
    parser.add_argument("--way", choices=["following", "fixed"], action="append", help="one only")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    source = made(given.out, given.seconds)
    results = []
    for encoder in given.encoder or PYTHON:
        for way in given.way or ["following", "fixed"]:
            folder = given.out / f"{encoder}-{way}"
            folder.mkdir(exist_ok=True)
            result = {"encoder": encoder, "way": way}
            result |= streamed(given, source, encoder, way, folder)
            result |= seen(source, folder, given.seconds)
            results.append(result)
            print(json.dumps(result), flush=True)
    (given.out / "results.json").write_text(json.dumps(results, indent=1) + "\n")


def made(folder, seconds):
    """The source: ffmpeg's test pattern, turning."""
    source = folder / "source.mp4"
    pattern = f"testsrc2=size={WIDTH}x{HEIGHT}:rate={FPS},rotate=a=t/3:c=gray"
    ffmpeg("-f", "lavfi", "-i", pattern, "-t", str(seconds), "-c:v", "libx264", "-preset",
           "ultrafast", "-crf", "10", "-pix_fmt", "yuv420p", "-g", str(FPS), str(source))
    return source


def streamed(given, source, encoder, way, folder):
    """Sends the source over the path; counts of the sender and the receiver."""
    arrived = folder / "arrived.ts"
    arrived.unlink(missing_ok=True)
    receiver, at = started([given.tfrc, "recv", "--bind", "127.0.0.1", "-p", "0", "-1", "-o", arrived],
                           "listening on")
    link, entrance = started([given.tfrc, "link", HERE / "halving.toml", "--listen", "127.0.0.1:0",
                              "--to", at.split()[-1]], "relaying")
    linked = time.monotonic()
    lines, told = os.pipe()
    send = [given.tfrc, "send", entrance.split()[1], "-f", "-", "--deadline", "500ms",
            "--json-stream", "--rate-out", str(told)]
    sender = subprocess.Popen(send, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=(folder / "send.log").open("w"), text=True, pass_fds=[told])
    os.close(told)
    follow = ["--fixed", str(FIXED)] if way == "fixed" else ["--rate", f"/dev/fd/{lines}"]
    with (folder / "encoder.log").open("w") as log:
        encode = subprocess.Popen([PYTHON[encoder], HERE / f"{encoder}.py", source, *follow],
                                  stdout=sender.stdin, stderr=log, pass_fds=[lines])
    os.close(lines)
    sender.stdin.close()
    records, began = [], None
    with (folder / "send.jsonl").open("w") as log:
        for line in sender.stdout:
            log.write(line)
            records.append(json.loads(line))
            if records[-1].get("event") == "connected":
                began = time.monotonic()
    status = {"encoder": encode.wait(), "send": sender.wait(), "recv": receiver.wait()}
    link.terminate()
    link.wait()
    if any(status.values()):
        sys.exit(f"{encoder} {way}: exit statuses {status}; see {folder}")
    return counts(records, HALVED - (began - linked)) | bitrates(folder / "encoder.log")


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
    told = [int(line.split()[2]) for line in log.read_text().splitlines() if line.endswith("bit/s")]
    return {"first_bps": told[0], "lowest_bps": min(told), "last_bps": told[-1]}


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
    # live.py begins at 3600 s, segments.py at 0.
    zero = 3600.0 if times[0] >= 3600.0 else 0.0
    places = sorted({round((at - zero) * FPS) for at in times})
    gaps = [b - a - 1 for a, b in zip([-1, *places], [*places, seconds * FPS])]
    scores = folder / "ssim.log"
    shown = [(name, at) for name, at in [("before", HALVED / 2), ("after", SHOWN)] if at < seconds]
    length = seconds * FPS
    graph = f"[0:v]tpad=start={places[0]}:start_mode=clone:stop={length}:stop_mode=clone"
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
