//! The system of a lab machine that is no more than namespaces: what starts its units and keeps them running, and the few
//! programs of a CoreOS system that the product asks for on a host. Each is as small as an installation needs; what it is not
//! made for it refuses.

mod control;
mod disk;
mod init;
mod ironic;
mod journal;
mod name;
mod ostree;
mod partitions;
mod podman;
pub mod registry;
mod unit;
mod words;

use std::ffi::OsString;

use anyhow::Result;

/// Runs the program of a name; gives its exit status.
pub async fn run(name: &str, args: &[OsString]) -> Result<i32> {
    let args: Vec<_> = args.iter().map(|arg| arg.to_string_lossy().into_owned()).collect();
    let args: Vec<_> = args.iter().map(String::as_str).collect();
    match name {
        "coreos-installer" => disk::install(&args).await,
        "hostnamectl" => name::set(&args),
        "ironic-agent" => ironic::run().await,
        "journalctl" => journal::show(&args),
        "lab-init" => init::run().await,
        "lsblk" => partitions::lsblk(&args).await,
        "mount" => partitions::mount(&args).await,
        "ostree" => ostree::run(&args).await,
        "podman" => podman::run(&args).await,
        "systemctl" => control::systemctl(&args).await,
        "systemd-run" => control::systemd_run(&args).await,
        // The machine has no volume groups, no device mapper, no SELinux, and a folder for a file system; whoever it trusts is told to each
        // program.
        _ => Ok(0),
    }
}
