//! Rules about features that are not operators.

use assisted_base::version::{Base, base};
use assisted_wire::cluster_params::CpuArchitecture as Cpu;
use assisted_wire::platform::PlatformType as Platform;
use assisted_wire::support_level::FeatureSupportLevelId as Id;
use assisted_wire::support_level::IncompatibilityReason;
use assisted_wire::support_level::SupportLevel::{DevPreview, Supported, TechPreview, Unsupported};

use super::rule::{PlatformExclusion, Rule, Support, Target};

const IBM: &[Cpu] = &[Cpu::S390x, Cpu::Ppc64le];
const NOT_X86: &[Cpu] = &[Cpu::Arm64, Cpu::S390x, Cpu::Ppc64le];
const CLOUD: [Id; 2] = [Id::NutanixIntegration, Id::VsphereIntegration];
const TWO_NODES: &[Id] = &[CLOUD[0], CLOUD[1], Id::ExternalPlatform, Id::ExternalPlatformOci];

/// What no table can say.
pub(super) fn special(id: Id, target: &Target<'_>) -> Option<Support> {
    match id {
        Id::Sno | Id::SingleNodeExpansion => {
            let early = base(target.version) == Some(Base(4, 13)) && IBM.contains(&target.architecture);
            let shut = matches!(target.platform, Some(Platform::Nutanix | Platform::Vsphere));
            (early && !shut).then_some(Support::level(DevPreview))
        }
        Id::Cnv => {
            let shut = matches!(target.platform, Some(Platform::Nutanix | Platform::Vsphere));
            (target.architecture == Cpu::Arm64 && !shut).then_some(Support::level(DevPreview))
        }
        Id::Tna => {
            let shut = target.platform == Some(Platform::None)
                && base(target.version).is_none_or(|version| version < Base(4, 22));
            shut.then_some(Support::unavailable(IncompatibilityReason::Platform))
        }
        Id::FullIso => target
            .is_oci()
            .then_some(Support::unavailable(IncompatibilityReason::OciExternalIntegrationDisabled)),
        Id::PlatformManagedNetworking => {
            let own = matches!(target.platform, Some(Platform::External | Platform::None));
            let reason = Some(IncompatibilityReason::Platform);
            (!own).then_some(Support { level: Unsupported, reason })
        }
        _ => None,
    }
}

pub(super) const RULES: &[Rule] = &[
    Rule {
        platforms: &[PlatformExclusion::On(Platform::Nutanix), PlatformExclusion::On(Platform::Vsphere)],
        architectures_below: Some((Base(4, 13), IBM)),
        features: &[
            Id::Odf,
            Id::NutanixIntegration,
            Id::VsphereIntegration,
            Id::ClusterManagedNetworking,
            Id::VipAutoAlloc,
            Id::UserManagedLoadBalancer,
            Id::NodeHealthcheck,
            Id::SelfNodeRemediation,
            Id::FenceAgentsRemediation,
            Id::NodeMaintenance,
            Id::KubeDescheduler,
        ],
        features_below: &[(Base(4, 19), Id::DualStackPrimaryIpv6)],
        ..Rule::new(Id::Sno, "Single Node OpenShift")
    },
    Rule {
        levels: &[(Base(4, 19), TechPreview), (Base(4, 20), Supported)],
        platforms: &[PlatformExclusion::Except(&[Platform::Baremetal, Platform::None])],
        features: TWO_NODES,
        features_below: &[(Base(4, 22), Id::NonePlatform)],
        ..Rule::new(Id::Tna, "TNA Clusters")
    },
    Rule {
        levels: &[(Base(4, 20), TechPreview), (Base(4, 22), Supported)],
        platforms: &[PlatformExclusion::Except(&[Platform::Baremetal, Platform::None])],
        features: TWO_NODES,
        ..Rule::new(Id::Tnf, "TNF Clusters")
    },
    Rule::new(Id::CustomManifest, "Custom Manifest"),
    Rule {
        levels: &[(Base(4, 21), TechPreview)],
        architectures: IBM,
        ..Rule::new(Id::OnClusterLayering, "On Cluster Layering")
    },
    Rule {
        levels: &[(Base(4, 11), Supported)],
        platforms: &[PlatformExclusion::On(Platform::Nutanix), PlatformExclusion::On(Platform::Vsphere)],
        architectures_below: Some((Base(4, 13), IBM)),
        ..Rule::new(Id::SingleNodeExpansion, "Single Node Expansion")
    },
    Rule { architectures: &[Cpu::S390x], ..Rule::new(Id::MinimalIso, "Minimal ISO") },
    Rule { features: &[Id::ExternalPlatformOci], ..Rule::new(Id::FullIso, "Full ISO") },
    Rule {
        levels: &[(Base(4, 18), Supported)],
        platforms: &[PlatformExclusion::Except(&[Platform::Baremetal, Platform::None, Platform::External])],
        architectures: &[Cpu::Arm64, Cpu::S390x, Cpu::Ppc64le, Cpu::Multi],
        features: &CLOUD,
        ..Rule::new(Id::NonStandardHaControlPlane, "Non-standard HA OCP Control Plane")
    },
    Rule {
        levels: &[(Base(0, 0), DevPreview)],
        until: Some(Base(4, 15)),
        platforms: &[PlatformExclusion::On(Platform::External)],
        features: &[
            Id::Sno,
            Id::ExternalPlatformOci,
            Id::NonePlatform,
            Id::ExternalPlatform,
            Id::UserManagedLoadBalancer,
        ],
        ..Rule::new(Id::VipAutoAlloc, "VIP Automatic Allocation")
    },
    Rule {
        platforms: &[PlatformExclusion::On(Platform::External)],
        architectures: IBM,
        architectures_below: Some((Base(4, 11), &[Cpu::Arm64])),
        features: &[
            Id::Sno,
            Id::UserManagedNetworking,
            Id::ExternalPlatformOci,
            Id::NonePlatform,
            Id::ExternalPlatform,
        ],
        ..Rule::new(Id::ClusterManagedNetworking, "Cluster Managed Networking")
    },
    Rule {
        platforms: &[PlatformExclusion::On(Platform::Nutanix)],
        features: &[
            Id::ClusterManagedNetworking,
            Id::NutanixIntegration,
            Id::BaremetalPlatform,
            Id::UserManagedLoadBalancer,
        ],
        ..Rule::new(Id::UserManagedNetworking, "User Managed Networking")
    },
    Rule {
        features: &[Id::BaremetalPlatform, Id::VsphereIntegration, Id::NutanixIntegration],
        ..Rule::new(Id::PlatformManagedNetworking, "Platform managed networking")
    },
    Rule {
        features: &[Id::UserManagedLoadBalancer],
        features_below: &[(Base(4, 13), Id::VsphereIntegration)],
        ..Rule::new(Id::DualStack, "Dual-Stack")
    },
    Rule {
        levels: &[(Base(4, 12), Supported)],
        platforms: &[PlatformExclusion::OnOci],
        features: &[Id::ExternalPlatformOci, Id::UserManagedLoadBalancer],
        ..Rule::new(Id::DualStackVips, "Dual-Stack VIPs")
    },
    Rule {
        levels: &[(Base(4, 12), TechPreview)],
        platforms: &[
            PlatformExclusion::On(Platform::Nutanix),
            PlatformExclusion::On(Platform::Vsphere),
            PlatformExclusion::On(Platform::External),
        ],
        features: &[
            Id::UserManagedLoadBalancer,
            Id::ExternalPlatform,
            Id::ExternalPlatformOci,
            Id::NutanixIntegration,
            Id::VsphereIntegration,
        ],
        features_below: &[(Base(4, 19), Id::Sno)],
        ..Rule::new(Id::DualStackPrimaryIpv6, "Dual-Stack Primary IPv6")
    },
    Rule {
        levels: &[(Base(4, 16), Supported)],
        features: &[
            Id::ExternalPlatform,
            Id::ExternalPlatformOci,
            Id::NonePlatform,
            Id::NutanixIntegration,
            Id::UserManagedNetworking,
            Id::VipAutoAlloc,
            Id::DualStack,
            Id::DualStackVips,
            Id::Sno,
            Id::DualStackPrimaryIpv6,
        ],
        ..Rule::new(Id::UserManagedLoadBalancer, "User Managed Load Balancer")
    },
    Rule {
        until: Some(Base(4, 15)),
        features: &[
            Id::OvnNetworkType,
            Id::CiliumNetworkType,
            Id::CalicoNetworkType,
            Id::CiscoAciNetworkType,
            Id::NoneNetworkType,
        ],
        ..Rule::new(Id::SdnNetworkType, "Openshift SDN")
    },
    Rule {
        features: &[
            Id::SdnNetworkType,
            Id::CiliumNetworkType,
            Id::CalicoNetworkType,
            Id::CiscoAciNetworkType,
            Id::NoneNetworkType,
        ],
        ..Rule::new(Id::OvnNetworkType, "Openshift OVN")
    },
    Rule {
        features: &[
            Id::SdnNetworkType,
            Id::OvnNetworkType,
            Id::CalicoNetworkType,
            Id::CiscoAciNetworkType,
            Id::NoneNetworkType,
        ],
        ..Rule::new(Id::CiliumNetworkType, "Cilium CNI")
    },
    Rule {
        features: &[
            Id::SdnNetworkType,
            Id::OvnNetworkType,
            Id::CiliumNetworkType,
            Id::CiscoAciNetworkType,
            Id::NoneNetworkType,
        ],
        ..Rule::new(Id::CalicoNetworkType, "Calico CNI")
    },
    Rule {
        features: &[
            Id::SdnNetworkType,
            Id::OvnNetworkType,
            Id::CiliumNetworkType,
            Id::CalicoNetworkType,
            Id::NoneNetworkType,
        ],
        ..Rule::new(Id::CiscoAciNetworkType, "Cisco ACI CNI")
    },
    Rule {
        features: &[
            Id::SdnNetworkType,
            Id::OvnNetworkType,
            Id::CiliumNetworkType,
            Id::CalicoNetworkType,
            Id::CiscoAciNetworkType,
        ],
        ..Rule::new(Id::NoneNetworkType, "None CNI")
    },
    Rule {
        features: &[Id::PlatformManagedNetworking, Id::UserManagedNetworking],
        ..Rule::new(Id::BaremetalPlatform, "Baremetal Platform Integration")
    },
    Rule {
        features: &[Id::VipAutoAlloc, Id::ClusterManagedNetworking, Id::UserManagedLoadBalancer],
        features_below: &[(Base(4, 22), Id::Tna)],
        ..Rule::new(Id::NonePlatform, "None Platform Integration")
    },
    Rule {
        levels: &[(Base(4, 11), DevPreview), (Base(4, 12), Supported)],
        architectures: NOT_X86,
        features: &[
            Id::Sno,
            Id::Tna,
            Id::Tnf,
            Id::UserManagedNetworking,
            Id::Lvm,
            Id::Mce,
            Id::Cnv,
            Id::PlatformManagedNetworking,
            Id::Mtv,
            Id::NonStandardHaControlPlane,
            Id::UserManagedLoadBalancer,
            Id::Osc,
            Id::Nmstate,
            Id::DualStackPrimaryIpv6,
        ],
        ..Rule::new(Id::NutanixIntegration, "Nutanix Platform Integration")
    },
    Rule {
        architectures: IBM,
        features: &[
            Id::Sno,
            Id::Tna,
            Id::Tnf,
            Id::Lvm,
            Id::PlatformManagedNetworking,
            Id::Cnv,
            Id::Mtv,
            Id::NonStandardHaControlPlane,
            Id::Osc,
            Id::DualStackPrimaryIpv6,
        ],
        features_below: &[(Base(4, 13), Id::DualStack)],
        ..Rule::new(Id::VsphereIntegration, "vSphere Platform Integration")
    },
    Rule {
        levels: &[(Base(4, 14), Supported)],
        features: &[
            Id::Tna,
            Id::Tnf,
            Id::ClusterManagedNetworking,
            Id::VipAutoAlloc,
            Id::UserManagedLoadBalancer,
            Id::Nmstate,
            Id::DualStackPrimaryIpv6,
        ],
        ..Rule::new(Id::ExternalPlatform, "External Platform Integration")
    },
    Rule {
        levels: &[(Base(4, 14), Supported)],
        architectures: IBM,
        features: &[
            Id::Tna,
            Id::Tnf,
            Id::ClusterManagedNetworking,
            Id::VipAutoAlloc,
            Id::DualStackVips,
            Id::FullIso,
            Id::UserManagedLoadBalancer,
            Id::Nmstate,
            Id::Odf,
            Id::OpenshiftAi,
            Id::DualStackPrimaryIpv6,
        ],
        ..Rule::new(Id::ExternalPlatformOci, "Oracle Cloud Infrastructure external platform")
    },
];
