//! The name of a cluster.

use assisted_wire::platform::PlatformType;

use super::{Invalidity, is_label};

/// Checks the form of a name; only without a platform may it have several labels.
pub fn check(name: &str, platform: Option<PlatformType>) -> Result<(), Invalidity> {
    let dotted = platform == Some(PlatformType::None) && name.split('.').all(is_label);
    if name.is_empty() || is_label(name) || dotted {
        return Ok(());
    }
    Err(format!(
        "Cluster name format is not valid: '{name}'. Name must start and end with either a letter or number and consist \
         of lower-case letters, numbers, and hyphens. Subdomains in cluster names are only valid with none platform."
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms() {
        for name in ["a", "test-cluster", "1a"] {
            assert_eq!(check(name, Some(PlatformType::Baremetal)), Ok(()), "{name}");
        }
        assert_eq!(check("sub.test", Some(PlatformType::None)), Ok(()));
        for (name, platform) in [
            ("sub.test", Some(PlatformType::Baremetal)),
            ("sub.test", None),
            ("-a", None),
            ("a-", None),
            ("A", None),
            ("a_b", None),
            ("a..b", Some(PlatformType::None)),
        ] {
            assert!(
                check(name, platform)
                    .unwrap_err()
                    .starts_with(&format!("Cluster name format is not valid: '{name}'."))
            );
        }
    }
}
