//! Operations on files, manifests, logs and the install config of a cluster.

use assisted_service::file::InfraEnvFile;
use assisted_service::infra_env::DownloadInfraEnvFiles;
use assisted_service::log::DownloadLogs;
use assisted_service::manifest::ManifestFile;
use assisted_wire::cluster_params::IngressCertParams;
use assisted_wire::id::HostId;
use assisted_wire::manifest::ManifestFolder;
use assisted_wire::operation::OperationId;
use http::StatusCode;

use super::dispatch::{empty, json};
use super::{Input, query};
use crate::check::params::Params;
use crate::http::error::ApiError;
use crate::http::response::{Answer, empty_answer, file_answer};

/// Runs an operation's use case and words its outcome.
pub(super) async fn dispatch(
    id: OperationId,
    status: StatusCode,
    input: &Input<'_>,
) -> Result<Answer, ApiError> {
    use OperationId as Id;
    let Input { service, bodies, caller, params, body, .. } = input;
    let cluster_id = query::cluster_id(params);
    let file_name = params.text("file_name").unwrap_or_default();
    match id {
        Id::ListClusterManifests => {
            let all = params.flag("include_system_generated");
            json(status, service.list_cluster_manifests(caller, cluster_id, all).await)
        }
        Id::CreateClusterManifest => {
            let params = bodies.decode_required(id, body)?;
            json(status, service.create_cluster_manifest(caller, cluster_id, params).await)
        }
        Id::UpdateClusterManifest => {
            let params = bodies.decode_required(id, body)?;
            json(status, service.update_cluster_manifest(caller, cluster_id, params).await)
        }
        Id::DeleteClusterManifest => {
            empty(status, service.delete_cluster_manifest(caller, manifest_file(params)).await)
        }
        Id::DownloadClusterManifest => {
            Ok(file_answer(status, service.download_cluster_manifest(caller, manifest_file(params)).await?))
        }

        Id::DownloadClusterFiles => {
            Ok(file_answer(status, service.download_cluster_files(caller, cluster_id, file_name).await?))
        }
        Id::DownloadClusterCredentials => Ok(file_answer(
            status,
            service.download_cluster_credentials(caller, cluster_id, file_name).await?,
        )),
        Id::RenderCluster => Ok(file_answer(status, service.render_cluster(caller, cluster_id).await?)),
        Id::GetCredentials => json(status, service.get_credentials(caller, cluster_id).await),
        Id::GetPresignedForClusterFiles | Id::GetPresignedForClusterCredentials => {
            json(status, service.get_presigned_for_cluster_files(caller).await)
        }
        Id::GetInfraEnvPresignedFileURL => {
            let file = InfraEnvFile {
                infra_env_id: query::infra_env_id(params),
                file_name: file_name.to_owned(),
                ipxe_script_type: params.text("ipxe_script_type").map(str::to_owned),
            };
            json(status, service.get_infra_env_presigned_file_url(caller, file).await)
        }
        Id::DownloadInfraEnvFiles => {
            let owned = |name: &str| params.text(name).map(str::to_owned);
            let query = DownloadInfraEnvFiles {
                infra_env_id: query::infra_env_id(params),
                file_name: file_name.to_owned(),
                discovery_iso_type: params.text("discovery_iso_type").and_then(|kind| kind.parse().ok()),
                mac: owned("mac"),
                ipxe_script_type: owned("ipxe_script_type"),
            };
            Ok(file_answer(status, service.download_infra_env_files(caller, query).await?))
        }
        Id::DownloadMinimalInitrd => {
            let ramdisk = service.download_minimal_initrd(caller, query::infra_env_id(params)).await?;
            Ok(ramdisk.map_or_else(|| empty_answer(StatusCode::NO_CONTENT), |file| file_answer(status, file)))
        }
        Id::DownloadHostIgnition => {
            Ok(file_answer(status, service.download_host_ignition(caller, query::host_key(params)).await?))
        }
        Id::GetHostIgnition => json(status, service.get_host_ignition(caller, query::host_key(params)).await),
        Id::UploadClusterIngressCert => {
            let IngressCertParams(ca) = bodies.decode_required(id, body)?;
            empty(status, service.upload_cluster_ingress_cert(caller, cluster_id, &ca).await)
        }

        Id::GetClusterInstallConfig => {
            json(status, service.get_cluster_install_config(caller, cluster_id).await)
        }
        Id::UpdateClusterInstallConfig => {
            let overrides: String = bodies.decode_required(id, body)?;
            empty(status, service.update_cluster_install_config(caller, cluster_id, &overrides).await)
        }

        Id::UpdateClusterLogsProgress => {
            let params = bodies.decode_required(id, body)?;
            empty(status, service.update_cluster_logs_progress(caller, cluster_id, params).await)
        }
        Id::UpdateHostLogsProgress => {
            let host = query::host_key(params);
            let params = bodies.decode_required(id, body)?;
            empty(status, service.update_host_logs_progress(caller, host, params).await)
        }
        Id::DownloadClusterLogs => {
            let query = DownloadLogs {
                cluster_id,
                logs_type: params.text("logs_type").and_then(|kind| kind.parse().ok()),
                host_id: params.uuid("host_id").map(HostId),
            };
            Ok(file_answer(status, service.download_cluster_logs(caller, query).await?))
        }

        // A test asks for every operation.
        _ => Err(ApiError::application(501, format!("Operation {} is not available", id.operation().name))),
    }
}

fn manifest_file(params: &Params) -> ManifestFile {
    let folder = params.text("folder").and_then(|folder| folder.parse().ok());
    ManifestFile {
        cluster_id: query::cluster_id(params),
        folder: folder.unwrap_or(ManifestFolder::Manifests),
        file_name: params.text("file_name").unwrap_or_default().to_owned(),
    }
}
