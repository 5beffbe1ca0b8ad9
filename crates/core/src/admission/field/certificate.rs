//! Certificates of authorities that hosts and clusters are told to trust.

use assisted_base::pem::{self, PemError, blocks, is_certificate};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use x509_cert::certificate::{CertificateInner, Raw};
use x509_cert::der::Decode;

use super::Invalidity;

/// Checks a bundle: certificates in PEM form, and text around them. Other blocks have no place in it: hosts are given it as it
/// is, and a key is nobody else's.
pub fn bundle(text: &str) -> Result<(), Invalidity> {
    if text.trim().is_empty() {
        return Ok(());
    }
    if let Some(other) = blocks(text.as_bytes()).flatten().find(|block| !is_certificate(&block.label)) {
        return Err(format!("parse failed: the block {:?} is no certificate", other.label));
    }
    let found = written(text.as_bytes())?;
    if found.is_empty() { Err("invalid block".to_owned()) } else { Ok(()) }
}

/// The certificates of a text as every reader takes them, without whatever else is there; empty: there are none.
pub fn written(text: &[u8]) -> Result<String, Invalidity> {
    let certificates = pem::certificates(text).map_err(|error| match error {
        PemError::NoDer(_) => format!("parse failed: {error}"),
        error => format!("invalid block: {error}"),
    })?;
    for certificate in &certificates {
        // The rules for those who sign certificates today don't hold for old authorities.
        CertificateInner::<Raw>::from_der(certificate).map_err(|error| format!("parse failed: {error}"))?;
    }
    Ok(pem::write_certificates(&certificates))
}

/// Checks an authority: base64 of certificates in PEM form.
pub fn encoded(text: &str) -> Result<(), Invalidity> {
    let letters: Vec<u8> = text.bytes().filter(|byte| !matches!(byte, b'\r' | b'\n')).collect();
    let decoded =
        STANDARD.decode(letters).map_err(|error| format!("failed to decode certificate: {error}"))?;
    match written(&decoded) {
        Ok(found) if !found.is_empty() => Ok(()),
        _ => Err("unable to parse certificate".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CA: &str = include_str!("../../../tests/data/ca.pem");
    const END: &str = "-----END CERTIFICATE-----";

    /// The certificate with all its letters in one line.
    fn flat() -> String {
        let letters: String = CA.lines().filter(|line| !line.starts_with('-')).collect();
        format!("-----BEGIN CERTIFICATE-----\n{letters}\n{END}")
    }

    #[test]
    fn bundles() {
        for good in [
            String::new(),
            " \n".to_owned(),
            CA.to_owned(),
            flat(),
            CA.replace('\n', "\r\n"),
            CA.replace("CERTIFICATE", "TRUSTED CERTIFICATE"),
            format!("\n{CA}\n\n{}", flat()),
            format!("# one\n{CA}# the same again\n{CA}# end"),
        ] {
            assert_eq!(bundle(&good), Ok(()), "{good}");
            let expected = CA.repeat(good.matches(END).count().max(good.matches("TRUSTED").count() / 2));
            assert_eq!(written(good.as_bytes()).unwrap(), expected, "{good}");
        }
        assert_eq!(bundle("garbage"), Err("invalid block".to_owned()));
        for (bad, expected) in [
            (CA.replace(END, ""), "invalid block: "),
            (format!("{CA}{}", &CA[..100]), "invalid block: "),
            (CA.replacen('M', "!", 1), "invalid block: "),
            (format!("-----BEGIN CERTIFICATE-----\nAAAA\n{END}\n"), "parse failed: "),
            (format!("-----BEGIN CERTIFICATE-----\nMAMBAf8=\n{END}\n"), "parse failed: "),
            (
                format!("{CA}-----BEGIN PRIVATE KEY-----\nMAMBAf8=\n-----END PRIVATE KEY-----\n"),
                "parse failed: ",
            ),
        ] {
            let refusal = bundle(&bad).unwrap_err();
            assert!(refusal.starts_with(expected), "{bad}: {refusal}");
            assert!(!refusal.contains("MAMB"), "{refusal}");
        }
    }

    #[test]
    fn encoded_ones() {
        for good in [CA.to_owned(), flat(), format!("# CA\n{CA}")] {
            assert_eq!(encoded(&STANDARD.encode(good)), Ok(()));
        }
        let lines: Vec<_> = STANDARD.encode(CA).as_bytes().chunks(76).map(<[u8]>::to_vec).collect();
        assert_eq!(encoded(&String::from_utf8(lines.join(&b"\r\n"[..])).unwrap()), Ok(()));
        assert!(encoded("!").unwrap_err().starts_with("failed to decode certificate: "));
        for bad in ["x", "", &CA[..100]] {
            assert_eq!(
                encoded(&STANDARD.encode(bad)),
                Err("unable to parse certificate".to_owned()),
                "{bad}"
            );
        }
    }
}
