//! Where the files come from that hosts are installed with.

use super::topic::topic;
use super::value::Value;

/// What generates the files that hosts are installed with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Generator {
    /// Nothing: no cluster can be installed.
    #[default]
    None,
    /// A stand-in: valid files for simulated hosts, of which no cluster comes.
    Simulation,
}

impl Generator {
    const ALL: [(&str, Self); 2] = [("none", Self::None), ("simulation", Self::Simulation)];
}

impl Value for Generator {
    const KIND: &'static str = "none or simulation";

    fn parse(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find_map(|(name, kind)| (name == text).then_some(kind));
        found.ok_or_else(|| format!("{text:?} is no generator"))
    }

    fn show(&self) -> String {
        Self::ALL
            .iter()
            .find(|(_, kind)| kind == self)
            .map_or_else(String::new, |(name, _)| (*name).to_owned())
    }
}

topic! {
    /// What hosts are installed with.
    Generation {
        /// What generates Ignition configs, install config and credentials; simulation is for simulated hosts only.
        generator: Generator = Generator::None, "GENERATOR";
    }
}
