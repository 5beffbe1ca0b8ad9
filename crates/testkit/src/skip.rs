//! Tests that can't run where they are.

use std::io::Write;

/// Tells that the test that asks does nothing here, and why; it has to return then. `cargo xtask test` counts it as skipped, which
/// is a failure in CI unless xtask/src/test/results.rs has a reason. What every machine can have (root, a package) is no reason
/// to skip: such a test panics, and says what is missing.
pub fn skip(why: &str) {
    let thread = std::thread::current();
    let line = format!("{}: {why}\n", thread.name().unwrap_or("a test"));
    // Past the test runner, which would keep it for itself as long as the test passes.
    let mut out = std::io::stderr().lock();
    drop(out.write_all(format!("SKIPPED {line}").as_bytes()));
    if let Some(path) = std::env::var_os("ASSISTED_SKIPPED") {
        let file = std::fs::File::options().create(true).append(true).open(path);
        drop(file.and_then(|mut file| file.write_all(line.as_bytes())));
    }
}
