//! The address that the cluster's DNS is to have: a service that came earlier may have been given it
//! (installer-and-controller §B10).

use std::net::IpAddr;

use assisted_base::error::chain;
use ipnet::IpNet;
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Service};
use kube::api::{DeleteParams, ListParams};
use kube::{Api, Client, ResourceExt};
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::context::Context;
use crate::error::ReconcileError;
use crate::wait::{pause, poll_until};

const ROUNDS: usize = 45;
const DELETIONS: usize = 5;
const OPERATOR: &str = "openshift-dns-operator";

/// Removes whatever holds the address, until the DNS has it.
pub(crate) async fn free_address(context: &Context, stop: &CancellationToken) {
    let Some(address) = wanted(&context.kube).await else { return };
    for _ in 0..ROUNDS {
        match owner(&context.kube, address).await {
            Ok(Some((namespace, name)))
                if (namespace.as_str(), name.as_str()) == ("openshift-dns", "dns-default") =>
            {
                return;
            }
            Ok(Some((namespace, name))) => {
                warn!(%address, namespace, service = name, "a service holds the address of the cluster's DNS");
                clear(context, &namespace, &name, stop).await;
                if stop.is_cancelled() {
                    return;
                }
                continue;
            }
            Ok(None) => {}
            Err(error) => warn!(error = chain(&error), "services can't be listed"),
        }
        if pause(stop, context.config.intervals.dns).await {
            return;
        }
    }
    warn!(%address, "the cluster's DNS has not taken its address");
}

/// The install-config of a cluster, as it keeps it.
pub(crate) async fn install_config(kube: &Client) -> Result<Value, ReconcileError> {
    let maps = Api::<ConfigMap>::namespaced(kube.clone(), "kube-system");
    let map = maps.get("cluster-config-v1").await?;
    let text = map.data.as_ref().and_then(|data| data.get("install-config"));
    let text = text.ok_or_else(|| ReconcileError::not_yet("the cluster holds no install-config"))?;
    serde_yaml_ng::from_str(text).map_err(ReconcileError::malformed("the install-config"))
}

/// The tenth address of the first network of services.
async fn wanted(kube: &Client) -> Option<IpAddr> {
    let config = install_config(kube).await;
    let config = config.map_err(|error| warn!(error = chain(&error), "no install-config")).ok()?;
    tenth(config.pointer("/networking/serviceNetwork/0")?.as_str()?)
}

fn tenth(network: &str) -> Option<IpAddr> {
    let mut octets = match network.parse::<IpNet>().ok()?.network() {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    };
    *octets.last_mut()? = 10;
    let v4 = <[u8; 4]>::try_from(octets.as_slice()).map(IpAddr::from);
    v4.or_else(|_| <[u8; 16]>::try_from(octets.as_slice()).map(IpAddr::from)).ok()
}

async fn owner(kube: &Client, address: IpAddr) -> Result<Option<(String, String)>, kube::Error> {
    let services = Api::<Service>::all(kube.clone()).list(&ListParams::default()).await?;
    let owns = |service: &&Service| {
        let own = service.spec.as_ref().and_then(|spec| spec.cluster_ip.as_deref());
        own.is_some_and(|own| own.parse() == Ok(address))
    };
    let owner = services.items.iter().find(owns);
    Ok(owner.map(|service| (service.namespace().unwrap_or_default(), service.name_any())))
}

async fn clear(context: &Context, namespace: &str, name: &str, stop: &CancellationToken) {
    let services = Api::<Service>::namespaced(context.kube.clone(), namespace);
    let pods = Api::<Pod>::namespaced(context.kube.clone(), OPERATOR);
    let delete = DeleteParams::default();
    let removed = retry(context, stop, async || services.delete(name, &delete).await.map(drop)).await;
    if removed
        && retry(context, stop, async || {
            pods.delete_collection(&delete, &ListParams::default()).await.map(drop)
        })
        .await
    {
        info!(namespace, service = name, "removed for the cluster's DNS");
    }
}

async fn retry(
    context: &Context,
    stop: &CancellationToken,
    mut attempt: impl AsyncFnMut() -> Result<(), kube::Error>,
) -> bool {
    let mut attempts = 0;
    let done = poll_until(stop, context.config.intervals.dns_delete, None, async || {
        attempts += 1;
        match attempt().await {
            Ok(()) => Some(true),
            Err(error) => {
                warn!(error = chain(&error), "can't be deleted");
                (attempts >= DELETIONS).then_some(false)
            }
        }
    });
    done.await.unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tenth_address_of_a_network() {
        for (network, expected) in [
            ("172.30.0.0/16", Some("172.30.0.10")),
            ("172.30.5.7/16", Some("172.30.0.10")),
            ("fd02::/112", Some("fd02::a")),
            ("172.30.0.0", None),
            ("", None),
        ] {
            assert_eq!(tenth(network), expected.map(|address| address.parse().unwrap()), "{network}");
        }
    }
}
