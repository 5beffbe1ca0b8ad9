//! The five lists of a request or a cluster: what was given, as texts.

use assisted_base::ip::{canonical_address, canonical_network};
use assisted_wire::cluster::Cluster;
use assisted_wire::cluster_params::{ClusterCreateParams, ClusterUpdateParams};
use assisted_wire::id::ClusterId;
use assisted_wire::network::{
    ApiVip, ClusterNetwork, IngressVip, Ip, MachineNetwork, ServiceNetwork, Subnet,
};

/// Networks and VIPs; `None`: the list was not given.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lists<'a> {
    pub machine_networks: Option<&'a [MachineNetwork]>,
    pub api_vips: Option<&'a [ApiVip]>,
    pub ingress_vips: Option<&'a [IngressVip]>,
    pub service_networks: Option<&'a [ServiceNetwork]>,
    pub cluster_networks: Option<&'a [ClusterNetwork]>,
}

impl<'a> From<&'a ClusterCreateParams> for Lists<'a> {
    fn from(params: &'a ClusterCreateParams) -> Self {
        Self {
            machine_networks: params.machine_networks.as_deref(),
            api_vips: params.api_vips.as_deref(),
            ingress_vips: params.ingress_vips.as_deref(),
            service_networks: params.service_networks.as_deref(),
            cluster_networks: params.cluster_networks.as_deref(),
        }
    }
}

impl<'a> From<&'a ClusterUpdateParams> for Lists<'a> {
    fn from(params: &'a ClusterUpdateParams) -> Self {
        Self {
            machine_networks: params.machine_networks.as_deref(),
            api_vips: params.api_vips.as_deref(),
            ingress_vips: params.ingress_vips.as_deref(),
            service_networks: params.service_networks.as_deref(),
            cluster_networks: params.cluster_networks.as_deref(),
        }
    }
}

impl<'a> From<&'a Cluster> for Lists<'a> {
    fn from(cluster: &'a Cluster) -> Self {
        Self {
            machine_networks: cluster.machine_networks.as_deref(),
            api_vips: cluster.api_vips.as_deref(),
            ingress_vips: cluster.ingress_vips.as_deref(),
            service_networks: cluster.service_networks.as_deref(),
            cluster_networks: cluster.cluster_networks.as_deref(),
        }
    }
}

impl<'a> Lists<'a> {
    /// These lists, and those of `stored` where one was not given.
    pub fn or(self, stored: Self) -> Self {
        Self {
            machine_networks: self.machine_networks.or(stored.machine_networks),
            api_vips: self.api_vips.or(stored.api_vips),
            ingress_vips: self.ingress_vips.or(stored.ingress_vips),
            service_networks: self.service_networks.or(stored.service_networks),
            cluster_networks: self.cluster_networks.or(stored.cluster_networks),
        }
    }

    /// Texts of the machine networks.
    pub fn machine(self) -> Vec<&'a str> {
        self.machine_networks.unwrap_or_default().iter().map(|network| network.cidr.0.as_str()).collect()
    }

    /// Texts of the service networks.
    pub fn service(self) -> Vec<&'a str> {
        self.service_networks.unwrap_or_default().iter().map(|network| network.cidr.0.as_str()).collect()
    }

    /// Texts of the cluster networks.
    pub fn cluster(self) -> Vec<&'a str> {
        self.cluster_networks.unwrap_or_default().iter().map(|network| network.cidr.0.as_str()).collect()
    }

    /// Texts of the API VIPs.
    pub fn api(self) -> Vec<&'a str> {
        self.api_vips.unwrap_or_default().iter().map(|vip| vip.ip.0.as_str()).collect()
    }

    /// Texts of the ingress VIPs.
    pub fn ingress(self) -> Vec<&'a str> {
        self.ingress_vips.unwrap_or_default().iter().map(|vip| vip.ip.0.as_str()).collect()
    }

    /// The lists with their names, in the order in which families are compared.
    pub fn named(self) -> [(&'static str, bool, Vec<&'a str>); 5] {
        [
            ("machine_networks", self.machine_networks.is_some(), self.machine()),
            ("api_vips", self.api_vips.is_some(), self.api()),
            ("ingress_vips", self.ingress_vips.is_some(), self.ingress()),
            ("service_networks", self.service_networks.is_some(), self.service()),
            ("cluster_networks", self.cluster_networks.is_some(), self.cluster()),
        ]
    }
}

/// Machine networks as they are kept.
pub fn machine_rows(id: ClusterId, given: &[MachineNetwork]) -> Vec<MachineNetwork> {
    let row = |network: &MachineNetwork| MachineNetwork {
        cluster_id: Some(id),
        cidr: Subnet(canonical_network(&network.cidr.0)),
    };
    given.iter().map(row).collect()
}

/// Service networks as they are kept.
pub fn service_rows(id: ClusterId, given: &[ServiceNetwork]) -> Vec<ServiceNetwork> {
    let row = |network: &ServiceNetwork| ServiceNetwork {
        cluster_id: Some(id),
        cidr: Subnet(canonical_network(&network.cidr.0)),
    };
    given.iter().map(row).collect()
}

/// Cluster networks as they are kept.
pub fn cluster_rows(id: ClusterId, given: &[ClusterNetwork]) -> Vec<ClusterNetwork> {
    let row = |network: &ClusterNetwork| ClusterNetwork {
        cluster_id: Some(id),
        cidr: Subnet(canonical_network(&network.cidr.0)),
        host_prefix: network.host_prefix,
    };
    given.iter().map(row).collect()
}

/// API VIPs as they are kept; what is known about an address stays known.
pub fn api_rows(id: ClusterId, given: &[ApiVip], known: &[ApiVip]) -> Vec<ApiVip> {
    let row = |vip: &ApiVip| {
        let ip = Ip(canonical_address(&vip.ip.0));
        let verification = known.iter().find(|known| known.ip == ip).and_then(|known| known.verification);
        ApiVip { cluster_id: Some(id), verification: vip.verification.or(verification), ip }
    };
    given.iter().map(row).collect()
}

/// Ingress VIPs as they are kept; what is known about an address stays known.
pub fn ingress_rows(id: ClusterId, given: &[IngressVip], known: &[IngressVip]) -> Vec<IngressVip> {
    let row = |vip: &IngressVip| {
        let ip = Ip(canonical_address(&vip.ip.0));
        let verification = known.iter().find(|known| known.ip == ip).and_then(|known| known.verification);
        IngressVip { cluster_id: Some(id), verification: vip.verification.or(verification), ip }
    };
    given.iter().map(row).collect()
}
