//! Reading infra-envs (service-api §5.4).

use assisted_store::InfraEnvFilter;
use assisted_wire::id::{ClusterId, InfraEnvId};
use assisted_wire::infra_env::{InfraEnv, InfraEnvList};

use super::InfraEnvs;
use crate::fault::broken;
use crate::not_found::no_infra_env;
use crate::{Caller, Error, TokenResource};

/// Which infra-envs to list.
#[derive(Clone, Debug, Default)]
pub struct ListInfraEnvs {
    pub cluster_id: Option<ClusterId>,
    pub owner: Option<String>,
}

impl InfraEnvs {
    /// One infra-env.
    ///
    /// # Errors
    ///
    /// 404 when there is none.
    pub async fn get(&self, _: &Caller, infra_env_id: InfraEnvId) -> Result<InfraEnv, Error> {
        let found = self.database.known_infra_env(infra_env_id).await.map_err(broken)?;
        Ok(found.ok_or_else(|| no_infra_env(infra_env_id))?.record.infra_env.clone())
    }

    /// The infra-envs that the caller may see.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn list(&self, caller: &Caller, query: ListInfraEnvs) -> Result<InfraEnvList, Error> {
        let (user_name, org_id) = caller.lists();
        let filter = InfraEnvFilter { cluster_id: query.cluster_id, user_name, org_id };
        let mut found = self.database.reader().infra_envs(&filter).await?;
        if let Some(resource) = caller.resource {
            found.retain(|stored| resource == TokenResource::InfraEnv(stored.record.infra_env.id));
        }
        Ok(InfraEnvList(found.into_iter().map(|stored| stored.record.infra_env).collect()))
    }
}
