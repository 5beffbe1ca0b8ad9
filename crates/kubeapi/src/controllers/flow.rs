//! How machines under metal3 come to run the images of InfraEnvs, found out once at the start (kube-api §1.1).

use assisted_base::version::{Base, base};
use assisted_crd::config::cluster_operator::ClusterOperator;
use assisted_kube::error::optional;
use assisted_service::Service;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{Api, Client};

/// Names of definitions.
const MACHINES: &str = "baremetalhosts.metal3.io";
const IMAGES: &str = "preprovisioningimages.metal3.io";
/// The operator that runs metal3 on OpenShift, and the first version of which metal3 can have the service install machines.
const OPERATOR: &str = "baremetal";
const FIRST: Base = Base(4, 12);

/// How they do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    /// They are not looked after.
    None,
    /// They boot them as virtual media, and metal3 does nothing else with them.
    VirtualMedia,
    /// metal3 inspects and cleans them with the image, and has them installed.
    Converged,
}

/// Finds it out.
///
/// # Errors
/// The API server does not tell.
pub(super) async fn find(client: &Client, service: &Service) -> Result<Flow, String> {
    let settings = service.settings();
    if !settings.kube.enable_metal3 || !settings.http.enable_image_service {
        return Ok(Flow::None);
    }
    if !is_defined(client, MACHINES).await? {
        tracing::warn!(
            "BareMetalHosts are not looked after, for their kind is not defined: install {MACHINES} and start again, or set \
             ENABLE_METAL3=false"
        );
        return Ok(Flow::None);
    }
    if !settings.kube.allow_converged_flow {
        return Ok(Flow::VirtualMedia);
    }
    let operator = Api::<ClusterOperator>::all(client.clone()).get(OPERATOR).await;
    let operator = optional(operator).map_err(|error| assisted_base::error::chain(&error))?;
    if !operator.is_some_and(|operator| is_able(&operator)) {
        return Ok(Flow::VirtualMedia);
    }
    if !is_defined(client, IMAGES).await? {
        tracing::warn!("machines boot images as virtual media, for {IMAGES} is not defined");
        return Ok(Flow::VirtualMedia);
    }
    Ok(Flow::Converged)
}

async fn is_defined(client: &Client, name: &str) -> Result<bool, String> {
    let found = optional(Api::<CustomResourceDefinition>::all(client.clone()).get(name).await);
    Ok(found.map_err(|error| assisted_base::error::chain(&error))?.is_some())
}

/// Whether metal3 can have the service install machines.
fn is_able(operator: &ClusterOperator) -> bool {
    let version = operator.status.as_ref().and_then(|status| status.versions.first());
    version.and_then(|version| base(&version.version)).is_some_and(|version| version >= FIRST)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn metal3_has_machines_installed_from_a_version_on() {
        let operator = |versions: &[&str]| -> ClusterOperator {
            let versions: Vec<_> =
                versions.iter().map(|version| json!({"name": "operator", "version": version})).collect();
            serde_json::from_value(json!({"metadata": {"name": OPERATOR}, "status": {"versions": versions}}))
                .unwrap()
        };
        for (versions, expected) in [
            (&["4.12.0-0.alpha"][..], true),
            (&["4.20.3"], true),
            (&["5.0.0"], true),
            (&["4.11.9", "4.20.0"], false),
            (&["4.9.0"], false),
            (&["soon"], false),
            (&[], false),
        ] {
            assert_eq!(is_able(&operator(versions)), expected, "{versions:?}");
        }
    }
}
