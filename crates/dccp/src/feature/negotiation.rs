//! The exchange of Change and Confirm (RFC 4340 §6.6): per feature STABLE, CHANGING or UNSTABLE.

use alloc::vec::Vec;

use tfrc_units::{Duration, Instant, SeqNo48};

use super::number::Rule;
use super::reconcile::server_priority;
use super::wishes::Weight;
use super::{EcnReading, Feature, Location, Role, Wishes};
use crate::wire::{FeatureOp, FeatureOption, Opt, OptionList, OptionsFull, PacketType};

/// Everything negotiated between two ends. Bounded: twenty features and 128 answers not yet sent.
#[derive(Debug, Clone)]
pub(crate) struct Negotiation {
    role: Role,
    wishes: Wishes,
    entries: Vec<FeatureEntry>,
    answers: Vec<ConfirmAnswer>,
    /// FGSR and FGSS of §6.6.4; the first is unset until a packet has arrived.
    greatest_received: Option<SeqNo48>,
    greatest_sent: SeqNo48,
    timer: Option<Instant>,
    backoff: Duration,
}

#[derive(Debug, Clone)]
struct FeatureEntry {
    feature: Feature,
    location: Location,
    value: u64,
    /// Value that our latest Change for a non-negotiable feature proposes, or will propose.
    proposal: u64,
    state: FeatureState,
    /// A Change is to be sent with the next packet that may carry it.
    due: bool,
    weight: Weight,
}

/// §6.6.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FeatureState {
    /// Both ends agree as far as we know.
    Stable,
    /// We have asked and wait for the answer.
    Changing,
    /// We have asked, and then changed our mind, and not asked again yet.
    Unstable,
}

/// A Confirm to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ConfirmAnswer {
    /// Where the feature is located.
    location: Location,
    number: u8,
    body: Body,
    sent: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Body {
    /// The feature or the value is not understood.
    Empty,
    /// A non-negotiable value, accepted.
    Number(Feature, u64),
    /// The value chosen; our preference list follows it.
    Choice(Feature, u8),
}

/// Feature options of a packet that may be processed, Changes and Confirms (§6.6.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Order {
    pub(super) changes: bool,
    pub(super) confirms: bool,
}

/// Feature options that must be sent in a packet in addition to the due ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repeat {
    /// No others.
    Due,
    /// All open questions, and answers are kept for the next packet: the handshake's packets
    /// replace each other.
    Handshake,
}

/// Why an option ends the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failure {
    /// "Option Error".
    Option,
    /// "Mandatory Error".
    Mandatory,
}

/// Answers kept at most; the option space of a packet holds fewer.
const MAX_ANSWERS: usize = 128;
/// Values in a preference list of ours, at most: those of Minimum Checksum Coverage.
const MAX_PREFERENCES: usize = 16;
/// Bounds of the time between repetitions (§6.6.3).
const MIN_REPEAT: Duration = Duration::from_millis(200);
const MAX_REPEAT: Duration = Duration::from_secs(64);

impl Negotiation {
    /// Everything at its initial value, nothing asked.
    pub(crate) fn new(role: Role, wishes: Wishes, initial_sent: SeqNo48) -> Self {
        let mut entries: Vec<FeatureEntry> = Feature::ALL
            .into_iter()
            .flat_map(|feature| [Location::Local, Location::Remote].map(|location| (feature, location)))
            .map(|(feature, location)| FeatureEntry {
                feature,
                location,
                value: feature.initial_value(),
                proposal: feature.initial_value(),
                state: FeatureState::Stable,
                due: false,
                weight: Weight::Optional,
            })
            .collect();
        entries.shrink_to_fit();
        Self {
            role,
            wishes,
            entries,
            answers: Vec::new(),
            greatest_received: None,
            greatest_sent: initial_sent,
            timer: None,
            backoff: MIN_REPEAT,
        }
    }

    /// Asks for whatever differs from our wishes and is not being settled already.
    pub(crate) fn ask_for_wishes(&mut self) {
        let wishes = self.wishes;
        for entry in self.entries.iter_mut().filter(|entry| entry.state == FeatureState::Stable) {
            if let Some((value, weight)) = wishes.wanted(entry.feature, entry.location, entry.value) {
                entry.proposal = value;
                entry.weight = weight;
                entry.due = true;
            }
        }
    }

    /// Asks for another Sequence Window of ours, clamped to what is valid.
    pub(crate) fn change_sequence_window(&mut self, window: u64) {
        let window = window.clamp(Feature::MIN_SEQUENCE_WINDOW, Feature::MAX_SEQUENCE_WINDOW);
        let Some(entry) = self.entry(Feature::SequenceWindow, Location::Local) else { return };
        if window == entry.proposal {
            return;
        }
        entry.proposal = window;
        entry.due = true;
        // §6.6.5
        if entry.state == FeatureState::Changing {
            // RFC 4340 §6.6.5.
            entry.state = FeatureState::Unstable;
        }
    }

    /// Asks the peer to send without ECN: marks can be read here, but mean nothing.
    pub(crate) fn give_up_ecn(&mut self) {
        self.wishes.ecn = EcnReading::Incapable;
        let entry = self.entry(Feature::EcnIncapable, Location::Local);
        if let Some(entry) = entry.filter(|entry| entry.state == FeatureState::Stable) {
            (entry.proposal, entry.weight, entry.due) = (1, Weight::Optional, true);
        }
    }

    /// The agreed value.
    pub(crate) fn value(&self, feature: Feature, location: Location) -> u64 {
        self.entries
            .iter()
            .find(|entry| entry.feature == feature && entry.location == location)
            .map_or(feature.initial_value(), |entry| entry.value)
    }

    /// Returns true if the value is 1.
    pub(crate) fn is_on(&self, feature: Feature, location: Location) -> bool {
        self.value(feature, location) == 1
    }

    /// The value that we last proposed for our Sequence Window.
    pub(crate) fn proposed_sequence_window(&self) -> u64 {
        self.entries
            .iter()
            .find(|entry| entry.feature == Feature::SequenceWindow && entry.location == Location::Local)
            .map_or(0, |entry| entry.proposal)
    }

    /// Returns true if no question of ours is open.
    #[cfg(test)]
    pub(crate) fn is_settled(&self) -> bool {
        self.entries.iter().all(|entry| entry.state == FeatureState::Stable && !entry.due)
    }

    /// Which feature options of a packet may be processed (§6.6.4): those not overtaken by newer
    /// ones.
    pub(crate) fn order(&self, seq: SeqNo48, ack: Option<SeqNo48>) -> Order {
        // RFC 4340 §6.6.4.
        let newer = self.greatest_received.is_none_or(|greatest| seq.is_after(greatest));
        let answers_us = ack.is_some_and(|ack| ack.is_at_or_after(self.greatest_sent));
        Order { changes: newer, confirms: newer && answers_us }
    }

    /// Processes one option of a packet in this `order` (§6.6.2).
    ///
    /// # Errors
    /// [`Failure`] if the connection must be reset over it.
    pub(crate) fn on_option(
        &mut self,
        order: Order,
        option: &FeatureOption<'_>,
        mandatory: bool,
    ) -> Result<(), Failure> {
        let location = match option.op {
            FeatureOp::ChangeL | FeatureOp::ConfirmL => Location::Remote,
            FeatureOp::ChangeR | FeatureOp::ConfirmR => Location::Local,
        };
        let Some(feature) = Feature::from_number(option.feature) else {
            // RFC 4340 §6.6.7.
            return match (option.op.is_change(), mandatory) {
                (true, true) => Err(Failure::Mandatory),
                (true, false) => {
                    if order.changes {
                        self.answer(location, option.feature, Body::Empty);
                    }
                    Ok(())
                }
                (false, _) => Ok(()),
            };
        };
        let state = self.entry(feature, location).map_or(FeatureState::Stable, |entry| entry.state);
        // RFC 4340 §6.6.2.
        if state == FeatureState::Unstable {
            return Ok(());
        }
        if option.op.is_change() {
            if order.changes { self.on_change(feature, location, option.values, mandatory) } else { Ok(()) }
        } else if order.confirms && state == FeatureState::Changing {
            self.on_confirm(feature, location, option.values)
        } else {
            Ok(())
        }
    }

    /// Called after all options of a packet that had feature options.
    pub(crate) fn after_packet(&mut self, seq: SeqNo48) {
        if self.greatest_received.is_none_or(|greatest| seq.is_after(greatest)) {
            self.greatest_received = Some(seq);
        }
        self.update_timer();
    }

    /// Keeps the two reference numbers behind the connection's when those have gone half round
    /// (erratum 974).
    pub(crate) fn follow(&mut self, gsr: SeqNo48, gss: SeqNo48) {
        if let Some(greatest) = &mut self.greatest_received
            && greatest.is_after(gsr)
        {
            *greatest = gsr.sub(Feature::MAX_SEQUENCE_WINDOW);
        }
        if self.greatest_sent.is_after(gss) {
            self.greatest_sent = gss.sub(Feature::MAX_SEQUENCE_WINDOW);
        }
    }

    /// Returns true if an answer waits to be sent.
    pub(crate) fn owes_answer(&self) -> bool {
        self.answers.iter().any(|answer| !answer.sent)
    }

    /// Returns true if a question waits to be sent.
    pub(crate) fn owes_question(&self) -> bool {
        self.entries.iter().any(|entry| entry.due)
    }

    /// Puts what is due into the options of the packet with sequence number `seq`. What does not
    /// fit stays due.
    pub(crate) fn emit(
        &mut self,
        now: Instant,
        rtt: Duration,
        seq: SeqNo48,
        packet: PacketType,
        repeat: Repeat,
        list: &mut OptionList,
    ) {
        // RFC 4340 §5.8.2, RFC 4340 §6.
        if packet == PacketType::Data {
            return;
        }
        if packet.has_ack() {
            for answer in &mut self.answers {
                if answer.sent && repeat == Repeat::Due {
                    continue;
                }
                if push_answer(list, answer, &self.wishes).is_err() {
                    break;
                }
                // RFC 4340 §6.2.
                answer.sent = true;
            }
            if repeat == Repeat::Due {
                self.answers.retain(|answer| !answer.sent);
            }
        }
        for entry in &mut self.entries {
            let again = entry.state == FeatureState::Changing && repeat == Repeat::Handshake;
            if !(entry.due || again) || push_question(list, entry, &self.wishes).is_err() {
                continue;
            }
            entry.due = false;
            if entry.state != FeatureState::Changing {
                entry.state = FeatureState::Changing;
                self.greatest_sent = seq;
                self.backoff = (rtt * 3).max(MIN_REPEAT);
            }
            self.timer = Some(now + self.backoff);
        }
    }

    /// The handshake is over: answers sent in it need not be repeated, and a CCID agreed on stays,
    /// since the rate of what flows hangs on it.
    pub(crate) fn handshake_done(&mut self) {
        self.answers.retain(|answer| !answer.sent);
        self.answers.shrink_to_fit();
        for location in [Location::Local, Location::Remote] {
            self.wishes.keep_ccid(location, self.value(Feature::Ccid, location));
        }
    }

    /// When open questions are to be repeated.
    pub(crate) const fn poll_timeout(&self) -> Option<Instant> {
        self.timer
    }

    /// Marks open questions for repetition if it is time (§6.6.3).
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        if self.timer.is_none_or(|at| now < at) {
            return;
        }
        // RFC 4340 §6.6.3.
        for entry in self.entries.iter_mut().filter(|entry| entry.state == FeatureState::Changing) {
            entry.due = true;
        }
        self.backoff = (self.backoff * 2).min(MAX_REPEAT);
        self.timer = Some(now + self.backoff);
    }

    fn entry(&mut self, feature: Feature, location: Location) -> Option<&mut FeatureEntry> {
        self.entries.iter_mut().find(|entry| entry.feature == feature && entry.location == location)
    }

    fn on_change(
        &mut self,
        feature: Feature,
        location: Location,
        values: &[u8],
        mandatory: bool,
    ) -> Result<(), Failure> {
        let old = self.value(feature, location);
        let settled = match feature.rule() {
            Rule::NonNegotiable { bytes } => number(values, bytes)
                .filter(|value| location == Location::Remote && feature.accepts(*value))
                // RFC 4340 §6.3.2.
                .map(|value| (value, Body::Number(feature, value))),
            Rule::ServerPriority => {
                let ours = self.wishes.preferences(feature, location);
                // RFC 4340 §15.
                match (server_priority(self.role, ours, values), u8::try_from(old)) {
                    (Some(value), _) => Some((u64::from(value), Body::Choice(feature, value))),
                    // RFC 4340 §6.3.1.
                    (None, Ok(old)) if !mandatory => Some((u64::from(old), Body::Choice(feature, old))),
                    (None, _) => None,
                }
            }
        };
        match settled {
            Some((value, body)) => {
                let wanted = self.wishes.wanted(feature, location, value);
                // RFC 4340 §6.6.6.
                if let Some(entry) = self.entry(feature, location) {
                    entry.value = value;
                    entry.state = FeatureState::Stable;
                    entry.due = entry.due && wanted.is_some();
                }
                self.answer(location, feature.number(), body);
                Ok(())
            }
            // RFC 4340 §6.6.9.
            None if mandatory => Err(Failure::Mandatory),
            // RFC 4340 §6.6.8.
            None => {
                self.answer(location, feature.number(), Body::Empty);
                Ok(())
            }
        }
    }

    fn on_confirm(&mut self, feature: Feature, location: Location, values: &[u8]) -> Result<(), Failure> {
        let (role, wishes) = (self.role, self.wishes);
        let Some(entry) = self.entry(feature, location) else { return Ok(()) };
        if values.is_empty() {
            // §6.6.7
            return if feature.is_required() || entry.weight == Weight::Mandatory {
                Err(Failure::Option)
            } else {
                entry.state = FeatureState::Stable;
                entry.due = false;
                Ok(())
            };
        }
        let value = match feature.rule() {
            Rule::NonNegotiable { bytes } => number(values, bytes).filter(|value| *value == entry.proposal),
            Rule::ServerPriority => {
                let ours = wishes.preferences(feature, location);
                confirmed(role, ours, entry.value, values).map(u64::from)
            }
        };
        entry.value = value.ok_or(Failure::Option)?;
        entry.state = FeatureState::Stable;
        entry.due = false;
        let unusable =
            entry.weight == Weight::Mandatory && wishes.wanted(feature, location, entry.value).is_some();
        if unusable { Err(Failure::Option) } else { Ok(()) }
    }

    fn answer(&mut self, location: Location, number: u8, body: Body) {
        self.answers.retain(|answer| (answer.location, answer.number) != (location, number));
        if self.answers.len() < MAX_ANSWERS {
            // RFC 4340 §6.6.1.
            self.answers.push(ConfirmAnswer { location, number, body, sent: false });
        }
    }

    fn update_timer(&mut self) {
        if self.entries.iter().all(|entry| entry.state == FeatureState::Stable) {
            self.timer = None;
        }
    }
}

/// A number of exactly `bytes` bytes.
fn number(values: &[u8], bytes: usize) -> Option<u64> {
    (values.len() == bytes).then(|| values.iter().fold(0, |n, byte| (n << 8) | u64::from(*byte)))
}

/// The value of a Confirm if it is the right one for both preference lists; the confirmer's may be
/// left out (§6.2).
fn confirmed(role: Role, ours: &[u8], old: u64, values: &[u8]) -> Option<u8> {
    let (value, theirs) = values.split_first()?;
    let unchanged = u64::from(*value) == old;
    if theirs.is_empty() {
        return (unchanged || ours.contains(value)).then_some(*value);
    }
    match server_priority(role, ours, theirs) {
        Some(right) => (right == *value).then_some(*value),
        None => unchanged.then_some(*value),
    }
}

fn push_answer(list: &mut OptionList, answer: &ConfirmAnswer, wishes: &Wishes) -> Result<(), OptionsFull> {
    let op = match answer.location {
        Location::Local => FeatureOp::ConfirmL,
        Location::Remote => FeatureOp::ConfirmR,
    };
    let (mut number, mut choice) = ([0; 8], [0; 1 + MAX_PREFERENCES]);
    let values: &[u8] = match answer.body {
        Body::Empty => &[],
        Body::Number(feature, value) => encode(feature, value, &mut number),
        Body::Choice(feature, value) => {
            let preferences = wishes.preferences(feature, answer.location);
            let all = core::iter::once(&value).chain(preferences);
            let mut length = 0;
            for (slot, byte) in choice.iter_mut().zip(all) {
                *slot = *byte;
                length += 1;
            }
            choice.get(..length).unwrap_or_default()
        }
    };
    list.push(&Opt::Feature(FeatureOption { op, feature: answer.number, values }))
}

fn push_question(list: &mut OptionList, entry: &FeatureEntry, wishes: &Wishes) -> Result<(), OptionsFull> {
    let op = match entry.location {
        Location::Local => FeatureOp::ChangeL,
        Location::Remote => FeatureOp::ChangeR,
    };
    let mut space = [0; 8];
    let values = match entry.feature.rule() {
        Rule::NonNegotiable { .. } => encode(entry.feature, entry.proposal, &mut space),
        Rule::ServerPriority => wishes.preferences(entry.feature, entry.location),
    };
    let option = Opt::Feature(FeatureOption { op, feature: entry.feature.number(), values });
    match entry.weight {
        Weight::Optional => list.push(&option),
        Weight::Mandatory => list.push_mandatory(&option),
    }
}

/// A non-negotiable value in its width.
fn encode(feature: Feature, value: u64, space: &mut [u8; 8]) -> &[u8] {
    *space = value.to_be_bytes();
    match feature.rule() {
        Rule::NonNegotiable { bytes } => space.get(8usize.saturating_sub(bytes)..).unwrap_or_default(),
        Rule::ServerPriority => &[],
    }
}
