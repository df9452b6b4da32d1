from tfrc.lab import Emulation, Experiment, Paper

figure = Experiment(
    Paper(
        "promises of RFC 4654, 5348, 5740 and 8836, of SRT and of GCC; no values published",
        own=True,
        holds="Beside a CUBIC the rate controls of `tfrc send`, uftp and NORM have 0.38 to 0.57 of the line in each "
        "run, where CUBICs beside it have 0.20 to 0.86, by phase.",
        fails="They vary more than a CUBIC there over seconds, NORM heeds no mark, uftp leaves a seventh of the line, "
        "SRT floods a line that has become too small, and quinn's BBR loses half of what it sends.",
    ),
    "",
    "TFRC's living relatives in one network: uftp, NORM, SRT, Chromium, CUBIC and ours",
    keys={"sender": [], "condition": []},
    world="emu",
    emulation=Emulation(runs=3, recorder="record.py"),
)


@figure.run
def run(run):
    raise RuntimeError("the senders are programs: record.py runs and measures them")


figure.columns("mbps", "share", "queue_ms", "lost", "cov", "ect", "ce")


def share(sender):
    return lambda t: t[f"{sender}/beside-cubic", "share"]


def of(sender, column, condition, other="", base="alone"):
    """A column under a condition over that of another sender or condition."""
    return lambda t: t[f"{sender}/{condition}", column] / t[f"{other or sender}/{base}", column]


# The bands, all of them before any run. A promise of the texts is a claim, kept or not.
FAIR, HALF = (1 / 3, 2 / 3), (0.4, 0.6)
figure.claim(
    "CUBIC beside CUBIC, the check of the network: 0.4 to 0.6 of the line", share("cubic"), between=HALF
)
for sender, text in (
    ("tfrc-rfc5348", "RFC 5348 §1: within a factor of two of a TCP"),
    ("uftp", "RFC 4654, uftp -C tfmcc: reasonably fair next to TCP, a factor of two"),
    ("norm", "RFC 5740 §5.5.2, NORM: the same, as it builds on TFMCC"),
    ("chromium", "RFC 8836 §2, requirement 3: media adapts to a TCP (RFC 8867 §5.6); a factor of two"),
):
    figure.claim(f"{text}: {sender} beside CUBIC has a third to two thirds", share(sender), between=FAIR)
figure.claim("The help of tfrc send: balanced takes half of a line next to a CUBIC", share("tfrc-balanced"), between=HALF)
figure.claim("SRT's live mode sends what comes in: beside CUBIC at least 0.95 of its rate alone")(
    of("srt", "mbps", "beside-cubic"), between=(0.95, 1.05)
)
figure.claim("RFC 8085 §3.1, SRT live: with the line halved it gives way, and loses less than a tenth")(
    lambda t: t["srt/halved", "lost"], between=(0, 0.1)
)

# Guesses, where nothing is promised.
for library, bbr in (("quinn", "bbr"), ("noq", "bbr3")):
    figure.claim(f"Guess: {library}'s CUBIC beside the kernel's is its equal, 0.4 to 0.6")(
        share(f"{library}-cubic"), between=HALF
    )
    figure.claim(f"Guess: {library}'s {bbr} beside CUBIC has what the kernel's BBR has (0.87), 0.75 to 0.95")(
        share(f"{library}-{bbr}"), between=(0.75, 0.95)
    )

for sender in ("tfrc-rfc5348", "uftp", "norm"):
    figure.claim(f"Abstracts of RFC 5348 and 4654: beside CUBIC {sender} varies less at 1 s than a CUBIC there does")(
        of(sender, "cov", "beside-cubic", "cubic", "beside-cubic"), between=(0, 1)
    )
for sender in ("uftp", "norm"):
    for loss in ("1%", "5%"):
        figure.claim(f"One equation (RFC 5348 §3.1): at {loss} of losses {sender} is within 1.5 of tfrc-rfc5348")(
            of(sender, "mbps", f"loss-{loss}", "tfrc-rfc5348", f"loss-{loss}"), between=(1 / 1.5, 1.5)
        )
figure.claim("GCC's draft: below 2 % losses are no reason: at 1 % Chromium has nine tenths of its rate alone")(
    of("chromium", "mbps", "loss-1%"), between=(0.9, 2)
)
figure.claim("and from 2 to 10 % it holds its rate: at 5 % eight tenths")(
    of("chromium", "mbps", "loss-5%"), between=(0.8, 2)
)

# RED marks from 5 packets on and with one in ten at 20, which take 24 ms.
for sender in ("tfrc-rfc5348", "tfrc-balanced", "uftp", "norm", "cubic"):
    figure.claim(f"A mark is a loss (RFC 3168): behind RED with marks {sender} keeps the mean wait below 24 ms")(
        lambda t, sender=sender: t[f"{sender}/red-ecn", "queue_ms"], between=(0, 24)
    )
for sender in ("tfrc-rfc5348", "tfrc-balanced", "uftp", "norm"):
    figure.claim(f"Alone, {sender} uses nine tenths of the line")(
        lambda t, sender=sender: t[f"{sender}/alone", "mbps"] / 10, between=(0.9, 1.01)
    )
    figure.claim(f"After the line is halved, {sender} is within it: less than a tenth lost")(
        lambda t, sender=sender: t[f"{sender}/halved", "lost"], between=(0, 0.1)
    )
    figure.claim(f"After a hand-over from 10 Mbit/s, 40 ms to 3, 120 {sender} is within it: less than a tenth lost")(
        lambda t, sender=sender: t[f"{sender}/hand-over", "lost"], between=(0, 0.1)
    )
# The bands are ours, as its encoder asks for more than there is.
figure.claim("ours: after that hand-over Chromium's video is within it: less than a tenth lost")(
    lambda t: t["chromium/hand-over", "lost"], between=(0, 0.1)
)
for sender in ("tfrc-rfc5348", "tfrc-balanced", "uftp", "norm", "chromium"):
    figure.claim(f"Guess: in the 12 s after the hand-over {sender} uses seven tenths of the new line")(
        lambda t, sender=sender: t[f"{sender}/hand-over", "mbps"] / 3, between=(0.7, 1.01)
    )

figure.curves("share", x="sender", ylabel="share of the line", ylim=(0, 1), world="emu", rows="*/beside-cubic")
figure.curves("queue_ms", x="sender", ylabel="mean wait beside CUBIC, ms", world="emu", rows="*/beside-cubic")
