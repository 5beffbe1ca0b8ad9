//! Each step of a pass, and that a second pass changes nothing.

use assisted_crd::agent_install::agent::Agent;
use assisted_crd::labels::finalizer as names;
use assisted_crd::metal3::bare_metal_host::Image;
use assisted_kube::finalizer;
use serde_json::json;

use super::*;
use crate::text::same_json;

const OWN: &str = "assisted-service-controller";
const URL: &str = "http://images.example.com/1.iso";

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn infra_env() -> InfraEnv {
    serde_json::from_value(json!({
        "metadata": {"name": "rack", "namespace": "site"},
        "status": {"isoDownloadURL": URL, "createdTime": "1970-01-01T00:01:00Z"},
    }))
    .unwrap()
}

fn machine(annotations: &Value, state: &str) -> BareMetalHost {
    serde_json::from_value(json!({
        "metadata": {"name": "node-0", "namespace": "site", "annotations": annotations,
                     "labels": {"infraenvs.agent-install.openshift.io": "rack"}},
        "spec": {"bootMACAddress": "02:00:00:00:00:0A"},
        "status": {"provisioning": {"state": state}},
    }))
    .unwrap()
}

fn agent(stage: &str, bound: &str) -> Agent {
    serde_json::from_value(json!({
        "metadata": {"name": "33333333-3333-4333-8333-333333333333", "namespace": "site",
                     "labels": {"mine": "stays"}},
        "spec": {"approved": false, "role": "", "nodeLabels": {"old": "goes"}},
        "status": {
            "progress": {"currentStage": stage},
            "conditions": [{"type": "Bound", "status": "False", "reason": bound}],
            "inventory": {
                "hostname": "dhcp-7",
                "interfaces": [{"name": "eth0", "macAddress": "02:00:00:00:00:0a", "flags": [], "speedMbps": 10240,
                                "ipV4Addresses": ["192.0.2.7/24"], "ipV6Addresses": ["2001:db8::7/64"],
                                "vendor": "ACME"}],
                "disks": [
                    {"id": "small", "path": "/dev/sda", "driveType": "HDD",
                     "installationEligibility": {"eligible": true, "notEligibleReasons": []}},
                    {"id": "fast", "path": "/dev/nvme0n1", "driveType": "SSD", "sizeBytes": 200_000_000_000_i64,
                     "installationEligibility": {"eligible": true, "notEligibleReasons": []}},
                ],
                "memory": {"physicalBytes": 8_i64 << 30},
            },
        },
    }))
    .unwrap()
}

fn pass(object: &BareMetalHost, agent: Option<&Agent>, now: i64) -> Decision {
    let infra_env = infra_env();
    decide(
        object,
        &Observed {
            flow: Flow::VirtualMedia,
            infra_env: Some(&infra_env),
            agent,
            pauses: true,
            whole_status: None,
            cool_down: SignedDuration::from_secs(60),
            now: at(now),
        },
    )
}

fn has(decision: &Decision, name: &str) -> bool {
    decision.host.annotations().contains_key(name)
}

#[test]
fn a_machine_boots_an_image_that_has_rested() {
    let new = machine(&json!({}), "registering");
    let early = pass(&new, None, 119);
    assert_eq!((early.again, early.host.spec.image.as_ref()), (Some(at(120)), None));
    assert!(finalizer::has(&early.host.metadata, names::BARE_METAL_HOST));
    assert_eq!(early.host.labels()[label::BACKUP], "true");
    assert_eq!(early.host.annotations()[annotation::INSPECT], "disabled");
    assert_eq!(early.host.spec.automated_cleaning_mode, "disabled");
    // It takes no image as long as metal3 is at work on it.
    let busy = pass(&early.host, None, 120);
    assert_eq!((busy.again, busy.host.spec.image.as_ref()), (None, None));
    let mut ready = busy.host;
    ready.status.get_or_insert_default().provisioning.state = "available".to_owned();
    let booted = pass(&ready, None, 120).host;
    let image = booted.spec.image.clone().unwrap();
    assert_eq!((image.url.as_str(), image.format.as_str(), booted.spec.online), (URL, "live-iso", true));
    assert_eq!(pass(&booted, None, 120).host, booted);
    // Another image: metal3 takes away the old one first.
    let mut stale = booted.clone();
    stale.spec.image.as_mut().unwrap().url = "http://images.example.com/0.iso".to_owned();
    stale.status.get_or_insert_default().provisioning.state = "provisioned".to_owned();
    assert_eq!(pass(&stale, None, 120).host.spec.image, None);
    // An annotation of the user's stays.
    let own = machine(&json!({(annotation::INSPECT): ""}), "registering");
    assert_eq!(pass(&own, None, 120).host.annotations()[annotation::INSPECT], "");
}

#[test]
fn without_an_infra_env_nothing_is_done() {
    let object = machine(&json!({}), "available");
    let seen = Observed {
        flow: Flow::VirtualMedia,
        infra_env: None,
        agent: None,
        pauses: true,
        whole_status: None,
        cool_down: SignedDuration::ZERO,
        now: at(0),
    };
    let kept = decide(&object, &seen).host;
    assert!(finalizer::has(&kept.metadata, names::BARE_METAL_HOST));
    assert_eq!((kept.spec.image.as_ref(), kept.labels().get(label::BACKUP)), (None, None));
    let mut foreign = kept;
    foreign.metadata.labels = None;
    let left = decide(&foreign, &seen).host;
    assert!(!finalizer::has(&left.metadata, names::BARE_METAL_HOST));
}

#[test]
fn an_agent_becomes_what_its_machine_says() {
    let prefix = "bmac.agent-install.openshift.io";
    let mut object = machine(
        &json!({
            (format!("{prefix}/role")): "worker", (format!("{prefix}/hostname")): "node-0",
            (format!("{prefix}/machine-config-pool")): "infra",
            (format!("{prefix}/installer-args")): "[\"-n\"]",
            (format!("{prefix}/ignition-config-overrides")): "{}",
            (format!("{prefix}/cluster-reference")): "site/demo",
            (format!("{prefix}.node-label.zone")): "a", (format!("{prefix}.agent-label.rack")): "7",
            (format!("{prefix}/create-fencing-credentials-secret")): "",
        }),
        "provisioned",
    );
    object.spec.image = Some(Image { url: URL.to_owned(), ..Image::default() });
    object.spec.root_device_hints = Some(serde_json::from_value(json!({"minSizeGigabytes": 100})).unwrap());
    let agent = agent("", "Unbound");
    let decided = pass(&object, Some(&agent), 0);
    let became = decided.agent.clone().unwrap();
    assert_eq!((decided.problem.as_ref(), decided.makes_fencing_credentials), (None, true));
    let spec = &became.spec;
    assert!(spec.approved);
    assert_eq!((spec.role.as_str(), spec.hostname.as_str()), ("worker", "node-0"));
    assert_eq!((spec.machine_config_pool.as_str(), spec.installer_args.as_str()), ("infra", "[\"-n\"]"));
    assert_eq!(spec.installation_disk_id, "fast");
    assert_eq!(spec.node_labels.iter().collect::<Vec<_>>(), [(&"zone".to_owned(), &"a".to_owned())]);
    assert_eq!(spec.cluster_deployment_name.as_ref().unwrap().name, "demo");
    assert_eq!(spec.fencing_credentials_secret_ref, format!("{}-fencing-credentials", agent.name_any()));
    assert_eq!((became.labels()["rack"].as_str(), became.labels()["mine"].as_str()), ("7", "stays"));
    assert_eq!(became.labels()[label::BARE_METAL_HOST], "node-0");
    let details: Value =
        serde_json::from_str(&decided.host.annotations()[annotation::HARDWARE_DETAILS]).unwrap();
    assert_eq!(details["hostname"], "node-0");
    assert_eq!(
        (&details["nics"][0]["ip"], &details["nics"][0]["speedGbps"]),
        (&json!("2001:db8::7"), &json!(10))
    );
    assert_eq!((&details["nics"][1]["ip"], &details["ramMebibytes"]), (&json!("192.0.2.7"), &json!(8192)));
    assert_eq!(
        (&details["storage"][0]["rotational"], &details["storage"][0]["name"]),
        (&json!(true), &json!("/dev/sda"))
    );
    // A second pass is none.
    let second = pass(&decided.host, Some(&became), 0);
    assert_eq!((second.host, second.agent), (decided.host, decided.agent));
    // Hints that mean no disk end in one that the service refuses.
    object.spec.root_device_hints = Some(serde_json::from_value(json!({"serialNumber": "none"})).unwrap());
    assert_eq!(
        pass(&object, Some(&agent), 0).agent.unwrap().spec.installation_disk_id,
        "/dev/not-found-by-hints"
    );
}

#[test]
fn a_cluster_reference_that_makes_no_sense_is_told() {
    let reference = |text: &str| {
        machine(
            &json!({"bmac.agent-install.openshift.io/cluster-reference": text,
                                                  "baremetalhost.metal3.io/detached": "x"}),
            "",
        )
    };
    let mut bound = agent("", "Bound");
    bound.spec.cluster_deployment_name =
        Some(serde_json::from_value(json!({"name": "demo", "namespace": "site"})).unwrap());
    let decided = pass(&reference("demo"), Some(&bound), 0);
    assert_eq!(
        decided.problem.unwrap(),
        "failed to reconcile cluster reference.  Parse of cluster reference demo failed"
    );
    assert!(decided.agent.unwrap().spec.approved);
    assert_eq!(pass(&reference(""), Some(&bound), 0).agent.unwrap().spec.cluster_deployment_name, None);
    let mut infra_env = infra_env();
    infra_env.spec.cluster_ref = bound.spec.cluster_deployment_name.clone();
    let seen = Observed {
        flow: Flow::VirtualMedia,
        infra_env: Some(&infra_env),
        agent: Some(&bound),
        pauses: false,
        whole_status: None,
        cool_down: SignedDuration::ZERO,
        now: at(100),
    };
    assert_eq!(
        decide(&reference("site/other"), &seen).problem.unwrap(),
        "failed to reconcile cluster reference.  InfraEnv already has cluster reference site/demo"
    );
}

#[test]
fn metal3_keeps_its_hands_off_until_the_host_leaves_its_cluster() {
    let mut object = machine(&json!({}), "provisioned");
    object.spec.image = Some(Image { url: URL.to_owned(), ..Image::default() });
    assert!(!has(
        &pass(&object, Some(&agent("Writing image to disk", "Bound")), 0),
        annotation::BMH_DETACHED
    ));
    let detached = pass(&object, Some(&agent("Rebooting", "Bound")), 0);
    assert_eq!(detached.host.annotations()[annotation::BMH_DETACHED], OWN);
    assert!(!has(&detached, annotation::BMH_PAUSED));
    // Once metal3 has let go, its status is kept.
    let (infra_env, agent_there) = (infra_env(), agent("Done", "Bound"));
    let status = json!({"operationalStatus": "detached", "unknown": 1});
    let seen = Observed {
        flow: Flow::VirtualMedia,
        infra_env: Some(&infra_env),
        agent: Some(&agent_there),
        pauses: true,
        whole_status: Some(&status),
        cool_down: SignedDuration::ZERO,
        now: at(100),
    };
    let paused = decide(&detached.host, &seen);
    assert_eq!(paused.host.annotations()[annotation::BMH_PAUSED], OWN);
    assert!(same_json(&paused.host.annotations()[annotation::BMH_STATUS], &status.to_string()));
    assert_eq!(decide(&paused.host, &seen).host, paused.host);
    // On another hub it has no status yet.
    let mut moved = paused.host.clone();
    moved.status = None;
    let taken = decide(&moved, &Observed { agent: None, whole_status: None, ..seen });
    assert!(!has(&taken, annotation::BMH_PAUSED) && has(&taken, annotation::BMH_STATUS));
    // The host leaves its cluster.
    let back = pass(&paused.host, Some(&agent("Done", "UnbindingPendingUserAction")), 0);
    for name in [annotation::BMH_DETACHED, annotation::BMH_PAUSED, annotation::HARDWARE_DETAILS] {
        assert!(!has(&back, name), "{name}");
    }
    assert_eq!((back.host.spec.image.as_ref(), back.agent), (None, None));
}

#[test]
fn a_machine_that_goes_is_let_go_and_its_agent_stays() {
    let mut object = machine(&json!({(annotation::BMH_PAUSED): OWN, (annotation::BMH_DETACHED): OWN}), "");
    finalizer::add(&mut object.metadata, names::BARE_METAL_HOST);
    object.metadata.deletion_timestamp = Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(at(0)));
    let alone = pass(&object, None, 0);
    assert!(!finalizer::has(&alone.host.metadata, names::BARE_METAL_HOST));
    assert!(!has(&alone, annotation::BMH_PAUSED) && has(&alone, annotation::BMH_DETACHED));
    let agent = agent("Done", "Bound");
    let with = pass(&object, Some(&agent), 0);
    assert!(!finalizer::has(&with.host.metadata, names::BARE_METAL_HOST));
    assert!(has(&with, annotation::BMH_PAUSED) && with.agent.is_none());
}
