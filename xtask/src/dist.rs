//! `cargo xtask dist`: the program for hosts, for each architecture that hosts have: static, stripped, tried.

mod target;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use clap::Args;
use serde_json::Value;
pub use target::Machine;

use crate::run::{output, print_line, programs, target_dir};

/// What a program may take on a disk, and as an agent that waits in memory, in MB.
const LARGEST: f64 = 12.0;
const MOST_RESIDENT: f64 = 15.0;
/// How long an inventory may take, in ms.
const SLOWEST: f64 = 15.0;

#[derive(Args)]
pub struct Dist {
    /// Architectures of hosts, as the kernel names them
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = Machine::ALL)]
    arch: Vec<Machine>,
    /// Folder for the programs, to be named by HOST_PROGRAMS_DIR [default: dist in Cargo's folder]
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,
}

impl Dist {
    /// Builds the programs, tries each, and prints what they take beside the goals.
    pub fn run(&self) -> Result<()> {
        let to = self.to.clone().map_or_else(|| Ok(target_dir()?.join("dist")), anyhow::Ok)?;
        fs::create_dir_all(&to).with_context(|| format!("can't create {}", to.display()))?;
        let programs = programs()?;
        for machine in &self.arch {
            let (path, judged) = make(*machine, "host", &programs)?;
            let place = put(&path, &to, *machine)?;
            let size = fs::metadata(&place)?.len();
            println!("\n{}, discovered after {:.1} s", machine.name(), seconds(&judged)?);
            line("size", size as f64 / 1e6, LARGEST, "MB");
            if let (Some(resident), Some(inventory)) =
                (judged["resident_bytes"].as_f64(), judged["inventory_s"].as_f64())
            {
                line("resident while polling", resident / 1e6, MOST_RESIDENT, "MB");
                line("inventory", inventory * 1e3, SLOWEST, "ms");
            }
        }
        println!("\nThey are in {}: HOST_PROGRAMS_DIR lets a service give them out.", to.display());
        Ok(())
    }
}

/// Builds the program for x86_64 hosts as it ships; the folder that it is in. Nobody judges it here: the lab's machines run it.
pub fn for_lab() -> Result<PathBuf> {
    let to = target_dir()?.join("dist");
    fs::create_dir_all(&to).with_context(|| format!("can't create {}", to.display()))?;
    let path = Machine::X86_64.build("host", &target_dir()?)?;
    put(&path, &to, Machine::X86_64)?;
    Ok(to)
}

/// Puts a program under its name into a folder from which a service may be giving it out: what is there stays whole.
fn put(program: &Path, to: &Path, machine: Machine) -> Result<PathBuf> {
    let place = to.join(format!("assisted-host-{}", machine.name()));
    let new = place.with_extension("new");
    fs::copy(program, &new).with_context(|| format!("can't write {}", new.display()))?;
    fs::rename(&new, &place)?;
    Ok(place)
}

/// A figure beside its goal.
fn line(what: &str, figure: f64, goal: f64, unit: &str) {
    let verdict = if figure < goal { "held" } else { "MISSED" };
    println!("  {what:24} {figure:>8.2} {unit}   goal: < {goal} {unit}, {verdict}");
}

/// Builds and tries the program for hosts like this computer, as it ships. The other programs are there.
pub fn try_out(programs: &Path) -> Result<()> {
    tried(Machine::X86_64, "host", programs)
}

/// Builds and tries the programs for all other hosts, by a profile that is quick to build.
pub fn try_others(programs: &Path) -> Result<()> {
    let mut others = Machine::ALL.into_iter().filter(|machine| *machine != Machine::X86_64);
    others.try_for_each(|machine| tried(machine, "trial", programs))
}

fn tried(machine: Machine, profile: &str, programs: &Path) -> Result<()> {
    let (_, judged) = make(machine, profile, programs)?;
    print_line(&format!(
        "the program for {} hosts: discovered after {:.1} s",
        machine.name(),
        seconds(&judged)?
    ));
    Ok(())
}

/// Builds a program and has it judged: where it is, and the figures.
fn make(machine: Machine, profile: &str, programs: &Path) -> Result<(PathBuf, Value)> {
    let path = machine.build(profile, &target_dir()?)?;
    let mut judge = Command::new(programs.join("examples/judge"));
    judge.arg(programs.join("assisted")).args(machine.emulator()).arg(&path);
    let output = output("the judge of programs for hosts", &mut judge)?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr);
        bail!("{} ({}) is not fit for hosts: {}", path.display(), machine.name(), why.trim());
    }
    Ok((path, serde_json::from_slice(&output.stdout)?))
}

fn seconds(judged: &Value) -> Result<f64> {
    judged["discovered_s"].as_f64().with_context(|| format!("no time in {judged}"))
}
