//! What a person may do: by role, by the scope of the token, by whose the object is.

use assisted_auth::users::Authenticated;
use assisted_auth::{Caller, PersonRole, TokenResource, person};
use assisted_service::Service;
use assisted_wire::id::ClusterId;
use assisted_wire::operation::{Method, Operation, Security};
use jiff::Timestamp;
use uuid::Uuid;

use super::{PathParams, not_found, scope};
use crate::error::ApiError;

/// The caller that somebody is for an operation.
pub(super) async fn admit(
    service: &Service,
    who: &Authenticated,
    security: &Security,
    operation: &Operation,
    path: &PathParams<'_>,
    request_id: Uuid,
) -> Result<Caller, ApiError> {
    let name = &who.user.name;
    if !person::admits(who.role, operation, security.roles) {
        let role = who.role.as_str();
        let text = format!("{name}: Unauthorized to access route (insufficient role {role})");
        return Err(ApiError::framework(403, text));
    }
    let caller = who.caller(request_id);
    if let Some(resource) = who.scope.resource {
        let mut named = scope::resources(path).peekable();
        if named.peek().is_none() && operation.method != Method::Get {
            let text = format!("{name}: Unauthorized to access route (the token is for one resource)");
            return Err(ApiError::framework(403, text));
        }
        if !scope::reaches(service, resource, path).await? {
            return Err(not_found());
        }
    }
    if who.role == PersonRole::Admin {
        return Ok(caller);
    }
    for named in scope::resources(path) {
        let Some(resource) = named else { return Err(not_found()) };
        may_use(service, &caller, resource, operation.method != Method::Get).await?;
    }
    Ok(caller)
}

/// Whether a caller may see, or change, a resource. An infra-env may be changed by whoever may change its cluster, too.
pub(super) async fn may_use(
    service: &Service,
    caller: &Caller,
    resource: TokenResource,
    changes: bool,
) -> Result<(), ApiError> {
    let standing = service.access().standing(resource).await?.ok_or_else(not_found)?;
    let sees = caller.may_see(&standing.user_name, &standing.org_id);
    if !changes {
        return if sees { Ok(()) } else { Err(not_found()) };
    }
    if caller.may_change(&standing.user_name, &standing.org_id) {
        return Ok(());
    }
    if let (TokenResource::InfraEnv(_), Some(cluster)) = (resource, standing.cluster_id) {
        let cluster = service.access().standing(TokenResource::Cluster(cluster)).await?;
        if cluster.is_some_and(|owner| caller.may_change(&owner.user_name, &owner.org_id)) {
            return Ok(());
        }
    }
    if let Some(cluster) = standing.cluster_id
        && Box::pin(may_by_subscription(service, caller, cluster)).await?
    {
        return Ok(());
    }
    if sees { Err(ApiError::framework(403, "Unauthorized to manipulate object")) } else { Err(not_found()) }
}

/// Whether an account service lets a caller change a cluster that somebody else owns.
async fn may_by_subscription(
    service: &Service,
    caller: &Caller,
    cluster_id: ClusterId,
) -> Result<bool, ApiError> {
    let Some(accounts) = service.access().accounts().filter(|_| !caller.read_only) else { return Ok(false) };
    let Some(subscription) = service.access().subscription_of(cluster_id).await? else { return Ok(false) };
    Ok(accounts.may_update(&caller.user_name, &subscription, Timestamp::now()).await?)
}

/// Whether a caller may name a cluster in a body, to have something bound to it.
pub(crate) async fn may_bind_to(
    service: &Service,
    caller: &Caller,
    cluster_id: ClusterId,
) -> Result<(), ApiError> {
    let resource = TokenResource::Cluster(cluster_id);
    if caller.resource.is_some_and(|own| own != resource) {
        return Err(not_found());
    }
    if caller.lists() == (None, None) && !caller.read_only {
        return Ok(());
    }
    may_use(service, caller, resource, true).await
}
