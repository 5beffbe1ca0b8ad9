//! Finding a file by its path, in either of its names, whatever the case.

use super::{Index, Iso, Node};
use crate::error::{Error, Result};

impl Iso {
    /// The file or directory at `path` (`/` or nothing in front). Rock Ridge names come first, then names of the primary
    /// tree, then what a name becomes in a primary tree of 8.3 names.
    pub fn find(&self, path: &str) -> Option<Index> {
        let mut at = Self::ROOT;
        for part in path.split('/').filter(|part| !part.is_empty()) {
            let children = self.node(at).children.as_ref()?;
            let by = |matches: &dyn Fn(&Node) -> bool| {
                children.iter().copied().find(|child| matches(self.node(*child)))
            };
            at = by(&|node| node.name == part)
                .or_else(|| by(&|node| node.name.eq_ignore_ascii_case(part)))
                .or_else(|| by(&|node| primary(node).eq_ignore_ascii_case(part.as_bytes())))
                .or_else(|| {
                    let short = short_name(part);
                    by(&|node| !node.has_rock_ridge_name && primary(node).eq_ignore_ascii_case(&short))
                })?;
        }
        Some(at)
    }

    /// The file at `path`.
    ///
    /// # Errors
    /// [`Error::NotFound`] when there is none, or it is a directory.
    pub fn file(&self, path: &str) -> Result<&Node> {
        self.find_file(path).ok_or_else(|| Error::NotFound(path.to_owned()))
    }

    pub(crate) fn find_file(&self, path: &str) -> Option<&Node> {
        self.find(path).map(|index| self.node(index)).filter(|node| !node.is_directory())
    }

    /// All files, in no order that means anything.
    pub fn files(&self) -> impl Iterator<Item = (Index, &Node)> {
        self.nodes().iter().enumerate().filter(|(_, node)| !node.is_directory())
    }

    /// The path of a file or directory, from the root's slash.
    pub fn path(&self, index: Index) -> String {
        let mut names = Vec::new();
        let mut at = index;
        while at != Self::ROOT {
            let node = self.node(at);
            names.push(node.name.as_str());
            at = node.parent;
        }
        names.iter().rev().flat_map(|name| ["/", *name]).collect()
    }
}

/// The identifier without version and without the point of an empty extension.
fn primary(node: &Node) -> &[u8] {
    let name = node.identifier.split(|byte| *byte == b';').next().unwrap_or_default();
    name.strip_suffix(b".").unwrap_or(name)
}

/// What becomes of a name where only eight characters, a point and three characters are allowed.
pub(crate) fn short_name(name: &str) -> Vec<u8> {
    let (stem, extension) = match name.rsplit_once('.') {
        Some((stem, extension)) if !stem.is_empty() => (stem, extension),
        _ => (name, ""),
    };
    let legal = |text: &str, len: usize| {
        let legal = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() as u8 } else { b'_' };
        text.chars().take(len).map(legal).collect::<Vec<_>>()
    };
    let mut short = legal(stem, 8);
    if !extension.is_empty() {
        short.push(b'.');
        short.extend(legal(extension, 3));
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_shortened_as_on_a_live_iso() {
        for (name, short) in [
            ("igninfo.json", "IGNINFO.JSO"),
            ("isolinux.cfg", "ISOLINUX.CFG"),
            ("assisted_installer_custom.img", "ASSISTED.IMG"),
            ("rhcos-418.94.tar", "RHCOS_41.TAR"),
            (".cmdline", "_CMDLINE"),
            ("EFI", "EFI"),
        ] {
            assert_eq!(String::from_utf8(short_name(name)).unwrap(), short);
        }
    }
}
