//! What a request for a certificate asks for: PKCS #10 in PEM form, as little of it as kubelets write.

use std::net::IpAddr;

use assisted_base::pem;
use x509_cert::attr::AttributeTypeAndValue;
use x509_cert::der::asn1::ObjectIdentifier;
use x509_cert::der::{Decode, Encode};
use x509_cert::ext::pkix::SubjectAltName;
use x509_cert::ext::pkix::name::GeneralName;
use x509_cert::request::{CertReq, ExtensionReq};

/// Longest request that is read, in bytes.
const LONGEST: usize = 16 << 10;

const COMMON_NAME: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.4.3");
const ORGANIZATION: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.4.10");
const EXTENSIONS: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.9.14");
const SUBJECT_ALT_NAME: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.17");

/// The subject and the names of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    pub common_name: String,
    pub organizations: Vec<String>,
    /// In lower case.
    pub dns_names: Vec<String>,
    pub addresses: Vec<IpAddr>,
}

/// Why a request can't be understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    #[error("it is longer than {LONGEST} bytes")]
    TooLong,
    #[error("it is no certificate request in PEM form")]
    Encoding,
    #[error("its subject holds more than a common name and organizations")]
    Subject,
    #[error("it asks for more than names")]
    Extension,
    #[error("it asks for names that are neither DNS names nor addresses")]
    NameKind,
}

impl Request {
    /// Reads a request. Whatever a kubelet does not write makes it unreadable: what is not understood can't be approved.
    pub fn read(given: &[u8]) -> Result<Self, Unreadable> {
        if given.len() > LONGEST {
            return Err(Unreadable::TooLong);
        }
        // A reader of PEM passes over what else stands there; who signs it might not.
        if pem::blocks(given).count() != 1 {
            return Err(Unreadable::Encoding);
        }
        let der = pem::certificate_request(given).map_err(|_| Unreadable::Encoding)?;
        let read = CertReq::from_der(&der).map_err(|_| Unreadable::Encoding)?;
        let mut request = Self::default();
        let mut common_names = 0;
        for part in read.info.subject.0.iter().flat_map(|part| part.0.iter()) {
            let value = text(part).ok_or(Unreadable::Subject)?;
            match part.oid {
                COMMON_NAME => {
                    common_names += 1;
                    request.common_name = value;
                }
                ORGANIZATION => request.organizations.push(value),
                _ => return Err(Unreadable::Subject),
            }
        }
        if common_names != 1 {
            return Err(Unreadable::Subject);
        }
        for attribute in read.info.attributes.iter() {
            if attribute.oid != EXTENSIONS {
                return Err(Unreadable::Extension);
            }
            for value in attribute.values.iter() {
                let der = value.to_der().map_err(|_| Unreadable::Encoding)?;
                let extensions = ExtensionReq::from_der(&der).map_err(|_| Unreadable::Encoding)?;
                for extension in extensions.0 {
                    if extension.extn_id != SUBJECT_ALT_NAME {
                        return Err(Unreadable::Extension);
                    }
                    request.take_names(extension.extn_value.as_bytes())?;
                }
            }
        }
        Ok(request)
    }

    fn take_names(&mut self, der: &[u8]) -> Result<(), Unreadable> {
        let names = SubjectAltName::from_der(der).map_err(|_| Unreadable::Encoding)?;
        for name in names.0 {
            match name {
                GeneralName::DnsName(name) => self.dns_names.push(name.as_str().to_lowercase()),
                GeneralName::IpAddress(octets) => {
                    self.addresses.push(address(octets.as_bytes()).ok_or(Unreadable::NameKind)?);
                }
                _ => return Err(Unreadable::NameKind),
            }
        }
        Ok(())
    }
}

fn text(part: &AttributeTypeAndValue) -> Option<String> {
    use x509_cert::der::asn1::{PrintableStringRef, Utf8StringRef};
    let utf8 = part.value.decode_as::<Utf8StringRef<'_>>().map(|text| text.as_str().to_owned());
    utf8.or_else(|_| part.value.decode_as::<PrintableStringRef<'_>>().map(|text| text.as_str().to_owned()))
        .ok()
}

fn address(octets: &[u8]) -> Option<IpAddr> {
    let v4 = <[u8; 4]>::try_from(octets).map(IpAddr::from);
    v4.or_else(|_| <[u8; 16]>::try_from(octets).map(IpAddr::from)).ok()
}
