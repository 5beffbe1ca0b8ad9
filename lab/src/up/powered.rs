//! A machine that was switched on, virtual, of namespaces, or real.

use super::LabError;
use super::controlled::Controlled;
use crate::machine::{Hypervisor, Machine};
use crate::namespace;

pub(super) enum Powered {
    /// It goes when this is dropped.
    Virtual(Machine),
    /// The same.
    Namespace(namespace::Machine),
    /// It stays as it is: its owner may want to look at it.
    Real(Controlled),
}

/// How a machine is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Life {
    GoesOn,
    /// KVM has failed; the machine has started again without it, and lost nothing but what it was just doing.
    StartedAgain,
    /// KVM has failed, and there is something on the machine's disk.
    Lost,
}

impl Powered {
    /// How the machine is, as far as that can be seen; fails when it can't do any more what is `wanted`.
    pub(super) fn life(&mut self, wanted: &str) -> Result<Life, LabError> {
        let machine = match self {
            Self::Virtual(machine) => machine,
            Self::Namespace(machine) => return Ok(machine.must_live(wanted).map(|()| Life::GoesOn)?),
            Self::Real(_) => return Ok(Life::GoesOn),
        };
        let before = machine.accelerator();
        match machine.must_live(wanted) {
            Ok(()) if machine.accelerator() == before => Ok(Life::GoesOn),
            Ok(()) => Ok(Life::StartedAgain),
            // Who asks for KVM gets nothing else.
            Err(error) if error.is_of_kvm() && Hypervisor::here()?.is_emulating() => Ok(Life::Lost),
            Err(error) => Err(error.into()),
        }
    }
}
