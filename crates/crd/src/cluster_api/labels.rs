//! Labels, annotations and finalizers of Cluster API and of its providers (capi-providers §15).

/// Keys of labels.
pub mod label {
    /// Everything that belongs to a Cluster: its name.
    pub const CLUSTER_NAME: &str = "cluster.x-k8s.io/cluster-name";
    /// Machines of a control plane and what belongs to them; the value is empty.
    pub const CONTROL_PLANE: &str = "cluster.x-k8s.io/control-plane";
    /// The same: name of the control plane's object.
    pub const CONTROL_PLANE_NAME: &str = "cluster.x-k8s.io/control-plane-name";
    /// Machine, and what Machines are made from: its node is an arbiter. Cluster API gives the node the same label.
    pub const ARBITER: &str = "node-role.kubernetes.io/arbiter";
    /// ClusterImageSet: namespace of the control plane that it is for.
    pub const CONTROL_PLANE_NAMESPACE: &str = "controlplane.cluster.x-k8s.io/namespace";
    /// AgentClusterInstall: kind of the object that it was made for.
    pub const CONSUMER: &str = "agentclusterinstalls.agent-install.openshift.io/consumer";
    /// InfraEnv: name of its OpenshiftAssistedConfig.
    pub const CONFIG: &str = "bootstrap.cluster.x-k8s.io/openshiftAssistedConfig";
}

/// Keys of annotations.
pub mod annotation {
    /// Its presence keeps the providers' hands off an object.
    pub const PAUSED: &str = "cluster.x-k8s.io/paused";
    /// Machine: it goes first when machines are taken away.
    pub const DELETE_MACHINE: &str = "cluster.x-k8s.io/delete-machine";
    /// Machine: its owner is to replace it, since a health check found it broken.
    pub const REMEDIATE_MACHINE: &str = "cluster.x-k8s.io/remediate-machine";
    /// What of an object its older version can't say.
    pub const CONVERSION_DATA: &str = "cluster.x-k8s.io/conversion-data";
    /// The template that an object was made from, and its kind with group.
    pub const CLONED_FROM_NAME: &str = "cluster.x-k8s.io/cloned-from-name";
    pub const CLONED_FROM_GROUP_KIND: &str = "cluster.x-k8s.io/cloned-from-groupkind";
    /// Control plane: repository of release images.
    pub const RELEASE_REPOSITORY: &str = "cluster.x-k8s.io/release-image-repository-override";
    /// Control plane: JSON that is merged over the install-config.
    pub const INSTALL_CONFIG_OVERRIDE: &str = "controlplane.cluster.x-k8s.io/install-config-override";
    /// Control plane: name of the platform that nodes run on, where OpenShift does not know it. Ours: the published kinds have no
    /// field for it.
    pub const EXTERNAL_PLATFORM: &str = "controlplane.cluster.x-k8s.io/external-platform";
    /// Control plane: the number of machines that is wanted although etcd would be safer with another. Ours.
    pub const CONFIRM_REPLICAS: &str = "controlplane.cluster.x-k8s.io/confirm-replicas";
    /// AgentClusterInstall: JSON that is merged over the install-config.
    pub const INSTALL_CONFIG_OVERRIDES: &str = "agent-install.openshift.io/install-config-overrides";
    /// Config: Ignition config that is merged over that of the discovery.
    pub const DISCOVERY_IGNITION_OVERRIDE: &str =
        "openshiftassistedconfig.cluster.x-k8s.io/discovery-ignition-override";
    /// Config: Ignition config that is merged over that of the installed node.
    pub const IGNITION_OVERRIDE: &str = "openshiftassistedconfig.cluster.x-k8s.io/ignition-override";
    /// Config: how the machine boots, `disk-image` or `live-iso`. Ours: the published kinds have no field for it.
    pub const BOOT_METHOD: &str = "openshiftassistedconfig.cluster.x-k8s.io/boot-method";
    /// Config: the host that its machine got at the installer, with the infra-env by which it came. Ours.
    pub const HOST: &str = "openshiftassistedconfig.cluster.x-k8s.io/host";
    /// Metal3Machine: namespace and name of its BareMetalHost.
    pub const METAL3_HOST: &str = "metal3.io/BareMetalHost";
    /// Machine of a control plane; informational.
    pub const BMAC_ROLE: &str = "bmac.agent-install.openshift.io/role";
}

/// Finalizers.
pub mod finalizer {
    /// OpenshiftAssistedConfig: until its InfraEnv, or its host, is gone.
    pub const CONFIG: &str = "openshiftassistedconfig.bootstrap.cluster.x-k8s.io/deprovision";
    /// OpenshiftAssistedControlPlane: until its machines and its cluster are gone.
    pub const CONTROL_PLANE: &str = "openshiftassistedcontrolplane.controlplane.cluster.x-k8s.io/deprovision";
}

/// Type of the Secrets that Cluster API reads.
pub const SECRET_TYPE: &str = "cluster.x-k8s.io/secret";

/// Group of Cluster API's own kinds.
pub const GROUP: &str = "cluster.x-k8s.io";

/// Group of the bootstrap provider's kinds.
pub const BOOTSTRAP_GROUP: &str = "bootstrap.cluster.x-k8s.io";

/// Group of the control-plane provider's kinds.
pub const CONTROL_PLANE_GROUP: &str = "controlplane.cluster.x-k8s.io";
