//! Who asks, and whether they may: every operation passes here, by its row in the table of operations.

pub mod local;

use std::borrow::Cow;

use assisted_config::{Auth as Settings, AuthType};
use assisted_service::{Caller, Service, TokenResource};
use assisted_wire::operation::{Location, Operation, Scheme};
use http::HeaderMap;
use uuid::Uuid;

use self::local::Verifier;
use crate::http::error::ApiError;

/// How requests are authenticated.
pub(crate) enum Auth {
    /// Everyone is the administrator.
    None,
    /// Tokens that the service signs.
    Local(Box<Verifier>),
}

/// Settings with which the service does not start.
#[derive(Debug, thiserror::Error)]
pub enum AuthError {
    #[error("AUTH_TYPE {0:?} is not available in this version; set AUTH_TYPE to none or local")]
    Unavailable(AuthType),
    #[error("EC_PUBLIC_KEY_PEM is not a P-256 public key in PEM form, which AUTH_TYPE=local needs")]
    PublicKey,
    #[error("EC_PRIVATE_KEY_PEM is not a P-256 private key in PEM form")]
    PrivateKey,
}

impl Auth {
    /// The authentication that the settings ask for.
    pub(crate) fn new(settings: &Settings) -> Result<Self, AuthError> {
        match settings.auth_type {
            AuthType::None => Ok(Self::None),
            AuthType::Local => Ok(Self::Local(Box::new(Verifier::new(
                &settings.ec_public_key_pem,
                settings.local_auth_enforce_resource_scope,
            )?))),
            other => Err(AuthError::Unavailable(other)),
        }
    }

    /// Finds out who asks. The schemes of the operation are tried in their order; one whose credential is absent is
    /// passed over, the first that succeeds wins, and of several failures the last is told (service-api §14.1).
    pub(crate) async fn caller(
        &self,
        service: &Service,
        operation: &Operation,
        path: &[(&str, Cow<'_, str>)],
        query: Option<&str>,
        headers: &HeaderMap,
        request_id: Uuid,
    ) -> Result<Caller, ApiError> {
        let verifier = match self {
            Self::None => return Ok(Caller::admin(request_id)),
            Self::Local(verifier) => verifier,
        };
        let mut failure = ApiError::framework(401, "unauthenticated for invalid credentials");
        for security in operation.security {
            let Some(credential) = credential(security.scheme, query, headers) else { continue };
            match verifier.resource(service, security.scheme, &credential).await {
                Ok(resource) => return verifier.admit(security.scheme, resource, path, request_id),
                Err(refusal) => failure = refusal,
            }
        }
        Err(failure)
    }
}

fn credential(scheme: Scheme, query: Option<&str>, headers: &HeaderMap) -> Option<String> {
    let (location, name) = scheme.carrier();
    match location {
        Location::Header => headers.get(name)?.to_str().ok().map(str::to_owned),
        _ => form_urlencoded::parse(query?.as_bytes())
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.into_owned()),
    }
    .filter(|credential| !credential.is_empty())
}

/// Whether a path stays within the resource of a token.
fn within(resource: TokenResource, path: &[(&str, Cow<'_, str>)]) -> bool {
    path.iter().all(|(name, value)| {
        let id = Uuid::try_parse(value).ok();
        match (*name, resource) {
            ("infra_env_id", TokenResource::InfraEnv(own)) => id == Some(own.0),
            ("cluster_id", TokenResource::Cluster(own)) => id == Some(own.0),
            ("infra_env_id" | "cluster_id", _) => false,
            _ => true,
        }
    })
}
