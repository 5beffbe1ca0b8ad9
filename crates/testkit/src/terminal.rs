//! What documents tell people to type, typed as it stands.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::block::{Needs, blocks};

/// The commands of a document's text, by blocks.
///
/// # Errors
/// A line of a block is no command, or a block is not closed.
pub fn typed(text: &str) -> Result<Vec<Vec<String>>, String> {
    let mut typed = Vec::new();
    for block in blocks("", text)? {
        if block.needs()? == Some(Needs::Nothing) {
            typed.push(block.commands().map(str::to_owned).collect());
        }
    }
    Ok(typed)
}

/// The same command with an end after so many seconds.
pub fn limited(seconds: u32, command: &Command) -> Command {
    let mut limited = Command::new("timeout");
    limited.arg(seconds.to_string()).arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => limited.env(name, value),
            None => limited.env_remove(name),
        };
    }
    if let Some(dir) = command.get_current_dir() {
        limited.current_dir(dir);
    }
    limited
}

/// A folder in which commands are typed.
#[derive(Debug)]
pub struct Terminal {
    dir: TempDir,
    path: String,
    limit: u32,
    env: Vec<(String, String)>,
}

impl Terminal {
    /// An empty folder, with programs that are found before others. Each command has so many seconds, whatever time it gives itself.
    ///
    /// # Errors
    /// The folder can't be made.
    pub fn open(programs: &[PathBuf], limit: u32) -> io::Result<Self> {
        let folders = programs.iter().filter_map(|program| program.parent());
        let mut path: String = folders.map(|folder| format!("{}:", folder.display())).collect();
        path.push_str(&std::env::var("PATH").unwrap_or_default());
        Ok(Self { dir: TempDir::new()?, path, limit, env: Vec::new() })
    }

    /// Sets a variable for all commands.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.env.push((name.to_owned(), value.into()));
        self
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        self.dir.path()
    }

    /// Writes a file there, and the folders that it is in.
    ///
    /// # Errors
    /// It can't be written.
    pub fn write(&self, file: &str, content: impl AsRef<[u8]>) -> io::Result<()> {
        let file = self.dir.path().join(file);
        if let Some(folder) = file.parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::write(file, content)
    }

    /// Types the commands of a block, with `value` in the place of `word`; each has to succeed.
    ///
    /// # Errors
    /// One does not; with what it said.
    pub fn follow(&self, block: &[String], word: &str, value: &str) -> Result<(), String> {
        for command in block {
            let command = if value.is_empty() { command.clone() } else { command.replace(word, value) };
            let mut bash = Command::new("bash");
            bash.args(["-o", "pipefail", "-c", &command]).current_dir(self.dir.path());
            bash.env("PATH", &self.path).envs(self.env.iter().map(|(name, value)| (name, value)));
            let output =
                limited(self.limit, &bash).output().map_err(|error| format!("$ {command}\n{error}"))?;
            if !output.status.success() {
                let said = [output.stdout, output.stderr].concat();
                let said = String::from_utf8_lossy(&said);
                return Err(format!("$ {command}\n{}: {said}", output.status));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read_by_blocks() {
        let text = "a\n```console\n$ one\n$ two\n```\nb\n```console output\n$ shown\nsaid\n```\n```console\n$ three\n```\n";
        assert_eq!(typed(text).unwrap(), [vec!["one", "two"], vec!["three"]]);
        let odd = typed("```console\nodd\n```\n").unwrap_err();
        assert_eq!(odd, "\"odd\" is no command: those begin with a dollar sign");
    }

    #[test]
    fn what_fails_or_takes_too_long_is_told() {
        let terminal = Terminal::open(&[], 1).unwrap().with("GREETING", "hello");
        terminal.write("folder/file", "content").unwrap();
        let follow = |command: &str| terminal.follow(&[command.to_owned()], "FILE", "folder/file");
        follow("grep content FILE && [ $GREETING = hello ]").unwrap();
        let failed = follow("echo WORD >&2; false | true").unwrap_err();
        assert!(failed.starts_with("$ echo WORD") && failed.ends_with("WORD\n"), "{failed}");
        assert!(follow("sleep 60").unwrap_err().contains("124"));
    }
}
