//! A whole service for one test, on a free port, that can go away and come back.

use std::net::SocketAddr;
use std::sync::Arc;

use assisted_api::Api;
use assisted_api::server::serve;
use assisted_blob::Blob;
use assisted_client::Client;
use assisted_config::Settings;
use assisted_core::model::facts::Facts;
use assisted_core::model::host::HostKey;
use assisted_service::generator::{self, GenerateError, Generator, Payload, Simulation};
use assisted_service::{Background, Clock, Service};
use assisted_store::Store;
use assisted_testkit::memory_dir;
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::Value;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

struct Running {
    service: Service,
    stop: oneshot::Sender<()>,
    task: JoinHandle<std::io::Result<()>>,
    background: Background,
}

/// Files of a simulation, but for what the controller works with.
#[derive(Clone, Debug, Default)]
pub(crate) struct Files {
    /// Credentials of an administrator.
    pub(crate) kubeconfig: String,
    /// Objects of operators.
    pub(crate) objects: Value,
}

impl Generator for Files {
    fn generate<'a>(
        &'a self,
        facts: &'a Facts,
        payload: Payload,
        blob: &'a Blob,
    ) -> BoxFuture<'a, Result<generator::Files, GenerateError>> {
        async move {
            let mut files = Simulation.generate(facts, payload, blob).await?;
            for (name, content) in &mut files.contents {
                match name.as_str() {
                    "kubeconfig-noingress" => *content = self.kubeconfig.clone().into(),
                    "custom_manifests.json" => *content = self.objects.to_string().into(),
                    _ => {}
                }
            }
            Ok(files)
        }
        .boxed()
    }

    fn host_ignition<'a>(
        &'a self,
        facts: &'a Facts,
        host: HostKey,
    ) -> BoxFuture<'a, Result<bytes::Bytes, GenerateError>> {
        Simulation.host_ignition(facts, host)
    }
}

pub(crate) struct Server {
    data: TempDir,
    clock: Clock,
    settings: Settings,
    files: Arc<Files>,
    pub(crate) address: SocketAddr,
    running: Option<Running>,
}

impl Server {
    pub(crate) async fn start(files: Files, clock: Clock) -> Self {
        Self::start_with(files, clock, Settings::default()).await
    }

    /// The same with other settings.
    pub(crate) async fn start_with(files: Files, clock: Clock, settings: Settings) -> Self {
        let data = memory_dir().unwrap();
        let address = ([127, 0, 0, 1], 0).into();
        let mut server = Self { data, clock, files: Arc::new(files), settings, address, running: None };
        server.come_back().await;
        server
    }

    /// Starts at the address that it had, with the data that it had.
    pub(crate) async fn come_back(&mut self) {
        let settings = &self.settings;
        let database = format!("sqlite:{}", self.data.path().join("test.db").display());
        let store = Store::open(&database).await.unwrap();
        let blob = Blob::open(self.data.path().join("files")).await.unwrap();
        let builder = Service::builder(settings.clone(), store, blob, self.files.clone())
            .unwrap()
            .clock(self.clock.clone());
        let (service, background) = builder.start();
        let api = Api::new(service.clone(), settings).unwrap();
        let listener = TcpListener::bind(self.address).await.unwrap();
        self.address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(serve(listener, None, api, async {
            let _ = stopped.await;
        }));
        self.running = Some(Running { service, stop, task, background });
    }

    pub(crate) async fn go_away(&mut self) {
        let Running { stop, task, background, .. } = self.running.take().unwrap();
        stop.send(()).unwrap();
        task.await.unwrap().unwrap();
        background.stop().await;
    }

    /// Has what is due looked at.
    pub(crate) fn run_due(&self) {
        self.running.as_ref().unwrap().service.work().notify();
    }

    pub(crate) fn client(&self) -> Client {
        Client::builder(&format!("http://{}", self.address)).proxy_from_env(false).build().unwrap()
    }
}
