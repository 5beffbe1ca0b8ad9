//! A disabled host stays out: neither what is generated nor what is asked of the cluster counts it.

use std::collections::BTreeMap;
use std::io::Read;

use assisted_core::model::host::HostKey;
use assisted_testkit::oci;
use assisted_wire::cluster::{ClusterStatus, InstallationPreparationStatus};
use assisted_wire::host::{HostRole, HostStatus};
use assisted_wire::id::ClusterId;
use serde_json::{Value, json};

use crate::lab::{Database, Lab, Time, content, on_one_engine};
use crate::openshift::{Site, version};

on_one_engine![
    a_master_too_many,
    a_worker_where_nodes_choose_addresses,
    the_one_that_was_bootstrap,
    a_second_host_of_a_single_node,
];

/// So many hosts of a cluster that differs from the usual one in this.
async fn hosts_of_cluster(lab: &Lab, count: u8, more: Value) -> (ClusterId, Vec<HostKey>) {
    let cluster = lab.cluster(more).await;
    let infra_env = lab.infra_env(Some(cluster.id)).await;
    let mut hosts = Vec::new();
    for number in 1..=count {
        let host = lab.host(infra_env.id).await;
        lab.report_all(host, number).await;
        hosts.push(host);
    }
    lab.meet(&hosts).await;
    (cluster.id, hosts)
}

fn bare_metal() -> Value {
    json!({
        "base_dns_domain": "example.com",
        "api_vips": [{"ip": "192.168.126.100"}], "ingress_vips": [{"ip": "192.168.126.101"}],
    })
}

impl Lab {
    async fn give_role(&self, host: HostKey, role: HostRole) {
        let params = serde_json::from_value(json!({"host_role": role})).unwrap();
        self.service.hosts().update(&self.caller, host, params).await.unwrap();
    }

    /// What the cluster would be installed with, by the names of the files.
    async fn rendered(&self, id: ClusterId) -> BTreeMap<String, String> {
        let archive = content(self.service.clusters().render(&self.caller, id).await.unwrap()).await;
        let mut archive = tar::Archive::new(archive.as_slice());
        let read = |entry: std::io::Result<tar::Entry<'_, &[u8]>>| {
            let (mut entry, mut text) = (entry.unwrap(), String::new());
            entry.read_to_string(&mut text).unwrap();
            (entry.path().unwrap().to_str().unwrap().to_owned(), text)
        };
        archive.entries().unwrap().map(read).collect()
    }
}

/// So many masters are installed, and nothing of the host that is out is in any file.
fn without(files: &BTreeMap<String, String>, masters: usize, out: HostKey, name: &str) -> Value {
    let config: Value = serde_json::from_str(&files["install-config.yaml"]).unwrap();
    assert_eq!(config["controlPlane"]["replicas"], masters);
    assert_eq!(config["compute"][0]["replicas"], 0);
    let own = files.keys().filter(|name| name.starts_with("master-") || name.starts_with("worker-"));
    let own: Vec<_> = own.collect();
    assert!(own.len() == masters && own.iter().all(|name| name.starts_with("master-")), "{own:?}");
    let id = out.host_id.to_string();
    for (file, text) in files {
        assert!(!text.contains(name) && !text.contains(&id) && !file.contains(&id), "{name} in {file}");
    }
    // There are no workers for what users run.
    assert!(files.keys().any(|name| name.contains("schedulable")), "{:?}", files.keys());
    config
}

async fn a_master_too_many(database: Database) {
    let site = Site::new();
    let lab = Lab::generating(&database, Time::default(), site.generator()).await;
    let (id, hosts) = hosts_of_cluster(&lab, 4, bare_metal()).await;
    site.release(version(&lab.get_cluster(id).await), oci::OPENSHIFT_INSTALL).await;
    for host in &hosts {
        lab.give_role(*host, HostRole::Master).await;
    }
    assert_eq!(lab.get_cluster(id).await.status, ClusterStatus::Insufficient);
    lab.service.hosts().disable(&lab.caller, hosts[0]).await.unwrap();
    assert_eq!(lab.get_cluster(id).await.status, ClusterStatus::Ready);
    let config = without(&lab.rendered(id).await, 3, hosts[0], "node-1");
    let listed = config["platform"]["baremetal"]["hosts"].as_array().unwrap();
    let names: Vec<_> = listed.iter().map(|host| host["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["node-2", "node-3", "node-4"]);
    let shown = lab.service.clusters().get_install_config(&lab.caller, id).await.unwrap();
    assert_eq!(serde_json::from_str::<Value>(shown.expose()).unwrap(), config);
    lab.stop().await;
}

async fn a_worker_where_nodes_choose_addresses(database: Database) {
    let site = Site::new();
    let lab = Lab::generating(&database, Time::default(), site.generator()).await;
    let more = json!({"base_dns_domain": "example.com", "user_managed_networking": true});
    let (id, hosts) = hosts_of_cluster(&lab, 4, more).await;
    site.release(version(&lab.get_cluster(id).await), oci::OPENSHIFT_INSTALL).await;
    lab.give_role(hosts[2], HostRole::Worker).await;
    lab.service.hosts().disable(&lab.caller, hosts[2]).await.unwrap();
    lab.until_cluster(id, "ready", |cluster| cluster.status == ClusterStatus::Ready).await;
    let files = lab.rendered(id).await;
    let config = without(&files, 3, hosts[2], "node-3");
    assert_eq!(config["networking"]["machineNetwork"], json!([{"cidr": "192.168.126.0/24"}]));
    lab.stop().await;
}

async fn the_one_that_was_bootstrap(database: Database) {
    let site = Site::new();
    let lab = Lab::generating(&database, Time::default(), site.generator()).await;
    let (id, hosts) = hosts_of_cluster(&lab, 4, bare_metal()).await;
    let ready = |cluster: &assisted_wire::cluster::Cluster| cluster.status == ClusterStatus::Ready;
    lab.until_cluster(id, "ready", ready).await;
    // There is no release: nothing comes of it, but a bootstrap host is chosen.
    lab.install(id).await;
    let failed = lab.prepared(id).await.last_installation_preparation.unwrap();
    assert_eq!(failed.status, Some(InstallationPreparationStatus::Failed));
    lab.until_cluster(id, "ready again", ready).await;
    let mut was = None;
    for (number, host) in (1..).zip(&hosts) {
        let known = lab.until(*host, HostStatus::Known).await;
        if known.bootstrap {
            was = Some((*host, format!("node-{number}")));
        } else if known.role == Some(HostRole::Worker) {
            lab.give_role(*host, HostRole::Master).await;
        }
    }
    let (was, name) = was.unwrap();
    let disabled = lab.service.hosts().disable(&lab.caller, was).await.unwrap();
    assert!(!disabled.bootstrap);
    lab.until_cluster(id, "ready with the others", ready).await;
    site.release(version(&lab.get_cluster(id).await), oci::OPENSHIFT_INSTALL).await;
    without(&lab.rendered(id).await, 3, was, &name);

    lab.pass(1);
    let begun = lab.install(id).await.hosts.unwrap();
    let bootstrap: Vec<_> = begun.iter().filter(|host| host.bootstrap).map(|host| host.id).collect();
    assert!(bootstrap.len() == 1 && bootstrap[0] != was.host_id, "{bootstrap:?}");
    let done = lab.prepared(id).await.last_installation_preparation.unwrap();
    assert_eq!(done.status, Some(InstallationPreparationStatus::Success), "{}", done.reason);
    let own = format!("master-{}.ign", was.host_id);
    assert!(!lab.file_names(id).await.contains(&own));
    lab.stop().await;
}

/// Each host of such a cluster is its bootstrap host until it is taken out.
async fn a_second_host_of_a_single_node(database: Database) {
    let site = Site::new();
    let lab = Lab::generating(&database, Time::default(), site.generator()).await;
    let more = json!({
        "control_plane_count": 1, "high_availability_mode": "None", "base_dns_domain": "example.com",
    });
    let (id, hosts) = hosts_of_cluster(&lab, 2, more).await;
    site.release(version(&lab.get_cluster(id).await), oci::OPENSHIFT_INSTALL).await;
    let too_many = |cluster: &assisted_wire::cluster::Cluster| cluster.status == ClusterStatus::Insufficient;
    lab.until_cluster(id, "insufficient with two", too_many).await;
    let disabled = lab.service.hosts().disable(&lab.caller, hosts[0]).await.unwrap();
    assert!(!disabled.bootstrap);
    lab.until_cluster(id, "ready with one", |cluster| cluster.status == ClusterStatus::Ready).await;

    let files = lab.rendered(id).await;
    let config = without(&files, 1, hosts[0], "node-1");
    let disk = config["bootstrapInPlace"]["installationDisk"].as_str();
    assert!(disk.is_some_and(|disk| disk.starts_with("/dev/")), "{config}");
    // The node goes by its own address.
    let bootstrap = &files["bootstrap.ign"];
    assert!(bootstrap.contains("192.168.126.12") && !bootstrap.contains("192.168.126.11"), "{bootstrap}");

    let begun = lab.install(id).await.hosts.unwrap();
    let bootstrap: Vec<_> = begun.iter().filter(|host| host.bootstrap).map(|host| host.id).collect();
    assert_eq!(bootstrap, [hosts[1].host_id]);
    let done = lab.prepared(id).await.last_installation_preparation.unwrap();
    assert_eq!(done.status, Some(InstallationPreparationStatus::Success), "{}", done.reason);
    let names = lab.file_names(id).await;
    let of = |host: HostKey| names.contains(&format!("master-{}.ign", host.host_id));
    assert!(of(hosts[1]) && !of(hosts[0]), "{names:?}");
    lab.stop().await;
}
