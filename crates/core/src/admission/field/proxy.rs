//! Proxies, and what bypasses them.

use std::collections::HashSet;
use std::net::IpAddr;

use assisted_base::version::{Base, Version};
use ipnet::IpNet;

use super::Invalidity;
use super::web::{self, UrlError};

/// Checks the proxies that are given and not empty, and what bypasses them, as [`http`], [`https`] and [`no_proxy`] do.
pub fn check(
    http: Option<&String>,
    https: Option<&String>,
    no_proxy: Option<&String>,
    version: Option<&str>,
) -> Result<(), Invalidity> {
    let given = |member: Option<&String>, rule: &dyn Fn(&str) -> Result<(), Invalidity>| {
        member.filter(|text| !text.is_empty()).map_or(Ok(()), |text| rule(text))
    };
    given(http, &self::http)?;
    given(https, &self::https)?;
    given(no_proxy, &|list| self::no_proxy(list, version))
}

/// Checks a proxy for plain requests.
pub fn http(url: &str) -> Result<(), Invalidity> {
    web::check(url, &["http"]).map_err(|wrong| match wrong {
        UrlError::Format(_) => {
            format!("Failed to validate HTTP Proxy: Proxy URL format is not valid: '{url}'")
        }
        UrlError::Scheme => {
            format!(
                "Failed to validate HTTP Proxy: The URL scheme must be http and specified in the URL: '{url}'"
            )
        }
    })
}

/// Checks a proxy for encrypted requests.
pub fn https(url: &str) -> Result<(), Invalidity> {
    web::check(url, &["http", "https"]).map_err(|wrong| match wrong {
        UrlError::Format(_) => format!("Failed to validate HTTPS Proxy: Proxy URL format is not valid: '{url}'"),
        UrlError::Scheme => format!(
            "Failed to validate HTTPS Proxy: The URL scheme must be http or https and specified in the URL: '{url}'"
        ),
    })
}

/// Checks the list of what bypasses the proxies. `version` is that of the cluster; `None` for an infra-env.
pub fn no_proxy(list: &str, version: Option<&str>) -> Result<(), Invalidity> {
    if list.contains('*') {
        if let Some(version) = version.filter(|version| !takes_wildcard(version)) {
            return Err(format!("Sorry, no-proxy value '*' is not supported in release: {version}"));
        }
        // Existing clients send lists with a wildcard in any form, so entries are not looked at one by one. What can't be part
        // of any destination is refused all the same: the list becomes a line of a unit's settings.
        return match list.chars().find(|letter| !can_be_in_a_destination(*letter)) {
            Some(letter) => {
                Err(format!("{letter:?} can't be part of a no_proxy entry, which are separated by commas"))
            }
            None => Ok(()),
        };
    }
    let mut seen = HashSet::new();
    for entry in list.split(',') {
        if !seen.insert(entry) {
            return Err(format!("duplicate no_proxy entry defined: {entry}"));
        }
        let bare = entry.strip_prefix('.').unwrap_or(entry);
        if bare.parse::<IpAddr>().is_err() && bare.parse::<IpNet>().is_err() && !is_dns_name(bare) {
            return Err(format!(
                "NO Proxy is a comma-separated list of destination domain names, domains, IP addresses or other network \
                 CIDRs. A domain can be prefaced with '.' to include all subdomains of that domain. Use '*' to bypass \
                 proxy for all destinations with OpenShift 4.8 or later.: {entry} is not a valid no_proxy entry"
            ));
        }
    }
    Ok(())
}

/// A proxy's URL without user and password, as others may see it.
pub fn without_credentials(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return String::new() };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    format!("{scheme}://{host}{path}")
}

fn takes_wildcard(version: &str) -> bool {
    let Some(parsed) = Version::parse(version) else { return false };
    if parsed.base != Base(4, 8) {
        return parsed.base > Base(4, 8);
    }
    match parsed.prerelease() {
        "" => true,
        prerelease => parsed.patch > Some(0) || (parsed.patch == Some(0) && !is_before_fc4(prerelease)),
    }
}

fn is_before_fc4(prerelease: &str) -> bool {
    match (semver::Prerelease::new(prerelease), semver::Prerelease::new("fc.4")) {
        (Ok(given), Ok(bound)) => given < bound,
        _ => true,
    }
}

fn can_be_in_a_destination(letter: char) -> bool {
    letter.is_ascii_alphanumeric()
        || matches!(letter, '*' | '.' | ',' | ':' | '/' | '-' | '_' | '[' | ']' | ' ')
}

fn is_dns_name(text: &str) -> bool {
    let label = |label: &str| {
        let bytes = label.as_bytes();
        let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        (1..=63).contains(&bytes.len())
            && bytes.iter().all(|byte| word(*byte) || *byte == b'-')
            && word(bytes[0])
            && word(bytes[bytes.len() - 1])
    };
    text.len() <= 255 && text.strip_suffix('.').unwrap_or(text).split('.').all(label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proxies() {
        for url in ["http://proxy.example.com", "http://10.1.1.1:3128", "http://user:pass@[fd00::1]:3128/"] {
            assert_eq!(http(url), Ok(()), "{url}");
            assert_eq!(https(url), Ok(()), "{url}");
        }
        assert_eq!(https("https://proxy.example.com"), Ok(()));
        for url in ["https://proxy.example.com", "proxy.example.com:3128", "10.10.10.10:8080", "ftp://x.y"] {
            assert_eq!(
                http(url),
                Err(format!(
                    "Failed to validate HTTP Proxy: The URL scheme must be http and specified in the URL: '{url}'"
                ))
            );
        }
        for url in ["http://", "http:///x", "http://a b", "!!!", "http://[::", "http://x:99999"] {
            assert_eq!(
                https(url),
                Err(format!("Failed to validate HTTPS Proxy: Proxy URL format is not valid: '{url}'"))
            );
        }
    }

    #[test]
    fn credentials_are_not_told() {
        for (url, told) in [
            ("http://proxy.example.com:3128/x", "http://proxy.example.com:3128/x"),
            ("http://user:p@ss@[fd00::1]:3128", "http://[fd00::1]:3128"),
            ("http://user@proxy/a@b", "http://proxy/a@b"),
            ("user:pass@proxy", ""),
        ] {
            assert_eq!(without_credentials(url), told);
        }
    }

    #[test]
    fn bypasses() {
        for list in ["domain.com", ".domain.com,10.1.0.0/16,10.1.1.1,fd00::/64,localhost", "svc_a.example"] {
            assert_eq!(no_proxy(list, Some("4.22.9")), Ok(()), "{list}");
        }
        assert_eq!(no_proxy("a,b,a", None), Err("duplicate no_proxy entry defined: a".to_owned()));
        for (list, entry) in [("a, b", " b"), ("a,", ""), ("..a", "..a"), ("10.1.1.1/99", "10.1.1.1/99")] {
            let problem = no_proxy(list, None).unwrap_err();
            assert!(
                problem.ends_with(&format!("or later.: {entry} is not a valid no_proxy entry")),
                "{problem}"
            );
        }
    }

    #[test]
    fn the_wildcard_depends_on_the_version() {
        for version in ["4.8.0-fc.4", "4.8.0", "4.8.1-rc.1", "4.22.9", "4.8"] {
            assert_eq!(no_proxy("*", Some(version)), Ok(()), "{version}");
        }
        assert_eq!(no_proxy("*", None), Ok(()));
        for version in ["4.8.0-fc.3", "4.7.9"] {
            assert_eq!(
                no_proxy("a,*", Some(version)),
                Err(format!("Sorry, no-proxy value '*' is not supported in release: {version}"))
            );
        }
    }

    #[test]
    fn beside_a_wildcard_nothing_is_smuggled_in() {
        for list in ["*", " * ", "*.example.com, 10.0.0.0/8", "*,[fd00::1]:80"] {
            assert_eq!(no_proxy(list, None), Ok(()), "{list}");
        }
        for list in
            ["*\nExecStartPre=/bin/sh -c id", "*,a\rb", "*\\x", "*\"", "*%n", "*\0", "*;id", "*\u{2028}"]
        {
            for version in [None, Some("4.22.9")] {
                assert!(no_proxy(list, version).unwrap_err().contains("no_proxy entry"), "{list:?}");
            }
        }
    }
}
