//! Who asks, and whether they may: every operation passes here, by its row in the table of operations.

mod account;
pub(crate) mod credential;
mod image;
mod installer;
pub(crate) mod person;
mod scope;

use std::borrow::Cow;
use std::sync::Arc;

use assisted_auth::oidc::{OidcError, Provider};
use assisted_auth::password::HashError;
use assisted_auth::users::Authenticated;
use assisted_auth::{
    Accounts, AccountsError, Caller, InstallerTokens, KeyError, Kind, UserError, Users, Verifier,
};
use assisted_config::{AuthType, Settings};
use assisted_service::Service;
use assisted_service::metrics::ScopeOf;
use assisted_wire::operation::{BASE_PATH, Operation, Scheme, Security};
use http::HeaderMap;
use jiff::Timestamp;
use url::Url;
use uuid::Uuid;

use crate::error::ApiError;

pub(crate) use credential::{COOKIE_NAME, Credential, cookie, session_cookie};

/// Path, below that of the API, under which all of it lives.
pub const IDENTITY_PATH: &str = "/auth/";

/// Path below [`PATH`] to which the identity provider sends browsers back.
pub const CALLBACK: &str = "oidc/callback";

/// The parameters in the path of a request.
pub(crate) type PathParams<'p> = [(&'p str, Cow<'p, str>)];

/// How requests are authenticated.
pub(crate) enum Auth {
    /// Everyone is the administrator.
    None,
    /// By what the service has given out.
    Tokens(Box<Tokens>),
    /// By what the agent-based installer has given out.
    Installer(Box<InstallerTokens>),
    /// By what an account service has given out.
    Accounts(Arc<Accounts>),
}

/// What tokens are verified by: those of agents, of URLs and of people.
pub(crate) struct Tokens {
    /// Of agents and URLs.
    verifier: Verifier,
    /// Of people; `None`: people are let in by nobody.
    pub(crate) users: Option<Users>,
    /// Who knows further people.
    provider: Option<Provider>,
    /// Whether a token in a URL opens its own resource only.
    url_scope: bool,
    /// Whether an agent's token opens its own infra-env and the clusters of its hosts only.
    agent_scope: bool,
}

/// Settings with which the service does not start.
#[derive(Debug, thiserror::Error)]
pub enum AuthError {
    #[error("{0}, which AUTH_TYPE=local, users and agent-installer-local need")]
    Key(#[from] KeyError),
    #[error("{}", assisted_base::error::chain(.0))]
    Accounts(#[from] AccountsError),
    #[error("{}", assisted_base::error::chain(.0))]
    Oidc(#[from] OidcError),
    #[error("OIDC_ISSUER is set and AUTH_TYPE is not users: nobody would log in by it")]
    ProviderInVain,
    #[error(transparent)]
    Password(#[from] HashError),
}

impl Auth {
    /// The authentication that the settings ask for.
    pub(crate) fn new(service: &Service, all: &Settings) -> Result<Self, AuthError> {
        let settings = &all.auth;
        let provider = provider(all)?;
        let users = match settings.auth_type {
            AuthType::None => return Ok(Self::None),
            AuthType::Local => None,
            AuthType::Users => Some(Users::new(service.access().people())?),
            AuthType::AgentInstallerLocal => {
                return Ok(Self::Installer(Box::new(InstallerTokens::new(&settings.ec_public_key_pem)?)));
            }
            AuthType::Rhsso => {
                let accounts = service.access().accounts().ok_or(AccountsError::NoClient)?;
                return Ok(Self::Accounts(Arc::clone(accounts)));
            }
        };
        if settings.agent_tokens_unscoped {
            tracing::warn!(
                "AGENT_TOKENS_UNSCOPED is on: whoever has the token of one discovery image can read and report as every host"
            );
        }
        Ok(Self::Tokens(Box::new(Tokens {
            verifier: Verifier::new(&settings.ec_public_key_pem)?,
            users,
            provider,
            url_scope: settings.local_auth_enforce_resource_scope,
            agent_scope: !settings.agent_tokens_unscoped,
        })))
    }

    /// Gets what it takes to know people; nobody is let in before.
    ///
    /// # Errors
    ///
    /// What verifies tokens, such as the keys of a provider, can't be fetched.
    pub(crate) async fn start(&self) -> Result<(), AuthError> {
        match self {
            Self::Accounts(accounts) => Ok(accounts.start(Timestamp::now()).await?),
            Self::None | Self::Tokens(_) | Self::Installer(_) => Ok(()),
        }
    }

    /// The people who can log in, where they can.
    pub(crate) fn users(&self) -> Option<&Users> {
        match self {
            Self::Tokens(tokens) => tokens.users.as_ref(),
            Self::None | Self::Installer(_) | Self::Accounts(_) => None,
        }
    }

    /// The identity provider, where there is one.
    pub(crate) fn provider(&self) -> Option<&Provider> {
        match self {
            Self::Tokens(tokens) => tokens.provider.as_ref(),
            Self::None | Self::Installer(_) | Self::Accounts(_) => None,
        }
    }

    /// Whether a request is let in by what a browser sends without being asked: then it matters which page made it.
    pub(crate) fn is_ambient(&self, headers: &HeaderMap) -> bool {
        match self {
            Self::None => true,
            Self::Tokens(tokens) => tokens.users.is_some() && session_cookie(headers).is_some(),
            Self::Installer(_) | Self::Accounts(_) => false,
        }
    }

    /// Finds out who asks, and whether they may. The schemes of the operation are tried in their order; one whose credential is
    /// absent is passed over, the first that succeeds wins, and of several failures the last is answered (service-api §14.1).
    pub(crate) async fn caller(
        &self,
        service: &Service,
        operation: &Operation,
        path: &PathParams<'_>,
        query: Option<&str>,
        headers: &HeaderMap,
        request_id: Uuid,
    ) -> Result<Caller, ApiError> {
        if matches!(self, Self::None) {
            return Ok(Caller::admin(request_id));
        }
        let mut failure = unauthenticated();
        for security in operation.security {
            let Some(credential) = Credential::of(security.scheme, query, headers) else { continue };
            let check =
                CredentialCheck { service, credential: &credential, security, operation, path, request_id };
            let known = match self {
                Self::None => Ok(Caller::admin(request_id)),
                Self::Tokens(tokens) => Box::pin(tokens.caller(&check)).await,
                Self::Installer(tokens) => installer::caller(tokens, &check),
                Self::Accounts(accounts) => Box::pin(account::caller(accounts, &check)).await,
            };
            match known {
                Ok(caller) => return Ok(caller),
                Err(Failure::Refused(refusal)) => return Err(refusal),
                Err(Failure::Unknown(refusal)) => failure = refusal,
            }
        }
        Err(failure)
    }

    /// Who asks, where only people do.
    pub(crate) async fn authenticated(&self, headers: &HeaderMap) -> Result<Authenticated, ApiError> {
        let users = self.users().ok_or_else(unauthenticated)?;
        let credential = Credential::of(Scheme::User, None, headers).ok_or_else(unauthenticated)?;
        Ok(users.authenticate(credential.bearer()?, Timestamp::now()).await?)
    }
}

/// A credential, and what is to be done with it.
struct CredentialCheck<'a> {
    service: &'a Service,
    credential: &'a Credential,
    security: &'a Security,
    operation: &'a Operation,
    path: &'a PathParams<'a>,
    request_id: Uuid,
}

/// Why a credential does not help.
enum Failure {
    /// It is not good: another one may be.
    Unknown(ApiError),
    /// It is good, and may not do this.
    Refused(ApiError),
}

impl Failure {
    fn unknown(text: impl Into<String>) -> Self {
        Self::Unknown(ApiError::framework(401, text))
    }
}

impl Tokens {
    async fn caller(&self, check: &CredentialCheck<'_>) -> Result<Caller, Failure> {
        match check.security.scheme {
            Scheme::User => self.person(check).await,
            Scheme::Agent | Scheme::Url => self.machine(check).await,
            // Those of images are short-lived, and came with the people.
            Scheme::Image | Scheme::ImageUrl if self.users.is_some() => image::caller(check).await,
            other => Err(Failure::Unknown(self.not_allowed(other))),
        }
    }

    async fn person(&self, check: &CredentialCheck<'_>) -> Result<Caller, Failure> {
        let CredentialCheck { service, credential, security, operation, path, request_id } = *check;
        let users = self.users.as_ref().ok_or_else(|| Failure::Unknown(self.not_allowed(Scheme::User)))?;
        let token = credential.bearer().map_err(Failure::Unknown)?;
        let known = users.authenticate(token, Timestamp::now()).await;
        let known = known.map_err(|error| Failure::Unknown(error.into()))?;
        let admitted = person::admit(service, &known, security, operation, path, request_id).await;
        admitted.map_err(Failure::Refused)
    }

    /// The caller that a token of an agent or a URL stands for, if it exists and the path stays within its scope.
    async fn machine(&self, check: &CredentialCheck<'_>) -> Result<Caller, Failure> {
        let CredentialCheck { service, credential, path, request_id, .. } = *check;
        let grant = self.verifier.grant(credential.text(), Timestamp::now());
        let grant = grant.map_err(Failure::unknown)?;
        match service
            .access()
            .token_generation(grant.resource)
            .await
            .map_err(|error| Failure::Unknown(error.into()))?
        {
            None => return Err(Failure::unknown(scope::missing(grant.resource))),
            Some(current) if grant.generation < current => {
                return Err(Failure::unknown("Failed to parse token: token is revoked"));
            }
            Some(_) => {}
        }
        let mut caller = Caller::admin(request_id);
        let (kind, scoped) = match check.security.scheme {
            Scheme::Agent => (Kind::Agent, self.agent_scope),
            _ => (Kind::Link, self.url_scope),
        };
        caller.kind = kind;
        if scoped {
            let within = match kind {
                Kind::Agent => {
                    scope::reaches(service, grant.resource, path).await.map_err(Failure::Refused)?
                }
                _ => scope::is_within(grant.resource, path),
            };
            if kind == Kind::Link {
                service.metrics().scope_check(grant.resource, ScopeOf::Path, within);
            }
            if !within {
                return Err(Failure::Refused(not_found()));
            }
            caller.resource = Some(grant.resource);
        }
        Ok(caller)
    }

    /// The refusal where nobody is let in by the scheme (service-api §14.2).
    fn not_allowed(&self, scheme: Scheme) -> ApiError {
        not_allowed(scheme, if self.users.is_some() { "users" } else { "local" })
    }
}

fn not_allowed(scheme: Scheme, kind: &str) -> ApiError {
    let name = match scheme {
        Scheme::User => "User",
        Scheme::Image | Scheme::ImageUrl => "Image",
        Scheme::Watcher => "Watcher",
        Scheme::Agent => "Agent",
        Scheme::Url => "URL",
    };
    ApiError::framework(401, format!("{name} Authentication not allowed for {kind} auth"))
}

/// The identity provider of the settings.
fn provider(all: &Settings) -> Result<Option<Provider>, AuthError> {
    if all.oidc.issuer.is_empty() {
        return Ok(None);
    }
    if all.auth.auth_type != AuthType::Users {
        return Err(AuthError::ProviderInVain);
    }
    let base = all.http.service_base_url.trim_end_matches('/');
    let redirect = format!("{base}{BASE_PATH}{IDENTITY_PATH}{CALLBACK}");
    let redirect = if base.is_empty() { None } else { Url::parse(&redirect).ok() };
    if redirect.is_none() {
        tracing::warn!(
            "SERVICE_BASE_URL is not set: browsers can't log in by the identity provider, the command line can"
        );
    }
    Ok(Some(Provider::new(&all.oidc, redirect)?))
}

/// The refusal of a request without credentials.
pub(crate) fn unauthenticated() -> ApiError {
    ApiError::framework(401, "unauthenticated for invalid credentials")
}

/// The refusal of a request whose caller must not learn whether the object exists.
pub(crate) fn not_found() -> ApiError {
    ApiError::application(404, "Object Not Found")
}

impl From<UserError> for ApiError {
    fn from(error: UserError) -> Self {
        match error {
            UserError::Wrong(text) => Self::framework(401, text),
            UserError::TooMany { wait } => {
                let message = UserError::TooMany { wait }.to_string();
                Self::Busy { status: 429, message, retry_after: wait }
            }
            UserError::Invalid(text) => Self::framework(400, text),
            UserError::Forbidden(text) => Self::framework(403, text),
            UserError::Missing(_) => Self::framework(404, error.to_string()),
            UserError::Taken(_) => Self::framework(409, error.to_string()),
            UserError::Store(error) => assisted_service::Error::from(error).into(),
            error => Self::internal(&error),
        }
    }
}
