//! What the conditions of an AgentClusterInstall say: type, status, reason, message (kube-api §7.1).

/// Conditions of an AgentClusterInstall.
pub mod agent_cluster_install {
    use crate::condition::outcomes;

    outcomes! {
        SPEC_SYNCED_OK = "SpecSynced" True "SyncOK" "SyncOK";
        SPEC_SYNCED_BACKEND_ERROR = "SpecSynced" False "BackendError" "The Spec could not be synced due to backend error: {}";
        SPEC_SYNCED_INPUT_ERROR = "SpecSynced" False "InputError" "The Spec could not be synced due to an input error: {}";
        REQUIREMENTS_MET_INSUFFICIENT_AGENTS = "RequirementsMet" False "InsufficientAgents" "The cluster currently requires exactly {} master agents, {} arbiter agents and {} worker agents, but currently registered {} master agents, {} arbiter agents and {} worker agents";
        REQUIREMENTS_MET_UNSYNCED_AGENTS = "RequirementsMet" False "UnsyncedAgents" "The cluster currently has {} agents with spec error";
        REQUIREMENTS_MET_UNAPPROVED_AGENTS = "RequirementsMet" False "UnapprovedAgents" "The installation is pending on the approval of {} agents";
        REQUIREMENTS_MET_CLUSTER_IS_READY = "RequirementsMet" True "ClusterIsReady" "The cluster is ready to begin the installation";
        REQUIREMENTS_MET_CLUSTER_NOT_READY = "RequirementsMet" False "ClusterNotReady" "The cluster is not ready to begin the installation";
        REQUIREMENTS_MET_CLUSTER_ALREADY_INSTALLING = "RequirementsMet" True "ClusterAlreadyInstalling" "The cluster requirements are met";
        REQUIREMENTS_MET_CLUSTER_INSTALLATION_STOPPED = "RequirementsMet" True "ClusterInstallationStopped" "The cluster installation stopped";
        REQUIREMENTS_MET_UNKNOWN_STATUS = "RequirementsMet" Unknown "UnknownStatus" "The installation status is currently not recognized: {}";
        VALIDATED_VALIDATIONS_FAILING = "Validated" False "ValidationsFailing" "The cluster's validations are failing: {}";
        VALIDATED_VALIDATIONS_USER_PENDING = "Validated" False "ValidationsUserPending" "The cluster's validations are pending for user: {}";
        VALIDATED_VALIDATIONS_PASSING = "Validated" True "ValidationsPassing" "The cluster's validations are passing";
        VALIDATED_VALIDATIONS_UNKNOWN = "Validated" Unknown "ValidationsUnknown" "The cluster's validations have not yet been calculated";
        COMPLETED_INSTALLATION_COMPLETED = "Completed" True "InstallationCompleted" "The installation has completed: {}";
        COMPLETED_INSTALLATION_FAILED = "Completed" False "InstallationFailed" "The installation has failed: {}";
        COMPLETED_INSTALLATION_NOT_STARTED = "Completed" False "InstallationNotStarted" "The installation has not yet started";
        COMPLETED_INSTALLATION_ON_HOLD = "Completed" False "InstallationOnHold" "The installation is on hold. To unhold set holdInstallation to false";
        COMPLETED_INSTALLATION_IN_PROGRESS = "Completed" False "InstallationInProgress" "The installation is in progress: {}";
        COMPLETED_UNKNOWN_STATUS = "Completed" Unknown "UnknownStatus" "The installation status is currently not recognized: {}";
        FAILED_INSTALLATION_FAILED = "Failed" True "InstallationFailed" "The installation failed: {}";
        FAILED_INSTALLATION_NOT_FAILED = "Failed" False "InstallationNotFailed" "The installation has not failed";
        STOPPED_INSTALLATION_FAILED = "Stopped" True "InstallationFailed" "The installation has stopped due to error";
        STOPPED_INSTALLATION_CANCELLED = "Stopped" True "InstallationCancelled" "The installation has stopped because it was cancelled";
        STOPPED_INSTALLATION_COMPLETED = "Stopped" True "InstallationCompleted" "The installation has stopped because it completed successfully";
        STOPPED_INSTALLATION_NOT_STOPPED = "Stopped" False "InstallationNotStopped" "The installation is waiting to start or in progress";
        LAST_INSTALLATION_PREPARATION_FAILED_NEVER = "LastInstallationPreparationFailed" False "Cluster preparation has never been performed for this cluster" "";
        LAST_INSTALLATION_PREPARATION_FAILED_NO = "LastInstallationPreparationFailed" False "There is no failing prior preparation attempt" "";
        LAST_INSTALLATION_PREPARATION_FAILED_YES = "LastInstallationPreparationFailed" True "The last installation preparation failed" "{}";
        VALIDATED_NOT_AVAILABLE = "Validated" Unknown "NotAvailable" "Information not available";
        REQUIREMENTS_MET_NOT_AVAILABLE = "RequirementsMet" Unknown "NotAvailable" "Information not available";
        COMPLETED_NOT_AVAILABLE = "Completed" Unknown "NotAvailable" "Information not available";
        FAILED_NOT_AVAILABLE = "Failed" Unknown "NotAvailable" "Information not available";
        STOPPED_NOT_AVAILABLE = "Stopped" Unknown "NotAvailable" "Information not available";
    }
}

/// The condition of clusters in image mode (ocl-day1 §B10.5): an addition, which others don't have.
pub mod on_cluster_layering {
    use crate::condition::outcomes;

    outcomes! {
        DISABLED = "OnClusterLayering" False "Disabled" "The cluster is not installed in image mode";
        PENDING = "OnClusterLayering" False "Pending" "{}";
        BUILDING = "OnClusterLayering" False "Building" "{}";
        READY = "OnClusterLayering" True "Ready" "{}";
        ADOPTED = "OnClusterLayering" True "Adopted" "{}";
        FAILED = "OnClusterLayering" False "Failed" "{}";
    }
}
