//! A call of a tool: this program, run once.

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use assisted_base::process::Cmd;
use assisted_wire::secret::Secret;
use tempfile::NamedTempFile;

use super::tool::Tool;
use crate::cli::common::Context;

/// How long a call may take: machines are slow to switch on.
const LIMIT: Duration = Duration::from_secs(600);

/// Longest answer, in bytes; what is longer is cut.
const LONGEST: usize = 256 << 10;

/// The service and the credentials with which this program is run for a tool.
pub struct Caller {
    url: String,
    ca_file: Option<PathBuf>,
    token: Option<Secret>,
    pull_secret_file: Option<PathBuf>,
}

impl Caller {
    pub fn new(context: &Context, pull_secret_file: Option<PathBuf>) -> Self {
        let (url, ca_file) = (context.client.base_url().to_string(), context.ca_file.clone());
        Self { url, ca_file, token: context.token.clone(), pull_secret_file }
    }

    /// What the command shows, or why it failed.
    pub async fn call(
        &self,
        tool: &Tool,
        words: Vec<String>,
        manifests: Option<&str>,
    ) -> Result<String, String> {
        let own = std::env::current_exe().map_err(|error| format!("this program can't be found: {error}"))?;
        let mut cmd = Cmd::new(own).timeout(LIMIT).output_limit(LONGEST).cut_output();
        cmd = cmd.args(tool.path).arg(format!("--url={}", self.url));
        if let Some(file) = &self.ca_file {
            cmd = cmd.arg("--ca-file").arg(file);
        }
        if let Some(token) = &self.token {
            // Where no list of processes shows it.
            cmd = cmd.env("ASSISTED_TOKEN", token.expose());
        }
        if let Some(file) = self.pull_secret_file.as_ref().filter(|_| tool.takes_pull_secret) {
            cmd = cmd.arg("--pull-secret-file").arg(file);
        }
        // It is gone when the call is over.
        let file =
            manifests.map(kept).transpose().map_err(|error| format!("can't keep the manifests: {error}"))?;
        if let Some(file) = &file {
            cmd = cmd.arg("--filename").arg(file.path());
        }
        let output = cmd.args(words).run().await.map_err(|error| error.to_string())?;
        match output.success() {
            true => Ok(output.text()),
            // What differs is told before that it does.
            false => Err([output.text(), output.complaint()].join("\n").trim().to_owned()),
        }
    }
}

fn kept(manifests: &str) -> std::io::Result<NamedTempFile> {
    let mut file = tempfile::Builder::new().suffix(".yaml").tempfile()?;
    file.write_all(manifests.as_bytes())?;
    Ok(file)
}
