//! The documentation as a book: `docs/SUMMARY.md` lists its pages in the order in which they are read, and each link leads somewhere.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::run::{files, print_line, root};

const SUMMARY: &str = "docs/SUMMARY.md";

/// Pages that stand outside of the book, and whose links are looked at all the same.
const OUTSIDE: [&str; 2] = ["README.md", "CONTRIBUTING.md"];

/// Checks the pages.
pub fn run() -> Result<()> {
    let pages = pages()?;
    let listed = listed(&read(SUMMARY)?);
    let mut wrong: Vec<String> = pages
        .iter()
        .filter(|page| !listed.contains(*page))
        .map(|page| format!("{page}: {SUMMARY} does not lead to it"))
        .collect();
    let mut count = 0_usize;
    for page in pages.iter().map(String::as_str).chain(OUTSIDE).chain([SUMMARY]) {
        for (line, target) in links(&read(page)?) {
            count += 1;
            if let Some(why) = dead(page, &target)? {
                wrong.push(format!("{page}:{line}: {why}"));
            }
        }
    }
    if !wrong.is_empty() {
        bail!("the book has loose ends:\n  {}", wrong.join("\n  "));
    }
    print_line(&format!("book: {} pages, {count} links, each leads somewhere", pages.len()));
    Ok(())
}

fn read(page: &str) -> Result<String> {
    fs::read_to_string(root().join(page)).with_context(|| format!("can't read {page}"))
}

/// All pages below `docs`, as the repository names them.
fn pages() -> Result<BTreeSet<String>> {
    let is_page = |path: &Path| path.is_dir() || path.extension().is_some_and(|end| end == "md");
    let found = files(&root().join("docs"), &is_page)?;
    let named = found.iter().filter_map(|path| path.strip_prefix(root()).ok());
    Ok(named.map(|path| path.display().to_string()).filter(|page| page != SUMMARY).collect())
}

/// The pages that the summary lists.
fn listed(summary: &str) -> BTreeSet<String> {
    links(summary).into_iter().map(|(_, target)| format!("docs/{target}")).collect()
}

/// Links of a page that lead to files, and the lines that they stand in; blocks of code have none.
fn links(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut is_code = false;
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        }
        if is_code {
            continue;
        }
        // What stands between backticks is code, too.
        let plain: String = line.split('`').step_by(2).collect::<Vec<_>>().join("`");
        for part in plain.split("](").skip(1) {
            let target = part.split(')').next().unwrap_or_default().split(' ').next().unwrap_or_default();
            if !target.is_empty() && !target.contains("://") && !target.starts_with("mailto:") {
                found.push((index + 1, target.to_owned()));
            }
        }
    }
    found
}

/// Why a link of a page leads nowhere.
fn dead(page: &str, target: &str) -> Result<Option<String>> {
    let (file, heading) =
        target.split_once('#').map_or((target, None), |(file, heading)| (file, Some(heading)));
    let path = match file {
        "" => PathBuf::from(page),
        _ => simple(&Path::new(page).parent().unwrap_or(Path::new("")).join(file)),
    };
    let whole = root().join(&path);
    if !whole.exists() {
        return Ok(Some(format!("{target} leads nowhere")));
    }
    let Some(heading) = heading.filter(|_| path.extension().is_some_and(|end| end == "md")) else {
        return Ok(None);
    };
    let text = fs::read_to_string(&whole).with_context(|| format!("can't read {}", path.display()))?;
    let known = text.lines().any(|line| line.starts_with('#') && anchor(line) == heading);
    Ok((!known).then(|| format!("{} has no heading {heading:?}", path.display())))
}

/// The name by which a heading is linked.
fn anchor(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = text.chars().filter(|letter| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_'));
    kept.map(|letter| if letter == ' ' { '-' } else { letter }).collect()
}

/// A path without `..`.
pub fn simple(path: &Path) -> PathBuf {
    let mut simple = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(simple.pop()),
            Component::CurDir => {}
            part => simple.push(part),
        }
    }
    simple
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_found_outside_of_code() {
        let text = "[a](b.md) and [c](d.md#e \"f\")\n```\n[no](x.md)\n```\n`[no](y.md)` [out](https://example.com) [g](#h)";
        assert_eq!(links(text), [(1, "b.md".to_owned()), (1, "d.md#e".to_owned()), (5, "#h".to_owned())]);
        assert_eq!(anchor("## What it does, and `why`"), "what-it-does-and-why");
        assert!(dead("README.md", "docs/nowhere.md").unwrap().is_some());
        assert!(dead("docs/cli.md", "../README.md#nowhere").unwrap().is_some());
        assert!(dead("docs/cli.md", "../README.md#two-commands").unwrap().is_none());
    }

    #[test]
    fn the_book_has_no_loose_ends() {
        run().unwrap();
    }
}
