//! Which features a configuration uses.

use assisted_wire::cluster_params::NetworkType;
use assisted_wire::infra_env::ImageType;
use assisted_wire::network::LoadBalancerType;
use assisted_wire::platform::PlatformType;
use assisted_wire::support_level::FeatureSupportLevelId as Id;

use crate::admission::network::dual_stack;
use crate::catalogue::operators::{OPERATORS, is_selected};
use crate::model::cluster::{ClusterRecord, IpStack};
use crate::model::topology;

/// What decides which features are in use: a cluster, an infra-env, or both together.
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
        let on_oci = cluster.platform.as_ref().is_some_and(topology::is_oci);
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
            Id::ExternalPlatform => platform == Some(PlatformType::External) && !on_oci,
            Id::ExternalPlatformOci => on_oci,
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
            Id::Mtv => is_selected(cluster, "mtv") && is_selected(cluster, "cnv"),
            _ => OPERATORS
                .iter()
                .find(|operator| operator.feature() == id)
                .is_some_and(|operator| is_selected(cluster, operator.name)),
        }
    }
}
