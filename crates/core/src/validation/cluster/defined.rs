//! `cluster-cidr-defined`, `service-cidr-defined`, `dns-domain-defined`, `pull-secret-set`: what must be given is.

use super::View;
use crate::model::outcome::Outcome;
use crate::network::family;

fn given(is: bool, success: &'static str, failure: &'static str, remedy: &'static str) -> Outcome {
    if is {
        Outcome::success(success)
    } else {
        Outcome::failure(failure).measured("not set").required("set").remedy(remedy)
    }
}

pub(super) fn check_cluster_cidr(view: &View<'_>) -> Outcome {
    given(
        family::cluster_networks(view.cluster).next().is_some(),
        "The Cluster Network CIDR is defined.",
        "The Cluster Network CIDR is undefined.",
        "Set the cluster's cluster_networks.",
    )
}

pub(super) fn check_service_cidr(view: &View<'_>) -> Outcome {
    given(
        family::service_networks(view.cluster).next().is_some(),
        "The Service Network CIDR is defined.",
        "The Service Network CIDR is undefined.",
        "Set the cluster's service_networks.",
    )
}

pub(super) fn check_dns_domain(view: &View<'_>) -> Outcome {
    given(
        !view.cluster.base_dns_domain.is_empty(),
        "The base domain is defined.",
        "The base domain is undefined and must be provided.",
        "Set the cluster's base_dns_domain.",
    )
}

pub(super) fn check_pull_secret(view: &View<'_>) -> Outcome {
    given(
        view.cluster.pull_secret_set,
        "The pull secret is set.",
        "The pull secret is not set.",
        "Set the cluster's pull_secret.",
    )
}
