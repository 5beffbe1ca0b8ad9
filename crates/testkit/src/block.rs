//! Blocks of commands in documents, and what is written beside them about running them.

/// What each command of a block begins with.
const PROMPT: &str = "$ ";

/// What people type.
const PROGRAMS: &[&str] = &[
    "apt",
    "assisted",
    "assisted-host",
    "assisted-lab",
    "cargo",
    "clusterctl",
    "cosign",
    "curl",
    "export",
    "kubectl",
    "make",
    "oc",
    "sudo",
    "systemctl",
];

/// What a block of commands takes, by the word behind `console`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// No word: it runs wherever tests do.
    Nothing,
    /// `long`: machines, root, a network, or many minutes; tests of `--everything` run it.
    Everything,
    /// `output`: it shows what an installation said, too, and is there to be read.
    Reader,
    /// `site`: what only its reader has, such as a rack, a hub or a registry. Tests look at the words of its commands, and run nothing.
    Site,
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
            let is_command = |line: &&String| {
                let program = line.split(' ').next().unwrap_or_default();
                line.starts_with(PROMPT) || PROGRAMS.contains(&program)
            };
            return match self.lines.iter().find(is_command) {
                None => Ok(None),
                Some(line) => Err(format!("{line:?} is a command: its block begins with ```console")),
            };
        }
        let needs = match words.collect::<Vec<_>>().as_slice() {
            [] => Needs::Nothing,
            ["long"] => Needs::Everything,
            ["site"] => Needs::Site,
            ["output"] => {
                return match self.lines.iter().find(|line| !line.starts_with(PROMPT)) {
                    Some(_) => Ok(Some(Needs::Reader)),
                    None => Err("it has no output".to_owned()),
                };
            }
            other => return Err(format!("{other:?} is no reason not to run it: long, site or output")),
        };
        match self.lines.iter().find(|line| !line.starts_with(PROMPT)) {
            None => Ok(Some(needs)),
            Some(line) => Err(format!("{line:?} is no command: those begin with a dollar sign")),
        }
    }

    /// Its commands.
    pub fn commands(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().filter_map(|line| line.strip_prefix(PROMPT))
    }
}

/// All blocks of a document's text.
///
/// # Errors
/// A block is not closed.
pub fn blocks(document: &str, text: &str) -> Result<Vec<Block>, String> {
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
    match open {
        None => Ok(blocks),
        Some(block) => Err(format!("{}: a block is not closed", block.place())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_has_its_place_and_its_lines() {
        let text = "a\n```console long\n$ one\n$ two\n```\n  ```\n  text\n  ```\n";
        let found = blocks("a.md", text).unwrap();
        assert_eq!(found.iter().map(Block::place).collect::<Vec<_>>(), ["a.md:2", "a.md:6"]);
        assert_eq!(found[0].commands().collect::<Vec<_>>(), ["one", "two"]);
        assert_eq!(found[0].needs(), Ok(Some(Needs::Everything)));
        assert_eq!((found[1].info.as_str(), found[1].needs()), ("", Ok(None)));
        let needs = |text: &str| blocks("a.md", text).unwrap()[0].needs();
        assert_eq!(needs("```console site\n$ make\n```\n"), Ok(Some(Needs::Site)));
        assert_eq!(needs("```console output\n$ make\ndone\n```\n"), Ok(Some(Needs::Reader)));
        assert_eq!(needs("```console output\n$ make\n```\n").unwrap_err(), "it has no output");
        assert!(needs("```\nkubectl apply -k .\n```\n").unwrap_err().contains("its block begins with"));
        assert_eq!(blocks("a.md", "\n```console\n$ one\n").unwrap_err(), "a.md:2: a block is not closed");
    }
}
