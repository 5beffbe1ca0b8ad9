//! A machine that was switched on, virtual or real.

use super::LabError;
use crate::machine::Machine;
use crate::redfish::Bmc;

pub(super) enum Powered {
    /// It goes when this is dropped.
    Virtual(Machine),
    /// It stays as it is: its owner may want to look at it.
    Real(Bmc),
}

impl Powered {
    /// Fails when the machine can't do any more what is `wanted`, as far as that can be seen.
    pub(super) fn must_live(&mut self, wanted: &str) -> Result<(), LabError> {
        match self {
            Self::Virtual(machine) => Ok(machine.must_live(wanted)?),
            Self::Real(_) => Ok(()),
        }
    }
}
