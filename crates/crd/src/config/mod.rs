//! `config.openshift.io`: how an OpenShift cluster is set up.

pub mod api_server;
pub mod cluster_operator;
pub mod cluster_version;
pub mod common;
pub mod image_digest_mirror_set;
pub mod image_tag_mirror_set;
pub mod infrastructure;
pub mod proxy;
