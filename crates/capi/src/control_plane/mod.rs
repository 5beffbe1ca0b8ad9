//! The control-plane provider: OpenshiftAssistedControlPlanes (capi-providers §10 to §14).
//!
//! A control plane belongs to a Cluster. When the cluster's infrastructure is there, the cluster is described to the installer
//! ([`installation`], [`installer`]): its release, its networks and addresses, how many machines it is made of. The machines of the control plane come
//! and go one at a time ([`machines`]); which, is decided by [`scale`]. When the installer gives the kubeconfig out, it is handed to
//! Cluster API ([`kubeconfig`]); a cluster that runs is upgraded by its own operator ([`upgrade`]). What a pass finds out is told in one
//! status ([`report`]), whatever of it fails.

mod class;
mod image_registry;
mod install_config;
mod installation;
mod installer;
mod kubeconfig;
mod machines;
mod management_cluster;
mod marks;
mod provider;
mod reconcile;
mod release;
mod removal;
mod report;
mod run;
mod scale;
mod template;
mod upgrade;
mod version;
mod workload;

pub use installer::Installer;
pub(crate) use machines::NODE_DELETION;
pub use run::run;
