//! One target under libFuzzer, which one the variable `FUZZ_TARGET` says; `cargo xtask fuzz` starts it.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;

static TARGET: LazyLock<assisted_fuzz::Run> = LazyLock::new(|| {
    let name = std::env::var("FUZZ_TARGET").unwrap_or_default();
    // Without a target there is nothing to hunt: an input of any kind ends the hunt at once.
    assisted_fuzz::target(&name).map_or_else(|| std::process::exit(2), |target| target.run)
});

fuzz_target!(|bytes: &[u8]| (*TARGET)(bytes));
