//! Architectures: one has two names, and images and clusters list them differently.

use assisted_wire::cluster_params::CpuArchitecture;
use assisted_wire::version::ImageCpuArchitecture;

/// The one name of an architecture: `aarch64` is `arm64`.
pub const fn normal(architecture: CpuArchitecture) -> CpuArchitecture {
    match architecture {
        CpuArchitecture::Aarch64 => CpuArchitecture::Arm64,
        other => other,
    }
}

/// The one name of an image's architecture: `aarch64` is `arm64`.
pub const fn normal_image(architecture: ImageCpuArchitecture) -> ImageCpuArchitecture {
    match architecture {
        ImageCpuArchitecture::Aarch64 => ImageCpuArchitecture::Arm64,
        other => other,
    }
}

/// The architecture of an image as clusters call it.
pub const fn of_image(architecture: ImageCpuArchitecture) -> CpuArchitecture {
    match architecture {
        ImageCpuArchitecture::X8664 => CpuArchitecture::X8664,
        ImageCpuArchitecture::Aarch64 | ImageCpuArchitecture::Arm64 => CpuArchitecture::Arm64,
        ImageCpuArchitecture::Ppc64le => CpuArchitecture::Ppc64le,
        ImageCpuArchitecture::S390x => CpuArchitecture::S390x,
    }
}

/// The architecture of a cluster as images call it; `None` for several at once.
pub const fn for_image(architecture: CpuArchitecture) -> Option<ImageCpuArchitecture> {
    match architecture {
        CpuArchitecture::X8664 => Some(ImageCpuArchitecture::X8664),
        CpuArchitecture::Aarch64 | CpuArchitecture::Arm64 => Some(ImageCpuArchitecture::Arm64),
        CpuArchitecture::Ppc64le => Some(ImageCpuArchitecture::Ppc64le),
        CpuArchitecture::S390x => Some(ImageCpuArchitecture::S390x),
        CpuArchitecture::Multi => None,
    }
}
