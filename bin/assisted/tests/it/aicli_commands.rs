//! docs/aicli.md: every command of aicli has a row, and every command of ours that stands there exists.

use std::collections::BTreeSet;
use std::process::Command;

use assisted_testkit::python;

use crate::service::text;

/// The commands of a program, as its description has them.
fn described(page: &str) -> BTreeSet<String> {
    let headings = page.lines().filter_map(|line| line.strip_prefix("## `")?.strip_suffix('`'));
    headings.map(str::to_owned).collect()
}

#[test]
fn no_command_of_aicli_is_missing() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/aicli_commands.py");
    let output = Command::new(python().unwrap()).arg(script).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let theirs: BTreeSet<String> = text(&output.stdout).lines().map(str::to_owned).collect();
    assert!(theirs.len() > 50, "{theirs:?}");

    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/aicli.md")).unwrap();
    let rows: Vec<_> = page.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` | ")).collect();
    let told: BTreeSet<String> = rows.iter().map(|(command, _)| (*command).to_owned()).collect();
    assert_eq!(told, theirs);
    assert_eq!(told.len(), rows.len(), "a command has two rows");

    let output = Command::new(env!("CARGO_BIN_EXE_assisted")).arg("docs").output().unwrap();
    let mut known = described(&text(&output.stdout));
    // Of the lab's program; `cargo xtask docs` holds the page to it.
    known.extend(described(include_str!("../../../../docs/lab-cli.md")));
    for (theirs, ours) in rows {
        let commands: Vec<_> = ours.split('`').filter(|part| part.starts_with("assisted")).collect();
        for command in &commands {
            assert!(known.contains(*command), "{theirs}: there is no command {command:?}");
        }
        assert!(!commands.is_empty() || ours.contains("cli.md"), "{theirs}: {ours}");
    }
}
