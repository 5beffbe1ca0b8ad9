//! Questions to the account service (running §7.2).

use std::time::{Duration, Instant};

use assisted_base::retry::{Attempts, Backoff, Jitter};
use assisted_wire::secret::Secret;
use jiff::{SignedDuration, Timestamp};
use reqwest::{Client, Url};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::Mutex;

use super::AccountError;
use crate::fetch::{self, FetchError};

/// A token is renewed when less than this remains.
const REMAINS: SignedDuration = SignedDuration::from_mins(1);

const RETRY: Backoff =
    Backoff { first: Duration::from_secs(1), longest: Duration::from_secs(2), jitter: Jitter::Half };
const ATTEMPTS: u32 = 3;

/// The account service, as this service knows it.
pub(super) struct Ocm {
    client: Client,
    base: Url,
    token_url: Url,
    id: String,
    secret: Secret,
    /// Its own token.
    token: Mutex<Option<(Secret, Timestamp)>>,
    /// Who hears how long questions take.
    pub(super) observer: Option<Observer>,
}

/// Hears how long a question took, by its name.
pub type Observer = Box<dyn Fn(&'static str, Duration) + Send + Sync>;

#[derive(Deserialize)]
struct Token {
    access_token: Secret,
    #[serde(default)]
    expires_in: i64,
}

#[derive(Deserialize)]
struct TokenHolder {
    account: Holder,
}

#[derive(Deserialize)]
struct Holder {
    username: String,
    #[serde(default)]
    email: String,
}

#[derive(Deserialize)]
struct Allowed {
    #[serde(default)]
    allowed: bool,
}

#[derive(Deserialize)]
struct Capable {
    #[serde(default)]
    result: Value,
}

impl Ocm {
    pub(super) fn new(client: Client, base: Url, token_url: Url, id: String, secret: Secret) -> Self {
        Self { client, base, token_url, id, secret, token: Mutex::default(), observer: None }
    }

    /// Name and e-mail address of whom a pull secret belongs to.
    pub(super) async fn whose(
        &self,
        pull_secret: &Secret,
        now: Timestamp,
    ) -> Result<(String, String), AccountError> {
        let body = json!({"authorization_token": pull_secret.expose()});
        let found: TokenHolder = self
            .ask("OCM-AuthenticatePullSecret", "api/accounts_mgmt/v1/token_authorization", &body, now)
            .await?;
        if found.account.username.is_empty() {
            return Err(AccountError::Unknown("the pull secret belongs to nobody".to_owned()));
        }
        Ok((found.account.username, found.account.email))
    }

    /// Whether somebody may make clusters.
    pub(super) async fn may_create(&self, user_name: &str, now: Timestamp) -> Result<bool, AccountError> {
        let body = json!({
            "account_username": user_name, "action": "create", "resource_type": "BareMetalCluster",
        });
        let answer: Allowed =
            self.ask("OCM-AccessReview", "api/authorizations/v1/access_review", &body, now).await?;
        Ok(answer.allowed)
    }

    /// Whether an account has a capability.
    pub(super) async fn is_capable(
        &self,
        user_name: &str,
        capability: &str,
        now: Timestamp,
    ) -> Result<bool, AccountError> {
        let body = json!({"account_username": user_name, "capability": capability, "type": "Account"});
        let answer: Capable =
            self.ask("OCM-CapabilityReview", "api/authorizations/v1/capability_review", &body, now).await?;
        Ok(answer.result == "true")
    }

    /// An answer; what is said to be wrong with the question is wrong with who asks (running §7.2).
    async fn ask<T: DeserializeOwned>(
        &self,
        name: &'static str,
        path: &str,
        body: &Value,
        now: Timestamp,
    ) -> Result<T, AccountError> {
        let started = Instant::now();
        let answer = self.ask_unobserved(path, body, now).await;
        if let Some(observer) = &self.observer {
            observer(name, started.elapsed());
        }
        answer
    }

    async fn ask_unobserved<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &Value,
        now: Timestamp,
    ) -> Result<T, AccountError> {
        let url = self.base.join(path).map_err(|_| FetchError::Url(path.to_owned()))?;
        let host = fetch::host(&url);
        let mut attempts = Attempts::new(ATTEMPTS, RETRY);
        loop {
            let token = self.token(now).await?;
            let request = self.client.post(url.clone()).bearer_auth(token.expose()).json(body);
            let error = match fetch::json(request, &host).await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            match error.status() {
                Some(429 | 503) => attempts.again(error).await?,
                Some(400..500) => {
                    tracing::info!(%error, path, "the account service refuses");
                    return Err(AccountError::Unknown("the account service knows nobody by that".to_owned()));
                }
                _ => return Err(error.into()),
            }
        }
    }

    /// This service's own token.
    async fn token(&self, now: Timestamp) -> Result<Secret, FetchError> {
        let mut held = self.token.lock().await;
        if let Some((token, until)) = held.as_ref()
            && until.duration_since(now) > REMAINS
        {
            return Ok(token.clone());
        }
        let request =
            self.client.post(self.token_url.clone()).basic_auth(&self.id, Some(self.secret.expose())).form(
                &[("grant_type", "client_credentials"), ("client_id", self.id.as_str()), ("scope", "openid")],
            );
        let made: Token = fetch::json(request, &fetch::host(&self.token_url)).await?;
        let life = SignedDuration::from_secs(made.expires_in.clamp(0, 24 * 3600));
        let until = now.checked_add(life).unwrap_or(now);
        *held = Some((made.access_token.clone(), until));
        Ok(made.access_token)
    }
}
