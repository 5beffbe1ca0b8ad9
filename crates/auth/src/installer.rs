//! Tokens of the agent-based installer: one for each kind of caller, signed by the installer with a key of which this service
//! knows the public half only (service-api §14.2).

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Number, Value};

use crate::KeyError;
use crate::es256::Es256;

/// Verifies the installer's tokens.
pub struct InstallerTokens(Es256);

/// Why a token opens nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InstallerTokenError {
    /// It is none of the installer's.
    #[error("{0}")]
    Invalid(&'static str),
    #[error("The provided authentication token has expired. Please generate a new token and try again.")]
    Expired,
    /// It does not say for whom it is.
    #[error("malformed auth_scheme claim")]
    Scheme,
}

#[derive(Deserialize)]
struct Claims {
    #[serde(default)]
    auth_scheme: Option<Value>,
    /// Seconds since the Unix epoch; tokens of a first installation have none.
    #[serde(default)]
    exp: Option<Number>,
}

impl InstallerTokens {
    /// # Errors
    ///
    /// The text is not the base64 of a P-256 public key in PEM form.
    pub fn new(text: &str) -> Result<Self, KeyError> {
        let pem = BASE64_STANDARD.decode(text.trim()).ok().and_then(|pem| String::from_utf8(pem).ok());
        pem.and_then(|pem| Es256::new(&pem)).map(Self).ok_or(KeyError::Installer)
    }

    /// The scheme that a token is for: `agentAuth`, `userAuth` or `watcherAuth`.
    ///
    /// # Errors
    ///
    /// The token is not valid, or has expired.
    pub fn scheme(&self, token: &str, now: Timestamp) -> Result<String, InstallerTokenError> {
        let claims: Claims = self.0.claims(token).map_err(InstallerTokenError::Invalid)?;
        if let Some(until) = claims.exp {
            // A number that is no time is long over.
            #[allow(clippy::cast_precision_loss, reason = "seconds of our age are exact")]
            let over = until.as_f64().is_none_or(|until| until <= now.as_second() as f64);
            if over {
                return Err(InstallerTokenError::Expired);
            }
        }
        match claims.auth_scheme {
            Some(Value::String(scheme)) => Ok(scheme),
            _ => Err(InstallerTokenError::Scheme),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Signer;

    #[test]
    fn a_token_says_for_whom_it_is() {
        let signer = Signer::new(&Signer::generate().unwrap()).unwrap();
        let key = BASE64_STANDARD.encode(signer.public_key().unwrap());
        let tokens = InstallerTokens::new(&key).unwrap();
        let now = Timestamp::from_second(1_700_000_000).unwrap();
        for (claims, expected) in [
            (r#"{"auth_scheme":"userAuth"}"#, Ok("userAuth".to_owned())),
            (r#"{"auth_scheme":"agentAuth","exp":1700000001}"#, Ok("agentAuth".to_owned())),
            (r#"{"auth_scheme":"agentAuth","exp":1.7000000015e9}"#, Ok("agentAuth".to_owned())),
            (r#"{"auth_scheme":"agentAuth","exp":1700000000}"#, Err(InstallerTokenError::Expired)),
            (r#"{"exp":1700000001}"#, Err(InstallerTokenError::Scheme)),
            (r#"{"auth_scheme":7}"#, Err(InstallerTokenError::Scheme)),
            ("[]", Err(InstallerTokenError::Invalid(crate::es256::CLAIMS))),
        ] {
            assert_eq!(tokens.scheme(&signer.sign_claims(claims.as_bytes()), now), expected, "{claims}");
        }
        let stranger = Signer::new(&Signer::generate().unwrap()).unwrap();
        let forged = stranger.sign_claims(br#"{"auth_scheme":"userAuth"}"#);
        assert!(matches!(tokens.scheme(&forged, now), Err(InstallerTokenError::Invalid(_))));
        for text in ["", "x", &signer.public_key().unwrap()] {
            assert!(InstallerTokens::new(text).is_err(), "{text}");
        }
    }
}
