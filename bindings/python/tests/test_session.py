"""Sessions between two ends of this process, over DCCP and private over QUIC."""

import threading

import pytest

import tfrc


def ends(private):
    """Arguments of the end that listens and of the end that connects."""
    if not private:
        return {}, {}
    there, here = tfrc.Key.temporary(), tfrc.Key.temporary()
    return (
        {"key": there, "allow_keys": [here.fingerprint]},
        {"key": here, "peer_key": there.fingerprint},
    )


def receive_all(listener, received):
    session = listener.accept(timeout=30)
    while (datagram := session.recv(timeout=30)) is not None:
        received.append(datagram)
    session.close("thanks")


@pytest.mark.parametrize("private", [False, True])
def test_datagrams_go_over_either_carrier(private):
    listens, calls = ends(private)
    received = []
    with tfrc.Listener("127.0.0.1:0", **listens) as listener:
        receiver = threading.Thread(target=receive_all, args=(listener, received))
        receiver.start()
        session = tfrc.connect(listener.address, **calls)
        assert (session.is_private, session.peer) == (private, listener.address)
        assert session.max_datagram > 1000 and session.allowed_rate_bps > 0
        for number in range(20):
            session.send(bytes([number]) * 100)
        assert session.close("all of it") == "thanks"
        receiver.join(timeout=30)
    assert received == [bytes([number]) * 100 for number in range(20)]
    assert listener.accept() is None


@pytest.mark.parametrize("private", [False, True])
def test_the_end_that_listens_may_send(private):
    listens, calls = ends(private)
    listener = tfrc.Listener("127.0.0.1:0", sends=True, **listens)
    receiver = tfrc.connect(listener.address, receives=True, **calls)
    sender = listener.accept(timeout=30)
    sender.send(b"hello")
    assert receiver.recv(timeout=30) == b"hello"
    with pytest.raises(TimeoutError):
        receiver.recv(timeout=0.05)


@pytest.mark.parametrize("private", [False, True])
def test_a_file_arrives_whole(private, tmp_path):
    listens, calls = ends(private)
    content = bytes(n * n % 251 for n in range(200_000))
    (tmp_path / "in").write_bytes(content)
    copies = []

    def receive(listener):
        copies.append(listener.accept(timeout=30).recv_file(tmp_path / "out"))

    with tfrc.Listener("127.0.0.1:0", files=True, **listens) as listener:
        receiver = threading.Thread(target=receive, args=(listener,))
        receiver.start()
        sent = tfrc.connect(listener.address, files=True, **calls).send_file(tmp_path / "in")
        receiver.join(timeout=30)
    assert (tmp_path / "out").read_bytes() == content
    assert sent.bytes == 200_000 and repr(copies) == "[FileCopy(bytes=200000, repaired_bytes=0)]"


def test_a_file_needs_two_ends_that_know_of_files(tmp_path):
    (tmp_path / "in").write_bytes(b"x")
    received = []
    with tfrc.Listener("127.0.0.1:0") as listener:
        receiver = threading.Thread(target=receive_all, args=(listener, received))
        receiver.start()
        session = tfrc.connect(listener.address, files=True)
        with pytest.raises(tfrc.SessionError, match="does not take files"):
            session.send_file(tmp_path / "in")
        receiver.join(timeout=30)
    assert received == []


def test_files_go_between_python_and_the_program(program, tmp_path):
    (tmp_path / "in").write_bytes(b"whole" * 10_000)
    listener = tfrc.Listener("127.0.0.1:0", files=True)
    sender = threading.Thread(
        target=program, args=("send", listener.address, "-f", tmp_path / "in")
    )
    sender.start()
    copy = listener.accept(timeout=30).recv_file(tmp_path / "out")
    sender.join(timeout=30)
    assert copy.bytes == 50_000
    assert (tmp_path / "out").read_bytes() == b"whole" * 10_000


def test_a_wrong_key_ends_the_wait_at_once():
    listens, calls = ends(private=True)
    listener = tfrc.Listener("127.0.0.1:0", **listens)
    other = tfrc.Key.temporary().fingerprint
    with pytest.raises(tfrc.SessionError, match="not the expected one"):
        tfrc.connect(listener.address, key=calls["key"], peer_key=other, wait=60)
    stranger = tfrc.Key.temporary()
    with pytest.raises(ConnectionError, match="does not let the key"):
        tfrc.connect(listener.address, key=stranger, peer_key=listens["key"].fingerprint)
    with pytest.raises(TimeoutError):
        listener.accept(timeout=0.05)


def test_what_makes_no_private_session_is_refused():
    key = tfrc.Key.temporary()
    with pytest.raises(ValueError, match="peer_key"):
        tfrc.connect("127.0.0.1:1", key=key)
    with pytest.raises(ValueError, match="give this end a key"):
        tfrc.connect("127.0.0.1:1", peer_key=key.fingerprint)
    with pytest.raises(ValueError, match="SHA256"):
        tfrc.Listener("127.0.0.1:0", key=key, allow_keys=["SHA256:x"])
    with pytest.raises(OSError):
        tfrc.Listener("nowhere.invalid:1")


def test_a_key_is_made_once(tmp_path):
    path = tmp_path / "folder" / "key"
    made = tfrc.Key.load_or_make(path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert tfrc.Key.load_or_make(path).fingerprint == made.fingerprint
    path.chmod(0o644)
    with pytest.raises(OSError):
        tfrc.Key.load_or_make(path)


def test_nobody_there():
    with pytest.raises(tfrc.SessionError, match="nobody listens there"):
        tfrc.connect("127.0.0.1:9")
