//! Operations on infra-envs.

use assisted_wire::cluster_params::PresignedUrl;
use assisted_wire::id::{ClusterId, InfraEnvId};
use assisted_wire::image_state::ImageState;
use assisted_wire::infra_env::{InfraEnv, InfraEnvCreateParams, InfraEnvList, InfraEnvUpdateParams};
use assisted_wire::mirror_registry::MirrorRegistry;
use assisted_wire::operation::OperationId;

use crate::call::{Call, Download};
use crate::{Client, Error};

/// Which infra-envs a list shows; the default shows all that the caller may see.
#[derive(Clone, Debug, Default)]
pub struct InfraEnvFilter {
    pub cluster_id: Option<ClusterId>,
    pub owner: Option<String>,
}

/// A file of an infra-env, with what shapes it.
#[derive(Clone, Debug, Default)]
pub struct InfraEnvFile {
    /// `discovery.ign`, `ipxe-script` or `static-network-config`.
    pub file_name: String,
    /// The host that asks for its iPXE script.
    pub mac: Option<String>,
    /// `discovery-image-always` or `boot-order-control`.
    pub ipxe_script_type: Option<String>,
    /// `full-iso` or `minimal-iso`.
    pub discovery_iso_type: Option<String>,
}

impl Client {
    fn infra_env(&self, operation: OperationId, id: InfraEnvId) -> Call<'_> {
        self.call(operation).path("infra_env_id", id)
    }

    pub async fn register_infra_env(&self, params: &InfraEnvCreateParams) -> Result<InfraEnv, Error> {
        self.call(OperationId::RegisterInfraEnv).json(params).send().await
    }

    pub async fn list_infra_envs(&self, filter: &InfraEnvFilter) -> Result<Vec<InfraEnv>, Error> {
        let list: InfraEnvList = self
            .call(OperationId::ListInfraEnvs)
            .query("cluster_id", filter.cluster_id)
            .query("owner", filter.owner.as_ref())
            .send()
            .await?;
        Ok(list.0)
    }

    pub async fn get_infra_env(&self, id: InfraEnvId) -> Result<InfraEnv, Error> {
        self.infra_env(OperationId::GetInfraEnv, id).send().await
    }

    pub async fn update_infra_env(
        &self,
        id: InfraEnvId,
        params: &InfraEnvUpdateParams,
    ) -> Result<InfraEnv, Error> {
        self.infra_env(OperationId::UpdateInfraEnv, id).json(params).send().await
    }

    pub async fn deregister_infra_env(&self, id: InfraEnvId) -> Result<(), Error> {
        self.infra_env(OperationId::DeregisterInfraEnv, id).send_empty().await
    }

    /// Address of the discovery ISO.
    pub async fn infra_env_image_url(&self, id: InfraEnvId) -> Result<PresignedUrl, Error> {
        self.infra_env(OperationId::GetInfraEnvDownloadURL, id).send().await
    }

    /// Registries that stand in for others for its hosts alone.
    pub async fn infra_env_mirror_registry(&self, id: InfraEnvId) -> Result<MirrorRegistry, Error> {
        self.infra_env(OperationId::GetInfraEnvMirrorRegistry, id).send().await
    }

    pub async fn set_infra_env_mirror_registry(
        &self,
        id: InfraEnvId,
        mirrors: &MirrorRegistry,
    ) -> Result<MirrorRegistry, Error> {
        self.infra_env(OperationId::SetInfraEnvMirrorRegistry, id).json(mirrors).send().await
    }

    /// Whether the discovery ISO can be downloaded; an image service that fetches base images when they are asked for begins.
    pub async fn image_state(&self, id: InfraEnvId) -> Result<ImageState, Error> {
        self.infra_env(OperationId::GetImageState, id).send().await
    }

    pub async fn download_infra_env_file(
        &self,
        id: InfraEnvId,
        file: &InfraEnvFile,
    ) -> Result<Download, Error> {
        self.infra_env(OperationId::DownloadInfraEnvFiles, id)
            .query("file_name", Some(&file.file_name))
            .query("mac", file.mac.as_ref())
            .query("ipxe_script_type", file.ipxe_script_type.as_ref())
            .query("discovery_iso_type", file.discovery_iso_type.as_ref())
            .download()
            .await
    }

    /// Address from which a file can be fetched for a while without a token.
    pub async fn infra_env_file_url(
        &self,
        id: InfraEnvId,
        file: &InfraEnvFile,
    ) -> Result<PresignedUrl, Error> {
        self.infra_env(OperationId::GetInfraEnvPresignedFileURL, id)
            .query("file_name", Some(&file.file_name))
            .query("ipxe_script_type", file.ipxe_script_type.as_ref())
            .send()
            .await
    }

    /// Makes every address signed so far for this infra-env worthless.
    pub async fn regenerate_infra_env_signing_key(&self, id: InfraEnvId) -> Result<(), Error> {
        self.infra_env(OperationId::RegenerateInfraEnvSigningKey, id).send_empty().await
    }
}
