//! Platform and user-managed networking: each follows from the other where only one is given (service-api §4.5).

use assisted_wire::cluster::Cluster;
use assisted_wire::cluster_params::CpuArchitecture;
use assisted_wire::platform::{CloudControllerManager, Platform, PlatformExternal, PlatformType};
use assisted_wire::support_level::FeatureSupportLevelId;

use crate::catalogue::feature::levels::is_available;
use crate::catalogue::feature::rule::Target;
use crate::catalogue::release::architecture::normal;
use crate::model::refusal::Refusal;
use crate::model::topology::OCI;

/// What a platform says about user-managed networking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Networking {
    ByUser,
    ByCluster,
    Either,
}

const fn networking(platform: PlatformType) -> Networking {
    match platform {
        PlatformType::Baremetal | PlatformType::Nutanix => Networking::ByCluster,
        PlatformType::None | PlatformType::External => Networking::ByUser,
        PlatformType::Vsphere => Networking::Either,
    }
}

/// A platform together with who manages the networking; `None`: not said, or left as it is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Resolved {
    pub platform: Option<Platform>,
    pub user_managed_networking: Option<bool>,
}

/// A platform without settings of its own.
pub fn plain(r#type: PlatformType) -> Platform {
    Platform { r#type, external: Some(PlatformExternal::default()) }
}

fn refuse<T>(text: impl std::fmt::Display) -> Result<T, Refusal> {
    Err(Refusal::invalid(text))
}

fn is_ibm(architecture: CpuArchitecture) -> bool {
    matches!(architecture, CpuArchitecture::S390x | CpuArchitecture::Ppc64le)
}

/// Checks a platform that was given by itself, and against networking that was given too.
fn check(given: &Platform, user_managed: Option<bool>) -> Result<(), Refusal> {
    let contradicts = match networking(given.r#type) {
        Networking::ByUser => user_managed == Some(false),
        Networking::ByCluster => user_managed == Some(true),
        Networking::Either => false,
    };
    if contradicts {
        let state = if user_managed == Some(true) { "enabled" } else { "disabled" };
        return refuse(format!("Can't set {} platform with user-managed-networking {state}", given.r#type));
    }
    let external = given.external.as_ref().filter(|external| **external != PlatformExternal::default());
    if given.r#type != PlatformType::External {
        return match external {
            Some(_) => refuse("External settings can only be set with external platform type"),
            None => Ok(()),
        };
    }
    let Some(external) = &given.external else {
        return refuse("External setting must be set when using platform type external");
    };
    match external.platform_name.as_deref().unwrap_or_default() {
        "" => refuse("Platform name must be set to a non-empty string when using platform type external"),
        OCI if external.cloud_controller_manager != Some(CloudControllerManager::External) => {
            refuse("Cloud controller manager must be enabled when using oci external integration")
        }
        _ => Ok(()),
    }
}

/// The platform with its own defaults filled in.
fn filled(platform: &Platform) -> Platform {
    let mut platform = platform.clone();
    let external = platform.external.get_or_insert_default();
    if platform.r#type == PlatformType::External {
        external.cloud_controller_manager.get_or_insert(CloudControllerManager::Empty);
    }
    platform
}

fn given_none(given: Option<&Platform>, user_managed: Option<bool>) -> Result<Resolved, Refusal> {
    let kind = given.map_or("", |platform| platform.r#type.as_str());
    let state = user_managed.map_or("<nil>".to_owned(), |value| value.to_string());
    refuse(format!("Got invalid platform ({kind}) and/or user-managed-networking ({state})"))
}

/// Platform and networking of a new cluster.
pub fn on_create(
    given: Option<&Platform>,
    user_managed: Option<bool>,
    control_planes: i64,
    architecture: CpuArchitecture,
) -> Result<Resolved, Refusal> {
    if let Some(platform) = given {
        check(platform, user_managed)?;
    }
    let resolved = |platform: Platform, user_managed| {
        Ok(Resolved { platform: Some(platform), user_managed_networking: user_managed })
    };
    let kind = given.map(|platform| platform.r#type);
    let architecture = normal(architecture);
    if is_ibm(architecture) {
        if user_managed == Some(false) {
            return refuse(format!("Can't disable User Managed Networking on {architecture} architecture"));
        }
        return match (given, kind) {
            (Some(platform), Some(PlatformType::External)) => resolved(filled(platform), Some(true)),
            (_, None | Some(PlatformType::None)) => resolved(plain(PlatformType::None), Some(true)),
            (_, Some(kind)) => refuse(format!("Can't set {kind} platform on {architecture} architecture")),
        };
    }
    if let (Some(platform), Some(PlatformType::Vsphere | PlatformType::Nutanix)) = (given, kind) {
        return resolved(filled(platform), user_managed);
    }
    if control_planes == 1 {
        if kind == Some(PlatformType::Baremetal) {
            return refuse("Can't set baremetal platform on single node OpenShift");
        }
        if user_managed == Some(false) {
            return refuse("Can't disable user-managed-networking on single node OpenShift");
        }
        return match given {
            Some(platform) => resolved(filled(platform), Some(true)),
            None => resolved(plain(PlatformType::None), Some(true)),
        };
    }
    match (given, kind, user_managed) {
        (_, None | Some(PlatformType::Baremetal), None | Some(false)) => {
            resolved(plain(PlatformType::Baremetal), Some(false))
        }
        (_, None, Some(true)) => resolved(plain(PlatformType::None), Some(true)),
        (Some(platform), Some(PlatformType::None | PlatformType::External), _) => {
            resolved(filled(platform), Some(true))
        }
        _ => given_none(given, user_managed),
    }
}

/// What an update changes about platform and networking.
pub fn on_update(
    cluster: &Cluster,
    given: Option<&Platform>,
    user_managed: Option<bool>,
) -> Result<Resolved, Refusal> {
    if given.is_none() && user_managed.is_none() {
        return Ok(Resolved::default());
    }
    if let Some(platform) = given {
        check_update(cluster, platform, user_managed)?;
    }
    let architecture = normal(cluster.cpu_architecture.unwrap_or(CpuArchitecture::X8664));
    let kind = given.map(|platform| platform.r#type);
    let leaves = user_managed == Some(false)
        || kind.is_some_and(|kind| !matches!(kind, PlatformType::None | PlatformType::External));
    if cluster.control_plane_count == 1 && leaves {
        return refuse(
            "disabling User Managed Networking or setting platform different than none or oci platforms is not allowed in \
             single node Openshift",
        );
    }
    let target = Target::new(&cluster.openshift_version, architecture);
    let to_cluster = user_managed == Some(false) || kind == Some(PlatformType::Baremetal);
    if to_cluster
        && architecture != CpuArchitecture::X8664
        && !is_available(FeatureSupportLevelId::ClusterManagedNetworking, &target)
    {
        return refuse(
            "disabling User Managed Networking or setting Bare-Metal platform is not allowed for clusters with non-x86_64 \
             CPU architecture",
        );
    }
    let stored = cluster.platform.as_ref().map_or(PlatformType::Baremetal, |platform| platform.r#type);
    let as_given = || Ok(Resolved { platform: given.map(filled), user_managed_networking: user_managed });
    let switched = |kind, user_managed| {
        Ok(Resolved { platform: Some(plain(kind)), user_managed_networking: Some(user_managed) })
    };
    if kind == Some(PlatformType::Vsphere) || (stored == PlatformType::Vsphere && kind.is_none()) {
        return as_given();
    }
    match (stored, kind, user_managed) {
        (PlatformType::Vsphere, ..) => as_given_with_default(given, user_managed),
        (PlatformType::Baremetal, None | Some(PlatformType::None), Some(true))
        | (PlatformType::Baremetal, Some(PlatformType::None), None) => switched(PlatformType::None, true),
        (PlatformType::Baremetal, ..) => as_given_with_default(given, user_managed),
        (PlatformType::None | PlatformType::External, None, Some(false))
        | (PlatformType::None | PlatformType::External, Some(PlatformType::Baremetal), _) => {
            switched(PlatformType::Baremetal, false)
        }
        (
            PlatformType::None | PlatformType::External,
            Some(PlatformType::None | PlatformType::External),
            _,
        ) => Ok(Resolved { platform: given.map(filled), user_managed_networking: Some(true) }),
        (PlatformType::None | PlatformType::External, None, Some(true)) => {
            Ok(Resolved { platform: None, user_managed_networking: Some(true) })
        }
        (PlatformType::Nutanix, None, Some(true)) => {
            refuse(format!("User-managed-networking is not supported with platform {stored}"))
        }
        (PlatformType::Nutanix | PlatformType::None | PlatformType::External, ..) => {
            as_given_with_default(given, user_managed)
        }
    }
}

/// As given; a platform that leaves no choice decides about the networking too.
fn as_given_with_default(given: Option<&Platform>, user_managed: Option<bool>) -> Result<Resolved, Refusal> {
    let implied = given.and_then(|platform| match networking(platform.r#type) {
        Networking::ByUser => Some(true),
        Networking::ByCluster => Some(false),
        Networking::Either => None,
    });
    Ok(Resolved { platform: given.map(filled), user_managed_networking: user_managed.or(implied) })
}

/// On an update members of an external platform that are not given keep their value.
fn check_update(cluster: &Cluster, given: &Platform, user_managed: Option<bool>) -> Result<(), Refusal> {
    let stored = cluster.platform.as_ref().filter(|stored| stored.r#type == given.r#type);
    let mut merged = given.clone();
    if given.r#type == PlatformType::External
        && let Some(kept) = stored.and_then(|stored| stored.external.as_ref())
    {
        let external = merged.external.get_or_insert_default();
        if external.platform_name.is_none() {
            external.platform_name.clone_from(&kept.platform_name);
        }
        external.cloud_controller_manager =
            external.cloud_controller_manager.or(kept.cloud_controller_manager);
    }
    check(&merged, user_managed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use PlatformType::{Baremetal, External, None as NoPlatform, Nutanix, Vsphere};

    fn external(name: &str, manager: Option<CloudControllerManager>) -> Platform {
        let name = Some(name.to_owned());
        Platform {
            r#type: External,
            external: Some(PlatformExternal { platform_name: name, cloud_controller_manager: manager }),
        }
    }

    #[test]
    fn creation_on_common_architectures() {
        let create = |kind: Option<PlatformType>, user_managed, count| {
            let platform = kind.map(|kind| if kind == External { external("x", None) } else { plain(kind) });
            on_create(platform.as_ref(), user_managed, count, CpuArchitecture::X8664)
                .map(|resolved| {
                    (resolved.platform.map(|platform| platform.r#type), resolved.user_managed_networking)
                })
                .map_err(|refusal| refusal.reason)
        };
        for (kind, user_managed, count, expected) in [
            (None, None, 1, (NoPlatform, Some(true))),
            (None, None, 3, (Baremetal, Some(false))),
            (None, Some(false), 3, (Baremetal, Some(false))),
            (None, Some(true), 1, (NoPlatform, Some(true))),
            (None, Some(true), 3, (NoPlatform, Some(true))),
            (Some(Baremetal), None, 3, (Baremetal, Some(false))),
            (Some(NoPlatform), None, 3, (NoPlatform, Some(true))),
            (Some(NoPlatform), Some(true), 1, (NoPlatform, Some(true))),
            (Some(External), None, 3, (External, Some(true))),
            (Some(Nutanix), None, 3, (Nutanix, None)),
            (Some(Vsphere), Some(true), 3, (Vsphere, Some(true))),
            (Some(Vsphere), None, 3, (Vsphere, None)),
        ] {
            assert_eq!(
                create(kind, user_managed, count),
                Ok((Some(expected.0), expected.1)),
                "{kind:?} {user_managed:?} {count}"
            );
        }
        for (kind, user_managed, count, text) in [
            (
                Some(Baremetal),
                Some(true),
                3,
                "Can't set baremetal platform with user-managed-networking enabled",
            ),
            (
                Some(NoPlatform),
                Some(false),
                3,
                "Can't set none platform with user-managed-networking disabled",
            ),
            (Some(Nutanix), Some(true), 3, "Can't set nutanix platform with user-managed-networking enabled"),
            (Some(Baremetal), None, 1, "Can't set baremetal platform on single node OpenShift"),
            (None, Some(false), 1, "Can't disable user-managed-networking on single node OpenShift"),
        ] {
            assert_eq!(create(kind, user_managed, count), Err(text.to_owned()));
        }
    }

    #[test]
    fn creation_on_ibm_architectures() {
        let create = |platform: Option<Platform>, user_managed| {
            on_create(platform.as_ref(), user_managed, 3, CpuArchitecture::S390x)
                .map_err(|refusal| refusal.reason)
        };
        assert_eq!(create(None, None).unwrap().platform, Some(plain(NoPlatform)));
        assert_eq!(create(Some(external("x", None)), None).unwrap().user_managed_networking, Some(true));
        assert_eq!(
            create(None, Some(false)),
            Err("Can't disable User Managed Networking on s390x architecture".to_owned())
        );
        assert_eq!(
            create(Some(plain(Baremetal)), None),
            Err("Can't set baremetal platform on s390x architecture".to_owned())
        );
    }

    #[test]
    fn external_settings() {
        let create = |platform: Platform| {
            on_create(Some(&platform), None, 3, CpuArchitecture::X8664).map_err(|refusal| refusal.reason)
        };
        let filled = create(external("x", None)).unwrap().platform.unwrap().external.unwrap();
        assert_eq!(filled.cloud_controller_manager, Some(CloudControllerManager::Empty));
        assert!(create(external(OCI, Some(CloudControllerManager::External))).is_ok());
        for (platform, text) in [
            (
                Platform { r#type: External, external: None },
                "External setting must be set when using platform type external",
            ),
            (
                Platform { r#type: External, external: Some(PlatformExternal::default()) },
                "Platform name must be set to a non-empty string when using platform type external",
            ),
            (
                external(OCI, None),
                "Cloud controller manager must be enabled when using oci external integration",
            ),
            (
                Platform { r#type: Baremetal, ..external("x", None) },
                "External settings can only be set with external platform type",
            ),
        ] {
            assert_eq!(create(platform), Err(text.to_owned()));
        }
    }
}
