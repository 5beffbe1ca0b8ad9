//! Update of an infra-env: the rules of service-api §5.3, in their order.

use assisted_wire::infra_env::{ImageType, InfraEnv, InfraEnvUpdateParams, Proxy};
use assisted_wire::time::DateTime;
use assisted_wire::version::ImageCpuArchitecture;
use jiff::Timestamp;

use super::{
    check_architecture, check_ntp_exclusion, check_proxy, check_rendezvous_ip, image_event, refuse, usage,
};
use crate::admission::feature::{Configuration, compatibility};
use crate::admission::field::{
    certificate, ignition_config, kernel_arguments, ntp, pull_secret, ssh_key, static_network,
};
use crate::catalogue::release::architecture::of_image;
use crate::catalogue::release::os_image;
use crate::model::cluster::ClusterRecord;
use crate::model::event::NewEvent;
use crate::model::infra_env::InfraEnvRecord;
use crate::model::refusal::Refusal;
use crate::policy::Policy;

/// An infra-env after an update, and what goes with it.
#[derive(Clone, Debug, PartialEq)]
pub struct Updated {
    pub record: InfraEnvRecord,
    pub events: Vec<NewEvent>,
    /// Whether anything changed: then the image needs a new URL.
    pub changed: bool,
    /// New `feature_usage` of the bound cluster, if it changed.
    pub cluster_feature_usage: Option<String>,
}

/// Updates an infra-env. `cluster`: the one that it is bound to, if that still exists.
///
/// # Errors
///
/// `Invalid` with the first rule that the request breaks; `Internal` when the architecture does not go with the cluster.
pub fn update(
    stored: &InfraEnvRecord,
    params: &InfraEnvUpdateParams,
    cluster: Option<&ClusterRecord>,
    policy: &Policy,
    now: Timestamp,
) -> Result<Updated, Refusal> {
    let mut record = stored.clone();
    if !params.pull_secret.is_empty() {
        pull_secret::check(&params.pull_secret, None, policy).map_err(refuse)?;
        record.pull_secret = pull_secret::completed(&params.pull_secret, policy).map_err(refuse)?;
        record.infra_env.pull_secret_set = true;
    }
    let infra_env = &mut record.infra_env;
    apply_access(infra_env, params)?;
    apply_network(infra_env, params)?;
    let arguments_given = params.kernel_arguments.is_some();
    if let Some(arguments) = &params.kernel_arguments {
        kernel_arguments::check(arguments).map_err(refuse)?;
        infra_env.kernel_arguments = kernel_arguments::stored(arguments);
    }
    apply_version(infra_env, params, cluster, policy)?;
    apply_ntp(infra_env, params)?;

    // Kernel arguments count as a change whenever they are given (service-api §5.3).
    let changed = record != *stored || arguments_given;
    let mut events = Vec::new();
    if changed {
        record.infra_env.updated_at = DateTime(now);
        events.push(image_event(&record.infra_env));
    }
    let cluster_feature_usage =
        cluster.filter(|_| changed).and_then(|cluster| usage(&cluster.cluster, &record.infra_env));
    Ok(Updated { record, events, changed, cluster_feature_usage })
}

fn apply_access(infra_env: &mut InfraEnv, params: &InfraEnvUpdateParams) -> Result<(), Refusal> {
    if let Some(keys) = params.ssh_authorized_key.as_deref().filter(|keys| !keys.is_empty()) {
        ssh_key::check(keys).map_err(refuse)?;
        keys.trim().clone_into(&mut infra_env.ssh_authorized_key);
    }
    if let Some(given) = &params.proxy {
        check_proxy(given)?;
        let kept = infra_env.proxy.take().unwrap_or_default();
        let or = |given: &Option<String>, kept: Option<String>| given.clone().or(kept);
        infra_env.proxy = Some(Proxy {
            http_proxy: or(&given.http_proxy, kept.http_proxy),
            https_proxy: or(&given.https_proxy, kept.https_proxy),
            no_proxy: or(&given.no_proxy, kept.no_proxy),
        });
    }
    if !params.ignition_config_override.is_empty() {
        ignition_config::check(&params.ignition_config_override).map_err(refuse)?;
        infra_env.ignition_config_override.clone_from(&params.ignition_config_override);
    }
    Ok(())
}

fn apply_network(infra_env: &mut InfraEnv, params: &InfraEnvUpdateParams) -> Result<(), Refusal> {
    if let Some(hosts) = &params.static_network_config {
        infra_env.static_network_config = static_network::stored(hosts);
    }
    if let Some(bundle) = &params.additional_trust_bundle {
        certificate::bundle(bundle).map_err(refuse)?;
        bundle.trim().clone_into(&mut infra_env.additional_trust_bundle);
    }
    let kind = params.image_type.unwrap_or(infra_env.r#type);
    if let Some(address) = &params.rendezvous_ip {
        check_rendezvous_ip(address, kind)?;
        infra_env.rendezvous_ip = Some(address.clone()).filter(|address| !address.is_empty());
    }
    infra_env.r#type = kind;
    if kind != ImageType::DisconnectedIso {
        infra_env.rendezvous_ip = None;
    }
    if params.network_discovery_delay_seconds.is_some() {
        infra_env.network_discovery_delay_seconds = params.network_discovery_delay_seconds;
    }
    Ok(())
}

fn apply_version(
    infra_env: &mut InfraEnv,
    params: &InfraEnvUpdateParams,
    cluster: Option<&ClusterRecord>,
    policy: &Policy,
) -> Result<(), Refusal> {
    let architecture = infra_env.cpu_architecture.unwrap_or(ImageCpuArchitecture::X8664);
    if let Some(version) = params.openshift_version.as_deref().filter(|version| !version.is_empty()) {
        if policy.service.enable_image_service {
            let image =
                os_image::find(&policy.versions.os_images.0, version, architecture).map_err(|error| {
                    refuse(format!(
                        "No OS image for Openshift version {version} and architecture {architecture}: {error}"
                    ))
                })?;
            infra_env.openshift_version.clone_from(&image.openshift_version);
        } else {
            version.clone_into(&mut infra_env.openshift_version);
        }
    }
    let Some(record) = cluster else {
        let alone = Configuration { image_type: Some(infra_env.r#type), ..Configuration::default() };
        return compatibility::check(&alone, &infra_env.openshift_version, Some(of_image(architecture)));
    };
    if params.openshift_version.is_some() {
        check_architecture(&record.cluster, architecture, &infra_env.openshift_version, policy)
            .map_err(Refusal::internal)?;
    }
    let both = Configuration {
        cluster: Some(record),
        image_type: Some(infra_env.r#type),
        ..Configuration::default()
    };
    compatibility::check(&both, &record.cluster.openshift_version, Some(of_image(architecture)))
}

fn apply_ntp(infra_env: &mut InfraEnv, params: &InfraEnvUpdateParams) -> Result<(), Refusal> {
    for list in [&params.additional_ntp_sources, &params.ntp_sources].into_iter().flatten() {
        if !list.is_empty() {
            ntp::check(list).map_err(refuse)?;
        }
    }
    if let Some(additional) = &params.additional_ntp_sources {
        infra_env.additional_ntp_sources.clone_from(additional);
    }
    if let Some(sources) = &params.ntp_sources {
        infra_env.ntp_sources.clone_from(sources);
    }
    check_ntp_exclusion(&infra_env.ntp_sources, &infra_env.additional_ntp_sources)
}
