//! Keys of an identity provider, and tokens that are signed with them.

use std::io::Write;
use std::process::{Command, Stdio};

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::rsa::PublicKeyComponents;
use ring::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use serde_json::{Value, json};

/// An RSA key of 2048 bits.
#[derive(Debug)]
pub(super) struct Key {
    pub(super) id: String,
    pair: RsaKeyPair,
}

impl Key {
    /// A new one, which `openssl` makes: the libraries of this project verify, and make none.
    pub(super) fn new(id: &str) -> Self {
        let made = Command::new("openssl")
            .args(["genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-outform", "DER"])
            .stderr(Stdio::null())
            .output()
            .unwrap();
        // Releases differ in which of the two forms they write.
        let pair = RsaKeyPair::from_pkcs8(&made.stdout).or_else(|_| RsaKeyPair::from_der(&made.stdout));
        Self { id: id.to_owned(), pair: pair.unwrap() }
    }

    /// As it stands in a key set.
    pub(super) fn public(&self) -> Value {
        let parts = PublicKeyComponents::<Vec<u8>>::from(self.pair.public());
        let text = |bytes: &[u8]| BASE64_URL_SAFE_NO_PAD.encode(bytes);
        json!({"kty": "RSA", "kid": self.id, "use": "sig", "alg": "RS256", "n": text(&parts.n), "e": text(&parts.e)})
    }

    /// A token with these claims.
    pub(super) fn token(&self, claims: &Value) -> String {
        let text = unsigned(&json!({"alg": "RS256", "kid": self.id, "typ": "JWT"}), claims);
        let mut signature = vec![0; self.pair.public().modulus_len()];
        self.pair.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), text.as_bytes(), &mut signature).unwrap();
        format!("{text}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature))
    }

    /// A token that is signed with what everybody knows of the key.
    pub(super) fn confused(&self, claims: &Value) -> String {
        let text = unsigned(&json!({"alg": "HS256", "kid": self.id, "typ": "JWT"}), claims);
        let public = self.public().to_string();
        let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, public.as_bytes());
        let signature = ring::hmac::sign(&key, text.as_bytes());
        format!("{text}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature))
    }
}

/// Header and claims of a token.
pub(super) fn unsigned(header: &Value, claims: &Value) -> String {
    let mut text = Vec::new();
    for (index, part) in [header, claims].into_iter().enumerate() {
        if index > 0 {
            text.push(b'.');
        }
        write!(text, "{}", BASE64_URL_SAFE_NO_PAD.encode(part.to_string())).unwrap();
    }
    String::from_utf8(text).unwrap()
}
