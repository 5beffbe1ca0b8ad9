//! People whom an OpenID Connect provider knows: in a browser by the code flow with PKCE, on the command line by the device flow.
//! The provider says who it is, and its claims which role that is.

mod claims;
mod code;
mod device;

use std::sync::Arc;
use std::time::Duration;

use assisted_base::error::chain;
use assisted_base::http::{Trust, TrustError, authorities_of_file};
use assisted_config::Oidc as Settings;
use assisted_wire::identity::PersonRole;
use assisted_wire::secret::Secret;
use jiff::{SignedDuration, Timestamp};
use jsonwebtoken::Algorithm;
use parking_lot::RwLock;
use reqwest::{Client, RequestBuilder, Url};
use serde::Deserialize;
use tokio::sync::Semaphore;

use crate::fetch::{self, FetchError, LONGEST};
use crate::jwks::Keys;
use claims::{Claims, Wanted};

pub use code::{LOGIN_LIFE, StartedLogin};
pub use device::Waiting;

/// Algorithms by which tokens may be signed: those with a key of which the provider alone has the private half.
const ALGORITHMS: [Algorithm; 8] = [
    Algorithm::RS256,
    Algorithm::RS384,
    Algorithm::RS512,
    Algorithm::PS256,
    Algorithm::PS384,
    Algorithm::PS512,
    Algorithm::ES256,
    Algorithm::ES384,
];

/// What the provider says about itself is asked for again after this.
const FRESH: SignedDuration = SignedDuration::from_hours(1);

/// Questions to the provider at a time: strangers can have us ask.
const AT_ONCE: usize = 16;

/// Settings with which nobody can log in.
#[derive(Debug, thiserror::Error)]
pub enum OidcError {
    #[error("OIDC_CLIENT_ID is not set: it is the name under which the provider knows this service")]
    NoClient,
    #[error(
        "nobody could log in: set OIDC_ADMINS, OIDC_EDITORS or OIDC_VIEWERS to values of the claim OIDC_ROLES_CLAIM"
    )]
    NoRoles,
    #[error("OIDC_ISSUER can't be used")]
    Issuer(#[source] FetchError),
    #[error("OIDC_CA_FILE can't be used")]
    Authority(#[source] TrustError),
    #[error(transparent)]
    Client(#[from] FetchError),
}

/// Why somebody does not get in.
#[derive(Debug, thiserror::Error)]
pub enum ProviderError {
    /// The provider can't be asked now.
    #[error("the identity provider does not answer as it should; try again later")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// Too many ask at once.
    #[error("too many are logging in; try again in a moment")]
    Busy,
    /// What the provider, or somebody in its name, has said is not accepted; the reason is for the log.
    #[error("the log-in was not accepted; the service's log has the reason")]
    Refused(String),
    /// The provider has no such flow.
    #[error("{0}")]
    Unsupported(&'static str),
}

/// A person, as the identity provider describes them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    /// Of whom the provider speaks, whatever name it has now; by this somebody is known again.
    pub subject: String,
    pub name: String,
    /// Empty without one.
    pub email: String,
    /// Empty without one.
    pub organisation: String,
    pub role: PersonRole,
}

/// What the provider says about itself.
#[derive(Clone, Debug, Deserialize)]
struct Discovered {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    #[serde(default)]
    device_authorization_endpoint: Option<String>,
    #[serde(default)]
    userinfo_endpoint: Option<String>,
    jwks_uri: String,
}

/// Where the provider is asked.
struct Endpoints {
    authorization: Url,
    token: Url,
    device: Option<Url>,
    userinfo: Option<Url>,
    keys: Keys,
    discovered_at: Timestamp,
}

/// A provider.
pub struct Provider {
    settings: Settings,
    client: Client,
    /// Where the browser comes back; `None`: the service does not know its own address.
    redirect: Option<Url>,
    endpoints: RwLock<Option<Arc<Endpoints>>>,
    turn: tokio::sync::Mutex<()>,
    places: Semaphore,
}

/// What a token endpoint answers.
#[derive(Deserialize)]
struct Tokens {
    #[serde(default)]
    id_token: Option<Secret>,
    #[serde(default)]
    access_token: Option<Secret>,
    #[serde(default)]
    error: Option<String>,
}

impl Provider {
    /// The provider of the settings; `redirect` is where it sends browsers back to.
    ///
    /// # Errors
    ///
    /// The settings can't be used.
    pub fn new(settings: &Settings, redirect: Option<Url>) -> Result<Self, OidcError> {
        if settings.client_id.is_empty() {
            return Err(OidcError::NoClient);
        }
        if [&settings.admins, &settings.editors, &settings.viewers].into_iter().all(Vec::is_empty) {
            return Err(OidcError::NoRoles);
        }
        fetch::safe_url(&settings.issuer).map_err(OidcError::Issuer)?;
        let trust = match settings.ca_file.as_str() {
            "" => Trust::System,
            path => Trust::Also(authorities_of_file(path.as_ref()).map_err(OidcError::Authority)?),
        };
        Ok(Self {
            settings: settings.clone(),
            client: fetch::client(trust)?,
            redirect,
            endpoints: RwLock::default(),
            turn: tokio::sync::Mutex::default(),
            places: Semaphore::new(AT_ONCE),
        })
    }

    /// Where the provider is asked. What it says about itself is believed for an hour.
    async fn endpoints(&self, now: Timestamp) -> Result<Arc<Endpoints>, ProviderError> {
        let fresh = |held: &Arc<Endpoints>| now.duration_since(held.discovered_at) <= FRESH;
        let held = self.endpoints.read().clone();
        if let Some(held) = held.filter(fresh) {
            return Ok(held);
        }
        let _turn = self.turn.lock().await;
        let held = self.endpoints.read().clone();
        if let Some(held) = held.clone().filter(fresh) {
            return Ok(held);
        }
        match self.discover(now).await {
            Ok(found) => {
                let found = Arc::new(found);
                *self.endpoints.write() = Some(Arc::clone(&found));
                Ok(found)
            }
            Err(error) => match held {
                Some(held) => {
                    tracing::warn!(error = %chain(&error), "the identity provider says nothing about itself");
                    Ok(held)
                }
                None => Err(error),
            },
        }
    }

    async fn discover(&self, now: Timestamp) -> Result<Endpoints, ProviderError> {
        let base = self.settings.issuer.trim_end_matches('/');
        let url =
            fetch::safe_url(&format!("{base}/.well-known/openid-configuration")).map_err(unavailable)?;
        let text = fetch::get(&self.client, url, LONGEST).await.map_err(unavailable)?;
        let found: Discovered =
            serde_json::from_slice(&text).map_err(|error| unavailable(error.to_string()))?;
        // Somebody else's tokens would be good otherwise.
        if found.issuer.trim_end_matches('/') != base {
            return Err(unavailable(format!(
                "it calls itself {:?}; set OIDC_ISSUER to that if it is meant",
                found.issuer
            )));
        }
        let endpoint = |text: &str| fetch::safe_url(text).map_err(unavailable);
        Ok(Endpoints {
            authorization: endpoint(&found.authorization_endpoint)?,
            token: endpoint(&found.token_endpoint)?,
            device: found.device_authorization_endpoint.as_deref().map(endpoint).transpose()?,
            userinfo: found.userinfo_endpoint.as_deref().map(endpoint).transpose()?,
            // Only what the provider's token endpoint answers has keys fetched.
            keys: Keys::at(self.client.clone(), endpoint(&found.jwks_uri)?, Duration::ZERO),
            discovered_at: now,
        })
    }

    /// What is asked for.
    fn scopes(&self) -> String {
        self.settings.scopes.join(" ")
    }

    /// A question in the name of this service (RFC 6749 §2.3.1).
    fn question(&self, url: &Url, form: &[(&str, &str)]) -> RequestBuilder {
        let (id, secret) = (self.settings.client_id.as_str(), &self.settings.client_secret);
        let request = self.client.post(url.clone());
        if secret.is_empty() {
            let form: Vec<_> = form.iter().copied().chain([("client_id", id)]).collect();
            return request.form(&form);
        }
        let encoded = |text: &str| url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
        request.basic_auth(encoded(id), Some(encoded(secret.expose()))).form(form)
    }

    /// Asks for tokens. An error that the provider tells is an answer, too.
    async fn tokens(&self, endpoints: &Endpoints, form: &[(&str, &str)]) -> Result<Tokens, ProviderError> {
        let _place = self.places.try_acquire().map_err(|_| ProviderError::Busy)?;
        let host = fetch::host(&endpoints.token);
        let (status, body) =
            fetch::send(self.question(&endpoints.token, form), &host, LONGEST).await.map_err(unavailable)?;
        match serde_json::from_slice::<Tokens>(&body) {
            Ok(tokens) if status < 500 && (status < 300 || tokens.error.is_some()) => Ok(tokens),
            _ => Err(unavailable(FetchError::Status { host, status })),
        }
    }

    /// Whom an ID token is about (OpenID Connect Core §3.1.3.7). What it lacks may be had with the access token that came with it.
    async fn person(
        &self,
        endpoints: &Endpoints,
        token: &Secret,
        access_token: Option<&Secret>,
        nonce: Option<&str>,
        now: Timestamp,
    ) -> Result<Person, ProviderError> {
        let mut claims: Claims =
            endpoints.keys.claims(token.expose(), &ALGORITHMS, now).await.map_err(|error| {
                ProviderError::Refused(format!("the ID token is not good: {}", chain(&error)))
            })?;
        let wanted = Wanted { settings: &self.settings, nonce, now };
        claims.check(&wanted).map_err(ProviderError::Refused)?;
        if claims.is_short(&self.settings)
            && let (Some(url), Some(access_token)) = (&endpoints.userinfo, access_token)
        {
            let more = self.userinfo(url, access_token).await?;
            claims.add(more).map_err(ProviderError::Refused)?;
        }
        claims.person(&wanted).map_err(ProviderError::Refused)
    }

    /// What the provider says of a person beside the ID token (OpenID Connect Core §5.3).
    async fn userinfo(&self, url: &Url, access_token: &Secret) -> Result<Claims, ProviderError> {
        let _place = self.places.try_acquire().map_err(|_| ProviderError::Busy)?;
        let question = self.client.get(url.clone()).bearer_auth(access_token.expose());
        fetch::json(question, &fetch::host(url)).await.map_err(unavailable)
    }
}

fn unavailable(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> ProviderError {
    ProviderError::Unavailable(error.into())
}
