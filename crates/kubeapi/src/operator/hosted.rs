//! HypershiftAgentServiceConfigs (kube-api §6.10): in the namespace of a hosted control plane run service and image service for the custom
//! resources of the cluster behind it.
//!
//! The objects are those of an AgentServiceConfig, but that service and webhooks go to the API of the kubeconfig that is named. In that
//! cluster the operator makes the definitions of our kinds, and a namespace of the same name for the lease and the certificate of the
//! webhooks; the configurations of these are made by the webhooks themselves, with an address in the place of a service, which the control plane
//! reaches without an agent of Konnectivity. Nothing of it is taken away with the object, for hosts and clusters would go with it. Since
//! everything else is owned, an object goes at once, whether or not its cluster can be reached.

use std::time::Duration;

use assisted_base::error::chain;
use assisted_base::hex;
use assisted_core::model::object_key::ObjectKey;
use assisted_crd::agent_install::agent_service_config::{AgentServiceConfig, AgentServiceConfigSpec};
use assisted_crd::agent_install::hypershift_agent_service_config::HypershiftAgentServiceConfig;
use assisted_crd::condition::Outcome as Said;
use assisted_crd::definition;
use assisted_crd::labels::finalizer;
use assisted_kube::client::from_foreign_text;
use assisted_kube::write;
use assisted_reconcile::objects::after;
use assisted_reconcile::{Failure, Outcome};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Namespace, Secret};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::api::{ListParams, Patch, PatchParams};
use kube::config::Kubeconfig;
use kube::runtime::events::EventType;
use kube::{Api, Client, ResourceExt};
use serde_json::json;
use sha2::{Digest, Sha256};
use tokio::time::timeout;

use super::conditions::{self, ReconcileError, hosted_reasons, reasons};
use super::desired::Hosted;
use super::environment::Environment;
use super::gather::GatherError;
use super::reconcile::{Operator, Pass, failure};
use super::{MANAGED_BY, finalizers, predecessor};
use crate::objects::secret_value;

/// The member of the Secret.
const KUBECONFIG: &str = "kubeconfig";
/// The groups of the kinds that are defined in a hosted cluster.
const GROUPS: [&str; 2] = ["agent-install.openshift.io", "extensions.hive.openshift.io"];
/// How long the API of a hosted cluster may say nothing, and how long all that is done there may take.
const SILENCE: Duration = Duration::from_secs(20);
const LIMIT: Duration = Duration::from_secs(60);
/// When what is in the way is looked at again, and what is in the hosted cluster, which nobody watches.
const AGAIN: Duration = Duration::from_secs(30);
const REST: SignedDuration = SignedDuration::from_secs(600);

/// Makes one pass over an object.
///
/// # Errors
/// The hub's API server refuses, or can't be reached; what is wrong with the object or its cluster stands in the conditions.
pub(super) async fn reconcile(operator: &Operator, key: &ObjectKey) -> Result<Outcome, Failure> {
    let api: Api<HypershiftAgentServiceConfig> = Api::namespaced(operator.client.clone(), &key.namespace);
    let Some(object) = api.get_opt(&key.name).await.map_err(|error| failure(&error))? else {
        return Ok(Outcome::Done);
    };
    if object.metadata.deletion_timestamp.is_some() {
        // An operator that was here before may have kept both.
        predecessor::drop_finalizer(&operator.client, &key.namespace)
            .await
            .map_err(|error| failure(&error))?;
        let kept = finalizers::remove(&api, &object, &[finalizer::AGENT_SERVICE_CONFIG]).await;
        return kept.map(|()| Outcome::Done).map_err(|error| failure(&error));
    }
    let pass = match bring(operator, &api, &object).await {
        Ok(pass) => pass,
        Err(GatherError::ReconcileError(problem)) => Pass::failed(problem),
        Err(GatherError::Api(error)) if assisted_kube::error::is_refused(&error) => {
            Pass::failed(ReconcileError::new(hosted_reasons::RBAC_CONFIGURATION, missing_role(&error, key)))
        }
        Err(GatherError::Api(error)) => return Err(failure(&error)),
    };
    let now = Time(Timestamp::now());
    let show = |object: &mut HypershiftAgentServiceConfig| {
        let conditions = &mut object.status.get_or_insert_default().conditions;
        conditions::write(conditions, &pass.outcome, pass.health.as_ref(), pass.ephemeral, &now);
    };
    write::status(&api, &object, show).await.map_err(|error| failure(&error))?;
    match pass.outcome {
        Ok(()) => {
            let rest = Timestamp::now().checked_add(REST).unwrap_or(Timestamp::MAX);
            Ok(Outcome::After(pass.again.map_or(rest, |again| again.min(rest))))
        }
        Err(problem) => {
            operator.publish_event(&object, EventType::Warning, problem.outcome.reason, &problem.text).await;
            Ok(after(AGAIN))
        }
    }
}

/// The operator has its rights in the namespace of a hosted control plane by a role there, and nowhere else.
fn missing_role(error: &kube::Error, key: &ObjectKey) -> String {
    let said = assisted_kube::error::message(error);
    format!(
        "{said}; if the operator has no role in the namespace {0}, give it one: kubectl apply --namespace {0} -f \
         deploy/kustomize/hosted/assisted-operator.yaml",
        key.namespace
    )
}

async fn bring(
    operator: &Operator,
    api: &Api<HypershiftAgentServiceConfig>,
    object: &HypershiftAgentServiceConfig,
) -> Result<Pass, GatherError> {
    let namespace = object.namespace().unwrap_or_default();
    if namespace == operator.environment.namespace {
        let text = "the namespace of the operator is that of the AgentServiceConfig; make this object in the namespace of a hosted \
                    control plane";
        return Err(ReconcileError::new(reasons::CONFIG, text).into());
    }
    // Two would have objects of the same names: the first keeps them.
    let age = |one: &HypershiftAgentServiceConfig| (one.creation_timestamp().map(|at| at.0), one.name_any());
    let all = api.list(&ListParams::default()).await?;
    let first = all.iter().filter(|one| one.metadata.deletion_timestamp.is_none()).min_by_key(|one| age(one));
    if let Some(first) = first.filter(|first| first.metadata.uid != object.metadata.uid) {
        let text = format!(
            "Only one HypershiftAgentServiceConfig supported per namespace, and {} is there; delete one of them",
            first.name_any()
        );
        return Err(ReconcileError::new(reasons::CONFIG, text).into());
    }
    let kubeconfig = kubeconfig(operator, &namespace, object).await?;
    let client = from_foreign_text(&kubeconfig, None, SILENCE).await.map_err(|error| {
        let text = format!("Failed to create kubeconfig client: {}", chain(&error));
        ReconcileError::new(hosted_reasons::SPOKE_CLIENT_CREATION, text)
    })?;
    let prepared = timeout(LIMIT, prepare(&client, &namespace)).await;
    prepared.unwrap_or_else(|_| {
        let text = format!("the hosted cluster did not answer within {} s", LIMIT.as_secs());
        Err(ReconcileError::new(hosted_reasons::SPOKE_CLUSTER_CRDS_SYNC, text))
    })?;
    let hosted = Hosted {
        secret: object.spec.kubeconfig_secret_ref.name.clone(),
        hash: hex::encode(&Sha256::digest(kubeconfig.as_bytes())),
        port: port_of(&kubeconfig),
    };
    let environment = Environment { namespace, ..operator.environment.clone() };
    operator.bring(&config_of(object), &environment, Some(&hosted)).await
}

async fn kubeconfig(
    operator: &Operator,
    namespace: &str,
    object: &HypershiftAgentServiceConfig,
) -> Result<String, GatherError> {
    const REASON: Said = hosted_reasons::KUBECONFIG_SECRET_FETCH;
    let name = &object.spec.kubeconfig_secret_ref.name;
    let secrets: Api<Secret> = Api::namespaced(operator.client.clone(), namespace);
    let missing = || {
        let text = format!(
            "Failed to get '{name}' secret in '{namespace}' namespace (check `kubeconfigSecretRef` property)"
        );
        ReconcileError::new(REASON, text)
    };
    if name.is_empty() {
        return Err(missing().into());
    }
    let secret = secrets.get_opt(name).await?.ok_or_else(missing)?;
    let text = secret_value(&secret, KUBECONFIG).filter(|text| !text.is_empty());
    let text = text.ok_or_else(|| {
        ReconcileError::new(REASON, format!("Secret '{name}' does not contain '{KUBECONFIG}' key value"))
    });
    Ok(text?)
}

/// Where the API of a kubeconfig listens, unless that is told by its scheme.
fn port_of(kubeconfig: &str) -> Option<u16> {
    let read = Kubeconfig::from_yaml(kubeconfig).ok()?;
    let context = read.contexts.iter().find(|named| Some(&named.name) == read.current_context.as_ref())?;
    let wanted = &context.context.as_ref()?.cluster;
    let cluster = read.clusters.iter().find(|named| named.name == *wanted)?.cluster.as_ref()?;
    cluster.server.as_ref()?.parse::<hyper::Uri>().ok()?.port_u16()
}

/// Makes what service and webhooks need in the hosted cluster. Definitions that the program does not know any more stay there: their
/// objects would go with them.
async fn prepare(client: &Client, namespace: &str) -> Result<(), ReconcileError> {
    let params = PatchParams::apply(MANAGED_BY.1).force();
    let told = |reason: Said, what: &str, error: &(dyn std::error::Error + 'static)| {
        ReconcileError::new(reason, format!("{what}: {}", chain(error)))
    };
    let synced = |error: &(dyn std::error::Error + 'static)| {
        let what = "Failed to sync agent-install CRDs on spoke cluster";
        told(hosted_reasons::SPOKE_CLUSTER_CRDS_SYNC, what, error)
    };
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    for text in definition::OURS {
        let read = definition::read(&[text]).map_err(|error| synced(&error))?;
        for definition in read.iter().filter(|definition| GROUPS.contains(&definition.spec.group.as_str())) {
            let name = definition.name_any();
            definitions
                .patch(&name, &params, &Patch::Apply(definition))
                .await
                .map_err(|error| synced(&error))?;
        }
    }
    let made = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let made = namespaces.patch(namespace, &params, &Patch::Apply(made)).await;
    made.map(drop).map_err(|error| {
        told(hosted_reasons::NAMESPACE_CREATION, "Failed to create the namespace on spoke cluster", &error)
    })
}

/// The AgentServiceConfig that asks for the same.
fn config_of(object: &HypershiftAgentServiceConfig) -> AgentServiceConfig {
    let spec = object.spec.clone();
    AgentServiceConfig {
        metadata: object.metadata.clone(),
        spec: AgentServiceConfigSpec {
            os_image_additional_params_ref: spec.os_image_additional_params_ref,
            os_image_ca_cert_ref: spec.os_image_ca_cert_ref,
            database_storage: spec.database_storage,
            filesystem_storage: spec.filesystem_storage,
            ipxe_http_route: spec.ipxe_http_route,
            image_storage: spec.image_storage,
            ingress: spec.ingress,
            mirror_registry_ref: spec.mirror_registry_ref,
            must_gather_images: spec.must_gather_images,
            os_images: spec.os_images,
            unauthenticated_registries: spec.unauthenticated_registries,
        },
        status: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_of_an_api_is_that_of_the_current_context() {
        let text = "{current-context: b, contexts: [{name: a, context: {cluster: a, user: u}}, {name: b, context: {cluster: b, user: u}}], \
                    users: [{name: u, user: {}}], clusters: [{name: a, cluster: {server: 'https://one:1'}}, \
                    {name: b, cluster: {server: 'https://two:7443'}}]}";
        assert_eq!(port_of(text), Some(7443));
        assert_eq!(port_of(&text.replace(":7443", "")), None);
        assert_eq!(port_of("none"), None);
    }
}
