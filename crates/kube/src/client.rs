//! Connections to an API server.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hyper::Uri;
use hyper::rt::{Read, Write};
use hyper_timeout::TimeoutConnector;
use hyper_util::client::legacy::Client as HttpClient;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::legacy::connect::{Connection, HttpConnector};
use hyper_util::rt::TokioExecutor;
pub use kube::Client;
use kube::Config;
use kube::client::retry::RetryPolicy;
use kube::client::{Body, ConfigExt};
use kube::config::{InClusterError, KubeConfigOptions, Kubeconfig, KubeconfigError};
use tower::retry::RetryLayer;
use tower::{BoxError, Service, ServiceBuilder};

/// After so much silence, and then as often, the API is asked whether the connection is still there: watches are silent for long,
/// and a host that has just got the address knows nothing of them.
const KEEPALIVE: Duration = Duration::from_secs(5);
const KEEPALIVES: u32 = 3;

/// How long a connection may take to stand.
const CONNECT: Duration = Duration::from_secs(30);

/// Why a kubeconfig, or the pod's own account, gives no access to an API server.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    #[error("{} can't be read", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("the kubeconfig can't be used")]
    Kubeconfig(#[from] Box<KubeconfigError>),
    #[error("the pod's account can't be used")]
    InCluster(#[from] Box<InClusterError>),
    #[error("its proxy-url is none that is supported: http:// with host and port, and without a user")]
    Proxy,
    #[error("its {field} leads to what is on this machine; everything has to stand in the kubeconfig itself")]
    Outside { field: &'static str },
    #[error("{server} is no address of an API server")]
    Server { server: String },
    #[error("no client can be made of it")]
    Client(#[source] Box<kube::Error>),
}

impl From<kube::Error> for ConnectError {
    fn from(error: kube::Error) -> Self {
        Self::Client(Box::new(error))
    }
}

/// A client with the credentials of the file `KUBECONFIG` names, or of the pod that this runs in. `silence` is how long nothing at all
/// may come from the API, or be taken by it: longer than a watch is silent.
///
/// # Errors
/// There are no credentials, or they make no sense.
pub fn from_environment(silence: Duration) -> impl Future<Output = Result<Client, ConnectError>> + Send {
    let path = std::env::var_os("KUBECONFIG").filter(|path| !path.is_empty()).map(PathBuf::from);
    async move {
        match path {
            Some(path) => from_file(&path, silence).await,
            None => from_pod(silence),
        }
    }
}

/// A client with the account of the pod that this runs in. `silence` is as for [`from_environment`].
///
/// # Errors
/// This runs in no pod.
pub fn from_pod(silence: Duration) -> Result<Client, ConnectError> {
    client(&Config::incluster().map_err(Box::new)?, None, silence)
}

/// A client with the credentials of a kubeconfig. `silence` is as for [`from_environment`].
///
/// # Errors
/// The file can't be read, or makes no sense.
pub async fn from_file(path: &Path, silence: Duration) -> Result<Client, ConnectError> {
    let text = std::fs::read_to_string(path)
        .map_err(|source| ConnectError::Read { path: path.to_owned(), source })?;
    from_text(&text, silence).await
}

/// A client with the credentials of a kubeconfig's text. `silence` is as for [`from_environment`].
///
/// # Errors
/// The text makes no sense.
pub async fn from_text(text: &str, silence: Duration) -> Result<Client, ConnectError> {
    let (config, proxy) = read(Kubeconfig::from_yaml(text).map_err(Box::new)?).await?;
    client(&config, proxy, silence)
}

/// A client for another cluster, with the credentials of a kubeconfig that somebody else has written: it may start no program and read
/// no file here. What this machine trusts is trusted beside the authority that the kubeconfig names, for an API's certificate may have
/// been replaced since. `server`: where the API is, if not where the kubeconfig says. `silence` is as for [`from_environment`].
///
/// # Errors
/// The text makes no sense, or leads to what is on this machine.
pub async fn from_foreign_text(
    text: &str,
    server: Option<&str>,
    silence: Duration,
) -> Result<Client, ConnectError> {
    let kubeconfig = Kubeconfig::from_yaml(text).map_err(Box::new)?;
    stands_alone(&kubeconfig)?;
    let (mut config, proxy) = read(kubeconfig).await?;
    if let Some(server) = server {
        config.cluster_url =
            server.parse().map_err(|_| ConnectError::Server { server: server.to_owned() })?;
    }
    if let Some(roots) = &mut config.root_cert {
        let trusted = rustls_native_certs::load_native_certs().certs;
        let trusted: Vec<Vec<u8>> = trusted.into_iter().map(|certificate| certificate.to_vec()).collect();
        let known: BTreeSet<Vec<u8>> = roots.iter().cloned().collect();
        roots.extend(trusted.into_iter().filter(|certificate| !known.contains(certificate)));
    }
    client(&config, proxy, silence)
}

async fn read(kubeconfig: Kubeconfig) -> Result<(Config, Option<Uri>), ConnectError> {
    let proxy = proxy_url(&kubeconfig).map(http_proxy).transpose()?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    Ok((config.map_err(Box::new)?, proxy))
}

/// Refuses a kubeconfig that starts programs or reads files.
fn stands_alone(kubeconfig: &Kubeconfig) -> Result<(), ConnectError> {
    let users = kubeconfig.auth_infos.iter().filter_map(|named| named.auth_info.as_ref());
    let of_users = users.flat_map(|user| {
        [
            ("exec", user.exec.is_some()),
            ("auth-provider", user.auth_provider.is_some()),
            ("tokenFile", user.token_file.is_some()),
            ("client-certificate", user.client_certificate.is_some()),
            ("client-key", user.client_key.is_some()),
        ]
    });
    let clusters = kubeconfig.clusters.iter().filter_map(|named| named.cluster.as_ref());
    let of_clusters =
        clusters.map(|cluster| ("certificate-authority", cluster.certificate_authority.is_some()));
    match of_users.chain(of_clusters).find(|(_, is_set)| *is_set) {
        Some((field, _)) => Err(ConnectError::Outside { field }),
        None => Ok(()),
    }
}

/// The proxy that a kubeconfig names for the cluster of its current context. One that the environment names is for what is outside of
/// the cluster, and not for its API.
fn proxy_url(kubeconfig: &Kubeconfig) -> Option<&str> {
    let current = kubeconfig.current_context.as_ref()?;
    let context = kubeconfig.contexts.iter().find(|named| named.name == *current)?.context.as_ref()?;
    let cluster = kubeconfig.clusters.iter().find(|named| named.name == context.cluster)?.cluster.as_ref()?;
    cluster.proxy_url.as_deref().filter(|url| !url.is_empty())
}

/// A proxy that is spoken to by plain HTTP, and wants to know nobody's name: every other kind is refused.
fn http_proxy(url: &str) -> Result<Uri, ConnectError> {
    let proxy = url.parse::<Uri>().ok().filter(|uri| uri.scheme_str() == Some("http"));
    let proxy =
        proxy.filter(|uri| uri.authority().is_some_and(|authority| !authority.as_str().contains('@')));
    proxy.ok_or(ConnectError::Proxy)
}

/// A client as Kubernetes' own library makes it, but for the keepalive, for which that has no setting.
fn client(config: &Config, proxy: Option<Uri>, silence: Duration) -> Result<Client, ConnectError> {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_keepalive(Some(KEEPALIVE));
    tcp.set_keepalive_interval(Some(KEEPALIVE));
    tcp.set_keepalive_retries(Some(KEEPALIVES));
    match proxy {
        Some(proxy) => connected(config, Tunnel::new(proxy, tcp), silence),
        None => connected(config, tcp, silence),
    }
}

/// A client over connections of a kind, with TLS.
fn connected<C>(config: &Config, connector: C, silence: Duration) -> Result<Client, ConnectError>
where
    C: Service<Uri> + Clone + Send + Sync + 'static,
    C::Response: Read + Write + Connection + Send + Unpin + 'static,
    C::Future: Send + 'static,
    C::Error: Into<BoxError>,
{
    let mut connector = TimeoutConnector::new(config.rustls_https_connector_with_connector(connector)?);
    connector.set_connect_timeout(Some(silence.min(CONNECT)));
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
    Ok(Client::new(service, config.default_namespace.clone()))
}
