//! Which features can be used together, and which are in use.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::own_operators::{operator_enum, with_own_operators};
use crate::text_enum;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "support-levels")]
pub struct SupportLevels(pub BTreeMap<String, SupportLevel>);

text_enum! {
    #[schemars(rename = "support-level")]
    pub enum SupportLevel {
        Supported = "supported",
        Unsupported = "unsupported",
        TechPreview = "tech-preview",
        DevPreview = "dev-preview",
        Unavailable = "unavailable",
    }
}

with_own_operators! { operator_enum! feature
    #[schemars(rename = "feature-support-level-id")]
    pub enum FeatureSupportLevelId {
        Sno = "SNO",
        Tna = "TNA",
        Tnf = "TNF",
        VipAutoAlloc = "VIP_AUTO_ALLOC",
        CustomManifest = "CUSTOM_MANIFEST",
        SingleNodeExpansion = "SINGLE_NODE_EXPANSION",
        Lvm = "LVM",
        Odf = "ODF",
        Lso = "LSO",
        Cnv = "CNV",
        Mce = "MCE",
        Mtv = "MTV",
        Osc = "OSC",
        NutanixIntegration = "NUTANIX_INTEGRATION",
        BaremetalPlatform = "BAREMETAL_PLATFORM",
        NonePlatform = "NONE_PLATFORM",
        VsphereIntegration = "VSPHERE_INTEGRATION",
        DualStackVips = "DUAL_STACK_VIPS",
        ClusterManagedNetworking = "CLUSTER_MANAGED_NETWORKING",
        UserManagedNetworking = "USER_MANAGED_NETWORKING",
        MinimalIso = "MINIMAL_ISO",
        FullIso = "FULL_ISO",
        ExternalPlatformOci = "EXTERNAL_PLATFORM_OCI",
        DualStack = "DUAL_STACK",
        PlatformManagedNetworking = "PLATFORM_MANAGED_NETWORKING",
        ExternalPlatform = "EXTERNAL_PLATFORM",
        OvnNetworkType = "OVN_NETWORK_TYPE",
        SdnNetworkType = "SDN_NETWORK_TYPE",
        CiliumNetworkType = "CILIUM_NETWORK_TYPE",
        CalicoNetworkType = "CALICO_NETWORK_TYPE",
        CiscoAciNetworkType = "CISCO_ACI_NETWORK_TYPE",
        NoneNetworkType = "NONE_NETWORK_TYPE",
        NodeFeatureDiscovery = "NODE_FEATURE_DISCOVERY",
        NvidiaGpu = "NVIDIA_GPU",
        Pipelines = "PIPELINES",
        Servicemesh = "SERVICEMESH",
        Serverless = "SERVERLESS",
        OpenshiftAi = "OPENSHIFT_AI",
        NonStandardHaControlPlane = "NON_STANDARD_HA_CONTROL_PLANE",
        Authorino = "AUTHORINO",
        UserManagedLoadBalancer = "USER_MANAGED_LOAD_BALANCER",
        Nmstate = "NMSTATE",
        AmdGpu = "AMD_GPU",
        Kmm = "KMM",
        NodeHealthcheck = "NODE_HEALTHCHECK",
        SelfNodeRemediation = "SELF_NODE_REMEDIATION",
        FenceAgentsRemediation = "FENCE_AGENTS_REMEDIATION",
        NodeMaintenance = "NODE_MAINTENANCE",
        KubeDescheduler = "KUBE_DESCHEDULER",
        ClusterObservability = "CLUSTER_OBSERVABILITY",
        NumaResources = "NUMA_RESOURCES",
        Oadp = "OADP",
        Metallb = "METALLB",
        DualStackPrimaryIpv6 = "DUAL_STACK_PRIMARY_IPV6",
        Loki = "LOKI",
        OpenshiftLogging = "OPENSHIFT_LOGGING",
    } added {
        OnClusterLayering = "ON_CLUSTER_LAYERING": "image mode at installation is offered where release and architecture know it",
    }
}

text_enum! {
    #[schemars(rename = "architecture-support-level-id")]
    pub enum ArchitectureSupportLevelId {
        X8664Architecture = "X86_64_ARCHITECTURE",
        Arm64Architecture = "ARM64_ARCHITECTURE",
        Ppc64leArchitecture = "PPC64LE_ARCHITECTURE",
        S390xArchitecture = "S390X_ARCHITECTURE",
        MultiarchReleaseImage = "MULTIARCH_RELEASE_IMAGE",
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "feature", extend("required" = ["feature-support-level-id", "incompatibilities", "support_level"]))]
pub struct Feature {
    #[serde(rename = "feature-support-level-id")]
    pub feature_support_level_id: FeatureSupportLevelId,
    pub support_level: SupportLevel,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<IncompatibilityReason>,
    #[serde(default, deserialize_with = "crate::null::or_default")]
    pub incompatibilities: Vec<FeatureSupportLevelId>,
}

text_enum! {
    #[schemars(rename = "incompatibility-reason")]
    pub enum IncompatibilityReason {
        CpuArchitecture = "cpuArchitecture",
        Platform = "platform",
        OpenshiftVersion = "openshiftVersion",
        OciExternalIntegrationDisabled = "ociExternalIntegrationDisabled",
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "usage")]
pub struct Usage {
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub id: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<BTreeMap<String, Value>>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct SupportedFeatures {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub features: Option<SupportLevels>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct SupportedArchitectures {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub architectures: Option<SupportLevels>,
}
