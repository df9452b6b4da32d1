//! Packets of one direction as they came to the tap: holes, losses and loss events.

use std::collections::VecDeque;

use tfrc::study::{FeedbackTrigger, FirstInterval, HistoryDiscounting, LossEventTiming};
use tfrc::{Config, PacketKind, Receiver, Settings};
use tfrc_units::{Duration, Ecn, Instant, saturating};

use crate::linux::Linux;

/// A packet that came.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Came {
    pub(crate) at: Instant,
    /// Its number, which does not wrap.
    pub(crate) number: u64,
    pub(crate) kind: PacketKind,
    /// Bytes of data.
    pub(crate) size: usize,
    pub(crate) ecn: Ecn,
    pub(crate) ccval: u8,
    /// NDP Count.
    pub(crate) ndp: u64,
    /// R as far as it is known.
    pub(crate) rtt: Option<Duration>,
}

/// Counts of what is missing, marked, late or there twice.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Losses {
    /// Runs of missing numbers.
    pub(crate) gaps: u64,
    /// Packets with data that did not come.
    pub(crate) data: u64,
    /// Packets without data that did not come, by NDP Count.
    pub(crate) non_data: u64,
    /// Data packets with a congestion mark.
    pub(crate) marked: u64,
    /// Packets that came after one with a higher number.
    pub(crate) late: u64,
    pub(crate) duplicates: u64,
}

/// A loss event.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Event {
    /// The packet that began it.
    pub(crate) number: u64,
    /// When it was found.
    pub(crate) at: Instant,
}

/// A run of missing numbers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hole {
    pub(crate) first: u64,
    /// The number after it.
    pub(crate) end: u64,
    /// Number of its last packets that had no data.
    pub(crate) non_data: u64,
}

/// Holes that a late packet may fill.
const HOLES: usize = 64;
/// Holes and events that are listed.
const LISTED: usize = 32;

/// The record of one direction.
#[derive(Debug, Clone)]
pub(crate) struct Arrivals {
    /// RFC 5348 without history discounting, with it, and with loss events by CCVal.
    plain: Receiver,
    discounted: Receiver,
    by_counter: Receiver,
    linux: Linux,
    highest: Option<u64>,
    holes: VecDeque<Hole>,
    losses: Losses,
    first_holes: Vec<Hole>,
    events: Vec<Event>,
    /// CCVal of the newest data packet: what packets without data are taken to have.
    ccval: u8,
}

/// 1/p by each rule; `None` without a loss event.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct InverseP {
    /// RFC 5348 §5.4, without history discounting, the first interval by X_recv at the first loss.
    pub(crate) plain: Option<f64>,
    /// With the discounting of §5.5, the first interval by the highest X_recv (§6.3.1).
    pub(crate) discounted: Option<f64>,
    /// Loss events by CCVal (RFC 4342 §10.2), discounted.
    pub(crate) by_counter: Option<f64>,
    /// RFC 5348 §5.4 with the first interval that the peer reported.
    pub(crate) with_their_first: Option<f64>,
    /// Linux 6.1.
    pub(crate) linux: Option<f64>,
}

/// The checked settings of RFC 5348 with changes; those made here are sound.
fn rfc5348(change: impl FnOnce(&mut tfrc::study::Choices)) -> Config {
    let mut settings = Settings::default();
    change(settings.algorithm.choices_mut());
    settings.validate().unwrap_or_default()
}

/// RFC 5348 without the optional history discounting (§5.5). The first interval is that of X_recv
/// when the first loss is found: the highest X_recv so far, which §6.3.1 asks for, depends on how
/// often a receiver measures, and a packet more in a short round-trip time makes it half as long
/// again.
pub(crate) fn without_discounting() -> Config {
    rfc5348(|choices| {
        choices.discounting = HistoryDiscounting::Off;
        choices.first_interval = FirstInterval::AtReceiveRate;
    })
}

fn by_counter() -> Config {
    rfc5348(|choices| {
        choices.loss_event_timing = LossEventTiming::WindowCounter;
        choices.feedback = FeedbackTrigger::WindowCounter;
    })
}

impl Arrivals {
    pub(crate) fn new() -> Self {
        Self {
            plain: Receiver::new(&without_discounting()),
            discounted: Receiver::new(&Config::default()),
            by_counter: Receiver::new(&by_counter()),
            linux: Linux::default(),
            highest: None,
            holes: VecDeque::new(),
            losses: Losses::default(),
            first_holes: Vec::new(),
            events: Vec::new(),
            ccval: 0,
        }
    }

    /// The first packet has this number, so that its loss is seen.
    pub(crate) fn expect(&mut self, at: Instant, number: u64) {
        if self.highest.is_none() {
            self.highest = Some(number.saturating_sub(1));
            for receiver in [&mut self.plain, &mut self.discounted, &mut self.by_counter] {
                receiver.expect(at, number);
            }
        }
    }

    /// Takes in a packet.
    pub(crate) fn on_packet(&mut self, came: &Came) {
        let is_data = came.kind == PacketKind::Data;
        if is_data {
            self.ccval = came.ccval;
            self.losses.marked += u64::from(came.ecn == Ecn::Ce);
        }
        match self.highest {
            Some(highest) if came.number <= highest => {
                if !self.fill(came.number) {
                    self.losses.duplicates += 1;
                    return;
                }
            }
            before => {
                let lost = before.and_then(|highest| self.add_hole(highest + 1, came));
                self.highest = Some(came.number);
                self.linux.on_packet(came.number, came.ccval, is_data, lost);
            }
        }
        let events_before = self.plain.loss_events();
        for (receiver, rtt) in
            [(&mut self.plain, came.rtt), (&mut self.discounted, came.rtt), (&mut self.by_counter, None)]
        {
            receiver.handle_timeout(came.at);
            receiver.on_packet(
                came.at,
                tfrc::Arrival {
                    seq: came.number,
                    size: saturating::<u32>(came.size),
                    ecn: came.ecn,
                    rtt,
                    window_counter: self.ccval,
                    kind: came.kind,
                    non_data_before: saturating::<u32>(came.ndp),
                },
            );
            let _ = receiver.poll_feedback(came.at);
        }
        if self.plain.loss_events() > events_before && self.events.len() < LISTED {
            let end = self.highest.unwrap_or_default() + 1 - self.plain.skip_length();
            let open = self.plain.loss_intervals().next();
            let length = open.map_or(0, |open| open.lossless_length + open.loss_length);
            self.events.push(Event { number: end.saturating_sub(length), at: came.at });
        }
    }

    /// Numbers are missing from `first` to the packet; returns the first data packet among them.
    fn add_hole(&mut self, first: u64, came: &Came) -> Option<u64> {
        let missing = came.number - first;
        if missing == 0 {
            return None;
        }
        let hole = Hole { first, end: came.number, non_data: came.ndp.min(missing) };
        self.losses.gaps += 1;
        self.losses.non_data += hole.non_data;
        self.losses.data += missing - hole.non_data;
        if self.holes.len() == HOLES {
            self.holes.pop_front();
        }
        self.holes.push_back(hole);
        if self.first_holes.len() < LISTED {
            self.first_holes.push(hole);
        }
        (hole.non_data < missing).then_some(first)
    }

    /// A missing packet came late. Returns false if it was not missing.
    fn fill(&mut self, number: u64) -> bool {
        let found = self.holes.iter().position(|hole| (hole.first..hole.end).contains(&number));
        let Some(hole) = found.and_then(|at| self.holes.remove(at)) else { return false };
        let data_end = hole.end - hole.non_data;
        self.losses.late += 1;
        match number < data_end {
            true => self.losses.data -= 1,
            false => self.losses.non_data -= 1,
        }
        self.linux.on_late(number);
        let below = Hole { end: number, non_data: number.saturating_sub(data_end), ..hole };
        let above = Hole { first: number + 1, non_data: hole.non_data.min(hole.end - number - 1), ..hole };
        let rest = [below, above].into_iter().filter(|part| part.first < part.end);
        let parts = rest.map(|part| self.holes.push_back(part)).count() as u64;
        self.losses.gaps = (self.losses.gaps + parts).saturating_sub(1);
        self.first_holes.retain(|listed| listed.first != hole.first || parts > 0);
        true
    }

    /// The peer reports 1/p, in a packet that acknowledges `ack`. Returns 1/p by each rule.
    pub(crate) fn on_report(&mut self, reported: Option<f64>, ack: u64) -> InverseP {
        if let Some(inverse_p) = reported {
            self.linux.on_report(inverse_p);
        }
        let by = |receiver: &Receiver| {
            let p = receiver.loss_event_rate().get();
            (p > 0.0).then(|| 1.0 / p)
        };
        InverseP {
            plain: by(&self.plain),
            discounted: by(&self.discounted),
            by_counter: by(&self.by_counter),
            with_their_first: self.with_their_first(),
            linux: self.linux.inverse_p(ack),
        }
    }

    fn with_their_first(&self) -> Option<f64> {
        let first = self.linux.first()?;
        let mut lengths: Vec<f64> = self.plain.loss_intervals().map(|i| i.data_length).collect();
        let events = saturating::<usize>(self.plain.loss_events());
        if events == 0 {
            return None;
        }
        // The intervals kept are the open one and those that events have closed: the synthetic one
        // is the last of them until it is forgotten.
        if lengths.len() == events + 1
            && let Some(last) = lengths.last_mut()
        {
            *last = first;
        }
        let p = tfrc::history::loss_event_rate(&lengths, &without_discounting()).get();
        (p > 0.0).then(|| 1.0 / p)
    }

    pub(crate) const fn losses(&self) -> Losses {
        self.losses
    }

    pub(crate) fn loss_events(&self) -> u64 {
        self.plain.loss_events()
    }

    pub(crate) fn events(&self) -> &[Event] {
        &self.events
    }

    pub(crate) fn holes(&self) -> &[Hole] {
        &self.first_holes
    }

    /// The round-trip time that CCVal shows; `None` while it shows none.
    pub(crate) fn counter_rtt(&self) -> Option<Duration> {
        let guess = by_counter().settings().receiver_rtt_before_sample;
        Some(self.by_counter.rtt()).filter(|rtt| *rtt != guess)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: u64 = 100;

    /// Packets 10 ms apart: number, then NDP Count and mark.
    fn after(packets: &[(u64, u64, Ecn)]) -> Arrivals {
        let mut arrivals = Arrivals::new();
        arrivals.expect(Instant::ZERO, FIRST);
        for (n, (number, ndp, ecn)) in (1..).zip(packets) {
            arrivals.on_packet(&Came {
                at: Instant::from_nanos(n * 10_000_000),
                number: *number,
                kind: PacketKind::Data,
                size: 500,
                ecn: *ecn,
                ccval: 0,
                ndp: *ndp,
                rtt: Some(Duration::from_millis(50)),
            });
        }
        arrivals
    }

    fn plain(numbers: &[u64]) -> Vec<(u64, u64, Ecn)> {
        numbers.iter().map(|number| (*number, 0, Ecn::NotEct)).collect()
    }

    #[test]
    fn a_gap_is_data_but_for_what_ndp_count_says() {
        let mut packets = plain(&[100, 101]);
        packets.push((106, 3, Ecn::NotEct));
        packets.extend(plain(&[107, 108, 109]));
        let arrivals = after(&packets);
        let losses = arrivals.losses();
        assert_eq!((losses.gaps, losses.data, losses.non_data), (1, 1, 3));
        assert_eq!(arrivals.loss_events(), 1);
        assert_eq!(arrivals.events().iter().map(|event| event.number).collect::<Vec<_>>(), [102]);
    }

    /// Late packets take a loss back, the event with it; a second copy is a duplicate.
    #[test]
    fn late_packets_fill_a_gap() {
        let all_but_two: Vec<_> = (100..130).filter(|n| !(110..112).contains(n)).collect();
        let lost = after(&plain(&all_but_two));
        assert_eq!((lost.losses().data, lost.loss_events()), (2, 1));
        let one = after(&plain(&[&all_but_two[..], &[111]].concat()));
        assert_eq!((one.losses().data, one.losses().late, one.losses().gaps), (1, 1, 1));
        let both = after(&plain(&[&all_but_two[..], &[111, 110, 110]].concat()));
        let losses = both.losses();
        assert_eq!((losses.data, losses.late, losses.gaps, losses.duplicates), (0, 2, 0, 1));
        assert_eq!((both.loss_events(), both.holes().len()), (0, 0));
    }

    /// RFC 5348 §5.1: a mark is a loss event like a loss, and no packet is missing.
    #[test]
    fn a_mark_is_an_event_without_a_loss() {
        let mut packets = plain(&[100, 101, 102]);
        packets.push((103, 0, Ecn::Ce));
        packets.extend(plain(&[104, 105, 106]));
        let arrivals = after(&packets);
        assert_eq!((arrivals.losses().marked, arrivals.losses().data), (1, 0));
        assert_eq!(arrivals.loss_events(), 1);
    }

    /// RFC 5348 §6.3.1: the loss of the very first packet is seen, as the handshake names it.
    #[test]
    fn the_first_packet_may_be_the_one_that_is_lost() {
        let arrivals = after(&plain(&[101, 102, 103, 104]));
        assert_eq!((arrivals.losses().data, arrivals.loss_events()), (1, 1));
    }
}
