//! All objects of an AgentServiceConfig, as they are to be: pure, in the order in which they are applied.

mod database;
mod image_service;
mod ingress;
mod keys;
mod monitor;
mod network_policy;
mod pod;
mod route;
mod service;
mod service_deployment;
mod settings;
mod storage;
mod trust;
mod webhook;

use assisted_crd::agent_install::agent_service_config::AgentServiceConfig;
use assisted_crd::condition::Outcome;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::conditions::{ReconcileError, hosted_reasons, reasons};
use super::environment::Environment;
use super::facts::{Facts, Fresh};
use super::{MANAGED_BY, annotation};

pub use ingress::names as ingress_names;
pub use storage::{claim_name, is_given, quantity};

/// What the objects are made of.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    pub config: &'a AgentServiceConfig,
    pub environment: &'a Environment,
    pub facts: &'a Facts,
    pub fresh: &'a Fresh,
    /// The cluster whose API service and webhooks work for; `None`: that in which they run.
    pub hosted: Option<&'a Hosted>,
}

/// A cluster whose control plane runs in the namespace of the objects (kube-api §6.10).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hosted {
    /// The Secret with its kubeconfig.
    pub secret: String,
    /// A digest of the kubeconfig: pods read it when they start.
    pub hash: String,
    /// Where its API listens.
    pub port: Option<u16>,
}

/// File of the kubeconfig in the pods that work for a hosted cluster, and the folder of its Secret there.
const KUBECONFIG_DIR: &str = "/etc/kube";
const KUBECONFIG_FILE: &str = "/etc/kube/kubeconfig";

/// What pods that work for a hosted cluster have beside all others: a volume, where it is, and a variable.
fn kubeconfig_of(hosted: &Hosted) -> [Value; 3] {
    [
        json!({"name": "kubeconfig", "secret": {"secretName": hosted.secret, "defaultMode": 0o440}}),
        json!({"name": "kubeconfig", "mountPath": KUBECONFIG_DIR, "readOnly": true}),
        json!({"name": "KUBECONFIG", "value": KUBECONFIG_FILE}),
    ]
}

/// The account of pods that ask the API of a hosted cluster alone, by its kubeconfig.
fn hosted_account(input: &Input<'_>, name: &str) -> Option<Value> {
    input.hosted?;
    let mut account = object(input, "v1", "ServiceAccount", name);
    account["automountServiceAccountToken"] = false.into();
    Some(account)
}

/// An object that is to be.
#[derive(Clone, Debug, PartialEq)]
pub struct Component {
    /// Name in the texts of conditions (kube-api §6.9).
    pub name: &'static str,
    /// What the condition says when it can't be applied.
    pub failure: Outcome,
    /// The object; what of it is not named is left to others.
    pub object: Value,
    /// It is made once, and never changed.
    pub once: bool,
}

/// All that is to be.
#[derive(Clone, Debug)]
pub struct Desired {
    pub components: Vec<Component>,
    /// What has to come first before the rest can be made; the look is repeated when it has come.
    pub pending: Option<ReconcileError>,
    /// When the certificate of the ingresses is to be made anew.
    pub renew_at: Option<Timestamp>,
}

/// Makes the objects.
///
/// # Errors
/// What the AgentServiceConfig refers to is not as it should be.
pub fn desired(input: &Input<'_>) -> Result<Desired, ReconcileError> {
    let mut components = Vec::new();
    let mut add = |name, failure, object: Option<Value>| {
        // Keys and passwords are made once.
        let once = matches!(name, "AgentLocalAuthSecret" | "DatabaseSecret" | "SealKeysSecret");
        components.extend(object.map(|object| Component { name, failure, object, once }));
    };
    let images = has_image_service(input.config);
    let openshift = input.facts.is_openshift;
    let only = |wanted: bool, object: Value| wanted.then_some(object);

    add("FilesystemStorage", reasons::STORAGE, storage::files(input));
    add("DatabaseStorage", reasons::STORAGE, storage::database(input));
    add("AgentService", reasons::AGENT_SERVICE, Some(service::api(input)));
    add("AgentServiceNetworkPolicy", reasons::NETWORK_POLICY, Some(network_policy::api(input)));
    add("AgentLocalAuthSecret", reasons::AGENT_LOCAL_AUTH_SECRET, keys::secret(input));
    add("DatabaseSecret", reasons::POSTGRES_SECRET, database::secret(input));
    add("SealKeysSecret", reasons::SEAL_KEYS_SECRET, keys::seal_secret(input));
    add("ImageServiceService", reasons::IMAGE_HANDLER_SERVICE, only(images, service::images(input)));
    add("ImageServiceNetworkPolicy", reasons::NETWORK_POLICY, only(images, network_policy::images(input)));
    add(
        "ImageServiceServiceAccount",
        reasons::IMAGE_HANDLER_SERVICE_ACCOUNT,
        only(images, image_service::account(input)),
    );
    add(
        "ServiceServiceAccount",
        hosted_reasons::SERVICE_SERVICE_ACCOUNT,
        hosted_account(input, &input.environment.service_account),
    );
    add(
        "WebHookServiceAccount",
        hosted_reasons::WEB_HOOK_SERVICE_ACCOUNT,
        hosted_account(input, super::WEBHOOK),
    );
    let mut renew_at = None;
    if openshift {
        add("AgentRoute", reasons::AGENT_ROUTE, Some(route::api(input)));
        add("ImageServiceRoute", reasons::IMAGE_HANDLER_ROUTE, only(images, route::images(input)));
        let insecure = route::is_insecure(input);
        add("AgentIPXERoute", reasons::AGENT_ROUTE, route::ipxe(input, super::SERVICE).filter(|_| insecure));
        add(
            "ImageServiceIPXERoute",
            reasons::IMAGE_HANDLER_ROUTE,
            route::ipxe(input, super::IMAGE_SERVICE).filter(|_| insecure && images),
        );
        add("IngressCertConfigMap", reasons::INGRESS_CERT, trust::ingress(input));
        add("ClusterTrustedCAConfigMap", reasons::CONFIG, Some(trust::cluster(input)));
        add("ImageServiceConfigMap", reasons::CONFIG, only(images, trust::image_service(input)));
    } else {
        let certificate = ingress::certificate(input)?;
        renew_at = certificate.renew_at;
        for object in certificate.secrets {
            add("CACert", reasons::CERTIFICATE_CONFIGURATION, Some(object));
        }
        add("AgentRoute", reasons::AGENT_ROUTE, ingress::api(input));
        add("ImageServiceRoute", reasons::IMAGE_HANDLER_ROUTE, ingress::images(input).filter(|_| images));
    }
    add(
        "ServiceMonitor",
        reasons::AGENT_SERVICE_MONITOR,
        only(input.facts.has_service_monitors, monitor::service_monitor(input)),
    );
    for (name, failure, object) in webhook::objects(input) {
        add(name, failure, Some(object));
    }

    let pending = match rest(input, images) {
        Ok(rest) => {
            for (name, failure, object) in rest {
                add(name, failure, Some(object));
            }
            None
        }
        Err(problem) => Some(problem),
    };
    Ok(Desired { components, pending, renew_at })
}

/// What needs to know what others fill in: names in texts, what is said when they can't be applied, objects.
fn rest(input: &Input<'_>, images: bool) -> Result<Vec<(&'static str, Outcome, Value)>, ReconcileError> {
    let trusted = if input.facts.is_openshift { Some(trust::trusted(input)?) } else { None };
    let settings = settings::config_map(input)?;
    let deployment = service_deployment::deployment(input, &settings, trusted.as_ref())?;
    let mut rest = Vec::new();
    rest.extend(trusted.map(|map| ("AssistedTrustedCAConfigMap", reasons::CONFIG, map)));
    rest.push(("AssistedServiceConfigMap", reasons::CONFIG, settings));
    rest.push(("AssistedServiceDeployment", reasons::DEPLOYMENT, deployment));
    if images {
        let set = image_service::stateful_set(input)?;
        rest.push(("ImageServiceStatefulSet", reasons::IMAGE_HANDLER_STATEFUL_SET, set));
    }
    Ok(rest)
}

/// Whether there is an image service; that can't change.
pub fn has_image_service(config: &AgentServiceConfig) -> bool {
    matches!(annotation_of(config, annotation::ENABLE_IMAGE_SERVICE), "" | "true")
}

/// The value of an annotation; empty without it.
pub(crate) fn annotation_of<'a>(config: &'a AgentServiceConfig, name: &str) -> &'a str {
    let annotations = config.metadata.annotations.as_ref();
    annotations.and_then(|annotations| annotations.get(name)).map(String::as_str).unwrap_or_default()
}

/// An object in the namespace of all that runs, owned by what asks for it.
fn object(input: &Input<'_>, api_version: &str, kind: &str, name: &str) -> Value {
    let mut object = cluster_object(input, api_version, kind, name);
    object["metadata"]["namespace"] = input.environment.namespace.as_str().into();
    object
}

/// An object in no namespace.
fn cluster_object(input: &Input<'_>, api_version: &str, kind: &str, name: &str) -> Value {
    let owner = &input.config.metadata;
    let owner_kind = match input.hosted {
        Some(_) => "HypershiftAgentServiceConfig",
        None => "AgentServiceConfig",
    };
    json!({
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {
            "name": name,
            "labels": {MANAGED_BY.0: MANAGED_BY.1},
            "ownerReferences": [{
                "apiVersion": "agent-install.openshift.io/v1beta1",
                "kind": owner_kind,
                "name": owner.name,
                "uid": owner.uid,
                "controller": true,
                "blockOwnerDeletion": true,
            }],
        },
    })
}

/// Adds a label.
fn labelled(mut object: Value, name: &str, value: &str) -> Value {
    object["metadata"]["labels"][name] = value.into();
    object
}

/// Adds an annotation.
fn annotated(mut object: Value, name: &str, value: &str) -> Value {
    object["metadata"]["annotations"][name] = value.into();
    object
}
