//! The hub's own cluster takes in further hosts, like each cluster that it installed (kube-api §6.11): objects describe it as installed,
//! where an AgentServiceConfig asks for that and a ManagedCluster says that the hub manages itself.

mod desired;

use assisted_crd::agent_install::agent_service_config::AgentServiceConfig;
use assisted_crd::agent_install::conditions::agent_service_config as outcomes;
use assisted_crd::agent_install::infra_env::InfraEnv;
use assisted_crd::cluster_management::managed_cluster::ManagedCluster;
use assisted_crd::condition::Statement;
use assisted_crd::config::cluster_version::ClusterVersion;
use assisted_crd::config::proxy::Proxy;
use assisted_crd::hive::cluster_deployment::ClusterDeployment;
use assisted_crd::hive_extensions::agent_cluster_install::AgentClusterInstall;
use assisted_kube::error::{is_refused, optional};
use assisted_wire::secret::Secret;
use k8s_openapi::api::core::v1::{self as core, Node};
use kube::api::{ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams};
use kube::core::{GroupVersionKind, TypeMeta};
use kube::{Api, Client, ResourceExt};
use serde_json::Value;

use super::{MANAGED_BY, annotation};
use crate::objects::secret_value;
use desired::{LABEL, Own, PULL_SECRET, desired, kubeconfig_secret};

pub(super) use desired::LABEL as MARK;

/// The one object of ClusterVersions, and the one of proxies and of DNS.
const VERSION: &str = "version";
const CLUSTER: &str = "cluster";
/// Where OpenShift has the kubeconfig by which its API is reached from outside, and its registry credentials.
const KUBECONFIG: (&str, &str, &str) = ("openshift-kube-apiserver", "node-kubeconfigs", "lb-ext.kubeconfig");
const CREDENTIALS: (&str, &str, &str) = ("openshift-config", PULL_SECRET, ".dockerconfigjson");
/// Nodes of the control plane.
const CONTROL_PLANE: &str = "node-role.kubernetes.io/control-plane";

/// What became of it.
#[derive(Debug)]
pub(super) struct Import {
    pub(super) condition: Statement,
    /// Why it has to be tried again.
    pub(super) problem: Option<String>,
}

impl Import {
    fn of(condition: Statement) -> Self {
        Self { condition, problem: None }
    }
}

/// Whether an AgentServiceConfig asks for it.
pub(super) fn is_wanted(config: &AgentServiceConfig) -> bool {
    config.annotations().contains_key(annotation::ENABLE_LOCAL_CLUSTER_IMPORT)
}

/// Takes the hub in, or lets it go.
///
/// # Errors
/// The API server's.
pub(super) async fn import(client: &Client, config: &AgentServiceConfig) -> Result<Import, kube::Error> {
    match import_hub(client, config).await {
        // The rights to Secrets elsewhere are given by who wants this.
        Err(kube::Error::Api(status)) if status.code == 403 => {
            let problem = format!(
                "{}; the operator takes in a ManagedCluster with the name local-cluster, by the rights of: kubectl apply -k \
                 deploy/kustomize/local-cluster",
                status.message
            );
            let mut condition = outcomes::LOCAL_CLUSTER_MANAGED_NOT_MANAGED.with(&[]);
            condition.message.clone_from(&problem);
            Ok(Import { condition, problem: Some(problem) })
        }
        imported => imported,
    }
}

async fn import_hub(client: &Client, config: &AgentServiceConfig) -> Result<Import, kube::Error> {
    if !is_wanted(config) {
        // What was taken in stays.
        return Ok(Import::of(outcomes::LOCAL_CLUSTER_MANAGED_NOT_ENABLED.with(&[])));
    }
    let version = Api::<ClusterVersion>::all(client.clone()).get(VERSION).await?;
    let own = format!("local-cluster=true,clusterID={}", version.spec.cluster_id);
    let found =
        optional(Api::<ManagedCluster>::all(client.clone()).list(&ListParams::default().labels(&own)).await)?;
    let found = found.map(|list| list.items).unwrap_or_default();
    let name = match found.as_slice() {
        [] => {
            remove(client).await?;
            return Ok(Import::of(outcomes::LOCAL_CLUSTER_MANAGED_NOT_MANAGED.with(&[])));
        }
        [one] => one.name_any(),
        several => {
            let count = several.len().to_string();
            let condition = outcomes::LOCAL_CLUSTER_MANAGED_UNDETERMINED.with(&[&count]);
            return Ok(Import { problem: Some(condition.message.clone()), condition });
        }
    };
    let condition = outcomes::LOCAL_CLUSTER_MANAGED_MANAGED.with(&[]);
    let release_image = version.status.unwrap_or_default().desired.image;
    match own_cluster(client, name, release_image).await? {
        Ok(own) => {
            for object in desired(&own, config) {
                apply(client, &object).await?;
            }
            Ok(Import::of(condition))
        }
        Err(missing) => Ok(Import {
            condition: outcomes::LOCAL_CLUSTER_MANAGED_NOT_MANAGED.with(&[]),
            problem: Some(missing),
        }),
    }
}

/// What is known of the hub, or what is missing.
async fn own_cluster(
    client: &Client,
    name: String,
    release_image: String,
) -> Result<Result<Own, String>, kube::Error> {
    let dns = ApiResource::from_gvk_with_plural(
        &GroupVersionKind::gvk("config.openshift.io", "v1", "DNS"),
        "dnses",
    );
    let dns = Api::<DynamicObject>::all_with(client.clone(), &dns).get(CLUSTER).await?;
    let domain = dns.data["spec"]["baseDomain"].as_str().unwrap_or_default().to_owned();
    let proxy = optional(Api::<Proxy>::all(client.clone()).get(CLUSTER).await)?;
    let nodes = ListParams::default().labels(CONTROL_PLANE);
    let control_plane = Api::<Node>::all(client.clone()).list_metadata(&nodes).await?.items.len();
    let (kubeconfig, pull_secret) = (value(client, KUBECONFIG).await?, value(client, CREDENTIALS).await?);
    let missing =
        |(namespace, name, key): (&str, &str, &str)| format!("secret {namespace}/{name} has no {key}");
    Ok(match (kubeconfig, pull_secret) {
        (None, _) => Err(missing(KUBECONFIG)),
        (_, None) => Err(missing(CREDENTIALS)),
        (Some(kubeconfig), Some(pull_secret)) => Ok(Own {
            name,
            release_image,
            kubeconfig,
            pull_secret,
            domain,
            proxy: proxy.map(|proxy| proxy.spec).unwrap_or_default(),
            control_plane,
        }),
    })
}

async fn value(
    client: &Client,
    (namespace, name, key): (&str, &str, &str),
) -> Result<Option<Secret>, kube::Error> {
    let secret = optional(Api::<core::Secret>::namespaced(client.clone(), namespace).get(name).await)?;
    Ok(secret.and_then(|secret| secret_value(&secret, key)).filter(|text| !text.is_empty()).map(Secret::from))
}

/// Makes an object, or changes what of it differs.
async fn apply(client: &Client, object: &Value) -> Result<(), kube::Error> {
    let types: TypeMeta = serde_json::from_value(object.clone()).map_err(kube::Error::SerdeError)?;
    let plural = format!("{}s", types.kind.to_lowercase());
    let kind = GroupVersionKind::try_from(&types)
        .map_err(|error| kube::Error::SerdeError(serde::de::Error::custom(error)))?;
    let kind = ApiResource::from_gvk_with_plural(&kind, &plural);
    let metadata = &object["metadata"];
    let api: Api<DynamicObject> = match metadata["namespace"].as_str() {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &kind),
        None => Api::all_with(client.clone(), &kind),
    };
    let name = metadata["name"].as_str().unwrap_or_default();
    api.patch(name, &PatchParams::apply(MANAGED_BY.1).force(), &Patch::Apply(object)).await.map(drop)
}

/// Lets the hub go, whoever took it in.
///
/// # Errors
/// The API server's.
pub(super) async fn remove(client: &Client) -> Result<(), kube::Error> {
    let marked = ListParams::default().labels(&format!("{}={}", LABEL.0, LABEL.1));
    let found = optional(Api::<ClusterDeployment>::all(client.clone()).list(&marked).await)?;
    for deployment in found.map(|list| list.items).unwrap_or_default() {
        let (name, namespace) = (deployment.name_any(), deployment.namespace().unwrap_or_default());
        let params = DeleteParams::default();
        optional(
            Api::<ClusterDeployment>::namespaced(client.clone(), &namespace).delete(&name, &params).await,
        )?;
        optional(
            Api::<AgentClusterInstall>::namespaced(client.clone(), &namespace).delete(&name, &params).await,
        )?;
        optional(Api::<InfraEnv>::namespaced(client.clone(), &namespace).delete(&name, &params).await)?;
        let secrets = Api::<core::Secret>::namespaced(client.clone(), &namespace);
        for name in [kubeconfig_secret(&name), PULL_SECRET.to_owned()] {
            match secrets.delete(&name, &params).await {
                // Of a hub with another name than is usual: it is owned, and goes with the AgentServiceConfig.
                Err(error) if is_refused(&error) => tracing::info!(namespace, name, "a secret stays"),
                deleted => drop(optional(deleted)?),
            }
        }
    }
    Ok(())
}
