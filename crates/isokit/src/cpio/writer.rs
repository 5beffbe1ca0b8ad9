//! Writing an archive, by the kernel's rules (image-service §2.7): the mode tells the kind of file, or the kernel drops it
//! silently; a directory comes before what is in it; no two members share an inode number or have several links, or
//! they are hard links.

use super::{ALIGN, DIRECTORY, HEADER, MAGIC, REGULAR, SYMLINK, TRAILER};

/// An archive that grows member by member. It is the same for the same members: no times, no owners.
#[derive(Debug, Default)]
pub struct Writer {
    bytes: Vec<u8>,
    members: u32,
}

impl Writer {
    pub fn new() -> Self {
        Self::default()
    }

    /// `mode`: the permission bits.
    pub fn file(&mut self, name: &str, mode: u32, content: &[u8]) -> &mut Self {
        self.member(name, REGULAR | mode, content)
    }

    pub fn directory(&mut self, name: &str, mode: u32) -> &mut Self {
        self.member(name, DIRECTORY | mode, &[])
    }

    pub fn symlink(&mut self, name: &str, target: &str) -> &mut Self {
        self.member(name, SYMLINK | 0o777, target.as_bytes())
    }

    fn member(&mut self, name: &str, mode: u32, content: &[u8]) -> &mut Self {
        self.members += 1;
        self.record(name, self.members, mode, content);
        self
    }

    fn record(&mut self, name: &str, inode: u32, mode: u32, content: &[u8]) {
        // Members are configuration files; what would not fit 32 bits is never in memory.
        let len = |bytes: usize| u32::try_from(bytes).unwrap_or(u32::MAX);
        let numbers = [inode, mode, 0, 0, 1, 0, len(content.len()), 0, 0, 0, 0, len(name.len() + 1), 0];
        self.bytes.reserve(HEADER + name.len() + content.len() + 2 * ALIGN);
        self.bytes.extend_from_slice(MAGIC);
        for number in numbers {
            self.bytes.extend_from_slice(format!("{number:08X}").as_bytes());
        }
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.push(0);
        self.align();
        self.bytes.extend_from_slice(content);
        self.align();
    }

    fn align(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(ALIGN), 0);
    }

    /// The archive with its end.
    pub fn finish(mut self) -> Vec<u8> {
        self.record(TRAILER, 0, 0, &[]);
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_config_has_the_published_size() {
        let mut archive = Writer::new();
        archive.file("config.ign", 0o644, b"someignitioncontent");
        let bytes = archive.finish();
        assert_eq!(bytes.len(), 268);
        assert!(bytes.starts_with(b"0707010000000100008")); // inode 1, a regular file
        assert_eq!(&bytes[14..22], b"000081A4");
    }
}
