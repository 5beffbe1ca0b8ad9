//! Infra-envs at the service.

use assisted_base::error::chain;
use assisted_client::{Client, InfraEnvFile, InfraEnvFilter};
use assisted_crd::agent_install::nmstate_config::NMStateConfig;
use assisted_crd::hive::cluster_image_set::ClusterImageSet;
use assisted_kubeapi::infra_env::{Cluster, InfraEnvSpec};
use assisted_kubeapi::objects::Objects;
use assisted_reconcile::Failure;
use assisted_wire::id::InfraEnvId;
use assisted_wire::infra_env as wire;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::Api;

use super::{Rest, failed, optional};
use crate::installer::hub::infra_env;
use crate::installer::{InfraEnv, InfraEnvWanted, Subject};
use crate::pull_secret;

/// The most bytes of a discovery's Ignition config.
const LARGEST: usize = 8 << 20;

/// The file with which a disk image discovers its machine.
const DISCOVERY: &str = "discovery.ign";

/// The name of the infra-env of an object: a namespace and an id have no dots.
fn name(of: &Subject) -> String {
    format!("{}.{}.{}", of.key.namespace, of.key.name, of.uid)
}

/// The registry credentials that an infra-env names. Static networks are told by a kind of hubs.
struct Credentials(Secret);

impl Objects for Credentials {
    fn secret(&self, _: &str, name: &str) -> Option<&Secret> {
        (self.0.metadata.name.as_deref() == Some(name)).then_some(&self.0)
    }

    fn config_map(&self, _: &str, _: &str) -> Option<&ConfigMap> {
        None
    }

    fn image_set(&self, _: &str) -> Option<&ClusterImageSet> {
        None
    }

    fn nmstate_configs(&self, _: &str) -> Vec<&NMStateConfig> {
        Vec::new()
    }
}

impl Rest {
    /// The infra-env of an object, if there is one. The service takes two of one name: who was stopped while it was about to make one may
    /// have been heard after all. All agree on the oldest one.
    pub(super) async fn find_infra_env(
        &self,
        client: &Client,
        of: &Subject,
    ) -> Result<Option<wire::InfraEnv>, Failure> {
        let known = self.known.lock().infra_envs.iter().find(|(_, known)| *known == of).map(|(id, _)| *id);
        if let Some(id) = known {
            if let Some(found) = optional(client.get_infra_env(id).await)? {
                return Ok(Some(found));
            }
            self.known.lock().infra_envs.remove(&id);
        }
        let name = name(of);
        let all = client.list_infra_envs(&InfraEnvFilter::default()).await.map_err(|error| failed(&error))?;
        let own = all.into_iter().filter(|found| found.name == name);
        let found = own.min_by_key(|found| (found.created_at.0, found.id));
        if let Some(found) = &found {
            self.known.lock().infra_envs.insert(found.id, of.clone());
        }
        Ok(found)
    }

    /// Makes an infra-env unless it is there.
    pub(super) async fn keep_infra_env(&self, wanted: &InfraEnvWanted<'_>) -> Result<InfraEnv, Failure> {
        let client = self.client().await?;
        let found = match self.find_infra_env(&client, wanted.subject).await? {
            Some(found) => found,
            None => Box::pin(self.create_once(&client, wanted)).await?,
        };
        let path = format!("{}/v2/infra-envs/{}/downloads/files", self.options.url, found.id);
        Ok(InfraEnv {
            id: Some(found.id),
            ignition_url: Some(path),
            iso_url: Some(found.download_url.clone()).filter(|url| !url.is_empty()),
            problem: None,
        })
    }

    /// Makes an infra-env unless another machine of the same template has just done so.
    async fn create_once(
        &self,
        client: &Client,
        wanted: &InfraEnvWanted<'_>,
    ) -> Result<wire::InfraEnv, Failure> {
        let _alone = self.creating.lock().await;
        if let Some(found) = self.find_infra_env(client, wanted.subject).await? {
            return Ok(found);
        }
        let made = self.create_infra_env(client, wanted).await?;
        self.known.lock().infra_envs.insert(made.id, wanted.subject.clone());
        Ok(made)
    }

    async fn create_infra_env(
        &self,
        client: &Client,
        wanted: &InfraEnvWanted<'_>,
    ) -> Result<wire::InfraEnv, Failure> {
        if wanted.spec.nmstate_config_label_selector.is_some() {
            return Err(Failure::of_row(
                "nmStateConfigLabelSelector names NMStateConfigs, a kind of hubs: a service alone does not have it. \
                 Leave it out, or let the provider work with a hub",
            ));
        }
        let cluster = self.find(wanted.of).await?;
        let cluster = cluster.ok_or_else(|| Failure::passing("the cluster is gone from the service"))?;
        let secrets: Api<Secret> = Api::namespaced(self.kube().clone(), &wanted.subject.key.namespace);
        let told = |error: kube::Error| Failure::passing(format!("registry credentials: {}", chain(&error)));
        let given = wanted.spec.pull_secret_ref.as_ref();
        let reference = pull_secret::reference(&secrets, given, &wanted.subject.key.name, &wanted.owners);
        let reference = reference.await.map_err(told)?;
        let credentials = Credentials(secrets.get(&reference.name).await.map_err(told)?);
        let object = infra_env(wanted, reference);
        let of_row = |problem: assisted_kubeapi::SyncError| Failure::of_row(problem.text);
        let spec = InfraEnvSpec::resolve(&object, &credentials).map_err(of_row)?;
        let own = Cluster { id: cluster.id, openshift_version: cluster.openshift_version };
        let params = spec.create(Some(&own)).map_err(of_row)?;
        let params = wire::InfraEnvCreateParams { name: name(wanted.subject), ..params };
        client.register_infra_env(&params).await.map_err(|error| failed(&error))
    }

    /// The Ignition config of the discovery.
    pub(super) async fn discovery(&self, infra_env: &InfraEnv) -> Result<Vec<u8>, Failure> {
        let id = infra_env.id.ok_or_else(|| Failure::passing("there is no infra-env yet"))?;
        let file = InfraEnvFile { file_name: DISCOVERY.to_owned(), ..InfraEnvFile::default() };
        let client = self.client().await?;
        let download = client.download_infra_env_file(id, &file).await;
        // It is there as soon as the infra-env is: a refusal passes.
        let told = |error: assisted_client::Error| Failure::passing(failed(&error).message);
        download.map_err(told)?.bytes(LARGEST).await.map_err(told)
    }
}

/// Has an infra-env go with its hosts.
pub(crate) async fn remove(client: &Client, id: InfraEnvId) -> Result<(), Failure> {
    for host in optional(client.list_hosts(id).await)?.unwrap_or_default() {
        optional(client.deregister_host(id, host.id).await)?;
    }
    optional(client.deregister_infra_env(id).await).map(drop)
}

#[cfg(test)]
mod tests {
    use assisted_core::model::object_key::ObjectKey;

    use super::*;

    #[test]
    fn a_name_tells_whose_an_infra_env_is() {
        let of = |namespace: &str, uid: &str| {
            name(&Subject { key: ObjectKey::new(namespace, "demo.workers"), uid: uid.to_owned() })
        };
        assert_eq!(of("site", "1-2"), "site.demo.workers.1-2");
        assert!(of("site", "1-2") != of("other", "1-2") && of("site", "1-2") != of("site", "1-3"));
    }
}
