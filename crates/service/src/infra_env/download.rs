//! Files of an infra-env (service-api §5.7).

use assisted_core::model::infra_env::InfraEnvRecord;
use assisted_core::model::refusal::Refusal;
use assisted_wire::id::InfraEnvId;
use assisted_wire::infra_env::ImageType;

use super::InfraEnvs;
use super::ipxe::IpxeScript;
use crate::attempt::final_error;
use crate::not_found::no_infra_env;
use crate::stored_file::File;
use crate::{Caller, Error};

/// A file of an infra-env. All texts are values of the API's lists.
#[derive(Clone, Debug)]
pub struct DownloadInfraEnvFiles {
    pub infra_env_id: InfraEnvId,
    pub file_name: String,
    /// Kind of image that the Ignition config is for; `None`: the infra-env's own.
    pub discovery_iso_type: Option<ImageType>,
    /// MAC address of the machine that asks for a script.
    pub mac: Option<String>,
    pub ipxe_script_type: Option<String>,
}

impl InfraEnvs {
    /// A file of an infra-env: its Ignition config, its iPXE script or its networks.
    ///
    /// # Errors
    ///
    /// 404 when there is no such infra-env, 400 for a type of script with another file; 404 for the script of a machine that is
    /// installed; 503 when a setting of the service is missing.
    pub async fn download_files(&self, _: &Caller, query: DownloadInfraEnvFiles) -> Result<File, Error> {
        let id = query.infra_env_id;
        let stored =
            self.database.known_infra_env(id).await.map_err(final_error)?.ok_or_else(|| no_infra_env(id))?;
        let record = &stored.record;
        let of_script = query.file_name == IPXE_SCRIPT;
        if query.ipxe_script_type.is_some() && !of_script {
            // As clients know it (service-api §5.7).
            return Err(Refusal::invalid(r#""ipxe_script_type"" can be set only for "ipxe-script""#).into());
        }
        let (name, content) = match query.file_name.as_str() {
            "discovery.ign" => {
                let own = record.infra_env.r#type;
                let content = match own {
                    ImageType::DisconnectedIso => self.unconfigured_ignition(record).await?,
                    own => self.discovery_ignition(record, query.discovery_iso_type.unwrap_or(own)).await?,
                };
                ("discovery.ign".to_owned(), content)
            }
            IPXE_SCRIPT => {
                let boot_order_control = query.ipxe_script_type.as_deref() == Some("boot-order-control");
                let query = IpxeScript { mac: query.mac, boot_order_control };
                (format!("{id}-ipxe-script"), self.ipxe_script(record, &query).await?.into_bytes())
            }
            _ => match self.network_archive(record).await? {
                Some(archive) => (format!("{id}-static-network-config.tar"), archive),
                None => Default::default(),
            },
        };
        Ok(File::whole(name, content).modified(record.infra_env.updated_at))
    }

    /// What a minimal image adds to its initramfs; `None`: nothing.
    ///
    /// # Errors
    ///
    /// 404 when there is no such infra-env.
    pub async fn download_minimal_initrd(&self, _: &Caller, id: InfraEnvId) -> Result<Option<File>, Error> {
        let stored =
            self.database.known_infra_env(id).await.map_err(final_error)?.ok_or_else(|| no_infra_env(id))?;
        let record = &stored.record;
        let ramdisk = self.ramdisk(record).await?;
        Ok(ramdisk.map(|ramdisk| {
            File::whole("minimal-initrd".to_owned(), ramdisk).modified(record.infra_env.updated_at)
        }))
    }
}

impl InfraEnvs {
    /// The config of an image that brings the release of the bound cluster along, made by that release's installer.
    async fn unconfigured_ignition(&self, record: &InfraEnvRecord) -> Result<Vec<u8>, Error> {
        let cluster = match record.infra_env.cluster_id {
            Some(id) => self.database.cached_cluster(id).await.map_err(final_error)?,
            None => None,
        };
        let cluster = cluster.ok_or_else(|| {
            Refusal::not_found("a disconnected ISO needs a cluster: bind the infra-env to one")
        })?;
        let _turn = self.reviews.wait().await?;
        Ok(self.generator.unconfigured_ignition(&cluster.record, record).await?)
    }
}

const IPXE_SCRIPT: &str = "ipxe-script";
