//! Golden files, written anew: what tests compare with what was made once and read by somebody. Which test writes which file is the
//! tests' business; this is the list of them. Files with facts that a person has written are not among them, and say so.

use std::process::Command;

use anyhow::{Result, bail};
use clap::Args;

use crate::run::{root, step};
use crate::test;

/// The variable that makes tests write; `golden` of the crate `testkit` reads it.
pub const VARIABLE: &str = "ASSISTED_BLESS";

/// Crates with golden files, and what the names of the tests that write them hold.
const GOLDENS: &[(&str, &str)] = &[
    ("assisted-capi", "rbac::manifests_are_those_of_the_code"),
    ("assisted-core", "judged::texts_are_as_they_were"),
    ("assisted-hostinfo", "machines::inventories_are_as_recorded"),
    ("assisted-kubeapi", "rbac::manifests_are_those_of_the_code"),
    ("assisted-service", "shapes::shapes_as_they_were"),
    ("assisted-simhost", "outcomes::page"),
];

#[derive(Args)]
pub struct Bless {
    /// Only the golden files of this crate
    #[arg(short, long = "package", value_name = "CRATE")]
    packages: Vec<String>,
}

impl Bless {
    /// Sets up what the tests need, lets them write, and shows which files are others now.
    pub fn run(self) -> Result<()> {
        let wanted = wanted(&self.packages)?;
        let packages = wanted.iter().map(|(package, _)| (*package).to_owned()).collect();
        let names = wanted.iter().map(|(_, name)| (*name).to_owned()).collect();
        let written = test::run(test::Test::with((VARIABLE, "1".to_owned()), packages, names));
        step(
            "changed (read `git diff` before you keep it)",
            Command::new("git").args(["status", "--short"]).current_dir(root()),
        )?;
        written
    }
}

fn wanted(packages: &[String]) -> Result<Vec<(&'static str, &'static str)>> {
    let known = || GOLDENS.iter().map(|(package, _)| *package).collect::<Vec<_>>().join(", ");
    if let Some(other) = packages.iter().find(|package| !GOLDENS.iter().any(|(known, _)| known == *package)) {
        bail!("{other} has no golden files; these have: {}", known());
    }
    let all = GOLDENS.iter().copied();
    Ok(all
        .filter(|(package, _)| packages.is_empty() || packages.iter().any(|name| name == package))
        .collect())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;
    use crate::run::files;

    #[test]
    fn every_crate_that_compares_with_golden_files_is_in_the_list() {
        let (mut using, mut variable) = (BTreeSet::new(), false);
        for entry in std::fs::read_dir(root().join("crates")).unwrap() {
            let path = entry.unwrap().path();
            let is_source = |path: &Path| path.is_dir() || path.extension().is_some_and(|kind| kind == "rs");
            let sources = files(&path, &is_source).unwrap();
            let texts: Vec<_> =
                sources.iter().map(|source| std::fs::read_to_string(source).unwrap()).collect();
            let name = format!("assisted-{}", path.file_name().unwrap().to_str().unwrap());
            if name == "assisted-testkit" {
                variable = texts.iter().any(|text| text.contains(&format!("BLESS: &str = {VARIABLE:?}")));
            } else if texts.iter().any(|text| text.contains("golden(") && text.contains("assisted_testkit")) {
                using.insert(name);
            }
        }
        assert!(variable, "the crate testkit reads another variable");
        assert_eq!(using, GOLDENS.iter().map(|(package, _)| (*package).to_owned()).collect());
    }

    #[test]
    fn crates_without_golden_files_are_refused() {
        assert_eq!(wanted(&[]).unwrap().len(), GOLDENS.len());
        assert_eq!(wanted(&["assisted-core".to_owned()]).unwrap().len(), 1);
        let refused = wanted(&["assisted-wire".to_owned()]).unwrap_err().to_string();
        assert!(
            refused.contains("assisted-wire has no golden files") && refused.contains("assisted-simhost")
        );
    }
}
