//! TLS, alone and beside plain HTTP.

use std::sync::Arc;
use std::time::Duration;

use assisted_imageserver::server::{Listener, Timeouts, serve};
use assisted_imageserver::{Background, Images};
use reqwest::{Certificate, Client, Method};
use rustls::ServerConfig;
use rustls::pki_types::PrivatePkcs8KeyDer;
use tokio::net::TcpListener;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::api::{Api, ID};
use crate::client::{ask, client};
use crate::server::{address, local, options};

/// A service with TLS; plain HTTP beside it when asked for.
pub struct Secure {
    pub api: Api,
    pub https: String,
    pub http: Option<String>,
    /// Trusts its certificate.
    pub client: Client,
    _dir: tempfile::TempDir,
    _stop: DropGuard,
    _background: Background,
}

impl Secure {
    pub async fn start(beside: bool) -> Self {
        let api = Api::start().await;
        let dir = tempfile::tempdir().unwrap();
        let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
        let _ = client();
        let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
        let mut tls = ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key.into())
            .unwrap();
        // As listeners of the API offer it; images are not served that way.
        tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let client = Client::builder()
            .no_proxy()
            .no_gzip()
            .timeout(Duration::from_secs(60))
            .add_root_certificate(Certificate::from_pem(made.cert.pem().as_bytes()).unwrap())
            .build()
            .unwrap();
        let mut options = options(&dir, &local());
        options.tls_beside_http = beside;
        let (images, background) = Images::start(&address(&api), options).unwrap();
        let bind = || TcpListener::bind("127.0.0.1:0");
        let tcp = bind().await.unwrap();
        let https = format!("https://{}", tcp.local_addr().unwrap());
        let mut listeners = vec![Listener { tcp, tls: Some(Arc::new(tls)) }];
        let mut http = None;
        if beside {
            let tcp = bind().await.unwrap();
            http = Some(format!("http://{}", tcp.local_addr().unwrap()));
            listeners.push(Listener { tcp, tls: None });
        }
        let stop = CancellationToken::new();
        let stopped = stop.clone().cancelled_owned();
        tokio::spawn(serve(listeners, images, Timeouts::default(), stopped, None));
        let secure =
            Self { api, https, http, client, _dir: dir, _stop: stop.drop_guard(), _background: background };
        let healthy = async {
            let url = format!("{}/health", secure.https);
            while ask(&secure.client, Method::GET, &url, &[]).await.status != 200 {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), healthy).await.expect("it gets healthy");
        secure
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn plain_http_beside_tls_serves_only_what_ipxe_loads() {
    let secure = Secure::start(true).await;
    let http = secure.http.as_deref().unwrap();
    let iso = format!("/byid/{ID}/4.18/x86_64/full.iso");
    for (path, plain) in [
        (iso.as_str(), 404),
        (&format!("/images/{ID}?version=4.18&type=full-iso"), 404),
        (&format!("/images/{ID}/s390x-initrd-addrsize?version=4.18"), 404),
        (&format!("/images/{ID}/pxe-initrd?version=4.18"), 200),
        ("/boot-artifacts/kernel?version=4.18", 200),
        ("/boot-artifacts/rootfs?version=4.18", 200),
        ("/health", 200),
        ("/live", 200),
        ("/metrics", 200),
    ] {
        let over_http = ask(&client(), Method::GET, &format!("{http}{path}"), &[]).await;
        assert_eq!(over_http.status, plain, "{path}");
        let over_tls = ask(&secure.client, Method::GET, &format!("{}{path}", secure.https), &[]).await;
        assert_eq!(over_tls.status, 200, "{path}");
    }
    // By the end of the path alone.
    let odd = ask(&client(), Method::GET, &format!("{http}/images/{ID}/pxe-initrd?version=9"), &[]).await;
    assert_eq!(odd.status, 400);
}
