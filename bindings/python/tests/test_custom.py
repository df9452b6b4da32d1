"""Congestion controls and queues written in Python."""

import sys

import cloudpickle
import pytest
from distributed import Client, LocalCluster

import tfrc

LINK = """
duration = "30s"
warmup = "5s"
nodes = ["near", "far"]

[[link]]
name = "line"
from = "near"
to = "far"
rate = "4Mbit/s"
delay = "20ms"
queue = QUEUE
reverse = { queue = "unlimited" }
"""
MINE = """
[[flow]]
name = "mine"
kind = "custom"
controller = "aimd"
from = "near"
to = "far"
"""
CUBIC = """
[[flow]]
name = "cubic"
kind = "tcp"
from = "near"
to = "far"
start = "0.5s"
tcp = { variant = "cubic" }
"""


class Aimd:
    def start(self, now):
        self.packets = 2.0

    def on_ack(self, now, rtt, outstanding, marked):
        assert 0.04 < rtt < 1.0 and outstanding >= 0 and not marked
        self.packets += 1 / self.packets

    def on_loss(self, now, packets, outstanding, begins_event):
        if begins_event:
            self.packets = max(self.packets / 2, 1.0)

    def on_timeout(self, now):
        self.packets = 1.0

    def window(self, now):
        return self.packets


class Tail:
    """Drop-tail with room for 20 packets."""

    def __init__(self):
        self.packets = []

    def enqueue(self, now, packet, flow, size, capable):
        if len(self.packets) >= 20:
            return False
        self.packets.append(packet)
        return True

    def dequeue(self, now):
        return self.packets.pop(0) if self.packets else None


def cluster(folder):
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    return LocalCluster(host="127.0.0.1", local_directory=str(folder), **options)


def scenario(queue, *flows):
    return LINK.replace("QUEUE", queue) + "".join(flows)


def test_aimd_next_to_cubic():
    result = tfrc.simulate(scenario("'20p'", MINE, CUBIC), agents={"aimd": Aimd})
    mine, cubic = result.flows["goodput_bps"]
    # All of the line but its headers, and no flow without a fair part of it.
    assert 3.6e6 < mine + cubic < 4e6
    assert 0.2 < mine / cubic < 5
    flow = result.json()["flows"][0]
    assert flow["kind"] == "custom" and flow["packet_loss_rate"] > 0
    assert 0.04 < flow["rtt_s"] < 0.11


def test_a_paced_controller_keeps_its_rate():
    class Paced(Aimd):
        def window(self, now):
            return 1e9, 1e6

    flow = tfrc.simulate(scenario("'20p'", MINE), agents={"aimd": Paced}).json()["flows"][0]
    # 1460 of 1500 bytes are data; nothing waits.
    assert flow["goodput_bps"] == pytest.approx(1e6 * 1460 / 1500, rel=0.001)
    assert flow["queueing_delay_p99_s"] == 0


def test_a_drop_tail_queue_of_python_is_the_simulator_s():
    own = tfrc.simulate(scenario("{ custom = 'tail' }", CUBIC), queues={"tail": Tail})
    built_in = tfrc.simulate(scenario("'20p'", CUBIC))
    assert own.json()["flows"] == built_in.json()["flows"]


def test_packets_are_marked_and_dropped():
    class Marking(Tail):
        def dequeue(self, now):
            packet = super().dequeue(now)
            return packet and (packet, "mark" if len(self.packets) >= 5 else "send")

    seen = []

    class Ecn(Aimd):
        def on_ack(self, now, rtt, outstanding, marked):
            seen.append(marked)
            self.packets = max(self.packets * 0.9, 2.0) if marked else self.packets + 1 / self.packets

    flow = MINE + 'ecn = "on"\n'
    result = tfrc.simulate(scenario("{ custom = 'm' }", flow), agents={"aimd": Ecn}, queues={"m": Marking})
    assert 0 < sum(seen) < len(seen) / 2
    assert result.flows["packet_loss_rate"][0] == 0

    class Head(Tail):
        def enqueue(self, now, packet, flow, size, capable):
            self.packets.append(packet)
            return True

        def dequeue(self, now):
            packet = super().dequeue(now)
            return (packet, "drop") if len(self.packets) >= 20 else packet

    result = tfrc.simulate(scenario("{ custom = 'h' }", CUBIC), queues={"h": Head})
    assert 0 < result.flows["packet_loss_rate"][0] < 0.05


def test_runs_with_the_same_seed_are_the_same():
    lossy = scenario("'20p'", MINE).replace('delay = "20ms"', 'delay = "20ms"\nloss = "0.5%"')
    runs = [tfrc.simulate(lossy, agents={"aimd": Aimd}, runs=2, jobs=2) for _ in range(2)]
    assert runs[0].to_json() == runs[1].to_json()
    one, two = runs[0].flows["goodput_bps"]
    assert one != two


def test_an_exception_ends_the_simulation():
    class Broken(Aimd):
        def on_loss(self, now, packets, outstanding, begins_event):
            raise RuntimeError("a mistake of mine")

    with pytest.raises(RuntimeError, match="a mistake of mine"):
        tfrc.simulate(scenario("'20p'", MINE), agents={"aimd": Broken})
    with pytest.raises(AttributeError, match="the controller `aimd` has no `start`: its methods are start, on_ack,"):
        tfrc.simulate(scenario("'20p'", MINE), agents={"aimd": Tail})
    with pytest.raises(AttributeError, match="the queue `q` has no `enqueue`"):
        tfrc.simulate(scenario("{ custom = 'q' }", CUBIC), queues={"q": Aimd})
    with pytest.raises(ValueError, match="drop, mark or send"):
        wrong = type("Wrong", (Tail,), {"dequeue": lambda self, now: (0, "keep")})
        tfrc.simulate(scenario("{ custom = 'w' }", CUBIC), queues={"w": wrong})


@pytest.mark.parametrize("window", [None, "ten", float("inf"), float("nan"), (4,), (4, float("inf")), (4, -1)])
def test_a_window_that_is_none(window):
    strange = type("Strange", (Aimd,), {"window": lambda self, now: window})
    with pytest.raises(ValueError, match="return packets, or"):
        tfrc.simulate(scenario("'20p'", MINE), agents={"aimd": strange})


def test_a_window_without_bounds_ends():
    huge = type("Huge", (Aimd,), {"window": lambda self, now: 1e308})
    flow = tfrc.simulate(scenario("'20p'", MINE), agents={"aimd": huge}, set={"duration": "2s", "warmup": "1s"}).json()["flows"][0]
    assert flow["packet_loss_rate"] > 0.9


@pytest.mark.parametrize("answer", [999_999, -1, "x", (1, 2)])
def test_a_queue_that_returns_what_it_does_not_have(answer):
    wrong = type("Wrong", (Tail,), {"dequeue": lambda self, now: answer})
    with pytest.raises(ValueError, match="dequeue returned"):
        tfrc.simulate(scenario("{ custom = 'w' }", CUBIC), queues={"w": wrong})


def test_names_that_are_not_there():
    with pytest.raises(ValueError, match="no controller `aimd`: registered are reno"):
        tfrc.simulate(scenario("'20p'", MINE), agents={"reno": Aimd})
    for run in (tfrc.simulate, lambda text: tfrc.sweep(text, {"link.line.delay": ["5ms"]}, cache=None)):
        with pytest.raises(tfrc.ScenarioError, match="in a program of yours") as raised:
            run(scenario("'20p'", MINE))
        assert "agents=" in raised.value.help and "custom-algorithms.md" in raised.value.help


def test_a_sweep_has_controllers_and_queues_of_its_own(tmp_path):
    # As the guide says of a module that workers cannot import.
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    text = scenario("{ custom = 'tail' }", MINE, CUBIC)
    code = {"agents": {"aimd": Aimd}, "queues": {"tail": Tail}}
    short = {"duration": "6s", "warmup": "1s"}
    delays, runs = ["20ms", "30ms"], 2
    axis = {"set": "link.line.delay", "values": delays}
    alone = tfrc.simulate(text, set={**short, "sweep": [axis]}, runs=runs, **code)

    def swept(**more):
        axes = {"link.line.delay": delays}
        return tfrc.sweep(text, axes, runs, set=short, cache=tmp_path / "cache", **code, **more)

    assert swept(jobs=1).to_json() == alone.to_json() == swept(jobs=2).to_json()
    with cluster(tmp_path) as workers, Client(workers) as client:
        there = swept(client=client)
        assert there.to_json() == alone.to_json()

        # The code of the second sweep is what its workers run, under the name of the first.
        class Halved(Aimd):
            def window(self, now):
                return self.packets / 2

        code["agents"] = {"aimd": Halved}
        assert swept(client=client).to_json() != alone.to_json()
    assert there.axes == {"link.line.delay": "s"} and not (tmp_path / "cache").exists()


def test_mistakes_of_own_code_show_in_a_sweep(tmp_path):
    class Broken(Aimd):
        def on_ack(self, *_):
            raise RuntimeError("a mistake of mine")

    def swept(**code):
        return tfrc.sweep(scenario("'20p'", MINE), {"link.line.delay": ["5ms", "20ms"]}, jobs=1, **code)

    with pytest.raises(RuntimeError, match="a mistake of mine"):
        swept(agents={"aimd": Broken})
    with pytest.raises(ValueError, match="no controller `aimd`: registered are reno"):
        swept(agents={"reno": Aimd})
    with (tmp_path / "log").open("w") as log:
        with pytest.raises(TypeError, match="travel to the workers.*open files"):
            swept(agents={"aimd": lambda: log and Aimd()})
