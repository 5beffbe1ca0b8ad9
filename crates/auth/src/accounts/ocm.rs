//! Questions to the account service (running §7.2).

use std::time::{Duration, Instant};

use assisted_base::retry::{Attempts, Backoff, Jitter};
use assisted_wire::secret::Secret;
use jiff::{SignedDuration, Timestamp};
use reqwest::{Client, Method, Url};
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

/// Why the account service did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// It says that something is wrong with the question, or with itself.
    #[error("the account service answers with status {status}")]
    Refused { status: u16 },
    /// There is no answer, or none that can be used.
    #[error("the account service can't be asked")]
    Unavailable(#[from] FetchError),
}

impl AskError {
    /// Whether another attempt may help (running §7.2).
    fn may_pass(&self, method: &Method) -> bool {
        match self {
            Self::Refused { status: 429 | 503 } => true,
            Self::Refused { status } => *method == Method::GET && *status >= 500,
            Self::Unavailable(_) => *method == Method::GET,
        }
    }

    /// The failure of a review: what is said to be wrong with the question is wrong with who asks (running §7.2).
    fn of_review(self) -> AccountError {
        match self {
            Self::Refused { status } if (400..500).contains(&status) && status != 429 => {
                tracing::info!(status, "the account service refuses");
                AccountError::Unknown("the account service knows nobody by that".to_owned())
            }
            Self::Refused { .. } => AccountError::Unavailable(self.into()),
            Self::Unavailable(error) => error.into(),
        }
    }
}

/// One request to the account service.
pub(super) struct Question<'a> {
    /// By which it is timed.
    name: &'static str,
    method: Method,
    url: Url,
    body: Option<&'a Value>,
}

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

#[derive(Deserialize)]
struct Found {
    #[serde(default)]
    items: Vec<Member>,
}

#[derive(Deserialize)]
struct Member {
    organization: Organisation,
}

#[derive(Deserialize)]
struct Organisation {
    id: String,
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
            .review("OCM-AuthenticatePullSecret", "api/accounts_mgmt/v1/token_authorization", &body, now)
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
        self.is_allowed(&body, now).await
    }

    /// Whether somebody may change the cluster of a subscription.
    pub(super) async fn may_update(
        &self,
        user_name: &str,
        subscription: &str,
        now: Timestamp,
    ) -> Result<bool, AccountError> {
        let body = json!({
            "account_username": user_name, "action": "update", "resource_type": "Subscription",
            "subscription_id": subscription,
        });
        self.is_allowed(&body, now).await
    }

    async fn is_allowed(&self, body: &Value, now: Timestamp) -> Result<bool, AccountError> {
        let answer: Allowed =
            self.review("OCM-AccessReview", "api/authorizations/v1/access_review", body, now).await?;
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
        self.has_capability(&body, now).await
    }

    /// Whether the organisation of an account has a capability.
    pub(super) async fn is_organisation_capable(
        &self,
        user_name: &str,
        capability: &str,
        now: Timestamp,
    ) -> Result<bool, AccountError> {
        let mut url = self.url("api/accounts_mgmt/v1/accounts").map_err(AskError::of_review)?;
        // A quote within a text is written twice.
        let search = format!("username='{}'", user_name.replace('\'', "''"));
        url.query_pairs_mut().append_pair("search", &search);
        let question = Question { name: "OCM-GetAccount", method: Method::GET, url, body: None };
        let mut found: Found = self.ask(&question, now).await.map_err(AskError::of_review)?;
        let (Some(member), true) = (found.items.pop(), found.items.is_empty()) else {
            return Err(AccountError::Unknown("the account service knows nobody by that".to_owned()));
        };
        let body = json!({
            "account_username": user_name, "capability": capability, "type": "Organization",
            "organization_id": member.organization.id,
        });
        self.has_capability(&body, now).await
    }

    async fn has_capability(&self, body: &Value, now: Timestamp) -> Result<bool, AccountError> {
        let answer: Capable =
            self.review("OCM-CapabilityReview", "api/authorizations/v1/capability_review", body, now).await?;
        Ok(answer.result == "true")
    }

    /// The answer to a question about who may do what.
    async fn review<T: DeserializeOwned>(
        &self,
        name: &'static str,
        path: &str,
        body: &Value,
        now: Timestamp,
    ) -> Result<T, AccountError> {
        let question = self.question(name, Method::POST, path, Some(body)).map_err(AskError::of_review)?;
        self.ask(&question, now).await.map_err(AskError::of_review)
    }

    /// A request to a path of the account service.
    pub(super) fn question<'a>(
        &self,
        name: &'static str,
        method: Method,
        path: &str,
        body: Option<&'a Value>,
    ) -> Result<Question<'a>, AskError> {
        Ok(Question { name, method, url: self.url(path)?, body })
    }

    fn url(&self, path: &str) -> Result<Url, AskError> {
        Ok(self.base.join(path).map_err(|_| FetchError::Url(path.to_owned()))?)
    }

    /// An answer that is JSON.
    pub(super) async fn ask<T: DeserializeOwned>(
        &self,
        question: &Question<'_>,
        now: Timestamp,
    ) -> Result<T, AskError> {
        let answer = self.send(question, now).await?;
        serde_json::from_slice(&answer).map_err(|_| FetchError::Form(fetch::host(&question.url)).into())
    }

    /// An answer, whatever its form.
    pub(super) async fn send(&self, question: &Question<'_>, now: Timestamp) -> Result<Vec<u8>, AskError> {
        let started = Instant::now();
        let answer = self.send_unobserved(question, now).await;
        if let Some(observer) = &self.observer {
            observer(question.name, started.elapsed());
        }
        answer
    }

    async fn send_unobserved(&self, question: &Question<'_>, now: Timestamp) -> Result<Vec<u8>, AskError> {
        let Question { method, url, body, .. } = question;
        let host = fetch::host(url);
        let mut attempts = Attempts::new(ATTEMPTS, RETRY);
        loop {
            let token = self.token(now).await?;
            let request = self.client.request(method.clone(), url.clone()).bearer_auth(token.expose());
            let request = match body {
                Some(body) => request.json(body),
                None => request,
            };
            let error = match fetch::send(request, &host, fetch::LONGEST).await {
                Ok((200..300, answer)) => return Ok(answer),
                Ok((status, _)) => AskError::Refused { status },
                Err(error) => AskError::Unavailable(error),
            };
            if !error.may_pass(method) {
                return Err(error);
            }
            attempts.again(error).await?;
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
