//! Objects that are not Kubernetes' own, by the names of their kinds. Few of their fields matter, so none has a type.

use kube::api::{ApiResource, DynamicObject};
use kube::{Api, Client};

/// A kind of objects.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kind {
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    plural: &'static str,
}

const fn kind(group: &'static str, version: &'static str, kind: &'static str, plural: &'static str) -> Kind {
    Kind { group, version, kind, plural }
}

pub(crate) const CLUSTER_OPERATOR: Kind =
    kind("config.openshift.io", "v1", "ClusterOperator", "clusteroperators");
pub(crate) const CLUSTER_VERSION: Kind =
    kind("config.openshift.io", "v1", "ClusterVersion", "clusterversions");
pub(crate) const PROXY: Kind = kind("config.openshift.io", "v1", "Proxy", "proxies");
pub(crate) const MACHINE_CONFIG_POOL: Kind =
    kind("machineconfiguration.openshift.io", "v1", "MachineConfigPool", "machineconfigpools");
pub(crate) const MACHINE_CONFIG: Kind =
    kind("machineconfiguration.openshift.io", "v1", "MachineConfig", "machineconfigs");
pub(crate) const MACHINE_OS_CONFIG: Kind =
    kind("machineconfiguration.openshift.io", "v1", "MachineOSConfig", "machineosconfigs");
pub(crate) const MACHINE_OS_BUILD: Kind =
    kind("machineconfiguration.openshift.io", "v1", "MachineOSBuild", "machineosbuilds");
pub(crate) const MACHINE: Kind = kind("machine.openshift.io", "v1beta1", "Machine", "machines");
pub(crate) const BARE_METAL_HOST: Kind = kind("metal3.io", "v1alpha1", "BareMetalHost", "baremetalhosts");
pub(crate) const PROVISIONING: Kind = kind("metal3.io", "v1alpha1", "Provisioning", "provisionings");
pub(crate) const SUBSCRIPTION: Kind =
    kind("operators.coreos.com", "v1alpha1", "Subscription", "subscriptions");
pub(crate) const INSTALL_PLAN: Kind = kind("operators.coreos.com", "v1alpha1", "InstallPlan", "installplans");
pub(crate) const CLUSTER_SERVICE_VERSION: Kind =
    kind("operators.coreos.com", "v1alpha1", "ClusterServiceVersion", "clusterserviceversions");

impl Kind {
    fn resource(self) -> ApiResource {
        ApiResource {
            group: self.group.to_owned(),
            version: self.version.to_owned(),
            api_version: format!("{}/{}", self.group, self.version),
            kind: self.kind.to_owned(),
            plural: self.plural.to_owned(),
        }
    }

    /// The objects of the whole cluster.
    pub(crate) fn all(self, kube: &Client) -> Api<DynamicObject> {
        Api::all_with(kube.clone(), &self.resource())
    }

    /// The objects of a namespace.
    pub(crate) fn within(self, kube: &Client, namespace: &str) -> Api<DynamicObject> {
        Api::namespaced_with(kube.clone(), namespace, &self.resource())
    }
}
