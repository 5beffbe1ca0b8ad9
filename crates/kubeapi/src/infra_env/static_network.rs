//! Static networks: the NMStateConfigs that an InfraEnv selects.

use std::collections::BTreeMap;

use assisted_crd::agent_install::infra_env::InfraEnv;
use assisted_crd::agent_install::nmstate_config::NMStateConfig;
use assisted_wire::infra_env::{HostStaticNetworkConfig, MacInterfaceMap, MacInterfaceMapItem};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

use crate::objects::Objects;
use crate::problem::Problem;

/// The networks of the InfraEnv's hosts, by the names of their NMStateConfigs: those of its own namespace that its selector
/// picks. An empty selector picks none.
///
/// # Errors
/// `Input` when a selector or an object makes no sense.
pub(super) fn networks(
    infra_env: &InfraEnv,
    objects: &dyn Objects,
) -> Result<Vec<HostStaticNetworkConfig>, Problem> {
    let Some(selector) = &infra_env.spec.nmstate_config_label_selector else { return Ok(Vec::new()) };
    let namespace = infra_env.metadata.namespace.as_deref().unwrap_or_default();
    let mut networks = Vec::new();
    for config in objects.nmstate_configs(namespace) {
        if selects(selector, config.metadata.labels.as_ref())? {
            networks.push(network(config)?);
        }
    }
    Ok(networks)
}

/// The configuration travels as JSON, which is YAML too.
fn network(config: &NMStateConfig) -> Result<HostStaticNetworkConfig, Problem> {
    let name = config.metadata.name.as_deref().unwrap_or_default();
    let state = config.spec.config.as_ref().ok_or_else(|| {
        Problem::input(format!(
            "NMStateConfig {name} has no spec.config; it is the state of the host's network"
        ))
    })?;
    if config.spec.interfaces.is_empty() {
        return Err(Problem::input(format!(
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

/// Whether a selector picks an object with these labels.
fn selects(selector: &LabelSelector, labels: Option<&BTreeMap<String, String>>) -> Result<bool, Problem> {
    let value = |key: &str| labels.and_then(|labels| labels.get(key));
    let equal = selector.match_labels.iter().flatten();
    let expressions = selector.match_expressions.iter().flatten();
    if equal.clone().next().is_none() && expressions.clone().next().is_none() {
        return Ok(false);
    }
    for (key, wanted) in equal {
        if value(key) != Some(wanted) {
            return Ok(false);
        }
    }
    for expression in expressions {
        let listed = |value: &String| expression.values.iter().flatten().any(|listed| listed == value);
        let value = value(&expression.key);
        let picked = match expression.operator.as_str() {
            "In" => value.is_some_and(listed),
            "NotIn" => !value.is_some_and(listed),
            "Exists" => value.is_some(),
            "DoesNotExist" => value.is_none(),
            other => {
                return Err(Problem::input(format!(
                    "nmStateConfigLabelSelector has the operator {other:?}; it is In, NotIn, Exists or DoesNotExist"
                )));
            }
        };
        if !picked {
            return Ok(false);
        }
    }
    Ok(true)
}
