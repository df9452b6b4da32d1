"""The library by cffi, without a compiler's help: where TFRC settles at a loss rate.

    PKG_CONFIG_PATH=PREFIX/lib/pkgconfig python3 fixed_point.py [LOSS]
"""

import re
import subprocess
import sys
from pathlib import Path

from cffi import FFI


def pkg_config(question: str) -> str:
    return subprocess.run(["pkg-config", question, "tfrc"], check=True, capture_output=True, text=True).stdout.strip()


def declarations(header: str) -> str:
    """The declarations of a header for cffi, which knows the standard types and no preprocessor."""
    text = re.sub(r"^#include.*$", "", header, flags=re.M)
    compiler = ["cc", "-E", "-P", "-std=c11", "-x", "c", "-"]
    return subprocess.run(compiler, check=True, input=text, capture_output=True, text=True).stdout


def load():
    ffi = FFI()
    ffi.cdef(declarations(Path(pkg_config("--variable=includedir"), "tfrc.h").read_text()))
    return ffi, ffi.dlopen(str(Path(pkg_config("--variable=libdir"), "libtfrc.so")))


def main() -> None:
    loss = float(sys.argv[1]) if len(sys.argv) > 1 else 0.02
    ffi, tfrc = load()
    ms, size = 1_000_000, 1460
    sender = ffi.gc(tfrc.tfrc_sender_new(ffi.NULL), tfrc.tfrc_sender_free)
    receiver = ffi.gc(tfrc.tfrc_receiver_new(ffi.NULL), tfrc.tfrc_receiver_free)
    report = ffi.new("tfrc_report *")
    there, back, every, rates = [], [], round(1 / loss), []
    for now in range(0, 40_000 * ms, ms):
        while there and there[0][0] <= now:
            _, number, rtt = there.pop(0)
            arrival = ffi.new("tfrc_arrival *", {"number": number, "rtt": rtt, "size": size})
            assert tfrc.tfrc_receiver_on_packet(receiver, now, arrival) == 0
        tfrc.tfrc_receiver_handle_timeout(receiver, now)
        while tfrc.tfrc_receiver_poll_report(receiver, now, report) == 0:
            back.append((now + 50 * ms, ffi.new("tfrc_report *", report[0])))
        while back and back[0][0] <= now:
            assert tfrc.tfrc_sender_on_report(sender, now, back.pop(0)[1]) == 0
        tfrc.tfrc_sender_handle_timeout(sender, now)
        while tfrc.tfrc_sender_next_send(sender, now) <= now:
            rtt, number = tfrc.tfrc_sender_rtt(sender), tfrc.tfrc_sender_on_sent(sender, now, size)
            if number % every != every - 1:
                there.append((now + 50 * ms, number, rtt))
        if now >= 15_000 * ms:
            rates.append(tfrc.tfrc_sender_allowed_rate_bps(sender))
    mean, p = sum(rates) / len(rates), tfrc.tfrc_sender_loss_event_rate(sender)
    fixed = tfrc.tfrc_equation_rate_bps(size, tfrc.tfrc_sender_rtt(sender), p)
    print(f"p {p:.4f}: {mean * 1e-3:.0f} kbit/s, {mean / fixed:.3f} of what the equation says")
    assert 0.9 < mean / fixed < 1.1


main()
