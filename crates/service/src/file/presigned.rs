//! URLs that carry their own permission (service-api §5.7, §7.5).

use std::path::{Component, Path};

use assisted_core::model::refusal::{Refusal, RefusalKind};
use assisted_seal::text;
use assisted_wire::cluster::LogsType;
use assisted_wire::cluster_params::PresignedUrl;
use assisted_wire::id::{ClusterId, HostId, InfraEnvId};
use assisted_wire::operation::BASE_PATH;
use assisted_wire::secret::Secret;
use assisted_wire::time::DateTime;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use url::form_urlencoded;

use super::Files;
use super::log::DownloadLogs;
use super::manifest::ManifestFile;
use crate::attempt::final_error;
use crate::not_found::no_infra_env;
use crate::stored_file::File;
use crate::{Caller, Error};

/// Path, below that of the API, of addresses that open a file of a cluster.
pub const PRESIGNED_PATH: &str = "/v2/presigned";

/// The parameter of such an address.
pub const PRESIGNED_TOKEN: &str = "token";

/// How long such an address is good.
const GOOD: SignedDuration = SignedDuration::from_secs(10 * 60);

/// What its token is sealed for: nothing else that the same keys have sealed is taken for one.
const PLACE: &str = "presigned";

/// Longer texts are no tokens.
const LONGEST: usize = 4096;

/// A file of an infra-env. All texts are values of the API's lists.
#[derive(Clone, Debug)]
pub struct InfraEnvFile {
    pub infra_env_id: InfraEnvId,
    pub file_name: String,
    pub ipxe_script_type: Option<String>,
}

/// A file of a cluster as it is asked for. All texts but the name of a manifest are values of the API's lists.
#[derive(Clone, Debug)]
pub struct PresignedFile {
    pub cluster_id: ClusterId,
    pub file_name: String,
    pub logs_type: Option<LogsType>,
    pub host_id: Option<HostId>,
    /// Folder and name of a manifest.
    pub additional_name: Option<String>,
}

/// What a token says.
#[derive(Serialize, Deserialize)]
struct Claims {
    /// When it ends.
    until: Timestamp,
    file: ClusterFile,
}

/// The one file that a token opens.
#[derive(Serialize, Deserialize)]
enum ClusterFile {
    Generated { cluster_id: ClusterId, name: String },
    Credentials { cluster_id: ClusterId, name: String },
    Logs(DownloadLogs),
    Manifest(ManifestFile),
}

impl PresignedFile {
    fn file(self) -> Result<ClusterFile, Refusal> {
        let Self { cluster_id, file_name: name, logs_type, host_id, additional_name } = self;
        match name.as_str() {
            "logs" => {
                let logs_type = logs_type.or(host_id.map(|_| LogsType::Host));
                Ok(ClusterFile::Logs(DownloadLogs { cluster_id, logs_type, host_id }))
            }
            "manifests" => {
                manifest(cluster_id, &additional_name.unwrap_or_default()).map(ClusterFile::Manifest)
            }
            _ => Ok(ClusterFile::Generated { cluster_id, name }),
        }
    }
}

/// The manifest of this folder and name.
fn manifest(cluster_id: ClusterId, path: &str) -> Result<ManifestFile, Refusal> {
    if path.is_empty() {
        return Err(Refusal::internal(
            "Additional name must be provided for 'manifests' file name, prefaced with folder name, e.g.: \
             openshift/99-openshift-xyz.yaml",
        ));
    }
    if !Path::new(path).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir)) {
        return Err(Refusal::invalid("additional_name must be local to the manifest directory"));
    }
    let named = path.split_once('/').and_then(|(folder, file_name)| {
        Some(ManifestFile { cluster_id, folder: folder.parse().ok()?, file_name: file_name.to_owned() })
    });
    named.ok_or_else(|| {
        Refusal::not_found(format!("Cluster manifest {path} doesn't exist in cluster {cluster_id}"))
    })
}

impl Files {
    /// A URL that opens a file of a cluster to whoever has it, for ten minutes. It leads to the service: what a bucket keeps is sealed
    /// (docs/adr/0026).
    ///
    /// # Errors
    ///
    /// 400 where files are kept in a folder, and for names that lead out of the manifests; else those of the download.
    pub async fn get_presigned_for_cluster_files(
        &self,
        caller: &Caller,
        asked: PresignedFile,
    ) -> Result<PresignedUrl, Error> {
        self.check_backend()?;
        self.presign(caller, asked.file()?).await
    }

    /// The same for the administrator's credentials.
    ///
    /// # Errors
    ///
    /// 400 where files are kept in a folder; else those of the download.
    pub async fn get_presigned_for_cluster_credentials(
        &self,
        caller: &Caller,
        cluster_id: ClusterId,
        file_name: &str,
    ) -> Result<PresignedUrl, Error> {
        self.check_backend()?;
        self.presign(caller, ClusterFile::Credentials { cluster_id, name: file_name.to_owned() }).await
    }

    /// The file that a token from such a URL opens.
    ///
    /// # Errors
    ///
    /// 403 for a token that is not good, or not any more; 404 when the file can't be downloaded any more.
    pub async fn download_presigned(&self, caller: &Caller, token: &Secret) -> Result<File, Error> {
        let file = self.file_of(token).ok_or_else(|| Error::Infra {
            kind: RefusalKind::Forbidden,
            message: "the address of the file is not good, or not any more".to_owned(),
        })?;
        match self.open_cluster_file(caller, &file).await {
            // Whoever has the address is told nothing of the cluster.
            Err(Error::Refused(refusal))
                if matches!(
                    refusal.kind,
                    RefusalKind::NotFound | RefusalKind::Conflict | RefusalKind::Invalid
                ) =>
            {
                Err(Refusal::not_found("The file of this address was not found").into())
            }
            opened => opened,
        }
    }

    /// Refuses where the replaced service has no URLs to give out.
    fn check_backend(&self) -> Result<(), Refusal> {
        if self.blob.is_bucket() {
            return Ok(());
        }
        Err(Refusal::invalid("Failed to generate presigned URL: invalid backend"))
    }

    async fn presign(&self, caller: &Caller, file: ClusterFile) -> Result<PresignedUrl, Error> {
        // What can't be downloaded has no URL.
        self.open_cluster_file(caller, &file).await?;
        let until = self.database.now().checked_add(GOOD).unwrap_or(Timestamp::MAX);
        let claims = serde_json::to_string(&Claims { until, file }).map_err(Error::internal)?;
        let token = text::seal(&self.keys, PLACE, &claims).map_err(Error::internal)?;
        let token: String = form_urlencoded::byte_serialize(token.as_bytes()).collect();
        let base = self.settings.http.service_base_url.trim_end_matches('/');
        let url = format!("{base}{BASE_PATH}{PRESIGNED_PATH}?{PRESIGNED_TOKEN}={token}");
        Ok(PresignedUrl { url, expires_at: DateTime(until) })
    }

    /// The file that a token is for; `None`: it was changed, is not of this service, or is over.
    fn file_of(&self, token: &Secret) -> Option<ClusterFile> {
        let sealed = Some(token.expose()).filter(|text| text.len() <= LONGEST)?;
        let claims: Claims = serde_json::from_str(&text::open(&self.keys, PLACE, sealed).ok()?).ok()?;
        (self.database.now() < claims.until).then_some(claims.file)
    }

    async fn open_cluster_file(&self, caller: &Caller, file: &ClusterFile) -> Result<File, Error> {
        match file {
            ClusterFile::Generated { cluster_id, name } => {
                self.download_cluster_files(caller, *cluster_id, name).await
            }
            ClusterFile::Credentials { cluster_id, name } => {
                self.download_cluster_credentials(caller, *cluster_id, name).await
            }
            ClusterFile::Logs(logs) => Box::pin(self.download_cluster_logs(caller, *logs)).await,
            ClusterFile::Manifest(manifest) => self.download_cluster_manifest(caller, manifest.clone()).await,
        }
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
