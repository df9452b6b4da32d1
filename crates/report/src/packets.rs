//! Packet events of a run as CSV: a line for each thing that happens to a packet.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write};

use tfrc_scenario::Scenario;
use tfrc_sim::trace::{DropCause, Happening, TraceRecord};
use tfrc_sim::{LinkId, NodeId};
use tfrc_units::{Instant, saturating};

use crate::csv::field;

/// The heads of the columns. Times are seconds since the begin of the run; a packet keeps its
/// number on its way; `ecn` has the two bits of RFC 3168 §5.
const HEADS: &str = "t_s,event,link,flow,packet,bytes,ecn,sent_s,from,to\n";

/// A file of packet events, of the run of one scenario.
pub struct PacketEvents<'o> {
    out: &'o mut dyn Write,
    flows: Vec<String>,
    links: BTreeMap<LinkId, String>,
    nodes: BTreeMap<NodeId, String>,
    line: String,
    failure: Option<io::Error>,
}

impl<'o> PacketEvents<'o> {
    /// A file of the run of a scenario.
    pub fn new(scenario: &Scenario, out: &'o mut dyn Write) -> Self {
        let (network, members) = scenario.lay_out(scenario.seed);
        let failure = out.write_all(HEADS.as_bytes()).err();
        Self {
            out,
            flows: members.into_iter().map(|member| field(&member.name).into_owned()).collect(),
            links: network.links().map(|(id, link)| (id, field(&link.name).into_owned())).collect(),
            nodes: network.nodes().map(|(id, name)| (id, field(name).into_owned())).collect(),
            line: String::new(),
            failure,
        }
    }

    /// Adds what happened to a packet ([`Run::trace`](tfrc_world::Run::trace)).
    pub fn add(&mut self, record: &TraceRecord) {
        let (event, link) = match record.what {
            Happening::Crossed(link) => ("crossed", Some(link)),
            Happening::Dropped(link, DropCause::Early) => ("dropped-early", Some(link)),
            Happening::Dropped(link, DropCause::Loss) => ("lost", Some(link)),
            Happening::Dropped(link, _) => ("dropped", Some(link)),
            Happening::Joined(link) => ("joined", Some(link)),
            Happening::Received => ("received", None),
            _ => ("stranded", None),
        };
        let header = &record.header;
        let flow = self.flows.get(saturating::<usize>(header.flow.0)).map_or("", String::as_str);
        let node = |node| self.nodes.get(&node).map_or("", String::as_str);
        let seconds = |at: Instant| at.as_secs_f64();
        self.line.clear();
        let _ = writeln!(
            self.line,
            "{},{event},{},{},{},{},{},{},{},{}",
            seconds(record.at),
            link.and_then(|link| self.links.get(&link)).map_or("", String::as_str),
            flow,
            header.serial,
            header.size,
            header.ecn.bits(),
            seconds(header.sent),
            node(header.src.node()),
            node(header.dst.node()),
        );
        if self.failure.is_none() {
            self.failure = self.out.write_all(self.line.as_bytes()).err();
        }
    }

    /// Ends the file.
    ///
    /// # Errors
    /// The first error of writing.
    pub fn end(self) -> io::Result<()> {
        self.failure.map_or(Ok(()), Err)
    }
}
