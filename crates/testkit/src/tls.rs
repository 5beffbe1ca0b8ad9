//! Authorities of one's own, and registries with certificates of theirs.

use std::path::{Path, PathBuf};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};

use crate::{Access, DockerRegistry, Error};

/// An authority.
#[derive(Debug)]
pub struct Authority {
    /// Its certificate, in PEM form.
    pub pem: String,
    issuer: Issuer<'static, KeyPair>,
}

/// A new pair of keys that tokens are signed with (P-256): the private one and the public one, in PEM form.
///
/// # Errors
/// They can't be made.
pub fn signing_keys() -> Result<(String, String), Error> {
    let key = KeyPair::generate().map_err(failed)?;
    Ok((key.serialize_pem(), key.public_key_pem()))
}

fn failed(error: rcgen::Error) -> Error {
    Error::Certificate(error.into())
}

impl Authority {
    /// An authority of a name.
    ///
    /// # Errors
    /// No certificate can be made.
    pub fn new(name: &str) -> Result<Self, Error> {
        let key = KeyPair::generate().map_err(failed)?;
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        let pem = params.self_signed(&key).map_err(failed)?.pem();
        Ok(Self { pem, issuer: Issuer::new(params, key) })
    }

    /// A registry with the images of a folder and a certificate for `names`, valid from one year's begin to another's.
    ///
    /// # Errors
    /// No certificate can be made, or the registry does not start.
    pub fn registry(
        &self,
        images: &Path,
        names: &[&str],
        years: (i32, i32),
    ) -> Result<DockerRegistry, Error> {
        std::fs::create_dir_all(images)?;
        let tls = Some(self.certificate(images, names, years)?);
        DockerRegistry::start(images, &Access { tls, ..Access::default() })
    }

    /// The files of a certificate for `names` and of its key, made in a folder; it is valid from one year's begin to another's.
    ///
    /// # Errors
    /// They can't be made.
    pub fn certificate(
        &self,
        dir: &Path,
        names: &[&str],
        years: (i32, i32),
    ) -> Result<(PathBuf, PathBuf), Error> {
        let key = KeyPair::generate().map_err(failed)?;
        let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).map_err(failed)?;
        (params.not_before, params.not_after) = (date_time_ymd(years.0, 1, 1), date_time_ymd(years.1, 1, 1));
        let certificate = params.signed_by(&key, &self.issuer).map_err(failed)?;
        let [certificates, private] = ["tls.crt", "tls.key"].map(|name| dir.join(name));
        std::fs::write(&certificates, certificate.pem())?;
        std::fs::write(&private, key.serialize_pem())?;
        Ok((certificates, private))
    }
}
