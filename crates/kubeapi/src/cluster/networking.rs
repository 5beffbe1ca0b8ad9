//! Networks, addresses and platform of a cluster.

use assisted_base::ip::{canonical_address, canonical_network};
use assisted_crd::hive_extensions::agent_cluster_install as crd;
use assisted_wire::network::{
    ApiVip, ClusterNetwork, IngressVip, Ip, LoadBalancer, LoadBalancerType, MachineNetwork, ServiceNetwork,
    Subnet,
};
use assisted_wire::platform::{CloudControllerManager, Platform, PlatformExternal, PlatformType};

use super::ClusterSpec;
use crate::sync_error::SyncError;

impl ClusterSpec<'_> {
    /// Whether load balancers and DNS are somebody else's task: a single node has none of its own.
    pub(super) fn user_managed_networking(&self) -> bool {
        self.install.spec.networking.user_managed_networking == Some(true) || self.single_node()
    }

    /// The platform; none leaves the choice to the service.
    ///
    /// # Errors
    /// `Input` when an external platform is not described.
    pub(super) fn platform(&self) -> Result<Option<Platform>, SyncError> {
        let kind = match self.install.spec.platform_type {
            None | Some(crd::PlatformType::Unset) => return Ok(None),
            Some(crd::PlatformType::BareMetal) => PlatformType::Baremetal,
            Some(crd::PlatformType::None) => PlatformType::None,
            Some(crd::PlatformType::VSphere) => PlatformType::Vsphere,
            Some(crd::PlatformType::Nutanix) => PlatformType::Nutanix,
            Some(crd::PlatformType::External) => PlatformType::External,
        };
        if kind != PlatformType::External {
            return Ok(Some(Platform { r#type: kind, external: None }));
        }
        let Some(external) = &self.install.spec.external else {
            return Err(SyncError::input("For external platform, the external platform spec must be set"));
        };
        let manager = match external.cloud_controller_manager.as_str() {
            "" => CloudControllerManager::Empty,
            "External" => CloudControllerManager::External,
            other => {
                return Err(SyncError::input(format!(
                    "spec.external.cloudControllerManager is {other:?}; it is External, or empty"
                )));
            }
        };
        Ok(Some(Platform {
            r#type: kind,
            external: Some(PlatformExternal {
                platform_name: Some(external.platform_name.clone()).filter(|name| !name.is_empty()),
                cloud_controller_manager: Some(manager),
            }),
        }))
    }

    /// Addresses of the API, in canonical form. The list counts; the older single field stands for a list of one.
    ///
    /// # Errors
    /// `Input` when both are given and disagree.
    pub(super) fn api_vips(&self) -> Result<Vec<ApiVip>, SyncError> {
        let spec = &self.install.spec;
        let ips = addresses(&spec.api_vips, &spec.api_vip, "apiVIP")?;
        Ok(ips.into_iter().map(|ip| ApiVip { ip, ..ApiVip::default() }).collect())
    }

    /// Addresses of the ingress, like [`Self::api_vips`].
    ///
    /// # Errors
    /// `Input` when both are given and disagree.
    pub(super) fn ingress_vips(&self) -> Result<Vec<IngressVip>, SyncError> {
        let spec = &self.install.spec;
        let ips = addresses(&spec.ingress_vips, &spec.ingress_vip, "ingressVIP")?;
        Ok(ips.into_iter().map(|ip| IngressVip { ip, ..IngressVip::default() }).collect())
    }

    pub(super) fn cluster_networks(&self) -> Vec<ClusterNetwork> {
        let given = self.install.spec.networking.cluster_network.iter();
        let wire = |network: &crd::ClusterNetwork| ClusterNetwork {
            cluster_id: None,
            cidr: subnet(&network.cidr),
            host_prefix: network.host_prefix.unwrap_or(0).into(),
        };
        given.map(wire).collect()
    }

    pub(super) fn machine_networks(&self) -> Vec<MachineNetwork> {
        let given = self.install.spec.networking.machine_network.iter();
        given.map(|network| MachineNetwork { cluster_id: None, cidr: subnet(&network.cidr) }).collect()
    }

    /// Whether the service itself finds the machine network, from the virtual addresses and its hosts' (validations §5.2). Until
    /// it has hosts there is none, and setting one is refused.
    pub(super) fn machine_network_follows(&self) -> bool {
        let balancer = self.load_balancer().and_then(|balancer| balancer.r#type);
        let is_dual_stack = self.install.spec.api_vips.len() > 1;
        !self.user_managed_networking() && balancer != Some(LoadBalancerType::UserManaged) && !is_dual_stack
    }

    pub(super) fn service_networks(&self) -> Vec<ServiceNetwork> {
        let given = self.install.spec.networking.service_network.iter();
        given.map(|cidr| ServiceNetwork { cluster_id: None, cidr: subnet(cidr) }).collect()
    }

    pub(super) fn load_balancer(&self) -> Option<LoadBalancer> {
        let kind = match self.install.spec.load_balancer.as_ref()?.r#type? {
            crd::LoadBalancerType::ClusterManaged => LoadBalancerType::ClusterManaged,
            crd::LoadBalancerType::UserManaged => LoadBalancerType::UserManaged,
        };
        Some(LoadBalancer { r#type: Some(kind) })
    }
}

/// A network in canonical form; what is no network stays as it is, and the service refuses it.
fn subnet(cidr: &str) -> Subnet {
    Subnet(canonical_network(cidr.trim()))
}

/// An address in canonical form; what is none stays as it is.
fn ip(text: &str) -> Ip {
    Ip(canonical_address(text.trim()))
}

fn addresses(list: &[String], single: &str, field: &str) -> Result<Vec<Ip>, SyncError> {
    match list {
        [] if single.is_empty() => Ok(Vec::new()),
        [] => Ok(vec![ip(single)]),
        [first, ..] if !single.is_empty() && ip(first) != ip(single) => Err(SyncError::input(format!(
            "failed to update network params: {field} must be the same as the first element of {field}s"
        ))),
        list => Ok(list.iter().map(|text| ip(text)).collect()),
    }
}
