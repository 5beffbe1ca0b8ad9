//! `network-type-valid`, `custom-manifests-requirements-satisfied`: the network plug-in goes with the rest.

use assisted_wire::cluster::Cluster;
use assisted_wire::cluster_params::NetworkType;

use super::View;
use crate::model::embedded;
use crate::model::outcome::Outcome;
use crate::network::family;

pub(super) fn check(view: &View<'_>) -> Outcome {
    let sdn = view.cluster.network_type == Some(NetworkType::OpenShiftSDN);
    if sdn && family::has_ipv6(view.cluster) {
        Outcome::failure(
            "The cluster is configured with IPv6 which is not supported by OpenShiftSDN; use OVNKubernetes instead",
        )
        .measured("OpenShiftSDN")
        .required("OVNKubernetes")
        .remedy("Set the network type to OVNKubernetes.")
    } else if sdn && view.single_node {
        Outcome::failure(
            "Control Plane Count '1' (SNO) is not supported by OpenShiftSDN; use another network type instead",
        )
        .measured("OpenShiftSDN")
        .required("OVNKubernetes")
        .remedy("Set the network type to OVNKubernetes.")
    } else if view.dhcp && view.cluster.network_type == Some(NetworkType::OVNKubernetes) {
        Outcome::failure(
            "VIP DHCP allocation is not supported when the cluster is configured to use OVNKubernetes.",
        )
        .measured("VIP allocation by DHCP")
        .required("virtual IPs that are set")
        .remedy("Switch VIP allocation by DHCP off, and set the virtual IPs.")
    } else {
        Outcome::success("The cluster has a valid network type")
    }
}

pub(super) fn check_manifests(view: &View<'_>) -> Outcome {
    let kind = effective_network_type(view.cluster);
    if !["Cilium", "Calico", "CiscoACI", "None"].contains(&kind.as_str()) {
        return Outcome::success("No custom manifests are required");
    }
    match has_custom_manifest(view.cluster) {
        None => unreadable_usage(),
        Some(true) => Outcome::success("Custom manifests are uploaded"),
        Some(false) => Outcome::failure(format!(
            "Custom manifests are required for: {kind} network type. Please upload manifests via the custom manifests \
             API."
        ))
        .measured("no custom manifest")
        .required("the manifests of the plug-in")
        .remedy("Upload the plug-in's manifests."),
    }
}

/// What is said when the record of used features can't be read.
pub(super) fn unreadable_usage() -> Outcome {
    Outcome::failure("Failed to parse feature usages")
        .measured("feature_usage can't be read")
        .required("a JSON map")
        .remedy("Change the cluster in any way: feature_usage is written anew.")
}

/// Whether the user uploaded a manifest; `None` when the record of used features can't be read.
pub(super) fn has_custom_manifest(cluster: &Cluster) -> Option<bool> {
    Some(embedded::used_features(cluster)?.iter().any(|name| name == "Custom manifest"))
}

/// The network type that will be installed: that of the install-config overrides, else the cluster's.
pub(super) fn effective_network_type(cluster: &Cluster) -> String {
    embedded::overridden_network_type(cluster)
        .unwrap_or_else(|| cluster.network_type.map_or_else(String::new, |kind| kind.to_string()))
}
