//! What is collected: one file for each source, in the layout that readers of such archives know (agent-protocol §4.3).

use std::path::{Path, PathBuf};
use std::time::Duration;

use assisted_base::process::{Cmd, Tools};
use jiff::Zoned;
use tokio::fs::File;
use tokio::io::AsyncWriteExt;

use super::{GatherError, LogDirs, LogsRequest, archive};

const JOURNAL: &str = "/var/log/journal/";
/// Limit for one source; the bundle of the bootstrap host asks every master.
const LIMIT: Duration = Duration::from_secs(300);
const BUNDLE_LIMIT: Duration = Duration::from_secs(45 * 60);
/// Longest file, in bytes. A journal of months packs to a tenth.
const LONGEST: usize = 1 << 30;
/// Most core dumps of which any use can be made.
const MOST_DUMPS: usize = 32;
/// More than the builder of images writes.
const MOST_IMAGE_FILES: usize = 300;

/// What is asked about disks: a title, and the program with its arguments.
const DISKS: [(&str, &[&str]); 7] = [
    (
        "Block devices",
        &["lsblk", "-o", "NAME,MAJ:MIN,SIZE,TYPE,FSTYPE,KNAME,MODEL,UUID,WWN,HCTL,VENDOR,STATE,TRAN,PKNAME"],
    ),
    ("Mounted file systems", &["findmnt", "--df"]),
    ("Disks by id", &["ls", "-l", "/dev/disk/by-id"]),
    ("Disks by path", &["ls", "-l", "/dev/disk/by-path"]),
    ("Physical volumes", &["pvdisplay", "-v"]),
    ("Volume groups", &["vgdisplay", "-v"]),
    ("Logical volumes", &["lvdisplay", "-v"]),
];
const OVS_GATHER: &str = "/usr/local/bin/ovs-installer-gather.sh";
const INSTALLER_GATHER: &str = "/usr/local/bin/installer-gather.sh";

pub(super) struct Collection<'a> {
    dir: &'a Path,
    tools: &'a Tools,
    request: &'a LogsRequest,
    failures: Vec<String>,
}

impl<'a> Collection<'a> {
    pub(super) fn new(dir: &'a Path, tools: &'a Tools, request: &'a LogsRequest) -> Self {
        Self { dir, tools, request, failures: Vec::new() }
    }

    /// What went wrong, one line each.
    pub(super) fn report(&self) -> String {
        self.failures.iter().map(|failure| format!("{failure}\n")).collect()
    }

    /// What every host has.
    pub(super) async fn common(&mut self) {
        self.disks().await;
        for (file, tag) in [("agent.logs", "TAG=agent"), ("installer.logs", "TAG=installer")] {
            self.journal(file, &[tag]).await;
        }
        let mut units = vec![("ironic-agent.service", "ironic-agent")];
        if self.request.bootstrap {
            units.push(("bootkube.service", "bootkube"));
        }
        let known = self.units().await;
        for (unit, name) in units {
            if known.lines().any(|line| line.split_whitespace().any(|word| word == unit)) {
                self.journal(&format!("{name}.logs"), &["-u", name]).await;
            }
        }
    }

    /// What the builder of the cluster's images has gathered, where one has worked: it is redacted there (ocl-day1 §B13).
    pub(super) fn images(&mut self, dirs: &LogDirs) {
        let from = dirs.logs.join("ocl");
        let Ok(entries) = std::fs::read_dir(&from) else { return };
        let to = self.dir.join("ocl");
        if let Err(error) = std::fs::create_dir_all(&to) {
            return self.failures.push(format!("{}: {error}", to.display()));
        }
        for entry in entries.flatten().take(MOST_IMAGE_FILES) {
            if entry.file_type().is_ok_and(|kind| kind.is_file())
                && let Err(error) = std::fs::copy(entry.path(), to.join(entry.file_name()))
            {
                self.failures.push(format!("{}: {error}", entry.path().display()));
            }
        }
    }

    /// Files that say why an installation failed.
    pub(super) async fn installer(&mut self) {
        self.file_of("dmesg.logs", self.tools.own("dmesg").arg("-T")).await;
        self.core_dumps().await;
        self.journal("journal.logs", &[]).await;
    }

    /// What the masters have, by the tools of the bootstrap host's own system (agent-protocol §4.4).
    pub(super) async fn bundle(&mut self, dirs: &LogDirs) {
        let id = Zoned::now().strftime("%Y%m%d%H%M%S").to_string();
        let masters: Vec<_> = self.request.master_ips.iter().map(ToString::to_string).collect();
        for cmd in [self.tools.own(OVS_GATHER), self.tools.cmd(INSTALLER_GATHER)] {
            let cmd = cmd.args(["--id", &id]).args(&masters).timeout(BUNDLE_LIMIT).output_limit(16 << 20);
            self.checked(cmd).await;
        }
        let name = format!("log-bundle-{id}.tar.gz");
        let made = dirs.bundles.join(&name);
        // Another file system may hold it, so it is copied.
        match tokio::fs::copy(&made, self.dir.join(&name)).await {
            Ok(_) => {
                let _ = tokio::fs::remove_file(&made).await;
            }
            Err(error) => self.failures.push(format!("{}: {error}", made.display())),
        }
    }

    async fn disks(&mut self) {
        let path = self.dir.join("mount.logs");
        let mut file = match File::create(&path).await {
            Ok(file) => file,
            Err(error) => return self.failures.push(format!("{}: {error}", path.display())),
        };
        for (title, words) in DISKS {
            let Some((program, args)) = words.split_first() else { continue };
            let cmd = self.tools.cmd(program).args(args).timeout(LIMIT);
            let head = format!("{title}\n{}\n", cmd.command_line());
            if let Err(error) = file.write_all(head.as_bytes()).await {
                return self.failures.push(format!("{}: {error}", path.display()));
            }
            self.written(cmd, &mut file).await;
            let _ = file.write_all(b"\n").await;
        }
        if let Err(error) = file.flush().await {
            self.failures.push(format!("{}: {error}", path.display()));
        }
    }

    async fn units(&mut self) -> String {
        let list = ["list-units", "--all", "--no-legend"];
        self.checked(self.tools.cmd("systemctl").args(list).timeout(LIMIT)).await.unwrap_or_default()
    }

    async fn journal(&mut self, file: &str, what: &[&str]) {
        let mut cmd = self.tools.cmd("journalctl");
        // Where nothing is kept on disk the journal in memory is read.
        if Path::new(JOURNAL).is_dir() {
            cmd = cmd.args(["-D", JOURNAL]);
        }
        cmd = cmd.arg("--all");
        if let Some(since) = &self.request.since {
            cmd = cmd.arg("--since").arg(since);
        }
        self.file_of(file, cmd.args(what)).await;
    }

    async fn core_dumps(&mut self) {
        let list = self.tools.cmd("coredumpctl").args(["list", "--no-legend"]).timeout(LIMIT);
        let Ok(listed) = list.run().await else {
            return self.failures.push("coredumpctl can't be asked".to_owned());
        };
        // Without any dump it ends with a failure.
        for line in listed.text().lines().take(MOST_DUMPS) {
            let words: Vec<_> = line.split_whitespace().collect();
            let (Some(pid), Some(program)) = (words.get(4), words.get(9)) else { continue };
            let base = Path::new(program).file_name().unwrap_or_default().to_string_lossy();
            if pid.is_empty() || !pid.bytes().all(|c| c.is_ascii_digit()) {
                continue;
            }
            let path = self.dir.join(format!("coredump_exe_{base}_pid_{pid}"));
            let dump = self.tools.cmd("coredumpctl").args(["dump", pid, "--output"]).arg(path);
            self.checked(dump.timeout(LIMIT)).await;
        }
    }

    async fn file_of(&mut self, name: &str, cmd: Cmd) {
        let path = self.dir.join(name);
        match File::create(&path).await {
            Ok(mut file) => self.written(cmd.timeout(LIMIT), &mut file).await,
            Err(error) => self.failures.push(format!("{}: {error}", path.display())),
        }
    }

    /// Runs a program into a file. Whatever it writes to standard error counts as a failure.
    async fn written(&mut self, cmd: Cmd, file: &mut File) {
        let shown = cmd.command_line();
        match cmd.output_limit(LONGEST).run_into(file).await {
            Ok(done) if done.success() && done.stderr.is_empty() => {}
            Ok(done) => {
                self.failures.push(format!("{shown}: exit code {}: {}", done.code(), done.complaint()));
            }
            Err(error) => self.failures.push(format!("{shown}: {error}")),
        }
    }

    /// Runs a program for its output.
    async fn checked(&mut self, cmd: Cmd) -> Option<String> {
        let shown = cmd.command_line();
        match cmd.run().await {
            Ok(done) if done.success() => return Some(done.text()),
            Ok(done) => {
                self.failures.push(format!("{shown}: exit code {}: {}", done.code(), done.complaint()));
            }
            Err(error) => self.failures.push(format!("{shown}: {error}")),
        }
        None
    }
}

/// Packs what the bootstrap host's tools have gathered so far.
pub(super) async fn partial_bundle(dir: &Path, dirs: &LogDirs) -> Result<(), GatherError> {
    let Some(artifacts) = newest_artifacts(&dirs.artifacts) else { return Ok(()) };
    let partial = dir.join("partial");
    std::fs::create_dir_all(&partial).map_err(super::at(&partial))?;
    archive::pack(artifacts, partial.join("log-bundle-partial.tar.gz")).await
}

fn newest_artifacts(dir: &Path) -> Option<PathBuf> {
    let entries = std::fs::read_dir(dir).ok()?.flatten();
    let named = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("artifacts-"));
    named.map(|entry| entry.path()).filter(|path| path.is_dir()).max()
}
