//! Logging in with a browser: the code flow with PKCE (RFC 7636). All that is secret about one attempt follows from a seed that
//! the browser keeps as a cookie, so that any replica can end what another began, and nobody else's browser can.

use assisted_wire::secret::Secret;
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use jiff::{SignedDuration, Timestamp};
use sha2::{Digest, Sha256};
use url::Url;

use super::{Person, Provider, ProviderError};
use crate::digest;

/// How long an attempt may take.
pub const LOGIN_LIFE: SignedDuration = SignedDuration::from_mins(10);

/// A log-in by the authorization code flow that has been started.
#[derive(Clone, Debug)]
pub struct StartedLogin {
    /// Where the browser goes.
    pub url: Url,
    /// What the browser keeps meanwhile.
    pub seed: Secret,
}

/// One of the texts of an attempt. From none of them another follows, but from the seed.
fn derived(seed: &Secret, what: &str) -> String {
    let hash = Sha256::new().chain_update(what).chain_update([0]).chain_update(seed.expose()).finalize();
    BASE64_URL_SAFE_NO_PAD.encode(hash)
}

impl Provider {
    /// Starts a log-in.
    ///
    /// # Errors
    ///
    /// The provider can't be asked, or this service does not know where it would send the browser back to.
    pub async fn begin(&self, now: Timestamp) -> Result<StartedLogin, ProviderError> {
        let redirect = self.redirect()?;
        let endpoints = self.endpoints(now).await?;
        let seed = Secret::from(BASE64_URL_SAFE_NO_PAD.encode(rand::random::<[u8; 32]>()));
        let challenge = BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(derived(&seed, "verifier")));
        let mut url = endpoints.authorization.clone();
        url.query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", &self.settings.client_id)
            .append_pair("redirect_uri", redirect.as_str())
            .append_pair("scope", &self.scopes())
            .append_pair("state", &derived(&seed, "state"))
            .append_pair("nonce", &derived(&seed, "nonce"))
            .append_pair("code_challenge", &challenge)
            .append_pair("code_challenge_method", "S256");
        Ok(StartedLogin { url, seed })
    }

    /// Ends an attempt: `state` and `code` are what the browser brings from the provider, `seed` what it kept.
    ///
    /// # Errors
    ///
    /// They don't belong together, or the provider vouches for nobody.
    pub async fn finish(
        &self,
        seed: &Secret,
        state: &str,
        code: &str,
        now: Timestamp,
    ) -> Result<Person, ProviderError> {
        // Hashes are compared, so that it takes as long for every text.
        if seed.is_empty() || digest::of(state) != digest::of(&derived(seed, "state")) {
            return Err(ProviderError::Refused(
                "the browser that comes back is not the one that began".to_owned(),
            ));
        }
        let redirect = self.redirect()?.as_str();
        let endpoints = self.endpoints(now).await?;
        let verifier = Secret::from(derived(seed, "verifier"));
        let form = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", redirect),
            ("code_verifier", verifier.expose()),
        ];
        let tokens = self.tokens(&endpoints, &form).await?;
        match (tokens.id_token, tokens.error) {
            (Some(token), None) => {
                let nonce = derived(seed, "nonce");
                self.person(&endpoints, &token, tokens.access_token.as_ref(), Some(&nonce), now).await
            }
            (_, Some(error)) => Err(ProviderError::Refused(format!("the provider says {error:?}"))),
            (None, None) => Err(ProviderError::Refused(
                "the provider gives no ID token; is openid among OIDC_SCOPES?".to_owned(),
            )),
        }
    }

    /// Whether the provider knows where to send browsers back to.
    pub fn lets_browsers_in(&self) -> bool {
        self.redirect.is_some()
    }

    fn redirect(&self) -> Result<&Url, ProviderError> {
        self.redirect.as_ref().ok_or(ProviderError::Unsupported(
            "the service does not know where browsers reach it: set SERVICE_BASE_URL",
        ))
    }
}
