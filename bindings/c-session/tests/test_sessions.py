"""The examples with each other and with the program `tfrc`, over both carriers."""

import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

PROGRAM = os.environ["TFRC_PROGRAM"]
EXAMPLES = Path(__file__).parent.parent / "examples"
CONTENT = bytes(n * n % 251 for n in range(300_000))


def start(*words, **options):
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


def said(process, pattern):
    """The first group of the pattern, in a line of standard error."""
    for line in process.stderr:
        if found := re.search(pattern, line):
            return found.group(1)
    raise AssertionError(f"{process.args} ended without {pattern!r}")


def home(folder):
    """An environment in which the program keeps its settings in this folder."""
    return {**os.environ, "XDG_CONFIG_HOME": str(folder)}


def listening(process):
    return said(process, r"(127\.0\.0\.1:\d+)")


def ended(process, status=0):
    out, err = process.communicate(timeout=60)
    assert process.returncode == status, (process.args, out, err)
    return out + err


@pytest.fixture(params=["dccp", "quic"])
def keys(request, tmp_path):
    """Words of a receiver and of a sender in C that make a session private; none over DCCP."""
    if request.param == "dccp":
        return [], []
    return [tmp_path / "there"], [tmp_path / "here", fingerprint(tmp_path / "there")]


def fingerprint(file):
    """That of the key in the file, which is made if it is not there."""
    show = [PROGRAM, "key", "show", "--key", file]
    shown = subprocess.run(show, check=True, capture_output=True, text=True)
    return re.search(r"SHA256:\S{43}", shown.stdout + shown.stderr).group(0)


def test_lines_arrive_in_c(keys):
    receiver = start(EXAMPLES / "datagrams", "receive", "127.0.0.1:0", *keys[0])
    sender = start(EXAMPLES / "datagrams", "send", listening(receiver), *keys[1], stdin=subprocess.PIPE)
    lines = "".join(f"line {n}\n" for n in range(500))
    said_by_sender = sender.communicate(lines, timeout=60)[1]
    assert sender.returncode == 0 and "500 datagrams" in said_by_sender, said_by_sender
    assert "who says: all read" in said_by_sender
    assert lines in ended(receiver)


def test_files_go_from_c_to_c(keys, tmp_path):
    pairs = []
    for length in (0, 300_000):
        (tmp_path / f"in-{length}").write_bytes(CONTENT[:length])
        receiver = start(EXAMPLES / "files", "receive", tmp_path / f"out-{length}", "127.0.0.1:0", *keys[0])
        address = listening(receiver)
        sender = start(EXAMPLES / "files", "send", tmp_path / f"in-{length}", address, *keys[1])
        pairs.append((length, sender, receiver))
    for length, sender, receiver in pairs:
        assert f"{length} bytes, whole" in ended(sender)
        assert f"{length} bytes, whole" in ended(receiver)
        assert (tmp_path / f"out-{length}").read_bytes() == CONTENT[:length]


def of_program(words):
    """Words of the program for keys that the examples take."""
    return [word for pair in zip(["--key", "--peer-key"], words) for word in pair] + ["--quic"][: len(words)]


def test_files_go_between_c_and_the_program(keys, tmp_path):
    (tmp_path / "in").write_bytes(CONTENT)
    to_program = start(
        PROGRAM, "recv", "-1", "--bind", "127.0.0.1:0", "-o", tmp_path / "program", *of_program(keys[0]),
    )  # fmt: skip
    from_c = start(EXAMPLES / "files", "send", tmp_path / "in", listening(to_program), *keys[1])
    to_c = start(EXAMPLES / "files", "receive", tmp_path / "c", "127.0.0.1:0", *keys[0])
    from_program = start(
        PROGRAM, "send", listening(to_c), "-f", tmp_path / "in", *of_program(keys[1]), env=home(tmp_path)
    )
    for process in (from_c, to_program, from_program, to_c):
        ended(process)
    assert (tmp_path / "program").read_bytes() == (tmp_path / "c").read_bytes() == CONTENT


def test_a_wrong_key_is_refused_by_its_name(tmp_path):
    allowed, here = fingerprint(tmp_path / "other"), fingerprint(tmp_path / "here")
    receiver = start(EXAMPLES / "datagrams", "receive", "127.0.0.1:0", tmp_path / "there", allowed)
    address = listening(receiver)
    sender = [EXAMPLES / "datagrams", "send", address, tmp_path / "here"]
    assert f"does not let the key {here} of this end in" in ended(start(*sender, fingerprint(tmp_path / "there")), 1)
    assert "not the expected one" in ended(start(*sender, allowed), 1)
    receiver.kill()


def test_a_file_that_is_missing_or_there_is_named(tmp_path):
    receiver = start(EXAMPLES / "files", "receive", tmp_path / "out", "127.0.0.1:0")
    sender = start(EXAMPLES / "files", "send", tmp_path / "none", listening(receiver))
    assert f"error: {tmp_path}/none: No such file" in ended(sender, 1)
    assert "not whole" in ended(receiver, 1)
    (tmp_path / "in").write_bytes(CONTENT)
    (tmp_path / "out").write_bytes(b"old")
    receiver = start(EXAMPLES / "files", "receive", tmp_path / "out", "127.0.0.1:0")
    sender = start(EXAMPLES / "files", "send", tmp_path / "in", listening(receiver))
    assert f"{tmp_path}/out" in ended(receiver, 1)
    assert "error: " in ended(sender, 1)
    assert (tmp_path / "out").read_bytes() == b"old"


def test_a_file_needs_two_ends_that_know_of_files(tmp_path):
    (tmp_path / "in").write_bytes(CONTENT)
    receiver = start(EXAMPLES / "datagrams", "receive", "127.0.0.1:0")
    sender = start(EXAMPLES / "files", "send", tmp_path / "in", listening(receiver))
    assert "the peer does not take files" in ended(sender, 1)
    receiver.kill()


def test_a_peer_that_goes_away_ends_a_session(keys, tmp_path):
    (tmp_path / "in").write_bytes(CONTENT)
    left = []
    for goes in (signal.SIGKILL, signal.SIGTERM):
        out = tmp_path / goes.name
        receiver = start(EXAMPLES / "files", "receive", out, "127.0.0.1:0", *keys[0])
        sender = start(
            PROGRAM, "send", listening(receiver), "-f", tmp_path / "in", "-b", "200k", *of_program(keys[1]),
            env=home(tmp_path),
        )  # fmt: skip
        wait_for_part(out, receiver)
        sender.send_signal(goes)
        left.append((out, "silent for 2.0 s" if goes == signal.SIGKILL else "", receiver))
    # And a receiver: the file is longer than what goes until then.
    with (tmp_path / "long").open("wb") as long:
        long.truncate(1 << 32)
    receiver = start(EXAMPLES / "files", "receive", tmp_path / "short", "127.0.0.1:0", *keys[0])
    sender = start(EXAMPLES / "files", "send", tmp_path / "long", listening(receiver), *keys[1])
    wait_for_part(tmp_path / "short", sender)
    receiver.kill()
    left.append((tmp_path / "long", "", sender))
    for file, why, process in left:
        answer = ended(process, 1)
        assert f"error: {file}: " in answer and why in answer, answer
    assert not any((tmp_path / name).exists() for name in ("SIGKILL", "SIGTERM", "short"))


def wait_for_part(file, process):
    part = file.with_name(file.name + ".part")
    while not part.exists() or part.stat().st_size < 20_000:
        assert process.poll() is None
