//! Operations of an installation: what users ask for, what installers and controllers report; operators.

use assisted_wire::operation::OperationId;
use assisted_wire::support_level::FeatureSupportLevelId;
use http::StatusCode;

use super::dispatch::{empty, json};
use super::{Input, files, query};
use crate::http::error::ApiError;
use crate::http::response::{Answer, empty_answer, json_answer};

/// Runs an operation's use case and words its outcome.
pub(super) async fn dispatch(
    id: OperationId,
    status: StatusCode,
    input: &Input<'_>,
) -> Result<Answer, ApiError> {
    use OperationId as Id;
    let Input { service, bodies, caller, params, body, .. } = input;
    let cluster_id = query::cluster_id(params);
    let host = query::host_key(params);
    match id {
        Id::InstallCluster => json(status, Box::pin(service.install_cluster(caller, cluster_id)).await),
        Id::CancelInstallation => {
            json(status, Box::pin(service.cancel_installation(caller, cluster_id)).await)
        }
        Id::ResetCluster => json(status, Box::pin(service.reset_cluster(caller, cluster_id)).await),
        Id::TransformClusterToDay2 | Id::TransformClusterToAddingHosts => {
            json(status, Box::pin(service.transform_cluster_to_adding_hosts(caller, cluster_id)).await)
        }
        Id::UpdateClusterFinalizingProgress => {
            let params = bodies.decode_required(id, body)?;
            empty(
                status,
                Box::pin(service.update_cluster_finalizing_progress(caller, cluster_id, params)).await,
            )
        }
        Id::CompleteInstallation => {
            let params = bodies.decode_required(id, body)?;
            json(status, Box::pin(service.complete_installation(caller, cluster_id, params)).await)
        }
        Id::ListOfClusterOperators => {
            let name = params.text("operator_name");
            json(status, service.list_of_cluster_operators(caller, cluster_id, name).await)
        }
        Id::ReportMonitoredOperatorStatus => {
            let report = bodies.decode_required(id, body)?;
            empty(
                status,
                Box::pin(service.report_monitored_operator_status(caller, cluster_id, report)).await,
            )
        }
        Id::ListClusterActions => json(status, service.list_cluster_actions(caller, cluster_id).await),

        Id::InstallHost => json(status, Box::pin(service.install_host(caller, host)).await),
        Id::ResetHost => json(status, Box::pin(service.reset_host(caller, host)).await),
        Id::EnableHost => json(status, Box::pin(service.enable_host(caller, host)).await),
        Id::DisableHost => json(status, Box::pin(service.disable_host(caller, host)).await),
        Id::UpdateHostInstallProgress => {
            let progress = bodies.decode_required(id, body)?;
            empty(status, Box::pin(service.update_host_install_progress(caller, host, progress)).await)
        }

        Id::ListSupportedOperators => json(status, service.list_supported_operators(caller).await),
        Id::ListOperatorProperties => {
            let name = params.text("operator_name").unwrap_or_default();
            match service.list_operator_properties(caller, name).await? {
                Some(properties) => Ok(json_answer(status, &properties)),
                // Without a body (service-api §9).
                None => Ok(empty_answer(StatusCode::NOT_FOUND)),
            }
        }
        Id::ListBundles => {
            let (query, features) = (query::feature_query(params), query::feature_ids(params));
            json(status, service.list_bundles(caller, query, &features).await)
        }
        Id::GetBundle => {
            let bundle = params.text("id").unwrap_or_default();
            let single_node = query::feature_ids(params).contains(&FeatureSupportLevelId::Sno);
            json(status, service.get_bundle(caller, bundle, single_node).await)
        }

        _ => files::dispatch(id, status, input).await,
    }
}
