//! Tokens that this service signs itself: compact JWS with ES256, each for one infra-env or one cluster.
//!
//! Tokens of existing installations carry no expiry and are accepted without one; ours always expire.

use std::time::Duration;

use assisted_base::pem;
use assisted_wire::id::{ClusterId, InfraEnvId};
use assisted_wire::secret::Secret;
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use jiff::Timestamp;
use p256::ecdsa::signature::Signer as _;
use p256::ecdsa::{Signature, SigningKey};
use p256::pkcs8::{DecodePrivateKey, EncodePrivateKey, EncodePublicKey, LineEnding};
use rustls_pki_types::PrivateKeyDer;
use serde::{Deserialize, Serialize};

use crate::TokenResource;
use crate::es256::{CLAIMS, Es256};
use crate::known::Known;

const HEADER: &str = r#"{"alg":"ES256","typ":"JWT"}"#;

/// How long a token that was verified need not be verified again.
const KNOWN_FOR: Duration = Duration::from_secs(600);

/// Keys with which the service does not start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    #[error("EC_PUBLIC_KEY_PEM is not a P-256 public key in PEM form")]
    Public,
    #[error("EC_PRIVATE_KEY_PEM is not a P-256 private key in PEM form")]
    Private,
    #[error(
        "EC_PUBLIC_KEY_PEM is not the base64 of a P-256 public key in PEM form, as the agent-based installer gives it"
    )]
    Installer,
}

/// What a token opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    pub resource: TokenResource,
    /// Counts the revocations of the resource's tokens: a token of an earlier generation opens nothing.
    pub generation: u32,
}

impl From<TokenResource> for Grant {
    /// Of a resource whose tokens were never revoked.
    fn from(resource: TokenResource) -> Self {
        Self { resource, generation: 0 }
    }
}

#[derive(Serialize, Deserialize)]
struct Claims {
    #[serde(skip_serializing_if = "Option::is_none")]
    infra_env_id: Option<InfraEnvId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cluster_id: Option<ClusterId>,
    /// Those of existing installations, and those that were never revoked, have none.
    #[serde(default, skip_serializing_if = "is_zero")]
    generation: u32,
    /// Seconds since the Unix epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    exp: Option<i64>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// Signs tokens.
///
/// Signatures are made of the key and the text alone: who asks twice gets the same bytes, so that pieces of an image that are
/// fetched apart fit together. The library that reads tokens draws lots for each signature, so it does not make them.
pub struct Signer(SigningKey);

impl Signer {
    /// A signer with a private key, PEM in SEC1 or PKCS#8 form.
    ///
    /// # Errors
    ///
    /// When the text holds no such key; it never shows in the error.
    pub fn new(text: &Secret) -> Result<Self, KeyError> {
        let key = match pem::private_key(text.expose().as_bytes()) {
            Ok(PrivateKeyDer::Sec1(key)) => p256::SecretKey::from_sec1_der(key.secret_sec1_der()).ok(),
            Ok(PrivateKeyDer::Pkcs8(key)) => p256::SecretKey::from_pkcs8_der(key.secret_pkcs8_der()).ok(),
            _ => None,
        };
        Ok(Self(SigningKey::from(key.ok_or(KeyError::Private)?)))
    }

    /// A new private key, PEM in PKCS#8 form.
    ///
    /// # Errors
    ///
    /// When the key can't be written down.
    pub fn generate() -> Result<Secret, KeyError> {
        loop {
            // One of 2^32 texts is no key.
            if let Ok(key) = p256::SecretKey::from_slice(&rand::random::<[u8; 32]>()) {
                let text = key.to_pkcs8_pem(LineEnding::LF).map_err(|_| KeyError::Private)?;
                return Ok(text.as_str().into());
            }
        }
    }

    /// The key that verifies what this one signs, PEM.
    ///
    /// # Errors
    ///
    /// When the key can't be written down.
    pub fn public_key(&self) -> Result<String, KeyError> {
        self.0.verifying_key().to_public_key_pem(LineEnding::LF).map_err(|_| KeyError::Public)
    }

    /// A token for one resource that is valid until a moment.
    pub fn token(&self, grant: impl Into<Grant>, until: Timestamp) -> Result<Secret, serde_json::Error> {
        let grant = grant.into();
        let (infra_env_id, cluster_id) = match grant.resource {
            TokenResource::InfraEnv(id) => (Some(id), None),
            TokenResource::Cluster(id) => (None, Some(id)),
        };
        let claims =
            Claims { infra_env_id, cluster_id, generation: grant.generation, exp: Some(until.as_second()) };
        Ok(self.sign_claims(&serde_json::to_vec(&claims)?).into())
    }

    /// A token with these claims, as JSON.
    pub(crate) fn sign_claims(&self, claims: &[u8]) -> String {
        self.signed(HEADER, claims)
    }

    fn signed(&self, header: &str, claims: &[u8]) -> String {
        let text =
            format!("{}.{}", BASE64_URL_SAFE_NO_PAD.encode(header), BASE64_URL_SAFE_NO_PAD.encode(claims));
        let signature: Signature = self.0.sign(text.as_bytes());
        format!("{text}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature.to_bytes()))
    }
}

/// Verifies tokens, and remembers those that it has seen.
pub struct Verifier {
    tokens: Es256,
    /// What tokens open that need not be verified again for now.
    known: Known<Grant>,
}

impl Verifier {
    /// A verifier with a public key, PEM.
    ///
    /// # Errors
    ///
    /// When the text holds no such key.
    pub fn new(text: &str) -> Result<Self, KeyError> {
        Ok(Self { tokens: Es256::new(text).ok_or(KeyError::Public)?, known: Known::default() })
    }

    /// What a token opens at a moment. Whether that exists, and the token was not revoked, is for others to say.
    ///
    /// # Errors
    ///
    /// Why it opens nothing (service-api §14.2).
    pub fn grant(&self, token: &str, now: Timestamp) -> Result<Grant, &'static str> {
        if let Some(grant) = self.known.get(token, now) {
            return Ok(grant);
        }
        let (grant, expiry) = self.verify(token, now)?;
        self.remember(token, grant, expiry, now);
        Ok(grant)
    }

    /// Remembers a good token for a while, never past its expiry.
    fn remember(&self, token: &str, grant: Grant, expiry: Option<Timestamp>, now: Timestamp) {
        let until = now + KNOWN_FOR;
        self.known.keep(token, grant, expiry.map_or(until, |expiry| expiry.min(until)));
    }

    fn verify(&self, token: &str, now: Timestamp) -> Result<(Grant, Option<Timestamp>), &'static str> {
        let claims: Claims = self.tokens.claims(token)?;
        let expiry = claims.exp.map(Timestamp::from_second).transpose().map_err(|_| CLAIMS)?;
        if expiry.is_some_and(|expiry| expiry <= now) {
            return Err("Failed to parse token: token is expired");
        }
        let resource = match (claims.infra_env_id, claims.cluster_id) {
            (Some(id), None) => TokenResource::InfraEnv(id),
            (None, Some(id)) => TokenResource::Cluster(id),
            _ => return Err(CLAIMS),
        };
        Ok((Grant { resource, generation: claims.generation }, expiry))
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::es256::MALFORMED;

    fn pair() -> (Signer, Verifier) {
        let signer = Signer::new(&Signer::generate().unwrap()).unwrap();
        let verifier = Verifier::new(&signer.public_key().unwrap()).unwrap();
        (signer, verifier)
    }

    fn of_cluster() -> Grant {
        Grant { resource: TokenResource::Cluster(ClusterId::random()), generation: 0 }
    }

    #[test]
    fn a_token_is_for_one_resource_until_it_expires() {
        let (signer, verifier) = pair();
        let now = Timestamp::now();
        for generation in [0, 7] {
            let grant = Grant { resource: TokenResource::InfraEnv(InfraEnvId::random()), generation };
            let until = now + Duration::from_secs(60);
            let token = signer.token(grant, until).unwrap();
            assert_eq!(token, signer.token(grant, until).unwrap());
            assert_eq!(verifier.verify(token.expose(), now).unwrap().0, grant);
            let late = now + Duration::from_secs(61);
            assert_eq!(verifier.verify(token.expose(), late), Err("Failed to parse token: token is expired"));
        }
    }

    #[test]
    fn claims() {
        const FORMAT: Result<(), &str> = Err(CLAIMS);
        const EXPIRED: Result<(), &str> = Err("Failed to parse token: token is expired");
        let (signer, verifier) = pair();
        let now = Timestamp::from_second(1_700_000_000).unwrap();
        let id = Uuid::new_v4();
        for (claims, expected) in [
            // Tokens of existing installations have no expiry.
            (format!(r#"{{"infra_env_id":"{id}"}}"#), Ok(())),
            (format!(r#"{{"cluster_id":"{id}","iat":1}}"#), Ok(())),
            (format!(r#"{{"cluster_id":"{id}","exp":1700000001}}"#), Ok(())),
            (format!(r#"{{"cluster_id":"{id}","exp":1700000000}}"#), EXPIRED),
            (format!(r#"{{"cluster_id":"{id}","exp":0}}"#), EXPIRED),
            (format!(r#"{{"cluster_id":"{id}","exp":-9223372036854775808}}"#), FORMAT),
            (format!(r#"{{"cluster_id":"{id}","exp":9223372036854775807}}"#), FORMAT),
            (format!(r#"{{"cluster_id":"{id}","exp":"never"}}"#), FORMAT),
            (format!(r#"{{"cluster_id":"{id}","generation":-1}}"#), FORMAT),
            (format!(r#"{{"cluster_id":"{id}","infra_env_id":"{id}"}}"#), FORMAT),
            (r#"{"cluster_id":"everything"}"#.to_owned(), FORMAT),
            (r#"{"cluster_id":null}"#.to_owned(), FORMAT),
            ("{}".to_owned(), FORMAT),
            ("[]".to_owned(), FORMAT),
            (String::new(), FORMAT),
        ] {
            let token = signer.signed(HEADER, claims.as_bytes());
            assert_eq!(verifier.verify(&token, now).map(drop), expected, "{claims}");
        }
    }

    #[test]
    fn headers() {
        let (signer, verifier) = pair();
        let claims = format!(r#"{{"cluster_id":"{}"}}"#, Uuid::new_v4());
        for (header, expected) in [
            (r#"{"alg":"ES256"}"#, None),
            (r#"{"alg":"HS256","typ":"JWT"}"#, Some("Failed to parse token: unexpected signing method")),
            (r#"{"alg":"none"}"#, Some(MALFORMED)),
            ("{}", Some(MALFORMED)),
        ] {
            let token = signer.signed(header, claims.as_bytes());
            assert_eq!(verifier.verify(&token, Timestamp::now()).err(), expected, "{header}");
        }
    }

    #[test]
    fn a_token_is_not_remembered_past_its_expiry() {
        let (_, verifier) = pair();
        let now = Timestamp::now();
        let grant = of_cluster();
        let after = |seconds| now + Duration::from_secs(seconds);
        verifier.remember("short", grant, Some(after(5)), now);
        verifier.remember("long", grant, Some(after(10_000)), now);
        verifier.remember("endless", grant, None, now);
        for (token, last) in [("short", 5), ("long", 600), ("endless", 600)] {
            assert_eq!(verifier.known.get(token, after(last - 1)), Some(grant), "{token}");
            assert_eq!(verifier.known.get(token, after(last)), None, "{token}");
        }
        assert_eq!(verifier.known.get("other", now), None);
    }

    #[test]
    fn keys_that_are_none() {
        for text in ["", "x", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"] {
            assert_eq!(Verifier::new(text).err(), Some(KeyError::Public));
            assert_eq!(Signer::new(&text.into()).err(), Some(KeyError::Private));
        }
    }

    #[test]
    fn anything_forged_is_refused() {
        let (signer, verifier) = pair();
        let now = Timestamp::now();
        let token = signer.token(of_cluster(), now + Duration::from_secs(60)).unwrap();
        let token = token.expose();
        let mut parts = token.split('.');
        let (header, claims, signature) =
            (parts.next().unwrap(), parts.next().unwrap(), parts.next().unwrap());
        let other = BASE64_URL_SAFE_NO_PAD.encode(format!(r#"{{"cluster_id":"{}"}}"#, Uuid::new_v4()));
        let unsigned = BASE64_URL_SAFE_NO_PAD.encode(r#"{"alg":"none"}"#);
        for forged in [
            String::new(),
            "a.b".to_owned(),
            format!("{token}.x"),
            format!("{header}.{other}.{signature}"),
            format!("{unsigned}.{claims}.{signature}"),
            format!("{unsigned}.{claims}."),
            format!("{header}.{claims}."),
            "x".repeat(1 << 20),
        ] {
            assert!(verifier.verify(&forged, now).is_err(), "{}", &forged[..forged.len().min(80)]);
        }
    }
}
