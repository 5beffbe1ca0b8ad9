//! Architectures by the names that images have for them.

use assisted_wire::cluster_params::CpuArchitecture;

/// The name in the manifest of an image; `multi` for several at once, which no image is for.
pub const fn go_name(architecture: CpuArchitecture) -> &'static str {
    match architecture {
        CpuArchitecture::X8664 => "amd64",
        CpuArchitecture::Aarch64 | CpuArchitecture::Arm64 => "arm64",
        CpuArchitecture::Ppc64le => "ppc64le",
        CpuArchitecture::S390x => "s390x",
        CpuArchitecture::Multi => "multi",
    }
}

/// The architecture with a name in the manifest of an image.
pub fn of_go_name(name: &str) -> Option<CpuArchitecture> {
    Some(match name {
        "amd64" => CpuArchitecture::X8664,
        "arm64" => CpuArchitecture::Arm64,
        "ppc64le" => CpuArchitecture::Ppc64le,
        "s390x" => CpuArchitecture::S390x,
        _ => return None,
    })
}

/// The architecture of this machine.
pub const fn host() -> CpuArchitecture {
    if cfg!(target_arch = "aarch64") {
        CpuArchitecture::Arm64
    } else if cfg!(target_arch = "powerpc64") {
        CpuArchitecture::Ppc64le
    } else if cfg!(target_arch = "s390x") {
        CpuArchitecture::S390x
    } else {
        CpuArchitecture::X8664
    }
}
