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
