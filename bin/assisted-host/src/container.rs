//! What an image with nothing in it but this program still has to bring: `cp`, by which units take the agent out of its image, and
//! `nsenter`, by which a contained agent works on the host. Each knows the options that it is called with, and no others.

use std::ffi::OsString;
use std::fs::{self, File};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use assisted_base::process::Cmd;
use clap::Args;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// Copy a file into a folder, or to a name, as `cp` does
#[derive(Args, Debug)]
pub struct Copy {
    from: PathBuf,
    to: PathBuf,
}

impl Copy {
    /// Copies. What runs under the name goes on with the file that it has.
    pub fn run(self) -> Result<ExitCode> {
        let place = match self.to.is_dir() {
            true => self.to.join(self.from.file_name().context("the file has no name")?),
            false => self.to,
        };
        let mut new = place.clone().into_os_string();
        new.push(".new");
        let failed = || format!("can't copy {} to {}", self.from.display(), place.display());
        fs::copy(&self.from, &new).and_then(|_| fs::rename(&new, &place)).with_context(failed)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Run a program in namespaces of another process, as `nsenter` does
#[derive(Args, Debug)]
pub struct Enter {
    /// Process whose namespaces are meant
    #[arg(long)]
    target: u32,
    #[arg(long)]
    cgroup: bool,
    #[arg(long)]
    ipc: bool,
    #[arg(long)]
    net: bool,
    /// Has an effect on what the program starts, and not on itself
    #[arg(long)]
    pid: bool,
    #[arg(long)]
    mount: bool,
    /// Program, and its arguments
    #[arg(last = true, required = true)]
    command: Vec<OsString>,
}

impl Enter {
    /// Becomes the program. This runs before anything has started a thread: only then may a process change its mounts.
    pub fn run(self) -> Result<ExitCode> {
        let wanted = [
            (self.cgroup, "cgroup", LinkNameSpaceType::ControlGroup),
            (self.ipc, "ipc", LinkNameSpaceType::InterProcessCommunication),
            (self.net, "net", LinkNameSpaceType::Network),
            (self.pid, "pid", LinkNameSpaceType::ProcessID),
            (self.mount, "mnt", LinkNameSpaceType::Mount),
        ];
        // All are opened before the first is entered: other mounts have another /proc.
        let mut opened = Vec::new();
        for (_, name, kind) in wanted.into_iter().filter(|(is_wanted, ..)| *is_wanted) {
            let path = format!("/proc/{}/ns/{name}", self.target);
            let file = File::open(&path).with_context(|| format!("can't open {path}"))?;
            opened.push((path, file, kind));
        }
        for (path, file, kind) in opened {
            move_into_link_name_space(file.as_fd(), Some(kind))
                .with_context(|| format!("can't enter {path}"))?;
        }
        let (program, arguments) = self.command.split_first().context("no program is named")?;
        let error = Cmd::new(program).args(arguments).take_over(&program.to_string_lossy());
        Err(error).with_context(|| format!("can't run {}", program.display()))
    }
}
