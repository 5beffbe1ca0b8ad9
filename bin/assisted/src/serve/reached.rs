//! Where others come: the address under which browsers and machines reach a service that somebody started by hand.

use std::net::{IpAddr, SocketAddr};

use assisted_config::Http;
use assisted_wire::secret::Secret;

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

#[cfg(test)]
mod tests {
    use super::*;

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
