"""The examples over real sockets, together with the program `tfrc`: counts and order, no times."""

import os
import re
import signal
import subprocess
from pathlib import Path

PROGRAM = os.environ["TFRC_PROGRAM"]
EXAMPLES = Path(__file__).parent.parent / "examples"


def start(*words, **options):
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


def line_of(process, words):
    """The first line on standard error that has these words."""
    for line in process.stderr:
        if words in line:
            return line
    raise AssertionError(f"{process.args} ended without {words!r}")


def free_port():
    import socket

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


def test_the_adaptive_pair_fills_a_narrow_link_and_no_more():
    port = free_port()
    receiver = start(EXAMPLES / "adaptive_receiver", "127.0.0.1", port)
    link = start(
        PROGRAM, "link", "--rate", "2M", "--delay", "10ms", "--queue", "25p", "--json",
        "--listen", "127.0.0.1:0", "--to", f"127.0.0.1:{port}",
    )
    entrance = line_of(link, "relaying").split()[1].rsplit(":", 1)
    sender = start(EXAMPLES / "adaptive_sender", *entrance, "6")
    said, _ = sender.communicate(timeout=60)
    heard, _ = receiver.communicate(timeout=60)
    link.send_signal(signal.SIGINT)
    link.communicate(timeout=60)
    assert sender.returncode == 0 and receiver.returncode == 0, (said, heard)
    sent, reports = map(int, re.search(r"(\d+) packets sent, (\d+) reports", said).groups())
    received = int(re.search(r"(\d+) packets received", heard).group(1))
    # 2 Mbit/s carry 1,220 packets of 1,228 bytes in 6 s.
    assert 300 < received <= sent < 1800 and reports > 20, (said, heard)


def test_a_sender_without_a_receiver_says_so():
    lonely = start(EXAMPLES / "adaptive_sender", "127.0.0.1", free_port(), "20")
    _, complaint = lonely.communicate(timeout=60)
    assert lonely.returncode == 1 and "nobody listens there" in complaint
    wrong = start(EXAMPLES / "adaptive_sender", "127.0.0.1")
    assert wrong.wait(timeout=60) == 2


def test_the_game_server_gives_the_table_of_the_guide():
    done = subprocess.run([EXAMPLES / "game_server"], capture_output=True, text=True, check=True)
    page = (EXAMPLES.parents[2] / "docs/guides/games.md").read_text(encoding="utf-8")
    rows = done.stdout.splitlines()
    assert len(rows) == 3 and all(row in page.splitlines() for row in rows), done.stdout


def test_a_dccp_client_in_c_is_heard_by_recv(tmp_path):
    source, arrived = tmp_path / "in.bin", tmp_path / "out.bin"
    source.write_bytes(os.urandom(60_000))
    receiver = start(PROGRAM, "recv", "-1", "--bind", "127.0.0.1:0", "-o", arrived)
    address = re.search(r"127\.0\.0\.1:(\d+)", line_of(receiver, "127.0.0.1:"))
    with source.open("rb") as data:
        sender = start(EXAMPLES / "dccp_send", "127.0.0.1", address.group(1), stdin=data)
        said, _ = sender.communicate(timeout=60)
    receiver.communicate(timeout=60)
    assert sender.returncode == 0 and "60000 bytes" in said, said
    assert arrived.read_bytes() == source.read_bytes()
