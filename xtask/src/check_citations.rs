//! Each citation of the reference in a source leads somewhere: `(service-api §5.7)` to a section of docs/reference/service-api.md.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::run::{files, print_line, root};

/// Where citations are looked for.
const FOLDERS: [&str; 5] = ["bin", "crates", "docs", "lab", "xtask"];
/// What the files there that may cite end with.
const KINDS: [&str; 6] = ["rs", "md", "sh", "toml", "py", "txt"];
/// Where the documents are.
const REFERENCE: &str = "docs/reference";

/// Sections of each document, by its name.
type Documents = BTreeMap<String, BTreeSet<String>>;

/// A citation: the line that it begins in, the document and the section.
type Citation<'a> = (usize, &'a str, String);

/// Looks through the workspace.
pub fn run() -> Result<()> {
    let documents = documents(&root().join(REFERENCE))?;
    let mut citing = Vec::new();
    for folder in FOLDERS {
        citing.extend(files(&root().join(folder), &may_cite)?);
    }
    let (mut dead, mut count) = (Vec::new(), 0);
    for file in &citing {
        let text = fs::read_to_string(file).with_context(|| format!("can't read {}", file.display()))?;
        for (line, document, section) in citations(&text, &documents) {
            count += 1;
            if !documents.get(document).is_some_and(|sections| sections.contains(&section)) {
                let file = file.strip_prefix(root()).unwrap_or(file).display();
                dead.push(format!("{file}:{line}: {document} has no §{section}"));
            }
        }
    }
    if !dead.is_empty() {
        bail!("citations lead nowhere; bring the section into {REFERENCE}:\n  {}", dead.join("\n  "));
    }
    print_line(&format!("citations: {count}, each of a section that there is"));
    Ok(())
}

/// A folder but that of the documents themselves, and a file of a kind that may cite.
fn may_cite(path: &Path) -> bool {
    if path.is_dir() {
        return !path.ends_with(REFERENCE) && !path.ends_with("target");
    }
    path.extension().is_some_and(|kind| KINDS.iter().any(|known| kind == *known))
}

fn documents(dir: &Path) -> Result<Documents> {
    let mut documents = Documents::new();
    for entry in fs::read_dir(dir).with_context(|| format!("can't read {}", dir.display()))? {
        let path = entry?.path();
        let Some(name) = path.file_stem().and_then(|name| name.to_str()) else { continue };
        documents.insert(name.to_owned(), sections(&fs::read_to_string(&path)?));
    }
    Ok(documents)
}

/// The sections of a document, and the items of lists and rows of tables right in them: `20.24`, and `E20` where the section is a
/// letter.
fn sections(text: &str) -> BTreeSet<String> {
    let (mut sections, mut section) = (BTreeSet::new(), String::new());
    for line in text.lines() {
        if let Some(heading) = line.strip_prefix('#') {
            section = number(heading.trim_start_matches('#').trim_start()).to_owned();
            sections.insert(section.clone());
        } else if let Some(item) = item(line) {
            let point = if section.ends_with(|c: char| c.is_ascii_digit()) { "." } else { "" };
            sections.insert(format!("{section}{point}{item}"));
        }
    }
    sections
}

/// The number that an item of a list or a row of a table begins with.
fn item(line: &str) -> Option<u32> {
    let (row, item) = (line.strip_prefix("| "), line.split_once(". "));
    let (number, _) = row.and_then(|row| row.split_once(" |")).or(item)?;
    number.parse().ok()
}

/// The number of a section that a text begins with: `4`, `2.4.1`, `A15.2`, or a letter alone. Empty where there is none.
fn number(text: &str) -> &str {
    let letter = usize::from(text.starts_with(|c: char| c.is_ascii_uppercase()));
    let digits = |text: &str| text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let mut end = letter + digits(&text[letter..]);
    if end == letter {
        // A word is no number.
        let is_alone = !text[end..].starts_with(|c: char| c.is_alphanumeric());
        return if is_alone { &text[..end] } else { "" };
    }
    while let Some(rest) = text[end..].strip_prefix('.')
        && digits(rest) > 0
    {
        end += 1 + digits(rest);
    }
    &text[..end]
}

/// What a text cites: the name of a document, then sections of it, each with its sign, up to the end of the bracket or clause.
fn citations<'a>(text: &str, documents: &'a Documents) -> Vec<Citation<'a>> {
    let joined = joined(text);
    let mut found = Vec::new();
    for name in documents.keys() {
        for (at, _) in joined.match_indices(name.as_str()) {
            let is_whole = !joined[..at].ends_with(|c: char| c.is_alphanumeric() || c == '-');
            let rest = &joined[at + name.len()..];
            let rest = rest.strip_prefix(".md").unwrap_or(rest).trim_start_matches(['`', ',', ' ']);
            if !is_whole || !rest.starts_with('§') {
                continue;
            }
            let line = joined[..at].matches('\n').count() + 1;
            let clause = rest.split([')', ';', '\n']).next().unwrap_or(rest);
            let own = documents.keys().filter_map(|other| clause.find(other.as_str())).min();
            let clause = &clause[..own.unwrap_or(clause.len())];
            let sections = clause.split('§').skip(1).map(|section| number(section).to_owned());
            found.extend(sections.map(|section| (line, name.as_str(), section)));
        }
    }
    found
}

/// The text with each comment of several lines on one; the lines that this takes come after it, empty.
fn joined(text: &str) -> String {
    let mut joined = String::new();
    let mut empty = 0;
    for line in text.lines() {
        let bare = line.trim_start();
        let comment = ["///", "//!", "//", "#"].iter().find_map(|mark| bare.strip_prefix(mark));
        match comment {
            Some(comment) if !joined.is_empty() => {
                joined.push_str(comment);
                empty += 1;
            }
            _ => {
                joined.push_str(&"\n".repeat(empty + usize::from(!joined.is_empty())));
                joined.push_str(line);
                empty = 0;
            }
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reference() -> Documents {
        let text = "# A title\n## 5. Files\n### 5.7 One\n## 20. Oddities\n1. this\n| 24 | that. This |\n# E. Tests\n20. more\n## A15. End\n";
        Documents::from([("service-api".to_owned(), sections(text))])
    }

    #[test]
    fn sections_and_items_of_lists_are_known() {
        let expected = ["A", "A15", "E", "E20", "20", "20.1", "20.24", "5", "5.7"];
        assert_eq!(reference()["service-api"], expected.map(str::to_owned).into());
    }

    #[test]
    fn citations_are_found_with_all_their_sections() {
        let documents = reference();
        let text = "//! This (service-api §5.7, §20.24) and\n//! that (service-api\n//! §E20).\nlet x = 1; // service-api §9; §1\n";
        let found: Vec<_> = citations(text, &documents);
        let expected = [(1, "5.7"), (1, "20.24"), (1, "E20"), (4, "9")];
        let expected: Vec<_> =
            expected.iter().map(|(line, section)| (*line, "service-api", (*section).to_owned())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn words_are_no_numbers() {
        assert_eq!(
            ["4.2)", "A15.2 x", "A title", "Appendix", "E.", ""].map(number),
            ["4.2", "A15.2", "A", "", "E", ""]
        );
    }
}
