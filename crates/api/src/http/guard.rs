//! Whether a browser was led here by somebody else: by a name that somebody points at this address, or by a page of another
//! origin. It matters where a request is let in by what browsers send by themselves, or by nothing.

use std::net::IpAddr;

use assisted_config::Http;
use http::header::{HOST, ORIGIN};
use http::{HeaderMap, HeaderName, Method, Uri};

use super::cors::Cors;
use crate::error::ApiError;

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");

/// Names that nobody can register: whoever is led to them is at home.
const PRIVATE: [&str; 6] = ["localhost", "local", "internal", "svc", "svc.cluster.local", "home.arpa"];

/// The names of this service.
#[derive(Debug, Default)]
pub(crate) struct Guard(Vec<String>);

impl Guard {
    /// The names of the settings, and the machine's own.
    pub(crate) fn new(settings: &Http) -> Self {
        let urls = [&settings.service_base_url, &settings.image_service_base_url];
        let of_urls = urls.into_iter().filter_map(|url| url.split_once("://").map(|(_, rest)| rest));
        let of_urls = of_urls.map(|rest| rest.split(['/', '?', '#']).next().unwrap_or_default());
        let own = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let all = of_urls
            .chain(settings.allowed_hosts.iter().map(String::as_str))
            .chain([own.trim()])
            .map(|authority| name(authority).to_ascii_lowercase())
            .filter(|name| !name.is_empty());
        Self(all.collect())
    }

    /// Refuses a request that was made to a name that is not the service's: a page can have its own name point here, and then
    /// reads the answers as its own (DNS rebinding). An address, or a name without dots, is nobody else's.
    pub(crate) fn check_host(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), ApiError> {
        let Some(authority) = authority(uri, headers) else { return Ok(()) };
        let name = name(authority).to_ascii_lowercase();
        let name = name.strip_suffix('.').unwrap_or(&name);
        let private = |suffix: &&str| name.strip_suffix(*suffix).is_some_and(|rest| rest.ends_with('.'));
        let known = name.parse::<IpAddr>().is_ok()
            || !name.contains('.')
            || PRIVATE.iter().any(private)
            || self.0.iter().any(|own| own == name);
        if known {
            return Ok(());
        }
        Err(ApiError::framework(
            421,
            format!(
                "{name:?} is no name of this service; if it is, tell it by SERVICE_BASE_URL or ALLOWED_HOSTS, or let people \
                 log in with AUTH_TYPE=users"
            ),
        ))
    }

    /// Refuses a change that a page of another origin asks for.
    pub(crate) fn check_origin(
        &self,
        cors: &Cors,
        method: &Method,
        uri: &Uri,
        headers: &HeaderMap,
    ) -> Result<(), ApiError> {
        if method.is_safe() || cors.origin(headers).is_some() {
            return Ok(());
        }
        let site = headers.get(FETCH_SITE).map(http::HeaderValue::as_bytes);
        if matches!(site, Some(b"same-origin" | b"none")) {
            return Ok(());
        }
        let same = match headers.get(ORIGIN).map(http::HeaderValue::to_str) {
            // No browser, which sends one with each change.
            None => site.is_none(),
            Some(Err(_)) => false,
            Some(Ok(origin)) => {
                let origin = origin.split_once("://").map_or("", |(_, authority)| authority);
                // What a proxy was asked for: no page can have a browser send that.
                let forwarded = headers.get(FORWARDED_HOST).and_then(|value| value.to_str().ok());
                let here = [authority(uri, headers), forwarded];
                here.into_iter().flatten().any(|here| here.eq_ignore_ascii_case(origin))
            }
        };
        if same {
            return Ok(());
        }
        Err(ApiError::framework(
            403,
            "a page of another origin asks for a change; tell by ALLOWED_DOMAINS from which origins that is meant",
        ))
    }
}

/// Host and port that a request is made to.
fn authority<'a>(uri: &'a Uri, headers: &'a HeaderMap) -> Option<&'a str> {
    uri.authority().map(http::uri::Authority::as_str).or_else(|| headers.get(HOST)?.to_str().ok())
}

/// A host without its port.
fn name(authority: &str) -> &str {
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    if let Some(rest) = host.strip_prefix('[') {
        return rest.split(']').next().unwrap_or_default();
    }
    host.split(':').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use assisted_config::Origins;
    use http::HeaderValue;

    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_str(value).unwrap()))
            .collect()
    }

    #[test]
    fn names_of_others_are_sent_away() {
        let settings = Http {
            service_base_url: "https://assisted.example.com:8443/x".to_owned(),
            allowed_hosts: vec!["Other.example.com".to_owned()],
            ..Http::default()
        };
        let guard = Guard::new(&settings);
        let uri = Uri::from_static("/");
        for name in [
            "127.0.0.1:8090",
            "[::1]:8090",
            "localhost:8090",
            "x.localhost",
            "assisted",
            "assisted.ns.svc:8090",
            "assisted.ns.svc.cluster.local",
            "ASSISTED.example.com:1",
            "assisted.example.com.",
            "other.example.com",
        ] {
            assert!(guard.check_host(&uri, &headers(&[("host", name)])).is_ok(), "{name}");
        }
        for name in
            ["evil.example.com", "xassisted.example.com", "127.0.0.1.evil.example:8090", "evilsvc.com"]
        {
            assert!(guard.check_host(&uri, &headers(&[("host", name)])).is_err(), "{name}");
            let uri: Uri = format!("http://{name}/").parse().unwrap();
            assert!(guard.check_host(&uri, &headers(&[("host", "localhost")])).is_err(), "{name}");
        }
    }

    #[test]
    fn pages_of_others_change_nothing() {
        let (guard, uri) = (Guard::default(), Uri::from_static("/"));
        let cors = Cors(Origins::new(["https://ui.example.com"]));
        let check = |method, pairs: &[(&'static str, &str)]| {
            let mut all = headers(pairs);
            all.insert(HOST, HeaderValue::from_static("here:8090"));
            guard.check_origin(&cors, &method, &uri, &all).is_ok()
        };
        assert!(check(Method::POST, &[]));
        assert!(check(Method::POST, &[("origin", "http://here:8090")]));
        assert!(check(
            Method::POST,
            &[("origin", "https://ui.example.com"), ("sec-fetch-site", "cross-site")]
        ));
        assert!(check(Method::POST, &[("origin", "http://proxy"), ("x-forwarded-host", "proxy")]));
        assert!(check(Method::POST, &[("origin", "http://proxy"), ("sec-fetch-site", "same-origin")]));
        assert!(check(Method::GET, &[("origin", "http://evil.example.com")]));
        for method in [Method::POST, Method::PUT, Method::PATCH, Method::DELETE] {
            for pairs in [
                &[("origin", "http://evil.example.com")][..],
                &[("origin", "null")],
                &[("origin", "http://here:9999"), ("sec-fetch-site", "same-site")],
                &[("sec-fetch-site", "cross-site")],
            ] {
                assert!(!check(method.clone(), pairs), "{method} {pairs:?}");
            }
        }
    }
}
