//! xorriso as judge: where it finds what in an image.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

pub fn run(image: &Path, commands: &[&str]) -> String {
    let output = Command::new("xorriso")
        // Any complaint is a failure.
        .args(["-abort_on", "WARNING", "-indev"])
        .arg(image)
        .args(commands)
        .output()
        .expect("run `cargo xtask setup`");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// Every file with its sector and length.
pub fn files(image: &Path) -> BTreeMap<String, (u64, u64)> {
    let listed = run(image, &["-find", "/", "-type", "f", "-exec", "report_lba", "--"]);
    let listed = listed.lines().filter(|line| line.starts_with("File data lba:"));
    listed
        .map(|line| {
            let fields: Vec<_> = line.splitn(5, ',').map(str::trim).collect();
            (
                fields[4].trim_matches('\'').to_owned(),
                (fields[1].parse().unwrap(), fields[3].parse().unwrap()),
            )
        })
        .collect()
}
