//! A cluster of which nothing is known but what the service decides.

use assisted_wire::cluster::{
    Cluster, ClusterKind, ClusterProgressInfo, ClusterStatus, DiskEncryption, DiskEncryptionMode,
    IgnitionEndpoint, LastInstallationPreparation,
};
use assisted_wire::cluster_params::RoleSet;
use assisted_wire::id::ClusterId;
use assisted_wire::infra_env::ImageInfo;
use assisted_wire::network::{LoadBalancer, LoadBalancerType};
use assisted_wire::operation::BASE_PATH;
use assisted_wire::secret::Secret;
use assisted_wire::time::DateTime;

use crate::admission::NewObject;
use crate::model::cluster::{ClusterRecord, PayloadImages};
use crate::model::layering::LayeringRecord;
use crate::model::subscription::SubscriptionRecord;

pub(super) fn record(
    new: &NewObject<ClusterId>,
    kind: ClusterKind,
    status: ClusterStatus,
    status_info: &str,
) -> ClusterRecord {
    let now = DateTime(new.now);
    let owner = new.owner.clone();
    let cluster = Cluster {
        kind,
        high_availability_mode: None,
        id: new.id,
        href: format!("{BASE_PATH}/v2/clusters/{}", new.id),
        name: String::new(),
        user_name: owner.user_name,
        org_id: owner.org_id,
        email_domain: owner.email_domain,
        openshift_version: String::new(),
        ocp_release_image: String::new(),
        openshift_cluster_id: None,
        image_info: ImageInfo::default(),
        platform: None,
        base_dns_domain: String::new(),
        dns_records: Vec::new(),
        cluster_network_cidr: String::new(),
        cluster_network_host_prefix: 0,
        service_network_cidr: String::new(),
        api_vips: None,
        api_vip_dns_name: None,
        machine_network_cidr: String::new(),
        ingress_vips: None,
        ssh_public_key: String::new(),
        http_proxy: String::new(),
        https_proxy: String::new(),
        no_proxy: String::new(),
        status,
        status_info: status_info.to_owned(),
        status_updated_at: now,
        progress: Some(ClusterProgressInfo::default()),
        disk_encryption: Some(DiskEncryption {
            enable_on: Some(RoleSet::None),
            mode: Some(DiskEncryptionMode::Tpmv2),
            tang_servers: String::new(),
        }),
        hosts: None,
        ready_host_count: 0,
        enabled_host_count: 0,
        total_host_count: 0,
        schedulable_masters: false,
        schedulable_masters_forced_true: false,
        updated_at: now,
        created_at: now,
        install_started_at: DateTime::ZERO,
        install_completed_at: DateTime::ZERO,
        host_networks: None,
        pull_secret_set: false,
        vip_dhcp_allocation: None,
        validations_info: String::new(),
        logs_info: None,
        install_config_overrides: String::new(),
        controller_logs_collected_at: DateTime::ZERO,
        controller_logs_started_at: DateTime::ZERO,
        connectivity_majority_groups: String::new(),
        ip_collisions: String::new(),
        ignored_host_validations: String::new(),
        ignored_cluster_validations: String::new(),
        deleted_at: None,
        user_managed_networking: None,
        additional_ntp_source: String::new(),
        ntp_sources: String::new(),
        monitored_operators: None,
        operator_bundles: None,
        ams_subscription_id: None,
        hyperthreading: None,
        feature_usage: String::new(),
        network_type: None,
        cluster_networks: None,
        service_networks: None,
        machine_networks: None,
        cpu_architecture: None,
        ignition_endpoint: Some(IgnitionEndpoint::default()),
        imported: false,
        tags: String::new(),
        last_installation_preparation: Some(LastInstallationPreparation::default()),
        org_soft_timeouts_enabled: false,
        control_plane_count: 0,
        load_balancer: Some(LoadBalancer { r#type: Some(LoadBalancerType::ClusterManaged) }),
    };
    ClusterRecord {
        cluster,
        pull_secret: Secret::default(),
        primary_ip_stack: None,
        machine_network_cidr_updated_at: None,
        ui_settings: String::new(),
        ignored_host_validations: String::new(),
        ignored_cluster_validations: String::new(),
        api_vip_lease: String::new(),
        ingress_vip_lease: String::new(),
        lease_timeout_told_for: None,
        payload: PayloadImages::default(),
        generated_for: None,
        generated_folder: None,
        dns_asked_for: None,
        dns_made_for: None,
        kubeconfig_stored: false,
        mirror_registry: None,
        object_key: None,
        connectivity_print: None,
        layering: LayeringRecord::default(),
        subscription: SubscriptionRecord::default(),
    }
}
