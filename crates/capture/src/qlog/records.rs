//! Records of a qlog file one after another, in bounded memory: JSON text sequences (RFC 7464),
//! lines, or one JSON document.

use std::cell::Cell;
use std::fmt;
use std::io::{self, BufRead, BufReader, Cursor, Read};

use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::event::{Event, Head, Kind, Trace};
use crate::CaptureError;

/// Largest record, bytes: more than a packet's frames take.
const LARGEST: u64 = 1 << 20;
/// Bytes at the beginning that show the form of the file.
const LOOK: u64 = 1 << 16;
/// Begin of a record in a JSON text sequence.
const RS: u8 = 0x1E;

/// A reader's side of the events.
pub(super) trait Sink {
    /// The file, or its one trace, says this of all events.
    fn on_head(&mut self, head: Head);
    /// A trace begins or says more of itself.
    fn on_trace(&mut self, trace: &Trace);
    fn on_event(&mut self, event: Event);
    /// Record `number`, which begins at byte `at`, cannot be read.
    fn on_bad(&mut self, number: u64, at: u64, why: &str);
}

/// Why reading ended before the end of the file.
pub(super) type Fault = Option<String>;

/// Hands all records to `sink`. Returns the form of the file and the fault that ended it.
///
/// # Errors
/// If the input cannot be read, or is JSON of another kind.
pub(super) fn read(input: impl Read, sink: &mut impl Sink) -> Result<(&'static str, Fault), CaptureError> {
    let mut input = BufReader::with_capacity(1 << 16, input);
    let mut look = Vec::new();
    input.by_ref().take(LOOK).read_to_end(&mut look).map_err(CaptureError::Read)?;
    let is_sequence = look.first() == Some(&RS);
    // A first line that is a record of its own has others after it.
    let first = look.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let is_whole = first.len() < look.len() && serde_json::from_slice::<IgnoredAny>(first).is_ok();
    let input = Cursor::new(look).chain(input);
    match (is_sequence, is_whole) {
        (true, _) => Ok(("JSON-SEQ", sequence(input, RS, sink)?)),
        (_, true) => Ok(("lines", sequence(input, b'\n', sink)?)),
        _ => Ok(("JSON", document(input, sink)?)),
    }
}

/// Records that a byte divides. One that is damaged is passed over.
fn sequence(mut input: impl BufRead, divider: u8, sink: &mut impl Sink) -> Result<Fault, CaptureError> {
    let (mut record, mut at, mut number, mut is_headed) = (Vec::new(), 0_u64, 0_u64, false);
    loop {
        record.clear();
        let limit = LARGEST + 1;
        let got = input.by_ref().take(limit).read_until(divider, &mut record).map_err(CaptureError::Read)?;
        if got == 0 {
            return Ok(None);
        }
        let begin = at;
        at += got as u64;
        let is_divided = record.pop_if(|last| *last == divider).is_some();
        if !is_divided && got as u64 == limit {
            return Ok(Some(format!(
                "record {} at byte {begin} is larger than {LARGEST} bytes; what follows was not read",
                number + 1
            )));
        }
        let text = record.trim_ascii();
        if text.is_empty() {
            continue;
        }
        number += 1;
        let outcome = match is_headed {
            false => serde_json::from_slice(text).map(|head: Head| {
                is_headed = head.is_qlog();
                if is_headed {
                    sink.on_head(head);
                } else if let Ok(event) = serde_json::from_slice::<Event>(text)
                    && event.kind() != Kind::Other
                {
                    // The beginning of the file was cut off.
                    is_headed = true;
                    sink.on_event(event);
                }
            }),
            true => serde_json::from_slice(text).map(|event| sink.on_event(event)),
        };
        match outcome {
            Ok(()) if is_headed => {}
            Ok(()) => return Err(CaptureError::NotQlog { at: begin, why: NO_VERSION.to_owned() }),
            // RFC 7464 §2.3: a record without its line feed may be cut off.
            Err(error) if error.is_eof() && !is_divided && is_headed => {
                return Ok(Some(format!(
                    "the file ends within record {number}, which begins at byte {begin}"
                )));
            }
            Err(error) if !is_headed => {
                return Err(CaptureError::NotQlog { at: begin, why: error.to_string() });
            }
            Err(error) => sink.on_bad(number, begin, &error.to_string()),
        }
    }
}

const NO_VERSION: &str = "JSON without qlog_version or file_schema";

/// One JSON document, whose events are read one by one.
fn document(input: impl Read, sink: &mut impl Sink) -> Result<Fault, CaptureError> {
    let (since, total) = (Cell::new(0), Cell::new(0));
    let guarded = Guarded { input, since: &since, total: &total };
    let mut json = serde_json::Deserializer::from_reader(BufReader::with_capacity(1 << 12, guarded));
    let mut state = State { sink, since: &since, events: 0, is_qlog: false };
    let outcome = File(&mut state).deserialize(&mut json);
    let (events, is_qlog) = (state.events, state.is_qlog);
    let error = match outcome {
        Ok(()) if is_qlog => return Ok(None),
        Ok(()) => return Err(CaptureError::NotQlog { at: 0, why: NO_VERSION.to_owned() }),
        Err(error) => error,
    };
    if error.is_io() && since.get() <= LARGEST {
        return Err(CaptureError::Read(error.into()));
    }
    if !is_qlog {
        return Err(CaptureError::NotQlog { at: total.get(), why: error.to_string() });
    }
    Ok(Some(match error.is_eof() {
        true => format!("the file ends within the events, after event {events}"),
        false => format!("after event {events}: {error}; what follows was not read"),
    }))
}

/// Input that ends with an error where one event is too large.
struct Guarded<'a, R> {
    input: R,
    /// Bytes since the last event, and in all.
    since: &'a Cell<u64>,
    total: &'a Cell<u64>,
}

impl<R: Read> Read for Guarded<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.since.get() > LARGEST {
            return Err(io::Error::other("an event of more than 1 MiB"));
        }
        let got = self.input.read(buffer)?;
        self.since.set(self.since.get() + got as u64);
        self.total.set(self.total.get() + got as u64);
        Ok(got)
    }
}

struct State<'a, S> {
    sink: &'a mut S,
    since: &'a Cell<u64>,
    events: u64,
    is_qlog: bool,
}

/// The outermost object.
struct File<'s, 'a, S>(&'s mut State<'a, S>);
/// Its list of traces.
struct Traces<'s, 'a, S>(&'s mut State<'a, S>);
/// One of these, an object.
struct OneTrace<'s, 'a, S>(&'s mut State<'a, S>);
/// Its list of events.
struct Events<'s, 'a, S>(&'s mut State<'a, S>);

/// A seed with `deserialize_any` and `expecting` for each of them.
macro_rules! seed {
    ($name:ident, $what:literal, $($rest:tt)*) => {
        impl<'de, S: Sink> DeserializeSeed<'de> for $name<'_, '_, S> {
            type Value = ();
            fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
                json.deserialize_any(self)
            }
        }
        impl<'de, S: Sink> Visitor<'de> for $name<'_, '_, S> {
            type Value = ();
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str($what)
            }
            $($rest)*
        }
    };
}

seed!(
    File,
    "an object with qlog_version and traces",
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut head = Head::default();
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "qlog_version" => head.qlog_version = map.next_value()?,
                "file_schema" => head.file_schema = map.next_value()?,
                "title" => head.title = map.next_value()?,
                "traces" => map.next_value_seed(Traces(self.0))?,
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
            self.0.is_qlog = head.is_qlog();
            if self.0.is_qlog {
                self.0.sink.on_head(head.clone());
            }
        }
        Ok(())
    }
);

seed!(
    Traces,
    "a list of traces",
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while list.next_element_seed(OneTrace(self.0))?.is_some() {}
        Ok(())
    }
);

seed!(
    OneTrace,
    "a trace",
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut trace = Trace::default();
        self.0.sink.on_trace(&trace);
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "vantage_point" => trace.vantage_point = map.next_value()?,
                "common_fields" => trace.common_fields = map.next_value()?,
                "events" => {
                    map.next_value_seed(Events(self.0))?;
                    continue;
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
            }
            self.0.sink.on_trace(&trace);
        }
        Ok(())
    }
);

seed!(
    Events,
    "a list of events",
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while let Some(event) = list.next_element::<Event>()? {
            self.0.events += 1;
            self.0.since.set(0);
            self.0.sink.on_event(event);
        }
        Ok(())
    }
);

impl<'de> Deserialize<'de> for super::event::Acks {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        struct Frames;
        impl<'de> Visitor<'de> for Frames {
            type Value = super::event::Acks;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of frames")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let mut acks = super::event::Acks::default();
                while let Some(frame) = list.next_element()? {
                    acks.add(frame);
                }
                Ok(acks)
            }
        }
        json.deserialize_seq(Frames)
    }
}
