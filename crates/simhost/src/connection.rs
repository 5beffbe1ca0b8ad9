//! One kept HTTP/1.1 connection.

use std::net::SocketAddr;

use anyhow::{Context, Result, bail};
use assisted_wire::secret::Secret;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderName, HeaderValue};
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::action::{BOUNDARY, Call, Content, Process, Response};
use crate::tls::Tls;

const JSON: &str = "application/json";
/// Carries the token of agents, installers and controllers.
const SECRET_KEY: HeaderName = HeaderName::from_static("x-secret-key");

/// How a service is spoken to. By default it takes everyone, and nothing is encrypted.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// Token of a person: with it users ask.
    pub token: Option<Secret>,
    /// Token of an infra-env: with it hosts and controllers ask, and users who have none of their own.
    pub agent_token: Option<Secret>,
    pub tls: Option<Tls>,
}

/// A connection to the service.
pub struct Connection {
    sender: SendRequest<Full<Bytes>>,
    authority: String,
    /// What a person shows, and what a host shows.
    person: Option<(HeaderName, HeaderValue)>,
    host: Option<(HeaderName, HeaderValue)>,
}

impl Connection {
    /// Connects to a service that takes everyone.
    pub async fn open(address: SocketAddr) -> Result<Self> {
        Self::with(address, &Access::default()).await
    }

    /// Connects to a service.
    pub async fn with(address: SocketAddr, access: &Access) -> Result<Self> {
        let stream =
            TcpStream::connect(address).await.with_context(|| format!("can't connect to {address}"))?;
        stream.set_nodelay(true)?;
        let sender = match &access.tls {
            None => speak(stream).await?,
            Some(tls) => {
                let connector = TlsConnector::from(tls.config.clone());
                let stream = connector.connect(tls.name.clone(), stream).await;
                speak(stream.with_context(|| format!("no TLS with {address}"))?).await?
            }
        };
        let host = shown(SECRET_KEY, "", access.agent_token.as_ref())?;
        let person = shown(AUTHORIZATION, "Bearer ", access.token.as_ref())?.or_else(|| host.clone());
        Ok(Self { sender, authority: address.to_string(), person, host })
    }

    /// One request of a simulated machine, and its answer, whatever that is.
    pub async fn call(&mut self, call: &Call) -> Result<Response> {
        let form;
        let content = match call.content {
            Content::Json => JSON,
            Content::Form => {
                form = format!("multipart/form-data; boundary={BOUNDARY}");
                &form
            }
        };
        let is_person = matches!(call.from, Process::User(_));
        let response =
            self.request(call.method.clone(), &call.path, content, call.body.clone(), is_person).await?;
        let status = response.status().as_u16();
        let body = response.into_body().collect().await?.to_bytes();
        Ok(Response { status, body, repeated: false })
    }

    /// One request; the answer is read to its end, and its body is dropped.
    pub async fn send(&mut self, method: Method, path: &str, body: Bytes) -> Result<StatusCode> {
        let mut response = self.request(method, path, JSON, body, true).await?;
        while let Some(frame) = response.body_mut().frame().await {
            frame?;
        }
        Ok(response.status())
    }

    /// One request whose answer is JSON; fails unless it succeeded.
    pub async fn json(&mut self, method: Method, path: &str, body: &Value) -> Result<Value> {
        let sent = if body.is_null() { Bytes::new() } else { Bytes::from(serde_json::to_vec(body)?) };
        let response = self.request(method, path, JSON, sent, true).await?;
        let status = response.status();
        let received = response.into_body().collect().await?.to_bytes();
        if !status.is_success() {
            bail!("{path}: {status}: {}", String::from_utf8_lossy(&received));
        }
        if received.is_empty() { Ok(Value::Null) } else { Ok(serde_json::from_slice(&received)?) }
    }

    async fn request(
        &mut self,
        method: Method,
        path: &str,
        content: &str,
        body: Bytes,
        is_person: bool,
    ) -> Result<hyper::Response<hyper::body::Incoming>> {
        let mut request = Request::builder().method(method).uri(path).header(HOST, &self.authority);
        if !body.is_empty() {
            request = request.header(CONTENT_TYPE, content);
        }
        if let Some((name, token)) = if is_person { &self.person } else { &self.host } {
            request = request.header(name, token);
        }
        self.sender.ready().await?;
        Ok(self.sender.send_request(request.body(Full::new(body))?).await?)
    }
}

/// Speaks HTTP over a stream.
async fn speak(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
) -> Result<SendRequest<Full<Bytes>>> {
    let (sender, connection) = handshake(TokioIo::new(stream)).await?;
    // Ends with the sender.
    tokio::spawn(connection);
    Ok(sender)
}

/// A header that carries a token.
fn shown(
    name: HeaderName,
    scheme: &str,
    token: Option<&Secret>,
) -> Result<Option<(HeaderName, HeaderValue)>> {
    let Some(token) = token.filter(|token| !token.is_empty()) else { return Ok(None) };
    let mut value = HeaderValue::try_from(format!("{scheme}{}", token.expose()))
        .map_err(|_| anyhow::anyhow!("a token holds characters that can't be sent in a header"))?;
    value.set_sensitive(true);
    Ok(Some((name, value)))
}
