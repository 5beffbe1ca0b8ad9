//! Which OS image discovery images of a version are made from (service-api §10.4).

use assisted_base::version::Version;
use assisted_wire::version::{ImageCpuArchitecture, OsImage};

use super::architecture::normal_image;

/// Why there is no OS image.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OsImageError {
    /// The list has none for the architecture.
    #[error("The requested CPU architecture ({0}) isn't specified in OS images list")]
    Architecture(ImageCpuArchitecture),
    /// The list has some for the architecture, but none for the version.
    #[error(
        "The requested OS image for version ({version}) and CPU architecture ({architecture}) isn't specified in OS \
         images list"
    )]
    Version { version: String, architecture: ImageCpuArchitecture },
    /// No version was asked for, and the list has none for the architecture.
    #[error("No OS images are available")]
    Empty,
}

fn of_architecture(images: &[OsImage], architecture: ImageCpuArchitecture) -> impl Iterator<Item = &OsImage> {
    let wanted = normal_image(architecture);
    images.iter().filter(move |image| normal_image(image.cpu_architecture) == wanted)
}

/// The OS image of a version: of that very name, else of its major.minor, else the newest patch of its major.minor.
pub fn find<'a>(
    images: &'a [OsImage],
    version: &str,
    architecture: ImageCpuArchitecture,
) -> Result<&'a OsImage, OsImageError> {
    let architecture = normal_image(architecture);
    if of_architecture(images, architecture).next().is_none() {
        return Err(OsImageError::Architecture(architecture));
    }
    let named =
        |name: &str| of_architecture(images, architecture).find(|image| image.openshift_version == name);
    let base = Version::parse(version).map(|version| version.base);
    let newest_patch = || {
        of_architecture(images, architecture)
            .filter_map(|image| Version::parse(&image.openshift_version).map(|version| (version, image)))
            .filter(|(version, _)| Some(version.base) == base)
            .max_by(|(a, _), (b, _)| a.cmp(b))
            .map(|(_, image)| image)
    };
    named(version)
        .or_else(|| named(&base?.to_string()))
        .or_else(newest_patch)
        .ok_or_else(|| OsImageError::Version { version: version.to_owned(), architecture })
}

/// The newest OS image for an architecture.
pub fn latest(images: &[OsImage], architecture: ImageCpuArchitecture) -> Result<&OsImage, OsImageError> {
    of_architecture(images, architecture)
        .max_by_key(|image| Version::parse(&image.openshift_version))
        .ok_or(OsImageError::Empty)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Versions;

    #[test]
    fn by_name_then_major_minor_then_newest_patch() {
        let image = |version: &str| OsImage {
            openshift_version: version.to_owned(),
            cpu_architecture: ImageCpuArchitecture::Arm64,
            url: String::new(),
            version: String::new(),
        };
        let images = [image("4.22"), image("4.22.3"), image("4.21.2"), image("4.21.10")];
        let find = |version| {
            find(&images, version, ImageCpuArchitecture::Aarch64).map(|i| i.openshift_version.clone())
        };
        for (version, found) in
            [("4.22.3", "4.22.3"), ("4.22.9-multi", "4.22"), ("4.21", "4.21.10"), ("4.21.1", "4.21.10")]
        {
            assert_eq!(find(version).as_deref(), Ok(found), "{version}");
        }
        assert_eq!(
            find("4.20").unwrap_err().to_string(),
            "The requested OS image for version (4.20) and CPU architecture (arm64) isn't specified in OS images list"
        );
        assert_eq!(
            super::find(&images, "4.22", ImageCpuArchitecture::S390x).unwrap_err().to_string(),
            "The requested CPU architecture (s390x) isn't specified in OS images list"
        );
        assert_eq!(latest(&images, ImageCpuArchitecture::S390x), Err(OsImageError::Empty));
    }

    #[test]
    fn latest_of_the_built_in_list() {
        let images = Versions::default().os_images.0;
        assert_eq!(latest(&images, ImageCpuArchitecture::X8664).unwrap().openshift_version, "5.0");
    }
}
