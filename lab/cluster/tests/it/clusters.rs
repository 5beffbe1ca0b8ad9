//! A single node, from the bootstrap's first moment to the node's. Clusters of several hosts are installed by the lab's own tests.

use serde_json::{Value, json};

use crate::machine::{Machine, until};
use crate::site::Site;

const BOOTSTRAP: [&str; 3] = ["bootkube", "approve-csr", "progress"];

/// A job as that of an installation's controller: it needs a map, a secret, and the credentials of its account.
fn job() -> Value {
    let named = |api: &str, kind: &str, more: Value| {
        let mut object =
            json!({"apiVersion": api, "kind": kind, "metadata": {"name": "look", "namespace": "look"}});
        object.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        object
    };
    let pod = json!({
        "restartPolicy": "OnFailure", "hostNetwork": true, "serviceAccountName": "look",
        "nodeSelector": {"node-role.kubernetes.io/master": ""},
        "containers": [{
            "name": "look", "image": "192.168.126.1:5000/lab/look:latest",
            "env": [{"name": "WORD", "valueFrom": {"configMapKeyRef": {"name": "look", "key": "word"}}}],
            "volumeMounts": [{"name": "token", "mountPath": "/etc/look", "readOnly": true}],
        }],
        "volumes": [{"name": "token", "secret": {
            "secretName": "look", "items": [{"key": "token", "path": "token", "mode": 0o400}],
        }}],
    });
    json!({"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "look"}},
        named("v1", "ServiceAccount", json!({})),
        named("v1", "ConfigMap", json!({"data": {"word": "of the map"}})),
        named("v1", "Secret", json!({"stringData": {"token": "of the secret"}})),
        named("batch/v1", "Job", json!({"spec": {"template": {"spec": pod}}})),
    ]})
}

/// What the job's image would be.
fn give_program(machine: &Machine) {
    use std::os::unix::fs::PermissionsExt;
    let script = "#!/bin/sh\nset -e\ns=/var/run/secrets/kubernetes.io/serviceaccount\n\
        echo \"$WORD, $(cat /etc/look/token)\"\n\
        kubectl --server \"https://$KUBERNETES_SERVICE_HOST:$KUBERNETES_SERVICE_PORT\" --token \"$(cat $s/token)\" \
        --certificate-authority $s/ca.crt auth whoami --output=name\nsleep 3\n";
    let path = machine.path("/var/usrlocal/bin/look");
    std::fs::write(&path, script).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

fn condition(object: &Value, kind: &str) -> bool {
    let conditions = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
    conditions.iter().any(|condition| condition["type"] == kind && condition["status"] == "True")
}

fn runs_job(site: &Site, server: &str) {
    site.apply(server, &job());
    until("the job is complete", || {
        let job = site.json(server, &["--namespace", "look", "get", "job", "look"])?;
        condition(&job, "Complete").then_some(())
    });
    let log = site.kubectl(server, &["--namespace", "look", "logs", "job/look"]).unwrap();
    assert!(log.contains("of the map, of the secret"), "{log}");
}

#[test]
fn a_single_node() {
    const ADDRESS: &str = "192.168.126.10";
    let site = Site::new();
    let mut machine = site.machine("sno", ADDRESS, ADDRESS);
    machine.apply_config(&site.bootstrap("bootstrap-in-place-for-live-iso.ign"));
    for unit in BOOTSTRAP {
        machine.start(unit);
    }
    until("the API answers", || site.kubectl(ADDRESS, &["get", "--raw", "/readyz"]));
    until("the temporary control plane has done its part", || {
        machine.path("/opt/openshift/.bootkube.done").exists().then_some(())
    });
    let config = std::fs::read_to_string(machine.path("/opt/openshift/master.ign")).unwrap();
    assert_eq!(assisted_testkit::ignition_validate(config.as_bytes()).unwrap(), "");
    machine.wipe();
    machine.apply_config(&config);
    give_program(&machine);
    machine.start("lab-node");
    until("the node is ready", || (site.ready(ADDRESS) == ["sno"]).then_some(()));
    // What was applied before the restart is there without anybody applying it again.
    let map =
        site.json(ADDRESS, &["--namespace", "kube-system", "get", "configmap", "cluster-config-v1"]).unwrap();
    assert!(map["data"]["install-config"].as_str().unwrap().contains("lab"));
    assert!(machine.path("/etc/kubernetes/bootstrap-secrets/kubeconfig").is_file());
    runs_job(&site, ADDRESS);
    until("the cluster's version is available", || {
        let version = site.json(ADDRESS, &["get", "clusterversions", "version"])?;
        condition(&version, "Available").then_some(())
    });
}
