//! The certificates of the cluster's router, which make the final kubeconfig.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;

use crate::run::Around;

/// Hands them to the service, once they are there.
pub(super) async fn add(around: &Around<'_>) -> Result<(), String> {
    let maps = Api::<ConfigMap>::namespaced(around.kube.clone(), "openshift-config-managed");
    let map = maps.get("default-ingress-cert").await.map_err(|error| error.to_string())?;
    let bundle =
        map.data.as_ref().and_then(|data| data.get("ca-bundle.crt")).filter(|bundle| !bundle.is_empty());
    let bundle = bundle.ok_or("the bundle is not there")?;
    around.service.ingress_ca(bundle).await.map_err(|error| error.to_string())
}
