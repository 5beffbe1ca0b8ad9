//! Accelerators: KVM, or emulation of every instruction.

use std::ffi::OsString;
use std::fmt;

use serde::{Deserialize, Serialize};

/// What runs a machine's instructions: the processor itself through KVM, or QEMU, which emulates each of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Accelerator {
    Kvm,
    Tcg,
}

impl Accelerator {
    /// QEMU's options for it.
    pub(super) fn arguments(self) -> Vec<OsString> {
        let words: &[&str] = match self {
            Self::Kvm => &["-accel", "kvm", "-cpu", "host"],
            // The least that CoreOS runs on: newer instructions are slower to emulate than what they replace.
            Self::Tcg => &["-accel", "tcg,thread=multi", "-cpu", "Nehalem"],
        };
        words.iter().map(OsString::from).collect()
    }
}

impl fmt::Display for Accelerator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Kvm => "KVM",
            Self::Tcg => "emulation (TCG)",
        })
    }
}
