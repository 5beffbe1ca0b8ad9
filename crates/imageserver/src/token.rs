//! Which infra-env a token is for. Whether the token is good is for the API service to say (image-service §1.5).

use base64::Engine;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde_json::Value;
use uuid::Uuid;

const TOLERANT: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);

/// Why a token names no infra-env; the texts are answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TokenError {
    #[error("failed to parse JWT from URL")]
    Malformed,
    #[error("InfraEnv ID not found in token")]
    NoInfraEnv,
}

/// The infra-env that a token names: its claim `sub`, else `infra_env_id`.
pub(crate) fn infra_env_id(token: &str) -> Result<Uuid, TokenError> {
    let (rest, signature) = token.rsplit_once('.').ok_or(TokenError::Malformed)?;
    let (header, claims) = rest.rsplit_once('.').ok_or(TokenError::Malformed)?;
    if header.is_empty() || claims.is_empty() || signature.is_empty() {
        return Err(TokenError::Malformed);
    }
    let decode = |alphabet| GeneralPurpose::new(alphabet, TOLERANT).decode(claims).ok();
    let claims = decode(&URL_SAFE).or_else(|| decode(&STANDARD)).ok_or(TokenError::Malformed)?;
    let claims: Value = serde_json::from_slice(&claims).map_err(|_| TokenError::Malformed)?;
    let id = ["sub", "infra_env_id"].into_iter().find_map(|name| claims.get(name)?.as_str());
    id.and_then(|id| Uuid::parse_str(id).ok()).ok_or(TokenError::NoInfraEnv)
}

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE as PADDED, URL_SAFE_NO_PAD};

    use super::*;

    const ID: &str = "3f6c8e2a-1b7d-4a52-9c01-d4f0e8a7b612";

    fn token(engine: &GeneralPurpose, claims: &str) -> String {
        format!("e30.{}.c2ln", engine.encode(claims))
    }

    #[test]
    fn the_subject_counts_before_the_claim() {
        let other = "00000000-0000-4000-8000-000000000000";
        for claims in [
            format!(r#"{{"sub":"{ID}","infra_env_id":"{other}"}}"#),
            format!(r#"{{"infra_env_id":"{ID}","note":"~~~???>>>"}}"#),
        ] {
            for engine in [&STANDARD_NO_PAD, &URL_SAFE_NO_PAD, &PADDED] {
                assert_eq!(infra_env_id(&token(engine, &claims)).unwrap().to_string(), ID);
            }
        }
    }

    #[test]
    fn what_names_none_is_refused() {
        let claims = |claims| infra_env_id(&token(&URL_SAFE_NO_PAD, claims)).unwrap_err();
        assert_eq!(claims("{}"), TokenError::NoInfraEnv);
        assert_eq!(claims(r#"{"sub":"../../clusters"}"#), TokenError::NoInfraEnv);
        assert_eq!(claims(r#"{"sub":5}"#), TokenError::NoInfraEnv);
        assert_eq!(claims("nonsense"), TokenError::Malformed);
        for text in ["", "a", "a.b", "..", "a..b", "a.b.", ".b.c", "a.*.c"] {
            assert_eq!(infra_env_id(text), Err(TokenError::Malformed), "{text}");
        }
    }
}
