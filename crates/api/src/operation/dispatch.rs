//! From an operation to its use case. The match has no wildcard: an operation without a use case does not compile.

use assisted_service::host::Poll;
use assisted_wire::cluster_params::IngressCertParams;
use assisted_wire::host_params::{BindHostParams, HostCreateParams};
use assisted_wire::infra_env::InfraEnvCreateParams;
use assisted_wire::operation::{OperationId, name};
use assisted_wire::rack::{MachineBootParams, MachinePowerParams};
use assisted_wire::support_level::FeatureSupportLevelId;
use assisted_wire::version::ReleaseImageParams;
use http::StatusCode;

use super::call::Call;
use super::{lists, query};
use crate::error::ApiError;
use crate::http::live::live_answer;
use crate::http::response::{Answer, bytes_answer, empty_answer, file_answer, json_answer};

/// Runs an operation's use case and words its outcome.
pub(super) async fn dispatch(call: &Call<'_>) -> Result<Answer, ApiError> {
    use OperationId as Id;
    let Call { service, caller, params, .. } = call;
    match call.operation.id {
        Id::GetNextSteps => get_next_steps(call).await,
        Id::PostStepReply => {
            service.hosts().post_step_reply(caller, call.host()?, call.body_or_default().await?).await?;
            Ok(empty_answer(call.status()))
        }

        Id::RegisterCluster => {
            call.budget.cluster(service, caller).await?;
            call.json(service.clusters().register(caller, call.body().await?)).await
        }
        Id::RegisterDisconnectedCluster => {
            call.budget.cluster(service, caller).await?;
            call.json(service.clusters().register_disconnected(caller, call.body().await?)).await
        }
        Id::ImportCluster => {
            call.budget.cluster(service, caller).await?;
            call.json(service.clusters().import(caller, call.body().await?)).await
        }
        Id::ListClusters => lists::clusters(call).await,
        Id::GetCluster => call.respond(service.clusters().get(caller, query::get_cluster(call)?)).await,
        Id::UpdateCluster => {
            call.json(service.clusters().update(caller, call.cluster_id()?, call.body().await?)).await
        }
        Id::DeregisterCluster => call.empty(service.clusters().deregister(caller, call.cluster_id()?)).await,
        Id::ListClusterHosts => {
            call.respond(service.clusters().list_hosts(caller, query::list_cluster_hosts(call)?)).await
        }
        Id::GetClusterSupportedPlatforms => {
            call.json(service.clusters().get_supported_platforms(caller, call.cluster_id()?)).await
        }
        Id::GetClusterDefaultConfig => call.json(service.clusters().get_default_config(caller)).await,
        Id::GetPreflightRequirements => {
            call.json(service.clusters().get_preflight_requirements(caller, call.cluster_id()?)).await
        }
        Id::GetIgnoredValidations => {
            call.json(service.clusters().get_ignored_validations(caller, call.cluster_id()?)).await
        }
        Id::SetIgnoredValidations => {
            let ignored = call.body_or_default().await?;
            call.json(service.clusters().set_ignored_validations(caller, call.cluster_id()?, ignored)).await
        }
        Id::GetClusterMirrorRegistry => {
            call.json(service.clusters().get_mirror_registry(caller, call.cluster_id()?)).await
        }
        Id::SetClusterMirrorRegistry => {
            let mirrors = call.body().await?;
            call.json(service.clusters().replace_mirror_registry(caller, call.cluster_id()?, mirrors)).await
        }
        Id::GetClusterUISettings => {
            call.json(service.clusters().get_ui_settings(caller, call.cluster_id()?)).await
        }
        Id::UpdateClusterUISettings => {
            let settings = call.body_or_default().await?;
            call.json(service.clusters().update_ui_settings(caller, call.cluster_id()?, settings)).await
        }
        Id::ListClusterValidations => {
            call.json(service.clusters().list_validations(caller, call.cluster_id()?)).await
        }
        Id::ListWork => call.json(service.work().list(caller, params.integer(name::LIMIT))).await,
        Id::ReleaseWork => call.empty(service.work().release(caller, call.text(name::WORK_ID))).await,
        Id::GetOnClusterLayering => {
            call.json(service.clusters().get_layering(caller, call.cluster_id()?)).await
        }
        Id::ReportOnClusterLayeringBuild => {
            let pool = call.text(name::POOL);
            call.empty(service.clusters().report_layering(
                caller,
                call.cluster_id()?,
                pool,
                call.body().await?,
            ))
            .await
        }
        Id::DownloadOnClusterLayeringLogs => {
            let pool = call.text(name::POOL);
            call.file(service.files().download_build_logs(caller, call.cluster_id()?, pool)).await
        }
        Id::GetMachineOSConfig => {
            let pool = call.text(name::POOL);
            let text = service.clusters().get_machine_os_config(caller, call.cluster_id()?, pool).await?;
            Ok(bytes_answer(call.status(), "application/octet-stream", text))
        }
        Id::ListClusterActions => {
            call.json(service.clusters().list_actions(caller, call.cluster_id()?)).await
        }

        Id::ListMachines => call.json(service.machines().list(caller)).await,
        Id::GetMachine => call.json(service.machines().get(caller, call.machine_id()?)).await,
        Id::AddMachine => call.json(service.machines().add(caller, call.body().await?)).await,
        Id::RemoveMachine => call.empty(service.machines().remove(caller, call.machine_id()?)).await,
        Id::SwitchMachine => {
            let MachinePowerParams { power } = call.body().await?;
            call.json(service.machines().switch(caller, call.machine_id()?, power)).await
        }
        Id::BootMachine => {
            let MachineBootParams { infra_env_id } = call.body().await?;
            call.json(service.machines().boot(caller, call.machine_id()?, infra_env_id)).await
        }

        Id::RegisterHost => {
            let (infra_env_id, params): (_, HostCreateParams) = (call.infra_env_id()?, call.body().await?);
            call.budget.registration(service, infra_env_id, params.host_id).await?;
            call.respond(service.hosts().register(caller, infra_env_id, params)).await
        }
        Id::ListHosts => lists::hosts(call).await,
        Id::GetHost => call.respond(service.hosts().get(caller, call.host()?)).await,
        Id::UpdateHost => {
            call.json(service.hosts().update(caller, call.host()?, call.body_or_default().await?)).await
        }
        Id::DeregisterHost => call.empty(service.hosts().deregister(caller, call.host()?)).await,
        Id::BindHost => {
            let params: BindHostParams = call.body().await?;
            call.may_bind_to(params.cluster_id).await?;
            call.json(service.hosts().bind(caller, call.host()?, params)).await
        }
        Id::UnbindHost => call.json(service.hosts().unbind(caller, call.host()?)).await,
        Id::ResetHostValidation => {
            let validation = call.text(name::VALIDATION_ID);
            call.empty(service.hosts().reset_validation(caller, call.host()?, validation)).await
        }
        Id::UpdateHostInstallerArgs => {
            let arguments = call.body_or_default().await?;
            call.json(service.hosts().update_installer_args(caller, call.host()?, arguments)).await
        }
        Id::GetHostIgnition => call.json(service.files().get_host_ignition(caller, call.host()?)).await,
        Id::UpdateHostIgnition => {
            let ignition = call.body_or_default().await?;
            call.empty(service.hosts().update_ignition(caller, call.host()?, ignition)).await
        }
        Id::DownloadHostIgnition => {
            call.file(service.files().download_host_ignition(caller, call.host()?)).await
        }
        Id::ListHostValidations => call.json(service.hosts().list_validations(caller, call.host()?)).await,

        Id::RegisterInfraEnv => {
            call.budget.infra_env(service, caller).await?;
            let params: InfraEnvCreateParams = call.body().await?;
            if let Some(cluster_id) = params.cluster_id {
                call.may_bind_to(cluster_id).await?;
            }
            call.json(service.infra_envs().register(caller, params)).await
        }
        Id::ListInfraEnvs => {
            call.respond(service.infra_envs().list(caller, query::list_infra_envs(params))).await
        }
        Id::GetInfraEnv => call.respond(service.infra_envs().get(caller, call.infra_env_id()?)).await,
        Id::UpdateInfraEnv => {
            let update = call.body_or_default().await?;
            call.json(service.infra_envs().update(caller, call.infra_env_id()?, update)).await
        }
        Id::DeregisterInfraEnv => {
            call.empty(service.infra_envs().deregister(caller, call.infra_env_id()?)).await
        }
        Id::GetInfraEnvDownloadURL => {
            call.json(service.infra_envs().get_download_url(caller, call.infra_env_id()?)).await
        }
        Id::GetImageState => {
            call.json(service.infra_envs().get_image_state(caller, call.infra_env_id()?)).await
        }
        Id::GetInfraEnvMirrorRegistry => {
            call.json(service.infra_envs().get_mirror_registry(caller, call.infra_env_id()?)).await
        }
        Id::SetInfraEnvMirrorRegistry => {
            let mirrors = call.body().await?;
            call.json(service.infra_envs().replace_mirror_registry(caller, call.infra_env_id()?, mirrors))
                .await
        }
        Id::RegenerateInfraEnvSigningKey => {
            call.empty(service.infra_envs().regenerate_signing_key(caller, call.infra_env_id()?)).await
        }
        Id::GetInfraEnvPresignedFileURL => {
            let file = query::infra_env_file(call)?;
            call.json(service.files().get_infra_env_presigned_file_url(caller, file)).await
        }
        Id::DownloadInfraEnvFiles => {
            let file = query::download_infra_env_files(call)?;
            call.file(service.infra_envs().download_files(caller, file)).await
        }
        Id::DownloadMinimalInitrd => {
            let ramdisk = service.infra_envs().download_minimal_initrd(caller, call.infra_env_id()?).await?;
            let none = || empty_answer(StatusCode::NO_CONTENT);
            Ok(ramdisk.map_or_else(none, |file| file_answer(call.status(), file)))
        }

        Id::InstallCluster => call.json(service.clusters().install(caller, call.cluster_id()?)).await,
        Id::CancelInstallation => {
            call.json(service.clusters().cancel_installation(caller, call.cluster_id()?)).await
        }
        Id::ResetCluster => call.json(service.clusters().reset(caller, call.cluster_id()?)).await,
        Id::TransformClusterToDay2 | Id::TransformClusterToAddingHosts => {
            call.json(service.clusters().transform_to_adding_hosts(caller, call.cluster_id()?)).await
        }
        Id::UpdateClusterFinalizingProgress => {
            let progress = call.body().await?;
            let cluster_id = call.cluster_id()?;
            call.empty(service.clusters().update_finalizing_progress(caller, cluster_id, progress)).await
        }
        Id::CompleteInstallation => {
            call.respond(service.clusters().complete_installation(
                caller,
                call.cluster_id()?,
                call.body().await?,
            ))
            .await
        }
        Id::InstallHost => call.json(service.hosts().install(caller, call.host()?)).await,
        Id::ResetHost => call.json(service.hosts().reset(caller, call.host()?)).await,
        Id::EnableHost => call.json(service.hosts().enable(caller, call.host()?)).await,
        Id::ReleaseMachine => call.json(service.hosts().release_machine(caller, call.host()?)).await,
        Id::DisableHost => call.json(service.hosts().disable(caller, call.host()?)).await,
        Id::UpdateHostInstallProgress => {
            call.empty(service.hosts().update_install_progress(caller, call.host()?, call.body().await?))
                .await
        }

        Id::ListClusterManifests => {
            let all = params.flag(name::INCLUDE_SYSTEM_GENERATED);
            call.json(service.files().list_cluster_manifests(caller, call.cluster_id()?, all)).await
        }
        Id::CreateClusterManifest => {
            call.json(service.files().create_cluster_manifest(caller, call.cluster_id()?, call.body().await?))
                .await
        }
        Id::UpdateClusterManifest => {
            call.json(service.files().update_cluster_manifest(caller, call.cluster_id()?, call.body().await?))
                .await
        }
        Id::DeleteClusterManifest => {
            call.empty(service.files().delete_cluster_manifest(caller, query::manifest_file(call)?)).await
        }
        Id::DownloadClusterManifest => {
            call.file(service.files().download_cluster_manifest(caller, query::manifest_file(call)?)).await
        }
        Id::DownloadClusterFiles => {
            let file = call.text(name::FILE_NAME);
            call.file(service.files().download_cluster_files(caller, call.cluster_id()?, file)).await
        }
        Id::DownloadClusterCredentials => {
            let file = call.text(name::FILE_NAME);
            call.file(service.files().download_cluster_credentials(caller, call.cluster_id()?, file)).await
        }
        Id::RenderCluster => call.file(service.clusters().render(caller, call.cluster_id()?)).await,
        Id::GetCredentials => call.json(service.files().get_credentials(caller, call.cluster_id()?)).await,
        Id::GetPresignedForClusterFiles => {
            let file = query::presigned_file(call)?;
            call.json(service.files().get_presigned_for_cluster_files(caller, file)).await
        }
        Id::GetPresignedForClusterCredentials => {
            let (cluster_id, file) = (call.cluster_id()?, call.text(name::FILE_NAME));
            call.json(service.files().get_presigned_for_cluster_credentials(caller, cluster_id, file)).await
        }
        Id::UploadClusterIngressCert => {
            let IngressCertParams(ca) = call.body().await?;
            call.empty(service.files().upload_cluster_ingress_cert(caller, call.cluster_id()?, &ca)).await
        }
        Id::GetClusterInstallConfig => {
            call.json(service.clusters().get_install_config(caller, call.cluster_id()?)).await
        }
        Id::UpdateClusterInstallConfig => {
            let overrides: String = call.body().await?;
            call.empty(service.clusters().update_install_config(caller, call.cluster_id()?, &overrides)).await
        }

        Id::UpdateClusterLogsProgress => {
            call.empty(service.files().update_cluster_logs_progress(
                caller,
                call.cluster_id()?,
                call.body().await?,
            ))
            .await
        }
        Id::UpdateHostLogsProgress => {
            call.empty(service.files().update_host_logs_progress(caller, call.host()?, call.body().await?))
                .await
        }
        Id::DownloadClusterLogs => {
            call.file(service.files().download_cluster_logs(caller, query::download_logs(call)?)).await
        }
        // Its body is too large to be held: it was passed on before anybody came here.
        Id::UploadLogs | Id::UploadOnClusterLayeringLogs => {
            Err(ApiError::application(500, "an upload has no body to be held".to_owned()))
        }

        Id::ListEvents => lists::events(call).await,
        Id::TriggerEvent => {
            call.budget.event(caller, call.peer)?;
            call.empty(service.events().trigger(caller, call.body().await?)).await
        }
        Id::Watch => {
            let seat = call.budget.watch(caller, call.peer)?;
            let watcher = service.events().watch(caller, query::watch(params)).await?;
            Ok(live_answer(call.status(), watcher, seat, call.stopping.clone()))
        }

        Id::ListSupportedOperators => call.json(service.catalogue().list_supported_operators(caller)).await,
        Id::ListOperators => {
            let version = params.text(name::OPENSHIFT_VERSION);
            call.json(service.catalogue().list_operators(caller, version)).await
        }
        Id::AssessClusterOperators => {
            let operator = params.text(name::OPERATOR_NAME);
            call.json(service.clusters().assess_operators(caller, call.cluster_id()?, operator)).await
        }
        Id::ListOperatorProperties => list_operator_properties(call).await,
        Id::ListOfClusterOperators => {
            let operator = params.text(name::OPERATOR_NAME);
            call.json(service.clusters().list_operators(caller, call.cluster_id()?, operator)).await
        }
        Id::ReportMonitoredOperatorStatus => {
            let report = call.body().await?;
            call.empty(service.clusters().report_monitored_operator_status(
                caller,
                call.cluster_id()?,
                report,
            ))
            .await
        }
        Id::ListBundles => {
            let (query, features) = (query::feature_query(params), query::feature_ids(params));
            call.json(service.catalogue().list_bundles(caller, query, &features)).await
        }
        Id::GetBundle => {
            let single_node = query::feature_ids(params).contains(&FeatureSupportLevelId::Sno);
            call.json(service.catalogue().get_bundle(caller, call.text(name::ID), single_node)).await
        }

        Id::ListManagedDomains => call.json(service.catalogue().list_managed_domains(caller)).await,
        Id::ListComponentVersions => call.json(service.catalogue().list_component_versions(caller)).await,
        Id::ListSupportedOpenshiftVersions => {
            let query = query::list_openshift_versions(params);
            call.json(service.catalogue().list_supported_openshift_versions(caller, query)).await
        }
        Id::ReadReleaseImage => {
            let ReleaseImageParams { url, pull_secret } = call.body().await?;
            call.json(service.catalogue().release_image(&url, &pull_secret)).await
        }
        Id::ListReleaseSources => call.json(service.catalogue().list_release_sources(caller)).await,
        Id::GetSupportedFeatures => {
            call.json(service.catalogue().get_supported_features(caller, query::feature_query(params))).await
        }
        Id::GetDetailedSupportedFeatures => {
            call.json(
                service.catalogue().get_detailed_supported_features(caller, query::feature_query(params)),
            )
            .await
        }
        Id::GetSupportedArchitectures => {
            let version = call.text(name::OPENSHIFT_VERSION);
            call.json(service.catalogue().get_supported_architectures(caller, version)).await
        }
    }
}

/// What a host is told to do next.
pub(super) async fn get_next_steps(call: &Call<'_>) -> Result<Answer, ApiError> {
    let poll = Poll {
        host: call.host()?,
        timestamp: call.params.integer(name::TIMESTAMP).unwrap_or_default(),
        agent_version: call.params.text(name::DISCOVERY_AGENT_VERSION),
    };
    let steps = call.service.hosts().get_next_steps(&call.caller, poll).await?;
    Ok(bytes_answer(call.status(), "application/json", steps))
}

async fn list_operator_properties(call: &Call<'_>) -> Result<Answer, ApiError> {
    let operator = call.text(name::OPERATOR_NAME);
    match call.service.catalogue().list_operator_properties(&call.caller, operator).await? {
        Some(properties) => Ok(json_answer(call.status(), &properties)),
        // Without a body (service-api §9).
        None => Ok(empty_answer(StatusCode::NOT_FOUND)),
    }
}
