//! TLS to PostgreSQL: how much of it is asked for, and whom it trusts.

use std::path::Path;
use std::sync::Arc;

use assisted_base::pem;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio_postgres::config::{Config, SslMode};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::error::{OpenError, TlsError};
use crate::options::{Options, Tls};

/// Takes from an address what PostgreSQL's own clients know of TLS, and this library's parser does not.
pub(super) fn of_address(address: &str, options: &Options) -> Result<(String, Tls), TlsError> {
    let mut tls = options.tls.clone();
    let Some((place, query)) = address.split_once('?') else { return Ok((address.to_owned(), tls)) };
    let mut rest = Vec::new();
    for member in query.split('&') {
        match member.split_once('=') {
            Some(("sslmode", mode)) => tls.mode = mode.to_owned(),
            Some(("sslrootcert", path)) => {
                let path = path.replace("%2F", "/").replace("%2f", "/");
                tls.authorities = Some(path.into());
            }
            _ => rest.push(member),
        }
    }
    let address = if rest.is_empty() { place.to_owned() } else { format!("{place}?{}", rest.join("&")) };
    Ok((address, tls))
}

/// Sets how connections are made. Where authorities are named, the server has to prove its name by them; without, it is as with
/// PostgreSQL's own clients: TLS where the server has it, and whoever stands between is not noticed.
pub(super) fn connector(config: &mut Config, tls: &Tls) -> Result<MakeRustlsConnect, OpenError> {
    Ok(try_connector(config, tls)?)
}

fn try_connector(config: &mut Config, tls: &Tls) -> Result<MakeRustlsConnect, TlsError> {
    let (mode, verified) = match (tls.mode.as_str(), &tls.authorities) {
        ("disable", _) => (SslMode::Disable, false),
        // Naming an authority and talking in the clear, or with anybody, can't be meant.
        ("" | "prefer" | "require" | "verify-full", Some(_)) | ("verify-full", None) => {
            (SslMode::Require, true)
        }
        ("require", None) => (SslMode::Require, false),
        ("" | "prefer", None) => (SslMode::Prefer, false),
        (other, _) => return Err(TlsError::Mode(other.to_owned())),
    };
    config.ssl_mode(mode);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder =
        ClientConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions()?;
    let client = if verified {
        builder.with_root_certificates(authorities(tls.authorities.as_deref())?).with_no_client_auth()
    } else {
        builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(AnyCertificate(provider)))
            .with_no_client_auth()
    };
    Ok(MakeRustlsConnect::new(client))
}

fn authorities(path: Option<&Path>) -> Result<RootCertStore, TlsError> {
    let mut store = RootCertStore::empty();
    let Some(path) = path else {
        let found = rustls_native_certs::load_native_certs();
        store.add_parsable_certificates(found.certs);
        return if store.is_empty() { Err(TlsError::NoAuthorities) } else { Ok(store) };
    };
    let told = || path.display().to_string();
    let text = std::fs::read(path).map_err(|source| TlsError::Read { path: told(), source })?;
    let found =
        pem::certificates(&text).map_err(|error| TlsError::Pem { path: told(), source: Some(error) })?;
    for certificate in found {
        store.add(certificate)?;
    }
    if store.is_empty() { Err(TlsError::Pem { path: told(), source: None }) } else { Ok(store) }
}

/// Takes every certificate, but nobody who hasn't its key: what is said is not read on its way, by whom it is heard is not known.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
