//! Whether a path stays within the one resource of a token.

use assisted_auth::TokenResource;
use assisted_service::Service;
use assisted_wire::id::{ClusterId, InfraEnvId};
use uuid::Uuid;

use super::PathParams;
use crate::error::ApiError;

/// Whether a path names the token's resource and nothing else.
pub(super) fn is_within(resource: TokenResource, path: &PathParams<'_>) -> bool {
    resources(path).all(|named| named == Some(resource))
}

/// Whether a path names the token's resource, or what belongs to it: the clusters that an infra-env's hosts are bound to, the
/// infra-envs that a cluster's hosts are of.
pub(super) async fn reaches(
    service: &Service,
    resource: TokenResource,
    path: &PathParams<'_>,
) -> Result<bool, ApiError> {
    for named in resources(path) {
        let within = match (named, resource) {
            (None, _) => false,
            (Some(named), own) if named == own => true,
            (Some(TokenResource::Cluster(cluster)), TokenResource::InfraEnv(own)) => {
                service.access().reaches(own, cluster).await?
            }
            (Some(TokenResource::InfraEnv(infra_env)), TokenResource::Cluster(own)) => {
                service.access().reaches(infra_env, own).await?
            }
            (Some(_), _) => false,
        };
        if !within {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The clusters and infra-envs that a path names; `None`: what is no id.
pub(super) fn resources(path: &PathParams<'_>) -> impl Iterator<Item = Option<TokenResource>> {
    path.iter().filter_map(|(name, value)| {
        let id = || Uuid::try_parse(value).ok();
        match *name {
            "infra_env_id" => Some(id().map(|id| TokenResource::InfraEnv(InfraEnvId(id)))),
            "cluster_id" => Some(id().map(|id| TokenResource::Cluster(ClusterId(id)))),
            _ => None,
        }
    })
}

/// The refusal of a token whose object does not exist.
pub(super) fn missing(resource: TokenResource) -> String {
    match resource {
        TokenResource::InfraEnv(id) => format!("infraEnv {id} does not exist"),
        TokenResource::Cluster(id) => format!("Cluster {id} does not exist"),
    }
}
