//! The control-plane provider.

use assisted_crd::cluster_api::cluster::Cluster;
use assisted_crd::cluster_api::labels::{annotation, finalizer, label};
use assisted_crd::cluster_api::machine::Machine;
use assisted_crd::cluster_api::machine_deployment::MachineDeployment;
use assisted_crd::cluster_api::metal3_machine::Metal3Machine;
use assisted_crd::cluster_api::metal3_machine_template::Metal3MachineTemplate;
use assisted_crd::cluster_api::openshift_assisted_config::v1alpha2::OpenshiftAssistedConfig;
use assisted_crd::cluster_api::openshift_assisted_control_plane::v1alpha3::OpenshiftAssistedControlPlane;
use assisted_crd::hive::cluster_deployment::ClusterDeployment;
use assisted_crd::hive::cluster_image_set::ClusterImageSet;
use assisted_crd::hive_extensions::agent_cluster_install::{AgentClusterInstall, PlatformType};
use assisted_kube::error::optional;
use assisted_testkit::kube::Kube;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::{Api, ResourceExt};
use serde_json::json;

use crate::world::{Site, plane_said};

type Plane = OpenshiftAssistedControlPlane;
type Install = AgentClusterInstall;

/// How far the installation is.
pub async fn state(site: &Site, plane: &str, state: &str) {
    site.status::<Install>(plane, json!({"debugInfo": {"state": state}})).await;
}

/// The installer gives the kubeconfig out: that of the management cluster, whose API answers.
pub async fn kubeconfig(site: &Site, plane: &str, kubeconfig: &str) {
    let name = format!("{plane}-admin-kubeconfig");
    let mut secret = Secret::default();
    secret.metadata.name = Some(name.clone());
    secret.data = Some([("kubeconfig".to_owned(), ByteString(kubeconfig.as_bytes().to_vec()))].into());
    site.create::<Secret>(&name, serde_json::to_value(&secret).unwrap()).await;
    let metadata = json!({"adminKubeconfigSecretRef": {"name": name}, "clusterID": "c", "infraID": "i"});
    site.merge::<Install>(plane, json!({"spec": {"clusterMetadata": metadata}})).await;
}

/// The machines run, as Cluster API sees it.
pub async fn run(site: &Site, machines: &[Machine]) {
    for machine in machines {
        let name = machine.name_any();
        // The core takes the machine of the infrastructure into its own.
        let clone = site.find::<Metal3Machine>(&name).await.unwrap();
        let mut owners = json!(clone.owner_references());
        owners.as_array_mut().unwrap().push(json!({
            "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "name": name, "uid": machine.uid().unwrap(),
        }));
        site.merge::<Metal3Machine>(&name, json!({"metadata": {"ownerReferences": owners}})).await;
        site.machine_is(&name, &[("Ready", "True"), ("Available", "True")]).await;
    }
}

/// A cluster that is installed, with all its machines.
async fn installed(site: &Site, fields: serde_json::Value, replicas: usize) -> Vec<Machine> {
    site.control_plane("cluster", "plane", fields).await;
    site.infrastructure("cluster").await;
    let machines = site.machines("plane", replicas).await;
    run(site, &machines).await;
    state(site, "plane", "adding-hosts").await;
    site.plane_says("plane", "MachinesReady", "MachinesReady").await;
    machines
}

fn names(machines: &[Machine]) -> Vec<String> {
    machines.iter().map(ResourceExt::name_any).collect()
}

#[tokio::test]
async fn a_cluster_is_described_and_its_machines_come() {
    let site = Site::new("described").await;
    let annotations = json!({annotation::IGNITION_OVERRIDE: "{}", annotation::CONVERSION_DATA: "{}"});
    let metadata = json!({"labels": {"tier": "gold", label::CLUSTER_NAME: "forged"}, "annotations": {"from": "template"}});
    let config = json!({
        "apiVIPs": ["192.0.2.1"], "ingressVIPs": ["192.0.2.2"], "sshAuthorizedKey": "key", "clusterName": "prettier",
    });
    let of_hosts = json!({"sshAuthorizedKey": "key", "nodeRegistration": {"name": "$METADATA_NAME"}});
    let spec = json!({"config": config, "machineTemplate": {"metadata": metadata}, "openshiftAssistedConfigSpec": of_hosts});
    site.control_plane("cluster", "plane", json!({"spec": spec, "annotations": annotations})).await;
    let waits = site.plane_says("plane", "Available", "WaitingForClusterInfrastructure").await;
    assert_eq!(waits.metadata.finalizers.as_deref(), Some(&[finalizer::CONTROL_PLANE.to_owned()][..]));
    let domain = |name: &str, control_plane: bool| json!({"name": name, "controlPlane": control_plane});
    let domains = [domain("a", true), domain("b", true), domain("c", true), domain("d", false)];
    site.status::<Cluster>("cluster", json!({"failureDomains": domains})).await;
    let workers = json!({"metadata": {}, "spec": {"clusterName": "cluster", "replicas": 2, "selector": {},
        "template": {"spec": {"clusterName": "cluster", "bootstrap": {"dataSecretName": "x"},
        "infrastructureRef": {"apiGroup": "g", "kind": "K", "name": "n"}}}}});
    site.create::<MachineDeployment>("workers", workers).await;
    site.infrastructure("cluster").await;

    // The installer's objects.
    let install = site.until("plane", |install: &Install| install.spec.image_set_ref.is_some()).await;
    assert_eq!(install.spec.platform_type, Some(PlatformType::BareMetal));
    let requirements = &install.spec.provision_requirements;
    assert_eq!((requirements.control_plane_agents, requirements.worker_agents), (3, Some(2)));
    assert_eq!(install.labels()[label::CLUSTER_NAME], "cluster");
    assert_eq!(install.labels()["tier"], "gold");
    assert!(install.annotations()[annotation::INSTALL_CONFIG_OVERRIDES].contains("baremetal"));
    let image_set: ClusterImageSet = Api::all(site.client.clone()).get("described.plane").await.unwrap();
    let release = image_set.spec.release_image;
    assert!(release.starts_with("quay.io/openshift-release-dev/ocp-release@sha256:"), "{release}");
    let deployment = site.find::<ClusterDeployment>("plane").await.unwrap();
    assert_eq!(deployment.spec.cluster_name, "prettier");
    assert_eq!(deployment.labels()[label::CLUSTER_NAME], "cluster");
    let placeholder = deployment.spec.pull_secret_ref.unwrap().name;
    assert_eq!(placeholder, "plane-placeholder-pull-secret");
    assert!(site.find::<Secret>(&placeholder).await.is_some());
    assert_eq!(install.spec.manifests_config_map_refs[0].name, "plane-additional-registry-config");
    let manifests = site.find::<ConfigMap>("plane-additional-registry-config").await.unwrap();
    assert!(manifests.data.unwrap()["image-digest-mirror-set.json"].contains("/ocp/release"));

    // The template goes with the Cluster, as those of workers do.
    let adopted = |template: &Metal3MachineTemplate| {
        template.owner_references().iter().any(|owner| owner.kind == "Cluster")
    };
    site.until("plane", adopted).await;

    // Three machines, each in a place of its own, all of one name.
    let machines = site.machines("plane", 3).await;
    let mut places: Vec<_> = machines.iter().map(|machine| machine.spec.failure_domain.as_str()).collect();
    places.sort_unstable();
    assert_eq!(places, ["a", "b", "c"]);
    for machine in &machines {
        let name = machine.name_any();
        assert!(name.starts_with("plane-") && name.len() == "plane-".len() + 5, "{name}");
        assert_eq!(machine.labels()[label::CLUSTER_NAME], "cluster");
        assert_eq!(machine.labels()[label::CONTROL_PLANE], "");
        assert_eq!(machine.labels()[label::CONTROL_PLANE_NAME], "plane");
        assert_eq!(machine.annotations()[annotation::BMAC_ROLE], "master");
        assert_eq!(machine.owner_references()[0].controller, Some(true));
        assert_eq!(machine.spec.infrastructure_ref.kind, "Metal3Machine");
        let clone = site.find::<Metal3Machine>(&name).await.unwrap();
        assert_eq!(clone.annotations()[annotation::CLONED_FROM_NAME], "plane");
        assert_eq!(clone.spec.image.unwrap().url, "http://images/disk");
        let config = site.find::<OpenshiftAssistedConfig>(&name).await.unwrap();
        assert_eq!(config.annotations()[annotation::IGNITION_OVERRIDE], "{}");
        assert_eq!(config.annotations()["from"], "template");
        assert!(!config.annotations().contains_key(annotation::CONVERSION_DATA));
        assert_eq!(config.spec.ssh_authorized_key, "key");
        assert_eq!(config.labels()[label::CLUSTER_NAME], "cluster");
    }
    site.plane_says("plane", "MachinesCreated", "MachinesCreated").await;
    let is_counted = |plane: &Plane| plane.status.as_ref().unwrap().up_to_date_replicas == Some(3);
    let told = site.until("plane", is_counted).await;
    let status = told.status.clone().unwrap();
    assert_eq!((status.replicas, status.ready_replicas), (Some(3), Some(0)));
    assert_eq!(status.version, "1.33.4");
    assert_eq!(
        status.selector,
        "cluster.x-k8s.io/cluster-name=cluster,cluster.x-k8s.io/control-plane-name=plane"
    );
    assert_eq!(plane_said(&told, "MachinesReady"), ("MachinesNotReady", "0 of 3 machines are ready"));
    assert_eq!(plane_said(&told, "KubernetesVersionAvailable").0, "KubernetesVersionAvailable");
    assert_eq!(plane_said(&told, "Paused").0, "NotPaused");

    // Workers are counted until the installation begins, and what it began with stays.
    site.merge::<MachineDeployment>("workers", json!({"spec": {"replicas": 4}})).await;
    site.until("plane", |install: &Install| install.spec.provision_requirements.worker_agents == Some(4))
        .await;
    state(&site, "plane", "installing").await;
    site.until("plane", |plane: &Plane| plane_said(plane, "Available").1.ends_with("status: installing"))
        .await;
    site.merge::<MachineDeployment>("workers", json!({"spec": {"replicas": 1}})).await;
    site.merge::<Plane>("plane", json!({"spec": {"replicas": 5}})).await;
    let held = site.plane_says("plane", "ScalingUp", "ScalingUp").await;
    assert_eq!(
        plane_said(&held, "ScalingUp").1,
        "Scaling up from 3 to 5 machines: the installation is under way"
    );
    let begun = site.find::<Install>("plane").await.unwrap().spec.provision_requirements;
    assert_eq!((begun.control_plane_agents, begun.worker_agents), (3, Some(4)));
    assert_eq!(site.machines("plane", 3).await.len(), 3);

    // A machine that is no more what the template says is told, and stays.
    let change =
        json!({"spec": {"replicas": 3, "machineTemplate": {"deletion": {"nodeDrainTimeoutSeconds": 30}}}});
    site.merge::<Plane>("plane", change).await;
    let told = site.plane_says("plane", "MachinesUpToDate", "NotUpToDate").await;
    assert_eq!(told.status.unwrap().up_to_date_replicas, Some(0));
    let one = site.find::<Machine>(&machines[0].name_any()).await.unwrap();
    assert_eq!(one.condition("UpToDate"), Some("False"));
    site.merge::<Plane>("plane", json!({"spec": {"machineTemplate": {"deletion": null}}})).await;
    site.plane_says("plane", "MachinesUpToDate", "UpToDate").await;
}

#[tokio::test]
async fn the_kubeconfig_and_the_conditions_follow_the_installation() {
    let site = Site::new("followed").await;
    site.control_plane("cluster", "plane", json!({"spec": {"replicas": 1}})).await;
    site.infrastructure("cluster").await;
    let machines = site.machines("plane", 1).await;
    let none = site.plane_says("plane", "KubeconfigAvailable", "KubeconfigUnavailable").await;
    assert_eq!(plane_said(&none, "KubeconfigAvailable").1, "Kubeconfig not available");
    let install = site.find::<Install>("plane").await.unwrap();
    assert_eq!(install.spec.platform_type, Some(PlatformType::None));
    assert_eq!(install.spec.provision_requirements.worker_agents, Some(0));

    // A secret that is missing is told.
    state(&site, "plane", "installing").await;
    let metadata = json!({"adminKubeconfigSecretRef": {"name": "nowhere"}, "clusterID": "c", "infraID": "i"});
    site.merge::<Install>("plane", json!({"spec": {"clusterMetadata": metadata}})).await;
    site.until("plane", |plane: &Plane| {
        plane_said(plane, "KubeconfigAvailable").1.starts_with("error retrieving Kubeconfig ")
    })
    .await;
    let kube = tokio::task::spawn_blocking(|| Kube::start().unwrap()).await.unwrap();
    let text = std::fs::read_to_string(kube.kubeconfig()).unwrap();
    kubeconfig(&site, "plane", &text).await;
    let handed = site.until("cluster-kubeconfig", |secret: &Secret| secret.data.is_some()).await;
    assert_eq!(handed.type_.as_deref(), Some("cluster.x-k8s.io/secret"));
    assert_eq!(handed.labels()[label::CLUSTER_NAME], "cluster");
    assert_eq!(handed.owner_references()[0].controller, Some(true));
    assert_eq!(handed.data.unwrap()["value"].0, text.as_bytes());
    // The API answers.
    let is_initialized = |plane: &Plane| {
        let initialization = plane.status.as_ref().and_then(|status| status.initialization.clone());
        initialization.and_then(|initialization| initialization.control_plane_initialized) == Some(true)
    };
    let installing = site.until("plane", is_initialized).await;
    assert_eq!(plane_said(&installing, "Available").0, "ControlPlaneInstalling");

    // Another one is handed on as well.
    let changed = format!("{text}# final\n");
    let data = json!({"kubeconfig": ByteString(changed.clone().into_bytes())});
    site.merge::<Secret>("plane-admin-kubeconfig", json!({"data": data})).await;
    state(&site, "plane", "finalizing").await;
    site.plane_says("plane", "Available", "Available").await;
    site.until("cluster-kubeconfig", |secret: &Secret| {
        secret.data.as_ref().unwrap()["value"].0 == changed.as_bytes()
    })
    .await;
    run(&site, &machines).await;
    let ready = site.plane_says("plane", "Ready", "Ready").await.status.unwrap();
    assert_eq!((ready.ready_replicas, ready.available_replicas), (Some(1), Some(1)));
    // What the installer says later makes nothing unavailable.
    state(&site, "plane", "error").await;
    site.merge::<Plane>("plane", json!({"metadata": {"annotations": {"look": "again"}}})).await;
    site.machine_is(&machines[0].name_any(), &[("Ready", "False")]).await;
    let broken = site.plane_says("plane", "MachinesReady", "MachinesNotReady").await;
    assert_eq!(plane_said(&broken, "Available").0, "Available");
    assert_eq!(plane_said(&broken, "Ready").1, "MachinesReady: 0 of 1 machines are ready");
}

#[tokio::test]
async fn a_control_plane_grows_and_shrinks_one_machine_at_a_time() {
    let site = Site::new("scaled").await;
    installed(&site, json!({}), 3).await;
    site.merge::<Plane>("plane", json!({"spec": {"replicas": 5}})).await;
    let five = site.machines("plane", 5).await;
    run(&site, &five).await;
    site.plane_says("plane", "MachinesReady", "MachinesReady").await;

    // The one that is marked goes first; the next one only when it is gone.
    let marked = five[4].name_any();
    let marks = json!({"metadata": {"annotations": {annotation::DELETE_MACHINE: ""}, "finalizers": ["example.com/drain"]}});
    site.merge::<Machine>(&marked, marks).await;
    site.merge::<Plane>("plane", json!({"spec": {"replicas": 3}})).await;
    site.until(&marked, |machine: &Machine| machine.metadata.deletion_timestamp.is_some()).await;
    site.until("plane", |plane: &Plane| {
        plane_said(plane, "ScalingDown").1 == "Scaling down from 4 to 3 machines: 1 machines are leaving"
    })
    .await;
    assert_eq!(site.machines("plane", 4).await.len(), 4);
    site.merge::<Machine>(&marked, json!({"metadata": {"finalizers": null}})).await;
    let three = site.machines("plane", 3).await;
    assert!(!names(&three).contains(&marked));
    site.plane_says("plane", "ScalingDown", "NotScalingDown").await;

    // Fewer than three is a person's decision, and never one that takes the quorum along.
    site.merge::<Plane>("plane", json!({"spec": {"replicas": 2}})).await;
    site.until("plane", |plane: &Plane| plane_said(plane, "ScalingDown").1.contains("confirm-replicas"))
        .await;
    let broken = three[0].name_any();
    site.machine_is(&broken, &[("Ready", "False")]).await;
    site.machine_is(&three[1].name_any(), &[("Ready", "False")]).await;
    let confirm = json!({"metadata": {"annotations": {annotation::CONFIRM_REPLICAS: "2"}}});
    site.merge::<Plane>("plane", confirm).await;
    site.until("plane", |plane: &Plane| plane_said(plane, "ScalingDown").1.contains("etcd needs 2 of 3"))
        .await;
    assert_eq!(site.machines("plane", 3).await.len(), 3);
    site.machine_is(&three[1].name_any(), &[("Ready", "True")]).await;
    let two = site.machines("plane", 2).await;
    assert!(!names(&two).contains(&broken));
}

#[tokio::test]
async fn what_a_health_check_gives_up_is_replaced() {
    let site = Site::new("remediated").await;
    let machines = installed(&site, json!({}), 3).await;
    let broken = machines[1].name_any();
    let other = machines[2].name_any();
    // Two broken ones of three: nobody may go.
    site.machine_is(&other, &[("Ready", "False")]).await;
    let gives_up = [("Ready", "False"), ("HealthCheckSucceeded", "False"), ("OwnerRemediated", "False")];
    site.machine_is(&broken, &gives_up).await;
    let told =
        site.until("plane", |plane: &Plane| plane_said(plane, "Remediating").1.contains("waits")).await;
    assert!(plane_said(&told, "Remediating").1.contains("etcd needs 2 of 3"), "{told:#?}");
    assert_eq!(names(&site.machines("plane", 3).await).iter().filter(|name| **name == broken).count(), 1);
    site.machine_is(&other, &[("Ready", "True")]).await;
    site.gone::<Machine>(&broken).await;
    let after = site.machines("plane", 3).await;
    assert!(!names(&after).contains(&broken));
    site.plane_says("plane", "Remediating", "NotRemediating").await;
}

#[tokio::test]
async fn a_control_plane_goes_after_everything_that_it_made() {
    let site = Site::new("removed").await;
    let machines = installed(&site, json!({}), 3).await;
    let labels = json!({"cluster.x-k8s.io/cluster-name": "cluster"});
    let spec = json!({"clusterName": "cluster", "bootstrap": {"dataSecretName": "x"},
        "infrastructureRef": {"apiGroup": "g", "kind": "K", "name": "n"}});
    site.create::<Machine>("worker", json!({"metadata": {"labels": labels}, "spec": spec})).await;
    let held = json!({"metadata": {"finalizers": ["example.com/drain"]}});
    site.merge::<Machine>(&machines[0].name_any(), held.clone()).await;
    site.merge::<Install>("plane", held).await;
    site.delete::<Plane>("plane").await;
    let waits = site.plane_says("plane", "Deleting", "Deleting").await;
    assert!(plane_said(&waits, "Deleting").1.starts_with("1 machines of the cluster"), "{waits:#?}");
    assert_eq!(site.machines("plane", 3).await.len(), 3);
    site.delete::<Machine>("worker").await;
    site.until("plane", |plane: &Plane| plane_said(plane, "Deleting").1 == "1 machines are leaving").await;
    assert!(site.find::<ClusterDeployment>("plane").await.is_some());
    let released = json!({"metadata": {"finalizers": null}});
    site.merge::<Machine>(&machines[0].name_any(), released.clone()).await;
    site.until("plane", |plane: &Plane| {
        plane_said(plane, "Deleting").1 == "the installer forgets the cluster"
    })
    .await;
    site.gone::<ClusterDeployment>("plane").await;
    site.merge::<Install>("plane", released).await;
    site.gone::<Plane>("plane").await;
    let image_sets: Api<ClusterImageSet> = Api::all(site.client.clone());
    assert!(optional(image_sets.get("removed.plane").await).unwrap().is_none());
}

#[tokio::test]
async fn what_can_t_be_done_is_told() {
    let site = Site::new("refused").await;
    // Two clusters of the same names in two namespaces do not meet.
    let other = Site::new("refused-twin").await;
    other.control_plane("cluster", "plane", json!({"spec": {"replicas": 1}})).await;
    other.infrastructure("cluster").await;

    let foreign = json!({"metadata": {}, "spec": {"baseDomain": "d", "clusterName": "c", "platform": {}}});
    site.create::<ClusterDeployment>("plane", foreign).await;
    site.control_plane("cluster", "plane", json!({"spec": {"distributionVersion": "4.13.9"}})).await;
    let old = site.plane_says("plane", "MachinesCreated", "MachineGenerationFailed").await;
    assert_eq!(
        plane_said(&old, "MachinesCreated").1,
        "version 4.13.9 is not supported, the minimum supported version is 4.14.0"
    );
    site.infrastructure("cluster").await;
    let annotations = json!({annotation::PAUSED: ""});
    site.merge::<Plane>("plane", json!({"metadata": {"annotations": annotations}})).await;
    site.plane_says("plane", "Paused", "Paused").await;
    site.merge::<Plane>("plane", json!({"spec": {"distributionVersion": "4.20.0", "replicas": 1}})).await;
    assert!(site.find::<Install>("plane").await.is_none());
    let resumed = json!({"metadata": {"annotations": {annotation::PAUSED: null}}});
    site.merge::<Plane>("plane", resumed).await;
    site.until("plane", |plane: &Plane| {
        plane_said(plane, "Available").1
            == "there is a ClusterDeployment refused/plane already, which belongs to somebody else"
    })
    .await;
    site.delete::<ClusterDeployment>("plane").await;
    site.until("plane", |install: &Install| install.spec.image_set_ref.is_some()).await;
    let machines = site.machines("plane", 1).await;

    // A release that is not to be had holds up no machine.
    site.merge::<Plane>("plane", json!({"spec": {"distributionVersion": "4.20.9", "replicas": 2}})).await;
    let told = site.plane_says("plane", "KubernetesVersionAvailable", "KubernetesVersionUnavailable").await;
    assert!(plane_said(&told, "KubernetesVersionAvailable").1.contains("4.20.9-x86_64"), "{told:#?}");
    site.machines("plane", 2).await;
    let templates: Api<Metal3MachineTemplate> = site.api();
    templates.delete("plane", &kube::api::DeleteParams::default()).await.unwrap();
    site.merge::<Plane>("plane", json!({"spec": {"distributionVersion": "4.20.0", "replicas": 3}})).await;
    let told = site.plane_says("plane", "MachinesCreated", "InfrastructureTemplateCloningFailed").await;
    assert!(plane_said(&told, "MachinesCreated").1.starts_with("error fetching infrastructure template: "));
    site.merge::<ConfigMap>("plane-mirrors", json!({"data": {"registries.conf": "[["}})).await;
    site.merge::<Plane>("plane", json!({"spec": {"replicas": 2}})).await;
    site.plane_says("plane", "MachinesCreated", "MachinesCreated").await;

    let twin = other.machines("plane", 1).await;
    assert_ne!(names(&twin), names(&machines));
    let image_sets: Api<ClusterImageSet> = Api::all(site.client.clone());
    for name in ["refused.plane", "refused-twin.plane"] {
        image_sets.get(name).await.unwrap();
    }
    // A cluster of somebody else's is left alone, and so is what belongs to nobody.
    let nobody = json!({"metadata": {}, "spec": {"config": {"baseDomain": "d"}, "distributionVersion": "4.20.0",
        "machineTemplate": {"infrastructureRef": {"apiGroup": "g.example.com", "kind": "K", "name": "n"}}}});
    site.create::<Plane>("nobody", nobody).await;
    site.merge::<Plane>("plane", json!({"metadata": {"annotations": {"look": "again"}}})).await;
    site.until("plane", |plane: &Plane| plane.status.as_ref().unwrap().replicas == Some(2)).await;
    let untouched = site.find::<Plane>("nobody").await.unwrap();
    assert!(untouched.status.is_none() && untouched.metadata.finalizers.is_none());
}

#[tokio::test]
async fn what_a_killed_provider_left_is_taken_into_use() {
    let site = Site::new("left-over").await;
    let plane = site.control_plane("cluster", "plane", json!({})).await;
    // A clone without config and Machine, and one of another template.
    for (name, template) in [("plane-left1", "plane"), ("plane-other", "another")] {
        let labels = json!({label::CLUSTER_NAME: "cluster", label::CONTROL_PLANE: "", label::CONTROL_PLANE_NAME: "plane"});
        let owner = json!([{"apiVersion": "controlplane.cluster.x-k8s.io/v1alpha3", "kind": "OpenshiftAssistedControlPlane",
            "name": "plane", "uid": plane.uid().unwrap()}]);
        let annotations = json!({annotation::CLONED_FROM_NAME: template});
        let metadata = json!({"labels": labels, "ownerReferences": owner, "annotations": annotations});
        site.create::<Metal3Machine>(name, json!({"metadata": metadata, "spec": {}})).await;
    }
    site.infrastructure("cluster").await;
    let names = names(&site.machines("plane", 3).await);
    assert!(names.contains(&"plane-left1".to_owned()), "{names:?}");
    assert!(!names.contains(&"plane-other".to_owned()), "{names:?}");
    let clones = site.api::<Metal3Machine>().list(&Default::default()).await.unwrap().items;
    assert_eq!(clones.len(), 4, "no more are made than are missing");
}
