//! Authorities of one's own, and registries with certificates of theirs.

use std::path::Path;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};

use crate::{Access, DockerRegistry, Error};

/// An authority.
#[derive(Debug)]
pub struct Authority {
    /// Its certificate, in PEM form.
    pub pem: String,
    issuer: Issuer<'static, KeyPair>,
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
        let key = KeyPair::generate().map_err(failed)?;
        let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).map_err(failed)?;
        (params.not_before, params.not_after) = (date_time_ymd(years.0, 1, 1), date_time_ymd(years.1, 1, 1));
        let certificate = params.signed_by(&key, &self.issuer).map_err(failed)?;
        std::fs::create_dir_all(images)?;
        let [certificates, private] = ["tls.crt", "tls.key"].map(|name| images.join(name));
        std::fs::write(&certificates, certificate.pem())?;
        std::fs::write(&private, key.serialize_pem())?;
        DockerRegistry::start(images, &Access { tls: Some((certificates, private)), ..Access::default() })
    }
}
