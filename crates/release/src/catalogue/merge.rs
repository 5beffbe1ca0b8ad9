//! One list of what was found in channels and what is configured.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use assisted_wire::cluster_params::CpuArchitecture;
use assisted_wire::version::{ReleaseChannel, ReleaseImage, ReleaseSource, VersionSupportLevel};

use super::life_cycle::LifeCycle;
use crate::image::go_name;

const REPOSITORY: &str = "quay.io/openshift-release-dev/ocp-release";
const MULTI: &str = "-multi";

/// What was found in channels.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// By version and architecture.
    releases: BTreeMap<(String, &'static str), Release>,
}

#[derive(Debug)]
struct Release {
    base: String,
    architecture: CpuArchitecture,
    architectures: Vec<String>,
    /// Whether it was found in no channel but that of candidates.
    candidate: bool,
}

impl Found {
    /// Adds the versions of a channel; those of other lines, which lead to or from it, are left out.
    pub(super) fn add(
        &mut self,
        source: &ReleaseSource,
        architecture: CpuArchitecture,
        channel: ReleaseChannel,
        versions: impl Iterator<Item = String>,
    ) {
        let architectures: Vec<String> = match architecture {
            CpuArchitecture::Multi => {
                source.multi_cpu_architectures.iter().map(|one| one.as_str().to_owned()).collect()
            }
            CpuArchitecture::Aarch64 => vec![CpuArchitecture::Arm64.as_str().to_owned()],
            one => vec![one.as_str().to_owned()],
        };
        let candidate = channel == ReleaseChannel::Candidate;
        for version in versions.filter(|version| base(version) == Some(source.openshift_version.as_str())) {
            let found = self.releases.entry((version, go_name(architecture)));
            let release = found.or_insert_with(|| Release {
                base: source.openshift_version.clone(),
                architecture: if architecture == CpuArchitecture::Aarch64 {
                    CpuArchitecture::Arm64
                } else {
                    architecture
                },
                architectures: architectures.clone(),
                candidate,
            });
            release.candidate &= candidate;
        }
    }

    /// The releases as images, the newest of the supported ones the default.
    ///
    /// # Errors
    ///
    /// The line whose level of support is not known.
    pub(super) fn images(self, life_cycle: &LifeCycle) -> Result<Vec<ReleaseImage>, String> {
        let image = |((version, _), release): ((String, &str), Release)| {
            let beta = release.candidate || version.contains('-');
            let level = life_cycle.level(&release.base).ok_or_else(|| release.base.clone())?;
            let multi = release.architecture == CpuArchitecture::Multi;
            let suffix = if multi { MULTI } else { "" };
            Ok(ReleaseImage {
                url: format!("{REPOSITORY}:{version}-{}", tag(release.architecture)),
                openshift_version: format!("{}{suffix}", release.base),
                version: format!("{version}{suffix}"),
                cpu_architecture: release.architecture,
                cpu_architectures: Some(release.architectures),
                default: false,
                support_level: Some(if beta { VersionSupportLevel::Beta } else { level }),
            })
        };
        let mut images: Vec<_> = self.releases.into_iter().map(image).collect::<Result<_, String>>()?;
        images.sort_by(|a, b| compare(&a.version, &b.version).then_with(|| a.url.cmp(&b.url)));
        let may = |image: &&mut ReleaseImage| {
            image.support_level == Some(VersionSupportLevel::Production)
                && image.cpu_architecture == CpuArchitecture::X8664
        };
        if let Some(newest) = images.iter_mut().rev().find(may) {
            newest.default = true;
        }
        Ok(images)
    }
}

/// How tags call an architecture.
fn tag(architecture: CpuArchitecture) -> &'static str {
    match architecture {
        CpuArchitecture::Arm64 => CpuArchitecture::Aarch64.as_str(),
        other => other.as_str(),
    }
}

/// Major and minor of a whole version.
fn base(version: &str) -> Option<&str> {
    let (end, _) = version.match_indices('.').nth(1)?;
    version.get(..end)
}

/// The order of versions; what is none stands first.
fn compare(a: &str, b: &str) -> Ordering {
    let read = |text: &str| semver::Version::parse(text.strip_suffix(MULTI).unwrap_or(text)).ok();
    read(a).cmp(&read(b))
}

/// What is configured, then what was learned. Of two with one URL the configured one stands, and a configured default is
/// the only one.
pub(super) fn merge(configured: &[ReleaseImage], learned: Vec<ReleaseImage>) -> Vec<ReleaseImage> {
    let has_default = configured.iter().any(|image| image.default);
    let mut all = configured.to_vec();
    for mut image in learned {
        if configured.iter().any(|known| known.url == image.url) {
            continue;
        }
        image.default &= !has_default;
        all.push(image);
    }
    all
}

#[cfg(test)]
mod tests {
    use assisted_wire::version::{ImageCpuArchitecture, UpgradeChannel};

    use super::*;

    fn source(base: &str) -> ReleaseSource {
        let multi = vec![ImageCpuArchitecture::X8664, ImageCpuArchitecture::Arm64];
        let channel = UpgradeChannel { cpu_architecture: CpuArchitecture::X8664, channels: vec![] };
        ReleaseSource {
            openshift_version: base.to_owned(),
            multi_cpu_architectures: multi,
            upgrade_channels: vec![channel],
        }
    }

    fn levels(text: &str) -> LifeCycle {
        serde_json::from_str(text).unwrap()
    }

    fn supported() -> LifeCycle {
        levels(
            r#"{"data":[{"versions":[{"name":"4.22","type":"Full Support","phases":[]},
                {"name":"4.18","type":"Maintenance Support"},{"name":"4.9","type":"End of life"}]}]}"#,
        )
    }

    fn of(list: &[&str]) -> impl Iterator<Item = String> {
        list.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>().into_iter()
    }

    #[test]
    fn channels() {
        use CpuArchitecture::{Arm64, Multi, X8664};
        let mut found = Found::default();
        found.add(
            &source("4.22"),
            X8664,
            ReleaseChannel::Stable,
            of(&["4.22.9", "4.22.10", "4.21.3", "4.23.0"]),
        );
        found.add(
            &source("4.22"),
            X8664,
            ReleaseChannel::Candidate,
            of(&["4.22.10", "4.22.11", "4.22.0-rc.1"]),
        );
        found.add(&source("4.22"), Multi, ReleaseChannel::Stable, of(&["4.22.10"]));
        found.add(&source("4.18"), Arm64, ReleaseChannel::Stable, of(&["4.18.1"]));
        let images = found.images(&supported()).unwrap();
        let told: Vec<_> = images
            .iter()
            .map(|image| {
                let tag = image.url.rsplit(':').next().unwrap();
                (tag, image.version.as_str(), image.support_level.unwrap().as_str(), image.default)
            })
            .collect();
        assert_eq!(
            told,
            [
                ("4.18.1-aarch64", "4.18.1", "maintenance", false),
                ("4.22.0-rc.1-x86_64", "4.22.0-rc.1", "beta", false),
                ("4.22.9-x86_64", "4.22.9", "production", false),
                ("4.22.10-multi", "4.22.10-multi", "production", false),
                ("4.22.10-x86_64", "4.22.10", "production", true),
                ("4.22.11-x86_64", "4.22.11", "beta", false),
            ]
        );
        let multi = &images[3];
        assert_eq!((multi.openshift_version.as_str(), multi.cpu_architecture), ("4.22-multi", Multi));
        assert_eq!(multi.cpu_architectures.as_ref().unwrap(), &["x86_64", "arm64"]);
    }

    #[test]
    fn an_unknown_level_is_told() {
        let mut found = Found::default();
        found.add(&source("4.30"), CpuArchitecture::X8664, ReleaseChannel::Stable, of(&["4.30.0"]));
        assert_eq!(found.images(&supported()), Err("4.30".to_owned()));
    }

    #[test]
    fn what_is_configured_stands() {
        let mut found = Found::default();
        found.add(
            &source("4.22"),
            CpuArchitecture::X8664,
            ReleaseChannel::Stable,
            of(&["4.22.9", "4.22.10"]),
        );
        let learned = found.images(&supported()).unwrap();
        let mut own = learned[1].clone();
        (own.support_level, own.default) = (None, false);
        let merged = merge(std::slice::from_ref(&own), learned.clone());
        assert_eq!(merged, [own.clone(), learned[0].clone()]);
        let mut default = own;
        default.url = "mirror.lab/release:1".to_owned();
        default.default = true;
        let merged = merge(&[default], learned);
        assert_eq!(merged.iter().filter(|image| image.default).count(), 1);
        assert!(merged[0].default && merged.len() == 3);
    }
}
