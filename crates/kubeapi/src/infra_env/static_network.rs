//! Static networks: the NMStateConfigs that an InfraEnv selects.

use std::collections::BTreeMap;

use assisted_crd::agent_install::infra_env::InfraEnv;
use assisted_crd::agent_install::nmstate_config::NMStateConfig;
use assisted_wire::infra_env::{HostStaticNetworkConfig, MacInterfaceMap, MacInterfaceMapItem};
use kube::core::{Selector, SelectorExt};

use crate::objects::Objects;
use crate::sync_error::SyncError;

/// The networks of the InfraEnv's hosts, by the names of their NMStateConfigs: those of its own namespace that its selector
/// picks. An empty selector picks none.
///
/// # Errors
/// `Input` when a selector or an object makes no sense.
pub(super) fn networks(
    infra_env: &InfraEnv,
    objects: &dyn Objects,
) -> Result<Vec<HostStaticNetworkConfig>, SyncError> {
    let Some(selector) = &infra_env.spec.nmstate_config_label_selector else { return Ok(Vec::new()) };
    let selector = Selector::try_from(selector.clone()).map_err(|error| {
        SyncError::input(format!(
            "nmStateConfigLabelSelector: {error}; an operator is In, NotIn, Exists or DoesNotExist"
        ))
    })?;
    if selector.selects_all() {
        return Ok(Vec::new());
    }
    let namespace = infra_env.metadata.namespace.as_deref().unwrap_or_default();
    let unlabelled = BTreeMap::new();
    let configs = objects.nmstate_configs(namespace).into_iter();
    let picked =
        configs.filter(|config| selector.matches(config.metadata.labels.as_ref().unwrap_or(&unlabelled)));
    picked.map(network).collect()
}

/// The configuration travels as JSON, which is YAML too.
fn network(config: &NMStateConfig) -> Result<HostStaticNetworkConfig, SyncError> {
    let name = config.metadata.name.as_deref().unwrap_or_default();
    let state = config.spec.config.as_ref().ok_or_else(|| {
        SyncError::input(format!(
            "NMStateConfig {name} has no spec.config; it is the state of the host's network"
        ))
    })?;
    if config.spec.interfaces.is_empty() {
        return Err(SyncError::input(format!(
            "NMStateConfig {name} has no spec.interfaces; they tell by hardware address which host it is for"
        )));
    }
    let interfaces = config.spec.interfaces.iter().map(|interface| MacInterfaceMapItem {
        mac_address: interface.mac_address.clone(),
        logical_nic_name: interface.name.clone(),
    });
    Ok(HostStaticNetworkConfig {
        network_yaml: state.to_string(),
        mac_interface_map: Some(MacInterfaceMap(interfaces.collect())),
    })
}
