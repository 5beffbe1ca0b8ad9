//! The image service under test.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use assisted_config::Origins;
use assisted_imageserver::server::{Listener, Timeouts, serve};
use assisted_imageserver::{ApiAddress, Background, Catalog, FetchOptions, Images, Options};
use assisted_isokit::pxe::Thresholds;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::api::Api;
use crate::iso::Iso;

pub struct Server {
    pub api: Api,
    pub address: SocketAddr,
    pub dir: tempfile::TempDir,
    stop: CancellationToken,
    task: JoinHandle<io::Result<()>>,
    _background: Background,
}

/// An entry of the list of OS images.
pub fn entry(openshift: &str, architecture: &str, version: &str, url: &str, more: &str) -> String {
    format!(
        r#"{{"openshift_version":"{openshift}","cpu_architecture":"{architecture}","version":"{version}","url":"{url}"{more}}}"#
    )
}

/// Images that are on this machine.
pub fn local() -> Vec<String> {
    vec![
        entry("4.18", "x86_64", "418.94", &Iso::x86_64().url(), ""),
        entry("4.18", "s390x", "418.94", &Iso::s390x().url(), ""),
        entry("4.19", "x86_64", "419.1", &Iso::x86_64().url(), r#","type":"disconnected-iso""#),
    ]
}

pub fn address(api: &Api) -> ApiAddress {
    ApiAddress { scheme: "http".to_owned(), host: api.host.clone(), ca_file: None, proxies: false }
}

/// What tests start with.
pub fn options(dir: &tempfile::TempDir, list: &[String]) -> Options {
    Options {
        data_dir: dir.path().to_owned(),
        catalog: Catalog::parse(&format!("[{}]", list.join(","))).unwrap(),
        fetch: FetchOptions {
            eager: true,
            least: Thresholds { rootfs: 1 << 20, kernel: 1000 },
            ..FetchOptions::default()
        },
        base_url: Some("https://images.example.com:8080/path/".parse().unwrap()),
        origins: Origins::new(["https://ui.example.com", "https://*.example.org"]),
        most_requests: 8,
        turn: Duration::from_secs(20),
        tls_beside_http: false,
    }
}

impl Server {
    /// With images that are there at once.
    pub async fn start() -> Self {
        let server = Self::with(&local(), |_, _| {}).await;
        server.ready().await;
        server
    }

    /// With other images and options.
    pub async fn with(list: &[String], change: impl FnOnce(&mut Options, &mut Timeouts)) -> Self {
        let api = Api::start().await;
        let dir = tempfile::tempdir().unwrap();
        Self::within(api, dir, list, change).await
    }

    /// With what an earlier one left.
    pub async fn within(
        api: Api,
        dir: tempfile::TempDir,
        list: &[String],
        change: impl FnOnce(&mut Options, &mut Timeouts),
    ) -> Self {
        let mut options = options(&dir, list);
        let mut timeouts = Timeouts::default();
        change(&mut options, &mut timeouts);
        let (images, background) = Images::start(&address(&api), options).unwrap();
        let tcp = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let listening = tcp.local_addr().unwrap();
        let stop = CancellationToken::new();
        let stopped = stop.clone().cancelled_owned();
        let task = tokio::spawn(serve(vec![Listener { tcp, tls: None }], images, timeouts, stopped, None));
        Self { api, address: listening, dir, stop, task, _background: background }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Waits until all base images are here or have failed.
    pub async fn ready(&self) {
        self.until("/health", |answer| answer.status == 200).await;
    }

    /// Asks again until an answer is as wanted.
    pub async fn until(
        &self,
        path: &str,
        wanted: impl Fn(&crate::client::Answer) -> bool,
    ) -> crate::client::Answer {
        let wait = async {
            loop {
                let answer = crate::client::get(self, path, &[]).await;
                if wanted(&answer) {
                    return answer;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let found = tokio::time::timeout(Duration::from_secs(60), wait).await;
        match found {
            Ok(answer) => answer,
            Err(_) => panic!(
                "{path} does not change: {}",
                crate::client::get(self, "/base-images", &[]).await.text()
            ),
        }
    }

    /// Tells it to stop; ends when all answers have.
    pub fn stop(&self) {
        self.stop.cancel();
    }

    pub async fn ended(self) -> (Api, tempfile::TempDir) {
        self.stop.cancel();
        self.task.await.unwrap().unwrap();
        (self.api, self.dir)
    }
}
