//! A service for one installation: it judges each stage as the real one does, and keeps what it is told.

use std::sync::{Arc, Mutex};

use assisted_core::state::host::stage;
use assisted_wire::cluster::Cluster;
use assisted_wire::host::{Host, HostKind, HostProgress, HostRole, HostStage};
use axum::Router;
use axum::body::to_bytes;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::Notify;

pub(crate) const CLUSTER: &str = "11111111-3c08-4d97-8ec7-ea0ad7d4cadf";
pub(crate) const INFRA_ENV: &str = "22222222-3c08-4d97-8ec7-ea0ad7d4cadf";
pub(crate) const HOST: &str = "33333333-3c08-4d97-8ec7-ea0ad7d4cad0";

/// What the service is like.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Site {
    pub(crate) role: HostRole,
    pub(crate) bootstrap: bool,
    pub(crate) masters: u32,
    pub(crate) day_two: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Received {
    /// Stages of this host with their texts, as they came; refused ones end in the status.
    pub(crate) reports: Vec<String>,
    /// Method and path of everything else, in which reports about images and logs of builds are as well.
    pub(crate) asked: Vec<String>,
    /// Stages of other hosts.
    pub(crate) peers: Vec<String>,
    /// What the service knows of images of nodes; nothing unless a test says so.
    pub(crate) layering: Value,
    /// Statuses with which it refuses to tell of them, the last one first, until none is left.
    pub(crate) refusals: Vec<u16>,
    /// The host's own config, unless it is a plain one.
    pub(crate) ignition: Value,
    /// Reports about images.
    pub(crate) builds: Vec<Value>,
    /// Logs of builds: where they were sent, and the form.
    pub(crate) build_logs: Vec<(String, Vec<u8>)>,
    current: Option<HostStage>,
    /// The beginning of the report that gets no answer, and who waits for it to come.
    held: Option<(&'static str, Arc<Notify>)>,
}

#[derive(Clone)]
pub(crate) struct Service {
    pub(crate) url: String,
    pub(crate) told: Arc<Mutex<Received>>,
}

#[derive(Clone)]
struct Shared {
    site: Site,
    told: Arc<Mutex<Received>>,
}

impl Service {
    pub(crate) async fn start(site: Site) -> Self {
        let told = Arc::new(Mutex::new(Received::default()));
        let shared = Shared { site, told: Arc::clone(&told) };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let router = Router::new().fallback(answer).with_state(shared);
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, told }
    }

    /// The stages of this host that were taken, each once.
    pub(crate) fn stages(&self) -> Vec<String> {
        let told = self.told.lock().unwrap();
        let mut stages: Vec<_> = told
            .reports
            .iter()
            .filter(|report| !report.ends_with(" 409"))
            .map(|report| report.split(" / ").next().unwrap().to_owned())
            .collect();
        stages.dedup();
        stages
    }

    pub(crate) fn reports(&self) -> Vec<String> {
        self.told.lock().unwrap().reports.clone()
    }

    /// Takes one more report that begins so, and never answers it; the future ends when it has come.
    pub(crate) fn hold(&self, report: &'static str) -> impl Future<Output = ()> + use<> {
        let come = Arc::new(Notify::new());
        self.told.lock().unwrap().held = Some((report, come.clone()));
        async move { come.notified().await }
    }

    /// How often it was asked for the state of images.
    pub(crate) fn looks(&self) -> usize {
        let told = self.told.lock().unwrap();
        told.asked.iter().filter(|asked| asked.ends_with("/on-cluster-layering")).count()
    }

    pub(crate) fn was_asked(&self, what: &str) -> bool {
        self.told.lock().unwrap().asked.iter().any(|asked| asked.contains(what))
    }
}

async fn answer(State(shared): State<Shared>, request: Request) -> (StatusCode, String) {
    let (method, uri) = (request.method().to_string(), request.uri().to_string());
    let path = uri.strip_prefix("/api/assisted-install/v2/").unwrap_or(&uri).to_owned();
    let token =
        request.headers().get("x-secret-key").and_then(|value| value.to_str().ok()).map(str::to_owned);
    let body = to_bytes(request.into_body(), 1 << 24).await.unwrap_or_default();
    if token.as_deref() != Some("token") {
        return (StatusCode::UNAUTHORIZED, json!({"code": 401, "message": "no token"}).to_string());
    }
    if path.ends_with("/progress") && method == "PUT" {
        let answer = shared.progress(&path, &body);
        if let Some(come) = shared.held() {
            come.notify_one();
            std::future::pending::<()>().await;
        }
        return answer;
    }
    if path.contains("/on-cluster-layering") {
        let mut told = shared.told.lock().unwrap();
        told.asked.push(format!("{method} {path}"));
        if method == "PUT" {
            told.builds.push(serde_json::from_slice(&body).unwrap());
            return (StatusCode::NO_CONTENT, String::new());
        }
        if method == "POST" {
            told.build_logs.push((path, body.to_vec()));
            return (StatusCode::NO_CONTENT, String::new());
        }
        if let Some(status) = told.refusals.pop() {
            let refusal = json!({"code": status, "message": "refused for a while"});
            return (StatusCode::from_u16(status).unwrap(), refusal.to_string());
        }
        return match &told.layering {
            Value::Null => {
                (StatusCode::NOT_FOUND, json!({"code": 404, "message": "no such path"}).to_string())
            }
            layering => (StatusCode::OK, layering.to_string()),
        };
    }
    shared.told.lock().unwrap().asked.push(format!("{method} {path}"));
    let own = format!("infra-env/{INFRA_ENV}/hosts/{HOST}/downloads/ignition");
    let hosts = format!("clusters/{CLUSTER}/hosts?role=");
    match path.as_str() {
        _ if method != "GET" => (StatusCode::NO_CONTENT, String::new()),
        path if path == own => {
            let told = shared.told.lock().unwrap();
            let plain = json!({"ignition": {"version": "3.2.0"}});
            (StatusCode::OK, if told.ignition.is_null() { plain } else { told.ignition.clone() }.to_string())
        }
        path if path.ends_with("file_name=bootstrap.ign") => {
            (StatusCode::OK, bootstrap_ignition().to_string())
        }
        path if path.starts_with(&hosts) => {
            let done = if path.ends_with("master") { 1 } else { usize::from(path.ends_with("arbiter")) };
            let hosts: Vec<_> = (0..done).map(|place| host(place, Some(HostStage::Done))).collect();
            (StatusCode::OK, Value::from(hosts).to_string())
        }
        path if path.starts_with(&format!("clusters/{CLUSTER}")) => {
            (StatusCode::OK, shared.cluster().to_string())
        }
        _ => (StatusCode::NOT_FOUND, json!({"code": "404", "id": 404, "reason": "gone"}).to_string()),
    }
}

fn bootstrap_ignition() -> Value {
    json!({"ignition": {"version": "3.4.0"}, "storage": {"files": [
        {"path": "/root/.docker/config.json", "contents": {"source": "data:,%7B%22auths%22%3A%7B%7D%7D"}},
    ]}})
}

/// A host of the cluster: the first is the one that is installed.
fn host(place: usize, stage: Option<HostStage>) -> Value {
    let inventory =
        json!({"interfaces": [{"ipv4_addresses": [format!("10.0.0.1{place}/24")], "ipv6_addresses": []}]});
    let mut host = json!({
        "kind": "Host", "id": format!("33333333-3c08-4d97-8ec7-ea0ad7d4cad{place}"), "href": "", "infra_env_id": INFRA_ENV,
        "status": "installing-in-progress", "status_info": "", "role": "master",
        "requested_hostname": format!("Node-{place}"), "inventory": inventory.to_string(),
    });
    if let Some(stage) = stage {
        host["progress"] = json!({"current_stage": stage});
    }
    host
}

impl Shared {
    fn cluster(&self) -> Value {
        json!({
            "kind": if self.site.day_two { "AddHostsCluster" } else { "Cluster" }, "id": CLUSTER, "href": "",
            "image_info": {}, "status": "installing", "status_info": "", "control_plane_count": self.site.masters,
            "hosts": (0..3).map(|place| host(place, Some(HostStage::Rebooting))).collect::<Vec<_>>(),
        })
    }

    /// Who waits for the last report, if it is the one that gets no answer.
    fn held(&self) -> Option<Arc<Notify>> {
        let mut told = self.told.lock().unwrap();
        let last = told.reports.last()?.clone();
        let (_, come) = told.held.take_if(|(begin, _)| last.starts_with(*begin))?;
        Some(come)
    }

    fn progress(&self, path: &str, body: &[u8]) -> (StatusCode, String) {
        let progress: HostProgress = serde_json::from_slice(body).unwrap();
        let stage = progress.current_stage.unwrap();
        let mut told = self.told.lock().unwrap();
        if !path.contains(HOST) {
            let place = path.split('/').nth(3).unwrap().chars().last().unwrap();
            told.peers.push(format!("{place} {stage}"));
            return (StatusCode::OK, String::new());
        }
        let text = format!("{stage} / {}", progress.progress_info);
        let mut own: Host = serde_json::from_value(host(0, None)).unwrap();
        (own.role, own.bootstrap) = (Some(self.site.role), self.site.bootstrap);
        if self.site.day_two {
            own.kind = HostKind::AddToExistingClusterHost;
        }
        let cluster: Cluster = serde_json::from_value(self.cluster()).unwrap();
        let order = stage::of(&own, Some(&cluster));
        let place = |stage| order.iter().position(|each| *each == stage);
        let taken = stage == HostStage::Failed
            || (place(stage).is_some() && told.current.is_none_or(|current| place(stage) >= place(current)));
        if !taken {
            told.reports.push(format!("{text} 409"));
            return (StatusCode::CONFLICT, json!({"code": "409", "id": 409, "reason": "order"}).to_string());
        }
        if stage != HostStage::Failed {
            told.current = Some(stage);
        }
        told.reports.push(text);
        (StatusCode::OK, String::new())
    }
}
