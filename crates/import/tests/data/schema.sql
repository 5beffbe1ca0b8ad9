-- The tables of the replaced service, as running §8.1 describes them. Written from that description.
create table migrations (id varchar(255) primary key);
insert into migrations values ('20260413120000'), ('21211125182200'), ('2021115162400');

create table clusters (
    id text primary key, href text, kind text, name text, user_name text, org_id text, email_domain text, openshift_version text,
    ocp_release_image text, openshift_cluster_id text, ams_subscription_id text, cpu_architecture text, high_availability_mode text,
    hyperthreading text, network_type text, base_dns_domain text, api_vip_dns_name text, http_proxy text, https_proxy text, no_proxy text,
    ssh_public_key text, additional_ntp_source text, ntp_sources text, status text, tags text, platform_type text,
    platform_external_platform_name text, platform_external_cloud_controller_manager text, disk_encryption_enable_on text,
    disk_encryption_mode text, ignition_endpoint_url text, ignition_endpoint_ca_certificate text,
    last_installation_preparation_status text, last_installation_preparation_reason text, progress_finalizing_stage text, pull_secret text,
    proxy_hash text, api_vip_lease text, ingress_vip_lease text, kube_key_name text, kube_key_namespace text,
    install_config_overrides text, validations_info text, connectivity_majority_groups text, ip_collisions text, feature_usage text,
    disk_encryption_tang_servers text, ignored_cluster_validations text, ignored_host_validations text, ui_settings text,
    mirror_registry_configuration text, status_info varchar(2048), logs_info varchar(2048),
    vip_dhcp_allocation boolean, user_managed_networking boolean, schedulable_masters boolean, schedulable_masters_forced_true boolean,
    imported boolean, pull_secret_set boolean, org_soft_timeouts_enabled boolean, progress_finalizing_stage_timed_out boolean,
    is_ams_subscription_console_url_set boolean, image_generated boolean, static_network_configured boolean, uploaded boolean,
    control_plane_count bigint, progress_total_percentage bigint, progress_preparing_for_installation_stage_percentage bigint,
    progress_installing_stage_percentage bigint, progress_finalizing_stage_percentage bigint, cluster_network_host_prefix bigint,
    image_size_bytes bigint, primary_ip_stack integer,
    created_at timestamptz, updated_at timestamptz, deleted_at timestamptz, status_updated_at timestamptz, install_started_at timestamptz,
    install_completed_at timestamptz, controller_logs_started_at timestamptz, controller_logs_collected_at timestamptz,
    progress_finalizing_stage_started_at timestamptz, machine_network_cidr_updated_at timestamptz, trigger_monitor_timestamp timestamptz,
    image_created_at timestamptz, image_expires_at timestamptz,
    load_balancer_type text not null default 'cluster-managed' check (load_balancer_type in ('cluster-managed', 'user-managed')),
    cluster_network_cidr text, service_network_cidr text, machine_network_cidr text, image_ssh_public_key text, image_download_url text,
    image_generator_version text, image_static_network_config text, image_type text
);
create index idx_clusters_deleted_at on clusters (deleted_at);

create table hosts (
    id text, infra_env_id text, cluster_id text, href text, kind text, status text, role text, suggested_role text, installer_version text,
    installation_disk_path text, installation_disk_id text, discovery_agent_version text, requested_hostname text, user_name text,
    media_status text, machine_config_pool_name text, progress_current_stage text, kube_key_namespace text, ignition_endpoint_token text,
    validations_info text, inventory text, connectivity text, api_vip_connectivity text, tang_connectivity text, free_addresses text,
    ntp_sources text, disks_info text, images_status text, domain_name_resolutions text, node_labels text, installer_args text,
    ignition_config_overrides text, fencing_credentials text, ignition_endpoint_http_headers text, disks_to_be_formatted text,
    skip_formatting_disks text, status_info varchar(2048), logs_info varchar(2048), progress_progress_info varchar(2048),
    bootstrap boolean, connection_timed_out boolean, approved boolean, ignition_endpoint_token_set boolean, progress_stage_timed_out boolean,
    progress_installation_percentage bigint, "timestamp" bigint,
    created_at timestamptz, updated_at timestamptz, deleted_at timestamptz, status_updated_at timestamptz, registered_at timestamptz,
    checked_in_at timestamptz, logs_started_at timestamptz, logs_collected_at timestamptz, progress_stage_started_at timestamptz,
    progress_stage_updated_at timestamptz, trigger_monitor_timestamp timestamptz, stage_started_at timestamptz, stage_updated_at timestamptz,
    primary key (id, infra_env_id)
);

create table infra_envs (
    id text primary key, href text, kind text, name text, user_name text, org_id text, email_domain text, cluster_id text,
    openshift_version text, cpu_architecture text, type text, proxy_http_proxy text, proxy_https_proxy text, proxy_no_proxy text,
    additional_ntp_sources text, ntp_sources text, ssh_authorized_key text, rendezvous_ip text, additional_trust_bundle text,
    download_url text, generator_version text, pull_secret text, proxy_hash text, kube_key_namespace text, image_token_key text,
    static_network_config text, kernel_arguments text, ignition_config_override text, internal_ignition_config_override text,
    mirror_registry_configuration text, pull_secret_set boolean, generated boolean, size_bytes bigint, network_discovery_delay_seconds bigint,
    created_at timestamptz, updated_at timestamptz, expires_at timestamptz, generated_at timestamptz, image_expires_at timestamptz
);

create table events (
    id bigserial primary key, created_at timestamptz, updated_at timestamptz, deleted_at timestamptz, event_time timestamptz, name text,
    cluster_id text, host_id text, infra_env_id text, severity text, request_id text, props text, category text default 'user',
    message varchar(4096)
);

create table monitored_operators (
    cluster_id text, name text, version text, namespace text, subscription_name text, operator_type text, properties text, status text,
    status_info text, timeout_seconds bigint, dependency_only boolean, status_updated_at timestamptz, bundles text[], source_bundles text[],
    primary key (cluster_id, name)
);
create table cluster_networks (cluster_id text, cidr cidr, host_prefix bigint, primary key (cluster_id, cidr));
create table service_networks (cluster_id text, cidr cidr, primary key (cluster_id, cidr));
create table machine_networks (cluster_id text, cidr cidr, primary key (cluster_id, cidr));
create table api_vips (cluster_id text, ip inet, verification text, primary key (cluster_id, ip));
create table ingress_vips (cluster_id text, ip inet, verification text, primary key (cluster_id, ip));
create table release_images (url text primary key, openshift_version text, cpu_architecture text default 'x86_64',
    cpu_architectures text[], version text, "default" boolean, support_level text);
