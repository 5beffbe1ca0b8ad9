//! Time limits of installations.

use std::time::Duration;

use assisted_wire::cluster::FinalizingStage;
use assisted_wire::host::HostStage;

use super::part;

const fn minutes(count: u64) -> Duration {
    Duration::from_secs(count * 60)
}

part! {
    /// Time limits of installations and of the steps towards them.
    Timeouts {
        /// Time limit of a cluster's preparation.
        prepare_for_installation: Duration = minutes(10);
        /// Time limit of a host's preparation.
        prepare_for_installation_host: Duration = minutes(8);
        /// Time limit of an installation.
        installation: Duration = minutes(24 * 60);
        /// Time limit of the end of an installation.
        finalizing: Duration = minutes(5 * 60);
        /// How long a host waits for a person before the installation fails.
        host_installing_pending_user_action: Duration = minutes(60);
        /// Time limit of a reset.
        reset_cluster: Duration = minutes(3);
        /// How long the controller may take to start sending logs.
        log_pending: Duration = minutes(10);
        /// How long the controller may take to send logs.
        log_collection: Duration = minutes(60);
        /// How long a host may take to start sending logs.
        host_log_pending: Duration = minutes(2);
        /// How long a host may take to send logs.
        host_log_collection: Duration = minutes(10);
    }
}

part! {
    /// Time limits of a host's stages.
    HostStageTimeouts {
        /// Stage "Starting installation".
        starting_installation: Duration = minutes(30);
        /// Stage "Waiting for control plane".
        waiting_for_control_plane: Duration = minutes(60);
        /// Stage "Waiting for bootkube".
        waiting_for_bootkube: Duration = minutes(60);
        /// Stage "Waiting for controller".
        waiting_for_controller: Duration = minutes(60);
        /// Stage "Installing".
        installing: Duration = minutes(60);
        /// Stage "Writing image to disk".
        writing_image_to_disk: Duration = minutes(30);
        /// Stage "Copying registry data to disk".
        copying_registry_data_to_disk: Duration = minutes(90);
        /// Stage "Rebooting".
        rebooting: Duration = minutes(40);
        /// Stage "Waiting for ignition".
        waiting_for_ignition: Duration = minutes(24 * 60);
        /// Stage "Configuring".
        configuring: Duration = minutes(60);
        /// Stage "Joined".
        joined: Duration = minutes(60);
    }
}

/// Time limit of a stage without a variable of its own.
const ANY_STAGE: Duration = minutes(60);

impl HostStageTimeouts {
    /// Time limit of a stage; `None`: of a host that has reached none.
    pub fn of(&self, stage: Option<HostStage>) -> Duration {
        let Some(stage) = stage else { return ANY_STAGE };
        match stage {
            HostStage::StartingInstallation => self.starting_installation,
            HostStage::WaitingForControlPlane => self.waiting_for_control_plane,
            HostStage::WaitingForBootkube => self.waiting_for_bootkube,
            HostStage::WaitingForController => self.waiting_for_controller,
            HostStage::Installing => self.installing,
            HostStage::WritingImageToDisk => self.writing_image_to_disk,
            HostStage::CopyingRegistryDataToDisk => self.copying_registry_data_to_disk,
            HostStage::Rebooting => self.rebooting,
            HostStage::WaitingForIgnition => self.waiting_for_ignition,
            HostStage::Configuring => self.configuring,
            HostStage::Joined => self.joined,
            HostStage::Done | HostStage::Failed => ANY_STAGE,
        }
    }
}

part! {
    /// Time limits of a cluster's finalizing stages.
    FinalizingStageTimeouts {
        /// Stage "Waiting for cluster operators".
        waiting_for_cluster_operators: Duration = minutes(10 * 60);
        /// Stage "Adding router ca".
        adding_router_ca: Duration = minutes(70);
        /// Stage "Applying olm manifests".
        applying_olm_manifests: Duration = minutes(10);
        /// Stage "Waiting for olm operators csv initialization".
        waiting_for_olm_operators_csv_initialization: Duration =
            minutes(70);
        /// Stage "Waiting for olm operators csv".
        waiting_for_olm_operators_csv: Duration = minutes(70);
        /// Stage "Waiting for OLM operator setup jobs".
        waiting_for_olm_operator_setup_jobs: Duration =
            minutes(10);
        /// Stage "Done".
        done: Duration = minutes(70);
    }
}

impl FinalizingStageTimeouts {
    /// Time limit of a stage.
    pub fn of(&self, stage: FinalizingStage) -> Duration {
        match stage {
            FinalizingStage::WaitingForClusterOperators => self.waiting_for_cluster_operators,
            FinalizingStage::AddingRouterCa => self.adding_router_ca,
            FinalizingStage::ApplyingOlmManifests => self.applying_olm_manifests,
            FinalizingStage::WaitingForOlmOperatorsCsvInitialization => {
                self.waiting_for_olm_operators_csv_initialization
            }
            FinalizingStage::WaitingForOlmOperatorsCsv => self.waiting_for_olm_operators_csv,
            FinalizingStage::WaitingForOLMOperatorSetupJobs => self.waiting_for_olm_operator_setup_jobs,
            FinalizingStage::Done => self.done,
        }
    }
}
