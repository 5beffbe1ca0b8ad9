//! The installer behind the objects of a hub: ClusterDeployments, AgentClusterInstalls, InfraEnvs, Agents (kube-api).

mod address;
mod download;

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use assisted_core::model::object_key::ObjectKey;
use assisted_crd::agent_install::agent::Agent;
use assisted_crd::agent_install::infra_env as crd;
use assisted_crd::cluster_api::labels::label as capi;
use assisted_crd::common::ClusterReference;
use assisted_crd::condition::find;
use assisted_crd::hive::cluster_deployment::ClusterDeployment;
use assisted_crd::hive_extensions::agent_cluster_install::AgentClusterInstall;
use assisted_crd::labels::annotation::SKIP_SPOKE_CLEANUP;
use assisted_crd::labels::label;
use assisted_kube::cache::{get, key};
use assisted_kube::error::{is_conflict, is_refused, optional};
use assisted_kube::watch::follow;
use assisted_kube::write::{self, Guard};
use assisted_reconcile::Failure;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::{LocalObjectReference, Secret};
use kube::api::{DeleteParams, PostParams};
use kube::runtime::reflector::Store;
use kube::runtime::reflector::store::Writer;
use kube::runtime::watcher::Config;
use kube::{Api, Client, Resource, ResourceExt};
use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

pub use address::Internal;
pub use download::{Authority, Source};

use crate::pull_secret;

use super::{Change, Cluster, Host, HostWanted, InfraEnv, InfraEnvWanted, Installer, Subject};
use download::Downloads;

/// How long the objects of all kinds may take to be listed; kinds that are not defined never are.
const LISTING: Duration = Duration::from_secs(120);

/// How the hub's service is reached.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Through its Service in the cluster instead of the address that objects show.
    pub internal: Option<Internal>,
    /// An authority that is trusted beside those of the system.
    pub authority: Option<Authority>,
}

/// The objects of a hub.
pub struct Hub {
    client: Client,
    options: Options,
    downloads: Downloads,
    deployments: Store<ClusterDeployment>,
    installs: Store<AgentClusterInstall>,
    infra_envs: Store<crd::InfraEnv>,
    agents: Store<Agent>,
    writers: Mutex<Option<Writers>>,
}

struct Writers {
    deployments: Writer<ClusterDeployment>,
    installs: Writer<AgentClusterInstall>,
    infra_envs: Writer<crd::InfraEnv>,
    agents: Writer<Agent>,
}

impl Hub {
    /// The hub of an API server.
    pub fn new(client: Client, options: Options) -> Self {
        let writers = Writers {
            deployments: Writer::new(()),
            installs: Writer::new(()),
            infra_envs: Writer::new(()),
            agents: Writer::new(()),
        };
        Self {
            downloads: Downloads::new(client.clone(), options.authority.clone()),
            client,
            options,
            deployments: writers.deployments.as_reader(),
            installs: writers.installs.as_reader(),
            infra_envs: writers.infra_envs.as_reader(),
            agents: writers.agents.as_reader(),
            writers: Mutex::new(Some(writers)),
        }
    }

    fn api<K>(&self, namespace: &str) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    {
        Api::namespaced(self.client.clone(), namespace)
    }

    /// Has an object go; whether it is gone.
    async fn remove<K>(&self, key: &ObjectKey) -> Result<bool, Failure>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + DeserializeOwned,
    {
        let removed = self.api::<K>(&key.namespace).delete(&key.name, &DeleteParams::default()).await;
        Ok(optional(removed).map_err(|error| failed(&error))?.is_none())
    }

    async fn create(&self, wanted: &InfraEnvWanted<'_>) -> Result<crd::InfraEnv, kube::Error> {
        let secrets = self.api::<Secret>(&wanted.subject.key.namespace);
        let given = wanted.spec.pull_secret_ref.as_ref();
        let pull_secret =
            pull_secret::reference(&secrets, given, &wanted.subject.key.name, &wanted.owners).await?;
        let object = infra_env(wanted, pull_secret);
        let api = self.api::<crd::InfraEnv>(&wanted.subject.key.namespace);
        match api.create(&PostParams::default(), &object).await {
            // The copy is late.
            Err(error) if is_conflict(&error) => api.get(&wanted.subject.key.name).await,
            created => created,
        }
    }
}

/// The object for what is wanted.
pub(super) fn infra_env(wanted: &InfraEnvWanted<'_>, pull_secret: LocalObjectReference) -> crd::InfraEnv {
    let spec = wanted.spec;
    let is_json = |text: &&str| serde_json::from_str::<serde_json::Value>(text).is_ok();
    let spec = crd::InfraEnvSpec {
        additional_ntp_sources: spec.additional_ntp_sources.clone(),
        additional_trust_bundle: spec.additional_trust_bundle.clone(),
        cluster_ref: Some(ClusterReference {
            name: wanted.cluster.key.name.clone(),
            namespace: wanted.cluster.key.namespace.clone(),
        }),
        cpu_architecture: spec.cpu_architecture.clone(),
        ignition_config_override: wanted.ignition_override.filter(is_json).unwrap_or_default().to_owned(),
        // Only then static networks stand in the Ignition config.
        image_type: "full-iso".to_owned(),
        nmstate_config_label_selector: spec.nmstate_config_label_selector.clone(),
        // The version of the image follows the cluster: with a cluster the hub refuses another one.
        os_image_version: String::new(),
        proxy: spec.proxy.clone(),
        pull_secret_ref: pull_secret,
        ssh_authorized_key: spec.ssh_authorized_key.clone(),
        ..crd::InfraEnvSpec::default()
    };
    let mut object = crd::InfraEnv::new(&wanted.subject.key.name, spec);
    object.metadata.namespace = Some(wanted.subject.key.namespace.clone());
    let labels = [(capi::CONFIG, wanted.config), (capi::CLUSTER_NAME, wanted.of.key.name.as_str())];
    object.metadata.labels =
        Some(labels.map(|(name, value)| (name.to_owned(), value.to_owned())).into_iter().collect());
    object.metadata.owner_references = Some(wanted.owners.clone());
    object
}

/// What matters of an InfraEnv.
fn shown(object: &crd::InfraEnv, internal: Option<&Internal>) -> InfraEnv {
    let status = object.status.clone().unwrap_or_default();
    let namespace = object.metadata.namespace.as_deref().unwrap_or_default();
    let failed = find(&status.conditions, "ImageCreated").filter(|condition| condition.status == "False");
    let address = address::ignition(&status);
    let (ignition_url, problem) = match address {
        Ok(url) => (
            Some(internal.map_or_else(|| url.to_string(), |internal| internal.applied(&url, namespace))),
            None,
        ),
        Err(problem) => (None, Some(problem)),
    };
    InfraEnv {
        id: None,
        ignition_url,
        iso_url: Some(status.iso_download_url.clone()).filter(|url| !url.is_empty()),
        problem: failed.map(|condition| condition.message.clone()).or(problem),
    }
}

fn host(agent: &Agent) -> Host {
    let inventory = agent.status.as_ref().and_then(|status| status.inventory.as_ref());
    let interfaces = inventory.into_iter().flat_map(|inventory| &inventory.interfaces);
    Host {
        name: agent.name_any(),
        approved: agent.spec.approved,
        registered: agent.creation_timestamp().map(|at| at.0.as_second()),
        addresses: interfaces.map(|interface| interface.mac_address.to_ascii_lowercase()).collect(),
    }
}

/// The InfraEnv of an Agent.
fn infra_env_of(agent: &Agent) -> Option<ObjectKey> {
    let name = agent.labels().get(label::INFRA_ENV)?;
    Some(ObjectKey::new(agent.namespace().unwrap_or_default(), name))
}

/// The Cluster of an object.
fn cluster_of<K: Resource>(object: &K) -> Option<ObjectKey> {
    let name = object.meta().labels.as_ref()?.get(capi::CLUSTER_NAME)?;
    Some(ObjectKey::new(object.meta().namespace.clone().unwrap_or_default(), name))
}

fn failed(error: &kube::Error) -> Failure {
    let text = assisted_base::error::chain(error);
    if is_refused(error) { Failure::of_row(text) } else { Failure::passing(text) }
}

impl Installer for Hub {
    async fn cluster(&self, of: &Subject) -> Result<Option<Cluster>, Failure> {
        let found = self.deployments.state_filter(|object| cluster_of(object).as_ref() == Some(&of.key));
        let deployment = match found.as_slice() {
            [] => return Ok(None),
            [only] => only,
            several => {
                let names: Vec<_> = several.iter().map(|object| object.name_any()).collect();
                return Err(Failure::of_row(format!(
                    "several ClusterDeployments carry the name of this cluster: {}",
                    names.join(", ")
                )));
            }
        };
        let key = key(&**deployment);
        let Some(reference) = &deployment.spec.cluster_install_ref else { return Ok(None) };
        let Some(install) = get(&self.installs, &ObjectKey::new(&key.namespace, &reference.name)) else {
            return Ok(None);
        };
        let debug = install.status.as_ref().and_then(|status| status.debug_info.as_ref());
        let state = debug.map(|debug| debug.state.clone()).unwrap_or_default();
        Ok(Some(Cluster { key, state }))
    }

    async fn infra_env(&self, wanted: &InfraEnvWanted<'_>) -> Result<InfraEnv, Failure> {
        let object = match get(&self.infra_envs, &wanted.subject.key) {
            Some(found) => found,
            None => Arc::new(self.create(wanted).await.map_err(|error| failed(&error))?),
        };
        Ok(shown(&object, self.options.internal.as_ref()))
    }

    async fn ignition(&self, infra_env: &InfraEnv) -> Result<Vec<u8>, Failure> {
        let url = infra_env.ignition_url.as_deref();
        let url = url.ok_or_else(|| Failure::passing("there is no discovery ignition yet"))?;
        self.downloads.get(url).await.map_err(Failure::passing)
    }

    async fn remove_infra_env(&self, subject: &Subject) -> Result<bool, Failure> {
        self.remove::<crd::InfraEnv>(&subject.key).await
    }

    async fn hosts(&self, infra_env: &Subject) -> Result<Vec<Host>, Failure> {
        let found = self.agents.state_filter(|agent| infra_env_of(agent).as_ref() == Some(&infra_env.key));
        Ok(found.iter().map(|agent| host(agent)).collect())
    }

    async fn settle(&self, infra_env: &Subject, host: &str, wanted: &HostWanted) -> Result<bool, Failure> {
        let key = ObjectKey::new(&infra_env.key.namespace, host);
        let Some(agent) = get(&self.agents, &key) else { return Ok(false) };
        let mut after = (*agent).clone();
        after.spec.approved = wanted.approved;
        wanted.role.clone_into(&mut after.spec.role);
        after.spec.ignition_config_overrides.clone_from(&wanted.ignition_overrides);
        after.spec.installer_args.clone_from(&wanted.installer_arguments);
        if let Some(hostname) = &wanted.hostname {
            after.spec.hostname.clone_from(hostname);
        }
        let written = write::object(&self.api(&key.namespace), &*agent, &after, Guard::Free).await;
        Ok(written.map_err(|error| failed(&error))?.is_some())
    }

    async fn disapprove(&self, infra_env: &Subject, host: &str) -> Result<(), Failure> {
        let key = ObjectKey::new(&infra_env.key.namespace, host);
        let Some(agent) = get(&self.agents, &key) else { return Ok(()) };
        let mut after = (*agent).clone();
        after.spec.approved = false;
        let written = write::object(&self.api(&key.namespace), &*agent, &after, Guard::Free).await;
        written.map(drop).map_err(|error| failed(&error))
    }

    async fn remove_host(&self, infra_env: &Subject, host: &str) -> Result<bool, Failure> {
        let key = ObjectKey::new(&infra_env.key.namespace, host);
        let api = self.api::<Agent>(&key.namespace);
        let Some(agent) = optional(api.get(host).await).map_err(|error| failed(&error))? else {
            return Ok(true);
        };
        // Its node goes with its Machine: the hub need not reach the cluster, which may be on its way out as a whole.
        let mut without_node = agent.clone();
        without_node.annotations_mut().insert(SKIP_SPOKE_CLEANUP.to_owned(), String::new());
        let written = write::object(&api, &agent, &without_node, Guard::Free).await;
        written.map_err(|error| failed(&error))?;
        self.remove::<Agent>(&key).await
    }

    async fn follow(
        &self,
        changed: impl Fn(Change) + Clone + Send + Sync + 'static,
        stop: CancellationToken,
    ) {
        let Some(writers) = self.writers.lock().take() else { return };
        // Ends with this future.
        let mut tasks = JoinSet::new();
        macro_rules! watch {
            ($kind:ty, $writer:ident, $keys:expr) => {
                let (changed, client) = (changed.clone(), self.client.clone());
                let keys = $keys;
                tasks.spawn(async move {
                    let told = |before: Option<&$kind>, after: Option<&$kind>| {
                        for change in [before, after].into_iter().flatten().filter_map(&keys) {
                            changed(change);
                        }
                    };
                    follow(Api::<$kind>::all(client), Config::default(), writers.$writer, told).await;
                });
            };
        }
        watch!(ClusterDeployment, deployments, |object: &ClusterDeployment| cluster_of(object)
            .map(Change::Cluster));
        let deployments = self.deployments.clone();
        watch!(AgentClusterInstall, installs, move |object: &AgentClusterInstall| {
            let namespace = object.namespace().unwrap_or_default();
            let key = ObjectKey::new(namespace, &object.spec.cluster_deployment_ref.name);
            get(&deployments, &key).and_then(|deployment| cluster_of(&*deployment)).map(Change::Cluster)
        });
        watch!(crd::InfraEnv, infra_envs, |object: &crd::InfraEnv| Some(Change::InfraEnv(key(object))));
        watch!(Agent, agents, |object: &Agent| infra_env_of(object).map(Change::InfraEnv));
        tokio::select! {
            () = stop.cancelled() => {}
            _ = tasks.join_next() => {}
        }
    }

    async fn ready(&self) -> Result<(), String> {
        let deadline = Instant::now() + LISTING;
        let mut missing = Vec::new();
        macro_rules! check {
            ($($store:ident: $kind:literal),+ $(,)?) => {
                $(if timeout_at(deadline, self.$store.wait_until_ready()).await.is_err() { missing.push($kind); })+
            };
        }
        check!(
            deployments: "ClusterDeployment",
            installs: "AgentClusterInstall",
            infra_envs: "InfraEnv",
            agents: "Agent",
        );
        if missing.is_empty() { Ok(()) } else { Err(missing.join(", ")) }
    }
}

#[cfg(test)]
mod tests {
    use assisted_crd::cluster_api::openshift_assisted_config::v1alpha2::OpenshiftAssistedConfigSpec;
    use serde_json::json;

    use super::*;

    #[test]
    fn an_infra_env_is_what_its_config_says() {
        let spec: OpenshiftAssistedConfigSpec = serde_json::from_value(json!({
            "additionalNTPSources": ["ntp"], "additionalTrustBundle": "pem", "cpuArchitecture": "arm64",
            "kernelArguments": [{"operation": "append", "value": "a=b"}], "osImageVersion": "4.20",
            "proxy": {"httpProxy": "http://p"}, "sshAuthorizedKey": "key",
        }))
        .unwrap();
        let subject = |name: &str| Subject { key: ObjectKey::new("site", name), uid: "u".to_owned() };
        let (machine, of) = (subject("machine"), subject("cluster"));
        let cluster = Cluster { key: ObjectKey::new("site", "plane"), state: String::new() };
        let mut wanted = InfraEnvWanted {
            subject: &machine,
            spec: &spec,
            of: &of,
            config: "config",
            cluster: &cluster,
            owners: vec![],
            ignition_override: Some(r#"{"ignition":{"version":"3.1.0"}}"#),
        };
        let object = infra_env(&wanted, LocalObjectReference { name: "pull".to_owned() });
        assert_eq!(
            serde_json::to_value(&object.spec).unwrap(),
            json!({
                "additionalNTPSources": ["ntp"], "additionalTrustBundle": "pem", "cpuArchitecture": "arm64",
                "clusterRef": {"name": "plane", "namespace": "site"}, "imageType": "full-iso",
                "ignitionConfigOverride": r#"{"ignition":{"version":"3.1.0"}}"#,
                "proxy": {"httpProxy": "http://p"}, "pullSecretRef": {"name": "pull"}, "sshAuthorizedKey": "key",
            })
        );
        assert_eq!(object.labels()[capi::CONFIG], "config");
        assert_eq!(object.labels()[capi::CLUSTER_NAME], "cluster");
        // What is no JSON is left out.
        wanted.ignition_override = Some("{");
        let object = infra_env(&wanted, LocalObjectReference::default());
        assert!(object.spec.ignition_config_override.is_empty());
    }
}
