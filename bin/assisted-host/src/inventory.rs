//! `assisted-host inventory`: what this machine is made of, as JSON.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use assisted_hostinfo::{Root, capture};

use crate::print;

/// Print what this machine is made of, as JSON
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Read a captured machine instead of this one
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// Write what the inventory is made from into a directory, as a captured machine, and print nothing
    #[arg(long, value_name = "DIR")]
    capture: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let root = match &args.root {
        Some(dir) => Root::captured(dir)
            .with_context(|| format!("can't read the captured machine {}", dir.display()))?,
        None => Root::live(),
    };
    if let Some(dir) = &args.capture {
        let write = || {
            std::fs::create_dir_all(dir)?;
            capture::capture(&root).unpack(dir)
        };
        write().with_context(|| format!("can't write the captured machine to {}", dir.display()))?;
    } else {
        print(&serde_json::to_string(&assisted_hostinfo::inventory(&root))?)?;
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
        run(&Args { root: None, capture: Some(captured.clone()) }).unwrap();
        let (here, there) = (Root::live(), Root::captured(&captured).unwrap());
        assert_eq!(assisted_hostinfo::host_id(&here), assisted_hostinfo::host_id(&there));
        let (here, there) = (assisted_hostinfo::inventory(&here), assisted_hostinfo::inventory(&there));
        assert_eq!((here.hostname, here.cpu), (there.hostname, there.cpu));
    }

    #[test]
    fn an_absent_machine_is_told() {
        let error = run(&Args { root: Some("/no/such/machine".into()), capture: None }).unwrap_err();
        assert!(format!("{error:#}").contains("/no/such/machine"));
    }
}
