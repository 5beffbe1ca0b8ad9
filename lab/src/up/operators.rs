//! Operators of OLM that are installed with a lab's cluster, and how the installation of each ends.

use std::str::FromStr;

use assisted_lab_kinds::{Outcome, Outcomes, operators};

use super::{LabError, Plan};

/// How long an operator may keep a stage of the installation waiting where one of them never comes: the others have said all that they
/// have to say in a few seconds.
const LIMIT: &str = "15s";

/// An operator, by its name in the service's list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operator {
    pub name: String,
    pub outcome: Outcome,
}

impl FromStr for Operator {
    type Err = String;

    /// `NAME`, or `NAME=fails`, `NAME=missing`.
    fn from_str(text: &str) -> Result<Self, String> {
        let (name, outcome) = match text.split_once('=') {
            None => (text, Outcome::Succeeds),
            Some((name, outcome)) => (name, outcome.parse()?),
        };
        match name {
            "" => Err("the operator has no name".to_owned()),
            name => Ok(Self { name: name.to_owned(), outcome }),
        }
    }
}

impl Plan {
    fn all_come(&self) -> bool {
        self.operators.iter().all(|operator| operator.outcome == Outcome::Succeeds)
    }

    /// How the installation of operators ends, for the lab's cluster, which knows them by their packages. Only machines of namespaces
    /// can be told.
    pub(super) fn outcomes(&self) -> Result<Outcomes, LabError> {
        if self.all_come() {
            return Ok(Outcomes::default());
        }
        if !self.namespaces {
            return Err(LabError::OnlyNamespaces);
        }
        let known = operators()?;
        let unlike = self.operators.iter().filter(|operator| operator.outcome != Outcome::Succeeds);
        let of_package = |Operator { name, outcome }: &Operator| {
            let known = known.iter().find(|each| each.operator == *name);
            let package = &known.ok_or_else(|| LabError::NoOperator(name.clone()))?.package;
            Ok((package.clone(), *outcome))
        };
        unlike.map(of_package).collect()
    }

    /// The service's settings that let an installation end although operators never come: limits of operators, and of the stages that
    /// wait for them.
    pub(super) fn operator_limits(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        const SETTINGS: [&str; 3] = [
            "OLM_OPERATOR_TIMEOUT",
            "FINALIZING_STAGE_WAITING_FOR_OLM_OPERATORS_CSV_INITIALIZATION_TIMEOUT",
            "FINALIZING_STAGE_WAITING_FOR_OLM_OPERATORS_CSV_TIMEOUT",
        ];
        let all_come = self.all_come();
        SETTINGS.into_iter().filter(move |_| !all_come).map(|name| (name, LIMIT))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::up::topology::{Topology, tests::plan};

    fn with(operators: &[&str]) -> Plan {
        let operators = operators.iter().map(|text| text.parse().unwrap()).collect();
        Plan { operators, namespaces: true, ..plan(Topology::Compact, 0) }
    }

    #[test]
    fn an_operator_is_told_with_its_outcome() {
        let all = with(&["nmstate", "oadp=fails", "numaresources=missing"]);
        let outcomes = all.outcomes().unwrap().to_string();
        assert_eq!(outcomes, "numaresources-operator=missing,redhat-oadp-operator=fails");
        assert_eq!((all.operator_limits().count(), with(&["nmstate"]).operator_limits().count()), (3, 0));
        for (text, why) in [("a=late", "late"), ("=fails", "no name")] {
            assert!(text.parse::<Operator>().unwrap_err().contains(why));
        }
        let unknown = with(&["other=fails"]).outcomes().unwrap_err().to_string();
        assert!(unknown.contains("other"), "{unknown}");
        let refused = Plan { namespaces: false, ..with(&["oadp=fails"]) }.outcomes().unwrap_err().to_string();
        assert!(refused.contains("--namespaces"), "{refused}");
        assert_eq!(Plan { namespaces: false, ..with(&["oadp"]) }.outcomes().unwrap(), Outcomes::default());
    }
}
