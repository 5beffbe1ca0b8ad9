//! A hub of one's own: its controllers can be stopped, and its network can be cut.

use std::time::Duration;

use assisted_kube::client::from_text;
use assisted_kubeapi::controllers::{RunError, run};
use assisted_service::Service;
use assisted_testkit::Hole;
use assisted_testkit::kube::Kube;
use kube::Client;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::world::{SILENCE, Served, Site, kubeconfig, options, serving};
use crate::hub::{Hub, define};
use crate::pool::{Kinds, Server, lease};

/// An API server with the controllers, for one test alone.
pub struct OwnHub {
    pub kube: Server,
    pub client: Client,
    pub served: Served,
    /// What the controllers reach the API server through.
    pub network: Hole,
    running: Option<(CancellationToken, JoinHandle<Result<(), RunError>>)>,
}

impl OwnHub {
    /// One of the pool; the controllers don't run yet.
    pub async fn lease() -> Self {
        Self::on(lease(Kinds::Controllers).await).await
    }

    /// The hub of a server of one's own.
    pub async fn of(kube: Kube) -> Self {
        let hub = Hub::of(kube).await;
        define(&hub.client, |group| Kinds::Controllers.hold(group)).await;
        Self::on(hub).await
    }

    async fn on(Hub { kube, client }: Hub) -> Self {
        let network = Hole::before(kube.address().port()).await.unwrap();
        let served = Box::pin(serving()).await;
        Self { kube, client, served, network, running: None }
    }

    /// Starts the controllers, with a lease of this duration.
    pub async fn start(&mut self, lease: Duration) {
        self.start_as(&kubeconfig(&self.kube), lease).await;
    }

    /// Starts them with the rights of whoever has a kubeconfig.
    pub async fn start_as(&mut self, kubeconfig: &str, lease: Duration) {
        let through = format!("127.0.0.1:{}", self.network.port());
        let kubeconfig = kubeconfig.replace(&self.kube.address().to_string(), &through);
        let client = from_text(&kubeconfig, SILENCE).await.unwrap();
        let (stop, service) = (CancellationToken::new(), self.service().clone());
        let token = stop.clone();
        let task = tokio::spawn(async move { Box::pin(run(client, service, options(lease), token)).await });
        self.running = Some((stop, task));
    }

    /// Stops the controllers; they have to run.
    pub async fn stop(&mut self) {
        let (stop, task) = self.running.take().unwrap();
        assert!(!task.is_finished(), "the controllers ended by themselves: {:?}", task.await);
        stop.cancel();
        task.await.unwrap().unwrap();
    }

    pub fn service(&self) -> &Service {
        &self.served.service
    }

    pub async fn site(&self, namespace: &'static str) -> Site {
        Site::on(self.client.clone(), self.service().clone(), namespace).await
    }
}
