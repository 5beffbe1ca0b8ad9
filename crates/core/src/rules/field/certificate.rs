//! Certificates of authorities that hosts and clusters are told to trust.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use x509_cert::Certificate;
use x509_cert::der::DecodePem;

use super::Problem;

const BEGIN: &str = "-----BEGIN ";
const END: &str = "-----END CERTIFICATE-----";

/// Checks a bundle: certificates in PEM form, one after the other.
pub fn bundle(text: &str) -> Result<(), Problem> {
    let mut rest = text.trim();
    if rest.is_empty() {
        return Ok(());
    }
    while !rest.is_empty() {
        let end = rest.find(END).filter(|_| rest.starts_with(BEGIN)).ok_or("invalid block")?;
        let (block, tail) = rest.split_at(end + END.len());
        Certificate::from_pem(block).map_err(|error| format!("parse failed: {error}"))?;
        rest = tail.trim_start();
    }
    Ok(())
}

/// Checks an authority: base64 of certificates in PEM form.
pub fn encoded(text: &str) -> Result<(), Problem> {
    let decoded = STANDARD.decode(text).map_err(|error| format!("failed to decode certificate: {error}"))?;
    let readable = String::from_utf8(decoded).is_ok_and(|pem| !pem.trim().is_empty() && bundle(&pem).is_ok());
    if readable { Ok(()) } else { Err("unable to parse certificate".to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CA: &str = include_str!("../../../tests/data/ca.pem");

    #[test]
    fn bundles() {
        assert_eq!(bundle(""), Ok(()));
        assert_eq!(bundle(CA), Ok(()));
        assert_eq!(bundle(&format!("\n{CA}\n\n{CA}")), Ok(()));
        assert_eq!(bundle(&format!("{CA}garbage")), Err("invalid block".to_owned()));
        assert_eq!(bundle("garbage"), Err("invalid block".to_owned()));
        let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        assert!(bundle(broken).unwrap_err().starts_with("parse failed: "));
    }

    #[test]
    fn encoded_ones() {
        assert_eq!(encoded(&STANDARD.encode(CA)), Ok(()));
        assert!(encoded("!").unwrap_err().starts_with("failed to decode certificate: "));
        assert_eq!(encoded(&STANDARD.encode("x")), Err("unable to parse certificate".to_owned()));
    }
}
