//! Ignition's own validator of configs: Debian's package `ignition` brings it.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::Error;

const PROGRAM: &str = "ignition-validate";
const PATH: &str = "/usr/bin/ignition-validate";

/// What Ignition says of a config; empty when it takes it.
pub fn ignition_validate(config: &[u8]) -> Result<String, Error> {
    if !Path::new(PATH).is_file() {
        return Err(Error::NotInstalled { program: PROGRAM });
    }
    let run = |source| Error::Run { program: PROGRAM, source };
    let mut command = Command::new(PATH);
    command.arg("-").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(run)?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(config).map_err(run)?;
    }
    let output = child.wait_with_output().map_err(run)?;
    if output.status.success() {
        return Ok(String::new());
    }
    let told = [output.stdout, output.stderr].concat();
    Ok(format!("{}: {}", output.status, String::from_utf8_lossy(&told)))
}
