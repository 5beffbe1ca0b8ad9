//! OpenshiftAssistedConfig; `v1alpha2` is stored.

pub mod v1alpha1;
pub mod v1alpha2;
