#!/usr/bin/env python3
"""Encodes video by ffmpeg and x264, a segment of a second after the other, each at the bitrate that
the path allows then. MPEG-TS on standard output, for `tfrc send -f -`."""

import argparse
import subprocess
import sys

from follow import arguments

# Pictures of a segment that must be there before a fall of the rate may end it.
SHORTEST = 5
# A segment ends early when the bitrate has fallen below this part of its own.
FALL = 0.85


def source(given):
    """Pictures of the source as raw video, at their times."""
    command = ["ffmpeg", "-nostdin", "-loglevel", "error", "-re", "-i", given.source, "-an"]
    command += ["-vf", f"scale={given.width}:{given.height},fps={given.fps}"]
    command += ["-pix_fmt", "yuv420p", "-f", "rawvideo", "-"]
    return subprocess.Popen(command, stdout=subprocess.PIPE)


def encoder(given, bitrate, start):
    """An encoder of one segment, whose first picture has the number `start`."""
    command = ["ffmpeg", "-loglevel", "error", "-f", "rawvideo", "-pix_fmt", "yuv420p"]
    command += ["-s", f"{given.width}x{given.height}", "-r", str(given.fps), "-i", "-"]
    command += ["-c:v", "libx264", "-preset", "veryfast", "-tune", "zerolatency", "-g", "1000"]
    # A buffer of a quarter of a second bounds the first picture of a segment, which is the largest.
    command += ["-b:v", str(bitrate), "-maxrate", str(bitrate), "-bufsize", str(bitrate // 4)]
    command += ["-output_ts_offset", str(start / given.fps), "-muxdelay", "0", "-muxpreload", "0"]
    command += ["-mpegts_flags", "initial_discontinuity", "-flush_packets", "1", "-f", "mpegts", "-"]
    return subprocess.Popen(command, stdin=subprocess.PIPE)


def main():
    given, follower = arguments(argparse.ArgumentParser(description=__doc__))
    size = given.width * given.height * 3 // 2
    pictures = source(given)
    picture, number = pictures.stdout.read(size), 0
    while len(picture) == size:
        bitrate, start = follower.bitrate(), number
        print(f"{start / given.fps:6.2f} s  {bitrate} bit/s", file=sys.stderr, flush=True)
        with encoder(given, bitrate, start) as segment:
            while len(picture) == size and number - start < given.fps:
                segment.stdin.write(picture)
                segment.stdin.flush()
                picture, number = pictures.stdout.read(size), number + 1
                if number - start >= SHORTEST and follower.bitrate() < FALL * bitrate:
                    break
        if segment.returncode:
            sys.exit(f"the encoder ended with {segment.returncode}")


if __name__ == "__main__":
    try:
        main()
    except BrokenPipeError:
        sys.exit("the encoder has gone")
