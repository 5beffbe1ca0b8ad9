//! The Ignition config of an infra-env's image (image-service §6).

use std::io::ErrorKind;
use std::sync::Arc;

use assisted_config::AgentDelivery;
use assisted_core::model::infra_env::InfraEnvRecord;
use assisted_core::model::refusal::{Refusal, RefusalKind};
use assisted_ignition::discovery::{Agent, Delivery, Discovery, Mirrors, TimeSources, discovery};
use assisted_ignition_spec::{Config, MergeError, overlay};
use assisted_isokit::ignition::Archive;
use assisted_netconf::File;
use assisted_wire::infra_env::{HostStaticNetworkConfig, ImageType, InfraEnv};
use assisted_wire::secret::Secret;
use assisted_wire::version::ImageCpuArchitecture;

use super::{InfraEnvs, ramdisk};
use crate::Error;
use crate::registries_conf::names_registries;

/// What images have room for: the archive with the config, bytes.
const LARGEST_ARCHIVE: u64 = 256 << 10;

/// The same for what a minimal image brings besides, bytes.
const LARGEST_RAMDISK: usize = 1 << 20;

/// Bytes of a file with certificates or registries at most.
const LARGEST_FILE: u64 = 1 << 20;

/// What a config is made from besides the record.
struct DiscoveryInput {
    network: Arc<[File]>,
    service_ca: Option<String>,
    /// Registries, and their certificates.
    mirrors: Option<(String, String)>,
    token: Option<Secret>,
    /// Where hosts fetch their program, and its SHA-512.
    program: (String, String),
}

impl InfraEnvs {
    /// The config of an image of a kind, as JSON; the same bytes until something changes.
    ///
    /// # Errors
    ///
    /// 503 when a setting of the service is missing without which hosts would not find it.
    pub(super) async fn discovery_ignition(
        &self,
        record: &InfraEnvRecord,
        kind: ImageType,
    ) -> Result<Vec<u8>, Error> {
        let settings = &self.settings;
        if settings.http.service_base_url.is_empty() {
            let reason = "SERVICE_BASE_URL is not set: hosts would not know where the service is";
            return Err(Refusal::new(RefusalKind::Unavailable, reason).into());
        }
        let program = match settings.images.agent_delivery {
            AgentDelivery::Binary => self.host_program(architecture(&record.infra_env)).await?,
            AgentDelivery::Image if settings.images.agent.is_empty() => {
                let reason = "AGENT_DOCKER_IMAGE is not set, from which AGENT_DELIVERY=image takes the agent";
                return Err(Refusal::new(RefusalKind::Unavailable, reason).into());
            }
            AgentDelivery::Image => Default::default(),
        };
        let ingredients = self.ingredients(record, kind, program).await?;
        let config = self.config(record, &ingredients).map_err(Error::internal)?;
        config.to_json().map_err(Error::internal)
    }

    /// Checks a new or changed infra-env by what its images would be: whether the networks can be applied, overrides be laid
    /// over the config, and images have room for both.
    ///
    /// # Errors
    ///
    /// 400 with what is wrong.
    pub(super) async fn check_images(
        &self,
        record: &InfraEnvRecord,
        networks: Option<&Vec<HostStaticNetworkConfig>>,
    ) -> Result<(), Error> {
        self.check_networks(networks).await?;
        let url = self.program_url(architecture(&record.infra_env));
        // Where the service is may not be set yet: that is no fault of the infra-env.
        let url = if url.starts_with('/') { format!("http://service{url}") } else { url };
        // As long as the real one.
        let program = (url, "0".repeat(128));
        let kind = record.infra_env.r#type;
        let ingredients = self.ingredients(record, kind, program).await?;
        let config = self.config(record, &ingredients).map_err(Refusal::invalid)?;
        let archive = Archive::new(&config.to_json().map_err(Error::internal)?).map_err(Error::internal)?;
        if archive.len() > LARGEST_ARCHIVE {
            let remedy =
                if ingredients.network.is_empty() { "" } else { "; a minimal ISO has room for more hosts" };
            let reason = format!(
                "The ignition archive size ({} KiB) is over the maximum allowable size (256 KiB){remedy}",
                archive.len().div_ceil(1024)
            );
            return Err(Refusal::invalid(reason).into());
        }
        let ramdisk = match kind {
            ImageType::MinimalIso => self.ramdisk(record).await?,
            _ => None,
        };
        if let Some(size) = ramdisk.map(|ramdisk| ramdisk.len()).filter(|size| *size > LARGEST_RAMDISK) {
            let reason = format!(
                "The size of the networks' archive ({} KiB) is over the maximum allowable size (1024 KiB)",
                size.div_ceil(1024)
            );
            return Err(Refusal::invalid(reason).into());
        }
        Ok(())
    }

    /// What a minimal image adds to its initramfs; `None`: nothing.
    pub(super) async fn ramdisk(&self, record: &InfraEnvRecord) -> Result<Option<Vec<u8>>, Error> {
        let files = self.network_files(record).await?;
        let default = self.settings.clusters.network_discovery_delay_seconds;
        let delay = record.infra_env.network_discovery_delay_seconds.unwrap_or(default);
        let proxy = record.infra_env.proxy.as_ref();
        ramdisk::pack(&files, u64::try_from(delay).unwrap_or_default(), proxy).map_err(Error::internal)
    }

    async fn ingredients(
        &self,
        record: &InfraEnvRecord,
        kind: ImageType,
        program: (String, String),
    ) -> Result<DiscoveryInput, Error> {
        let settings = &self.settings;
        let network = match kind {
            ImageType::FullIso => self.network_files(record).await?,
            ImageType::MinimalIso | ImageType::DisconnectedIso => Arc::default(),
        };
        let ca_path = &settings.http.service_ca_cert_path;
        let service_ca = match ca_path.as_str() {
            "" => None,
            path => Some(read(path).await?.ok_or_else(|| {
                Error::internal(format!("SERVICE_CA_CERT_PATH names {path}, which is not there"))
            })?),
        };
        let registries = read(&settings.images.registries_conf).await?.filter(|text| names_registries(text));
        let mirrors = match registries {
            Some(registries) => {
                Some((registries, read(&settings.images.registries_ca).await?.unwrap_or_default()))
            }
            None => None,
        };
        let token = self.access.agent_token(record);
        Ok(DiscoveryInput { network, service_ca, mirrors, token, program })
    }

    fn config(&self, record: &InfraEnvRecord, with: &DiscoveryInput) -> Result<Config, MergeError> {
        let settings = &self.settings;
        let infra_env = &record.infra_env;
        let okd = &settings.images.okd_rpms_image;
        let input = Discovery {
            infra_env_id: infra_env.id,
            agent: Agent {
                service_url: settings.http.service_base_url.trim(),
                version: &settings.images.agent,
                delivery: match settings.images.agent_delivery {
                    AgentDelivery::Image => Delivery::Image(&settings.images.agent),
                    AgentDelivery::Binary => {
                        Delivery::Program { url: &with.program.0, sha512: &with.program.1 }
                    }
                },
                // Else the agent of Ironic starts it.
                starts_at_boot: record.internal_ignition.is_empty(),
                start_timeout: settings.hosts.agent_timeout_start,
                token: with.token.as_ref(),
                service_ca: with.service_ca.as_deref(),
                skip_cert_verification: settings.http.skip_cert_verification,
            },
            ssh_keys: &infra_env.ssh_authorized_key,
            pull_secret: &record.pull_secret,
            proxy: infra_env.proxy.as_ref(),
            trust_bundle: &infra_env.additional_trust_bundle,
            mirrors: with.mirrors.as_ref().map(|(registries_conf, ca)| Mirrors {
                registries_conf,
                ca,
                insecure_policy: settings.clusters.force_insecure_policy_json,
            }),
            time: time_sources(infra_env),
            network: &with.network,
            okd_rpms_image: (settings.images.enable_okd_support && !okd.is_empty()).then_some(okd),
        };
        let mut config = discovery(&input);
        // The user's lies over all else.
        for text in [&record.internal_ignition, &infra_env.ignition_config_override] {
            if !text.is_empty() {
                config = overlay(&config, text)?;
            }
        }
        Ok(config)
    }
}

fn time_sources(infra_env: &InfraEnv) -> TimeSources<'_> {
    match (infra_env.ntp_sources.as_str(), infra_env.additional_ntp_sources.as_str()) {
        ("", "") => TimeSources::Own,
        ("", additional) => TimeSources::Additional(additional),
        (only, _) => TimeSources::Only(only),
    }
}

pub(super) fn architecture(infra_env: &InfraEnv) -> ImageCpuArchitecture {
    infra_env.cpu_architecture.unwrap_or(ImageCpuArchitecture::X8664)
}

/// A text file of the service's own host; `None` when it is not there.
async fn read(path: &str) -> Result<Option<String>, Error> {
    let broken = |error: std::io::Error| Error::internal(format!("{path} can't be read: {error}"));
    match tokio::fs::metadata(path).await {
        Ok(metadata) if metadata.len() > LARGEST_FILE => {
            Err(Error::internal(format!("{path} is larger than 1 MiB")))
        }
        Ok(_) => Ok(Some(tokio::fs::read_to_string(path).await.map_err(broken)?)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(broken(error)),
    }
}
