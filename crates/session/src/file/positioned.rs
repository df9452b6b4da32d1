//! Reading and writing at an offset, without the position that all handles of a file share.

use std::fs::File;
use std::io;

/// Bytes read at once.
pub(super) const BLOCK: usize = 1 << 18;

/// Reads up to [`BLOCK`] bytes at an offset; fewer only at the end of the file.
pub(super) fn read_block(file: &File, offset: u64) -> io::Result<Vec<u8>> {
    let mut block = vec![0; BLOCK];
    let mut length = 0;
    while let Some(rest) = block.get_mut(length..).filter(|rest| !rest.is_empty()) {
        let at = offset.saturating_add(tfrc_units::saturating(length));
        match read_at(file, rest, at) {
            Ok(0) => break,
            Ok(read) => length += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    block.truncate(length);
    Ok(block)
}

#[cfg(unix)]
fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, offset)
}

#[cfg(windows)]
fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, offset)
}

/// Writes all of these bytes at an offset.
#[cfg(unix)]
pub(super) fn write_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, offset)
}

/// Writes all of these bytes at an offset.
#[cfg(windows)]
pub(super) fn write_at(file: &File, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        let written = std::os::windows::fs::FileExt::seek_write(file, bytes, offset)?;
        if written == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        bytes = bytes.get(written..).unwrap_or_default();
        offset += tfrc_units::saturating::<u64>(written);
    }
    Ok(())
}
