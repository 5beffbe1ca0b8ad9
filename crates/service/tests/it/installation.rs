//! Whole installations of three nodes through the service's own methods.

use assisted_blob::Key;
use assisted_config::Generator;
use assisted_core::admission::field::ignition_config;
use assisted_core::model::host::HostKey;
use assisted_core::model::refusal::RefusalKind;
use assisted_service::event::ListEvents;
use assisted_wire::cluster::{Cluster, ClusterKind, ClusterStatus, FinalizingStage};
use assisted_wire::cluster::{InstallationPreparationStatus, LogsState};
use assisted_wire::cluster_params::{CompletionParams, LogsProgressParams};
use assisted_wire::host::{Host, HostKind, HostProgress, HostStage, HostStatus};
use assisted_wire::id::ClusterId;
use assisted_wire::operator::OperatorStatus;
use assisted_wire::step::{StepReply, StepType};
use serde_json::{Value, json};

use crate::lab::{Database, Lab, Time, eventually, inventory, on_both_engines, refusal};

on_both_engines![
    to_the_end,
    cancelled_and_reset,
    cancelled_while_preparing,
    real_hosts_are_not_simulated,
    soft_limits_only_warn,
    a_failed_check,
    disabled_and_enabled,
    a_day2_host,
    progress_puts_the_limit_of_a_stage_off,
];

const CA: &str = include_str!("../data/ca.pem");

/// Three nodes that are ready to be installed.
pub struct Ready {
    pub id: ClusterId,
    pub hosts: Vec<HostKey>,
}

impl Lab {
    pub async fn simulating(database: &Database) -> Self {
        Self::with(database, Time::default(), |settings| {
            settings.generation.generator = Generator::Simulation;
        })
        .await
    }

    pub async fn ready(&self) -> Ready {
        let cluster = self
            .cluster(json!({
                "base_dns_domain": "example.com",
                "api_vips": [{"ip": "192.168.126.100"}], "ingress_vips": [{"ip": "192.168.126.101"}],
            }))
            .await;
        let infra_env = self.infra_env(Some(cluster.id)).await;
        let mut hosts = Vec::new();
        for number in 1..=3 {
            let host = self.host(infra_env.id).await;
            self.report_all(host, number).await;
            hosts.push(host);
        }
        self.meet(&hosts).await;
        let id = cluster.id;
        self.until_status(id, ClusterStatus::Ready).await;
        Ready { id, hosts }
    }

    /// Hosts find each other, and the VIPs free.
    pub async fn meet(&self, hosts: &[HostKey]) {
        self.meet_in(hosts, &["192.168.126."]).await;
    }

    /// The same in several networks, by what their addresses begin with.
    pub async fn meet_in(&self, hosts: &[HostKey], networks: &[&str]) {
        let free = json!([{"network": "192.168.126.0/24", "free_addresses": ["192.168.126.100", "192.168.126.101"]}]);
        for host in hosts {
            let others = hosts.iter().enumerate().filter(|(_, other)| *other != host).map(|(n, other)| {
                let addresses: Vec<_> =
                    networks.iter().map(|network| format!("{network}{}", 11 + n)).collect();
                let near = addresses.iter().map(|address| {
                    json!({
                        "outgoing_nic": "eth0", "remote_ip_address": address,
                        "remote_mac": format!("52:54:00:00:00:{:02x}", 1 + n), "successful": true,
                    })
                });
                let reached = addresses.iter().map(|address| {
                    json!({"remote_ip_address": address, "successful": true, "average_rtt_ms": 0.5})
                });
                json!({
                    "host_id": other.host_id, "l2_connectivity": near.collect::<Vec<_>>(),
                    "l3_connectivity": reached.collect::<Vec<_>>(),
                })
            });
            let heard = json!({"remote_hosts": others.collect::<Vec<_>>()});
            self.reply(*host, StepType::ConnectivityCheck, &heard).await.unwrap();
            self.reply(*host, StepType::FreeNetworkAddresses, &free).await.unwrap();
        }
    }

    pub async fn until_status(&self, id: ClusterId, status: ClusterStatus) -> Cluster {
        self.until_cluster(id, status.as_str(), |cluster| cluster.status == status).await
    }

    pub async fn install(&self, id: ClusterId) -> Cluster {
        self.service.clusters().install(&self.caller, id).await.unwrap()
    }

    /// A host makes the checks that it is told before it is installed.
    pub async fn check(&self, host: HostKey, disk_exit_code: i64) {
        self.until(host, HostStatus::PreparingForInstallation).await;
        let steps = self.until_told(host, StepType::ContainerImageAvailability).await;
        let images = json!({"images": [{"name": "quay.io/release", "result": "success"}]});
        self.reply(host, StepType::ContainerImageAvailability, &images).await.unwrap();
        // What was measured once is known.
        if steps.contains(&StepType::InstallationDiskSpeedCheck) {
            let speed = json!({"io_sync_duration": 5, "path": "/dev/disk/by-id/wwn-1"});
            let reply = StepReply {
                step_type: Some(StepType::InstallationDiskSpeedCheck),
                exit_code: disk_exit_code,
                output: speed.to_string(),
                ..StepReply::default()
            };
            self.service.hosts().post_step_reply(&self.caller, host, reply).await.unwrap();
        }
    }

    /// From ready to installing.
    pub async fn install_at(&self, ready: &Ready) {
        let cluster = self.install(ready.id).await;
        assert_eq!(cluster.status, ClusterStatus::PreparingForInstallation);
        for host in &ready.hosts {
            self.check(*host, 0).await;
        }
        self.until_status(ready.id, ClusterStatus::Installing).await;
    }

    pub async fn reach(&self, host: HostKey, stage: HostStage) {
        self.get_on(host, stage, "").await;
    }

    pub async fn get_on(&self, host: HostKey, stage: HostStage, info: &str) {
        let progress = HostProgress { current_stage: Some(stage), progress_info: info.to_owned() };
        self.service.hosts().update_install_progress(&self.caller, host, progress).await.unwrap();
    }

    pub async fn all_stages(&self, host: HostKey) {
        self.until(host, HostStatus::Installing).await;
        assert_eq!(self.until_told(host, StepType::Install).await, [StepType::Install]);
        for stage in self.get(host).await.progress_stages.unwrap() {
            self.reach(host, stage).await;
        }
    }

    pub async fn finalize(&self, id: ClusterId) {
        self.until_status(id, ClusterStatus::Finalizing).await;
        for stage in FinalizingStage::ALL {
            let params = serde_json::from_value(json!({"finalizing_stage": stage})).unwrap();
            self.service.clusters().update_finalizing_progress(&self.caller, id, params).await.unwrap();
        }
        self.service.files().upload_cluster_ingress_cert(&self.caller, id, CA).await.unwrap();
        let operators = self.service.clusters().list_operators(&self.caller, id, None).await.unwrap();
        assert!(!operators.0.is_empty());
        for operator in operators.0 {
            let report = json!({"name": operator.name, "status": "available", "status_info": "fine"});
            let report = serde_json::from_value(report).unwrap();
            self.service.clusters().report_monitored_operator_status(&self.caller, id, report).await.unwrap();
        }
    }

    pub async fn installed(&self) -> Ready {
        let ready = self.ready().await;
        self.install_at(&ready).await;
        for host in &ready.hosts {
            self.all_stages(*host).await;
        }
        self.finalize(ready.id).await;
        self.until_status(ready.id, ClusterStatus::Installed).await;
        ready
    }

    /// Names of a cluster's files, without the folder of those that were generated together, and their keys.
    async fn stored_files(&self, id: ClusterId) -> Vec<(String, Key)> {
        let files = self.service.blob().list(&Key::new(id.to_string()).unwrap()).await.unwrap();
        let name = |key: &Key| {
            let name = key.as_str().split_once('/').unwrap().1.to_owned();
            name.strip_prefix("generated/")
                .and_then(|name| name.split_once('/'))
                .map_or(name.clone(), |(_, name)| name.to_owned())
        };
        files.into_iter().map(|(key, _)| (name(&key), key)).collect()
    }

    pub async fn file_names(&self, id: ClusterId) -> Vec<String> {
        self.stored_files(id).await.into_iter().map(|(name, _)| name).collect()
    }

    pub async fn stored(&self, id: ClusterId, name: &str) -> String {
        let files = self.stored_files(id).await;
        let (_, key) = files.into_iter().find(|(known, _)| known == name).unwrap();
        String::from_utf8(self.service.blob().get(&key, 1 << 20).await.unwrap().into()).unwrap()
    }

    /// Waits until nothing is left to be done for a cluster.
    pub async fn until_idle(&self, id: ClusterId) {
        eventually("idle", async || {
            let actions = self.service.clusters().list_actions(&self.caller, id).await.unwrap().0;
            if actions.is_empty() { Ok(()) } else { Err(format!("{actions:?}")) }
        })
        .await;
    }
}

async fn to_the_end(database: Database) {
    let lab = Lab::simulating(&database).await;
    let ready = lab.ready().await;
    let id = ready.id;
    let answer = lab.install(id).await;
    assert_eq!(answer.status, ClusterStatus::PreparingForInstallation);
    assert_eq!(answer.hosts.unwrap().iter().filter(|host| host.bootstrap).count(), 1);
    let prepared = |cluster: &Cluster| {
        let last = cluster.last_installation_preparation.clone().unwrap_or_default();
        last.status == Some(InstallationPreparationStatus::Success)
    };
    let cluster = lab.until_cluster(id, "generated", prepared).await;
    assert!(cluster.openshift_cluster_id.is_some());
    lab.until_idle(id).await;
    assert_eq!(
        refusal(lab.service.clusters().install(&lab.caller, id).await).0,
        RefusalKind::Conflict,
        "twice"
    );
    for host in &ready.hosts {
        lab.check(*host, 0).await;
    }
    lab.until_status(id, ClusterStatus::Installing).await;
    assert_eq!(refusal(lab.service.clusters().deregister(&lab.caller, id).await).0, RefusalKind::Conflict);

    // What was generated can be fetched, and is what it says it is.
    let mut ignitions = vec!["bootstrap.ign".to_owned(), "master.ign".to_owned(), "worker.ign".to_owned()];
    ignitions.extend(ready.hosts.iter().map(|host| format!("master-{}.ign", host.host_id)));
    for name in ignitions {
        let text = lab.stored(id, &name).await;
        ignition_config::check(&text).unwrap();
        let config: Value = serde_json::from_str(&text).unwrap();
        assert!(config["ignition"]["version"].as_str().unwrap().starts_with("3."));
    }
    let metadata: Value = serde_json::from_str(&lab.stored(id, "metadata.json").await).unwrap();
    assert_eq!(metadata["clusterID"], json!(cluster.openshift_cluster_id));
    assert!(lab.service.files().download_cluster_files(&lab.caller, id, "install-config.yaml").await.is_ok());
    assert!(lab.service.files().get_host_ignition(&lab.caller, ready.hosts[0]).await.is_ok());

    let last = |cluster: &Cluster| cluster.progress.clone().unwrap().total_percentage;
    let mut total = 10;
    for host in &ready.hosts {
        lab.all_stages(*host).await;
        let stage = HostProgress { current_stage: Some(HostStage::Installing), progress_info: "".into() };
        let late = lab.service.hosts().update_install_progress(&lab.caller, *host, stage).await;
        assert_eq!(refusal(late).0, RefusalKind::Conflict);
        assert_eq!(lab.get(*host).await.status, HostStatus::Installed);
        let cluster = lab.until_cluster(id, "further", |cluster| last(cluster) > total).await;
        total = last(&cluster);
    }
    lab.finalize(id).await;
    let cluster = lab.until_status(id, ClusterStatus::Installed).await;
    assert_eq!((cluster.status_info.as_str(), last(&cluster)), ("Cluster is installed", 100));
    assert_eq!(cluster.install_completed_at, cluster.status_updated_at);
    assert!(lab.stored(id, "kubeconfig").await.contains("certificate-authority-data"));
    assert!(lab.service.files().get_credentials(&lab.caller, id).await.is_ok());

    // A legacy report decides nothing, but is told.
    let report = json!({"is_success": false, "data": {"CLUSTER_OPERATORS_REPORT": [{"name": "dns", "status": "failed"}]}});
    let report: CompletionParams = serde_json::from_value(report).unwrap();
    let cluster = lab.service.clusters().complete_installation(&lab.caller, id, report).await.unwrap();
    assert_eq!(cluster.status, ClusterStatus::Installed);
    let names = lab.event_names(id).await;
    for name in [
        "cluster_deregister_failed",
        "host_bootstrap_set",
        "cluster_prepare_installation_started",
        "host_install_progress_updated",
        "cluster_finalizing_stage_updated",
        "cluster_operator_status",
        "cluster_installation_completed",
        "cluster_operator_report",
    ] {
        assert!(names.iter().any(|known| known == name), "{name} in {names:?}");
    }
    for outcome in [
        lab.service.clusters().cancel_installation(&lab.caller, id).await,
        lab.service.clusters().reset(&lab.caller, id).await,
    ] {
        assert_eq!(refusal(outcome).0, RefusalKind::Conflict);
    }
    let names = lab.event_names(id).await;
    for name in ["cancel_installation_failed", "reset_installation_failed"] {
        assert!(names.iter().any(|known| known == name), "{name} in {names:?}");
    }
    lab.stop().await;
}

async fn cancelled_and_reset(database: Database) {
    let lab = Lab::simulating(&database).await;
    let ready = lab.ready().await;
    let id = ready.id;
    assert_eq!(
        refusal(lab.service.clusters().cancel_installation(&lab.caller, ClusterId::random()).await).0,
        RefusalKind::NotFound
    );
    assert_eq!(
        refusal(lab.service.clusters().cancel_installation(&lab.caller, id).await).0,
        RefusalKind::Conflict
    );
    assert_eq!(refusal(lab.service.clusters().reset(&lab.caller, id).await).0, RefusalKind::Conflict);
    let manifest = json!({"file_name": "mine.yaml", "content": "e30="});
    let manifest = serde_json::from_value(manifest).unwrap();
    lab.service.files().create_cluster_manifest(&lab.caller, id, manifest).await.unwrap();
    lab.install_at(&ready).await;
    lab.all_stages(ready.hosts[0]).await;

    let cancelled = lab.service.clusters().cancel_installation(&lab.caller, id).await.unwrap();
    assert_eq!(
        (cancelled.status, cancelled.status_info.as_str()),
        (ClusterStatus::Cancelled, "Installation was cancelled by user")
    );
    for host in &ready.hosts {
        assert_eq!(lab.get(*host).await.status, HostStatus::Cancelled);
    }
    assert_eq!(
        refusal(lab.service.clusters().cancel_installation(&lab.caller, id).await).0,
        RefusalKind::Conflict,
        "twice"
    );
    let generated = lab.file_names(id).await;
    assert!(generated.iter().any(|name| name == "bootstrap.ign"), "{generated:?}");

    let reset = lab.service.clusters().reset(&lab.caller, id).await.unwrap();
    assert_eq!(
        (reset.status, reset.status_info.as_str()),
        (ClusterStatus::Insufficient, "cluster was reset by user")
    );
    assert_eq!(reset.openshift_cluster_id, None);
    lab.until_idle(id).await;
    assert_eq!(
        lab.file_names(id).await,
        ["manifest-attributes/manifests/mine.yaml/user-supplied", "manifests/manifests/mine.yaml"]
    );
    for host in &ready.hosts {
        lab.until_host(*host, "resetting", |host| host.status.as_str().starts_with("resetting")).await;
        lab.register(host.infra_env_id, host.host_id).await.unwrap();
        let again = lab.until(*host, HostStatus::Discovering).await;
        assert!(!again.bootstrap);
    }
    // And all over again.
    for (number, host) in (1..).zip(&ready.hosts) {
        lab.report_all(*host, number).await;
    }
    lab.meet(&ready.hosts).await;
    lab.until_status(id, ClusterStatus::Ready).await;
    lab.install_at(&ready).await;
    lab.stop().await;
}

async fn cancelled_while_preparing(database: Database) {
    let lab = Lab::simulating(&database).await;
    let ready = lab.ready().await;
    lab.install(ready.id).await;
    for host in &ready.hosts {
        lab.until(*host, HostStatus::PreparingForInstallation).await;
    }
    let cancelled = lab.service.clusters().cancel_installation(&lab.caller, ready.id).await.unwrap();
    assert_eq!(cancelled.status, ClusterStatus::Ready);
    for host in &ready.hosts {
        lab.until(*host, HostStatus::Known).await;
    }
    lab.pass(1);
    lab.install_at(&ready).await;
    lab.stop().await;
}

async fn real_hosts_are_not_simulated(database: Database) {
    let lab = Lab::simulating(&database).await;
    let ready = lab.ready().await;
    let mut machine = inventory(1);
    machine["system_vendor"]["product_name"] = json!("PowerEdge R640");
    lab.reply(ready.hosts[0], StepType::Inventory, &machine).await.unwrap();
    let (kind, why) = refusal(lab.service.clusters().install(&lab.caller, ready.id).await);
    assert!(
        kind == RefusalKind::Conflict && why.starts_with("Host node-1 is not simulated"),
        "{kind:?} {why}"
    );
    assert_eq!(lab.get_cluster(ready.id).await.status, ClusterStatus::Ready);
    for host in &ready.hosts {
        assert_eq!(lab.get(*host).await.status, HostStatus::Known);
    }
    lab.until_idle(ready.id).await;
    // What is wrong with the cluster itself is told first.
    let other = lab.cluster(json!({"name": "other"})).await;
    let (kind, why) = refusal(lab.service.clusters().install(&lab.caller, other.id).await);
    assert_eq!(kind, RefusalKind::Conflict);
    assert!(why.starts_with("Cluster is not ready for installation"), "{why}");

    lab.reply(ready.hosts[0], StepType::Inventory, &inventory(1)).await.unwrap();
    lab.install_at(&ready).await;
    let told = lab.event_names(ready.id).await;
    assert_eq!(told.iter().filter(|name| *name == "installation_simulated").count(), 1, "{told:?}");
    lab.stop().await;
}

async fn soft_limits_only_warn(database: Database) {
    use HostStage::{Installing, StartingInstallation, WritingImageToDisk};
    let lab =
        Lab::with(&database, Time::default(), |settings| settings.hosts.enable_soft_timeouts = true).await;
    let ready = lab.ready().await;
    lab.install_at(&ready).await;
    for host in &ready.hosts {
        lab.until(*host, HostStatus::Installing).await;
        for stage in [StartingInstallation, Installing, WritingImageToDisk] {
            lab.reach(*host, stage).await;
        }
    }
    // Half an hour is the limit. Agents are heard all the time.
    for _ in 0..16 {
        lab.pass(120);
        for host in &ready.hosts {
            lab.poll(*host).await.unwrap();
        }
    }
    for host in &ready.hosts {
        let overdue = |host: &Host| host.progress.as_ref().is_some_and(|progress| progress.stage_timed_out);
        let host = lab.until_host(*host, "overdue", overdue).await;
        assert_eq!(host.status, HostStatus::InstallingInProgress, "{}", host.status_info);
    }
    lab.stop().await;
}

async fn a_failed_check(database: Database) {
    let lab = Lab::simulating(&database).await;
    let ready = lab.ready().await;
    lab.install(ready.id).await;
    for (host, exit_code) in ready.hosts.iter().zip([0, 0, 1]) {
        lab.check(*host, exit_code).await;
    }
    lab.until_status(ready.id, ClusterStatus::Insufficient).await;
    lab.until(ready.hosts[2], HostStatus::Insufficient).await;
    lab.until(ready.hosts[0], HostStatus::Known).await;
    let check = "sufficient-installation-disk-speed";
    lab.service.hosts().reset_validation(&lab.caller, ready.hosts[2], check).await.unwrap();
    lab.until_status(ready.id, ClusterStatus::Ready).await;
    lab.stop().await;
}

async fn disabled_and_enabled(database: Database) {
    let lab = Lab::simulating(&database).await;
    let ready = lab.ready().await;
    let host = ready.hosts[0];
    assert_eq!(refusal(lab.service.hosts().enable(&lab.caller, host).await).0, RefusalKind::Conflict);
    let disabled = lab.service.hosts().disable(&lab.caller, host).await.unwrap();
    assert_eq!(disabled.status, HostStatus::Disabled);
    let cluster = lab.get_cluster(ready.id).await;
    assert_eq!((cluster.status, cluster.enabled_host_count), (ClusterStatus::Insufficient, 2));
    assert_eq!(cluster.total_host_count, 3);
    assert!(lab.steps(host).await.is_empty());
    assert_eq!(
        refusal(lab.service.hosts().disable(&lab.caller, host).await).0,
        RefusalKind::Conflict,
        "twice"
    );

    let enabled = lab.service.hosts().enable(&lab.caller, host).await.unwrap();
    assert_eq!(enabled.status, HostStatus::Discovering);
    lab.report_all(host, 1).await;
    lab.meet(&ready.hosts).await;
    lab.until_status(ready.id, ClusterStatus::Ready).await;
    lab.stop().await;
}

async fn a_day2_host(database: Database) {
    let lab = Lab::simulating(&database).await;
    let ready = lab.installed().await;
    let (id, infra_env) = (ready.id, ready.hosts[0].infra_env_id);
    let cluster = lab.service.clusters().transform_to_adding_hosts(&lab.caller, id).await.unwrap();
    assert_eq!((cluster.status, cluster.kind), (ClusterStatus::AddingHosts, ClusterKind::AddHostsCluster));
    assert_eq!(cluster.api_vip_dns_name.as_deref(), Some("192.168.126.100"));
    let (kind, why) = refusal(lab.service.clusters().transform_to_adding_hosts(&lab.caller, id).await);
    assert!(kind == RefusalKind::Invalid && why.contains("Expected cluster status: installed"), "{why}");
    let (kind, _) = refusal(lab.service.hosts().install(&lab.caller, ready.hosts[0]).await);
    assert_eq!(kind, RefusalKind::Conflict, "it is installed");

    let host = lab.host(infra_env).await;
    assert_eq!(lab.get(host).await.kind, HostKind::AddToExistingClusterHost);
    assert_eq!(
        refusal(lab.service.hosts().install(&lab.caller, host).await).0,
        RefusalKind::Conflict,
        "too early"
    );
    lab.report_all(host, 4).await;
    lab.until(host, HostStatus::Insufficient).await;
    lab.until_told(host, StepType::ApiVipConnectivityCheck).await;
    let answer = json!({"is_success": true, "ignition": "{\"ignition\":{\"version\":\"3.2.0\"}}"});
    lab.reply(host, StepType::ApiVipConnectivityCheck, &answer).await.unwrap();
    lab.until(host, HostStatus::Known).await;
    let begun = lab.service.hosts().install(&lab.caller, host).await.unwrap();
    assert_eq!(begun.status, HostStatus::Installing);
    let of_host = ListEvents { host_id: Some(host.host_id), ..ListEvents::default() };
    let started: Vec<_> = lab.events(of_host).await.events.0.into_iter().collect();
    let started = started.iter().filter(|event| event.name == "host_installation_started");
    let texts: Vec<_> = started.map(|event| event.message.as_str()).collect();
    assert_eq!(texts, ["Host node-4 starting installation as a worker node"]);
    let name = format!("worker-{}.ign", host.host_id);
    ignition_config::check(&lab.stored(id, &name).await).unwrap();
    assert!(lab.service.files().get_host_ignition(&lab.caller, host).await.is_ok());
    for stage in lab.get(host).await.progress_stages.unwrap() {
        lab.reach(host, stage).await;
    }
    lab.until(host, HostStatus::AddedToExistingCluster).await;
    let logs = LogsProgressParams { logs_state: LogsState::Requested };
    lab.service.files().update_host_logs_progress(&lab.caller, host, logs).await.unwrap();
    assert_eq!(lab.get(host).await.logs_info, Some(LogsState::Requested));
    let reset = lab.service.hosts().reset(&lab.caller, host).await.unwrap();
    assert_eq!(reset.status, HostStatus::ResettingPendingUserAction);
    assert_eq!(
        refusal(lab.service.hosts().reset(&lab.caller, ready.hosts[0]).await).0,
        RefusalKind::Conflict
    );
    lab.register(infra_env, host.host_id).await.unwrap();
    lab.until(host, HostStatus::Discovering).await;

    let operator = lab.service.clusters().list_operators(&lab.caller, id, Some("console")).await.unwrap();
    assert_eq!(operator.0[0].status, Some(OperatorStatus::Available));
    let (kind, _) = refusal(lab.service.clusters().list_operators(&lab.caller, id, Some("none")).await);
    assert_eq!(kind, RefusalKind::NotFound);
    let nobodys =
        lab.service.clusters().list_operators(&lab.caller, ClusterId::random(), None).await.unwrap();
    assert!(nobodys.0.is_empty());
    lab.stop().await;
}

async fn progress_puts_the_limit_of_a_stage_off(database: Database) {
    use HostStage::{Installing, StartingInstallation, WritingImageToDisk};
    let lab = Lab::simulating(&database).await;
    let ready = lab.ready().await;
    lab.install_at(&ready).await;
    for host in &ready.hosts {
        lab.until(*host, HostStatus::Installing).await;
        for stage in [StartingInstallation, Installing, WritingImageToDisk] {
            lab.reach(*host, stage).await;
        }
    }
    // Half an hour is the limit. Agents are heard all the time.
    let two_minutes = async |progress: Option<i32>| {
        lab.pass(120);
        for host in &ready.hosts {
            lab.poll(*host).await.unwrap();
            if let Some(percent) = progress {
                lab.get_on(*host, WritingImageToDisk, &format!("{percent}%")).await;
            }
        }
    };
    for step in 1..=30 {
        two_minutes((step % 10 == 0).then_some(step)).await;
    }
    let last_progress = lab.time.now();
    for _ in 0..15 {
        two_minutes(None).await;
    }
    lab.pass(1);
    let late = lab.until(ready.hosts[0], HostStatus::Error).await;
    assert!(late.status_info.contains("Writing image to disk"), "{}", late.status_info);
    assert!(late.status_updated_at.0.duration_since(last_progress).as_secs() > 30 * 60, "{late:?}");
    lab.stop().await;
}
