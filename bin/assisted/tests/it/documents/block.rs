//! Blocks of commands in documents, and what is written beside them about running them.

use std::path::{Path, PathBuf};

/// Root of the checkout.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// What a block of commands takes, by the word behind `console`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// No word: it runs wherever tests do.
    Nothing,
    /// `long`: machines, root, a network, or many minutes; tests of `--everything` run it.
    Everything,
    /// `output`: it shows what an installation said, and is there to be read.
    Reader,
}

/// A block between fences.
#[derive(Clone, Debug)]
pub struct Block {
    pub document: String,
    /// Line of its first fence, from 1.
    pub line: usize,
    /// What stands behind the first fence.
    pub info: String,
    pub lines: Vec<String>,
}

impl Block {
    /// Where it stands.
    pub fn place(&self) -> String {
        format!("{}:{}", self.document, self.line)
    }

    /// What it takes to run it; nothing for what are no commands.
    ///
    /// # Errors
    /// With what is wrong about it.
    pub fn needs(&self) -> Result<Option<Needs>, String> {
        let mut words = self.info.split_whitespace();
        if words.next() != Some("console") {
            let command = |line: &&String| {
                ["$ ", "assisted ", "assisted-host ", "cargo ", "sudo "]
                    .iter()
                    .any(|start| line.starts_with(start))
            };
            return match self.lines.iter().find(command) {
                None => Ok(None),
                Some(line) => Err(format!("{line:?} is a command: its block begins with ```console")),
            };
        }
        let needs = match words.collect::<Vec<_>>().as_slice() {
            [] => Needs::Nothing,
            ["long"] => Needs::Everything,
            ["output"] => return Ok(Some(Needs::Reader)),
            other => return Err(format!("{other:?} is no reason not to run it: long or output")),
        };
        match self.lines.iter().find(|line| !line.starts_with("$ ")) {
            None => Ok(Some(needs)),
            Some(line) => Err(format!("{line:?} is no command: those begin with a dollar sign")),
        }
    }

    /// Its commands.
    pub fn commands(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().filter_map(|line| line.strip_prefix("$ "))
    }
}

/// All blocks of a document.
pub fn blocks(document: &str) -> Vec<Block> {
    let text = std::fs::read_to_string(root().join(document)).unwrap();
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    for (number, line) in text.lines().enumerate() {
        match (line.trim_start().strip_prefix("```"), open.take()) {
            (Some(info), None) => {
                let (document, info) = (document.to_owned(), info.trim().to_owned());
                open = Some(Block { document, line: number + 1, info, lines: Vec::new() });
            }
            (Some(_), Some(block)) => blocks.push(block),
            (None, Some(mut block)) => {
                block.lines.push(line.to_owned());
                open = Some(block);
            }
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "{document}: a block is not closed");
    blocks
}

/// The documents that people read, by their paths in the checkout.
pub fn documents() -> Vec<String> {
    let mut found = vec!["README.md".to_owned(), "CONTRIBUTING.md".to_owned()];
    let mut folders = vec![PathBuf::from("docs")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(root().join(&folder)).unwrap() {
            let entry = entry.unwrap();
            let path = folder.join(entry.file_name());
            if entry.file_type().unwrap().is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                found.push(path.display().to_string());
            }
        }
    }
    found.sort();
    found
}
