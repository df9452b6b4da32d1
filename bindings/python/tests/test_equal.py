"""Property tests: results of the package are those of Rust, bit by bit."""

import json
import struct
from random import Random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import tfrc

# Tests draw the same examples each time.
REPEATED = settings(derandomize=True, deadline=None, max_examples=40, database=None)
FEWER = settings(REPEATED, max_examples=25)

@st.composite
def scenarios(draw):
    """The text of a scenario: a bottleneck with a few flows of several kinds."""
    rate = draw(st.integers(200, 8000))
    delay = draw(st.integers(1, 150))
    loss = draw(st.sampled_from(["", "loss = 0.01", "loss = 0.08"]))
    queue = draw(st.sampled_from(['"25p"', '"4p"', '"60kB"']))
    lines = [
        'duration = "8s"',
        'warmup = "1s"',
        'nodes = ["a", "b"]',
        "[[link]]",
        f'name = "l"\nfrom = "a"\nto = "b"\nrate = "{rate}kbit/s"\ndelay = "{delay}ms"\nqueue = {queue}\n{loss}',
    ]
    for number in range(draw(st.integers(1, 3))):
        kind = draw(st.sampled_from(["tfrc", "tcp", "dccp"]))
        start = draw(st.integers(0, 2000))
        lines += [
            "[[flow]]",
            f'name = "f{number}"\nkind = "{kind}"\nfrom = "a"\nto = "b"\nstart = "{start}ms"',
        ]
    return "\n".join(lines) + "\n"


@FEWER
@given(text=scenarios(), seed=st.integers(0, 2**53 - 1), runs=st.integers(1, 2))
def test_simulate_is_the_program(program, tmp_path_factory, text, seed, runs):
    file = tmp_path_factory.mktemp("scenario") / "s.toml"
    file.write_text(text)
    ours = tfrc.simulate(file, seed=seed, runs=runs).to_json()
    assert ours + "\n" == program("sim", file, "--seed", seed, "--runs", runs, "--json")


def bits(x):
    return struct.pack(">d", x).hex()


def nanoseconds(seconds):
    return "-" if seconds is None else str(round(seconds * 1e9))


def trace(random, packets, delay, jitter, loss, interval, with_times, with_hold, with_ce):
    """Calls of a sender: packets at random gaps, reports of received packets, lost words, timeouts."""
    now, base = 0, random.randrange(10**12)
    arrivals, calls = [], []
    due = 0
    for id in range(1, packets + 1):
        now += random.randrange(1, 40_000_000)
        calls.append(("sent", now, id, random.randrange(40, 1500)))
        if random.random() >= loss:
            arrivals.append((now + delay + random.randrange(jitter + 1), id))
        if now >= due:
            due = now + interval
            came = [one for one in sorted(arrivals) if one[0] <= now - delay]
            arrivals = [one for one in arrivals if one[0] > now - delay]
            for at, came_id in came:
                mark = with_ce and random.random() < 0.03
                calls.append(("acked", came_id, base + at if with_times else None, mark))
            if came:
                if random.random() < 0.1:
                    calls.append(("lost", came[-1][1]))
                hold = now - delay - came[-1][0] if with_hold else None
                calls.append(("report", now, hold))
        if random.random() < 0.05:
            now += random.randrange(3_000_000_000)
            calls.append(("timeout", now))
    return calls


@REPEATED
@given(
    seed=st.integers(0, 2**32),
    packets=st.integers(1, 400),
    delay=st.integers(0, 300_000_000),
    jitter=st.integers(0, 50_000_000),
    loss=st.sampled_from([0.0, 0.01, 0.1, 0.4]),
    interval=st.sampled_from([0, 20_000_000, 100_000_000, 1_000_000_000]),
    facts=st.tuples(st.booleans(), st.booleans(), st.booleans()),
)
def test_advisor_is_that_of_rust(advisor_trace, seed, packets, delay, jitter, loss, interval, facts):
    calls = trace(Random(seed), packets, delay, jitter, loss, interval, *facts)
    advisor = tfrc.Advisor(report_interval_s=interval / 1e9)
    lines, ours, latest = [f"interval {interval}"], [], 0.0
    for name, *arguments in calls:
        if name == "sent":
            now, id, size = arguments
            latest = now / 1e9
            advisor.on_sent(latest, id, size)
        elif name == "acked":
            id, at, ce = arguments
            advisor.on_acked(id, None if at is None else at / 1e9, ce=ce)
            arguments = [id, at, int(ce)]
        elif name == "lost":
            advisor.on_lost(arguments[0])
        elif name == "report":
            now, hold = arguments
            latest = now / 1e9
            advisor.on_report(latest, None if hold is None else hold / 1e9)
        else:
            assert name == "timeout"
            latest = arguments[0] / 1e9
            advisor.handle_timeout(latest)
        lines.append(" ".join([name, *("-" if one is None else str(one) for one in arguments)]))
        next_send = advisor.next_send(latest)
        ours.append(
            f"{bits(advisor.allowed_rate_bps / 8)} {bits(advisor.loss_event_rate)} {nanoseconds(advisor.rtt_s)} "
            f"{advisor.loss_events} {'now' if next_send == latest else nanoseconds(next_send)} "
            f"{nanoseconds(advisor.poll_timeout())}"
        )
    assert ours == advisor_trace(lines)


@REPEATED
@given(seed=st.integers(0, 2**32), packets=st.integers(1, 300), loss=st.sampled_from([0.0, 0.05]))
def test_batches_are_calls_one_by_one(seed, packets, loss):
    random = Random(seed)
    sent = np.cumsum([random.uniform(0.001, 0.03) for _ in range(packets)])
    id = np.arange(1, packets + 1, dtype=np.uint64)
    size = np.full(packets, 1200, dtype=np.uint32)
    came = np.array([random.random() >= loss for _ in range(packets)])
    ce = np.array([random.random() < 0.02 for _ in range(packets)])
    at = np.where([random.random() < 0.1 for _ in range(packets)], np.nan, sent + 0.05)
    one, many = tfrc.Advisor(report_interval_s=0.1), tfrc.Advisor(report_interval_s=0.1)
    news = 0
    for number in range(packets):
        one.on_sent(sent[number], int(id[number]), int(size[number]))
    for number in np.flatnonzero(came):
        arrived = None if np.isnan(at[number]) else at[number]
        news += one.on_acked(int(id[number]), arrived, ce=bool(ce[number])) == "new"
    many.on_sent_many(sent, id, size)
    assert many.on_acked_many(id[came], at[came], ce=ce[came]) == news == came.sum()
    for advisor in (one, many):
        advisor.on_report(sent[-1] + 0.1, 0.0)
    states = [(a.allowed_rate_bps, a.rtt_s, a.loss_event_rate, a.loss_events) for a in (one, many)]
    assert states[0] == states[1]


@REPEATED
@given(
    segment=st.integers(40, 9000),
    rtt=st.integers(1, 2000),
    p=st.floats(1e-6, 1.0, allow_subnormal=False),
)
def test_equation_is_that_of_the_program(program, segment, rtt, p):
    ours = tfrc.Equation().rate_bps(segment, rtt / 1000, p)
    loss = repr(p) if p < 1 else "100%"
    arguments = ["--rtt", f"{rtt}ms", "-s", f"{segment}B", "-p", loss, "--json"]
    theirs = json.loads(program("equation", *arguments))
    assert ours == theirs["rate_bps"]
