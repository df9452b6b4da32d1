//! One interval out of several that follow one another.

use tfrc_world::results::Interval;

/// Intervals put together: sums of counts, and means over time of rates.
#[derive(Debug, Default)]
pub(super) struct Means {
    total: Interval,
    rates: [Mean; 10],
}

/// A mean over the time in which its value was known.
#[derive(Debug, Default, Clone, Copy)]
struct Mean {
    sum: f64,
    time: f64,
}

impl Means {
    /// Takes in the next interval.
    pub(super) fn add(&mut self, interval: &Interval) {
        let total = &mut self.total;
        total.t_s = interval.t_s;
        total.interval_s += interval.interval_s;
        for (sum, more) in counts(total).into_iter().zip(counts(&mut interval.clone())) {
            *sum = (*sum).map_or(*more, |sum| Some(sum + more.unwrap_or(0)));
        }
        total.queue_packets =
            [total.queue_packets, interval.queue_packets].into_iter().flatten().reduce(f64::max);
        for (mean, value) in self.rates.iter_mut().zip(rates(&mut interval.clone())) {
            if let Some(value) = value {
                mean.sum += *value * interval.interval_s;
                mean.time += interval.interval_s;
            }
        }
    }

    /// The intervals since the last call as one.
    pub(super) fn take(&mut self) -> Interval {
        let Self { mut total, rates: means } = std::mem::take(self);
        for (value, mean) in rates(&mut total).into_iter().zip(means) {
            *value = (mean.time > 0.0).then(|| mean.sum / mean.time);
        }
        total
    }
}

fn counts(interval: &mut Interval) -> [&mut Option<u64>; 6] {
    [
        &mut interval.sent_packets,
        &mut interval.received_packets,
        &mut interval.lost_packets,
        &mut interval.late_dropped_packets,
        &mut interval.dropped_by_reader_packets,
        &mut interval.repaired_bytes,
    ]
}

fn rates(interval: &mut Interval) -> [&mut Option<f64>; 10] {
    [
        &mut interval.encoder_fps,
        &mut interval.encoder_rate_bps,
        &mut interval.encoder_speed,
        &mut interval.send_rate_bps,
        &mut interval.receive_rate_bps,
        &mut interval.goodput_bps,
        &mut interval.allowed_rate_bps,
        &mut interval.target_rate_bps,
        &mut interval.loss_event_rate,
        &mut interval.rtt_s,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_weighed_by_time_and_counts_are_added() {
        let mut means = Means::default();
        for (t_s, interval_s, rate, rtt_s) in [(0.3, 0.3, 1e6, None), (0.4, 0.1, 9e6, Some(0.05))] {
            means.add(&Interval {
                t_s,
                interval_s,
                sent_packets: Some(10),
                send_rate_bps: Some(rate),
                queue_packets: Some(rate / 1e6),
                rtt_s,
                ..Interval::default()
            });
        }
        let mean = means.take();
        assert_eq!((mean.t_s, mean.sent_packets, mean.lost_packets), (0.4, Some(20), None));
        assert!((mean.interval_s - 0.4).abs() < 1e-12);
        assert!(mean.send_rate_bps.is_some_and(|rate| (rate / 3e6 - 1.0).abs() < 1e-12));
        assert_eq!((mean.rtt_s.map(|r| (r * 1e3).round()), mean.queue_packets), (Some(50.0), Some(9.0)));
        assert_eq!(means.take(), Interval::default(), "nothing is left");
    }
}
