"""The algorithm: equation, sender with receiver, advisor."""

import numpy as np
import pytest

import tfrc


def test_the_equation_takes_numbers_and_arrays():
    equation = tfrc.Equation()
    # RFC 5348 §3.1 with s = 1460 bytes, R = 100 ms, p = 1 %, t_RTO = 4R, b = 1.
    root = 0.1 * (2 * 0.01 / 3) ** 0.5 + 0.4 * 3 * (3 * 0.01 / 8) ** 0.5 * 0.01 * (1 + 32 * 0.01**2)
    one = equation.rate_bps(1460, 0.1, 0.01)
    assert isinstance(one, float) and one == pytest.approx(8 * 1460 / root, rel=1e-12)
    p = np.array([0.001, 0.01, 0.1])
    rtt = np.array([[0.05], [0.1]])
    many = equation.rate_bps(1460, rtt, p)
    assert many.shape == (2, 3) and many[1, 1] == one
    assert (np.diff(many, axis=1) < 0).all()
    assert equation.rate_bps(1460, 0.1, 0.0) == float("inf")


def test_the_inverse_gives_the_loss_event_rate_back():
    equation = tfrc.Equation(form="timeout-term-capped", packets_per_ack=2)
    p = np.array([1e-5, 0.01, 0.3])
    again = equation.loss_event_rate(1000, 0.08, equation.rate_bps(1000, 0.08, p))
    assert again == pytest.approx(p, rel=1e-12)
    too_low = equation.loss_event_rate(1000, 0.08, np.array([1.0, 1e6]))
    assert np.isnan(too_low[0]) and 0 < too_low[1] < 1
    with pytest.raises(ValueError, match="allows"):
        equation.loss_event_rate(1000, 0.08, 1.0)


@pytest.mark.parametrize("arguments", [(1460, -0.1, 0.01), (1460, 0.1, 1.5), (0, 0.1, 0.1), (1460, float("nan"), 0.1)])
def test_values_out_of_range_are_refused(arguments):
    with pytest.raises(ValueError):
        tfrc.Equation().rate_bps(*arguments)


def test_configurations_are_checked():
    tfrc.Config(segment_bytes=200, segment="fixed", cap_bps=1e6, variant="tfrc-sp", revision="rfc5348")
    tfrc.Config(profile="balanced")
    tfrc.Config(profile="balanced", friend="reno")
    for wrong in (
        {"segment_bytes": 0},
        {"segment": "median"},
        {"cap_bps": 0.0},
        {"cap_bps": -1.0},
        {"max_queue_delay": 0.0009},
        {"max_queue_delay": -1.0},
        {"no_feedback_floor": -0.1},
        {"clock_grain": -0.001},
        {"variant": "tcp"},
        {"revision": "rfc1"},
        {"profile": "fair"},
        {"friend": "bbr"},
    ):
        with pytest.raises(ValueError):
            tfrc.Config(**wrong)


def test_the_cap_limits_the_sending_rate():
    sender = tfrc.Sender(tfrc.Config(segment_bytes=1000, segment="fixed", cap_bps=80_000.0))
    sender.on_rtt_sample(0.0, 0.01)
    sender.on_sent(0.0, 1000)
    # 80 kbit/s are ten packets of 1000 bytes a second; a round-trip time's worth may go at once.
    assert sender.next_send(0.0) == pytest.approx(0.1, abs=0.02)


def test_a_sender_and_a_receiver_fill_a_line():
    """Packets over 1 Mbit/s, 50 ms each way, a queue of 20: the mean rate is near the line's."""
    config = tfrc.Config(segment_bytes=1000, segment="fixed")
    sender, receiver = tfrc.Sender(config), tfrc.Receiver(config)
    now, free, lost, delivered = 0.0, 0.0, 0, 0
    forward, back = [], []
    while now < 60.0:
        due = sender.next_send(now)
        times = [due, sender.poll_timeout(), receiver.poll_timeout()]
        times += [forward[0][0] if forward else None, back[0][0] if back else None]
        now = max(now, min(time for time in times if time is not None))
        sender.handle_timeout(now)
        receiver.handle_timeout(now)
        if back and back[0][0] <= now:
            assert sender.on_report(now, back.pop(0)[1])
        if forward and forward[0][0] <= now:
            _, seq, rtt = forward.pop(0)
            receiver.on_packet(now, seq, 1000, rtt_s=rtt)
            delivered += 1
        if (report := receiver.poll_feedback(now)) is not None:
            back.append((now + 0.05, report))
        if sender.next_send(now) <= now:
            seq = sender.on_sent(now, 1000)
            if free - now > 20 * 0.008:
                lost += 1
            else:
                free = max(free, now) + 0.008
                forward.append((free + 0.05, seq, sender.rtt_s))
    assert lost > 0 and receiver.loss_events > 1
    assert receiver.loss_event_rate == pytest.approx(sender.loss_event_rate, rel=0.5)
    assert 0.7e6 < delivered * 8000 / 60 < 1.01e6
    assert sender.rate_reason in ("equation", "receive-limit")
    change = sender.poll_event()
    assert change is not None and change.to_bps > 0 and "RateChange" in repr(change)


@pytest.mark.parametrize("bound, least, most", [(None, 0.0, 0.0), (0.08, 15.0, 20.0)])
def test_the_time_spent_in_competing(bound, least, most):
    """A queue that grows by a tenth of the time, whatever is sent, is filled by others."""
    sender, advisor = (make(tfrc.Config(max_queue_delay=bound)) for make in (tfrc.Sender, tfrc.Advisor))
    for number in range(3000):
        now, behind = number * 0.01, 10 + max(0, number - 100) // 10
        assert sender.on_sent(now, 1000) == number
        advisor.on_sent(now, number, 1000)
        if number % 10 == 9 and number >= behind:
            fields = {"elapsed_s": 0.0, "receive_rate_bps": 8e5, "loss_event_rate": 0.0, "loss_events": 0}
            report = tfrc.Report(newest_seq=number - behind, packets=0, lost=0, **fields)
            assert sender.on_report(now, report)
            advisor.on_acked_range(0, number - behind)
            advisor.on_report(now, rtt_s=behind * 0.01)
    assert least <= sender.competed_s(now) <= most
    assert least <= advisor.competed_s(now) <= most


def test_a_report_is_rebuilt_from_its_fields():
    receiver = tfrc.Receiver()
    receiver.on_packet(1.0, 0, 1200, rtt_s=0.1)
    report = receiver.poll_feedback(1.0)
    fields = ("newest_seq", "elapsed_s", "receive_rate_bps", "loss_event_rate", "loss_events", "packets", "lost", "reason")
    assert tfrc.Report(**{field: getattr(report, field) for field in fields}) == report
    assert report.reason == "first"
    with pytest.raises(ValueError, match="reason"):
        tfrc.Report(**{field: getattr(report, field) for field in fields[:-1]}, reason="none")
    sender = tfrc.Sender()
    sender.on_sent(0.0, 1200)
    assert sender.on_report(0.1, report) and sender.rtt_s == 0.1
    assert not tfrc.Sender().on_report(0.1, report)


def test_an_advisor_is_told_late_by_its_transport():
    advisor = tfrc.Advisor(losses="transport")
    advisor.handle_timeout(0.18)
    for id in range(6):
        advisor.on_sent(0.02 * id, id, 1200)
    assert advisor.on_acked_range(0, 1) + advisor.on_acked_range(3, 3) + advisor.on_acked_range(5, 5) == 4
    assert advisor.on_lost(4) == "new"
    advisor.on_report(0.2, rtt_s=0.08)
    assert advisor.rtt_s == pytest.approx(0.08, abs=1e-9)
    assert advisor.loss_events == 1, "4 is lost; of 2 nothing was said"
    with pytest.raises(ValueError, match="not both"):
        advisor.on_report(0.2, 0.0, rtt_s=0.08)
    with pytest.raises(ValueError, match="order"):
        tfrc.Advisor(losses="guess")


@pytest.mark.parametrize("make", [tfrc.Sender, tfrc.Advisor])
def test_limits_change_while_it_runs(make):
    machine = make()
    machine.on_rtt_sample(0.0, 0.1)
    allowed = machine.allowed_rate_bps
    assert machine.target_rate_bps == allowed == pytest.approx(350_400)
    machine.set_cap(100e3)
    assert machine.target_rate_bps == 100e3 and machine.allowed_rate_bps == allowed
    machine.set_floor(1e6)
    assert machine.target_rate_bps == 100e3
    machine.set_cap(None)
    assert machine.target_rate_bps == 1e6 and machine.allowed_rate_bps == allowed
    with pytest.raises(ValueError, match="cap"):
        machine.set_cap(0.0)
    assert machine.stopped is None and machine.resume(1.0) is False


def test_an_advisor_takes_reports():
    advisor = tfrc.Advisor(report_interval_s=0.05)
    assert advisor.next_send(0.0) == 0.0 and advisor.rtt_s is None
    for id in range(1, 4):
        advisor.on_sent(0.01 * id, id, 1200)
    assert advisor.on_acked(1, 100.0) == "new"
    assert advisor.on_acked(1, 100.0) == "duplicate"
    assert advisor.on_acked(9) == "unknown"
    assert advisor.on_acked_range(2, 3) == 2
    advisor.on_report(0.11, 0.0)
    assert advisor.rtt_s == pytest.approx(0.08, abs=1e-9)
    assert advisor.allowed_rate_bps > 0 and advisor.loss_event_rate == 0.0
    assert advisor.poll_timeout() > 0.11
    with pytest.raises(ValueError, match="different lengths"):
        advisor.on_sent_many(np.zeros(2), np.arange(3, dtype=np.uint64), np.zeros(3, dtype=np.uint32))
    with pytest.raises(ValueError, match="time"):
        advisor.on_sent(-1.0, 4, 1200)


@pytest.mark.parametrize("grain, stated, expected", [(0.001, None, 0.001), (0.015625, None, 0.015625), (0.001, 0.004, 0.004)])
def test_a_round_trip_below_the_grain_of_the_clock_is_one_grain(grain, stated, expected):
    """A packet and its report have the same time by a coarse clock."""
    advisor = tfrc.Advisor(tfrc.Config(clock_grain=stated))
    sender = tfrc.Sender(tfrc.Config(clock_grain=stated, no_feedback_floor=0.1))
    receiver = tfrc.Receiver(tfrc.Config(clock_grain=stated))
    for n in range(100):
        now = (n // 2 * 10 + n % 2) * grain  # steps of one grain and of nine
        advisor.on_sent(now, n, 1000)
        advisor.on_acked(n)
        advisor.on_report(now, 0.0)
        seq = sender.on_sent(now, 1000)
        receiver.on_packet(now, seq, 1000, rtt_s=sender.rtt_s)
        receiver.handle_timeout(now)
        report = receiver.poll_feedback(now)
        if report is not None:
            sender.on_report(now, report)
            assert sender.poll_timeout() >= now + 0.1 - 1e-9
    assert advisor.rtt_s == pytest.approx(expected, rel=0.02)
    assert sender.rtt_s == pytest.approx(expected, rel=0.02)


def test_a_hold_leaves_the_least_round_trip():
    advisor = tfrc.Advisor()
    for n in range(100):
        advisor.on_sent(n * 0.0101, n, 1000)
        advisor.on_acked(n)
        advisor.on_report(n * 0.0101 + 0.001, 0.0009)
    assert advisor.rtt_s == pytest.approx(0.001)
