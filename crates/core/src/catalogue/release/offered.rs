//! What is offered: versions of OpenShift, of the components, and where releases come from (service-api §10.1, §10.2).

use std::collections::{BTreeMap, BTreeSet};

use assisted_base::version::{Base, MULTI, Version};
use assisted_wire::cluster_params::CpuArchitecture;
use assisted_wire::version::Versions as ComponentVersions;
use assisted_wire::version::{
    ListVersions, OpenshiftVersion, OpenshiftVersions, ReleaseImage, ReleaseSources, VersionSupportLevel,
};

use super::architecture::{for_image, normal};
use super::{os_image, release_image};
use crate::policy::Policy;

/// Which versions to list.
#[derive(Clone, Debug, Default)]
pub struct VersionQuery {
    /// Part of the version; empty: all.
    pub version: String,
    /// Only the newest of each major.minor.
    pub only_latest: bool,
}

/// The OpenShift versions that can be installed, by the name that is shown.
pub fn openshift_versions(policy: &Policy, query: &VersionQuery) -> OpenshiftVersions {
    let versions = &policy.versions;
    let offered: Vec<(Version, &ReleaseImage)> = versions
        .release_images
        .0
        .iter()
        .filter(|image| !release_image::is_ignored(versions, &image.version))
        .filter_map(|image| Version::parse(&image.version).map(|version| (version, image)))
        .collect();
    let latest = if query.only_latest { Some(latest(&offered)) } else { None };

    let mut listed = BTreeMap::new();
    for (version, image) in &offered {
        if !image.version.contains(&query.version) {
            continue;
        }
        if latest.as_ref().is_some_and(|latest| !latest.contains(plain(&image.version))) {
            continue;
        }
        let name = display_name(image);
        for text in release_image::architectures(image) {
            let Ok(architecture) = text.parse::<CpuArchitecture>() else { continue };
            let has_os_image = for_image(architecture)
                .is_some_and(|a| os_image::find(&versions.os_images.0, &image.version, a).is_ok());
            if !has_os_image {
                continue;
            }
            let default_level =
                if version.is_beta() { VersionSupportLevel::Beta } else { VersionSupportLevel::Production };
            let entry = listed.entry(name.clone()).or_insert_with(|| OpenshiftVersion {
                display_name: name.clone(),
                support_level: image.support_level.unwrap_or(default_level),
                default: false,
                cpu_architectures: Vec::new(),
            });
            entry.default |= image.default;
            let architecture = normal(architecture).as_str();
            if !entry.cpu_architectures.iter().any(|listed| listed == architecture) {
                entry.cpu_architectures.push(architecture.to_owned());
            }
        }
    }
    OpenshiftVersions(listed)
}

fn plain(version: &str) -> &str {
    version.strip_suffix(MULTI).unwrap_or(version)
}

fn display_name(image: &ReleaseImage) -> String {
    if release_image::is_multi(image) && !image.version.ends_with(MULTI) {
        format!("{}{MULTI}", image.version)
    } else {
        image.version.clone()
    }
}

/// The newest final version of each major.minor, else its newest; without the mark of several architectures.
fn latest<'a>(offered: &[(Version, &'a ReleaseImage)]) -> BTreeSet<&'a str> {
    let mut by_base: BTreeMap<Base, Vec<&ReleaseImage>> = BTreeMap::new();
    for (version, image) in offered {
        by_base.entry(version.base).or_default().push(image);
    }
    by_base
        .into_values()
        .filter_map(|images| release_image::newest(images.into_iter()))
        .map(|i| plain(&i.version))
        .collect()
}

/// The versions of the components of this service.
pub fn component_versions(policy: &Policy) -> ListVersions {
    let images = &policy.images;
    let versions = [
        ("assisted-installer-service", &images.self_version),
        ("discovery-agent", &images.agent),
        ("assisted-installer", &images.installer),
        ("assisted-installer-controller", &images.controller),
    ];
    let versions = versions.into_iter().map(|(name, version)| (name.to_owned(), version.clone())).collect();
    ListVersions { versions: Some(ComponentVersions(versions)), release_tag: images.release_tag.clone() }
}

/// Where releases come from.
pub fn release_sources(policy: &Policy) -> ReleaseSources {
    policy.versions.release_sources.clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(version: &str, only_latest: bool) -> OpenshiftVersions {
        openshift_versions(&Policy::default(), &VersionQuery { version: version.to_owned(), only_latest })
    }

    #[test]
    fn all_of_them() {
        let all = list("", false).0;
        let newest = &all["4.22.9"];
        assert_eq!(newest.cpu_architectures, ["x86_64", "arm64"]);
        assert!(newest.default);
        assert_eq!(newest.support_level, VersionSupportLevel::Production);
        assert_eq!(all["4.22.9-multi"].cpu_architectures, ["x86_64", "arm64", "ppc64le", "s390x"]);
        assert_eq!(all["5.0.0-ec.5"].support_level, VersionSupportLevel::Beta);
        assert_eq!(all["4.13.69"].cpu_architectures, ["x86_64"]);
        assert_eq!(all.values().filter(|version| version.default).count(), 1);
    }

    #[test]
    fn filters_are_joined() {
        let names = |version, only| list(version, only).0.into_keys().collect::<Vec<_>>();
        assert_eq!(names("4.13", false), ["4.13.53", "4.13.53-multi", "4.13.69"]);
        assert_eq!(names("4.13", true), ["4.13.69"]);
        assert_eq!(names("4.22", true), ["4.22.9", "4.22.9-multi"]);
        assert_eq!(names("nothing", false), Vec::<String>::new());
    }

    #[test]
    fn components() {
        let versions = component_versions(&Policy::default()).versions.unwrap().0;
        assert_eq!(versions.len(), 4);
        assert_eq!(versions["assisted-installer-service"], "Unknown");
    }
}
