//! Logging in by an identity provider.

use assisted_auth::oidc::{LOGIN_LIFE, Person, Provider, ProviderError, Waiting};
use assisted_base::error::chain;
use assisted_wire::identity::{DeviceCode, DevicePending};
use assisted_wire::operation::BASE_PATH;
use http::header::{CACHE_CONTROL, LOCATION, SET_COOKIE};
use http::{HeaderValue, StatusCode};
use jiff::Timestamp;

use super::answer::json;
use super::{Call, PATH};
use crate::auth::cookie;
use crate::error::ApiError;
use crate::http::response::{Answer, empty_answer};

/// The cookie of an attempt. It comes back with a page of the provider's, so that it is sent from other sites, too; it opens
/// nothing.
const ATTEMPT: &str = "assisted_login";

/// Where the browser goes when somebody is in.
const HOME: &str = "/";

impl Call<'_> {
    fn provider(&self) -> Result<&Provider, ApiError> {
        self.provider.ok_or_else(|| {
            ApiError::framework(
                404,
                "there is no identity provider: OIDC_ISSUER is not set; log in by name and password",
            )
        })
    }

    /// Sends a browser to the provider.
    pub(super) async fn provider_login(&self) -> Result<Answer, ApiError> {
        let beginning =
            self.provider()?.begin(Timestamp::now()).await.map_err(|error| self.refused(error))?;
        let mut answer = redirect(beginning.url.as_str());
        self.set_attempt(&mut answer, beginning.seed.expose(), LOGIN_LIFE.as_secs());
        Ok(answer)
    }

    /// Lets a browser in that comes back from the provider.
    pub(super) async fn provider_callback(&self) -> Result<Answer, ApiError> {
        let provider = self.provider()?;
        let of = |name: &str| {
            let mut pairs = form_urlencoded::parse(self.asked.query.unwrap_or_default().as_bytes());
            pairs.find(|(known, _)| known == name).map(|(_, value)| value.into_owned()).unwrap_or_default()
        };
        let seed = cookie(self.asked.headers, ATTEMPT).unwrap_or_default();
        let json = of("error");
        let finished = if json.is_empty() {
            provider.finish(&seed, &of("state"), &of("code"), Timestamp::now()).await
        } else {
            let json: String = json.chars().take(64).collect();
            Err(ProviderError::Refused(format!("the provider says {json:?}")))
        };
        let person = finished.map_err(|error| self.refused(error))?;
        let login = self.let_in(&person).await?;
        let mut answer = redirect(HOME);
        let life = login.expires_at.duration_since(Timestamp::now()).as_secs();
        self.set_cookie(&mut answer, login.token.expose(), life);
        self.set_attempt(&mut answer, "", 0);
        Ok(answer)
    }

    /// Begins a log-in whose rest happens in a browser anywhere.
    pub(super) async fn device_login(&self) -> Result<Answer, ApiError> {
        let begun =
            self.provider()?.begin_device(Timestamp::now()).await.map_err(|error| self.refused(error))?;
        Ok(json(StatusCode::OK, &begun))
    }

    /// Whether somebody has agreed to it.
    pub(super) async fn device_finish(&self) -> Result<Answer, ApiError> {
        let DeviceCode { device_code } = self.read()?;
        let now = Timestamp::now();
        let waiting = self.provider()?.finish_device(&device_code, now).await;
        match waiting.map_err(|error| self.refused(error))? {
            Waiting::Slower(slower) => Ok(json(StatusCode::ACCEPTED, &DevicePending { slower })),
            Waiting::Over(person) => Ok(json(StatusCode::OK, &self.let_in(&person).await?)),
        }
    }

    async fn let_in(&self, person: &Person) -> Result<assisted_wire::identity::Login, ApiError> {
        let peer = self.asked.peer;
        match self.users.let_in(person, Timestamp::now()).await {
            Ok(login) => {
                tracing::info!(user = login.user.name, %peer, "somebody has logged in by the identity provider");
                Ok(login)
            }
            Err(error) => {
                tracing::warn!(user = person.name, %peer, %error, "somebody whom the identity provider knows is not let in");
                Err(error.into())
            }
        }
    }

    /// The log has the reason; who asks may be a stranger.
    fn refused(&self, error: ProviderError) -> ApiError {
        let peer = self.asked.peer;
        let text = error.to_string();
        match error {
            ProviderError::Refused(reason) => {
                tracing::warn!(%peer, reason, "a log-in by the identity provider has failed");
                ApiError::framework(401, text)
            }
            ProviderError::Unavailable(cause) => {
                tracing::warn!(%peer, error = %chain(&*cause), "the identity provider can't be asked");
                ApiError::busy(503, text)
            }
            ProviderError::Busy => ApiError::busy(503, text),
            ProviderError::Unsupported(text) => ApiError::framework(404, text),
        }
    }

    /// Lax: the browser comes from a page of the provider's.
    fn set_attempt(&self, answer: &mut Answer, value: &str, life: i64) {
        let secure = if self.asked.secure { "; Secure" } else { "" };
        let text = format!(
            "{ATTEMPT}={value}; Path={BASE_PATH}{PATH}oidc; Max-Age={life}; HttpOnly; SameSite=Lax{secure}"
        );
        if let Ok(mut value) = HeaderValue::from_str(&text) {
            value.set_sensitive(true);
            answer.headers_mut().append(SET_COOKIE, value);
        }
    }
}

fn redirect(to: &str) -> Answer {
    let mut answer = empty_answer(StatusCode::SEE_OTHER);
    let headers = answer.headers_mut();
    if let Ok(to) = HeaderValue::from_str(to) {
        headers.insert(LOCATION, to);
    }
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    answer
}
