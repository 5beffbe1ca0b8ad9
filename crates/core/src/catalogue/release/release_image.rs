//! Which release image a version stands for (service-api §10.3).

use assisted_base::version::{MULTI, Version};
use assisted_wire::cluster_params::CpuArchitecture;
use assisted_wire::version::ReleaseImage;

use super::architecture::normal;
use crate::policy::Versions;

/// Why there is no release image.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReleaseImageError {
    #[error("no release image found for openshiftVersion: '{version}' and CPU architecture '{architecture}'")]
    NotFound { version: String, architecture: CpuArchitecture },
    #[error("version '{0}' is ignored")]
    Ignored(String),
    #[error("no matching release image found")]
    AllIgnored,
    #[error(
        "invalid openshiftVersion '{0}'. Expected format: 'major.minor' or 'major.minor.patch', optionally followed by \
         a prerelease identifier"
    )]
    BadVersion(String),
    #[error("no release image has the URL {0}")]
    UnknownUrl(String),
}

/// Architectures that a release image serves.
pub fn architectures(image: &ReleaseImage) -> Vec<&str> {
    match &image.cpu_architectures {
        Some(list) if !list.is_empty() => list.iter().map(String::as_str).collect(),
        _ => vec![image.cpu_architecture.as_str()],
    }
}

/// Whether a release image serves several architectures.
pub fn is_multi(image: &ReleaseImage) -> bool {
    architectures(image).len() > 1
}

/// Whether a release image serves an architecture.
pub fn serves(image: &ReleaseImage, architecture: CpuArchitecture) -> bool {
    let wanted = normal(architecture);
    normal(image.cpu_architecture) == wanted
        || architectures(image)
            .iter()
            .any(|text| text.parse().is_ok_and(|parsed: CpuArchitecture| normal(parsed) == wanted))
}

/// Whether a version is not offered: itself, or its whole major.minor.
pub fn is_ignored(versions: &Versions, version: &str) -> bool {
    let plain = version.strip_suffix(MULTI).unwrap_or(version);
    let base = Version::parse(version).map(|version| version.base.to_string());
    versions.ignored.iter().any(|ignored| ignored == plain || Some(ignored) == base.as_ref())
}

/// The release image of a version for an architecture.
///
/// # Errors
///
/// See [`ReleaseImageError`].
pub fn resolve<'a>(
    versions: &'a Versions,
    version: &str,
    architecture: CpuArchitecture,
) -> Result<&'a ReleaseImage, ReleaseImageError> {
    let parsed = Version::parse(version).ok_or_else(|| ReleaseImageError::BadVersion(version.to_owned()))?;
    let not_found =
        || ReleaseImageError::NotFound { version: version.to_owned(), architecture: normal(architecture) };
    let mut serving = versions.release_images.0.iter().filter(|image| serves(image, architecture));
    if parsed.patch.is_some() {
        let image = serving.find(|image| image.version == version).ok_or_else(not_found)?;
        return if is_ignored(versions, version) {
            Err(ReleaseImageError::Ignored(version.to_owned()))
        } else {
            Ok(image)
        };
    }
    let named: Vec<_> = serving.filter(|image| image.openshift_version == version).collect();
    if named.is_empty() {
        return Err(not_found());
    }
    newest(named.into_iter().filter(|image| !is_ignored(versions, &image.version)))
        .ok_or(ReleaseImageError::AllIgnored)
}

/// The release image with a URL.
pub fn by_url<'a>(versions: &'a Versions, url: &str) -> Result<&'a ReleaseImage, ReleaseImageError> {
    let found = versions.release_images.0.iter().find(|image| image.url == url);
    found.ok_or_else(|| ReleaseImageError::UnknownUrl(url.to_owned()))
}

/// The newest final one, else the newest.
pub(super) fn newest<'a>(images: impl Iterator<Item = &'a ReleaseImage>) -> Option<&'a ReleaseImage> {
    images
        .filter_map(|image| {
            Version::parse(&image.version).map(|version| (!version.is_beta(), version, image))
        })
        .max_by(|(a_final, a, _), (b_final, b, _)| (a_final, a).cmp(&(b_final, b)))
        .map(|(_, _, image)| image)
}

#[cfg(test)]
mod tests {
    use super::*;

    const X86: CpuArchitecture = CpuArchitecture::X8664;

    fn resolved(version: &str, architecture: CpuArchitecture) -> Result<String, String> {
        let versions = Versions::default();
        resolve(&versions, version, architecture)
            .map(|image| image.version.clone())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn forms_of_the_version() {
        for (version, architecture, expected) in [
            ("4.22", X86, "4.22.9"),
            ("4.22.9", X86, "4.22.9"),
            ("4.22", CpuArchitecture::Aarch64, "4.22.9"),
            ("4.22-multi", X86, "4.22.9-multi"),
            ("4.22-multi", CpuArchitecture::Multi, "4.22.9-multi"),
            ("4.22.9-multi", CpuArchitecture::S390x, "4.22.9-multi"),
            ("5.0", X86, "5.0.0-ec.5"),
        ] {
            assert_eq!(resolved(version, architecture).as_deref(), Ok(expected), "{version} {architecture}");
        }
    }

    #[test]
    fn refusals() {
        let not_found = |version: &str, architecture: &str| {
            format!(
                "no release image found for openshiftVersion: '{version}' and CPU architecture '{architecture}'"
            )
        };
        assert_eq!(resolved("4.22", CpuArchitecture::Multi), Err(not_found("4.22", "multi")));
        assert_eq!(resolved("4.22.8", X86), Err(not_found("4.22.8", "x86_64")));
        assert_eq!(resolved("4.22", CpuArchitecture::S390x), Err(not_found("4.22", "s390x")));
        assert_eq!(
            resolved("latest", X86),
            Err("invalid openshiftVersion 'latest'. Expected format: 'major.minor' or 'major.minor.patch', optionally \
                 followed by a prerelease identifier"
                .to_owned())
        );
    }

    #[test]
    fn ignored_versions() {
        let ignoring = |list: &[&str]| Versions {
            ignored: list.iter().map(|text| (*text).to_owned()).collect(),
            ..Versions::default()
        };
        let full = ignoring(&["4.22.9"]);
        assert_eq!(resolve(&full, "4.22.9", X86).unwrap_err().to_string(), "version '4.22.9' is ignored");
        assert_eq!(resolve(&full, "4.22-multi", X86).unwrap_err(), ReleaseImageError::AllIgnored);
        assert_eq!(resolve(&ignoring(&["4.22"]), "4.22", X86).unwrap_err(), ReleaseImageError::AllIgnored);
    }
}
