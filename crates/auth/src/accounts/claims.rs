//! What a user's token says (service-api §14.2, running §7.1).

use jiff::Timestamp;
use serde::Deserialize;

/// Names have older spellings, and each is a text or absent.
#[derive(Deserialize)]
pub(super) struct Claims {
    #[serde(default)]
    username: Option<String>,
    #[serde(default)]
    preferred_username: Option<String>,
    #[serde(default)]
    pub(super) org_id: Option<String>,
    #[serde(default)]
    pub(super) email: Option<String>,
    /// Seconds since the Unix epoch. A token that was used before its `iat` is tolerated.
    #[serde(default)]
    exp: Option<f64>,
    #[serde(default)]
    nbf: Option<f64>,
}

impl Claims {
    /// Whether it is within its time. One that never ends is as good as those that existing clients have.
    pub(super) fn are_current(&self, now: Timestamp) -> bool {
        #[allow(clippy::cast_precision_loss, reason = "seconds of our age are exact")]
        let now = now.as_second() as f64;
        self.exp.is_none_or(|exp| now < exp) && self.nbf.is_none_or(|nbf| nbf <= now)
    }

    /// The user's name.
    pub(super) fn user_name(&self) -> Option<&str> {
        [&self.username, &self.preferred_username]
            .into_iter()
            .flatten()
            .map(String::as_str)
            .find(|name| !name.is_empty())
    }
}
