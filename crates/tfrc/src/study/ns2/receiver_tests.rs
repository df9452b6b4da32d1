//! The receiver of ns-2.35: when it reports, and what it takes for lost.

use std::vec::Vec;

use crate::config::Settings;
use crate::receiver::tests::{assert_share_after_first_loss, every_10_ms, packet, reports};
use crate::receiver::{Arrival, FeedbackReason, Receiver};
use crate::study::{Algorithm, EmptyReport, FeedbackTrigger, FirstLosses, Revision};
use tfrc_testkit::at;

/// A report with the first packet more than a round-trip time after the last, or 1.5 of them after
/// it; a loss event that does not raise p is reported too.
#[test]
fn feedback_by_arrivals() {
    let settings = Settings::of_study(|c| c.feedback = FeedbackTrigger::Arrival);
    let Ok(config) = settings.validate() else { panic!("sound settings") };
    let times = |packets: &[(u64, Arrival)], until| -> Vec<u64> {
        reports(&mut Receiver::new(&config), packets, until).iter().map(|(ms, ..)| *ms).collect()
    };
    assert_eq!(times(&every_10_ms(0, 30), 260), [0, 110, 220]);
    let apart: Vec<_> = (0..6).map(|i| (70 * i, packet(i))).collect();
    assert_eq!(times(&apart, 400), [0, 140, 280]);
    assert_eq!(times(&[(0, packet(0)), (50, packet(1)), (500, packet(2))], 600), [0, 150, 500]);

    let lost = [50u64, 150, 250, 350, 450, 550, 650, 750, 850, 1155, 1460];
    let mut packets = every_10_ms(0, 1500);
    packets.retain(|(_, p)| !lost.contains(&p.seq));
    let got = reports(&mut Receiver::new(&config), &packets, 14_900);
    assert_eq!(got.iter().filter(|r| r.1 == FeedbackReason::NewLossEvent).count(), 11);
}

/// Losses before the first packet that arrives are not counted.
#[test]
fn a_flow_that_begins_in_a_hole() {
    let events = [FirstLosses::Counted, FirstLosses::Unknown].map(|first_losses| {
        let settings = Settings::of_study(|c| c.first_losses = first_losses);
        let mut receiver = Receiver::new(&settings.validate().expect("sound"));
        receiver.expect(at(0), 1);
        reports(&mut receiver, &every_10_ms(4, 12), 120);
        (receiver.loss_events(), receiver.loss_event_rate().is_zero())
    });
    assert_eq!(events, [(1, false), (0, true)]);
}

/// The timer of 1.5 round-trip times makes one more report without data after a report that a
/// packet has set off, with X_recv = 1 packet/s, and none after its own.
#[test]
fn one_report_more_without_data() {
    let packets = [(0, packet(0)), (50, packet(1)), (400, packet(2)), (850, packet(3))];
    let got = [EmptyReport::Never, EmptyReport::OnceAfterArrival].map(|empty_report| {
        let settings = Settings {
            algorithm: Algorithm::of(Revision::Ns2).with(|c| c.empty_report = empty_report),
            ..Settings::for_revision(Revision::Ns2)
        };
        let mut receiver = Receiver::new(&settings.validate().expect("sound"));
        let got = reports(&mut receiver, &packets, 1400);
        got.iter().map(|(ms, _, rate)| (*ms, *rate)).collect::<Vec<_>>()
    });
    // At 150 ms the timer finds the packet of 50 ms; what it reports then it does not repeat.
    let [never, once] = got;
    let (since_150, since_400) = (1000.0 / 0.25, 1000.0 / 0.45);
    assert_eq!(never, [(0, 0.0), (150, 1000.0 / 0.15), (400, since_150), (850, since_400)]);
    let since_550 = 1000.0 / 0.3;
    assert_eq!(
        once,
        [(0, 0.0), (150, 1000.0 / 0.15), (400, since_150), (550, 1000.0), (850, since_550), (1000, 1000.0)]
    );
}

/// The equation is inverted without the 32 bytes of headers that are charged.
#[test]
fn the_first_interval_leaves_headers_out() {
    assert_share_after_first_loss(Revision::Ns2.tfrc_sp(), 200.0 / 232.0);
}
