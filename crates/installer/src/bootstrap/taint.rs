//! Where the taint that waits for a cloud's controller must go, because nothing would ever take it away
//! (installer-and-controller §A7.2).

use assisted_wire::platform::PlatformType;
use serde_json::Value;

pub(super) const UNINITIALIZED: &str = "node.cloudprovider.kubernetes.io/uninitialized";

/// Credentials of vSphere that nobody has filled in.
const PLACEHOLDERS: [(&str, &str); 3] =
    [("user", "usernameplaceholder"), ("password", "passwordplaceholder"), ("server", "vcenterplaceholder")];

/// Whether nodes get rid of it here. `by_hosts` says whether the service runs on one of the cluster's hosts, `credentials`
/// whether the cluster can reach its vSphere.
pub(super) fn is_removed(
    platform: Option<PlatformType>,
    by_hosts: bool,
    credentials: bool,
    version: &str,
) -> bool {
    match platform {
        Some(PlatformType::Nutanix) => true,
        Some(PlatformType::Vsphere) => !(by_hosts && credentials && is_at_least_4_15(version)),
        _ => false,
    }
}

fn is_at_least_4_15(version: &str) -> bool {
    let plain = version.split('-').next().unwrap_or_default();
    let mut numbers = plain.split('.').map(str::parse::<u32>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor) >= (4, 15),
        _ => false,
    }
}

/// Whether the overrides (JSON) of an install-config hold real credentials.
pub(super) fn has_credentials(overrides: &str) -> bool {
    let overrides: Value = serde_json::from_str(overrides).unwrap_or_default();
    let center = &overrides["platform"]["vsphere"]["vcenters"][0];
    PLACEHOLDERS.iter().all(|(name, placeholder)| {
        center[name].as_str().is_some_and(|value| !value.is_empty() && value != *placeholder)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_the_taint_goes() {
        use PlatformType::{Baremetal, None as NoPlatform, Nutanix, Vsphere};
        for (platform, by_hosts, credentials, version, removed) in [
            (Some(Nutanix), false, false, "4.14.0", true),
            (Some(Vsphere), false, false, "4.14.0", true),
            (Some(Vsphere), false, true, "4.16.0", true),
            (Some(NoPlatform), false, false, "4.14.0", false),
            (Some(Baremetal), true, true, "4.15.0", false),
            (Some(Vsphere), true, true, "4.14.0", true),
            (Some(Vsphere), true, true, "4.14.0-rc0", true),
            (Some(Vsphere), true, true, "4.15.0", false),
            (Some(Vsphere), true, true, "4.15.0-rc0", false),
            (Some(Vsphere), true, true, "4.15", false),
            (Some(Vsphere), true, false, "4.15.0", true),
            (None, true, true, "4.15.0", false),
        ] {
            let found = is_removed(platform, by_hosts, credentials, version);
            assert_eq!(found, removed, "{platform:?} {by_hosts} {credentials} {version}");
        }
    }

    #[test]
    fn real_credentials() {
        let with = |user: &str, server: &str| {
            has_credentials(&format!(
                r#"{{"platform":{{"vsphere":{{"vcenters":[{{"user":"{user}","password":"p","server":"{server}"}}]}}}}}}"#
            ))
        };
        assert!(with("u", "s"));
        assert!(!with("usernameplaceholder", "s") && !with("u", "") && !with("u", "vcenterplaceholder"));
        assert!(!has_credentials(
            r#"{"platform":{"vsphere":{"username":"u","password":"p","vCenter":"s"}}}"#
        ));
        assert!(!has_credentials(""));
    }
}
