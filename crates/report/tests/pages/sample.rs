//! A made-up run with the shape of a real one: slow start, a sawtooth TCP and a smooth TFRC flow, a
//! hole in the measurement, a change of the link. Arithmetic only, so that it is the same
//! everywhere.

use tfrc_report::pages::RunRecords;
use tfrc_report::record::{Event, EventKind, Record, Role, Start, Summary};
use tfrc_world::results::Completion;
use tfrc_world::results::{FlowDelays, FlowSummary, Interval};

/// A demo of `seconds`, ten intervals a second.
pub(crate) fn demo(seconds: u32) -> RunRecords {
    let mut start = Start::new(
        Role::Demo,
        "tfrc 0.1.0",
        format!("tfrc demo --duration {seconds}s --tcp 1 --report run.html"),
    );
    start.segment_bytes = Some(1316);
    start.bottleneck_bps = Some(2e6);
    for (name, value) in
        [("Round-trip time without queue", "40 ms"), ("Queue", "25 packets, drop-tail"), ("Seed", "1")]
    {
        start.parameters.insert(name.to_owned(), value.to_owned());
    }
    let mut run = RunRecords::new(start);
    let mut noise = SampleNoise(1);
    let (mut x, mut p, mut tcp, mut rtt) = (60e3_f64, 0.0_f64, 0.4e6_f64, 0.04_f64);
    let ticks = seconds * 10;
    for tick in 1..=ticks {
        let t = f64::from(tick) / 10.0;
        let link = if t > 12.0 && t <= 15.0 { 1.2e6 } else { 2e6 };
        let queue = ((x + tcp - link) / link * 40.0 + 10.0 + 3.0 * noise.next()).clamp(0.0, 25.0).round();
        rtt += 0.1 * (0.04 + queue * 1356.0 * 8.0 / link - rtt);
        if p == 0.0 {
            x *= 1.4;
            if x > 0.9e6 {
                p = 0.011;
                run.push(event(t, EventKind::SlowStartEnd));
                run.push(event(t, EventKind::LossEvent));
            }
        } else {
            if queue >= 24.0 && tick % 3 == 0 {
                run.push(event(t, EventKind::LossEvent));
                p += 0.0016;
            }
            p *= 0.993;
            x += 0.12 * (link / 2.0 * (0.011 / p).min(1.3) - x) + 12e3 * noise.next();
        }
        if queue >= 24.0 {
            tcp *= 0.55;
        }
        tcp = (tcp + 0.03e6 + 20e3 * noise.next()).max(50e3);
        if (t - 12.1).abs() < 0.05 || (t - 15.1).abs() < 0.05 {
            run.push(event(t, EventKind::LinkChange));
        }
        let hole = t > 17.0 && t <= 17.6;
        run.push(Record::Interval(Interval {
            t_s: t,
            interval_s: 0.1,
            send_rate_bps: Some(x * (0.98 + 0.02 * noise.next())),
            receive_rate_bps: (!hole).then_some(x * (0.95 + 0.03 * noise.next())),
            goodput_bps: Some(x * (0.96 + 0.05 * noise.next())),
            allowed_rate_bps: Some(x),
            link_rate_bps: Some(link),
            loss_event_rate: (tick > 3).then_some(p),
            rtt_s: (tick > 3 && !hole).then_some(rtt),
            queue_packets: Some(queue),
            ..Interval::default()
        }));
        run.push(Record::Interval(Interval {
            t_s: t,
            interval_s: 0.1,
            flow: Some("tcp-1".to_owned()),
            goodput_bps: Some(tcp),
            ..Interval::default()
        }));
    }
    run.push(Record::End(Box::new(Summary {
        variant: None,
        sent_packets: Some(1851),
        received_packets: Some(1834),
        lost_packets: Some(17),
        late_packets: Some(0),
        sent_bytes: Some(2_435_916),
        received_bytes: Some(2_413_544),
        duration_s: f64::from(seconds),
        send_rate_bps: Some(974_366.4),
        goodput_bps: Some(965_417.6),
        allowed_rate_bps: Some(981_020.5),
        loss_event_rate: Some(0.007_02),
        packet_loss_rate: Some(0.009_18),
        rtt_s: Some(0.1031),
        late_dropped_packets: Some(0),
        bottleneck_bps: Some(2e6),
        wire_goodput_bps: Some(1_981_000.0),
        flows: vec![
            FlowSummary {
                id: "tfrc".to_owned(),
                kind: "tfrc".to_owned(),
                send_rate_bps: Some(974_366.4),
                goodput_bps: Some(965_417.6),
                packet_loss_rate: Some(0.009_18),
                loss_event_rate: Some(0.007_02),
                rtt_s: Some(0.1031),
                cov: Some(0.142),
                delays: FlowDelays {
                    delay_p50_s: Some(0.0512),
                    delay_p95_s: Some(0.0713),
                    delay_p99_s: Some(0.0733),
                    queueing_delay_p50_s: Some(0.0012),
                    queueing_delay_p95_s: Some(0.0213),
                    queueing_delay_p99_s: Some(0.0233),
                    jitter_s: Some(0.000_71),
                },
                convergence_s: Some(2.5),
                ..FlowSummary::default()
            },
            FlowSummary {
                id: "tcp-1".to_owned(),
                kind: "tcp-sack".to_owned(),
                goodput_bps: Some(902_117.3),
                packet_loss_rate: Some(0.011),
                cov: Some(0.391),
                completion: Completion {
                    completed: Some(1),
                    completion_p50_s: Some(7.31),
                    completion_p95_s: Some(7.31),
                    completion_p99_s: Some(7.31),
                },
                ..FlowSummary::default()
            },
        ],
        jain_index: Some(0.991),
        share: Some(1.034),
        cov_ratio: Some(0.363),
        equivalence_ratio: Some(0.71),
        ..Summary::default()
    })));
    run
}

fn event(t_s: f64, event: EventKind) -> Record {
    Record::Event(Event { t_s, event, flow: None, detail: None })
}

/// Numbers from -1 to 1 that look random (a linear congruential generator).
struct SampleNoise(u32);

impl SampleNoise {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f64::from(self.0 >> 8) / 8_388_608.0 - 1.0
    }
}
