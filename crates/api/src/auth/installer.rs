//! Those to whom the agent-based installer has given a token (service-api §14.2, running §7.6).

use assisted_auth::{Caller, InstallerTokenError, InstallerTokens};
use assisted_wire::operation::Scheme;
use jiff::Timestamp;

use super::{CredentialCheck, Failure, not_allowed};
use crate::error::ApiError;

/// The caller that a token stands for, if it is for the scheme that it is shown for.
pub(super) fn caller(tokens: &InstallerTokens, check: &CredentialCheck<'_>) -> Result<Caller, Failure> {
    let scheme = check.security.scheme;
    if !matches!(scheme, Scheme::User | Scheme::Agent | Scheme::Watcher) {
        return Err(Failure::Unknown(not_allowed(scheme, "agent local")));
    }
    // The installer's client shows the bare token; others may say what it is.
    let text = check.credential.text();
    let token = match text.split_once(' ') {
        Some((word, token)) if scheme == Scheme::User && word.eq_ignore_ascii_case("bearer") => token,
        _ => text,
    };
    match tokens.scheme(token, Timestamp::now()) {
        Ok(own) if own == scheme.name() => {
            Ok(Caller { kind: kind(scheme), ..Caller::admin(check.request_id) })
        }
        Ok(own) => Err(Failure::Refused(ApiError::framework(
            403,
            format!("authClaim {} is unauthorized to access", scope_of(&own)),
        ))),
        Err(error @ InstallerTokenError::Scheme) => {
            Err(Failure::Refused(ApiError::framework(500, error.to_string())))
        }
        Err(error) => Err(Failure::unknown(error.to_string())),
    }
}

fn kind(scheme: Scheme) -> assisted_auth::Kind {
    if scheme == Scheme::Agent { assisted_auth::Kind::Agent } else { assisted_auth::Kind::Person }
}

/// The beginning of a claim: the installer's are short.
fn scope_of(claim: &str) -> String {
    claim.chars().take(64).collect()
}
