from paper import NS2, PATHS, RFC_RTOS, kbps, paths

figure = paths(
    "Fig. 14", "TFRC and TCP with the RTOs of their RFCs, round-trip times from 10 to 500 ms", profiles=RFC_RTOS
)
for rtt, (rows, path, least) in PATHS.items():
    least_rto = {"as-published": [f"flow.tfrc.tfrc.rto_least={least}"]}

    @figure.run(name=f"rtt_{rtt}", rows=rows, set=path, profiles=least_rto)
    def measure(run, rtt=rtt):
        tfrc, tcp = kbps(run, "tfrc"), kbps(run, "tcp")
        loss = run.flow("probe", "packet_loss_rate")
        names = (f"tfrc_{rtt}_Kbps", f"tcp_{rtt}_Kbps", f"ratio_{rtt}", f"loss_{rtt}")
        return dict(zip(names, (tfrc, tcp, tfrc / tcp, loss)))

    here = {"run": f"rtt_{rtt}", "rows": rows}
    figure.columns(f"tfrc_{rtt}_Kbps", f"tcp_{rtt}_Kbps", **here)
    figure.columns(f"ratio_{rtt}", against="published", **here)
    figure.columns(f"loss_{rtt}", band="drop", against="published", **here)

figure.claim("On a path of 10 ms TFRC sends several times what TCP sends, at high loss")(
    lambda t: t["32", "ratio_10ms"], between=(5, 20)
)
figure.claim("There the excess grows with loss")(
    lambda t: t["32", "ratio_10ms"] / t["8", "ratio_10ms"], between=(1.5, 6)
)
figure.claim("It is above 20 at a loss event rate of about 5 %, as printed")(
    lambda t: t["8", "ratio_10ms"], between=(20, 40)
)
figure.claim("On a path of 500 ms TFRC sends less than TCP, at high loss")(
    lambda t: t["96", "ratio_500ms"], between=(0.5, 0.95)
)
figure.claim("There its share falls as loss rises")(
    lambda t: t["96", "ratio_500ms"] / t["16", "ratio_500ms"], between=(0.5, 0.95)
)
figure.claim("In between the ratio is smaller than Figure 13's equation predicts: 100 ms")(
    lambda t: t["64", "ratio_100ms"], between=(0.9, 1.6)
)

ENDS = {"rows": ["32", "96"], "only": ["rtt_10ms", "rtt_500ms"]}
figure.variant(
    "four-rtt",
    "explains: with 4R itself, R with its queueing, the 500 ms case goes further down",
    [*NS2, "flow.tfrc.tfrc.rto=four-rtt", "flow.tcp.tcp.min_rto=1s"],
    profile="rfc",
    **ENDS,
)
text = "explains: beside a TCP with a minimum RTO of 0.2 s both extremes shrink"
figure.variant("tcp-min-rto-200ms", text, ["flow.tcp.tcp.min_rto=200ms"], **ENDS)
short = ["rtt_10ms"]
queue = ["link.bottleneck.queue=19p ns2"]
figure.variant("droptail", "assumed: link.0.queue.red.limit", queue, rows=["32"], only=short)
text = "explains: TCP that counts what is in flight by its scoreboard and not by ns-2's counter"
figure.variant("pipe-scoreboard", text, ["flow.tcp.tcp.pipe=scoreboard"], rows=["8"], only=short)
