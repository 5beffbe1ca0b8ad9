//! OpenshiftAssistedControlPlane; `v1alpha3` is stored.

pub mod config;
pub mod v1alpha2;
pub mod v1alpha3;
