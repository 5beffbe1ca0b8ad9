//! Registration of an infra-env: the rules of service-api §5.2, in their order.

use assisted_wire::id::InfraEnvId;
use assisted_wire::infra_env::{ImageType, InfraEnv, InfraEnvCreateParams, InfraEnvKind};
use assisted_wire::operation::BASE_PATH;
use assisted_wire::secret::Secret;
use assisted_wire::time::DateTime;
use assisted_wire::version::ImageCpuArchitecture;

use super::{
    check_architecture, check_ntp_exclusion, check_proxy, check_rendezvous_ip, image_event, refuse, usage,
};
use crate::admission::NewObject;
use crate::admission::feature::{Configuration, compatibility};
use crate::admission::field::{
    certificate, ignition_config, kernel_arguments, ntp, pull_secret, ssh_key, static_network,
};
use crate::catalogue::feature::usage::Usages;
use crate::catalogue::release::architecture::{normal_image, of_image};
use crate::catalogue::release::os_image;
use crate::model::cluster::ClusterRecord;
use crate::model::event::{NewEvent, catalogue};
use crate::model::infra_env::InfraEnvRecord;
use crate::model::refusal::Refusal;
use crate::policy::Policy;

/// What a new infra-env gets from outside.
#[derive(Clone, Debug)]
pub struct NewInfraEnv {
    pub new: NewObject<InfraEnvId>,
    /// Key that signs the URLs of its images: 32 random bytes as hexadecimal.
    pub image_token_key: Secret,
}

/// A new infra-env, and what goes with it.
#[derive(Clone, Debug, PartialEq)]
pub struct Created {
    pub record: InfraEnvRecord,
    pub events: Vec<NewEvent>,
    /// New `feature_usage` of the bound cluster, if it changed.
    pub cluster_feature_usage: Option<String>,
}

/// Registers an infra-env. `cluster`: the one that `params` names, if it exists.
///
/// # Errors
///
/// `NotFound` for a cluster that does not exist, else `Invalid` with the first rule that the request breaks.
pub fn create(
    params: &InfraEnvCreateParams,
    cluster: Option<&ClusterRecord>,
    policy: &Policy,
    new: &NewInfraEnv,
) -> Result<Created, Refusal> {
    let architecture = normal_image(params.cpu_architecture.unwrap_or(ImageCpuArchitecture::X8664));
    let kind = params.image_type.unwrap_or_else(|| default_type(architecture, policy));
    if let (Some(id), None) = (params.cluster_id, cluster) {
        return Err(Refusal::not_found(format!("Cluster ID {id} does not exist")));
    }
    if let Some(record) = cluster {
        check_architecture(&record.cluster, architecture, &params.openshift_version, policy)
            .map_err(refuse)?;
    }
    check_fields(params, kind, policy)?;
    let version = os_version(params, architecture, policy)?;
    if let Some(arguments) = &params.kernel_arguments {
        kernel_arguments::check(arguments).map_err(refuse)?;
    }
    check_compatibility(cluster, kind, architecture, &version)?;
    pull_secret::check(&params.pull_secret, None, policy)
        .map_err(|problem| refuse(format!("pull secret for new infraEnv is invalid: {problem}")))?;

    let infra_env = build(params, architecture, kind, version, policy, &new.new);
    let cluster_feature_usage = cluster.and_then(|record| {
        let mut noted = record.cluster.clone();
        noted.feature_usage = note_architecture(&noted.feature_usage, architecture);
        let changed = usage(&noted, &infra_env).unwrap_or_else(|| noted.feature_usage.clone());
        (changed != record.cluster.feature_usage).then_some(changed)
    });
    let id = infra_env.id;
    let events = vec![
        catalogue::INFRA_ENV_REGISTERED.of_infra_env(id, infra_env.cluster_id, &[]),
        image_event(&infra_env),
    ];
    let record = InfraEnvRecord {
        infra_env,
        pull_secret: pull_secret::completed(&params.pull_secret, policy).map_err(refuse)?,
        image_token_key: new.image_token_key.clone(),
        token_generation: 0,
        mirror_registry: None,
        internal_ignition: String::new(),
        object_key: None,
    };
    Ok(Created { record, events, cluster_feature_usage })
}

fn default_type(architecture: ImageCpuArchitecture, policy: &Policy) -> ImageType {
    if architecture == ImageCpuArchitecture::S390x {
        ImageType::FullIso
    } else {
        policy.images.iso_image_type
    }
}

fn check_fields(params: &InfraEnvCreateParams, kind: ImageType, policy: &Policy) -> Result<(), Refusal> {
    if let Some(proxy) = &params.proxy {
        check_proxy(proxy)?;
    }
    let additional = params.additional_ntp_sources.as_deref();
    let sources = params.ntp_sources.as_deref();
    // With a default server an explicit lack of sources is refused like a bad one (service-api §5.2 step 4).
    let has_default = !policy.clusters.ntp_default_server.is_empty();
    if has_default && (additional == Some("") || (additional.is_none() && sources.is_some())) {
        return Err(refuse("Invalid NTP source: "));
    }
    for list in [additional, sources].into_iter().flatten().filter(|list| !list.is_empty()) {
        ntp::check(list).map_err(refuse)?;
    }
    check_ntp_exclusion(sources.unwrap_or_default(), additional.unwrap_or_default())?;
    if let Some(keys) = params.ssh_authorized_key.as_deref().filter(|keys| !keys.is_empty()) {
        ssh_key::check(keys).map_err(|_| refuse("SSH key is not valid"))?;
    }
    certificate::bundle(&params.additional_trust_bundle).map_err(refuse)?;
    check_rendezvous_ip(params.rendezvous_ip.as_deref().unwrap_or_default(), kind)?;
    if params.ignition_config_override.is_empty() {
        return Ok(());
    }
    ignition_config::check(&params.ignition_config_override).map_err(refuse)
}

/// The version of the OS image that will be used, as its entry names it.
fn os_version(
    params: &InfraEnvCreateParams,
    architecture: ImageCpuArchitecture,
    policy: &Policy,
) -> Result<String, Refusal> {
    let version = &params.openshift_version;
    if !policy.service.enable_image_service {
        return Ok(version.clone());
    }
    let images = &policy.versions.os_images.0;
    let image = if version.is_empty() {
        os_image::latest(images, architecture).map_err(|error| {
            format!("Failed to get latest OS image for architecture {architecture}: {error}")
        })
    } else {
        os_image::find(images, version, architecture).map_err(|error| {
            format!("No OS image for Openshift version {version} and architecture {architecture}: {error}")
        })
    };
    image.map(|image| image.openshift_version.clone()).map_err(refuse)
}

fn check_compatibility(
    cluster: Option<&ClusterRecord>,
    kind: ImageType,
    architecture: ImageCpuArchitecture,
    version: &str,
) -> Result<(), Refusal> {
    let configuration = Configuration { cluster, image_type: Some(kind), ..Configuration::default() };
    let version = cluster.map_or(version, |record| record.cluster.openshift_version.as_str());
    compatibility::check(&configuration, version, Some(of_image(architecture)))
}

fn build(
    params: &InfraEnvCreateParams,
    architecture: ImageCpuArchitecture,
    kind: ImageType,
    openshift_version: String,
    policy: &Policy,
    new: &NewObject<InfraEnvId>,
) -> InfraEnv {
    let now = DateTime(new.now);
    let owner = new.owner.clone();
    let additional = match (&params.additional_ntp_sources, &params.ntp_sources) {
        (None, None) => policy.clusters.ntp_default_server.clone(),
        (additional, _) => additional.clone().unwrap_or_default(),
    };
    InfraEnv {
        kind: InfraEnvKind::InfraEnv,
        id: new.id,
        href: format!("{BASE_PATH}/v2/infra-envs/{}", new.id),
        openshift_version,
        name: params.name.clone(),
        user_name: owner.user_name,
        org_id: owner.org_id,
        email_domain: owner.email_domain,
        proxy: Some(params.proxy.clone().unwrap_or_default()),
        additional_ntp_sources: additional,
        ntp_sources: params.ntp_sources.clone().unwrap_or_default(),
        ssh_authorized_key: params.ssh_authorized_key.as_deref().unwrap_or_default().trim().to_owned(),
        pull_secret_set: !params.pull_secret.is_empty(),
        static_network_config: params
            .static_network_config
            .as_deref()
            .map(static_network::stored)
            .unwrap_or_default(),
        rendezvous_ip: params.rendezvous_ip.clone().filter(|address| !address.is_empty()),
        r#type: kind,
        ignition_config_override: params.ignition_config_override.clone(),
        cluster_id: params.cluster_id,
        size_bytes: 0,
        download_url: String::new(),
        generator_version: String::new(),
        updated_at: now,
        created_at: now,
        expires_at: DateTime::ZERO,
        cpu_architecture: Some(architecture),
        kernel_arguments: params.kernel_arguments.as_ref().and_then(kernel_arguments::stored),
        additional_trust_bundle: params.additional_trust_bundle.trim().to_owned(),
        network_discovery_delay_seconds: params.network_discovery_delay_seconds,
    }
}

fn note_architecture(field: &str, architecture: ImageCpuArchitecture) -> String {
    let mut usages = Usages::read(field);
    let name = match architecture {
        ImageCpuArchitecture::X8664 => return field.to_owned(),
        ImageCpuArchitecture::Aarch64 | ImageCpuArchitecture::Arm64 => "arm64 architecture",
        ImageCpuArchitecture::Ppc64le => "ppc64le architecture",
        ImageCpuArchitecture::S390x => "s390x architecture",
    };
    usages.set(name, true);
    usages.write()
}
