//! Operators that are installed with a cluster: the catalogue, bundles of them, and which a request selects.

pub mod bundle;
pub mod catalogue;
pub mod selection;
pub mod subscription;
