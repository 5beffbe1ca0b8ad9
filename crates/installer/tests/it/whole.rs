//! Against the whole service, a process of its own: it judges hosts, prepares the cluster and takes each stage as ever. The
//! hosts' agents are played, their installers are real.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use assisted_installer::{Config, DryRun};
use assisted_simhost::connection::Connection;
use assisted_simhost::host::SimHost;
use assisted_simhost::topology::Build;
use assisted_simhost::world::{Needs, Site};
use assisted_simhost::{plan, step};
use assisted_testkit::{Server, built};
use assisted_wire::host::HostRole;
use assisted_wire::id::InfraEnvId;
use assisted_wire::operation::BASE_PATH;
use assisted_wire::probe_requests::InstallCmdRequest;
use assisted_wire::step::{StepType, Steps};
use futures::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use crate::machine::{Machine, config};

/// Far longer than anything here takes: a test that waits for what never comes ends.
const TIMEOUT: Duration = Duration::from_secs(120);

/// A cluster whose hosts are switched on.
struct Cluster {
    server: Server,
    connection: Connection,
    path: String,
    site: Site,
    hosts: Vec<SimHost>,
    _dir: tempfile::TempDir,
}

impl Cluster {
    async fn start(count: u32) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let program = built("assisted").unwrap();
        let server = Server::start(&program, dir.path(), |command| {
            // Played agents are no older than real ones.
            command.args(["--generator", "simulation"]).env("ENABLE_UPGRADE_AGENT", "false");
        });
        let server = server.unwrap();
        let mut connection = Connection::open(server.address()).await.unwrap();
        let site = Site::new(0, Needs { hosts: count, vips: true, dual: false }).unwrap();
        let wanted = json!({
            "name": "whole", "base_dns_domain": "example.com", "openshift_version": "4.20",
            "pull_secret": plan::PULL_SECRET, "control_plane_count": count,
            "api_vips": [{"ip": site.api()}], "ingress_vips": [{"ip": site.ingress()}],
        });
        let made = connection.json(Method::POST, &format!("{BASE_PATH}/v2/clusters"), &wanted).await.unwrap();
        let id = made["id"].as_str().unwrap();
        let wanted = json!({"name": "whole", "cluster_id": id, "pull_secret": plan::PULL_SECRET});
        let made =
            connection.json(Method::POST, &format!("{BASE_PATH}/v2/infra-envs"), &wanted).await.unwrap();
        let infra_env: InfraEnvId = made["id"].as_str().unwrap().parse().unwrap();
        let mut cluster = Self {
            server,
            connection,
            path: format!("{BASE_PATH}/v2/clusters/{id}"),
            site,
            hosts: Vec::new(),
            _dir: dir,
        };
        for place in 0..count {
            let host = SimHost::at(infra_env, place, site.host(place), Build::ControlPlane);
            let registration = serde_json::to_value(host.registration()).unwrap();
            cluster.connection.json(Method::POST, &host.hosts_path(), &registration).await.unwrap();
            cluster.hosts.push(host);
        }
        cluster
    }

    async fn get(&mut self) -> Value {
        self.connection.json(Method::GET, &self.path, &Value::Null).await.unwrap()
    }

    /// What each agent is told next, answered; the installations that are asked for.
    async fn poll(&mut self) -> Vec<InstallCmdRequest> {
        let mut installations = Vec::new();
        for host in &self.hosts {
            let path = host.instructions_path();
            let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
            let asked = format!("{path}?timestamp={now}");
            let told = self.connection.json(Method::GET, &asked, &Value::Null).await.unwrap();
            let told: Steps = serde_json::from_value(told).unwrap();
            for next in told.instructions.unwrap_or_default() {
                if next.step_type == Some(StepType::Install) {
                    installations.push(serde_json::from_str(&next.args.unwrap()[0]).unwrap());
                } else {
                    let reply = serde_json::to_value(step::reply(host, self.site, None, &next)).unwrap();
                    self.connection.json(Method::POST, &path, &reply).await.unwrap();
                }
            }
        }
        installations
    }

    /// Has it installed: what each host's agent is asked to do, the bootstrap first.
    async fn install(&mut self) -> Vec<InstallCmdRequest> {
        let begin = async {
            while self.get().await["status"] != "ready" {
                self.poll().await;
            }
            let path = format!("{}/actions/install", self.path);
            self.connection.json(Method::POST, &path, &Value::Null).await.unwrap();
            // Each host is told once when its turn comes, not with every poll.
            let mut asked = Vec::new();
            while asked.len() < self.hosts.len() {
                asked.extend(self.poll().await);
            }
            asked
        };
        let begun = tokio::time::timeout(TIMEOUT, begin).await;
        let mut asked = match begun {
            Ok(asked) => asked,
            Err(_) => {
                // The old connection was in the middle of something.
                self.connection = Connection::open(self.server.address()).await.unwrap();
                panic!("{:#}\n{}", self.get().await, self.server.log())
            }
        };
        asked.sort_by_key(|request| request.role != HostRole::Bootstrap);
        asked
    }

    /// Role and stage of each host, sorted.
    async fn stages(&mut self) -> Vec<String> {
        let cluster = self.get().await;
        let hosts = cluster["hosts"].as_array().unwrap().iter();
        let of = |host: &Value| {
            format!(
                "{} {}",
                host["bootstrap"] == true,
                host["progress"]["current_stage"].as_str().unwrap_or_default()
            )
        };
        let mut stages: Vec<_> = hosts.map(of).collect();
        stages.sort();
        stages
    }
}

/// What the agent tells the installer.
fn config_of(request: &InstallCmdRequest, url: &str) -> Config {
    let masters = u32::try_from(request.control_plane_count).unwrap();
    Config {
        cluster_id: request.cluster_id,
        infra_env_id: request.infra_env_id,
        host_id: Some(request.host_id),
        boot_device: PathBuf::from(&request.boot_device),
        openshift_version: request.openshift_version.clone(),
        mco_image: request.mco_image.clone(),
        controller_image: request.controller_image.clone(),
        check_cluster_version: request.check_cvo,
        must_gather_image: request.must_gather_image.clone(),
        disks_to_format: Vec::new(),
        skip_disk_cleanup: request.skip_installation_disk_cleanup,
        skip_mco_reboot: false,
        notify_num_reboots: request.notify_num_reboots,
        approve_all_csrs: request.approve_all_csrs,
        installer_args: request.installer_args.clone(),
        ..config(url, request.role, masters)
    }
}

/// A machine that has the disk which is installed to.
fn machine(device: &str) -> Machine {
    let machine = Machine::new();
    let place = machine.path(device.trim_start_matches('/'));
    std::fs::create_dir_all(place.parent().unwrap()).unwrap();
    std::fs::write(place, "old").unwrap();
    machine
}

#[tokio::test]
async fn three_hosts_are_installed() {
    let mut cluster = Cluster::start(3).await;
    let asked = cluster.install().await;
    assert_eq!(asked[0].role, HostRole::Bootstrap);
    let machines: Vec<_> = asked.iter().map(|request| machine(&request.boot_device)).collect();
    let markers: Vec<_> = machines.iter().map(|machine| machine.path("rebooted")).collect();
    let of = |(request, marker): (&InstallCmdRequest, &PathBuf)| {
        let host = cluster.hosts.iter().find(|host| host.id == request.host_id).unwrap();
        json!({"hostname": host.name(), "ip": host.place.address, "rebootMarkerPath": marker})
    };
    let hosts: Vec<_> = asked.iter().zip(&markers).map(of).collect();
    let dir = tempfile::tempdir().unwrap();
    let known = dir.path().join("hosts.json");
    std::fs::write(&known, Value::from(hosts).to_string()).unwrap();
    let url = cluster.server.url();
    // What the cluster would be that the bootstrap starts is pretended: hosts that have restarted are its nodes.
    let run = async |request: &InstallCmdRequest, machine: &Machine, marker: &PathBuf| {
        let dry_run = DryRun { reboot_marker: "/rebooted".into(), cluster_hosts: known.clone() };
        let dry_run = (request.role == HostRole::Bootstrap).then_some(dry_run);
        let done = machine.installer(Config { dry_run, ..config_of(request, &url) }, TIMEOUT).run().await;
        std::fs::write(marker, "").unwrap();
        done
    };
    let each = asked.iter().zip(&machines).zip(&markers);
    let all = join_all(each.map(|((request, machine), marker)| run(request, machine, marker)));
    let all = tokio::time::timeout(TIMEOUT, all).await.unwrap();
    assert!(all.iter().all(Result::is_ok), "{all:?}\n{}", cluster.server.log());
    for (request, machine) in asked.iter().zip(&machines).skip(1) {
        let disk = machine.path(request.boot_device.trim_start_matches('/'));
        assert_eq!(std::fs::read_to_string(disk).unwrap(), "image\n");
        // The config that the image gets is the service's own for this host.
        let config = machine.path(&format!("opt/install-dir/master-{}.ign", request.host_id));
        let config: Value = serde_json::from_slice(&std::fs::read(config).unwrap()).unwrap();
        assert!(config["ignition"]["version"].is_string(), "{config}");
        assert!(
            machine.calls().last().unwrap().starts_with("systemd-run --on-active="),
            "{:#?}",
            machine.calls()
        );
    }
    // The bootstrap saw the others come.
    assert_eq!(cluster.stages().await, ["false Joined", "false Joined", "true Rebooting"]);
}
