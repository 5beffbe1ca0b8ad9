//! A machine that was switched on, virtual, of namespaces, or real.

use super::LabError;
use super::controlled::Controlled;
use crate::machine::{Hypervisor, Machine};
use crate::namespace;

pub(super) enum MachineHandle {
    /// The QEMU process ends when this is dropped.
    Virtual(Machine),
    /// The processes in its namespaces end when this is dropped.
    Namespace(namespace::Machine),
    /// The machine stays switched on when this is dropped: its owner may want to look at it.
    Real(Controlled),
}

/// Whether a machine runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Liveness {
    Running,
    /// KVM has failed; the machine has started again without it, and lost nothing but what it was just doing.
    Restarted,
    /// KVM has failed, and there is something on the machine's disk.
    Lost,
}

impl MachineHandle {
    /// How the machine is, as far as that can be seen; fails when it can't do any more what is `wanted`.
    pub(super) fn liveness(&mut self, wanted: &str) -> Result<Liveness, LabError> {
        let machine = match self {
            Self::Virtual(machine) => machine,
            Self::Namespace(machine) => return Ok(machine.must_live(wanted).map(|()| Liveness::Running)?),
            Self::Real(_) => return Ok(Liveness::Running),
        };
        let before = machine.accelerator();
        match machine.must_live(wanted) {
            Ok(()) if machine.accelerator() == before => Ok(Liveness::Running),
            Ok(()) => Ok(Liveness::Restarted),
            // Who asks for KVM gets nothing else.
            Err(error) if error.is_of_kvm() && Hypervisor::here()?.is_emulating() => Ok(Liveness::Lost),
            Err(error) => Err(error.into()),
        }
    }
}
