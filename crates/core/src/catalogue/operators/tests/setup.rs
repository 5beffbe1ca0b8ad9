//! What lets the cluster's monitoring in, and the jobs that set up storage, against the reference (operators §3.3, §3.4).

use serde_json::json;

use super::fields::{cluster, made, single_node};
use super::*;

fn of_kind<'a>(all: &'a [Value], kind: &str, name: &str) -> Option<&'a Value> {
    all.iter().find(|object| object["kind"] == kind && object["metadata"]["name"] == name)
}

#[test]
fn monitoring_may_read() {
    let listed = REFERENCE.split("`<namespace>`: ").nth(1).unwrap().lines().next().unwrap();
    let all = made(&cluster("4.20.1", &["lso", "amd-gpu", "numaresources"]));
    assert_eq!(code(listed).len(), 3);
    for namespace in code(listed) {
        let name = format!("{namespace}-prometheus-k8s");
        let role = of_kind(&all, "Role", &name).unwrap();
        assert_eq!(role["metadata"]["namespace"], namespace);
        let resources = json!(["services", "endpoints", "pods"]);
        let rule = json!({"apiGroups": [""], "resources": resources, "verbs": ["get", "list", "watch"]});
        assert_eq!(role["rules"], json!([rule]));
        let binding = of_kind(&all, "RoleBinding", &name).unwrap();
        assert_eq!(binding["roleRef"]["name"], name.as_str());
        let account =
            json!({"kind": "ServiceAccount", "name": "prometheus-k8s", "namespace": "openshift-monitoring"});
        assert_eq!(binding["subjects"], json!([account]));
    }
}

/// Rules of each role, as the reference lists them: operator, group, resources, verbs.
fn rules() -> Vec<(String, String, String, String)> {
    let section = REFERENCE.split("\nClusterRole rules:\n").nth(1).unwrap();
    let mut operator = String::new();
    let mut all = Vec::new();
    for row in rows(section, "Operator") {
        if !row[0].is_empty() {
            operator.clone_from(&row[0]);
        }
        let group = if row[1] == "core" { String::new() } else { row[1].clone() };
        let resources = row[2].split(" (").next().unwrap().to_owned();
        all.push((operator.clone(), group, resources, row[3].clone()));
    }
    all
}

#[test]
fn jobs_set_up_storage() {
    let words = |value: &Value, between: &str| {
        value.as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect::<Vec<_>>().join(between)
    };
    let several = cluster("4.20.1", &["odf", "lso", "kmm", "openshift-ai"]);
    let single = single_node(cluster("4.20.1", &["lvm", "openshift-ai"]));
    for (facts, operator, namespace, class) in [
        (&several, "kmm", "openshift-kmm", "ocs-storagecluster-ceph-rgw"),
        (&several, "openshift-ai", "redhat-ods-operator", "ocs-storagecluster-ceph-rbd"),
        (&single, "openshift-ai", "redhat-ods-operator", "lvms-vg1"),
    ] {
        let all = made(facts);
        let job = all
            .iter()
            .find(|object| object["kind"] == "Job" && object["metadata"]["namespace"] == namespace)
            .unwrap();
        assert_eq!(job["metadata"]["name"], "setup");
        assert_eq!(job["metadata"]["labels"], json!({"agent-install.openshift.io/setup-job": operator}));
        assert!(
            job["spec"]["activeDeadlineSeconds"].as_u64().unwrap() > 2 * 4200,
            "the slowest operator, and time for its storage"
        );
        let pod = &job["spec"]["template"]["spec"];
        assert_eq!(
            (pod["serviceAccountName"].as_str(), pod["restartPolicy"].as_str()),
            (Some("setup"), Some("Never"))
        );
        let [container] = &pod["containers"].as_array().unwrap()[..] else { panic!("{pod}") };
        assert_eq!(container["image"], facts.policy.images.controller);
        let [shell, flags, command, script] = &container["command"].as_array().unwrap()[..] else {
            panic!("{container}")
        };
        assert_eq!((shell, flags, command), (&json!("/usr/bin/bash"), &json!("-ex"), &json!("-c")));
        let script = script.as_str().unwrap();
        assert!(script.contains(&format!("class={class}\n")), "{script}");
        let role = format!("{namespace}-setup");
        let binding = of_kind(&all, "ClusterRoleBinding", &role).unwrap();
        let account = json!({"kind": "ServiceAccount", "name": "setup", "namespace": namespace});
        assert_eq!(binding["subjects"], json!([account]));
        let found: Vec<_> = of_kind(&all, "ClusterRole", &role).unwrap()["rules"]
            .as_array()
            .unwrap()
            .iter()
            .map(|rule| {
                (
                    operator.to_owned(),
                    words(&rule["apiGroups"], ","),
                    words(&rule["resources"], ", "),
                    words(&rule["verbs"], " "),
                )
            })
            .collect();
        let listed: Vec<_> = rules().into_iter().filter(|(of, ..)| of == operator).collect();
        assert_eq!(found, listed, "{operator}");
    }
    // Nothing would bring their storage.
    for facts in [cluster("4.20.1", &["kmm", "openshift-ai"]), cluster("4.20.1", &["openshift-ai", "lvm"])] {
        assert!(made(&facts).iter().all(|object| object["kind"] != "Job"));
    }
}

/// Names and values that the steps of the reference tell are those of the script.
#[test]
fn the_script_does_the_steps_of_the_reference() {
    let steps = &table(REFERENCE, "What the jobs do (", "Job")[1];
    assert_eq!(steps[0], "kmm");
    let script = include_str!("../olm/kmm-setup.sh");
    for name in code(&steps[1]) {
        // The names of objects are told with their namespaces, values with their fields.
        for part in name
            .split(['/', ':', ' ', '{', '}', ',', '.'])
            .filter(|part| part.len() > 3 && !part.contains('<'))
        {
            let known = ["v1alpha1", "spec", "status", "openshift"].contains(&part);
            assert!(known || script.contains(part), "{part} of {name}");
        }
    }
}
