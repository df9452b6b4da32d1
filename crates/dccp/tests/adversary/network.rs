//! What lies between the ends.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use tfrc_units::{Duration, Ecn, Instant};

use super::noise::Noise;
use super::plan::{Plan, Weather};

/// A packet on its way.
#[derive(Debug, Clone)]
pub(crate) struct Flight {
    pub(crate) from: SocketAddr,
    pub(crate) to: SocketAddr,
    pub(crate) ecn: Ecn,
    pub(crate) bytes: Vec<u8>,
}

pub(crate) struct Network {
    noise: Noise,
    weathers: Vec<Weather>,
    weather: Weather,
    changes_at: Instant,
    /// Until when nothing gets through.
    pub(crate) dark_until: Instant,
    blackholes: u64,
    last_lost: bool,
    flights: BTreeMap<(Instant, u64), Flight>,
    serial: u64,
    pub(crate) corrupted: u64,
}

impl Network {
    pub(crate) fn new(plan: &Plan, noise: Noise) -> Self {
        Self {
            noise,
            weathers: plan.weathers.clone(),
            weather: *plan.weathers.first().expect("there is one"),
            changes_at: Instant::ZERO,
            dark_until: Instant::ZERO,
            blackholes: plan.blackholes,
            last_lost: false,
            flights: BTreeMap::new(),
            serial: 0,
            corrupted: 0,
        }
    }

    /// Says whether the weather has changed.
    pub(crate) fn advance(&mut self, now: Instant) -> bool {
        if now < self.changes_at {
            return false;
        }
        let at = self.noise.below(u64::try_from(self.weathers.len()).expect("few"));
        self.weather = *self.weathers.get(usize::try_from(at).expect("few")).expect("one of them");
        self.changes_at = now + Duration::from_millis(self.noise.between(50, 2000));
        if self.noise.chance(self.blackholes) {
            self.dark_until = now + Duration::from_millis(self.noise.between(50, 8000));
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

    pub(crate) fn send(&mut self, now: Instant, mut flight: Flight) {
        let weather = self.weather;
        let lost = self.noise.chance(weather.loss) || self.last_lost && self.noise.chance(weather.burst);
        self.last_lost = lost;
        if lost || now < self.dark_until {
            return;
        }
        if self.noise.chance(weather.corrupt) {
            self.corrupt(&mut flight.bytes);
        }
        if flight.ecn.is_capable() && self.noise.chance(weather.mark) {
            flight.ecn = Ecn::Ce;
        }
        let copies = 1 + u64::from(self.noise.chance(weather.duplicate)) * self.noise.between(1, 3);
        for _ in 0..copies {
            let jitter = self.noise.below(weather.jitter.as_micros() + 1);
            let late = if self.noise.chance(weather.reorder) { self.noise.below(60_000) } else { 0 };
            let arrival = now + weather.delay + Duration::from_micros(jitter + late);
            self.serial += 1;
            self.flights.insert((arrival, self.serial), flight.clone());
        }
    }

    /// Changes one 16-bit word, so that an Internet checksum is certain to notice.
    fn corrupt(&mut self, bytes: &mut [u8]) {
        self.corrupted += 1;
        let words = u64::try_from(bytes.len() / 2).expect("short").max(1);
        let at = usize::try_from(self.noise.below(words) * 2).expect("short");
        // Not all bits: 0x0000 and 0xFFFF are one number to the checksum.
        if let Some(byte) = bytes.get_mut(at) {
            *byte ^= u8::try_from(self.noise.between(1, 0x7F)).expect("a byte");
        }
    }

    pub(crate) fn next(&self) -> Option<Instant> {
        self.flights.keys().next().map(|(at, _)| *at)
    }

    pub(crate) fn arrivals(&mut self, now: Instant) -> Option<Flight> {
        let entry = self.flights.first_entry()?;
        (entry.key().0 <= now).then(|| entry.remove())
    }
}
