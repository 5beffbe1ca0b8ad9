//! Connections to an API server.

use std::path::{Path, PathBuf};
use std::time::Duration;

use hyper_timeout::TimeoutConnector;
use hyper_util::client::legacy::Client as HttpClient;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
pub use kube::Client;
use kube::Config;
use kube::client::retry::RetryPolicy;
use kube::client::{Body, ConfigExt};
use kube::config::{InClusterError, KubeConfigOptions, Kubeconfig, KubeconfigError};
use tower::retry::RetryLayer;
use tower::{BoxError, ServiceBuilder};

/// After so much silence, and then as often, the API is asked whether the connection is still there: watches are silent for long,
/// and a host that has just got the address knows nothing of them.
const KEEPALIVE: Duration = Duration::from_secs(5);
const KEEPALIVES: u32 = 3;

/// Why no client can be made.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    #[error("{} can't be read", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("the kubeconfig can't be used")]
    Kubeconfig(#[from] Box<KubeconfigError>),
    #[error("the pod's account can't be used")]
    InCluster(#[from] Box<InClusterError>),
    #[error("no client can be made of it")]
    Client(#[source] Box<kube::Error>),
}

impl From<kube::Error> for ConnectError {
    fn from(error: kube::Error) -> Self {
        Self::Client(Box::new(error))
    }
}

/// A client with the credentials of the file `KUBECONFIG` names, or of the pod that this runs in. `silence` is as for [`client`].
///
/// # Errors
/// There are no credentials, or they make no sense.
pub fn from_environment(silence: Duration) -> impl Future<Output = Result<Client, ConnectError>> + Send {
    let path = std::env::var_os("KUBECONFIG").filter(|path| !path.is_empty()).map(PathBuf::from);
    async move {
        match path {
            Some(path) => from_file(&path, silence).await,
            None => client(Config::incluster().map_err(Box::new)?, silence),
        }
    }
}

/// A client with the credentials of a kubeconfig.
///
/// # Errors
/// The file can't be read, or makes no sense.
pub async fn from_file(path: &Path, silence: Duration) -> Result<Client, ConnectError> {
    let text = std::fs::read_to_string(path)
        .map_err(|source| ConnectError::Read { path: path.to_owned(), source })?;
    from_text(&text, silence).await
}

/// A client with the credentials of a kubeconfig's text.
///
/// # Errors
/// The text makes no sense.
pub async fn from_text(text: &str, silence: Duration) -> Result<Client, ConnectError> {
    let kubeconfig = Kubeconfig::from_yaml(text).map_err(Box::new)?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    client(config.map_err(Box::new)?, silence)
}

/// A client as Kubernetes' own library makes it, but for the keepalive, for which that has no setting. `silence` is how long
/// nothing at all may come from the API, or be taken by it: longer than a watch is silent.
///
/// # Errors
/// The certificates or keys make no sense. A proxy (`proxy-url`) is refused: none is used.
pub fn client(config: Config, silence: Duration) -> Result<Client, ConnectError> {
    if config.proxy_url.is_some() {
        return Ok(Client::try_from(config)?);
    }
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_keepalive(Some(KEEPALIVE));
    tcp.set_keepalive_interval(Some(KEEPALIVE));
    tcp.set_keepalive_retries(Some(KEEPALIVES));
    let mut connector = TimeoutConnector::new(config.rustls_https_connector_with_connector(tcp)?);
    connector.set_connect_timeout(Some(silence.min(Duration::from_secs(30))));
    connector.set_read_timeout(Some(silence));
    connector.set_write_timeout(Some(silence));
    connector.set_reset_reader_on_write(true);
    let http = HttpClient::builder(TokioExecutor::new()).build::<_, Body>(connector);
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .layer(RetryLayer::new(RetryPolicy::server_retry()))
        .option_layer(config.auth_layer()?)
        .layer(config.extra_headers_layer()?)
        .map_err(BoxError::from)
        .service(http);
    Ok(Client::new(service, config.default_namespace))
}
