//! From an operation to its use case; a test holds that each has one.

use assisted_service::event::EventPage;
use assisted_service::host::Poll;
use assisted_wire::operation::{Operation, OperationId};
use http::{HeaderName, HeaderValue, StatusCode};
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use super::{Input, install, query};
use crate::http::error::ApiError;
use crate::http::live::live_answer;
use crate::http::response::{Answer, bytes_answer, empty_answer, json_answer};

/// Runs an operation's use case and words its outcome.
pub(super) async fn dispatch(operation: &Operation, input: Input<'_>) -> Result<Answer, ApiError> {
    use OperationId as Id;
    let Input { service, bodies, caller, params, body, stopping } = &input;
    let id = operation.id;
    let status = operation
        .success
        .first()
        .and_then(|success| StatusCode::from_u16(success.status).ok())
        .unwrap_or(StatusCode::OK);
    let cluster_id = || query::cluster_id(params);
    let infra_env_id = || query::infra_env_id(params);
    let host = || query::host_key(params);

    match id {
        // The two that make up almost all requests.
        Id::GetNextSteps => {
            let poll = Poll {
                host: host(),
                timestamp: params.integer("timestamp").unwrap_or_default(),
                agent_version: params.text("discovery_agent_version"),
            };
            let steps = service.get_next_steps(caller, poll).await?;
            Ok(bytes_answer(status, "application/json", steps))
        }
        Id::PostStepReply => {
            let reply = bodies.decode(id, body)?;
            service.post_step_reply(caller, host(), reply).await?;
            Ok(empty_answer(status))
        }

        Id::RegisterCluster => {
            let params = bodies.decode_required(id, body)?;
            json(status, Box::pin(service.register_cluster(caller, params)).await)
        }
        Id::RegisterDisconnectedCluster => {
            let params = bodies.decode_required(id, body)?;
            json(status, Box::pin(service.register_disconnected_cluster(caller, params)).await)
        }
        Id::ImportCluster => {
            let params = bodies.decode_required(id, body)?;
            json(status, Box::pin(service.import_cluster(caller, params)).await)
        }
        Id::ListClusters => {
            json(status, Box::pin(service.list_clusters(caller, query::list_clusters(params))).await)
        }
        Id::GetCluster => {
            json(status, Box::pin(service.get_cluster(caller, query::get_cluster(params))).await)
        }
        Id::UpdateCluster => {
            let params = bodies.decode_required(id, body)?;
            json(status, Box::pin(service.update_cluster(caller, cluster_id(), params)).await)
        }
        Id::DeregisterCluster => empty(status, service.deregister_cluster(caller, cluster_id()).await),
        Id::ListClusterHosts => {
            json(status, service.list_cluster_hosts(caller, query::list_cluster_hosts(params)).await)
        }
        Id::GetClusterSupportedPlatforms => {
            json(status, service.get_cluster_supported_platforms(caller, cluster_id()).await)
        }
        Id::GetClusterDefaultConfig => json(status, service.get_cluster_default_config(caller).await),
        Id::GetPreflightRequirements => {
            json(status, service.get_preflight_requirements(caller, cluster_id()).await)
        }
        Id::GetIgnoredValidations => {
            json(status, service.get_ignored_validations(caller, cluster_id()).await)
        }
        Id::SetIgnoredValidations => {
            let params = bodies.decode(id, body)?;
            json(status, service.set_ignored_validations(caller, cluster_id(), params).await)
        }
        Id::GetClusterUISettings => json(status, service.get_cluster_ui_settings(caller, cluster_id()).await),
        Id::UpdateClusterUISettings => {
            let settings = bodies.decode(id, body)?;
            json(status, service.update_cluster_ui_settings(caller, cluster_id(), settings).await)
        }

        Id::RegisterHost => {
            let params = bodies.decode_required(id, body)?;
            json(status, Box::pin(service.register_host(caller, infra_env_id(), params)).await)
        }
        Id::ListHosts => json(status, service.list_hosts(caller, infra_env_id()).await),
        Id::GetHost => json(status, service.get_host(caller, host()).await),
        Id::UpdateHost => {
            let params = bodies.decode(id, body)?;
            json(status, Box::pin(service.update_host(caller, host(), params)).await)
        }
        Id::DeregisterHost => empty(status, Box::pin(service.deregister_host(caller, host())).await),
        Id::BindHost => {
            let params = bodies.decode_required(id, body)?;
            json(status, Box::pin(service.bind_host(caller, host(), params)).await)
        }
        Id::UnbindHost => json(status, Box::pin(service.unbind_host(caller, host())).await),
        Id::ResetHostValidation => {
            let validation = params.text("validation_id").unwrap_or_default();
            empty(status, service.reset_host_validation(caller, host(), validation).await)
        }
        Id::UpdateHostInstallerArgs => {
            let params = bodies.decode(id, body)?;
            json(status, service.update_host_installer_args(caller, host(), params).await)
        }
        Id::UpdateHostIgnition => {
            let params = bodies.decode(id, body)?;
            empty(status, service.update_host_ignition(caller, host(), params).await)
        }

        Id::RegisterInfraEnv => {
            let params = bodies.decode_required(id, body)?;
            json(status, Box::pin(service.register_infra_env(caller, params)).await)
        }
        Id::ListInfraEnvs => {
            json(status, service.list_infra_envs(caller, query::list_infra_envs(params)).await)
        }
        Id::GetInfraEnv => json(status, service.get_infra_env(caller, infra_env_id()).await),
        Id::UpdateInfraEnv => {
            let params = bodies.decode(id, body)?;
            json(status, Box::pin(service.update_infra_env(caller, infra_env_id(), params)).await)
        }
        Id::DeregisterInfraEnv => empty(status, service.deregister_infra_env(caller, infra_env_id()).await),
        Id::GetInfraEnvDownloadURL => {
            json(status, service.get_infra_env_download_url(caller, infra_env_id()).await)
        }
        Id::RegenerateInfraEnvSigningKey => {
            empty(status, service.regenerate_infra_env_signing_key(caller, infra_env_id()).await)
        }

        Id::ListEvents => {
            let page = service.list_events(caller, query::list_events(params)).await?;
            Ok(events(status, &page))
        }
        Id::TriggerEvent => {
            let event = bodies.decode_required(id, body)?;
            empty(status, service.trigger_event(caller, event).await)
        }

        Id::Watch => {
            let watcher = service.watch(caller, query::watch(params)).await?;
            Ok(live_answer(status, watcher, CancellationToken::clone(stopping)))
        }

        Id::ListClusterValidations => {
            json(status, service.list_cluster_validations(caller, cluster_id()).await)
        }
        Id::ListHostValidations => json(status, service.list_host_validations(caller, host()).await),

        Id::ListManagedDomains => json(status, service.list_managed_domains(caller).await),
        Id::ListComponentVersions => json(status, service.list_component_versions(caller).await),
        Id::ListSupportedOpenshiftVersions => {
            let query = query::list_openshift_versions(params);
            json(status, service.list_supported_openshift_versions(caller, query).await)
        }
        Id::ListReleaseSources => json(status, service.list_release_sources(caller).await),
        Id::GetSupportedFeatures => {
            json(status, service.get_supported_features(caller, query::feature_query(params)).await)
        }
        Id::GetDetailedSupportedFeatures => {
            json(status, service.get_detailed_supported_features(caller, query::feature_query(params)).await)
        }
        Id::GetSupportedArchitectures => {
            let version = params.text("openshift_version").unwrap_or_default();
            json(status, service.get_supported_architectures(caller, version).await)
        }

        _ => install::dispatch(id, status, &input).await,
    }
}

pub(super) fn json<T: Serialize>(
    status: StatusCode,
    outcome: Result<T, assisted_service::Error>,
) -> Result<Answer, ApiError> {
    Ok(json_answer(status, &outcome?))
}

pub(super) fn empty(
    status: StatusCode,
    outcome: Result<(), assisted_service::Error>,
) -> Result<Answer, ApiError> {
    outcome?;
    Ok(empty_answer(status))
}

/// The counts travel in headers (service-api §11.2).
fn events(status: StatusCode, page: &EventPage) -> Answer {
    let mut answer = json_answer(status, &page.events);
    for (name, count) in [
        (HeaderName::from_static("severity-count-info"), page.info),
        (HeaderName::from_static("severity-count-warning"), page.warning),
        (HeaderName::from_static("severity-count-error"), page.error),
        (HeaderName::from_static("severity-count-critical"), page.critical),
        (HeaderName::from_static("event-count"), page.total),
    ] {
        answer.headers_mut().insert(name, HeaderValue::from(count));
    }
    answer
}
