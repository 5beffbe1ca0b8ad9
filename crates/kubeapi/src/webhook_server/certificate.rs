//! The certificate of the webhooks where nobody else makes one: an authority, what it signs, and when both are made anew.
//!
//! Pure but for the keys: what is stored comes in, and what is to be stored comes out. API servers trust the bundle of
//! authorities, so a new authority joins it first, and signs only when every configuration has the bundle: no call fails
//! meanwhile.

use std::time::Duration;

use assisted_base::{hex, pem};
use assisted_wire::secret::Secret;
use jiff::{SignedDuration, Timestamp};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};
use x509_cert::Certificate;
use x509_cert::der::{Decode, Encode};
use x509_cert::ext::pkix::SubjectAltName;
use x509_cert::ext::pkix::name::GeneralName;

const DAY: i64 = 24;

/// How long an authority is good, and how long before its end the next one is made.
const AUTHORITY: SignedDuration = SignedDuration::from_hours(10 * 365 * DAY);
const AUTHORITY_REST: SignedDuration = SignedDuration::from_hours(365 * DAY);

/// The same for a certificate.
const LEAF: SignedDuration = SignedDuration::from_hours(90 * DAY);
const LEAF_REST: SignedDuration = SignedDuration::from_hours(30 * DAY);

/// Clocks of API servers may be behind.
const BEFORE: SignedDuration = SignedDuration::from_hours(1);

/// What stands in the secret.
#[derive(Clone, Debug)]
pub struct Stored {
    /// The authorities that are trusted, in PEM form; the last one signs.
    pub bundle: String,
    /// Key of the authority that signs, in PEM form.
    pub authority_key: Secret,
    /// The certificate, in PEM form.
    pub certificate: String,
    /// Its key, in PEM form.
    pub key: Secret,
}

/// What is to be stored, and when to look again.
#[derive(Clone, Debug)]
pub struct Step {
    /// None: what is stored stays.
    pub store: Option<Stored>,
    pub look_at: Timestamp,
}

/// Why no certificate can be made.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    #[error("the certificate can't be made")]
    Make(#[from] rcgen::Error),
    #[error("the certificate that was made can't be read")]
    Read,
}

/// What is known of a certificate.
struct CertificateInfo {
    der: Vec<u8>,
    subject: String,
    issuer: String,
    until: Timestamp,
    names: Vec<String>,
}

/// Decides what is to be stored for these DNS names. `in_place`: every configuration has the bundle that is stored.
///
/// # Errors
/// The library makes no certificate.
pub fn next(
    stored: Option<&Stored>,
    names: &[String],
    now: Timestamp,
    in_place: bool,
) -> Result<Step, CertificateError> {
    let Some((stored, authorities, leaf)) = stored.and_then(|stored| read(stored, now)) else {
        let (bundle, authority_key) = authority(now)?;
        let (certificate, key) = sign(&bundle, &authority_key, names, now)?;
        let look_at = later(now, LEAF - LEAF_REST);
        let stored = Stored { bundle, authority_key, certificate, key };
        return Ok(Step { store: Some(stored), look_at });
    };
    let mut after = stored.clone();
    let signer = authorities.last().ok_or(CertificateError::Read)?;
    let mut changed = false;
    let mut is_new = false;
    let valid: Vec<_> = authorities.iter().filter(|authority| authority.until > now).collect();
    if valid.len() != authorities.len() {
        after.bundle = valid.iter().map(|authority| pem::write("CERTIFICATE", &authority.der)).collect();
        changed = true;
    }
    let renew_authority = earlier(signer.until, AUTHORITY_REST);
    let mut look_at = renew_authority;
    if renew_authority <= now {
        let (authority, key) = authority(now)?;
        after.bundle.push_str(&authority);
        after.authority_key = key;
        (changed, is_new) = (true, true);
        look_at = later(now, AUTHORITY - AUTHORITY_REST);
    }
    let renew_leaf = earlier(leaf.until, LEAF_REST);
    let is_due = renew_leaf <= now || leaf.names != names || leaf.issuer != signer.subject;
    // With an authority that not everybody knows yet nothing is signed, unless the old certificate is of no use anyhow.
    let is_known = !is_new && (in_place || leaf.issuer == signer.subject);
    let may_sign = is_known || leaf.until <= now;
    if is_due && may_sign {
        let signer = authorities_of(&after.bundle).pop().ok_or(CertificateError::Read)?;
        let certificate = pem::write("CERTIFICATE", &signer);
        (after.certificate, after.key) = sign(&certificate, &after.authority_key, names, now)?;
        (changed, look_at) = (true, look_at.min(later(now, LEAF - LEAF_REST)));
    } else {
        look_at = look_at.min(if is_due { now } else { renew_leaf });
    }
    Ok(Step { store: changed.then_some(after), look_at })
}

/// What is stored, if it can be used: an authority whose key is there, and a certificate that one of them signed.
fn read(stored: &Stored, now: Timestamp) -> Option<(&Stored, Vec<CertificateInfo>, CertificateInfo)> {
    let authorities: Option<Vec<_>> = authorities_of(&stored.bundle).iter().map(|der| facts(der)).collect();
    let authorities = authorities?;
    let signer = authorities.last()?;
    KeyPair::from_pem(stored.authority_key.expose()).ok()?;
    KeyPair::from_pem(stored.key.expose()).ok()?;
    let leaf = facts(pem::certificates(stored.certificate.as_bytes()).ok()?.first()?)?;
    let is_known = authorities.iter().any(|authority| authority.subject == leaf.issuer);
    (signer.until > now && is_known).then_some((stored, authorities, leaf))
}

fn authorities_of(bundle: &str) -> Vec<Vec<u8>> {
    let certificates = pem::certificates(bundle.as_bytes()).unwrap_or_default();
    certificates.iter().map(|certificate| certificate.to_vec()).collect()
}

fn facts(der: &[u8]) -> Option<CertificateInfo> {
    let certificate = Certificate::from_der(der).ok()?.tbs_certificate;
    let until = certificate.validity.not_after.to_unix_duration().as_secs();
    let names = certificate.get::<SubjectAltName>().ok()?.map(|(_, names)| names.0).unwrap_or_default();
    let names = names.into_iter().filter_map(|name| match name {
        GeneralName::DnsName(name) => Some(name.to_string()),
        GeneralName::IpAddress(bytes) => address(bytes.as_bytes()),
        _ => None,
    });
    Some(CertificateInfo {
        der: der.to_vec(),
        subject: distinct(&certificate.subject)?,
        issuer: distinct(&certificate.issuer)?,
        until: Timestamp::from_second(i64::try_from(until).ok()?).ok()?,
        names: names.collect(),
    })
}

fn address(bytes: &[u8]) -> Option<String> {
    let v4 = <[u8; 4]>::try_from(bytes).map(std::net::IpAddr::from);
    v4.or_else(|_| <[u8; 16]>::try_from(bytes).map(std::net::IpAddr::from))
        .ok()
        .map(|address| address.to_string())
}

fn distinct(name: &x509_cert::name::Name) -> Option<String> {
    name.to_der().ok().map(|der| hex::encode(&der))
}

/// Settings of the authority that was made at a time; its name is unlike that of any other.
fn authority_params(name: &str, now: Timestamp) -> Result<CertificateParams, CertificateError> {
    let mut params = CertificateParams::new(Vec::new())?;
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages =
        vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign, KeyUsagePurpose::DigitalSignature];
    limit(&mut params, now, AUTHORITY);
    Ok(params)
}

fn authority(now: Timestamp) -> Result<(String, Secret), CertificateError> {
    let key = KeyPair::generate()?;
    let params = authority_params(&format!("assisted webhooks {}", now.as_second()), now)?;
    Ok((params.self_signed(&key)?.pem(), Secret::from(key.serialize_pem())))
}

fn sign(
    authority: &str,
    authority_key: &Secret,
    names: &[String],
    now: Timestamp,
) -> Result<(String, Secret), CertificateError> {
    let der = authorities_of(authority).pop().ok_or(CertificateError::Read)?;
    let name =
        Certificate::from_der(&der).map_err(|_| CertificateError::Read)?.tbs_certificate.subject.to_string();
    let name = name.strip_prefix("CN=").unwrap_or(&name).to_owned();
    let issuer = Issuer::new(authority_params(&name, now)?, KeyPair::from_pem(authority_key.expose())?);
    let key = KeyPair::generate()?;
    let mut params = CertificateParams::new(names.to_vec())?;
    if let Some(name) = names.first() {
        params.distinguished_name.push(DnType::CommonName, name.as_str());
    }
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    limit(&mut params, now, LEAF);
    Ok((params.signed_by(&key, &issuer)?.pem(), Secret::from(key.serialize_pem())))
}

fn later(at: Timestamp, by: SignedDuration) -> Timestamp {
    at.checked_add(by).unwrap_or(Timestamp::MAX)
}

fn earlier(at: Timestamp, by: SignedDuration) -> Timestamp {
    at.checked_sub(by).unwrap_or(Timestamp::MIN)
}

/// Makes a certificate good from now on.
fn limit(params: &mut CertificateParams, now: Timestamp, life: SignedDuration) {
    let epoch = date_time_ymd(1970, 1, 1);
    let since = |at: Timestamp| Duration::from_secs(u64::try_from(at.as_second()).unwrap_or_default());
    params.not_before = epoch + since(earlier(now, BEFORE));
    params.not_after = epoch + since(later(now, life));
}
