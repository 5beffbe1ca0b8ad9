//! Conversion between the versions of the providers' kinds.

use assisted_crd::cluster_api::conversion::{ConversionError, convert};
use assisted_crd::cluster_api::labels::annotation::CONVERSION_DATA;
use serde_json::{Value, json};

use crate::kinds::{self, Kind};
use crate::{published, sample, schema};

const BOOTSTRAP: &str = "bootstrap.cluster.x-k8s.io";
const CONTROL_PLANE: &str = "controlplane.cluster.x-k8s.io";

/// A kind's group and name, its older and its stored version.
const PAIRS: [(&str, &str, &str, &str); 3] = [
    (BOOTSTRAP, "OpenshiftAssistedConfig", "v1alpha1", "v1alpha2"),
    (BOOTSTRAP, "OpenshiftAssistedConfigTemplate", "v1alpha1", "v1alpha2"),
    (CONTROL_PLANE, "OpenshiftAssistedControlPlane", "v1alpha2", "v1alpha3"),
];

fn kind(name: &str, version: &str) -> Kind {
    kinds::all().into_iter().find(|kind| kind.kind == name && kind.version == version).unwrap()
}

/// An object with all fields of its version.
fn full(name: &str, version: &str) -> Value {
    let kind = kind(name, version);
    let special = |place: &str| {
        let duration = place.ends_with("Timeout").then(|| json!("1m30.5s"));
        let reference = place.ends_with("infrastructureRef.apiVersion").then(|| json!("example.com/v9"));
        duration.or(reference)
    };
    let mut object = schema::object(&kind, sample::full(&published::schema(&kind), "", &special));
    object["metadata"] = json!({"name": "example", "annotations": {"mine": "stays"}});
    // As our types write it.
    (kind.round_trip)(&object).unwrap()
}

fn to(group: &str, version: &str) -> String {
    format!("{group}/{version}")
}

#[test]
fn nothing_is_lost_on_the_way_there_and_back() {
    for (group, name, old, hub) in PAIRS {
        for (from, other) in [(old, hub), (hub, old)] {
            let object = full(name, from);
            let there = convert(&object, &to(group, other)).unwrap();
            assert_eq!(there["apiVersion"], to(group, other));
            assert_eq!(there["metadata"]["annotations"]["mine"], "stays");
            // The server takes what is converted: the types read it.
            (kind(name, other).round_trip)(&there).unwrap();
            let back = convert(&there, &to(group, from)).unwrap();
            for part in ["spec", "status"] {
                assert_eq!(back.get(part), object.get(part), "{name} {from} {part}: {there:#}");
            }
            // And once more the same way.
            let again = convert(&back, &to(group, other)).unwrap();
            for part in ["spec", "status"] {
                assert_eq!(again.get(part), there.get(part), "{name} {from} {part} again");
            }
        }
    }
}

#[test]
fn least_objects_stay_least() {
    for (group, name, old, hub) in PAIRS {
        for (from, other) in [(old, hub), (hub, old)] {
            let object = json!({
                "apiVersion": to(group, from), "kind": name, "metadata": {"name": "example"}, "spec": {},
            });
            let there = convert(&object, &to(group, other)).unwrap();
            assert!(there["metadata"].get("annotations").is_none(), "{there:#}");
            assert!(there.get("status").is_none(), "{there:#}");
        }
    }
}

/// A template of machines is an object that has to be said.
fn control_plane(version: &str, template: &Value, status: &Value) -> Value {
    json!({
        "apiVersion": to(CONTROL_PLANE, version),
        "kind": "OpenshiftAssistedControlPlane",
        "metadata": {"name": "example"},
        "spec": {"distributionVersion": "4.20.0", "machineTemplate": template, "replicas": 3},
        "status": status,
    })
}

#[test]
fn what_changed_by_the_other_version_counts() {
    // The older version knows no id of the provider; a client of it changes something else.
    let object = json!({
        "apiVersion": to(BOOTSTRAP, "v1alpha2"), "kind": "OpenshiftAssistedConfig", "metadata": {"name": "example"},
        "spec": {"nodeRegistration": {"name": "$METADATA_NAME", "providerID": "metal3://1"}, "sshAuthorizedKey": "old"},
    });
    let mut old = convert(&object, &to(BOOTSTRAP, "v1alpha1")).unwrap();
    assert!(old["spec"]["nodeRegistration"].get("providerID").is_none());
    old["spec"]["sshAuthorizedKey"] = "new".into();
    let hub = convert(&old, &to(BOOTSTRAP, "v1alpha2")).unwrap();
    assert_eq!(hub["spec"]["sshAuthorizedKey"], "new");
    assert_eq!(hub["spec"]["nodeRegistration"]["providerID"], "metal3://1");

    // A duration of the older version is finer; one that was set since by the newer version counts.
    let reference = json!({"apiVersion": "example.com/v1beta1", "kind": "Template", "name": "a"});
    let template = json!({"infrastructureRef": reference, "nodeDrainTimeout": "1m30.5s"});
    let mut hub =
        convert(&control_plane("v1alpha2", &template, &json!({})), &to(CONTROL_PLANE, "v1alpha3")).unwrap();
    let deletion = &mut hub["spec"]["machineTemplate"]["deletion"];
    assert_eq!(deletion["nodeDrainTimeoutSeconds"], 90);
    let unchanged = convert(&hub, &to(CONTROL_PLANE, "v1alpha2")).unwrap();
    assert_eq!(unchanged["spec"]["machineTemplate"]["nodeDrainTimeout"], "1m30.5s");
    hub["spec"]["machineTemplate"]["deletion"]["nodeDrainTimeoutSeconds"] = 100.into();
    let changed = convert(&hub, &to(CONTROL_PLANE, "v1alpha2")).unwrap();
    assert_eq!(changed["spec"]["machineTemplate"]["nodeDrainTimeout"], "1m40s");
}

#[test]
fn what_both_versions_say_in_their_own_words() {
    let time = "2024-05-06T07:08:09Z";
    let long = "a".repeat(5000);
    let status = json!({
        "initialized": true, "ready": true, "replicas": 3, "readyReplicas": 2, "updatedReplicas": 1,
        "conditions": [
            {"type": "Available", "status": "True", "lastTransitionTime": time},
            {"type": "UpgradeCompleted", "status": "False", "severity": "Warning", "reason": "UpgradeFailed",
             "message": long, "lastTransitionTime": time},
        ],
    });
    let reference =
        json!({"infrastructureRef": {"apiVersion": "example.com/v1beta1", "kind": "Template", "name": "a"}});
    let hub =
        convert(&control_plane("v1alpha2", &reference, &status), &to(CONTROL_PLANE, "v1alpha3")).unwrap();
    assert_eq!(hub["status"]["initialization"]["controlPlaneInitialized"], true);
    assert_eq!(hub["status"]["upToDateReplicas"], 1);
    assert_eq!(hub["status"]["conditions"][0]["reason"], "Unknown");
    assert_eq!(hub["status"]["conditions"][1]["message"].as_str().unwrap().len(), 5000);
    assert_eq!(
        hub["spec"]["machineTemplate"]["infrastructureRef"],
        json!({"apiGroup": "example.com", "kind": "Template", "name": "a"})
    );
    assert!(hub["spec"]["machineTemplate"].get("deletion").is_none(), "the default holds");

    let config = |status: Value| {
        let object = json!({
            "apiVersion": to(BOOTSTRAP, "v1alpha1"), "kind": "OpenshiftAssistedConfig",
            "metadata": {"name": "example"}, "spec": {}, "status": status,
        });
        convert(&object, &to(BOOTSTRAP, "v1alpha2")).unwrap()["status"].clone()
    };
    let created = config(json!({"dataSecretName": "data"}));
    assert_eq!(
        (&created["dataSecretName"], &created["initialization"]["dataSecretCreated"]),
        (&json!("data"), &json!(true))
    );
    assert_eq!(config(json!({"ready": true}))["initialization"]["dataSecretCreated"], true);
    assert!(config(json!({"ready": false})).get("initialization").is_none());
}

#[test]
fn what_others_left_in_the_annotation_harms_nobody() {
    for kept in
        ["", "no JSON", "[]", r#"{"spec": 1}"#, r#"{"spec": {"sshAuthorizedKey": "stale"}, "kind": "x"}"#]
    {
        let object = json!({
            "apiVersion": to(BOOTSTRAP, "v1alpha2"), "kind": "OpenshiftAssistedConfig",
            "metadata": {"name": "example", "annotations": {CONVERSION_DATA: kept}},
            "spec": {"sshAuthorizedKey": "fresh"},
        });
        let old = convert(&object, &to(BOOTSTRAP, "v1alpha1")).unwrap();
        assert_eq!(old["spec"], json!({"sshAuthorizedKey": "fresh"}), "{kept}");
    }
    let unknown = json!({"apiVersion": "a/v1", "kind": "B", "metadata": {}});
    assert!(matches!(convert(&unknown, "a/v2"), Err(ConversionError::Unknown { .. })));
    let odd = json!({"apiVersion": to(BOOTSTRAP, "v1alpha1"), "kind": "OpenshiftAssistedConfig", "spec": 7});
    assert!(matches!(convert(&odd, &to(BOOTSTRAP, "v1alpha2")), Err(ConversionError::Unreadable { .. })));
}
