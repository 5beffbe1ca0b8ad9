//! The catalogue: every event that users may see, with what it is about, its severity, its values, and its text.
//!
//! Names and texts are part of the interface: clients filter on the former and show the latter (service-api Appendix A).
//! Some are raised by no code of the service: `reboots_for_node` is posted by the controller; `host_reset_fetch_failed`, `host_set_status_failed`
//! and `generate_image_fetch_failed` tell that a database failed between two writes, and here all of a decision is written at once, or nothing
//! of it, events included; all others nobody raises elsewhere either.

use std::time::Duration;

use assisted_wire::event::EventSeverity::{Critical, Error, Info, Warning};

use super::{Spec, Subject};

macro_rules! catalogue {
    ($($subject:ident { $($(#[$meta:meta])* $id:ident = $name:literal, $severity:expr, [$($tells:literal),*], $text:literal;)+ })+) => {
        $($($(#[$meta])* pub const $id: Spec = Spec {
            name: $name,
            subject: Subject::$subject,
            severity: $severity,
            tells: &[$($tells),*],
            text: $text,
        };)+)+

        /// Every event.
        pub const ALL: &[Spec] = &[$($($id,)+)+];
    };
}

catalogue! {
    Cluster {
        AFTER_INACTIVITY_CLUSTER_DEREGISTERED = "after_inactivity_cluster_deregistered", Info, [],
            "Cluster is deregistered due to inactivity";
        API_INGRESS_VIP_TIMED_OUT = "api_ingress_vip_timed_out", Warning, ["timeout_interval"],
            "API and Ingress VIPs lease allocation has been timed out";
        API_INGRESS_VIP_UPDATED = "api_ingress_vip_updated", Info, ["api_vip", "ingress_vip"],
            "Cluster was updated with api-vip {api_vip}, ingress-vip {ingress_vip}";
        CANCEL_INSTALL_COMMIT_FAILED = "cancel_install_commit_failed", Error, [],
            "Failed to cancel installation: error committing DB transaction";
        CANCEL_INSTALL_START_FAILED = "cancel_install_start_failed", Error, [],
            "Failed to cancel installation: error starting DB transaction";
        CANCEL_INSTALLATION_FAILED = "cancel_installation_failed", Error, ["error"],
            "Failed to cancel installation: {error}";
        CLUSTER_DEGRADED_OLM_OPERATORS_FAILED = "cluster_degraded_OLM_operators_failed", Warning, ["failed_operators"],
            "Cluster is installed but degraded due to failed OLM operators {failed_operators}";
        CLUSTER_DEREGISTER_FAILED = "cluster_deregister_failed", Error, ["error"],
            "Failed to deregister cluster. Error: {error}";
        CLUSTER_DEREGISTERED = "cluster_deregistered", Info, [], "Deregistered cluster";
        CLUSTER_FINALIZING_STAGE_UPDATED = "cluster_finalizing_stage_updated", Info, ["finalizing_stage"],
            "Updated finalizing stage of the cluster to '{finalizing_stage}'";
        CLUSTER_INSTALLATION_CANCELED = "cluster_installation_canceled", Info, [],
            "Canceled cluster installation";
        CLUSTER_INSTALLATION_COMPLETED = "cluster_installation_completed", Info, [],
            "Successfully completed installing cluster";
        CLUSTER_INSTALLATION_FAILED = "cluster_installation_failed", Critical, ["failure_reason"],
            "Failed installing cluster. Reason: {failure_reason}";
        CLUSTER_INSTALLATION_RESET = "cluster_installation_reset", Info, [], "Reset cluster installation";
        CLUSTER_LOGS_UPLOADED = "cluster_logs_uploaded", Info, [], "Uploaded logs for the cluster";
        CLUSTER_OPERATOR_REPORT = "cluster_operator_report", Info, ["report"],
            "The following operators are experiencing issues: {report}";
        CLUSTER_OPERATOR_STATUS = "cluster_operator_status", Info, ["operator_name", "status", "status_info"],
            "Operator {operator_name} status: {status} message: {status_info}";
        CLUSTER_PREPARE_INSTALLATION_STARTED = "cluster_prepare_installation_started", Info, [],
            "Cluster starting to prepare for installation";
        CLUSTER_REGISTRATION_SUCCEEDED = "cluster_registration_succeeded", Info, ["cluster_kind"],
            "Successfully registered cluster";
        CLUSTER_STATUS_UPDATED = "cluster_status_updated", Info, ["cluster_status", "status_info"],
            "Updated status of the cluster to {cluster_status}";
        CLUSTER_VALIDATION_FAILED = "cluster_validation_failed", Warning, ["validation_id", "validation_msg", "failure_message"],
            "Cluster validation '{validation_id}' {failure_message}";
        CLUSTER_VALIDATION_FIXED = "cluster_validation_fixed", Info, ["validation_id", "validation_msg"],
            "Cluster validation '{validation_id}' is now fixed";
        CLUSTERS_PERMANENTLY_DELETED = "clusters_permanently_deleted", Info, ["message"], "{message}";
        /// Of this service alone.
        DNS_RECORDS_CREATED = "dns_records_created", Info, ["records"], "DNS records were created: {records}";
        /// Of this service alone.
        DNS_RECORDS_DELETED = "dns_records_deleted", Info, ["records"], "DNS records were deleted: {records}";
        /// Of this service alone.
        DNS_RECORDS_LEFT = "dns_records_left", Warning, ["records", "error"],
            "DNS records can't be deleted, and are left: {records}. Error: {error}";
        EXPIRED_IMAGE_DELETED = "expired_image_deleted", Info, [],
            "Deleted image from backend because it expired. It may be generated again at any time";
        FINALIZING_STAGE_TIMED_OUT = "finalizing_stage_timed_out", Warning, ["stage", "minutes"],
            "Cluster {cluster_id}: finalizing stage {stage} has been active more than the expected completion time ({minutes} minutes)";
        INACTIVE_CLUSTERS_DEREGISTERED = "inactive_clusters_deregistered", Info, ["message"], "{message}";
        INSTALL_CONFIG_APPLIED = "install_config_applied", Info, [],
            "Custom install config was applied to the cluster";
        INSTALLATION_PREPARING_TIMED_OUT = "installation_preparing_timed_out", Warning, ["reason"],
            "Preparing for installation was timed out for the cluster, reason {reason}";
        /// Of this service alone, as are the next ones.
        OCL_BUILD_FAILED = "ocl_build_failed", Error, ["pool", "code", "error"],
            "OS image build failed for pool {pool} ({code}): {error}";
        OCL_BUILD_RETRY = "ocl_build_retry", Warning, ["pool", "attempt"],
            "OS image of pool {pool} is built again, attempt {attempt}";
        OCL_BUILD_STARTED = "ocl_build_started", Info, ["pool", "location"],
            "OS image of pool {pool} is being built ({location})";
        OCL_BUILD_STATE_CHANGED = "ocl_build_state_changed", Info, ["pool", "state"],
            "OS image build of pool {pool} is in state {state}";
        OCL_BUILD_SUCCEEDED = "ocl_build_succeeded", Info, ["pool", "image", "seconds"],
            "OS image of pool {pool} was built in {seconds} seconds: {image}";
        OCL_ENABLED = "ocl_enabled", Info, [],
            "OS images of the nodes are built while the cluster is installed";
        OCL_NOT_SEEDABLE = "ocl_not_seedable", Warning, ["pool"],
            "The release can't take over the OS image of pool {pool}: it is used, and no MachineOSConfig is made for it";
        OCL_POOL_ADOPTED = "ocl_pool_adopted", Info, ["pool"],
            "The cluster has taken over the OS image of pool {pool}";
        OCL_WARNING = "ocl_warning", Warning, ["warning"],
            "Image mode: {warning}";
        /// Of this service alone.
        INSTALLATION_SIMULATED = "installation_simulated", Warning, [],
            "This installation is only simulated (the service runs with GENERATOR=simulation): nothing is written to disks, and no cluster comes of it";
        PREPARE_INSTALLATION_FAILED = "prepare_installation_failed", Warning, ["error"],
            "Failed to prepare the installation due to an unexpected error: {error}. Please retry later";
        PROXY_SETTINGS_CHANGED = "proxy_settings_changed", Info, [], "Proxy settings changed";
        RESET_INSTALLATION_FAILED = "reset_installation_failed", Error, ["error"],
            "Failed to reset installation. Error: {error}";
        VALIDATIONS_IGNORED = "validations_ignored", Info, [],
            "Cluster {cluster_id}: ignored some or all validations at the discretion of the user";
    }
    Host {
        /// Of this service alone.
        OCL_DEPLOY_FAILED = "ocl_deploy_failed", Warning, ["pool", "error"],
            "Host {host_name}: the OS image of pool {pool} could not be put onto the disk ({error}): the first start is in the release's image, the second in the pool's";
        OCL_IMAGE_REPLICATED = "ocl_image_replicated", Info, ["pool"],
            "Host {host_name}: the OS image of pool {pool} is in its registry";
        DISK_SPEED_SLOWER_THAN_SUPPORTED = "disk_speed_slower_than_supported", Warning, ["host_disk", "fdatasync_duration"],
            "Host's disk {host_disk} is slower than the supported speed, and may cause degraded cluster performance (fdatasync duration: {fdatasync_duration} ms)";
        HOST_APPROVED_UPDATED = "host_approved_updated", Info, ["approved_value"],
            "Host {host_name}: updated approved to {approved_value}";
        HOST_BIND_FAILED = "host_bind_failed", Error, ["message"],
            "Failed to bind host {host_id} to cluster {cluster_id}: {message}";
        HOST_BIND_SUCCEEDED = "host_bind_succeeded", Info, [],
            "Host {host_name}: Successfully bound to cluster {cluster_id}";
        HOST_BOOT_LOGS_UPLOADED = "host_boot_logs_uploaded", Info, [],
            "Uploaded node boot logs for host {host_name} cluster {cluster_id}";
        HOST_BOOTSTRAP_SET = "host_bootstrap_set", Info, [], "Host {host_name}: set as bootstrap";
        HOST_CANCEL_INSTALLATION_FAILED = "host_cancel_installation_failed", Error, ["error"],
            "Failed to cancel installation of host {host_name}: {error}";
        HOST_DEREGISTERED = "host_deregistered", Info, [], "Host {host_name} deregistered";
        HOST_DISCOVERY_IGNITION_CONFIG_APPLIED = "host_discovery_ignition_config_applied", Info, [],
            "Host {host_name}: custom discovery ignition config was applied";
        HOST_INSTALL_PROGRESS_UPDATED = "host_install_progress_updated", Info, ["event"],
            "Host: {host_name}, {event}";
        HOST_INSTALLATION_CANCELLED = "host_installation_cancelled", Info, [],
            "Installation cancelled for host {host_name}";
        HOST_INSTALLATION_RESET = "host_installation_reset", Info, [], "Installation reset for host {host_name}";
        HOST_INSTALLATION_RESET_FAILED = "host_installation_reset_failed", Error, ["error"],
            "Failed to reset installation of host {host_name}. Error: {error}";
        HOST_INSTALLATION_STARTED = "host_installation_started", Info, [],
            "Host {host_name} starting installation as a worker node";
        HOST_INSTALLER_ARGS_APPLIED = "host_installer_args_applied", Info, [],
            "Host {host_name}: custom installer arguments were applied";
        HOST_LOGS_UPLOADED = "host_logs_uploaded", Info, [],
            "Uploaded logs for host {host_name} cluster {cluster_id}";
        HOST_MEDIA_DISCONNECTED = "host_media_disconnected", Error, [],
            "Unable to read from the discovery media. It was either disconnected or poor network conditions prevented it from being read. Try using the minimal ISO option and be sure to keep the media connected until the installation is completed";
        /// Of this service alone: a machine that was started again has an agent with a new key, and so has a stranger.
        HOST_REGISTRATION_DELAYED = "host_registration_delayed", Warning, ["seconds"],
            "Host {host_name}: another agent registers as this host, whose own was heard a moment ago. If the machine was started again, nothing has to be done: it is let in within {seconds} seconds";
        HOST_REGISTRATION_FAILED = "host_registration_failed", Error, ["message"], "{message}";
        HOST_REGISTRATION_SETTING_PROPERTIES_FAILED = "host_registration_setting_properties_failed", Error, [],
            "Failed to register host: error setting host properties";
        HOST_REGISTRATION_SUCCEEDED = "host_registration_succeeded", Info, [],
            "Host {host_name}: Successfully registered";
        HOST_RESET_FETCH_FAILED = "host_reset_fetch_failed", Error, [],
            "Failed to reset host {host_name}: error fetching host from DB";
        HOST_ROLE_UPDATED = "host_role_updated", Info, ["suggested_role"],
            "Host {host_name}: calculated role is {suggested_role}";
        HOST_SET_STATUS_FAILED = "host_set_status_failed", Error, ["error"],
            "Failed to set status of host {host_name} to reset-pending-user-action. Error: {error}";
        HOST_STAGE_TIMED_OUT = "host_stage_timed_out", Warning, ["stage", "minutes"],
            "Host {host_name}: host stage {stage} has been active more than the expected completion time ({minutes} minutes)";
        /// The severity follows the new status ([`crate::state::host::state::severity`]).
        HOST_STATUS_UPDATED = "host_status_updated", Info, ["src_status", "new_status", "info"],
            "Host {host_name}: updated status from {src_status} to {new_status} {info}";
        HOST_UNBIND_FAILED = "host_unbind_failed", Error, ["message"],
            "Failed to unbind host {host_id} to cluster: {message}";
        HOST_UNBIND_SUCCEEDED = "host_unbind_succeeded", Info, [],
            "Host {host_name}: Successfully unbound from cluster";
        HOST_VALIDATION_FAILED = "host_validation_failed", Warning, ["validation_id", "failure_message"],
            "Host {host_name}: validation '{validation_id}' {failure_message}";
        HOST_VALIDATION_FIXED = "host_validation_fixed", Info, ["validation_id"],
            "Host {host_name}: validation '{validation_id}' is now fixed";
        IMAGE_STATUS_UPDATED = "image_status_updated", Info, ["image_status", "result", "info"],
            "Host {host_name}: New image status {image_status}. result: {result}. {info}";
        QUICK_DISK_FORMAT_PERFORMED = "quick_disk_format_performed", Info, ["disk_name", "disk_id"],
            "{host_name}: Performing quick format of disk {disk_name}({disk_id})";
        QUICK_DISK_FORMAT_SKIPPED = "quick_disk_format_skipped", Info, ["disk_name", "disk_id"],
            "{host_name}: Skipping quick format of disk {disk_name}({disk_id}) due to user request. This could lead to boot order issues during installation";
        REBOOTS_FOR_NODE = "reboots_for_node", Info, ["node_name", "reboots"],
            "Node {node_name} has been rebooted {reboots} times before completing installation";
        UPGRADE_AGENT_FAILED = "upgrade_agent_failed", Error, ["agent_image"],
            "Host {host_name}: Agent failed to download image '{agent_image}', will try again";
        UPGRADE_AGENT_FINISHED = "upgrade_agent_finished", Info, ["agent_image"],
            "Host {host_name}: Agent has downloaded image '{agent_image}' and will now restart";
        UPGRADE_AGENT_STARTED = "upgrade_agent_started", Info, ["agent_image"],
            "Host {host_name}: Agent has been instructed to download image '{agent_image}' and restart";
        USER_REQUIRED_COMPLETE_INSTALLATION_RESET = "user_required_complete_installation_reset", Info, [],
            "User action is required in order to complete installation reset for host {host_name}";
    }
    InfraEnv {
        EXISTING_IMAGE_REUSED = "existing_image_reused", Info, ["image_type"],
            "Re-used existing image rather than generating a new one (image type is '{image_type}')";
        GENERATE_IMAGE_FETCH_FAILED = "generate_image_fetch_failed", Error, [],
            "Failed to generate image: error fetching updated infra env metadata";
        GENERATE_IMAGE_FORMAT_FAILED = "generate_image_format_failed", Error, [],
            "Failed to generate image: error formatting ignition file";
        GENERATE_MINIMAL_ISO_FAILED = "generate_minimal_iso_failed", Error, [], "Failed to generate minimal ISO";
        IGNITION_CONFIG_IMAGE_GENERATED = "ignition_config_image_generated", Info, ["details"],
            "Generated image ({details})";
        IMAGE_INFO_UPDATED = "image_info_updated", Info, ["details"], "Updated image information ({details})";
        INFRA_ENV_DEREGISTER_FAILED = "infra_env_deregister_failed", Error, ["error"],
            "Failed to deregister infra env. Error: {error}";
        INFRA_ENV_DEREGISTERED = "infra_env_deregistered", Info, [], "Deregistered infra env";
        INFRA_ENV_REGISTERED = "infra_env_registered", Info, [], "Registered infra env";
        INFRA_ENV_REGISTRATION_FAILED = "infra_env_registration_failed", Error, ["error"],
            "Failed to register infra env. Error: {error}";
        UPLOAD_IMAGE_FAILED = "upload_image_failed", Error, [], "Failed to upload image";
    }
}

/// Events that are emitted for the same object at most once in a while, unless the settings say otherwise (service-api §11.4).
pub const PAUSES: &[(Spec, Duration)] = &[
    (UPGRADE_AGENT_STARTED, HOUR),
    (UPGRADE_AGENT_FINISHED, HOUR),
    (UPGRADE_AGENT_FAILED, HOUR),
    (HOST_REGISTRATION_DELAYED, DELAY),
];

const HOUR: Duration = Duration::from_secs(3600);

/// An agent that is to wait is let in before that ([`crate::decide::host::machine::still_there`]): one event tells of all its attempts.
const DELAY: Duration = Duration::from_secs(180);
