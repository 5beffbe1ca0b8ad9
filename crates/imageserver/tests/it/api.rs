//! An API service that answers as a test says, and writes down what it was asked.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::Mutex;

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, Response, StatusCode};
use axum::routing::any;

pub const ID: &str = "3f6c8e2a-1b7d-4a52-9c01-d4f0e8a7b612";
pub const MODIFIED: &str = "Tue, 15 Nov 1994 12:45:26 GMT";
pub const CONFIG: &str = r#"{"ignition":{"version":"3.1.0"}}"#;

/// What is answered to one of the three questions.
#[derive(Clone)]
pub struct Reply {
    pub status: u16,
    pub body: Vec<u8>,
    pub modified: Option<String>,
}

impl Reply {
    pub fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self { status, body: body.into(), modified: None }
    }
}

/// What is answered: by `ignition`, `ramdisk` and `infra-env`.
pub type Script = BTreeMap<&'static str, Reply>;

#[derive(Clone)]
pub struct Api {
    pub host: String,
    script: Arc<Mutex<Script>>,
    asked: Arc<Mutex<Vec<ApiRequest>>>,
}

/// A question.
#[derive(Clone, Debug)]
pub struct ApiRequest {
    pub what: &'static str,
    pub path: String,
    pub query: String,
    pub headers: HeaderMap,
}

impl Api {
    /// An API service with an infra-env that has nothing special.
    pub async fn start() -> Self {
        let mut ignition = Reply::new(200, CONFIG);
        ignition.modified = Some(MODIFIED.to_owned());
        let script = Script::from([
            ("ignition", ignition),
            ("ramdisk", Reply::new(204, "")),
            ("infra-env", Reply::new(200, format!(r#"{{"id":"{ID}"}}"#))),
        ]);
        let script = Arc::new(Mutex::new(script));
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (answers, notes) = (Arc::clone(&script), Arc::clone(&asked));
        let answer = move |request: Request| {
            let path = request.uri().path().to_owned();
            let what = match path.as_str() {
                path if path.ends_with("/downloads/files") => "ignition",
                path if path.ends_with("/downloads/minimal-initrd") => "ramdisk",
                _ => "infra-env",
            };
            let query = request.uri().query().unwrap_or_default().to_owned();
            let headers = request.headers().clone();
            notes.lock().unwrap().push(ApiRequest { what, path, query, headers });
            let reply = answers.lock().unwrap()[what].clone();
            async move {
                let mut response = Response::new(Body::from(reply.body));
                *response.status_mut() = StatusCode::from_u16(reply.status).unwrap();
                if let Some(modified) = reply.modified {
                    response.headers_mut().insert("last-modified", modified.parse().unwrap());
                }
                response
            }
        };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let host = listener.local_addr().unwrap().to_string();
        tokio::spawn(async move { axum::serve(listener, axum::Router::new().fallback(any(answer))).await });
        Self { host, script, asked }
    }

    /// Changes an answer.
    pub fn reply(&self, what: &'static str, reply: Reply) {
        self.script.lock().unwrap().insert(what, reply);
    }

    /// An infra-env with kernel arguments, given as its JSON field.
    pub fn kargs(&self, field: &str) {
        self.reply("infra-env", Reply::new(200, format!(r#"{{"kernel_arguments":{field}}}"#)));
    }

    /// What was asked since the last time.
    pub fn take_requests(&self) -> Vec<ApiRequest> {
        std::mem::take(&mut *self.asked.lock().unwrap())
    }

    /// The same in short.
    pub fn steps(&self) -> Vec<&'static str> {
        self.take_requests().iter().map(|asked| asked.what).collect()
    }
}
