// The examples of the playground. Each is a scenario as `tfrc sim` takes it; `changes` makes the
// second pane of the same scenario.
"use strict";

const PRESETS = [
  {
    id: "tcp",
    name: "TFRC next to TCP",
    about: "Two TFRC flows and two TCPs as Linux sends them. At each loss a TCP cuts its window; TFRC " +
      "follows the throughput equation, and is smoother at about the same mean. Raise the rate: " +
      "TFRC takes up to several times as much as a TCP. A shorter queue favours it too, by less.",
    text: `# Two TFRC and two TCP flows through one drop-tail queue.
duration = "60s"
warmup = "10s"
seed = 1
nodes = ["left", "right"]

[[link]]
name = "line"
from = "left"
to = "right"
rate = "4Mbit/s"
delay = "20ms"
queue = "50p"

[[flow]]
name = "tfrc"
kind = "tfrc"
count = 2
from = "left"
to = "right"
start = "uniform 0s 2s"

[[flow]]
name = "tcp"
kind = "tcp"
count = 2
from = "left"
to = "right"
start = "uniform 0s 2s"
[flow.tcp]
settings = "linux"
`,
  },
  {
    id: "halving",
    name: "A link that halves",
    about: "The line has half its rate from 20 to 40 s. The queue fills, losses come, and TFRC " +
      "settles at the new rate within some round-trip times, and takes back what is free as quickly.",
    text: `# The rate of the line halves for twenty seconds.
duration = "60s"
warmup = "5s"
seed = 1
nodes = ["left", "right"]

[[link]]
name = "line"
from = "left"
to = "right"
rate = "2Mbit/s"
delay = "20ms"
queue = "25p"
changes = [
    { at = "20s", rate = "1Mbit/s" },
    { at = "40s", rate = "2Mbit/s" },
]

[[flow]]
name = "tfrc"
kind = "tfrc"
from = "left"
to = "right"
`,
  },
  {
    id: "small",
    name: "Small packets",
    about: "Voice: 200-byte packets, 50 a second, over a path that loses packets. Plain TFRC counts " +
      "packets, so small ones carry a fraction of a TCP's bytes, and the voice falls behind; TFRC-SP " +
      "(RFC 4828) allows about the bytes of a TCP. Move the random loss.",
    text: `# Voice by TFRC-SP (RFC 4828) and by plain TFRC, and a TCP.
duration = "60s"
warmup = "15s"
seed = 1
nodes = ["left", "right"]

[[link]]
name = "line"
from = "left"
to = "right"
rate = "3Mbit/s"
delay = "80ms"
queue = "100p"
loss = "4%"

[[flow]]
name = "voice-sp"
kind = "tfrc-sp"
from = "left"
to = "right"
segment = "200B"
packets_per_second = 50

[[flow]]
name = "voice-plain"
kind = "tfrc"
from = "left"
to = "right"
segment = "200B"
packets_per_second = 50

[[flow]]
name = "tcp"
kind = "tcp"
from = "left"
to = "right"
overhead = "1ms"
`,
  },
  {
    id: "gtfrc",
    name: "A promised rate: gTFRC",
    about: "2 Mbit/s are promised to one flow with a long way, against ten near TCPs. The edge " +
      "marks what is within the promise; the core drops that last. Remove the guarantee to see " +
      "the flow lose its profile.",
    text: `# Assured forwarding: a guarantee of 2 Mbit/s against ten near TCPs, over RIO.
duration = "80s"
warmup = "20s"
seed = 1
nodes = ["edge", "core", "far"]

[[link]]
name = "core"
from = "core"
to = "far"
rate = "5Mbit/s"
delay = "20ms"

[link.queue.rio]
limit = "100p"
coupling = "coupled"
low_min = 40
low_max = 70
low_max_p = "2%"
medium_min = 10
medium_max = 40
medium_max_p = "10%"

[[link]]
name = "edge"
from = "edge"
to = "core"
rate = "100Mbit/s"
delay = "5ms"

[[link.marker]]
token_bucket = { rate = "2Mbit/s", burst = "15kB" }
flows = ["assured"]

[[link.marker]]
token_bucket = { rate = "100kbit/s", burst = "15kB" }
scope = "each-flow"
flows = ["tcp"]

[[flow]]
name = "assured"
kind = "tfrc"
from = "edge"
to = "far"
rtt = "400ms"
guarantee = "2Mbit/s"
dscp = "af11"

[[flow]]
name = "tcp"
kind = "tcp"
count = 10
from = "edge"
to = "far"
start = "uniform 0s 3s"
rtt = "uniform 55ms 80ms"
`,
  },
  {
    id: "today",
    name: "CUBIC and BBR",
    about: "TFRC next to the TCPs of today, as Linux sends them. What each gets depends on the " +
      "queue: move it, and see BBR win with a short one and CUBIC with a long one.",
    text: `# TFRC, CUBIC and BBR, the latter two as Linux sends.
duration = "60s"
warmup = "15s"
seed = 1
nodes = ["left", "right"]

[[link]]
name = "line"
from = "left"
to = "right"
rate = "12Mbit/s"
delay = "20ms"
queue = "80p"

[[flow]]
name = "tfrc"
kind = "tfrc"
from = "left"
to = "right"

[[flow]]
name = "cubic"
kind = "tcp"
from = "left"
to = "right"
start = "1s"
[flow.tcp]
settings = "linux"
variant = "cubic"

[[flow]]
name = "bbr"
kind = "tcp"
from = "left"
to = "right"
start = "2s"
[flow.tcp]
settings = "linux"
variant = "bbr"
`,
  },
  {
    id: "radio",
    name: "A lossy radio",
    about: "Losses in bursts that are not congestion, late packets and copies. Both controls take " +
      "them for congestion: the queue is empty, and almost half of the line is not used.",
    text: `# A radio line: losses in bursts at the far end, packets that overtake each other, copies.
duration = "60s"
warmup = "10s"
seed = 1
nodes = ["base", "mobile"]

[[link]]
name = "radio"
from = "base"
to = "mobile"
rate = "6Mbit/s"
delay = "40ms"
queue = "60p"
reorder = { share = "0.1%", extra = "20ms" }
duplicate = "0.01%"

[link.loss]
gilbert_elliott = { to_bad = "1%", to_good = "25%", in_good = "0", in_bad = "50%" }
place = "after-line"

[[flow]]
name = "tfrc"
kind = "tfrc"
from = "base"
to = "mobile"

[[flow]]
name = "tcp"
kind = "tcp"
from = "base"
to = "mobile"
[flow.tcp]
settings = "linux"
`,
  },
  {
    id: "bloat",
    name: "Bufferbloat, and a bound",
    about: "A queue of more than a second. First pane: RFC 5348 fills it until it overflows. " +
      "Second pane: the same flows with a bound of 50 ms on the queueing delay.",
    text: `# Two flows in front of a queue that is far too long.
duration = "60s"
warmup = "15s"
seed = 1
nodes = ["left", "right"]

[[link]]
name = "line"
from = "left"
to = "right"
rate = "2Mbit/s"
delay = "20ms"
queue = "250p"

[[flow]]
name = "tfrc"
kind = "tfrc"
count = 2
from = "left"
to = "right"
start = "uniform 0s 2s"
`,
    changes: "flow.tfrc.tfrc.max_queue_delay=50ms\n",
    panes: ["RFC 5348", "With a bound of 50 ms"],
  },
  {
    id: "balanced",
    name: "RFC 5348 next to balanced",
    about: "Two TFRC flows next to two CUBICs as Linux sends them. The equation of RFC 5348 is Reno's: " +
      "on this path CUBIC takes more than a Reno would, and TFRC gets a third of it. The profile " +
      "balanced, whose friend is CUBIC, stays within a factor of two.",
    text: `# TFRC next to CUBIC. The second pane has the profile \`balanced\`.
duration = "60s"
warmup = "15s"
seed = 1
nodes = ["left", "right"]

[[link]]
name = "line"
from = "left"
to = "right"
rate = "30Mbit/s"
delay = "50ms"
queue = "500p"

[[flow]]
name = "tfrc"
kind = "tfrc"
count = 2
from = "left"
to = "right"
start = "uniform 0s 2s"

[[flow]]
name = "cubic"
kind = "tcp"
count = 2
from = "left"
to = "right"
start = "uniform 0s 2s"
[flow.tcp]
settings = "linux"
variant = "cubic"
`,
    changes: "flow.tfrc.tfrc.profile=balanced\n",
    panes: ["RFC 5348", "balanced"],
  },
];
