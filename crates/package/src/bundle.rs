//! The bundle that the Operator Lifecycle Manager installs the operator from: a ClusterServiceVersion, the definitions, and what says
//! which package and channel it is. Rights, definitions and the Deployment are those of the code.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use assisted_crd::definition;
use assisted_kubeapi::operator::environment::DATABASE_IMAGE;
use assisted_kubeapi::rbac::{Access, ROLES, Role, Scope};
use assisted_oci::{Image, ImageConfig, Index, Layer, Packing};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::VERSION;
use crate::image::{Inputs, Kind};
use crate::manifest::{NAMESPACE, definitions, network_policy, operator};

/// Name of the package, and of the Deployment.
pub const PACKAGE: &str = "assisted-operator";
const CHANNEL: &str = "alpha";
/// An object of each kind; the one that brings everything to running comes first.
const EXAMPLES: [&str; 2] = [
    include_str!("../../../deploy/kustomize/examples/one-node.yaml"),
    include_str!("../../../deploy/olm/examples.yaml"),
];
const ICON: &[u8] = include_bytes!("../../../ui/public/icon.svg");

const DESCRIPTION: &str = "Brings an AgentServiceConfig to running: the service that installs OpenShift on bare metal, with its image \
    service and its webhooks. Hosts, clusters and discovery images are then objects of this hub.";

/// The bundle's files, by their paths in it.
///
/// # Errors
/// A definition or a manifest is not what it is.
pub fn files(inputs: &Inputs) -> Result<BTreeMap<String, String>> {
    let csv = serde_yaml_ng::to_string(&cluster_service_version(inputs)?)?;
    let annotations = serde_yaml_ng::to_string(&json!({"annotations": annotations()}))?;
    let mut files = BTreeMap::from([
        (format!("manifests/{PACKAGE}.clusterserviceversion.yaml"), csv),
        (format!("manifests/{PACKAGE}.networkpolicy.yaml"), serde_yaml_ng::to_string(&network_policy()?)?),
        ("metadata/annotations.yaml".to_owned(), annotations),
    ]);
    for text in definitions() {
        let read = definition::read(&[text])?;
        let name =
            read.first().and_then(|one| one.metadata.name.clone()).context("a definition has no name")?;
        files.insert(format!("manifests/{name}.yaml"), text.to_owned());
    }
    Ok(files)
}

/// The bundle as an image, which is how catalogues name it.
///
/// # Errors
/// As [`files`], and when nothing can be kept on disk.
pub fn image(inputs: &Inputs) -> Result<Index> {
    let mut layer = Layer::packed(Packing::Small)?;
    for (path, text) in files(inputs)? {
        layer = layer.file_with(&path, 0o644, text.as_bytes(), text.len() as u64)?;
    }
    let labels = annotations();
    let config = ImageConfig { labels, created: inputs.created.clone(), ..ImageConfig::default() };
    Ok(Index::new(vec![Image::configured("amd64", vec![layer.finish()?], &config)?]))
}

fn annotations() -> BTreeMap<String, String> {
    let name = |name: &str| format!("operators.operatorframework.io.bundle.{name}.v1");
    [
        ("mediatype", "registry+v1"),
        ("manifests", "manifests/"),
        ("metadata", "metadata/"),
        ("package", PACKAGE),
        ("channels", CHANNEL),
        ("channel.default", CHANNEL),
    ]
    .map(|(key, value)| (name(key), value.to_owned()))
    .into()
}

fn cluster_service_version(inputs: &Inputs) -> Result<Value> {
    let image = inputs.name(Kind::Service);
    let deployment = operator(&image)?;
    let mode = |mode: &str, supported: bool| json!({"type": mode, "supported": supported});
    Ok(json!({
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": {
            "name": format!("{PACKAGE}.v{VERSION}"),
            "namespace": "placeholder",
            "annotations": {
                "alm-examples": serde_json::to_string_pretty(&examples()?)?,
                "capabilities": "Basic Install",
                "categories": "OpenShift Optional, Integration & Delivery",
                "containerImage": image,
                "createdAt": inputs.created,
                "description": DESCRIPTION,
                "olm.skipRange": format!(">=0.0.1 <{VERSION}"),
                "operatorframework.io/suggested-namespace": NAMESPACE,
                "support": "assisted",
            },
        },
        "spec": {
            "displayName": "assisted",
            "description": DESCRIPTION,
            "icon": [{"base64data": STANDARD.encode(ICON), "mediatype": "image/svg+xml"}],
            "version": VERSION,
            "maturity": "alpha",
            "minKubeVersion": "1.27.0",
            "keywords": ["bare metal", "installation", "OpenShift", "edge"],
            "maintainers": [{"name": "assisted", "email": "assisted@example.com"}],
            "provider": {"name": "assisted"},
            "installModes": [
                mode("OwnNamespace", true), mode("SingleNamespace", true),
                mode("MultiNamespace", false), mode("AllNamespaces", false),
            ],
            "install": {
                "strategy": "deployment",
                "spec": {
                    "clusterPermissions": permissions(|scope| scope == Scope::Cluster),
                    "permissions": permissions(|scope| scope == Scope::Namespace),
                    "deployments": [{
                        "name": PACKAGE, "label": deployment["metadata"]["labels"], "spec": deployment["spec"],
                    }],
                },
            },
            "customresourcedefinitions": {"owned": owned()?},
            "relatedImages": related_images(inputs),
        },
    }))
}

/// What a console begins with where somebody makes an object.
fn examples() -> Result<Vec<Value>> {
    let objects = EXAMPLES.into_iter().flat_map(|text| text.split("\n---\n"));
    objects.map(|text| serde_yaml_ng::from_str::<Value>(text).context("an example is no object")).collect()
}

/// All that runs of it: what mirrors have to hold.
fn related_images(inputs: &Inputs) -> Vec<Value> {
    let own = Kind::ALL.map(|kind| (kind.name(), inputs.name(kind)));
    let all = own.into_iter().chain([("postgresql", DATABASE_IMAGE.to_owned())]);
    all.map(|(name, image)| json!({"name": name, "image": image})).collect()
}

/// Rights of each account that hold where it is asked for.
fn permissions(holds: impl Fn(Scope) -> bool) -> Vec<Value> {
    let of = |role: &&Role| {
        let rules: Vec<_> = role.accesses.iter().filter(|access| holds(access.scope)).map(rule).collect();
        (!rules.is_empty()).then(|| json!({"serviceAccountName": role.account, "rules": rules}))
    };
    ROLES.iter().filter_map(of).collect()
}

fn rule(access: &Access) -> Value {
    let mut rule = json!({"apiGroups": [access.group], "resources": access.resources, "verbs": access.verbs});
    if !access.names.is_empty() {
        rule["resourceNames"] = json!(access.names);
    }
    rule
}

/// The kinds that come with it, each in the version that is stored.
fn owned() -> Result<Vec<Value>> {
    let texts: Vec<_> = definitions().collect();
    let mut owned = Vec::new();
    for definition in definition::read(&texts)? {
        let spec = &definition.spec;
        for version in spec.versions.iter().filter(|version| version.storage) {
            owned.push(json!({
                "name": definition.metadata.name, "kind": spec.names.kind, "version": version.name,
                "displayName": spec.names.kind, "description": format!("{} of {}", spec.names.kind, spec.group),
            }));
        }
    }
    Ok(owned)
}
