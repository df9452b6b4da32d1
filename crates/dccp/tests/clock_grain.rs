//! Clocks with a grain: the rate that each front end reaches, as docs/models/clock.md has it.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt::Write;

use tfrc::advisor::{Ack, Hold};
use tfrc::equation::Equation;
use tfrc::{Advisor, Config, SendDecision};
use tfrc_dccp::ConnectionConfig;
use tfrc_testkit::{Clock, Fate, Flow, FlowEvent, Pair, Parcel, Side, Wire, at};
use tfrc_units::{Duration, Ecn, Instant, Probability, f64_from_u64};

/// Every packet with such a number is lost: p is 0.01.
const LOST: u64 = 100;
const GRAINS_US: [u64; 3] = [1, 1000, 15_625];
const ROUND_TRIPS_US: [u64; 9] = [50, 300, 1000, 3000, 5000, 10_000, 20_000, 50_000, 100_000];

/// A path, the clock of its hosts, and the times between which packets are counted.
#[derive(Clone, Copy)]
struct Case {
    rtt: Duration,
    clock: Clock,
    from: Instant,
    end: Instant,
}

impl Case {
    fn new(rtt_us: u64, grain_us: u64) -> Self {
        let rtt = Duration::from_micros(rtt_us);
        // 200 round trips have 22 loss events; at first there may be a packet in a second.
        let counted = rtt.max(Duration::from_micros(grain_us)) * 200;
        let from = at(1) + Duration::from_millis(200) + counted;
        Self { rtt, clock: Clock(Duration::from_micros(grain_us)), from, end: from + counted }
    }

    fn counts(&self, now: Instant) -> bool {
        (self.from..self.end).contains(&now)
    }

    /// Packets of the time counted over those of the equation at max(R, grain).
    fn ratio(&self, packets: u64) -> f64 {
        let p = Probability::new(0.01).expect("a probability");
        let rate = Equation::default().rate(1.0, self.rtt.max(self.clock.0), p).bytes_per_sec();
        f64_from_u64(packets) / (rate * self.end.saturating_since(self.from).as_secs_f64())
    }

    fn advisor(&self) -> f64 {
        let mut advisor = Box::new(Advisor::<16_384>::with_capacity(&Config::default(), Duration::ZERO));
        let mut wire = Wire::new(self.rtt / 2);
        let (mut now, mut id, mut counted) = (Instant::ZERO, 0, 0);
        while now < self.end {
            let reading = self.clock.read(now);
            while let Some(arrived) = wire.receive(now) {
                let packet = Parcel { size: 0, ecn: Ecn::NotEct, payload: arrived.payload };
                if arrived.to == Side::Server {
                    wire.send(now, Side::Server, packet, Fate::Deliver);
                    continue;
                }
                advisor.on_acked(Ack { id: arrived.payload, arrived_at: None, ecn: Ecn::NotEct });
                advisor.on_report(reading, Hold::Known(Duration::ZERO));
            }
            advisor.handle_timeout(reading);
            let next = match advisor.next_send(reading) {
                SendDecision::Now => {
                    advisor.on_sent(reading, id, 1000);
                    let fate = Fate::drop_if(id % LOST == LOST - 1);
                    wire.send(now, Side::Client, Parcel { size: 1000, ecn: Ecn::NotEct, payload: id }, fate);
                    (id, counted) = (id + 1, counted + u64::from(self.counts(now)));
                    continue;
                }
                SendDecision::At(at) => self.clock.when(at),
                SendDecision::Stopped(trip) => panic!("{trip:?}"),
            };
            let timer = advisor.poll_timeout().map(|wake| self.clock.when(wake.at));
            now = timer.into_iter().chain(wire.poll_timeout()).fold(next, Instant::min).max(now);
        }
        self.ratio(counted)
    }

    fn sender_and_receiver(&self) -> f64 {
        let sent = Cell::new(0u64);
        let rule = |_| {
            sent.set(sent.get() + 1);
            Fate::drop_if(sent.get().is_multiple_of(LOST))
        };
        let mut flow = Flow::new(&Config::default(), 1000, Wire::new(self.rtt / 2), rule);
        flow.clock = self.clock;
        let mut counted = 0;
        while let Some(event) = flow.next(self.end) {
            counted += u64::from(event == FlowEvent::Sent && self.counts(flow.now));
        }
        self.ratio(counted)
    }

    fn dccp(&self) -> f64 {
        let sent = Cell::new(0u64);
        let rule = move |flight: &tfrc_testkit::Flight| {
            if flight.from == Side::Server || !flight.kind.carries_datagram() {
                return Fate::Deliver;
            }
            sent.set(sent.get() + 1);
            Fate::drop_if(sent.get().is_multiple_of(LOST))
        };
        let mut pair = Pair::with(ConnectionConfig::default(), ConnectionConfig::default(), rule);
        pair.set_delay(self.rtt / 2);
        pair.clock = self.clock;
        pair.now = self.clock.when(pair.now);
        (pair.client.to_send, pair.client.size) = (u64::MAX, 20);
        let mut before = None;
        while pair.step(self.end).is_some() {
            pair.log.clear();
            pair.captured.clear();
            pair.server.received.clear();
            if pair.now >= self.from {
                before.get_or_insert(pair.client.sent);
            }
        }
        self.ratio(pair.client.sent - before.expect("it was long enough"))
    }
}

/// The ratios of the three front ends by grain and round-trip time.
fn ratios() -> BTreeMap<(u64, u64), [f64; 3]> {
    let cases = GRAINS_US.into_iter().flat_map(|grain| ROUND_TRIPS_US.map(|rtt| (grain, rtt)));
    cases
        .map(|(grain, rtt)| {
            let case = Case::new(rtt, grain);
            ((grain, rtt), [case.advisor(), case.sender_and_receiver(), case.dccp()])
        })
        .collect()
}

fn table(ratios: &BTreeMap<(u64, u64), [f64; 3]>) -> String {
    let mut table = String::from(
        "| grain, ms | round trip, ms | Advisor | Sender and Receiver | DCCP |\n\
         | ---: | ---: | ---: | ---: | ---: |\n",
    );
    let ms = |us: u64| f64_from_u64(us) / 1000.0;
    for ((grain, rtt), [advisor, halves, dccp]) in ratios {
        let (grain, rtt) = (ms(*grain), ms(*rtt));
        writeln!(table, "| {grain} | {rtt} | {advisor:.2} | {halves:.2} | {dccp:.2} |").expect("a text");
    }
    table
}

/// Rates by clocks of three grains on round trips from 50 µs to 100 ms. Up to one grain the rate is
/// that of a grain, at least half of it. Above, it is within a tenth of the true one.
#[test]
fn the_table_of_the_book() {
    let ratios = ratios();
    let table = table(&ratios);
    for ((grain, rtt), fronts) in &ratios {
        let (low, high) = if rtt <= grain { (0.5, 1.1) } else { (0.9, 1.1) };
        for ratio in fronts {
            assert!((low..=high).contains(ratio), "{ratio} at {rtt} us by {grain} us\n{table}");
        }
    }
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/models/clock.md");
    let page = std::fs::read_to_string(page).expect("the page of the book");
    assert!(page.contains(&table), "the table of docs/models/clock.md is to be\n{table}");
}
