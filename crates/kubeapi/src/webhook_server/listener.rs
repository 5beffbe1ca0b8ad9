//! The listener that API servers call.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use assisted_base::idle::{IdleTimeouts, Requests};
use assisted_base::stall::Stall;
use bytes::Bytes;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulShutdown;
use rustls::ServerConfig;
use serde_json::Value;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

const MOST_CONNECTIONS: usize = 256;

/// How long a request may take from its head to the answer.
const REQUEST: Duration = Duration::from_secs(10);

/// How long one may take to say who it is, or what it wants.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// How long requests that are under way may take when the process stops.
const DRAIN: Duration = Duration::from_secs(15);

/// What is at a path.
#[derive(Clone, Debug, PartialEq)]
pub enum Endpoint {
    /// A webhook, which is asked by POST.
    Webhook,
    /// A document.
    Document(Value),
    /// Nothing, and what is said of it.
    Nothing(&'static str),
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    pub status: StatusCode,
    pub text: String,
}

impl Refused {
    /// A refusal.
    pub fn new(status: StatusCode, text: impl Into<String>) -> Self {
        Self { status, text: text.into() }
    }
}

/// The webhooks of a process: what is at each path, and what each answers.
pub trait WebhookHandler: Send + Sync + 'static {
    /// The most bytes of a review.
    const MOST_BYTES: usize;

    /// Reviews that are read and answered at a time; further ones wait.
    const MOST_AT_A_TIME: usize;

    /// How long a client may ask nothing: longer than API servers keep a connection that they don't use.
    const IDLE: IdleTimeouts = IdleTimeouts { first: HANDSHAKE, next: Duration::from_secs(300) };

    /// How long a client may take nothing of an answer.
    const WRITE: Duration = Duration::from_secs(60);

    /// What is at a path.
    fn endpoint(&self, path: &str) -> Endpoint;

    /// The answer of the webhook at a path.
    fn answer(&self, path: &str, body: Bytes) -> impl Future<Output = Result<Value, Refused>> + Send;
}

/// Answers on a listener until `stop`; requests under way are finished. A connection speaks what `tls` says when it comes.
///
/// # Errors
/// Connections can't be accepted any more.
pub async fn serve<A: WebhookHandler>(
    listener: TcpListener,
    tls: watch::Receiver<Arc<ServerConfig>>,
    handler: Arc<A>,
    stop: CancellationToken,
) -> io::Result<()> {
    let slots = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    let reviews = Arc::new(Semaphore::new(A::MOST_AT_A_TIME));
    let graceful = GracefulShutdown::new();
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(HANDSHAKE);
    builder.http2().timer(TokioTimer::new()).max_concurrent_streams(64).keep_alive_interval(Some(HANDSHAKE));
    let builder = Arc::new(builder);
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            accepted = async {
                let slot = Arc::clone(&slots).acquire_owned().await;
                (slot, listener.accept().await)
            } => accepted,
        };
        let (slot, stream) = match accepted {
            (Ok(slot), Ok((stream, _))) => (slot, stream),
            (_, Err(error)) => {
                tracing::warn!(%error, "a connection is not accepted");
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
            (Err(error), _) => return Err(io::Error::other(error)),
        };
        let acceptor = TlsAcceptor::from(Arc::clone(&tls.borrow()));
        let (builder, watcher) = (Arc::clone(&builder), graceful.watcher());
        let (handler, reviews) = (Arc::clone(&handler), Arc::clone(&reviews));
        tokio::spawn(async move {
            let _slot = slot;
            let Some(stream) = handshake(stream, &acceptor).await else { return };
            let requests = Requests::default();
            let asked = requests.clone();
            let service = service_fn(move |request: Request<Incoming>| {
                let (handler, reviews) = (Arc::clone(&handler), Arc::clone(&reviews));
                let under_way = asked.begin(request.version());
                async move {
                    let _under_way = under_way;
                    Ok::<_, Infallible>(respond(request, &*handler, &reviews).await)
                }
            });
            let connection =
                builder.serve_connection(TokioIo::new(Stall::new(stream, A::WRITE)), service).into_owned();
            let connection = std::pin::pin!(watcher.watch(connection));
            let ended = tokio::select! {
                ended = connection => ended,
                () = requests.idle(A::IDLE) => {
                    return tracing::debug!("a client that asks nothing is cut off");
                }
            };
            if let Err(error) = ended {
                tracing::debug!(error, "a connection ended before its time");
            }
        });
    }
    drop(listener);
    if timeout(DRAIN, graceful.shutdown()).await.is_err() {
        tracing::warn!("connections are cut: their requests took too long");
    }
    Ok(())
}

async fn handshake(
    stream: TcpStream,
    acceptor: &TlsAcceptor,
) -> Option<tokio_rustls::server::TlsStream<TcpStream>> {
    match timeout(HANDSHAKE, acceptor.accept(stream)).await {
        Ok(Ok(stream)) => Some(stream),
        Ok(Err(error)) => {
            tracing::debug!(%error, "a handshake failed");
            None
        }
        Err(_) => None,
    }
}

type Answer = Response<Full<Bytes>>;

async fn respond<A: WebhookHandler>(request: Request<Incoming>, handler: &A, reviews: &Semaphore) -> Answer {
    let path = request.uri().path().to_owned();
    match handler.endpoint(&path) {
        Endpoint::Webhook if request.method() != Method::POST => {
            text(StatusCode::METHOD_NOT_ALLOWED, "a webhook is asked by POST")
        }
        Endpoint::Webhook => {
            let answered = timeout(REQUEST, asked(&path, request, handler, reviews)).await;
            answered.unwrap_or_else(|_| text(StatusCode::GATEWAY_TIMEOUT, "the review took too long"))
        }
        Endpoint::Document(document) => json(&document),
        Endpoint::Nothing(_) if matches!(path.as_str(), "/healthz" | "/livez" | "/readyz") => {
            text(StatusCode::OK, "ok")
        }
        Endpoint::Nothing(said) => text(StatusCode::NOT_FOUND, said),
    }
}

async fn asked<A: WebhookHandler>(
    path: &str,
    request: Request<Incoming>,
    handler: &A,
    reviews: &Semaphore,
) -> Answer {
    let Ok(_slot) = reviews.acquire().await else {
        return text(StatusCode::SERVICE_UNAVAILABLE, "the webhooks stop");
    };
    let body = match Limited::new(request.into_body(), A::MOST_BYTES).collect().await {
        Ok(body) => body.to_bytes(),
        Err(error) if error.is::<LengthLimitError>() => {
            return text(StatusCode::PAYLOAD_TOO_LARGE, "the review is too large");
        }
        Err(_) => return text(StatusCode::BAD_REQUEST, "the body broke off"),
    };
    match handler.answer(path, body).await {
        Ok(answer) => json(&answer),
        Err(refused) => text(refused.status, &refused.text),
    }
}

fn json(value: &Value) -> Answer {
    let mut answer = Response::new(Full::new(Bytes::from(value.to_string())));
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    answer
}

fn text(status: StatusCode, text: &str) -> Answer {
    let mut answer = Response::new(Full::new(Bytes::from(text.to_owned())));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    answer
}
