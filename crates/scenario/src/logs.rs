//! Logs as tables of text: a time and a value a line, such as a throughput measured each second, or
//! the sizes of video frames.

use std::fmt;

use tfrc_units::{Duration, f64_from_u64};

/// Columns of a log, and their units.
#[derive(Debug, Clone, PartialEq)]
pub struct Columns<'c> {
    /// Times of the lines.
    pub times: Times<'c>,
    /// The column of values: its name in the first line, or its number from 1.
    pub value: &'c str,
    /// The unit of one value, in the unit that the caller wants.
    pub unit: f64,
}

/// Times of the lines of a log.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Times<'c> {
    /// A column.
    Column {
        /// Its name in the first line, or its number from 1.
        name: &'c str,
        /// Seconds of one unit.
        unit: f64,
    },
    /// Equal steps, for a log without times.
    Every(Duration),
}

/// A line of a log.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Entry {
    /// The time since the first line.
    pub at: Duration,
    /// The value.
    pub value: f64,
}

/// The figures of a log, by which one sees whether it was read as it was meant.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Extent {
    /// Number of lines.
    pub lines: usize,
    /// The time of all lines. Each lasts until the next, the last as long as the one before it.
    pub span: Duration,
    /// The least value.
    pub least: f64,
    /// The greatest value.
    pub most: f64,
    /// The mean of the values over their times.
    pub mean: f64,
}

impl Extent {
    /// Of the entries of a log, in the order of their times.
    #[must_use]
    pub fn of(entries: &[Entry]) -> Self {
        let span = period(entries);
        let ends = entries.iter().skip(1).map(|entry| entry.at).chain([span]);
        let over_time = entries.iter().zip(ends);
        let sum: f64 =
            over_time.map(|(entry, end)| entry.value * end.saturating_sub(entry.at).as_secs_f64()).sum();
        let values = || entries.iter().map(|entry| entry.value);
        Self {
            lines: entries.len(),
            span,
            least: values().fold(f64::INFINITY, f64::min),
            most: values().fold(0.0, f64::max),
            mean: sum / span.as_secs_f64(),
        }
    }
}

/// The time until a log begins again: its last line lasts as long as the one before it, or a
/// second.
#[must_use]
pub fn period(entries: &[Entry]) -> Duration {
    let step = match entries {
        [.., before, last] if last.at > before.at => last.at.saturating_sub(before.at),
        _ => Duration::from_secs(1),
    };
    entries.last().map_or(step, |last| last.at + step)
}

/// A log that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogError {
    /// The line, from 1.
    pub line: usize,
    /// The fault.
    pub what: String,
    /// The remedy.
    pub hint: String,
}

impl fmt::Display for LogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}: {}", self.line, self.what, self.hint)
    }
}

impl std::error::Error for LogError {}

/// The units of times, with their seconds.
const TIMES: [(&str, f64); 5] = [("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9), ("min", 60.0)];
/// The units of rates, with their bits per second.
const RATES: [(&str, f64); 8] = [
    ("bit/s", 1.0),
    ("kbit/s", 1e3),
    ("Mbit/s", 1e6),
    ("Gbit/s", 1e9),
    ("B/s", 8.0),
    ("kB/s", 8e3),
    ("MB/s", 8e6),
    ("GB/s", 8e9),
];
/// The units of sizes, with their bytes.
const SIZES: [(&str, f64); 5] = [("B", 1.0), ("kB", 1e3), ("MB", 1e6), ("bit", 0.125), ("kbit", 125.0)];

/// Seconds of a unit of time.
///
/// # Errors
/// The units that there are.
pub fn time_unit(name: &str) -> Result<f64, String> {
    find(&TIMES, name)
}

/// Bits per second of a unit of rates.
///
/// # Errors
/// The units that there are.
pub fn rate_unit(name: &str) -> Result<f64, String> {
    find(&RATES, name)
}

/// Bytes of a unit of sizes.
///
/// # Errors
/// The units that there are.
pub fn size_unit(name: &str) -> Result<f64, String> {
    find(&SIZES, name)
}

fn find(units: &[(&str, f64)], name: &str) -> Result<f64, String> {
    let found = units.iter().find(|(unit, _)| *unit == name).map(|(_, value)| *value);
    found.ok_or_else(|| {
        let names: Vec<&str> = units.iter().map(|(unit, _)| *unit).collect();
        format!("one of {}", names.join(", "))
    })
}

/// The lines of a log for which `wanted` says yes of their fields, in the order of their times.
/// Columns are apart by commas, semicolons, tabs or spaces; numbers may have a decimal comma where
/// that is not between columns. Times are numbers, dates with a time of day, or times of day. Empty
/// lines and those that begin with `#` are left out. A line with more fields than the names of the
/// first is refused: which of them is the value, nobody can say.
///
/// # Errors
/// The first [`LogError`].
pub fn read(text: &str, columns: &Columns<'_>, wanted: &Wanted<'_>) -> Result<Vec<Entry>, LogError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let is_line = |(_, line): &(usize, &str)| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    let mut lines = (1..).zip(text.lines()).filter(is_line).peekable();
    let error = |line, what: String, hint: &str| LogError { line, what, hint: hint.to_owned() };
    let Some((_, first)) = lines.peek() else {
        return Err(error(1, "the log is empty".to_owned(), "give it a line for each time"));
    };
    let separator = separator(first);
    let heads = Heads(fields(first, separator));
    let number = heads.0.len();
    let place = |name: &str| {
        heads.place(name).ok_or_else(|| {
            let what = format!("there is no column `{name}`");
            let known = heads.0.iter().take(40).copied().collect::<Vec<_>>().join("`, `");
            error(
                1,
                what,
                &format!("the first line has `{known}`; a column may be named by its number from 1"),
            )
        })
    };
    let value = place(columns.value)?;
    let time = match columns.times {
        Times::Column { name, unit } => Some((place(name)?, unit)),
        Times::Every(_) => None,
    };
    // A first line with a number in the column of values has no names.
    let decimal = if separator == Some(',') { None } else { Some(',') };
    let has_names = heads.0.get(value).is_some_and(|head| number_of(head, decimal).is_none());
    if has_names {
        lines.next();
    }
    let (mut entries, mut begin, mut last): (Vec<Entry>, Option<f64>, f64) = (Vec::new(), None, 0.0);
    for (line, written) in lines {
        let row = fields(written, separator);
        if row.len() < number.min(value.max(time.map_or(0, |(place, _)| place)) + 1) {
            let what = format!("{} columns", row.len());
            return Err(error(line, what, &format!("the first line has {number}")));
        }
        if has_names && row.iter().skip(number).any(|field| !field.is_empty()) {
            let what = format!("{} fields, and the first line has {number} names", row.len());
            let hint = "give each column a name (R: write.table with row.names = FALSE), and write numbers with \
                        a decimal point where commas are between columns";
            return Err(error(line, what, hint));
        }
        if !wanted(&heads, &row).map_err(|what| error(line, what, "name a column of the first line"))? {
            continue;
        }
        let field = |place: usize| row.get(place).copied().unwrap_or_default();
        let now = match (time, columns.times) {
            (Some((place, unit)), _) => seconds(field(place), unit, decimal)
                .map_err(|hint| error(line, format!("`{}` is not a time", field(place)), hint))?,
            (None, Times::Every(step)) => {
                step.as_secs_f64() * f64_from_u64(tfrc_units::saturating::<u64>(entries.len()))
            }
            (None, Times::Column { .. }) => 0.0,
        };
        let read = number_of(field(value), decimal).filter(|read| read.is_finite() && *read >= 0.0);
        let Some(read) = read else {
            let what = format!("`{}` is not a number from 0 on", field(value));
            return Err(error(line, what, "take the line out, or write what was measured"));
        };
        let since = now - *begin.get_or_insert(now);
        if since < last {
            let what =
                format!("the time `{}` is before that of a line above", time.map_or("", |t| field(t.0)));
            return Err(error(line, what, "sort the lines by their times"));
        }
        last = since;
        entries.push(Entry { at: Duration::from_secs_f64(since), value: read * columns.unit });
    }
    if entries.is_empty() {
        return Err(error(1, "the log has no line of values".to_owned(), "give it a line for each time"));
    }
    Ok(entries)
}

/// The choice of lines, by the names of columns and the fields of a line; an error is said with the
/// line.
pub type Wanted<'w> = dyn Fn(&Heads<'_>, &[&str]) -> Result<bool, String> + 'w;

/// The names of columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heads<'t>(Vec<&'t str>);

impl Heads<'_> {
    /// The place of a column, from 0, by its name or its number from 1.
    #[must_use]
    pub fn place(&self, name: &str) -> Option<usize> {
        let named = self.0.iter().position(|head| *head == name);
        let numbered = || name.parse::<usize>().ok()?.checked_sub(1).filter(|place| *place < self.0.len());
        named.or_else(numbered)
    }
}

/// The character between fields: a comma, a semicolon or a tab outside of quotes; none for blanks.
fn separator(line: &str) -> Option<char> {
    let bare = |separator: &char| line.split('"').step_by(2).any(|part| part.contains(*separator));
    [',', ';', '\t'].into_iter().find(bare)
}

/// The fields of a line, without blanks and quotes around them. Blanks are apart where there is no
/// separator.
fn fields(line: &str, separator: Option<char>) -> Vec<&str> {
    match separator {
        None => line.split_whitespace().collect(),
        Some(separator) => {
            let (mut list, mut begin, mut quoted) = (Vec::new(), 0, false);
            for (at, character) in line.char_indices() {
                if character == '"' {
                    quoted = !quoted;
                } else if character == separator && !quoted {
                    list.push(line.get(begin..at).map_or("", bare));
                    begin = at + character.len_utf8();
                }
            }
            list.push(line.get(begin..).map_or("", bare));
            list
        }
    }
}

fn bare(field: &str) -> &str {
    let field = field.trim();
    field.strip_prefix('"').and_then(|field| field.strip_suffix('"')).unwrap_or(field).trim()
}

/// A number, perhaps with this character in place of the decimal point.
fn number_of(written: &str, decimal: Option<char>) -> Option<f64> {
    let comma = decimal.filter(|decimal| written.matches(*decimal).count() == 1);
    comma.map_or_else(|| written.parse().ok(), |comma| written.replace(comma, ".").parse().ok())
}

/// The forms of a time.
const TIME: &str = "a number, a date with a time of day (year-month-day, or as `date` prints it), or a time of day; \
                    a zone as +0100, UTC or a name of North America (RFC 822) or Europe";
/// Seconds of three thousand years: what is later is no time in seconds since 1970.
const LATEST: f64 = 1e11;

/// The seconds of a time: a number of units, a date with a time of day, or a time of day.
///
/// # Errors
/// The remedy.
fn seconds(written: &str, unit: f64, decimal: Option<char>) -> Result<f64, &'static str> {
    if let Some(number) = number_of(written, decimal) {
        let seconds = number * unit;
        return match seconds.is_finite() {
            false => Err(TIME),
            true if seconds.abs() >= LATEST => {
                Err("that is past the year 5000 in this unit: say `time_unit = \"ms\"`, `\"us\"` or `\"ns\"`")
            }
            true => Ok(seconds),
        };
    }
    date(written).ok_or(TIME)
}

/// The seconds of a date with a time of day, or of a time of day.
fn date(written: &str) -> Option<f64> {
    // A date and a clock may have a `T` or `_` between them; a zone may stand right behind.
    let words: Vec<&str> = written.split_whitespace().collect();
    if let [_, month, day, clock, zone @ .., year] = &words[..]
        && let Some(month) = (1..).zip(MONTHS).find(|(_, name)| name == month).map(|(month, _)| month)
    {
        // As `date` prints it.
        let days = days(year.parse().ok()?, month, day.parse().ok()?)?;
        return Some(days * 86_400.0 + clock_of(clock, zone)?);
    }
    let at = words.iter().position(|word| word.contains([':', '.', '_', '-', '/']))?;
    match (&words[..at], &words[at..]) {
        ([], [clock, rest @ ..]) if is_clock(clock) => clock_of(clock, rest),
        ([], [date, clock, rest @ ..]) if is_clock(clock) => Some(day(date)? + clock_of(clock, rest)?),
        ([], [both, rest @ ..]) => {
            let (date, clock) = both.split_once(['T', '_'])?;
            Some(day(date)? + clock_of(clock, rest)?)
        }
        _ => None,
    }
}

fn is_clock(word: &str) -> bool {
    word.split_once(':').is_some_and(|(hours, _)| hours.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The seconds of a day: a year of four digits, a month and a day.
fn day(written: &str) -> Option<f64> {
    let parts: Vec<&str> = written.split(['-', '/', '.']).collect();
    let [year, month, day] = parts[..] else { return None };
    let year = Some(year).filter(|year| year.len() == 4)?;
    Some(days(year.parse().ok()?, month.parse().ok()?, day.parse().ok()?)? * 86_400.0)
}

/// The seconds of a clock with what stands behind it: a half of the day, a zone.
fn clock_of(written: &str, behind: &[&str]) -> Option<f64> {
    let end =
        written.find(|c: char| !c.is_ascii_digit() && ![':', '.'].contains(&c)).unwrap_or(written.len());
    let (clock, attached) = written.split_at_checked(end)?;
    let parts: Vec<&str> = clock.split([':', '.']).collect();
    let number = |part: &str| part.parse::<f64>().ok();
    let ([h, m, s], fraction) = match parts[..] {
        [h, m, s] => ([number(h)?, number(m)?, number(s)?], 0.0),
        [h, m, s, digits] => ([number(h)?, number(m)?, number(s)?], format!("0.{digits}").parse().ok()?),
        _ => return None,
    };
    let mut behind =
        Some(attached).filter(|zone| !zone.is_empty()).into_iter().chain(behind.iter().copied()).peekable();
    let half = behind.next_if(|word| ["AM", "PM", "am", "pm"].contains(word));
    let h = match half {
        Some(_) if !(1.0..13.0).contains(&h) => return None,
        Some(half) => h % 12.0 + if half.eq_ignore_ascii_case("PM") { 12.0 } else { 0.0 },
        None => h,
    };
    let ahead = behind.next().map_or(Some(0.0), ahead)?;
    if behind.next().is_some() || !(h < 25.0 && m < 60.0 && s < 61.0) {
        return None;
    }
    Some(h * 3600.0 + m * 60.0 + s + fraction - ahead)
}

/// Names of zones with the hours that they are ahead of UTC: those of RFC 822 §5.1, and of Europe
/// (IANA's time zone database, `europe`).
const ZONES: [(&str, f64); 20] = [
    ("UTC", 0.0),
    ("UT", 0.0),
    ("GMT", 0.0),
    ("Z", 0.0),
    ("EST", -5.0),
    ("EDT", -4.0),
    ("CST", -6.0),
    ("CDT", -5.0),
    ("MST", -7.0),
    ("MDT", -6.0),
    ("PST", -8.0),
    ("PDT", -7.0),
    ("WET", 0.0),
    ("WEST", 1.0),
    ("BST", 1.0),
    ("CET", 1.0),
    ("CEST", 2.0),
    ("EET", 2.0),
    ("EEST", 3.0),
    ("MSK", 3.0),
];

/// The seconds by which a zone is ahead of UTC: `+01`, `+0100`, `+01:00`, or a name.
fn ahead(zone: &str) -> Option<f64> {
    if let Some((_, hours)) = ZONES.iter().find(|(name, _)| *name == zone) {
        return Some(hours * 3600.0);
    }
    let (sign, digits) = match zone.split_at_checked(1)? {
        ("+", digits) => (1.0, digits),
        ("-", digits) => (-1.0, digits),
        _ => return None,
    };
    let digits: String = digits.chars().filter(|c| *c != ':').collect();
    let (hours, minutes) = match digits.len() {
        2 => (digits.as_str(), "0"),
        4 => digits.split_at_checked(2)?,
        _ => return None,
    };
    let (hours, minutes) = (hours.parse::<f64>().ok()?, minutes.parse::<f64>().ok()?);
    Some(sign * (hours * 3600.0 + minutes * 60.0))
}

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// The days from the first of March of the year 0 to a date of the Gregorian calendar.
fn days(year: u32, month: u32, day: u32) -> Option<f64> {
    if !(1..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    // Years begin in March, so that a leap day is their last.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    Some(f64::from(365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(_: &Heads<'_>, _: &[&str]) -> Result<bool, String> {
        Ok(true)
    }

    fn log(text: &str, time: &str, value: &str) -> Result<Vec<(u64, f64)>, String> {
        let columns = Columns { times: Times::Column { name: time, unit: 1.0 }, value, unit: 1e3 };
        let entries = read(text, &columns, &all).map_err(|error| error.to_string())?;
        Ok(entries.into_iter().map(|entry| (entry.at.as_nanos() / 1_000_000, entry.value)).collect())
    }

    #[test]
    fn the_forms_of_public_logs() {
        let wanted = Ok(vec![(0, 72e3), (1000, 0.0), (3000, 51e3)]);
        let forms = [
            ("t,kbps\n0,72\n1,0\n3,51\n", "t", "kbps"),
            ("\u{feff}t;kbps;x\r\n10;72;1\r\n11;0;1\r\n\r\n13;51;1\r\n", "1", "2"),
            ("# a comment\n0 72\n1 0\n3 51", "1", "2"),
            ("\"t\"\t\"down, kbps\"\n\"23:59:58\"\t72\n23:59:59\t0\n24:00:01\t51\n", "t", "down, kbps"),
            ("t,k\n2019.11.30_23.59.59,72\n2019.12.01_00.00.00,0\n2019.12.01_00.00.02,51\n", "t", "k"),
            ("t,k\n2024-02-28T23:59:59.5Z,72\n2024-02-29 00:00:00.5,0\n2024-02-29 00:00:02.5,51", "t", "k"),
            (
                "t,k\n2024-02-28T23:59:59+00:00,72\n2024-02-29T01:00:00+0100,0\n2024-02-28T21:00:02-03:00,51",
                "t",
                "k",
            ),
            (
                "t,k\nFri Dec 31 23:59:59 UTC 2021,72\nSat Jan  1 00:00:00 UTC 2022,0\n\
                 Sat Jan  1 00:00:02 2022,51\n",
                "t",
                "k",
            ),
        ];
        for (text, time, value) in forms {
            assert_eq!(log(text, time, value), wanted, "{text}");
        }
        for text in [
            // A country's own time, before UTC; summer time begins; half of a day; a drive of
            // Starlink's.
            "t,k\nFri Dec 31 23:59:59 -03 2021,72\nSat Jan  1 00:00:00 -03 2022,0\nSat Jan  1 03:00:02 +0000 2022,51\n",
            "t,k\nSun Mar 28 01:59:59 CET 2021,72\nSun Mar 28 03:00:00 CEST 2021,0\nSun Mar 28 03:00:02 CEST 2021,51\n",
            "t,k\n2023-04-05 11:59:59 AM,72\n2023-04-05 12:00:00 PM,0\n2023-04-05 12:00:02 PM,51\n",
            "t,k\n2023-04-05 23:59:59 CDT,72\n2023-04-06 00:00:00 CDT,0\n2023-04-06 05:00:02 UTC,51\n",
            // Decimal commas where something else is between columns; an empty field at the end.
            "t;k\n0,0;72,0\n1,0;0,0\n3,0;51,0\n",
            "t,k\n0,72,\n1,0,\n3,51,\n",
        ] {
            assert_eq!(log(text, "t", "k"), wanted, "{text}");
        }
        let columns = Columns { times: Times::Every(Duration::from_millis(40)), value: "1", unit: 1.0 };
        let entries = read("900\n100\n250\n", &columns, &all).expect("a log");
        assert_eq!(entries.last(), Some(&Entry { at: Duration::from_millis(80), value: 250.0 }));
    }

    /// 72 for a second, 0 for two, 51 for two.
    #[test]
    fn an_extent_is_over_time() {
        let columns = Columns { times: Times::Column { name: "1", unit: 1.0 }, value: "2", unit: 1.0 };
        let extent = |text| Extent::of(&read(text, &columns, &all).expect("a log"));
        let span = Duration::from_secs;
        assert_eq!(
            extent("0 72\n1 0\n3 51\n"),
            Extent { lines: 3, span: span(5), least: 0.0, most: 72.0, mean: 34.8 }
        );
        assert_eq!(extent("5 7\n"), Extent { lines: 1, span: span(1), least: 7.0, most: 7.0, mean: 7.0 });
    }

    #[test]
    fn faults_have_their_line() {
        for (text, line, what) in [
            ("", 1, "is empty"),
            ("t,k\n", 1, "no line of values"),
            ("t,x\n0,1\n", 1, "no column `k`"),
            ("t,k\n0,1\n1\n", 3, "1 columns"),
            ("t,k\n0,1\n1,-\n", 3, "`-` is not a number"),
            ("t,k\n0,1\n1,-5\n", 3, "`-5` is not a number"),
            ("t,k\nnoon,1\n", 2, "`noon` is not a time"),
            ("t,k\n5,1\n4,1\n", 3, "before"),
            ("t,k\n2019-13-01 00:00:00,1\n", 2, "is not a time"),
            (
                "t k\n1 0 5.2\n2 1 6.1\n",
                2,
                "3 fields, and the first line has 2 names: give each column a name (R",
            ),
            ("t\tk\n1\t0\t5.2\n", 2, "3 fields"),
            ("t,k\n0,5,2\n1,6,4\n", 2, "3 fields"),
            ("t,k\n1634567890123,5\n1634567891123,6\n", 2, "past the year 5000 in this unit: say `time_unit"),
            ("t,k\n05-04-23 11:03:07,1\n", 2, "is not a time"),
            ("t,k\n28/03/2021 01:59:58,1\n", 2, "is not a time"),
            ("t,k\n2023-04-05 11:03:07 XYZ,1\n", 2, "is not a time: a number, a date"),
            ("t,k\n2023-04-05 13:03:07 PM,1\n", 2, "is not a time"),
            ("t,k\nSun Mar 28 01:59:59 IST 2021,1\n", 2, "is not a time"),
        ] {
            let error = log(text, "t", "k").expect_err(text);
            assert!(error.starts_with(&format!("line {line}: ")) && error.contains(what), "{error}");
        }
    }
}
