//! How the cluster's programs are run: from the images of its release by podman, as on every lab machine, or directly,
//! where a test has them at hand.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use assisted_base::process::Cmd;
use serde::Deserialize;
use tokio::task::JoinHandle;
use tokio::time::sleep;
use tracing::{info, warn};

use crate::files;

/// Pulling a release takes its time on a slow machine.
const PULL: Duration = Duration::from_secs(3_600);
const FOREVER: Duration = Duration::from_secs(10 * 365 * 86_400);
/// Between the end of a server and its next start.
const RESTART_DELAY: Duration = Duration::from_secs(1);
/// Where the logs of containers are, as kubelets have them.
pub const LOGS: &str = "/var/log/containers";
/// Longest log of one program, in bytes; then it begins anew.
const LONGEST_LOG: u64 = 64 << 20;
const LONGEST_OUTPUT: usize = 256 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramRuntime {
    Podman,
    Direct,
}

impl FromStr for ProgramRuntime {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "podman" => Ok(Self::Podman),
            "direct" => Ok(Self::Direct),
            _ => Err("it is podman or direct".to_owned()),
        }
    }
}

/// The version of a release, and its images by their names.
#[derive(Debug, Default)]
pub struct Release {
    pub version: String,
    pub images: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct References {
    metadata: Named,
    spec: Tags,
}

#[derive(Deserialize)]
struct Named {
    name: String,
}

#[derive(Deserialize)]
struct Tags {
    tags: Vec<Tag>,
}

#[derive(Deserialize)]
struct Tag {
    name: String,
    from: Named,
}

/// A program to run, with the folders of this machine that it may see at their own places, and further places.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// Name of its container and its log.
    pub name: String,
    pub image: String,
    /// Empty: what the image is for.
    pub command: Vec<String>,
    pub args: Vec<String>,
    pub env: Vec<(String, String)>,
    /// Path on this machine, path for the program.
    pub mounts: Vec<(PathBuf, PathBuf)>,
    /// Whether it is a pod's, which says what it has to say on standard output.
    pub is_pod: bool,
}

impl ProgramRuntime {
    /// The version and the images that a release image names.
    pub async fn release(self, image: &str) -> Result<Release> {
        if self == Self::Direct {
            return Ok(Release { version: version_of(image), images: BTreeMap::new() });
        }
        podman(&["pull", "--quiet", image]).await?;
        let folder = podman(&["image", "mount", image]).await?;
        let path = Path::new(folder.trim()).join("release-manifests/image-references");
        let read = files::read(&path);
        let _ = podman(&["image", "unmount", image]).await;
        let references: References =
            serde_json::from_slice(&read?).with_context(|| format!("{image} names no images"))?;
        let images = references.spec.tags.into_iter().map(|tag| (tag.name, tag.from.name)).collect();
        Ok(Release { version: references.metadata.name, images })
    }

    fn cmd(self, program: &Program) -> Result<Cmd> {
        match self {
            Self::Podman => Ok(contained(program)),
            Self::Direct => direct(program),
        }
    }

    /// Runs a program to its end, its output going into its log; gives its exit status.
    pub async fn run(self, program: &Program) -> Result<i32> {
        if !program.is_pod {
            return self.run_watched(program, |_| {}).await;
        }
        let mut log = Log::open(&program.name)?;
        let cmd = self.cmd(program)?.timeout(FOREVER).cut_output();
        let mut sink = tokio::fs::File::from_std(log.file.try_clone()?);
        let output = cmd.output_limit(LONGEST_OUTPUT).run_into(&mut sink).await?;
        log.write(&output.stderr);
        Ok(output.code())
    }

    /// Runs a program that is no pod's to its end, and shows what goes into its log.
    pub async fn run_watched(self, program: &Program, mut watch: impl FnMut(&[u8])) -> Result<i32> {
        let mut log = Log::open(&program.name)?;
        let cmd = self.cmd(program)?.timeout(FOREVER).cut_output();
        // Servers write on standard error.
        let shown = |piece: &[u8]| {
            log.write(piece);
            watch(piece);
        };
        Ok(cmd.run_watched(shown).await?.code())
    }

    /// Keeps a program running.
    pub fn keep(self, program: Program) -> Running {
        let name = program.name.clone();
        let task = tokio::spawn(async move {
            loop {
                info!(program = program.name, "starts");
                match self.run(&program).await {
                    Ok(code) => {
                        warn!(program = program.name, code, log = %log_path(&program.name).display(), "ended");
                    }
                    Err(error) => warn!(program = program.name, error = format!("{error:#}"), "can't be run"),
                }
                sleep(RESTART_DELAY).await;
            }
        });
        Running { programs: self, name, task }
    }

    /// Removes what may be left of a program.
    async fn remove(self, name: &str) {
        if self == Self::Podman
            && let Err(error) = podman(&["rm", "--force", "--ignore", "--time", "20", name]).await
        {
            warn!(program = name, error = format!("{error:#}"), "its container stays");
        }
    }
}

/// A program that is kept running until this value goes.
pub struct Running {
    programs: ProgramRuntime,
    name: String,
    task: JoinHandle<()>,
}

impl Running {
    /// Ends it, and waits until it has ended.
    pub async fn stop(mut self) {
        self.task.abort();
        let _ = (&mut self.task).await;
        self.programs.remove(&self.name).await;
        info!(program = self.name, "stopped");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}

pub fn log_path(name: &str) -> PathBuf {
    Path::new(LOGS).join(format!("{name}.log"))
}

struct Log {
    file: File,
}

impl Log {
    fn open(name: &str) -> Result<Self> {
        let path = log_path(name);
        std::fs::create_dir_all(LOGS)?;
        let long = std::fs::metadata(&path).is_ok_and(|about| about.len() > LONGEST_LOG);
        let mut options = File::options();
        options.create(true).append(true);
        if long {
            std::fs::remove_file(&path)?;
        }
        Ok(Self { file: options.open(&path).with_context(|| format!("can't write {}", path.display()))? })
    }

    fn write(&mut self, piece: &[u8]) {
        // A full disk must not end the program.
        let _ = self.file.write_all(piece);
    }
}

/// Podman, run to its end; gives what it says.
pub async fn podman(args: &[&str]) -> Result<String> {
    let output = Cmd::new("podman").args(args).timeout(PULL).run().await?;
    if !output.success() {
        bail!("podman {}: {}", args.join(" "), output.complaint());
    }
    Ok(output.text())
}

fn contained(program: &Program) -> Cmd {
    // Its output is ours to keep; what an earlier life of this program has left is replaced.
    let fixed = ["--rm", "--replace", "--net", "host", "--log-driver", "none"];
    let mut cmd = Cmd::new("podman").arg("run").args(fixed).args(["--security-opt", "label=disable"]);
    cmd = cmd.args(["--name", &program.name]);
    for (here, there) in &program.mounts {
        cmd = cmd.arg("--volume").arg(format!("{}:{}", here.display(), there.display()));
    }
    for (name, value) in &program.env {
        cmd = cmd.arg("--env").arg(format!("{name}={value}"));
    }
    let mut command = program.command.iter();
    if let Some(first) = command.next() {
        cmd = cmd.args(["--entrypoint", first]);
    }
    cmd.arg(&program.image).args(command).args(&program.args)
}

impl Program {
    /// Its words as this machine runs it, with what it sees elsewhere in its place.
    pub fn words(&self) -> Result<Vec<String>> {
        link(&self.mounts)?;
        let (first, rest) = direct_words(self);
        Ok(std::iter::once(first.to_owned()).chain(rest.cloned()).collect())
    }
}

/// The program by the last part of its name, or that of its image; what it is to see elsewhere is linked there.
fn direct(program: &Program) -> Result<Cmd> {
    link(&program.mounts)?;
    let (first, rest) = direct_words(program);
    Ok(program.env.iter().fold(Cmd::new(first).args(rest), |cmd, (name, value)| cmd.env(name, value)))
}

fn direct_words(program: &Program) -> (&str, impl Iterator<Item = &String>) {
    let mut command = program.command.iter();
    let first = command.next().map_or_else(|| image_name(&program.image), |path| last(path));
    (first, command.chain(&program.args))
}

fn link(mounts: &[(PathBuf, PathBuf)]) -> Result<()> {
    for (here, there) in mounts.iter().filter(|(here, there)| here != there) {
        if there.symlink_metadata().is_ok_and(|about| about.is_symlink()) {
            std::fs::remove_file(there)?;
        } else if there.exists() {
            bail!("{} is in the way", there.display());
        }
        if let Some(folder) = there.parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::os::unix::fs::symlink(here, there)?;
    }
    Ok(())
}

fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The last word of an image's name, without its tag or digest.
fn image_name(image: &str) -> &str {
    let name = last(image.split('@').next().unwrap_or(image));
    name.split(':').next().unwrap_or(name)
}

/// A release's version by its tag, `4.20.1-x86_64`.
fn version_of(image: &str) -> String {
    let tag = last(image).split(':').nth(1).unwrap_or("0.0.1");
    tag.strip_suffix("-x86_64").unwrap_or(tag).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_images() {
        for (image, name) in
            [("192.0.2.1:5000/ocp/controller:latest", "controller"), ("q/a/b@sha256:00", "b"), ("c", "c")]
        {
            assert_eq!(image_name(image), name);
        }
        assert_eq!(version_of("192.0.2.1:5000/ocp/release:4.20.1-x86_64"), "4.20.1");
    }
}
