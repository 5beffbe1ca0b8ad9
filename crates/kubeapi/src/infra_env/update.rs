//! The request that changes of an infra-env what differs.

use assisted_crd::agent_install::infra_env as crd;
use assisted_service::object::Lasting;
use assisted_wire::infra_env::{
    HostStaticNetworkConfig, InfraEnv, InfraEnvUpdateParams, KernelArguments, MacInterfaceMap, Proxy,
};
use serde_json::Value;

use super::InfraEnvSpec;
use crate::difference::set;
use crate::given::{or_emptied, was_given};
use crate::sync_error::SyncError;
use crate::text::{given, joined};

/// What differs between an infra-env and its object.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Update {
    /// Holds what differs, and the registry credentials, which can't be compared.
    pub params: InfraEnvUpdateParams,
    /// The fields that differ, as the REST API calls them.
    pub changed: Vec<&'static str>,
    /// What the object gives no more, and no request takes away.
    pub taken_away: Vec<Lasting>,
}

/// Fields whose values go with those of the object, as the REST API calls them.
const PROXY: &str = "proxy";
const ADDITIONAL_NTP_SOURCES: &str = "additional_ntp_sources";
const NTP_SOURCES: &str = "ntp_sources";
const TRUST_BUNDLE: &str = "additional_trust_bundle";
const SSH_KEY: &str = "ssh_authorized_key";
const IGNITION: &str = "ignition_config_override";
const DELAY: &str = "network_discovery_delay_seconds";

/// Those of them that an object gives.
pub(crate) fn given_fields(spec: &crd::InfraEnvSpec) -> Vec<&'static str> {
    let fields = [
        (PROXY, spec.proxy.is_some()),
        (ADDITIONAL_NTP_SOURCES, !spec.additional_ntp_sources.is_empty()),
        (NTP_SOURCES, !spec.ntp_sources.is_empty()),
        (TRUST_BUNDLE, !spec.additional_trust_bundle.trim().is_empty()),
        (SSH_KEY, !spec.ssh_authorized_key.trim().is_empty()),
        (IGNITION, !spec.ignition_config_override.is_empty()),
        (DELAY, spec.network_discovery_delay_seconds.is_some()),
    ];
    fields.into_iter().filter(|(_, is_given)| *is_given).map(|(field, _)| field).collect()
}

impl InfraEnvSpec<'_> {
    /// The request that makes the infra-env what its object describes (kube-api §6.3.3). What the object never set stays as it is,
    /// but for kernel arguments and static networks, which go when the object has none; what it set before goes.
    ///
    /// # Errors
    /// `Input` with the first field that is not one of its values.
    pub fn update(&self, infra_env: &InfraEnv) -> Result<Update, SyncError> {
        let (spec, metadata) = (&self.object.spec, &self.object.metadata);
        let Update { mut params, mut changed, .. } = Update::default();
        params.pull_secret = self.pull_secret.clone();
        let texts = [
            (
                ADDITIONAL_NTP_SOURCES,
                &mut params.additional_ntp_sources,
                or_emptied(joined(&spec.additional_ntp_sources), metadata, ADDITIONAL_NTP_SOURCES),
                infra_env.additional_ntp_sources.as_str(),
            ),
            (
                NTP_SOURCES,
                &mut params.ntp_sources,
                or_emptied(joined(&spec.ntp_sources), metadata, NTP_SOURCES),
                &infra_env.ntp_sources,
            ),
            (
                SSH_KEY,
                &mut params.ssh_authorized_key,
                given(spec.ssh_authorized_key.trim()),
                infra_env.ssh_authorized_key.trim(),
            ),
            (
                TRUST_BUNDLE,
                &mut params.additional_trust_bundle,
                or_emptied(given(spec.additional_trust_bundle.trim()), metadata, TRUST_BUNDLE),
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
        set(&mut changed, IGNITION, &mut params.ignition_config_override, wanted, |wanted| {
            *wanted == infra_env.ignition_config_override
        });
        let wanted = self.proxy().or_else(|| was_given(metadata, PROXY).then(no_proxy));
        set(&mut changed, PROXY, &mut params.proxy, wanted, |wanted| {
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
        set(&mut changed, DELAY, field, wanted, |wanted| {
            Some(*wanted) == infra_env.network_discovery_delay_seconds
        });
        Ok(Update { params, changed, taken_away: self.taken_away(infra_env) })
    }

    fn taken_away(&self, infra_env: &InfraEnv) -> Vec<Lasting> {
        let given = given_fields(&self.object.spec);
        let settings = [
            (SSH_KEY, Lasting::SshAuthorizedKey, !infra_env.ssh_authorized_key.is_empty()),
            (IGNITION, Lasting::IgnitionConfigOverride, !infra_env.ignition_config_override.is_empty()),
            (DELAY, Lasting::NetworkDiscoveryDelay, infra_env.network_discovery_delay_seconds.is_some()),
        ];
        let gone = settings.into_iter().filter(|(field, _, is_there)| {
            *is_there && !given.contains(field) && was_given(&self.object.metadata, field)
        });
        gone.map(|(_, setting, _)| setting).collect()
    }
}

/// A proxy that takes a current one away.
fn no_proxy() -> Proxy {
    Proxy { http_proxy: Some(String::new()), https_proxy: Some(String::new()), no_proxy: Some(String::new()) }
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
