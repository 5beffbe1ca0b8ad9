//! The bootstrap provider.

use assisted_crd::agent_install::agent::Agent;
use assisted_crd::agent_install::infra_env::InfraEnv;
use assisted_crd::cluster_api::cluster::Cluster;
use assisted_crd::cluster_api::labels::{annotation, finalizer, label};
use assisted_crd::cluster_api::machine::Machine;
use assisted_crd::cluster_api::metal3_machine::{MachineImage, Metal3Machine};
use assisted_crd::cluster_api::metal3_machine_template::Metal3MachineTemplate;
use assisted_crd::cluster_api::openshift_assisted_config::v1alpha2::OpenshiftAssistedConfig;
use assisted_crd::hive::cluster_deployment::ClusterDeployment;
use assisted_crd::labels::annotation::SKIP_SPOKE_CLEANUP;
use assisted_crd::metal3::bare_metal_host::BareMetalHost;
use assisted_kube::finalizer as finalizers;
use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt;
use serde_json::{Value, json};

use crate::world::{BROKEN, DISCOVERY, Site, said};

type Config = OpenshiftAssistedConfig;

fn member(secret: &Secret, key: &str) -> String {
    String::from_utf8(secret.data.as_ref().unwrap()[key].0.clone()).unwrap()
}

#[tokio::test]
async fn a_machine_boots_a_disk_image_and_its_host_is_installed_as_its_objects_say() {
    let site = Site::new("disk-image").await;
    site.cluster("cluster").await;
    let spec = json!({
        "nodeRegistration": {"name": "$METADATA_NAME", "kubeletExtraLabels": ["metal3.io/uuid=$METADATA_UUID"]},
        "kernelArguments": [{"operation": "append", "value": "a=b"}, {"operation": "delete", "value": "quiet"}],
        "sshAuthorizedKey": "key", "osImageVersion": "4.20",
    });
    site.machine("cluster", "master-0", json!({"controlPlane": true, "spec": spec})).await;

    // Each step waits for the one before.
    let waits = site.config_says("master-0", "WaitingForClusterInfrastructure").await;
    assert!(finalizers::has(&waits.metadata, finalizer::CONFIG));
    let old = &waits.status.as_ref().unwrap().v1beta1_conditions;
    assert_eq!((old[0].r#type.as_str(), old[0].severity.as_str()), ("Ready", "Info"));
    site.infrastructure("cluster").await;
    site.config_says("master-0", "WaitingForAssistedInstaller").await;
    site.installation("cluster", "").await;
    let waits = site.config_says("master-0", "WaitingForInfraEnvToBeReady").await;
    assert!(said(&waits, "DataSecretAvailable").1.contains("eventsURL not generated yet"));

    let infra_env = site.find::<InfraEnv>("master-0").await.unwrap();
    assert_eq!(infra_env.labels()[label::CONFIG], "master-0");
    assert_eq!(infra_env.labels()[label::CLUSTER_NAME], "cluster");
    let kinds: Vec<_> = infra_env.owner_references().iter().map(|owner| owner.kind.as_str()).collect();
    assert_eq!(kinds, ["OpenshiftAssistedConfig", "Machine"]);
    assert_eq!(infra_env.spec.cluster_ref.as_ref().unwrap().name, "plane");
    assert_eq!(
        (infra_env.spec.image_type.as_str(), infra_env.spec.os_image_version.as_str()),
        ("full-iso", "")
    );
    assert!(infra_env.spec.kernel_arguments.is_empty());
    // Nobody gave registry credentials: there are some that open nothing, for this machine alone.
    let placeholder = infra_env.spec.pull_secret_ref.name.clone();
    let placeholder = site.find::<Secret>(&placeholder).await.unwrap();
    assert_eq!(
        member(&placeholder, ".dockerconfigjson"),
        r#"{"auths":{"fake-pull-secret":{"auth":"cGxhY2Vob2xkZXI6c2VjcmV0Cg=="}}}"#
    );

    // A service that refuses is told, without the key of the address.
    site.image("master-0", BROKEN).await;
    let refused = site.config_says("master-0", "WaitingForAssistedInstaller").await;
    let message = said(&refused, "DataSecretAvailable").1;
    assert!(message.contains("returned status 404") && !message.contains("hidden"), "{message}");
    site.image("master-0", "good").await;
    let ready = site.config_says("master-0", "DataSecretAvailable").await;
    let status = ready.status.clone().unwrap();
    assert_eq!(status.data_secret_name, "master-0");
    assert_eq!(status.initialization.unwrap().data_secret_created, Some(true));
    assert_eq!(status.observed_generation, ready.metadata.generation);
    assert_eq!(status.conditions[0].type_, "Ready");
    assert!(status.v1beta1_conditions.iter().all(|condition| condition.status == "True"));
    let secret = site.find::<Secret>("master-0").await.unwrap();
    assert_eq!(secret.type_.as_deref(), Some("cluster.x-k8s.io/secret"));
    assert_eq!(member(&secret, "format"), "ignition");
    assert_eq!(secret.labels()[label::CLUSTER_NAME], "cluster");
    assert_eq!(secret.owner_references()[0].controller, Some(true));
    let config: Value = serde_json::from_str(&member(&secret, "value")).unwrap();
    let paths: Vec<_> =
        config["storage"]["files"].as_array().unwrap().iter().map(|file| &file["path"]).collect();
    assert_eq!(
        paths,
        ["/root/.docker/config.json", "/usr/local/bin/configdrive_metadata", "/usr/local/bin/set_hostname"]
    );

    // A secret that somebody deleted comes back.
    site.delete::<Secret>("master-0").await;
    site.merge::<Machine>("master-0", json!({"metadata": {"annotations": {"look": "again"}}})).await;
    site.until("master-0", |secret: &Secret| secret.type_.is_some()).await;

    // The host of the machine is approved, and no other.
    site.host("master-0", "11111111-1111-4111-8111-111111111111", "02:00:00:00:00:01").await;
    let host = "11111111-1111-4111-8111-111111111111";
    let approved = site.until(host, |agent: &Agent| agent.spec.approved).await;
    assert_eq!(approved.spec.role, "master");
    assert_eq!(approved.spec.installer_args, r#"["--append-karg","a=b","--delete-karg","quiet"]"#);
    assert!(approved.spec.ignition_config_overrides.contains("kubelet-customlabels.service"));
    assert!(approved.spec.hostname.is_empty());
    site.until("master-0", |config: &Config| said(config, "HostConfigured").0 == "HostConfigured").await;
    let other = "22222222-2222-4222-8222-222222222222";
    site.host("master-0", other, "02:00:00:00:00:02").await;
    site.host("elsewhere", "33333333-3333-4333-8333-333333333333", "02:00:00:00:00:03").await;
    site.merge::<Agent>(other, json!({"spec": {"approved": true, "role": "worker"}})).await;
    site.until(other, |agent: &Agent| !agent.spec.approved).await;
    let foreign = site.find::<Agent>("33333333-3333-4333-8333-333333333333").await.unwrap();
    assert!(!foreign.spec.approved);

    // What is written over the installed node's config counts at once; what is none is told, and changes nothing.
    let over = r#"{"ignition":{"version":"3.1.0"},"storage":{"files":[{"path":"/etc/mine"}]}}"#;
    let annotate = |text: &str| json!({"metadata": {"annotations": {annotation::IGNITION_OVERRIDE: text}}});
    site.merge::<Config>("master-0", annotate(over)).await;
    site.until(host, |agent: &Agent| agent.spec.ignition_config_overrides.contains("/etc/mine")).await;
    site.merge::<Config>("master-0", annotate(r#"{"ignition":{"version":"2.0.0"}}"#)).await;
    let told = site
        .until("master-0", |config: &Config| said(config, "HostConfigured").0 == "InvalidConfiguration")
        .await;
    assert!(said(&told, "HostConfigured").1.contains("ignition-override annotation"), "{told:#?}");
    assert_eq!(said(&told, "DataSecretAvailable").0, "DataSecretAvailable");
}

#[tokio::test]
async fn workers_join_before_an_installation_or_after_it() {
    let site = Site::new("held").await;
    site.cluster("cluster").await;
    site.infrastructure("cluster").await;
    site.installation("cluster", "installing").await;
    site.machine("cluster", "worker-0", json!({})).await;
    site.machine("cluster", "master-0", json!({"controlPlane": true})).await;
    let held = site.config_says("worker-0", "WaitingForInstallComplete").await;
    assert!(said(&held, "DataSecretAvailable").1.contains("(installing)"));
    site.config_says("master-0", "WaitingForInfraEnvToBeReady").await;
    assert!(site.find::<InfraEnv>("worker-0").await.is_none());
    site.installation_is("adding-hosts").await;
    site.config_says("worker-0", "WaitingForInfraEnvToBeReady").await;
    site.image("worker-0", "good").await;
    site.config_says("worker-0", "DataSecretAvailable").await;
    // Nothing is asked for: the config is served as it is.
    assert_eq!(member(&site.find::<Secret>("worker-0").await.unwrap(), "value"), DISCOVERY);
    let host = "44444444-4444-4444-8444-444444444444";
    site.host("worker-0", host, "02:00:00:00:00:04").await;
    let approved = site.until(host, |agent: &Agent| agent.spec.approved).await;
    assert_eq!((approved.spec.role.as_str(), approved.spec.installer_args.as_str()), ("worker", "[]"));
    // Once it has booted, an installation that begins anew holds it up no more.
    site.installation_is("installing").await;
    site.merge::<Agent>(host, json!({"spec": {"role": "auto-assign"}})).await;
    site.until(host, |agent: &Agent| agent.spec.role == "worker").await;
    site.config_says("worker-0", "DataSecretAvailable").await;
}

#[tokio::test]
async fn a_config_goes_with_its_machine_and_takes_its_infra_env_along() {
    let site = Site::new("leaving").await;
    site.cluster("cluster").await;
    site.infrastructure("cluster").await;
    site.installation("cluster", "").await;
    for (name, is_control_plane) in [("worker-0", false), ("master-0", true), ("orphan", false)] {
        site.machine("cluster", name, json!({"controlPlane": is_control_plane})).await;
        site.config_says(name, "WaitingForInfraEnvToBeReady").await;
    }
    site.delete::<Config>("worker-0").await;
    site.gone::<Config>("worker-0").await;
    assert!(site.find::<InfraEnv>("worker-0").await.is_none());
    // That of a control plane machine stays as long as its machine.
    site.delete::<Config>("master-0").await;
    site.merge::<Machine>("master-0", json!({"metadata": {"finalizers": ["example.com/held"]}})).await;
    assert!(site.find::<Config>("master-0").await.is_some());
    site.delete::<Machine>("master-0").await;
    site.gone::<Config>("master-0").await;
    assert!(site.find::<InfraEnv>("master-0").await.is_none());
    // A machine that is gone already holds up nobody.
    site.delete::<Machine>("orphan").await;
    site.delete::<Config>("orphan").await;
    site.gone::<Config>("orphan").await;
    assert!(site.find::<InfraEnv>("orphan").await.is_none());
}

#[tokio::test]
async fn a_pause_stops_everything_until_it_is_over() {
    let site = Site::new("paused").await;
    site.cluster("cluster").await;
    site.merge::<Cluster>("cluster", json!({"spec": {"paused": true}})).await;
    site.infrastructure("cluster").await;
    site.installation("cluster", "").await;
    site.machine("cluster", "worker-0", json!({})).await;
    let paused = site.until("worker-0", |config: &Config| said(config, "Paused").0 == "Paused").await;
    assert_eq!(said(&paused, "Paused").1, "Cluster spec.paused is set to true");
    assert!(!finalizers::has(&paused.metadata, finalizer::CONFIG));
    assert!(site.find::<InfraEnv>("worker-0").await.is_none());
    site.merge::<Config>("worker-0", json!({"metadata": {"annotations": {annotation::PAUSED: ""}}})).await;
    site.merge::<Cluster>("cluster", json!({"spec": {"paused": false}})).await;
    site.until("worker-0", |config: &Config| said(config, "Paused").1.contains("annotation")).await;
    site.merge::<Config>("worker-0", json!({"metadata": {"annotations": {annotation::PAUSED: null}}})).await;
    let on = site.config_says("worker-0", "WaitingForInfraEnvToBeReady").await;
    assert_eq!(said(&on, "Paused").0, "NotPaused");
}

#[tokio::test]
async fn what_belongs_to_nobody_here_is_left_alone() {
    let (site, other) = (Site::new("alone").await, Site::new("alone-other").await);
    let bare: Config = site.create("bare", json!({"metadata": {}, "spec": {}})).await;
    let owner = json!([{"apiVersion": "example.com/v1", "kind": "Machine", "name": "m", "uid": "1"}]);
    let foreign: Config =
        site.create("foreign", json!({"metadata": {"ownerReferences": owner}, "spec": {}})).await;
    // Clusters of one name in two namespaces are two clusters.
    for site in [&site, &other] {
        site.cluster("cluster").await;
        site.infrastructure("cluster").await;
        site.machine("cluster", "worker-0", json!({})).await;
    }
    other.installation("cluster", "").await;
    other.config_says("worker-0", "WaitingForInfraEnvToBeReady").await;
    site.config_says("worker-0", "WaitingForAssistedInstaller").await;
    assert!(site.find::<InfraEnv>("worker-0").await.is_none());
    // Two at the installer can't both be it.
    let labels = json!({label::CLUSTER_NAME: "cluster"});
    let spec = json!({"baseDomain": "example.com", "clusterName": "b", "platform": {"agentBareMetal": {"agentSelector": {}}}});
    site.installation("cluster", "").await;
    site.config_says("worker-0", "WaitingForInfraEnvToBeReady").await;
    site.create::<ClusterDeployment>("twin", json!({"metadata": {"labels": labels}, "spec": spec})).await;
    let told = site.until("worker-0", |config: &Config| said(config, "Ready").1.contains("several")).await;
    assert!(said(&told, "DataSecretAvailable").1.contains("twin"), "{told:#?}");
    for before in [bare, foreign] {
        let after = site.find::<Config>(&before.name_any()).await.unwrap();
        assert_eq!(after.metadata.resource_version, before.metadata.resource_version);
    }
}

#[tokio::test]
async fn machines_of_a_topology_boot_no_live_iso() {
    let site = Site::new("live-iso-of-class").await;
    site.cluster("cluster").await;
    site.infrastructure("cluster").await;
    site.installation("cluster", "").await;
    let metadata = json!({"labels": {"topology.cluster.x-k8s.io/owned": ""}});
    let image = json!({"url": "http://images/disk.qcow2", "checksum": "", "format": "qcow2"});
    let spec = json!({"template": {"spec": {"image": image}}});
    let before: Metal3MachineTemplate =
        site.create("demo-x7", json!({"metadata": metadata, "spec": spec})).await;
    let metadata = json!({"annotations": {annotation::CLONED_FROM_NAME: "demo-x7"}});
    site.create::<Metal3Machine>("worker-0", json!({"metadata": metadata, "spec": {"image": image}})).await;
    let annotations = json!({annotation::BOOT_METHOD: "live-iso"});
    site.machine("cluster", "worker-0", json!({"annotations": annotations})).await;
    let told = site.config_says("worker-0", "InvalidConfiguration").await;
    let message = said(&told, "DataSecretAvailable").1;
    assert!(message.contains("demo-x7") && message.contains(annotation::BOOT_METHOD), "{message}");
    assert!(site.find::<InfraEnv>("demo-x7").await.is_none());
    assert!(site.find::<Secret>("worker-0").await.is_none());
    let after = site.find::<Metal3MachineTemplate>("demo-x7").await.unwrap();
    assert_eq!(after.metadata.resource_version, before.metadata.resource_version);
}

#[tokio::test]
async fn machines_of_a_template_boot_its_live_iso_and_none_an_older_one() {
    let site = Site::new("live-iso").await;
    site.cluster("cluster").await;
    site.infrastructure("cluster").await;
    site.installation("cluster", "").await;
    let stale = json!({"url": "http://images/stale.iso", "checksum": "", "format": "live-iso"});
    site.create::<Metal3MachineTemplate>(
        "rack",
        json!({"metadata": {}, "spec": {"template": {"spec": {"image": stale}}}}),
    )
    .await;
    let annotations = json!({annotation::BOOT_METHOD: "live-iso"});
    let spec = json!({"nodeRegistration": {"name": "node-$METADATA_NAME"}});
    for name in ["worker-0", "worker-1"] {
        site.machine("cluster", name, json!({"annotations": annotations, "spec": spec})).await;
    }
    site.config_says("worker-0", "WaitingForLiveISOURL").await;
    let cloned = json!({annotation::CLONED_FROM_NAME: "rack"});
    for name in ["worker-0", "worker-1"] {
        let metadata = json!({"annotations": cloned});
        site.create::<Metal3Machine>(name, json!({"metadata": metadata, "spec": {"image": stale}})).await;
    }
    let infra_env = site.until("rack", |infra_env: &InfraEnv| infra_env.spec.cluster_ref.is_some()).await;
    assert_eq!(infra_env.owner_references()[0].kind, "Metal3MachineTemplate");
    assert!(site.find::<Secret>("worker-0").await.is_none());
    site.image("rack", "fresh").await;
    let image = Some(MachineImage::live_iso("http://images/fresh.iso"));
    for name in ["worker-0", "worker-1"] {
        site.config_says(name, "DataSecretAvailable").await;
        assert_eq!(member(&site.find::<Secret>(name).await.unwrap(), "value"), "");
        assert_eq!(site.find::<Metal3Machine>(name).await.unwrap().spec.image, image);
    }
    let template = site.find::<Metal3MachineTemplate>("rack").await.unwrap();
    assert_eq!(template.spec.template.spec.image, image);

    // Two hosts boot the same image: each machine has its own, by hardware address.
    let hosts = [
        ("worker-0", "55555555-5555-4555-8555-555555555555", "02:00:00:00:00:50"),
        ("worker-1", "66666666-6666-4666-8666-666666666666", "02:00:00:00:00:60"),
    ];
    let stranger = "77777777-7777-4777-8777-777777777777";
    site.host("rack", stranger, "02:00:00:00:00:70").await;
    for (name, host, address) in hosts {
        site.host("rack", host, address).await;
        let hardware = format!("hardware-of-{name}");
        let spec = json!({"online": true, "bootMACAddress": address.to_uppercase()});
        site.create::<BareMetalHost>(&hardware, json!({"metadata": {}, "spec": spec})).await;
        let chosen = format!("{}/{hardware}", site.namespace);
        site.merge::<Metal3Machine>(
            name,
            json!({"metadata": {"annotations": {annotation::METAL3_HOST: chosen}}}),
        )
        .await;
        site.merge::<Machine>(name, json!({"metadata": {"annotations": {"look": "again"}}})).await;
        let approved = site.until(host, |agent: &Agent| agent.spec.approved).await;
        assert_eq!(approved.spec.hostname, format!("node-{hardware}"));
        let overrides = &approved.spec.ignition_config_overrides;
        assert!(
            overrides.contains("/etc/metadata_env") && !overrides.contains("configdrive_metadata"),
            "{overrides}"
        );
    }
    assert!(!site.find::<Agent>(stranger).await.unwrap().spec.approved);
    // One machine that goes takes its host with it, and leaves the image, and all other hosts, to others.
    let [(_, first, _), (_, second, _)] = hosts;
    let kept_by = |finalizers: Value| json!({"metadata": {"finalizers": finalizers}});
    site.merge::<Agent>(first, kept_by(json!(["example.com/test"]))).await;
    site.delete::<Config>("worker-0").await;
    // The hub is not to look for its node: that goes with the Machine.
    let is_going = |agent: &Agent| {
        agent.metadata.deletion_timestamp.is_some() && agent.annotations().contains_key(SKIP_SPOKE_CLEANUP)
    };
    site.until(first, is_going).await;
    assert!(site.find::<Config>("worker-0").await.is_some());
    site.merge::<Agent>(first, kept_by(json!([]))).await;
    site.gone::<Config>("worker-0").await;
    site.gone::<Agent>(first).await;
    assert!(site.find::<InfraEnv>("rack").await.is_some());
    for other in [second, stranger] {
        assert!(site.find::<Agent>(other).await.unwrap().metadata.deletion_timestamp.is_none());
    }
    // Whoever got the hardware in the meantime keeps the host.
    site.machine("cluster", "worker-2", json!({"annotations": annotations, "spec": spec})).await;
    let claim = site.find::<Config>("worker-1").await.unwrap().annotations()[annotation::HOST].clone();
    site.merge::<Config>("worker-2", json!({"metadata": {"annotations": {annotation::HOST: claim}}})).await;
    site.config_says("worker-2", "WaitingForLiveISOURL").await;
    site.delete::<Config>("worker-1").await;
    site.gone::<Config>("worker-1").await;
    assert!(site.find::<Agent>(second).await.unwrap().metadata.deletion_timestamp.is_none());

    let unknown = json!({annotation::BOOT_METHOD: "pxe"});
    site.machine("cluster", "odd", json!({"annotations": unknown})).await;
    let told = site.config_says("odd", "InvalidConfiguration").await;
    assert!(said(&told, "DataSecretAvailable").1.contains("disk-image or live-iso"));
}
