//! A sender and a receiver in virtual time, over a path that loses packets independently and does
//! nothing else.

use tfrc::Settings;
use tfrc_testkit::{Fate, Flow, FlowEvent, Random, Wire};
use tfrc_units::{Duration, Instant, f64_from_u64};

/// One path and what is sent over it.
#[derive(Clone, Copy)]
pub(crate) struct Path {
    /// Probability of loss of a packet.
    pub(crate) loss: f64,
    pub(crate) rtt: Duration,
    /// Bytes in each packet.
    pub(crate) segment: u32,
}

/// Measurements of a run over one path.
pub(crate) struct Measured {
    /// Mean over the run.
    pub(crate) packets_per_rtt: f64,
    /// Half the width of its 95 % interval, as a share of it, from ten parts of the run.
    pub(crate) uncertainty: f64,
    /// Mean of what the receiver reported.
    pub(crate) loss_event_rate: f64,
}

const PARTS: u32 = 10;
/// Student's t for nine degrees of freedom, two-sided 95 %.
const T_95: f64 = 2.262;
/// No run is as long.
const END: Instant = Instant::from_nanos(u64::MAX);

/// A flow, and the loss event rates that its receiver has reported: their sum and their number.
struct Run {
    flow: Flow<'static>,
    reported: (f64, f64),
}

/// Sends `packets` packets after a tenth as many that are not counted.
pub(crate) fn run(settings: Settings, path: Path, packets: u64, seed: u64) -> Result<Measured, String> {
    let config = settings.validate().map_err(|error| error.to_string())?;
    let mut random = Random::new(seed);
    let rule = move |_| Fate::drop_if(random.happens(path.loss));
    let flow = Flow::new(&config, path.segment, Wire::new(path.rtt / 2), rule);
    let mut run = Run { flow, reported: (0.0, 0.0) };
    run.until(packets / 10)?;
    run.reported = (0.0, 0.0);
    let (begin, part) = (run.flow.now, packets / u64::from(PARTS));
    let mut rates = Vec::new();
    for _ in 0..PARTS {
        let (since, before) = (run.flow.now, run.flow.sent());
        run.until(before - 1 + part)?;
        rates.push(run.packets_per_rtt(path, part, since));
    }
    let mean = rates.iter().sum::<f64>() / f64::from(PARTS);
    let variance = rates.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / f64::from(PARTS - 1);
    Ok(Measured {
        packets_per_rtt: run.packets_per_rtt(path, part * u64::from(PARTS), begin),
        uncertainty: T_95 * libm::sqrt(variance / f64::from(PARTS)) / mean,
        loss_event_rate: run.reported.0 / run.reported.1.max(1.0),
    })
}

impl Run {
    /// Goes on until the packet after the first `packets` goes.
    fn until(&mut self, packets: u64) -> Result<(), String> {
        while self.flow.sent() <= packets {
            match self.flow.next(END) {
                Some(FlowEvent::Reported(report)) => {
                    self.reported.0 += report.loss_event_rate.get();
                    self.reported.1 += 1.0;
                }
                Some(_) => {}
                None => return Err("the sender stopped".to_owned()),
            }
        }
        Ok(())
    }

    /// The rate of `packets` packets sent since a time.
    fn packets_per_rtt(&self, path: Path, packets: u64, since: Instant) -> f64 {
        let seconds = self.flow.now.saturating_since(since).as_secs_f64();
        f64_from_u64(packets) * path.rtt.as_secs_f64() / seconds
    }
}
