//! The domains whose DNS records the service makes, and who keeps them.

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;

use assisted_base::error::chain;
use assisted_config::{self as config, DnsProvider, SettingsError, TsigAlgorithm};
use assisted_core::decide::dns::names;
use assisted_core::model::cluster::ClusterRecord;
use assisted_core::model::refusal::{Refusal, RefusalKind};
use assisted_core::model::topology;
use assisted_dns::{Algorithm, DnsError, DynamicUpdate, Key, Provider, Record, Route53};
use assisted_wire::network::DnsRecord;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::Error;

/// What clients know of a domain whose zone is another one (running §6).
const NOT_CONFIGURED: &str = "Base DNS domain isn't configured properly";
/// What clients know of names that lead somewhere already.
const TAKEN: &str = "DNS records already exist for cluster - please change 'Cluster Name'";

/// The domains whose records the service makes.
#[derive(Debug, Default)]
pub(crate) struct Domains(Vec<Domain>);

#[derive(Debug)]
struct Domain {
    name: String,
    provider: Arc<dyn Provider>,
}

impl Domains {
    /// The domains of the settings. Nobody is asked yet.
    ///
    /// # Errors
    ///
    /// A setting without which the records can't be made, or one that can't be used.
    pub(crate) fn new(settings: &config::Dns) -> Result<Self, SettingsError> {
        let domain = |domain: &config::ManagedDomain| -> Result<Domain, SettingsError> {
            let provider = match domain.provider {
                DnsProvider::Route53 => route53(settings, &domain.zone)?,
                DnsProvider::Rfc2136 => dynamic_update(settings, &domain.zone)?,
            };
            Ok(Domain { name: domain.name.clone(), provider })
        };
        Ok(Self(settings.domains.0.iter().map(domain).collect::<Result<_, _>>()?))
    }

    /// Who keeps the records of clusters in a domain; `None`: the service does not make them.
    pub(crate) fn of(&self, domain: &str) -> Option<&Arc<dyn Provider>> {
        self.0.iter().find(|known| known.name == domain).map(|known| &known.provider)
    }

    /// Who keeps a record: that of the longest domain that it lies in.
    pub(crate) fn of_record(&self, record: &Record) -> Option<&Arc<dyn Provider>> {
        let within =
            |domain: &&Domain| record.name.strip_suffix(&domain.name).is_some_and(|rest| rest.ends_with('.'));
        self.0.iter().filter(within).max_by_key(|domain| domain.name.len()).map(|domain| &domain.provider)
    }

    /// Checks that a cluster can have its records: that its zone is there and holds its domain, and that none of its names leads
    /// anywhere but by a record of its own. Nothing is asked for a domain that is not managed.
    pub(crate) async fn check(&self, record: &ClusterRecord) -> Result<(), Error> {
        let cluster = &record.cluster;
        let Some(provider) = self.of(&cluster.base_dns_domain) else { return Ok(()) };
        // The records of a cluster that hosts join are there, whoever made them.
        if cluster.name.is_empty() || topology::is_day2(cluster) {
            return Ok(());
        }
        let zone = match provider.zone().await {
            Ok(zone) => zone,
            Err(DnsError::NoZone { .. }) => return Err(Refusal::conflict(NOT_CONFIGURED).into()),
            Err(error) => return Err(unavailable(&cluster.base_dns_domain, &error)),
        };
        let rest = cluster.base_dns_domain.strip_suffix(&zone);
        if rest.is_none_or(|rest| !rest.is_empty() && !rest.ends_with('.')) {
            return Err(Refusal::conflict(NOT_CONFIGURED).into());
        }
        let own = |name: &String| cluster.dns_records.iter().any(|record| record.name == *name);
        let names: Vec<_> = names(record).into_iter().filter(|name| !own(name)).collect();
        let taken = provider.taken(&names).await;
        let taken = taken.map_err(|error| unavailable(&cluster.base_dns_domain, &error))?;
        if taken.is_empty() { Ok(()) } else { Err(Refusal::conflict(TAKEN).into()) }
    }
}

/// The refusal of a preparation whose names lead somewhere already.
pub(crate) fn taken(names: &[String]) -> String {
    format!("{TAKEN}: {}", names.join(", "))
}

/// A record as its keeper is told it; `None` when its address is none.
pub(crate) fn of_wire(record: &DnsRecord) -> Option<Record> {
    let address: IpAddr = record.address.parse().ok()?;
    Some(Record { name: record.name.clone(), address })
}

fn unavailable(domain: &str, error: &DnsError) -> Error {
    let reason = format!("The DNS records of {domain} can't be looked at now: {}", chain(error));
    Refusal::new(RefusalKind::Unavailable, reason).into()
}

fn route53(settings: &config::Dns, zone: &str) -> Result<Arc<dyn Provider>, SettingsError> {
    let invalid = |problem: String| SettingsError::Invalid {
        variable: "ROUTE53_ENDPOINT_URL",
        problem,
        remedy: "the address of Route 53, https://…",
        default: config::Dns::default().route53_endpoint,
    };
    let endpoint = url::Url::parse(&settings.route53_endpoint).map_err(|error| invalid(error.to_string()))?;
    if !["http", "https"].contains(&endpoint.scheme()) || !endpoint.has_host() {
        return Err(invalid(format!("{endpoint} is no address of the web")));
    }
    let credentials = PathBuf::from(&settings.credentials_file);
    if !credentials.is_file() {
        let file = &settings.credentials_file;
        tracing::warn!(
            file,
            "AWS_SHARED_CREDENTIALS_FILE is not there: no DNS record can be made at Route 53 until it is"
        );
    }
    let provider = Route53::new(endpoint, &settings.route53_region, zone, credentials);
    Ok(Arc::new(provider.map_err(|error| invalid(chain(&error)))?))
}

fn dynamic_update(settings: &config::Dns, zone: &str) -> Result<Arc<dyn Provider>, SettingsError> {
    let invalid = |variable: &'static str, problem: String, remedy: &'static str| SettingsError::Invalid {
        variable,
        problem,
        remedy,
        default: String::new(),
    };
    if settings.update_server.is_empty() {
        let problem = format!("BASE_DNS_DOMAINS names the zone {zone}, and no server that keeps it");
        return Err(invalid("DNS_UPDATE_SERVER", problem, "the server, as host or host:port"));
    }
    let key = if settings.update_key.is_empty() {
        None
    } else {
        let secret = STANDARD.decode(settings.update_key_secret.expose().trim());
        let secret = secret.ok().filter(|secret| !secret.is_empty()).ok_or_else(|| {
            let problem = "not base64, or empty, beside a DNS_UPDATE_KEY".to_owned();
            invalid("DNS_UPDATE_KEY_SECRET", problem, "the secret of the key, in base64")
        })?;
        let algorithm = match settings.update_key_algorithm {
            TsigAlgorithm::HmacSha256 => Algorithm::HmacSha256,
            TsigAlgorithm::HmacSha384 => Algorithm::HmacSha384,
            TsigAlgorithm::HmacSha512 => Algorithm::HmacSha512,
        };
        Some(Key { name: settings.update_key.clone(), secret, algorithm })
    };
    let provider = DynamicUpdate::new(&with_port(&settings.update_server), zone, key.as_ref());
    Ok(Arc::new(provider.map_err(|error| {
        invalid("DNS_UPDATE_KEY", error.to_string(), "the name of the key, as the server knows it")
    })?))
}

/// A server with the port of the DNS, unless it names one.
fn with_port(server: &str) -> String {
    if server.parse::<IpAddr>().is_ok_and(|address| address.is_ipv6()) {
        return format!("[{server}]:53");
    }
    let port = server.rsplit_once(':').map(|(_, port)| port);
    if port.is_some_and(|port| port.parse::<u16>().is_ok()) {
        server.to_owned()
    } else {
        format!("{server}:53")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn domains(set: &[(&str, &str)]) -> Result<Domains, String> {
        let get =
            |name: &str| set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        let settings = config::Settings::from_env(&get).map_err(|error| error.to_string())?;
        Domains::new(&settings.dns).map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_missing_is_told() {
        let update = ("BASE_DNS_DOMAINS", "example.com:example.com/rfc2136");
        let error = domains(&[update]).unwrap_err();
        assert!(error.starts_with("DNS_UPDATE_SERVER: ") && error.contains("example.com"), "{error}");
        let server = ("DNS_UPDATE_SERVER", "ns.example.com");
        let error = domains(&[update, server, ("DNS_UPDATE_KEY", "k"), ("DNS_UPDATE_KEY_SECRET", "?")]);
        let error = error.unwrap_err();
        assert!(error.starts_with("DNS_UPDATE_KEY_SECRET: not base64"), "{error}");
        let wrong = ("ROUTE53_ENDPOINT_URL", "file:///x");
        let error = domains(&[("BASE_DNS_DOMAINS", "example.com:Z1/route53"), wrong]).unwrap_err();
        assert!(error.starts_with("ROUTE53_ENDPOINT_URL: "), "{error}");
    }

    #[test]
    fn a_record_belongs_to_the_longest_domain() {
        let domains = domains(&[
            ("BASE_DNS_DOMAINS", "example.com:example.com/rfc2136,lab.example.com:lab.example.com/rfc2136"),
            ("DNS_UPDATE_SERVER", "192.0.2.1"),
        ])
        .unwrap();
        let record = |name: &str| Record { name: name.to_owned(), address: IpAddr::from([192, 0, 2, 1]) };
        let zone = |name: &str| domains.of_record(&record(name)).map(|provider| format!("{provider:?}"));
        assert!(zone("api.c.lab.example.com").unwrap().contains("\"lab.example.com\""));
        assert!(zone("api.c.example.com").unwrap().contains("\"example.com\""));
        assert_eq!(zone("api.c.anexample.com"), None);
        assert!(domains.of("lab.example.com").is_some() && domains.of("c.lab.example.com").is_none());
    }

    #[test]
    fn the_port_of_the_dns_is_the_default() {
        for (given, used) in [
            ("ns", "ns:53"),
            ("ns:5353", "ns:5353"),
            ("192.0.2.1", "192.0.2.1:53"),
            ("fd00::1", "[fd00::1]:53"),
            ("[fd00::1]:54", "[fd00::1]:54"),
        ] {
            assert_eq!(with_port(given), used);
        }
    }
}
