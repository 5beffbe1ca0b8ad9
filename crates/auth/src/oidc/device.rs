//! Logging in from the command line: the device flow (RFC 8628). A person agrees in any browser to what a program began.

use assisted_wire::identity::DeviceLogin;
use assisted_wire::secret::Secret;
use jiff::Timestamp;
use serde::Deserialize;

use super::{Person, Provider, ProviderError, unavailable};
use crate::fetch;

const GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";

/// Longer texts are no codes of devices.
const LONGEST_CODE: usize = 4096;

/// How far a log-in by a device code is.
#[derive(Debug)]
pub enum Waiting {
    /// Somebody has agreed.
    Over(Person),
    /// Nobody has agreed yet; so many seconds more between two questions than before.
    Slower(u64),
}

#[derive(Deserialize)]
struct Begun {
    device_code: Secret,
    user_code: String,
    verification_uri: String,
    #[serde(default)]
    verification_uri_complete: Option<String>,
    #[serde(default)]
    expires_in: u64,
    #[serde(default)]
    interval: Option<u64>,
}

impl Provider {
    /// Begins.
    ///
    /// # Errors
    ///
    /// The provider can't be asked, or has no such flow.
    pub async fn begin_device(&self, now: Timestamp) -> Result<DeviceLogin, ProviderError> {
        let endpoints = self.endpoints(now).await?;
        let url = endpoints.device.as_ref().ok_or(ProviderError::Unsupported(
            "the identity provider lets nobody in from the command line; log in with a browser, or by --name",
        ))?;
        let _place = self.places.try_acquire().map_err(|_| ProviderError::Busy)?;
        let scopes = self.scopes();
        // Those without a secret are known by their name, which stands in the form then; others expect it there, too.
        let mut form = vec![("scope", scopes.as_str())];
        if !self.settings.client_secret.is_empty() {
            form.push(("client_id", &self.settings.client_id));
        }
        let begun: Begun =
            fetch::json(self.question(url, &form), &fetch::host(url)).await.map_err(unavailable)?;
        Ok(DeviceLogin {
            device_code: begun.device_code,
            user_code: begun.user_code,
            verification_uri: begun.verification_uri,
            verification_uri_complete: begun.verification_uri_complete,
            expires_in: begun.expires_in.min(3600),
            interval: begun.interval.unwrap_or(5).clamp(1, 60),
        })
    }

    /// Whether somebody has agreed.
    ///
    /// # Errors
    ///
    /// Nobody will any more, or the provider vouches for nobody.
    pub async fn finish_device(&self, code: &Secret, now: Timestamp) -> Result<Waiting, ProviderError> {
        if code.expose().len() > LONGEST_CODE {
            return Err(ProviderError::Refused("the code of a device is too long".to_owned()));
        }
        let endpoints = self.endpoints(now).await?;
        let form = [("grant_type", GRANT), ("device_code", code.expose())];
        let tokens = self.tokens(&endpoints, &form).await?;
        match (tokens.id_token, tokens.error.as_deref()) {
            (Some(token), None) => {
                let access_token = tokens.access_token.as_ref();
                Ok(Waiting::Over(self.person(&endpoints, &token, access_token, None, now).await?))
            }
            (_, Some("authorization_pending")) => Ok(Waiting::Slower(0)),
            (_, Some("slow_down")) => Ok(Waiting::Slower(5)),
            (_, Some(error)) => Err(ProviderError::Refused(format!("the provider says {error:?}"))),
            (None, None) => Err(ProviderError::Refused(
                "the provider gives no ID token; is openid among OIDC_SCOPES?".to_owned(),
            )),
        }
    }
}
