//! What stands between a program and the servers that it writes to. It lets the program write once and hear nothing of it: the next
//! life of the program begins with what that one write has left.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::Response;
use kube::{Client, Config};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::{Notify, RwLock};

const MOST_BYTES: usize = 64 * 1024 * 1024;

/// Paths of what leaves nothing that a later life has to cope with: who leads, what is told, and what is only asked.
const NO_STEPS: [&str; 4] = ["/leases", "/events", "authorization.k8s.io", "authentication.k8s.io"];

/// Where a program's life ends after each of its writes.
#[derive(Clone)]
pub struct Gate(Arc<Shared>);

struct Shared {
    /// So many lives end after the same step; those that follow pass by it.
    most: usize,
    life: Mutex<Life>,
    written: Notify,
    /// Held by each write that is on its way.
    writing: Arc<RwLock<()>>,
}

#[derive(Default)]
struct Life {
    /// Whether it has written.
    is_over: bool,
    /// How often each step was the last one of a life.
    steps: BTreeMap<String, usize>,
    /// The version that each object had after its last write: a write that changes nothing is no step.
    versions: BTreeMap<String, String>,
}

impl Gate {
    /// So many lives end after the same step at most.
    pub fn new(most: usize) -> Self {
        let (life, written, writing) = (Mutex::default(), Notify::new(), Arc::default());
        Self(Arc::new(Shared { most, life, written, writing }))
    }

    /// Where a program finds a server from now on. `server` is who it is there.
    pub async fn before(&self, server: Client) -> String {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let app = Router::new().fallback(pass).with_state((self.clone(), server));
        tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        url
    }

    /// The same before a server that asks for no client certificate.
    pub async fn before_url(&self, url: &str) -> String {
        self.before(Client::try_from(Config::new(url.parse().unwrap())).unwrap()).await
    }

    /// Waits until a life has written.
    pub async fn written(&self) {
        loop {
            let written = self.0.written.notified();
            if self.0.life.lock().unwrap().is_over {
                return;
            }
            written.await;
        }
    }

    /// The next life begins, after all that the last one has sent.
    pub async fn open(&self) {
        let _none = self.0.writing.write().await;
        self.0.life.lock().unwrap().is_over = false;
    }

    /// How often a life ended after each step: its method and what it was about.
    pub fn steps(&self) -> BTreeMap<String, usize> {
        self.0.life.lock().unwrap().steps.clone()
    }

    fn is_over(&self) -> bool {
        self.0.life.lock().unwrap().is_over
    }

    /// What was written ends a life, if it has changed anything.
    fn ends(&self, method: &Method, path: &str, answer: &[u8]) -> bool {
        let mut life = self.0.life.lock().unwrap();
        let object: Value = serde_json::from_slice(answer).unwrap_or_default();
        let metadata = &object["metadata"];
        if let (Some(id), Some(version)) = (metadata["uid"].as_str(), metadata["resourceVersion"].as_str())
            && life.versions.insert(id.to_owned(), version.to_owned()).is_some_and(|before| before == version)
        {
            return false;
        }
        let count = life.steps.entry(step(method, path)).or_default();
        if *count == self.0.most {
            return false;
        }
        *count += 1;
        life.is_over = true;
        self.0.written.notify_waiters();
        true
    }
}

/// Passes a request on as long as the life lasts.
async fn pass(State((gate, server)): State<(Gate, Client)>, request: Request) -> Response {
    if gate.is_over() {
        return std::future::pending().await;
    }
    let (mut parts, body) = request.into_parts();
    let Ok(body) = to_bytes(body, MOST_BYTES).await else { return status(StatusCode::BAD_REQUEST) };
    let (method, path) = (parts.method.clone(), parts.uri.path().to_owned());
    of_connection(&mut parts.headers);
    let sent = Request::from_parts(parts, kube::client::Body::from(body));
    if method == Method::GET || NO_STEPS.iter().any(|part| path.contains(part)) {
        return forward(&server, sent).await;
    }
    // What was sent arrives, though its sender is killed meanwhile.
    let written = tokio::spawn(async move {
        let _on_its_way = Arc::clone(&gate.0.writing).read_owned().await;
        let (parts, body) = forward(&server, sent).await.into_parts();
        let Ok(answer) = to_bytes(body, MOST_BYTES).await else {
            return Some(status(StatusCode::BAD_GATEWAY));
        };
        let is_step = parts.status.is_success() && gate.ends(&method, &path, &answer);
        (!is_step).then(|| Response::from_parts(parts, answer.into()))
    });
    match written.await.unwrap() {
        Some(answer) => answer,
        None => std::future::pending().await,
    }
}

/// What a server answers.
async fn forward(server: &Client, request: Request<kube::client::Body>) -> Response {
    let Ok(answered) = server.send(request).await else { return status(StatusCode::BAD_GATEWAY) };
    let (mut parts, body) = answered.into_parts();
    of_connection(&mut parts.headers);
    Response::from_parts(parts, Body::new(body))
}

/// Takes away what is the affair of one connection.
fn of_connection(headers: &mut HeaderMap) {
    for name in [header::HOST, header::CONNECTION, header::CONTENT_LENGTH, header::TRANSFER_ENCODING] {
        headers.remove(name);
    }
}

fn status(status: StatusCode) -> Response {
    Response::builder().status(status).body(Body::empty()).unwrap()
}

/// A step without the names of objects: of the Kubernetes API `POST secrets` or `PATCH machines/status`, of REST the path without ids.
fn step(method: &Method, path: &str) -> String {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let parts = match parts.as_slice() {
        ["api", "assisted-install", _, rest @ ..] => {
            rest.iter().filter(|part| !is_id(part)).copied().collect::<Vec<_>>()
        }
        ["api", _, rest @ ..] | ["apis", _, _, rest @ ..] => {
            let rest = match rest {
                ["namespaces", _, rest @ ..] if !rest.is_empty() => rest,
                rest => rest,
            };
            rest.iter().enumerate().filter(|(place, _)| *place != 1).map(|(_, part)| *part).collect()
        }
        other => other.to_vec(),
    };
    format!("{method} {}", parts.join("/"))
}

fn is_id(part: &str) -> bool {
    part.len() == 36 && part.chars().all(|c| c == '-' || c.is_ascii_hexdigit())
}
