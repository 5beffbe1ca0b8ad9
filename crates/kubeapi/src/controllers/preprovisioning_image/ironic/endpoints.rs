//! Where Ironic is, where metal3 does not tell: by the settings of the hub's machinery for machines, or by the node that metal3 runs
//! on (kube-api §6.7).

use std::net::IpAddr;

use assisted_core::model::object_key::ObjectKey;
use assisted_crd::agent_install::infra_env::InfraEnv;
use assisted_crd::hive_extensions::agent_cluster_install::AgentClusterInstall;
use assisted_crd::labels::annotation;
use assisted_crd::metal3::provisioning::{Provisioning, ProvisioningSpec};
use k8s_openapi::api::core::v1::Pod;
use kube::api::ListParams;
use kube::{Api, ResourceExt};

use super::NAMESPACE;
use crate::SyncError;
use crate::cluster::install_of;
use crate::controllers::cache::get;
use crate::controllers::hub::Shared;

/// The one object with those settings.
const SETTINGS: &str = "provisioning-configuration";
/// The pods of metal3.
const METAL3: &str = "k8s-app=metal3";
const NOT_RUNNING: &str = "unable to determine inspector IP, check if metal3 pod is running";

/// The URL of Ironic, without a port.
///
/// # Errors
/// It is not found.
pub(super) async fn find(hub: &Shared, object: &InfraEnv) -> Result<String, SyncError> {
    let chain = |error: &kube::Error| assisted_base::error::chain(error);
    let settings = Api::<Provisioning>::all(hub.client.clone()).get(SETTINGS).await;
    let settings = settings
        .map_err(|error| SyncError::backend(format!("unable to read Provisioning CR: {}", chain(&error))))?;
    let addresses = match of_network(&settings.spec) {
        Some(address) => vec![address],
        None => {
            let pods = hub.api::<Pod>(NAMESPACE).list(&ListParams::default().labels(METAL3)).await;
            let pods =
                pods.map_err(|error| SyncError::backend(format!("{NOT_RUNNING}: {}", chain(&error))))?;
            of_pods(&pods.items)
        }
    };
    let chosen =
        choose(&addresses, wants_ipv6(hub, object)).ok_or_else(|| SyncError::backend(NOT_RUNNING))?;
    Ok(match chosen {
        IpAddr::V4(address) => format!("https://{address}"),
        IpAddr::V6(address) => format!("https://[{address}]"),
    })
}

/// Ironic's address in the network by which machines are provisioned, where they are.
fn of_network(settings: &ProvisioningSpec) -> Option<IpAddr> {
    let is_used = settings.provisioning_network != "Disabled"
        && settings.virtual_media_via_external_network != Some(true);
    settings.provisioning_ip.parse().ok().filter(|_| is_used)
}

/// Addresses of the node that metal3 runs on.
fn of_pods(pods: &[Pod]) -> Vec<IpAddr> {
    let running = pods.iter().filter_map(|pod| pod.status.as_ref()).find(|status| {
        status.phase.as_deref() == Some("Running") && status.host_ip.as_ref().is_some_and(|ip| !ip.is_empty())
    });
    let Some(status) = running else { return Vec::new() };
    let all = status.host_ips.iter().flatten().map(|found| &found.ip);
    let mut found = Vec::new();
    for address in status.host_ip.iter().chain(all).filter_map(|text| text.parse().ok()) {
        if !found.contains(&address) {
            found.push(address);
        }
    }
    found
}

/// The address by which the machines reach Ironic.
fn choose(addresses: &[IpAddr], is_ipv6: bool) -> Option<IpAddr> {
    let fitting = addresses.iter().find(|address| is_ipv6 && address.is_ipv6());
    fitting.or(addresses.first()).copied()
}

/// Whether the machines speak IPv6 alone: as their InfraEnv says, or as the networks of its cluster do.
fn wants_ipv6(hub: &Shared, object: &InfraEnv) -> bool {
    if let Some(families) = object.annotations().get(annotation::IP_FAMILY) {
        return families == "v6";
    }
    let Some(reference) = &object.spec.cluster_ref else { return false };
    let key = ObjectKey::new(&reference.namespace, &reference.name);
    let Some(deployment) = get(&hub.cache.cluster_deployments, &key) else { return false };
    let Some(name) = install_of(&deployment) else { return false };
    let install = get(&hub.cache.installs, &ObjectKey::new(&key.namespace, name));
    install.is_some_and(|install| is_ipv6_only(&install))
}

fn is_ipv6_only(install: &AgentClusterInstall) -> bool {
    let networking = &install.spec.networking;
    let machines = networking.machine_network.iter().map(|network| network.cidr.as_str());
    let clusters = networking.cluster_network.iter().map(|network| network.cidr.as_str());
    let services = networking.service_network.iter().map(String::as_str);
    let mut all = machines.chain(clusters).chain(services).peekable();
    all.peek().is_some() && all.all(|network| network.contains(':'))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn ironic_is_in_the_provisioning_network_or_on_metal3s_node() {
        let settings = |text: Value| -> ProvisioningSpec { serde_json::from_value(text).unwrap() };
        let own = "172.22.0.3";
        for (settings, expected) in [
            (json!({"provisioningIP": own, "provisioningNetwork": "Managed"}), true),
            (json!({"provisioningIP": own, "provisioningNetwork": "Disabled"}), false),
            (json!({"provisioningIP": own, "virtualMediaViaExternalNetwork": true}), false),
            (json!({"provisioningNetwork": "Managed"}), false),
        ]
        .map(|(text, expected)| (settings(text), expected))
        {
            assert_eq!(of_network(&settings), expected.then(|| own.parse().unwrap()), "{settings:?}");
        }
        let pod = |phase: &str| -> Pod {
            serde_json::from_value(json!({"metadata": {}, "status": {
                "phase": phase, "hostIP": "192.0.2.1", "hostIPs": [{"ip": "192.0.2.1"}, {"ip": "2001:db8::1"}],
            }}))
            .unwrap()
        };
        assert_eq!(of_pods(&[pod("Pending")]), Vec::<IpAddr>::new());
        let both = of_pods(&[pod("Pending"), pod("Running")]);
        let texts = |address: Option<IpAddr>| address.map(|address| address.to_string());
        assert_eq!(texts(choose(&both, false)).as_deref(), Some("192.0.2.1"));
        assert_eq!(texts(choose(&both, true)).as_deref(), Some("2001:db8::1"));
        assert_eq!(texts(choose(&both[..1], true)).as_deref(), Some("192.0.2.1"));
        assert_eq!(choose(&[], true), None);
    }

    #[test]
    fn a_cluster_speaks_ipv6_alone_when_all_of_its_networks_do() {
        let install = |machines: &[&str], clusters: &[&str]| -> AgentClusterInstall {
            let cidrs = |all: &[&str]| all.iter().map(|cidr| json!({"cidr": cidr})).collect::<Vec<_>>();
            serde_json::from_value(json!({"spec": {"clusterDeploymentRef": {"name": "demo"}, "networking": {
                "machineNetwork": cidrs(machines), "clusterNetwork": cidrs(clusters),
            }}}))
            .unwrap()
        };
        assert!(is_ipv6_only(&install(&["2001:db8::/64"], &["fd01::/48"])));
        assert!(!is_ipv6_only(&install(&["2001:db8::/64"], &["10.128.0.0/14"])));
        assert!(!is_ipv6_only(&install(&[], &[])));
    }
}
