//! A captured machine as one text that a person can read before handing it on.
//!
//! Each entry starts at the line's head:
//!
//! ```text
//! /sys/block/sda -> ../devices/…      a link
//! /sys/firmware/efi/                  a directory
//! /sys/block/sda/size = 125829120     a file of one line
//! /proc/meminfo =                     a file of the indented lines that follow
//!     MemTotal: 24684092 kB
//! /dev/sda : 00*510 55aa              a file of bytes; N*count repeats a byte
//! ```
//!
//! Empty lines and lines that start with `#` say nothing.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::str::FromStr;

use crate::Root;

const INDENT: &str = "    ";
/// Most bytes of one file written as bytes.
const MAX_BYTES: usize = 1 << 20;

#[derive(Clone, Debug, PartialEq)]
enum Node {
    File(Vec<u8>),
    Link(String),
    Dir,
}

/// Files, links and directories by their path.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tree(BTreeMap<String, Node>);

/// Why a text is no captured tree.
#[derive(Debug, thiserror::Error, PartialEq)]
#[error("line {line}: {reason}")]
pub struct TreeError {
    /// Counted from 1.
    pub line: usize,
    /// What is wrong with it.
    pub reason: &'static str,
}

impl Tree {
    /// Writes the tree into `dir`, for [`Root::captured`]. Links come last: nothing is written through them.
    ///
    /// # Errors
    /// When `dir` isn't there, can't be written, or an entry is both a file and a directory.
    pub fn unpack(&self, dir: &Path) -> io::Result<()> {
        let (links, others): (Vec<_>, Vec<_>) =
            self.0.iter().partition(|(_, node)| matches!(node, Node::Link(_)));
        for (path, node) in others.into_iter().chain(links) {
            let path = dir.join(path.trim_start_matches('/'));
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent)?;
            }
            match node {
                Node::File(bytes) => fs::write(path, bytes)?,
                Node::Dir => fs::create_dir_all(path)?,
                Node::Link(target) => symlink(target, path)?,
            }
        }
        Ok(())
    }

    pub(super) fn text(&mut self, path: &str, text: String) {
        self.bytes(path, text.into_bytes());
    }

    pub(super) fn bytes(&mut self, path: &str, bytes: Vec<u8>) {
        if is_plain(path) {
            self.0.insert(path.into(), Node::File(bytes));
        }
    }

    pub(super) fn empty_dir(&mut self, path: &str) {
        if is_plain(path) {
            self.0.entry(path.into()).or_insert(Node::Dir);
        }
    }

    /// The file behind `path`, where it really lies.
    pub(super) fn file(&mut self, root: &Root, path: &str) {
        if let (Some(real), Ok(bytes)) = (root.resolve(path), root.read(path, crate::root::MAX_FILE)) {
            self.bytes(&real, bytes);
        }
    }

    /// The file behind `path`, under that name: for attributes whose place doesn't matter.
    pub(super) fn copy(&mut self, root: &Root, path: &str) {
        if let Ok(bytes) = root.read(path, crate::root::MAX_FILE) {
            self.bytes(path, bytes);
        }
    }

    pub(super) fn link(&mut self, root: &Root, path: &str) {
        let Some((parent, name)) = path.rsplit_once('/') else { return };
        if let (Some(target), Some(parent)) = (root.link(path), root.resolve(parent)) {
            let path = format!("{}/{name}", parent.trim_end_matches('/'));
            if is_plain(&path) && !target.contains('\n') {
                self.0.insert(path, Node::Link(target));
            }
        }
    }

    /// The directory itself, without what is in it.
    pub(super) fn dir(&mut self, root: &Root, path: &str) {
        if root.is_dir(path) {
            self.empty_dir(path);
        }
    }

    /// The directory behind `path`, where it really lies.
    pub(super) fn real_dir(&mut self, root: &Root, path: &str) {
        if let Some(real) = root.resolve(path) {
            self.empty_dir(&real);
        }
    }
}

/// Whether a path can be written in the format and stays in its tree.
fn is_plain(path: &str) -> bool {
    path.strip_prefix('/').is_some_and(|path| {
        path.split('/').all(|part| !matches!(part, "" | "." | "..")) && !path.contains(char::is_whitespace)
    })
}

impl fmt::Display for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (path, node) in &self.0 {
            match node {
                Node::Dir => writeln!(f, "{path}/")?,
                Node::Link(target) => writeln!(f, "{path} -> {target}")?,
                Node::File(bytes) => match lines(bytes).as_deref() {
                    Some([line]) if !line.is_empty() => writeln!(f, "{path} = {line}")?,
                    Some(lines) => {
                        writeln!(f, "{path} =")?;
                        lines.iter().try_for_each(|line| writeln!(f, "{INDENT}{line}"))?;
                    }
                    None => writeln!(f, "{}", format!("{path} : {}", hex(bytes)).trim_end())?,
                },
            }
        }
        Ok(())
    }
}

/// The lines of a text that ends with a line's end; `None` for anything else.
fn lines(bytes: &[u8]) -> Option<Vec<&str>> {
    let text = str::from_utf8(bytes).ok()?.strip_suffix('\n')?;
    let plain = |c: char| c == '\n' || c == '\t' || !c.is_control();
    text.chars().all(plain).then(|| text.split('\n').collect())
}

/// Digits, with longer runs of one byte as words of their own.
fn hex(mut bytes: &[u8]) -> String {
    const LONG: usize = 4;
    let mut words = vec![String::new()];
    while let [first, ..] = bytes {
        let run = bytes.iter().take_while(|byte| *byte == first).count();
        let digits = format!("{first:02x}");
        if run >= LONG {
            words.extend([format!("{digits}*{run}"), String::new()]);
        } else if let Some(word) = words.last_mut() {
            word.push_str(&digits.repeat(run));
        }
        bytes = &bytes[run..];
    }
    words.retain(|word| !word.is_empty());
    words.join(" ")
}

impl FromStr for Tree {
    type Err = TreeError;

    fn from_str(text: &str) -> Result<Self, TreeError> {
        let mut tree = Self::default();
        let mut open: Option<String> = None;
        for (number, line) in text.split('\n').enumerate() {
            let fail = |reason| TreeError { line: number + 1, reason };
            if let Some(content) = line.strip_prefix(INDENT) {
                let file = open.as_ref().and_then(|path| tree.0.get_mut(path));
                let Some(Node::File(bytes)) = file else { return Err(fail("indented, but no file is open")) };
                bytes.extend(content.bytes().chain([b'\n']));
                continue;
            }
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (path, node) = entry(line).map_err(fail)?;
            if !is_plain(path) {
                return Err(fail("not an absolute, plain path"));
            }
            open = matches!(&node, Node::File(bytes) if bytes.is_empty()).then(|| path.to_owned());
            if tree.0.insert(path.to_owned(), node).is_some() {
                return Err(fail("path comes twice"));
            }
        }
        Ok(tree)
    }
}

fn entry(line: &str) -> Result<(&str, Node), &'static str> {
    let Some((path, rest)) = line.split_once(' ') else {
        return line
            .strip_suffix('/')
            .map(|path| (path, Node::Dir))
            .ok_or("neither link, directory nor file");
    };
    let (mark, value) = rest.split_once(' ').unwrap_or((rest, ""));
    let node = match mark {
        "->" if !value.is_empty() => Node::Link(value.to_owned()),
        "=" if value.is_empty() => Node::File(Vec::new()),
        "=" => Node::File(format!("{value}\n").into_bytes()),
        ":" => Node::File(unhex(value)?),
        _ => return Err("neither link, directory nor file"),
    };
    Ok((path, node))
}

fn unhex(text: &str) -> Result<Vec<u8>, &'static str> {
    let mut bytes = Vec::new();
    for word in text.split_whitespace() {
        let (digits, count) = match word.split_once('*') {
            Some((byte, count)) if byte.len() == 2 => (byte, count.parse().map_err(|_| "not a count")?),
            Some(_) => return Err("only a single byte repeats"),
            None => (word, 1),
        };
        if digits.len() % 2 != 0 || !digits.is_ascii() {
            return Err("not hexadecimal");
        }
        let pairs = (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16));
        let part: Vec<u8> = pairs.collect::<Result<_, _>>().map_err(|_| "not hexadecimal")?;
        if part.len().saturating_mul(count).saturating_add(bytes.len()) > MAX_BYTES {
            return Err("too many bytes");
        }
        bytes.extend(part.repeat(count));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let mut tree = Tree::default();
        tree.text("/a/one", "1\n".into());
        tree.text("/a/many", "1\n\n  2\n".into());
        tree.text("/a/newline", "\n".into());
        tree.text("/a/unended", "x".into());
        tree.bytes("/a/empty", Vec::new());
        tree.bytes("/a/sector", [vec![1, 2], vec![0; 510], vec![0x55, 0xaa]].concat());
        tree.empty_dir("/d");
        tree.0.insert("/l".into(), Node::Link("a/one".into()));
        let text = tree.to_string();
        assert_eq!(text.parse::<Tree>().unwrap(), tree, "{text}");
        assert!(text.contains("/a/sector : 0102 00*510 55aa\n"), "{text}");
    }

    #[test]
    fn hostile_text_is_refused() {
        for text in [
            "/../etc/passwd = x",
            "relative = x",
            "/a",
            "/a : 0",
            "/a : zz",
            "/a : 00*99999999",
            "/a : é0",
            "    lost",
            "/a = 1\n/a = 2",
            "/a ->",
        ] {
            assert!(text.parse::<Tree>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn nothing_is_written_through_a_link() {
        let dir = tempfile::tempdir().unwrap();
        let outside = dir.path().join("outside");
        fs::create_dir(&outside).unwrap();
        let inside = dir.path().join("inside");
        fs::create_dir(&inside).unwrap();
        let tree: Tree = format!("/a -> {}\n/a/b = 1\n", outside.display()).parse().unwrap();
        assert!(tree.unpack(&inside).is_err());
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
    }
}
