//! The installer program, run under limits: time, memory, output, environment.
//!
//! It gets no shell, nothing to read, and only the environment that it is given here. Whoever stops waiting for it kills it,
//! children included.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::time::Duration;

use assisted_base::process::{Cmd, CmdError};

use super::scrub::Redactor;

/// How much of its output is kept, in bytes; it writes a few lines.
const LONGEST: usize = 1 << 20;
/// Output that is longer than the first is cut to the second, in bytes (install-generation §4.3).
const SHOWN: [usize; 2] = [524, 500];
/// What the installer is asked to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    Manifests,
    IgnitionConfigs,
    SingleNodeIgnitionConfig,
    /// Of an image that brings its release along.
    UnconfiguredIgnition,
}

impl Target {
    const fn name(self) -> &'static str {
        match self {
            Self::Manifests => "manifests",
            Self::IgnitionConfigs => "ignition-configs",
            Self::SingleNodeIgnitionConfig => "single-node-ignition-config",
            Self::UnconfiguredIgnition => "unconfigured-ignition",
        }
    }

    /// The words before its name.
    const fn verb(self) -> &'static [&'static str] {
        match self {
            Self::UnconfiguredIgnition => &["agent", "create"],
            _ => &["create"],
        }
    }
}

/// Why the installer made nothing.
#[derive(Debug, thiserror::Error)]
pub(super) enum ProgramError {
    #[error("openshift-install can't be run: {0}")]
    Run(#[from] io::Error),
    #[error("error running openshift-install {command},  {output}: {end}")]
    Failed { command: &'static str, output: String, end: String },
    #[error("openshift-install {command} was stopped: it took longer than {} s", .after.as_secs())]
    TooSlow { command: &'static str, after: Duration },
}

/// A run of the installer.
pub(super) struct Run<'a> {
    pub program: &'a Path,
    /// Where it reads and writes.
    pub dir: &'a Path,
    pub environment: &'a [(&'static str, String)],
    pub limits: Limits,
    /// Of what it says, nobody learns these.
    pub secrets: &'a Redactor,
}

/// How far a run may go.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub time: Duration,
    /// Memory for its data, in bytes.
    pub memory: u64,
}

impl Run<'_> {
    /// Has something made in the folder.
    pub(super) async fn create(&self, target: Target) -> Result<(), ProgramError> {
        let command = target.name();
        let path = std::env::var_os("PATH").unwrap_or_else(|| OsString::from("/usr/bin:/bin"));
        let program = Cmd::new(self.program)
            .args(target.verb())
            .args([command, "--dir"])
            .arg(self.dir)
            .dir(self.dir)
            .only_own_env()
            .env("HOME", self.dir)
            .env("PATH", path)
            .timeout(self.limits.time)
            .memory(self.limits.memory)
            .output_limit(LONGEST)
            .cut_output()
            .merged();
        let program =
            self.environment.iter().fold(program, |program, (name, value)| program.env(name, value));
        let done = program.run().await.map_err(|error| match error {
            CmdError::Timeout { limit, .. } => ProgramError::TooSlow { command, after: limit },
            CmdError::Start { source, .. } | CmdError::Io { source, .. } => source.into(),
            error @ CmdError::TooLong { .. } => io::Error::other(error).into(),
        })?;
        let text = self.secrets.clean(&done.text());
        tracing::debug!(command, status = %done.status, output = %text, "openshift-install has ended");
        if done.success() {
            return Ok(());
        }
        Err(ProgramError::Failed {
            command,
            output: truncated(&text),
            end: done.status.to_string().replace("status: ", "status "),
        })
    }
}

fn truncated(text: &str) -> String {
    let [longest, mut cut] = SHOWN;
    if text.len() <= longest {
        return text.to_owned();
    }
    while !text.is_char_boundary(cut) {
        cut -= 1;
    }
    format!("{} <TRUNCATED>", text.get(..cut).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    async fn run(script: &str, timeout: Duration) -> (tempfile::TempDir, Result<(), ProgramError>) {
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join("program");
        std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let environment = [("OPENSHIFT_INSTALL_INVOKER", "tests".to_owned())];
        let limits = Limits { time: timeout, memory: 4 << 30 };
        let secrets = Redactor::of(&[&r#"{"pullSecret":"s3cr3t"}"#.into()]);
        let run =
            Run { program: &program, dir: dir.path(), environment: &environment, limits, secrets: &secrets };
        let made = run.create(Target::Manifests).await;
        (dir, made)
    }

    const LONG: Duration = Duration::from_secs(60);

    #[tokio::test]
    async fn what_it_is_given() {
        let script = r#"echo "$@" > args; env | sort > env; cat > stdin; pwd > place
            until [ "$(ulimit -d)" = 4194304 ]; do :; done"#;
        let (dir, made) = run(script, LONG).await;
        made.unwrap();
        let read = |name: &str| std::fs::read_to_string(dir.path().join(name)).unwrap();
        let place = dir.path().to_str().unwrap();
        assert_eq!(read("args"), format!("create manifests --dir {place}\n"));
        let environment = read("env");
        let names: Vec<_> = environment.lines().map(|line| line.split('=').next().unwrap()).collect();
        assert!(
            names.iter().all(|name| [
                "HOME",
                "PATH",
                "OPENSHIFT_INSTALL_INVOKER",
                "PWD",
                "OLDPWD",
                "SHLVL",
                "_"
            ]
            .contains(name)),
            "{names:?}"
        );
        assert_eq!((read("stdin").as_str(), read("place")), ("", format!("{place}\n")));
    }

    #[tokio::test]
    async fn what_it_complains_of() {
        let (_, made) = run("echo out; echo err >&2; exit 3", LONG).await;
        let text = made.unwrap_err().to_string();
        assert_eq!(text, "error running openshift-install manifests,  out\nerr\n: exit status 3");
        let (_, made) = run("head -c 525 /dev/zero | tr '\\0' x; exit 1", LONG).await;
        let text = made.unwrap_err().to_string();
        let expected = format!(
            "error running openshift-install manifests,  {} <TRUNCATED>: exit status 1",
            "x".repeat(500)
        );
        assert_eq!(text, expected);
    }

    #[tokio::test]
    async fn it_tells_no_secret() {
        // In two pieces, one of which would be cut off.
        let (_, made) = run("head -c 498 /dev/zero | tr '\\0' x; echo s3cr3t s3cr3t; exit 1", LONG).await;
        let text = made.unwrap_err().to_string();
        assert!(text.contains("x<h") && !text.contains("s3"), "{text}");
    }

    #[tokio::test]
    async fn it_does_not_run_for_ever() {
        let (dir, made) = run("sleep 1000 & echo $! > child; wait", Duration::from_secs(2)).await;
        assert!(matches!(made, Err(ProgramError::TooSlow { .. })));
        let child = std::fs::read_to_string(dir.path().join("child")).unwrap();
        let stat = Path::new("/proc").join(child.trim()).join("stat");
        while std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z")) {
            tokio::task::yield_now().await;
        }
    }
}
