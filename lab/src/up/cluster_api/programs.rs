//! The programs of Cluster API: Kubernetes' garbage collector, the core, and both providers, each with the rights that it is released with.

use std::net::{IpAddr, SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::time::Duration;

use assisted_lab_tools::cluster_api;
use assisted_lab_tools::wait::Wait;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::ClusterApi;
use super::provider::{NAMESPACE, PROVIDERS, Provider};
use crate::network::{GATEWAY, Network, Running};
use crate::up::hub::{DIR, OF_SERVICE, garbage_collector, kubeconfig_of, kubeconfig_path};
use crate::up::{Lab, LabError, Plan, tls, write_secret};

/// Where the core is asked.
const WEBHOOKS: u16 = 9441;
const HEALTH: u16 = 9442;
/// Where providers look for the authority of the service.
const AUTHORITY: &str = "assisted-installer-ca";

const START: Duration = Duration::from_secs(120);

impl Lab {
    /// Starts everything, and waits until all webhooks listen.
    pub(super) fn start_cluster_api(&mut self) -> Result<(), LabError> {
        let (plan, network) = (&self.plan, &self.network);
        self.apply_objects("cluster-api.json", &before(plan)?)?;
        let mut started = vec![garbage_collector(plan, network)?];
        let made = |name: &str| cluster_api::OLDEST.find(name).map_err(|_| LabError::NoClusterApi);
        let definitions = made(cluster_api::DEFINITIONS)?.display().to_string();
        self.show_hub(&["apply", "--server-side", "--filename", &definitions])?;
        self.show_hub(&["wait", "crd", "--all", "--for=condition=Established", "--timeout=60s"])?;
        let label = cluster_api::label();
        self.show_hub(&label.iter().map(String::as_str).collect::<Vec<_>>())?;
        started.push(core(plan, network)?);
        listens(network, plan, WEBHOOKS)?;
        let published = made(cluster_api::WEBHOOKS)?;
        let published = std::fs::read_to_string(&published).map_err(LabError::io(&published))?;
        let authority = plan.dir.join(tls::CA);
        let authority = std::fs::read(&authority).map_err(LabError::io(&authority))?;
        let asked = cluster_api::webhooks_at(&published, address(WEBHOOKS), &STANDARD.encode(authority));
        let webhooks = plan.dir.join(DIR).join("webhooks.yaml");
        std::fs::write(&webhooks, asked).map_err(LabError::io(&webhooks))?;
        self.show_hub(&["apply", "--server-side", "--filename", &webhooks.display().to_string()])?;
        for provider in &PROVIDERS {
            started.push(provider.start(plan, network)?);
            listens(network, plan, provider.port)?;
        }
        self.cluster_api =
            Some(ClusterApi { programs: started, kubeconfig: None, linked: Default::default() });
        Ok(())
    }

    /// Applies objects, which stay in a file of the lab's folder.
    pub(in crate::up) fn apply_objects(&self, file: &str, objects: &[Value]) -> Result<(), LabError> {
        let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
        write_secret(&self.plan.dir.join(file), &format!("{list:#}\n"))?;
        self.show_hub(&["apply", "--filename", file])
    }
}

/// What has to be there before the programs: what the providers may do, and the authority that signed the service's certificate.
fn before(plan: &Plan) -> Result<Vec<Value>, LabError> {
    let authority = plan.dir.join(tls::CA);
    let authority = std::fs::read_to_string(&authority).map_err(LabError::io(&authority))?;
    let mut objects = vec![
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}),
        json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": AUTHORITY, "namespace": OF_SERVICE},
            "stringData": {"ca.crt": authority},
        }),
    ];
    for provider in &PROVIDERS {
        objects.extend(super::manifests::documents(provider.rights)?);
    }
    Ok(objects)
}

fn address(port: u16) -> SocketAddr {
    SocketAddr::new(IpAddr::V4(GATEWAY), port)
}

fn log(plan: &Plan, name: &str) -> std::path::PathBuf {
    plan.dir.join(DIR).join(format!("{name}.log"))
}

/// The core's certificate is the one of the service: it is for the same address, by the same names of files.
fn core(plan: &Plan, network: &Network) -> Result<Running, LabError> {
    let program = cluster_api::OLDEST.find("cluster-api").map_err(|_| LabError::NoClusterApi)?;
    let mut command = network.command(program);
    let (kubeconfig, webhooks, health) = (kubeconfig_path(plan), address(WEBHOOKS), address(HEALTH));
    command.args(cluster_api::arguments(&kubeconfig, &plan.dir, webhooks, health));
    let log = log(plan, "cluster-api");
    Ok(Running::start("the core of Cluster API", &mut command, &log)?)
}

impl Provider {
    fn start(&self, plan: &Plan, network: &Network) -> Result<Running, LabError> {
        let mut command: Command = network.command(&plan.program);
        let port = self.port.to_string();
        command
            .args([
                "capi",
                self.name,
                "--webhook-bind-address",
                &GATEWAY.to_string(),
                "--webhook-port",
                &port,
            ])
            .env("KUBECONFIG", kubeconfig_of(plan, self.account))
            .env("NAMESPACE", NAMESPACE)
            .env("WEBHOOK_URL", format!("https://{}", address(self.port)))
            .stdin(Stdio::null());
        let name = format!("the {} provider", self.name);
        Ok(Running::start(&name, &mut command, &log(plan, self.account))?)
    }
}

/// Waits until somebody listens.
fn listens(network: &Network, plan: &Plan, port: u16) -> Result<(), LabError> {
    let what = format!("a webhook at {}", address(port));
    let mut wait = Wait::new(what, format_args!("{}/*.log", plan.dir.join(DIR).display()), START);
    while network.within(|| TcpStream::connect(address(port)).is_err())? {
        wait.pause(Duration::from_millis(100))?;
    }
    Ok(())
}
