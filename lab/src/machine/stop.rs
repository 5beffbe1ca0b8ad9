//! Why QEMU holds a machine that should run, or has crashed.

/// Why a machine runs no more although nobody ended it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Stop {
    /// The accelerator met an instruction that it can't run.
    #[error("its accelerator reported an internal error")]
    InternalError,
    /// QEMU itself was ended by this signal.
    #[error("QEMU crashed (signal {0})")]
    Crashed(i32),
    #[error("its operating system panicked")]
    Panicked,
    #[error("its watchdog fired")]
    Watchdog,
    /// A disk image can't be written or read.
    #[error("a disk image can't be written or read")]
    Io,
}

/// Signals that a process gets for its own mistakes: illegal instruction, abort, bus error, segmentation fault.
const CRASHES: [i32; 4] = [4, 6, 7, 11];

impl Stop {
    /// What a state of QEMU's means (`RunState` of its machine protocol); most are no failures.
    pub(super) fn of_run_state(state: &str) -> Option<Self> {
        match state {
            "internal-error" => Some(Self::InternalError),
            "guest-panicked" => Some(Self::Panicked),
            "watchdog" => Some(Self::Watchdog),
            "io-error" => Some(Self::Io),
            _ => None,
        }
    }

    /// What the signal that ended QEMU means.
    pub(super) fn of_signal(signal: i32) -> Option<Self> {
        CRASHES.contains(&signal).then_some(Self::Crashed(signal))
    }

    /// Whether the accelerator is to blame, so that another one may do better.
    pub(super) fn is_of_accelerator(self) -> bool {
        matches!(self, Self::InternalError | Self::Crashed(_))
    }
}
