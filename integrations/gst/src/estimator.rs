//! Transport-wide feedback in, a rate out.

use tfrc::advisor::{Ack, Hold};
use tfrc::config::{QueueDelay, RateCap};
use tfrc::study::Profile;
use tfrc::{Advisor, ConfigError, Settings};
use tfrc_units::{Duration, Ecn, Instant, Rate};

/// Packets remembered until they are reported: 98 Mbit/s of 1200 bytes in 200 ms.
const REMEMBERED: usize = 2048;
/// The longest usual time between two feedback packets.
const FEEDBACK_INTERVAL: Duration = Duration::from_millis(100);
/// The time without any feedback after which the first rate is halved (RFC 5348 §4.2).
const UNHEARD: Duration = Duration::from_secs(2);

/// The time that a feedback waits for others: GStreamer sends one for each picture, and several of
/// them at a time. The round-trip time is that of the newest packet.
const GATHER: Duration = Duration::from_millis(5);

/// Limits of the application.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Limits {
    /// The least rate of the encoder: the estimate is never lower.
    pub(crate) least: Rate,
    /// The highest rate.
    pub(crate) most: Rate,
    /// The rate until the first feedback.
    pub(crate) first: Rate,
    /// The bound on the queueing delay.
    pub(crate) queue_delay: QueueDelay,
    /// The choices on top of RFC 5348.
    pub(crate) profile: Profile,
}

/// One packet of a feedback.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PacketReport {
    /// The transport-wide sequence number, which wraps.
    pub(crate) seqnum: u16,
    /// When it left, by the clock of [`Estimator::on_reports`].
    pub(crate) departure: Instant,
    /// Its size in bytes.
    pub(crate) size: u32,
    /// When it arrived, by a clock of any epoch; `None` if it did not.
    pub(crate) arrival: Option<Instant>,
}

/// TFRC at the sender, which hears of a packet's departure along with its fate.
#[derive(Debug)]
pub(crate) struct Estimator {
    /// On the heap: private data of an object may have 64 KiB at most.
    advisor: Box<Advisor<REMEMBERED>>,
    limits: Limits,
    numbers: Numbers,
    /// The lowest number not yet taken in.
    next: u64,
    unheard: Option<Unheard>,
    gathered: Option<Gathered>,
}

/// Feedback that is taken in, and has no effect yet.
#[derive(Debug, Clone, Copy)]
struct Gathered {
    due: Instant,
    latest: Instant,
    arrived: bool,
}

/// Before the first feedback.
#[derive(Debug, Clone, Copy)]
struct Unheard {
    rate: Rate,
    halve_at: Option<Instant>,
}

impl Estimator {
    /// An estimator before the first packet.
    ///
    /// # Errors
    /// The first limit out of range.
    pub(crate) fn new(limits: Limits) -> Result<Self, ConfigError> {
        let cap = RateCap::AtMost(limits.most);
        let settings =
            Settings { cap, max_queue_delay: limits.queue_delay, ..Settings::for_profile(limits.profile) };
        let mut advisor = Box::new(Advisor::with_capacity(&settings.validate()?, FEEDBACK_INTERVAL));
        advisor.set_floor(limits.least);
        let unheard = Some(Unheard { rate: limits.first, halve_at: None });
        Ok(Self { advisor, limits, numbers: Numbers::default(), next: 0, unheard, gathered: None })
    }

    /// Changes the least and the highest rate.
    ///
    /// # Errors
    /// [`ConfigError::Cap`] for a highest rate of zero; then the previous ones stay.
    pub(crate) fn set_limits(&mut self, least: Rate, most: Rate) -> Result<(), ConfigError> {
        self.advisor.set_cap(RateCap::AtMost(most))?;
        self.advisor.set_floor(least);
        self.limits = Limits { least, most, ..self.limits };
        Ok(())
    }

    /// The rate of now: for the encoder, and for the pacer.
    pub(crate) fn rate(&self) -> Rate {
        match self.unheard {
            Some(unheard) => unheard.rate.max(self.limits.least).min(self.limits.most),
            None => self.advisor.target_rate(),
        }
    }

    /// The rate control, for its readings.
    pub(crate) fn advisor(&self) -> &Advisor<REMEMBERED> {
        &self.advisor
    }

    /// A packet leaves. The first one starts the time that feedback may take.
    pub(crate) fn on_departure(&mut self, now: Instant) {
        if let Some(unheard) = &mut self.unheard {
            unheard.halve_at.get_or_insert(now + UNHEARD);
        }
    }

    /// A feedback has come, with the packets in the order of sending. Packets of a feedback that
    /// was lost are never seen here: they count neither as arrived nor as lost. Takes effect within
    /// [`GATHER`], by [`Self::handle_timeout`].
    pub(crate) fn on_reports(&mut self, now: Instant, reports: &[PacketReport]) {
        let mut arrived = false;
        for report in reports {
            let id = self.numbers.unwrap(report.seqnum);
            if id >= self.next {
                self.advisor.on_sent(report.departure, id, report.size);
                self.next = id + 1;
            }
            if report.arrival.is_some() {
                arrived = true;
                self.advisor.on_acked(Ack { id, arrived_at: report.arrival, ecn: Ecn::NotEct });
            }
        }
        if !reports.is_empty() {
            let before = self.gathered.unwrap_or(Gathered { due: now + GATHER, latest: now, arrived });
            self.gathered = Some(Gathered { latest: now, arrived: arrived || before.arrived, ..before });
        }
    }

    /// Serves the timers. Early, late and repeated calls do no harm.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        if let Some(gathered) = self.gathered.take_if(|gathered| gathered.due <= now) {
            self.advisor.on_report(gathered.latest, Hold::Unknown);
            if gathered.arrived {
                self.unheard = None;
            }
        }
        match &mut self.unheard {
            Some(Unheard { rate, halve_at: Some(at) }) if *at <= now => {
                *rate = Rate::from_bits_per_sec(rate.bits_per_sec() / 2.0);
                *at = now + UNHEARD;
            }
            Some(_) => {}
            None => self.advisor.handle_timeout(now),
        }
    }

    /// When [`Self::handle_timeout`] wants to be called next.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        let timer = match self.unheard {
            Some(unheard) => unheard.halve_at,
            None => self.advisor.poll_timeout().map(|wake| wake.at),
        };
        let gathered = self.gathered.map(|gathered| gathered.due);
        timer.into_iter().chain(gathered).min()
    }
}

/// Numbers of 16 bits as numbers that do not wrap.
#[derive(Debug, Default)]
struct Numbers {
    highest: Option<u64>,
}

impl Numbers {
    /// The number nearest to the highest so far.
    fn unwrap(&mut self, seqnum: u16) -> u64 {
        // One turn ahead, so that packets before the first reported one have numbers too.
        let highest = self.highest.unwrap_or(0x1_0000 + u64::from(seqnum));
        let ahead = seqnum.wrapping_sub(highest as u16).cast_signed();
        let number = highest.saturating_add_signed(i64::from(ahead));
        self.highest = Some(highest.max(number));
        number
    }
}

#[cfg(test)]
mod tests;
