//! Sizes: files and functions that are too long to be read at once, outside tests. The functions that may be longer stand with their
//! reasons in `docs/architecture.md`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::run::root;

/// The most lines of a file, and of a function.
const MOST_OF_FILE: usize = 500;
const MOST_OF_FUNCTION: usize = 80;

/// Where the exceptions stand: rows of a table under this heading.
const PAGE: &str = "docs/architecture.md";
const HEADING: &str = "## Long functions";

/// Checks the sizes; returns how many functions may be longer.
pub fn check() -> Result<usize> {
    let page = fs::read_to_string(root().join(PAGE)).with_context(|| format!("can't read {PAGE}"))?;
    let mut files = Vec::new();
    for folder in ["crates", "bin", "lab", "xtask"] {
        find(&root().join(folder), &mut files)?;
    }
    let known = known(&page);
    let (mut wrong, mut long) = (Vec::new(), Vec::new());
    for file in files {
        let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
        let name = file.strip_prefix(root()).unwrap_or(&file).display().to_string();
        let lines = text.lines().count();
        if lines > MOST_OF_FILE {
            wrong.push(format!("{name} has {lines} lines, {MOST_OF_FILE} at the most are allowed"));
        }
        long.extend(long_functions(&text).map(|function| (name.clone(), function)));
    }
    for (file, function) in long.iter().filter(|long| !known.contains(long)) {
        wrong.push(format!("{file}: {function} has more than {MOST_OF_FUNCTION} lines"));
    }
    for (file, function) in known.iter().filter(|known| !long.contains(known)) {
        wrong.push(format!("{file}: {function} is not too long any more: take it out of {PAGE}"));
    }
    if !wrong.is_empty() {
        bail!("files or functions are too long (exceptions stand in {PAGE}):\n  {}", wrong.join("\n  "));
    }
    Ok(known.len())
}

/// Sources below a folder, but for those of tests.
fn find(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("can't read {}", folder.display()))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            if !matches!(name.as_str(), "tests" | "target" | "benches" | "examples" | "node_modules") {
                find(&path, files)?;
            }
        } else if name.ends_with(".rs") && !name.ends_with("tests.rs") {
            files.push(path);
        }
    }
    Ok(())
}

/// The exceptions: file and function of each row.
fn known(page: &str) -> Vec<(String, String)> {
    let section = page.split_once(HEADING).map_or("", |(_, section)| section);
    let section = section.split_once("\n## ").map_or(section, |(section, _)| section);
    let row = |line: &str| {
        let mut cells = line.strip_prefix("| `")?.split("` | `");
        let (file, rest) = (cells.next()?, cells.next()?);
        Some((file.to_owned(), rest.split_once('`')?.0.to_owned()))
    };
    section.lines().filter_map(row).collect()
}

/// Names of the functions that are too long, in a text as rustfmt lays it out: a function ends at the brace below its first letter.
fn long_functions(text: &str) -> impl Iterator<Item = String> {
    let code = text.split_once("#[cfg(test)]\nmod tests {").map_or(text, |(code, _)| code);
    let lines: Vec<&str> = code.lines().collect();
    let mut found = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        let Some((before, name)) = line.split_once("fn ") else { continue };
        let indent = &line[..line.len() - line.trim_start().len()];
        let words = ["pub", "const", "async", "unsafe", "extern"];
        let is_word = |word: &str| words.iter().any(|known| word.starts_with(known));
        if !before.split_whitespace().all(is_word) {
            continue;
        }
        let opens = lines[number..].iter().position(|line| line.ends_with(['{', ';', '}']));
        let Some(body) = opens.map(|opens| number + opens).filter(|body| lines[*body].ends_with('{')) else {
            continue;
        };
        let ends = |line: &&str| line.strip_prefix(indent) == Some("}");
        let end = lines[body..].iter().position(ends).map_or(lines.len(), |end| body + end);
        if end + 1 - number > MOST_OF_FUNCTION {
            found.push(name.split(['(', '<']).next().unwrap_or_default().to_owned());
        }
    }
    found.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_is_as_long_as_its_lines_and_tests_may_be_longer() {
        let function = |name: &str, lines: usize| {
            format!(
                "    pub(crate) async fn {name}<T>(\n        a: T,\n    ) -> T {{\n{}    }}\n",
                "        f();\n".repeat(lines)
            )
        };
        let text = format!(
            "trait A {{\n    fn declared(\n        a: u8,\n    ) -> u8;\n}}\n\nimpl A {{\n{}\n{}}}\n\n#[cfg(test)]\nmod tests {{\n{}}}\n",
            function("short", 76),
            function("long", 77),
            function("test", 90)
        );
        assert_eq!(long_functions(&text).collect::<Vec<_>>(), ["long"]);
    }

    #[test]
    fn exceptions_stand_in_a_table() {
        let page = format!(
            "x\n\n{HEADING}\n\n| file | function | why |\n|---|---|---|\n| `a/b.rs` | `f` | it is `one`. |\n\n## Next\n| `c` | `d` | e |\n"
        );
        assert_eq!(known(&page), [("a/b.rs".to_owned(), "f".to_owned())]);
    }
}
