//! Reading a journal, with a check of every block.

use std::io::{self, Read};

use tfrc_units::{Instant, saturating};

use super::block::{Chain, HEAD, MAGIC, MAX_BODY, VERSION, parse_head};
use super::record::{END, Record, SETUP, Setup, Timed};

/// Why a journal cannot be read, and where.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// The file does not begin like a journal.
    #[error("this is not a tfrc journal: it does not begin with \"{MAGIC}\" and a version")]
    NotAJournal,
    /// A program of another version wrote it.
    #[error("this is a journal of version {found}; this program reads version {VERSION}")]
    Version {
        /// The version of the journal.
        found: u32,
    },
    /// A byte was changed, lost or added.
    #[error(
        "block {block} at byte {offset} does not match its check value: the journal was changed there or just before"
    )]
    Altered {
        /// Number of the block, from 0.
        block: u64,
        /// Where the block begins in the file.
        offset: u64,
    },
    /// The file ends too early.
    #[error(
        "the journal ends in or before block {block}, which begins at byte {offset}: it was cut off, or its writer did not finish"
    )]
    CutOff {
        /// Number of the block that is missing or not whole.
        block: u64,
        /// Where that block begins: as far the journal is whole.
        offset: u64,
    },
    /// There is something behind the last block.
    #[error("there are bytes behind the last block, from byte {offset}")]
    Trailing {
        /// Where the journal should have ended.
        offset: u64,
    },
    /// A block whose check value is right makes no sense: another program or version wrote it.
    #[error("block {block} at byte {offset} is of a kind or form that this version does not know")]
    Unknown {
        /// Number of the block, from 0.
        block: u64,
        /// Where the block begins in the file.
        offset: u64,
    },
    /// The file cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Reads a journal, checking every block.
#[derive(Debug)]
pub struct Reader<R> {
    input: R,
    chain: Chain,
    block: u64,
    offset: u64,
    ended: bool,
    setup: Setup,
}

impl<R: Read> Reader<R> {
    /// Opens a journal and reads its setup.
    ///
    /// # Errors
    /// [`JournalError`] if it is none or its first block is not right.
    pub fn new(mut input: R) -> Result<Self, JournalError> {
        let (found, length) = read_version(&mut input).ok_or(JournalError::NotAJournal)?;
        if found != VERSION {
            return Err(JournalError::Version { found });
        }
        let offset = saturating::<u64>(length);
        let empty = Setup { version: String::new(), options: crate::Options::default(), seed: [0; 32] };
        let mut reader = Self { input, chain: Chain::new(), block: 0, offset, ended: false, setup: empty };
        let (kind, _, body) = reader.next_block()?;
        let unknown = JournalError::Unknown { block: 0, offset };
        if kind != SETUP {
            return Err(unknown);
        }
        reader.setup = serde_json::from_slice(&body).map_err(|_| unknown)?;
        Ok(reader)
    }

    /// The setup that the machine was made from.
    #[must_use]
    pub const fn setup(&self) -> &Setup {
        &self.setup
    }

    /// Blocks read so far.
    #[must_use]
    pub const fn blocks(&self) -> u64 {
        self.block
    }

    /// The next record; `None` at the end.
    ///
    /// # Errors
    /// [`JournalError`] where the journal is not as it was written.
    pub fn next_record(&mut self) -> Result<Option<Timed>, JournalError> {
        if self.ended {
            return Ok(None);
        }
        let (block, offset) = (self.block, self.offset);
        let (kind, at, body) = self.next_block()?;
        if kind == END {
            self.ended = true;
            if body != block.to_le_bytes() {
                return Err(JournalError::Altered { block, offset });
            }
            return match self.input.read(&mut [0])? {
                0 => Ok(None),
                _ => Err(JournalError::Trailing { offset: self.offset }),
            };
        }
        let record = Record::decode(kind, &body).ok_or(JournalError::Unknown { block, offset })?;
        Ok(Some((Instant::from_nanos(at), record)))
    }

    fn next_block(&mut self) -> Result<(u8, u64, Vec<u8>), JournalError> {
        let (block, offset) = (self.block, self.offset);
        let mut head = [0; HEAD];
        self.fill(&mut head)?;
        let (kind, at, length) = parse_head(&head);
        let altered = JournalError::Altered { block, offset };
        if length > MAX_BODY || (kind == END && length != END_BODY) {
            return Err(altered);
        }
        let (length, mut body) = (saturating::<usize>(length), Vec::new());
        self.input.by_ref().take(saturating::<u64>(length + CHECK)).read_to_end(&mut body)?;
        let Some(check) = body.get(length..).and_then(<[u8]>::first_chunk) else {
            // A journal with its end has lost nothing: the length of this block is wrong.
            return Err(if ends(&body) { altered } else { JournalError::CutOff { block, offset } });
        };
        let check = u64::from_le_bytes(*check);
        body.truncate(length);
        if self.chain.next(&head, &body) != check {
            return Err(altered);
        }
        self.block += 1;
        self.offset += saturating::<u64>(HEAD + length + CHECK);
        Ok((kind, at, body))
    }

    fn fill(&mut self, buffer: &mut [u8]) -> Result<(), JournalError> {
        match self.input.read_exact(buffer) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                Err(JournalError::CutOff { block: self.block, offset: self.offset })
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// Length of the body of the last block, the number of blocks.
const END_BODY: u32 = 8;
/// Length of a check value.
const CHECK: usize = 8;

/// Returns true if these bytes end with what looks like the last block of a whole journal.
fn ends(bytes: &[u8]) -> bool {
    let start = bytes.len().checked_sub(HEAD + saturating::<usize>(END_BODY) + CHECK);
    let head = start.and_then(|start| bytes.get(start..)).and_then(<[u8]>::first_chunk);
    head.is_some_and(|head| matches!(parse_head(head), (END, _, END_BODY)))
}

/// The version that the first line names, and the length of that line.
fn read_version(input: &mut impl Read) -> Option<(u32, usize)> {
    const LONGEST: usize = MAGIC.len() + 11;
    let mut line = Vec::new();
    while line.last() != Some(&b'\n') && line.len() < LONGEST {
        let mut byte = [0];
        input.read_exact(&mut byte).ok()?;
        line.extend(byte);
    }
    let version = line.strip_prefix(MAGIC.as_bytes())?.strip_suffix(b"\n")?;
    Some((std::str::from_utf8(version).ok()?.parse().ok()?, line.len()))
}
