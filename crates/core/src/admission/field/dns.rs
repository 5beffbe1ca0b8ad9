//! The DNS domain of a cluster.

use super::{Invalidity, is_label, is_lower_alnum};

/// What the text of a refusal quotes.
const DOTTED: &str = r"^([a-z\d]([\-]*[a-z\d]+)*\.)+[a-z\d]+([\-]*[a-z\d]+)+$";
const LONGEST_DOMAIN: usize = 255;
const LONGEST_APPS_DOMAIN: usize = 191;
const LONGEST_LABEL: usize = 63;

/// Checks the domain of a cluster together with its name; nothing is said while one of them is missing.
pub fn check(name: &str, domain: &str) -> Result<(), Invalidity> {
    if name.is_empty() || domain.is_empty() {
        return Ok(());
    }
    if !is_single(domain) && (!is_dotted(domain) || domain.len() > LONGEST_DOMAIN || has_quad(domain)) {
        return Err(format!(
            "DNS format mismatch: {domain} domain name is not valid. Must match regex [{DOTTED}], be no more than 255 \
             characters, and not be in dotted decimal format (##.##.##.##)"
        ));
    }
    let apps = format!("apps.{name}.{domain}");
    if apps.len() > LONGEST_APPS_DOMAIN {
        return Err("Combination of cluster name and base DNS domain too long".to_owned());
    }
    match apps.split('.').find(|label| label.len() > LONGEST_LABEL) {
        Some(label) => Err(format!("DNS label '{label}' is longer than 63 bytes")),
        None => Ok(()),
    }
}

fn is_single(domain: &str) -> bool {
    (2..=62).contains(&domain.len()) && is_label(domain)
}

fn is_dotted(domain: &str) -> bool {
    let Some((rest, last)) = domain.rsplit_once('.') else { return false };
    rest.split('.').all(is_label) && last.len() >= 2 && is_label(last)
}

/// Whether four numbers joined by dots stand anywhere in the text.
fn has_quad(domain: &str) -> bool {
    let labels: Vec<&str> = domain.split('.').collect();
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    labels.windows(4).any(|quad| {
        // The outer two may be part of a longer label.
        let outer = quad[0].bytes().next_back().is_some_and(|b| b.is_ascii_digit())
            && quad[3].bytes().next().is_some_and(|b| b.is_ascii_digit());
        outer && digits(quad[1]) && digits(quad[2])
    })
}

/// The name and the domain of an `api.<name>.<domain>`; `None` for any other text.
pub fn split_api_name(dns_name: &str) -> Option<(&str, &str)> {
    if dns_name.parse::<std::net::IpAddr>().is_ok() {
        return None;
    }
    let (name, domain) = dns_name.strip_prefix("api.")?.split_once('.')?;
    (name.bytes().all(|byte| is_lower_alnum(byte) || byte.is_ascii_uppercase() || byte == b'-')
        && !name.is_empty()
        && !domain.is_empty())
    .then_some((name, domain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn domains() {
        for domain in ["example", "1-example.com", "exam--ple.com", "example.com1", "a.example.com", "ab"] {
            assert_eq!(check("name", domain), Ok(()), "{domain}");
        }
        for domain in [
            "example.c",
            "-example.com",
            "a",
            "example.com.",
            "Example.com",
            "1.2.3.44",
            "x1.2.3.44y",
            "a b.com",
        ] {
            let problem = check("name", domain).unwrap_err();
            assert!(
                problem.starts_with(&format!("DNS format mismatch: {domain} domain name is not valid.")),
                "{problem}"
            );
        }
        assert_eq!(check("", "-"), Ok(()));
    }

    #[test]
    fn lengths() {
        let long = ["a".repeat(60), "b".repeat(60), "c".repeat(60), "com".to_owned()].join(".");
        assert_eq!(
            check("name", &long),
            Err("Combination of cluster name and base DNS domain too long".to_owned())
        );
        let label = "d".repeat(64);
        assert_eq!(
            check("name", &format!("{label}.com")),
            Err(format!("DNS label '{label}' is longer than 63 bytes"))
        );
    }

    #[test]
    fn names_of_imported_clusters() {
        assert_eq!(split_api_name("api.test.example.com"), Some(("test", "example.com")));
        for name in ["api.test", "1.2.3.4", "cluster.example.com", "api..example.com", "api"] {
            assert_eq!(split_api_name(name), None, "{name}");
        }
    }
}
