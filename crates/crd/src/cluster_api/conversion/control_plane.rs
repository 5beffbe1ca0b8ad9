//! OpenshiftAssistedControlPlane: v1alpha2 and v1alpha3.

use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde_json::{Error, Value};

use super::config::{SpecAndStatus, spec_down, spec_up};
use super::duration::{seconds, text};
use crate::cluster_api::common::{ContractReference, MachineDeletion, V1Beta1Condition};
use crate::cluster_api::openshift_assisted_control_plane::{v1alpha2 as old, v1alpha3 as hub};
use crate::condition::find;

/// The version of references in the older version.
const REFERENCE_VERSION: &str = "v1beta1";

type Old = SpecAndStatus<old::OpenshiftAssistedControlPlaneSpec, old::OpenshiftAssistedControlPlaneStatus>;
type Hub = SpecAndStatus<hub::OpenshiftAssistedControlPlaneSpec, hub::OpenshiftAssistedControlPlaneStatus>;

pub(super) fn up(said: &Value) -> Result<Value, Error> {
    let Old { spec, status } = serde_json::from_value(said.clone())?;
    let template = spec.machine_template;
    let deletion = MachineDeletion {
        node_deletion_timeout_seconds: seconds(&template.node_deletion_timeout),
        node_drain_timeout_seconds: seconds(&template.node_drain_timeout),
        node_volume_detach_timeout_seconds: seconds(&template.node_volume_detach_timeout),
    };
    let spec = hub::OpenshiftAssistedControlPlaneSpec {
        config: spec.config,
        distribution_version: spec.distribution_version,
        machine_template: hub::MachineTemplate {
            deletion: (deletion != MachineDeletion::default()).then_some(deletion),
            infrastructure_ref: reference_up(template.infrastructure_ref),
            metadata: template.metadata,
            spec: None,
        },
        openshift_assisted_config_spec: spec.openshift_assisted_config_spec.map(spec_up),
        replicas: spec.replicas,
        version: String::new(),
    };
    let status = status.map(|status| status_up(status, spec.replicas));
    serde_json::to_value(Hub { spec, status })
}

pub(super) fn down(said: &Value) -> Result<Value, Error> {
    let Hub { spec, status } = serde_json::from_value(said.clone())?;
    let template = spec.machine_template;
    let deletion = template.deletion.unwrap_or_default();
    let duration = |seconds: Option<i32>| seconds.map(text).unwrap_or_default();
    let status = status.map(|status| status_down(status, spec.replicas));
    let spec = old::OpenshiftAssistedControlPlaneSpec {
        config: spec.config,
        distribution_version: spec.distribution_version,
        machine_template: old::MachineTemplate {
            infrastructure_ref: template.infrastructure_ref.map(reference_down).unwrap_or_default(),
            metadata: template.metadata,
            node_deletion_timeout: duration(deletion.node_deletion_timeout_seconds),
            node_drain_timeout: duration(deletion.node_drain_timeout_seconds),
            node_volume_detach_timeout: duration(deletion.node_volume_detach_timeout_seconds),
        },
        openshift_assisted_config_spec: spec.openshift_assisted_config_spec.map(spec_down),
        replicas: spec.replicas,
    };
    serde_json::to_value(Old { spec, status })
}

/// Nothing of one that says nothing: a topology says it elsewhere.
fn reference_up(reference: ObjectReference) -> Option<ContractReference> {
    if reference == ObjectReference::default() {
        return None;
    }
    let version = reference.api_version.unwrap_or_default();
    Some(ContractReference {
        api_group: version.split_once('/').map(|(group, _)| group.to_owned()).unwrap_or_default(),
        kind: reference.kind.unwrap_or_default(),
        name: reference.name.unwrap_or_default(),
    })
}

fn reference_down(reference: ContractReference) -> ObjectReference {
    let some = |text: String| (!text.is_empty()).then_some(text);
    ObjectReference {
        api_version: some(reference.api_group).map(|group| format!("{group}/{REFERENCE_VERSION}")),
        kind: some(reference.kind),
        name: some(reference.name),
        ..ObjectReference::default()
    }
}

fn status_up(
    status: old::OpenshiftAssistedControlPlaneStatus,
    wanted: Option<i32>,
) -> hub::OpenshiftAssistedControlPlaneStatus {
    let available =
        status.unavailable_replicas.zip(wanted).map(|(missing, wanted)| (wanted - missing).max(0));
    let initialized = status
        .initialized
        .map(|initialized| hub::Initialization { control_plane_initialized: Some(initialized) });
    hub::OpenshiftAssistedControlPlaneStatus {
        available_replicas: available,
        conditions: status.conditions.into_iter().map(condition_up).collect(),
        distribution_version: status.distribution_version,
        initialization: initialized,
        observed_generation: None,
        ready_replicas: status.ready_replicas,
        replicas: status.replicas,
        selector: status.selector,
        up_to_date_replicas: status.updated_replicas,
        version: status.version,
    }
}

fn status_down(
    status: hub::OpenshiftAssistedControlPlaneStatus,
    wanted: Option<i32>,
) -> old::OpenshiftAssistedControlPlaneStatus {
    let available = find(&status.conditions, "Available").map(|condition| condition.status == "True");
    let missing = status.available_replicas.zip(wanted).map(|(there, wanted)| (wanted - there).max(0));
    old::OpenshiftAssistedControlPlaneStatus {
        cluster_deployment_ref: None,
        conditions: status.conditions.into_iter().map(condition_down).collect(),
        distribution_version: status.distribution_version,
        failure_message: String::new(),
        failure_reason: String::new(),
        initialized: status
            .initialization
            .and_then(|initialization| initialization.control_plane_initialized),
        ready: available,
        ready_replicas: status.ready_replicas,
        replicas: status.replicas,
        selector: status.selector,
        unavailable_replicas: missing,
        updated_replicas: status.up_to_date_replicas,
        version: status.version,
    }
}

fn condition_up(condition: V1Beta1Condition) -> Condition {
    let reason = if condition.reason.is_empty() { "Unknown".to_owned() } else { condition.reason };
    Condition {
        last_transition_time: condition.last_transition_time,
        message: condition.message,
        observed_generation: None,
        reason,
        status: condition.status,
        type_: condition.r#type,
    }
}

fn condition_down(condition: Condition) -> V1Beta1Condition {
    V1Beta1Condition {
        last_transition_time: condition.last_transition_time,
        message: condition.message,
        reason: condition.reason,
        severity: "Info".to_owned(),
        status: condition.status,
        r#type: condition.type_,
    }
}
