//! Rules about operators.

use assisted_base::version::Base;
use assisted_wire::cluster_params::CpuArchitecture as Cpu;
use assisted_wire::platform::PlatformType as Platform;
use assisted_wire::support_level::FeatureSupportLevelId as Id;
use assisted_wire::support_level::SupportLevel::{DevPreview, Supported, TechPreview};

use super::rule::{ALWAYS, Not, Rule};

const IBM: &[Cpu] = &[Cpu::S390x, Cpu::Ppc64le];
const NOT_X86: &[Cpu] = &[Cpu::Arm64, Cpu::S390x, Cpu::Ppc64le];
const NO_CLOUD: &[Not] = &[Not::On(Platform::Nutanix), Not::On(Platform::Vsphere)];
const CLOUD: &[Id] = &[Id::NutanixIntegration, Id::VsphereIntegration];

pub(super) const RULES: &[Rule] = &[
    Rule {
        levels: &[(Base(4, 11), DevPreview), (Base(4, 12), Supported)],
        platforms: NO_CLOUD,
        architectures: IBM,
        features: &[Id::NutanixIntegration, Id::VsphereIntegration, Id::Odf],
        features_below: &[(Base(4, 15), Id::VipAutoAlloc), (Base(4, 15), Id::ClusterManagedNetworking)],
        ..Rule::new(Id::Lvm, "Logical Volume Management")
    },
    Rule {
        platforms: &[Not::OnOci],
        architectures: &[Cpu::Arm64],
        features: &[Id::Sno, Id::Lvm, Id::ExternalPlatformOci],
        ..Rule::new(Id::Odf, "OpenShift Data Foundation")
    },
    Rule { architectures: &[Cpu::Arm64], ..Rule::new(Id::Lso, "Local Storage Operator") },
    Rule {
        platforms: NO_CLOUD,
        architectures: IBM,
        architectures_below: Some((Base(4, 14), &[Cpu::Arm64])),
        features: CLOUD,
        ..Rule::new(Id::Cnv, "OpenShift Virtualization")
    },
    Rule {
        levels: &[(Base(4, 10), Supported)],
        platforms: &[Not::On(Platform::Nutanix)],
        features: &[Id::NutanixIntegration],
        ..Rule::new(Id::Mce, "multicluster engine")
    },
    Rule {
        levels: &[(Base(4, 14), Supported)],
        platforms: NO_CLOUD,
        architectures: NOT_X86,
        features: CLOUD,
        ..Rule::new(Id::Mtv, "OpenShift Migration Toolkit for Virtualization")
    },
    Rule {
        levels: &[(Base(4, 10), Supported)],
        platforms: NO_CLOUD,
        architectures: NOT_X86,
        features: CLOUD,
        ..Rule::new(Id::Osc, "OpenShift sandboxed containers")
    },
    Rule {
        levels: &[(Base(4, 12), Supported)],
        platforms: &[Not::On(Platform::Nutanix), Not::On(Platform::External)],
        architectures: NOT_X86,
        features: &[Id::NutanixIntegration, Id::ExternalPlatform, Id::ExternalPlatformOci],
        ..Rule::new(Id::Nmstate, "Nmstate node network configuration")
    },
    Rule {
        levels: &[(Base(4, 6), DevPreview)],
        architectures: IBM,
        ..Rule::new(Id::NodeFeatureDiscovery, "Node Feature Discovery")
    },
    Rule {
        levels: &[(ALWAYS, DevPreview)],
        architectures: NOT_X86,
        ..Rule::new(Id::NvidiaGpu, "NVIDIA GPU")
    },
    Rule { levels: &[(ALWAYS, DevPreview)], architectures: NOT_X86, ..Rule::new(Id::AmdGpu, "AMD GPU") },
    Rule { levels: &[(ALWAYS, DevPreview)], ..Rule::new(Id::Kmm, "Kernel Module Management") },
    Rule { levels: &[(ALWAYS, DevPreview)], ..Rule::new(Id::Pipelines, "Pipelines") },
    Rule { levels: &[(ALWAYS, DevPreview)], ..Rule::new(Id::Servicemesh, "ServiceMesh") },
    Rule { levels: &[(ALWAYS, DevPreview)], ..Rule::new(Id::Serverless, "ServerLess") },
    Rule {
        levels: &[(Base(4, 12), DevPreview)],
        platforms: &[Not::OnOci],
        architectures: NOT_X86,
        features: &[Id::ExternalPlatformOci],
        ..Rule::new(Id::OpenshiftAi, "OpenShift AI")
    },
    Rule {
        levels: &[(ALWAYS, DevPreview)],
        architectures: &[Cpu::Arm64],
        ..Rule::new(Id::Authorino, "Authorino")
    },
    Rule { features: &[Id::Sno], ..Rule::new(Id::NodeHealthcheck, "Node Healthcheck") },
    Rule {
        levels: &[(ALWAYS, TechPreview)],
        features: &[Id::Sno],
        ..Rule::new(Id::SelfNodeRemediation, "Self Node Remediation")
    },
    Rule { features: &[Id::Sno], ..Rule::new(Id::FenceAgentsRemediation, "Fence Agents Remediation") },
    Rule { features: &[Id::Sno], ..Rule::new(Id::NodeMaintenance, "Node Maintenance Operator") },
    Rule { features: &[Id::Sno], ..Rule::new(Id::KubeDescheduler, "Kube Descheduler") },
    Rule::new(Id::ClusterObservability, "Cluster Observability"),
    Rule::new(Id::NumaResources, "NUMA Resources"),
    Rule::new(Id::Oadp, "OADP Operator"),
    Rule { levels: &[(Base(4, 11), Supported)], ..Rule::new(Id::Metallb, "MetalLB") },
    Rule { levels: &[(Base(4, 17), Supported)], ..Rule::new(Id::Loki, "Loki Operator") },
    Rule {
        levels: &[(Base(4, 17), Supported)],
        ..Rule::new(Id::OpenshiftLogging, "Red Hat OpenShift Logging Operator")
    },
];
