//! Checks of URLs: their scheme, and the host in them.

use url::{Host, Url};

/// Longest URL accepted, bytes.
const LONGEST: usize = 2083;

/// What is wrong with a URL.
pub(super) enum UrlError {
    /// It is none.
    Format(String),
    /// Its scheme is missing, or not one of those allowed.
    Scheme,
}

/// Checks that the text is a URL with one of the schemes and a host.
pub(super) fn check(text: &str, schemes: &[&str]) -> Result<(), UrlError> {
    let spaced = text.chars().any(|c| c.is_whitespace() || c.is_control());
    if text.is_empty() || text.len() > LONGEST || spaced {
        return Err(UrlError::Format("not a URL".to_owned()));
    }
    let (scheme, rest) = text.split_once("://").map_or(("", text), |(scheme, rest)| (scheme, rest));
    // What has no scheme is first judged as if it had one: a bad host is reported before a missing scheme.
    let parsed =
        Url::parse(&format!("http://{rest}")).map_err(|error| UrlError::Format(error.to_string()))?;
    let is_host = match parsed.host() {
        Some(Host::Domain(name)) => {
            let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
            !name.is_empty() && name.bytes().all(allowed)
        }
        Some(Host::Ipv4(_) | Host::Ipv6(_)) => true,
        None => false,
    };
    if !is_host || rest.starts_with('/') {
        return Err(UrlError::Format("no host".to_owned()));
    }
    if schemes.contains(&scheme.to_ascii_lowercase().as_str()) { Ok(()) } else { Err(UrlError::Scheme) }
}
