//! Programs that tests make up.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Makes a program. Another process writes it: where this one does, a child that another test is just starting may still
/// hold the file open for writing, and then it can't be run.
pub(crate) fn script(path: &Path, text: &str) {
    let mut writer = Command::new("sh")
        .args(["-c", "cat > \"$1\" && chmod 755 \"$1\"", "sh"])
        .arg(path)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    writer.stdin.take().unwrap().write_all(format!("#!/bin/sh\n{text}\n").as_bytes()).unwrap();
    assert!(writer.wait().unwrap().success());
}
