//! The certificates of the lab's service: an authority of the lab's own, which everybody in it is told to trust; and the key that its
//! replicas sign tokens with.

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};

use super::{LabError, write_secret};

/// The authority's certificate, in the lab's folder.
pub(super) const CA: &str = "ca.pem";

/// Files of a certificate and of what proves it.
#[derive(Clone, Debug)]
pub(super) struct Certificate {
    pub(super) ca: PathBuf,
    pub(super) chain: PathBuf,
    pub(super) key: PathBuf,
}

impl Certificate {
    /// Makes a new authority and a certificate for the addresses at which the service is asked.
    pub(super) fn make(dir: &Path, addresses: &[IpAddr]) -> Result<Self, LabError> {
        let [chain, key] = ["tls.crt", "tls.key"].map(|name| dir.join(name));
        let files = Self { ca: dir.join(CA), chain, key };
        let (authority, key) = (KeyPair::generate()?, KeyPair::generate()?);
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, "the lab");
        write(&files.ca, params.self_signed(&authority)?.pem())?;
        let names: Vec<_> = addresses.iter().map(IpAddr::to_string).collect();
        let chain = CertificateParams::new(names)?.signed_by(&key, &Issuer::new(params, authority))?;
        write(&files.chain, chain.pem())?;
        write_secret(&files.key, &key.serialize_pem())?;
        Ok(files)
    }
}

fn write(path: &Path, text: String) -> Result<(), LabError> {
    std::fs::write(path, text).map_err(LabError::io(path))
}
