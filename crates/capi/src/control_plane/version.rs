//! Versions of OpenShift and OKD, and the release image of one (capi-providers §10.1, §10.8).

use assisted_base::version::{MULTI, Version};

/// Where releases are unless somebody says otherwise.
const OPENSHIFT: &str = "quay.io/openshift-release-dev/ocp-release";
const OKD: &str = "quay.io/okd/scos-release";
const OKD_MARK: &str = "okd-scos";

const MINIMUM: &str = "4.14.0";

fn parsed(text: &str) -> Option<Version> {
    Version::parse(text.strip_prefix('v').unwrap_or(text))
}

/// Whether a version can be installed; what is no version is left to the registry to judge.
///
/// # Errors
/// It is too old.
pub(super) fn check(version: &str) -> Result<(), String> {
    match (parsed(version), parsed(MINIMUM)) {
        (Some(given), Some(minimum)) if given < minimum => {
            Err(format!("version {version} is not supported, the minimum supported version is {MINIMUM}"))
        }
        _ => Ok(()),
    }
}

fn is_okd(version: &Version) -> bool {
    version.prerelease().split('.').any(|part| part.starts_with(OKD_MARK))
}

/// Whether a version is a final one, which the update service knows by its number.
pub(super) fn is_final(version: &str) -> bool {
    let Some(version) = parsed(version) else { return false };
    let parts: Vec<_> = version.prerelease().split('.').collect();
    match parts.as_slice() {
        [""] => true,
        [mark, number] => *mark == OKD_MARK && number.bytes().all(|byte| byte.is_ascii_digit()),
        _ => false,
    }
}

/// The version as the cluster calls it: that its release serves several architectures is no part of that.
pub(super) fn plain(version: &str) -> &str {
    version.strip_suffix(MULTI).unwrap_or(version)
}

/// Whether a repository is one of those where releases are by default.
pub(super) fn is_default_repository(repository: &str) -> bool {
    [OPENSHIFT, OKD].contains(&repository)
}

/// The release image of a version, in a repository of one's own if there is one. A version that ends with `-multi` serves several
/// architectures, whatever that of the control plane is.
pub(super) fn image(version: &str, architecture: &str, repository: Option<&str>) -> String {
    // As releases are tagged.
    let architecture = match architecture {
        "" => "x86_64",
        "arm64" => "aarch64",
        other => other,
    };
    let tag = if version.ends_with(MULTI) { version.to_owned() } else { format!("{version}-{architecture}") };
    match repository.filter(|repository| !repository.is_empty()) {
        Some(repository) if repository.contains("@sha") => repository.to_owned(),
        Some(repository) => format!("{repository}:{tag}"),
        None if parsed(version).as_ref().is_some_and(is_okd) => format!("{OKD}:{version}"),
        None => format!("{OPENSHIFT}:{tag}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_versions_are_refused() {
        for good in ["4.14.0", "4.14", "v4.20.1", "5.0.0-ec.1", "4.14.1-rc.1", "latest", "4.19.0-okd-scos.1"]
        {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        for old in ["4.13.9", "4.14.0-rc.1", "3.11", "4.14.0-okd-scos.1"] {
            let refused = format!("version {old} is not supported, the minimum supported version is 4.14.0");
            assert_eq!(check(old), Err(refused));
        }
    }

    #[test]
    fn final_versions() {
        for (version, final_one) in [
            ("4.20.1", true),
            ("4.20.1-multi", true),
            ("4.18.0-okd-scos.2", true),
            ("4.17.0-okd-scos.ec.4", false),
            ("4.16.0-0.okd-scos-2024-09-24-151747", false),
            ("4.20.0-rc.1", false),
            ("4.20.0-ec.1", false),
            ("latest", false),
        ] {
            assert_eq!(is_final(version), final_one, "{version}");
        }
    }

    #[test]
    fn images_of_releases() {
        let of = |version: &str, architecture: &str| image(version, architecture, None);
        assert_eq!(of("4.20.1", "x86_64"), "quay.io/openshift-release-dev/ocp-release:4.20.1-x86_64");
        assert_eq!(of("4.20.1", ""), "quay.io/openshift-release-dev/ocp-release:4.20.1-x86_64");
        assert_eq!(of("4.20.1", "arm64"), "quay.io/openshift-release-dev/ocp-release:4.20.1-aarch64");
        assert_eq!(of("4.20.1-multi", "arm64"), "quay.io/openshift-release-dev/ocp-release:4.20.1-multi");
        assert_eq!(of("4.19.0-okd-scos.15", "x86_64"), "quay.io/okd/scos-release:4.19.0-okd-scos.15");
        assert_eq!(
            of("4.16.0-0.okd-scos-2024-09-24-151747", "x86_64"),
            "quay.io/okd/scos-release:4.16.0-0.okd-scos-2024-09-24-151747"
        );
        let own = Some("registry.example.com/ocp");
        assert_eq!(image("4.20.1", "x86_64", own), "registry.example.com/ocp:4.20.1-x86_64");
        assert_eq!(image("4.20.1", "x86_64", Some("")), of("4.20.1", "x86_64"));
        assert_eq!(image("4.20.1", "x86_64", Some("r/i@sha256:a")), "r/i@sha256:a");
        assert_eq!((plain("4.20.1-multi"), plain("4.20.1")), ("4.20.1", "4.20.1"));
        assert!(is_default_repository("quay.io/okd/scos-release") && !is_default_repository("quay.io"));
    }
}
