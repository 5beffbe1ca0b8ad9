//! Reading archives as the kernel does: several one after the other, each plain or compressed, zeros between them.

use super::compression::{self, Kind};
use super::{ALIGN, HEADER, MAGIC, MAGIC_WITH_SUM, TRAILER};
use crate::error::{Error, Result};

/// What is read at most.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Bytes of all archives, unpacked.
    pub bytes: u64,
    pub members: usize,
}

impl Default for Limits {
    /// More than any Ignition archive or infra-env's ramdisk has.
    fn default() -> Self {
        Self { bytes: 64 << 20, members: 1 << 16 }
    }
}

/// A file, directory or link in an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// As it stands there.
    pub name: String,
    /// Kind of file and permissions.
    pub mode: u32,
    /// Of a symbolic link, its target.
    pub content: Vec<u8>,
}

/// The members of all archives in `bytes`, in their order: of two with one name, the later counts.
///
/// # Errors
/// When something is no archive, is cut off, or is more than `limits` allow.
pub fn read(mut bytes: &[u8], limits: Limits) -> Result<Vec<Member>> {
    let mut members = Vec::new();
    let mut left = limits.bytes;
    while skip_zeros(&mut bytes) {
        let Some(kind) = Kind::of(bytes) else {
            let before = bytes.len();
            archive(&mut bytes, limits.members, &mut members)?;
            left = left
                .checked_sub((before - bytes.len()) as u64)
                .ok_or_else(|| bad(format!("it has more than {} bytes", limits.bytes)))?;
            continue;
        };
        let unpacked = compression::unpack(kind, &mut bytes, left)
            .map_err(|error| bad(format!("{kind:?} stream: {error}")))?;
        left -= unpacked.len() as u64;
        let mut unpacked = unpacked.as_slice();
        while skip_zeros(&mut unpacked) {
            archive(&mut unpacked, limits.members, &mut members)?;
        }
    }
    Ok(members)
}

/// Moves to the next archive; false when there is none.
fn skip_zeros(bytes: &mut &[u8]) -> bool {
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    *bytes = &bytes[zeros..];
    !bytes.is_empty()
}

/// Reads one plain archive and moves behind it.
fn archive(bytes: &mut &[u8], most: usize, members: &mut Vec<Member>) -> Result<()> {
    loop {
        let (member, len) = member(bytes)?;
        // Padding of the last member may be missing where the archive ends.
        *bytes = bytes.get(len..).unwrap_or_default();
        if member.name == TRAILER {
            return Ok(());
        }
        if members.len() >= most {
            return Err(bad(format!("it has more than {most} members")));
        }
        members.push(member);
    }
}

/// The member at the beginning of `bytes`, and its length with padding.
fn member(bytes: &[u8]) -> Result<(Member, usize)> {
    if !bytes.starts_with(MAGIC) && !bytes.starts_with(MAGIC_WITH_SUM) {
        return Err(bad(if bytes.len() < MAGIC.len() { "it is cut off" } else { "it is no newc cpio" }));
    }
    let cut_off = || bad("it is cut off");
    let header = bytes.get(..HEADER).ok_or_else(cut_off)?;
    let (mode, len, name_len) = (number(header, 1)?, number(header, 6)?, number(header, 11)?);
    let name_end = HEADER + name_len as usize;
    let name = bytes.get(HEADER..name_end).and_then(|name| name.strip_suffix(b"\0")).ok_or_else(cut_off)?;
    // Some writers pad names with more than one zero.
    let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
    let start = name_end.next_multiple_of(ALIGN);
    let end = start + len as usize;
    let content = if len == 0 { &[] } else { bytes.get(start..end).ok_or_else(cut_off)? };
    let member = Member { name: String::from_utf8_lossy(name).into_owned(), mode, content: content.to_vec() };
    Ok((member, end.next_multiple_of(ALIGN)))
}

/// The number of eight hexadecimal digits at place `index`.
fn number(header: &[u8], index: usize) -> Result<u32> {
    let start = MAGIC.len() + 8 * index;
    let digits = &header[start..start + 8];
    // `from_str_radix` would accept a sign.
    std::str::from_utf8(digits)
        .ok()
        .filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
        .and_then(|digits| u32::from_str_radix(digits, 16).ok())
        .ok_or_else(|| bad("a header holds what is no number"))
}

fn bad(reason: impl Into<String>) -> Error {
    Error::Archive(reason.into())
}

#[cfg(test)]
mod tests {
    use super::super::{DIRECTORY, REGULAR, SYMLINK, Writer};
    use super::*;

    fn archive_of(name: &str, content: &[u8]) -> Vec<u8> {
        let mut writer = Writer::new();
        writer.file(name, 0o600, content);
        writer.finish()
    }

    fn names(bytes: &[u8]) -> Vec<String> {
        read(bytes, Limits::default()).unwrap().into_iter().map(|member| member.name).collect()
    }

    #[test]
    fn what_is_written_is_read() {
        let mut writer = Writer::new();
        writer.directory("/etc", 0o755).file("/etc/a", 0o600, b"abc").file("/etc/empty", 0o644, b"");
        writer.symlink("/etc/b", "a");
        let members = read(&writer.finish(), Limits::default()).unwrap();
        let told: Vec<_> = members.iter().map(|m| (m.name.as_str(), m.mode, m.content.as_slice())).collect();
        assert_eq!(
            told,
            [
                ("/etc", DIRECTORY | 0o755, &b""[..]),
                ("/etc/a", REGULAR | 0o600, b"abc"),
                ("/etc/empty", REGULAR | 0o644, b""),
                ("/etc/b", SYMLINK | 0o777, b"a"),
            ]
        );
    }

    #[test]
    fn archives_follow_one_another_in_any_compression() {
        let gzipped = |name| compression::gzip(&archive_of(name, b"x")).unwrap();
        let bytes = [
            archive_of("one", b"1"),
            vec![0; 512],
            gzipped("two"),
            gzipped("three"),
            vec![0; 3],
            archive_of("four", b"4"),
            gzipped("five"),
            vec![0; 1000],
        ]
        .concat();
        assert_eq!(names(&bytes), ["one", "two", "three", "four", "five"]);
        assert!(names(&[]).is_empty());
        assert!(names(&[0; 100]).is_empty());
    }

    /// `xz --check=crc32` and `zstd` of an archive with one member, each followed by another archive.
    #[test]
    fn streams_of_other_tools_are_read() {
        for packed in [
            &include_bytes!("../../tests/data/one.cpio.xz")[..],
            include_bytes!("../../tests/data/one.cpio.zst"),
        ] {
            let bytes = [packed, &[0; 4], &archive_of("two", b"2")].concat();
            let members = read(&bytes, Limits::default()).unwrap();
            assert_eq!(members.len(), 2);
            assert_eq!(
                (members[0].name.as_str(), members[0].content.as_slice()),
                ("config.ign", &b"{}\n"[..])
            );
        }
    }

    #[test]
    fn hostile_archives_are_refused() {
        let archive = archive_of("name", b"content");
        let with = |at: usize, text: &str| {
            let mut bytes = archive.clone();
            bytes[at..at + text.len()].copy_from_slice(text.as_bytes());
            bytes
        };
        for (bytes, reason) in [
            (with(0, "070707"), "no newc"),
            (with(54, "FFFFFFFF"), "cut off"),
            (with(94, "FFFFFFFF"), "cut off"),
            (with(94, "00000000"), "cut off"),
            (with(94, "+0000005"), "no number"),
            (archive[..archive.len() - 124].to_vec(), "cut off"),
            (compression::gzip(&archive).unwrap()[..40].to_vec(), "Gzip stream"),
            (b"\xfd7zXZ\0rubbish".to_vec(), "Xz stream"),
            (b"\x28\xb5\x2f\xfdrubbish".to_vec(), "Zstd stream"),
        ] {
            let error = read(&bytes, Limits::default()).unwrap_err().to_string();
            assert!(error.contains(reason), "{error:?} does not say {reason:?}");
        }
        let bomb = compression::gzip(&vec![0; 1 << 20]).unwrap();
        let limits = Limits { bytes: 1 << 19, members: 10 };
        assert!(read(&bomb, limits).unwrap_err().to_string().contains("more than 524288 bytes"));
        let many = archive.repeat(11);
        assert!(read(&many, limits).unwrap_err().to_string().contains("more than 10 members"));
    }
}
