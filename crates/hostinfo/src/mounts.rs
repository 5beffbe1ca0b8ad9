//! The mount table of the machine, not of the container this program may run in.

use crate::Root;

/// Source and mount point, in the order of mounting.
#[derive(Debug, Default)]
pub(crate) struct Mounts(Vec<(String, String)>);

impl Mounts {
    pub(crate) fn read(root: &Root) -> Self {
        Self(parse(&table(root)))
    }

    /// What is mounted on `target`.
    pub(crate) fn source_of(&self, target: &str) -> Option<&str> {
        self.0.iter().find(|(_, on)| on == target).map(|(source, _)| source.as_str())
    }

    /// Where `source` is mounted first.
    pub(crate) fn target_of(&self, source: &str) -> Option<&str> {
        self.0.iter().find(|(from, _)| from == source).map(|(_, on)| on.as_str())
    }
}

/// Where a device, or a part of it, is mounted, if it is: `device` is its path behind all links, such as `/dev/sda`.
pub fn mounted_from(root: &Root, device: &str) -> Option<String> {
    let name = device.strip_prefix("/dev/")?;
    let parts = root.list(&format!("/sys/class/block/{name}"));
    let parts = parts.iter().filter(|part| part.starts_with(name)).map(|part| format!("/dev/{part}"));
    let mounts = Mounts::read(root);
    std::iter::once(device.to_owned())
        .chain(parts)
        .find_map(|path| mounts.target_of(&path).map(str::to_owned))
}

/// The table as the kernel writes it: the first process's, where it can be read.
pub(crate) fn table(root: &Root) -> String {
    let tables = ["/proc/1/mounts", "/proc/mounts"].iter().map(|path| root.long_text(path));
    tables.into_iter().find(|text| !text.is_empty()).unwrap_or_default()
}

pub(crate) fn parse(table: &str) -> Vec<(String, String)> {
    table
        .lines()
        .filter_map(|line| {
            let mut words = line.split(' ');
            Some((unescape(words.next()?), unescape(words.next()?)))
        })
        .collect()
}

/// The kernel writes space, tab, newline and backslash as three octal digits.
fn unescape(word: &str) -> String {
    let escapes = [(r"\040", " "), (r"\011", "\t"), (r"\012", "\n"), (r"\134", r"\")];
    escapes.iter().fold(word.to_owned(), |word, (escape, plain)| word.replace(escape, plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_undone() {
        let mounts = Mounts(parse("/dev/sda1 /run/media/my\\040disk\\134x vfat rw 0 0\n\n/dev/sdb1\n"));
        assert_eq!(mounts.target_of("/dev/sda1"), Some(r"/run/media/my disk\x"));
        assert_eq!(mounts.source_of(r"/run/media/my disk\x"), Some("/dev/sda1"));
        assert_eq!(mounts.target_of("/dev/sdb1"), None);
    }
}
