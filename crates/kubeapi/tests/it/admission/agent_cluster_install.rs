//! Rules on AgentClusterInstalls (kube-api §5.2); those on platforms stand apart.

use assisted_crd::labels::annotation;
use assisted_kubeapi::admission::{Addition, Verdict};
use serde_json::{Value, json};

use super::{created, denial, updated, with};

const VALIDATOR: &str = "agentclusterinstallvalidators";
const MUTATOR: &str = "agentclusterinstallmutators";

pub fn install(spec: &Value) -> Value {
    let base = json!({"clusterDeploymentRef": {"name": "example"}, "imageSetRef": {"name": "release"},
                      "networking": {}, "provisionRequirements": {"controlPlaneAgents": 3}});
    json!({"metadata": {"name": "example", "namespace": "site"}, "spec": with(&base, spec)})
}

fn completed(object: &Value, reason: &str) -> Value {
    let condition = json!([{"type": "Completed", "status": "False", "reason": reason}]);
    with(object, &json!({"status": {"conditions": condition}}))
}

#[test]
fn the_release_stays() {
    let of = |reference: Value| install(&json!({"imageSetRef": reference}));
    for (old, new, is_denied) in [
        (json!({"name": "a"}), json!({"name": "a"}), false),
        (json!({"name": "a"}), json!({"name": "b"}), true),
        (json!({"name": "a"}), Value::Null, true),
        (Value::Null, json!({"name": "a"}), true),
        (Value::Null, Value::Null, false),
    ] {
        let verdict = updated(VALIDATOR, &of(old.clone()), &of(new.clone()));
        let expected = (400, "Attempted to change AgentClusterInstall.ImageSetRef which is immutable");
        assert_eq!(denial(&verdict), is_denied.then_some(expected), "{old} {new}");
    }
}

#[test]
fn a_single_node_has_its_own_networking() {
    let of = |control_planes: i64, workers: i64, user_managed: Value| {
        install(&json!({"networking": {"userManagedNetworking": user_managed},
            "provisionRequirements": {"controlPlaneAgents": control_planes, "workerAgents": workers}}))
    };
    let expected = (409, "UserManagedNetworking must be set to true with SNO");
    for (object, is_denied) in [
        (of(1, 0, json!(false)), true),
        (of(1, 0, json!(true)), false),
        (of(1, 0, Value::Null), false),
        (of(1, 2, json!(false)), false),
        (of(3, 0, json!(false)), false),
    ] {
        assert_eq!(denial(&created(VALIDATOR, &object)), is_denied.then_some(expected), "{object}");
        assert_eq!(denial(&updated(VALIDATOR, &object, &object)), is_denied.then_some(expected), "{object}");
    }
    // What an update leaves out is not what it was, here.
    let verdict = updated(VALIDATOR, &of(1, 0, json!(false)), &of(1, 0, Value::Null));
    assert_eq!(verdict, Verdict::Allowed);
}

#[test]
fn image_mode_is_judged_as_requests_are() {
    let of = |layering: Value| install(&json!({"onClusterLayering": layering}));
    let enabled = of(json!({"mode": "Enabled", "rollout": "Switch"}));
    assert_eq!(created(VALIDATOR, &enabled), Verdict::Allowed);
    for (wrong, told) in [
        (json!({"mode": "On"}), "unknown variant"),
        (json!({"mode": "Enabled", "buildTimeoutMinutes": 5}), "buildTimeoutMinutes is 5"),
        (json!({"registry": {"port": 6443}}), "registry.port is 6443"),
        (json!({"mode": "Enabled", "machineOSConfigs": "Generate"}), "durable push target"),
    ] {
        let wrong = of(wrong);
        for verdict in [created(VALIDATOR, &wrong), updated(VALIDATOR, &enabled, &wrong)] {
            let (code, text) = denial(&verdict).unwrap();
            assert!(code == 400 && text.contains(told), "{wrong}: {text}");
        }
        // One that is there already is left to the service, so that its finalizers can go.
        assert_eq!(updated(VALIDATOR, &wrong, &wrong), Verdict::Allowed, "{wrong}");
    }
    let overridden = |overrides: &str| {
        let annotations = json!({annotation::INSTALL_CONFIG_OVERRIDES: overrides});
        with(&enabled, &json!({"metadata": {"annotations": annotations}}))
    };
    let verdict = created(VALIDATOR, &overridden(r#"{"onClusterLayering":{"rollout":"Deploy"}}"#));
    assert!(denial(&verdict).unwrap().1.contains("says otherwise of rollout"), "{verdict:?}");
    let agrees = overridden(r#"{"onClusterLayering":{"rollout":"Switch","scratch":"Disk"}}"#);
    assert_eq!(created(VALIDATOR, &agrees), Verdict::Allowed);
}

#[test]
fn nothing_else_changes_once_the_installation_has_begun() {
    const HEAD: &str = "Attempted to change AgentClusterInstall.Spec which is immutable after install started, except for \
                        ClusterMetadata,IgnitionEndpoint fields. Unsupported change: \n";
    let old = install(&json!({"sshPublicKey": "a", "apiVIPs": ["192.0.2.1"],
        "networking": {"machineNetwork": [{"cidr": "192.0.2.0/24"}], "userManagedNetworking": false}}));
    let base = |spec: Value| with(&old, &json!({"spec": spec}));
    for (change, lines) in [
        (json!({"sshPublicKey": "b"}), "\tSSHPublicKey: (a => b)\n"),
        (json!({"sshPublicKey": null}), "\tSSHPublicKey: (a => <nil>)\n"),
        (json!({"holdInstallation": true}), "\tHoldInstallation: (<nil> => true)\n"),
        (
            json!({"networking": {"machineNetwork": [{"cidr": "198.51.100.0/24"}]}}),
            "\tNetworking.MachineNetwork[0].CIDR: (192.0.2.0/24 => 198.51.100.0/24)\n",
        ),
        (json!({"apiVIPs": ["192.0.2.1", "192.0.2.2"]}), "\tAPIVIPs[1]: (<nil> => 192.0.2.2)\n"),
        (
            json!({"apiVIP": "192.0.2.9", "proxy": {"httpProxy": "http://proxy"}}),
            "\tAPIVIP: (<nil> => 192.0.2.9)\n\tProxy.HTTPProxy: (<nil> => http://proxy)\n",
        ),
    ] {
        let new = base(change.clone());
        let text = format!("{HEAD}{lines}");
        for reason in [
            "InstallationFailed",
            "InstallationCompleted",
            "InstallationInProgress",
            "ClusterAlreadyInstalling",
        ] {
            let verdict = updated(VALIDATOR, &old, &completed(&new, reason));
            assert_eq!(denial(&verdict), Some((400, text.as_str())), "{reason} {change}");
        }
        for reason in ["InstallationOnHold", "InstallationNotStarted", ""] {
            let verdict = updated(VALIDATOR, &old, &completed(&new, reason));
            assert_eq!(verdict, Verdict::Allowed, "{reason} {change}");
        }
        assert_eq!(updated(VALIDATOR, &old, &new), Verdict::Allowed, "{change}");
    }
    for change in [
        json!({"clusterMetadata": {"clusterID": "a", "infraID": "b", "adminKubeconfigSecretRef": {"name": "c"}}}),
        json!({"ignitionEndpoint": {"url": "https://example.com"}}),
        // Empty and missing lists are the same.
        json!({"ingressVIPs": [], "manifestsConfigMapRefs": []}),
    ] {
        let new = completed(&base(change.clone()), "InstallationInProgress");
        assert_eq!(updated(VALIDATOR, &old, &new), Verdict::Allowed, "{change}");
    }
    let more = base(json!({"provisionRequirements": {"workerAgents": 2}}));
    let text = format!("{HEAD}\tProvisionRequirements.WorkerAgents: (<nil> => 2)\n");
    for (reason, is_denied) in [
        ("InstallationInProgress", true),
        ("ClusterAlreadyInstalling", true),
        ("InstallationCompleted", false),
        ("InstallationFailed", false),
    ] {
        let verdict = updated(VALIDATOR, &old, &completed(&more, reason));
        assert_eq!(denial(&verdict), is_denied.then_some((400, text.as_str())), "{reason}");
    }
}

#[test]
fn the_first_rule_that_fails_is_told() {
    let old = install(&json!({}));
    let new = install(&json!({"imageSetRef": {"name": "other"}, "sshPublicKey": "b",
        "networking": {"userManagedNetworking": false}, "provisionRequirements": {"controlPlaneAgents": 1}}));
    let told = |new: &Value| denial(&updated(VALIDATOR, &old, new)).unwrap().1.to_owned();
    let new = completed(&new, "InstallationInProgress");
    assert!(told(&new).contains("ImageSetRef"));
    let new = with(&new, &json!({"spec": {"imageSetRef": {"name": "release"}}}));
    assert!(told(&new).contains("SNO"));
    let new = with(
        &new,
        &json!({"spec": {"provisionRequirements": {"controlPlaneAgents": 3}, "platformType": "None"}}),
    );
    assert!(told(&new).contains("none platform"));
    let new = with(&new, &json!({"spec": {"platformType": "BareMetal"}}));
    assert!(told(&new).contains("immutable after install started"));
}

#[test]
fn who_manages_the_networking_is_filled_in() {
    let of = |platform: Value, control_planes: i64, workers: i64| {
        install(&json!({"platformType": platform, "external": {"platformName": "x"},
            "provisionRequirements": {"controlPlaneAgents": control_planes, "workerAgents": workers}}))
    };
    for (platform, control_planes, workers, expected) in [
        (Value::Null, 3, 0, Some(false)),
        (json!(""), 3, 2, Some(false)),
        (Value::Null, 1, 0, Some(true)),
        (Value::Null, 1, 2, Some(false)),
        (json!("None"), 3, 0, Some(true)),
        (json!("None"), 1, 0, Some(true)),
        (json!("External"), 3, 0, Some(true)),
        (json!("External"), 1, 0, Some(true)),
        (json!("VSphere"), 3, 0, None),
        (json!("VSphere"), 1, 0, Some(true)),
        (json!("Nutanix"), 3, 0, None),
        (json!("Nutanix"), 1, 0, Some(true)),
    ] {
        let object = of(platform.clone(), control_planes, workers);
        let expected = expected.map_or(Verdict::Allowed, |value| {
            Verdict::Changed(Addition {
                path: "/spec/networking",
                value: json!({"userManagedNetworking": value}),
            })
        });
        assert_eq!(created(MUTATOR, &object), expected, "{platform} {control_planes} {workers}");
        assert_eq!(updated(MUTATOR, &object, &object), expected, "{platform} {control_planes} {workers}");
    }
    for (control_planes, expected) in [(3, Some(json!(false))), (1, None), (0, None)] {
        let object = install(&json!({"platformType": "BareMetal",
            "networking": {"networkType": "OVNKubernetes"},
            "provisionRequirements": {"controlPlaneAgents": control_planes}}));
        let expected = expected.map_or(Verdict::Allowed, |value| {
            Verdict::Changed(Addition { path: "/spec/networking/userManagedNetworking", value })
        });
        assert_eq!(created(MUTATOR, &object), expected, "{control_planes}");
    }
    // Nothing is filled in any more.
    let object = install(&json!({}));
    for (change, why) in [
        (json!({"spec": {"networking": {"userManagedNetworking": true}}}), "it is said"),
        (json!({"metadata": {"deletionTimestamp": "2026-01-02T03:04:05Z"}}), "it is deleted"),
        (
            json!({"status": {"conditions": [{"type": "Completed", "status": "True", "reason": "InstallationCompleted"}]}}),
            "it is installed",
        ),
    ] {
        assert_eq!(updated(MUTATOR, &object, &with(&object, &change)), Verdict::Allowed, "{why}");
    }
}
