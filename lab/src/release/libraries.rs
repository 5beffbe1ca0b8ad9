//! What a program is linked with, as the dynamic loader finds it: an image has to bring it.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use assisted_lab_tools::wait::{Wait, child};

use super::ReleaseError;

/// How long the loader may take to find them.
const LIMIT: Duration = Duration::from_secs(60);

/// Paths of the libraries and of the loader; none for a program that needs none.
pub(super) fn libraries(program: &Path) -> Result<Vec<String>, ReleaseError> {
    let fail = |why: String| ReleaseError::Libraries { path: program.to_owned(), why };
    if let Err(source) = std::fs::metadata(program) {
        return Err(ReleaseError::Program { path: program.to_owned(), source });
    }
    let mut wait = Wait::new("ldd", program.display(), LIMIT);
    let output = child::output(Command::new("ldd").arg(program).env("LC_ALL", "C"), &mut wait);
    let output = output.map_err(|error| fail(format!("ldd: {error}")))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    let is_static =
        |text: &str| text.contains("not a dynamic executable") || text.contains("statically linked");
    if is_static(&text) || is_static(&errors) {
        return Ok(Vec::new());
    }
    if !output.status.success() {
        return Err(fail(errors.trim().to_owned()));
    }
    found(&text).map_err(|library| fail(format!("{library} is not found")))
}

/// Paths in what `ldd` says; a library that it doesn't find is an error.
fn found(text: &str) -> Result<Vec<String>, String> {
    let mut all = Vec::new();
    for line in text.lines().map(str::trim) {
        let path = match line.split_once(" => ") {
            Some((name, rest)) if rest.starts_with("not found") => return Err(name.to_owned()),
            Some((_, rest)) => rest,
            None => line,
        };
        let path = path.split(" (").next().unwrap_or_default();
        if path.starts_with('/') && !all.iter().any(|known| known == path) {
            all.push(path.to_owned());
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_loader_says() {
        let text = "\tlinux-vdso.so.1 (0x1)\n\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x2)\n\t/lib64/ld-linux-x86-64.so.2 (0x3)\n";
        assert_eq!(found(text).unwrap(), ["/lib/x86_64-linux-gnu/libc.so.6", "/lib64/ld-linux-x86-64.so.2"]);
        assert_eq!(found("libx.so => not found"), Err("libx.so".to_owned()));
    }
}
