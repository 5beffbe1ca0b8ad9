//! What the authorisation has to know of a resource: whose it is, and which of its tokens are good.

use std::sync::Arc;

use assisted_auth::Accounts;
use assisted_config::{Auth, AuthType};
use assisted_core::model::infra_env::InfraEnvRecord;
use assisted_core::model::topology;
use assisted_store::{ClusterFilter, HostFilter, UserStore};
use assisted_wire::id::{ClusterId, HostId, InfraEnvId};
use assisted_wire::secret::Secret;
use jiff::Timestamp;

use crate::attempt::final_error;
use crate::database::Database;
use crate::{Caller, Error, Grant, TokenResource};

/// Makes the token that opens one resource to those who hold its URL; `None` where no token is needed.
pub type Signer = Arc<dyn Fn(Grant) -> Option<String> + Send + Sync>;

/// Answers what the authorisation asks.
#[derive(Clone)]
pub struct Access {
    database: Arc<Database>,
    settings: Auth,
    signer: Signer,
    accounts: Option<Arc<Accounts>>,
}

/// The owner of a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceOwner {
    pub user_name: String,
    pub org_id: String,
    /// The cluster that an infra-env is bound to; a cluster itself.
    pub cluster_id: Option<ClusterId>,
}

impl Access {
    pub(crate) fn new(
        database: Arc<Database>,
        settings: Auth,
        signer: Signer,
        accounts: Option<Arc<Accounts>>,
    ) -> Self {
        Self { database, settings, signer, accounts }
    }

    /// The account service; `None`: nobody is known by it.
    pub fn accounts(&self) -> Option<&Arc<Accounts>> {
        self.accounts.as_ref()
    }

    pub(crate) fn settings(&self) -> &Auth {
        &self.settings
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.database.now()
    }

    /// Whose a resource is; `None` when there is none.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn standing(&self, resource: TokenResource) -> Result<Option<ResourceOwner>, Error> {
        Ok(match resource {
            TokenResource::InfraEnv(id) => {
                self.database.known_infra_env(id).await.map_err(final_error)?.map(|stored| {
                    let infra_env = &stored.record.infra_env;
                    ResourceOwner {
                        user_name: infra_env.user_name.clone(),
                        org_id: infra_env.org_id.clone(),
                        cluster_id: infra_env.cluster_id,
                    }
                })
            }
            TokenResource::Cluster(id) => {
                self.database.cached_cluster(id).await.map_err(final_error)?.map(|stored| {
                    let cluster = &stored.record.cluster;
                    ResourceOwner {
                        user_name: cluster.user_name.clone(),
                        org_id: cluster.org_id.clone(),
                        cluster_id: Some(id),
                    }
                })
            }
        })
    }

    /// The subscription by which the account service gives rights to a cluster: its own; of one that hosts are added to, that of its
    /// installation (service-api §14.4).
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn subscription_of(&self, id: ClusterId) -> Result<Option<String>, Error> {
        let stored = self.database.cached_cluster(id).await.map_err(final_error)?;
        let Some(stored) = stored else { return Ok(None) };
        let cluster = &stored.record.cluster;
        if cluster.ams_subscription_id.is_some() || !topology::is_day2(cluster) {
            return Ok(cluster.ams_subscription_id.clone());
        }
        let Some(openshift_cluster_id) = cluster.openshift_cluster_id else { return Ok(None) };
        let filter =
            ClusterFilter { openshift_cluster_id: Some(openshift_cluster_id), ..ClusterFilter::default() };
        let found = self.database.reader().clusters(&filter).await?;
        Ok(found.into_iter().find_map(|stored| stored.record.cluster.ams_subscription_id))
    }

    /// Whether objects have owners that differ (service-api §4.8).
    pub(crate) fn has_owners(&self) -> bool {
        matches!(self.settings.auth_type, AuthType::Users | AuthType::Rhsso)
    }

    /// The people of the service and their tokens, which are no part of the domain.
    pub fn people(&self) -> UserStore {
        self.database.people()
    }

    /// The generation that a resource's tokens have to be of; `None` when there is no such resource.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn token_generation(&self, resource: TokenResource) -> Result<Option<u32>, Error> {
        Ok(match resource {
            TokenResource::InfraEnv(id) => self
                .database
                .known_infra_env(id)
                .await
                .map_err(final_error)?
                .map(|stored| stored.record.token_generation),
            TokenResource::Cluster(id) => {
                self.database.cached_cluster(id).await.map_err(final_error)?.map(|_| 0)
            }
        })
    }

    /// The key that signs the addresses of an infra-env's image; `None`: there is no such infra-env.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn image_token_key(&self, id: InfraEnvId) -> Result<Option<Secret>, Error> {
        let found = self.database.known_infra_env(id).await.map_err(final_error)?;
        Ok(found.map(|stored| stored.record.image_token_key.clone()))
    }

    /// How many clusters a caller owns; `None`: nobody owns any.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn count_clusters(&self, caller: &Caller) -> Result<Option<u64>, Error> {
        if !self.has_owners() {
            return Ok(None);
        }
        Ok(Some(self.database.reader().count_clusters(&caller.user_name).await?))
    }

    /// How many infra-envs a caller owns; `None`: nobody owns any.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn count_infra_envs(&self, caller: &Caller) -> Result<Option<u64>, Error> {
        if !self.has_owners() {
            return Ok(None);
        }
        Ok(Some(self.database.reader().count_infra_envs(&caller.user_name).await?))
    }

    /// How many hosts an infra-env has.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn count_hosts(&self, infra_env_id: InfraEnvId) -> Result<u64, Error> {
        let filter = HostFilter { infra_env_id: Some(infra_env_id), ..HostFilter::default() };
        Ok(self.database.reader().count_hosts(&filter).await?)
    }

    /// Whether an infra-env has a host.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn has_host(&self, infra_env_id: InfraEnvId, host_id: HostId) -> Result<bool, Error> {
        let (infra_env_id, host_id) = (Some(infra_env_id), Some(host_id));
        let filter = HostFilter { infra_env_id, host_id, ..HostFilter::default() };
        Ok(self.database.reader().count_hosts(&filter).await? > 0)
    }

    /// Whether an infra-env, or a host of it, is bound to a cluster: its agents report on that cluster, too.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn reaches(&self, infra_env_id: InfraEnvId, cluster_id: ClusterId) -> Result<bool, Error> {
        let infra_env = self.database.known_infra_env(infra_env_id).await.map_err(final_error)?;
        let Some(infra_env) = infra_env else { return Ok(false) };
        if infra_env.record.infra_env.cluster_id == Some(cluster_id) {
            return Ok(true);
        }
        let filter = HostFilter {
            infra_env_id: Some(infra_env_id),
            cluster_id: Some(cluster_id),
            ..HostFilter::default()
        };
        Ok(!self.database.reader().host_states(&filter).await?.is_empty())
    }

    /// The token that opens a resource; `None` where no token is needed, or there is no such resource.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn token(&self, resource: TokenResource) -> Result<Option<String>, Error> {
        let generation = self.token_generation(resource).await?;
        Ok(generation.and_then(|generation| (self.signer)(Grant { resource, generation })))
    }

    /// The token that opens an infra-env; `None` where no token is needed.
    pub(crate) fn token_of(&self, record: &InfraEnvRecord) -> Option<String> {
        let resource = TokenResource::InfraEnv(record.infra_env.id);
        (self.signer)(Grant { resource, generation: record.token_generation })
    }
}
