//! Releases that are learned of, kept, and offered without the network.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use assisted_release::{Catalogue, CatalogueError, Origins};
use assisted_wire::version::{ReleaseImage, ReleaseSources};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use url::Url;

use crate::lab::{QUICK, transport};

/// Part of a path, status, text.
type Answers = Vec<(&'static str, u16, String)>;

/// Stands for the update service and for the list of life cycles.
struct Site {
    url: Url,
    /// What is answered to paths that hold the first text.
    answers: Arc<Mutex<Answers>>,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Site {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/ocm", listener.local_addr().unwrap()).parse().unwrap();
        let (answers, seen) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(Vec::new())));
        let site = Self { url, answers: Arc::clone(&answers), seen: Arc::clone(&seen) };
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (answers, seen) = (Arc::clone(&answers), Arc::clone(&seen));
                let service = service_fn(move |request: Request<Incoming>| {
                    let path = request.uri().to_string();
                    let answers = answers.lock().unwrap();
                    let found =
                        answers.iter().find(|(part, _, _): &&(&str, u16, String)| path.contains(part));
                    let (status, text) =
                        found.map_or((404, String::new()), |(_, status, text)| (*status, text.clone()));
                    seen.lock().unwrap().push(path);
                    let answer =
                        Response::builder().status(status).body(Full::<bytes::Bytes>::from(text)).unwrap();
                    async move { Ok::<_, Infallible>(answer) }
                });
                tokio::spawn(
                    hyper::server::conn::http1::Builder::new()
                        .serve_connection(TokioIo::new(stream), service),
                );
            }
        });
        site
    }

    fn answer(&self, part: &'static str, status: u16, text: &str) {
        self.answers.lock().unwrap().insert(0, (part, status, text.to_owned()));
    }

    fn catalogue(&self, configured: Vec<ReleaseImage>, file: &std::path::Path) -> Catalogue {
        let sources: ReleaseSources = serde_json::from_value(serde_json::json!([{
            "openshift_version": "4.22", "multi_cpu_architectures": ["x86_64", "arm64"],
            "upgrade_channels": [
                {"cpu_architecture": "x86_64", "channels": ["stable", "candidate"]},
                {"cpu_architecture": "multi", "channels": ["stable"]},
            ],
        }]))
        .unwrap();
        let origins = Origins { updates: self.url.clone(), life_cycles: self.url.join("/lives").unwrap() };
        Catalogue::new(&transport(), QUICK, origins, sources.0, configured, file).unwrap()
    }
}

const LIVES: &str = r#"{"data":[{"name":"x","versions":[{"name":"4.22","type":"Full Support"}]}]}"#;

#[tokio::test]
async fn learned_kept_and_known_offline() {
    let (site, dir) = (Site::start().await, tempfile::tempdir().unwrap());
    site.answer(
        "channel=stable-4.22",
        200,
        r#"{"nodes":[{"version":"4.22.9","payload":"x"},{"version":"4.21.1"}],"edges":[[0,1]]}"#,
    );
    site.answer("channel=candidate-4.22", 200, r#"{"nodes":[{"version":"4.22.10"}]}"#);
    site.answer("/lives", 200, LIVES);
    let file = dir.path().join("releases.json");
    let catalogue = site.catalogue(Vec::new(), &file);
    assert!(catalogue.known().0.is_empty());
    let learned = catalogue.refresh().await.unwrap();
    let urls: Vec<_> = learned.0.iter().map(|image| image.url.rsplit(':').next().unwrap()).collect();
    assert_eq!(urls, ["4.22.9-multi", "4.22.9-x86_64", "4.22.10-x86_64"]);
    let seen = site.seen.lock().unwrap().clone();
    assert!(
        seen.contains(&"/ocm/api/upgrades_info/v1/graph?channel=stable-4.22&arch=amd64".to_owned()),
        "{seen:?}"
    );
    assert!(seen.contains(&"/lives?name=Red+Hat+OpenShift+Container+Platform".to_owned()), "{seen:?}");
    drop(site);
    let later = Site::start().await;
    let mut own = learned.0[0].clone();
    own.url = "mirror.lab/release:1".to_owned();
    let offline = later.catalogue(vec![own.clone()], &file);
    assert!(offline.refresh().await.is_err());
    assert_eq!(offline.known().0, [vec![own], learned.0].concat());
}

#[tokio::test]
async fn all_or_nothing() {
    let (site, dir) = (Site::start().await, tempfile::tempdir().unwrap());
    let file = dir.path().join("releases.json");
    let catalogue = site.catalogue(Vec::new(), &file);
    site.answer("channel=stable-4.22", 200, r#"{"nodes":[{"version":"4.22.9"}]}"#);
    site.answer("/lives", 200, LIVES);
    let missing = catalogue.refresh().await.unwrap_err();
    assert!(
        missing.to_string().contains("channel=candidate-4.22&arch=amd64: the server answers with status 404"),
        "{missing}"
    );
    site.answer("channel=candidate-4.22", 500, "");
    assert!(matches!(catalogue.refresh().await, Err(CatalogueError::Fetch { .. })));
    site.answer("channel=candidate-4.22", 200, "<html>");
    assert!(matches!(catalogue.refresh().await, Err(CatalogueError::Answer { .. })));
    site.answer("channel=candidate-4.22", 200, r#"{"nodes":[]}"#);
    site.answer("/lives", 200, r#"{"data":[]}"#);
    assert!(
        matches!(catalogue.refresh().await, Err(CatalogueError::NoSupportLevel { base, .. }) if base == "4.22")
    );
    assert!(!file.exists());
    std::fs::write(&file, "[{").unwrap();
    assert!(catalogue.known().0.is_empty());
}
