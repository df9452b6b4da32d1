from paper import ONE_FLOW, PAPER, SCRIPT, place, vary

from tfrc.lab import Experiment, Quick, over

figure = Experiment(
    PAPER,
    place(2, SCRIPT),
    "Mean loss interval and rate under periodic loss of 1 %, 10 % and 0.5 %",
    keys={"time_s": []},
    must_agree=True,
    quick=Quick(2, rows=["5.113", "5.11", "12.123", "12.064", "16.02", "16.126"]),
    profiles=ONE_FLOW,
    rfc_runs=10,
)


@figure.run(keep=["looks"])
def flow(run):
    now = run.number("time_s")
    return {
        "estimated_loss_interval_pkts": over(1, run.state("tfrc", "p", now)),
        "tx_rate_kBps": run.state("tfrc", "allowed_bps", now) / 8000,
        "greatest_step": over(run.state("tfrc", "p", 9.5), run.state("tfrc", "p", 9.56)),
    }


figure.columns("estimated_loss_interval_pkts", "tx_rate_kBps", read_off=0.5)
figure.columns("greatest_step", rows=["5.113"])

figure.claim("A steady loss of 1 % is estimated at 100 packets")(
    lambda t: t["5.113", "estimated_loss_interval_pkts"], between=(99, 101)
)
figure.claim("A loss rate ten times as high is followed down to a seventh of the rate within a second or so")(
    lambda t: t["7.781", "tx_rate_kBps"] / t["5.11", "tx_rate_kBps"], between=(0.09, 0.18)
)
figure.claim(
    "When losses become rare the estimate rises smoothly, without steps: by a few per cent at most in each "
    "round-trip time (here from 9.5 to 9.56 s)"
)(lambda t: t["5.113", "greatest_step"], between=(1.0, 1.1))
figure.claim("By 16 s the interval has doubled to 200 packets")(
    lambda t: t["16.02", "estimated_loss_interval_pkts"], between=(190, 210)
)
figure.claim("and the rate is half as high again as before 6 s")(
    lambda t: t["16.126", "tx_rate_kBps"] / t["5.11", "tx_rate_kBps"], between=(1.35, 1.65)
)

figure.variant(
    "change-at-8.6s",
    "explains: the loss of 10 % ends when the curve says, at 8.6 s, instead of when the text does",
    ["link.path.loss.periodic.2.at=8.6s"],
    rows=["9.089", "10.117", "12.064"],
    runs=10,
)
figure.variant(
    "ticks",
    "explains: t_RTO in ns-2's ticks of 0.1 s, 300 ms here, instead of the report's 4R",
    ["flow.tfrc.tfrc.rto=ticks"],
    rows=["5.11", "8.022", "16.126"],
    runs=10,
)
drops = [*range(50, 1551, 100), *range(1560, 1701, 10), *range(1900, 4101, 200)]
figure.variant(
    "by-number",
    "explains: the drops by packet number, as in the script: less than a second later here",
    [f"link.path.loss={{ scripted = {drops} }}", "flow.tfrc.start=0s"],
    rows=["5.11", "8.022", "11.583", "16.126"],
    runs=2,
)
vary(figure, "ns2-rules", "arrival-reports", rows=["5.11", "8.022", "10.117", "12.064", "16.126"], runs=10)

figure.curves("estimated_loss_interval_pkts", xlabel="time, s", ylabel="estimated loss interval, packets")
figure.curves("tx_rate_kBps", xlabel="time, s", ylabel="rate, kB/s")
