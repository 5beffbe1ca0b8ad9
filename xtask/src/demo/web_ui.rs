//! The web UI, made at low priority beside the first build, which needs nothing of it.

use std::cell::RefCell;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use assisted_lab_tools::wait::Wait;
use assisted_lab_tools::wait::child::finish;

use super::background::Background;
use crate::run::{at_low_priority, tail};
use crate::ui;

/// How long it is waited for, with packages to be fetched: machines wait for it, too, and can do without.
const LIMIT: Duration = Duration::from_secs(5 * 60);

/// `cargo xtask ui`, running.
pub struct WebUi {
    child: Child,
    log: PathBuf,
}

impl WebUi {
    /// Begins.
    pub fn begin(dir: &Path) -> Result<Self> {
        if !ui::has_node() {
            bail!("there is no Node with npm here");
        }
        let log = dir.join("ui.log");
        let told = File::create(&log).with_context(|| format!("can't write {}", log.display()))?;
        let mut command = at_low_priority("19", std::env::current_exe()?);
        command.arg("ui").stdin(Stdio::null()).stdout(told.try_clone()?).stderr(told);
        let child = command.spawn().context("can't start to make the web UI")?;
        Ok(Self { child, log })
    }

    /// Waits until it is made.
    pub fn end(mut self, background: &RefCell<Background>) -> Result<()> {
        let mut wait = Wait::new("the web UI", self.log.display(), LIMIT);
        let status = finish(&mut self.child, &mut wait, || background.borrow_mut().advance(true))?;
        if !status.success() {
            bail!("it can't be built ({status})\n{}", tail(&self.log));
        }
        Ok(())
    }
}
