//! Every input that is kept, through its target: those that once broke something, and those that lead into each part of a reader.
//! No instrumentation is needed, so this is part of every run of the tests.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr, reason = "helpers of tests are tests too")]

use std::collections::BTreeSet;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use assisted_fuzz::{TARGETS, for_each_target, target};

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")
}

/// The inputs of a target, each with its name.
fn inputs(name: &str) -> Vec<(String, Vec<u8>)> {
    let folder = corpus().join(name);
    let mut inputs: Vec<_> = fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), fs::read(&path).unwrap()))
        .collect();
    inputs.sort();
    inputs
}

/// Runs all inputs of a target, and each of them cut off at some places, and with bits changed.
fn replay(name: &str) {
    let run = target(name).unwrap().run;
    let inputs = inputs(name);
    assert!(!inputs.is_empty(), "there are no inputs");
    for (input, bytes) in inputs {
        let step = (bytes.len() / 16).max(1);
        let cut = (0..bytes.len()).step_by(step).map(|end| bytes[..end].to_vec());
        let changed = (0..bytes.len()).step_by(step).map(|at| {
            let mut bytes = bytes.clone();
            bytes[at] ^= 1 << (at % 8);
            bytes
        });
        for variant in [bytes.clone()].into_iter().chain(cut).chain(changed) {
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| run(&variant))) {
                eprintln!("{name}: {input} or what was made of it: {:?}", variant.escape_ascii().to_string());
                std::panic::resume_unwind(panic);
            }
        }
    }
}

macro_rules! replays {
    ($($name:ident)+) => { $(#[test] fn $name() { replay(stringify!($name)); })+ };
}

for_each_target!(replays);

#[test]
fn each_folder_and_each_file_is_of_a_target() {
    let names: BTreeSet<_> = TARGETS.iter().map(|target| target.name.to_owned()).collect();
    let stems = |folder: &Path| -> BTreeSet<String> {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        entries.map(|path| path.file_stem().unwrap().to_string_lossy().into_owned()).collect()
    };
    assert_eq!(stems(&corpus()), names);
    let mut files = stems(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/targets"));
    files.remove("mod");
    assert_eq!(files, names);
}
