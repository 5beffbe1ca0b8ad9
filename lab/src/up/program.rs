//! Programs that the lab runs to their ends.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use assisted_lab_tools::wait::Wait;
use assisted_lab_tools::wait::child::{self, ChildError};
use serde_json::Value;

use super::LabError;

/// How long a command may take; some fetch an image.
const COMMAND: Duration = Duration::from_secs(10 * 60);

/// What a command answers that can speak JSON.
pub(super) fn json(what: &str, command: &mut Command, dir: &Path) -> Result<Value, LabError> {
    let program = PathBuf::from(command.get_program());
    let failed = |said: String| LabError::Command { command: what.to_owned(), said };
    let mut wait = Wait::new(what, dir.display(), COMMAND);
    let output = child::output(command.args(["-o", "json"]), &mut wait)
        .map_err(|error| LabError::child(&program, error))?;
    if !output.status.success() {
        return Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| failed(error.to_string()))
}

/// Runs a command to its end, before everybody's eyes.
pub(super) fn run(what: &str, command: &mut Command, dir: &Path) -> Result<(), LabError> {
    let program = PathBuf::from(command.get_program());
    let mut wait = Wait::new(what, dir.display(), COMMAND);
    let status = child::status(command, &mut wait).map_err(|error| LabError::child(&program, error))?;
    match status.success() {
        true => Ok(()),
        false => Err(LabError::Command { command: what.to_owned(), said: status.to_string() }),
    }
}

impl LabError {
    fn child(program: &Path, error: ChildError) -> Self {
        match error {
            ChildError::Late(late) => late.into(),
            ChildError::Io(error) => Self::io(program)(error),
        }
    }
}
