//! What may stand between a server and its clients, mostly a registry: it passes requests on, keeps them, and spoils some answers.

#![allow(clippy::unwrap_used, reason = "a helper of tests")]

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures::stream;
use http_body_util::{BodyExt, Full, StreamBody, combinators::BoxBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

/// What is done to an answer.
#[derive(Clone, Debug)]
pub enum Fault {
    /// Another answer with this status, and `Retry-After`.
    Status(u16, Option<&'static str>),
    /// The connection breaks after so many bytes.
    Break(usize),
    /// Nothing more comes after so many bytes.
    Silence(usize),
    /// One byte is another.
    Alter,
    /// The whole, though a part was asked for.
    Whole,
    /// Is to be had at another address.
    Redirect(String),
    /// Another text, never ending.
    Endless,
}

/// A request that was seen.
#[derive(Clone, Debug)]
pub struct Seen {
    pub method: String,
    pub path: String,
    pub range: Option<String>,
    pub authorized: bool,
    /// What was sent on; nothing where it was not.
    pub body: Bytes,
    /// How what it stands before has answered; 0 where that was not asked, or not yet.
    pub status: u16,
}

#[derive(Debug, Default)]
struct State {
    /// A part of the path, how often, and what.
    faults: Vec<(String, usize, Fault)>,
    seen: Vec<Seen>,
}

/// Stands before a registry, as long as the runtime that started it.
#[derive(Debug)]
pub struct Proxy {
    pub address: SocketAddr,
    state: Arc<Mutex<State>>,
}

type Body = BoxBody<Bytes, std::io::Error>;

impl Proxy {
    /// Stands before a registry.
    pub async fn start(registry: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, state) = (listener.local_addr().unwrap(), Arc::new(Mutex::new(State::default())));
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder().no_proxy().no_gzip().build().unwrap();
        let shared = Arc::clone(&state);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (state, client) = (Arc::clone(&shared), client.clone());
                let service = service_fn(move |request: Request<Incoming>| {
                    let (state, client) = (Arc::clone(&state), client.clone());
                    async move { Ok::<_, Infallible>(answer(&state, &client, registry, request).await) }
                });
                tokio::spawn(
                    hyper::server::conn::http1::Builder::new()
                        .serve_connection(TokioIo::new(stream), service),
                );
            }
        });
        Self { address, state }
    }

    /// Its name in the names of images.
    pub fn name(&self) -> String {
        self.address.to_string()
    }

    /// Spoils the next `times` answers to requests whose path has `part` in it.
    pub fn spoil(&self, part: &str, times: usize, fault: Fault) {
        self.state.lock().unwrap().faults.push((part.to_owned(), times, fault));
    }

    /// Spoils nothing more.
    pub fn mend(&self) {
        self.state.lock().unwrap().faults.clear();
    }

    /// The requests whose path has `part` in it.
    pub fn seen(&self, part: &str) -> Vec<Seen> {
        let state = self.state.lock().unwrap();
        state.seen.iter().filter(|seen| seen.path.contains(part)).cloned().collect()
    }
}

fn full(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).map_err(|never| match never {}).boxed()
}

async fn answer(
    state: &Mutex<State>,
    client: &reqwest::Client,
    registry: SocketAddr,
    request: Request<Incoming>,
) -> Response<Body> {
    let path = request.uri().path_and_query().map_or("", |path| path.as_str()).to_owned();
    let range = request.headers().get("range").map(|range| range.to_str().unwrap().to_owned());
    let (place, fault) = {
        let mut state = state.lock().unwrap();
        let authorized = request.headers().contains_key("authorization");
        let method = request.method().to_string();
        let body = Bytes::new();
        state.seen.push(Seen { method, path: path.clone(), range, authorized, body, status: 0 });
        let place = state.seen.len() - 1;
        let fault =
            state.faults.iter_mut().find(|(part, times, _)| *times > 0 && path.contains(part.as_str()));
        let fault = fault.map(|(_, times, fault)| {
            *times -= 1;
            fault.clone()
        });
        (place, fault)
    };
    if let Some(answer) = fault.as_ref().and_then(|fault| instead(fault, &path)) {
        return answer;
    }
    let forwarded = forward(client, registry, request, matches!(fault, Some(Fault::Whole))).await;
    let Some((sent, answered)) = forwarded else {
        // The client has gone away amid its body: nobody reads this.
        return Response::builder().status(400).body(full("no")).unwrap();
    };
    let status = answered.status().as_u16();
    {
        let mut state = state.lock().unwrap();
        let seen = &mut state.seen[place];
        (seen.body, seen.status) = (sent, status);
    }
    let mut answer = Response::builder().status(status);
    for (name, value) in answered.headers() {
        if !matches!(name.as_str(), "connection" | "transfer-encoding") {
            answer = answer.header(name.as_str(), value.as_bytes());
        }
    }
    let mut bytes = answered.bytes().await.unwrap().to_vec();
    let body = match fault {
        Some(Fault::Break(after)) => {
            let start = stream::iter([Ok(Frame::data(Bytes::from(bytes[..after].to_vec())))]);
            // What came before is sent while there is nothing more.
            let broken = stream::once(async {
                tokio::task::yield_now().await;
                Err(std::io::Error::other("broken"))
            });
            StreamBody::new(stream::StreamExt::chain(start, broken)).boxed()
        }
        Some(Fault::Silence(after)) => {
            let start = stream::iter([Ok(Frame::data(Bytes::from(bytes[..after].to_vec())))]);
            StreamBody::new(stream::StreamExt::chain(start, stream::pending())).boxed()
        }
        Some(Fault::Alter) => {
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            full(bytes)
        }
        _ => full(bytes),
    };
    answer.body(body).unwrap()
}

/// What is answered in the registry's place, which is not asked.
fn instead(fault: &Fault, path: &str) -> Option<Response<Body>> {
    Some(match fault {
        Fault::Status(status, retry_after) => {
            let answer = Response::builder().status(*status);
            let answer =
                retry_after.iter().fold(answer, |answer, after| answer.header("retry-after", *after));
            answer.body(full("no")).unwrap()
        }
        Fault::Redirect(to) => {
            let answer = Response::builder().status(307).header("location", format!("{to}{path}"));
            answer.body(full("")).unwrap()
        }
        Fault::Endless => {
            let piece = || Ok(Frame::data(Bytes::from(vec![b' '; 65_536])));
            Response::new(StreamBody::new(stream::repeat_with(piece)).boxed())
        }
        _ => return None,
    })
}

/// The body of a request that is sent on, for all of a file if it is `whole`, and the answer; none where the body does not come whole.
async fn forward(
    client: &reqwest::Client,
    registry: SocketAddr,
    request: Request<Incoming>,
    whole: bool,
) -> Option<(Bytes, reqwest::Response)> {
    let path = request.uri().path_and_query().map_or("", |path| path.as_str());
    let mut forwarded = client.request(request.method().clone(), format!("http://{registry}{path}"));
    for (name, value) in request.headers() {
        if (whole && name == "range") || matches!(name.as_str(), "host" | "connection" | "transfer-encoding")
        {
            continue;
        }
        forwarded = forwarded.header(name.as_str(), value.as_bytes());
    }
    let body = request.into_body().collect().await.ok()?.to_bytes();
    if !body.is_empty() {
        forwarded = forwarded.body(body.clone());
    }
    Some((body, forwarded.send().await.unwrap()))
}
