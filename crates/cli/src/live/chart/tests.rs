//! The chart in terminals of several sizes, drawn into memory.

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use tfrc_report::record::{Event, EventKind, Record};
use tfrc_world::results::Interval;

use super::super::{Controls, ModelConfig};
use super::*;

/// Twelve seconds of a run of twenty: a sawtooth of TFRC, one TCP against it, a second one from 6 s
/// on, a loss event every two seconds.
fn contest(tcps: usize) -> Model {
    let mut model = Model::new(ModelConfig {
        view: View::Contest,
        title: "tfrc demo".to_owned(),
        duration_s: Some(20.0),
        queue_limit: Some(25.0),
        controls: Some(Controls { rate: LinkRate::Whole, loss: LinkLoss::Off, spare_tcps: 4 }),
    });
    for tenth in 1..=120_u32 {
        let part = f64::from(tenth % 20) / 20.0;
        let own = Interval {
            t_s: f64::from(tenth) / 10.0,
            interval_s: 0.1,
            sent_packets: Some(9),
            goodput_bps: Some(0.8e6 + 0.4e6 * part),
            link_rate_bps: Some(2e6),
            loss_event_rate: Some(0.0123),
            rtt_s: Some(0.04 + 0.1 * part),
            queue_packets: Some(25.0 * part),
            ..Interval::default()
        };
        model.take(&Record::Interval(own.clone()));
        for tcp in 1..=tcps {
            let begun = tcp == 1 || tenth > 60;
            model.take(&Record::Interval(Interval {
                flow: Some(format!("tcp-{tcp}")),
                sent_packets: Some(u64::from(begun)),
                goodput_bps: Some(if begun { 1.2e6 - 0.4e6 * part } else { 0.0 }),
                ..own.clone()
            }));
        }
        if tenth % 20 == 0 {
            let event = Event { t_s: own.t_s, event: EventKind::LossEvent, flow: None, detail: None };
            model.take(&Record::Event(event));
        }
    }
    model
}

/// Twelve seconds of a sender that is allowed three times as much as it has to send, then two
/// thirds of that; a loss event and late data at 6 s.
fn sender() -> Model {
    let mut model = Model::new(ModelConfig {
        view: View::Sender,
        title: "tfrc send there.example:6511".to_owned(),
        duration_s: None,
        queue_limit: None,
        controls: None,
    });
    for tenth in 1..=120_u32 {
        let after = tenth > 60;
        model.take(&Record::Interval(Interval {
            t_s: f64::from(tenth) / 10.0,
            interval_s: 0.1,
            sent_packets: Some(9),
            late_dropped_packets: Some(u64::from(tenth == 61) * 11),
            send_rate_bps: Some(if after { 0.7e6 } else { 1e6 }),
            receive_rate_bps: Some(if after { 0.69e6 } else { 0.98e6 }),
            allowed_rate_bps: Some(if after { 0.8e6 } else { 3e6 }),
            loss_event_rate: Some(0.0123),
            rtt_s: Some(0.04),
            ..Interval::default()
        }));
        model.set_waiting(if tenth == 61 { 17 } else { 2 });
    }
    model.take(&Record::Event(Event { t_s: 6.1, event: EventKind::LossEvent, flow: None, detail: None }));
    model
}

/// Six seconds of a receiver of these connections, each of 1 Mbit/s.
fn receiver(connections: usize) -> Model {
    let mut model = Model::new(ModelConfig {
        view: View::Receiver,
        title: "tfrc recv [::]:6511".to_owned(),
        duration_s: None,
        queue_limit: None,
        controls: None,
    });
    for tenth in 1..=60_u32 {
        let t_s = f64::from(tenth) / 10.0;
        for number in 1..=connections {
            model.take(&Record::Interval(Interval {
                t_s,
                interval_s: 0.1,
                flow: Some(format!("{number} 192.0.2.{number}:7000")),
                received_packets: Some(9),
                goodput_bps: Some(1e6),
                loss_event_rate: Some(0.01),
                rtt_s: Some(0.05),
                ..Interval::default()
            }));
        }
        model.advance(t_s);
    }
    model
}

fn rows(model: &Model, width: u16, height: u16) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("memory");
    terminal.draw(|frame| draw(model, frame.area(), frame.buffer_mut())).expect("memory");
    let buffer = terminal.backend().buffer();
    let cells = |y| (0..width).map(move |x| buffer[(x, y)].symbol());
    (0..height).map(|y| cells(y).collect::<String>().trim_end().to_owned()).collect()
}

fn has_dots(row: &str) -> bool {
    row.chars().any(|c| ('\u{2801}'..='\u{28ff}').contains(&c))
}

#[test]
fn at_80_by_24_all_parts_have_their_rows() {
    let rows = rows(&contest(2), 80, 24);
    assert_eq!(rows[0], " tfrc demo   12.0 of 20 s   link 2.00 Mbit/s   no random loss   p 0.0123");
    assert_eq!(rows[1], " ━━ TFRC 1.08   ━━ tcp-1 0.92   ━━ tcp-2 0.92   ┈┈ fair share 0.67   Mbit/s");
    assert_eq!(&rows[2][..6], "  2.0 ");
    assert_eq!(&rows[3][..6], "Mbit/s");
    assert!(rows[2..12].iter().filter(|row| has_dots(row)).count() >= 3, "{rows:#?}");
    assert_eq!(rows[13].matches('│').count(), 6, "{rows:#?}");
    assert!(rows[13].starts_with(" loss "));
    assert_eq!(rows[14], " queue 0 of 25 packets");
    assert!(rows[15].starts_with("   25 ") && rows[15..18].iter().any(|row| has_dots(row)), "{rows:#?}");
    assert_eq!(rows[18], " round-trip time 40.0 ms");
    assert!(rows[19].starts_with("  150 ") && rows[19..22].iter().any(|row| has_dots(row)), "{rows:#?}");
    assert_eq!(rows[22].split_whitespace().collect::<Vec<_>>().join(" "), "0 s 4 s 8 s 12 s 16 s");
    assert_eq!(rows[23], "  h  halve the rate   l  lose 2 %   t  one TCP more   q  end");
}

/// Curves of a longer time than has passed would end at the right edge.
#[test]
fn the_curves_end_where_the_run_is() {
    for (width, height) in [(80, 24), (120, 40)] {
        let rows = rows(&contest(1), width, height);
        let last =
            |row: &String| row.chars().enumerate().filter(|(_, c)| !c.is_whitespace()).last().map(|(x, _)| x);
        let plot = rows[2..usize::from(height) / 2].iter().filter(|row| has_dots(row));
        let end = plot.filter_map(last).max().expect("curves");
        let wanted = 6 + usize::from(width - 7) * 12 / 20;
        assert!((wanted - 2..=wanted + 1).contains(&end), "{end} is not {wanted}");
    }
}

#[test]
fn at_120_by_40_the_plots_are_higher() {
    let rows = rows(&contest(2), 120, 40);
    let headings: Vec<usize> =
        (0..40).filter(|y| [" queue", " round"].iter().any(|word| rows[*y].starts_with(word))).collect();
    assert_eq!(headings, [22, 30]);
    assert_eq!(rows[39], "  h  halve the rate   l  lose 2 %   t  one TCP more   q  end");
    assert!(rows[2..21].iter().filter(|row| has_dots(row)).count() >= 6, "{rows:#?}");
}

#[test]
fn many_flows_leave_the_legend_in_its_row() {
    for tcps in [5, 64] {
        let rows = rows(&contest(tcps), 80, 24);
        let (_, more) = rows[1].split_once('+').expect("flows left out");
        assert!(more.contains(" more") && rows[1].ends_with("Mbit/s"), "{}", rows[1]);
        assert!(!rows[1].contains("fair share"), "{}", rows[1]);
    }
    // The names of the flows before the fair share; the allowed rate of a sender stays.
    let narrow = |model: &Model| rows(model, 50, 24)[1].clone();
    assert_eq!(narrow(&contest(1)), " ━━ TFRC 1.08   ━━ tcp-1 0.92   Mbit/s");
    assert!(narrow(&sender()).contains("┈┈ allowed 0.80"), "{}", narrow(&sender()));
}

#[test]
fn smaller_terminals_have_less() {
    let model = contest(1);
    let parts = |width, height| {
        let text = rows(&model, width, height).join("\n");
        ["round-trip", "queue", "loss ", "fair share"].map(|word| text.contains(word))
    };
    assert_eq!(parts(80, 24), [true; 4]);
    assert_eq!(parts(80, 19), [false, true, true, true]);
    assert_eq!(parts(80, 13), [false, false, true, true]);
    assert_eq!(
        rows(&model, 40, 6)[1..4],
        [" TFRC 1.08 Mbit/s", " fair share 1.00 Mbit/s", " tcp-1 0.92 Mbit/s"]
    );
    for width in 0..60 {
        for height in 0..30 {
            rows(&model, width, height);
        }
    }
}

#[test]
fn a_run_that_has_just_begun_has_empty_plots() {
    let model = Model::new(ModelConfig {
        view: View::Contest,
        title: "tfrc demo".to_owned(),
        duration_s: None,
        queue_limit: None,
        controls: None,
    });
    let rows = rows(&model, 80, 24);
    assert!(!rows.iter().any(|row| has_dots(row)), "{rows:#?}");
    assert_eq!(rows[23], "  q  end");
}

#[test]
fn a_sender_has_its_rates_its_queue_and_the_data_dropped_late() {
    for (width, height) in [(80, 24), (120, 40)] {
        let rows = rows(&sender(), width, height);
        assert_eq!(rows[0], " tfrc send there.example:6511   12.0 s   p 0.0123   dropped late 1.01 %");
        assert_eq!(rows[1], " ━━ sent 0.70   ━━ received 0.69   ┈┈ allowed 0.80   Mbit/s");
        // The allowed rate does not make a flat line of the others: 1.5 times the highest is drawn.
        assert!(rows[2].starts_with("  1.5"), "{}", rows[2]);
        let text = rows.join("\n");
        assert!(
            text.contains(" queue of the sender 2 datagrams") && text.contains(" round-trip time 40.0 ms")
        );
        let losses = rows.iter().find(|row| row.starts_with(" loss ")).expect("a row of losses");
        assert_eq!(losses.matches('│').count(), 1);
        assert_eq!(rows.last().map(String::as_str), Some("  q  end"));
    }
}

#[test]
fn a_receiver_has_a_curve_for_each_connection_and_one_for_all() {
    let one = rows(&receiver(1), 80, 24);
    assert_eq!(one[0], " tfrc recv [::]:6511   6.0 s   1 connection   p 0.0100");
    assert_eq!(one[1], " ━━ 1 192.0.2.1:7000 1.00   Mbit/s");
    assert!(!one.join("\n").contains("queue"), "{one:#?}");
    let three = rows(&receiver(3), 120, 40);
    assert_eq!(three[0], " tfrc recv [::]:6511   6.0 s   3 connections");
    assert_eq!(
        three[1],
        " ━━ all 3.00   ━━ 1 192.0.2.1:7000 1.00   ━━ 2 192.0.2.2:7000 1.00   ━━ 3 192.0.2.3:7000 1.00   Mbit/s"
    );
    let many = rows(&receiver(40), 80, 24);
    assert!(many[1].contains("━━ all 40.0") && many[1].contains(" more   Mbit/s"), "{}", many[1]);
}

#[test]
fn a_connection_that_has_ended_leaves_the_legend_at_once_and_the_chart_after_a_minute() {
    let mut model = receiver(2);
    let flow = Some("1 192.0.2.1:7000".to_owned());
    model.take(&Record::Event(Event { t_s: 6.0, event: EventKind::Closed, flow, detail: None }));
    model.advance(6.1);
    assert_eq!(rows(&model, 80, 24)[1], " ━━ all 1.00   ━━ 2 192.0.2.2:7000 1.00   Mbit/s");
    assert_eq!(model.flows.len(), 3);
    model.advance(70.0);
    assert_eq!(model.flows.len(), 2);
}

#[test]
fn the_latest_note_stands_beside_the_keys() {
    let mut model = sender();
    model.set_note("feedback again after 9 s");
    model.set_note("no feedback from the receiver for 3 s");
    let last = |width| rows(&model, width, 24).pop();
    assert_eq!(last(80).as_deref(), Some("  q  end   no feedback from the receiver for 3 s"));
    assert_eq!(last(50).as_deref(), Some("  q  end   no feedback from the receiver for 3 s"));
    let with = |note: &str| {
        let mut model = sender();
        model.set_note(note);
        rows(&model, 50, 24).pop()
    };
    let half = with("no feedback from the receiver at 192.0.2.1:6511 for 3 s");
    assert_eq!(half.as_deref(), Some("  q  end   no feedback from the receiver at …"));
    // A note without room for half of it is left out, with its mark.
    let none = with("no feedback from the receiver at a-host.whose-name-is-long.example.net:6511 for 3 s");
    assert_eq!(none.as_deref(), Some("  q  end"));
}
