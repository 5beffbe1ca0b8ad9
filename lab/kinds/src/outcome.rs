//! How the installation of an operator ends in a lab's cluster, as the lab tells it to the machines.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// How the installation of an operator ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Outcome {
    /// Its ClusterServiceVersion succeeds.
    #[default]
    Succeeds,
    /// Its ClusterServiceVersion fails.
    Fails,
    /// No catalogue has its package: the subscription brings nothing.
    Missing,
}

impl Outcome {
    const ALL: [Self; 3] = [Self::Succeeds, Self::Fails, Self::Missing];

    const fn as_str(self) -> &'static str {
        match self {
            Self::Succeeds => "succeeds",
            Self::Fails => "fails",
            Self::Missing => "missing",
        }
    }
}

impl FromStr for Outcome {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|outcome| outcome.as_str() == text);
        found.ok_or_else(|| format!("an operator succeeds, fails or is missing, and not {text:?}"))
    }
}

/// Outcomes by packages. As text, in which machines get it: `PACKAGE=fails,PACKAGE=missing`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcomes(BTreeMap<String, Outcome>);

impl Outcomes {
    /// The variable that machines have it in.
    pub const VARIABLE: &str = "LAB_OPERATORS";

    /// The outcome of a package: one that is not told of succeeds.
    pub fn of(&self, package: &str) -> Outcome {
        self.0.get(package).copied().unwrap_or_default()
    }
}

impl FromIterator<(String, Outcome)> for Outcomes {
    fn from_iter<T: IntoIterator<Item = (String, Outcome)>>(all: T) -> Self {
        Self(all.into_iter().collect())
    }
}

impl fmt::Display for Outcomes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, (package, outcome)) in self.0.iter().enumerate() {
            let comma = if number == 0 { "" } else { "," };
            write!(f, "{comma}{package}={}", outcome.as_str())?;
        }
        Ok(())
    }
}

impl FromStr for Outcomes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let one = |text: &str| {
            let (package, outcome) =
                text.split_once('=').ok_or_else(|| format!("{text:?} has no outcome"))?;
            Ok((package.to_owned(), outcome.parse()?))
        };
        text.split(',').filter(|text| !text.is_empty()).map(one).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_are_told_as_text() {
        let outcomes: Outcomes = "oadp=missing,nfd=fails".parse().unwrap();
        assert_eq!(outcomes.to_string(), "nfd=fails,oadp=missing");
        let of = |package| outcomes.of(package);
        assert_eq!((of("nfd"), of("oadp"), of("lso")), (Outcome::Fails, Outcome::Missing, Outcome::Succeeds));
        assert_eq!(Outcomes::default().to_string().parse(), Ok(Outcomes::default()));
        for wrong in ["nfd", "nfd=late"] {
            assert!(wrong.parse::<Outcomes>().is_err(), "{wrong}");
        }
    }
}
