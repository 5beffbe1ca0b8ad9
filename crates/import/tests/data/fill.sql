-- A hundred clusters, one after another in each state that a cluster can have, with hosts in each state that a host can have. NULL, '' and
-- the year 1 stand for nothing, each somewhere.
create function uid(kind int, n int) returns text language sql immutable as
    $$ select format('%s0000000-0000-4000-8000-%s', kind, lpad(n::text, 12, '0')) $$;

insert into infra_envs (id, href, kind, name, user_name, org_id, email_domain, cluster_id, openshift_version, cpu_architecture, type,
    proxy_http_proxy, proxy_https_proxy, proxy_hash, ssh_authorized_key, download_url, pull_secret, kube_key_namespace, image_token_key,
    static_network_config, kernel_arguments, ignition_config_override, internal_ignition_config_override, pull_secret_set, generated,
    size_bytes, network_discovery_delay_seconds, created_at, updated_at, expires_at, generated_at)
select uid(2, n), '/api/assisted-install/v2/infra-envs/' || uid(2, n), 'InfraEnv', 'env-' || n, 'admin', '', 'Unknown',
    case when n <= 100 then uid(1, n) else '' end, '4.20', 'x86_64', 'full-iso', case when n = 1 then 'http://proxy:3128' end, '', 'deadbeef',
    'ssh-rsa AAAA', 'http://old/images/' || n, '{"auths":{"quay.io":{"auth":"cHVsbC1zZWNyZXQ="}}}',
    case when n = 7 then 'site' else '' end, repeat('ab', 32),
    '', '', '', '', true, true, 1000, case when n = 3 then 30 end,
    '2026-01-02 03:04:05.678+00', '2026-02-02 03:04:05.678+00', '0001-01-01 00:00:00+00', '2026-02-02 03:04:05+00'
from generate_series(1, 103) n;

insert into clusters (id, href, kind, name, user_name, org_id, email_domain, openshift_version, ocp_release_image, openshift_cluster_id,
    ams_subscription_id, cpu_architecture, high_availability_mode, hyperthreading, network_type, base_dns_domain, http_proxy, ssh_public_key,
    status, status_info, platform_type, disk_encryption_enable_on, disk_encryption_mode, last_installation_preparation_status,
    progress_finalizing_stage, pull_secret, proxy_hash, api_vip_lease, kube_key_name, kube_key_namespace, install_config_overrides,
    feature_usage, ignored_host_validations, ui_settings, mirror_registry_configuration, logs_info, vip_dhcp_allocation,
    user_managed_networking, schedulable_masters, imported, pull_secret_set, control_plane_count, progress_total_percentage,
    primary_ip_stack, created_at, updated_at, status_updated_at, install_started_at, install_completed_at, controller_logs_started_at,
    machine_network_cidr_updated_at, deleted_at)
select uid(1, n), '/api/assisted-install/v2/clusters/' || uid(1, n),
    case s when 'adding-hosts' then 'AddHostsCluster' when 'unmonitored' then 'DisconnectedCluster' else 'Cluster' end,
    'cluster-' || n, 'admin', '', 'Unknown', '4.20.1', 'quay.io/release:4.20.1',
    case when s in ('installing', 'finalizing', 'installed') then uid(9, n) else '' end,
    case when n = 2 then '2KJxXxXxXxXxXxXxXxXxXxXxXxX' else '' end, 'x86_64', case when n % 10 = 0 then 'None' else 'Full' end, 'all',
    'OVNKubernetes', 'example.com', '', 'ssh-rsa BBBB', s, case when n = 4 then null else 'as it was' end,
    case when n % 10 = 5 then 'none' else 'baremetal' end, 'none', 'tpmv2', case when s = 'preparing-for-installation' then 'not_started' else '' end,
    case s when 'finalizing' then 'Waiting for cluster operators' else '' end,
    '{"auths":{"quay.io":{"auth":"cHVsbC1zZWNyZXQ="}}}', 'deadbeef', case when n = 6 then 'lease { }' else '' end,
    case when n = 7 then 'seven' else '' end, case when n = 7 then 'site' else '' end,
    case when n = 8 then '{"fips":true}' else '' end, '{}', '[]', case when n = 9 then '{"step":1}' else '' end,
    case when n = 11 then '{"imageDigestMirrors":[],"registriesConf":"[[registry]]","caBundleCrt":"PEM"}' else '' end, '', false,
    n % 10 = 5, false, s = 'adding-hosts', true, case when n % 10 = 0 then 1 else 3 end, case when s = 'installing' then 42 else 0 end,
    case when n % 10 = 3 then 6 when n % 10 = 4 then 4 end, '2026-01-01 00:00:00.123+00'::timestamptz + n * interval '1 minute',
    '2026-03-01 00:00:00.456+00', '2026-03-01 00:00:00+00',
    case when s in ('insufficient', 'ready', 'pending-for-input', 'unmonitored') then '0001-01-01 00:00:00+00'::timestamptz
        else '2026-02-01 10:00:00.250+00' end,
    case when s in ('installed', 'adding-hosts') then '2026-02-01 11:00:00+00'::timestamptz else '0001-01-01 00:00:00+00' end,
    '0001-01-01 00:00:00+00', case when n = 6 then '2026-02-01 09:00:00+00'::timestamptz end, null
from generate_series(1, 100) n, lateral (select (array['insufficient', 'ready', 'error', 'preparing-for-installation', 'pending-for-input',
    'installing', 'finalizing', 'installed', 'adding-hosts', 'cancelled', 'installing-pending-user-action', 'unmonitored'])[1 + n % 12] as s) t;

-- Softly deleted: its networks are gone.
insert into clusters (id, href, kind, name, status, status_info, created_at, deleted_at)
values (uid(1, 200), '', 'Cluster', 'gone', 'cancelled', '', now(), now());
insert into hosts (id, infra_env_id, cluster_id, href, kind, status, status_info)
values (uid(3, 2000), uid(2, 1), uid(1, 200), '', 'Host', 'cancelled', '');

insert into cluster_networks select uid(1, n), '10.128.0.0/14'::cidr, 23 from generate_series(1, 100) n;
insert into cluster_networks select uid(1, n), 'fd01::/48'::cidr, 64 from generate_series(1, 100) n where n % 10 in (3, 4);
insert into service_networks select uid(1, n), '172.30.0.0/16'::cidr from generate_series(1, 100) n;
insert into machine_networks select uid(1, n), '192.168.200.0/24'::cidr from generate_series(1, 100) n;
insert into machine_networks select uid(1, n), '192.168.100.0/24'::cidr from generate_series(1, 100) n;
insert into machine_networks select uid(1, n), 'fd00::/64'::cidr from generate_series(1, 100) n where n % 10 in (3, 4);
insert into api_vips select uid(1, n), '192.168.100.5'::inet, 'succeeded' from generate_series(1, 100) n where n % 10 not in (0, 5);
insert into ingress_vips select uid(1, n), '192.168.100.6'::inet, '' from generate_series(1, 100) n where n % 10 not in (0, 5);
insert into monitored_operators (cluster_id, name, version, namespace, subscription_name, operator_type, status, timeout_seconds,
    status_updated_at, bundles)
select uid(1, n), 'console', '4.20.1', '', '', 'builtin', case when n % 12 = 7 then 'available' else '' end, 3600,
    '0001-01-01 00:00:00+00', array['virtualization']
from generate_series(1, 100) n;

-- Three hosts for each cluster, one state after another.
insert into hosts (id, infra_env_id, cluster_id, href, kind, status, status_info, role, suggested_role, requested_hostname, user_name,
    discovery_agent_version, installation_disk_id, progress_current_stage, progress_progress_info, progress_installation_percentage,
    validations_info, inventory, connectivity, ntp_sources, disks_info, fencing_credentials, ignition_endpoint_token,
    ignition_endpoint_http_headers, bootstrap, approved, "timestamp", created_at, updated_at, status_updated_at, registered_at, checked_in_at,
    progress_stage_started_at, logs_collected_at)
select uid(3, n), uid(2, (n + 2) / 3), uid(1, (n + 2) / 3), '/api/assisted-install/v2/infra-envs/' || uid(2, (n + 2) / 3) || '/hosts/' || uid(3, n),
    'Host', s, 'as it was', 'master', 'master', 'host-' || n, 'admin', 'quay.io/agent:1', '/dev/disk/by-id/wwn-1',
    case when s = 'installing-in-progress' then 'Writing image to disk' else '' end, case when s = 'installing-in-progress' then '50%' else '' end,
    case when s = 'installing-in-progress' then 40 else 0 end, '{"hardware":[]}',
    format('{"hostname":"host-%s","interfaces":[{"name":"eth0","mac_address":"52:54:00:00:00:01","ipv4_addresses":["192.168.100.%s/24"]}]}', n, 10 + n % 3),
    '', '[]', '{}', case when n = 1 then '{"address":"bmc","username":"a","password":"fence-secret"}' end,
    case when n = 2 then 'endpoint-token' else '' end, case when n = 2 then '{"X":"y"}' else '' end,
    n % 3 = 1, true, extract(epoch from '2026-03-01 00:00:07+00'::timestamptz)::bigint,
    '2026-01-03 00:00:00+00'::timestamptz + n * interval '1 second', '2026-03-01 00:00:00+00', '2026-03-01 00:00:00+00',
    '2026-01-03 00:00:00+00', '2026-03-01 00:00:02+00', '0001-01-01 00:00:00+00', '0001-01-01 00:00:00+00'
from generate_series(1, 300) n, lateral (select (array['discovering', 'known', 'disconnected', 'insufficient', 'disabled',
    'preparing-for-installation', 'preparing-failed', 'preparing-successful', 'pending-for-input', 'installing', 'installing-in-progress',
    'installing-pending-user-action', 'resetting-pending-user-action', 'installed', 'error', 'resetting', 'added-to-existing-cluster',
    'cancelled', 'binding'])[1 + n % 19] as s) t;

-- Hosts of no cluster, in the states of such.
insert into hosts (id, infra_env_id, cluster_id, href, kind, status, status_info, created_at, updated_at, checked_in_at)
select uid(3, 300 + n), uid(2, 101 + n % 2), case when n = 1 then '' end, '', 'Host', s, '', now(), now(), '2026-03-01 00:00:02+00'
from generate_series(1, 9) n, lateral (select (array['unbinding', 'unbinding-pending-user-action', 'known-unbound', 'disconnected-unbound',
    'insufficient-unbound', 'disabled-unbound', 'discovering-unbound', 'reclaiming', 'reclaiming-rebooting'])[n] as s) t;
-- The same machine in another infra-env.
insert into hosts (id, infra_env_id, href, kind, status, status_info, created_at, updated_at)
values (uid(3, 301), uid(2, 103), '', 'Host', 'known-unbound', '', now(), now());
-- A machine whose infra-env is gone.
insert into hosts (id, infra_env_id, href, kind, status, status_info) values (uid(3, 900), uid(2, 900), '', 'Host', 'known-unbound', '');

insert into events (event_time, created_at, name, cluster_id, host_id, infra_env_id, severity, request_id, category, message, props)
select '2026-01-04 00:00:00+00'::timestamptz + n * interval '1 second', now(), case when n % 5 = 0 then '' else 'host_status_updated' end,
    uid(1, 1 + n % 100), uid(3, 1 + 3 * (n % 100)), uid(2, 1 + n % 100), 'info', case when n % 2 = 0 then uid(8, n) else 'not-a-uuid' end,
    case when n % 5 = 0 then 'metrics' else 'user' end, 'something happened ' || n, case when n % 5 = 0 then '{"a":1}' else '' end
from generate_series(1, 1000) n;
insert into events (event_time, name, infra_env_id, severity, category, message)
select now(), 'infra_env_registered', uid(2, n), 'info', null, 'registered' from generate_series(1, 103) n;
insert into events (event_time, name, cluster_id, severity, message) values (now(), 'old', uid(1, 999), 'info', 'long gone');
