//! What to do about operators that can't be installed: a file has an operator with its own checks, and what several check alike stands
//! in files beside them.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result};

use super::functions::{of_source, whole};
use super::{kebab, read};
use crate::run::root;

const FOLDER: &str = "crates/core/src/catalogue/operators";

/// A second validation of one operator, of which nothing is asked.
const OF_GPUS: &str = "openshift-ai-gpu-requirements-satisfied";

/// The remedies of each operator's validation by its id.
pub(super) fn remedies() -> Result<BTreeMap<String, Vec<String>>> {
    let mut shared = of_source(&read(&format!("{FOLDER}/checks.rs"))?)?;
    // GPUs are checked by methods of their vendor.
    shared.insert("Vendor".to_owned(), whole(&read(&format!("{FOLDER}/gpu.rs"))?)?);
    let mut all = BTreeMap::from([(OF_GPUS.to_owned(), Vec::new())]);
    let folder = format!("{FOLDER}/olm");
    for entry in fs::read_dir(root().join(&folder)).with_context(|| format!("can't read {folder}"))? {
        let path = entry?.path();
        if path.extension().is_none_or(|end| end != "rs") {
            continue;
        }
        let source = fs::read_to_string(&path).with_context(|| format!("can't read {}", path.display()))?;
        if let Some(id) = id(&source) {
            all.insert(id, whole(&source)?.advice(&shared));
        }
    }
    Ok(all)
}

/// The id in `operator! { "lvm", LvmRequirementsSatisfied, …`, if there is one.
fn id(source: &str) -> Option<String> {
    let (_, row) = source.split_once("operator! {")?;
    Some(kebab(row.split(',').nth(1)?.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_advise_what_their_checks_do() {
        let all = remedies().unwrap();
        let of = |name: &str| all[&format!("{name}-requirements-satisfied")].clone();
        let newer = "Install a newer version, or without this operator.";
        let more = "Give the machine more CPU cores or memory, or install without this operator.";
        let disk = "Attach one more disk to the machine.";
        assert_eq!(of("lvm"), ["Give the host a role.", disk, newer]);
        assert!(of("cnv").contains(&more.to_owned()) && !of("odf").contains(&more.to_owned()));
        assert_eq!(of("amd-gpu").len(), 2);
        assert_eq!(of("metallb"), Vec::<String>::new());
    }
}
