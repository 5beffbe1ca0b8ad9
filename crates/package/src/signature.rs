//! Signatures of images, as cosign makes and finds them, and of files.

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use assisted_base::pem::private_key;
use assisted_oci::{Attached, Manifest};
use assisted_wire::secret::Secret;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use p256::SecretKey;
use p256::ecdsa::signature::Signer as _;
use p256::ecdsa::{Signature, SigningKey};
use p256::pkcs8::{DecodePrivateKey, EncodePublicKey, LineEnding};
use rustls_pki_types::PrivateKeyDer;
use serde_json::json;

/// What is signed of an image.
const SIGNED: &str = "application/vnd.dev.cosign.simplesigning.v1+json";
const ANNOTATION: &str = "dev.cosignproject.cosign/signature";

/// A key that signs: ECDSA on the curve P-256, over SHA-256.
pub struct Signer(SigningKey);

impl Signer {
    /// Reads a private key in PEM form, as `openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256` writes it.
    ///
    /// # Errors
    /// It is another kind of key, or is locked by a password.
    pub fn from_pem(text: &Secret) -> Result<Self> {
        // Also those of cosign's own form, which no other reader knows.
        if text.expose().contains("ENCRYPTED") {
            bail!(
                "the key is locked by a password: give one that is not (openssl pkcs8 unlocks those that it made)"
            );
        }
        let key = match private_key(text.expose().as_bytes()) {
            Ok(PrivateKeyDer::Pkcs8(key)) => SecretKey::from_pkcs8_der(key.secret_pkcs8_der()).ok(),
            Ok(PrivateKeyDer::Sec1(key)) => SecretKey::from_sec1_der(key.secret_sec1_der()).ok(),
            Ok(_) | Err(_) => None,
        };
        let Some(key) = key else {
            bail!("the key is no private key of the curve P-256 in PEM form");
        };
        Ok(Self(key.into()))
    }

    /// The public key, in PEM form.
    ///
    /// # Errors
    /// It can't be written.
    pub fn public_pem(&self) -> Result<String> {
        Ok(self.0.verifying_key().to_public_key_pem(LineEnding::LF)?)
    }

    /// The signature of some bytes, in DER and base64: `openssl dgst -sha256 -verify` takes it once it is decoded.
    pub fn sign(&self, bytes: &[u8]) -> String {
        let signature: Signature = self.0.sign(bytes);
        STANDARD.encode(signature.to_der())
    }

    /// The signature of an image, or of a list of them, under the name that it is pulled by: `REGISTRY/REPOSITORY`.
    ///
    /// # Errors
    /// When nothing can be kept on disk.
    pub fn image(&self, manifest: &Manifest, name: &str) -> Result<Attached> {
        let signed = json!({
            "critical": {
                "identity": {"docker-reference": name},
                "image": {"docker-manifest-digest": manifest.digest},
                "type": "cosign container image signature",
            },
            "optional": null,
        })
        .to_string();
        let annotations = BTreeMap::from([(ANNOTATION.to_owned(), self.sign(signed.as_bytes()))]);
        Ok(Attached::signature(manifest, SIGNED, signed.as_bytes(), &annotations)?)
    }
}

#[cfg(test)]
mod tests {
    use p256::pkcs8::EncodePrivateKey;

    use super::*;

    #[test]
    fn keys_are_read_as_openssl_writes_them() {
        let key = SecretKey::from_slice(&[7; 32]).unwrap();
        let signer = Signer(key.clone().into());
        let pkcs8 = key.to_pkcs8_pem(LineEnding::LF).unwrap();
        let behind_parameters = format!(
            "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n{}",
            key.to_sec1_pem(LineEnding::CRLF).unwrap().as_str()
        );
        for text in [pkcs8.as_str(), behind_parameters.as_str()] {
            let read = Signer::from_pem(&text.into()).unwrap();
            assert_eq!(read.public_pem().unwrap(), signer.public_pem().unwrap());
        }
    }

    #[test]
    fn keys_that_cannot_sign_are_refused() {
        for (text, told) in [
            ("-----BEGIN ENCRYPTED SIGSTORE PRIVATE KEY-----\n", "password"),
            ("-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----\n", "P-256"),
            ("", "P-256"),
        ] {
            let error = Signer::from_pem(&text.into()).err().unwrap().to_string();
            assert!(error.contains(told), "{error}");
        }
    }
}
