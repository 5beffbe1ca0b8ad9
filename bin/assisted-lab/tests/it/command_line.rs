//! What the command line tells of itself, and of what it can't do.

use std::process::{Command, Output};

use crate::service::text;

fn lab(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_assisted-lab")).args(args).output().unwrap()
}

#[test]
fn it_describes_itself() {
    assert!(text(&lab(&["completion", "bash"]).stdout).contains("simulate"));
    let dir = tempfile::tempdir().unwrap();
    assert!(lab(&["man", dir.path().to_str().unwrap()]).status.success());
    assert!(dir.path().join("assisted-lab-up.1").exists());
    let docs = text(&lab(&["docs"]).stdout);
    assert!(
        docs.starts_with("# Command line of the lab\n") && docs.contains("## `assisted-lab exec`"),
        "{docs}"
    );
}

#[test]
fn a_lab_that_is_not_there_is_no_success() {
    let dir = tempfile::tempdir().unwrap();
    for command in ["status", "down"] {
        let output = lab(&[command, "--dir", dir.path().to_str().unwrap()]);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.starts_with("assisted-lab: ") && said.contains("`assisted-lab up`"), "{said}");
    }
}
