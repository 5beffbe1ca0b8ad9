//! Small live ISOs made by xorriso: read, customised, made minimal; judged by coreos-installer and by xorriso.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests are tests too")]

mod coreos_installer;
mod customise;
mod hostile;
mod inspect;
mod minimal;
mod pxe;
mod recipe;
mod structure;
mod xorriso;
