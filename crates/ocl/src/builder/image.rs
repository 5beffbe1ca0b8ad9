//! The image itself: built in the scratch's storage, then pushed (ocl-day1 §B5.2).

use std::io::Write;
use std::time::Duration;

use assisted_wire::on_cluster_layering::{LayeringErrorCode, Pool};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};

use super::base_image::podman;
use super::failure::{classify_run, is_refusal};
use super::machine::require_success;
use super::progress::begins_at;
use super::{Builder, Failed, Machine, Store, context};
use crate::config::Proxy;
use crate::paths;

use assisted_wire::on_cluster_layering::BuildState;

/// No single attempt is longer than any limit for the whole.
const LONGEST_BUILD: Duration = Duration::from_secs(6 * 3_600);
const LONGEST_PUSH: Duration = Duration::from_secs(3_600);
/// A build's log holds so much from its beginning, and so much from its end, in bytes (§B13).
const HEAD: usize = 1 << 20;
const TAIL: usize = 49 << 20;
/// Lines that can say why a build failed.
const LAST_LINES: usize = 60;
/// Longer ones are cut.
const LONGEST_LINE: u64 = 64 << 10;

/// One attempt at a pool's image, for the pool's context.
#[derive(Debug)]
pub(crate) struct Attempt<'a> {
    pub machine: &'a Machine,
    pub pool: Pool,
    pub number: u32,
    pub auth: &'a str,
    pub proxy: &'a Proxy,
}

/// The log of an attempt.
pub(crate) fn log_path(pool: Pool, attempt: u32) -> String {
    format!("{}/build-{pool}-{attempt}.log", paths::STATE)
}

/// The digest that a push has told.
pub(crate) fn digest_path(pool: Pool) -> String {
    format!("{}/digest-{pool}", paths::STATE)
}

impl Attempt<'_> {
    /// Builds. Each line goes to the log and, if it begins a step, to the progress.
    pub(crate) async fn build(&self, store: &Store) -> Result<(), Failed> {
        let dir = context::dir(self.pool.as_str());
        let containerfile = self.machine.name(&format!("{dir}/Containerfile"));
        let name = Builder::local_name(self.pool);
        let args = ["build", "--network=host", "--security-opt=label=disable", "--authfile", self.auth];
        let mut cmd = podman(self.machine, LONGEST_BUILD).args(args);
        // A proxy's address may have a password in it: by its name alone the value comes from the environment, which the builder sets.
        for (name, _) in self.proxy.variables() {
            cmd = cmd.args(["--build-arg", &name]);
        }
        let cmd = cmd.args(context::volumes(self.machine));
        let iid = self.machine.name(&format!("{}/iid-{}", paths::SCRATCH, self.pool));
        let cmd = cmd
            .args(["--iidfile", &iid, "--tag", &name, "--file", &containerfile])
            .arg(self.machine.name(&dir));
        let (mut output, seen) = tokio::io::duplex(64 << 10);
        let run = async {
            let done = cmd.merged().output_limit(usize::MAX).run_into(&mut output).await;
            drop(output);
            done
        };
        let (done, watched) = tokio::join!(run, self.watch(seen, store));
        let last = watched.map_err(Failed::of(LayeringErrorCode::BuildInfra, "the log of the build"))?;
        match done {
            Ok(done) if done.success() => Ok(()),
            Ok(done) => {
                let told: Vec<_> = last.iter().map(String::as_str).filter(|line| tells(line)).collect();
                let reason = told[told.len().saturating_sub(4)..].join("; ");
                let reason = format!("the build ended with exit status {}: {reason}", done.code());
                let why = told.join("\n");
                Err(Failed::new(classify_run(&why), reason))
            }
            Err(error) => Err(Failed::new(LayeringErrorCode::BuildInfra, error.to_string())),
        }
    }

    /// Keeps what the build writes; its last lines.
    async fn watch(&self, seen: tokio::io::DuplexStream, store: &Store) -> std::io::Result<Vec<String>> {
        let mut log = Log::new(self.machine, &log_path(self.pool, self.number))?;
        let mut last: Vec<String> = Vec::new();
        let mut stages = (0, 1);
        let mut seen = BufReader::new(seen);
        let mut line = Vec::new();
        loop {
            line.clear();
            if (&mut seen).take(LONGEST_LINE).read_until(b'\n', &mut line).await? == 0 {
                break;
            }
            let text = super::redact(String::from_utf8_lossy(&line).trim_end());
            log.line(&text)?;
            if let Some(step) = Step::read(&text) {
                stages = step.stage.unwrap_or(stages);
                store.step(self.pool, &step.text, step.percent(stages))?;
            }
            last.push(text);
            if last.len() > LAST_LINES {
                last.remove(0);
            }
        }
        log.end()?;
        Ok(last)
    }

    /// Pushes to `to` with the credentials of a file; what the registry calls it is written down.
    pub(crate) async fn push(&self, to: &str, auth: Option<&str>) -> Result<(), Failed> {
        let digest = self.machine.name(&digest_path(self.pool));
        let mut cmd = podman(self.machine, LONGEST_PUSH).args(["push", "--digestfile", &digest]);
        cmd = match auth {
            Some(auth) => cmd.args(["--authfile", auth]),
            // The loopback writer speaks no TLS and asks nobody who they are.
            None => cmd.arg("--tls-verify=false"),
        };
        let done = cmd.arg(Builder::local_name(self.pool)).arg(format!("docker://{to}")).merged().run().await;
        let text = done.as_ref().map(assisted_base::process::CmdOutput::text).unwrap_or_default();
        let log = format!("{}/push-{}-{}.log", paths::STATE, self.pool, self.number);
        self.machine
            .write(&log, 0o600, super::redact(&text))
            .map_err(Failed::of(LayeringErrorCode::Push, "its log"))?;
        require_success("podman", done).map(drop).map_err(|error| {
            let reason = format!("the image can't be pushed to {to}: {error}");
            match is_refusal(&error) {
                true => Failed::for_good(LayeringErrorCode::Push, reason),
                false => Failed::new(LayeringErrorCode::Push, reason),
            }
        })
    }
}

/// The line that begins a step: `[2/3] STEP 1/2: RUN …`, or `STEP 7/12: …` where there is one stage.
#[derive(Debug, PartialEq, Eq)]
struct Step {
    stage: Option<(u32, u32)>,
    step: (u32, u32),
    text: String,
}

impl Step {
    fn read(line: &str) -> Option<Self> {
        let (stage, rest) = match line.strip_prefix('[').and_then(|rest| rest.split_once("] ")) {
            Some((stage, rest)) => (Some(fraction(stage)?), rest),
            None => (None, line),
        };
        let (step, text) = rest.strip_prefix("STEP ")?.split_once(": ")?;
        let text = text.chars().take(160).collect::<String>();
        let step = fraction(step)?;
        Some(Self { stage, step, text: format!("STEP {}/{}: {text}", step.0, step.1) })
    }

    /// Percent of the whole build, of which this part lies between building and pushing.
    fn percent(&self, (stage, stages): (u32, u32)) -> u8 {
        let (from, to) = (begins_at(BuildState::Building), begins_at(BuildState::Pushing));
        let stages = stages.max(1);
        let (step, steps) = self.step;
        let done =
            stage.saturating_sub(1) * 100 / stages + step.saturating_sub(1) * 100 / (steps.max(1) * stages);
        from + u8::try_from(u32::from(to - from) * done.min(99) / 100).unwrap_or_default()
    }
}

fn fraction(text: &str) -> Option<(u32, u32)> {
    let (part, whole) = text.split_once('/')?;
    let (part, whole) = (part.parse().ok()?, whole.parse().ok()?);
    (part <= whole && whole <= 10_000).then_some((part, whole))
}

/// Whether a line is of a step, and not podman's own about it: that repeats the step's text, whatever words are in it.
fn tells(line: &str) -> bool {
    const OWN: [&str; 5] =
        ["subprocess exited", "Error: building at STEP", "error building at STEP", "STEP ", "--> "];
    !OWN.iter().any(|own| line.starts_with(own)) && Step::read(line).is_none() && !line.trim().is_empty()
}

/// A log that stays within bounds: its beginning, and its end, which stands in a second file that begins anew when it is full.
struct Log {
    file: std::fs::File,
    path: std::path::PathBuf,
    written: usize,
    in_tail: bool,
}

impl Log {
    fn new(machine: &Machine, path: &str) -> std::io::Result<Self> {
        let path = machine.path(path);
        Ok(Self { file: std::fs::File::create(&path)?, path, written: 0, in_tail: false })
    }

    fn line(&mut self, text: &str) -> std::io::Result<()> {
        let most = if self.in_tail { TAIL } else { HEAD };
        if self.written + text.len() > most {
            let tail = self.path.with_extension("tail.log");
            if self.in_tail {
                std::fs::rename(&tail, self.path.with_extension("tail.1.log"))?;
            }
            self.file = std::fs::File::create(tail)?;
            (self.written, self.in_tail) = (0, true);
        }
        self.written += text.len() + 1;
        writeln!(self.file, "{text}")
    }

    fn end(mut self) -> std::io::Result<()> {
        self.file.flush()?;
        self.file.sync_all()
    }
}

#[cfg(test)]
mod tests {
    use assisted_base::process::Tools;

    use super::*;

    #[test]
    fn steps_are_parts_of_a_hundred() {
        let step = Step::read("[2/3] STEP 1/2: RUN dnf -y install strace").unwrap();
        assert_eq!(
            (step.stage, step.step, step.text.as_str()),
            (Some((2, 3)), (1, 2), "STEP 1/2: RUN dnf -y install strace")
        );
        assert_eq!(step.percent((2, 3)), 46);
        let single = Step::read("STEP 7/12: RUN x").unwrap();
        assert_eq!((single.stage, single.percent((0, 1))), (None, 55));
        for line in [
            "STEP x/2: RUN",
            "STEP 3/2: RUN",
            "--> a1b2",
            "[2/3] COMMIT",
            "STEP 1/2",
            "[x/3] STEP 1/2: RUN",
            "",
        ] {
            assert_eq!(Step::read(line), None, "{line}");
        }
    }

    #[test]
    fn steps_speak_for_themselves() {
        for line in [
            "STEP 1/2: RUN x || echo connection refused",
            "[1/2] STEP 1/2: RUN i/o timeout",
            "subprocess exited with status 7",
            "--> 0d25323f348",
            "",
        ] {
            assert!(!tells(line), "{line}");
        }
        assert!(tells("no such package"));
    }

    #[test]
    fn logs_stay_within_bounds() {
        let dir = tempfile::tempdir().unwrap();
        let machine = Machine::at(dir.path(), Tools::default());
        let mut log = Log::new(&machine, "/x.log").unwrap();
        let line = "y".repeat(HEAD / 2);
        for _ in 0..3 {
            log.line(&line).unwrap();
        }
        log.line("the end").unwrap();
        log.end().unwrap();
        assert!(std::fs::metadata(dir.path().join("x.log")).unwrap().len() <= HEAD as u64 + 2);
        assert!(std::fs::read_to_string(dir.path().join("x.tail.log")).unwrap().ends_with("the end\n"));
    }
}
