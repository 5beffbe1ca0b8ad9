//! Who may read the embedded registry, and how nodes know it (ocl-day1 §B4.1).

use std::collections::BTreeSet;
use std::net::IpAddr;

use assisted_wire::secret::Secret;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::{Span, Timestamp, tz::TimeZone};
use rand::Rng;
use rand::distr::Alphanumeric;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, CidrSubnet, DnType, ExtendedKeyUsagePurpose,
    GeneralSubtree, IsCa, KeyPair, KeyUsagePurpose, NameConstraints, SanType, date_time_ymd,
};
use serde_json::{Map, Value, json};

/// The only user.
const USER: &str = "ocl";
const PASSWORD_LENGTH: usize = 32;
/// The cost of a guess: that of the tools that write such files.
const BCRYPT_COST: u32 = 10;
const AUTHORITY_YEARS: i64 = 10;
const SERVER_YEARS: i64 = 2;

/// Why there are none.
#[derive(Debug, thiserror::Error)]
pub enum CredentialsError {
    #[error("the registry's certificate can't be made: {0}")]
    Certificate(#[from] rcgen::Error),
    #[error("the registry's password can't be kept: {0}")]
    Password(#[from] bcrypt::BcryptError),
    #[error("the clock can't be right: {0}")]
    Clock(#[from] jiff::Error),
}

/// Credentials of one installation's registry. Nobody keeps the key of its authority.
pub(super) struct Credentials {
    /// The authority's certificate, in PEM form.
    pub authority: String,
    /// The server's, in PEM form.
    pub certificate: String,
    /// Its key, in PEM form.
    pub key: Secret,
    /// `user:hash`.
    pub htpasswd: String,
    password: Secret,
}

impl Credentials {
    /// New ones, for a registry under `name`, `localhost`, and some addresses.
    pub(super) fn new(
        name: &str,
        addresses: &BTreeSet<IpAddr>,
        now: Timestamp,
    ) -> Result<Self, CredentialsError> {
        let mut addresses = addresses.clone();
        addresses.extend([IpAddr::from([127, 0, 0, 1]), IpAddr::from([0, 0, 0, 0, 0, 0, 0, 1_u16])]);
        let names = [name, "localhost"];
        let authority =
            CertifiedIssuer::self_signed(authority(&names, &addresses, now)?, KeyPair::generate()?)?;
        let key = KeyPair::generate()?;
        let certificate = server(&names, &addresses, now)?.signed_by(&key, &authority)?;
        let random = rand::rng().sample_iter(&Alphanumeric).take(PASSWORD_LENGTH);
        let password: String = random.map(char::from).collect();
        Ok(Self {
            authority: authority.pem(),
            certificate: certificate.pem(),
            key: key.serialize_pem().into(),
            htpasswd: format!("{USER}:{}\n", bcrypt::hash(&password, BCRYPT_COST)?),
            password: password.into(),
        })
    }

    /// What a pull secret has of the registry, by host.
    pub(super) fn auths(&self, hosts: &[String]) -> Map<String, Value> {
        let auth = STANDARD.encode(format!("{USER}:{}", self.password.expose()));
        hosts.iter().map(|host| (host.clone(), json!({"auth": auth}))).collect()
    }
}

fn authority(
    names: &[&str],
    addresses: &BTreeSet<IpAddr>,
    now: Timestamp,
) -> Result<CertificateParams, CredentialsError> {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, "ocl-registry-ca");
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    // All nodes trust it for everything: it must be able to speak for nothing but the registry.
    let dns = names.iter().map(|name| GeneralSubtree::DnsName((*name).to_owned()));
    let ips = addresses.iter().map(|address| {
        GeneralSubtree::IpAddress(match address {
            IpAddr::V4(ip) => CidrSubnet::V4(ip.octets(), [255; 4]),
            IpAddr::V6(ip) => CidrSubnet::V6(ip.octets(), [255; 16]),
        })
    });
    params.name_constraints =
        Some(NameConstraints { permitted_subtrees: dns.chain(ips).collect(), excluded_subtrees: Vec::new() });
    lasting(&mut params, now, AUTHORITY_YEARS)?;
    Ok(params)
}

fn server(
    names: &[&str],
    addresses: &BTreeSet<IpAddr>,
    now: Timestamp,
) -> Result<CertificateParams, CredentialsError> {
    let mut params = CertificateParams::new(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())?;
    params.subject_alt_names.extend(addresses.iter().copied().map(SanType::IpAddress));
    params.distinguished_name.push(DnType::CommonName, names[0]);
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.use_authority_key_identifier_extension = true;
    lasting(&mut params, now, SERVER_YEARS)?;
    Ok(params)
}

/// From yesterday on, since clocks of hosts may be behind.
fn lasting(params: &mut CertificateParams, now: Timestamp, years: i64) -> Result<(), CredentialsError> {
    let today = now.to_zoned(TimeZone::UTC).date();
    let day = |date: jiff::civil::Date| {
        date_time_ymd(date.year().into(), date.month().unsigned_abs(), date.day().unsigned_abs())
    };
    params.not_before = day(today.checked_sub(Span::new().days(1))?);
    params.not_after = day(today.checked_add(Span::new().years(years))?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;
    use std::sync::Arc;

    use assisted_base::pem;
    use rustls::crypto::ring;
    use rustls::pki_types::ServerName;
    use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection};
    use x509_cert::Certificate;
    use x509_cert::der::Decode;
    use x509_cert::ext::pkix::{ExtendedKeyUsage, NameConstraints, SubjectAltName};

    use super::*;

    const NAME: &str = "api-int.c.d.example.com";

    fn addresses() -> BTreeSet<IpAddr> {
        ["192.168.10.5", "192.168.10.11", "fd00::5"].map(|ip| ip.parse().unwrap()).into()
    }

    fn made() -> Credentials {
        Credentials::new(NAME, &addresses(), "2026-08-21T01:54:08Z".parse().unwrap()).unwrap()
    }

    /// What a client that trusts an authority says of a server which it wants to reach, and which answers with a certificate.
    fn handshake(authority: &str, certificate: &str, key: &str, wanted: &str) -> Result<(), String> {
        let provider = Arc::new(ring::default_provider());
        let mut roots = RootCertStore::empty();
        roots.add(pem::certificates(authority.as_bytes()).unwrap().remove(0)).unwrap();
        let client = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let chain = pem::certificates(certificate.as_bytes()).unwrap();
        let server = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(chain, pem::private_key(key.as_bytes()).unwrap())
            .unwrap();
        let wanted = ServerName::try_from(wanted.to_owned()).unwrap();
        let mut client = ClientConnection::new(Arc::new(client), wanted).unwrap();
        let mut server = ServerConnection::new(Arc::new(server)).unwrap();
        let (mut here, mut there) = UnixStream::pair().unwrap();
        let answers = std::thread::spawn(move || {
            // What the client says counts.
            let _ = server.complete_io(&mut there);
        });
        let met = client.complete_io(&mut here).map(drop).map_err(|error| error.to_string());
        drop(here);
        answers.join().unwrap();
        met
    }

    fn read(pem: &str) -> Certificate {
        let body: String = pem.lines().filter(|line| !line.starts_with("-----")).collect();
        Certificate::from_der(&STANDARD.decode(body).unwrap()).unwrap()
    }

    #[test]
    fn the_authority_can_speak_for_the_registry_alone() {
        let made = made();
        let read = read(&made.authority);
        assert_eq!(read.tbs_certificate.subject.to_string(), "CN=ocl-registry-ca");
        let (critical, constraints) = read.tbs_certificate.get::<NameConstraints>().unwrap().unwrap();
        // Two names, three addresses, and those of the host itself.
        assert!(critical && constraints.permitted_subtrees.unwrap().len() == 7);
        assert!(read.tbs_certificate.validity.not_after.to_string().starts_with("2036-08-21"));
    }

    #[test]
    fn clients_believe_the_authority_about_the_registry_alone() {
        let (now, addresses) = (Timestamp::now(), addresses());
        // As it is made, it answers under each of its names.
        let made = Credentials::new(NAME, &addresses, now).unwrap();
        for wanted in [NAME, "localhost", "192.168.10.5", "192.168.10.11", "fd00::5", "127.0.0.1", "::1"] {
            handshake(&made.authority, &made.certificate, made.key.expose(), wanted).unwrap();
        }

        // Whoever had the authority's key could speak for nobody else.
        let params = authority(&[NAME, "localhost"], &addresses, now).unwrap();
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let met = |wanted: &str| {
            let addresses: BTreeSet<IpAddr> = wanted.parse::<IpAddr>().into_iter().collect();
            let names = if addresses.is_empty() { [wanted] } else { [NAME] };
            let key = KeyPair::generate().unwrap();
            let certificate = server(&names, &addresses, now).unwrap().signed_by(&key, &authority).unwrap();
            handshake(&authority.pem(), &certificate.pem(), &key.serialize_pem(), wanted)
        };
        for within in [NAME, "localhost", "192.168.10.5", "fd00::5"] {
            assert_eq!(met(within), Ok(()), "{within}");
        }
        for beyond in
            ["api.c.d.example.com", "c.d.example.com", "quay.io", "192.168.10.6", "fd00::6", "10.0.0.1"]
        {
            let why = met(beyond).unwrap_err();
            assert!(why.contains("NameConstraintViolation"), "{beyond}: {why}");
        }
    }

    #[test]
    fn the_server_has_its_names_and_addresses() {
        let made = made();
        let read = read(&made.certificate).tbs_certificate;
        let (_, names) = read.get::<SubjectAltName>().unwrap().unwrap();
        assert_eq!(names.0.len(), 7);
        let (_, usage) = read.get::<ExtendedKeyUsage>().unwrap().unwrap();
        assert_eq!(usage.0.len(), 1);
        assert_eq!(read.issuer.to_string(), "CN=ocl-registry-ca");
        assert!(read.validity.not_after.to_string().starts_with("2028-08-21"));
        assert!(made.key.expose().starts_with("-----BEGIN PRIVATE KEY-----"));
    }

    #[test]
    fn the_password_opens_and_is_new_each_time() {
        let (made, other) = (made(), made());
        assert_ne!(made.password, other.password);
        assert_eq!(made.password.expose().len(), 32);
        let hash = made.htpasswd.trim().strip_prefix("ocl:").unwrap();
        assert!(bcrypt::verify(made.password.expose(), hash).unwrap());
        let auths = made.auths(&["a:1".to_owned(), "localhost:1".to_owned()]);
        let auth = STANDARD.decode(auths["a:1"]["auth"].as_str().unwrap()).unwrap();
        assert_eq!(String::from_utf8(auth).unwrap(), format!("ocl:{}", made.password.expose()));
        assert_eq!(auths.len(), 2);
    }
}
