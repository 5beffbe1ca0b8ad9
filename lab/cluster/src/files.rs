//! Files as they are written here: with their folders, and never half.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use anyhow::{Context, Result, bail};

/// Longest file that is read, in bytes.
const LONGEST: u64 = 64 << 20;

/// Writes a file in the place of one that may be there.
pub fn write(path: impl AsRef<Path>, mode: u32, content: impl AsRef<[u8]>) -> Result<()> {
    let path = path.as_ref();
    let told = || format!("can't write {}", path.display());
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(told)?;
    }
    let mut name = path.file_name().with_context(told)?.to_owned();
    name.push(".new");
    let new = path.with_file_name(name);
    let mut file = fs::File::options()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(mode)
        .open(&new)
        .with_context(told)?;
    file.set_permissions(fs::Permissions::from_mode(mode)).with_context(told)?;
    file.write_all(content.as_ref()).with_context(told)?;
    drop(file);
    fs::rename(&new, path).with_context(told)
}

/// Reads a file of a bounded length.
pub fn read(path: impl AsRef<Path>) -> Result<Vec<u8>> {
    let path = path.as_ref();
    let told = || format!("can't read {}", path.display());
    let mut content = Vec::new();
    let file = fs::File::open(path).with_context(told)?;
    file.take(LONGEST + 1).read_to_end(&mut content).with_context(told)?;
    if content.len() as u64 > LONGEST {
        bail!("{} is longer than {LONGEST} bytes", path.display());
    }
    Ok(content)
}

/// Reads a text.
pub fn text(path: impl AsRef<Path>) -> Result<String> {
    let path = path.as_ref();
    String::from_utf8(read(path)?).with_context(|| format!("{} is no text", path.display()))
}

/// This very program.
pub fn read_program() -> Result<Vec<u8>> {
    fs::read("/proc/self/exe").context("this program can't be read")
}
