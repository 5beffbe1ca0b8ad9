//! Changes as server-sent events.

use std::io;
use std::time::Duration;

use assisted_base::error::chain;
use assisted_service::event::live::{Change, Message, Watcher};
use assisted_wire::live::{ChangeKind, EVENT_STREAM, HEARTBEAT_SECONDS};
use bytes::{BufMut, Bytes, BytesMut};
use futures::stream::{self, StreamExt};
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderName, HeaderValue, Response, StatusCode};
use http_body_util::{Either, StreamBody};
use hyper::body::Frame;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::response::{Answer, Pieces};

/// Who is cut off comes back after so many milliseconds.
const RETRY: &str = "retry: 1000\n\n";

/// A comment: it keeps the connection, and those between, from thinking that nobody is there any more.
const HEARTBEAT: &str = ":\n\n";

/// A stream ends after this, so that whoever comes back shows anew that it may watch.
const LONGEST: Duration = Duration::from_secs(3600);

/// Tells proxies to pass on each message at once.
const UNBUFFERED: HeaderName = HeaderName::from_static("x-accel-buffering");

/// An answer that ends when its reader goes away, or the service stops. Nothing is read ahead: a slow reader waits for
/// the watcher, not the other way round.
pub(crate) fn live_answer<S: Send + 'static>(
    status: StatusCode,
    watcher: Watcher,
    seat: S,
    stopping: CancellationToken,
) -> Answer {
    // Whoever watches has its place as long as the answer.
    let frames = stream::unfold((watcher, seat), |(mut watcher, seat)| async {
        let piece = match timeout(Duration::from_secs(HEARTBEAT_SECONDS), watcher.next()).await {
            // What can't be written as JSON is a defect; the stream ends, and a client that comes back gets the present state.
            Ok(Some(message)) => text(&message)
                .inspect_err(|error| tracing::error!(error = %chain(error), "a change can't be written"))
                .ok()?,
            Ok(None) => return None,
            Err(_) => Bytes::from_static(HEARTBEAT.as_bytes()),
        };
        Some((piece, (watcher, seat)))
    });
    let end = async move {
        tokio::select! {
            () = stopping.cancelled() => {}
            () = sleep(LONGEST) => {}
        }
    };
    let head = stream::iter([Bytes::from_static(RETRY.as_bytes())]);
    let pieces: Pieces =
        Box::pin(head.chain(frames).take_until(end).map(|piece| Ok::<_, io::Error>(Frame::data(piece))));
    let mut answer = Response::new(Either::Right(StreamBody::new(pieces)));
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(EVENT_STREAM));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(UNBUFFERED, HeaderValue::from_static("no"));
    answer
}

/// What a change is called on the wire, and its JSON. Infra-envs are no part of this stream.
fn rendered(message: &Message) -> Result<Option<(ChangeKind, Bytes)>, serde_json::Error> {
    let kind = match message.change() {
        Change::Reset => ChangeKind::Reset,
        Change::Cluster(_) => ChangeKind::Cluster,
        Change::Host(_) => ChangeKind::Host,
        Change::Event(_) => ChangeKind::Event,
        Change::InfraEnv(_) | Change::InfraEnvDeleted(_) => return Ok(None),
    };
    let data = message.rendered(|change| {
        let json = match change {
            Change::Cluster(cluster) => serde_json::to_vec(cluster),
            Change::Host(host) => serde_json::to_vec(host),
            Change::Event(event) => serde_json::to_vec(event),
            Change::Reset | Change::InfraEnv(_) | Change::InfraEnvDeleted(_) => Ok(b"{}".to_vec()),
        };
        json.map(Bytes::from)
    })?;
    Ok(Some((kind, data)))
}

/// One message; JSON has no line breaks outside of its strings, and escapes those within.
fn text(message: &Message) -> Result<Bytes, serde_json::Error> {
    let Some((kind, data)) = rendered(message)? else { return Ok(Bytes::new()) };
    let mut text = BytesMut::with_capacity(data.len() + 96);
    if let Some(cursor) = message.cursor {
        text.put_slice(format!("id: {cursor}\n").as_bytes());
    }
    text.put_slice(format!("event: {kind}\ndata: ").as_bytes());
    text.put_slice(&data);
    text.put_slice(b"\n\n");
    Ok(text.freeze())
}
