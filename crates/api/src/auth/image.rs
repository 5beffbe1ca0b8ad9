//! Those who have the address of an image with a signature that is good for hours (service-api §14.2).

use assisted_auth::{Caller, Kind, TokenResource, image_token};
use jiff::Timestamp;

use super::{CredentialCheck, Failure, scope};
use crate::error::ApiError;

/// The caller that an image's token stands for; it opens its infra-env and nothing else.
pub(super) async fn caller(check: &CredentialCheck<'_>) -> Result<Caller, Failure> {
    let token = check.credential.text();
    let bad = || Failure::unknown("Failed to parse token: token is malformed, has expired, or is revoked");
    let id = image_token::named(token).ok_or_else(bad)?;
    let resource = TokenResource::InfraEnv(id);
    let key =
        check.service.access().image_token_key(id).await.map_err(|error| Failure::Unknown(error.into()))?;
    // Whether there is such an infra-env is shown only to callers with a good token of it.
    if !key.is_some_and(|key| image_token::is_good(&key, token, Timestamp::now())) {
        return Err(bad());
    }
    for named in scope::resources(check.path) {
        match named {
            Some(TokenResource::InfraEnv(other)) if other != id => {
                let text =
                    format!("Token for infraEnv ID {id}, is unauthorized to access infraEnv ID {other}");
                return Err(Failure::Refused(ApiError::framework(403, text)));
            }
            Some(named) if named == resource => {}
            _ => return Err(Failure::Refused(super::not_found())),
        }
    }
    Ok(Caller { kind: Kind::Link, resource: Some(resource), ..Caller::admin(check.request_id) })
}
