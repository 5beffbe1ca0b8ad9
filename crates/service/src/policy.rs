//! What the domain decides by, out of what the process was started with.

use std::sync::Arc;

use assisted_config::{AgentDelivery, AuthType, RequirementsText, Settings, SettingsError};
use assisted_core::policy::{self, Policy, Requirements};

/// Copies the members that settings and policy have under one name; then come those that differ.
macro_rules! copy {
    ($part:ident from $from:expr => $($same:ident),+ $(; $($own:ident: $value:expr),+)?) => {
        policy::$part { $($same: $from.$same.clone(),)+ $($($own: $value,)+)? }
    };
}

/// The policy that the settings ask for.
///
/// # Errors
///
/// The requirements of hardware make no sense.
#[allow(clippy::clone_on_copy, reason = "one macro copies members of all types")]
pub fn policy(settings: &Settings) -> Result<Policy, SettingsError> {
    Ok(Policy {
        service: service(settings),
        versions: versions(&settings.versions),
        images: copy!(
            Images from settings.images =>
                agent, installer, controller, release_image_mirror, self_version, release_tag,
                iso_image_type, enable_upgrade_agent;
                agent_as_image: settings.images.agent_delivery == AgentDelivery::Image
        ),
        clusters: copy!(
            Clusters from settings.clusters =>
                cluster_network_cidr, cluster_network_host_prefix, cluster_network_cidr_ipv6,
                cluster_network_host_prefix_ipv6, service_network_cidr, service_network_cidr_ipv6,
                ntp_default_server, public_container_registries, registry_creds, ipv6_support,
                disk_encryption_support, disk_encryption_cipher, tna_clusters_support, tnf_clusters_support,
                enable_single_node_dnsmasq, check_cluster_version, approve_all_csrs, enable_skip_mco_reboot;
                managed_domains: settings.dns.domains.0.iter().map(|domain| domain.name.clone()).collect()
        ),
        hosts: copy!(
            Hosts from settings.hosts =>
                max_disconnection_time, enable_auto_assign, disabled_host_validations,
                disabled_cluster_validations, disabled_steps, disk_check_timeout,
                image_availability_timeout, agent_inventory_max_size, agent_inventory_disk_min_size,
                bootstrap_host_mac, enable_virtual_interfaces, enable_soft_timeouts
        ),
        hardware: copy!(
            Hardware from settings.hardware =>
                max_time_diff_minutes, edge_workers_product_names;
                requirements: requirements(&settings.hardware.requirements)?
        ),
        timeouts: copy!(
            Timeouts from settings.timeouts =>
                prepare_for_installation, prepare_for_installation_host, installation, finalizing,
                host_installing_pending_user_action, reset_cluster, log_pending, log_collection,
                host_log_pending, host_log_collection
        ),
        host_stages: copy!(
            HostStageTimeouts from settings.host_stages =>
                starting_installation, waiting_for_control_plane, waiting_for_bootkube,
                waiting_for_controller, installing, writing_image_to_disk, copying_registry_data_to_disk,
                rebooting, waiting_for_ignition, configuring, joined
        ),
        finalizing_stages: copy!(
            FinalizingStageTimeouts from settings.finalizing_stages =>
                waiting_for_cluster_operators, adding_router_ca, applying_olm_manifests,
                waiting_for_olm_operators_csv_initialization, waiting_for_olm_operators_csv,
                waiting_for_olm_operator_setup_jobs, done
        ),
        operators: copy!(
            Operators from settings.operators =>
                operator_timeout, lvm_cpu_per_host, odf_num_minimum_disk, odf_per_disk_cpu_count, odf_per_disk_ram_gib,
                odf_num_minimum_host, odf_per_host_cpu_compact_mode, odf_per_host_memory_gib_compact_mode,
                odf_per_host_cpu_standard_mode, odf_per_host_memory_gib_standard_mode, odf_min_disk_size_gb,
                cnv_mode, cnv_sno_install_hpp, cnv_sno_pool_size_request_hpp_gib, osc_cpu_per_host,
                osc_memory_per_host_mib, mtv_cpu_per_host, mtv_memory_per_host_mib, cnv_supported_gpus,
                cnv_supported_sriov_nics, mce_min_openshift_version, nvidia_require_gpu,
                nvidia_supported_gpus, amd_require_gpu, amd_supported_gpus,
                self_node_remediation_template_name, min_percentage_of_matching_nodes_for_remediation,
                node_healthcheck_unready_duration, node_healthcheck_unknown_duration,
                openshift_ai_min_worker_nodes, openshift_ai_min_worker_memory_gib,
                openshift_ai_min_worker_cpu_cores;
                lvm_memory_per_host_mib: settings.operators.lvm_memory_per_host_mib.parse().ok()
        ),
        layering: copy!(
            Layering from settings.layering =>
                preview, min_openshift_version, allow_generated_mosc, min_disk_gb, min_memory_gib, replica_gib
        ),
    })
}

/// What is so of the whole service.
fn service(settings: &Settings) -> policy::Service {
    let http = &settings.http;
    policy::Service {
        service_base_url: http.service_base_url.clone(),
        image_service_base_url: http.image_service_base_url.clone(),
        enable_image_service: http.enable_image_service,
        authenticated: settings.auth.auth_type != AuthType::None,
        install_invoker: http.install_invoker.clone(),
        subscriptions: settings.auth.auth_type == AuthType::Rhsso,
        simulated: settings.generation.is_simulated(),
        kube_api: settings.kube.enabled,
        deleted_inactive_after: settings.retention.deleted_inactive_after,
    }
}

fn requirements(text: &RequirementsText) -> Result<Arc<Requirements>, SettingsError> {
    if text.0.is_empty() {
        return Ok(Requirements::built_in());
    }
    Requirements::parse(&text.0).map(Arc::new).map_err(|error| text.refused(error))
}

/// What is offered: what the settings name, else what is built in.
pub(crate) fn versions(settings: &assisted_config::Versions) -> policy::Versions {
    let built_in = policy::Versions::default();
    policy::Versions {
        os_images: settings.os_images.clone().unwrap_or(built_in.os_images),
        release_images: settings.release_images.clone().unwrap_or(built_in.release_images),
        release_sources: settings.release_sources.clone().unwrap_or(built_in.release_sources),
        ignored: settings.ignored.0.clone(),
        must_gather: settings.must_gather.clone().map_or(built_in.must_gather, |images| images.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(pairs: &[(&str, &str)]) -> Result<Policy, SettingsError> {
        let get =
            |name: &str| pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        policy(&Settings::from_env(&get)?)
    }

    #[test]
    fn the_defaults_of_settings_and_policy_are_the_same() {
        assert_eq!(with(&[]).unwrap(), Policy::default());
    }

    #[test]
    fn what_is_set_is_decided_by() {
        let policy = with(&[
            ("AUTH_TYPE", "local"),
            ("GENERATOR", "simulation"),
            ("AGENT_DELIVERY", "image"),
            ("IPV6_SUPPORT", "false"),
            ("LVM_MEMORY_PER_HOST_MIB", "7"),
            ("IGNORED_OPENSHIFT_VERSIONS", r#"["4.10"]"#),
            ("RELEASE_IMAGES", "[]"),
            ("HOST_STAGE_JOINED_TIMEOUT", "1h"),
            (
                "HW_VALIDATOR_REQUIREMENTS",
                r#"[{"version":"default","master":{"cpu_cores":9,"ram_mib":1,"disk_size_gb":1},
                     "worker":{"cpu_cores":1,"ram_mib":1,"disk_size_gb":1},
                     "sno":{"cpu_cores":1,"ram_mib":1,"disk_size_gb":1}}]"#,
            ),
        ])
        .unwrap();
        assert!(policy.service.authenticated && policy.service.simulated && policy.images.agent_as_image);
        assert!(!policy.clusters.ipv6_support);
        assert_eq!(policy.operators.lvm_memory_per_host_mib, Some(7));
        assert_eq!(policy.versions.ignored, ["4.10"]);
        assert!(policy.versions.release_images.0.is_empty() && !policy.versions.os_images.0.is_empty());
        assert_eq!(policy.hardware.requirements.of_version("4.22").unwrap().master.cpu_cores, 9);
    }

    /// Names of the operators' variables, each with its default unless that depends on the version, as the reference lists them
    /// (operators §6).
    fn variables_of_operators() -> Vec<(String, Option<&'static str>)> {
        let reference = include_str!("../../../docs/reference/operators.md");
        let section = reference.split("\n## 6. Environment").nth(1).unwrap().split("\n## ").next().unwrap();
        let code = |cell: &'static str| cell.split('`').skip(1).step_by(2).collect::<Vec<_>>();
        let mut variables = Vec::new();
        for row in section.lines().filter(|line| line.starts_with("| `")) {
            let cells: Vec<_> = row.split('|').collect();
            let (names, defaults) = (code(cells[1]), code(cells[2]));
            for (number, name) in names.iter().enumerate() {
                // A name that begins with dots shares the beginning of the one before it; two may share a default.
                let name = name.replace('…', names[0].trim_end_matches("_UNREADY_DURATION"));
                // Images are our own.
                let default = match name.as_str() {
                    "CONTROLLER_IMAGE" => Some("quay.io/assisted/assisted-installer-controller:latest"),
                    _ => defaults.get(number).or(defaults.first()).copied(),
                };
                variables.push((name, default));
            }
        }
        variables
    }

    #[test]
    fn variables_of_operators_are_those_of_the_reference() {
        let variables = variables_of_operators();
        assert!(variables.len() > 30, "{variables:?}");
        for (name, default) in variables {
            let policy = |value: &str| with(&[(&name, value)]).unwrap();
            if let Some(default) = default {
                assert_eq!(policy(default), Policy::default(), "{name}");
            }
            let other = match (default, default.and_then(|text| text.parse::<i64>().ok())) {
                (Some("true"), _) => "false".to_owned(),
                (_, Some(number)) => (number + 1).to_string(),
                (text, None) => format!("{}7", text.unwrap_or_default()),
            };
            assert_ne!(policy(&other), Policy::default(), "{name}={other} changes nothing");
        }
    }

    #[test]
    fn requirements_that_make_no_sense_are_refused_with_their_variable() {
        for (value, problem) in
            [(r#"[{"version":""}]"#, "must specify \"version\""), ("{", "\"{\": not a list of requirements")]
        {
            let text = with(&[("HW_VALIDATOR_REQUIREMENTS", value)]).unwrap_err().to_string();
            assert!(text.starts_with("HW_VALIDATOR_REQUIREMENTS: ") && text.contains(problem), "{text}");
            assert!(text.contains("a JSON list of requirements") && text.ends_with("\"built in\""), "{text}");
        }
    }
}
