//! The signature by which a receiver knows who sent a request, and that it is no old one: that of Standard Webhooks.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::hmac;

/// What keys begin with that are written in Base64; others are taken as they are.
pub const KEY_PREFIX: &str = "whsec_";

/// A key for signatures.
pub(crate) struct SigningKey(hmac::Key);

impl SigningKey {
    /// `None`: it begins as one in Base64, and is not.
    pub(crate) fn new(secret: &str) -> Option<Self> {
        let bytes = match secret.strip_prefix(KEY_PREFIX) {
            Some(encoded) => STANDARD.decode(encoded).ok()?,
            None => secret.as_bytes().to_vec(),
        };
        (!bytes.is_empty()).then(|| Self(hmac::Key::new(hmac::HMAC_SHA256, &bytes)))
    }

    /// The header `webhook-signature` for an id, a time in seconds since 1970, and a body.
    pub(crate) fn sign(&self, id: &str, second: i64, body: &[u8]) -> String {
        let mut signed = format!("{id}.{second}.").into_bytes();
        signed.extend_from_slice(body);
        format!("v1,{}", STANDARD.encode(hmac::sign(&self.0, &signed)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_are_those_of_the_specification() {
        // The example of the specification.
        let key = SigningKey::new("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let signed = key.sign("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, br#"{"test": 2432232314}"#);
        assert_eq!(signed, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
        assert!(SigningKey::new("whsec_***").is_none() && SigningKey::new("").is_none());
        assert!(SigningKey::new("a word").is_some());
    }
}
