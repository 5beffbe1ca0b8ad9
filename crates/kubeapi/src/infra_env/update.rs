//! The request that changes of an infra-env what differs.

use assisted_wire::infra_env::{
    HostStaticNetworkConfig, InfraEnv, InfraEnvUpdateParams, KernelArguments, MacInterfaceMap, Proxy,
};
use serde_json::Value;

use super::InfraEnvSpec;
use crate::difference::set;
use crate::sync_error::SyncError;
use crate::text::{given, joined};

/// What differs between an infra-env and its object.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Update {
    /// Holds what differs, and the registry credentials, which can't be compared.
    pub params: InfraEnvUpdateParams,
    /// The fields that differ, as the REST API calls them.
    pub changed: Vec<&'static str>,
}

impl InfraEnvSpec<'_> {
    /// The request that makes the infra-env what its object describes (kube-api §6.3.3). What the object does not set stays as it
    /// is, but for kernel arguments and static networks, which go when the object has none any more.
    ///
    /// # Errors
    /// `Input` with the first field that is not one of its values.
    pub fn update(&self, infra_env: &InfraEnv) -> Result<Update, SyncError> {
        let spec = &self.object.spec;
        let Update { mut params, mut changed } = Update::default();
        params.pull_secret = self.pull_secret.clone();
        let texts = [
            (
                "additional_ntp_sources",
                &mut params.additional_ntp_sources,
                joined(&spec.additional_ntp_sources),
                infra_env.additional_ntp_sources.as_str(),
            ),
            ("ntp_sources", &mut params.ntp_sources, joined(&spec.ntp_sources), &infra_env.ntp_sources),
            (
                "ssh_authorized_key",
                &mut params.ssh_authorized_key,
                given(spec.ssh_authorized_key.trim()),
                infra_env.ssh_authorized_key.trim(),
            ),
            (
                "additional_trust_bundle",
                &mut params.additional_trust_bundle,
                given(spec.additional_trust_bundle.trim()),
                infra_env.additional_trust_bundle.trim(),
            ),
            (
                "openshift_version",
                &mut params.openshift_version,
                given(&spec.os_image_version),
                &infra_env.openshift_version,
            ),
        ];
        for (name, field, wanted, current) in texts {
            set(&mut changed, name, field, wanted, |wanted| wanted == current);
        }
        let wanted = given(&spec.ignition_config_override);
        set(
            &mut changed,
            "ignition_config_override",
            &mut params.ignition_config_override,
            wanted,
            |wanted| *wanted == infra_env.ignition_config_override,
        );
        set(&mut changed, "proxy", &mut params.proxy, self.proxy(), |wanted| {
            same_proxy(wanted, infra_env.proxy.as_ref())
        });
        set(&mut changed, "image_type", &mut params.image_type, self.image_type()?, |wanted| {
            *wanted == infra_env.r#type
        });
        let wanted = Some(self.kernel_arguments());
        set(&mut changed, "kernel_arguments", &mut params.kernel_arguments, wanted, |wanted| {
            *wanted == kernel_arguments(infra_env)
        });
        let wanted = Some(self.networks.clone());
        set(&mut changed, "static_network_config", &mut params.static_network_config, wanted, |wanted| {
            same_networks(wanted, &networks(infra_env))
        });
        let wanted = spec.network_discovery_delay_seconds;
        let field = &mut params.network_discovery_delay_seconds;
        set(&mut changed, "network_discovery_delay_seconds", field, wanted, |wanted| {
            Some(*wanted) == infra_env.network_discovery_delay_seconds
        });
        Ok(Update { params, changed })
    }
}

fn same_proxy(wanted: &Proxy, current: Option<&Proxy>) -> bool {
    let members = |proxy: &Proxy| {
        [&proxy.http_proxy, &proxy.https_proxy, &proxy.no_proxy]
            .map(|member| member.clone().unwrap_or_default())
    };
    members(wanted) == current.map(members).unwrap_or_default()
}

/// The arguments that an infra-env has; they are kept as JSON.
fn kernel_arguments(infra_env: &InfraEnv) -> KernelArguments {
    let text = infra_env.kernel_arguments.as_deref().unwrap_or_default();
    serde_json::from_str(text).unwrap_or_default()
}

/// The static networks that an infra-env has; they are kept as JSON.
fn networks(infra_env: &InfraEnv) -> Vec<HostStaticNetworkConfig> {
    serde_json::from_str(&infra_env.static_network_config).unwrap_or_default()
}

/// Whether two lists hold the same networks, in whatever order and notation.
fn same_networks(wanted: &[HostStaticNetworkConfig], current: &[HostStaticNetworkConfig]) -> bool {
    let mut left: Vec<_> = current.iter().map(normal).collect();
    let all_found = wanted.iter().map(normal).all(|wanted| {
        let place = left.iter().position(|current| *current == wanted);
        place.map(|place| left.swap_remove(place)).is_some()
    });
    all_found && left.is_empty()
}

/// A network's state, and the interfaces that tell whose it is.
fn normal(network: &HostStaticNetworkConfig) -> (Value, Vec<(String, &str)>) {
    let state = serde_yaml_ng::from_str(&network.network_yaml).unwrap_or_default();
    let items = network.mac_interface_map.iter().flat_map(|MacInterfaceMap(items)| items);
    let mut interfaces: Vec<_> =
        items.map(|item| (item.mac_address.to_ascii_lowercase(), item.logical_nic_name.as_str())).collect();
    interfaces.sort_unstable();
    (state, interfaces)
}
