//! A node on which pods of a real API server run: of each it makes, as a kubelet does, a file system, an environment and a network, starts
//! the program in it, asks its probe, and tells its status; and it leads the addresses of services to ready pods, as kube-proxy does.
//!
//! What a real one has beside that: images (here it is one, the program of this workspace), a scheduler (a pod runs as soon as it is there),
//! and NetworkPolicies, which nobody holds to here.

mod network;
mod run;
mod service;
mod variables;
mod volume;

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Pod, Service};
use kube::api::ListParams;
use kube::{Api, Client, ResourceExt};
use tempfile::TempDir;
use tokio::sync::Mutex;

pub use network::{GATEWAY, is_own};

use crate::hub::Hub;
use run::Run;
use service::Services;

/// How often it looks.
const LOOK: Duration = Duration::from_millis(200);

/// What a kubelet knows of its cluster.
struct Kubelet {
    client: Client,
    namespace: String,
    /// What is in the image.
    program: PathBuf,
    /// The authority of the API.
    ca: String,
    /// Volumes that outlive pods, by the names of their claims.
    claims: TempDir,
}

/// A node. What runs on it ends with the network that it is on.
pub struct Node {
    pods: Arc<Mutex<BTreeMap<String, Run>>>,
    task: tokio::task::JoinHandle<()>,
}

impl Node {
    /// Runs the pods of a namespace; [`is_own`] has to be so.
    pub async fn start(hub: &Hub, namespace: &str, program: PathBuf) -> Self {
        network::prepare();
        let kubelet = Kubelet {
            client: hub.client.clone(),
            namespace: namespace.to_owned(),
            program,
            ca: hub.kube.ca(),
            claims: tempfile::tempdir().unwrap(),
        };
        let pods = Arc::default();
        let services = Services::start(hub.kube.address()).await;
        let task = tokio::spawn(work(kubelet, services, Arc::clone(&pods)));
        Self { pods, task }
    }

    /// Ends the program of an application's pod, as a fault does; it is started again in the same pod.
    pub async fn crash(&self, app: &str) {
        let mut pods = self.pods.lock().await;
        let run = pods.values_mut().find(|run| run.is_of(app)).unwrap();
        run.crash().await;
    }

    /// How often the program of an application's pod was started again.
    pub async fn restarts(&self, app: &str) -> u32 {
        self.pods.lock().await.values().find(|run| run.is_of(app)).map_or(0, Run::restarts)
    }

    /// What all programs have said.
    pub async fn log(&self) -> String {
        self.pods.lock().await.values().map(Run::log).collect()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn work(kubelet: Kubelet, mut services: Services, pods: Arc<Mutex<BTreeMap<String, Run>>>) {
    let of_pods: Api<Pod> = Api::namespaced(kubelet.client.clone(), &kubelet.namespace);
    let of_services: Api<Service> = Api::namespaced(kubelet.client.clone(), &kubelet.namespace);
    let mut number = 0;
    loop {
        let known = of_services.list(&ListParams::default()).await.unwrap().items;
        services.follow(&known).await;
        let listed = of_pods.list(&ListParams::default()).await.unwrap().items;
        let mut running = pods.lock().await;
        let gone = |uid: &String| !listed.iter().any(|pod| pod.uid().as_ref() == Some(uid));
        for uid in running.keys().filter(|uid| gone(uid)).cloned().collect::<Vec<_>>() {
            running.remove(&uid).unwrap().stop().await;
        }
        for pod in listed {
            let run = running.entry(pod.uid().unwrap()).or_insert_with(|| {
                number += 1;
                Run::new(pod, number)
            });
            run.look(&kubelet, &known).await;
        }
        services.ready(running.values().filter_map(Run::endpoint).collect());
        drop(running);
        tokio::time::sleep(LOOK).await;
    }
}

/// Where a ready pod is, and its labels.
struct Endpoint {
    address: Ipv4Addr,
    labels: BTreeMap<String, String>,
}

/// The address of a service in the cluster, by the number of its port.
pub fn address_of(service: &Service, port: u16) -> SocketAddr {
    let address = service.spec.as_ref().and_then(|spec| spec.cluster_ip.clone()).unwrap();
    (address.parse::<Ipv4Addr>().unwrap(), port).into()
}
