//! The system at work: at once on simulated hosts, and as soon as everything for them is made, on virtual machines.

mod background;
mod simulated;
mod web_ui;

use std::cell::RefCell;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use assisted_lab_tools::wait::Wait;
use assisted_lab_tools::wait::child::finish;
use clap::Args;

use crate::run::{LEAN, LEAN_PROGRAMS, build, target_dir};
use background::{Background, May};
use simulated::Simulated;
use web_ui::WebUi;

/// How long the first build of the programs may take, with everything that they need to be fetched.
const FIRST_BUILD: Duration = Duration::from_secs(60 * 60);

#[derive(Args)]
pub struct Demo {
    /// Stop when everything has been shown, instead of waiting for Ctrl-C; simulated hosts hurry
    #[arg(long)]
    once: bool,
    /// No virtual machines: discover this machine, and install clusters on simulated hosts
    #[arg(long, conflicts_with = "lab")]
    simulated: bool,
    /// What `assisted-lab up` takes, such as: --topology sno --iso minimal
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTION")]
    lab: Vec<String>,
}

impl Demo {
    /// Shows everything, and waits.
    pub fn run(&self) -> Result<()> {
        let target = target_dir()?;
        let (programs, dir) = (target.join("debug"), target.join("demo"));
        if dir.exists() {
            std::fs::remove_dir_all(&dir).with_context(|| format!("can't empty {}", dir.display()))?;
        }
        std::fs::create_dir_all(&dir)?;
        let background = if self.simulated { Background::none() } else { Background::start() };
        let background = RefCell::new(background);
        // The first time, an installation is shown while the rest is being built. What knows Kubernetes and machines takes a good part of
        // the build, and nothing that is shown first needs it, nor the web UI.
        let is_first = !programs.join("assisted-host").exists();
        let web_ui = WebUi::begin(&dir);
        let mut begun = None;
        if is_first {
            let lean = &mut build(&LEAN_PROGRAMS);
            first_build(&background, lean.arg(LEAN), "the service, and what simulates hosts")?;
            background.borrow_mut().may_build(May::WithoutUi);
            begun = Some(Simulated::begin(&programs, &dir, self.once, &background)?);
        }
        if let Err(error) = web_ui.and_then(|web_ui| web_ui.end(&background)) {
            println!("The web UI is left out: {error:#}");
        }
        if is_first {
            background.borrow_mut().may_build(May::Everything);
            background.borrow_mut().await_programs();
        }
        let all = &mut build(&["assisted", "assisted-lab", "assisted-host"]);
        first_build(&background, all, "the service with all that it can, the lab, the program for hosts")?;
        if self.simulated {
            let shown = Simulated::show(begun, &programs, &dir, self.once, &background)?;
            return if self.once { Ok(()) } else { shown.wait() };
        }
        background.borrow_mut().may_build(May::Everything);
        let is_soon = !background.borrow().takes_long();
        if !(is_soon && background.borrow_mut().await_machines()) {
            println!("\n=== The same on simulated hosts, until virtual machines can start");
            let _service = Simulated::show(begun.take(), &programs, &dir, self.once, &background)?;
            background.borrow_mut().await_machines();
        }
        if let Some(why) = background.borrow().failure() {
            bail!(
                "no virtual machines: {why}\n`cargo xtask demo --simulated` shows what works without them, and nothing else"
            );
        }
        // Nothing runs beside the lab, which this becomes.
        drop(begun);
        self.install_machines(&programs, &target)
    }

    /// Becomes the lab, which is ended by Ctrl-C itself.
    fn install_machines(&self, programs: &Path, target: &Path) -> Result<()> {
        println!(
            "\n=== Virtual machines become a cluster: three take minutes with KVM, about twenty without"
        );
        let mut lab = Command::new(programs.join("assisted-lab"));
        lab.arg("up").args(&self.lab);
        let given = |name: &str| {
            let with_value = format!("{name}=");
            self.lab.iter().any(|word| word == name || word.starts_with(&with_value))
        };
        if !given("--dir") {
            lab.arg("--dir").arg(target.join("demo/lab"));
        }
        if !given("--host-programs") {
            lab.arg("--host-programs").arg(target.join("dist"));
        }
        if self.once {
            lab.arg("--once");
        }
        Err(lab.exec()).context("can't start the lab")
    }
}

/// Builds some of what the simulated part takes, and nothing else: the first thing on the screen waits for it.
fn first_build(background: &RefCell<Background>, cargo: &mut Command, what: &str) -> Result<()> {
    println!("=== Building {what}: minutes the first time, on two cores");
    let mut cargo = cargo.stdin(Stdio::null()).spawn().context("can't start cargo")?;
    let mut wait = Wait::new(what, "what cargo tells here", FIRST_BUILD);
    let status = finish(&mut cargo, &mut wait, || background.borrow_mut().advance(true))?;
    if !status.success() {
        bail!("the programs can't be built ({status})");
    }
    Ok(())
}
