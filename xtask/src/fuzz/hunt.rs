//! One hunt: libFuzzer on one target for some time, and what becomes of what it finds.

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use assisted_lab_tools::wait::Wait;
use assisted_lab_tools::wait::child::finish;

use crate::run::{print_line, root, tied};

/// Longest input, in bytes.
const LONGEST: usize = 64 << 10;
/// An input that takes longer hangs, in seconds; one that takes more memory is a find as well, in MiB.
const SLOWEST: u64 = 10;
const LARGEST: u64 = 2048;
/// Tries and seconds at making a find smaller.
const SMALLER_TRIES: u64 = 20_000;
const SMALLER: Duration = Duration::from_secs(60);
/// What a program takes to end that was told when, and one that folds inputs together.
const GRACE: Duration = Duration::from_secs(120);
const FOLDING: Duration = Duration::from_secs(600);
/// Between two lines about how far it is.
const TOLD: Duration = Duration::from_secs(30);

/// Where inputs of a target are.
pub struct Folders {
    /// Those of the project.
    kept: PathBuf,
    /// Those that hunts have come upon: they lead further, and are not part of the project.
    met: PathBuf,
    /// Those that broke the target, as they were found.
    broken: PathBuf,
}

impl Folders {
    pub fn of(target: &str, folder: &Path) -> Result<Self> {
        let kept = root().join("fuzz/corpus").join(target);
        let folders =
            Self { kept, met: folder.join("met").join(target), broken: folder.join("broken").join(target) };
        for folder in [&folders.kept, &folders.met, &folders.broken] {
            fs::create_dir_all(folder).with_context(|| format!("can't create {}", folder.display()))?;
        }
        Ok(folders)
    }
}

/// What came of a hunt.
pub struct Hunt {
    target: String,
    tries: u64,
    reached: u64,
    inputs: usize,
    /// The files of what was found.
    pub found: Vec<PathBuf>,
}

impl Hunt {
    /// Hunts until the time is up or something is found.
    pub fn run(program: &Path, target: &str, folders: &Folders, limit: Duration) -> Result<Self> {
        let log = folders.broken.with_extension("log");
        let seconds = limit.as_secs().max(1);
        let mut command = command(program, target);
        command.args([
            format!("-max_total_time={seconds}"),
            format!("-timeout={SLOWEST}"),
            format!("-rss_limit_mb={LARGEST}"),
            format!("-max_len={LONGEST}"),
            format!("-artifact_prefix={}/", folders.broken.display()),
            "-print_final_stats=1".to_owned(),
            "-use_value_profile=1".to_owned(),
        ]);
        command.args([&folders.met, &folders.kept]);
        command.stderr(File::create(&log)?).stdout(File::create("/dev/null")?);
        let mut child = command.spawn().with_context(|| format!("can't start {}", program.display()))?;
        let mut told = Instant::now();
        let mut wait = Wait::new(format!("the hunt in {target}"), log.display(), limit + GRACE).quietly();
        let status = finish(&mut child, &mut wait, || {
            if told.elapsed() > TOLD {
                told = Instant::now();
                let state = fs::read_to_string(&log).unwrap_or_default();
                print_line(state.lines().rfind(|line| line.starts_with('#')).unwrap_or("nothing so far"));
            }
        })?;
        let text = fs::read_to_string(&log)?;
        let number = |name: &str| number(&text, name);
        let mut found = Vec::new();
        for entry in fs::read_dir(&folders.broken)? {
            let path = entry?.path();
            found.push(minimise(program, target, &path, &folders.kept)?);
        }
        if !status.success() && found.is_empty() {
            bail!("the hunt in {target} failed ({status}):\n{}", end(&text));
        }
        if !found.is_empty() {
            print_line(&format!("{target} is broken by an input:\n{}", end(&text)));
        }
        let tries = number("stat::number_of_executed_units:");
        let reached = reached(&text);
        Ok(Self {
            target: target.to_owned(),
            tries: tries.unwrap_or_default(),
            reached,
            inputs: fs::read_dir(&folders.met)?.count(),
            found,
        })
    }

    /// A row of the table.
    pub fn line(&self) -> String {
        let Self { target, tries, reached, inputs, found } = self;
        let names: Vec<_> = found.iter().map(|path| path.display().to_string()).collect();
        let found = if names.is_empty() { "nothing".to_owned() } else { names.join(", ") };
        format!("{target:<20} {tries:>9} {reached:>13} {inputs:>8}   {found}")
    }
}

fn command(program: &Path, target: &str) -> Command {
    let mut command = tied(program);
    command.env("FUZZ_TARGET", target);
    command
}

/// Makes an input that breaks the target smaller, and keeps it among those of the project; where it is then.
fn minimise(program: &Path, target: &str, input: &Path, kept: &Path) -> Result<PathBuf> {
    let smaller = input.with_extension("smaller");
    let mut command = command(program, target);
    command.args([
        "-minimize_crash=1".to_owned(),
        format!("-runs={SMALLER_TRIES}"),
        format!("-max_total_time={}", SMALLER.as_secs()),
        format!("-timeout={SLOWEST}"),
        format!("-exact_artifact_path={}", smaller.display()),
    ]);
    command.arg(input).stderr(File::create("/dev/null")?).stdout(File::create("/dev/null")?);
    let mut child = command.spawn()?;
    // An input that gets no smaller is as good; so is one that takes too long at it.
    let mut wait = Wait::new("the find to get smaller", input.display(), SMALLER + GRACE);
    let _ = finish(&mut child, &mut wait, || {});
    let best = if smaller.exists() { &smaller } else { input };
    let bytes = fs::read(best)?;
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    let path = kept.join(format!("found-{:016x}", hasher.finish()));
    fs::write(&path, bytes)?;
    for done in [input, &smaller] {
        if done.exists() {
            fs::remove_file(done)?;
        }
    }
    Ok(path)
}

/// Takes from the inputs that hunts have come upon those that lead further than the project's own.
pub fn keep(program: &Path, target: &str, folders: &Folders) -> Result<()> {
    let mut command = command(program, target);
    command.args(["-merge=1", &format!("-timeout={SLOWEST}"), &format!("-rss_limit_mb={LARGEST}")]);
    command.args([&folders.kept, &folders.met]);
    command.stderr(File::create("/dev/null")?).stdout(File::create("/dev/null")?);
    let mut wait = Wait::new(format!("the inputs of {target}"), folders.met.display(), FOLDING);
    let status = finish(&mut command.spawn()?, &mut wait, || {})?;
    if !status.success() {
        bail!("the inputs of {target} can't be folded together ({status})");
    }
    Ok(())
}

/// The number behind a name at the beginning of a line.
fn number(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
}

/// How many edges were taken at last.
fn reached(text: &str) -> u64 {
    let last = text.lines().rev().find_map(|line| line.split("cov: ").nth(1)).unwrap_or_default();
    last.split(' ').next().and_then(|number| number.parse().ok()).unwrap_or_default()
}

/// The last lines, which say what broke.
fn end(text: &str) -> String {
    let lines: Vec<_> = text.lines().filter(|line| !line.starts_with('#')).collect();
    lines.get(lines.len().saturating_sub(30)..).unwrap_or_default().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_read() {
        let log = "#1 INITED cov: 10 ft: 11\n#2 NEW    cov: 123 ft: 130 corp: 2/3b\n\
                   Done 7 runs\nstat::number_of_executed_units: 7\n";
        assert_eq!((reached(log), number(log, "stat::number_of_executed_units:")), (123, Some(7)));
        assert_eq!((reached(""), number("", "stat::")), (0, None));
        assert_eq!(end(log), "Done 7 runs\nstat::number_of_executed_units: 7");
    }
}
