//! The controllers of a hub: they bring rows of the service to what objects say, and show in the objects what became of them.
//!
//! Watches (`assisted_kube::watch`) keep a copy of the objects in memory ([`cache`]) and mark what an object's change is about; the service's
//! own changes ([`changes`]) mark the objects of rows. Each kind has a queue ([`queues`]) and one reconciler: [`cluster`] for
//! ClusterDeployments with their AgentClusterInstalls, [`install`] for AgentClusterInstalls that have no ClusterDeployment,
//! [`infra_env`], [`agent`], [`classification`] for AgentClassifications and the labels that they give,
//! [`bare_metal_host`], [`preprovisioning_image`] for the images of machines that metal3 inspects, [`spoke`] for the nodes of clusters that are installed. A reconciler looks at the present state of object and
//! row, whatever marked it, and writes what differs: an object and its row never fight, and a pass that finds everything in place writes nothing.
//!
//! What is decided stands in pure functions (`status`, `decide`) apart from what talks to the API server.

mod agent;
mod bare_metal_host;
mod cache;
mod changes;
mod classification;
mod cluster;
mod flow;
mod hub;
mod index;
mod infra_env;
mod install;
mod marks;
mod preprovisioning_image;
mod queues;
mod referred;
mod relations;
mod run;
mod spoke;
mod synced;
mod validations;

pub use run::{Options, RunError, run};
