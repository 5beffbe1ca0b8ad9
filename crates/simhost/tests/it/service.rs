//! A whole service for one test, on a free port.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use assisted_api::Api;
use assisted_api::server::serve;
use assisted_blob::Blob;
use assisted_config::{Generator as Chosen, Settings};
use assisted_service::generator::{Generator, Simulation};
use assisted_service::{Background, Clock, Service};
use assisted_store::Store;
use assisted_testkit::{Postgres, memory_dir};
use rustls::ServerConfig;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// A service's data, which lives as long as this.
pub(crate) struct Data {
    dir: TempDir,
    database: String,
}

impl Data {
    pub(crate) fn sqlite() -> Self {
        let dir = memory_dir().unwrap();
        let database = format!("sqlite:{}", dir.path().join("test.db").display());
        Self { dir, database }
    }

    pub(crate) fn postgres() -> Self {
        let database = Postgres::start().unwrap().create_database().unwrap();
        Self { dir: memory_dir().unwrap(), database }
    }

    fn files(&self) -> PathBuf {
        self.dir.path().join("files")
    }
}

/// A change of settings.
pub(crate) type Change = Box<dyn FnOnce(&mut Settings)>;

/// What is otherwise than in a service that just starts.
#[derive(Default)]
pub(crate) struct Otherwise {
    pub(crate) address: Option<SocketAddr>,
    pub(crate) clock: Clock,
    pub(crate) generator: Option<Arc<dyn Generator>>,
    pub(crate) tls: Option<Arc<ServerConfig>>,
    pub(crate) settings: Option<Change>,
}

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) service: Service,
    pub(crate) store: Store,
    stop: oneshot::Sender<()>,
    task: JoinHandle<std::io::Result<()>>,
    background: Background,
}

impl Server {
    pub(crate) async fn start(data: &Data) -> Self {
        Self::with(data, Otherwise::default()).await
    }

    pub(crate) async fn with(data: &Data, otherwise: Otherwise) -> Self {
        let mut settings = Settings::default();
        settings.generation.generator = Chosen::Simulation;
        settings.clusters.tnf_clusters_support = true;
        if let Some(change) = otherwise.settings {
            change(&mut settings);
        }
        let store = Store::open(&data.database).await.unwrap();
        let blob = Blob::open(data.files()).await.unwrap();
        let generator = otherwise.generator.unwrap_or_else(|| Arc::new(Simulation));
        let builder = Service::builder(settings.clone(), store.clone(), blob, generator).unwrap();
        let (service, background) = builder.clock(otherwise.clock).start();
        let api = Api::new(service.clone(), &settings).unwrap();
        let address = otherwise.address.unwrap_or_else(|| ([127, 0, 0, 1], 0).into());
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(serve(listener, otherwise.tls, api, async {
            let _ = stopped.await;
        }));
        Self { address, service, store, stop, task, background }
    }

    pub(crate) async fn stop(self) {
        self.stop.send(()).unwrap();
        self.task.await.unwrap().unwrap();
        self.background.stop().await;
    }
}
