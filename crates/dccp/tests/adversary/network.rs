//! Network between the ends: weather that changes, and spells in which nothing gets through.

use std::net::SocketAddr;

use tfrc_testkit::{Delivered, Fate, Parcel, Random, Side, Wire};
use tfrc_units::{Duration, Ecn, Instant};

use super::plan::{Plan, Weather};

/// A packet on its way.
#[derive(Debug, Clone)]
pub(crate) struct Flight {
    pub(crate) from: SocketAddr,
    pub(crate) to: SocketAddr,
    pub(crate) bytes: Vec<u8>,
}

pub(crate) struct Network {
    random: Random,
    weathers: Vec<Weather>,
    weather: Weather,
    changes_at: Instant,
    /// Until when nothing gets through.
    pub(crate) dark_until: Instant,
    blackholes: u64,
    last_lost: bool,
    wire: Wire<Flight>,
    pub(crate) corrupted: u64,
}

impl Network {
    pub(crate) fn new(plan: &Plan, random: Random) -> Self {
        Self {
            random,
            weathers: plan.weathers.clone(),
            weather: *plan.weathers.first().expect("there is one"),
            changes_at: Instant::ZERO,
            dark_until: Instant::ZERO,
            blackholes: plan.blackholes,
            last_lost: false,
            // The weather has all the delay.
            wire: Wire::new(Duration::ZERO),
            corrupted: 0,
        }
    }

    /// Says whether the weather has changed.
    pub(crate) fn advance(&mut self, now: Instant) -> bool {
        if now < self.changes_at {
            return false;
        }
        let at = self.random.below(u64::try_from(self.weathers.len()).expect("few"));
        self.weather = *self.weathers.get(usize::try_from(at).expect("few")).expect("one of them");
        self.changes_at = now + Duration::from_millis(self.random.between(50, 2000));
        if self.random.per_mille(self.blackholes) {
            self.dark_until = now + Duration::from_millis(self.random.between(50, 8000));
        }
        true
    }

    /// From now on all is well.
    pub(crate) fn heal(&mut self) {
        let fine = Weather {
            loss: 0,
            burst: 0,
            duplicate: 0,
            reorder: 0,
            corrupt: 0,
            mark: 0,
            delay: Duration::from_millis(10),
            jitter: Duration::ZERO,
        };
        self.weathers = vec![fine];
        self.weather = fine;
        self.blackholes = 0;
        self.dark_until = Instant::ZERO;
    }

    pub(crate) fn send(&mut self, now: Instant, from: Side, mut ecn: Ecn, mut flight: Flight) {
        let weather = self.weather;
        let lost =
            self.random.per_mille(weather.loss) || self.last_lost && self.random.per_mille(weather.burst);
        self.last_lost = lost;
        if lost || now < self.dark_until {
            return;
        }
        if self.random.per_mille(weather.corrupt) {
            self.corrupt(&mut flight.bytes);
        }
        if ecn.is_capable() && self.random.per_mille(weather.mark) {
            ecn = Ecn::Ce;
        }
        let copies = 1 + u64::from(self.random.per_mille(weather.duplicate)) * self.random.between(1, 3);
        for _ in 0..copies {
            let jitter = self.random.below(weather.jitter.as_micros() + 1);
            let late = if self.random.per_mille(weather.reorder) { self.random.below(60_000) } else { 0 };
            let delay = weather.delay + Duration::from_micros(jitter + late);
            let packet = Parcel { size: 0, ecn, payload: flight.clone() };
            self.wire.send(now, from, packet, Fate::Late(delay));
        }
    }

    /// Changes one 16-bit word, so that an Internet checksum is certain to notice.
    fn corrupt(&mut self, bytes: &mut [u8]) {
        self.corrupted += 1;
        let words = u64::try_from(bytes.len() / 2).expect("short").max(1);
        let at = usize::try_from(self.random.below(words) * 2).expect("short");
        // Not all bits: 0x0000 and 0xFFFF are one number to the checksum.
        if let Some(byte) = bytes.get_mut(at) {
            *byte ^= u8::try_from(self.random.between(1, 0x7F)).expect("a byte");
        }
    }

    pub(crate) fn next(&self) -> Option<Instant> {
        self.wire.poll_timeout()
    }

    pub(crate) fn arrivals(&mut self, now: Instant) -> Option<Delivered<Flight>> {
        self.wire.receive(now)
    }
}
