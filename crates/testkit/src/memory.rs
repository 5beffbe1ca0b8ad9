//! Folders for what is written by a test and read by nobody after it.

use std::io;
use std::path::Path;

use rustix::fs::statvfs;
use tempfile::TempDir;

/// Bytes that must be free in memory for a folder to be there.
const ROOM: u64 = 1 << 30;

/// A folder in memory, if there is room, or else on the disk: each commit to a database there would wait for the disk.
///
/// # Errors
/// It can't be made.
pub fn memory_dir() -> io::Result<TempDir> {
    let memory = Path::new("/dev/shm");
    let has_room = statvfs(memory).is_ok_and(|room| room.f_bavail.saturating_mul(room.f_frsize) > ROOM);
    if has_room { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }
}
