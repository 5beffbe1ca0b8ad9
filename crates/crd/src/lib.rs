//! The custom resources of the Kubernetes API, and those of others that it reads and writes.
//!
//! A module is an API group, a file a kind. The published definitions ([`definition`]) are the law: tests hold the types to
//! them, field by field, both ways.
//!
//! How the types are made:
//!
//! * A field that is not required is left out when it is empty, and an empty one reads like one that is missing: there is
//!   one way to say "not set". Where nothing differs from false or zero (a flag, a number), it is an `Option`.
//! * Nothing that an API server takes fails to read, since one object that can't be read would hide all others of its kind:
//!   whatever is missing reads as empty, and a text is an enumeration only where the definition lists its values and the
//!   definition is ours.
//! * Of some kinds of others there are only the fields that are used; each says so. Such an object is never written as a
//!   whole: [`patch`] makes the patch that changes what was changed and touches nothing else.

pub mod agent_install;
pub mod cluster_api;
pub mod cluster_management;
pub mod common;
pub mod condition;
pub mod config;
pub mod definition;
pub mod hive;
pub mod hive_extensions;
pub mod labels;
pub mod machine_config;
pub mod metal3;
pub mod patch;
pub mod resource;
