//! Labels, annotations and finalizers (kube-api §9).

/// Keys of labels.
pub mod label {
    /// Agent, BareMetalHost, PreprovisioningImage: name of the InfraEnv.
    pub const INFRA_ENV: &str = "infraenvs.agent-install.openshift.io";
    /// Agent: namespace of its ClusterDeployment, or empty.
    pub const CLUSTER_DEPLOYMENT_NAMESPACE: &str = "agent-install.openshift.io/clusterdeployment-namespace";
    /// Agent: name of its BareMetalHost.
    pub const BARE_METAL_HOST: &str = "agent-install.openshift.io/bmh";
    /// Agent: what begins with this tells something of its inventory.
    pub const INVENTORY_PREFIX: &str = "inventory.agent-install.openshift.io/";
    /// Agent: what begins with this comes from an AgentClassification.
    pub const CLASSIFICATION_PREFIX: &str = "agentclassification.agent-install.openshift.io/";
    /// AgentClusterInstall: tags of the cluster.
    pub const CONSUMER: &str = "agentclusterinstalls.agent-install.openshift.io/consumer";
    /// ClusterDeployment: the control plane of the cluster is hosted.
    pub const AGENT_CLUSTER_REF: &str = "agentClusterRef";
    /// Secret, ConfigMap: `true` where changes are waited for.
    pub const WATCH: &str = "agent-install.openshift.io/watch";
    /// Secret, ConfigMap, BareMetalHost: `true` where a backup of the hub takes it along.
    pub const BACKUP: &str = "cluster.open-cluster-management.io/backup";
    /// PreprovisioningImage: `true`, for no backup takes it along.
    pub const EXCLUDE_FROM_BACKUP: &str = "velero.io/exclude-from-backup";
    /// Secrets with credentials: name of the ClusterDeployment.
    pub const CLUSTER_DEPLOYMENT_NAME: &str = "hive.openshift.io/cluster-deployment-name";
    /// Secrets with credentials: `kubeconfig` or `kubeadmincreds`.
    pub const SECRET_TYPE: &str = "hive.openshift.io/secret-type";
}

/// Keys of annotations.
pub mod annotation {
    /// Agent: version of the labels of its inventory.
    pub const INVENTORY_VERSION: &str = "inventory.agent-install.openshift.io/version";
    /// Agent: what a lost row of the host is made anew from.
    pub const AGENT_STATE: &str = "agent.agent-install.openshift.io/state";
    pub const AGENT_ROLE: &str = "agent.agent-install.openshift.io/role";
    pub const AGENT_INVENTORY: &str = "agent.agent-install.openshift.io/inventory";
    pub const AGENT_VALIDATIONS_INFO: &str = "agent.agent-install.openshift.io/validations-info";
    pub const AGENT_CURRENT_STAGE: &str = "agent.agent-install.openshift.io/current-stage";
    /// Agent: its presence keeps the node in the cluster when the host goes.
    pub const SKIP_SPOKE_CLEANUP: &str = "agent.agent-install.openshift.io/skip-spoke-cleanup";
    /// Agent: which labels of the node came from the InfraEnv.
    pub const INHERITED_NODE_LABELS: &str = "agent.agent-install.openshift.io/inherited-node-labels";
    /// InfraEnv: `true` once the image carries the agent of metal3.
    pub const ENABLE_IRONIC_AGENT: &str = "infraenv.agent-install.openshift.io/enable-ironic-agent";
    /// InfraEnv: image of the agent of metal3.
    pub const IRONIC_AGENT_IMAGE_OVERRIDE: &str =
        "infraenv.agent-install.openshift.io/ironic-agent-image-override";
    /// InfraEnv: address families by which metal3 is reached, `v4` and `v6`, separated by commas.
    pub const IP_FAMILY: &str = "infraenv.agent-install.openshift.io/ip-family";
    /// InfraEnv: labels of it that its hosts' nodes get.
    pub const PROPAGATE_NODE_LABELS: &str = "infraenv.agent-install.openshift.io/propagate-node-labels";
    /// AgentClusterInstall: JSON that is merged over the install-config.
    pub const INSTALL_CONFIG_OVERRIDES: &str = "agent-install.openshift.io/install-config-overrides";
    /// AgentClusterInstall: ids of validations, separated by commas.
    pub const IGNORED_CLUSTER_VALIDATIONS: &str = "agent-install.openshift.io/ignored-cluster-validations";
    pub const IGNORED_HOST_VALIDATIONS: &str = "agent-install.openshift.io/ignored-host-validations";
    /// AgentClusterInstall, InfraEnv: which settings of the service came from its fields, separated by commas; they go with the fields.
    pub const GIVEN_FIELDS: &str = "agent-install.openshift.io/given-fields";
    /// ClusterDeployment: holds its installation.
    pub const RECONCILE_PAUSE: &str = "hive.openshift.io/reconcile-pause";
    /// BareMetalHost: what begins with this tells what its Agent is to be.
    pub const BMAC_PREFIX: &str = "bmac.agent-install.openshift.io/";
    /// BareMetalHost: what begins with this is a label of the node.
    pub const BMAC_NODE_LABEL_PREFIX: &str = "bmac.agent-install.openshift.io.node-label.";
    /// BareMetalHost: what begins with this is a label of the Agent.
    pub const BMAC_AGENT_LABEL_PREFIX: &str = "bmac.agent-install.openshift.io.agent-label.";
    /// BareMetalHost: its presence says that the cluster that it joined knows it.
    pub const BMAC_SPOKE_CREATED: &str = "bmac.agent-install.openshift.io/spoke-bmh-machine-created";
    /// BareMetalHost: when it is deleted, its Agent and the node go as well.
    pub const BMAC_REMOVE_AGENT: &str = "bmac.agent-install.openshift.io/remove-agent-and-node-on-delete";
    /// BareMetalHost: metal3 looks after the machine once it is installed, too.
    pub const BMAC_ALLOW_MANAGEMENT: &str =
        "bmac.agent-install.openshift.io/allow-provisioned-host-management";
    /// BareMetalHost: since when its node is drained; RFC 3339.
    pub const BMAC_DRAIN_STARTED: &str = "bmac.agent-install.openshift.io/drain-started-at";
    /// BareMetalHost: how long that may take, such as `1h30m`.
    pub const BMAC_DRAIN_TIMEOUT: &str = "bmac.agent-install.openshift.io/drain-timeout";
    /// BareMetalHost: how far that is.
    pub const BMAC_DRAIN_STATUS: &str = "bmac.agent-install.openshift.io/drain-status";
    /// BareMetalHost: metal3 keeps its hands off the machine.
    pub const BMH_DETACHED: &str = "baremetalhost.metal3.io/detached";
    /// BareMetalHost: metal3 does nothing with it.
    pub const BMH_PAUSED: &str = "baremetalhost.metal3.io/paused";
    /// BareMetalHost: status that metal3 is to take over.
    pub const BMH_STATUS: &str = "baremetalhost.metal3.io/status";
    /// BareMetalHost: `disabled` where metal3 does not inspect it.
    pub const INSPECT: &str = "inspect.metal3.io";
    /// BareMetalHost: hardware that metal3 is to take over.
    pub const HARDWARE_DETAILS: &str = "inspect.metal3.io/hardwaredetails";
    /// PreprovisioningImage: the image that its machine was given last.
    pub const GIVEN_IMAGE: &str = "preprovisioningimage.agent-install.openshift.io/given-image";
    /// BareMetalHost: its presence asks for a restart.
    pub const REBOOT: &str = "reboot.metal3.io";
}

/// Finalizers.
pub mod finalizer {
    /// ClusterDeployment: until its AgentClusterInstall is gone.
    pub const CLUSTER_DEPLOYMENT: &str = "clusterdeployments.agent-install.openshift.io/ai-deprovision";
    /// AgentClusterInstall: until its hosts are unbound and its cluster is gone.
    pub const AGENT_CLUSTER_INSTALL: &str = "agentclusterinstall.agent-install.openshift.io/ai-deprovision";
    /// InfraEnv: until it is gone from the service.
    pub const INFRA_ENV: &str = "infraenv.agent-install.openshift.io/ai-deprovision";
    /// Agent: until its node and its host are gone.
    pub const AGENT: &str = "agent.agent-install.openshift.io/ai-deprovision";
    /// AgentClassification: until no Agent carries its label.
    pub const AGENT_CLASSIFICATION: &str = "agentclassification.agent-install.openshift.io";
    /// BareMetalHost: until the host is cleaned.
    pub const BARE_METAL_HOST: &str = "bmac.agent-install.openshift.io/deprovision";
    /// PreprovisioningImage: until its BareMetalHost is deprovisioned.
    pub const PREPROVISIONING_IMAGE: &str = "preprovisioningimage.agent-install.openshift.io/ai-deprovision";
    /// AgentServiceConfig, HypershiftAgentServiceConfig: until the image service is gone.
    pub const AGENT_SERVICE_CONFIG: &str = "agentserviceconfig.agent-install.openshift.io/ai-deprovision";
    /// AgentServiceConfig: until what was imported of the hub itself is gone.
    pub const LOCAL_CLUSTER_IMPORT: &str =
        "agentserviceconfig.agent-install.openshift.io/local-cluster-import-deprovision";
    /// StatefulSet of the image service: until its claims of volumes are gone.
    pub const IMAGE_SERVICE: &str = "assisted-image-service.agent-install.openshift.io/ai-deprovision";
}
