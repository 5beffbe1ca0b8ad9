//! A CoreOS-like live ISO from Debian packages, and the machines that boot it: the whole system on one computer.

pub mod image;
pub mod machine;
