//! The sender-side variant (RFC 5348 §7): all of the algorithm at the sender, fed with what became
//! of each packet.

#[cfg(test)]
mod longer_path_tests;
#[cfg(test)]
mod order_tests;
mod replay;
mod rework;
mod sent;
#[cfg(test)]
mod tests;
mod timeline;
#[cfg(test)]
mod transport_tests;

pub use sent::Taken;
pub use timeline::Hold;

use tfrc_units::{Duration, Ecn, Instant, Probability, Rate};

use crate::config::{ClockGrain, Config, ConfigError, RateCap, Settings};
use crate::decision::{Limit, RateChange, SendDecision, Wake};
use crate::ecn::{EcnFault, EcnWatch};
use crate::guard::{ResumeError, Stopped};
use crate::receiver::Receiver;
use crate::sender::{Coverage, Feedback, Sample, Sender};
use crate::sent_record::LossEventsTold;
use crate::study::{EmptyReport, FeedbackTrigger, LossEventTiming};
use rework::Checkpoint;
use sent::{PacketFate, SentPacket, SentPackets};
use timeline::{Timeline, TimelinePacket};

/// A packet that the receiver has acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ack {
    /// The number given to [`Advisor::on_sent`].
    pub id: u64,
    /// When it arrived, by the receiver's clock, of any epoch; `None` if the report does not say.
    pub arrived_at: Option<Instant>,
    /// The mark it came with; [`Ecn::Ce`] counts as a loss (§5.1), unless the path marks everything
    /// ([`Advisor::ecn_fault`]).
    pub ecn: Ecn,
}

/// The party that detects losses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Losses {
    /// The Advisor: a packet is lost when `lost_after` later ones have arrived (RFC 5348 §5.1), or
    /// when the transport declares it lost, if that is earlier. Reports must cover each packet
    /// passed to [`Advisor::on_sent`].
    #[default]
    ByOrder,
    /// The transport, which declares each lost packet. A packet that it does not mention counts
    /// neither as arrived nor as lost: for transports with packets that are never acknowledged,
    /// such as those of QUIC that only acknowledge, probe the path MTU, or belong to a packet
    /// number space that was discarded.
    ByTransport,
}

/// Rate control for transports whose receivers report each packet: RTP with transport-wide or
/// RFC 8888 feedback, QUIC, SRT.
///
/// Send as [`Advisor::next_send`] says and call [`Advisor::on_sent`]; a media encoder aims at
/// [`Advisor::target_rate`]. Pass every packet of a report to [`Advisor::on_acked`] or
/// [`Advisor::on_lost`], in any order, and then call [`Advisor::on_report`] once. Call
/// [`Advisor::handle_timeout`] at [`Advisor::poll_timeout`].
///
/// A transport that paces by itself and reports a departure only along with the packet's fate calls
/// [`Advisor::on_sent`] then, with the time at which the packet left. [`Advisor::next_send`] does
/// not know of packets still on their way then. A transport without timers calls
/// [`Advisor::handle_timeout`] when it sends and when it receives: after an idle time one burst may
/// leave at the previous rate.
///
/// Inside, a [`Receiver`] takes in the packets as they arrived and a [`Sender`] its reports, so the
/// rate is that of the two with the receiver at the other end, except for reordering within one
/// report, which is invisible. A lost packet (see [`Losses`]) that arrives after all repairs the
/// record. Missing information is assumed at its safe value.
///
/// It remembers the last `N` packets and allocates nothing; with the default of 1024 it is 72 KiB
/// large, so keep it in a `Box` where objects are small. `N` must cover the packets sent in a
/// round-trip time and a report interval; a packet forgotten before it is reported counts as lost
/// ([`Advisor::forgotten`]). Work per call is constant, except for `on_report`, which goes once
/// over the packets between the lowest and the highest reported.
///
/// `now` must not go back; if it does, the latest time seen counts. Only [`Advisor::on_sent`] takes
/// times of the past. Both are of one clock, which may have any grain ([`ClockGrain`]): R is at
/// least one grain.
#[derive(Debug, Clone)]
pub struct Advisor<const N: usize = 1024> {
    sent: SentPackets<N>,
    timeline: Timeline,
    receiver: Receiver,
    sender: Sender,
    report_interval: Duration,
    losses: Losses,
    /// [`Losses::ByTransport`]: the number of the next packet at the receiving half.
    next_seq: u64,
    first_sent: Option<Instant>,
    /// The highest packet known to have arrived: its ordinal, and when it was sent.
    newest: Option<(u64, Instant)>,
    /// When the newest packet of the last feedback was sent.
    fed_up_to: Option<Instant>,
    /// Packets up to this number of the receiving half's that have not come are lost.
    lost_up_to: u64,
    loss_events_told: LossEventsTold,
    /// There while packets are remembered that no report has covered.
    checkpoint: Option<Checkpoint>,
    forgotten: u64,
    marks: Marks,
    latest: Instant,
}

/// The marks of the packets reported.
#[derive(Debug, Clone, Copy)]
enum Marks {
    /// They count, as long as not all packets have one.
    Watched(EcnWatch),
    /// All packets have one: what was counted is to be forgotten.
    Useless,
    /// They say nothing.
    Ignored,
}

impl Advisor {
    /// An advisor that remembers 1024 packets. `report_interval` is the longest usual time between
    /// two reports while packets arrive; zero if every packet or two are reported at once. Where it
    /// is longer than the round-trip time it takes the place of that in the nofeedback timer
    /// (RFC 5348 §4.3 step 3) and in the measurement of the receive rate (§6.2).
    #[must_use]
    pub fn new(config: &Config, report_interval: Duration) -> Self {
        Self::with_capacity(config, report_interval)
    }
}

impl<const N: usize> Advisor<N> {
    /// An advisor as from [`Advisor::new`], but one that remembers `N` packets; at least 1.
    #[must_use]
    pub fn with_capacity(config: &Config, report_interval: Duration) -> Self {
        let config = adapt(config, report_interval);
        Self {
            sent: SentPackets::new(),
            timeline: Timeline::new(report_interval),
            receiver: Receiver::reporting_every(&config, report_interval),
            sender: Sender::new(&config),
            report_interval,
            losses: Losses::ByOrder,
            next_seq: 1,
            first_sent: None,
            newest: None,
            fed_up_to: None,
            lost_up_to: 0,
            loss_events_told: LossEventsTold::default(),
            checkpoint: None,
            forgotten: 0,
            marks: Marks::Watched(EcnWatch::default()),
            latest: Instant::ZERO,
        }
    }

    /// Sets who detects losses, before the first packet; later it has no effect.
    pub const fn set_losses(&mut self, losses: Losses) {
        if self.sent.is_untouched() {
            self.losses = losses;
        }
    }

    /// States the grain of the host's clock, or leaves it to be measured from now on; see
    /// [`Settings::clock_grain`](crate::Settings::clock_grain).
    pub fn set_clock_grain(&mut self, grain: ClockGrain) {
        self.sender.set_clock_grain(grain);
        self.receiver.set_clock_grain(grain);
    }

    /// A round-trip time known from elsewhere, such as a handshake; see [`Sender::on_rtt_sample`].
    pub fn on_rtt_sample(&mut self, now: Instant, rtt: Duration) {
        self.sender.on_rtt_sample(now, rtt);
    }

    /// The time of the next packet. `Stopped` once the circuit breaker or the stop rule has struck,
    /// until [`Advisor::resume`]: without a guarantee only where the settings ask for one of them.
    #[must_use]
    pub fn next_send(&self, now: Instant) -> SendDecision {
        self.sender.next_send(now)
    }

    /// A packet with `size` bytes of data went at `sent_at`: now, or earlier if the transport
    /// reports it late. Pass packets in the order of sending, and each before its fate. `id` is the
    /// transport's number for it, above all before; numbers may be left out. A packet with another
    /// number is counted against the rate, but no report about it can be taken in.
    pub fn on_sent(&mut self, sent_at: Instant, id: u64, size: u32) {
        self.advance(sent_at);
        self.sender.on_departed(sent_at, size);
        self.first_sent.get_or_insert(sent_at);
        let coverage = self.sender.coverage(sent_at);
        let out = self.sent.push(SentPacket { id, sent_at, size, coverage, fate: PacketFate::InFlight });
        let reported_up_to = self.newest.map_or(0, |(ordinal, _)| ordinal);
        if let Some((ordinal, packet)) = out {
            self.forgotten += u64::from(ordinal > reported_up_to);
            self.pass_checkpoint(ordinal, packet);
        }
    }

    /// A report says that a packet has arrived. Takes effect at [`Advisor::on_report`].
    pub fn on_acked(&mut self, ack: Ack) -> Taken {
        let taken = self.sent.report(ack.id, ack.arrived_at, self.heeded(ack.ecn));
        if taken == Taken::New {
            self.watch_marks(ack.ecn, 1);
        }
        taken
    }

    /// A report says that all packets from `first` to `last` have arrived, at unknown times.
    /// Returns how many of them are news. Linear in the packets remembered, not in the range.
    pub fn on_acked_range(&mut self, first: u64, last: u64, ecn: Ecn) -> u64 {
        let news = self.sent.report_range(first, last, self.heeded(ecn));
        self.watch_marks(ecn, news);
        news
    }

    /// The transport has declared this packet lost. Takes effect at [`Advisor::on_report`], once a
    /// later packet has arrived. With [`Losses::ByOrder`] all older unreported ones are lost with
    /// it, and only certain losses need be passed; with [`Losses::ByTransport`] it is this packet
    /// alone.
    pub fn on_lost(&mut self, id: u64) -> Taken {
        if self.losses == Losses::ByTransport {
            let taken = self.sent.lose(id);
            // One that is forgotten is lost all the same.
            if taken == Taken::Unknown && self.oldest_remembered().is_some_and(|oldest| id < oldest) {
                self.lost_up_to = self.next_seq;
                self.next_seq += 1;
            }
            return taken;
        }
        let Some(ordinal) = self.sent.ordinal(id) else { return Taken::Unknown };
        if self.sent.get(ordinal).is_none_or(|packet| packet.fate != PacketFate::InFlight)
            || ordinal <= self.lost_up_to
        {
            return Taken::Duplicate;
        }
        self.lost_up_to = ordinal;
        Taken::New
    }

    /// No report has covered the packets from `first` to `last`, though a later one has come: it is
    /// lost or still on its way. As far as nothing is known of them they count neither as arrived
    /// nor as lost. To be called before [`Advisor::on_report`] takes in the later report; for
    /// reports that repeat what older ones said there is no need. Linear in the packets remembered,
    /// not in the range.
    pub fn on_unreported(&mut self, first: u64, last: u64) {
        self.sent.pass_over(first, last);
    }

    /// A report covers the packets from `first` to `last`: those of them that it does not
    /// acknowledge are missing. To be called before [`Advisor::on_report`] takes it in. Needed only
    /// where [`Advisor::on_unreported`] was called for some of them, because a later report
    /// overtook this one: then p becomes the one of reports in order. Linear in the packets
    /// remembered, not in the range.
    pub fn on_covered(&mut self, first: u64, last: u64) {
        self.sent.cover(first, last);
    }

    /// The transport has found that the packets which it declared lost and which left at `since` or
    /// later have all arrived: their losses are taken back, as late packets take theirs back
    /// (RFC 5348 §5.1). Takes effect at [`Advisor::on_report`]. Returns how many there are. For
    /// transports that do not name the packets; where they do, pass [`Advisor::on_acked`].
    pub fn on_losses_undone(&mut self, since: Instant) -> u64 {
        self.sent.take_back(since)
    }

    /// The report has been passed completely. `hold` is the time from the arrival of its newest
    /// packet to the sending of the report.
    pub fn on_report(&mut self, now: Instant, hold: Hold) {
        let now = self.advance(now);
        let lost = self.sent.take_lost();
        let revealed = self.sent.take_revealed();
        let Some((lowest, highest)) = self.sent.take_reported() else {
            self.replay_told(lost, None);
            if revealed {
                self.rework(None, now, self.sender.rtt());
            }
            self.receiver.on_lost(now, self.lost_up_to);
            return;
        };
        let Some(newest) = self.sent.get(highest) else { return };
        let is_newer = self.newest.is_none_or(|(ordinal, _)| ordinal < highest);
        if is_newer {
            let first = self.sent.get(lowest).and_then(|packet| moment(&packet).arrived_at);
            self.timeline.follow(now, first, moment(&newest).arrived_at);
        }
        let reading = self.timeline.open(now, moment(&newest), hold);
        // Only a packet above all before gives a round-trip time: an older one may have been
        // reported late.
        let whole = now.saturating_since(newest.sent_at);
        self.sender.clock_mut().step(whole);
        let sample = hold.round_trip(whole, reading.hold);
        let sample = is_newer.then_some(sample);
        let rtt = self.sender.rtt().or(sample);
        self.forget_marks(now);
        if let Some(first_sent) = self.first_sent {
            self.receiver.expect(first_sent + rtt.unwrap_or(Duration::ZERO), 1);
        }
        match self.losses {
            Losses::ByOrder => {
                if revealed {
                    self.rework(Some((lowest, highest)), self.timeline.latest(), rtt);
                }
                self.replay_in_order(lowest, highest, rtt);
            }
            Losses::ByTransport => {
                let (low, high) = lost.unwrap_or((lowest, highest));
                self.replay_told(Some((lowest.min(low), highest.max(high))), rtt);
            }
        }
        self.timeline.close();
        if is_newer {
            self.newest = Some((highest, newest.sent_at));
        }
        // However long the newest packet was held, X_recv is measured over a time that has it in
        // it: a report is never of nothing.
        let still = self.receiver.window().saturating_sub(Duration::from_nanos(1));
        let end = reading.end.min(self.timeline.latest() + still);
        self.receiver.on_lost(end, self.lost_up_to);
        // A report that would fall due before half the next interval has passed is made now.
        self.receiver.hurry(end + self.report_interval / 2);
        self.feed(now, end, sample, hold);
    }

    /// Serves the nofeedback timer. Early, late and repeated calls do no harm.
    pub fn handle_timeout(&mut self, now: Instant) {
        let now = self.advance(now);
        self.sender.handle_timeout(now);
    }

    /// When [`Advisor::handle_timeout`] wants to be called next. (The time of the next packet is
    /// [`Advisor::next_send`]'s.)
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Wake> {
        self.sender.poll_timeout()
    }

    /// The oldest change of the allowed rate not yet polled. Up to four are kept.
    pub fn poll_event(&mut self) -> Option<RateChange> {
        self.sender.poll_event()
    }

    /// The rate that a media encoder should aim at, in bytes of data per second: the allowed rate,
    /// at least the floor and at most the cap; zero after a stop.
    #[must_use]
    pub fn target_rate(&self) -> Rate {
        self.sender.target_rate()
    }

    /// Replaces the application's limit on the sending rate; see [`Sender::set_cap`].
    ///
    /// # Errors
    /// [`ConfigError::Cap`] for a cap of zero; then the previous one stays.
    pub fn set_cap(&mut self, cap: RateCap) -> Result<(), ConfigError> {
        self.sender.set_cap(cap)
    }

    /// Sets the least rate that the application can work with; see [`Sender::set_floor`].
    pub const fn set_floor(&mut self, floor: Rate) {
        self.sender.set_floor(floor);
    }

    /// The present stop by a circuit breaker or the stop rule, with its earliest end.
    #[must_use]
    pub fn stopped(&self) -> Option<Stopped> {
        self.sender.stopped()
    }

    /// Sends again after a stop; see [`Sender::resume`].
    ///
    /// # Errors
    /// [`ResumeError`] before [`Stopped::resume_at`], or if there was no stop.
    pub fn resume(&mut self, now: Instant) -> Result<(), ResumeError> {
        let now = self.advance(now);
        self.sender.resume(now)
    }

    /// X, the allowed sending rate in bytes of data per second; zero after a stop.
    #[must_use]
    pub fn allowed_rate(&self) -> Rate {
        self.sender.allowed_rate()
    }

    /// Reason for the rate at `now`; see [`Sender::limit`].
    #[must_use]
    pub fn limit(&self, now: Instant) -> Limit {
        self.sender.limit(now)
    }

    /// The time up to `now` for which the flow has competed; see [`Sender::competed`].
    #[must_use]
    pub fn competed(&self, now: Instant) -> Duration {
        self.sender.competed(now)
    }

    /// R, once there is a sample.
    #[must_use]
    pub fn rtt(&self) -> Option<Duration> {
        self.sender.rtt()
    }

    /// p as of the latest report (§5); zero before the first loss event.
    #[must_use]
    pub fn loss_event_rate(&self) -> Probability {
        self.receiver.loss_event_rate()
    }

    /// Loss events found so far.
    #[must_use]
    pub const fn loss_events(&self) -> u64 {
        self.receiver.loss_events()
    }

    /// The sending half, for its other readings.
    #[must_use]
    pub const fn sender(&self) -> &Sender {
        &self.sender
    }

    /// The number of the latest remembered packet.
    #[must_use]
    pub fn newest_sent(&self) -> Option<u64> {
        self.sent.newest().map(|packet| packet.id)
    }

    /// The lowest number of a packet still remembered.
    #[must_use]
    pub fn oldest_remembered(&self) -> Option<u64> {
        self.sent.oldest().map(|packet| packet.id)
    }

    /// Packets forgotten before a report covered them. If this grows while reports come, `N` is too
    /// small and the rate too low.
    #[must_use]
    pub const fn forgotten(&self) -> u64 {
        self.forgotten
    }

    /// [`EcnFault::AllMarked`] once the path has been found to mark every packet: the first ten that
    /// are reported, or later a hundred in a row. No mark said anything then, so those counted are
    /// forgotten, X grows anew as without a loss event, and marks count no more. The transport
    /// should send without ECT from then on, so that queues that would mark its packets drop them.
    #[must_use]
    pub const fn ecn_fault(&self) -> Option<EcnFault> {
        match self.marks {
            Marks::Watched(_) => None,
            Marks::Useless | Marks::Ignored => Some(EcnFault::AllMarked),
        }
    }

    /// Takes in a report of packets, one at least, with this mark.
    fn watch_marks(&mut self, ecn: Ecn, packets: u64) {
        let Marks::Watched(watch) = &mut self.marks else { return };
        // An unmarked packet, whatever its codepoint, has not been marked.
        let ecn = if ecn == Ecn::Ce { Ecn::Ce } else { Ecn::Ect0 };
        if (0..packets.min(MARKS_AT_ONCE)).any(|_| watch.on_packet(ecn)) {
            self.marks = Marks::Useless;
        }
    }

    /// A mark as far as marks count.
    const fn heeded(&self, ecn: Ecn) -> Ecn {
        if self.ecn_fault().is_none() { ecn } else { Ecn::NotEct }
    }

    /// No mark said anything: the receiving half begins again behind the packets it has seen.
    fn forget_marks(&mut self, now: Instant) {
        if !matches!(self.marks, Marks::Useless) {
            return;
        }
        self.marks = Marks::Ignored;
        let mut receiver = Receiver::reporting_every(&self.sender.config(), self.report_interval);
        let next = match self.losses {
            Losses::ByOrder => self.newest.map_or(1, |(ordinal, _)| ordinal + 1),
            Losses::ByTransport => self.next_seq,
        };
        receiver.expect(now, next);
        self.receiver = receiver;
        self.checkpoint = None;
        self.loss_events_told = LossEventsTold::default();
    }

    /// Passes the receiving half's report, if one is due, to the sending half.
    fn feed(&mut self, now: Instant, end: Instant, sample: Option<Duration>, hold: Hold) {
        let Some((newest, newest_sent_at)) = self.newest else { return };
        let Some(report) = self.receiver.poll_feedback(end) else { return };
        let losses = self.loss_events_told.take(&report);
        let coverage = self.coverage(newest, newest_sent_at);
        self.fed_up_to = Some(newest_sent_at);
        // The transport's sample of the round-trip time may exceed the packet's age.
        let sent_by = sample.map_or(newest_sent_at, |sample| newest_sent_at.min(now - sample));
        let elapsed = sample.map_or(Duration::MAX, |sample| now.saturating_since(newest_sent_at + sample));
        let feedback = Feedback { elapsed, ..report.feedback(sent_by, losses) };
        let sample = sample.map(|sample| match hold {
            Hold::RoundTrip(rtt) if !rtt.is_zero() => Sample::Stated(sample),
            _ => Sample::Measured(sample),
        });
        self.sender.on_feedback_covering(now, feedback, sample, coverage);
    }

    /// Returns [`Coverage::DataLimited`] if the sender was data-limited over all that this feedback
    /// covers: packets sent since the last feedback, but at least a round-trip time of them (§4.3
    /// step 4, §8.2.1).
    fn coverage(&self, newest: u64, newest_sent_at: Instant) -> Coverage {
        let rtt = self.sender.rtt().unwrap_or(Duration::ZERO);
        let round_trip_ago = newest_sent_at.as_nanos().checked_sub(rtt.as_nanos()).map(Instant::from_nanos);
        self.sent.coverage(newest, round_trip_ago.min(self.fed_up_to))
    }

    fn advance(&mut self, now: Instant) -> Instant {
        self.sender.clock_mut().read(now);
        self.latest = self.latest.max(now);
        self.latest
    }
}

/// Packets of a report that are looked at: more than show a path that marks everything.
const MARKS_AT_ONCE: u64 = 128;

const fn moment(packet: &SentPacket) -> TimelinePacket {
    let arrived_at = match packet.fate {
        PacketFate::Reported { arrived_at, .. } => arrived_at,
        _ => None,
    };
    TimelinePacket { sent_at: packet.sent_at, arrived_at }
}

/// Adapts a configuration to measuring at the sender: times are known, so no window counter
/// replaces them; and where reports are rarer than round-trip times, the nofeedback timer waits for
/// four of their intervals instead of four round-trip times.
fn adapt(config: &Config, report_interval: Duration) -> Config {
    let settings = *config.settings();
    let algorithm = settings.algorithm.with(|choices| {
        if choices.loss_event_timing == LossEventTiming::WindowCounter {
            choices.loss_event_timing = LossEventTiming::ArrivalTime;
        }
        choices.feedback = FeedbackTrigger::Timer;
        choices.empty_report = EmptyReport::Never;
    });
    let adapted = Settings {
        algorithm,
        no_feedback_floor: settings.no_feedback_floor.max(report_interval * 4),
        ..settings
    };
    adapted.validate().unwrap_or(*config)
}
