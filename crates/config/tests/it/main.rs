//! What an administrator can set is read.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// What stands in a source: its words, and those behind a dot.
struct Source {
    words: HashSet<String>,
    fields: HashSet<String>,
}

impl Source {
    fn read(path: &Path) -> Self {
        let text = std::fs::read_to_string(path).unwrap();
        // What a test beside the code reads, the program does not.
        let text = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
        let ends = |c: char| !c.is_alphanumeric() && c != '_';
        let first = |rest: &str| rest.split(ends).next().unwrap_or_default().to_owned();
        Self {
            words: text.split(ends).map(str::to_owned).collect(),
            fields: text.split('.').skip(1).map(first).collect(),
        }
    }
}

/// Sources of the project, but those of the settings themselves and of tests.
fn sources(folder: &Path, found: &mut Vec<Source>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            let skipped = ["config", "tests", "target"].iter().any(|name| path.ends_with(name));
            if !skipped {
                sources(&path, found);
            }
        } else if path.ends_with("service/src/policy.rs") {
            // It copies what it does not use.
        } else if path.extension().is_some_and(|end| end == "rs") && !path.ends_with("tests.rs") {
            found.push(Source::read(&path));
        }
    }
}

#[test]
fn no_setting_is_declared_in_vain() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut read = Vec::new();
    for part in ["crates", "bin"] {
        sources(&root.join(part), &mut read);
    }
    assert!(read.len() > 500, "{}", read.len());
    let in_vain: Vec<_> = assisted_config::variables()
        .into_iter()
        .filter(|variable| {
            let (section, field) = variable.field;
            let of_topic =
                |source: &&Source| source.words.contains(section) || source.words.contains(variable.topic);
            let is_read = read.iter().filter(of_topic).any(|source| source.fields.contains(field));
            !is_read
        })
        .map(|variable| variable.name)
        .collect();
    assert!(in_vain.is_empty(), "nothing reads {in_vain:?}");
}
