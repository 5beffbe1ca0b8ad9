//! What the conditions of the providers' kinds say: type, status, reason, message (capi-providers §16).

/// Conditions of an OpenshiftAssistedConfig.
pub mod config {
    use crate::condition::outcomes;

    outcomes! {
        DATA_SECRET_AVAILABLE = "DataSecretAvailable" True "DataSecretAvailable" "";
        WAITING_FOR_INFRASTRUCTURE = "DataSecretAvailable" False "WaitingForClusterInfrastructure" "The infrastructure of the cluster is not there yet";
        WAITING_FOR_INSTALLER = "DataSecretAvailable" False "WaitingForAssistedInstaller" "{}";
        WAITING_FOR_INSTALLATION = "DataSecretAvailable" False "WaitingForInstallComplete" "The installation of the cluster is under way ({}); this machine joins when it is over";
        WAITING_FOR_INFRA_ENV = "DataSecretAvailable" False "WaitingForInfraEnvToBeReady" "{}";
        WAITING_FOR_LIVE_ISO = "DataSecretAvailable" False "WaitingForLiveISOURL" "{}";
        INFRA_ENV_FAILED = "DataSecretAvailable" False "InfraEnvFailed" "{}";
        CREATING_SECRET_FAILED = "DataSecretAvailable" False "CreatingSecretFailed" "{}";
        INVALID = "DataSecretAvailable" False "InvalidConfiguration" "{}";
        HOST_SETTLED = "HostConfigured" True "HostConfigured" "Host {} is approved with the settings of this object";
        HOST_AWAITED = "HostConfigured" False "WaitingForHost" "No host of this machine has registered yet";
        HOST_INVALID = "HostConfigured" False "InvalidConfiguration" "{}";
        READY = "Ready" True "Ready" "";
        NOT_READY = "Ready" False "NotReady" "{}";
        PAUSED = "Paused" True "Paused" "{}";
        NOT_PAUSED = "Paused" False "NotPaused" "";
    }
}

/// Conditions of an OpenshiftAssistedControlPlane.
pub mod control_plane {
    use crate::condition::outcomes;

    outcomes! {
        AVAILABLE = "Available" True "Available" "";
        INSTALLING = "Available" False "ControlPlaneInstalling" "Controlplane installing, status: {}";
        NOT_BEGUN = "Available" False "WaitingForClusterInfrastructure" "The infrastructure of the cluster, or the address of its API, is not there yet";
        NOT_DESCRIBED = "Available" False "ControlPlaneInstalling" "{}";
        KUBECONFIG_AVAILABLE = "KubeconfigAvailable" True "KubeconfigAvailable" "";
        KUBECONFIG_UNAVAILABLE = "KubeconfigAvailable" False "KubeconfigUnavailable" "{}";
        VERSION_AVAILABLE = "KubernetesVersionAvailable" True "KubernetesVersionAvailable" "";
        VERSION_UNAVAILABLE = "KubernetesVersionAvailable" False "KubernetesVersionUnavailable" "failed to get k8s version from release image: {}";
        MACHINES_CREATED = "MachinesCreated" True "MachinesCreated" "";
        MACHINES_MISSING = "MachinesCreated" False "ScalingUp" "{} of {} machines are created";
        CLONING_FAILED = "MachinesCreated" False "InfrastructureTemplateCloningFailed" "{}";
        CONFIG_FAILED = "MachinesCreated" False "BootstrapTemplateCloningFailed" "{}";
        MACHINE_FAILED = "MachinesCreated" False "MachineGenerationFailed" "{}";
        MACHINES_READY = "MachinesReady" True "MachinesReady" "";
        MACHINES_NOT_READY = "MachinesReady" False "MachinesNotReady" "{} of {} machines are ready";
        MACHINES_UP_TO_DATE = "MachinesUpToDate" True "UpToDate" "";
        MACHINES_NOT_UP_TO_DATE = "MachinesUpToDate" False "NotUpToDate" "Machines that are not as the template says: {}";
        NOT_ROLLING_OUT = "RollingOut" False "NotRollingOut" "";
        SCALING_UP = "ScalingUp" True "ScalingUp" "Scaling up from {} to {} machines{}";
        NOT_SCALING_UP = "ScalingUp" False "NotScalingUp" "";
        SCALING_DOWN = "ScalingDown" True "ScalingDown" "Scaling down from {} to {} machines{}";
        NOT_SCALING_DOWN = "ScalingDown" False "NotScalingDown" "";
        REMEDIATING = "Remediating" True "Remediating" "{}";
        NOT_REMEDIATING = "Remediating" False "NotRemediating" "{}";
        DELETING = "Deleting" True "Deleting" "{}";
        NOT_DELETING = "Deleting" False "NotDeleting" "";
        UPGRADE_COMPLETED = "UpgradeCompleted" True "UpgradeCompleted" "";
        UPGRADE_PENDING = "UpgradeCompleted" False "UpgradePending" "upgrade to version {} is pending\n{}";
        UPGRADE_IN_PROGRESS = "UpgradeCompleted" False "UpgradeInProgress" "upgrade to version {} in progress\n{}";
        UPGRADE_FAILED = "UpgradeCompleted" False "UpgradeFailed" "upgrade to version {} has failed\n{}";
        UPGRADE_AVAILABLE = "UpgradeAvailable" True "UpgradeAvailable" "";
        UPGRADE_IMAGE_UNAVAILABLE = "UpgradeAvailable" False "UpgradeImageUnavailable" "upgrade unavailable: {}";
        READY = "Ready" True "Ready" "";
        NOT_READY = "Ready" False "NotReady" "{}";
        PAUSED = "Paused" True "Paused" "{}";
        NOT_PAUSED = "Paused" False "NotPaused" "";
    }
}

/// Conditions of a Machine that its control plane tells.
pub mod machine {
    use crate::condition::outcomes;

    outcomes! {
        UP_TO_DATE = "UpToDate" True "UpToDate" "";
        NOT_UP_TO_DATE = "UpToDate" False "NotUpToDate" "{}";
        REMEDIATION_DELETES = "OwnerRemediated" False "MachineDeleting" "The machine is deleted, and another one takes its place";
        REMEDIATION_DEFERRED = "OwnerRemediated" False "RemediationDeferred" "{}";
    }
}
