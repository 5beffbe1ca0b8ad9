//! Operators of OLM that are installed with a lab's cluster.

use std::str::FromStr;

use assisted_lab_kinds::Outcome;

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
