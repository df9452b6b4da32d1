from paper import NS2, PATHS, TICKS, difference, kbps, paths

figure = paths(
    "section VII", "RTO policies and a scale factor for TFRC beside TCP", profiles={"as-published": NS2}
)
FOUR_RTT = "flow.tfrc.tfrc.rto=four-rtt"
# Of each heuristic: t_RTO of TFRC (its least, or 4R), TCP's least RTO, other changes.
HEURISTICS = {
    "rfc": (None, "1s", []),
    "as_tcp": ("1s", "1s", []),
    "both_200ms": ("200ms", "200ms", []),
    "tcp_200ms": (None, "200ms", []),
    "scaled": (None, "1s", ["flow.tfrc.tfrc.rate_scale=1.3"]),
}
for rtt, rows in (("10ms", ["8", "32"]), ("500ms", ["96"])):
    _, path, least = PATHS[rtt]
    for name, (t_rto, min_rto, more) in HEURISTICS.items():
        tfrc = [FOUR_RTT] if t_rto is None else [*TICKS, f"flow.tfrc.tfrc.rto_least={t_rto}"]
        # The paper's ns-2 has no 4R: it was set to TCP's estimate, at least 4(R + 4 ms).
        as_published = [] if t_rto else [*TICKS, f"flow.tfrc.tfrc.rto_least={least}"]
        changes = [*path, *tfrc, f"flow.tcp.tcp.min_rto={min_rto}", *more]
        of = f"{name}_{rtt}"

        @figure.run(name=of, rows=rows, set=changes, profiles={"as-published": as_published})
        def measure(run, of=of):
            tfrc, tcp = kbps(run, "tfrc"), kbps(run, "tcp")
            rates = {f"tfrc_{of}_Kbps": tfrc, f"tcp_{of}_Kbps": tcp, f"ratio_{of}": tfrc / tcp}
            return {**rates, f"difference_{of}": difference(run), f"p_difference_{of}": difference(run)}

        here = {"run": of, "rows": rows}
        if name == "scaled":
            figure.columns(f"ratio_{of}", f"p_difference_{of}", against="published", **here)
        else:
            figure.columns(f"tfrc_{of}_Kbps", f"tcp_{of}_Kbps", **here)
            figure.columns(f"difference_{of}", f"ratio_{of}", against="published", **here)

figure.claim("At 10 ms the RFC's 4R makes TFRC several times as fast as TCP")(
    lambda t: t["32", "ratio_rfc_10ms"], between=(5, 20)
)
figure.claim("With TCP's RTO the order turns round")(
    lambda t: t["32", "ratio_as_tcp_10ms"], between=(0.15, 0.4)
)
figure.claim("With a minimum RTO of 0.2 s on both sides TFRC is within a factor of two and a half of TCP")(
    lambda t: t["32", "ratio_both_200ms_10ms"], between=(0.4, 1.0)
)
figure.claim("4R beside a TCP with 0.2 s: less than three times")(
    lambda t: t["32", "ratio_tcp_200ms_10ms"], between=(1.5, 3.0)
)
figure.claim("At 500 ms 4R leaves TFRC below TCP", lambda t: t["96", "ratio_rfc_500ms"], between=(0.5, 0.95))
figure.claim("TCP's RTO puts it above", lambda t: t["96", "ratio_as_tcp_500ms"], between=(1.05, 1.5))
figure.claim(
    "TFRC's relative excess of loss events falls as its rate rises (R4, R5): with a quarter of TCP's rate it "
    "is larger than with nine times"
)(lambda t: t["32", "difference_as_tcp_10ms"] - t["32", "difference_rfc_10ms"], between=(0.1, 0.6))
figure.claim("A scale factor of 1.3 repairs the drop at 500 ms and high loss")(
    lambda t: t["96", "ratio_scaled_500ms"], between=(0.9, 1.2)
)
figure.claim("but adds to TFRC's excess where it is ahead: 10 ms, low loss")(
    lambda t: t["8", "ratio_scaled_10ms"] / t["8", "ratio_rfc_10ms"], between=(1.05, 2.0)
)
