//! `assisted-host inventory`: what this machine is made of, as JSON.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;
use assisted_hostinfo::Root;

use crate::dry_run::{self, Settings};
use crate::{logging, print};

/// Print what this machine is made of, as JSON
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Read a captured machine instead of this one
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// Write what the inventory is made from into a directory, as a captured machine, and print nothing
    #[arg(long, value_name = "DIR")]
    capture: Option<PathBuf>,
    #[command(flatten)]
    logging: logging::Args,
    #[command(flatten)]
    dry: dry_run::Args,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let dry = Settings::of_process(&args.dry)?;
    logging::start(&args.logging, "inventory", &Settings::log_id(dry.as_ref()))?;
    collect(args.root.as_deref(), args.capture.as_deref(), dry)
}

fn collect(root: Option<&Path>, capture: Option<&Path>, dry: Option<Settings>) -> anyhow::Result<ExitCode> {
    let root = match root {
        Some(dir) => Root::captured(dir)
            .with_context(|| format!("can't read the captured machine {}", dir.display()))?,
        None => Root::live(),
    };
    if let Some(dir) = capture {
        let write = || {
            std::fs::create_dir_all(dir)?;
            assisted_hostinfo::capture::capture(&root).unpack(dir)
        };
        write().with_context(|| format!("can't write the captured machine to {}", dir.display()))?;
    } else {
        let root = Arc::new(root);
        let found = match dry {
            // A pretended host has no controller to ask.
            Some(dry) => dry.host.disguise(assisted_hostinfo::inventory(&root)),
            None => crate::block_on(assisted_agent::inventory(&root))?,
        };
        print(&serde_json::to_string(&found)?)?;
    }
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_captured_machine_is_read_like_the_machine() {
        let dir = tempfile::tempdir().unwrap();
        let captured = dir.path().join("machine");
        collect(None, Some(&captured), None).unwrap();
        let (here, there) = (Root::live(), Root::captured(&captured).unwrap());
        assert_eq!(assisted_hostinfo::host_id(&here), assisted_hostinfo::host_id(&there));
        let (here, there) = (assisted_hostinfo::inventory(&here), assisted_hostinfo::inventory(&there));
        assert_eq!((here.hostname, here.cpu), (there.hostname, there.cpu));
    }

    #[test]
    fn an_absent_machine_is_told() {
        let error = collect(Some(Path::new("/no/such/machine")), None, None).unwrap_err();
        assert!(format!("{error:#}").contains("/no/such/machine"));
    }
}
