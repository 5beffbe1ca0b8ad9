//! OpenshiftAssistedConfig and its template: v1alpha1 and v1alpha2.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Error, Value};

use crate::cluster_api::openshift_assisted_config::{v1alpha1 as old, v1alpha2 as hub};
use crate::cluster_api::openshift_assisted_config_template::{
    v1alpha1 as old_template, v1alpha2 as hub_template,
};

/// Spec and status.
#[derive(Serialize, Deserialize)]
#[serde(bound(deserialize = "S: Default + Deserialize<'de>, T: Deserialize<'de>"))]
pub(super) struct SpecAndStatus<S, T> {
    #[serde(default)]
    pub(super) spec: S,
    #[serde(default = "Option::default", skip_serializing_if = "Option::is_none")]
    pub(super) status: Option<T>,
}

/// Reads, converts, writes.
pub(super) fn convert_with<A, B, C, D>(
    said: &Value,
    spec: impl Fn(A) -> C,
    status: impl Fn(B) -> D,
) -> Result<Value, Error>
where
    A: Default + DeserializeOwned,
    B: DeserializeOwned,
    C: Serialize,
    D: Serialize,
{
    let said: SpecAndStatus<A, B> = serde_json::from_value(said.clone())?;
    serde_json::to_value(SpecAndStatus { spec: spec(said.spec), status: said.status.map(status) })
}

pub(super) fn up(said: &Value) -> Result<Value, Error> {
    convert_with(said, spec_up, status_up)
}

pub(super) fn down(said: &Value) -> Result<Value, Error> {
    convert_with(said, spec_down, status_down)
}

/// Templates have no status.
#[derive(Serialize, Deserialize)]
struct Nothing {}

pub(super) fn template_up(said: &Value) -> Result<Value, Error> {
    convert_with(
        said,
        |spec: old_template::OpenshiftAssistedConfigTemplateSpec| {
            hub_template::OpenshiftAssistedConfigTemplateSpec {
                template: hub_template::OpenshiftAssistedConfigTemplateResource {
                    metadata: spec.template.metadata,
                    spec: spec.template.spec.map(spec_up),
                },
            }
        },
        |nothing: Nothing| nothing,
    )
}

pub(super) fn template_down(said: &Value) -> Result<Value, Error> {
    convert_with(
        said,
        |spec: hub_template::OpenshiftAssistedConfigTemplateSpec| {
            old_template::OpenshiftAssistedConfigTemplateSpec {
                template: old_template::OpenshiftAssistedConfigTemplateResource {
                    metadata: spec.template.metadata,
                    spec: spec.template.spec.map(spec_down),
                },
            }
        },
        |nothing: Nothing| nothing,
    )
}

pub(super) fn spec_up(spec: old::OpenshiftAssistedConfigSpec) -> hub::OpenshiftAssistedConfigSpec {
    hub::OpenshiftAssistedConfigSpec {
        additional_ntp_sources: spec.additional_ntp_sources,
        additional_trust_bundle: spec.additional_trust_bundle,
        bootstrap_command_sentinel_dir: String::new(),
        cpu_architecture: spec.cpu_architecture,
        kernel_arguments: spec.kernel_arguments,
        nmstate_config_label_selector: spec.nmstate_config_label_selector,
        node_registration: spec.node_registration.map(|node| hub::NodeRegistration {
            kubelet_extra_labels: node.kubelet_extra_labels,
            name: node.name,
            provider_id: String::new(),
        }),
        os_image_version: spec.os_image_version,
        post_bootstrap_commands: Vec::new(),
        post_bootstrap_kubeconfig_path: String::new(),
        pre_bootstrap_commands: Vec::new(),
        proxy: spec.proxy,
        pull_secret_ref: spec.pull_secret_ref,
        ssh_authorized_key: spec.ssh_authorized_key,
    }
}

pub(super) fn spec_down(spec: hub::OpenshiftAssistedConfigSpec) -> old::OpenshiftAssistedConfigSpec {
    old::OpenshiftAssistedConfigSpec {
        additional_ntp_sources: spec.additional_ntp_sources,
        additional_trust_bundle: spec.additional_trust_bundle,
        cpu_architecture: spec.cpu_architecture,
        kernel_arguments: spec.kernel_arguments,
        nmstate_config_label_selector: spec.nmstate_config_label_selector,
        node_registration: spec.node_registration.map(|node| old::NodeRegistration {
            kubelet_extra_labels: node.kubelet_extra_labels,
            name: node.name,
        }),
        os_image_version: spec.os_image_version,
        proxy: spec.proxy,
        pull_secret_ref: spec.pull_secret_ref,
        ssh_authorized_key: spec.ssh_authorized_key,
    }
}

fn status_up(status: old::OpenshiftAssistedConfigStatus) -> hub::OpenshiftAssistedConfigStatus {
    let created = !status.data_secret_name.is_empty() || status.ready == Some(true);
    hub::OpenshiftAssistedConfigStatus {
        conditions: Vec::new(),
        data_secret_name: status.data_secret_name,
        initialization: created
            .then_some(hub::OpenshiftAssistedConfigStatusInitialization { data_secret_created: Some(true) }),
        observed_generation: status.observed_generation,
        v1beta1_conditions: status.conditions,
    }
}

fn status_down(status: hub::OpenshiftAssistedConfigStatus) -> old::OpenshiftAssistedConfigStatus {
    let created = status.initialization.and_then(|initialization| initialization.data_secret_created);
    old::OpenshiftAssistedConfigStatus {
        agent_ref: None,
        conditions: status.v1beta1_conditions,
        data_secret_name: status.data_secret_name,
        failure_message: String::new(),
        failure_reason: String::new(),
        infra_env_ref: None,
        observed_generation: status.observed_generation,
        ready: created,
    }
}
