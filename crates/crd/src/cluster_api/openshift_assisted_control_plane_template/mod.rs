//! OpenshiftAssistedControlPlaneTemplate, a kind of ours: there is one version of it.

pub mod v1alpha3;
