//! The members of an install config: those that the service writes, and those that only overrides set. Others are refused.

use serde::{Deserialize, Serialize};

use crate::layering::OnClusterLayering;

/// Declares a structure of the document; absent members have their empty value, as an override's new list elements need.
macro_rules! part {
    ($($(#[$meta:meta])* $name:ident { $($(#[$field_meta:meta])* $field:ident: $kind:ty,)* })*) => {
        $($(#[$meta])*
        #[derive(Clone, Default, Serialize, Deserialize)]
        #[serde(rename_all = "camelCase", deny_unknown_fields, default)]
        pub(super) struct $name {
            $($(#[$field_meta])* pub(super) $field: $kind,)*
        })*
    };
}

part! {
    Document {
        api_version: String,
        base_domain: String,
        metadata: Metadata,
        #[serde(skip_serializing_if = "Option::is_none")]
        proxy: Option<Proxy>,
        networking: Networking,
        compute: Vec<Pool>,
        control_plane: ControlPlane,
        #[serde(skip_serializing_if = "Option::is_none")]
        arbiter: Option<Pool>,
        platform: Platform,
        #[serde(skip_serializing_if = "Option::is_none")]
        bootstrap_in_place: Option<BootstrapInPlace>,
        fips: bool,
        #[serde(skip_serializing_if = "String::is_empty")]
        cpu_partitioning_mode: String,
        pull_secret: String,
        ssh_key: String,
        #[serde(skip_serializing_if = "String::is_empty")]
        additional_trust_bundle: String,
        #[serde(skip_serializing_if = "String::is_empty")]
        additional_trust_bundle_policy: String,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        image_content_sources: Vec<ImageSource>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        image_digest_sources: Vec<ImageSource>,
        #[serde(skip_serializing_if = "Option::is_none")]
        capabilities: Option<Capabilities>,
        #[serde(skip_serializing_if = "String::is_empty")]
        feature_set: String,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        feature_gates: Vec<String>,
        #[serde(skip_serializing_if = "String::is_empty")]
        os_image_stream: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        on_cluster_layering: Option<OnClusterLayering>,
    }
    Metadata {
        name: String,
    }
    Proxy {
        #[serde(skip_serializing_if = "String::is_empty")]
        http_proxy: String,
        #[serde(skip_serializing_if = "String::is_empty")]
        https_proxy: String,
        #[serde(skip_serializing_if = "String::is_empty")]
        no_proxy: String,
    }
    Networking {
        network_type: String,
        cluster_network: Option<Vec<ClusterNetwork>>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        machine_network: Vec<MachineNetwork>,
        service_network: Option<Vec<String>>,
    }
    ClusterNetwork {
        cidr: String,
        host_prefix: i64,
    }
    MachineNetwork {
        cidr: String,
    }
    Pool {
        hyperthreading: String,
        name: String,
        replicas: u64,
    }
    ControlPlane {
        hyperthreading: String,
        name: String,
        replicas: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        fencing: Option<Fencing>,
    }
    Fencing {
        credentials: Vec<FencingCredential>,
    }
    FencingCredential {
        #[serde(skip_serializing_if = "String::is_empty")]
        hostname: String,
        #[serde(skip_serializing_if = "String::is_empty")]
        mac_address: String,
        address: String,
        username: String,
        password: String,
        #[serde(skip_serializing_if = "String::is_empty")]
        certificate_verification: String,
    }
    BootstrapInPlace {
        #[serde(skip_serializing_if = "String::is_empty")]
        installation_disk: String,
    }
    ImageSource {
        source: String,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        mirrors: Vec<String>,
    }
    Capabilities {
        #[serde(skip_serializing_if = "String::is_empty")]
        baseline_capability_set: String,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        additional_enabled_capabilities: Vec<String>,
    }
    /// Exactly one is there.
    Platform {
        #[serde(skip_serializing_if = "Option::is_none")]
        baremetal: Option<Baremetal>,
        #[serde(skip_serializing_if = "Option::is_none")]
        none: Option<NoPlatform>,
        #[serde(skip_serializing_if = "Option::is_none")]
        vsphere: Option<Vsphere>,
        #[serde(skip_serializing_if = "Option::is_none")]
        nutanix: Option<Nutanix>,
        #[serde(skip_serializing_if = "Option::is_none")]
        external: Option<External>,
    }
    NoPlatform {}
    Baremetal {
        provisioning_network: String,
        #[serde(rename = "apiVIPs", skip_serializing_if = "Vec::is_empty")]
        api_vips: Vec<String>,
        #[serde(rename = "ingressVIPs", skip_serializing_if = "Vec::is_empty")]
        ingress_vips: Vec<String>,
        #[serde(rename = "apiVIP", skip_serializing_if = "String::is_empty")]
        api_vip: String,
        #[serde(rename = "ingressVIP", skip_serializing_if = "String::is_empty")]
        ingress_vip: String,
        hosts: Vec<BaremetalHost>,
        #[serde(rename = "additionalNTPServers", skip_serializing_if = "Vec::is_empty")]
        additional_ntp_servers: Vec<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        load_balancer: Option<LoadBalancer>,
        #[serde(rename = "clusterOSImage", skip_serializing_if = "String::is_empty")]
        cluster_os_image: String,
        #[serde(rename = "clusterProvisioningIP", skip_serializing_if = "String::is_empty")]
        cluster_provisioning_ip: String,
        #[serde(skip_serializing_if = "String::is_empty")]
        provisioning_network_interface: String,
        #[serde(rename = "provisioningNetworkCIDR", skip_serializing_if = "String::is_empty")]
        provisioning_network_cidr: String,
        #[serde(rename = "provisioningDHCPRange", skip_serializing_if = "String::is_empty")]
        provisioning_dhcp_range: String,
    }
    BaremetalHost {
        name: String,
        role: String,
        #[serde(rename = "bootMACAddress")]
        boot_mac_address: String,
        boot_mode: String,
        bmc: Bmc,
        hardware_profile: String,
    }
    Bmc {
        username: String,
        password: String,
        address: String,
        disable_certificate_verification: bool,
    }
    LoadBalancer {
        r#type: String,
    }
    Vsphere {
        #[serde(rename = "vCenter", skip_serializing_if = "String::is_empty")]
        v_center: String,
        #[serde(skip_serializing_if = "String::is_empty")]
        username: String,
        #[serde(skip_serializing_if = "String::is_empty")]
        password: String,
        #[serde(skip_serializing_if = "String::is_empty")]
        datacenter: String,
        #[serde(skip_serializing_if = "String::is_empty")]
        default_datastore: String,
        #[serde(skip_serializing_if = "String::is_empty")]
        network: String,
        #[serde(skip_serializing_if = "String::is_empty")]
        cluster: String,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        vcenters: Vec<Vcenter>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        failure_domains: Vec<FailureDomain>,
        #[serde(rename = "apiVIPs", skip_serializing_if = "Vec::is_empty")]
        api_vips: Vec<String>,
        #[serde(rename = "ingressVIPs", skip_serializing_if = "Vec::is_empty")]
        ingress_vips: Vec<String>,
        #[serde(rename = "apiVIP", skip_serializing_if = "String::is_empty")]
        api_vip: String,
        #[serde(rename = "ingressVIP", skip_serializing_if = "String::is_empty")]
        ingress_vip: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        load_balancer: Option<LoadBalancer>,
    }
    Vcenter {
        server: String,
        user: String,
        password: String,
        datacenters: Vec<String>,
    }
    FailureDomain {
        name: String,
        region: String,
        zone: String,
        server: String,
        topology: Topology,
    }
    Topology {
        compute_cluster: String,
        datacenter: String,
        datastore: String,
        folder: String,
        networks: Vec<String>,
    }
    Nutanix {
        prism_central: PrismCentral,
        prism_elements: Vec<PrismElement>,
        #[serde(rename = "subnetUUIDs")]
        subnet_uuids: Vec<String>,
        #[serde(rename = "apiVIPs", skip_serializing_if = "Vec::is_empty")]
        api_vips: Vec<String>,
        #[serde(rename = "ingressVIPs", skip_serializing_if = "Vec::is_empty")]
        ingress_vips: Vec<String>,
        #[serde(rename = "apiVIP", skip_serializing_if = "String::is_empty")]
        api_vip: String,
        #[serde(rename = "ingressVIP", skip_serializing_if = "String::is_empty")]
        ingress_vip: String,
    }
    PrismCentral {
        endpoint: Endpoint,
        username: String,
        password: String,
    }
    PrismElement {
        endpoint: Endpoint,
        uuid: String,
        name: String,
    }
    Endpoint {
        address: String,
        port: u16,
    }
    External {
        platform_name: String,
        cloud_controller_manager: String,
    }
}

/// The names of all members, in the one spelling that is written; none differs from another in case alone.
pub(super) const MEMBERS: &[&str] = &[
    "additionalEnabledCapabilities",
    "additionalNTPServers",
    "additionalTrustBundle",
    "additionalTrustBundlePolicy",
    "address",
    "apiVIP",
    "apiVIPs",
    "apiVersion",
    "arbiter",
    "bakeConfigs",
    "baremetal",
    "baseDomain",
    "baselineCapabilitySet",
    "bmc",
    "bootMACAddress",
    "bootMode",
    "bootstrapInPlace",
    "buildTimeoutMinutes",
    "capabilities",
    "certificateVerification",
    "cidr",
    "cloudControllerManager",
    "cluster",
    "clusterNetwork",
    "clusterOSImage",
    "clusterProvisioningIP",
    "compute",
    "computeCluster",
    "containerFile",
    "controlPlane",
    "cpuPartitioningMode",
    "credentials",
    "datacenter",
    "datacenters",
    "datastore",
    "defaultDatastore",
    "disableCertificateVerification",
    "endpoint",
    "external",
    "failureDomains",
    "featureGates",
    "featureSet",
    "fencing",
    "fips",
    "folder",
    "hardwareProfile",
    "hostPrefix",
    "hostname",
    "hosts",
    "httpProxy",
    "httpsProxy",
    "hyperthreading",
    "imageContentSources",
    "imageDigestSources",
    "ingressVIP",
    "ingressVIPs",
    "installationDisk",
    "loadBalancer",
    "loadBalancerConfigured",
    "macAddress",
    "machineNetwork",
    "machineOSConfigs",
    "metadata",
    "mirrors",
    "mode",
    "name",
    "network",
    "networkType",
    "networking",
    "networks",
    "noProxy",
    "none",
    "nutanix",
    "onClusterLayering",
    "osImageStream",
    "password",
    "platform",
    "platformName",
    "pools",
    "port",
    "prismCentral",
    "prismElements",
    "provisioningDHCPRange",
    "provisioningNetwork",
    "provisioningNetworkCIDR",
    "provisioningNetworkInterface",
    "proxy",
    "pullSecret",
    "pushRepository",
    "region",
    "registry",
    "replicas",
    "role",
    "rollout",
    "scratch",
    "server",
    "serviceNetwork",
    "source",
    "sshKey",
    "subnetUUIDs",
    "topology",
    "type",
    "user",
    "username",
    "uuid",
    "vCenter",
    "vcenters",
    "vsphere",
    "waitForAdoption",
    "workerBuildLocation",
    "zone",
];
