//! Programs of the machine, and how their failures are told.

use std::ffi::OsStr;
use std::time::Duration;

use assisted_base::process::{Cmd, CmdError, CmdOutput};
use tracing::info;

use super::Host;

/// How much of what a program wrote an error repeats, in characters (installer-and-controller §A3.2).
const LAST_OUTPUT: usize = 200;
/// Enough for what does no long work.
const LIMIT: Duration = Duration::from_secs(60);

/// A program that brought no result. The text goes to the service, so it holds nothing secret: no program gets a secret
/// as an argument.
#[derive(Clone, Debug, thiserror::Error)]
#[error("failed executing {program} [{args}], Error {cause}, LastOutput \"{output}\"")]
pub struct RunError {
    pub program: String,
    pub args: String,
    /// How it ended: `exit status 1`, or why it didn't.
    pub cause: String,
    /// The end of what it wrote.
    pub output: String,
}

impl RunError {
    pub(crate) fn new(what: &str, done: Result<&CmdOutput, &CmdError>) -> Self {
        let (program, args) = what.split_once(' ').unwrap_or((what, ""));
        let (cause, output) = match done {
            Ok(done) => (format!("exit status {}", done.code()), last(done)),
            Err(error) => (error.to_string(), String::new()),
        };
        Self { program: program.to_owned(), args: args.to_owned(), cause, output }
    }
}

/// What was written last stands where a program tells why it failed: both outputs, errors after the rest.
fn last(done: &CmdOutput) -> String {
    let text = [done.stdout.as_slice(), done.stderr.as_slice()].map(String::from_utf8_lossy).join("\n");
    let text = text.trim();
    match text.char_indices().rev().nth(LAST_OUTPUT - 1) {
        Some((start, _)) if start > 0 => format!("... {}", &text[start..]),
        _ => text.to_owned(),
    }
}

impl Host {
    /// Runs a program that does no long work; what it wrote to standard output.
    ///
    /// # Errors
    /// When it can't be run, takes more than a minute, or fails.
    pub async fn run<A: AsRef<OsStr>>(&self, program: &str, args: &[A]) -> Result<String, RunError> {
        self.run_for(LIMIT, program, args).await
    }

    /// The same with a time limit.
    ///
    /// # Errors
    /// As [`Host::run`].
    pub async fn run_for<A: AsRef<OsStr>>(
        &self,
        limit: Duration,
        program: &str,
        args: &[A],
    ) -> Result<String, RunError> {
        let cmd = self.cmd(limit, program, args).cut_output();
        let what = cmd.command_line();
        let done = cmd.run().await;
        let outcome = finish(&what, done).map(|done| done.text().trim().to_owned());
        info!(what, success = outcome.is_ok(), "program ended");
        outcome
    }

    /// What a program prints, whatever its exit status says: for questions whose answer is a word.
    ///
    /// # Errors
    /// When it can't be run or takes more than a minute.
    pub async fn ask<A: AsRef<OsStr>>(&self, program: &str, args: &[A]) -> Result<String, RunError> {
        let cmd = self.cmd(LIMIT, program, args).cut_output();
        let what = cmd.command_line();
        let done = cmd.run().await.map_err(|error| RunError::new(&what, Err(&error)))?;
        Ok(done.text().trim().to_owned())
    }

    /// A program to be run in another way.
    pub(crate) fn cmd<A: AsRef<OsStr>>(&self, limit: Duration, program: &str, args: &[A]) -> Cmd {
        self.tools().cmd(program).args(args).timeout(limit.min(self.longest))
    }
}

/// A program's end as a result: only success is one.
pub(crate) fn finish(what: &str, done: Result<CmdOutput, CmdError>) -> Result<CmdOutput, RunError> {
    match done {
        Ok(done) if done.success() => Ok(done),
        Ok(done) => Err(RunError::new(what, Ok(&done))),
        Err(error) => Err(RunError::new(what, Err(&error))),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    use super::*;

    #[test]
    fn errors_name_the_program_and_its_last_words() {
        let done = CmdOutput {
            status: ExitStatus::from_raw(255 << 8),
            stdout: b"begun\n".into(),
            stderr: b"Error: busy\n".into(),
        };
        assert_eq!(
            RunError::new("wipefs --all /dev/sda", Ok(&done)).to_string(),
            "failed executing wipefs [--all /dev/sda], Error exit status 255, LastOutput \"begun\n\nError: busy\""
        );
        let long = CmdOutput { stderr: "é".repeat(5_000).into_bytes(), ..done };
        let output = RunError::new("x", Ok(&long)).output;
        assert!(output.starts_with("... é") && output.chars().count() == LAST_OUTPUT + 4, "{output}");
    }
}
