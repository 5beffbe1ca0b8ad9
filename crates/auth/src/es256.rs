//! Tokens that are signed with ES256: by this service, or by the agent-based installer.

use assisted_base::pem;
use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{Algorithm, DecodingKey, Validation};
use p256::elliptic_curve::sec1::ToEncodedPoint as _;
use p256::pkcs8::DecodePublicKey as _;
use serde::de::DeserializeOwned;

/// Longer texts are no tokens.
const LONGEST_TOKEN: usize = 4096;

pub(crate) const MALFORMED: &str = "Failed to parse token: token is malformed";
pub(crate) const CLAIMS: &str = "claims are incorrectly formatted";

/// Verifies signatures; what the claims say, the expiry among it, is for others to judge.
pub(crate) struct Es256 {
    key: DecodingKey,
    validation: Validation,
}

impl Es256 {
    /// With a public key, PEM; `None` when the text holds no such key.
    pub(crate) fn new(text: &str) -> Option<Self> {
        let key = pem::public_key(text.as_bytes()).ok()?;
        let key = p256::PublicKey::from_public_key_der(&key).ok()?;
        let key = DecodingKey::from_ec_der(key.to_encoded_point(false).as_bytes());
        let mut validation = Validation::new(Algorithm::ES256);
        // Time is told by the caller, and tokens of existing installations have no expiry.
        validation.required_spec_claims.clear();
        (validation.validate_exp, validation.validate_aud) = (false, false);
        Some(Self { key, validation })
    }

    /// The claims of a token that is signed with the key; the error says why it is not (service-api §14.2).
    pub(crate) fn claims<C: DeserializeOwned>(&self, token: &str) -> Result<C, &'static str> {
        if token.len() > LONGEST_TOKEN {
            return Err(MALFORMED);
        }
        let header = jsonwebtoken::decode_header(token).map_err(|_| MALFORMED)?;
        if header.alg != Algorithm::ES256 {
            return Err("Failed to parse token: unexpected signing method");
        }
        let claims = jsonwebtoken::decode::<C>(token, &self.key, &self.validation);
        Ok(claims
            .map_err(|error| match error.kind() {
                ErrorKind::InvalidSignature => "Failed to parse token: signature is invalid",
                ErrorKind::Json(_) | ErrorKind::Base64(_) | ErrorKind::Utf8(_) => CLAIMS,
                _ => MALFORMED,
            })?
            .claims)
    }
}
