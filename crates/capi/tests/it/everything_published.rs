//! The shapes of manifests that are published for these kinds (capi-providers §21): several nodes, the same in the older version, a single
//! node, and both of OKD. Each is the example of the documentation, changed here; it is taken field by field, and becomes a cluster.

use assisted_crd::cluster_api::openshift_assisted_control_plane::v1alpha3::OpenshiftAssistedControlPlane as Plane;
use assisted_crd::hive::cluster_image_set::ClusterImageSet;
use assisted_crd::hive_extensions::agent_cluster_install::AgentClusterInstall;
use assisted_simhost::topology::Topology;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::PostParams;
use serde::Deserialize as _;
use serde_json::{Value, json};

use crate::core_steps::{agent, delete};
use crate::core_world::{NAMESPACE, OKD_VERSION, World};
use crate::everything_shapes::{HOSTS, becomes_available};
use crate::metal3::Metal3;
use crate::world::{Site, wait};

const FILES: [&str; 4] = ["registries", "cluster", "control-plane", "workers"];
const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f";
const QUOTED_LABEL: &str = "metal3.io/uuid=\"${METADATA_UUID}\"";
const INFRASTRUCTURE: &str = "infrastructure.cluster.x-k8s.io";
/// Kinds of metal3 that the examples have.
const METAL3: [&str; 4] =
    ["metal3clusters", "metal3machines", "metal3machinetemplates", "metal3datatemplates"];

/// A shape of manifests.
struct Published {
    name: &'static str,
    hosts: usize,
    /// What it has instead of what the example has.
    change: fn(&mut Vec<Value>),
}

impl Published {
    fn control_planes(&self) -> u32 {
        self.hosts.min(3).try_into().unwrap()
    }
}

const SINGLE: Published = Published { name: "single", hosts: 1, change: single };
const SEVERAL_OKD: Published = Published { name: "several-okd", hosts: HOSTS, change: several_okd };
const PUBLISHED: [Published; 5] = [
    Published { name: "several", hosts: HOSTS, change: |objects| several(objects) },
    Published { name: "several-older", hosts: HOSTS, change: |objects| several_older(objects) },
    SINGLE,
    Published { name: "single-okd", hosts: 1, change: single_okd },
    SEVERAL_OKD,
];

/// The objects of a kind.
fn of<'a>(objects: &'a mut [Value], kind: &'a str) -> impl Iterator<Item = &'a mut Value> {
    objects.iter_mut().filter(move |object| object["kind"] == kind)
}

/// What is said of each node, in the control plane and in the template of workers.
fn configs(objects: &mut [Value]) -> impl Iterator<Item = &mut Value> {
    objects.iter_mut().filter_map(|object| match object["kind"].as_str()? {
        "OpenshiftAssistedControlPlane" => object["spec"].get_mut("openshiftAssistedConfigSpec"),
        "OpenshiftAssistedConfigTemplate" => object["spec"]["template"].get_mut("spec"),
        _ => None,
    })
}

fn several(objects: &mut [Value]) {
    for cluster in of(objects, "Cluster") {
        cluster["spec"]["clusterNetwork"] = json!({
            "pods": {"cidrBlocks": ["172.18.0.0/20"]}, "services": {"cidrBlocks": ["10.96.0.0/12"]},
        });
    }
    for plane in of(objects, "OpenshiftAssistedControlPlane") {
        plane["metadata"]["annotations"] = json!({});
        plane["spec"]["config"]["sshAuthorizedKey"] = json!(KEY);
    }
    for config in configs(objects) {
        config["sshAuthorizedKey"] = json!(KEY);
    }
}

/// The kinds of the providers in their older versions.
fn several_older(objects: &mut [Value]) {
    several(objects);
    older_control_plane(objects);
    for template in of(objects, "OpenshiftAssistedConfigTemplate") {
        template["apiVersion"] = json!("bootstrap.cluster.x-k8s.io/v1alpha1");
    }
}

fn older_control_plane(objects: &mut [Value]) {
    for plane in of(objects, "OpenshiftAssistedControlPlane") {
        plane["apiVersion"] = json!("controlplane.cluster.x-k8s.io/v1alpha2");
        let reference = &mut plane["spec"]["machineTemplate"]["infrastructureRef"];
        *reference = json!({
            "apiVersion": format!("{INFRASTRUCTURE}/v1beta1"), "kind": reference["kind"], "name": reference["name"],
        });
    }
}

fn single(objects: &mut Vec<Value>) {
    several(objects);
    older_control_plane(objects);
    objects.retain(|object| object["metadata"]["name"] != "demo-workers");
    for plane in of(objects, "OpenshiftAssistedControlPlane") {
        plane["spec"]["replicas"] = json!(1);
        plane["spec"]["config"].as_object_mut().unwrap().retain(|member, _| !member.ends_with("VIPs"));
    }
    labels_in_quotes(objects);
}

/// Nodes have the names that they come with.
fn labels_in_quotes(objects: &mut [Value]) {
    for config in configs(objects) {
        config["nodeRegistration"] = json!({"kubeletExtraLabels": [QUOTED_LABEL]});
    }
}

/// Another distribution, for which nobody needs credentials.
fn okd(objects: &mut Vec<Value>) {
    objects.retain(|object| object["kind"] != "Secret");
    for plane in of(objects, "OpenshiftAssistedControlPlane") {
        plane["spec"]["distributionVersion"] = json!(OKD_VERSION);
        plane["spec"]["config"].as_object_mut().unwrap().remove("pullSecretRef");
    }
    for config in configs(objects) {
        config.as_object_mut().unwrap().remove("pullSecretRef");
    }
    for mirrors in of(objects, "ConfigMap") {
        let registries = &mut mirrors["data"]["registries.conf"];
        let published = registries
            .as_str()
            .unwrap()
            .replace("quay.io/openshift-release-dev/ocp-release", "quay.io/okd/scos-release");
        *registries = json!(published);
    }
}

fn single_okd(objects: &mut Vec<Value>) {
    single(objects);
    okd(objects);
}

/// And metal3 in its newer version.
fn several_okd(objects: &mut Vec<Value>) {
    several(objects);
    okd(objects);
    labels_in_quotes(objects);
    for object in objects {
        if object["apiVersion"].as_str().unwrap().starts_with(INFRASTRUCTURE) {
            object["apiVersion"] = json!(format!("{INFRASTRUCTURE}/v1beta2"));
        }
        if object["kind"] == "Metal3Cluster" {
            object["spec"].as_object_mut().unwrap().remove("noCloudProvider");
            object["spec"]["cloudProviderEnabled"] = json!(false);
        }
    }
}

/// The manifests, changed.
fn manifests(world: &World, published: &Published) -> Vec<Value> {
    let mut objects = Vec::new();
    for file in FILES {
        let text = world.example(&format!("cluster-api/{file}"));
        objects
            .extend(serde_yaml_ng::Deserializer::from_str(&text).map(|one| Value::deserialize(one).unwrap()));
    }
    (published.change)(&mut objects);
    objects
}

fn list(objects: &[Value]) -> String {
    json!({"apiVersion": "v1", "kind": "List", "items": objects}).to_string()
}

/// Where an object that was read lacks what was given.
fn lacks(given: &Value, read: &Value) -> Vec<String> {
    let mut lacks = Vec::new();
    missing(given, read, "", &mut lacks);
    lacks
}

fn missing(given: &Value, read: &Value, place: &str, lacks: &mut Vec<String>) {
    match (given, read) {
        (Value::Object(members), Value::Object(found)) => {
            for (name, member) in members {
                // What is given there is read as `data`.
                if name != "stringData" {
                    let found = found.get(name).unwrap_or(&Value::Null);
                    missing(member, found, &format!("{place}.{name}"), lacks);
                }
            }
        }
        (Value::Array(items), Value::Array(found)) if items.len() == found.len() => {
            for (index, (item, found)) in items.iter().zip(found).enumerate() {
                missing(item, found, &format!("{place}[{index}]"), lacks);
            }
        }
        // An empty map is not kept.
        (Value::Object(members), Value::Null) if members.is_empty() => {}
        _ if given != read => lacks.push(format!("{place} is {read}, not {given}")),
        _ => {}
    }
}

/// Applies the manifests. `kubectl` refuses fields that a kind does not have; read in the version in which each was given, none is lost.
async fn apply(world: &World, namespace: &'static str, published: &Published) {
    let objects = manifests(world, published);
    world.apply(namespace, list(&objects)).await;
    let get = ["--namespace", namespace, "get", "--filename=-", "--output=json"];
    let read: Value = serde_json::from_str(&world.kubectl_with(&get, &list(&objects)).await).unwrap();
    let read = read["items"].as_array().unwrap();
    assert_eq!(read.len(), objects.len());
    for (given, read) in objects.iter().zip(read) {
        let lacks = lacks(given, read);
        assert!(lacks.is_empty(), "{}: {} lacks {lacks:#?}", published.name, given["kind"]);
    }
}

/// Metal3 of a newer series: its kinds are served in a newer version, too, which fits the newer contract of Cluster API.
async fn renew_metal3(world: &World) {
    let definitions: Api<CustomResourceDefinition> = Api::all(world.site.client.clone());
    for kind in METAL3 {
        let name = format!("{kind}.{INFRASTRUCTURE}");
        let mut definition = json!(definitions.get(&name).await.unwrap());
        definition["metadata"]["labels"]["cluster.x-k8s.io/v1beta2"] = json!("v1beta2");
        let versions = definition["spec"]["versions"].as_array_mut().unwrap();
        let status = "/schema/openAPIV3Schema/properties/status/properties";
        if let Some(status) = versions[0].pointer_mut(status) {
            status["initialization"] =
                json!({"type": "object", "properties": {"provisioned": {"type": "boolean"}}});
        }
        let mut newer = versions[0].clone();
        (newer["name"], newer["storage"]) = (json!("v1beta2"), json!(false));
        versions.push(newer);
        let definition = serde_json::from_value(definition).unwrap();
        definitions.replace(&name, &PostParams::default(), &definition).await.unwrap();
        wait(&format!("{name} is served in the newer version"), async || {
            let path = format!("/apis/{INFRASTRUCTURE}/v1beta2/namespaces/default/{kind}");
            let request = http::Request::get(path).body(Vec::new()).unwrap();
            world.site.client.request::<Value>(request).await.is_ok()
        })
        .await;
    }
}

/// From the manifests to a Cluster that is available.
async fn install(world: &World, published: &Published, topology: Topology) {
    *world.metal3.control_planes.lock().unwrap() = Some(published.control_planes());
    world.kubectl(&["create", "namespace", NAMESPACE]).await;
    apply(world, NAMESPACE, published).await;
    becomes_available(world, topology, published.hosts).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_of_each_published_shape_is_taken_and_its_machines_boot() {
    let world = World::launch().await;
    renew_metal3(&world).await;
    let mut playing = Vec::new();
    for published in &PUBLISHED {
        let namespace = published.name;
        world.kubectl(&["create", "namespace", namespace]).await;
        apply(&world, namespace, published).await;
        let site = Site { client: world.site.client.clone(), namespace, service: world.address };
        let metal3 = Metal3::start(site.clone());
        wait(&format!("the machines of {namespace} boot"), async || metal3.booted().len() == published.hosts)
            .await;
        playing.push(metal3);

        let install = json!(site.find::<AgentClusterInstall>("demo").await.unwrap())["spec"].take();
        let networking = &install["networking"];
        assert_eq!(networking["clusterNetwork"][0]["cidr"], "172.18.0.0/20", "{namespace}");
        assert_eq!(networking["serviceNetwork"], json!(["10.96.0.0/12"]), "{namespace}");
        assert_eq!(install["sshPublicKey"], KEY, "{namespace}");
        let masters = published.control_planes();
        let workers = published.hosts - masters as usize;
        let requirements = json!({"controlPlaneAgents": masters, "workerAgents": workers});
        let lacks = lacks(&requirements, &install["provisionRequirements"]);
        assert!(lacks.is_empty(), "{namespace}: {lacks:#?}");
        let has_vips = install["apiVIPs"] == json!(["10.0.0.2"]);
        assert_eq!(has_vips, published.hosts > 1, "{namespace}: {install:#}");
        let set = install["imageSetRef"]["name"].as_str().unwrap().to_owned();
        let sets: Api<ClusterImageSet> = Api::all(world.site.client.clone());
        let image = sets.get(&set).await.unwrap().spec.release_image;
        let place = if namespace.ends_with("okd") {
            "quay.io/okd/scos-release@sha256:"
        } else {
            "quay.io/openshift-release-dev/ocp-release@sha256:"
        };
        assert!(image.starts_with(place), "{namespace}: {image}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_of_okd_with_a_newer_metal3() {
    let world = World::launch().await;
    renew_metal3(&world).await;
    install(&world, &SEVERAL_OKD, Topology::Ha).await;
    // Machines of the control plane are made by the provider, in the version that fits.
    let args = [
        "get",
        "metal3machines",
        "--selector=cluster.x-k8s.io/control-plane",
        "--show-managed-fields",
        "--output=json",
    ];
    let made: Value = serde_json::from_str(&world.kubectl(&args).await).unwrap();
    let made = made["items"].as_array().unwrap();
    assert_eq!(made.len(), 3);
    for machine in made {
        let writes = machine["metadata"]["managedFields"].as_array().unwrap();
        let newer = format!("{INFRASTRUCTURE}/v1beta2");
        assert!(writes.iter().any(|write| write["apiVersion"] == newer), "{machine:#}");
    }
    for booted in world.metal3.booted() {
        let role = if booted.is_control_plane { "master" } else { "worker" };
        let agent = agent(&world, &booted.machine, role).await;
        let over = agent.spec.ignition_config_overrides;
        assert!(over.contains("metal3.io/uuid=${METADATA_UUID}"), "{over}");
        // Nobody has given it a name.
        let data = world.site.find::<Secret>(&booted.machine).await.unwrap().data.unwrap();
        let ignition = String::from_utf8(data["value"].0.clone()).unwrap();
        assert!(!ignition.contains("set_hostname"), "{ignition}");
    }
    delete(&world).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_of_a_single_node_in_the_older_version() {
    let world = World::launch().await;
    install(&world, &SINGLE, Topology::Sno).await;
    assert_eq!(world.site.find::<Plane>("demo").await.unwrap().spec.replicas, Some(1));
    let older: Value = serde_json::from_str(
        &world
            .kubectl(&[
                "get",
                "openshiftassistedcontrolplanes.v1alpha2.controlplane.cluster.x-k8s.io",
                "demo",
                "--output=json",
            ])
            .await,
    )
    .unwrap();
    let status = json!({"initialized": true, "ready": true, "readyReplicas": 1});
    let lacks = lacks(&status, &older["status"]);
    assert!(lacks.is_empty(), "{lacks:#?}");
    delete(&world).await;
}
