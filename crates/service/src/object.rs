//! What an object of the Kubernetes API says of the row that it stands for, besides what a request of the REST API can say.

use assisted_base::pem;
use assisted_core::model::cluster::MirrorRegistry;
use assisted_core::model::object_key::ObjectKey;
use assisted_core::model::refusal::Refusal;
use assisted_release::Mirrors;
use assisted_wire::cluster::Cluster;
use assisted_wire::host::Host;
use assisted_wire::infra_env::InfraEnv;
use assisted_wire::on_cluster_layering::LayeringSettings;
use assisted_wire::secret::Secret;

/// Registries that somebody gives a cluster or an infra-env; `None`: those of the service.
///
/// # Errors
///
/// 400 when they can't be read.
pub(crate) fn checked(given: &MirrorRegistry) -> Result<Option<&MirrorRegistry>, Refusal> {
    Mirrors::from_registries_conf(&given.registries_conf)
        .map_err(|error| Refusal::invalid(format!("registries_conf: {error}")))?;
    let authorities = pem::certificates(given.authorities.as_bytes())
        .map_err(|error| Refusal::invalid(format!("authorities: {error}")))?;
    if authorities.is_empty() && !given.authorities.trim().is_empty() {
        return Err(Refusal::invalid("authorities: there is no certificate in PEM form"));
    }
    Ok(Some(given).filter(|given| **given != MirrorRegistry::default()))
}

/// The object, and what it alone sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Described {
    /// The object that stands for the row from now on.
    pub key: ObjectKey,
    /// Registries that stand in for others, in the place of the service's.
    pub mirror_registry: Option<MirrorRegistry>,
}

/// A cluster that an object describes, with what the REST API never tells.
#[derive(Clone, Debug)]
pub struct DescribedCluster {
    /// Without its hosts.
    pub cluster: Cluster,
    /// Its hosts without what they reported, in order of creation.
    pub hosts: Vec<Host>,
    pub pull_secret: Secret,
    pub mirror_registry: Option<MirrorRegistry>,
    /// What is asked of image mode beside the install config, without its secret.
    pub image_mode: Option<Box<LayeringSettings>>,
    /// Whether it is to be installed in image mode.
    pub in_image_mode: bool,
    /// Whether the kubeconfig that trusts the cluster's own ingress is stored.
    pub kubeconfig_stored: bool,
}

/// An infra-env that an object describes, with what the REST API never tells.
#[derive(Clone, Debug)]
pub struct DescribedInfraEnv {
    pub infra_env: InfraEnv,
    pub pull_secret: Secret,
    pub mirror_registry: Option<MirrorRegistry>,
    /// Ignition config that the service lays over that of the image; empty: none.
    pub internal_ignition: String,
}

/// A setting of an infra-env that no update takes away (service-api §5.3), but the object that gave it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lasting {
    SshAuthorizedKey,
    IgnitionConfigOverride,
    NetworkDiscoveryDelay,
}

/// A host of an infra-env that an object describes.
#[derive(Clone, Debug)]
pub struct DescribedHost {
    /// With what it reported.
    pub host: Host,
    /// The object of its infra-env.
    pub infra_env: ObjectKey,
    /// Its cluster and the object of that, if it has one.
    pub cluster: Option<(Cluster, Option<ObjectKey>)>,
    /// What the REST API never tells.
    pub ignition_endpoint_token: Secret,
    /// JSON map.
    pub ignition_endpoint_http_headers: String,
    /// Whether its object was approved when that came to it last.
    pub approved: bool,
}
