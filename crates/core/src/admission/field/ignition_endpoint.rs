//! Where nodes fetch their Ignition config from.

use assisted_wire::cluster::IgnitionEndpoint;

use super::web::{self, UrlError};
use super::{Invalidity, certificate};

/// Checks the endpoint; the certificate only matters with a URL.
pub fn check(endpoint: &IgnitionEndpoint) -> Result<(), Invalidity> {
    let Some(url) = endpoint.url.as_deref().filter(|url| !url.is_empty()) else { return Ok(()) };
    web::check(url, &["http", "https"]).map_err(|wrong| match wrong {
        UrlError::Format(why) => format!("URL '{url}' format is not valid: {why}"),
        UrlError::Scheme => format!("The URL scheme must be http(s) and specified in the URL: '{url}'"),
    })?;
    match endpoint.ca_certificate.as_deref() {
        Some(text) if !text.is_empty() => certificate::encoded(text),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints() {
        let check = |url: &str, ca: Option<&str>| {
            check(&IgnitionEndpoint { url: Some(url.to_owned()), ca_certificate: ca.map(str::to_owned) })
        };
        assert_eq!(check("https://example.com:22624/config", None), Ok(()));
        assert_eq!(check("", Some("!")), Ok(()));
        assert_eq!(
            check("ftp://x.y", None),
            Err("The URL scheme must be http(s) and specified in the URL: 'ftp://x.y'".to_owned())
        );
        assert!(check("http://", None).unwrap_err().starts_with("URL 'http://' format is not valid: "));
        assert!(check("http://x.y", Some("!")).unwrap_err().starts_with("failed to decode certificate"));
    }
}
