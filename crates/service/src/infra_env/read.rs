//! Reading infra-envs (service-api §5.4).

use assisted_core::model::infra_env::InfraEnvRecord;
use assisted_store::InfraEnvFilter;
use assisted_wire::id::{ClusterId, InfraEnvId};
use assisted_wire::infra_env::{InfraEnv, InfraEnvList};

use super::InfraEnvs;
use crate::attempt::final_error;
use crate::not_found::no_infra_env;
use crate::{Caller, Error, TokenResource};

/// Which infra-envs to list.
#[derive(Clone, Debug, Default)]
pub struct ListInfraEnvs {
    pub cluster_id: Option<ClusterId>,
    pub owner: Option<String>,
}

impl InfraEnvs {
    /// An infra-env as it is shown: an address whose signature is good no more is signed anew.
    fn response(&self, record: &InfraEnvRecord) -> InfraEnv {
        let infra_env = &record.infra_env;
        if infra_env.expires_at.is_zero() || infra_env.expires_at.0 > self.database.now() {
            return infra_env.clone();
        }
        let mut record = record.clone();
        // Without an image there is no address, and nothing to sign.
        match self.sign_image_url(&mut record) {
            Ok(_) => record.infra_env,
            Err(_) => infra_env.clone(),
        }
    }

    /// One infra-env.
    ///
    /// # Errors
    ///
    /// 404 when there is none.
    pub async fn get(&self, _: &Caller, infra_env_id: InfraEnvId) -> Result<InfraEnv, Error> {
        let found = self.database.known_infra_env(infra_env_id).await.map_err(final_error)?;
        let found = found.ok_or_else(|| no_infra_env(infra_env_id))?;
        Ok(self.response(&found.record))
    }

    /// The infra-envs that the caller may see.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn list(&self, caller: &Caller, query: ListInfraEnvs) -> Result<InfraEnvList, Error> {
        let (user_name, org_id) = caller.lists();
        let filter =
            InfraEnvFilter { cluster_id: query.cluster_id, user_name, org_id, ..InfraEnvFilter::default() };
        let mut found = self.database.reader().infra_envs(&filter).await?;
        if let Some(owner) = query.owner.filter(|_| self.access.has_owners()) {
            found.retain(|stored| stored.record.infra_env.user_name == owner);
        }
        if let Some(resource) = caller.resource {
            found.retain(|stored| resource == TokenResource::InfraEnv(stored.record.infra_env.id));
        }
        Ok(InfraEnvList(found.iter().map(|stored| self.response(&stored.record)).collect()))
    }
}
