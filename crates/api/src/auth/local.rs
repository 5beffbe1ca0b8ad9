//! Tokens that this service signs itself: compact JWS with ES256, each for one infra-env or one cluster.
//!
//! Tokens of existing installations carry no expiry and are accepted without one; ours always expire.

use std::borrow::Cow;
use std::collections::HashMap;
use std::time::Duration;

use assisted_base::pem;
use assisted_service::{Caller, Service, TokenResource};
use assisted_wire::id::{ClusterId, InfraEnvId};
use assisted_wire::operation::Scheme;
use assisted_wire::secret::Secret;
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use jiff::Timestamp;
use p256::ecdsa::signature::{Signer as _, Verifier as _};
use p256::ecdsa::{Signature, SigningKey, VerifyingKey};
use p256::pkcs8::{DecodePrivateKey, DecodePublicKey};
use parking_lot::Mutex;
use rustls::pki_types::PrivateKeyDer;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::{AuthError, within};
use crate::http::error::ApiError;

const HEADER: &str = r#"{"alg":"ES256","typ":"JWT"}"#;

/// Longer texts are no tokens of ours.
const LONGEST_TOKEN: usize = 4096;

/// How long a resource counts as existing once it was seen (service-api §14.2).
const KNOWN_FOR: Duration = Duration::from_secs(600);

/// More tokens than hosts of a large installation; past it the cache starts anew.
const MOST_KNOWN: usize = 1 << 17;

#[derive(Serialize, Deserialize)]
struct Header {
    alg: String,
}

#[derive(Serialize, Deserialize)]
struct Claims {
    #[serde(skip_serializing_if = "Option::is_none")]
    infra_env_id: Option<InfraEnvId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cluster_id: Option<ClusterId>,
    /// Seconds since the Unix epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    exp: Option<i64>,
}

/// Signs tokens.
pub struct Signer(SigningKey);

impl Signer {
    /// A signer with a private key, PEM in SEC1 or PKCS#8 form.
    ///
    /// # Errors
    ///
    /// When the text holds no such key; it never shows in the error.
    pub fn new(text: &Secret) -> Result<Self, AuthError> {
        let key = match pem::private_key(text.expose().as_bytes()) {
            Ok(PrivateKeyDer::Sec1(key)) => p256::SecretKey::from_sec1_der(key.secret_sec1_der()).ok(),
            Ok(PrivateKeyDer::Pkcs8(key)) => p256::SecretKey::from_pkcs8_der(key.secret_pkcs8_der()).ok(),
            _ => None,
        };
        Ok(Self(SigningKey::from(key.ok_or(AuthError::PrivateKey)?)))
    }

    /// A token for one resource that is valid until a moment.
    pub fn token(&self, resource: TokenResource, until: Timestamp) -> Result<Secret, serde_json::Error> {
        let (infra_env_id, cluster_id) = match resource {
            TokenResource::InfraEnv(id) => (Some(id), None),
            TokenResource::Cluster(id) => (None, Some(id)),
        };
        let claims = serde_json::to_vec(&Claims { infra_env_id, cluster_id, exp: Some(until.as_second()) })?;
        let signed =
            format!("{}.{}", BASE64_URL_SAFE_NO_PAD.encode(HEADER), BASE64_URL_SAFE_NO_PAD.encode(claims));
        let signature: Signature = self.0.sign(signed.as_bytes());
        Ok(format!("{signed}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature.to_bytes())).into())
    }
}

/// Verifies tokens, and remembers those that it has seen.
pub(crate) struct Verifier {
    key: VerifyingKey,
    enforce_scope: bool,
    /// By the token's hash: its resource, and until when it need not be looked at again.
    known: Mutex<HashMap<[u8; 32], (TokenResource, Timestamp)>>,
}

impl Verifier {
    pub(crate) fn new(text: &str, enforce_scope: bool) -> Result<Self, AuthError> {
        let key = pem::public_key(text.as_bytes()).map_err(|_| AuthError::PublicKey)?;
        let key = VerifyingKey::from_public_key_der(&key).map_err(|_| AuthError::PublicKey)?;
        Ok(Self { key, enforce_scope, known: Mutex::default() })
    }

    /// The resource that a credential is for.
    pub(crate) async fn resource(
        &self,
        service: &Service,
        scheme: Scheme,
        token: &str,
    ) -> Result<TokenResource, ApiError> {
        let foreign = match scheme {
            Scheme::Agent | Scheme::Url => None,
            Scheme::User => Some("User Authentication not allowed for local auth"),
            Scheme::Image | Scheme::ImageUrl => Some("Image Authentication not allowed for local auth"),
            Scheme::Watcher => Some("Watcher Authentication not allowed for local auth"),
        };
        if let Some(text) = foreign {
            return Err(ApiError::framework(401, text));
        }
        let now = Timestamp::now();
        if let Some(resource) = self.recall(token, now) {
            return Ok(resource);
        }
        let (resource, expiry) = self.verify(token, now).map_err(|text| ApiError::framework(401, text))?;
        exists(service, resource).await?;
        self.remember(token, resource, expiry, now);
        Ok(resource)
    }

    fn recall(&self, token: &str, now: Timestamp) -> Option<TokenResource> {
        let known = self.known.lock().get(&hash(token)).copied();
        known.filter(|(_, until)| *until > now).map(|(resource, _)| resource)
    }

    /// Remembers a good token for a while, never past its expiry.
    fn remember(&self, token: &str, resource: TokenResource, expiry: Option<Timestamp>, now: Timestamp) {
        let until = now + KNOWN_FOR;
        let mut known = self.known.lock();
        if known.len() >= MOST_KNOWN {
            known.clear();
        }
        known.insert(hash(token), (resource, expiry.map_or(until, |expiry| expiry.min(until))));
    }

    /// The caller that a token stands for, if the path stays within the token's scope. Agents are not held to it: an
    /// installer reports on its cluster with the token of its infra-env (service-api §14.2).
    pub(crate) fn admit(
        &self,
        scheme: Scheme,
        resource: TokenResource,
        path: &[(&str, Cow<'_, str>)],
        request_id: Uuid,
    ) -> Result<Caller, ApiError> {
        let mut caller = Caller::admin(request_id);
        if scheme == Scheme::Url && self.enforce_scope {
            if !within(resource, path) {
                return Err(ApiError::application(404, "Object Not Found"));
            }
            caller.resource = Some(resource);
        }
        Ok(caller)
    }

    fn verify(
        &self,
        token: &str,
        now: Timestamp,
    ) -> Result<(TokenResource, Option<Timestamp>), &'static str> {
        const MALFORMED: &str = "Failed to parse token: token is malformed";
        let mut parts = token.split('.');
        let (Some(header), Some(claims), Some(signature), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(MALFORMED);
        };
        if token.len() > LONGEST_TOKEN {
            return Err(MALFORMED);
        }
        let decode = |part: &str| BASE64_URL_SAFE_NO_PAD.decode(part).map_err(|_| MALFORMED);
        let algorithm: Header = serde_json::from_slice(&decode(header)?).map_err(|_| MALFORMED)?;
        if algorithm.alg != "ES256" {
            return Err("Failed to parse token: unexpected signing method");
        }
        let signature = Signature::from_slice(&decode(signature)?).map_err(|_| MALFORMED)?;
        let signed = token.rsplit_once('.').map_or("", |(signed, _)| signed);
        self.key
            .verify(signed.as_bytes(), &signature)
            .map_err(|_| "Failed to parse token: signature is invalid")?;
        let claims: Claims =
            serde_json::from_slice(&decode(claims)?).map_err(|_| "claims are incorrectly formatted")?;
        let expiry = match claims.exp {
            Some(exp) => Some(Timestamp::from_second(exp).map_err(|_| "claims are incorrectly formatted")?),
            None => None,
        };
        if expiry.is_some_and(|expiry| expiry <= now) {
            return Err("Failed to parse token: token is expired");
        }
        match (claims.infra_env_id, claims.cluster_id) {
            (Some(id), None) => Ok((TokenResource::InfraEnv(id), expiry)),
            (None, Some(id)) => Ok((TokenResource::Cluster(id), expiry)),
            _ => Err("claims are incorrectly formatted"),
        }
    }
}

fn hash(token: &str) -> [u8; 32] {
    Sha256::digest(token).into()
}

async fn exists(service: &Service, resource: TokenResource) -> Result<(), ApiError> {
    if service.resource_exists(resource).await? {
        return Ok(());
    }
    let text = match resource {
        TokenResource::InfraEnv(id) => format!("infraEnv {id} does not exist"),
        TokenResource::Cluster(id) => format!("Cluster {id} does not exist"),
    };
    Err(ApiError::framework(401, text))
}

#[cfg(test)]
mod tests {
    use p256::pkcs8::{EncodePrivateKey, EncodePublicKey, LineEnding};

    use super::*;

    fn pair() -> (Signer, Verifier) {
        let key = p256::SecretKey::from_slice(&[7; 32]).unwrap();
        let public = key.public_key().to_public_key_pem(LineEnding::LF).unwrap();
        let private = key.to_pkcs8_pem(LineEnding::LF).unwrap();
        (Signer::new(&Secret::from(private.as_str())).unwrap(), Verifier::new(&public, true).unwrap())
    }

    #[test]
    fn a_token_is_for_one_resource_until_it_expires() {
        let (signer, verifier) = pair();
        let now = Timestamp::now();
        let resource = TokenResource::InfraEnv(InfraEnvId::random());
        let token = signer.token(resource, now + Duration::from_secs(60)).unwrap();
        assert_eq!(verifier.verify(token.expose(), now).unwrap().0, resource);
        let late = now + Duration::from_secs(61);
        assert_eq!(verifier.verify(token.expose(), late), Err("Failed to parse token: token is expired"));
    }

    /// A token with a good signature over whatever it holds.
    fn signed(signer: &Signer, header: &str, claims: &str) -> String {
        let text =
            format!("{}.{}", BASE64_URL_SAFE_NO_PAD.encode(header), BASE64_URL_SAFE_NO_PAD.encode(claims));
        let signature: Signature = signer.0.sign(text.as_bytes());
        format!("{text}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature.to_bytes()))
    }

    #[test]
    fn claims() {
        const FORMAT: Result<(), &str> = Err("claims are incorrectly formatted");
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
            (format!(r#"{{"cluster_id":"{id}","infra_env_id":"{id}"}}"#), FORMAT),
            (r#"{"cluster_id":"everything"}"#.to_owned(), FORMAT),
            (r#"{"cluster_id":null}"#.to_owned(), FORMAT),
            ("{}".to_owned(), FORMAT),
            ("[]".to_owned(), FORMAT),
            (String::new(), FORMAT),
        ] {
            let token = signed(&signer, HEADER, &claims);
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
            (r#"{"alg":"none"}"#, Some("Failed to parse token: unexpected signing method")),
            ("{}", Some("Failed to parse token: token is malformed")),
        ] {
            let token = signed(&signer, header, &claims);
            assert_eq!(verifier.verify(&token, Timestamp::now()).err(), expected, "{header}");
        }
    }

    #[test]
    fn a_token_is_not_remembered_past_its_expiry() {
        let (_, verifier) = pair();
        let now = Timestamp::now();
        let resource = TokenResource::Cluster(ClusterId::random());
        let after = |seconds| now + Duration::from_secs(seconds);
        verifier.remember("short", resource, Some(after(5)), now);
        verifier.remember("long", resource, Some(after(10_000)), now);
        verifier.remember("endless", resource, None, now);
        for (token, last) in [("short", 5), ("long", 600), ("endless", 600)] {
            assert_eq!(verifier.recall(token, after(last - 1)), Some(resource), "{token}");
            assert_eq!(verifier.recall(token, after(last)), None, "{token}");
        }
        assert_eq!(verifier.recall("other", now), None);
    }

    #[test]
    fn keys_that_are_none() {
        for text in ["", "x", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"] {
            assert!(matches!(Verifier::new(text, true), Err(AuthError::PublicKey)));
            assert!(matches!(Signer::new(&text.into()), Err(AuthError::PrivateKey)));
        }
    }

    #[test]
    fn anything_forged_is_refused() {
        let (signer, verifier) = pair();
        let now = Timestamp::now();
        let token =
            signer.token(TokenResource::Cluster(ClusterId::random()), now + Duration::from_secs(60)).unwrap();
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
            "x".repeat(1 << 20),
        ] {
            assert!(verifier.verify(&forged, now).is_err(), "{}", &forged[..forged.len().min(80)]);
        }
    }
}
