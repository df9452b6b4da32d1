//! The element: pads, properties, and the thread that paces.

use std::collections::VecDeque;
use std::sync::{Condvar, LazyLock, Mutex, MutexGuard, PoisonError};

use gst::glib;
use gst::prelude::*;
use gst::subclass::prelude::*;
use gstreamer as gst;
use tfrc::config::QueueDelay;
use tfrc::study::Profile;
use tfrc_units::{Duration, Instant, Rate, saturating};

use crate::estimator::{Estimator, Limits};
use crate::feedback;
use crate::pacer::Pacer;

/// The rate until the first feedback, bit/s: RFC 5348's first 4380 bytes in a round-trip time of
/// 100 ms (§4.2).
const FIRST_BPS: u32 = 350_400;
const LEAST_BPS: u32 = 1_000;
/// Packets that wait at most; then the source of the packets waits.
const ROOM: usize = 2048;

static CATEGORY: LazyLock<gst::DebugCategory> = LazyLock::new(|| {
    gst::DebugCategory::new("rtptfrcbwe", gst::DebugColorFlags::empty(), Some("TFRC bandwidth estimator"))
});

/// The element's parts.
#[derive(Debug, Default)]
pub struct RtpTfrcBwe {
    state: Mutex<State>,
    /// The queue, the rate or the mode has changed.
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    settings: Settings,
    estimator: Option<Estimator>,
    pacer: Pacer,
    queue: VecDeque<Item>,
    mode: Mode,
    flow: Result<gst::FlowSuccess, gst::FlowError>,
    /// The latest estimate, bit/s.
    estimated: u32,
}

/// Properties that the user sets.
#[derive(Debug, Clone, Copy)]
struct Settings {
    first: u32,
    least: u32,
    most: u32,
    queue_delay_ms: u32,
    profile: Profile,
}

#[derive(Debug)]
enum Item {
    Packet(gst::Buffer),
    Event(gst::Event),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Flushing,
    Running,
}

impl Default for State {
    fn default() -> Self {
        let settings = Settings {
            first: FIRST_BPS,
            least: LEAST_BPS,
            most: u32::MAX,
            queue_delay_ms: 0,
            profile: Profile::Balanced,
        };
        Self {
            settings,
            estimator: None,
            pacer: Pacer::default(),
            queue: VecDeque::new(),
            mode: Mode::Flushing,
            flow: Ok(gst::FlowSuccess::Ok),
            estimated: settings.first,
        }
    }
}

impl Settings {
    fn limits(self) -> Limits {
        let rate = |bps: u32| Rate::from_bits_per_sec(f64::from(bps));
        Limits {
            least: rate(self.least),
            most: rate(self.most),
            first: rate(self.first),
            queue_delay: match self.queue_delay_ms {
                0 => QueueDelay::Unlimited,
                ms => QueueDelay::AtMost(Duration::from_millis(u64::from(ms))),
            },
            profile: self.profile,
        }
    }
}

/// The time of the clock by which `rtpsession` notes departures.
fn now() -> Instant {
    Instant::from_nanos(gst::SystemClock::obtain().time().nseconds())
}

impl State {
    /// Takes over the rate; true if the estimate has changed.
    fn settle(&mut self) -> bool {
        let Some(estimator) = &self.estimator else { return false };
        let estimated = estimator.rate().bits_per_sec() as u32;
        let changed = estimated != self.estimated;
        self.estimated = estimated;
        changed
    }

    fn set(&mut self, settings: Settings) {
        self.settings = settings;
        match &mut self.estimator {
            // The properties' ranges leave no rate of zero.
            Some(estimator) => {
                let Limits { least, most, .. } = settings.limits();
                let _ = estimator.set_limits(least, most);
            }
            None => self.estimated = settings.first,
        }
    }

    /// The next thing to push, or the time to look again: `None` for an input.
    fn take(&mut self, now: Instant) -> Result<Item, Option<Instant>> {
        let timer = self.estimator.as_ref().and_then(Estimator::poll_timeout);
        let (rate, size) = match (self.queue.front(), &self.estimator) {
            (Some(Item::Packet(packet)), Some(estimator)) => (estimator.rate(), packet.size()),
            (Some(_), _) => return self.queue.pop_front().ok_or(None),
            (None, _) => return Err(timer),
        };
        if let Some(due) = self.pacer.due(now, rate) {
            return Err(Some(timer.map_or(due, |timer| timer.min(due))));
        }
        self.pacer.on_sent(now, rate, saturating::<u32>(size));
        if let Some(estimator) = &mut self.estimator {
            estimator.on_departure(now);
        }
        self.queue.pop_front().ok_or(None)
    }
}

impl RtpTfrcBwe {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn notify(&self) {
        self.obj().notify("estimated-bitrate");
    }

    /// Queues a packet or an event; waits while the queue is full.
    fn queue(&self, item: Item) -> Result<gst::FlowSuccess, gst::FlowError> {
        let mut state = self.lock();
        while state.queue.len() >= ROOM && state.mode == Mode::Running && state.flow.is_ok() {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.mode == Mode::Flushing {
            return Err(gst::FlowError::Flushing);
        }
        let flow = state.flow;
        if flow.is_ok() {
            state.queue.push_back(item);
            self.changed.notify_all();
        }
        flow
    }

    /// One turn of the pacing thread: serves the timers, and pushes a packet or waits.
    fn turn(&self, source: &gst::Pad) {
        let mut state = self.lock();
        let item = loop {
            if state.mode == Mode::Flushing {
                let _ = source.pause_task();
                return;
            }
            let now = now();
            let waiting = state.queue.len();
            if let Some(estimator) = &mut state.estimator
                && estimator.poll_timeout().is_some_and(|at| at <= now)
            {
                estimator.handle_timeout(now);
                gst::debug!(
                    CATEGORY,
                    imp = self,
                    "{} bit/s, R {:?} s, p {}, {waiting} packets wait",
                    estimator.rate().bits_per_sec(),
                    estimator.advisor().rtt().map(Duration::as_secs_f64),
                    estimator.advisor().loss_event_rate().get(),
                );
                if state.settle() {
                    drop(state);
                    self.notify();
                    return;
                }
            }
            match state.take(now) {
                Ok(item) => break item,
                Err(None) => state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
                Err(Some(at)) => {
                    let patience = at.saturating_since(now).into();
                    let woken = self.changed.wait_timeout(state, patience);
                    state = woken.unwrap_or_else(PoisonError::into_inner).0;
                }
            }
        };
        self.changed.notify_all();
        drop(state);
        match item {
            Item::Packet(packet) => {
                if let Err(error) = source.push(packet) {
                    gst::debug!(CATEGORY, imp = self, "downstream: {error:?}");
                    self.lock().flow = Err(error);
                    self.changed.notify_all();
                    let _ = source.pause_task();
                }
            }
            Item::Event(event) => {
                let _ = source.push_event(event);
            }
        }
    }

    fn start(&self, source: &gst::Pad) -> Result<(), glib::BoolError> {
        {
            let mut state = self.lock();
            state.mode = Mode::Running;
            state.flow = Ok(gst::FlowSuccess::Ok);
        }
        let element = self.obj().downgrade();
        let pad = source.downgrade();
        source.start_task(move || {
            if let (Some(element), Some(pad)) = (element.upgrade(), pad.upgrade()) {
                element.imp().turn(&pad);
            }
        })
    }

    /// Nothing waits any more, here or before the element.
    fn flush(&self) {
        let mut state = self.lock();
        state.mode = Mode::Flushing;
        state.queue.clear();
        self.changed.notify_all();
    }

    fn activate(
        &self,
        source: &gst::Pad,
        mode: gst::PadMode,
        active: bool,
    ) -> Result<(), gst::LoggableError> {
        if mode != gst::PadMode::Push {
            return Err(gst::loggable_error!(CATEGORY, "packets are pushed only"));
        }
        let done = if active {
            self.start(source)
        } else {
            self.flush();
            source.stop_task()
        };
        done.map_err(|error| gst::loggable_error!(CATEGORY, "pacing thread: {error}"))
    }

    fn sink_event(&self, source: &gst::Pad, event: gst::Event) -> bool {
        match event.view() {
            gst::EventView::FlushStart(_) => {
                self.flush();
                let pushed = source.push_event(event);
                let _ = source.pause_task();
                pushed
            }
            gst::EventView::FlushStop(_) => source.push_event(event) && self.start(source).is_ok(),
            _ if event.is_serialized() => self.queue(Item::Event(event)).is_ok(),
            _ => source.push_event(event),
        }
    }

    fn source_event(&self, source: &gst::Pad, event: gst::Event) -> bool {
        let Some(reports) = feedback::packets(&event) else {
            return gst::Pad::event_default(source, Some(&*self.obj()), event);
        };
        let mut state = self.lock();
        let Some(estimator) = &mut state.estimator else { return true };
        estimator.on_reports(now(), &reports);
        self.changed.notify_all();
        true
    }

    /// The pads; none if their templates are missing, which cannot be.
    fn pads(&self) -> Option<[gst::Pad; 2]> {
        let element = self.obj();
        let class = element.element_class();
        let (source, sink) = (class.pad_template("src")?, class.pad_template("sink")?);
        let source = gst::Pad::builder_from_template(&source)
            .activatemode_function(|pad, parent, mode, active| {
                Self::catch_panic_pad_function(
                    parent,
                    || Err(gst::loggable_error!(CATEGORY, "panic")),
                    |this| this.activate(pad, mode, active),
                )
            })
            .event_function(|pad, parent, event| {
                Self::catch_panic_pad_function(parent, || false, |this| this.source_event(pad, event))
            })
            .flags(gst::PadFlags::PROXY_CAPS)
            .build();
        let to = source.downgrade();
        let sink = gst::Pad::builder_from_template(&sink)
            .activatemode_function(|_, parent, _, active| {
                // A thread that waits for room holds up the deactivation.
                if !active {
                    Self::catch_panic_pad_function(parent, || (), Self::flush);
                }
                Ok(())
            })
            .chain_function(|_, parent, packet| {
                let failed = || Err(gst::FlowError::Error);
                Self::catch_panic_pad_function(parent, failed, |this| this.queue(Item::Packet(packet)))
            })
            .chain_list_function(|_, parent, packets| {
                let failed = || Err(gst::FlowError::Error);
                Self::catch_panic_pad_function(parent, failed, |this| {
                    let mut packets = packets.iter_owned();
                    packets.try_fold(gst::FlowSuccess::Ok, |_, packet| this.queue(Item::Packet(packet)))
                })
            })
            .event_function(move |_, parent, event| {
                let Some(source) = to.upgrade() else { return false };
                Self::catch_panic_pad_function(parent, || false, |this| this.sink_event(&source, event))
            })
            .flags(gst::PadFlags::PROXY_CAPS | gst::PadFlags::PROXY_ALLOCATION)
            .build();
        Some([sink, source])
    }
}

#[glib::object_subclass]
impl ObjectSubclass for RtpTfrcBwe {
    const NAME: &'static str = "GstRtpTfrcBwe";
    type Type = super::RtpTfrcBwe;
    type ParentType = gst::Element;
}

impl ObjectImpl for RtpTfrcBwe {
    fn properties() -> &'static [glib::ParamSpec] {
        static ALL: LazyLock<Vec<glib::ParamSpec>> = LazyLock::new(|| {
            let property = |name, nick, blurb, least, default| {
                let property = glib::ParamSpecUInt::builder(name).nick(nick).blurb(blurb);
                let property = property.minimum(least).default_value(default);
                if name == "min-bitrate" || name == "max-bitrate" {
                    property.mutable_playing().build()
                } else {
                    property.mutable_ready().build()
                }
            };
            vec![
                property(
                    "estimated-bitrate",
                    "Estimated bitrate",
                    "The rate allowed by TFRC in bit/s of RTP packets; written before the start, the rate until \
                     the first feedback",
                    1,
                    FIRST_BPS,
                ),
                property("min-bitrate", "Lowest bitrate", "The least estimate, bit/s", 1, LEAST_BPS),
                property("max-bitrate", "Highest bitrate", "The highest estimate, bit/s", 1, u32::MAX),
                property(
                    "max-queue-delay",
                    "Bound on the queueing delay",
                    "Send less while a round trip is longer than the shortest by more than this, in ms; 0 for no bound",
                    0,
                    0,
                ),
                glib::ParamSpecString::builder("profile")
                    .nick("Profile")
                    .blurb("balanced, to share with the CUBICs of today, or rfc5348 for the RFC alone")
                    .default_value(Profile::Balanced.name())
                    .mutable_ready()
                    .build(),
            ]
        });
        &ALL
    }

    fn set_property(&self, _id: usize, value: &glib::Value, property: &glib::ParamSpec) {
        let mut state = self.lock();
        let settings = state.settings;
        if let Ok(name) = value.get::<Option<String>>() {
            match name.as_deref().and_then(Profile::from_name) {
                Some(profile) => state.set(Settings { profile, ..settings }),
                None => gst::warning!(CATEGORY, imp = self, "profile {name:?}: balanced or rfc5348"),
            }
            return;
        }
        let Ok(value) = value.get::<u32>() else { return };
        state.set(match property.name() {
            "estimated-bitrate" => Settings { first: value, ..settings },
            "min-bitrate" => Settings { least: value, ..settings },
            "max-bitrate" => Settings { most: value, ..settings },
            _ => Settings { queue_delay_ms: value, ..settings },
        });
        let changed = state.settle();
        self.changed.notify_all();
        drop(state);
        if changed {
            self.notify();
        }
    }

    fn property(&self, _id: usize, property: &glib::ParamSpec) -> glib::Value {
        let state = self.lock();
        let value = match property.name() {
            "profile" => return state.settings.profile.name().to_value(),
            "estimated-bitrate" => state.estimated,
            "min-bitrate" => state.settings.least,
            "max-bitrate" => state.settings.most,
            _ => state.settings.queue_delay_ms,
        };
        value.to_value()
    }

    fn constructed(&self) {
        self.parent_constructed();
        for pad in self.pads().into_iter().flatten() {
            if let Err(error) = self.obj().add_pad(&pad) {
                gst::error!(CATEGORY, imp = self, "{error}");
            }
        }
    }
}

impl GstObjectImpl for RtpTfrcBwe {}

impl ElementImpl for RtpTfrcBwe {
    fn metadata() -> Option<&'static gst::subclass::ElementMetadata> {
        static METADATA: LazyLock<gst::subclass::ElementMetadata> = LazyLock::new(|| {
            gst::subclass::ElementMetadata::new(
                "TFRC bandwidth estimator",
                "Network/WebRTC/RTP/Filter",
                "TCP-Friendly Rate Control (RFC 5348) at the sender, by transport-wide feedback",
                "The authors of tfrc",
            )
        });
        Some(&METADATA)
    }

    fn pad_templates() -> &'static [gst::PadTemplate] {
        static TEMPLATES: LazyLock<Vec<gst::PadTemplate>> = LazyLock::new(|| {
            let caps = gst::Caps::builder("application/x-rtp").build();
            let template = |name, way| gst::PadTemplate::new(name, way, gst::PadPresence::Always, &caps).ok();
            let both = [template("src", gst::PadDirection::Src), template("sink", gst::PadDirection::Sink)];
            both.into_iter().flatten().collect()
        });
        &TEMPLATES
    }

    fn change_state(
        &self,
        transition: gst::StateChange,
    ) -> Result<gst::StateChangeSuccess, gst::StateChangeError> {
        if transition == gst::StateChange::ReadyToPaused {
            let mut state = self.lock();
            let estimator = Estimator::new(state.settings.limits()).map_err(|error| {
                gst::error!(CATEGORY, imp = self, "{error}");
                gst::StateChangeError
            })?;
            state.pacer = Pacer::default();
            state.estimator = Some(estimator);
            state.settle();
        }
        let changed = self.parent_change_state(transition)?;
        if transition == gst::StateChange::PausedToReady {
            self.lock().estimator = None;
        }
        Ok(changed)
    }
}
