//! Signatures in the addresses of images: HS256 tokens, each for one infra-env, good for hours, and signed with that infra-env's
//! own key, so that another key makes all of them worthless (service-api §14.2).

use assisted_wire::id::InfraEnvId;
use assisted_wire::secret::Secret;
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use jiff::Timestamp;
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Longer texts are no tokens.
const LONGEST: usize = 1024;

#[derive(Serialize, Deserialize)]
struct Claims {
    /// Seconds since the Unix epoch.
    exp: i64,
    /// The infra-env.
    sub: String,
}

/// A token for an infra-env that is good until a moment; `None` for an infra-env without a key. Who asks twice gets the same
/// bytes.
pub fn sign(key: &Secret, infra_env_id: InfraEnvId, until: Timestamp) -> Option<String> {
    if key.is_empty() {
        return None;
    }
    let claims = Claims { exp: until.as_second(), sub: infra_env_id.to_string() };
    let key = EncodingKey::from_secret(key.expose().as_bytes());
    jsonwebtoken::encode(&Header::new(Algorithm::HS256), &claims, &key).ok()
}

/// The infra-env that a token names, whoever made it: by it the key is found that tells whether it is good.
pub fn named(token: &str) -> Option<InfraEnvId> {
    let claims = token.split('.').nth(1).filter(|_| token.len() <= LONGEST)?;
    let claims: Claims = serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(claims).ok()?).ok()?;
    Uuid::try_parse(&claims.sub).ok().map(InfraEnvId)
}

/// Whether a token is signed with a key, and still good.
pub fn is_good(key: &Secret, token: &str, now: Timestamp) -> bool {
    if key.is_empty() || token.len() > LONGEST {
        return false;
    }
    let mut validation = Validation::new(Algorithm::HS256);
    // Time is told by the caller.
    validation.required_spec_claims.clear();
    (validation.validate_exp, validation.validate_aud) = (false, false);
    let key = DecodingKey::from_secret(key.expose().as_bytes());
    jsonwebtoken::decode::<Claims>(token, &key, &validation)
        .is_ok_and(|token| token.claims.exp > now.as_second())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_good_for_its_infra_env_until_it_ends() {
        let (key, id) = (Secret::from("0f".repeat(32)), InfraEnvId::random());
        let now = Timestamp::from_second(1_700_000_000).unwrap();
        let until = Timestamp::from_second(1_700_000_060).unwrap();
        let token = sign(&key, id, until).unwrap();
        assert_eq!(sign(&key, id, until).unwrap(), token);
        assert_eq!(named(&token), Some(id));
        assert!(is_good(&key, &token, now) && !is_good(&key, &token, until));
        assert!(!is_good(&Secret::from("0e".repeat(32)), &token, now));
        // Nobody signs with nothing.
        assert_eq!(sign(&Secret::default(), id, until), None);
        assert!(!is_good(&Secret::default(), &token, now));
    }

    #[test]
    fn anything_forged_is_refused() {
        let (key, id) = (Secret::from("0f".repeat(32)), InfraEnvId::random());
        let now = Timestamp::from_second(1_700_000_000).unwrap();
        let token = sign(&key, id, now + std::time::Duration::from_secs(60)).unwrap();
        let parts: Vec<_> = token.split('.').collect();
        let claims = |text: String| BASE64_URL_SAFE_NO_PAD.encode(text);
        let other = claims(format!(r#"{{"exp":1800000000,"sub":"{}"}}"#, InfraEnvId::random()));
        let none = BASE64_URL_SAFE_NO_PAD.encode(r#"{"alg":"none"}"#);
        let hs512 = BASE64_URL_SAFE_NO_PAD.encode(r#"{"alg":"HS512"}"#);
        for forged in [
            String::new(),
            "a.b.c".to_owned(),
            format!("{}.{other}.{}", parts[0], parts[2]),
            format!("{none}.{}.", parts[1]),
            format!("{none}.{}.{}", parts[1], parts[2]),
            format!("{hs512}.{}.{}", parts[1], parts[2]),
            format!("{}.{}.", parts[0], parts[1]),
            format!("{token}{}", "x".repeat(2000)),
        ] {
            assert!(!is_good(&key, &forged, now), "{forged}");
        }
        assert_eq!(named(&format!("x.{}.x", claims(r#"{"exp":1,"sub":"x"}"#.to_owned()))), None);
    }
}
