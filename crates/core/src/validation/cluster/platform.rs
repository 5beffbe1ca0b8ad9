//! `platform-requirements-satisfied`: what Oracle's cloud needs besides. Told only; it does not gate the installation.

use super::View;
use super::network_type::{has_custom_manifest, unreadable_usage};
use crate::model::outcome::Outcome;
use crate::model::topology;

pub(super) fn check(view: &View<'_>) -> Outcome {
    if !view.cluster.platform.as_ref().is_some_and(topology::is_oci) {
        return Outcome::success("Platform requirements satisfied");
    }
    match has_custom_manifest(view.cluster) {
        Some(true) => Outcome::success("Platform requirements satisfied"),
        None => unreadable_usage(),
        Some(false) => Outcome::failure(
            "The custom manifest required for Oracle Cloud Infrastructure platform integration has not been added. \
             Add a custom manifest to continue.",
        )
        .measured("no custom manifest")
        .required("the manifests of the cloud's controllers")
        .remedy("Upload the manifests of the cloud's controllers."),
    }
}
