//! The record of a running lab, by which other commands find it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use assisted_lab_tools::wait::Wait;
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::topology::{Kind, Planned};
use super::{LabError, command_line, service};
use crate::network;

/// How long a lab may take to end: it may be in the middle of a command.
const END: Duration = Duration::from_secs(5 * 60);

const FILE: &str = "lab.json";

/// A lab in a folder.
#[derive(Clone, Debug)]
pub struct Record {
    dir: PathBuf,
    pub(super) namespace: String,
}

/// Its file; gone when this is dropped.
pub(super) struct Written(PathBuf);

impl Drop for Written {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

impl Record {
    fn of(dir: &Path) -> Result<Self, LabError> {
        let dir = std::path::absolute(dir).map_err(LabError::io(dir))?;
        let digest = Sha256::digest(dir.as_os_str().as_encoded_bytes());
        let short: String = digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
        Ok(Self { dir, namespace: format!("assisted-lab-{short}") })
    }

    /// That of a lab that is to be.
    pub(super) fn new(dir: &Path) -> Result<Self, LabError> {
        let record = Self::of(dir)?;
        match record.pid() {
            Some(pid) => Err(LabError::Running { dir: record.dir, pid: pid.as_raw_nonzero().get() }),
            None => Ok(record),
        }
    }

    /// That of a lab that runs.
    pub fn find(dir: &Path) -> Result<Self, LabError> {
        let record = Self::of(dir)?;
        if record.pid().is_some() { Ok(record) } else { Err(LabError::None(record.dir)) }
    }

    pub(super) fn write(self, machines: &[Planned]) -> Result<Written, LabError> {
        let machines: Vec<_> = machines
            .iter()
            .map(|machine| {
                let member = machine.member();
                let console = match &machine.kind {
                    Kind::Virtual { .. } | Kind::Namespace { .. } => self.dir.join(&member.name).join("console.log").display().to_string(),
                    Kind::Real(controller) => controller.system.clone(),
                };
                json!({
                    "name": member.name, "role": machine.role.name(), "address": member.address.to_string(), "mac": member.mac,
                    "console": console,
                })
            })
            .collect();
        let content = json!({
            "pid": std::process::id(), "url": service::URL, "namespace": self.namespace, "machines": machines,
        });
        let path = self.dir.join(FILE);
        std::fs::write(&path, format!("{content:#}\n")).map_err(LabError::io(&path))?;
        Ok(Written(path))
    }

    /// What was written about it: `pid`, `url`, `namespace`, `machines`.
    pub fn content(&self) -> Value {
        let text = std::fs::read(self.dir.join(FILE)).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or(Value::Null)
    }

    /// The process, if it runs.
    fn pid(&self) -> Option<Pid> {
        let pid = self.content()["pid"].as_i64().and_then(|pid| i32::try_from(pid).ok());
        pid.and_then(Pid::from_raw).filter(|pid| test_kill_process(*pid).is_ok())
    }

    /// Ends a lab: tells its process, waits for it, and takes away what it may have left.
    pub fn end(&self) -> Result<(), LabError> {
        if let Some(pid) = self.pid() {
            kill_process(pid, Signal::TERM).map_err(|error| LabError::io(&self.dir)(error.into()))?;
            let what = format!("the end of process {}", pid.as_raw_nonzero());
            let mut wait = Wait::new(what, self.dir.display(), END);
            while self.pid() == Some(pid) {
                wait.pause(super::POLL_INTERVAL)?;
            }
        }
        network::remove_machines(&self.namespace);
        network::remove(&self.namespace);
        Ok(())
    }

    /// Runs a program in a lab's network, in place of this one; `assisted` asks the lab's service there, as its administrator.
    pub fn exec(&self, words: &[String]) -> LabError {
        use std::os::unix::process::CommandExt;
        let Some((program, arguments)) = words.split_first() else { return LabError::None(self.dir.clone()) };
        let mut command = network::inside(&self.namespace, program);
        command.envs(command_line::environment(&self.dir));
        LabError::io(Path::new(program))(command.args(arguments).exec())
    }
}
