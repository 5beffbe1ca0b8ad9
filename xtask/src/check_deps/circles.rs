//! Circles: files of a crate that use each other in a loop, so that none can be understood without all.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::sources::Crate;
use crate::run::root;

/// Crates that have circles, and how many files stand in them at the most: a number may only become smaller.
const KNOWN: &[(&str, usize)] = &[];

/// Checks that no crate has more files in circles than it is known to have; returns how many files were read, and how many stand in
/// circles.
pub fn check() -> Result<(usize, usize)> {
    let mut graph = Graph::default();
    for file in crate_roots(&root())? {
        graph.read(&root(), &file, &|file| fs::read_to_string(file))?;
    }
    let (circles, wrong) = (circles(&graph.arrows), graph.violations(KNOWN));
    if !wrong.is_empty() {
        bail!("files use each other in a circle ({}):\n  {}", file!(), wrong.join("\n  "));
    }
    Ok((graph.arrows.len(), circles.iter().map(BTreeSet::len).sum()))
}

/// The files at the roots of all crates.
fn crate_roots(root: &Path) -> Result<Vec<PathBuf>> {
    let mut crates = vec![root.join("lab"), root.join("xtask")];
    for folder in ["crates", "bin", "lab"] {
        for entry in fs::read_dir(root.join(folder)).with_context(|| format!("can't read {folder}"))? {
            crates.push(entry?.path());
        }
    }
    let roots = crates.iter().flat_map(|folder| ["src/lib.rs", "src/main.rs"].map(|file| folder.join(file)));
    Ok(roots.filter(|file| file.is_file()).collect())
}

/// Files by their paths from the root of the workspace, each with those that it uses.
#[derive(Debug, Default)]
struct Graph {
    arrows: BTreeMap<String, BTreeSet<String>>,
}

impl Graph {
    fn read(&mut self, root: &Path, file: &Path, read: &dyn Fn(&Path) -> io::Result<String>) -> Result<()> {
        let name = |file: &Path| file.strip_prefix(root).unwrap_or(file).display().to_string();
        for (from, to) in Crate::read(file, read)?.arrows() {
            self.arrows.entry(name(from)).or_default().extend(to.into_iter().map(name));
        }
        Ok(())
    }

    /// The circles of crates that have more files in them than they are known to have.
    fn violations(&self, known: &[(&str, usize)]) -> Vec<String> {
        let mut by_crate: BTreeMap<&str, Vec<BTreeSet<&str>>> = BTreeMap::new();
        for circle in circles(&self.arrows) {
            let name = circle.first().and_then(|file| file.split_once("src/")).map_or("", |(name, _)| name);
            by_crate.entry(name.trim_end_matches('/')).or_default().push(circle);
        }
        let mut wrong = Vec::new();
        for (name, circles) in by_crate {
            let most = known.iter().find(|(known, _)| *known == name).map_or(0, |(_, most)| *most);
            let files: usize = circles.iter().map(BTreeSet::len).sum();
            if files > most {
                wrong.push(format!("{name}: {files} files stand in circles, {most} at the most are known:"));
                wrong.extend(circles.iter().flat_map(|circle| self.describe(circle)));
            }
        }
        wrong
    }

    /// What ties a circle.
    fn describe(&self, circle: &BTreeSet<&str>) -> Vec<String> {
        let mut lines = vec![format!("  a circle of {} files:", circle.len())];
        for from in circle {
            let used = self.arrows[*from].iter().filter(|to| circle.contains(to.as_str()));
            lines.extend(used.map(|to| format!("    {from} uses {to}")));
        }
        lines
    }
}

/// The sets of more than one file of which each reaches each.
fn circles(arrows: &BTreeMap<String, BTreeSet<String>>) -> Vec<BTreeSet<&str>> {
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        arrows.keys().map(|file| (file.as_str(), reach(arrows, file))).collect();
    let mut found: Vec<BTreeSet<&str>> = Vec::new();
    for (file, reaches) in reached.iter().filter(|(file, reaches)| reaches.contains(*file)) {
        if found.iter().all(|circle| !circle.contains(file)) {
            let is_back = |other: &&&str| reached.get(**other).is_some_and(|back| back.contains(file));
            found.push(reaches.iter().filter(is_back).copied().collect());
        }
    }
    found
}

/// The files that a file uses, straight or through others.
fn reach<'a>(arrows: &'a BTreeMap<String, BTreeSet<String>>, from: &str) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut next: Vec<&str> = arrows.get(from).into_iter().flatten().map(String::as_str).collect();
    while let Some(file) = next.pop() {
        if reached.insert(file) {
            next.extend(arrows.get(file).into_iter().flatten().map(String::as_str));
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A crate of files with these texts.
    fn graph(files: &[(&str, &str)]) -> Graph {
        let read = |path: &Path| {
            let found = files.iter().find(|(file, _)| Path::new(file) == path);
            found.map(|(_, text)| (*text).to_owned()).ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
        };
        let mut graph = Graph::default();
        graph.read(Path::new(""), Path::new("lib.rs"), &read).unwrap();
        graph
    }

    fn used(graph: &Graph, file: &str) -> Vec<String> {
        graph.arrows[file].iter().cloned().collect()
    }

    #[test]
    fn a_circle_is_found_and_an_exception_cuts_it() {
        let graph = graph(&[
            ("lib.rs", "mod a; mod b; mod c;"),
            ("a.rs", "use crate::b::B; pub struct A;"),
            ("b.rs", "use super::c; pub struct B; fn f() { c::g(); }"),
            ("c.rs", "pub fn g() -> crate::a::A { todo() }"),
        ]);
        let wrong = graph.violations(&[]);
        assert_eq!(wrong.len(), 5, "{wrong:?}");
        assert!(wrong[0].contains("3 files stand in circles, 0 at the most"), "{wrong:?}");
        assert!(wrong.contains(&"    b.rs uses c.rs".to_owned()), "{wrong:?}");
        assert_eq!(graph.violations(&[("", 3)]), Vec::<String>::new());
        assert!(!graph.violations(&[("", 2)]).is_empty());
    }

    #[test]
    fn a_name_that_is_handed_on_is_of_the_file_that_defines_it() {
        let graph = graph(&[
            ("lib.rs", "mod a; mod b; pub use a::Thing;"),
            ("a/mod.rs", "mod thing; mod other; pub use thing::Thing; pub use other::*;"),
            ("a/thing.rs", "pub struct Thing;"),
            ("a/other.rs", "use super::Thing; pub enum Other {}"),
            ("b.rs", "use crate::{Thing, a::Other}; use std::fmt;"),
        ]);
        assert_eq!(used(&graph, "a/other.rs"), ["a/thing.rs"]);
        assert_eq!(used(&graph, "b.rs"), ["a/other.rs", "a/thing.rs"]);
        assert!(used(&graph, "a/mod.rs").is_empty());
        assert!(used(&graph, "lib.rs").is_empty());
    }

    #[test]
    fn a_head_may_use_its_folder_and_others_the_head() {
        let graph = graph(&[
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "mod inner; pub use inner::Inner; pub struct A(Inner); use crate::b::B;"),
            ("a/inner.rs", "pub struct Inner; impl From<super::A> for Inner {}"),
            ("b.rs", "pub struct B(crate::a::Inner);"),
        ]);
        assert_eq!(used(&graph, "a.rs"), ["b.rs"]);
        assert_eq!(used(&graph, "a/inner.rs"), ["a.rs"]);
        // a.rs -> b.rs -> a/inner.rs -> a.rs
        assert_eq!(graph.violations(&[]).len(), 5);
    }

    #[test]
    fn tests_and_comments_draw_no_arrow() {
        let graph = graph(&[
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "//! [`crate::b`]\n#[cfg(test)] mod tests { use crate::b::B; }"),
            ("b.rs", "pub struct B; const T: &str = \"crate::a\"; use crate::a::f;"),
        ]);
        assert!(used(&graph, "a.rs").is_empty());
        assert_eq!(used(&graph, "b.rs"), ["a.rs"]);
    }
}
