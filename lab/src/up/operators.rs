//! Operators of OLM that are installed with a lab's cluster, and how the installation of each ends.

use std::str::FromStr;

use assisted_lab_kinds::{Outcome, operators};

use super::LabError;

/// How long an operator may keep a stage of the installation waiting when one of them never comes: others have said all that they
/// have to say in a few seconds.
const LIMIT: &str = "30s";

/// An operator, by its name in the service's list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operator {
    pub name: String,
    pub outcome: Outcome,
}

impl FromStr for Operator {
    type Err = String;

    /// `NAME`, `NAME=fails` or `NAME=missing`.
    fn from_str(text: &str) -> Result<Self, String> {
        let (name, outcome) = match text.split_once('=') {
            None => (text, Outcome::Succeeds),
            Some((name, "fails")) => (name, Outcome::Fails),
            Some((name, "missing")) => (name, Outcome::Missing),
            Some((_, other)) => return Err(format!("an operator ends as fails or missing, not as {other}")),
        };
        match name {
            "" => Err("the operator has no name".to_owned()),
            name => Ok(Self { name: name.to_owned(), outcome }),
        }
    }
}

/// Names of images that tell the lab's cluster which operators do not succeed; it knows operators by their packages.
pub(super) fn images(all: &[Operator]) -> Result<Vec<String>, LabError> {
    let known = operators()?;
    let mut images = Vec::new();
    for Operator { name, outcome } in all.iter().filter(|each| each.outcome != Outcome::Succeeds) {
        let package = known.iter().find(|each| each.operator == *name).map(|each| &each.package);
        let package = package.ok_or_else(|| LabError::NoOperator(name.clone()))?;
        images.extend(outcome.image_name(package));
    }
    Ok(images)
}

/// The service's settings that let an installation end although operators never come: limits of the stages that wait for them.
pub(super) fn limits(all: &[Operator]) -> impl Iterator<Item = (&'static str, &'static str)> {
    const STAGES: [&str; 2] = [
        "FINALIZING_STAGE_WAITING_FOR_OLM_OPERATORS_CSV_INITIALIZATION_TIMEOUT",
        "FINALIZING_STAGE_WAITING_FOR_OLM_OPERATORS_CSV_TIMEOUT",
    ];
    let all_come = all.iter().all(|each| each.outcome == Outcome::Succeeds);
    STAGES.into_iter().filter(move |_| !all_come).map(|stage| (stage, LIMIT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operator_is_told_with_its_outcome() {
        let operators = ["nmstate", "oadp=fails", "numaresources=missing"].map(|text| text.parse().unwrap());
        assert_eq!(operators[0], Operator { name: "nmstate".to_owned(), outcome: Outcome::Succeeds });
        let names = ["olm-fails-redhat-oadp-operator", "olm-lacks-numaresources-operator"];
        assert_eq!(images(&operators).unwrap(), names);
        assert_eq!((limits(&operators).count(), limits(&operators[..1]).count()), (2, 0));
        for (text, why) in [("a=late", "late"), ("=fails", "no name")] {
            assert!(text.parse::<Operator>().unwrap_err().contains(why));
        }
        let unknown = images(&["other=fails".parse().unwrap()]).unwrap_err().to_string();
        assert!(unknown.contains("other"), "{unknown}");
    }
}
