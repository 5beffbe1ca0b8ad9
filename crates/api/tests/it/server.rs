//! A whole service for one test, on a free port.

use std::sync::Arc;

use assisted_api::server::serve;
use assisted_api::{Api, Timeouts};
use assisted_blob::{Blob, S3};
use assisted_config::Settings;
use assisted_service::generator::Simulation;
use assisted_service::{Background, Service};
use assisted_store::Store;
use assisted_testkit::{AwsServer, memory_dir};
use reqwest::{Client, Method};
use rustls::ServerConfig;
use serde_json::Value;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

pub(crate) struct Server {
    pub(crate) url: String,
    pub(crate) address: std::net::SocketAddr,
    pub(crate) client: Client,
    pub(crate) service: Service,
    /// Where the service keeps everything.
    pub(crate) database: String,
    api: Api,
    stop: oneshot::Sender<()>,
    task: JoinHandle<std::io::Result<()>>,
    background: Background,
    dir: Arc<TempDir>,
}

impl Server {
    pub(crate) async fn start(settings: Settings) -> Self {
        Box::pin(Self::start_with(settings, Timeouts::default(), None)).await
    }

    /// With files in a bucket that no other test uses.
    pub(crate) async fn start_in_bucket(settings: Settings) -> Self {
        let bucket = AwsServer::bucket().unwrap();
        let endpoint = bucket.endpoint.parse().unwrap();
        let bucket = S3::at(endpoint, bucket.name, bucket.access_key, bucket.secret_key);
        Box::pin(Self::launch(settings, Timeouts::default(), None, Some(bucket))).await
    }

    /// With other time limits, or over TLS.
    pub(crate) async fn start_with(
        settings: Settings,
        timeouts: Timeouts,
        tls: Option<Arc<ServerConfig>>,
    ) -> Self {
        // Settings are large.
        Box::pin(Self::launch(settings, timeouts, tls, None)).await
    }

    async fn launch(
        settings: Settings,
        timeouts: Timeouts,
        tls: Option<Arc<ServerConfig>>,
        bucket: Option<S3>,
    ) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let dir = memory_dir().unwrap();
        let database = format!("sqlite:{}", dir.path().join("test.db").display());
        let store = Store::open(&database).await.unwrap();
        let blob = match bucket {
            Some(bucket) => Blob::bucket(bucket).await,
            None => Blob::open(dir.path().join("files")).await,
        };
        let (service, background) =
            Service::builder(settings.clone(), store, blob.unwrap(), Arc::new(Simulation)).unwrap().start();
        let api =
            Api::with_timeouts(service.clone(), &settings, timeouts).unwrap().with_ui(assisted_ui::answer);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(serve(listener, tls, api.clone(), async {
            let _ = stopped.await;
        }));
        Self {
            url: format!("http://{address}/api/assisted-install"),
            address,
            client: Client::new(),
            service,
            database,
            api,
            stop,
            task,
            background,
            dir: Arc::new(dir),
        }
    }

    pub(crate) async fn call(&self, method: Method, path: &str, body: Option<Value>) -> (u16, Value) {
        let mut request = self.client.request(method, format!("{}{path}", self.url));
        if let Some(body) = body {
            request = request.json(&body);
        }
        let answer = request.send().await.unwrap();
        let status = answer.status().as_u16();
        let text = answer.text().await.unwrap();
        (status, serde_json::from_str(&text).unwrap_or(Value::Null))
    }

    /// The page of metrics.
    pub(crate) async fn metrics(&self) -> String {
        let answer = self.client.get(format!("http://{}/metrics", self.address)).send().await.unwrap();
        answer.text().await.unwrap()
    }

    /// A code for the first administrator.
    pub(crate) async fn setup_code(&self) -> Option<String> {
        let code = self.api.setup_code().await.unwrap();
        code.map(|code| code.expose().to_owned())
    }

    /// Holds on to what the service keeps when it is stopped.
    pub(crate) fn keep(&self) -> Arc<TempDir> {
        Arc::clone(&self.dir)
    }

    pub(crate) async fn stop(self) {
        self.stop.send(()).unwrap();
        self.task.await.unwrap().unwrap();
        self.background.stop().await;
    }
}
