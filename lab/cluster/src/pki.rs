//! The cluster's authorities, and what they sign.

use std::net::IpAddr;

use anyhow::{Context, Result};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose, SanType,
};
use serde_json::json;

/// An authority's key, ready to sign.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: String,
}

/// A certificate and its key, in PEM form.
#[derive(Clone)]
pub struct Pair {
    pub certificate: String,
    pub key: String,
}

/// Who a certificate is for; at most two groups.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    pub name: &'a str,
    pub groups: &'a [&'a str],
}

impl Authority {
    pub fn new(name: &str) -> Result<Self> {
        let key = KeyPair::generate()?;
        let params = params(name)?;
        let certificate = params.self_signed(&key)?.pem();
        Ok(Self { issuer: Issuer::new(params, key), certificate })
    }

    /// An authority whose key and name are known already.
    pub fn of(name: &str, pair: &Pair) -> Result<Self> {
        let key = KeyPair::from_pem(&pair.key).with_context(|| format!("the key of {name} can't be used"))?;
        Ok(Self { issuer: Issuer::new(params(name)?, key), certificate: pair.certificate.clone() })
    }

    pub fn certificate(&self) -> &str {
        &self.certificate
    }

    pub fn pair(&self) -> Pair {
        Pair { certificate: self.certificate.clone(), key: self.issuer.key().serialize_pem() }
    }

    /// Signs for a client.
    pub fn client(&self, subject: Subject<'_>) -> Result<Pair> {
        self.sign(subject, &[], &[], &[ExtendedKeyUsagePurpose::ClientAuth])
    }

    /// Signs for a server.
    pub fn server(&self, name: &str, names: &[String], addresses: &[IpAddr]) -> Result<Pair> {
        let subject = Subject { name, groups: &[] };
        self.sign(subject, names, addresses, &[ExtendedKeyUsagePurpose::ServerAuth])
    }

    /// Signs for a member of a group of equals, each a server and a client of the others.
    pub fn peer(&self, name: &str, names: &[String], addresses: &[IpAddr]) -> Result<Pair> {
        let usages = [ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        self.sign(Subject { name, groups: &[] }, names, addresses, &usages)
    }

    fn sign(
        &self,
        subject: Subject<'_>,
        names: &[String],
        addresses: &[IpAddr],
        usages: &[ExtendedKeyUsagePurpose],
    ) -> Result<Pair> {
        let mut params = CertificateParams::new(names.to_vec())?;
        params.subject_alt_names.extend(addresses.iter().copied().map(SanType::IpAddress));
        params.distinguished_name = distinguished(subject);
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = usages.to_vec();
        let key = KeyPair::generate()?;
        Ok(Pair { certificate: params.signed_by(&key, &self.issuer)?.pem(), key: key.serialize_pem() })
    }
}

fn params(name: &str) -> Result<CertificateParams> {
    let mut params = CertificateParams::new(Vec::new())?;
    params.distinguished_name = distinguished(Subject { name, groups: &[] });
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages =
        vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign, KeyUsagePurpose::DigitalSignature];
    Ok(params)
}

fn distinguished(subject: Subject<'_>) -> DistinguishedName {
    let mut name = DistinguishedName::new();
    // The library keeps one value of each type; the same type by its number is another one to it.
    let types = [DnType::OrganizationName, DnType::CustomDnType(vec![2, 5, 4, 10])];
    for (group, kind) in subject.groups.iter().zip(types) {
        name.push(kind, *group);
    }
    name.push(DnType::CommonName, subject.name);
    name
}

/// A request for a certificate that somebody else signs, and the key that stays here.
pub fn request(subject: Subject<'_>, names: &[String], addresses: &[IpAddr]) -> Result<(String, String)> {
    let mut params = CertificateParams::new(names.to_vec())?;
    params.subject_alt_names.extend(addresses.iter().copied().map(SanType::IpAddress));
    params.distinguished_name = distinguished(subject);
    let key = KeyPair::generate()?;
    Ok((params.serialize_request(&key)?.pem()?, key.serialize_pem()))
}

/// Keys that sign the tokens of accounts: the private one, and the one that proves them.
pub fn token_keys() -> Result<Pair> {
    let key = KeyPair::generate()?;
    Ok(Pair { certificate: key.public_key_pem(), key: key.serialize_pem() })
}

/// Credentials for the API with all data inside; JSON is YAML.
pub fn kubeconfig(server: &str, authority: &str, user: &str, own: &Pair) -> String {
    let data = |pem: &str| STANDARD.encode(pem);
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": user, "preferences": {},
        "clusters": [{"name": "lab", "cluster": {"server": server, "certificate-authority-data": data(authority)}}],
        "users": [{"name": user, "user": {
            "client-certificate-data": data(&own.certificate), "client-key-data": data(&own.key),
        }}],
        "contexts": [{"name": user, "context": {"cluster": "lab", "user": user}}],
    });
    serde_yaml_ng::to_string(&config).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_authority_that_is_found_again_signs_the_same() {
        let made = Authority::new("etcd-signer").unwrap();
        let again = Authority::of("etcd-signer", &made.pair()).unwrap();
        assert_eq!(again.certificate(), made.certificate());
        let own = again.peer("m0", &["localhost".to_owned()], &["192.0.2.1".parse().unwrap()]).unwrap();
        assert!(own.certificate.starts_with("-----BEGIN CERTIFICATE-----"));
        assert!(KeyPair::from_pem(&own.key).is_ok());
    }
}
