//! Running other programs: said beforehand, checked afterwards, and never waited for without a limit where nobody watches.

use std::cell::RefCell;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use assisted_lab_tools::on_path;
use assisted_lab_tools::wait::{Wait, child};
use serde_json::Value;

/// Lines of a log that a failure shows.
const TAIL: usize = 15;

/// Root of the checkout.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_path_buf).unwrap_or_default()
}

/// The files below a folder that are wanted; a folder that is not is not entered.
pub fn files(dir: &Path, is_wanted: &impl Fn(&Path) -> bool) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).with_context(|| format!("can't read {}", dir.display()))? {
        let path = entry?.path();
        match (is_wanted(&path), path.is_dir()) {
            (false, _) => {}
            (true, true) => found.extend(files(&path, is_wanted)?),
            (true, false) => found.push(path),
        }
    }
    Ok(found)
}

/// Folder for what is made once and outlives checkouts, made if it is not there.
pub fn cache() -> Result<PathBuf> {
    let dir = assisted_lab_tools::cache()?;
    std::fs::create_dir_all(&dir).with_context(|| format!("can't create {}", dir.display()))?;
    Ok(dir)
}

/// Where the tests of whole installations spend their time: optimised, they take a third of it.
const BUSY: [&str; 27] = [
    "assisted-api",
    "assisted-core",
    "assisted-service",
    "assisted-simhost",
    "assisted-store",
    "assisted-wire",
    // theirs
    "aho-corasick",
    "bytes",
    "h2",
    "hashbrown",
    "http",
    "httparse",
    "hyper",
    "indexmap",
    "itoa",
    "jiff",
    "parking_lot_core",
    "rand_chacha",
    "regex-automata",
    "rusqlite",
    "rustls",
    "ryu",
    "serde_json",
    "tokio",
    "unsafe-libyaml",
    "uuid",
    "zmij",
];

/// A variable that says the same to an xtask that a test starts.
pub const OPTIMISE: &str = "ASSISTED_XTASK_OPTIMISE";

static OPTIMISES: AtomicBool = AtomicBool::new(false);

/// Has every later [`cargo`] optimise what tests spend their time in. To build that takes minutes more, which only who runs many tests gets
/// back; cargo keeps both forms beside each other.
pub fn optimise_for_tests() {
    OPTIMISES.store(true, Ordering::Relaxed);
}

/// `cargo` with arguments, in the root of the checkout. It is not told what cargo has told this program of itself: some
/// libraries would be built anew for it, and once more when somebody runs cargo by hand.
pub fn cargo(args: &[&str]) -> Command {
    let mut command = tied(std::env::var_os("CARGO").map_or_else(|| "cargo".into(), PathBuf::from));
    if OPTIMISES.load(Ordering::Relaxed) || std::env::var_os(OPTIMISE).is_some() {
        for name in BUSY {
            command.args(["--config", &format!("profile.dev.package.{name}.opt-level=1")]);
        }
    }
    command.args(args).current_dir(root());
    for (name, _) in std::env::vars_os() {
        let own = name.to_string_lossy();
        if own.starts_with("CARGO_PKG_") || own.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&name);
        }
    }
    command
}

/// A program that is killed when this one ends, however it ends: builds go on for minutes.
pub fn tied(program: impl AsRef<Path>) -> Command {
    match on_path("setpriv") {
        Some(setpriv) => {
            let mut command = Command::new(setpriv);
            command.args(["--pdeathsig", "KILL", "--"]).arg(program.as_ref());
            command
        }
        None => Command::new(program.as_ref()),
    }
}

/// A program that gives way to others where `nice` is installed, and that is killed when this one ends.
pub fn at_low_priority(nice: &str, program: impl AsRef<Path>) -> Command {
    match on_path("nice") {
        Some(path) => {
            let mut command = tied(path);
            command.args(["-n", nice]).arg(program.as_ref());
            command
        }
        None => tied(program),
    }
}

/// The last lines of a log.
pub fn tail(log: &Path) -> String {
    let text = std::fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<_> = text.trim_end().lines().collect();
    let last = lines.get(lines.len().saturating_sub(TAIL)..).unwrap_or_default();
    format!("the end of {}:\n  {}", log.display(), last.join("\n  "))
}

/// Folder of what cargo builds.
pub fn target_dir() -> Result<PathBuf> {
    let output = cargo(&["metadata", "--format-version", "1", "--no-deps"]).output()?;
    let metadata: Value = serde_json::from_slice(&output.stdout).context("can't read cargo metadata")?;
    Ok(metadata["target_directory"].as_str().map_or_else(|| root().join("target"), PathBuf::from))
}

/// Builds the programs of the workspace, with the same features as the tests that start them; where they are.
pub fn programs() -> Result<PathBuf> {
    step("programs", &mut cargo(&["build", "--workspace", "--bins", "--examples"]))?;
    Ok(target_dir()?.join("debug"))
}

/// The words for cargo that leave out of `assisted` what knows Kubernetes, and of `assisted-lab` what knows machines.
pub const LEAN: &str = "--no-default-features";

/// What the demo shows first, in the form of [`LEAN`].
pub const LEAN_PROGRAMS: [&str; 2] = ["assisted", "assisted-lab"];

/// Builds them; [`programs`] puts whole ones in their places.
pub fn lean_programs() -> Result<()> {
    step("lean programs", build(&LEAN_PROGRAMS).args(["--examples", LEAN]))
}

/// Builds most of what does not have the web UI in it: libraries, by way of some programs and an example that are built with the others anyway,
/// and with the same features.
pub fn libraries() -> Result<()> {
    let without_ui = ["assisted-host", "assisted-lab", "assisted-package", "lab-cluster"];
    step("libraries", build(&without_ui).args(["--example", "queries"]))
}

/// What builds some programs of the workspace, with the features that all of it has: nothing is built twice when the
/// others follow.
pub fn build(programs: &[&str]) -> Command {
    let mut command = cargo(&["build", "--workspace"]);
    for program in programs {
        command.args(["--bin", program]);
    }
    command
}

thread_local! {
    static LOG: RefCell<Option<Log>> = const { RefCell::new(None) };
}

/// Where a thread and the programs that it runs write, when several work at once, and how long they may.
#[derive(Clone)]
pub struct Log {
    pub file: Arc<File>,
    pub deadline: Instant,
}

impl Log {
    /// Does something whose output belongs into this log.
    pub fn during<T>(self, work: impl FnOnce() -> T) -> T {
        LOG.set(Some(self));
        let done = work();
        LOG.set(None);
        done
    }
}

/// Writes a line into the log of this thread, else for everybody to see.
pub fn print_line(line: &str) {
    let log = LOG.with_borrow(Clone::clone);
    // Whoever closed the pipe wants no more lines; the work goes on.
    let _ = match log {
        Some(log) => writeln!(&*log.file, "{line}"),
        None => writeln!(std::io::stdout(), "{line}"),
    };
}

/// Runs a command to its end. In a thread with a log its output goes there, unless it goes to a file, and it is killed when
/// the time is up.
pub fn status(command: &mut Command, output: Option<File>) -> Result<ExitStatus> {
    let program = command.get_program().to_owned();
    let log = LOG.with_borrow(Clone::clone);
    if let Some(log) = &log {
        command.stdin(Stdio::null()).stdout(log.file.try_clone()?).stderr(log.file.try_clone()?);
    }
    if let Some(output) = output {
        command.stdout(output);
    }
    let mut child = command.spawn().with_context(|| format!("can't start {}", program.display()))?;
    let Some(log) = log else { return Ok(child.wait()?) };
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if Instant::now() >= log.deadline {
            child.kill()?;
            child.wait()?;
            bail!("it was killed: its time was up (the end of its output tells where it was)");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// How long a command may take whose output is read, where nothing else limits it.
const OUTPUT: Duration = Duration::from_secs(60 * 60);

/// Runs a command to its end, and gives what it wrote. It is killed when the time of this thread is up.
pub fn output(what: &str, command: &mut Command) -> Result<Output> {
    let mut wait = match LOG.with_borrow(Clone::clone) {
        // Whoever watches the stages is told which of them goes on.
        Some(log) => {
            let left = log.deadline.saturating_duration_since(Instant::now());
            Wait::new(what, "the log of this stage", left).quietly()
        }
        None => Wait::new(what, "what it prints at its end", OUTPUT),
    };
    child::output(command, &mut wait).with_context(|| format!("can't run {what}"))
}

/// Runs a command; fails unless it succeeds. Says what runs and how long it took.
pub fn step(what: &str, command: &mut Command) -> Result<()> {
    print_line(&format!("--- {what}"));
    let started = Instant::now();
    let status = status(command, None)?;
    print_line(&format!("--- {what}: {:.1} s", started.elapsed().as_secs_f64()));
    if !status.success() {
        bail!("{what} failed ({status})");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_of_a_program_is_limited_by_the_time_of_its_stage() {
        let log = |deadline| Log { file: Arc::new(File::create("/dev/null").unwrap()), deadline };
        let late = log(Instant::now()).during(|| output("the end", Command::new("sleep").arg("600")));
        let why = format!("{:#}", late.unwrap_err());
        assert!(why.contains("the end did not come within 0 s"), "{why}");
        let in_time = Instant::now() + Duration::from_secs(60);
        let read = log(in_time).during(|| output("the words", Command::new("echo").arg("hello")));
        assert_eq!(read.unwrap().stdout, b"hello\n");
    }
}
