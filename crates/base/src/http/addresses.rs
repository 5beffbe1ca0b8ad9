//! Where a request may lead that another server has sent on: not to this machine, nor to its nearest neighbours.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use parking_lot::RwLock;
use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::Host;

use super::Proxies;

/// Hosts that were set by somebody may be anywhere. A host that a server names, in a redirect or as the issuer of its tokens, is
/// not reached at addresses that mean this machine (loopback, unspecified) or are given out by nobody (link-local, where clouds
/// keep credentials; multicast; broadcast). Private networks are allowed: registries keep layers there.
///
/// A client obeys it with `.dns_resolver(…)` for names, and where redirects are followed with [`Self::allows`] for addresses.
#[derive(Clone, Debug, Default)]
pub struct Addresses(Arc<RwLock<BTreeSet<String>>>);

/// A name leads to no address that may be reached.
#[derive(Debug, thiserror::Error)]
#[error(
    "{0} was named by another server and has no address but ones of this machine or of its link: that is not followed"
)]
pub struct Forbidden(String);

impl Addresses {
    /// With the hosts of proxies, which are set as well.
    pub fn new(proxies: &Proxies) -> Self {
        let addresses = Self::default();
        let given = match proxies {
            Proxies::None => Vec::new(),
            Proxies::Given { http, https, .. } => vec![http.clone(), https.clone()],
            Proxies::FromEnvironment => {
                let names =
                    ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];
                names.iter().filter_map(|name| std::env::var(name).ok()).collect()
            }
        };
        for proxy in given {
            // A proxy may be set without its scheme.
            let url = Url::parse(&proxy)
                .ok()
                .filter(Url::has_host)
                .or_else(|| Url::parse(&format!("http://{proxy}")).ok());
            if let Some(host) = url.as_ref().and_then(Url::host_str) {
                addresses.allow(host);
            }
        }
        addresses
    }

    /// Somebody has set this host: wherever it is, it is meant.
    pub fn allow(&self, host: &str) {
        if !self.0.read().contains(host) {
            self.0.write().insert(host.to_owned());
        }
    }

    /// Whether a request may go there, as far as the address itself tells: names are judged when they are resolved.
    pub fn allows(&self, url: &Url) -> bool {
        let address = match url.host() {
            Some(Host::Ipv4(address)) => IpAddr::V4(address),
            Some(Host::Ipv6(address)) => IpAddr::V6(address),
            Some(Host::Domain(_)) => return true,
            None => return false,
        };
        is_outside(address) || url.host_str().is_some_and(|host| self.0.read().contains(host))
    }
}

impl Resolve for Addresses {
    fn resolve(&self, name: Name) -> Resolving {
        let name = name.as_str().to_owned();
        let anywhere = self.0.read().contains(&name);
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let allowed: Vec<SocketAddr> = found.filter(|found| anywhere || is_outside(found.ip())).collect();
            if allowed.is_empty() {
                return Err(Forbidden(name).into());
            }
            Ok(Box::new(allowed.into_iter()) as Addrs)
        })
    }
}

/// Whether an address is of another machine, and one that somebody was given.
fn is_outside(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => {
            let near = address.is_loopback() || address.is_link_local();
            // 0.0.0.0/8 is this machine as well.
            !(near || address.octets()[0] == 0 || address.is_multicast() || address.is_broadcast())
        }
        IpAddr::V6(address) => {
            let near = address.is_loopback() || address.is_unicast_link_local();
            !(near || address.is_unspecified() || address.is_multicast())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        text.parse().unwrap()
    }

    #[test]
    fn what_a_server_names_is_no_address_of_this_machine_or_its_link() {
        let addresses = Addresses::default();
        for inward in [
            "http://127.0.0.1:5000/",
            "http://127.1/",
            "http://0x7f000001/",
            "http://0.0.0.0/",
            "http://169.254.169.254/latest/meta-data",
            "http://224.0.0.1/",
            "http://255.255.255.255/",
            "http://[::1]/",
            "http://[::]/",
            "http://[fe80::1]/",
            "http://[ff02::1]/",
            "http://[::ffff:127.0.0.1]/",
            "file:///etc/passwd",
        ] {
            assert!(!addresses.allows(&url(inward)), "{inward}");
        }
        for outward in ["http://192.168.1.5/", "http://10.0.0.1/", "http://[fd00::1]/", "https://quay.io/"] {
            assert!(addresses.allows(&url(outward)), "{outward}");
        }
        addresses.allow("127.0.0.1");
        addresses.allow("[::1]");
        assert!(addresses.allows(&url("http://127.0.0.1:6000/")) && addresses.allows(&url("http://[::1]/")));
        assert!(!addresses.allows(&url("http://127.0.0.2/")));
    }

    #[tokio::test]
    async fn a_name_of_this_machine_is_reached_only_where_somebody_set_it() {
        let addresses = Addresses::default();
        let resolved = async || addresses.resolve("localhost".parse().unwrap()).await.map(Iterator::count);
        let error = resolved().await.unwrap_err().to_string();
        assert!(error.starts_with("localhost was named by another server"), "{error}");
        addresses.allow("localhost");
        assert!(resolved().await.unwrap() > 0);
    }

    #[tokio::test]
    async fn a_proxy_is_set_by_somebody() {
        let of = |http: &str, https: &str| {
            Addresses::new(&Proxies::Given {
                http: http.to_owned(),
                https: https.to_owned(),
                none_for: String::new(),
            })
        };
        assert!(of("http://localhost:3128", "").resolve("localhost".parse().unwrap()).await.is_ok());
        assert!(of("", "localhost:3128").resolve("localhost".parse().unwrap()).await.is_ok());
        assert!(of("http://proxy:3128", "").resolve("localhost".parse().unwrap()).await.is_err());
    }
}
