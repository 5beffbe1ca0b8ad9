//! Which features a configuration uses.

use assisted_wire::cluster::Cluster;
use assisted_wire::cluster_params::NetworkType;
use assisted_wire::infra_env::ImageType;
use assisted_wire::network::LoadBalancerType;
use assisted_wire::operator::OperatorType;
use assisted_wire::platform::PlatformType;
use assisted_wire::support_level::FeatureSupportLevelId as Id;

use super::rule::OCI;
use crate::cluster::record::{ClusterRecord, IpStack};
use crate::rules::network::dual_stack;
use crate::rules::operator::catalogue;

/// What is looked at to tell which features are in use: a cluster, an infra-env, or both together.
#[derive(Clone, Debug, Default)]
pub struct Configuration<'a> {
    /// The cluster as it would be.
    pub cluster: Option<&'a ClusterRecord>,
    /// Type of the infra-env's image.
    pub image_type: Option<ImageType>,
    /// Whether some host is an arbiter.
    pub with_arbiter: bool,
    /// Whether the cluster is two control-plane nodes with fencing.
    pub with_fencing: bool,
}

impl Configuration<'_> {
    /// The features in use, in a fixed order.
    pub fn active(&self) -> Vec<Id> {
        Id::ALL.iter().copied().filter(|id| self.is_active(*id)).collect()
    }

    fn is_active(&self, id: Id) -> bool {
        match id {
            Id::MinimalIso => return self.image_type == Some(ImageType::MinimalIso),
            Id::FullIso => return self.image_type == Some(ImageType::FullIso),
            _ => {}
        }
        let Some(record) = self.cluster else { return false };
        let cluster = &record.cluster;
        let platform = cluster.platform.as_ref().map(|platform| platform.r#type);
        match id {
            Id::Sno => cluster.control_plane_count == 1,
            Id::Tna => self.with_arbiter,
            Id::Tnf => self.with_fencing,
            Id::NonStandardHaControlPlane => cluster.control_plane_count > 3,
            Id::VipAutoAlloc => cluster.vip_dhcp_allocation == Some(true),
            Id::UserManagedNetworking => cluster.user_managed_networking == Some(true),
            Id::ClusterManagedNetworking => cluster.user_managed_networking != Some(true),
            Id::PlatformManagedNetworking => {
                matches!(platform, Some(PlatformType::External | PlatformType::None))
            }
            Id::BaremetalPlatform => platform == Some(PlatformType::Baremetal),
            Id::NonePlatform => platform == Some(PlatformType::None),
            Id::NutanixIntegration => platform == Some(PlatformType::Nutanix),
            Id::VsphereIntegration => platform == Some(PlatformType::Vsphere),
            Id::ExternalPlatform => platform == Some(PlatformType::External) && !is_oci(cluster),
            Id::ExternalPlatformOci => is_oci(cluster),
            Id::SdnNetworkType => cluster.network_type == Some(NetworkType::OpenShiftSDN),
            Id::OvnNetworkType => cluster.network_type == Some(NetworkType::OVNKubernetes),
            Id::CiliumNetworkType => cluster.network_type == Some(NetworkType::Cilium),
            Id::CalicoNetworkType => cluster.network_type == Some(NetworkType::Calico),
            Id::CiscoAciNetworkType => cluster.network_type == Some(NetworkType::CiscoACI),
            Id::NoneNetworkType => cluster.network_type == Some(NetworkType::None),
            Id::DualStack => dual_stack::is_dual(cluster),
            Id::DualStackVips => {
                let count = |list: Option<usize>| list.is_some_and(|count| count > 1);
                count(cluster.api_vips.as_ref().map(Vec::len))
                    || count(cluster.ingress_vips.as_ref().map(Vec::len))
            }
            Id::DualStackPrimaryIpv6 => {
                record.primary_ip_stack == Some(IpStack::V6) && dual_stack::is_dual(cluster)
            }
            Id::UserManagedLoadBalancer => {
                cluster.load_balancer.as_ref().and_then(|balancer| balancer.r#type)
                    == Some(LoadBalancerType::UserManaged)
            }
            Id::Mtv => has_operator(cluster, "mtv") && has_operator(cluster, "cnv"),
            _ => catalogue::OLM
                .iter()
                .find(|operator| operator.feature == id)
                .is_some_and(|operator| has_operator(cluster, operator.name)),
        }
    }
}

/// Whether the cluster runs on Oracle Cloud Infrastructure.
fn is_oci(cluster: &Cluster) -> bool {
    cluster.platform.as_ref().is_some_and(|platform| {
        let name = platform.external.as_ref().and_then(|external| external.platform_name.as_deref());
        platform.r#type == PlatformType::External && name == Some(OCI)
    })
}

fn has_operator(cluster: &Cluster, name: &str) -> bool {
    let mut operators = cluster.monitored_operators.iter().flatten();
    operators.any(|operator| operator.operator_type == Some(OperatorType::Olm) && operator.name == name)
}
