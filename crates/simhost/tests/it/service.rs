//! A whole service for one test, on a free port.

use std::net::SocketAddr;
use std::path::Path;

use assisted_api::Api;
use assisted_api::server::serve;
use assisted_blob::Blob;
use assisted_core::settings::Settings;
use assisted_service::{Background, Service};
use assisted_store::Store;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    stop: oneshot::Sender<()>,
    task: JoinHandle<std::io::Result<()>>,
    background: Background,
}

impl Server {
    /// Starts on a folder's data; on an address, if it must be a certain one.
    pub(crate) async fn start(dir: &Path, address: Option<SocketAddr>) -> Self {
        let settings = Settings::default();
        let store = Store::open(&format!("sqlite:{}", dir.join("test.db").display())).await.unwrap();
        let blob = Blob::open(dir.join("files")).await.unwrap();
        let (service, background) = Service::start(settings.clone(), store, blob);
        let api = Api::new(service, &settings).unwrap();
        let address = address.unwrap_or_else(|| ([127, 0, 0, 1], 0).into());
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(serve(listener, None, api, async {
            let _ = stopped.await;
        }));
        Self { address, stop, task, background }
    }

    pub(crate) async fn stop(self) {
        self.stop.send(()).unwrap();
        self.task.await.unwrap().unwrap();
        self.background.stop().await;
    }
}
