//! The hub: etcd and an API server with the published definitions, on the lab's network, whose objects the service serves.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use assisted_crd::definition;
use assisted_lab_tools::kubernetes;
use assisted_lab_tools::wait::Wait;
use serde_json::{Value, json};
use uuid::Uuid;

use super::cluster_api::{KINDS, OF_CORE, accounts, known_by};
use super::tls::Certificate;
use super::{Flow, Lab, LabError, NAME, Plan, forget, payload, program, say, write_secret};
use crate::network::{GATEWAY, Network, Running};

/// The folder with all that is the hub's, in the lab's.
pub(super) const DIR: &str = "hub";
/// The credentials of its administrator, in that folder.
const KUBECONFIG: &str = "kubeconfig";

/// The namespace of the service's lease.
pub(super) const OF_SERVICE: &str = "assisted-installer";
/// Where metal3 is, on OpenShift.
pub(super) const OF_METAL3: &str = "openshift-machine-api";

/// The API of the installed cluster is at another address, and on another port.
const API: u16 = 16443;
const ETCD: u16 = 12379;
const PEER: u16 = 12380;

const START: Duration = Duration::from_secs(120);

/// It ends when this is dropped.
pub(super) struct Hub {
    /// It takes away what belongs to BareMetalHosts that are gone, where something does.
    garbage_collector: Option<Running>,
    api: Running,
    etcd: Running,
}

impl Hub {
    /// Starts it, empty but for the definitions, the namespace of the cluster, and that of the service.
    pub(super) fn start(plan: &Plan, certificate: &Certificate, network: &Network) -> Result<Self, LabError> {
        let dir = plan.dir.join(DIR);
        forget(&dir)?;
        std::fs::create_dir_all(&dir).map_err(LabError::io(&dir))?;
        let etcd = start_etcd(plan, network)?;
        let token = Uuid::new_v4().to_string();
        let tokens = dir.join("tokens.csv");
        let mut known = format!("{token},admin,admin,system:masters\n");
        write_secret(&dir.join(KUBECONFIG), &kubeconfig(certificate, &token).to_string())?;
        for account in accounts(plan) {
            let token = Uuid::new_v4();
            known.push_str(&known_by(&token.to_string(), account));
            let path = kubeconfig_of(plan, account);
            write_secret(&path, &kubeconfig(certificate, &token.to_string()).to_string())?;
        }
        write_secret(&tokens, &known)?;
        let program = kubernetes::find("kube-apiserver").ok_or(LabError::NoKubernetes)?;
        let mut command = network.command(program);
        command
            .envs(kubernetes::FEWER_COLLECTIONS)
            .arg(format!("--etcd-servers=http://{GATEWAY}:{ETCD}"))
            .args([format!("--bind-address={GATEWAY}"), format!("--advertise-address={GATEWAY}")])
            .arg(format!("--secure-port={API}"))
            .arg("--endpoint-reconciler-type=none")
            .args([file("tls-cert-file", &certificate.chain), file("tls-private-key-file", &certificate.key)])
            .arg(file("token-auth-file", &tokens))
            // Nobody has an account, and the server wants keys for them nevertheless.
            .arg("--service-account-issuer=https://kubernetes.default.svc")
            .arg(file("service-account-key-file", &certificate.chain))
            .arg(file("service-account-signing-key-file", &certificate.key))
            .arg("--disable-admission-plugins=ServiceAccount")
            .args(["--service-cluster-ip-range=10.96.0.0/16", "--authorization-mode=RBAC"]);
        let api = Running::start("the hub's API server", &mut command, &dir.join("kube-apiserver.log"))?;
        let mut hub = Self { garbage_collector: None, api, etcd };
        hub.await_ready(plan, network)?;
        define(plan, network)?;
        if plan.hub == Some(Flow::Converged) {
            hub.garbage_collector = Some(garbage_collector(plan, network)?);
        }
        Ok(hub)
    }

    pub(super) fn must_live(&mut self) -> Result<(), LabError> {
        self.etcd.must_live()?;
        self.garbage_collector.iter_mut().try_for_each(Running::must_live)?;
        Ok(self.api.must_live()?)
    }

    fn await_ready(&mut self, plan: &Plan, network: &Network) -> Result<(), LabError> {
        let log = plan.dir.join(DIR).join("kube-apiserver.log");
        let mut wait = Wait::new("the hub's API server", log.display(), START);
        loop {
            let mut ask = kubectl(plan, network, &["get", "--raw", "/readyz", "--request-timeout=5s"])?;
            ask.stdout(Stdio::null()).stderr(Stdio::null());
            match program::run("kubectl get --raw /readyz", &mut ask, &plan.dir) {
                Err(LabError::Command { .. }) => {}
                answered => return answered,
            }
            self.must_live()?;
            wait.pause(Duration::from_millis(250))?;
        }
    }
}

/// Makes the definitions and the namespaces, and waits until there can be objects of them.
fn define(plan: &Plan, network: &Network) -> Result<(), LabError> {
    let path = plan.dir.join(DIR).join("definitions.yaml");
    let mut all: Vec<_> = definition::OURS.iter().chain(definition::OTHERS).copied().collect();
    // The core brings its own kinds along.
    all.retain(|text| plan.cluster_api.is_none() || !text.contains(OF_CORE));
    std::fs::write(&path, all.join("\n---\n")).map_err(LabError::io(&path))?;
    let path = path.display().to_string();
    for words in [
        &["create", "--filename", &path][..],
        &["wait", "crd", "--all", "--for=condition=Established", "--timeout=60s"],
        &["create", "namespace", OF_SERVICE],
        &["create", "namespace", NAME],
    ] {
        quietly(plan, network, words)?;
    }
    if plan.hub == Some(Flow::Converged) {
        // By this the service knows what metal3 can do, and looks for it once, when it starts.
        let path = plan.dir.join(DIR).join("openshift.json");
        std::fs::write(&path, openshift().to_string()).map_err(LabError::io(&path))?;
        quietly(plan, network, &["create", "--filename", &path.display().to_string()])?;
    }
    Ok(())
}

/// What the hub has that is an OpenShift cluster with metal3.
fn openshift() -> Value {
    json!({"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": OF_METAL3}},
        {
            "apiVersion": "config.openshift.io/v1", "kind": "ClusterOperator", "metadata": {"name": "baremetal"}, "spec": {},
            "status": {"versions": [{"name": "operator", "version": payload::VERSION}]},
        },
    ]})
}

/// Kubernetes takes away what belongs to objects that are gone.
pub(super) fn garbage_collector(plan: &Plan, network: &Network) -> Result<Running, LabError> {
    let program = kubernetes::find("kube-controller-manager").ok_or(LabError::NoKubernetes)?;
    let mut command = network.command(program);
    command.arg(format!("--kubeconfig={}", kubeconfig_path(plan).display())).args([
        "--controllers=garbage-collector-controller",
        "--leader-elect=false",
        "--secure-port=0",
    ]);
    let log = plan.dir.join(DIR).join("kube-controller-manager.log");
    Ok(Running::start("the hub's garbage collector", &mut command, &log)?)
}

/// Runs `kubectl` about the hub, of whose successes nobody reads.
fn quietly(plan: &Plan, network: &Network, words: &[&str]) -> Result<(), LabError> {
    program::run("kubectl", kubectl(plan, network, words)?.stdout(Stdio::null()), &plan.dir)
}

fn start_etcd(plan: &Plan, network: &Network) -> Result<Running, LabError> {
    let dir = plan.dir.join(DIR);
    let (client, peer) = (format!("http://{GATEWAY}:{ETCD}"), format!("http://{GATEWAY}:{PEER}"));
    let mut command = network.command(kubernetes::etcd().ok_or(LabError::NoKubernetes)?);
    command
        .envs(kubernetes::FEWER_COLLECTIONS)
        .arg(file("data-dir", &dir.join("etcd")))
        .args([format!("--listen-client-urls={client}"), format!("--advertise-client-urls={client}")])
        .args([format!("--listen-peer-urls={peer}"), format!("--initial-advertise-peer-urls={peer}")])
        .arg(format!("--initial-cluster=default={peer}"))
        // A lab survives no crash of the machine.
        .arg("--unsafe-no-fsync");
    Ok(Running::start("the hub's etcd", &mut command, &dir.join("etcd.log"))?)
}

fn file(flag: &str, path: &Path) -> String {
    format!("--{flag}={}", path.display())
}

/// Credentials of the administrator, as a kubeconfig.
fn kubeconfig(certificate: &Certificate, token: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "hub",
        "clusters": [{"name": "hub", "cluster": {
            "server": format!("https://{GATEWAY}:{API}"), "certificate-authority": certificate.ca,
        }}],
        "users": [{"name": "admin", "user": {"token": token}}],
        "contexts": [{"name": "hub", "context": {"cluster": "hub", "user": "admin", "namespace": NAME}}],
    })
}

/// Credentials of an account of the hub's.
pub(super) fn kubeconfig_of(plan: &Plan, account: &str) -> PathBuf {
    plan.dir.join(DIR).join(format!("{account}.kubeconfig"))
}

pub(super) fn kubeconfig_path(plan: &Plan) -> PathBuf {
    plan.dir.join(DIR).join(KUBECONFIG)
}

/// What the service has to know of its hub.
pub(super) fn settings(plan: &Plan) -> Vec<(&'static str, PathBuf)> {
    match plan.hub {
        Some(_) => vec![
            ("ENABLE_KUBE_API", "true".into()),
            ("KUBECONFIG", kubeconfig_path(plan)),
            ("NAMESPACE", OF_SERVICE.into()),
            // Nobody can reach the lab's network but the lab.
            ("ASSISTED_ALLOW_UNAUTHENTICATED", "true".into()),
        ],
        None => Vec::new(),
    }
}

/// `kubectl` with the credentials of the hub's administrator.
fn kubectl(plan: &Plan, network: &Network, words: &[&str]) -> Result<Command, LabError> {
    let kubectl = kubernetes::find("kubectl").ok_or(LabError::NoKubernetes)?;
    let mut command = network.command(kubectl);
    command.arg("--kubeconfig").arg(kubeconfig_path(plan)).args(words).current_dir(&plan.dir);
    command.envs(kubernetes::FEWER_COLLECTIONS).stdin(Stdio::null());
    Ok(command)
}

impl Lab {
    /// A command of `kubectl` about the hub, which people see.
    pub(super) fn show_hub(&self, words: &[&str]) -> Result<(), LabError> {
        let what = format!("kubectl {}", words.join(" "));
        say(&format!("\n$ {what}"));
        program::run(&what, &mut self.hub_kubectl(words)?, &self.plan.dir)
    }

    /// What `kubectl` tells of the hub as JSON.
    pub(super) fn hub_json(&self, words: &[&str]) -> Result<Value, LabError> {
        let what = format!("kubectl {}", words.join(" "));
        program::json(&what, &mut self.hub_kubectl(words)?, &self.plan.dir)
    }

    /// Writes the objects as they are into the hub's folder, for whoever looks at them when the lab is gone.
    pub(super) fn keep_objects(&self) -> Result<(), LabError> {
        let mut kinds =
            vec!["clusterdeployments", "agentclusterinstalls", "agents", "infraenvs", "baremetalhosts"];
        if self.plan.cluster_api.is_some() {
            kinds.extend(KINDS);
        }
        if self.ironic.is_some() {
            kinds.push("preprovisioningimages");
        }
        for kind in kinds {
            let path = self.plan.dir.join(DIR).join(format!("{kind}.json"));
            let objects = self.hub_json(&["get", kind])?;
            write_secret(&path, &format!("{objects:#}\n"))?;
        }
        Ok(())
    }

    pub(super) fn hub_kubectl(&self, words: &[&str]) -> Result<Command, LabError> {
        kubectl(&self.plan, &self.network, words)
    }
}
