//! `docs/troubleshooting.md`: every validation with what it says when it does not hold, and what to do about it. The texts are those of
//! the reviewed outcomes and of the code, so that the page can't fall behind either.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;

use anyhow::{Context, Result, bail, ensure};
use proc_macro2::{TokenStream, TokenTree};

use self::functions::Function;
use crate::run::root;

pub const PAGE: &str = "docs/troubleshooting.md";

mod functions;
mod layering;
mod operators;

const HEAD: &str = include_str!("troubleshooting.md");

/// Kinds of validations, and how their sections are headed.
const KINDS: [(&str, &str); 2] = [("host", "Validations of hosts"), ("cluster", "Validations of clusters")];

/// The checks of image mode: they ask rules, which have the remedies.
const LAYERING: &str = "layering";

/// Ids that are published and evaluated by nobody, and where what they are named after is looked at.
const NEVER_EVALUATED: [(&str, &str); 2] = [
    ("ocs-requirements-satisfied", "`odf-requirements-satisfied` has taken its place"),
    (
        "release-domain-name-resolved-correctly",
        "`container-images-available` tells whether a host gets the images of the release",
    ),
];

/// The page.
pub fn page() -> Result<String> {
    let mut text = HEAD.to_owned();
    for (kind, title) in KINDS {
        let _ = write!(text, "\n## {title}\n");
        let outcomes = read(&format!("crates/core/tests/data/outcomes/{kind}.txt"))?;
        let causes = causes(&outcomes);
        let folder = format!("crates/core/src/validation/{kind}");
        let table = read(&format!("{folder}/mod.rs"))?;
        let checks = checks(&table);
        if checks.is_empty() {
            bail!("{folder}/mod.rs lists no validation");
        }
        for (id, module, function) in checks {
            let source = source(&folder, &module)?;
            let remedies = match module.as_str() {
                LAYERING => layering::remedies(&source, &function)?,
                _ => remedies(&source, &function)?,
            };
            let said = causes.get(id.as_str()).map(Vec::as_slice).unwrap_or_default();
            section(&mut text, &id, said, &remedies);
        }
    }
    of_operators(&mut text)?;
    let _ = write!(text, "\n## Validations that nobody evaluates\n");
    for (id, instead) in NEVER_EVALUATED {
        let told = format!(
            "It is kept for compatibility and never fails: {instead}. Lists of validations to ignore may name it, and a cluster that was \
             taken over from the replaced service may still show it"
        );
        section(&mut text, id, &[told], &["Nothing.".to_owned()]);
    }
    Ok(text)
}

/// Operators have one validation of hosts and one of the cluster, under one id.
fn of_operators(text: &mut String) -> Result<()> {
    let _ = write!(text, "\n## Validations of operators\n");
    let mut outcomes = String::new();
    for (kind, _) in KINDS {
        outcomes += &read(&format!("crates/core/tests/data/outcomes/{kind}.txt"))?;
    }
    let causes = causes(&outcomes);
    for (id, remedies) in operators::remedies()? {
        let said = causes.get(id.as_str()).map(Vec::as_slice).unwrap_or_default();
        ensure!(said.is_empty() == remedies.is_empty(), "{id}: {said:?} is advised by {remedies:?}");
        if said.is_empty() {
            let holds = "It always holds: nothing is asked of hosts and cluster".to_owned();
            section(text, &id, &[holds], &["Nothing.".to_owned()]);
        } else {
            section(text, &id, said, &remedies);
        }
    }
    Ok(())
}

fn section(text: &mut String, id: &str, said: &[String], remedies: &[String]) {
    let _ = write!(text, "\n### {id}\n\n");
    for message in said {
        let _ = writeln!(text, "* {message}");
    }
    match remedies {
        [] => {}
        [one] => {
            let _ = write!(text, "\n**What to do**: {one}\n");
        }
        several => {
            let _ = write!(text, "\n**What to do**, as the case is:\n\n* {}\n", several.join("\n* "));
        }
    }
}

fn read(path: &str) -> Result<String> {
    fs::read_to_string(root().join(path)).with_context(|| format!("can't read {path}"))
}

/// The source of a module, which may be a folder.
fn source(folder: &str, module: &str) -> Result<String> {
    let file = format!("{folder}/{module}.rs");
    if root().join(&file).is_file() { read(&file) } else { read(&format!("{folder}/{module}/mod.rs")) }
}

/// What validations say that do not hold, or not yet, by their ids.
fn causes(outcomes: &str) -> BTreeMap<&str, Vec<String>> {
    let mut causes: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for line in outcomes.lines().filter(|line| !line.starts_with('#')) {
        let mut parts = line.splitn(3, " | ");
        if let (Some(id), Some("failure" | "error"), Some(message)) =
            (parts.next(), parts.next(), parts.next())
        {
            let message = message.replace("\\n", " ").replace("\\\\", "\\");
            let told = causes.entry(id).or_default();
            if !told.contains(&message) {
                told.push(message);
            }
        }
    }
    causes
}

/// Rows `check(HasMinMemory, Hardware, memory::check_minimum)`: id, module and function of each.
fn checks(table: &str) -> Vec<(String, String, String)> {
    let rows = table.lines().filter_map(|line| {
        let (_, rest) = line.split_once("check(")?;
        let mut parts = rest.split(", ");
        let (name, _, path) = (parts.next()?, parts.next()?, parts.next()?);
        let (module, function) = path.split_once("::")?;
        let function = function.trim_end_matches(|letter: char| !letter.is_alphanumeric() && letter != '_');
        Some((kebab(name), module.to_owned(), function.to_owned()))
    });
    rows.filter(|(id, ..)| id.chars().next().is_some_and(char::is_alphabetic)).collect()
}

/// `HasMinMemory` as `has-min-memory`.
fn kebab(name: &str) -> String {
    let mut text = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !text.is_empty() {
            text.push('-');
        }
        text.extend(letter.to_lowercase());
    }
    text
}

/// The remedies that a function names, and those of the functions beside it that it leads to.
fn remedies(source: &str, function: &str) -> Result<Vec<String>> {
    let mut known = functions::of_source(source)?;
    let found = functions::advice(function, &known)?;
    if !found.is_empty() {
        return Ok(found);
    }
    // All that can be wrong with it is what the outcome says that several share.
    known.insert(AWAITS.to_owned(), Function { remedies: vec![awaited()?], ..Function::default() });
    functions::advice(function, &known)
}

/// Texts that a file has names for.
fn constants(tokens: &[TokenTree]) -> BTreeMap<String, String> {
    let mut named = BTreeMap::new();
    for (index, token) in tokens.iter().enumerate() {
        let (TokenTree::Ident(word), Some(TokenTree::Ident(name))) = (token, tokens.get(index + 1)) else {
            continue;
        };
        let literal = tokens[index..].iter().find_map(|token| match token {
            TokenTree::Literal(literal) => Some(literal.to_string()),
            _ => None,
        });
        if let (true, Some(text)) = (word == "const", literal) {
            named.insert(name.to_string(), plain(text.trim_matches('"')));
        }
    }
    named
}

/// Functions that make an outcome of texts, of which the last is the remedy.
const HELPERS: [&str; 1] = ["given"];

/// What makes the outcome of a host that has not told what it is made of.
const AWAITS: &str = "awaits_inventory";

/// The remedy that it names.
fn awaited() -> Result<String> {
    let source = read("crates/core/src/model/outcome.rs")?;
    let (_, body) = source.split_once(&format!("fn {AWAITS}")).context("awaits_inventory is not there")?;
    let (_, literal) = body.split_once(".remedy(").context("awaits_inventory names no remedy")?;
    let literal = literal.split('"').nth(1).context("a remedy is a text")?;
    Ok(plain(literal))
}

/// The texts of `.remedy("…")`.
fn collect(stream: TokenStream, constants: &BTreeMap<String, String>, found: &mut Vec<String>) {
    let tokens: Vec<_> = stream.into_iter().collect();
    for (index, token) in tokens.iter().enumerate() {
        let TokenTree::Group(group) = token else { continue };
        let before = index.checked_sub(1).and_then(|before| tokens.get(before));
        let is_remedy = matches!(before, Some(TokenTree::Ident(name)) if name == "remedy");
        let is_helper =
            matches!(before, Some(TokenTree::Ident(name)) if HELPERS.contains(&name.to_string().as_str()));
        if is_remedy {
            texts(group.stream(), constants, found);
        } else if is_helper {
            let mut all = Vec::new();
            texts(group.stream(), constants, &mut all);
            found.extend(all.pop());
        } else {
            collect(group.stream(), constants, found);
        }
    }
}

/// The literals of an expression; what is put into them is shown as `…`.
fn texts(stream: TokenStream, constants: &BTreeMap<String, String>, found: &mut Vec<String>) {
    for token in stream {
        match token {
            TokenTree::Literal(literal) => {
                let text = literal.to_string();
                if let Some(inner) = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
                    found.push(plain(inner));
                }
            }
            TokenTree::Ident(name) => found.extend(constants.get(&name.to_string()).cloned()),
            TokenTree::Group(group) => texts(group.stream(), constants, found),
            _ => {}
        }
    }
}

/// A literal as it reads: a line that goes on is one, and a value is `…`.
fn plain(inner: &str) -> String {
    let mut lines = inner.split("\\\n");
    let mut text = lines.next().unwrap_or_default().to_owned();
    lines.for_each(|line| text.push_str(line.trim_start()));
    let text = text.replace("\\\"", "\"");
    let mut shown = String::new();
    let mut rest = text.as_str();
    while let Some((before, after)) = rest.split_once('{') {
        shown.push_str(before);
        shown.push('…');
        rest = after.split_once('}').map_or("", |(_, after)| after);
    }
    shown + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remedies_are_read_from_code() {
        let source = "fn check() -> O { if a { O::failure(\"no\").remedy(\"Add \\\n         {n}.\") } else { O::ok() } }\n\
                      fn other() -> O { O::failure(\"no\").remedy(\"Other.\") }";
        assert_eq!(remedies(source, "check").unwrap(), ["Add …."]);
        let source = "fn check(v: &V) -> O { let Some(i) = v.inventory else { return O::awaits_inventory(\"Missing\") }; O::ok() }";
        assert_eq!(remedies(source, "check").unwrap(), [awaited().unwrap()]);
        let row = "    omitted(AfterReboot, check(NtpSynced, Network, ntp_synced::check)),";
        assert_eq!(checks(row), [("ntp-synced".to_owned(), "ntp_synced".to_owned(), "check".to_owned())]);
    }

    #[test]
    fn every_validation_has_a_cause_and_a_remedy() {
        let page = page().unwrap();
        let sections: Vec<_> = page.split("\n### ").skip(1).collect();
        for section in &sections {
            assert!(section.contains("\n* ") && section.contains("**What to do**"), "{section}");
        }
        // All that are published.
        for (file, name) in [("host", "HostValidationId"), ("cluster", "ClusterValidationId")] {
            let source = read(&format!("crates/wire/src/{file}.rs")).unwrap();
            let (_, rows) = source.split_once(&format!("pub enum {name} {{\n")).unwrap();
            let (rows, _) = rows.split_once("\n}").unwrap();
            let rows = rows.lines().filter(|row| !row.trim_start().starts_with("//"));
            let ids: Vec<_> = rows.filter_map(|row| row.split_once(" = \"")?.1.split('"').next()).collect();
            assert!(ids.len() > 50, "{ids:?}");
            for id in ids {
                assert!(sections.iter().any(|section| section.lines().next() == Some(id)), "{id}");
            }
        }
    }
}
