//! `assisted-lab up --cluster-api`: objects of Cluster API alone ask for a cluster. Its core is real, the providers are processes of the
//! program, with the rights that they are released with, and the infrastructure is the lab's machines.

use crate::hub::{self, all, name, of_cluster, one};
use crate::namespaces::Cluster;
use crate::support::run;

const MASTERS: [&str; 3] = ["master-0", "master-1", "master-2"];

/// All kinds of objects that a Cluster brings along.
const KINDS: &str = "clusters.cluster.x-k8s.io,machinedeployments,machinesets,machines.cluster.x-k8s.io,\
                     openshiftassistedcontrolplanes,openshiftassistedconfigs,metal3clusters,metal3machines,clusterdeployments,\
                     agentclusterinstalls,infraenvs,agents";

fn installed(options: &[&str], names: &[&str]) -> Cluster {
    let cluster = Cluster::start(options, names);
    // Nobody gave the service an order, and the cluster took all that it was given.
    assert!(!cluster.told().contains("$ assisted "), "{}", cluster.told());
    cluster.all_was_taken();
    cluster
}

/// Waits until something is so; the lab has to live.
fn until(cluster: &Cluster, what: &str, is_so: impl Fn() -> bool) {
    hub::until(cluster, KINDS, what, is_so);
}

/// All conditions that a Cluster which stands has.
fn stands(cluster: &Cluster) -> bool {
    let found = all(cluster, "clusters.cluster.x-k8s.io");
    let conditions = found[0]["status"]["conditions"].as_array().unwrap();
    [
        "InfrastructureReady",
        "ControlPlaneInitialized",
        "ControlPlaneAvailable",
        "WorkersAvailable",
        "Available",
    ]
    .iter()
    .all(|kind| {
        conditions.iter().any(|condition| condition["type"] == *kind && condition["status"] == "True")
    })
}

/// Each Machine is a node that is ready, on the host that its Metal3Machine has: by its name, its label and its provider id.
fn are_nodes(cluster: &Cluster, names: &[&str]) {
    // The core looks at the cluster's nodes by itself.
    until(cluster, "the node of each Machine", || {
        let machines = all(cluster, "machines.cluster.x-k8s.io");
        machines.iter().all(|machine| machine["status"]["nodeRef"]["name"].is_string())
    });
    let (machines, own) = (all(cluster, "machines.cluster.x-k8s.io"), all(cluster, "metal3machines"));
    let (hosts, nodes) = (all(cluster, "baremetalhosts"), of_cluster(cluster));
    let mut found = Vec::new();
    for machine in &machines {
        let node = one(&nodes, machine["status"]["nodeRef"]["name"].as_str().unwrap());
        assert_eq!(machine["status"]["phase"], "Running", "{machine}");
        let metal = one(&own, machine["spec"]["infrastructureRef"]["name"].as_str().unwrap());
        let host = metal["metadata"]["annotations"]["metal3.io/BareMetalHost"].as_str().unwrap();
        let host = one(&hosts, host.strip_prefix("lab/").unwrap());
        assert_eq!(name(host), name(node));
        let id = host["metadata"]["uid"].as_str().unwrap();
        assert_eq!(node["metadata"]["labels"]["metal3.io/uuid"], id, "{node}");
        for object in [&node["spec"], &machine["spec"], &metal["spec"]] {
            assert_eq!(object["providerID"], format!("metal3://{id}"), "{object}");
        }
        found.push(name(node));
    }
    found.sort_unstable();
    assert_eq!(found, names);
    assert_eq!(nodes.len(), names.len());
}

/// Masters have booted the live ISO of their template's InfraEnv.
fn booted_live_iso(cluster: &Cluster) {
    let (hosts, infra_envs) = (all(cluster, "baremetalhosts"), all(cluster, "infraenvs"));
    let url = &one(&infra_envs, "lab-control-plane")["status"]["isoDownloadURL"];
    for name in MASTERS {
        let host = one(&hosts, name);
        assert_eq!(
            (&host["spec"]["image"]["url"], &host["spec"]["image"]["format"]),
            (url, &"live-iso".into())
        );
        let secret = host["spec"]["userData"]["name"].as_str().unwrap();
        let secret = one(&all(cluster, "secrets"), secret).clone();
        assert_eq!(secret["data"]["value"].as_str().unwrap_or_default(), "", "{secret}");
    }
}

/// The worker has booted a disk image, with an InfraEnv of its Machine's own: it had no name, and has told by itself what its config drive says.
fn booted_disk_image(cluster: &Cluster, worker: &str) {
    let (hosts, infra_envs) = (all(cluster, "baremetalhosts"), all(cluster, "infraenvs"));
    let host = one(&hosts, worker);
    assert_eq!(host["spec"]["image"]["format"], "qcow2", "{host}");
    let own =
        one(&all(cluster, "metal3machines"), host["spec"]["consumerRef"]["name"].as_str().unwrap()).clone();
    let machine = own["metadata"]["ownerReferences"][0]["name"].as_str().unwrap();
    one(&infra_envs, machine);
    let folder = cluster.dir().join(worker).join("live/etc");
    let told = |file: &str| std::fs::read_to_string(folder.join(file)).unwrap();
    let (metadata, id) = (told("metadata_env"), host["metadata"]["uid"].as_str().unwrap());
    assert!(metadata.contains(&format!("METADATA_NAME={worker}\n")), "{metadata}");
    assert!(metadata.contains(&format!("METADATA_UUID={id}\n")), "{metadata}");
    assert_eq!(told("hostname").trim(), worker);
}

/// The Cluster is deleted, and nothing of it is left but hosts that are free, switched off and empty.
fn goes(cluster: &Cluster, names: &[&str]) {
    let secrets = || all(cluster, "secrets").iter().map(name).collect::<Vec<_>>();
    run(&mut hub::kubectl(cluster, &["delete", "clusters.cluster.x-k8s.io", "lab", "--wait=false"]));
    until(cluster, "the end of the Cluster, and of all that it brought along,", || {
        all(cluster, KINDS).is_empty()
    });
    until(cluster, "hosts that are free", || {
        all(cluster, "baremetalhosts").iter().all(|host| {
            let (spec, status) = (&host["spec"], &host["status"]);
            spec["consumerRef"].is_null()
                && spec["online"] == false
                && status["poweredOn"] == false
                && status["provisioning"]["state"] == "available"
        })
    });
    for name in names {
        assert!(!cluster.dir().join(name).exists(), "{name} has kept its disk");
    }
    until(cluster, "the end of Secrets that belong to machines", || {
        let left = secrets();
        !left.iter().any(|name| name == "lab-kubeconfig" || name.starts_with("lab-workers-"))
    });
    assert!(all(cluster, "clusterimagesets").is_empty());
}

#[test]
fn manifests_of_cluster_api_become_a_cluster_and_take_it_away_again() {
    let names = [&MASTERS[..], &["worker-0"]].concat();
    let cluster = installed(&["--topology", "compact", "--cluster-api=both", "--workers", "1"], &names);
    cluster.said(&[
        "ControlPlaneInitialized=False",
        "ControlPlaneInitialized=True",
        " Available=True",
        "clusterctl describe cluster lab",
    ]);
    assert!(stands(&cluster));
    are_nodes(&cluster, &names);
    booted_live_iso(&cluster);
    booted_disk_image(&cluster, "worker-0");
    goes(&cluster, &names);
}

#[test]
fn everything_a_worker_comes_and_goes_and_a_master_is_replaced_by_cluster_api() {
    let names = [&MASTERS[..], &["worker-0"]].concat();
    let cluster = installed(
        &["--topology", "compact", "--cluster-api=disk-image", "--workers", "1", "--day2-workers", "1"],
        &names,
    );
    let available = |replicas: i64| {
        let found = all(&cluster, "machinedeployments");
        let status = &found[0]["status"];
        status["availableReplicas"] == replicas && status["replicas"] == replicas
    };
    let gone = |machine: &str| {
        !all(&cluster, "machines.cluster.x-k8s.io").iter().any(|found| name(found) == machine)
    };
    let machine_of = |node: &str| {
        let machines = all(&cluster, "machines.cluster.x-k8s.io");
        name(machines.iter().find(|machine| machine["status"]["nodeRef"]["name"] == node).unwrap())
    };
    let scale = |replicas: &str| {
        let replicas = format!("--replicas={replicas}");
        run(&mut hub::kubectl(&cluster, &["scale", "machinedeployment", "lab-workers", &replicas]));
    };

    scale("2");
    until(&cluster, "a second worker", || available(2));
    are_nodes(&cluster, &[&names[..], &["worker-1"]].concat());

    let leaves = machine_of("worker-1");
    let mark = ["annotate", "machines.cluster.x-k8s.io", &leaves, "cluster.x-k8s.io/delete-machine=yes"];
    run(&mut hub::kubectl(&cluster, &mark));
    scale("1");
    until(&cluster, "the end of the second worker", || gone(&leaves) && available(1));
    until(&cluster, "the end of its node", || of_cluster(&cluster).len() == names.len());
    are_nodes(&cluster, &names);

    let leaves = machine_of("master-0");
    let mark = ["annotate", "machines.cluster.x-k8s.io", &leaves, "cluster.x-k8s.io/remediate-machine="];
    run(&mut hub::kubectl(&cluster, &mark));
    until(&cluster, "the end of a master", || gone(&leaves));
    until(&cluster, "another master in its place", || {
        let machines = all(&cluster, "machines.cluster.x-k8s.io");
        machines.len() == names.len()
            && machines.iter().all(|machine| machine["status"]["nodeRef"]["name"].is_string())
            && stands(&cluster)
    });
    are_nodes(&cluster, &names);
    goes(&cluster, &names);
}

#[test]
fn everything_a_single_node_and_two_masters_with_an_arbiter_by_cluster_api() {
    for (shape, names) in [("sno", &["master-0"][..]), ("arbiter", &["master-0", "master-1", "arbiter-0"])] {
        let cluster = installed(&["--topology", shape, "--cluster-api"], names);
        assert!(stands(&cluster));
        let mut sorted = names.to_vec();
        sorted.sort_unstable();
        are_nodes(&cluster, &sorted);
        goes(&cluster, names);
    }
}
