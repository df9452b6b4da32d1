//! The run of the picture: the network of `tfrc demo`, simulated with a fixed seed.

use tfrc_cli::live::{Controls, LinkLoss, LinkRate, Model, ModelConfig, View};
use tfrc_report::record::{Event, EventKind, Record};
use tfrc_scenario::Scenario;
use tfrc_units::Duration;
use tfrc_world::Run;
use tfrc_world::results::Interval;
use tfrc_world::watch::{Look, Watch};

/// A second TCP joins at 8 s, and the link halves at 16 s.
const SCENARIO: &str = "
duration = '22s'
seed = 2
nodes = ['near', 'far']

[[link]]
from = 'near'
to = 'far'
rate = '2Mbit/s'
delay = '20ms'
queue = '25p'
changes = [{ at = '16s', rate = '1Mbit/s' }]

[[flow]]
name = 'tfrc'
kind = 'tfrc'
from = 'near'
to = 'far'
segment = '1316B'

[[flow]]
name = 'tcp-1'
kind = 'tcp'
from = 'near'
to = 'far'
start = '0.2s'
overhead = '6ms'

[[flow]]
name = 'tcp-2'
kind = 'tcp'
from = 'near'
to = 'far'
start = '8s'
overhead = '6ms'
";

/// When the link halves, in seconds.
const HALVES: f64 = 16.0;

/// The run, 22 of 24 seconds old.
pub(crate) fn model() -> Model {
    let scenario = Scenario::parse("picture.toml", SCENARIO).expect("the scenario of this file is right");
    let mut model = Model::new(ModelConfig {
        view: View::Contest,
        title: "tfrc demo".to_owned(),
        duration_s: Some(24.0),
        queue_limit: Some(25.0),
        controls: Some(Controls { rate: LinkRate::Halved, loss: LinkLoss::Off, spare_tcps: 3 }),
    });
    let look = |look: Look| {
        let queue = look.links.iter().find(|link| link.link.as_deref() == Some("near-far"));
        let queue = queue.and_then(|link| link.queue_packets);
        for interval in look.flows {
            records(interval, queue).iter().for_each(|record| model.take(record));
        }
    };
    let _ = Run::of(&scenario).watch(Watch::all(Duration::from_millis(100), look)).outcome();
    model
}

/// The records that `tfrc demo` would have of a flow's interval.
fn records(mut interval: Interval, queue: Option<f64>) -> Vec<Record> {
    if interval.flow.as_deref() != Some("tfrc") {
        return vec![Record::Interval(interval)];
    }
    interval.flow = None;
    interval.queue_packets = queue;
    interval.link_rate_bps = Some(if interval.t_s <= HALVES { 2e6 } else { 1e6 });
    let event = Event { t_s: interval.t_s, event: EventKind::LossEvent, flow: None, detail: None };
    let lost = interval.loss_events.is_some_and(|events| events > 0);
    let events = lost.then_some(Record::Event(event));
    std::iter::once(Record::Interval(interval)).chain(events).collect()
}
