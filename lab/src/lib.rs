//! A CoreOS-like live ISO from Debian packages, the machines that boot it, and a network for them: the whole system on one
//! computer.

pub mod image;
pub mod machine;
pub mod namespace;
pub mod network;
pub mod release;
pub mod up;
