//! A server that gives prepared answers in turn and keeps what it was asked.

use std::collections::VecDeque;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};

use assisted_client::{Client, ClientBuilder, RetryPolicy};
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::HeaderMap;
use axum::response::Response;
use tokio::net::TcpListener;

pub(crate) struct Asked {
    pub(crate) line: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

#[derive(Clone, Default)]
pub(crate) struct Server {
    answers: Arc<Mutex<VecDeque<Response>>>,
    asked: Arc<Mutex<Vec<Asked>>>,
    pub(crate) url: String,
}

impl Server {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let server = Self { url, ..Self::default() };
        let router = Router::new().fallback(answer).with_state(server.clone());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        server
    }

    pub(crate) fn then(&self, status: u16, content_type: Option<&str>, body: impl Into<Body>) -> &Self {
        let mut response = Response::builder().status(status);
        if let Some(content_type) = content_type {
            response = response.header("content-type", content_type);
        }
        self.answer(response.body(body.into()).unwrap())
    }

    pub(crate) fn answer(&self, response: Response) -> &Self {
        self.answers.lock().unwrap().push_back(response);
        self
    }

    pub(crate) fn requests(&self) -> Vec<Asked> {
        std::mem::take(&mut *self.asked.lock().unwrap())
    }

    pub(crate) fn builder(&self) -> ClientBuilder {
        Client::builder(&self.url).proxy_from_env(false).retry(RetryPolicy::NONE)
    }

    pub(crate) fn client(&self) -> Client {
        self.builder().build().unwrap()
    }
}

async fn answer(State(server): State<Server>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, 1 << 20).await.unwrap();
    server.asked.lock().unwrap().push(Asked {
        line: format!("{} {}", parts.method, parts.uri),
        headers: parts.headers,
        body: String::from_utf8(body.to_vec()).unwrap(),
    });
    let next = server.answers.lock().unwrap().pop_front();
    next.unwrap_or_else(|| Response::builder().status(599).body(Body::empty()).unwrap())
}
