//! The certificates of the cluster's router, which make the final kubeconfig.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, Client};

use crate::context::Context;
use crate::error::ReconcileError;

/// Where they come.
pub(super) fn maps(kube: &Client) -> Api<ConfigMap> {
    Api::namespaced(kube.clone(), "openshift-config-managed")
}

/// Hands them to the service, once they are there.
pub(super) async fn add(context: &Context) -> Result<(), ReconcileError> {
    let map = maps(&context.kube).get("default-ingress-cert").await?;
    let bundle =
        map.data.as_ref().and_then(|data| data.get("ca-bundle.crt")).filter(|bundle| !bundle.is_empty());
    let bundle = bundle.ok_or_else(|| ReconcileError::not_yet("the bundle is not there"))?;
    Ok(context.service.ingress_ca(bundle).await?)
}
