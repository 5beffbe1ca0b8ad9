//! One kept HTTP/1.1 connection.

use std::net::SocketAddr;

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;

use crate::outbox::{Answer, BOUNDARY, Call, Content};

const JSON: &str = "application/json";

/// A connection to the service.
pub struct Connection {
    sender: SendRequest<Full<Bytes>>,
    authority: String,
    /// Value of the `authorization` header.
    authorization: Option<String>,
}

impl Connection {
    /// Connects to a service without TLS.
    pub async fn open(address: SocketAddr) -> Result<Self> {
        let stream =
            TcpStream::connect(address).await.with_context(|| format!("can't connect to {address}"))?;
        stream.set_nodelay(true)?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        // Ends with the sender.
        tokio::spawn(connection);
        Ok(Self { sender, authority: address.to_string(), authorization: None })
    }

    /// Sends this token with each request.
    pub fn with_token(mut self, token: &str) -> Self {
        self.authorization = Some(format!("Bearer {token}"));
        self
    }

    /// One request of a simulated machine, and its answer, whatever that is.
    pub async fn call(&mut self, call: &Call) -> Result<Answer> {
        let form;
        let content = match call.content {
            Content::Json => JSON,
            Content::Form => {
                form = format!("multipart/form-data; boundary={BOUNDARY}");
                &form
            }
        };
        let response = self.request(call.method.clone(), &call.path, content, call.body.clone()).await?;
        let status = response.status().as_u16();
        Ok(Answer { status, body: response.into_body().collect().await?.to_bytes() })
    }

    /// One request; the answer is read to its end, and its body is dropped.
    pub async fn send(&mut self, method: Method, path: &str, body: Bytes) -> Result<StatusCode> {
        let mut response = self.request(method, path, JSON, body).await?;
        while let Some(frame) = response.body_mut().frame().await {
            frame?;
        }
        Ok(response.status())
    }

    /// One request whose answer is JSON; fails unless it succeeded.
    pub async fn json(&mut self, method: Method, path: &str, body: &Value) -> Result<Value> {
        let sent = if body.is_null() { Bytes::new() } else { Bytes::from(serde_json::to_vec(body)?) };
        let response = self.request(method, path, JSON, sent).await?;
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
    ) -> Result<hyper::Response<hyper::body::Incoming>> {
        let mut request = Request::builder().method(method).uri(path).header("host", &self.authority);
        if !body.is_empty() {
            request = request.header("content-type", content);
        }
        if let Some(authorization) = &self.authorization {
            request = request.header("authorization", authorization);
        }
        self.sender.ready().await?;
        Ok(self.sender.send_request(request.body(Full::new(body))?).await?)
    }
}
