//! `cargo xtask fuzz`: hunts for inputs that break a reader of foreign bytes, guided by what each of them reaches.
//!
//! The targets stand in `fuzz/`; libFuzzer drives them. The flags that instrument the code are stable ones, so that the toolchain
//! of the project does. What was built for it is apart from all other builds, since each of them would displace the other.

mod hunt;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::run::{cargo, print_line, root, step, target_dir, tied};
use hunt::{Folders, Hunt};

/// Instruments all crates that the targets link: which edges are taken, how often, and what is compared with what.
const FLAGS: &[&str] = &[
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Ccodegen-units=1",
];

/// Its folder below that of what cargo builds.
const FOLDER: &str = "fuzz";

#[derive(Args)]
pub struct Fuzz {
    /// Hunt in these targets alone; `cargo xtask fuzz --list` names them
    #[arg(value_name = "TARGET")]
    targets: Vec<String>,
    /// Minutes for each target; with a fraction, if need be
    #[arg(long, default_value_t = 10.0, value_parser = minutes)]
    minutes: f64,
    /// Keep what leads further than the inputs that are kept: as few as do, in fuzz/corpus
    #[arg(long)]
    keep: bool,
    /// Name the targets
    #[arg(long, conflicts_with_all = ["targets", "keep"])]
    list: bool,
}

/// A positive number; a day is more than anybody waits.
fn minutes(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(minutes) if minutes > 0.0 && minutes <= 24.0 * 60.0 => Ok(minutes),
        _ => Err("a number of minutes above 0, and of a day at most".to_owned()),
    }
}

impl Fuzz {
    /// Builds the targets and hunts in one after the other; fails when something was found.
    pub fn run(&self) -> Result<()> {
        let all = targets()?;
        if self.list {
            all.iter().for_each(|name| print_line(name));
            return Ok(());
        }
        if let Some(unknown) = self.targets.iter().find(|name| !all.contains(name)) {
            bail!("there is no target {unknown}: cargo xtask fuzz --list names them");
        }
        let wanted = if self.targets.is_empty() { &all } else { &self.targets };
        let program = build()?;
        let limit = Duration::from_secs_f64(self.minutes * 60.0);
        let mut hunts = Vec::new();
        for (number, target) in wanted.iter().enumerate() {
            print_line(&format!(
                "--- {target} ({} of {}): {:.1} min",
                number + 1,
                wanted.len(),
                self.minutes
            ));
            let folders = Folders::of(target, &target_dir()?.join(FOLDER))?;
            let hunt = Hunt::run(&program, target, &folders, limit)?;
            if self.keep {
                hunt::keep(&program, target, &folders)?;
            }
            print_line(&hunt.line());
            hunts.push(hunt);
        }
        print_line("\ntarget                  tries       reached   inputs   found");
        hunts.iter().for_each(|hunt| print_line(&hunt.line()));
        let found: usize = hunts.iter().map(|hunt| hunt.found.len()).sum();
        if found > 0 {
            bail!(
                "{found} inputs break their target; each is in fuzz/corpus now, so the tests fail until it is mended"
            );
        }
        Ok(())
    }
}

/// Names of the targets: each has a file.
fn targets() -> Result<Vec<String>> {
    let folder = root().join("fuzz/src/targets");
    let mut names = Vec::new();
    for entry in std::fs::read_dir(&folder).with_context(|| format!("can't read {}", folder.display()))? {
        let path = entry?.path();
        names.extend(path.file_stem().map(|stem| stem.to_string_lossy().into_owned()));
    }
    names.retain(|name| name != "mod");
    names.sort();
    Ok(names)
}

/// Builds the targets into one program.
fn build() -> Result<PathBuf> {
    let (folder, platform) = (target_dir()?.join(FOLDER), platform()?);
    let mut command =
        cargo(&["build", "--profile", "fuzz", "--package", "assisted-fuzz", "--features", "libfuzzer"]);
    command.args(["--bin", "assisted-fuzz", "--target", &platform, "--target-dir"]).arg(&folder);
    // It is given its flags encoded, and those of others, whichever way they came, don't count.
    command.env("CARGO_ENCODED_RUSTFLAGS", FLAGS.join("\x1f")).env_remove("RUSTFLAGS");
    step("instrumented build of the targets: minutes where nothing is built yet", &mut command)?;
    Ok(folder.join(platform).join("fuzz/assisted-fuzz"))
}

/// What this machine is, in the words of Rust. Named as the target, it keeps the flags from build scripts and macros.
fn platform() -> Result<String> {
    let output = tied("rustc").arg("-vV").output().context("can't start rustc")?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc does not say what this machine is")?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minutes_are_bounded() {
        assert_eq!(minutes("0.5"), Ok(0.5));
        for bad in ["0", "-1", "NaN", "inf", "1441", "x"] {
            assert!(minutes(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn targets_have_files() {
        assert!(targets().is_ok_and(|names| names.contains(&"iso".to_owned()) && names.is_sorted()));
    }
}
