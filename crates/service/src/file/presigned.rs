//! URLs that carry their own permission (service-api §5.7, §7.5).

use assisted_core::model::refusal::Refusal;
use assisted_wire::cluster_params::PresignedUrl;
use assisted_wire::id::InfraEnvId;
use assisted_wire::operation::BASE_PATH;

use super::Files;
use crate::attempt::final_error;
use crate::not_found::no_infra_env;
use crate::{Caller, Error};

/// A file of an infra-env. All texts are values of the API's lists.
#[derive(Clone, Debug)]
pub struct InfraEnvFile {
    pub infra_env_id: InfraEnvId,
    pub file_name: String,
    pub ipxe_script_type: Option<String>,
}

impl Files {
    /// A URL at which the file store itself gives out a file of a cluster: never, since what it keeps is sealed (docs/adr/0019).
    ///
    /// # Errors
    ///
    /// 400, with a bucket as with a folder.
    pub async fn get_presigned_for_cluster_files(&self, _: &Caller) -> Result<PresignedUrl, Error> {
        Err(Refusal::invalid("Failed to generate presigned URL: invalid backend").into())
    }

    /// A URL of a file of an infra-env, with the infra-env's token in it.
    ///
    /// # Errors
    ///
    /// 404 when there is no such infra-env, 400 for a type of script with another file.
    pub async fn get_infra_env_presigned_file_url(
        &self,
        _: &Caller,
        file: InfraEnvFile,
    ) -> Result<PresignedUrl, Error> {
        let id = file.infra_env_id;
        let stored =
            self.database.known_infra_env(id).await.map_err(final_error)?.ok_or_else(|| no_infra_env(id))?;
        if file.ipxe_script_type.is_some() && file.file_name != "ipxe-script" {
            return Err(Refusal::invalid(r#"ipxe_script_type can be set only for "ipxe-script""#).into());
        }
        let signature = self.access.signature(&stored.record);
        let expires_at = signature.expires_at();
        let name = ("file_name", file.file_name);
        let kind = file.ipxe_script_type.map(|kind| ("ipxe_script_type", kind));
        // In alphabetical order, as clients that compare URLs expect.
        let mut query: Vec<_> = signature.parameter().into_iter().chain([name]).chain(kind).collect();
        query.sort();
        let query: Vec<_> = query.into_iter().map(|(name, value)| format!("{name}={value}")).collect();
        let base = self.settings.http.service_base_url.trim_end_matches('/');
        let url = format!("{base}{BASE_PATH}/v2/infra-envs/{id}/downloads/files?{}", query.join("&"));
        Ok(PresignedUrl { url, expires_at })
    }
}
