//! DNS records of clusters: in which domains the service makes them, and where.

use assisted_wire::secret::Secret;

use crate::topic::topic;
use crate::value::{Value, choice, excerpt};

topic! {
    /// DNS records of clusters.
    Dns {
        /// Domains whose records the service makes when a cluster is installed, and deletes with it: domain:zone/provider. The provider
        /// is route53, the zone then the id of a hosted zone, or rfc2136, the zone then the name of a zone at DNS_UPDATE_SERVER.
        domains: ManagedDomains = ManagedDomains::default(), "BASE_DNS_DOMAINS";
        /// File with the credentials for Route 53, in its profile route53; read whenever they are needed.
        credentials_file: String = "/etc/.aws/credentials".to_owned(), "AWS_SHARED_CREDENTIALS_FILE";
        /// Where Route 53 is asked.
        route53_endpoint: String = "https://route53.amazonaws.com".to_owned(), "ROUTE53_ENDPOINT_URL";
        /// Region that requests to Route 53 are signed for.
        route53_region: String = "us-east-1".to_owned(), "ROUTE53_REGION";
        /// DNS server that takes dynamic updates, over TCP: host, or host:port.
        update_server: String = String::new(), "DNS_UPDATE_SERVER";
        /// Name of the key that dynamic updates are signed with; empty: they are not signed.
        update_key: String = String::new(), "DNS_UPDATE_KEY";
        /// Secret of that key, in base64.
        update_key_secret: Secret = Secret::default(), "DNS_UPDATE_KEY_SECRET";
        /// How dynamic updates are signed.
        update_key_algorithm: TsigAlgorithm = TsigAlgorithm::HmacSha256, "DNS_UPDATE_KEY_ALGORITHM";
    }
}

/// How dynamic updates are signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TsigAlgorithm {
    HmacSha256,
    HmacSha384,
    HmacSha512,
}

choice! {
    TsigAlgorithm, "hmac-sha256, hmac-sha384 or hmac-sha512",
    "hmac-sha256" => Self::HmacSha256,
    "hmac-sha384" => Self::HmacSha384,
    "hmac-sha512" => Self::HmacSha512,
}

/// Who keeps the records of a domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DnsProvider {
    /// Amazon's service.
    Route53,
    /// A server that takes dynamic updates.
    Rfc2136,
}

impl DnsProvider {
    const ALL: [(&'static str, Self); 2] = [("route53", Self::Route53), ("rfc2136", Self::Rfc2136)];

    fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, provider)| *provider == self).map_or("", |(name, _)| name)
    }
}

/// A domain whose records the service makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManagedDomain {
    /// The base domain of clusters, without a dot at its end.
    pub name: String,
    /// The zone, as its provider knows it.
    pub zone: String,
    pub provider: DnsProvider,
}

/// The domains whose records the service makes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ManagedDomains(pub Vec<ManagedDomain>);

impl Value for ManagedDomains {
    const KIND: &'static str =
        "a list of domain:zone/provider separated by commas, such as example.com:Z0123456789/route53";

    fn parse(text: &str) -> Result<Self, String> {
        let mut all: Vec<ManagedDomain> = Vec::new();
        for entry in text.split(',').map(str::trim).filter(|entry| !entry.is_empty() && *entry != "\"\"") {
            let domain = managed(entry).map_err(|problem| format!("{}: {problem}", excerpt(entry)))?;
            if all.iter().any(|known| known.name == domain.name) {
                return Err(format!("{}: the domain stands there twice", excerpt(entry)));
            }
            all.push(domain);
        }
        Ok(Self(all))
    }

    fn show(&self) -> String {
        let show =
            |domain: &ManagedDomain| format!("{}:{}/{}", domain.name, domain.zone, domain.provider.name());
        self.0.iter().map(show).collect::<Vec<_>>().join(",")
    }

    fn empty() -> Option<Self> {
        Some(Self::default())
    }
}

fn managed(entry: &str) -> Result<ManagedDomain, String> {
    let (name, place) = entry.split_once(':').ok_or("no zone after a colon")?;
    let (zone, provider) = place.split_once('/').ok_or("no provider after a slash")?;
    if !is_domain(name) {
        return Err(format!("{} is no domain in small letters", excerpt(name)));
    }
    let known = DnsProvider::ALL.iter().find(|(known, _)| *known == provider);
    let (_, provider) = known
        .ok_or_else(|| format!("{} is no provider: there are route53 and rfc2136", excerpt(provider)))?;
    match provider {
        DnsProvider::Route53 => {
            let is_id = !zone.is_empty() && zone.bytes().all(|byte| byte.is_ascii_alphanumeric());
            if !is_id || zone.len() > 32 {
                return Err(format!("{} is no id of a hosted zone", excerpt(zone)));
            }
        }
        DnsProvider::Rfc2136 => {
            let within = name == zone || name.strip_suffix(zone).is_some_and(|rest| rest.ends_with('.'));
            if !is_domain(zone) || !within {
                return Err(format!("{} is no zone that holds the domain", excerpt(zone)));
            }
        }
    }
    Ok(ManagedDomain { name: name.to_owned(), zone: zone.to_owned(), provider: *provider })
}

fn is_domain(text: &str) -> bool {
    let is_label = |label: &str| {
        let fits = (1..=63).contains(&label.len()) && !label.starts_with('-') && !label.ends_with('-');
        fits && label.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
    };
    text.len() <= 253 && text.split('.').all(is_label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn domains_are_read_and_given_back() {
        let text = "example.com:Z0123/route53, lab.example.org:example.org/rfc2136";
        let read = ManagedDomains::parse(text).unwrap();
        assert_eq!(read.0[0].provider, DnsProvider::Route53);
        assert_eq!((read.0[1].name.as_str(), read.0[1].zone.as_str()), ("lab.example.org", "example.org"));
        assert_eq!(read.show(), text.replace(' ', ""));
        assert_eq!(ManagedDomains::parse("\"\"").unwrap(), ManagedDomains::default());
    }

    #[test]
    fn what_is_wrong_is_told() {
        for (entry, problem) in [
            ("example.com", "no zone after a colon"),
            ("example.com:Z1", "no provider after a slash"),
            ("example.com:Z1/", "\"\" is no provider"),
            ("example.com:/route53", "\"\" is no id of a hosted zone"),
            ("example.com:Z1/bind", "\"bind\" is no provider: there are route53 and rfc2136"),
            ("Example.com:Z1/route53", "is no domain in small letters"),
            ("example.com.:Z1/route53", "is no domain in small letters"),
            ("example.com:../route53", "is no id of a hosted zone"),
            ("example.com:ample.com/rfc2136", "is no zone that holds the domain"),
            ("a.com:Z1/route53,a.com:Z2/route53", "twice"),
        ] {
            let told = ManagedDomains::parse(entry).unwrap_err();
            assert!(told.contains(problem), "{entry}: {told}");
        }
    }
}
