//! Where an infra-env's discovery image is fetched (service-api §5.6).

use assisted_base::hex;
use assisted_core::catalogue::release::os_image;
use assisted_core::model::infra_env::InfraEnvRecord;
use assisted_core::model::refusal::Refusal;
use assisted_wire::cluster_params::PresignedUrl;
use assisted_wire::id::InfraEnvId;
use assisted_wire::infra_env::ImageType;
use assisted_wire::secret::Secret;
use assisted_wire::version::ImageCpuArchitecture;

use super::InfraEnvs;
use crate::attempt::{AttemptError, attempt};
use crate::not_found::no_infra_env;
use crate::{Caller, Error};

impl InfraEnvs {
    /// Makes the image's URL anew; returns whether it is another one.
    pub(crate) fn sign_image_url(&self, record: &mut InfraEnvRecord) -> Result<bool, Refusal> {
        let settings = &self.settings;
        if !settings.http.enable_image_service {
            return Ok(false);
        }
        if record.pull_secret.is_empty() {
            return Err(Refusal::invalid("Can't generate infraEnv ISO without pull secret"));
        }
        let signature = self.access.signature(record);
        let infra_env = &mut record.infra_env;
        let architecture = infra_env.cpu_architecture.unwrap_or(ImageCpuArchitecture::X8664);
        let image = os_image::find(
            &self.database.policy().versions.os_images.0,
            &infra_env.openshift_version,
            architecture,
        )
        .map_err(Refusal::invalid)?;
        let file = match infra_env.r#type {
            ImageType::FullIso => "full.iso",
            ImageType::MinimalIso => "minimal.iso",
            ImageType::DisconnectedIso => "disconnected.iso",
        };
        let base = settings.http.image_service_base_url.trim_end_matches('/');
        let (version, architecture) = (&image.openshift_version, image.cpu_architecture);
        let path = signature.path(infra_env.id);
        let url = format!("{base}/{path}/{version}/{architecture}/{file}");
        let changed = url != infra_env.download_url;
        infra_env.download_url = url;
        infra_env.expires_at = signature.expires_at();
        Ok(changed)
    }

    /// The image's URL, signed anew.
    ///
    /// # Errors
    ///
    /// 404 when there is no such infra-env, 400 without an image service.
    pub async fn get_download_url(
        &self,
        caller: &Caller,
        infra_env_id: InfraEnvId,
    ) -> Result<PresignedUrl, Error> {
        if !self.settings.http.enable_image_service {
            return Err(Refusal::invalid("image service is disabled").into());
        }
        let record = attempt!(
            self.database,
            caller,
            self.change_infra_env(infra_env_id, |record| self.sign_image_url(record).map(drop))
        )?;
        let infra_env = record.infra_env;
        Ok(PresignedUrl { url: infra_env.download_url, expires_at: infra_env.expires_at })
    }

    /// Makes a new signing key: tokens that were made before are worthless, those of agents that run among them. The URL stays
    /// until it is asked for.
    ///
    /// # Errors
    ///
    /// 404 when there is no such infra-env.
    pub async fn regenerate_signing_key(
        &self,
        caller: &Caller,
        infra_env_id: InfraEnvId,
    ) -> Result<(), Error> {
        let key = new_key();
        let change = |record: &mut InfraEnvRecord| {
            record.image_token_key = key.clone();
            record.token_generation = record.token_generation.saturating_add(1);
            Ok(())
        };
        attempt!(self.database, caller, self.change_infra_env(infra_env_id, change)).map(drop)
    }

    /// Changes an infra-env in place.
    pub(super) async fn change_infra_env(
        &self,
        id: InfraEnvId,
        change: impl Fn(&mut InfraEnvRecord) -> Result<(), Refusal> + Send,
    ) -> Result<InfraEnvRecord, AttemptError> {
        let stored = self.database.reader().infra_env(id).await?.ok_or_else(|| no_infra_env(id))?;
        let mut record = stored.record.clone();
        change(&mut record)?;
        if record != stored.record {
            let mut batch = assisted_store::Batch::new();
            batch.update_infra_env(&record, stored.version);
            self.database.commit_silently(batch).await?;
        }
        Ok(record)
    }
}

/// 32 random bytes as hexadecimal.
pub(super) fn new_key() -> Secret {
    hex::encode(&rand::random::<[u8; 32]>()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_long_and_never_the_same() {
        let (one, other) = (new_key(), new_key());
        assert_eq!(one.expose().len(), 64);
        assert!(one.expose().bytes().all(|byte| byte.is_ascii_hexdigit()));
        assert_ne!(one, other);
    }
}
