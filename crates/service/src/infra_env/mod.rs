//! Infra-envs.

use assisted_wire::cluster_params::PresignedUrl;
use assisted_wire::id::{ClusterId, InfraEnvId};
use assisted_wire::infra_env::{InfraEnv, InfraEnvCreateParams, InfraEnvList, InfraEnvUpdateParams};

use crate::{Caller, Error, Service};

/// Which infra-envs to list.
#[derive(Clone, Debug, Default)]
pub struct ListInfraEnvs {
    pub cluster_id: Option<ClusterId>,
    pub owner: Option<String>,
}

impl Service {
    /// Operation `register_infra_env`.
    pub async fn register_infra_env(
        &self,
        caller: &Caller,
        params: InfraEnvCreateParams,
    ) -> Result<InfraEnv, Error> {
        let _ = (caller, params);
        Err(Error::internal("not built yet"))
    }

    /// Operation `list_infra_envs`.
    pub async fn list_infra_envs(
        &self,
        caller: &Caller,
        query: ListInfraEnvs,
    ) -> Result<InfraEnvList, Error> {
        let _ = (caller, query);
        Err(Error::internal("not built yet"))
    }

    /// Operation `get_infra_env`.
    pub async fn get_infra_env(&self, caller: &Caller, infra_env_id: InfraEnvId) -> Result<InfraEnv, Error> {
        let _ = (caller, infra_env_id);
        Err(Error::internal("not built yet"))
    }

    /// Operation `update_infra_env`.
    pub async fn update_infra_env(
        &self,
        caller: &Caller,
        infra_env_id: InfraEnvId,
        params: InfraEnvUpdateParams,
    ) -> Result<InfraEnv, Error> {
        let _ = (caller, infra_env_id, params);
        Err(Error::internal("not built yet"))
    }

    /// Operation `deregister_infra_env`.
    pub async fn deregister_infra_env(&self, caller: &Caller, infra_env_id: InfraEnvId) -> Result<(), Error> {
        let _ = (caller, infra_env_id);
        Err(Error::internal("not built yet"))
    }

    /// Operation `get_infra_env_download_url`.
    pub async fn get_infra_env_download_url(
        &self,
        caller: &Caller,
        infra_env_id: InfraEnvId,
    ) -> Result<PresignedUrl, Error> {
        let _ = (caller, infra_env_id);
        Err(Error::internal("not built yet"))
    }

    /// Operation `regenerate_infra_env_signing_key`.
    pub async fn regenerate_infra_env_signing_key(
        &self,
        caller: &Caller,
        infra_env_id: InfraEnvId,
    ) -> Result<(), Error> {
        let _ = (caller, infra_env_id);
        Err(Error::internal("not built yet"))
    }
}
