//! `cargo xtask images` and `cargo xtask release`: builds the programs that are shipped, static, and has `assisted-package` make the rest.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::book;
use crate::debian::{self, Package, has_program};
use crate::dist::Machine;
use crate::run::{build, cargo, print_line, root, step, target_dir, tied};
use crate::ui;

/// Shells and tools in the image of the controller.
const TOOLS: &[Package] = &[
    Package { name: "bash-static", present: || Path::new("/bin/bash-static").is_file() },
    Package { name: "busybox-static", present: || Path::new("/bin/busybox").is_file() },
];

#[derive(Args)]
pub struct Images {
    #[command(flatten)]
    shipped: Shipped,
    /// Only these [default: all]
    #[arg(long, value_delimiter = ',', value_name = "IMAGE")]
    #[arg(value_parser = ["service", "agent", "installer", "controller"])]
    only: Vec<String>,
    /// Push them to where their names say, with what is in each and signed if there is a key
    #[arg(long)]
    push: bool,
    /// Push the operator's bundle for OLM, too, under this name
    #[arg(long, env = "BUNDLE", value_name = "NAME")]
    bundle: Option<String>,
    /// Push without TLS; registries of this machine are never asked for it
    #[arg(long)]
    plain_http: bool,
    /// Folder for the images as OCI archives [default: images in Cargo's folder]
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,
}

#[derive(Args)]
pub struct Release {
    #[command(flatten)]
    shipped: Shipped,
    /// Folder for the release; what is in it goes
    #[arg(long, default_value = "dist", value_name = "DIR")]
    to: PathBuf,
}

// What is shipped, and under which names. A doc comment would become the description of the command.
#[derive(Args)]
struct Shipped {
    /// Architectures, as the kernel names them: the programs are made for each
    #[arg(long, value_enum, value_delimiter = ',', default_value = "x86_64")]
    arch: Vec<Machine>,
    /// Name of the service's image: REGISTRY/REPOSITORY:TAG
    #[arg(long, env = "SERVICE", value_name = "NAME")]
    service: Option<String>,
    /// The same of the agent's
    #[arg(long, env = "AGENT", value_name = "NAME")]
    agent: Option<String>,
    /// The same of the installer's
    #[arg(long, env = "INSTALLER", value_name = "NAME")]
    installer: Option<String>,
    /// The same of the controller's
    #[arg(long, env = "CONTROLLER", value_name = "NAME")]
    controller: Option<String>,
    /// OpenShift's client, static, for x86_64: the controller gathers a cluster's own logs with it
    #[arg(long, env = "OC", value_name = "FILE")]
    oc: Option<String>,
    /// A folder that is laid under an image, such as libraries for an `oc` or an `openshift-install` that needs some
    #[arg(long = "add", value_name = "IMAGE=DIR")]
    added: Vec<String>,
    /// Private key (PEM, P-256) that signs images and checksums
    #[arg(long, env = "SIGN_KEY", value_name = "FILE")]
    sign_key: Option<String>,
}

impl Images {
    /// Builds the programs and makes the images.
    pub fn run(&self) -> Result<()> {
        let wanted = |image: &str| self.only.is_empty() || self.only.iter().any(|only| only == image);
        // The service takes longer to build than all else, and the images for hosts have nothing of it.
        let with_service = wanted("service") || wanted("controller");
        if with_service {
            ui::run().context("what ships has the web UI in it")?;
        }
        let mut command = self.shipped.command("images", with_service)?;
        let to = self.to.clone().map_or_else(|| Ok(target_dir()?.join("images")), anyhow::Ok)?;
        command.arg("--to").arg(to);
        for only in &self.only {
            command.args(["--only", only]);
        }
        for (is_wanted, flag) in [(self.push, "--push"), (self.plain_http, "--plain-http")] {
            if is_wanted {
                command.arg(flag);
            }
        }
        if let Some(bundle) = given(&self.bundle).filter(|_| self.push) {
            command.args(["--bundle", bundle]);
        }
        step("images", &mut command)
    }
}

impl Release {
    /// Builds the programs and makes everything that is shipped.
    pub fn run(&self) -> Result<()> {
        // What is quickly refused comes first.
        let own = std::env::consts::ARCH;
        if self.shipped.arch.iter().all(|machine| machine.name() != own) {
            bail!(
                "name {own} among the architectures, too: its program tells the man pages and completion scripts of all"
            );
        }
        ui::run_for_release()?;
        let book = book::build()?;
        let mut command = self.shipped.command("release", true)?;
        let changes = target_dir()?.join("changes.md");
        fs::write(&changes, changes_since_last()?)?;
        let speaks = folder(&self.shipped.arch)?.join(own).join("assisted");
        command.arg("--to").arg(&self.to).arg("--changes").arg(&changes).arg("--speaks").arg(speaks);
        command.args(["--checkout", "."]).arg("--book").arg(book);
        step("release", &mut command)?;
        print_line(&format!("It is in {}.", self.to.display()));
        Ok(())
    }
}

/// What a variable says: make hands on empty ones, too.
fn given(value: &Option<String>) -> Option<&str> {
    value.as_deref().filter(|value| !value.is_empty())
}

/// Where the programs are laid that are shipped: a folder for each choice of architectures, since all that is in it is shipped.
fn folder(machines: &[Machine]) -> Result<PathBuf> {
    let names: Vec<_> = machines.iter().map(|machine| machine.name()).collect();
    Ok(target_dir()?.join("ship").join(names.join("-")))
}

impl Shipped {
    /// Builds the programs, the service with the web UI that is there; the command that goes on.
    fn command(&self, what: &str, with_service: bool) -> Result<Command> {
        if with_service {
            debian::install(TOOLS)?;
        }
        let to = folder(&self.arch)?;
        for machine in &self.arch {
            build_into(*machine, with_service, &to.join(machine.name()))?;
        }
        step("what packs them", &mut build(&["assisted-package"]))?;
        let mut command = tied(target_dir()?.join("debug/assisted-package"));
        command.current_dir(root()).arg(what).arg("--programs").arg(&to).args(["--lock", "Cargo.lock"]);
        command.args(["--ui-lock", "ui/package-lock.json"]);
        let (revision, created) = (git(&["rev-parse", "HEAD"])?, git(&["log", "-1", "--format=%cI"])?);
        let dirty =
            if git(&["status", "--porcelain", "--untracked-files=no"])?.is_empty() { "" } else { "-dirty" };
        command.args(["--revision", &format!("{revision}{dirty}"), "--created", &created]);
        let names = [
            ("service", &self.service),
            ("agent", &self.agent),
            ("installer", &self.installer),
            ("controller", &self.controller),
        ];
        for (image, name) in names {
            if let Some(name) = given(name) {
                command.args(["--name", &format!("{image}={name}")]);
            }
        }
        for added in &self.added {
            command.args(["--add", added]);
        }
        if let Some(oc) = given(&self.oc) {
            command.args(["--oc", &format!("x86_64={oc}")]);
        }
        if let Some(key) = given(&self.sign_key) {
            command.args(["--sign-key", key]);
        }
        Ok(command)
    }
}

/// Builds the programs for an architecture, or that for hosts alone, and puts them into a folder, with what cargo says of their crates.
fn build_into(machine: Machine, with_service: bool, to: &Path) -> Result<()> {
    fs::create_dir_all(to).with_context(|| format!("can't create {}", to.display()))?;
    let target_dir = target_dir()?;
    let mut programs = vec![machine.build("host", &target_dir)?];
    if with_service {
        programs.push(machine.build_service("release", &target_dir)?);
    }
    for program in programs {
        let name = program.file_name().context("a program has no name")?;
        let place = to.join(name);
        let new = place.with_extension("new");
        fs::copy(&program, &new).with_context(|| format!("can't write {}", new.display()))?;
        fs::rename(&new, &place)?;
    }
    let args = ["metadata", "--format-version", "1", "--locked", "--filter-platform", machine.triple()];
    let output = cargo(&args).output().context("can't run cargo")?;
    if !output.status.success() {
        bail!("cargo metadata failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    fs::write(to.join("crates.json"), output.stdout)?;
    Ok(())
}

/// What git says.
fn git(args: &[&str]) -> Result<String> {
    let output = tied("git").args(args).current_dir(root()).output().context("can't run git")?;
    if !output.status.success() || !has_program("git") {
        bail!("git {} failed: {}", args.join(" "), String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// The first lines of all commits since the last tag; without one, nothing.
fn changes_since_last() -> Result<String> {
    let Ok(tag) = git(&["describe", "--tags", "--abbrev=0"]) else { return Ok(String::new()) };
    git(&["log", "--no-merges", "--format=* %s", &format!("{tag}..HEAD")])
}

#[cfg(test)]
mod tests {
    use clap::{Command, FromArgMatches};

    use super::{Args, Release, folder};

    fn release(arch: &str) -> Release {
        let command = Release::augment_args(Command::new("release"));
        Release::from_arg_matches(&command.get_matches_from(["release", "--arch", arch])).unwrap()
    }

    #[test]
    fn what_was_built_for_another_release_is_not_in_this_one() {
        let [one, two] =
            ["x86_64", "x86_64,aarch64"].map(|arch| folder(&release(arch).shipped.arch).unwrap());
        assert!(!one.starts_with(&two) && !two.starts_with(&one), "{} {}", one.display(), two.display());
    }

    #[test]
    fn a_release_takes_a_program_that_runs_here() {
        let others = if std::env::consts::ARCH == "aarch64" { "s390x" } else { "s390x,aarch64" };
        let refused = release(others).run().unwrap_err().to_string();
        assert!(refused.contains(std::env::consts::ARCH), "{refused}");
    }
}
