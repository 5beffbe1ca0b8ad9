//! What is known of the cluster when the objects are made.

use std::collections::BTreeMap;

use assisted_wire::secret::Secret;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{LocalObjectReference, PersistentVolumeClaimSpec, Toleration};

use super::environment::Distribution;
use crate::admission::certificate::Stored;
use crate::webhook_server::profile::TlsProfile;

/// What a cluster is like, and what is in it.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// It is OpenShift: there are routes, certificates of services, and bundles of authorities that are filled in.
    pub is_openshift: bool,
    /// There are ServiceMonitors.
    pub has_service_monitors: bool,
    pub tls: TlsProfile,
    pub operator: OperatorPod,
    /// What the operator is part of; `None`: of nothing.
    pub distribution: Option<Distribution>,
    /// Claims that are there, by name.
    pub claims: BTreeMap<String, PersistentVolumeClaimSpec>,
    /// Whether the StatefulSet of the image service is there.
    pub has_image_service: bool,
    pub keys: Option<Keys>,
    pub database: Option<DatabaseAccess>,
    /// Whether there are keys that secrets at rest are sealed with.
    pub has_seal_keys: bool,
    /// What the mirror registry's config map holds.
    pub mirror: Option<BTreeMap<String, String>>,
    /// What the config map of further variables holds.
    pub settings: Option<BTreeMap<String, String>>,
    /// The authorities for fetching OS images: name of the file, and certificates in PEM form.
    pub os_image_authorities: Option<(String, String)>,
    /// Further headers and query parameters for fetching OS images.
    pub os_image_params: Option<BTreeMap<String, Secret>>,
    /// On OpenShift: the authorities of the default ingress.
    pub ingress_authorities: Option<BTreeMap<String, String>>,
    /// On OpenShift: the authorities that the cluster trusts, once they are filled in.
    pub cluster_authorities: Option<String>,
    /// On OpenShift: hosts of the routes, by their name.
    pub route_hosts: BTreeMap<String, String>,
    /// Elsewhere: the certificate of the ingresses.
    pub ingress_certificate: IngressCertificate,
}

/// The certificate of the ingresses where there are no routes.
#[derive(Clone, Debug, Default)]
pub enum IngressCertificate {
    /// There is none yet.
    #[default]
    Missing,
    /// The operator made it.
    Own(Stored),
    /// Somebody else keeps it: its authorities, in PEM form.
    Foreign { authorities: String },
}

/// What the operator's own pod is like, which all that runs takes over.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OperatorPod {
    pub image: String,
    pub node_selector: BTreeMap<String, String>,
    pub tolerations: Vec<Toleration>,
    pub pull_secrets: Vec<LocalObjectReference>,
}

/// The keys that sign tokens, in PEM form.
#[derive(Clone, Debug)]
pub struct Keys {
    pub private: Secret,
    pub public: String,
}

/// How the database is reached.
#[derive(Clone, Debug)]
pub struct DatabaseAccess {
    pub password: Secret,
}

/// What is made once, and only where the cluster does not have it yet; nothing of it replaces what is there.
#[derive(Clone, Debug)]
pub struct Fresh {
    pub keys: Option<Keys>,
    pub password: Option<Secret>,
    /// The content of a key file.
    pub seal_keys: Option<Secret>,
    pub now: Timestamp,
}
