//! Those who have an account with the account service (service-api §14.4).

use assisted_auth::{AccountError, Accounts, Caller, Kind};
use assisted_wire::operation::{Method, Role, Scheme};
use assisted_wire::secret::Secret;
use jiff::Timestamp;

use super::{CredentialCheck, Failure, image, not_allowed, not_found, person, scope};
use crate::error::ApiError;

/// The caller that an account stands for, if it may do this.
pub(super) async fn caller(accounts: &Accounts, check: &CredentialCheck<'_>) -> Result<Caller, Failure> {
    let now = Timestamp::now();
    let failed = |error: AccountError| Failure::Unknown(error.into());
    let (account, kind) = match check.security.scheme {
        Scheme::User => {
            let token = check.credential.bearer().map_err(Failure::Unknown)?;
            (accounts.user(token, now).await.map_err(failed)?, Kind::Person)
        }
        Scheme::Agent => {
            let pull_secret = Secret::from(check.credential.text());
            (accounts.agent(&pull_secret, now).await.map_err(failed)?, Kind::Agent)
        }
        Scheme::Image | Scheme::ImageUrl => return image::caller(check).await,
        Scheme::Url => return Err(Failure::Unknown(not_allowed(Scheme::Url, "rhsso"))),
        Scheme::Watcher => return Err(Failure::Unknown(not_allowed(Scheme::Watcher, "RHSSO"))),
    };
    let (name, role) = (account.user_name.clone(), account.role);
    if !check.security.roles.is_empty() && !check.security.roles.contains(&role) {
        let text = format!("{name}: Unauthorized to access route (insufficient role {})", role.name());
        return Err(Failure::Refused(ApiError::framework(403, text)));
    }
    if !accounts.may_use(&name, now).await.map_err(|error| Failure::Refused(error.into()))? {
        let text = format!("{name}: Unauthorized to access route (access review failed)");
        return Err(Failure::Refused(ApiError::framework(403, text)));
    }
    let caller = accounts.caller(account, kind, check.request_id);
    if role == Role::User {
        for named in scope::resources(check.path) {
            let Some(resource) = named else { return Err(Failure::Refused(not_found())) };
            let changes = check.operation.method != Method::Get;
            let may = person::may_use(check.service, &caller, resource, changes).await;
            may.map_err(Failure::Refused)?;
        }
    }
    Ok(caller)
}
