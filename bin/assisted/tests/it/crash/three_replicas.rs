//! Three services that share a database and a bucket and nothing else: each has a folder of its own, and makes what hosts are installed with by
//! the installer program of a release. One after the other is killed, again and again.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use assisted_blob::{Blob, Key, S3};
use assisted_testkit::oci::{self, OPENSHIFT_INSTALL};
use assisted_testkit::{AwsServer, Balancer, Postgres};
use serde_json::Value;

use super::{Process, Site, turn};
use crate::releases::Releases;

const BUCKET: &str = "files";

/// Hosts of a cluster.
const HOSTS: usize = 3;

/// What the three share besides the database: servers, and settings.
struct Shared {
    files: AwsServer,
    _releases: Releases,
    environment: Vec<(&'static str, String)>,
}

impl Shared {
    async fn new() -> Self {
        let releases = Releases::start();
        oci::push_release(&releases.registry, "4.22.9", OPENSHIFT_INSTALL.as_bytes()).await.unwrap();
        let files = AwsServer::start().unwrap();
        let environment = vec![
            ("REGISTRIES_CONF_FILE", releases.conf.display().to_string()),
            ("STORAGE", "s3".to_owned()),
            ("S3_ENDPOINT_URL", files.url.trim_start_matches("http://").to_owned()),
            ("S3_BUCKET", BUCKET.to_owned()),
            ("CREATE_S3_BUCKET", "true".to_owned()),
            ("AWS_ACCESS_KEY_ID", "me".to_owned()),
            ("AWS_SECRET_ACCESS_KEY", "hush".to_owned()),
            // Made by the first; given to all like any other secret.
            ("SEAL_KEY_FILE", releases.conf.with_file_name("seal-keys").display().to_string()),
        ];
        Self { files, _releases: releases, environment }
    }

    /// The folders of generated files that each cluster has in the bucket.
    async fn folders(&self) -> BTreeSet<(String, String)> {
        let endpoint = self.files.url.parse().unwrap();
        let bucket = S3 { create: false, ..S3::at(endpoint, BUCKET, "me", "hush") };
        let all = Blob::bucket(bucket).await.unwrap().all().await.unwrap();
        let folder = |key: &Key| {
            let parts: Vec<_> = key.as_str().split('/').collect();
            (parts.get(1) == Some(&"generated")).then(|| (parts[0].to_owned(), parts[2].to_owned()))
        };
        all.iter().filter_map(|(key, _)| folder(key)).collect()
    }
}

/// The text of a file of a cluster, as a replica gives it.
fn file(site: &Site, cluster: &str, name: &str) -> String {
    let kind = if name == "kubeconfig" { "credentials" } else { "files" };
    let url = format!(
        "{}/api/assisted-install/v2/clusters/{cluster}/downloads/{kind}?file_name={name}",
        site.url()
    );
    let (head, body) = crate::images::get(&url);
    assert!(head.starts_with("HTTP/1.1 200"), "{url}: {head}");
    String::from_utf8(body).unwrap()
}

#[allow(clippy::print_stdout, reason = "figures")]
async fn installed_while_one_is_killed(clusters: usize, every: Duration, limit: Duration) {
    let database = Postgres::start().unwrap().create_database().unwrap();
    let shared = Shared::new().await;
    let sites: Vec<_> = (0..3).map(|_| Site::new(Some(database.clone())).installing()).collect();
    let mut processes: Vec<Process> = Vec::new();
    for site in &sites {
        processes.push(site.serve(&shared.environment));
        site.until_ready();
    }
    let own = |port: u16| SocketAddr::from(([127, 0, 0, 1], port));
    let replicas = sites.iter().map(|site| own(site.port.number)).collect();
    let balancer = Balancer::start(own(0), replicas).unwrap();
    let url = format!("http://{}", balancer.address);
    let count = clusters.to_string();
    let simulation =
        sites[0].simulate_at(&url, &["--topology", "compact", "--clusters", &count, "--seed", "1"]);
    let began = Instant::now();
    let (mut killed, mut last) = (0, began);
    let report = sites[0].finish_within(limit, simulation, || {
        if last.elapsed() > every {
            let number = killed % sites.len();
            processes[number].kill();
            processes[number] = sites[number].serve(&shared.environment);
            (killed, last) = (killed + 1, Instant::now());
        }
    });
    assert!(killed > 1, "{killed} were killed");
    let taken = balancer.taken();
    assert!(taken.iter().all(|count| *count > 0), "{taken:?}");
    check_outcome(&sites, &report, clusters);
    println!(
        "{clusters} clusters by three replicas in {} s, of which {killed} were killed; connections to each: {taken:?}",
        began.elapsed().as_secs()
    );
    // One try of each installation counts; what others left is gone, or is there to go with the cluster.
    let folders = shared.folders().await;
    let with_files: BTreeSet<_> = folders.iter().map(|(cluster, _)| cluster.as_str()).collect();
    assert_eq!(with_files.len(), clusters, "{folders:?}");
}

/// Every replica tells the same of every cluster: nothing is lost, nothing was done twice, and files are of one try.
fn check_outcome(sites: &[Site], report: &Value, clusters: usize) {
    let of_report = report["clusters"].as_array().unwrap();
    assert_eq!(of_report.len(), clusters, "{report}");
    let mut told: Vec<(Vec<Value>, Vec<String>)> = Vec::new();
    for site in sites {
        site.until_ready();
        site.nothing_is_told_twice(report);
        let mut listed = site.json(&["cluster", "list"]).as_array().unwrap().clone();
        assert_eq!(listed.len(), clusters, "{listed:#?}");
        listed.sort_by_key(|cluster| cluster["id"].to_string());
        assert!(listed.iter().all(|cluster| cluster["status"] == "installed"), "{listed:#?}");
        let hosts = site.json(&["host", "list"]);
        let hosts = hosts.as_array().unwrap();
        assert_eq!(hosts.len(), clusters * HOSTS, "{hosts:#?}");
        assert!(hosts.iter().all(|host| host["status"] == "installed"), "{hosts:#?}");
        let mut files = Vec::new();
        for cluster in &listed {
            let id = cluster["id"].as_str().unwrap();
            let [kubeconfig, bootstrap] = ["kubeconfig", "bootstrap.ign"].map(|name| file(site, id, name));
            let metadata: Value = serde_json::from_str(&file(site, id, "metadata.json")).unwrap();
            assert_eq!(metadata["clusterID"], cluster["openshift_cluster_id"], "{cluster:#}");
            files.extend([kubeconfig, bootstrap, metadata.to_string()]);
        }
        let facts = listed.iter().map(|cluster| {
            serde_json::json!([
                cluster["id"],
                cluster["openshift_cluster_id"],
                cluster["install_completed_at"]
            ])
        });
        told.push((facts.collect(), files));
    }
    assert!(told.windows(2).all(|pair| pair[0] == pair[1]), "two replicas differ");
}

fn in_its_turn(installations: impl Future<Output = ()>) {
    let _turn = turn();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.unwrap().block_on(installations);
}

#[test]
fn one_of_three_is_killed_again_and_again() {
    in_its_turn(installed_while_one_is_killed(3, Duration::from_secs(2), super::LIMIT));
}

#[test]
fn everything_one_of_three_is_killed_during_twenty_installations() {
    in_its_turn(installed_while_one_is_killed(20, Duration::from_secs(4), Duration::from_secs(20 * 60)));
}
