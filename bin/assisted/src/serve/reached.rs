//! Where others come: the address under which browsers and machines reach a service that somebody started by hand.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use assisted_config::{AuthType, Http, Settings};
use assisted_wire::secret::Secret;
use url::{Host, Url};

/// Under which address others come here.
#[derive(Clone, Copy, Debug)]
pub struct Reached(pub(super) IpAddr);

impl Reached {
    /// What a variable says where nobody has set it.
    pub fn default(self, name: &str) -> Option<String> {
        (name == "AUTH_TYPE").then(|| "users".to_owned())
    }

    /// Tells machines where to come, unless the environment does.
    pub fn set_base_url(self, http: &mut Http, scheme: &str, bound: SocketAddr) {
        if http.service_base_url.is_empty() {
            http.service_base_url = format!("{scheme}://{}", SocketAddr::new(self.0, bound.port()));
        }
    }
}

/// What is printed for whoever started the service. A fragment is never sent to any server, so that the code stands in no log.
pub fn invitation(url: &str, code: Option<&Secret>) -> String {
    let url = url.trim_end_matches('/');
    match code {
        Some(code) => format!(
            "open {url}/#setup={}\n  it makes the first administrator, once, within 24 hours",
            code.expose()
        ),
        None => format!("open {url}/"),
    }
}

/// What to tell where machines are sent to an address that is not this machine alone, and nobody but this machine is listened to;
/// `bound` is where the service listens.
pub fn unreachable(settings: &Settings, bound: SocketAddr) -> Option<String> {
    let base_url = &settings.http.service_base_url;
    if !bound.ip().is_loopback() || !leads_elsewhere(base_url) {
        return None;
    }
    let all: IpAddr =
        if bound.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let all = SocketAddr::new(all, bound.port());
    let open = match settings.auth.auth_type {
        AuthType::None => {
            " with AUTH_TYPE=users, by which people log in, or with ASSISTED_ALLOW_UNAUTHENTICATED=true, by which whoever reaches it \
             may do everything"
        }
        _ => "",
    };
    Some(format!(
        "hosts are told to come to {base_url} (SERVICE_BASE_URL), but only this machine is listened to ({bound}): none of them \
         gets here, unless a proxy on this machine leads here. Set ASSISTED_LISTEN={all}{open}"
    ))
}

/// Whether an address names more than the machine that reads it. Names are not looked up.
fn leads_elsewhere(url: &str) -> bool {
    let Ok(url) = Url::parse(url) else { return false };
    match url.host() {
        Some(Host::Ipv4(ip)) => !ip.is_loopback(),
        Some(Host::Ipv6(ip)) => !ip.is_loopback(),
        Some(Host::Domain(name)) => name != "localhost" && !name.ends_with(".localhost"),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_sends_hosts_elsewhere_and_listens_to_nobody_is_told() {
        let told = |base_url: &str, bound: &str, auth_type| {
            let mut settings = Settings::default();
            settings.http.service_base_url = base_url.to_owned();
            settings.auth.auth_type = auth_type;
            unreachable(&settings, bound.parse().unwrap())
        };
        let open = told("http://192.0.2.7:8090", "127.0.0.1:8090", AuthType::None).unwrap();
        assert!(open.contains("ASSISTED_LISTEN=0.0.0.0:8090 with AUTH_TYPE=users"), "{open}");
        assert!(open.contains("ASSISTED_ALLOW_UNAUTHENTICATED=true") && !open.contains('\n'), "{open}");
        let closed = told("https://assisted.example.com", "[::1]:8443", AuthType::Local).unwrap();
        assert!(closed.ends_with("Set ASSISTED_LISTEN=[::]:8443"), "{closed}");
        for (base_url, bound) in [
            ("http://192.0.2.7:8090", "0.0.0.0:8090"),
            ("http://192.0.2.7:8090", "192.0.2.7:8090"),
            ("http://127.0.0.1:8090", "127.0.0.1:8090"),
            ("http://[::1]:8090", "[::1]:8090"),
            ("http://localhost:8090", "127.0.0.1:8090"),
            ("http://assisted.localhost", "127.0.0.1:8090"),
            ("", "127.0.0.1:8090"),
            ("no address", "127.0.0.1:8090"),
        ] {
            assert_eq!(told(base_url, bound, AuthType::None), None, "{base_url} {bound}");
        }
    }

    #[test]
    fn machines_are_told_one_address() {
        let mut http = Http::default();
        let reached = Reached("fd00::7".parse().unwrap());
        reached.set_base_url(&mut http, "http", "[::]:8090".parse().unwrap());
        assert_eq!(http.service_base_url, "http://[fd00::7]:8090");
        reached.set_base_url(&mut http, "https", "[::]:1".parse().unwrap());
        assert_eq!(http.service_base_url, "http://[fd00::7]:8090", "what is set stays");
        assert_eq!(invitation("http://a:1/", None), "open http://a:1/");
        assert!(
            invitation("http://a:1", Some(&"asst_1".into())).starts_with("open http://a:1/#setup=asst_1\n")
        );
    }
}
