//! `cargo xtask ui`: the web UI, checked, built and compressed, in the folder from which the program embeds it.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::debian::{self, Package, has_program};
use crate::run::{files, print_line, root, step, target_dir, tied};

const NODE: &[Package] = &[
    Package { name: "nodejs", present: || has_program("node") },
    Package { name: "npm", present: || has_program("npm") },
];

const BROWSER: &[Package] = &[Package {
    name: "chromium-headless-shell",
    present: || Path::new("/usr/bin/chromium-headless-shell").is_file(),
}];

/// What all that a browser fetches has to stay below, in bytes (docs/ui.md).
const LARGEST: u64 = 900_000;

/// Builds the UI, unless it was built from the same sources.
pub fn run() -> Result<()> {
    debian::install(NODE).context("the web UI needs Node 18 or later with npm")?;
    let (ui, dist) = (root().join("ui"), dist()?);
    packages(&ui)?;
    let stamp = dist.with_extension("stamp");
    let wanted = hash(&sources(&ui)?)?;
    if is_built()? && fs::read_to_string(&stamp).is_ok_and(|built| built == wanted) {
        print_line(&format!("--- the web UI in {} is that of these sources", dist.display()));
        return Ok(());
    }
    // Whatever happens on the way, what is half built is embedded nowhere: it takes its place once it is whole.
    let unfinished = dist.with_extension("unfinished");
    let npm = |script: &str| {
        let mut command = tied("npm");
        command.args(["run", "--silent", script]).current_dir(&ui).env("ASSISTED_UI_DIST", &unfinished);
        command
    };
    step("types of the web UI", &mut npm("check"))?;
    step("web UI", &mut npm("build"))?;
    drop(fs::remove_file(&stamp));
    if dist.exists() {
        fs::remove_dir_all(&dist).with_context(|| format!("can't remove {}", dist.display()))?;
    }
    fs::rename(&unfinished, &dist).with_context(|| format!("can't write {}", dist.display()))?;
    fs::write(&stamp, wanted).with_context(|| format!("can't write {}", stamp.display()))?;
    let size = compressed(&dist)?;
    let verdict = if hold_size(size).is_ok() { "held" } else { "MISSED" };
    print_line(&format!(
        "--- {:.2} MB compressed in {}; goal: < {:.2} MB, {verdict}. Programs that are built from now on have it",
        size as f64 / 1e6,
        dist.display(),
        LARGEST as f64 / 1e6
    ));
    Ok(())
}

/// Builds the UI, and fails where it is too large to be released.
pub fn run_for_release() -> Result<()> {
    run()?;
    hold_size(compressed(&dist()?)?)
}

fn hold_size(size: u64) -> Result<()> {
    ensure!(
        size < LARGEST,
        "the web UI takes {size} bytes compressed, and has to take less than {LARGEST}: look for what has grown in the bundle"
    );
    Ok(())
}

/// Whether the UI can be built here without installing anything.
pub fn has_node() -> bool {
    NODE.iter().all(|package| (package.present)())
}

/// Installs what the tests of the UI drive.
pub fn browser() -> Result<()> {
    debian::install(BROWSER).context("the tests of the web UI need Chromium")
}

/// Whether the UI is there; a program that was built since then has it.
pub fn is_built() -> Result<bool> {
    Ok(dist()?.join("index.html").is_file())
}

/// The folder from which `crates/ui` embeds it.
fn dist() -> Result<PathBuf> {
    Ok(target_dir()?.join("ui"))
}

/// Fetches the packages that the lock file names, unless they are there.
fn packages(ui: &Path) -> Result<()> {
    let stamp = ui.join("node_modules/.of-lock-file");
    let wanted = hash(&[ui.join("package-lock.json"), ui.join(".npmrc")])?;
    if fs::read_to_string(&stamp).is_ok_and(|have| have == wanted) {
        return Ok(());
    }
    let mut install = tied("npm");
    step("packages of the web UI", install.args(["ci", "--no-progress"]).current_dir(ui))?;
    fs::write(&stamp, wanted).with_context(|| format!("can't write {}", stamp.display()))
}

/// What the UI is made of; its tests are no part of it.
fn sources(ui: &Path) -> Result<Vec<PathBuf>> {
    let others = ["node_modules", "dist", "tests"].map(|name| ui.join(name));
    let mut found = files(ui, &|path| !others.iter().any(|other| other == path))?;
    found.sort();
    Ok(found)
}

/// Changes with names and contents.
fn hash(files: &[PathBuf]) -> Result<String> {
    let mut hasher = DefaultHasher::new();
    for file in files {
        let content = fs::read(file).with_context(|| format!("can't read {}", file.display()))?;
        (file, content).hash(&mut hasher);
    }
    Ok(format!("{:016x}", hasher.finish()))
}

/// What a browser fetches at the most, in bytes: of each file the smallest form. The notices are fetched by nobody who works.
fn compressed(dist: &Path) -> Result<u64> {
    let mut sum = 0;
    for file in files(dist, &|path| path.extension().is_none_or(|end| end != "br" && end != "gz"))? {
        let brotli = PathBuf::from(format!("{}.br", file.display()));
        let smallest = if brotli.is_file() { brotli } else { file };
        sum += fs::metadata(&smallest)?.len();
    }
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_ui_is_not_released() {
        assert!(hold_size(LARGEST - 1).is_ok());
        let told = hold_size(LARGEST).unwrap_err().to_string();
        assert!(told.contains("takes 900000 bytes compressed"), "{told}");
    }

    #[test]
    fn the_sources_are_those_of_the_checkout() {
        let ui = root().join("ui");
        let found = sources(&ui).unwrap();
        let has = |name: &str| found.contains(&ui.join(name));
        assert!(has("package-lock.json") && has("index.html") && has("src/main.tsx"));
        assert!(!found.iter().any(|path| path.starts_with(ui.join("tests"))));
    }
}
