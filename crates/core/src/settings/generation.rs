//! Where the files come from that hosts are installed with.

use super::topic::topic;
use super::value::choice;

/// What generates the files that hosts are installed with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Generator {
    /// Nothing: no cluster can be installed.
    #[default]
    None,
    /// A stand-in: valid files for simulated hosts, of which no cluster comes.
    Simulation,
}

choice! {
    Generator, "none or simulation",
    "none" => Self::None,
    "simulation" => Self::Simulation,
}

topic! {
    /// What hosts are installed with.
    Generation {
        /// What generates Ignition configs, install config and credentials; simulation is for simulated hosts only.
        generator: Generator = Generator::None, "GENERATOR";
    }
}
