//! What blocks hold: certificates, requests for them, keys.

use std::borrow::Cow;

use rustls_pki_types::{
    CertificateDer, CertificateSigningRequestDer, PrivateKeyDer, SubjectPublicKeyInfoDer,
};

use super::PemError;
use super::block::{Block, blocks, write};

const CERTIFICATE: &str = "CERTIFICATE";
const REQUESTS: [&str; 2] = ["CERTIFICATE REQUEST", "NEW CERTIFICATE REQUEST"];

/// Whether a block's label is one of those that certificates bear.
pub fn is_certificate(label: &str) -> bool {
    matches!(label, CERTIFICATE | "X509 CERTIFICATE" | "TRUSTED CERTIFICATE")
}

fn is_private_key(label: &str) -> bool {
    label == "PRIVATE KEY" || label.ends_with(" PRIVATE KEY")
}

/// All certificates of a text, in order; other blocks are passed over.
///
/// # Errors
///
/// When a block is broken. That there is no certificate is no error.
pub fn certificates(text: &[u8]) -> Result<Vec<CertificateDer<'static>>, PemError> {
    let mut found = Vec::new();
    for block in blocks(text) {
        let block = block?;
        if is_certificate(&block.label) {
            found.push(certificate(block)?);
        }
    }
    Ok(found)
}

/// What trust is put into a certificate may stand behind it, and counts for nothing.
fn certificate(block: Block) -> Result<CertificateDer<'static>, PemError> {
    let length = if block.encrypted { None } else { sequence(&block.content) };
    let mut der = block.content;
    der.truncate(length.ok_or(PemError::NoDer(block.label))?);
    Ok(der.into())
}

/// The first request for a certificate in a text.
///
/// # Errors
///
/// When there is none, or something before it is broken.
pub fn certificate_request(text: &[u8]) -> Result<CertificateSigningRequestDer<'static>, PemError> {
    let block = first(text, "certificate request", |label| REQUESTS.contains(&label))?;
    Ok(block.content.into())
}

/// The first private key in a text.
///
/// # Errors
///
/// When there is none, it is encrypted, or something before it is broken. Nothing of a key shows in the error.
pub fn private_key(text: &[u8]) -> Result<PrivateKeyDer<'static>, PemError> {
    let block = first(text, "private key", is_private_key)?;
    if block.encrypted || block.label == "ENCRYPTED PRIVATE KEY" {
        return Err(PemError::Encrypted);
    }
    // What a key is shows in its content: labels are often wrong.
    PrivateKeyDer::try_from(block.content).map_err(|_| PemError::NoDer(block.label))
}

/// The first public key in a text.
///
/// # Errors
///
/// When there is none, or something before it is broken.
pub fn public_key(text: &[u8]) -> Result<SubjectPublicKeyInfoDer<'static>, PemError> {
    let block = first(text, "public key", |label| label == "PUBLIC KEY")?;
    Ok(block.content.into())
}

fn first(text: &[u8], name: &'static str, is_it: impl Fn(&str) -> bool) -> Result<Block, PemError> {
    for block in blocks(text) {
        let block = block?;
        if is_it(&block.label) {
            return Ok(block);
        }
    }
    Err(PemError::Missing(name))
}

/// Certificates as every reader takes them, one after the other.
pub fn write_certificates<'a>(certificates: impl IntoIterator<Item = &'a CertificateDer<'a>>) -> String {
    certificates.into_iter().map(|certificate| write(CERTIFICATE, certificate)).collect()
}

/// A text for readers that take fewer forms of PEM: its certificates alone, if there are any and none is broken.
pub fn plain(text: &str) -> Cow<'_, str> {
    match certificates(text.as_bytes()) {
        Ok(found) if !found.is_empty() => Cow::Owned(write_certificates(&found)),
        _ => Cow::Borrowed(text),
    }
}

/// A chain of certificates and its key, written again as every reader takes them.
///
/// # Errors
///
/// When the text holds no certificate, no key, or broken blocks.
pub fn identity(text: &[u8]) -> Result<String, PemError> {
    let chain = certificates(text)?;
    if chain.is_empty() {
        return Err(PemError::Missing("certificate"));
    }
    let key = private_key(text)?;
    let label = match &key {
        PrivateKeyDer::Pkcs1(_) => "RSA PRIVATE KEY",
        PrivateKeyDer::Sec1(_) => "EC PRIVATE KEY",
        _ => "PRIVATE KEY",
    };
    Ok(write_certificates(&chain) + &write(label, key.secret_der()))
}

/// The length of the DER sequence that a text of bytes begins with.
fn sequence(der: &[u8]) -> Option<usize> {
    let (&tag, rest) = der.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (head, length) = match first {
        0..=0x7f => (2, usize::from(first)),
        0x81..=0x84 => {
            let octets = rest.get(..usize::from(first & 0x7f))?;
            let length = octets.iter().fold(0_usize, |length, octet| length << 8 | usize::from(*octet));
            (2 + octets.len(), length)
        }
        _ => return None,
    };
    let end = head.checked_add(length)?;
    (tag == 0x30 && length > 0 && end <= der.len()).then_some(end)
}
