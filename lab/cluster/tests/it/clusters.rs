//! Installations, from the bootstrap host's first moment to a cluster that stands without it.

use serde_json::{Value, json};

use crate::machine::{Machine, until};
use crate::site::{Site, VIP, first_start};

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

/// Lets a node in as the controller of an installation would.
fn approve(site: &Site) {
    for request in site.json(VIP, &["get", "csr"]).iter().flat_map(|list| list["items"].as_array().unwrap()) {
        if request["status"]["conditions"].is_null() {
            let name = request["metadata"]["name"].as_str().unwrap();
            site.kubectl(VIP, &["certificate", "approve", name]);
        }
    }
}

/// Installs a cluster up to the moment at which it stands without its bootstrap host; gives that, and the others, each
/// by its name and the role that it has.
fn stand(site: &Site, others: [(&str, &str); 2]) -> (Machine, [Machine; 2]) {
    let mut first = site.machine("m0", "192.168.126.10", VIP);
    first.lay(&site.bootstrap("bootstrap.ign"));
    for unit in BOOTSTRAP {
        first.start(unit);
    }
    let mut address = 10;
    let mut others = others.map(|(name, role)| {
        address += 1;
        (site.machine(name, &format!("192.168.126.{address}"), VIP), role)
    });
    until("the API answers at its virtual address", || site.kubectl(VIP, &["get", "--raw", "/readyz"]));
    for (machine, role) in &mut others {
        join(site, machine, role);
    }
    let log = std::fs::read_to_string(first.path("/var/log/containers/machine-config-server.log")).unwrap();
    assert!(log.contains(r#"Pool master requested by address:"192.168.126.11:"#), "{log}");
    until("two nodes are ready", || (site.ready(VIP).len() == 2).then_some(()));
    until("the temporary control plane has done its part", || {
        first.path("/opt/openshift/.bootkube.done").exists().then_some(())
    });
    assert!(until("bootkube has ended", || first.ended("bootkube")), "{}", first.log("bootkube"));
    assert!(until("the cluster stands alone", || first.ended("progress")));
    let complete = until("its map says so", || {
        site.json(VIP, &["--namespace", "kube-system", "get", "configmap", "bootstrap"])
    });
    assert_eq!(complete["data"]["status"], "complete");
    (first, others.map(|(machine, _)| machine))
}

/// A machine starts from its disk.
fn join(site: &Site, machine: &mut Machine, role: &str) {
    first_start(machine, &site.read(&format!("{role}.ign")));
    give_program(machine);
    machine.start("lab-node");
}

fn all_are_ready(site: &Site, count: usize) {
    until(&format!("{count} nodes are ready"), || {
        approve(site);
        (site.ready(VIP).len() == count).then_some(())
    });
}

fn has_three_members(site: &Site) {
    until("etcd has three members", || {
        let map = site.json(VIP, &["--namespace", "openshift-etcd", "get", "configmap", "etcd-endpoints"])?;
        (map["data"].as_object()?.len() == 3).then_some(())
    });
}

#[test]
fn everything_two_control_plane_hosts_and_an_arbiter() {
    let site = Site::new(2, 1);
    let (mut first, _others) = stand(&site, [("m1", "master"), ("a0", "arbiter")]);
    first.wipe();
    join(&site, &mut first, "master");
    all_are_ready(&site, 3);
    has_three_members(&site);
    let arbiter = site.json(VIP, &["get", "node", "a0"]).unwrap();
    assert!(arbiter["metadata"]["labels"].get("node-role.kubernetes.io/arbiter").is_some());
}

#[test]
fn three_control_plane_hosts_and_a_worker() {
    let site = Site::new(3, 0);
    let (mut first, mut others) = stand(&site, [("m1", "master"), ("m2", "master")]);
    runs_job(&site, VIP);

    first.wipe();
    join(&site, &mut first, "master");
    let mut worker = site.machine("w0", "192.168.126.20", VIP);
    join(&site, &mut worker, "worker");
    all_are_ready(&site, 4);
    let version = until("the cluster's version is available", || {
        let version = site.json(VIP, &["get", "clusterversions", "version"])?;
        condition(&version, "Available").then_some(version)
    });
    assert_eq!(version["status"]["desired"]["version"], "4.20.1");
    has_three_members(&site);
    eprintln!("{}", site.kubectl(VIP, &["get", "nodes,clusteroperators", "--output=wide"]).unwrap());
    for name in ["m0", "m1", "m2", "w0"] {
        let node = site.json(VIP, &["get", "node", name]).unwrap();
        let annotations = &node["metadata"]["annotations"];
        let config = annotations["machineconfiguration.openshift.io/currentConfig"].as_str().unwrap();
        assert!(site.json(VIP, &["get", "machineconfigs", config]).is_some(), "{config}");
    }

    let holder = others.iter().position(|machine| has_address(machine, VIP));
    let gone = match holder {
        Some(holder) => &mut others[holder],
        None => &mut first,
    };
    gone.wipe();
    until("the API has moved to another host", || site.kubectl(VIP, &["get", "--raw", "/readyz"]));
    assert_eq!(
        until("nodes are still told", || site.json(VIP, &["get", "nodes"]))["items"]
            .as_array()
            .unwrap()
            .len(),
        4
    );
}

fn has_address(machine: &Machine, address: &str) -> bool {
    let text = crate::machine::run(machine.outside("ip").args(["address", "show"]));
    text.contains(&format!("{address}/32"))
}

#[test]
fn a_single_node() {
    const ADDRESS: &str = "192.168.126.10";
    let site = Site::new(1, 0);
    let mut machine = site.machine("sno", ADDRESS, ADDRESS);
    machine.lay(&site.bootstrap("bootstrap-in-place-for-live-iso.ign"));
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
    machine.lay(&config);
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
