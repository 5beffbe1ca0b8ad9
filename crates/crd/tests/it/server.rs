//! A real API server with the published definitions: it takes whole objects of our types, gives them back as they were, and
//! refuses wrong ones.

use std::time::Duration;

use assisted_crd::agent_install::agent::Agent;
use assisted_testkit::kube::Kube;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ApiResource, DynamicObject, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::GroupVersionKind;
use kube::{Api, Client, Config, ResourceExt};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use crate::kinds::{self, Kind};
use crate::{published, sample, schema};

/// How long a definition may take until its objects are served.
const PATIENCE: Duration = Duration::from_secs(120);

pub fn server() -> &'static Kube {
    Kube::start().unwrap()
}

/// A client of the server, with a namespace of its own and all definitions.
pub async fn client(namespace: &str) -> Client {
    static INSTALLED: OnceCell<()> = OnceCell::const_new();
    let kube = tokio::task::spawn_blocking(server).await.unwrap();
    let kubeconfig = Kubeconfig::read_from(kube.kubeconfig()).unwrap();
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    let client = Client::try_from(config).unwrap();
    INSTALLED.get_or_init(|| install(&client)).await;
    let mut own = Namespace::default();
    own.metadata.name = Some(namespace.to_owned());
    Api::all(client.clone()).create(&PostParams::default(), &own).await.unwrap();
    client
}

async fn install(client: &Client) {
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    for definition in published::definitions() {
        api.create(&PostParams::default(), &definition).await.unwrap();
    }
    let served = async {
        for kind in kinds::all() {
            while self::api(client, &kind, None).list(&Default::default()).await.is_err() {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    };
    tokio::time::timeout(PATIENCE, served).await.expect("not all kinds are served");
}

pub fn api(client: &Client, kind: &Kind, namespace: Option<&str>) -> Api<DynamicObject> {
    let gvk = GroupVersionKind::gvk(&kind.group, &kind.version, &kind.kind);
    let resource = ApiResource::from_gvk_with_plural(&gvk, &kind.plural);
    match namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    }
}

pub fn kind(name: &str) -> Kind {
    let mut all: Vec<_> =
        kinds::all().into_iter().filter(|kind| kind.kind == name && is_stored(kind)).collect();
    all.pop().unwrap_or_else(|| panic!("there is no {name}"))
}

fn is_stored(kind: &Kind) -> bool {
    published::of(kind).spec.versions.iter().any(|version| version.name == kind.version && version.storage)
}

fn is_namespaced(kind: &Kind) -> bool {
    published::of(kind).spec.scope == "Namespaced"
}

const NAME: &str = "example";

/// Texts that can't be just any.
fn special(place: &str) -> Option<Value> {
    let digest = format!("registry.example.com/os/image@sha256:{}", "0123456789abcdef".repeat(4));
    Some(match place {
        ".spec.machineConfigPool.name" => json!(NAME),
        ".spec.renderedImagePushSpec" => json!("registry.example.com/os/image:latest"),
        ".status.currentImagePullSpec" | ".status.digestedImagePushSpec" => json!(digest),
        ".status.builder.imageBuilderType" => json!("Job"),
        ".status.buildEnd" => json!("2024-05-06T08:08:09Z"),
        ".spec.machineConfig.name" => json!("rendered-worker-1"),
        ".spec.external.cloudControllerManager" => json!("External"),
        ".spec.hibernateAfter" => json!("8h"),
        ".spec.raid.softwareRAIDVolumes[].physicalDisks" => {
            json!([{"deviceName": "sda"}, {"deviceName": "sdb"}])
        }
        _ if place.to_lowercase().ends_with("macaddress") => json!("02:00:00:00:00:01"),
        _ if place.ends_with("SentinelDir") || place.ends_with("KubeconfigPath") => json!("/run/example"),
        _ => return None,
    })
}

/// A whole object of a kind.
pub fn whole(kind: &Kind) -> Value {
    let mut object = schema::object(kind, sample::full(&published::schema(kind), "", &special));
    object["metadata"]["name"] = NAME.into();
    object
}

async fn create(api: &Api<DynamicObject>, object: &Value) -> Result<Value, String> {
    let object: DynamicObject = serde_json::from_value(object.clone()).unwrap();
    let created = api.create(&PostParams::default(), &object).await.map_err(|error| error.to_string())?;
    Ok(serde_json::to_value(created).unwrap())
}

/// What `kubectl get` shows at the head of a kind's table, by the shortest name of the kind.
const SHOWN: &[(&str, &str)] = &[
    ("agents", "NAME CLUSTER APPROVED ROLE STAGE HOSTNAME REQUESTED HOSTNAME"),
    ("infraenvs", "NAME ISO CREATED AT ISO URL"),
    ("aci", "NAME CLUSTER STATE"),
    ("hasc", "NAME AGE"),
    ("nmstateconfigs", "NAME AGE"),
    ("agentclassifications", "NAME AGE"),
    ("agentserviceconfigs", "NAME AGE"),
    ("oac", "NAME AGE"),
    ("oacp", "NAME CLUSTER INITIALIZED DESIRED REPLICAS READY UP-TO-DATE AVAILABLE AGE DISTRIBUTION VERSION"),
    ("imgset", "NAME RELEASE"),
    ("ppimg", "NAME READY REASON"),
];

#[tokio::test]
async fn whole_objects_are_taken_given_back_and_shown() {
    let namespace = "whole";
    let client = client(namespace).await;
    let mut found = Vec::new();
    for kind in kinds::all().into_iter().filter(|kind| kind.whole && is_stored(kind)) {
        let object = whole(&kind);
        // What we write is what was meant.
        let written = (kind.round_trip)(&object).unwrap();
        let api = api(&client, &kind, is_namespaced(&kind).then_some(namespace));
        let created = match create(&api, &written).await {
            Ok(created) => created,
            Err(error) => {
                found.push(format!("{}: {error}", kind.name()));
                continue;
            }
        };
        assert_eq!(created["spec"], object["spec"], "{}", kind.name());
        if !object["status"].is_object() {
            continue;
        }
        let mut with_status = created;
        with_status["status"] = written["status"].clone();
        let with_status: DynamicObject = serde_json::from_value(with_status).unwrap();
        match api.replace_status(NAME, &PostParams::default(), &with_status).await {
            Ok(stored) => {
                let stored = serde_json::to_value(stored).unwrap();
                assert_eq!(stored["status"], object["status"], "{}", kind.name());
                let read = (kind.round_trip)(&stored).unwrap();
                assert_eq!(
                    (&read["spec"], &read["status"]),
                    (&object["spec"], &object["status"]),
                    "{}",
                    kind.name()
                );
            }
            Err(error) => found.push(format!("{}: {error}", kind.name())),
        }
    }
    assert!(found.is_empty(), "{found:#?}");

    for (name, head) in SHOWN {
        let output = server()
            .kubectl()
            .args(["get", name, "--namespace", namespace, "--output=wide"])
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let shown: Vec<_> = text.lines().next().unwrap_or_default().split_whitespace().collect();
        assert_eq!(shown.join(" "), *head, "{name}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[tokio::test]
async fn an_object_without_a_spec_hides_no_other() {
    let namespace = "bare";
    let client = client(namespace).await;
    let kind = kind("Agent");
    let api = api(&client, &kind, Some(namespace));
    let mut bare = schema::object(&kind, Value::Null);
    bare["metadata"]["name"] = "bare".into();
    bare.as_object_mut().unwrap().remove("spec");
    create(&api, &bare).await.unwrap();
    create(&api, &whole(&kind)).await.unwrap();

    let agents = Api::<Agent>::namespaced(client, namespace).list(&Default::default()).await.unwrap().items;
    let names: Vec<_> = agents.iter().map(ResourceExt::name_any).collect();
    assert_eq!(names, ["bare", NAME]);
    assert_eq!((agents[0].spec.role.as_str(), agents[1].spec.role.as_str()), ("", "text"));
}

/// A kind, where something is put into a whole object of it (`null` takes it away), what, and what the server says.
const REFUSED: &[(&str, &str, &str, &str)] = &[
    ("InfraEnv", "/spec/pullSecretRef", "null", "spec.pullSecretRef: Required value"),
    (
        "InfraEnv",
        "/spec/ipxeScriptType",
        r#""Sometimes""#,
        r#"spec.ipxeScriptType: Unsupported value: "Sometimes": supported values: "", "DiscoveryImageAlways", "BootOrderControl""#,
    ),
    (
        "InfraEnv",
        "/spec/kernelArguments/0/operation",
        r#""add""#,
        r#"supported values: "append", "replace", "delete""#,
    ),
    (
        "InfraEnv",
        "/spec/kernelArguments/0/value",
        r#""two words""#,
        "spec.kernelArguments[0].value in body should match",
    ),
    (
        "InfraEnv",
        "/spec/networkDiscoveryDelaySeconds",
        "-1",
        "spec.networkDiscoveryDelaySeconds in body should be greater than or equal to 0",
    ),
    ("Agent", "/spec/approved", "null", "spec.approved: Required value"),
    ("Agent", "/spec/approved", r#""yes""#, r#"spec.approved in body must be of type boolean: "string""#),
    ("Agent", "/spec/role", "null", "spec.role: Required value"),
    ("Agent", "/spec/ignitionEndpointTokenReference/namespace", "null", "namespace: Required value"),
    (
        "AgentClusterInstall",
        "/spec/networking/networkType",
        r#""Flannel""#,
        "spec.networking.networkType: Unsupported value",
    ),
    ("AgentClusterInstall", "/spec/diskEncryption/mode", r#""luks""#, r#"supported values: "tpmv2", "tang""#),
    (
        "AgentClusterInstall",
        "/spec/provisionRequirements/controlPlaneAgents",
        "null",
        "spec.provisionRequirements.controlPlaneAgents: Required value",
    ),
    ("AgentClassification", "/spec/query", "null", "spec.query: Required value"),
    (
        "NMStateConfig",
        "/spec/interfaces/0/macAddress",
        "null",
        "spec.interfaces[0].macAddress: Required value",
    ),
    ("AgentServiceConfig", "/spec/databaseStorage", "null", "spec.databaseStorage: Required value"),
    ("AgentServiceConfig", "/spec/iPXEHTTPRoute", r#""on""#, r#"supported values: "enabled", "disabled""#),
    (
        "HypershiftAgentServiceConfig",
        "/spec/kubeconfigSecretRef",
        "null",
        "spec.kubeconfigSecretRef: Required value",
    ),
    (
        "OpenshiftAssistedControlPlane",
        "/spec",
        r#"{"machineTemplate": {"spec": {"infrastructureRef": {"apiGroup": "a", "kind": "B", "name": "c"}}}}"#,
        "distributionVersion is required, as version where a topology says it",
    ),
    (
        "OpenshiftAssistedControlPlane",
        "/spec/version",
        r#""v4.20.0""#,
        "version and distributionVersion say different things: leave distributionVersion out",
    ),
    (
        "OpenshiftAssistedControlPlane",
        "/spec/machineTemplate",
        r#"{"metadata": {"labels": {"a": "b"}}}"#,
        "infrastructureRef is required, as spec.infrastructureRef where a topology says it",
    ),
    (
        "OpenshiftAssistedControlPlaneTemplate",
        "/spec/template/spec",
        "null",
        "spec.template.spec: Required value",
    ),
    (
        "MachineOSConfig",
        "/spec/machineConfigPool/name",
        r#""another""#,
        "MachineOSConfig name must match the referenced MachineConfigPool name",
    ),
];

#[tokio::test]
async fn wrong_objects_are_refused() {
    let namespace = "refused";
    let client = client(namespace).await;
    let mut found = Vec::new();
    for (name, pointer, value, text) in REFUSED {
        let kind = kind(name);
        let api = api(&client, &kind, is_namespaced(&kind).then_some(namespace));
        let mut object = whole(&kind);
        let (parent, field) = pointer.rsplit_once('/').unwrap();
        let parent = object.pointer_mut(parent).unwrap().as_object_mut().unwrap();
        match serde_json::from_str(value).unwrap() {
            Value::Null => drop(parent.remove(field).unwrap()),
            value => drop(parent.insert((*field).to_owned(), value)),
        }
        match create(&api, &object).await {
            Ok(_) => found.push(format!("{name} {pointer} {value} was taken")),
            Err(error) if error.contains(text) => {}
            Err(error) => found.push(format!("{name} {pointer} {value}: {error}")),
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}

#[tokio::test]
async fn what_can_not_change_is_refused_later() {
    let namespace = "later";
    let client = client(namespace).await;
    let kind = kind("AgentClusterInstall");
    let api = api(&client, &kind, Some(namespace));
    let mut created = create(&api, &whole(&kind)).await.unwrap();
    created["spec"]["external"]["platformName"] = "another".into();
    let changed: DynamicObject = serde_json::from_value(created).unwrap();
    let error = api.replace(NAME, &PostParams::default(), &changed).await.unwrap_err().to_string();
    assert!(error.contains("platform name cannot be changed once set"), "{error}");
}
