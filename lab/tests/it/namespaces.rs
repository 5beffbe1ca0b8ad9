//! `assisted-lab up --namespaces`: whole clusters in minutes, on machines that are no more than namespaces. The product's agent,
//! installer and controller run on them, against real etcd and API servers; what goes wrong ends as docs/lab.md says it does.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use assisted_lab_tools::wait::Wait;
use assisted_testkit::{Postgres, built, tied};
use serde_json::Value;

use crate::support::{console, output, run, text};

/// How long an installation may take. Each takes two to four minutes where nothing else runs.
const LIMIT: u64 = 20;
/// How long the lab may take for anything else.
pub(crate) const COMMAND: Duration = Duration::from_secs(5 * 60);
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// How long nodes of a cluster that is installed may be late with what they tell.
const NODES_LIMIT: Duration = Duration::from_secs(10 * 60);

/// A cluster that is being installed, or was; its lab ends when this is dropped.
pub(crate) struct Cluster {
    pub(crate) dir: tempfile::TempDir,
    program: PathBuf,
    lab: Child,
    names: Vec<String>,
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if matches!(self.lab.try_wait(), Ok(None)) {
            let _ = self.command("down").status();
        }
        let _ = self.lab.kill();
        let _ = self.lab.wait();
    }
}

impl Cluster {
    /// Installs a cluster whose machines have these names, and leaves it running.
    pub(crate) fn install(options: &[&str], names: &[&str]) -> Self {
        let cluster = Self::start(options, names);
        cluster.said(&["cluster lab: installed 100%"]);
        cluster.all_was_taken();
        cluster
    }

    /// The same, whoever gave the orders.
    pub(crate) fn start(options: &[&str], names: &[&str]) -> Self {
        Self::of_machines(&[&["--namespaces"], options].concat(), names, LIMIT)
    }

    /// The same of machines of the kind that the options say, within so many minutes.
    pub(crate) fn of_machines(options: &[&str], names: &[&str], minutes: u64) -> Self {
        let mut cluster = Self::begin(options, names, minutes);
        cluster.await_end(minutes);
        cluster
    }

    /// A lab that has just been started.
    pub(crate) fn begin(options: &[&str], names: &[&str], minutes: u64) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        let program = built("assisted-lab").unwrap();
        let mut command = tied(&program);
        command.args(["up", "--limit", &minutes.to_string(), "--dir"]);
        command.arg(dir.path()).args(options);
        let file = |name: &str| std::fs::File::create(dir.path().join(name)).unwrap();
        command.stdin(Stdio::null()).stdout(file("told")).stderr(file("complaints"));
        Self { lab: command.spawn().unwrap(), dir, program, names }
    }

    /// Waits until the lab has told this, as long as it may take for all.
    pub(crate) fn await_text(&mut self, text: &str, minutes: u64) {
        // Longer than the lab's own limit, which says more.
        let limit = Duration::from_secs((minutes + 2) * 60);
        let mut wait = Wait::new("the installation", self.dir.path().join("told").display(), limit);
        while !self.told().contains(text) {
            if let Some(status) = self.lab.try_wait().unwrap() {
                panic!("{status}\n{}", self.everything());
            }
            wait.pause(POLL_INTERVAL).unwrap();
        }
    }

    /// Waits until the cluster is there, with all of its nodes.
    pub(crate) fn await_end(&mut self, minutes: u64) {
        self.await_text("ends it.", minutes);
        // Emulated machines that have much to do tell late, now and then, that they live.
        let told = self.dir.path().join("told");
        let mut wait = Wait::new("nodes that are ready", told.display(), NODES_LIMIT);
        while let Some(name) = self.names.iter().find(|name| !self.has_ready(name)) {
            if wait.pause(POLL_INTERVAL).is_err() {
                panic!("no {name} that is ready:\n{}", self.everything());
            }
        }
    }

    fn has_ready(&self, name: &str) -> bool {
        let ready = "--output=jsonpath={.status.conditions[?(@.type=='Ready')].status}";
        self.kubectl(&["get", "node", name, ready]).output().unwrap().stdout == b"True"
    }

    fn command(&self, verb: &str) -> Command {
        let mut command = Command::new(&self.program);
        command.args([verb, "--dir", text(self.dir.path())]);
        command
    }

    /// The lab's folder.
    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn read(&self, name: &str) -> String {
        let bytes = std::fs::read(self.dir.path().join(name)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    pub(crate) fn told(&self) -> String {
        self.read("told")
    }

    /// For whoever reads why a test failed: the error, what the machines show, and what was told.
    pub(crate) fn everything(&self) -> String {
        let consoles: String = self.names.iter().map(|name| console(&self.dir.path().join(name))).collect();
        format!("{}\n{consoles}\n{}", self.read("complaints"), self.told())
    }

    /// These were told, in this order.
    pub(crate) fn said(&self, texts: &[&str]) {
        let told = self.told();
        let mut rest = told.as_str();
        for text in texts {
            rest = match rest.split_once(text) {
                Some((_, rest)) => rest,
                None => panic!("no {text:?} in its place among {texts:?}:\n{told}"),
            };
        }
    }

    /// What was told between two texts.
    fn between(&self, begin: &str, end: &str) -> String {
        let told = self.told();
        let found = told.split_once(begin).and_then(|(_, rest)| rest.split_once(end));
        found.unwrap_or_else(|| panic!("not between {begin:?} and {end:?}:\n{told}")).0.to_owned()
    }

    /// A program in the lab's network.
    pub(crate) fn exec(&self, words: &[&str]) -> Command {
        let mut command = self.command("exec");
        command.arg("--").args(words).current_dir(self.dir.path());
        command
    }

    pub(crate) fn kubectl(&self, words: &[&str]) -> Command {
        let kubectl = assisted_testkit::kubernetes::find("kubectl").unwrap();
        self.exec(&[&[text(&kubectl), "--kubeconfig", "kubeconfig", "--request-timeout=20s"], words].concat())
    }

    pub(crate) fn object(&self, words: &[&str]) -> Value {
        let output = run(self.kubectl(words).args(["-o", "json"]));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// The API took every manifest: of the service, of its user, of the installer.
    pub(crate) fn all_was_taken(&self) {
        let log = self.live_logs("bootkube.service.log");
        assert!(log.contains("what=\"manifests\""), "{log}");
        assert!(!log.contains("manifests: left out"), "{log}");
    }

    /// What was decided about the nodes' certificates: by the lab about one node as a client, on which the controller can
    /// then run, and by the controller about all others of the installation. About those that come later a person decides, or
    /// the controller, if it is still there.
    fn controller_let_in(&self, nodes: usize, later: usize) {
        let by_lab = self.live_logs("approve-csr.service.log");
        let approved = |text: &str| text.lines().filter(|line| line.contains(" approved ")).count();
        assert_eq!(approved(&by_lab), 1, "{by_lab}");
        let by_controller = self.logs("root/var/log/containers", "assisted-installer-controller");
        // One as a client and one as a server each.
        let all = 2 * nodes - 1..=2 * (nodes + later) - 1;
        assert!(all.contains(&approved(&by_controller)), "{all:?}: {by_controller}");
    }

    /// Every node runs a config that the cluster has.
    fn has_configs(&self) {
        for name in &self.names {
            let node = self.object(&["get", "node", name]);
            let config = &node["metadata"]["annotations"]["machineconfiguration.openshift.io/currentConfig"];
            let config = config.as_str().unwrap_or_else(|| panic!("{node}"));
            assert_eq!(self.object(&["get", "machineconfig", config])["metadata"]["name"], config);
        }
    }

    /// The API refuses what no cluster would take, and keeps a status apart from the rest.
    fn refuses_wrong_writes(&self) {
        let patch = |object: &[&str], patch: &str| {
            let words = [&["patch"], object, &["--type", "merge", "--patch", patch]].concat();
            output(&mut self.kubectl(&words), COMMAND)
        };
        let wrong = patch(&["clusterversion", "version"], r#"{"spec":{"clusterID":7}}"#);
        let said = String::from_utf8_lossy(&wrong.stderr);
        assert!(!wrong.status.success() && said.contains("spec.clusterID"), "{said}");
        let elsewhere = patch(&["clusteroperator", "dns"], r#"{"status":{"conditions":[]}}"#);
        assert!(elsewhere.status.success(), "{elsewhere:?}");
        let operator = self.object(&["get", "clusteroperator", "dns"]);
        assert_ne!(operator["status"]["conditions"], Value::Array(Vec::new()), "{operator}");
    }

    /// The service answers those alone who say who they are; hosts and the controller have done so all the time, by TLS.
    fn service_answers_nobody_unknown(&self) {
        let unit =
            std::fs::read_to_string(self.dir.path().join("master-0/live/etc/systemd/system/agent.service"))
                .unwrap();
        let word = |before: &str, end: char| {
            let (_, rest) = unit.split_once(before).unwrap_or_else(|| panic!("no {before} in {unit}"));
            rest.split(end).next().unwrap().to_owned()
        };
        let (url, infra_env) = (word("--url ", ' '), word("--infra-env-id ", ' '));
        assert!(url.starts_with("https://"), "{url}");
        let ask = |path: &str, options: &[&str]| {
            let url = format!("{url}/api/assisted-install/v2/{path}");
            let curl = ["curl", "-s", "-o", "answer", "-w", "%{http_code}"];
            let told = output(&mut self.exec(&[&curl[..], options, &[&url]].concat()), COMMAND);
            (String::from_utf8_lossy(&told.stdout).into_owned(), told.status.code())
        };
        let ca = ["--cacert", "ca.pem"];
        let secret = format!("X-Secret-Key: {}", word("PULL_SECRET_TOKEN=", '"'));
        let agent = [&ca[..], &["--header", &secret]].concat();
        let stranger = [&ca[..], &["--header", "X-Secret-Key: guess"]].concat();
        let (hosts, answered) =
            (format!("infra-envs/{infra_env}/hosts"), |code: &str| (code.to_owned(), Some(0)));
        for path in ["clusters", "infra-envs", &hosts] {
            assert_eq!(ask(path, &ca), answered("401"), "{path}");
            assert_eq!(ask(path, &stranger), answered("401"), "{path}");
        }
        assert_eq!(ask(&hosts, &agent), answered("200"));
        let (code, _) = ask("clusters", &agent);
        assert!(matches!(code.as_str(), "401" | "403"), "an agent sees all clusters: {code}");
        // Who does not know the authority does not trust the service.
        let (_, code) = ask("clusters", &[]);
        assert_eq!(code, Some(60));
        let settings =
            ["--namespace", "assisted-installer", "get", "configmap", "assisted-installer-controller-config"];
        let settings = self.object(&settings);
        assert_eq!(settings["data"]["inventory-url"], url, "{settings}");
        assert_eq!(settings["data"]["skip-cert-verification"], "false", "{settings}");
        assert!(settings["data"]["ca-cert-path"].as_str().is_some_and(|path| !path.is_empty()), "{settings}");
    }

    /// It was installed with a token that an editor has made for it, which opens nothing else of what the same editor has.
    fn was_installed_by_a_token_for_it_alone(&self) {
        self.said(&[
            "$ ASSISTED_TOKEN=$(cat install-token) assisted cluster install lab",
            "cluster lab: installed 100%",
        ]);
        let program = built("assisted").unwrap();
        let config = format!("XDG_CONFIG_HOME={}", text(&self.dir.path().join("editor-config")));
        let as_editor = |words: &[&str]| {
            let assisted = ["env", &config, text(&program)];
            run(&mut self.exec(&[&assisted[..], words].concat())).stdout
        };
        let description = ["--base-domain", "example.com", "--pull-secret-file", "pull-secret.json"];
        let create = ["cluster", "create", "other", "--openshift-version", "4.20.1", "-o", "json"];
        let other: Value = serde_json::from_slice(&as_editor(&[&create[..], &description].concat())).unwrap();
        let lab: Value =
            serde_json::from_slice(&as_editor(&["cluster", "show", "lab", "-o", "json"])).unwrap();
        for cluster in [&lab, &other] {
            assert_eq!(cluster["user_name"], "editor", "{cluster}");
        }

        let header = format!("Authorization: Bearer {}", self.read("install-token"));
        let ask = |method: &str, path: &str| {
            let url = format!("https://192.168.126.1:8090/api/assisted-install/{path}");
            let curl = ["curl", "-s", "--cacert", "ca.pem", "-o", "answer", "-w", "%{http_code}"];
            let question = ["--header", &header, "--request", method, &url];
            let told = run(&mut self.exec(&[&curl[..], &question].concat()));
            String::from_utf8_lossy(&told.stdout).into_owned()
        };
        let of = |cluster: &Value, action: &str| {
            format!("v2/clusters/{}{action}", cluster["id"].as_str().unwrap())
        };
        for (method, path, code) in [
            ("GET", of(&lab, ""), "200"),
            ("GET", of(&other, ""), "404"),
            ("POST", of(&other, "/actions/install"), "404"),
            ("DELETE", of(&other, ""), "404"),
            ("POST", "v2/clusters".to_owned(), "403"),
            ("POST", "v2/infra-envs".to_owned(), "403"),
            ("GET", "auth/users".to_owned(), "403"),
        ] {
            assert_eq!(ask(method, &path), code, "{method} {path}: {}", self.read("answer"));
        }
        assert_eq!(ask("GET", "v2/clusters"), "200");
        let listed: Value = serde_json::from_str(&self.read("answer")).unwrap();
        let ids: Vec<_> = listed.as_array().unwrap().iter().map(|cluster| &cluster["id"]).collect();
        assert_eq!(ids, [&lab["id"]]);
        // The editor may, who has made the token.
        as_editor(&["cluster", "delete", "other"]);
    }

    /// The version of the cluster is available, and etcd has these members: the last one may be about to be one.
    fn stands_on(&self, members: &[&str]) {
        let version = self.object(&["get", "clusterversion", "version"]);
        let conditions = version["status"]["conditions"].as_array().unwrap();
        let available = conditions.iter().find(|condition| condition["type"] == "Available").unwrap();
        assert_eq!(available["status"], "True", "{version}");
        assert_eq!(version["status"]["desired"]["version"], "4.20.1");
        let place = self.dir.path().join("told");
        let mut wait = Wait::new("the members of etcd", place.display(), Duration::from_secs(60));
        loop {
            let map = self.object(&["--namespace", "openshift-etcd", "get", "configmap", "etcd-endpoints"]);
            let found: Vec<_> = map["data"].as_object().unwrap().keys().map(String::as_str).collect();
            if found == members {
                return;
            }
            if let Err(late) = wait.pause(POLL_INTERVAL) {
                panic!("{late}: they are {found:?}, not {members:?}");
            }
        }
    }

    /// The logs of the live systems that have this name, those of an earlier start as well.
    fn live_logs(&self, name: &str) -> String {
        ["live.before/run/log/lab", "live/run/log/lab"].map(|folder| self.logs(folder, name)).concat()
    }

    /// The logs of all machines in a folder whose names begin so.
    fn logs(&self, folder: &str, name: &str) -> String {
        let list = |path: &Path| -> Vec<PathBuf> {
            std::fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
        };
        let begins = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with(name);
        let logs = list(self.dir.path()).into_iter().flat_map(|machine| list(&machine.join(folder)));
        let texts = logs.filter(begins).map(|path| std::fs::read(path).unwrap());
        texts.map(|text| String::from_utf8_lossy(&text).into_owned()).collect()
    }
}

#[test]
fn a_worker_is_missing_and_another_is_added_while_the_service_is_killed() {
    let names = ["master-0", "master-1", "master-2", "worker-0", "worker-1"];
    let shape = ["--topology", "compact", "--workers", "1", "--day2-workers", "1"];
    let faults = ["--fault", "service-restart", "--fault", "missing-worker"];
    let cluster = Cluster::install(&[&shape[..], &faults].concat(), &names);
    cluster.said(&["Waiting for bootkube", "Rebooting", "Joined"]);
    cluster.said(&["Waiting for control plane"]);

    // Nobody notices.
    let told = cluster.between("the service is killed, and started again", "cluster lab: installed");
    assert!(!told.contains("the cluster has failed") && !told.contains(" error"), "{told}");

    // What the lab does and what the service tells come from two programs: each keeps its own order.
    cluster.said(&["worker-0 is switched off", "worker-0 is switched on", "cluster lab: installed 100%"]);
    cluster.said(&[
        "worker-0 is switched off",
        "host worker-0: worker installing-pending-user-action",
        "Host timed out when pulling the configuration files. Verify in the host console that the host boots from the \
         OpenShift installation disk (vdx, /dev/vdx) and has network access to the cluster API",
        "Host worker-0: updated status from installing-in-progress to installed (Done)",
        "cluster lab: installed 100%",
    ]);
    // The control plane doesn't wait for it.
    let told = cluster.told();
    let (told, _) = told.split_once("worker-0 is switched on").unwrap();
    for name in &names[..3] {
        assert!(
            told.lines().any(|line| line.contains(&format!("host {name}: ")) && line.contains(" installed ")),
            "{name}: {told}"
        );
    }

    cluster.said(&[
        "cluster lab: installed 100%",
        "assisted cluster add-hosts lab",
        "adding-hosts: ",
        "assisted host install worker-1",
        "worker-1 is added-to-existing-cluster: Host has rebooted and no further updates will be posted. Please check console \
         for progress and to possibly approve pending CSRs",
    ]);
    let requests = cluster.logs("root/var/log/containers", "machine-config-server.log");
    assert!(requests.contains("Pool worker requested by address:\"192.168.126.21:"), "{requests}");
    cluster.controller_let_in(4, 1);
    cluster.refuses_wrong_writes();
    cluster.service_answers_nobody_unknown();
    cluster.was_installed_by_a_token_for_it_alone();
    cluster.has_configs();
    cluster.stands_on(&names[..3]);
}

#[test]
fn an_arbiter_and_two_masters_one_without_network_for_a_while_and_one_with_a_wrong_boot_order() {
    let names = ["master-0", "master-1", "arbiter-0"];
    let faults = ["--fault", "network-cut", "--fault", "boot-order"];
    let cluster = Cluster::install(&[&["--topology", "arbiter"], &faults[..]].concat(), &names);

    // The disk is written to its end, which is told once there is somebody to tell it.
    let written = "Host: master-0, reached installation stage Writing image to disk: 100%";
    cluster.said(&["master-0 loses its network", "the network of master-0 is back", written]);
    let told = cluster.between("master-0 loses its network", "the network of master-0 is back");
    assert!(!told.contains(written), "{told}");

    cluster.said(&[
        "host master-1: master",
        "installing-pending-user-action",
        "Expected the host to boot from disk, but it booted the installation image - please reboot and fix boot order to \
         boot from disk (vdx, /dev/vdx)",
        "cluster lab: installing-pending-user-action",
        "Cluster has hosts pending user action",
        "cluster lab: installed 100%",
    ]);
    cluster.said(&["master-1 is told to boot its disk, and started again", "cluster lab: installed 100%"]);
    cluster.controller_let_in(3, 0);
    cluster.has_configs();
    cluster.stands_on(&["arbiter-0", "master-0", "master-1"]);
    let arbiter = cluster.object(&["get", "node", "arbiter-0"]);
    assert!(arbiter["metadata"]["labels"].get("node-role.kubernetes.io/arbiter").is_some(), "{arbiter}");
}

#[test]
fn everything_a_master_is_reset_while_it_writes_and_later_another_has_the_api() {
    let names = ["master-0", "master-1", "master-2"];
    let cluster = Cluster::install(&["--topology", "compact", "--fault", "reset-while-writing"], &names);
    cluster.said(&[
        "master-0 is reset",
        "The host unexpectedly restarted during the installation",
        "cluster lab: error",
        "assisted cluster reset lab",
        "The machines boot the discovery image again",
        "The installation, once more",
        "cluster lab: installed 100%",
    ]);
    cluster.controller_let_in(3, 0);
    cluster.stands_on(&names);

    // Whoever has the API's address is gone: another one takes it.
    let lease = cluster.object(&["--namespace", "kube-system", "get", "lease", "lab-api-vip"]);
    let holder = lease["spec"]["holderIdentity"].as_str().unwrap();
    let place = names.iter().position(|name| *name == holder).unwrap_or_else(|| panic!("{lease}"));
    run(&mut cluster.exec(&["ip", "link", "set", &format!("tap{place}"), "down"]));
    let mut wait = Wait::new("the API at another host", "nowhere", COMMAND);
    loop {
        let nodes = output(&mut cluster.kubectl(&["get", "nodes"]), COMMAND);
        if nodes.status.success() {
            let told = String::from_utf8_lossy(&nodes.stdout).into_owned();
            assert!(names.iter().all(|name| told.contains(name)), "{told}");
            break;
        }
        wait.pause(POLL_INTERVAL).unwrap();
    }
}

#[test]
fn everything_is_told_once_by_three_replicas_of_which_one_is_killed_every_ten_seconds() {
    let names = ["master-0", "master-1", "master-2", "worker-0"];
    let database = Postgres::start().unwrap().create_database().unwrap();
    let shape = ["--topology", "compact", "--workers", "1"];
    let replicas = ["--replicas", "3", "--database", &database, "--kill-replica-every", "10"];
    let cluster = Cluster::install(&[&shape[..], &replicas].concat(), &names);
    let killed = cluster.told().matches("of the service is killed, and started again").count();
    assert!(killed >= 3, "not each was killed:\n{}", cluster.told());
    let told = cluster.between("replica 0 of the service is killed", "cluster lab: installed 100%");
    assert!(!told.contains("the cluster has failed") && !told.contains(" error"), "{told}");
    cluster.said(&["cluster lab: installed 100%", "replicas: 3, which have taken"]);
    let taken = cluster.between("which have taken ", " connections;");
    assert!(taken.split(", ").all(|count| count.parse::<u64>().unwrap() > 0), "{taken}");

    // Nothing is lost: the nodes, their configs, and all that the cluster is.
    cluster.controller_let_in(4, 0);
    cluster.refuses_wrong_writes();
    cluster.service_answers_nobody_unknown();
    cluster.has_configs();
    cluster.stands_on(&names[..3]);
    // And nothing was done twice.
    let program = built("assisted").unwrap();
    let events = run(&mut cluster.exec(&[text(&program), "event", "list", "--cluster", "lab", "-o", "json"]));
    let events: Vec<Value> = serde_json::from_slice(&events.stdout).unwrap();
    let mut times: BTreeMap<[&str; 3], u32> = BTreeMap::new();
    for event in &events {
        let parts = ["name", "host_id", "message"].map(|part| event[part].as_str().unwrap_or_default());
        *times.entry(parts).or_default() += 1;
    }
    for (name, expected) in [
        ("cluster_prepare_installation_started", 1..=1),
        ("cluster_installation_completed", 1..=1),
        ("host_bootstrap_set", 1..=1),
        // Starting installation and Done, at least, of each.
        ("host_install_progress_updated", 2 * names.len()..=usize::MAX),
    ] {
        let of: Vec<_> = times.iter().filter(|([known, ..], _)| *known == name).collect();
        assert!(expected.contains(&of.len()), "{name}: {of:#?}");
        assert!(of.iter().all(|(_, times)| **times == 1), "{name}: {of:#?}");
    }
}

/// Six operators that come, one that fails, and one that no catalogue has.
const SIX: [&str; 6] = ["nmstate", "metallb", "lso", "node-feature-discovery", "oadp", "kube-descheduler"];
const FAILS: &str = "node-healthcheck";
const MISSING: &str = "numaresources";

#[test]
fn everything_operators_come_but_one_that_fails_and_one_that_is_missing() {
    let names = ["master-0", "master-1", "master-2"];
    let (fails, missing) = (format!("{FAILS}=fails"), format!("{MISSING}=missing"));
    let all = SIX.into_iter().chain([fails.as_str(), missing.as_str()]);
    let operators: Vec<_> = all.flat_map(|operator| ["--operator", operator]).collect();
    let cluster = Cluster::install(&[&["--topology", "compact"], &operators[..]].concat(), &names);

    let program = built("assisted").unwrap();
    let shown = run(&mut cluster.exec(&[text(&program), "cluster", "show", "lab", "-o", "json"]));
    let shown: Value = serde_json::from_slice(&shown.stdout).unwrap();
    assert_eq!(shown["status"], "installed", "{shown}");
    let (text, failed) = shown["status_info"].as_str().unwrap().split_once(": ").unwrap();
    assert_eq!(text, "Cluster is installed but degraded. Failed OLM operators");
    let mut failed: Vec<_> = failed.split(", ").collect();
    failed.sort_unstable();
    assert_eq!(failed, [FAILS, MISSING]);
    let monitored = shown["monitored_operators"].as_array().unwrap();
    let told = |name: &str| {
        let operator = monitored.iter().find(|operator| operator["name"] == name).unwrap();
        (operator["status"].as_str().unwrap(), operator["status_info"].as_str().unwrap())
    };
    for name in SIX {
        assert_eq!(told(name), ("available", "install strategy completed with no errors"), "{name}");
    }
    for name in [FAILS, MISSING] {
        assert_eq!(told(name), ("failed", "Waiting for operator timed out"), "{name}");
    }

    // What the operators are configured by is in the cluster, as they expect it.
    let object = |namespace: &str, kind: &str, name: &str| {
        cluster.object(&["--namespace", namespace, "get", kind, name])
    };
    object("default", "nmstates.nmstate.io", "nmstate");
    object("metallb-system", "metallbs.metallb.io", "metallb");
    object("openshift-nfd", "nodefeaturediscoveries.nfd.openshift.io", "nfd-instance");
    let backups = object("openshift-adp", "dataprotectionapplications.oadp.openshift.io", "dpa-sample");
    assert!(backups["spec"]["configuration"]["velero"].is_object(), "{backups}");
    let descheduler = "kubedeschedulers.operator.openshift.io";
    let descheduler = object("openshift-kube-descheduler-operator", descheduler, "cluster");
    assert!(descheduler["spec"].is_object(), "{descheduler}");
    let versions =
        cluster.object(&["get", "clusterserviceversions.operators.coreos.com", "--all-namespaces"]);
    let versions = versions["items"].as_array().unwrap();
    let in_phase = |phase: &str| versions.iter().filter(|each| each["status"]["phase"] == phase).count();
    assert_eq!((in_phase("Succeeded"), in_phase("Failed")), (6, 1), "{versions:?}");
}
