//! Time limits of installations.

use std::time::Duration;

use crate::topic::topic;

const fn minutes(count: u64) -> Duration {
    Duration::from_secs(count * 60)
}

topic! {
    /// Time limits of installations and of the steps towards them.
    Timeouts {
        /// Time limit of a cluster's preparation.
        prepare_for_installation: Duration = minutes(10), "PREPARE_FOR_INSTALLATION_TIMEOUT";
        /// Time limit of a host's preparation.
        prepare_for_installation_host: Duration = minutes(8), "PREPARE_FOR_INSTALLATION_HOST_TIMEOUT";
        /// Time limit of an installation.
        installation: Duration = minutes(24 * 60), "INSTALLATION_TIMEOUT";
        /// Time limit of the end of an installation.
        finalizing: Duration = minutes(5 * 60), "FINALIZING_TIMEOUT";
        /// How long a host waits for a person before the installation fails.
        host_installing_pending_user_action: Duration = minutes(60), "HOST_INSTALLING_PENDING_USER_ACTION_TIMEOUT";
        /// Time limit of a reset.
        reset_cluster: Duration = minutes(3), "RESET_CLUSTER_TIMEOUT";
        /// How long the controller may take to start sending logs.
        log_pending: Duration = minutes(10), "LOG_PENDING_TIMEOUT";
        /// How long the controller may take to send logs.
        log_collection: Duration = minutes(60), "LOG_COLLECTION_TIMEOUT";
        /// How long a host may take to start sending logs.
        host_log_pending: Duration = minutes(2), "HOST_LOG_PENDING_TIMEOUT";
        /// How long a host may take to send logs.
        host_log_collection: Duration = minutes(10), "HOST_LOG_COLLECTION_TIMEOUT";
    }
}

topic! {
    /// Time limits of a host's stages.
    HostStageTimeouts {
        /// Stage "Starting installation".
        starting_installation: Duration = minutes(30), "HOST_STAGE_STARTING_INSTALLATION_TIMEOUT";
        /// Stage "Waiting for control plane".
        waiting_for_control_plane: Duration = minutes(60), "HOST_STAGE_WAITING_FOR_CONTROL_PLANE_TIMEOUT";
        /// Stage "Waiting for bootkube".
        waiting_for_bootkube: Duration = minutes(60), "HOST_STAGE_WAITING_FOR_BOOTKUBE_TIMEOUT";
        /// Stage "Waiting for controller".
        waiting_for_controller: Duration = minutes(60), "HOST_STAGE_WAITING_FOR_CONTROLLER_TIMEOUT";
        /// Stage "Installing".
        installing: Duration = minutes(60), "HOST_STAGE_INSTALLING_TIMEOUT";
        /// Stage "Writing image to disk".
        writing_image_to_disk: Duration = minutes(30), "HOST_STAGE_WRITING_IMAGE_TO_DISK_TIMEOUT";
        /// Stage "Copying registry data to disk".
        copying_registry_data_to_disk: Duration = minutes(90), "HOST_STAGE_COPYING_REGISTRY_DATA_TO_DISK_TIMEOUT";
        /// Stage "Rebooting".
        rebooting: Duration = minutes(40), "HOST_STAGE_REBOOTING_TIMEOUT";
        /// Stage "Waiting for ignition".
        waiting_for_ignition: Duration = minutes(24 * 60), "HOST_STAGE_WAITING_FOR_IGNITION_TIMEOUT";
        /// Stage "Configuring".
        configuring: Duration = minutes(60), "HOST_STAGE_CONFIGURING_TIMEOUT";
        /// Stage "Joined".
        joined: Duration = minutes(60), "HOST_STAGE_JOINED_TIMEOUT";
    }
}

topic! {
    /// Time limits of a cluster's finalizing stages.
    FinalizingStageTimeouts {
        /// Stage "Waiting for cluster operators".
        waiting_for_cluster_operators: Duration = minutes(10 * 60), "FINALIZING_STAGE_WAITING_FOR_CLUSTER_OPERATORS_TIMEOUT";
        /// Stage "Adding router ca".
        adding_router_ca: Duration = minutes(70), "FINALIZING_STAGE_ADDING_ROUTER_CA_TIMEOUT";
        /// Stage "Applying olm manifests".
        applying_olm_manifests: Duration = minutes(10), "FINALIZING_STAGE_APPLYING_OLM_MANIFESTS_TIMEOUT";
        /// Stage "Waiting for olm operators csv initialization".
        waiting_for_olm_operators_csv_initialization: Duration =
            minutes(70), "FINALIZING_STAGE_WAITING_FOR_OLM_OPERATORS_CSV_INITIALIZATION_TIMEOUT";
        /// Stage "Waiting for olm operators csv".
        waiting_for_olm_operators_csv: Duration = minutes(70), "FINALIZING_STAGE_WAITING_FOR_OLM_OPERATORS_CSV_TIMEOUT";
        /// Stage "Waiting for OLM operator setup jobs".
        waiting_for_olm_operator_setup_jobs: Duration =
            minutes(10), "FINALIZING_STAGE_WAITING_FOR_OLM_OPERATOR_SETUP_JOBS_TIMEOUT";
        /// Stage "Done".
        done: Duration = minutes(70), "FINALIZING_STAGE_DONE_TIMEOUT";
    }
}
